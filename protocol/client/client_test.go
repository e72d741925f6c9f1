package client_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/client"
)

// TestEveryRouteHasAMethod holds the client to the route table. A route without
// a method needs its reason here.
func TestEveryRouteHasAMethod(t *testing.T) {
	without := map[string]string{
		"metrics": "Prometheus text is for a scraper, not for a program that speaks this protocol",
	}
	methods := map[string]bool{}
	for m := range reflect.TypeFor[*client.Client]().Methods() {
		methods[strings.ToLower(m.Name)] = true
	}
	for _, r := range api.Routes() {
		if r.Page && r.Name != "guide" {
			continue // for a browser, or a reader
		}
		has := methods[strings.ToLower(r.Name)]
		if _, excused := without[r.Name]; has == excused {
			t.Errorf("%s %s: method %s exists: %v, excused: %v", r.Method, r.Path, r.Name, has, excused)
		}
		if r.Stream && !methods["followlog"] {
			t.Errorf("%s streams, but the client has no FollowLog", r.Name)
		}
		delete(without, r.Name)
	}
	for name := range without {
		t.Errorf("%s is excused but no route has that name", name)
	}
}

func TestBaseURL(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"https://arena.example.org", "https://arena.example.org"},
		{"https://arena.example.org/", "https://arena.example.org"},
		{"https://example.org/arena//", "https://example.org/arena"},
		{"http://127.0.0.1:7860", "http://127.0.0.1:7860"},
		{"http://localhost:1", "http://localhost:1"},
		{"http://[::1]:7860/", "http://[::1]:7860"},

		{"http://arena.example.org", ""},
		{"http://127.0.0.1.example.org", ""},
		{"http://localhost.example.org", ""},
		{"http://127.0.0.2:7860", ""},
		{"http://[::2]", ""},
		{"http://10.0.0.1", ""},
		{"HTTP://arena.example.org", ""},
		{"ftp://127.0.0.1", ""},
		{"unix:///tmp/socket", ""},
		{"arena.example.org", ""},
		{"127.0.0.1:7860", ""},
		{"https://", ""},
		{"https://:443", ""},
		{"", ""},
		{"https://" + canary + "@arena.example.org", ""},
		{"https://arena.example.org?token=" + canary, ""},
		{"https://arena.example.org#" + canary, ""},
		{"https://arena.example.org/%zz", ""},
	} {
		got, err := client.New(client.Options{BaseURL: c.in})
		if c.want == "" {
			if !errors.Is(err, client.ErrBaseURL) {
				t.Errorf("%q: error %v, want ErrBaseURL", c.in, err)
			} else if strings.Contains(err.Error(), canary) {
				t.Errorf("%q: the refusal repeats a secret: %v", c.in, err)
			}
			continue
		}
		if err != nil || got.BaseURL() != c.want {
			t.Errorf("%q: %v, %v, want %q", c.in, got, err, c.want)
		}
	}
}

func TestNamesCannotAddressSomethingElse(t *testing.T) {
	a := newArena(t, answers(200, "application/json", `{}`))
	for _, name := range []string{"", ".", "..", strings.Repeat("x", 401)} {
		if _, err := a.client.GetRun(t.Context(), "tb2-9b", name); !errors.Is(err, client.ErrName) {
			t.Errorf("%.10q: %v, want ErrName", name, err)
		}
	}
	if n := len(a.requests()); n != 0 {
		t.Fatalf("%d requests were sent", n)
	}
	// A slash, a question mark or a dot segment inside a name stays inside it.
	if _, err := a.client.GetRun(t.Context(), "tb2-9b", "../x?y=/z#"); err != nil {
		t.Fatal(err)
	}
	if got, want := a.requests()[0].uri, "/api/challenges/tb2-9b/runs/..%2Fx%3Fy=%2Fz%23"; got != want {
		t.Errorf("asked %s, want %s", got, want)
	}
}

// TestTokenGoesWhereItIsNeeded checks for every route that the token is sent
// exactly when the route needs an identity.
func TestTokenGoesWhereItIsNeeded(t *testing.T) {
	for _, signReads := range []bool{false, true} {
		a := newArena(t, answers(200, "application/json", `{}`))
		c := a.connect(t, client.Options{SignReads: signReads})
		ctx := t.Context()
		_, errWhoami := c.Whoami(ctx)
		_, errChallenges := c.ListChallenges(ctx)
		_, errRun := c.GetRun(ctx, "c", "r")
		_, errPreflight := c.Preflight(ctx, "c", "e")
		_, errReview := c.Review(ctx, "c", "r", api.ReviewRequest{})
		if err := errors.Join(errWhoami, errChallenges, errRun, errPreflight, errReview); err != nil {
			t.Fatal(err)
		}
		want := []bool{true, signReads, signReads, true, true}
		for i, r := range a.requests() {
			if got := r.auth == "Bearer "+canary; got != want[i] {
				t.Errorf("SignReads %v: %s %s: token sent: %v, want %v", signReads, r.method, r.uri, got, want[i])
			}
			if strings.Contains(r.uri+r.body, canary) {
				t.Errorf("%s %s: the token is in the URL or the body", r.method, r.uri)
			}
		}
	}
}

// TestRequests pins what each kind of call puts on the wire.
func TestRequests(t *testing.T) {
	a := newArena(t, answers(200, "application/json", `{}`))
	ctx, c := t.Context(), a.client
	agent := "my-agent"
	for _, call := range []struct {
		do   func() error
		want string
	}{
		{func() error { _, err := c.ListWebhooks(ctx, "ci", protocol.Page{}); return err }, "GET /api/webhooks?webhook=ci"},
		{func() error { _, err := c.Redeliver(ctx, "ci-1"); return err }, "POST /api/webhooks/deliveries/ci-1/redeliver"},
		{func() error { _, err := c.ListAgents(ctx, protocol.Page{}); return err }, "GET /api/agents"},
		{func() error { _, err := c.ListMessages(ctx, protocol.Page{Limit: 5, Cursor: "a/b"}); return err }, "GET /api/board/messages?cursor=a%2Fb&limit=5"},
		{func() error {
			_, err := c.ListEnvironments(ctx, protocol.CollectionFilter{Challenge: "c", Author: "me"}, protocol.Page{})
			return err
		}, "GET /api/environments?author=me&challenge=c"},
		{func() error { _, err := c.ListRuns(ctx, "c", "env-1", protocol.Page{}); return err }, "GET /api/challenges/c/runs?environment_id=env-1"},
		{func() error { _, err := c.ReadLog(ctx, "c", "r", 7, 0); return err }, "GET /api/challenges/c/runs/r/log?after=7"},
		{func() error { _, err := c.GetAttempt(ctx, "c", "r", 3); return err }, "GET /api/challenges/c/runs/r/attempts/3"},
		{func() error { _, err := c.GetGates(ctx, "c", "env-1"); return err }, "GET /api/challenges/c/environments/env-1/gates"},
		{func() error { _, err := c.Collect(ctx, "c", "r"); return err }, "POST /api/challenges/c/runs/r/collect"},
		{func() error {
			_, err := c.Launch(ctx, "c", api.LaunchRequest{RequestID: "r-0000001", EnvironmentID: "env-1", AgentID: &agent})
			return err
		}, `POST /api/challenges/c/runs {"request_id":"r-0000001","environment_id":"env-1","agent_id":"my-agent"}`},
		{func() error { _, err := c.OpenAPI(ctx); return err }, "GET /openapi.json"},
	} {
		if err := call.do(); err != nil {
			t.Errorf("%s: %v", call.want, err)
			continue
		}
		all := a.requests()
		r := all[len(all)-1]
		if got := strings.TrimSpace(r.method + " " + r.uri + " " + r.body); got != call.want {
			t.Errorf("sent %s\nwant %s", got, call.want)
		}
		if (r.body != "") != (r.contentType == "application/json") {
			t.Errorf("%s: content type %q", call.want, r.contentType)
		}
	}
}
