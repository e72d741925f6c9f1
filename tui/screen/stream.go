package screen

import (
	"context"
	"fmt"
	"iter"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// Crash is a panic somewhere in the dashboard. It is a message to the root, which
// ends the dashboard in order, and an error where one is expected.
type Crash struct {
	Value any
	Stack string
}

// Error is the panic in one line.
func (c Crash) Error() string { return fmt.Sprintf("the dashboard crashed: %v", c.Value) }

// Recovered is the crash of a recovered value, which must be called where the
// panic was.
func Recovered(value any) Crash { return Crash{Value: value, Stack: string(debug.Stack())} }

// How a follower hands over: at most so many items at once, and items that come
// shortly after each other together, so that a flood does not redraw the screen
// for each.
const (
	batchItems = 1000
	batchWait  = 40 * time.Millisecond
	batchAhead = 4096 // items read ahead of the screen
)

// Follower reads a sequence in the background and hands it over in batches.
type Follower[T any] struct {
	items chan T
	stop  context.CancelFunc
	err   atomic.Pointer[error]
}

// Follow starts reading. The reader ends when the sequence does, when ctx ends,
// and when Close is called. A panic of the sequence ends it with a Crash.
func Follow[T any](ctx context.Context, seq func(context.Context) iter.Seq2[T, error]) *Follower[T] {
	ctx, stop := context.WithCancel(ctx)
	f := &Follower[T]{items: make(chan T, batchAhead), stop: stop}
	go func() {
		defer close(f.items) // after the error is in place
		defer func() {
			if p := recover(); p != nil {
				var err error = Recovered(p)
				f.err.Store(&err)
			}
		}()
		for item, err := range seq(ctx) {
			if err != nil {
				f.err.Store(&err)
				return
			}
			select {
			case f.items <- item:
			case <-ctx.Done():
				return
			}
		}
	}()
	return f
}

// Next waits for the next items. It returns false when there are no more, then
// with the error that ended the sequence, nil if it came to its end.
func (f *Follower[T]) Next() ([]T, bool, error) {
	first, ok := <-f.items
	if !ok {
		if err := f.err.Load(); err != nil {
			return nil, false, *err
		}
		return nil, false, nil
	}
	batch := []T{first}
	wait := time.NewTimer(batchWait)
	defer wait.Stop()
	for len(batch) < batchItems {
		select {
		case item, ok := <-f.items:
			if !ok {
				return batch, true, nil // the next call says how it ended
			}
			batch = append(batch, item)
		case <-wait.C:
			return batch, true, nil
		}
	}
	return batch, true, nil
}

// Close ends the reader.
func (f *Follower[T]) Close() { f.stop() }
