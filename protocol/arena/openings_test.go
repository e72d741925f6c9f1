package arena

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/hub"
)

// slowHost takes a second to open anything, and counts.
type slowHost struct {
	opened, released, now, most atomic.Int64
	fails                       error
	panics                      bool
}

func (h *slowHost) Open(ctx context.Context, s protocol.Source) (*hub.Snapshot, error) {
	h.opened.Add(1)
	h.most.Store(max(h.most.Load(), h.now.Add(1)))
	defer h.now.Add(-1)
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(time.Second):
	}
	if h.panics {
		panic("a fault")
	}
	if h.fails != nil {
		return nil, h.fails
	}
	return &hub.Snapshot{Commit: s.Revision, Close: func() error { h.released.Add(1); return nil }}, nil
}

func repo(n int) protocol.Source {
	return protocol.Source{RepoType: protocol.RepoGitHub, RepoID: fmt.Sprintf("ada/%d", n), Revision: "main"}
}

// TestOneReadingForManyValidations: validations of one collection at one time are
// one reading of it, which is given back when the last is done; one that leaves
// early takes nothing from the others.
func TestOneReadingForManyValidations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, all := &slowHost{}, &openings{}
		leaving, leave := context.WithCancel(t.Context())
		var group sync.WaitGroup
		for i := range 50 {
			group.Go(func() {
				ctx := t.Context()
				if i%5 == 0 {
					ctx = leaving
				}
				s, err := all.open(ctx, h, repo(1))
				if i%5 == 0 {
					if !errors.Is(err, context.Canceled) {
						t.Errorf("%v, %v", s, err)
					}
					return
				}
				if err != nil || s.Commit != "main" || h.released.Load() != 0 {
					t.Errorf("%v, %v, released %d times", s, err, h.released.Load())
					return
				}
				time.Sleep(time.Duration(i) * time.Second)
				if err := errors.Join(s.Release(), s.Release()); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		leave()
		group.Wait()
		if h.opened.Load() != 1 || h.released.Load() != 1 {
			t.Errorf("opened %d times, released %d times", h.opened.Load(), h.released.Load())
		}
		// What comes later is read anew: the revision may be another commit by then.
		s, err := all.open(t.Context(), h, repo(1))
		if err != nil || h.opened.Load() != 2 {
			t.Fatalf("%v after %d openings", err, h.opened.Load())
		}
		_ = s.Release()
	})
}

// TestNobodyWaits: a reading that nobody wants any more ends, and the next one does
// not join it.
func TestNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, all := &slowHost{}, &openings{}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if s, err := all.open(ctx, h, repo(1)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, %v", s, err)
		}
		s, err := all.open(t.Context(), h, repo(1))
		if err != nil || h.opened.Load() != 2 || h.now.Load() != 0 {
			t.Errorf("%v after %d openings, %d go on", err, h.opened.Load(), h.now.Load())
		}
		_ = s.Release()
	})
}

// TestReadingsAreBounded: only so many sources are read at a time; the others wait,
// and not for ever. What fails fails for all that shared it.
func TestReadingsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, all := &slowHost{}, &openings{}
		var group sync.WaitGroup
		var busy atomic.Int64
		for i := range 300 {
			group.Go(func() {
				s, err := all.open(t.Context(), h, repo(i))
				if errors.Is(err, protocol.ErrUnavailable) && protocol.AsError(err).RetryAfter > 0 {
					busy.Add(1)
				} else if err != nil {
					t.Error(err)
				}
				_ = s.Release()
			})
		}
		group.Wait()
		if h.most.Load() != maxOpenings || busy.Load() < 100 || h.opened.Load() != h.released.Load() || len(all.under) != 0 {
			t.Errorf("%d at a time, %d refused, %d opened, %d released, %d left", h.most.Load(), busy.Load(), h.opened.Load(), h.released.Load(), len(all.under))
		}
		h.fails = protocol.ErrInvalidSource
		for range 3 {
			group.Go(func() {
				if _, err := all.open(t.Context(), h, repo(1)); !errors.Is(err, protocol.ErrInvalidSource) {
					t.Error(err)
				}
			})
		}
		group.Wait()
		h.fails, h.panics = nil, true
		if _, err := all.open(t.Context(), h, repo(1)); err == nil || protocol.AsError(err).Kind != protocol.KindInternal {
			t.Errorf("a fault of the reader says %v", err)
		}
		if len(all.under) != 0 || len(all.turns) != 0 {
			t.Errorf("%d readings are left, %d turns taken", len(all.under), len(all.turns))
		}
	})
}
