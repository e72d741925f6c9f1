package server_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/hub"
)

// TestProblems has a row for each way to ask wrongly that has nothing to do with
// what is asked for. All are problem documents (RFC 9457).
func TestProblems(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(o *options) { o.server.MaxJSON = 2000 })
	const board = "/api/board/messages"
	long := `{"request_id":"message-001","body":"` + strings.Repeat("x", 3000) + `"}`
	for name, c := range map[string]struct {
		status  int
		code    string
		method  string
		path    string
		body    any
		headers []string
	}{
		"no such address":     {404, "not-found", "GET", "/api/nothing", nil, nil},
		"a trailing slash":    {404, "not-found", "GET", "/api/challenges/", nil, nil},
		"a doubled slash":     {404, "not-found", "GET", "//api/challenges", nil, nil},
		"a parent directory":  {404, "not-found", "GET", "/api/../healthz", nil, nil},
		"an empty parameter":  {404, "no-challenge", "GET", "/api/challenges//runs", nil, nil},
		"no such challenge":   {404, "no-challenge", "GET", "/api/challenges/none/runs", nil, nil},
		"no such run":         {404, "no-run", "GET", runsPath + "/none", nil, nil},
		"no such collection":  {404, "no-environment", "GET", "/api/environments/env-000000000000", nil, nil},
		"a method":            {405, "method", "DELETE", "/api/challenges", nil, nil},
		"no content type":     {415, "media-type", "POST", board, "{}", []string{"Content-Type", ""}},
		"a content type":      {415, "media-type", "POST", board, "{}", []string{"Content-Type", "text/plain"}},
		"a form":              {415, "media-type", "POST", board, "a=b", []string{"Content-Type", "application/x-www-form-urlencoded"}},
		"no JSON":             {400, "malformed", "POST", board, "hello", nil},
		"an empty body":       {400, "malformed", "POST", board, "", nil},
		"a large body":        {413, "too-large", "POST", board, long, nil},
		"a large stream":      {413, "too-large", "POST", board, io.Reader(struct{ io.Reader }{strings.NewReader(long)}), nil},
		"an unknown member":   {422, "invalid", "POST", board, `{"request_id":"message-001","body":"b","urgent":true}`, nil},
		"a limit of zero":     {422, "invalid", "GET", board + "?limit=0", nil, nil},
		"a limit of 201":      {422, "invalid", "GET", board + "?limit=201", nil, nil},
		"a limit in words":    {422, "invalid", "GET", board + "?limit=all", nil, nil},
		"an invented cursor":  {400, "cursor", "GET", board + "?cursor=bm9uZQ", nil, nil},
		"no collection named": {422, "invalid", "GET", runsPath + "/preflight", nil, nil},
		"an event id":         {422, "invalid", "GET", "/api/events", nil, []string{"Last-Event-ID", "yesterday"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			a := s.do(c.method, c.path, author, c.body, c.headers...)
			p := a.problem(t)
			if a.StatusCode != c.status || p.Code != c.code || p.Status != c.status || p.Title != http.StatusText(c.status) || p.Detail == "" || p.Type != "about:blank" {
				t.Errorf("%s: %+v; want %d %s", a.Status, p, c.status, c.code)
			}
			if p.RequestID != a.Header.Get("X-Request-Id") {
				t.Errorf("the problem says %s, the header %s", p.RequestID, a.Header.Get("X-Request-Id"))
			}
			if cache := a.Header.Get("Cache-Control"); cache != "no-store" {
				t.Errorf("Cache-Control: %q", cache)
			}
		})
	}
}

// TestAllowNamesTheMethods asks every address of the table with every method. Of
// those that it does not have, the answer names the ones that it has.
func TestAllowNamesTheMethods(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, r := range api.Routes() {
		path := strings.NewReplacer("{", "", "}", "").Replace(r.Path)
		has := []string{http.MethodOptions}
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if _, ok := routeOf(method, path); ok {
				has = append(has, method)
			}
		}
		if slices.Contains(has, http.MethodGet) {
			has = append(has, http.MethodHead)
		}
		slices.Sort(has)
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
			status := 405
			if method == http.MethodOptions {
				status = 200
			} else if slices.Contains(has, method) {
				continue
			}
			a := s.want(status, method, path, nobody, nil)
			allow := strings.Split(a.Header.Get("Allow"), ", ")
			slices.Sort(allow)
			if !slices.Equal(allow, has) {
				t.Errorf("%s %s: Allow %q, want %q", method, path, allow, has)
			}
		}
	}
	s.wantProblem(404, "not-found", "OPTIONS", "/api/nothing", nobody, nil)
}

// TestHeadIsGetWithoutBody asks for the head of every kind of answer.
func TestHeadIsGetWithoutBody(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, path := range []string{"/api/challenges", "/healthz", "/metrics", "/openapi.json"} {
		get, head := s.want(200, "GET", path, nobody, nil), s.want(200, "HEAD", path, nobody, nil)
		if len(head.body) != 0 || head.Header.Get("Content-Type") != get.Header.Get("Content-Type") {
			t.Errorf("%s: HEAD has %d bytes of %q, GET is %q", path, len(head.body), head.Header.Get("Content-Type"), get.Header.Get("Content-Type"))
		}
		if path != "/metrics" && (head.Header.Get("ETag") != get.Header.Get("ETag") || head.ContentLength != get.ContentLength) {
			t.Errorf("%s: HEAD says %q, %d bytes; GET %q, %d bytes", path, head.Header.Get("ETag"), head.ContentLength, get.Header.Get("ETag"), get.ContentLength)
		}
	}
	// A stream has no end that HEAD could wait for.
	if a := s.want(200, "HEAD", "/api/events", nobody, nil); a.Header.Get("Content-Type") != api.ContentEvents {
		t.Errorf("HEAD of a stream: %v", a.Header)
	}
	s.want(401, "HEAD", "/api/whoami", nobody, nil)
	s.want(404, "HEAD", "/api/nothing", nobody, nil)
}

// TestPanicIsOneFailedRequest lets a handler panic. The client learns nothing but
// the request id, the log has the stack, and the server goes on.
func TestPanicIsOneFailedRequest(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(o *options) {
		o.server.Receive = func(context.Context, io.Reader) (*hub.Snapshot, error) { panic("the secret plan") }
	})
	a := s.upload("/api/environments", author, bundled("sample"), oneTask(t))
	p := a.problem(t)
	if a.StatusCode != 500 || p.Code != "internal" || strings.Contains(string(a.body), "secret") {
		t.Errorf("%s: %s", a.Status, a.body)
	}
	for _, want := range []string{"the secret plan", "problems_test.go", p.RequestID} {
		if !strings.Contains(s.log.String(), want) {
			t.Errorf("the log does not hold %q", want)
		}
	}
	s.want(200, "GET", "/readyz", nobody, nil)
}

// TestRequestID follows an id from the client through the answer into the log
// and the audit trail. An id that is none of the agreed form is replaced.
func TestRequestID(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.want(201, "POST", "/api/agents", author, api.RegisterAgent{AgentID: "adas-agent"}, "X-Request-Id", "client-chosen.1")
	if got := a.Header.Get("X-Request-Id"); got != "client-chosen.1" {
		t.Errorf("the id came back as %q", got)
	}
	if !strings.Contains(s.log.String(), `"request_id":"client-chosen.1"`) {
		t.Error("the log does not hold the id")
	}
	trail, _, err := s.store.Audit(t.Context(), protocol.Page{})
	if err != nil || !slices.ContainsFunc(trail, func(a protocol.Audit) bool { return a.RequestID == "client-chosen.1" && a.Actor == author }) {
		t.Errorf("the audit trail does not hold the id: %+v, %v", trail, err)
	}
	seen := map[string]bool{}
	for _, sent := range []string{"", "short", strings.Repeat("x", 121), "with space", "semi;colon", s.tokens[author]} {
		got := s.do("GET", "/healthz", nobody, nil, "X-Request-Id", sent).Header.Get("X-Request-Id")
		if len(got) < 8 || got == sent || seen[got] {
			t.Errorf("for %q the server chose %q", sent, got)
		}
		seen[got] = true
	}
}

// TestTokensBelongInTheHeader puts a token everywhere else. It is refused, not
// repeated, and not logged; the site looks through its whole log at the end.
func TestTokensBelongInTheHeader(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	token := s.tokens[author]
	escaped := `\u0061rena_` + strings.TrimPrefix(token, "arena_")
	refused := func(method, path string, body any, headers ...string) {
		t.Helper()
		a := s.do(method, path, nobody, body, headers...)
		if a.StatusCode != 400 || a.code() != "token-in-url" || strings.Contains(string(a.body), token) {
			t.Errorf("%s %s: %s: %s", method, strings.ReplaceAll(path, token, "TOKEN"), a.Status, a.body)
		}
	}
	refused("GET", "/api/whoami?token="+token, nil)
	refused("GET", "/api/whoami?access_token=anything", nil)
	refused("GET", "/api/challenges?Authorization=Bearer", nil)
	refused("GET", "/api/challenges?q=a;token="+token, nil)
	refused("GET", "/api/challenges?"+token, nil)
	refused("GET", "/api/challenges?q=%61rena_"+strings.TrimPrefix(token, "arena_"), nil)
	refused("GET", "/api/environments/"+token, nil)
	refused("GET", "/"+token, nil)
	refused("GET", "/api/challenges?q=hf_"+strings.Repeat("Ab1", 12), nil)

	as := []string{"Authorization", "Bearer " + token}
	refused("POST", "/api/board/messages", `{"request_id":"message-001","body":"my token is `+token+`"}`, as...)
	refused("POST", "/api/board/messages", `{"request_id":"message-001","body":"my token is `+escaped+`"}`, as...)
	refused("POST", "/api/board/messages", `{"`+token+`":1,"`+token+`":2}`, as...)
	refused("POST", "/api/agents", api.RegisterAgent{AgentID: "adas-agent", Description: token}, as...)
	body, kind := form(t, part{"request", []byte(`{"challenge_id":"tb2-9b","repo_type":"bundle","repo_id":"sample","notes":"` + token + `"}`)})
	refused("POST", "/api/environments", body, append(as, "Content-Type", kind)...)

	if n := must(s.store.LastEvent(t.Context()))(t); n != 0 {
		t.Errorf("%d events were written", n)
	}
}

// TestETag reads twice: the second answer is empty while nothing has changed.
func TestETag(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const board = "/api/board/messages"
	tag := s.want(200, "GET", board, nobody, nil).Header.Get("ETag")
	for _, header := range []string{tag, "W/" + tag, `"other", ` + tag, "*"} {
		a := s.want(304, "GET", board, nobody, nil, "If-None-Match", header)
		if len(a.body) != 0 || a.Header.Get("ETag") != tag {
			t.Errorf("If-None-Match %s: %d bytes, ETag %s", header, len(a.body), a.Header.Get("ETag"))
		}
	}
	s.want(200, "GET", board, nobody, nil, "If-None-Match", `"other"`)
	s.want(201, "POST", board, author, api.PostMessage{RequestID: "message-001", Body: "Hello."})
	a := s.want(200, "GET", board, nobody, nil, "If-None-Match", tag)
	if a.Header.Get("ETag") == tag {
		t.Error("the tag did not change with the board")
	}
	// What a caller may see depends on who calls.
	if vary := a.Header.Get("Vary"); !strings.Contains(vary, "Authorization") {
		t.Errorf("Vary: %q", vary)
	}
	if cache := s.want(200, "GET", board, author, nil).Header.Get("Cache-Control"); !strings.Contains(cache, "private") {
		t.Errorf("Cache-Control of a signed-in read: %q", cache)
	}
}

// TestPagesFollowTheirLinks walks a list by its Link headers while it grows: each
// row comes once, newest first, and the last page has no link.
func TestPagesFollowTheirLinks(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var want []string
	for i := range 7 {
		m := decode[api.Message](t, s.want(201, "POST", "/api/board/messages", author, api.PostMessage{RequestID: "message-00" + string(rune('0'+i)), Body: "Hello."}))
		want = append([]string{m.Filename}, want...)
	}
	var got []string
	next := "/api/board/messages?limit=3"
	for pages := 0; next != ""; pages++ {
		a := s.want(200, "GET", next, nobody, nil)
		page := decode[api.Messages](t, a)
		for _, m := range page.Messages {
			got = append(got, m.Filename)
		}
		link := a.Header.Get("Link")
		if (link == "") != (page.Next == nil) {
			t.Fatalf("Link %q, next_cursor %v", link, page.Next)
		}
		next, _, _ = strings.Cut(strings.TrimPrefix(link, "<"), ">")
		if next != "" && (!strings.HasSuffix(link, `; rel="next"`) || !strings.Contains(next, "limit=3")) {
			t.Errorf("Link: %q", link)
		}
		s.want(201, "POST", "/api/board/messages", other, api.PostMessage{RequestID: "meanwhile-" + string(rune('0'+pages)), Body: "Me too."})
	}
	if !slices.Equal(got, want) {
		t.Errorf("walked\n%q\nwant\n%q", got, want)
	}
}
