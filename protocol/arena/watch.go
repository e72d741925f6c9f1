package arena

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
	pause, over := s.Timing.Retry, false
	for ctx.Err() == nil {
		answered, err := s.watchOnce(ctx, runID, over)
		over = errors.Is(err, errJobOver)
		if err == nil || ctx.Err() != nil {
			return
		}
		s.Logger.Warn("following a run was interrupted", "run", runID, "error", err, "retry_in", pause)
		if answered {
			pause = s.Timing.Retry
		} else {
			s.markUnreachable(ctx, runID)
		}
		s.watchers.retryAt(runID, s.now().Add(pause))
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		s.watchers.retryAt(runID, time.Time{})
		pause = min(2*pause, maxRetry)
	}
}

// watchOnce follows the job from where the stored log ends; of one that is known
// to be over, only as long as lines keep coming. A nil error means that the run
// has ended. The boolean says that the provider answered.
func (s *Service) watchOnce(ctx context.Context, runID string, over bool) (answered bool, err error) {
	run, err := s.Run(ctx, runID)
	if err != nil || run.State.Ended() {
		return false, err
	}
	provider := s.Providers[run.Provider]
	if provider == nil {
		return false, fmt.Errorf("provider %s is not set up", run.Provider)
	}
	if run.UnreachableFrom != nil {
		// A job that is quiet for long prints nothing that would show that the
		// provider is back.
		if _, err := s.inspect(ctx, provider, run); err != nil {
			return false, err
		}
		if err := s.Store.Unreachable(ctx, run.ID, nil); err != nil {
			return true, err
		}
		s.events.wake()
	}
	fold, err := s.resumeFold(ctx, run)
	if err != nil {
		return false, err
	}
	f := &follower{service: s, run: run, fold: fold, over: over}
	if err := f.readLog(ctx, provider); err != nil {
		return f.stored > 0 || errors.Is(err, errJobOver), err
	}
	job, err := s.inspect(ctx, provider, run)
	switch {
	case err != nil:
		return f.stored > 0, err
	case !job.Status.Ended():
		return true, fmt.Errorf("the log of job %s ended while it is %s", run.JobID, job.Status)
	}
	return true, s.finish(ctx, run.ID, provider, job, fold)
}

// inspect asks what became of a run's job. One that the provider does not have
// any more is deleted; nobody can say what it cost, so it is billed until now and
// at most until its limit.
func (s *Service) inspect(ctx context.Context, provider jobs.Provider, run protocol.Run) (jobs.Job, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Timing.ProviderCall)
	defer cancel()
	job, err := provider.Inspect(ctx, run.JobID)
	switch {
	case errors.Is(err, jobs.ErrNoJob):
		job = jobs.Job{ID: run.JobID, Status: jobs.Deleted, EndedAt: s.now()}
		if run.StartedAt != nil {
			job.Billed = min(job.EndedAt.Sub(*run.StartedAt), run.Timeout)
		}
		return job, nil
	case err != nil:
		return job, fmt.Errorf("inspect job %s: %w", run.JobID, err)
	default:
		return job, nil
	}
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
	fold, err := loadFolding(expect, cursor)
	if err != nil {
		return nil, fmt.Errorf("resume the log fold of %s: %w", run.ID, err)
	}
	return fold, nil
}

// folding is a log fold with the lines that it has taken.
type folding struct {
	*joblog.State
	taken  window
	stored int64 // the position that the store has; it grows with every batch
}

// savedFolding is a folding as a cursor keeps it. Lines that were late when the
// arena stopped are asked for again, because reading resumes at the window's
// floor.
type savedFolding struct {
	Taken window          `json:"taken"`
	State json.RawMessage `json:"state"`
}

func loadFolding(expect joblog.Expect, cursor protocol.LogCursor) (*folding, error) {
	if cursor.Fold == nil {
		return &folding{State: joblog.New(expect)}, nil
	}
	var saved savedFolding
	if err := json.Unmarshal(cursor.Fold, &saved); err != nil {
		return nil, err
	}
	state, err := joblog.Load(expect, saved.State)
	return &folding{State: state, taken: saved.Taken, stored: cursor.Position}, err
}

func (f *folding) save() ([]byte, error) {
	return json.Marshal(savedFolding{Taken: f.taken, State: f.Save()})
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
		Sealed: s.redactor,
	}, nil
}

const (
	// logBatch is how many lines are stored at a time at most.
	logBatch = 200
	// logHeld is how many of the newest lines wait for the next batch when one is
	// full: what belongs before them may still be on its way.
	logHeld = 50
	// maxLine bounds one stored line of log, in bytes.
	maxLine = 1 << 20
)

// follower reads the log of one job into the store.
type follower struct {
	service *Service
	run     protocol.Run
	fold    *folding
	pending []jobs.Line // taken and not stored yet
	stored  int         // lines stored by this follower
	over    bool        // the job has ended, so its log must soon
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
		ended <- pump(ctx, provider, f.run.JobID, f.fold.taken.Floor, lines)
	}()
	defer func() { // never leave the pump behind
		cancel()
		for range lines { //nolint:revive // drained so that the pump can end
		}
	}()
	cut := f.service.watchers.reading(f.run.ID)
	defer f.service.watchers.cut(f.run.ID)
	var flush, idle <-chan time.Time
	for {
		if f.over { // known already, so nobody needs to say it again
			cut, idle = nil, time.After(f.service.Timing.ProviderCall)
		}
		held := 0
		select {
		case line, open := <-lines:
			if !open {
				return errors.Join(f.flush(ctx, 0), <-ended)
			}
			f.take(line)
			if len(f.pending) < logBatch {
				if flush == nil {
					flush = time.After(f.service.Timing.LogFlush)
				}
				continue
			}
			held = logHeld
		case <-flush:
		case <-cut:
			return errors.Join(f.flush(ctx, 0), errJobOver)
		case <-idle: // a second stream that goes nowhere: what there is has to do
			return f.flush(ctx, 0)
		}
		flush = nil
		if err := f.flush(ctx, held); err != nil {
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

// take keeps a line for the next flush, unless it was stored before.
func (f *follower) take(line jobs.Line) {
	if !f.fold.taken.has(line.Position) {
		f.pending = append(f.pending, line)
	}
}

// flush folds and stores the pending lines in the order of their positions, but
// for the newest held of them.
func (f *follower) flush(ctx context.Context, held int) error {
	slices.SortStableFunc(f.pending, func(a, b jobs.Line) int { return cmp.Compare(a.Position, b.Position) })
	f.pending = slices.CompactFunc(f.pending, func(a, b jobs.Line) bool { return a.Position == b.Position })
	n := len(f.pending) - held
	if n <= 0 {
		return nil
	}
	lines := make([]protocol.LogLine, 0, n)
	for _, line := range f.pending[:n] {
		text := strings.ToValidUTF8(line.Text[:min(len(line.Text), maxLine)], "\uFFFD")
		f.fold.FoldText(line.At, text)
		f.fold.taken.add(line.Position)
		lines = append(lines, protocol.LogLine{At: line.At, Text: text})
	}
	f.pending = slices.Delete(f.pending, 0, n)
	return f.store(ctx, lines)
}

// store appends folded lines to the run's log, with the fold's state after them.
func (f *follower) store(ctx context.Context, lines []protocol.LogLine) error {
	saved, err := f.fold.save()
	if err != nil {
		return fmt.Errorf("save the log fold of %s: %w", f.run.ID, err)
	}
	// Late lines alone do not reach a new position, but they are a new batch.
	position := max(f.fold.taken.last(), f.fold.stored+1)
	s, before := f.service, f.run
	progress, now := f.fold.Progress(), s.now()
	progress.LastLineAt = &now
	run, err := s.Store.AppendLog(ctx, f.run.ID, protocol.LogBatch{
		Lines: lines, Position: position, Fold: saved, Progress: progress, Stage: f.fold.Stage(), Status: string(jobs.Running),
	})
	if err != nil {
		return fmt.Errorf("store the log of %s: %w", f.run.ID, err)
	}
	f.stored += len(lines)
	f.run, f.fold.stored = run, position
	s.logs.wake()
	if run.State != before.State || run.Stage != before.Stage {
		s.events.wake()
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
	s.events.wake()
}
