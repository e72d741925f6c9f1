package server_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/server"
	"github.com/posttrainarena/arena/store/storetest"
)

// rated is a site with small buckets and a clock that a test moves.
func rated(r server.Rates, clock *storetest.Clock) func(*options) {
	return func(o *options) {
		o.server.Rates = r
		o.server.Now = clock.Now
	}
}

// TestBuckets: an owner's reads run out without touching their writes or anybody
// else's reads, the refusal says when to come again, and then it works.
func TestBuckets(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	s := newSite(t, rated(server.Rates{Reads: 30, Writes: 20}, clock))
	for range 3 { // a tenth of a minute's may come at once
		s.want(200, "GET", "/api/challenges", author, nil)
	}
	a := s.want(429, "GET", "/api/challenges", author, nil)
	if p := a.problem(t); p.Code != "rate-limited" || !strings.Contains(p.Detail, "bucket of reads for account ada") || !p.Retryable {
		t.Errorf("the refusal is %+v", p)
	}
	wait, err := strconv.Atoi(a.Header.Get("Retry-After"))
	if err != nil || wait < 1 || wait > 2 {
		t.Errorf("Retry-After: %q", a.Header.Get("Retry-After"))
	}
	s.want(200, "GET", "/api/challenges", other, nil)
	s.want(200, "GET", "/api/challenges", nobody, nil)
	for i := range 2 {
		s.want(201, "POST", "/api/board/messages", author, api.PostMessage{RequestID: fmt.Sprintf("message-%d", i), Body: "Hello."})
	}
	s.want(429, "POST", "/api/board/messages", author, api.PostMessage{RequestID: "message-2", Body: "Hello."})
	for range 9 { // what a monitor asks is never refused
		s.want(200, "GET", "/readyz", author, nil)
		s.want(200, "GET", "/healthz", author, nil)
	}
	clock.Advance(time.Duration(wait) * time.Second)
	s.want(200, "GET", "/api/challenges", author, nil)
}

// TestGuessingTokens: an address that tries tokens waits, while who has one goes
// on working, from another and, for it may be that of a proxy, from this one.
func TestGuessingTokens(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	s := newSite(t, rated(server.Rates{Failed: 50}, clock))
	for range 5 {
		s.wantProblem(401, "bad-token", "GET", "/api/whoami", stranger, nil)
	}
	s.wantProblem(429, "rate-limited", "GET", "/api/whoami", stranger, nil)
	s.want(200, "GET", "/api/challenges", nobody, nil)
	s.want(200, "GET", "/api/whoami", author, nil)
	clock.Advance(2 * time.Second)
	s.wantProblem(401, "bad-token", "GET", "/api/whoami", stranger, nil)
}

// TestStreamsAreCounted: an owner holds so many streams and no more, and gives
// the place back by closing one.
func TestStreamsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPipeSite(t, func(o *options) { o.server.Rates = server.Rates{Streams: 2} })
		const ask = "GET /api/events HTTP/1.1\nHost: arena\n\n"
		first := s.dial(ask)
		if a := head(t, first); a.StatusCode != 200 {
			t.Fatal(a.Status)
		}
		if a := head(t, s.dial(ask)); a.StatusCode != 200 {
			t.Fatal(a.Status)
		}
		if a := head(t, s.dial(ask)); a.StatusCode != 429 || a.Header.Get("Retry-After") != "10" {
			t.Errorf("a third stream: %s, Retry-After %q", a.Status, a.Header.Get("Retry-After"))
		}
		first.Close()
		time.Sleep(time.Minute) // a heartbeat finds that it is gone
		if a := head(t, s.dial(ask)); a.StatusCode != 200 {
			t.Errorf("after one was closed: %s", a.Status)
		}
		time.Sleep(time.Minute)
	})
}

// TestEveryAnswerIsArmored asks every route, and an address that is none, and
// requires the headers that keep a browser from running or framing an answer.
func TestEveryAnswerIsArmored(t *testing.T) {
	t.Parallel()
	s := newSite(t, fast)
	env, run := s.scored()
	check := func(about string, h http.Header) {
		policy := h.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") && !strings.Contains(policy, "default-src 'self'") || !strings.Contains(policy, "base-uri 'none'") {
			t.Errorf("%s: Content-Security-Policy %q", about, policy)
		}
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if h.Get(name) != want {
				t.Errorf("%s: %s %q, want %q", about, name, h.Get(name), want)
			}
		}
		if vary := h.Get("Vary"); !strings.Contains(vary, "Authorization") || !strings.Contains(vary, "Cookie") {
			t.Errorf("%s: Vary %q", about, vary)
		}
	}
	for _, route := range api.Routes() {
		method, path, body := example(route, env, run)
		check(route.Name, s.glance(editor, s.request(method, path, editor, body)).Header)
	}
	check("nowhere", s.want(404, "GET", "/nowhere", nobody, nil).Header)
	check("sign-in", s.do("GET", "/auth/login", nobody, nil).Header)
}

// TestEveryWriteWithACookieComesFromHere: no route that writes takes a session
// from another site, whatever it is asked.
func TestEveryWriteWithACookieComesFromHere(t *testing.T) {
	t.Parallel()
	d := newDoor(t, publicURL, fast)
	d.signIn("/")
	env, run := d.scored()
	writes := 0
	for _, route := range api.Routes() {
		if route.Method == http.MethodGet {
			continue
		}
		writes++
		_, path, _ := example(route, env, run)
		for _, header := range [][]string{nil, {"Origin", "https://evil.example"}, {"Sec-Fetch-Site", "cross-site"}} {
			if a := d.browse(route.Method, path, header...); a.StatusCode != 403 || !strings.Contains(a.body, protocol.ErrCrossOrigin.Code) {
				t.Errorf("%s with %q: %s %s", route.Name, header, a.Status, a.body)
			}
		}
	}
	if writes < 10 {
		t.Errorf("only %d routes write", writes)
	}
}

// TestNobodyIsReadBeforeTheyAreKnown: a body is not waited for when its sender may
// not send one.
func TestNobodyIsReadBeforeTheyAreKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPipeSite(t)
		for _, route := range api.Routes() {
			if route.Request == nil || route.Role == protocol.RolePublic {
				continue
			}
			path := strings.NewReplacer("{id}", challenge, "{env}", "env-000000000000", "{run}", "run-1").Replace(route.Path)
			c := s.dial("POST " + path + " HTTP/1.1\nHost: arena\nContent-Type: application/json\nContent-Length: 1000000\n\n{")
			if a := head(t, c); a.StatusCode != 401 {
				t.Errorf("%s: %s", route.Name, a.Status)
			}
			c.Close()
		}
		time.Sleep(time.Minute) // the server lets go of connections whose body it did not read
	})
}

// TestDocumentedRefusals: every route documents the refusals that any of them
// can answer with.
func TestDocumentedRefusals(t *testing.T) {
	t.Parallel()
	document := must(api.NewSchemas().Document("", "").MarshalJSON())(t)
	c := newContract(t, document)
	for _, route := range api.Routes() {
		responses := c.at("paths", route.Path, strings.ToLower(route.Method), "responses")
		var missing []string
		for _, status := range []string{"400", "401", "429", "500", "503"} {
			if responses[status] == nil {
				missing = append(missing, status)
			}
		}
		if len(missing) > 0 {
			t.Errorf("%s does not document %q", route.Name, missing)
		}
	}
}

// head reads the head of an answer.
func head(t *testing.T, c net.Conn) *http.Response {
	t.Helper()
	a, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
