package client

import (
	"context"
	"errors"
	"io"
	"time"
)

// stallAfter is how long a connection may be silent in both directions before
// it counts as broken: no answer takes the arena this long.
const stallAfter = 2 * time.Minute

// streamStallAfter is the same of an open stream, which has a heartbeat every
// fifteen seconds.
const streamStallAfter = 50 * time.Second

var errStalled = errors.New("the connection is silent")

// watch ends a request whose connection has gone silent. There is no limit on
// the whole: a large upload over a slow line is fine as long as it moves.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	limit  time.Duration // of silence
}

func newWatch(parent context.Context) *watch {
	ctx, cancel := context.WithCancelCause(parent)
	return &watch{ctx: ctx, cancel: cancel, limit: stallAfter, timer: time.AfterFunc(stallAfter, func() { cancel(errStalled) })}
}

// progress says that something moved.
func (w *watch) progress() { w.timer.Reset(w.limit) }

// streams says that a stream is open, which is never silent for long. It must be
// called before the body is read.
func (w *watch) streams() {
	w.limit = streamStallAfter
	w.progress()
}

// stalled reports whether silence ended the request.
func (w *watch) stalled() bool { return errors.Is(context.Cause(w.ctx), errStalled) }

// end releases the request.
func (w *watch) end() {
	w.timer.Stop()
	w.cancel(nil)
}

// watched reports what moves through a body.
func (w *watch) watched(body io.ReadCloser) io.ReadCloser { return watchedBody{body, w} }

type watchedBody struct {
	io.ReadCloser
	w *watch
}

// Read counts every byte as a sign of life.
func (b watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.w.progress()
	}
	return n, err
}
