package arena_test

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"sync/atomic"

	"github.com/posttrainarena/arena/protocol/jobs"
)

// unruly stands between the service and a provider and does what networks do.
type unruly struct {
	jobs.Provider
	down    atomic.Bool  // no call reaches the provider, and streams break at their next line
	deaf    atomic.Int32 // this many cancels get lost
	noStart atomic.Bool  // calls of Start get lost on their way
	starts  atomic.Int32 // calls of Start that reached the provider
	// logs changes how lines are delivered; nil delivers them as they come.
	logs func(iter.Seq2[jobs.Line, error]) iter.Seq2[jobs.Line, error]
}

// between puts u in front of the world's provider.
func between(u *unruly) func(*options) {
	return func(o *options) {
		o.wrap = func(p jobs.Provider) jobs.Provider {
			u.Provider = p
			return u
		}
	}
}

var errDown = errors.New("no route to the provider")

func (u *unruly) err() error {
	if u.down.Load() {
		return errors.Join(jobs.ErrUnreachable, errDown)
	}
	return nil
}

func (u *unruly) Hardware(ctx context.Context) ([]jobs.Flavor, error) {
	if err := u.err(); err != nil {
		return nil, err
	}
	return u.Provider.Hardware(ctx)
}

func (u *unruly) Start(ctx context.Context, spec jobs.Spec) (jobs.Job, error) {
	if err := u.err(); err != nil {
		return jobs.Job{}, err
	}
	if u.noStart.Load() {
		return jobs.Job{}, errors.Join(jobs.ErrUnreachable, errDown)
	}
	u.starts.Add(1)
	return u.Provider.Start(ctx, spec)
}

func (u *unruly) Inspect(ctx context.Context, id string) (jobs.Job, error) {
	if err := u.err(); err != nil {
		return jobs.Job{}, err
	}
	return u.Provider.Inspect(ctx, id)
}

func (u *unruly) Find(ctx context.Context, run string) ([]jobs.Job, error) {
	if err := u.err(); err != nil {
		return nil, err
	}
	return u.Provider.Find(ctx, run)
}

func (u *unruly) Cancel(ctx context.Context, id string) error {
	if err := u.err(); err != nil {
		return err
	}
	if u.deaf.Add(-1) >= 0 {
		return errors.Join(jobs.ErrUnknown, errDown)
	}
	return u.Provider.Cancel(ctx, id)
}

func (u *unruly) Artifacts(ctx context.Context, id string) (fs.FS, error) {
	if err := u.err(); err != nil {
		return nil, err
	}
	return u.Provider.Artifacts(ctx, id)
}

func (u *unruly) Logs(ctx context.Context, id string, after int64) iter.Seq2[jobs.Line, error] {
	lines := u.Provider.Logs(ctx, id, after)
	if u.logs != nil {
		lines = u.logs(lines)
	}
	return func(yield func(jobs.Line, error) bool) {
		if err := u.err(); err != nil {
			yield(jobs.Line{}, err)
			return
		}
		for line, err := range lines {
			if down := u.err(); down != nil {
				yield(jobs.Line{}, down)
				return
			}
			if !yield(line, err) {
				return
			}
		}
	}
}
