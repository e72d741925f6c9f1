package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// writeEvent bounds how long one write to a stream may block on a slow client.
const writeEvent = 10 * time.Second

// stream is a server-sent event stream. Its ids are positions: a client that
// resumes with Last-Event-ID gets what comes strictly after.
type stream struct {
	c       *call
	control *http.ResponseController
	ctx     context.Context
	stop    context.CancelFunc
}

// openStream starts a stream. It ends with the request or with the server,
// whichever is first; call close when done. An owner who holds too many is
// refused.
func (c *call) openStream() (*stream, error) {
	leave, err := c.server.seats.take(c.owner())
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(c.ctx())
	release := context.AfterFunc(c.server.closing, stop)
	s := &stream{c: c, control: http.NewResponseController(c.w), ctx: ctx, stop: func() { release(); stop(); leave() }}
	h := c.w.Header()
	h.Set("Content-Type", api.ContentEvents)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	c.w.WriteHeader(http.StatusOK)
	if c.r.Method == http.MethodHead { // there is no body to follow
		stop()
	}
	c.server.metrics.streams.Inc()
	_ = s.send(": open\n\n") // a client that is gone shows at the next write
	return s, nil
}

func (s *stream) close() {
	s.c.server.metrics.streams.Dec()
	s.stop()
}

func (s *stream) send(text string) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(writeEvent))
	if _, err := s.c.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.control.Flush()
}

// event writes one event without flushing.
func (s *stream) event(b *strings.Builder, id int64, kind string, data any) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return err
	}
	if id > 0 {
		fmt.Fprintf(b, "id: %d\n", id)
	}
	fmt.Fprintf(b, "event: %s\ndata: %s\n\n", kind, raw)
	return nil
}

// wait blocks until changed closes, sending heartbeats meanwhile. It returns
// false when the stream has ended.
func (s *stream) wait(changed <-chan struct{}) bool {
	beat := time.NewTicker(s.c.server.Heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return false
		case <-changed:
			return true
		case <-beat.C:
			if s.send(": alive\n\n") != nil {
				return false
			}
		}
	}
}

// resumeAfter is the position a stream starts after: Last-Event-ID, else the
// query parameter after, else missing.
func (c *call) resumeAfter(missing int64) (int64, error) {
	if raw := c.r.Header.Get("Last-Event-ID"); raw != "" {
		n, err := strconv.ParseInt(raw, 10, 64)
		if err != nil || n < 0 {
			return 0, protocol.ErrInvalid.Detailf("Last-Event-ID must be an id that this stream gave out.")
		}
		return n, nil
	}
	return c.integer("after", missing, 0, 1<<53)
}

// streamEvents sends what changes, from now on or after Last-Event-ID.
func (s *Server) streamEvents(c *call) error {
	last, err := s.Service.LastEvent(c.ctx())
	if err != nil {
		return err
	}
	after, err := c.resumeAfter(last)
	if err != nil {
		return err
	}
	out, err := c.openStream()
	if err != nil {
		return err
	}
	defer out.close()
	for err == nil {
		changed := s.Service.EventsChanged()
		var events []protocol.Event
		if events, err = s.Service.Events(out.ctx, after, protocol.MaxPage); err != nil {
			break
		}
		var b strings.Builder
		for _, e := range events {
			after = e.Seq
			if err = out.event(&b, e.Seq, string(e.Kind), api.EventFrom(e)); err != nil {
				break
			}
		}
		if b.Len() > 0 {
			err = out.send(b.String())
		} else if !out.wait(changed) {
			break
		}
	}
	return nil // the answer has begun; a failure can only end it
}

// logPage is how many lines one read of a followed log takes.
const logPage = 1000

// followLog sends a run's log from a position to its end.
func (s *Server) followLog(c *call, run protocol.Run) error {
	after, err := c.resumeAfter(0)
	if err != nil {
		return err
	}
	out, err := c.openStream()
	if err != nil {
		return err
	}
	defer out.close()
	for err == nil {
		changed := s.Service.LogChanged()
		// The run is read before its lines: if it had ended by then, the lines
		// read afterwards are the last ones.
		if run, err = s.Service.Run(out.ctx, run.ID); err != nil {
			break
		}
		var lines []protocol.LogLine
		if lines, err = s.Service.Log(out.ctx, run.ID, after, logPage); err != nil {
			break
		}
		var b strings.Builder
		for _, l := range lines {
			after = l.N
			if err = out.event(&b, l.N, "line", l); err != nil {
				break
			}
		}
		switch {
		case b.Len() > 0:
			err = out.send(b.String())
		case run.State.Ended():
			_ = out.event(&b, 0, "end", api.LogEnd{State: run.State, Lines: after})
			_ = out.send(b.String())
			return nil
		case !out.wait(changed):
			return nil
		}
	}
	return nil
}
