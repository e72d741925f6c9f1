package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/client"
)

func TestAnswerKeepsTheServersBytes(t *testing.T) {
	raw := `{ "name":"ada","orgs":[],"editor":true,"agents":[], "later":"member" }`
	a := newArena(t, answers(200, "application/json; charset=utf-8", raw+"\n"))
	got, err := a.client.Whoami(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Raw) != raw || got.Value.Name != "ada" || !got.Value.Editor || got.Status != 200 || got.RequestID != "req-12345678" {
		t.Errorf("got %s %+v", got.Raw, got)
	}
}

// TestProblems checks that an error of the catalogue survives the wire with
// everything that a caller may branch on.
func TestProblems(t *testing.T) {
	a := newArena(t, problem(429, "daily-limit", `,"errors":[{"field":"x","message":"y"}],"launched":false,"retry_with_same_request_id":false`, "Retry-After", "3600"))
	_, err := a.client.Launch(t.Context(), "c", api.LaunchRequest{RequestID: "request-1"})
	if !errors.Is(err, protocol.ErrDailyLimit) {
		t.Fatalf("%v is not ErrDailyLimit", err)
	}
	e, _ := errors.AsType[*protocol.Error](err)
	want := &protocol.Error{
		Kind: protocol.KindRateLimited, Code: "daily-limit", Detail: "What is wrong.", Fields: []protocol.FieldError{{Field: "x", Message: "y"}},
		Launched: protocol.LaunchedNo, RetryAfter: time.Hour, RequestID: "req-12345678",
	}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Error(diff)
	}
	answer, ok := errors.AsType[*client.AnswerError](err)
	if !ok || answer.Status != 429 || !strings.Contains(string(answer.Raw), `"code":"daily-limit"`) {
		t.Errorf("no answer with the problem's own bytes: %#v", answer)
	}
	if n := len(a.requests()); n != 1 {
		t.Errorf("a definite refusal was asked %d times", n)
	}
}

// TestRetries goes through what a server can do to a request, and how often and
// after which waits it is sent.
func TestRetries(t *testing.T) {
	read := func(c *client.Client) error { _, err := c.Version(t.Context()); return err }
	launch := func(c *client.Client) error {
		_, err := c.Launch(t.Context(), "c", api.LaunchRequest{RequestID: "request-1", EnvironmentID: "env-1"})
		return err
	}
	post := func(c *client.Client) error {
		_, err := c.PostMessage(t.Context(), api.PostMessage{RequestID: "request-1", Body: "b"})
		return err
	}
	review := func(c *client.Client) error {
		_, err := c.Review(t.Context(), "c", "r", api.ReviewRequest{})
		return err
	}
	ok := answers(200, "application/json", `{}`)
	for _, c := range []struct {
		name     string
		do       func(*client.Client) error
		handlers []http.HandlerFunc
		waits    []time.Duration
		is       error // nil: success
		says     string
	}{
		{"a read passes a proxy's hiccup", read, []http.HandlerFunc{proxyError(502), proxyError(504), ok}, seconds(1, 2), nil, ""},
		{"a read gives up after three more tries", read, []http.HandlerFunc{proxyError(503)}, seconds(1, 2, 4), client.ErrProxy, "briefly unavailable"},
		{"JSON that is no problem is a proxy too", read, []http.HandlerFunc{answers(503, "application/json", `{"error":"sleeping"}`), ok}, seconds(1), nil, ""},
		{"a keyed write is repeated", post, []http.HandlerFunc{proxyError(502), ok}, seconds(1), nil, ""},
		{"a review is not", review, []http.HandlerFunc{proxyError(502), ok}, nil, client.ErrProxy, "briefly unavailable"},
		{"a cut connection is a network failure", read, []http.HandlerFunc{cut, cut, cut, ok}, seconds(1, 2, 4), nil, ""},
		{"a cut body too", read, []http.HandlerFunc{cutBody, ok}, seconds(1), nil, ""},
		{"a network that stays away", read, []http.HandlerFunc{cut}, seconds(1, 2, 4), client.ErrNetwork, "connection failed"},
		{"a network that fails on a review", review, []http.HandlerFunc{cut, ok}, nil, client.ErrNetwork, "connection failed"},
		{"the arena's own 503 is repeated", read, []http.HandlerFunc{problem(503, "unavailable", ""), ok}, seconds(1), nil, ""},
		{"Retry-After is obeyed", read, []http.HandlerFunc{problem(503, "unavailable", "", "Retry-After", "17"), ok}, seconds(17), nil, ""},
		{"a Retry-After below the step waits the step", read, []http.HandlerFunc{proxyError(503, "Retry-After", "0"), proxyError(503, "Retry-After", "1"), ok}, seconds(1, 2), nil, ""},
		{
			"a Retry-After may be a date", read,
			[]http.HandlerFunc{proxyError(503, "Date", "Sat, 01 Aug 2026 10:00:00 GMT", "Retry-After", "Sat, 01 Aug 2026 10:00:09 GMT"), ok},
			seconds(9), nil, "",
		},
		{"a long Retry-After is the caller's to wait", read, []http.HandlerFunc{problem(503, "unavailable", "", "Retry-After", "31"), ok}, nil, protocol.ErrUnavailable, "What is wrong"},
		{"too many requests are repeated", read, []http.HandlerFunc{problem(429, "rate-limited", "", "Retry-After", "3"), ok}, seconds(3), nil, ""},
		{"the daily limit is not", launch, []http.HandlerFunc{problem(429, "daily-limit", "", "Retry-After", "3"), ok}, nil, protocol.ErrDailyLimit, ""},
		{"a bug of the arena is not", read, []http.HandlerFunc{problem(500, "internal", ""), ok}, nil, protocol.ErrInternal, ""},
		{"a provider's refusal is not", launch, []http.HandlerFunc{problem(502, "provider-refused", `,"launched":false`), ok}, nil, protocol.ErrRefused, ""},
		{"a launch of unknown outcome is repeated", launch, []http.HandlerFunc{problem(503, "launch-unknown", `,"launched":"unknown","retry_with_same_request_id":true`), ok}, seconds(1), nil, ""},
		{
			"a launch that never gets decided is for an organizer", launch,
			[]http.HandlerFunc{problem(503, "launch-unknown", `,"launched":"unknown","retry_with_same_request_id":true`)},
			seconds(1, 2, 4), protocol.ErrUnknownLaunch, "ask an organizer",
		},
		{"a redirect is refused", read, []http.HandlerFunc{answers(302, "text/html", "", "Location", "https://elsewhere.example.org/x?secret=1"), ok}, nil, client.ErrRedirect, "redirect to https://elsewhere.example.org."},
		{"so is one of a write", launch, []http.HandlerFunc{answers(307, "text/html", "", "Location", "/api/x"), ok}, nil, client.ErrRedirect, "never followed"},
		{"another server's page is not an arena", read, []http.HandlerFunc{answers(200, "text/html", page)}, nil, client.ErrNotArena, "text/html"},
		{"another server's 404 is not an arena", read, []http.HandlerFunc{answers(404, "text/html", page)}, nil, client.ErrNotArena, "404"},
		{"an answer without a type is not an arena", read, []http.HandlerFunc{answers(200, "", "{}")}, nil, client.ErrNotArena, "content type"},
		{"what claims to be JSON must be", read, []http.HandlerFunc{answers(200, "application/json", "{}{")}, nil, client.ErrNotArena, "not"},
		{"JSON of another form is another version", read, []http.HandlerFunc{answers(200, "application/json", `{"schema":"seven"}`)}, nil, client.ErrNotArena, "another version"},
		{"an endless problem is cut off", read, []http.HandlerFunc{answers(500, "application/problem+json", `{"detail":"`+strings.Repeat("x", client.MaxProblem)+`"}`)}, nil, client.ErrAnswerSize, "1 MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newArena(t, c.handlers...)
			err := c.do(a.client)
			switch {
			case c.is == nil && err != nil:
				t.Errorf("failed: %v", err)
			case c.is != nil && (!errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says)):
				t.Errorf("got %v, want %v saying %q", err, c.is, c.says)
			}
			if diff := cmp.Diff(c.waits, a.waits()); diff != "" {
				t.Error("waits:", diff)
			}
			all := a.requests()
			if want := len(c.waits) + 1; len(all) != want {
				t.Errorf("sent %d times, want %d", len(all), want)
			}
			for _, r := range all {
				if r != all[0] {
					t.Errorf("a further try differs:\n%+v\n%+v", all[0], r)
				}
			}
			if err != nil && (strings.ContainsAny(err.Error(), "\n<") || strings.Contains(err.Error(), "secret=1")) {
				t.Errorf("the failure is not one clean line: %v", err)
			}
			if strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err)+a.said(), "canary") {
				t.Error("the token is in an error or a log line")
			}
		})
	}
}

// cut closes the connection instead of answering.
func cut(w http.ResponseWriter, _ *http.Request) {
	panic(http.ErrAbortHandler)
}

// cutBody promises more than it sends.
func cutBody(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", "1000")
	_, _ = w.Write([]byte(`{"name":`))
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

func TestPersistentLaunch(t *testing.T) {
	a := newArena(t, problem(503, "launch-unknown", `,"launched":"unknown","retry_with_same_request_id":true`))
	_, err := a.client.Launch(t.Context(), "c", api.LaunchRequest{RequestID: "request-1", EnvironmentID: "env-1"})
	p, ok := errors.AsType[*client.PersistentError](err)
	if !ok || p.Tries != 4 {
		t.Fatalf("got %v, want a PersistentError of 4 tries", err)
	}
	e, _ := errors.AsType[*protocol.Error](err)
	if e == nil || e.Launched != protocol.LaunchedUnknown || !e.RetrySame {
		t.Errorf("what the arena said about the outcome is lost: %+v", e)
	}
	// Only the arena's own answer is persistent: behind a proxy nobody decided.
	_, err = newArena(t, proxyError(503)).client.Launch(t.Context(), "c", api.LaunchRequest{RequestID: "request-1"})
	if _, ok := errors.AsType[*client.PersistentError](err); ok {
		t.Errorf("a proxy's page is called persistent: %v", err)
	}
}

func TestCancelEndsTheWait(t *testing.T) {
	a := newArena(t, proxyError(503))
	ctx, cancel := context.WithCancel(t.Context())
	token, err := client.NewToken(canary)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Options{BaseURL: a.URL, Token: token, Sleep: func(ctx context.Context, d time.Duration) error {
		cancel()
		<-ctx.Done()
		return context.Cause(ctx)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Version(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want Canceled", err)
	}
	if n := len(a.requests()); n != 1 {
		t.Errorf("sent %d times", n)
	}
	// A call that is canceled while it is out is not tried again either.
	if _, err := a.client.Version(ctx); !errors.Is(err, context.Canceled) || len(a.waits()) != 0 {
		t.Errorf("got %v after waits %v", err, a.waits())
	}
}

// silent is a transport whose answers never end.
type silent struct{ tries int }

func (s *silent) RoundTrip(req *http.Request) (*http.Response, error) {
	s.tries++
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Request: req,
		Body: io.NopCloser(io.MultiReader(strings.NewReader(`{"name":`), untilDone{req.Context()})),
	}, nil
}

type untilDone struct{ ctx context.Context }

func (r untilDone) Read([]byte) (int, error) {
	<-r.ctx.Done()
	return 0, r.ctx.Err()
}

func TestASilentConnectionIsBroken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &silent{}
		c, err := client.New(client.Options{BaseURL: "https://arena.example.org", HTTP: s})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		_, err = c.Version(t.Context())
		if !errors.Is(err, client.ErrNetwork) || !strings.Contains(err.Error(), "sent nothing for 2m0s") {
			t.Errorf("got %v", err)
		}
		if got, want := time.Since(start), 4*2*time.Minute+7*time.Second; got != want || s.tries != 4 {
			t.Errorf("%d tries in %s, want 4 in %s", s.tries, got, want)
		}
	})
}

// endless is a body that never stops coming.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

type endlessAnswer struct{}

func (endlessAnswer) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Request: req, Body: io.NopCloser(endless{})}, nil
}

func TestAnEndlessAnswerIsCutOff(t *testing.T) {
	c, err := client.New(client.Options{BaseURL: "https://arena.example.org", HTTP: endlessAnswer{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Version(t.Context()); !errors.Is(err, client.ErrAnswerSize) {
		t.Errorf("got %v, want ErrAnswerSize", err)
	}
}
