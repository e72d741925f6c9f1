package arena

import (
	"context"
	"errors"
	"fmt"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/artifacts"
	"github.com/posttrainarena/arena/protocol/score"
)

// Collect recomputes a scored run's result from the per-task outcomes that it
// uploaded, checks the pipeline's report against it, and stores the result for
// review. The boolean says that it was collected before. Evidence that does not
// hold together is refused, naming what differs (protocol.ErrEvidence).
func (s *Service) Collect(ctx context.Context, who protocol.Identity, by protocol.Actor, challenge, runID string) (protocol.Result, bool, error) {
	run, err := s.evidenceOf(ctx, who, challenge, runID)
	if err != nil {
		return protocol.Result{}, false, err
	}
	before, err := s.Result(ctx, run.ID)
	if err == nil || !errors.Is(err, protocol.ErrNoResult) {
		return before, true, err
	}
	if run.State != protocol.RunScored {
		return protocol.Result{}, false, protocol.ErrNotScored.Detailf("The run is %s, not scored, so there is nothing to collect.%s", run.State, afterword(run))
	}
	result, err := s.recompute(ctx, run)
	if err != nil {
		return result, false, s.refusal(who, err)
	}
	result.CollectedBy = who.Name
	result, existing, err := s.Store.SaveResult(ctx, by, result)
	if err == nil && !existing {
		s.boards.forget(challenge)
		s.events.wake()
		s.Logger.Info("result collected", "run", run.ID, "delta_pp", result.Score.DeltaPP, "by", who.Name)
	}
	return result, existing, err
}

// afterword says what is known about why a run is not scored.
func afterword(run protocol.Run) string {
	switch {
	case !run.State.Ended():
		return " Wait until its state is scored."
	case run.Reason != "":
		return " It stopped because: " + run.Reason
	default:
		return ""
	}
}

// recompute reads a run's evidence and makes its result.
func (s *Service) recompute(ctx context.Context, run protocol.Run) (protocol.Result, error) {
	c, err := s.Challenge(run.Challenge)
	if err != nil {
		return protocol.Result{}, err
	}
	files, _, err := s.Artifacts(ctx, run.ID)
	if err != nil {
		return protocol.Result{}, err
	}
	raw, err := artifacts.Report(files)
	if err != nil {
		return protocol.Result{}, err
	}
	report, err := score.ParseReport(raw)
	if err != nil {
		return protocol.Result{}, err
	}
	outcomes, problems, err := artifacts.ReadOutcomes(files)
	if err != nil {
		return protocol.Result{}, err
	}
	digest, err := artifacts.Digest(files)
	if err != nil {
		return protocol.Result{}, fmt.Errorf("digest the evidence of %s: %w", run.ID, err)
	}
	expect := score.Expect{Run: run.ID, Trials: c.Metric.TrialsPerRun}
	for _, suite := range c.Suites {
		expect.Suites = append(expect.Suites, s.Sealed[suite.ID])
	}
	numbers, cells, err := score.Collect(expect, report, outcomes)
	if err != nil {
		return protocol.Result{}, err
	}
	for _, p := range problems {
		numbers.Notes = append(numbers.Notes, p.Detail)
	}
	return protocol.Result{
		Run: run.ID, Challenge: run.Challenge, Collection: run.Collection, Revision: run.Revision, Author: run.Author, AgentID: run.AgentID,
		Score: numbers, Cells: cells, GRPORan: report.GRPORan, GRPOEffectiveUpdate: report.GRPOEffectiveUpdate, EvidenceDigest: digest,
		JobURL: run.JobURL, Verification: protocol.Pending, VerificationNote: protocol.PendingNote,
	}, nil
}

// Review judges a collected result, once. Only editors may.
func (s *Service) Review(ctx context.Context, who protocol.Identity, by protocol.Actor, challenge, runID string, d protocol.Review) (protocol.Result, error) {
	if err := protocol.RoleEditor.Admits(who); err != nil {
		return protocol.Result{}, err
	}
	run, err := s.RunOn(ctx, challenge, runID)
	if err != nil {
		return protocol.Result{}, err
	}
	result, err := s.Store.Review(ctx, by, run.ID, d)
	if err == nil {
		s.boards.forget(challenge)
		s.events.wake()
		s.Logger.Info("result reviewed", "run", run.ID, "verification", result.Verification, "by", who.Name)
	}
	return result, err
}

// Claim says that an editor reviews a collected result, for a while, or that they
// stopped. Only editors may, and only one at a time.
func (s *Service) Claim(ctx context.Context, who protocol.Identity, by protocol.Actor, challenge, runID string, release bool) (protocol.Result, error) {
	if err := protocol.RoleEditor.Admits(who); err != nil {
		return protocol.Result{}, err
	}
	run, err := s.RunOn(ctx, challenge, runID)
	if err != nil {
		return protocol.Result{}, err
	}
	result, err := s.Store.Claim(ctx, by, run.ID, release)
	if err == nil {
		s.events.wake()
	}
	return result, err
}
