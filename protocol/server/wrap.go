package server

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"github.com/julienschmidt/httprouter"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// strictPolicy lets an answer load, run and be framed by nothing: JSON and text
// need none of it. A page that needs more sets its own before it is written.
const strictPolicy = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

var requestIDPattern = regexp.MustCompile(`^[A-Za-z0-9._-]{8,120}$`)

// wrap gives every request its id and the headers that every answer has.
func (s *Server) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get("X-Request-Id")
		if !requestIDPattern.MatchString(id) || refuseSecrets(id) != nil {
			id = rand.Text()
		}
		h := w.Header()
		h.Set("X-Request-Id", id)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Content-Security-Policy", strictPolicy)
		h.Set("Vary", "Authorization, Cookie, Accept")
		next.ServeHTTP(w, r)
	})
}

// serve runs one handler: identity and role first, then the handler, and
// whatever fails becomes a problem. A panic is a 500 with its stack in the log.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, route api.Route, params httprouter.Params, h handler) {
	start := s.Now()
	rec := &recorder{ResponseWriter: w}
	c := &call{server: s, w: rec, r: r, params: params, route: route, requestID: w.Header().Get("X-Request-Id")}
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler {
				panic(p)
			}
			s.Log.Error("handler panicked", "request_id", c.requestID, "route", route.Name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			if rec.status == 0 {
				c.fail(protocol.ErrInternal)
			}
		}
		took := s.Now().Sub(start)
		s.metrics.observe(route.Name, r.Method, rec.status, took)
		s.access(c, rec, took)
	}()
	if err := c.admit(); err != nil {
		c.fail(err)
		return
	}
	if c.fromKept() {
		return
	}
	if err := h(c); err != nil {
		c.fail(err)
	}
}

// access writes the access log. The query is left out: it is the one part of a
// URL in which people leave secrets.
func (s *Server) access(c *call, rec *recorder, took time.Duration) {
	s.Log.Debug("request", "request_id", c.requestID, "method", c.r.Method, "route", c.route.Name, "status", rec.status,
		"bytes", rec.bytes, "ms", took.Milliseconds(), "who", c.who.Name)
}

// admit finds out who calls and whether the route lets them in.
func (c *call) admit() error {
	if err := refuseSecretURL(c.r); err != nil {
		return err
	}
	if c.route.Name == "unmatched" {
		return nil
	}
	if c.route.OwnKeys {
		return nil
	}
	if header := c.r.Header.Get("Authorization"); header != "" {
		scheme, token, ok := strings.Cut(header, " ")
		if !ok || !strings.EqualFold(scheme, "Bearer") || len(c.r.Header.Values("Authorization")) > 1 { // of two, a proxy may have judged the other
			return protocol.ErrBadToken.Detailf("There must be one Authorization header, and it must read: Bearer TOKEN.")
		}
		// The hub is paid for before it has answered: many questions may come at once, and
		// one that it cannot answer is a question too. Who is known already is let in
		// whatever others try from the same address, which may be that of a proxy.
		from, paid := address(c.r), false
		pay := func() error { paid = true; return c.server.failed.take(from) }
		who, err := c.server.Service.Identify(c.ctx(), strings.TrimSpace(token), pay)
		if errors.Is(err, protocol.ErrBadToken) && !paid {
			return cmp.Or(pay(), err)
		}
		if err != nil {
			return err
		}
		c.who = who
	} else if err := c.fromSession(); err != nil {
		return err
	}
	if err := c.spend(); err != nil {
		return err
	}
	return c.route.Role.Admits(c.who)
}

// recorder remembers what was answered.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// WriteHeader remembers the status.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write counts the bytes.
func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(b)
	r.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
