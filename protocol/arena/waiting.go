package arena

import (
	"context"
	"errors"
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// Waiting explains a run that has not ended; nil for one that has.
func (s *Service) Waiting(r protocol.Run) *protocol.Waiting {
	w := r.Waiting(s.Patience, s.now())
	if w == nil {
		return nil
	}
	w.NextCheck = s.watchers.nextLook(r.ID)
	return w
}

// quiet is how long a job may print nothing before its provider is asked how it
// is: a log that does not grow looks the same whether the job thinks, its
// provider is away, or the connection is dead.
const quiet = time.Minute

// errJobOver is why a watcher stops to wait for the log of a job that has ended.
var errJobOver = errors.New("the job has ended although its log has not")

// probe asks the provider about a job that has been quiet, and records whether it
// answers and what it calls the job's state. When the job has ended, the stream
// on which its watcher still waits is dead: the watcher begins again where it
// is, and finds out itself how the job ended.
func (s *Service) probe(ctx context.Context, run protocol.Run) {
	last := run.Since
	for _, at := range []*time.Time{run.StartedAt, run.Progress.LastLineAt} {
		if at != nil && at.After(last) {
			last = *at
		}
	}
	provider := s.Providers[run.Provider]
	if provider == nil || s.now().Sub(last) < quiet {
		return
	}
	job, err := s.inspect(ctx, provider, run)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		s.markUnreachable(ctx, run.ID)
		return
	case run.UnreachableFrom != nil:
		err = s.Store.Unreachable(ctx, run.ID, nil)
		s.events.wake()
	}
	switch {
	case err != nil:
	case job.Status.Ended():
		s.watchers.cut(run.ID)
	case string(job.Status) != run.JobStatus:
		_, err = s.Store.AppendLog(ctx, run.ID, protocol.LogBatch{Status: string(job.Status)})
		s.events.wake()
	}
	if err != nil {
		s.Logger.Warn("could not record what the provider says of a job", "run", run.ID, "error", err)
	}
}

// reading says that the watcher of a run begins to read its job's log. The
// channel is closed when it should not wait for more.
func (w *watchers) reading(run string) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	over := make(chan struct{})
	w.streams[run] = over
	return over
}

// cut ends the reading of a run's log, if it goes on.
func (w *watchers) cut(run string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if over, ok := w.streams[run]; ok {
		close(over)
		delete(w.streams, run)
	}
}

// plan records when the reconciler looks at every live run again.
func (w *watchers) plan(at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tick = at
}

// retryAt records when the watcher of a run tries again to reach its provider;
// the zero time says that it does.
func (w *watchers) retryAt(run string, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at.IsZero() {
		delete(w.retries, run)
	} else {
		w.retries[run] = at
	}
}

// nextLook is when a run is looked at next: by its watcher, when that waits to
// try again, or else by the reconciler. It is nil while nothing watches.
func (w *watchers) nextLook(run string) *time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx == nil || w.ctx.Err() != nil {
		return nil
	}
	at := w.tick
	if retry, ok := w.retries[run]; ok && (at.IsZero() || retry.Before(at)) {
		at = retry
	}
	if at.IsZero() {
		return nil
	}
	at = at.UTC().Truncate(time.Second)
	return &at
}
