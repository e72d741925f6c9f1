package hubtest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Server is what every fake is made of: a socket, routes, a record of what was
// asked, and faults.
type Server struct {
	*httptest.Server
	T testing.TB
	// Now is the fake's clock. Set it before the first request.
	Now func() time.Time
	// Latency delays every answer. Only benchmarks need it.
	Latency time.Duration

	mux    *http.ServeMux
	before func(w http.ResponseWriter, r *http.Request) bool // false: it has answered

	mu       sync.Mutex
	requests []Request
	faults   []*planned
	down     bool
	closing  chan struct{}
}

// Request is one request as it arrived.
type Request struct {
	Method string
	Path   string // escaped, without the query
	Query  string
	Header http.Header
	Body   []byte // of what is not a GET, at most 64 MiB
}

func newServer(t testing.TB, before func(w http.ResponseWriter, r *http.Request) bool) *Server {
	s := &Server{T: t, Now: time.Now, mux: http.NewServeMux(), before: before, closing: make(chan struct{})}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() {
		close(s.closing)
		s.Server.CloseClientConnections()
		s.Server.Close()
	})
	return s
}

// Handle adds a route, in the spelling of http.ServeMux.
func (s *Server) Handle(pattern string, h http.HandlerFunc) { s.mux.HandleFunc(pattern, h) }

// ServeHTTP records the request, lets a fault have it, and else answers it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	req := Request{Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery, Header: r.Header.Clone()}
	if r.Method != http.MethodGet {
		req.Body, _ = io.ReadAll(io.LimitReader(r.Body, 64<<20))
		r.Body = io.NopCloser(strings.NewReader(string(req.Body)))
	}
	if r.Header.Get("User-Agent") == "" || strings.HasPrefix(r.Header.Get("User-Agent"), "Go-http-client") {
		s.T.Errorf("%s %s has no User-Agent that names a product", r.Method, req.Path)
	}
	s.mu.Lock()
	s.requests = append(s.requests, req)
	fault := s.fault(req)
	down := s.down
	s.mu.Unlock()
	if s.Latency > 0 {
		time.Sleep(s.Latency)
	}
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", s.Now().UTC().Format(http.TimeFormat))
		if s.before == nil || s.before(w, r) {
			s.mux.ServeHTTP(w, r)
		}
	})
	switch {
	case down:
		Reset()(s, w, r, next)
	case fault != nil:
		fault(s, w, r, next)
	default:
		next(w, r)
	}
}

// Down makes the service vanish: every connection breaks without an answer.
func (s *Server) Down(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// Requests returns what was asked so far: everything, or what begins with a
// method and path such as "GET /api/".
func (s *Server) Requests(prefix string) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.requests), func(r Request) bool { return !strings.HasPrefix(r.Method+" "+r.Path, prefix) })
}

// Calls counts the requests that begin with a method and path.
func (s *Server) Calls(prefix string) int { return len(s.Requests(prefix)) }

// Forget empties the record.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = nil
}
