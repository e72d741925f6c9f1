package server_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol/api"
)

// TestKeptAnswersAreNeverOld: what anybody is answered is kept only as long as
// nothing was committed, by this arena or beside it, and never shown to or made
// from somebody who is signed in.
func TestKeptAnswersAreNeverOld(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC) // stands still: time alone makes no answer old here
	s := newSite(t, func(o *options) { o.server.Now = func() time.Time { return now } })
	messages := func(who string) int {
		t.Helper()
		return len(decode[api.Messages](t, s.want(200, "GET", "/api/board/messages", who, nil)).Messages)
	}
	tag := s.want(200, "GET", "/api/board/messages", nobody, nil).Header.Get("ETag")
	for i, id := range []string{"message-001", "message-002", "message-003"} {
		if got := messages(nobody); got != i {
			t.Fatalf("before message %d there are %d", i+1, got)
		}
		s.want(201, "POST", "/api/board/messages", author, api.PostMessage{RequestID: id, Body: "Hello."})
		if a, b := messages(nobody), messages(nobody); a != i+1 || b != i+1 {
			t.Fatalf("after message %d there are %d, then %d", i+1, a, b)
		}
	}
	a := s.want(200, "GET", "/api/board/messages", nobody, nil, "If-None-Match", tag)
	if again := a.Header.Get("ETag"); again == tag || again == "" {
		t.Errorf("ETag %q after %q", again, tag)
	}
	s.want(304, "GET", "/api/board/messages", nobody, nil, "If-None-Match", a.Header.Get("ETag"))

	// Pages and filters are answers of their own, with their links.
	first := s.want(200, "GET", "/api/board/messages?limit=1", nobody, nil)
	kept := s.want(200, "GET", "/api/board/messages?limit=1", nobody, nil)
	if first.Header.Get("Link") == "" || first.Header.Get("Link") != kept.Header.Get("Link") || string(first.body) != string(kept.body) || string(first.body) == string(a.body) {
		t.Errorf("a page: %v, then %v", first.Header, kept.Header)
	}
	if got := s.want(200, "GET", "/api/board/messages", editor, nil).Header.Get("Cache-Control"); got != "private, no-cache" {
		t.Errorf("signed in, Cache-Control is %q", got)
	}
	s.want(404, "GET", "/api/environments/env-000000000000", nobody, nil) // refusals are not kept
	s.want(404, "GET", "/api/environments/env-000000000000", nobody, nil)
}

// BenchmarkRead measures public reads through the whole server, without a
// network: as anybody, with the ETag, and as somebody who is signed in.
func BenchmarkRead(b *testing.B) {
	s := openSite(b)
	for about, header := range map[string]http.Header{"anybody": {}, "signed in": {"Authorization": {"Bearer " + s.tokens[author]}}} {
		for _, path := range []string{"/api/challenges/" + challenge, "/api/challenges/" + challenge + "/leaderboard"} {
			b.Run(about+path, func(b *testing.B) {
				b.ReportAllocs()
				r, err := http.NewRequest("GET", path, nil)
				if err != nil {
					b.Fatal(err)
				}
				r.Header, r.RemoteAddr = header, "127.0.0.1:1"
				for b.Loop() {
					w := discard{http.Header{}}
					s.server.ServeHTTP(w, r)
				}
			})
		}
	}
}

// discard is an answer that nobody reads.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) WriteHeader(int)             {}
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
