package hubtest

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"
)

// Fault takes the place of an answer; next is the answer that belongs there.
type Fault func(s *Server, w http.ResponseWriter, r *http.Request, next http.Handler)

// planned is a fault that waits for its call.
type planned struct {
	prefix string
	on     int // which call of the route, counted from 1; 0 for all
	seen   int
	fault  Fault
}

// Fail plans a fault for the n-th call from now on of a route, given by the
// beginning of its method and path; n = 0 means every call.
func (s *Server) Fail(prefix string, n int, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &planned{prefix: prefix, on: n, fault: f})
}

// Heal drops every fault that is still planned.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// fault finds the fault of a request and counts the call for all that wait for it.
func (s *Server) fault(r Request) (found Fault) {
	for _, p := range s.faults {
		if !strings.HasPrefix(r.Method+" "+r.Path, p.prefix) {
			continue
		}
		p.seen++
		if found == nil && (p.on == 0 || p.on == p.seen) {
			found = p.fault
		}
	}
	return found
}

// Status answers with a status and a JSON error. Headers come as name, value, ….
func Status(code int, header ...string) Fault {
	return func(_ *Server, w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		setAll(w.Header(), header)
		writeJSON(w, code, map[string]any{"error": http.StatusText(code), "message": http.StatusText(code)})
	}
}

// Page answers with a status and an HTML page, as a proxy does.
func Page(code int) Fault {
	return func(_ *Server, w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(code)
		fmt.Fprintf(w, "<!doctype html><title>%d</title><p>%s</p>", code, strings.Repeat("We are sorry. ", 1500))
	}
}

// Text answers 200 with a body under a content type.
func Text(contentType, body string) Fault {
	return func(_ *Server, w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write([]byte(body))
	}
}

// WrongType gives the right body under another content type.
func WrongType(contentType string) Fault {
	return func(_ *Server, w http.ResponseWriter, r *http.Request, next http.Handler) {
		rec := record(r, next)
		copyHeader(w.Header(), rec.Header())
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes())
	}
}

// Cut announces the whole body and breaks the connection after n bytes of it.
func Cut(n int) Fault {
	return func(_ *Server, w http.ResponseWriter, r *http.Request, next http.Handler) {
		rec := record(r, next)
		copyHeader(w.Header(), rec.Header())
		w.Header().Set("Content-Length", strconv.Itoa(rec.Body.Len()+1))
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes()[:min(n, rec.Body.Len())])
		flush(w)
		hangUp(w)
	}
}

// Stall sends n bytes of the right body and then nothing until the client leaves.
func Stall(n int) Fault {
	return func(s *Server, w http.ResponseWriter, r *http.Request, next http.Handler) {
		rec := record(r, next)
		copyHeader(w.Header(), rec.Header())
		w.Header().Set("Content-Length", strconv.Itoa(rec.Body.Len()+1))
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes()[:min(n, rec.Body.Len())])
		flush(w)
		select {
		case <-r.Context().Done():
		case <-s.closing:
		}
	}
}

// Trickle sends the right body one byte a second.
func Trickle() Fault {
	return func(s *Server, w http.ResponseWriter, r *http.Request, next http.Handler) {
		rec := record(r, next)
		copyHeader(w.Header(), rec.Header())
		w.Header().Set("Content-Length", strconv.Itoa(rec.Body.Len()))
		w.WriteHeader(rec.Code)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for _, b := range rec.Body.Bytes() {
			_, _ = w.Write([]byte{b})
			flush(w)
			select {
			case <-r.Context().Done():
				return
			case <-s.closing:
				return
			case <-tick.C:
			}
		}
	}
}

// Silent takes the request and never answers.
func Silent() Fault {
	return func(s *Server, _ http.ResponseWriter, r *http.Request, _ http.Handler) {
		select {
		case <-r.Context().Done():
		case <-s.closing:
		}
	}
}

// Reset breaks the connection before the request is processed.
func Reset() Fault {
	return func(_ *Server, w http.ResponseWriter, _ *http.Request, _ http.Handler) { hangUp(w) }
}

// Lost processes the request and breaks the connection instead of answering.
func Lost() Fault {
	return func(_ *Server, w http.ResponseWriter, r *http.Request, next http.Handler) {
		record(r, next)
		hangUp(w)
	}
}

// Redirect sends the client elsewhere.
func Redirect(code int, location string) Fault {
	return func(_ *Server, w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Location", location)
		w.WriteHeader(code)
	}
}

// Loop redirects every request to itself.
func Loop() Fault {
	return func(_ *Server, w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.Header().Set("Location", r.URL.RequestURI())
		w.WriteHeader(http.StatusTemporaryRedirect)
	}
}

// Skewed is another fault, answered by a clock that is off by d.
func Skewed(d time.Duration, f Fault) Fault {
	return func(s *Server, w http.ResponseWriter, r *http.Request, next http.Handler) {
		w.Header().Set("Date", s.Now().Add(d).UTC().Format(http.TimeFormat))
		f(s, w, r, next)
	}
}

// Changed passes the right answer through a function of its body.
func Changed(change func(body string) string) Fault {
	return func(_ *Server, w http.ResponseWriter, r *http.Request, next http.Handler) {
		rec := record(r, next)
		copyHeader(w.Header(), rec.Header())
		w.WriteHeader(rec.Code)
		_, _ = w.Write([]byte(change(rec.Body.String())))
	}
}

func record(r *http.Request, next http.Handler) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	next.ServeHTTP(rec, r)
	return rec
}

func copyHeader(to, from http.Header) {
	for name, values := range from {
		if name != "Content-Length" {
			to[name] = values
		}
	}
}

func setAll(h http.Header, pairs []string) {
	for i := 0; i+1 < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
}

func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

// hangUp breaks the connection so that the client sees a reset, not an end.
func hangUp(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
