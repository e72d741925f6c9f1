package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// maxReconnects is how often in a row connecting may fail before the caller is
// told. With the waits between, that is about four minutes. A stream that was
// opened and then cut is always taken up again: idle ones are cut by proxies.
const maxReconnects = 10

// reconnectAfter is the wait before the n-th reconnect in a row, counted from 1.
func reconnectAfter(n int) time.Duration {
	return min(time.Second<<min(n-1, 5), maxRetryAfter)
}

// stream follows one event stream across broken connections. What is delivered
// has strictly increasing ids, and a reconnect asks for what comes after the
// last one, so that nothing is lost and nothing comes twice.
type stream struct {
	c        *Client
	route    string
	segments []string
	after    int64
	resume   bool // name the position; without it a stream starts with what happens next
	// ended asks whether more can come after a connection was closed in order.
	// Nil is a stream that never ends.
	ended func(ctx context.Context, after int64) (bool, error)
}

var (
	errStreamEnd = errors.New("the stream is complete")
	errConsumer  = errors.New("the consumer has enough")
)

// run delivers events until the stream is complete (nil), the consumer has
// enough (nil), ctx ends, or a failure is definite.
func (s *stream) run(ctx context.Context, deliver func(event) error) error {
	failures, quiet := 0, 0 // connects that failed, and that brought nothing, in a row
	for {
		before := s.after
		opened, err := s.once(ctx, deliver)
		if err == nil && s.ended != nil {
			if done, ask := s.ended(ctx, s.after); ask != nil {
				err = ask
			} else if done {
				return nil
			}
		}
		switch {
		case errors.Is(err, errStreamEnd), errors.Is(err, errConsumer):
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("follow %s: %w", s.route, context.Cause(ctx))
		case err != nil && !passing(err):
			return err
		}
		if failures++; opened {
			failures = 0
		}
		if quiet++; s.after > before {
			quiet = 1
		}
		if failures > maxReconnects {
			return err
		}
		wait := reconnectAfter(quiet)
		if err != nil {
			wait = max(wait, min(protocol.AsError(err).RetryAfter, maxRetryAfter))
		}
		s.c.opts.Log("the stream was cut after %d; connecting again in %s", s.after, wait)
		if err := s.c.opts.Sleep(ctx, wait); err != nil {
			return fmt.Errorf("follow %s: wait to connect again: %w", s.route, err)
		}
	}
}

// once reads one connection to its end and reports whether a stream was opened.
// A connection that is closed in order is nil, as when the arena restarts.
func (s *stream) once(ctx context.Context, deliver func(event) error) (opened bool, err error) {
	k, err := s.c.prepare(s.route, nil, s.segments...)
	if err != nil {
		return false, err
	}
	k.accept = api.ContentEvents
	if s.resume {
		k.lastID = strconv.FormatInt(s.after, 10)
	}
	res, w, err := s.c.send(ctx, k)
	if err != nil {
		return false, err
	}
	defer w.end()
	defer res.Body.Close()
	if err := refuseOther(k, res); err != nil {
		return false, err
	}
	if res.StatusCode >= 400 {
		return false, s.c.failure(ctx, k, res, w)
	}
	if mediaType(res) != api.ContentEvents {
		return false, notArena(k, res)
	}
	w.streams()
	for events := newEventReader(res.Body); ; {
		ev, err := events.next()
		switch {
		case err == io.EOF:
			return true, nil
		case err == errLongEvent:
			return true, ErrStreamEvent.Detailf("%s: %v.", k.what(), err)
		case err != nil:
			return true, s.c.broken(ctx, k, w, err)
		}
		if err := s.take(ev, deliver); err != nil {
			return true, err
		}
	}
}

// take delivers an event unless its position has been seen.
func (s *stream) take(ev event, deliver func(event) error) error {
	if ev.kind == "end" {
		return errStreamEnd
	}
	id, err := strconv.ParseInt(ev.id, 10, 64)
	if err != nil || (s.resume && id <= s.after) {
		return nil
	}
	if err := deliver(ev); err != nil {
		return err
	}
	s.after, s.resume = id, true
	return nil
}

// values turns a stream into a sequence of decoded values. A failure is the
// last element.
func values[T any](ctx context.Context, s *stream) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		own := *s // a sequence may be ranged over again, from its start
		err := own.run(ctx, func(ev event) error {
			var v T
			if err := json.Unmarshal([]byte(ev.data), &v); err != nil {
				return ErrStreamEvent.Detailf("The event %s of the stream does not have the expected form.", ev.id).Because(err)
			}
			if !yield(v, nil) {
				return errConsumer
			}
			return nil
		})
		if err != nil {
			var zero T
			yield(zero, err)
		}
	}
}
