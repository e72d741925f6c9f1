package arena

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/joblog"
	"github.com/posttrainarena/arena/protocol/jobs"
)

// follow makes sure that a live run is watched, by one goroutine.
func (s *Service) follow(run protocol.Run) {
	s.watchers.start(run.ID, func(ctx context.Context) { s.watch(ctx, run.ID) })
}

// maxRetry is the longest pause between two tries to reach a provider.
const maxRetry = time.Minute

// watch follows a run's job until it has ended and is settled. A provider that
// does not answer is a condition of the run, never a failure: the watcher tries
// again for as long as it takes.
func (s *Service) watch(ctx context.Context, runID string) {
	pause := s.Timing.Retry
	for ctx.Err() == nil {
		progressed, err := s.watchOnce(ctx, runID)
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			return
		}
		s.Logger.Warn("following a run was interrupted", "run", runID, "error", err, "retry_in", pause)
		s.markUnreachable(ctx, runID)
		if progressed {
			pause = s.Timing.Retry
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, maxRetry)
	}
}

// watchOnce follows the job from where the stored log ends. A nil error means
// that the run has ended. The boolean says that the provider answered.
func (s *Service) watchOnce(ctx context.Context, runID string) (progressed bool, err error) {
	run, err := s.Run(ctx, runID)
	if err != nil || run.State.Ended() {
		return false, err
	}
	provider := s.Providers[run.Provider]
	if provider == nil {
		return false, fmt.Errorf("provider %s is not set up", run.Provider)
	}
	if run.CancelAsked != nil {
		if err := s.call(ctx, func(ctx context.Context) error { return provider.Cancel(ctx, run.JobID) }); err != nil && !errors.Is(err, jobs.ErrNoJob) {
			return false, fmt.Errorf("repeat the cancel of job %s: %w", run.JobID, err)
		}
	}
	fold, err := s.resumeFold(ctx, run)
	if err != nil {
		return false, err
	}
	f := &follower{service: s, run: run, fold: fold}
	if err := f.readLog(ctx, provider); err != nil {
		return f.stored > 0, err
	}
	var job jobs.Job
	err = s.call(ctx, func(ctx context.Context) error {
		job, err = provider.Inspect(ctx, run.JobID)
		return err
	})
	switch {
	case errors.Is(err, jobs.ErrNoJob):
		job = jobs.Job{ID: run.JobID, Status: jobs.Deleted, EndedAt: s.now()}
	case err != nil:
		return true, fmt.Errorf("inspect job %s: %w", run.JobID, err)
	case !job.Status.Ended():
		return true, fmt.Errorf("the log of job %s ended while it is %s", run.JobID, job.Status)
	}
	return true, s.finish(ctx, f.run, provider, job, fold)
}

// call makes one call to a provider within its time limit.
func (s *Service) call(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.Timing.ProviderCall)
	defer cancel()
	return f(ctx)
}

// resumeFold loads the log fold of a run where the stored log ends.
func (s *Service) resumeFold(ctx context.Context, run protocol.Run) (*folding, error) {
	expect, err := s.expect(ctx, run)
	if err != nil {
		return nil, err
	}
	cursor, err := s.LogCursor(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	if cursor.Fold == nil {
		return &folding{State: joblog.New(expect), position: cursor.Position}, nil
	}
	state, err := joblog.Load(expect, cursor.Fold)
	if err != nil {
		return nil, fmt.Errorf("resume the log fold of %s: %w", run.ID, err)
	}
	return &folding{State: state, position: cursor.Position}, nil
}

// folding is a log fold with the provider's position after its last line.
type folding struct {
	*joblog.State
	position int64
}

// expect is what a run's log may speak of: the evaluated sealed tasks and the
// eligible training tasks.
func (s *Service) expect(ctx context.Context, run protocol.Run) (joblog.Expect, error) {
	c, err := s.Challenge(run.Challenge)
	if err != nil {
		return joblog.Expect{}, err
	}
	col, err := s.Collection(ctx, run.Collection)
	if err != nil {
		return joblog.Expect{}, err
	}
	var sealed []string
	for _, suite := range c.Suites {
		sealed = append(sealed, s.Sealed[suite.ID].Evaluated()...)
	}
	train := trainingTasks(col)
	return joblog.Expect{
		Tasks: map[protocol.Stage][]string{
			protocol.StageBaseline: sealed, protocol.StageHeldout: sealed, protocol.StageGate: train, protocol.StageTraining: train,
		},
		Trials: max(1, c.Metric.TrialsPerRun),
		Known:  s.Issues,
	}, nil
}

// logBatch is how many lines are stored at a time at most.
const logBatch = 200

// maxLine bounds one stored line of log, in bytes.
const maxLine = 1 << 20

// follower reads the log of one job into the store.
type follower struct {
	service *Service
	run     protocol.Run
	fold    *folding
	batch   []protocol.LogLine
	stored  int // lines stored by this follower
}

// readLog stores the job's lines as they come, until the job's log ends. Lines
// wait at most Timing.LogFlush for company.
func (f *follower) readLog(ctx context.Context, provider jobs.Provider) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := make(chan jobs.Line, logBatch)
	ended := make(chan error, 1)
	go func() {
		defer close(lines)
		ended <- pump(ctx, provider, f.run.JobID, f.fold.position, lines)
	}()
	defer func() { // never leave the pump behind
		cancel()
		for range lines { //nolint:revive // drained so that the pump can end
		}
	}()
	var flush <-chan time.Time
	for {
		select {
		case line, open := <-lines:
			if !open {
				return errors.Join(f.flush(ctx), <-ended)
			}
			f.take(line)
			if len(f.batch) < logBatch {
				if flush == nil {
					flush = time.After(f.service.Timing.LogFlush)
				}
				continue
			}
		case <-flush:
		}
		flush = nil
		if err := f.flush(ctx); err != nil {
			return err
		}
	}
}

// pump moves lines from the provider's iterator to a channel.
func pump(ctx context.Context, provider jobs.Provider, job string, after int64, lines chan<- jobs.Line) error {
	for line, err := range provider.Logs(ctx, job, after) {
		if errors.Is(err, jobs.ErrNoJob) {
			return nil // its end is for Inspect to tell
		}
		if err != nil {
			return fmt.Errorf("read the log of job %s: %w", job, err)
		}
		select {
		case lines <- line:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return ctx.Err()
}

// take folds one line, unless it was read before.
func (f *follower) take(line jobs.Line) {
	if line.Position <= f.fold.position {
		return
	}
	text := line.Text
	if len(text) > maxLine {
		text = text[:maxLine]
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	f.fold.FoldText(line.At, text)
	f.fold.position = line.Position
	f.batch = append(f.batch, protocol.LogLine{At: line.At, Text: text})
}

// flush stores what was taken, with the fold's state after it.
func (f *follower) flush(ctx context.Context) error {
	if len(f.batch) == 0 {
		return nil
	}
	s, before := f.service, f.run
	run, err := s.Store.AppendLog(ctx, f.run.ID, protocol.LogBatch{
		Lines: f.batch, Position: f.fold.position, Fold: f.fold.Save(), Progress: f.fold.Progress(), Stage: f.fold.Stage(), Status: string(jobs.Running),
	})
	if err != nil {
		return fmt.Errorf("store the log of %s: %w", f.run.ID, err)
	}
	f.stored += len(f.batch)
	f.run, f.batch = run, nil
	s.logs.wake(run.ID)
	if run.State != before.State || run.Stage != before.Stage {
		s.events.wake()
	}
	if before.UnreachableFrom != nil {
		return s.Store.Unreachable(ctx, run.ID, nil)
	}
	return nil
}

// markUnreachable records since when a run's provider does not answer.
func (s *Service) markUnreachable(ctx context.Context, runID string) {
	run, err := s.Run(ctx, runID)
	if err != nil || run.UnreachableFrom != nil || run.State.Ended() {
		return
	}
	now := s.now()
	if err := s.Store.Unreachable(ctx, runID, &now); err != nil {
		s.Logger.Warn("could not record that the provider does not answer", "run", runID, "error", err)
	}
}
