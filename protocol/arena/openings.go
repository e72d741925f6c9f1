package arena

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/hub"
)

const (
	// maxOpenings is how many sources are read at a time. Each may hold a listing
	// and a hundred requests.
	maxOpenings = 8
	// openingPatience is how long a source waits for its turn.
	openingPatience = 20 * time.Second
)

// openings are the sources that are being read from code hosts. Whoever wants one
// that is being read already gets the same snapshot: an agent that asks ten times
// makes the host answer once.
type openings struct {
	mu    sync.Mutex
	under map[protocol.Source]*opening
	turns chan struct{}
}

// opening is one source being read, or read.
type opening struct {
	done     chan struct{}
	snapshot *hub.Snapshot
	err      error

	sharers int // who waits for it or uses it; guarded by the openings' mutex
	stop    context.CancelFunc
}

// open reads a source, or joins whoever does. The last to leave stops it.
func (s *openings) open(ctx context.Context, host hub.Host, source protocol.Source) (*hub.Snapshot, error) {
	o := s.join(ctx, host, source)
	select {
	case <-ctx.Done():
		s.leave(source, o)
		return nil, context.Cause(ctx)
	case <-o.done:
	}
	if o.err != nil {
		s.leave(source, o)
		return nil, o.err
	}
	shared := *o.snapshot
	shared.Close = func() error { return s.leave(source, o) }
	return &shared, nil
}

// join finds the opening of a source or begins one.
func (s *openings) join(ctx context.Context, host hub.Host, source protocol.Source) *opening {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.under == nil {
		s.under, s.turns = map[protocol.Source]*opening{}, make(chan struct{}, maxOpenings)
	}
	o := s.under[source]
	if o == nil {
		o = &opening{done: make(chan struct{})}
		ctx, o.stop = context.WithCancel(context.WithoutCancel(ctx))
		s.under[source] = o
		go s.read(ctx, host, source, o)
	}
	o.sharers++
	return o
}

// read waits for a turn and opens the source.
func (s *openings) read(ctx context.Context, host hub.Host, source protocol.Source, o *opening) {
	waiting := time.NewTimer(openingPatience)
	defer waiting.Stop()
	var snapshot *hub.Snapshot
	var err error
	select {
	case s.turns <- struct{}{}:
		snapshot, err = unpanicked(ctx, host, source)
		<-s.turns
	case <-waiting.C:
		err = protocol.ErrUnavailable.Detailf("The arena is reading as many collections as it can. Try again in %s.", openingPatience).After(openingPatience)
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.mu.Lock()
	o.snapshot, o.err = snapshot, err
	if s.under[source] == o { // later requests may find another commit behind the revision
		delete(s.under, source)
	}
	abandoned := o.sharers == 0
	s.mu.Unlock()
	close(o.done)
	if abandoned {
		_ = snapshot.Release() // nobody is there who could be told
	}
}

// unpanicked opens a source. A fault of the reader is that request's fault, as it
// would be on the request's own goroutine.
func unpanicked(ctx context.Context, host hub.Host, source protocol.Source) (snapshot *hub.Snapshot, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic while reading %s: %v\n%s", source.RepoID, v, debug.Stack())
		}
	}()
	return host.Open(ctx, source)
}

// leave counts somebody out, and ends what nobody wants any more.
func (s *openings) leave(source protocol.Source, o *opening) error {
	s.mu.Lock()
	o.sharers--
	last := o.sharers == 0
	if last && s.under[source] == o {
		delete(s.under, source)
	}
	snapshot := o.snapshot // nil while it is being read, which then releases it itself
	s.mu.Unlock()
	if !last {
		return nil
	}
	o.stop()
	return snapshot.Release()
}
