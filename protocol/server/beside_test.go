package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posttrainarena/arena/protocol/api"
)

// TestBesideHoldsToTheSameRules asks an address that is not of the server.
func TestBesideHoldsToTheSameRules(t *testing.T) {
	s := openSite(t)
	h := s.server.Beside("/beside", 100, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	}))
	ask := func(target, body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, target, strings.NewReader(body)))
		for _, name := range []string{"X-Request-Id", "Content-Security-Policy", "X-Content-Type-Options"} {
			if w.Header().Get(name) == "" {
				t.Errorf("%s: no %s", target, name)
			}
		}
		return w
	}
	if w := ask("/beside", "hello"); w.Code != 200 || w.Body.String() != "hello" {
		t.Errorf("a body: %d %q", w.Code, w.Body)
	}
	if w := ask("/beside", strings.Repeat("x", 101)); w.Code != 413 {
		t.Errorf("a large body: %d", w.Code)
	}
	if w := ask("/beside?access_token=x", "hello"); w.Code != 400 {
		t.Errorf("a token in the URL: %d", w.Code)
	}
	if w := ask("/api/nothing", ""); w.Code != 404 || w.Header().Get("Content-Type") != api.ProblemType {
		t.Errorf("another address: %d", w.Code)
	}
}

// TestBesideDoesNotWaitForSlowClients sends half of a body.
func TestBesideDoesNotWaitForSlowClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPipeSite(t)
		c := s.dial("POST /beside HTTP/1.1\nHost: arena.example.org\nContent-Length: 50\n\n{")
		start := time.Now()
		if a := response(t, c); a.StatusCode != 400 || a.code() != "malformed" {
			t.Errorf("%s: %s", a.Status, a.body)
		}
		if waited := time.Since(start); waited > time.Minute {
			t.Errorf("the server waited %s for the rest", waited)
		}
	})
}

// TestShutdownDoesNotWaitForBodies: whoever is in the middle of a body when the
// arena stops is told at once to come again.
func TestShutdownDoesNotWaitForBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPipeSite(t)
		for _, path := range []string{"/api/board/messages", "/beside"} {
			c := s.dial("POST " + path + " HTTP/1.1\nHost: arena.example.org\nAuthorization: Bearer " + s.tokens[author] + "\nContent-Type: " + api.ContentJSON + "\nContent-Length: 50\n\n{")
			synctest.Wait()
			start := time.Now()
			s.server.CloseStreams()
			if a := response(t, c); a.StatusCode != 503 || a.Header.Get("Retry-After") == "" || !strings.Contains(string(a.body), "shutting down") {
				t.Errorf("%s: %s: %s", path, a.Status, a.body)
			}
			if waited := time.Since(start); waited > 0 {
				t.Errorf("%s: the server waited %s", path, waited)
			}
		}
	})
}
