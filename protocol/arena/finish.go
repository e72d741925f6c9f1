package arena

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/artifacts"
	"github.com/posttrainarena/arena/protocol/jobs"
)

// finish keeps what an ended job uploaded, decides how the run ended, and
// settles the ledger. Every step can be repeated: a crash in between makes the
// next watcher do it again to the same effect.
func (s *Service) finish(ctx context.Context, runID string, provider jobs.Provider, job jobs.Job, fold *folding) error {
	run, err := s.Run(ctx, runID) // with the cancel that somebody may have asked for meanwhile
	if err != nil {
		return err
	}
	uploaded := fs.FS(nil)
	if job.Status != jobs.Deleted {
		if uploaded, err = provider.Artifacts(ctx, job.ID); err != nil {
			return fmt.Errorf("open the artifacts of job %s: %w", job.ID, err)
		}
		keep, err := keepOf(uploaded, s.ArtifactLimits)
		if err != nil {
			return fmt.Errorf("list the artifacts of job %s: %w", job.ID, err)
		}
		for _, lost := range keep.lost {
			s.Logger.Warn("a part of what a job left cannot be kept", "run", run.ID, "because", lost)
		}
		if err := s.Store.SaveArtifacts(ctx, run.ID, keep.files, keep.open); err != nil {
			return fmt.Errorf("keep the artifacts of job %s: %w", job.ID, err)
		}
		// Before anybody can see the end and ask, all at once.
		if _, err := s.countTries(ctx, run); err != nil {
			s.Logger.Warn("the attempts of a run could not be counted; whoever asks first counts them", "run", run.ID, "error", err)
		}
	}
	end := s.ending(run, job, fold, uploaded)
	run, err = s.Store.Finish(ctx, protocol.Actor{Name: protocol.ActorArena}, run.ID, end)
	if err != nil {
		return err
	}
	s.logs.wake()
	s.events.wake()
	s.Logger.Info("run ended", "run", run.ID, "state", run.State, "stage", run.Stage, "fault", run.Fault, "usd", run.Settled)
	return nil
}

// ending decides how a run ended from its job, its log and its report: scored
// needs a readable report, whatever the job's status says (PROTOCOL §8).
func (s *Service) ending(run protocol.Run, job jobs.Job, fold *folding, uploaded fs.FS) protocol.Ending {
	end := protocol.Ending{
		Status: string(job.Status), EndedAt: job.EndedAt.UTC(), Billed: protocol.Cost(run.Price, job.Billed),
		Progress: fold.Progress(), Stage: fold.Stage(),
	}
	end.Progress.LastLineAt = run.Progress.LastLineAt
	if job.EndedAt.IsZero() {
		end.EndedAt = s.now()
	}
	switch job.Status {
	case jobs.Canceled:
		end.Move, end.Fault = protocol.MoveCanceled, protocol.FaultCanceled
		end.Reason = "Canceled."
		if run.CancelAskedBy != "" {
			end.Reason = "Canceled by " + run.CancelAskedBy + "."
		}
		return end
	case jobs.Completed:
		code, exited := fold.TrainerExit()
		if uploaded != nil && (!exited || code == 0) {
			if _, err := artifacts.Report(uploaded); err == nil {
				end.Move = protocol.MoveScored
				return end
			}
		}
	}
	end.Move = protocol.MoveFailed
	end.Reason, end.Fault = s.whyFailed(run, job, fold)
	return end
}

// whyFailed says in a sentence why a run stopped and whose fault it was.
func (s *Service) whyFailed(run protocol.Run, job jobs.Job, fold *folding) (string, protocol.FaultClass) {
	if job.Status == jobs.TimedOut {
		return fmt.Sprintf("The job reached its limit of %s in the stage %s.", run.Timeout, fold.Stage()), protocol.FaultLimit
	}
	if reason := fold.Reason(); reason != "" {
		if issue, known := fold.Issue(); known {
			reason = strings.TrimSuffix(reason, ".") + ". " + issue.Sentence
		}
		return s.redactor.Redact(reason), cmp.Or(fold.Fault(), protocol.FaultIn(fold.Stage()))
	}
	switch job.Status {
	case jobs.Completed:
		return "The job completed but left no readable score report.", protocol.FaultPlatform
	case jobs.Deleted:
		return "The provider no longer has the job.", protocol.FaultPlatform
	default:
		reason := "The job ended as " + string(job.Status) + " without saying why."
		if job.Message != "" {
			reason = "The job ended as " + string(job.Status) + ": " + job.Message
		}
		return s.redactor.Redact(reason), protocol.FaultPlatform
	}
}
