package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// bodyTime is how long a sandbox may take to send a request.
const bodyTime = 2 * time.Minute

// Forward hands one call of a sandbox on to the run's job. path is what follows
// the run in the URL, escaped, and begins with /v1/.
func (h *Hub) Forward(w http.ResponseWriter, r *http.Request, run, path string) {
	l, err := h.line(r.Context(), run)
	if err != nil {
		h.refuseUnknown(w, err)
		return
	}
	l.mu.Lock()
	access := l.access
	l.mu.Unlock()
	target, ok := address(path, r.URL.RawQuery)
	switch {
	case !holds(r, access.Model):
		refuse(w, http.StatusUnauthorized, "bad-key", "This is not the key of this run's model.", false, 0)
		return
	case !access.Open:
		refuse(w, http.StatusGone, "run-ended", "The run has ended, and its model with it.", false, 0)
		return
	case !ok:
		refuse(w, http.StatusBadRequest, "bad-path", "The path cannot be handed on.", false, 0)
		return
	}
	if h.stops() {
		refuse(w, http.StatusServiceUnavailable, "stopping", "The arena is being restarted.", true, 2*time.Second)
		return
	}
	l.mu.Lock()
	full := l.count.InFlight >= int64(h.InFlight)
	l.count.Requests++
	l.dirty = true
	if full {
		l.count.Rejected++
	} else {
		l.count.InFlight++
	}
	l.mu.Unlock()
	if full {
		refuse(w, http.StatusTooManyRequests, "too-many", "Too many calls of this run are under way.", true, time.Second)
		return
	}
	c := &call{hub: h, line: l, w: w, r: r, target: target}
	defer c.done() // also when the answer is aborted
	c.forward()
}

// address is where the job is asked. Steps that a proxy could take out of a path
// would lead elsewhere than what was allowed.
func address(path, query string) (*url.URL, bool) {
	plain, err := url.PathUnescape(path)
	if err != nil || !strings.HasPrefix(plain, "/v1/") || strings.ContainsAny(plain, "\\\x00") {
		return nil, false
	}
	for segment := range strings.SplitSeq(plain, "/") {
		if segment == "." || segment == ".." {
			return nil, false
		}
	}
	return &url.URL{Scheme: "http", Host: "job.invalid", Path: plain, RawPath: path, RawQuery: query}, true
}

// call is one call on its way through.
type call struct {
	hub    *Hub
	line   *line
	w      http.ResponseWriter
	r      *http.Request
	target *url.URL

	held   int64 // bytes of the body that count against the hub's memory
	in     int64
	out    int64
	status int
	broken bool // the answer had begun, or whoever asked has left
}

// done counts the call.
func (c *call) done() {
	c.hub.release(c.held)
	c.line.mu.Lock()
	defer c.line.mu.Unlock()
	n := &c.line.count
	n.InFlight--
	n.BytesIn += c.in
	n.BytesOut += c.out
	switch {
	case c.broken:
		n.Aborted++
	case c.status >= 500:
		n.Failed++
	case c.status/100 == 2:
		n.Succeeded++
	default:
		n.Rejected++
	}
	c.line.dirty = true
}

func (c *call) refuse(status int, code, message string, again bool, after time.Duration) {
	c.status = status
	refuse(c.w, status, code, message, again, after)
}

// hold counts memory for a body; false when there is none left.
func (h *Hub) hold(n int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.buffered+n > h.Buffered {
		return false
	}
	h.buffered += n
	return true
}

func (h *Hub) release(n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.buffered -= n
}

// body reads the whole request first: an answer that begins while the request is
// still being copied would cut both (R13), and only so is it known whether
// anything was sent. It has answered when it returns false.
func (c *call) body() ([]byte, bool) {
	h := c.hub
	size := c.r.ContentLength
	if size > h.Request {
		c.refuse(http.StatusRequestEntityTooLarge, "too-large", "The request is larger than "+strconv.FormatInt(h.Request, 10)+" bytes.", false, 0)
		return nil, false
	}
	if size < 0 {
		size = h.Request
	}
	if !h.hold(size) {
		c.refuse(http.StatusTooManyRequests, "too-many", "The relay holds too many requests at the moment.", true, time.Second)
		return nil, false
	}
	c.held = size
	control := http.NewResponseController(c.w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTime))
	raw, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, h.Request))
	c.in = int64(len(raw))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		c.refuse(http.StatusRequestEntityTooLarge, "too-large", "The request is larger than "+strconv.FormatInt(h.Request, 10)+" bytes.", false, 0)
		return nil, false
	}
	if err != nil {
		c.refuse(http.StatusBadRequest, "bad-body", "The request breaks off.", false, 0)
		return nil, false
	}
	_ = control.SetReadDeadline(time.Time{}) // whoever asked may wait for long, and leave at any time
	h.release(c.held - c.in)
	c.held = c.in
	return raw, true
}

// wait returns the run's tunnel, waiting a while for one that reconnects. It has
// answered when it returns nil.
func (c *call) wait(ctx context.Context) *tunnel {
	h, l := c.hub, c.line
	hold := time.NewTimer(h.Hold)
	defer hold.Stop()
	for over := false; ; {
		l.mu.Lock()
		t, state, arrived := l.tunnel, l.state(h.Now(), h.Grace), l.arrived
		l.mu.Unlock()
		switch {
		case t != nil && t.calls.Err() == nil:
			return t
		case state != protocol.RelayReconnecting && state != protocol.RelayConnected:
			c.refuse(http.StatusServiceUnavailable, "no-job", "The run's job is not connected.", true, 5*time.Second)
			return nil
		case over:
			c.refuse(http.StatusServiceUnavailable, "reconnecting", "The run's job is reconnecting.", true, 2*time.Second)
			return nil
		}
		select {
		case <-arrived:
		case <-hold.C:
			over = true
		case <-ctx.Done():
			c.broken = true
			return nil
		}
	}
}

// forward makes the call, once.
func (c *call) forward() {
	body, ok := c.body()
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), c.hub.Longest)
	defer cancel()
	t := c.wait(ctx)
	if t == nil {
		return
	}
	var sent atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	req, err := http.NewRequestWithContext(traced, c.r.Method, c.target.String(), bytes.NewReader(body))
	if err != nil {
		c.refuse(http.StatusBadRequest, "bad-request", "The request cannot be handed on.", false, 0)
		return
	}
	req.GetBody = nil // nothing is sent twice
	if len(body) == 0 {
		req.Body, req.ContentLength = nil, 0
	}
	for _, name := range requestHeaders() {
		req.Header[name] = c.r.Header[name]
	}
	resp, err := t.calls.RoundTrip(req)
	if err != nil {
		switch {
		case c.r.Context().Err() != nil:
			c.broken = true
		case ctx.Err() != nil:
			c.refuse(http.StatusGatewayTimeout, "too-slow", "The run's job took too long.", false, 0)
		default:
			c.refuse(http.StatusBadGateway, "broken", "The connection to the run's job broke.", !sent.Load(), 0)
		}
		return
	}
	defer resp.Body.Close()
	c.answer(resp)
}

// Headers that pass. What is not here stays outside: credentials, cookies, who
// asked from where, and everything that belongs to one connection.
func requestHeaders() []string { return []string{"Accept", "Content-Type", "X-Request-Id"} }

func responseHeaders() []string {
	return []string{"Content-Type", "Openai-Processing-Ms", "Retry-After", "Retry-After-Ms", "X-Request-Id", "X-Should-Retry"}
}

// answer passes the job's answer on as it comes.
func (c *call) answer(resp *http.Response) {
	header := c.w.Header()
	for _, name := range responseHeaders() {
		if v, ok := resp.Header[name]; ok {
			header[name] = slices.Clone(v)
		}
	}
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no")
	if resp.ContentLength > c.hub.Answer {
		c.refuse(http.StatusBadGateway, "too-large", "The answer is larger than the relay carries.", false, 0)
		return
	}
	if resp.ContentLength >= 0 {
		header.Set("Content-Length", strconv.FormatInt(resp.ContentLength, 10))
	}
	c.status = resp.StatusCode
	control := http.NewResponseController(c.w)
	_ = control.SetWriteDeadline(time.Now().Add(c.hub.Longest))
	c.w.WriteHeader(resp.StatusCode)
	if resp.ContentLength < 0 {
		_ = control.Flush() // a stream: whoever asked shall know that it has begun
	}
	buffer := make([]byte, 32<<10)
	for {
		n, err := resp.Body.Read(buffer)
		if n > 0 {
			c.out += int64(n)
			if c.out > c.hub.Answer {
				c.abort()
			}
			if _, err := c.w.Write(buffer[:n]); err != nil {
				c.broken = true
				return
			}
			if err := control.Flush(); err != nil {
				c.broken = true
				return
			}
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			c.abort()
		}
	}
}

// abort breaks the connection: a stream that merely ended would look whole (R7).
func (c *call) abort() {
	c.broken = true
	panic(http.ErrAbortHandler)
}

// Health says how a run's tunnel stands, in the words of the bridge's own /health.
func (h *Hub) Health(w http.ResponseWriter, r *http.Request, run string) {
	relay, err := h.Relay(r.Context(), run)
	if err != nil {
		h.refuseUnknown(w, err)
		return
	}
	status := http.StatusOK
	if relay.State != protocol.RelayConnected {
		status = http.StatusServiceUnavailable
	}
	writeJSON(w, status, map[string]any{"ok": status == http.StatusOK, "state": relay.State})
}

func (h *Hub) refuseUnknown(w http.ResponseWriter, err error) {
	if errors.Is(err, protocol.ErrNoRun) {
		refuse(w, http.StatusNotFound, "no-run", "There is no run of this name with a relay.", false, 0)
		return
	}
	h.Log.Warn("the relay cannot find out about a run", "error", err)
	refuse(w, http.StatusServiceUnavailable, "unavailable", "The arena cannot say how the run stands.", true, 2*time.Second)
}

// refuse answers in the form that clients of such interfaces read (R6, R8). again
// says that asking again is harmless and may help.
func refuse(w http.ResponseWriter, status int, code, message string, again bool, after time.Duration) {
	kind := "invalid_request_error"
	if status >= 500 {
		kind = "server_error"
	}
	w.Header().Set("X-Should-Retry", strconv.FormatBool(again))
	if after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(after/time.Second)))
	}
	writeJSON(w, status, map[string]any{"error": map[string]any{"message": message, "type": kind, "param": nil, "code": code}})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	raw, err := json.Marshal(v)
	if err != nil { // maps of strings always encode
		status, raw = http.StatusInternalServerError, nil
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Length", strconv.Itoa(len(raw)))
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Minute))
	w.WriteHeader(status)
	_, _ = w.Write(raw)
}
