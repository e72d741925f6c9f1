package relay_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/relay"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The run of the tests, and its secrets.
const (
	run       = "challenge-0123456789ab"
	jobSecret = "secret-of-the-job"
	modelKey  = "key-of-the-model"
	bridgeKey = "key-of-the-bridge"
)

// records is what the arena knows of runs, in memory.
type records struct {
	mu    sync.Mutex
	runs  map[string]protocol.RelayAccess
	saved map[string]protocol.RelayCounters
	fail  error
}

func (r *records) RelayAccess(_ context.Context, id string) (protocol.RelayAccess, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, ok := r.runs[id]
	switch {
	case r.fail != nil:
		return a, r.fail
	case !ok:
		return a, protocol.ErrNoRun
	}
	a.Counters = r.saved[id]
	return a, nil
}

func (r *records) RelayCounted(_ context.Context, id string, c protocol.RelayCounters) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.saved[id] = c
	return nil
}

func (r *records) change(id string, f func(*protocol.RelayAccess)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.runs[id]
	f(&a)
	r.runs[id] = a
}

// clock is a clock that tests set forward.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time          { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) advance(d time.Duration) { c.ahead.Add(int64(d)) }

// place is an arena with a relay, a job and its model.
type place struct {
	t       testing.TB
	records *records
	clock   *clock
	hub     *relay.Hub
	arena   *httptest.Server
	model   *httptest.Server
}

func access() protocol.RelayAccess {
	return protocol.RelayAccess{Run: run, JobID: "job-1", Open: true, Job: sha256.Sum256([]byte(jobSecret)), Model: sha256.Sum256([]byte(modelKey))}
}

// newPlace starts an arena and a model; the job connects with connect.
func newPlace(t testing.TB, o relay.Options, model http.HandlerFunc) *place {
	t.Helper()
	p := &place{t: t, clock: &clock{}, records: &records{runs: map[string]protocol.RelayAccess{run: access()}, saved: map[string]protocol.RelayCounters{}}}
	o.Records, o.Now, o.Log = p.records, p.clock.now, slog.New(slog.DiscardHandler)
	if o.Flush == 0 {
		o.Flush = 5 * time.Millisecond
	}
	p.hub = relay.New(o)
	mux := http.NewServeMux()
	mux.HandleFunc("/relay/{run}/connect", func(w http.ResponseWriter, r *http.Request) { p.hub.Connect(w, r, r.PathValue("run")) })
	mux.HandleFunc("/relay/{run}/health", func(w http.ResponseWriter, r *http.Request) { p.hub.Health(w, r, r.PathValue("run")) })
	mux.HandleFunc("/relay/{run}/v1/", func(w http.ResponseWriter, r *http.Request) {
		p.hub.Forward(w, r, r.PathValue("run"), strings.TrimPrefix(r.URL.EscapedPath(), "/relay/"+r.PathValue("run")))
	})
	p.arena = httptest.NewServer(mux)
	p.model = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body) // only then does net/http notice that a caller leaves
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(raw))
		model(w, r)
	}))
	ctx, stop := context.WithCancel(context.Background())
	ran := make(chan struct{})
	go func() { p.hub.Run(ctx); close(ran) }()
	t.Cleanup(func() {
		p.hub.Close()
		stop()
		<-ran
		p.arena.CloseClientConnections()
		p.arena.Close()
		p.model.CloseClientConnections()
		p.model.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return p
}

// connect has the job connect, once, and waits until it has; the returned function
// ends the job as a kill would.
func (p *place) connect() (kill func()) {
	p.t.Helper()
	before := p.seen().Connections
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = relay.Job{Arena: p.arena.URL, Run: run, Secret: jobSecret, JobID: "job-1", To: p.model.URL, Key: bridgeKey, Log: slog.New(slog.DiscardHandler), Sleep: forever}.Serve(ctx)
	}()
	p.until("the job is connected", func() bool { return p.seen().Connections > before && p.seen().State == protocol.RelayConnected })
	kill = func() { cancel(); <-done }
	p.t.Cleanup(kill)
	return kill
}

// forever keeps a job that lost its connection from connecting again.
func forever(ctx context.Context, _ time.Duration) error {
	<-ctx.Done()
	return ctx.Err()
}

func (p *place) seen() protocol.Relay {
	p.t.Helper()
	r, err := p.hub.Relay(context.Background(), run)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// until waits for something that real connections bring about.
func (p *place) until(what string, holds func() bool) {
	p.t.Helper()
	for range 2000 {
		if holds() {
			return
		}
		time.Sleep(5 * time.Millisecond) // nothing else says when a socket has done its part
	}
	p.t.Fatalf("it never came about that %s: %+v", what, p.seen())
}

func (p *place) request(method, path, key, body string) *http.Request {
	p.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, p.arena.URL+"/relay/"+run+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	return r
}

func (p *place) ask(r *http.Request) (*http.Response, string, error) {
	p.t.Helper()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return resp, string(raw), err
}

// want asks and requires a status and a part of the answer.
func (p *place) want(r *http.Request, status int, part string) *http.Response {
	p.t.Helper()
	resp, body, err := p.ask(r)
	if err != nil {
		p.t.Fatalf("%s: %v", r.URL.Path, err)
	}
	if resp.StatusCode != status || !strings.Contains(body, part) {
		p.t.Errorf("%s %s answers %d %.300s; want %d with %q", r.Method, r.URL.Path, resp.StatusCode, body, status, part)
	}
	return resp
}

func echo(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.Copy(w, r.Body)
}

func TestCallsReachTheModelAndNothingElsePasses(t *testing.T) {
	seen := make(chan *http.Request, 1)
	p := newPlace(t, relay.Options{}, func(w http.ResponseWriter, r *http.Request) {
		seen <- r
		w.Header().Set("Set-Cookie", "a=b")
		w.Header().Set("X-Request-Id", "of-the-model")
		echo(w, r)
	})
	p.connect()
	r := p.request("POST", "/v1/chat/completions?x=1%2F2", modelKey, `{"model":"m"}`)
	for name, value := range map[string]string{"Cookie": "c=d", "X-Forwarded-For": "10.0.0.1", "X-Request-Id": "of-the-sandbox", "Accept": "text/event-stream", "Forwarded": "for=1.2.3.4", "Idempotency-Key": "k"} {
		r.Header.Set(name, value)
	}
	resp := p.want(r, 200, `{"model":"m"}`)
	if resp.Header.Get("Set-Cookie") != "" || resp.Header.Get("X-Request-Id") != "of-the-model" || resp.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("the answer has %v", resp.Header)
	}
	got := <-seen
	if got.Method != "POST" || got.URL.Path != "/v1/chat/completions" || got.URL.RawQuery != "x=1%2F2" {
		t.Errorf("the model was asked %s %s", got.Method, got.URL)
	}
	if a := got.Header.Get("Authorization"); a != "Bearer "+bridgeKey {
		t.Errorf("the model was shown %q", a)
	}
	for _, name := range []string{"Cookie", "X-Forwarded-For", "Forwarded", "Accept-Encoding", "Idempotency-Key"} {
		if v := got.Header.Get(name); v != "" {
			t.Errorf("%s: %s reached the model", name, v)
		}
	}
	if got.Header.Get("X-Request-Id") != "of-the-sandbox" || got.Header.Get("Accept") != "text/event-stream" {
		t.Errorf("the model was asked with %v", got.Header)
	}
	// Any method and path below /v1/; the model's own refusals pass as they are.
	p.want(p.request("GET", "/v1/models", modelKey, ""), 200, "")
	if got := <-seen; got.Method != "GET" || got.ContentLength != 0 || got.URL.Path != "/v1/models" {
		t.Errorf("%s %s %d", got.Method, got.URL, got.ContentLength)
	}
	p.want(p.request("DELETE", "/v1/a%2Fb/c", modelKey, ""), 200, "")
	if got := <-seen; got.URL.EscapedPath() != "/v1/a%2Fb/c" {
		t.Errorf("the path arrives as %s", got.URL.EscapedPath())
	}
	p.want(p.request("GET", "/health", "", ""), 200, `"ok":true`)
	p.until("everything is counted", func() bool {
		p.records.mu.Lock()
		defer p.records.mu.Unlock()
		c := p.records.saved[run]
		return c.Requests == 3 && c.Succeeded == 3 && c.BytesIn == 13 && c.BytesOut == 13 && c.Connections == 1 && c.LastSeen != nil
	})
}

func TestStreamsPassUnbuffered(t *testing.T) {
	step := make(chan struct{})
	p := newPlace(t, relay.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 5 {
			fmt.Fprintf(w, "data: %d\n\n", i)
			w.(http.Flusher).Flush()
			<-step
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	})
	p.connect()
	resp, err := http.DefaultClient.Do(p.request("POST", "/v1/chat/completions", modelKey, "{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for i := range 5 {
		// Had anything on the way waited for more, this would wait for ever.
		if !lines.Scan() || lines.Text() != fmt.Sprintf("data: %d", i) || !lines.Scan() {
			t.Fatalf("token %d: %q %v", i, lines.Text(), lines.Err())
		}
		step <- struct{}{}
	}
	if !lines.Scan() || lines.Text() != "data: [DONE]" || lines.Scan() && lines.Text() != "" {
		t.Errorf("the stream ends with %q", lines.Text())
	}
}

func TestWhoMayConnectAndAsk(t *testing.T) {
	p := newPlace(t, relay.Options{}, echo)
	other := access()
	other.Job, other.Model = sha256.Sum256([]byte("another")), sha256.Sum256([]byte("another key"))
	ended := access()
	ended.Open = false
	p.records.runs["challenge-00000000000b"], p.records.runs["challenge-00000000000c"] = other, ended
	serve := func(run, secret, job string) error {
		return relay.Job{Arena: p.arena.URL, Run: run, Secret: secret, JobID: job, To: p.model.URL, Log: slog.New(slog.DiscardHandler)}.Serve(t.Context())
	}
	for _, c := range []struct{ about, run, secret, job, want string }{
		{"a wrong secret", run, "guess", "", "401"},
		{"the model's key", run, modelKey, "", "401"},
		{"another run's secret", run, "another", "", "401"},
		{"no secret", run, "", "", "401"},
		{"another job", run, jobSecret, "job-2", "403"},
		{"a run that has ended", "challenge-00000000000c", jobSecret, "", "410"},
		{"no such run", "challenge-00000000000d", jobSecret, "", "404"},
	} {
		if err := serve(c.run, c.secret, c.job); !errors.Is(err, relay.ErrOver) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want the end, with %s", c.about, err, c.want)
		}
	}
	p.want(p.request("POST", "/v1/x", modelKey, "{}"), 503, `"code":"no-job"`) // never connected
	p.connect()
	for _, c := range []struct {
		about, key, path string
		status           int
		code             string
	}{
		{"no key", "", "/v1/models", 401, "bad-key"},
		{"the job's secret", jobSecret, "/v1/models", 401, "bad-key"},
		{"another run's key", "another key", "/v1/models", 401, "bad-key"},
		{"a path that climbs", modelKey, "/v1/%2e%2e/health", 400, "bad-path"},
		{"a backslash", modelKey, "/v1/a%5Cb", 400, "bad-path"},
	} {
		resp := p.want(p.request("GET", c.path, c.key, ""), c.status, `"code":"`+c.code+`"`)
		if resp.Header.Get("X-Should-Retry") != "false" {
			t.Errorf("%s: clients are not told to let it be", c.about)
		}
	}
	if n := p.seen().Requests; n != 1 {
		t.Errorf("%d requests are counted; those with a wrong key are none of the run's", n)
	}
	p.records.mu.Lock()
	p.records.fail = errors.New("the disk is gone")
	p.records.mu.Unlock()
	p.clock.advance(time.Minute)
	resp := p.want(p.request("GET", "/v1/models", modelKey, ""), 503, "unavailable")
	if resp.Header.Get("Retry-After") == "" {
		t.Error("it does not say when to come back")
	}
	p.records.mu.Lock()
	p.records.fail = nil
	p.records.mu.Unlock()

	// The end of the run is the end of both secrets and of the connection.
	p.records.change(run, func(a *protocol.RelayAccess) { a.Open = false })
	p.clock.advance(time.Minute)
	p.want(p.request("GET", "/v1/models", modelKey, ""), 410, "run-ended")
	p.until("the tunnel is closed", func() bool { return p.seen().State == protocol.RelayClosed })
	if err := serve(run, jobSecret, "job-1"); !errors.Is(err, relay.ErrOver) {
		t.Errorf("a job of an ended run connects: %v", err)
	}
}

// TestAProxyIsNotTheArena: what stands in front of the arena answers for it while it
// is away, in words that sound as if all were over. Only the arena's own word ends a
// job's tries.
func TestAProxyIsNotTheArena(t *testing.T) {
	p := newPlace(t, relay.Options{}, echo)
	arena, err := url.Parse(p.arena.URL)
	if err != nil {
		t.Fatal(err)
	}
	through := httputil.NewSingleHostReverseProxy(arena)
	for _, c := range []struct {
		kind, body string
		statuses   []int
	}{
		{"text/html", "<!doctype html><title>404</title><p>No such site.</p>", []int{401, 403, 404, 410}},
		{"", "", []int{404}},
		{"text/plain", "default backend - 404", []int{404}},
		{"application/json", `{"message":"no Route matched with those values"}`, []int{403, 404}},
		{"application/json", `{"error":"Not Found"}`, []int{404}},
		{"application/json", `{"error":{"code":404,"message":"Not Found"}}`, []int{404}},
		{"application/json", `null`, []int{404}},
	} {
		for _, status := range c.statuses {
			var tries atomic.Int32
			front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if tries.Add(1) <= 2 {
					w.Header().Set("Content-Type", c.kind)
					w.WriteHeader(status)
					_, _ = io.WriteString(w, c.body)
					return
				}
				through.ServeHTTP(w, r)
			}))
			before := p.seen().Connections
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				ended <- relay.Job{Arena: front.URL, Run: run, Secret: jobSecret, JobID: "job-1", To: p.model.URL, Log: slog.New(slog.DiscardHandler)}.Serve(ctx)
			}()
			p.until(fmt.Sprintf("the job is connected after %d %s", status, c.body), func() bool { return p.seen().Connections > before || len(ended) > 0 })
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("%d %s: %v", status, c.body, err)
			}
			front.CloseClientConnections()
			front.Close()
		}
	}
	// An arena without a relay says so itself.
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"type":"about:blank","status":404,"code":"not-found","detail":"`+strings.Repeat("x", 2000)+`"}`)
	}))
	defer front.Close()
	if err := (relay.Job{Arena: front.URL, Run: run, Secret: jobSecret, To: p.model.URL, Log: slog.New(slog.DiscardHandler)}).Serve(t.Context()); !errors.Is(err, relay.ErrOver) {
		t.Errorf("without a relay: %v", err)
	}
}

func TestLimits(t *testing.T) {
	hold := make(chan struct{})
	var begun atomic.Int64
	p := newPlace(t, relay.Options{InFlight: 3, Request: 1 << 10, Answer: 1 << 16, Buffered: 3 << 10}, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/hold":
			begun.Add(1)
			<-hold
		case "/v1/declared":
			w.Header().Set("Content-Length", "100000")
			_, _ = w.Write(make([]byte, 100000))
		case "/v1/flood":
			for range 100 {
				_, _ = w.Write(make([]byte, 4096))
			}
		}
	})
	p.connect()
	p.want(p.request("POST", "/v1/x", modelKey, strings.Repeat("x", 1<<10)), 200, "")
	p.want(p.request("POST", "/v1/x", modelKey, strings.Repeat("x", 1<<10+1)), 413, "too-large")
	chunked := p.request("POST", "/v1/x", modelKey, "")
	chunked.Body, chunked.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat("x", 1<<11))), -1
	p.want(chunked, 413, "too-large")
	p.want(p.request("POST", "/v1/declared", modelKey, ""), 502, "too-large")
	if _, _, err := p.ask(p.request("POST", "/v1/flood", modelKey, "")); err == nil {
		t.Error("an answer beyond the limit looks whole")
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() { p.want(p.request("POST", "/v1/hold", modelKey, strings.Repeat("x", 1<<10)), 200, "") })
	}
	p.until("three calls are under way", func() bool { return begun.Load() == 3 })
	resp := p.want(p.request("POST", "/v1/x", modelKey, ""), 429, "too-many")
	if resp.Header.Get("Retry-After") != "1" || resp.Header.Get("X-Should-Retry") != "true" {
		t.Errorf("%v", resp.Header)
	}
	close(hold)
	wg.Wait()
	p.want(p.request("POST", "/v1/x", modelKey, "x"), 200, "") // and the room is given back
}

func TestABreakIsNeverAnEnd(t *testing.T) {
	var asked atomic.Int64
	begun := make(chan string, 8)
	p := newPlace(t, relay.Options{Hold: 20 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path == "/v1/stream" {
			_, _ = io.WriteString(w, "data: 1\n\n")
			w.(http.Flusher).Flush()
		}
		begun <- r.URL.Path
		<-r.Context().Done()
	})
	kill := p.connect()
	before, mid := make(chan string, 1), make(chan error, 1)
	go func() {
		resp, body, err := p.ask(p.request("GET", "/v1/benchflow/logprobs/1", modelKey, ""))
		if err != nil {
			before <- err.Error()
			return
		}
		before <- fmt.Sprintf("%d %s %s", resp.StatusCode, resp.Header.Get("X-Should-Retry"), body)
	}()
	go func() {
		resp, err := http.DefaultClient.Do(p.request("POST", "/v1/stream", modelKey, "{}"))
		if err != nil {
			t.Error(err)
			close(mid)
			return
		}
		defer resp.Body.Close()
		if _, err := io.ReadFull(resp.Body, make([]byte, 9)); err != nil {
			t.Error(err)
		}
		begun <- "answer"
		_, err = io.ReadAll(resp.Body)
		mid <- err
	}()
	for range 3 {
		<-begun
	}
	if c := p.seen(); c.InFlight != 2 || c.LostAt != nil {
		t.Errorf("with two calls under way: %+v", c)
	}
	kill()
	if got := <-before; !strings.HasPrefix(got, "502 false") {
		t.Errorf("a call that was sent and not answered: %s", got)
	}
	if err := <-mid; err == nil {
		t.Error("a stream that broke ends as if it were whole")
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("the model was asked %d times for two calls", n)
	}
	p.until("the break is seen", func() bool { return p.seen().State == protocol.RelayReconnecting })
	p.want(p.request("POST", "/v1/x", modelKey, "{}"), 503, "reconnecting")
	p.want(p.request("GET", "/health", "", ""), 503, "reconnecting")
	p.clock.advance(3 * time.Minute)
	if s := p.seen().State; s != protocol.RelayLost {
		t.Errorf("after the grace period it is %s", s)
	}
	p.want(p.request("POST", "/v1/x", modelKey, "{}"), 503, "no-job")
	if c := p.seen(); c.Aborted != 1 || c.Failed != 3 || c.Succeeded != 0 || c.InFlight != 0 || c.LostAt == nil {
		t.Errorf("counted: %+v", c)
	}
}

func TestACallWaitsForAJobThatReconnects(t *testing.T) {
	p := newPlace(t, relay.Options{Hold: time.Minute}, echo)
	p.connect()()
	p.until("the break is seen", func() bool { return p.seen().State == protocol.RelayReconnecting })
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		p.want(p.request("POST", "/v1/x", modelKey, `"late"`), 200, `"late"`)
	}()
	p.until("the call is there", func() bool { return p.seen().Requests == 1 })
	p.connect()
	<-answered
	// The job knows of a break first and connects again: the newer one counts, and
	// what the older one carried is not lost on it.
	p.connect()
	p.want(p.request("POST", "/v1/x", modelKey, `"new"`), 200, `"new"`)
	if c := p.seen(); c.Connections < 3 {
		t.Errorf("%d connections", c.Connections)
	}
}

// TestARestartKeepsTheRun: another hub on the same records knows the counters and
// that the job is about to reconnect.
func TestARestartKeepsTheRun(t *testing.T) {
	p := newPlace(t, relay.Options{}, echo)
	kill := p.connect()
	p.want(p.request("POST", "/v1/x", modelKey, "{}"), 200, "{}")
	kill()
	p.until("it is stored", func() bool {
		p.records.mu.Lock()
		defer p.records.mu.Unlock()
		return p.records.saved[run].Succeeded == 1 && p.records.saved[run].LostAt != nil
	})
	p.hub.Close()
	next := relay.New(relay.Options{Records: p.records, Now: p.clock.now, Log: slog.New(slog.DiscardHandler)})
	r, err := next.Relay(t.Context(), run)
	if err != nil || r.State != protocol.RelayReconnecting || r.Succeeded != 1 || r.Connections != 1 {
		t.Errorf("%+v %v", r, err)
	}
	p.want(p.request("POST", "/v1/x", modelKey, "{}"), 503, "stopping") // the old one takes nothing any more
}

// TestCloseCutsAJobThatIsArriving: a job that was let in just before the arena stops,
// and has its tunnel just after, keeps nobody waiting.
func TestCloseCutsAJobThatIsArriving(t *testing.T) {
	var asked atomic.Int32
	arriving, goOn := make(chan struct{}), make(chan struct{})
	p := &place{t: t, records: &records{runs: map[string]protocol.RelayAccess{run: access()}, saved: map[string]protocol.RelayCounters{}}}
	p.hub = relay.New(relay.Options{Records: p.records, Log: slog.New(slog.DiscardHandler), Now: func() time.Time {
		if asked.Add(1) == 2 { // the first time is asked for the run, the second for its tunnel
			close(arriving)
			<-goOn
		}
		return time.Now()
	}})
	p.arena = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			p.hub.Forward(w, r, run, "/v1/x")
			return
		}
		p.hub.Connect(w, r, run)
	}))
	defer p.arena.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	all.Go(func() {
		_ = relay.Job{Arena: p.arena.URL, Run: run, Secret: jobSecret, To: "http://127.0.0.1:1", Log: slog.New(slog.DiscardHandler), Sleep: forever}.Serve(ctx)
	})
	<-arriving
	closed := make(chan struct{})
	all.Go(func() { p.hub.Close(); close(closed) })
	p.until("the arena stops", func() bool {
		_, body, err := p.ask(p.request("POST", "/v1/x", modelKey, "{}"))
		return err == nil && strings.Contains(body, "stopping")
	})
	close(goOn)
	select {
	case <-closed:
	case <-time.After(10 * time.Second):
		t.Error("the arena waits for a job that has no reason to leave")
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

func TestLeavingStopsTheModel(t *testing.T) {
	begun, left := make(chan struct{}, 1), make(chan struct{}, 1)
	p := newPlace(t, relay.Options{}, func(_ http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		<-r.Context().Done()
		left <- struct{}{}
	})
	p.connect()
	ctx, leave := context.WithCancel(t.Context())
	go func() { <-begun; leave() }()
	if _, _, err := p.ask(p.request("POST", "/v1/chat/completions", modelKey, "{}").WithContext(ctx)); err == nil {
		t.Error("it was answered")
	}
	<-left
	p.until("it is counted", func() bool { return p.seen().Aborted == 1 })
}

// TestASilentConnectionIsFound: a network that swallows everything looks like an
// open connection; pings tell.
func TestASilentConnectionIsFound(t *testing.T) {
	p := newPlace(t, relay.Options{Ping: 50 * time.Millisecond, Dead: 50 * time.Millisecond}, echo)
	middle, mute := silence(t, p.arena.Listener.Addr().String())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- relay.Job{Arena: "http://" + middle, Run: run, Secret: jobSecret, To: p.model.URL, Log: slog.New(slog.DiscardHandler), Ping: 50 * time.Millisecond, Dead: 50 * time.Millisecond}.Serve(ctx)
	}()
	p.until("the job is connected", func() bool { return p.seen().State == protocol.RelayConnected })
	mute.Store(true)
	p.until("the arena notices", func() bool { return p.seen().State != protocol.RelayConnected })
	mute.Store(false)
	p.until("the job has noticed too, and is back", func() bool { return p.seen().State == protocol.RelayConnected && p.seen().Connections > 1 })
	p.want(p.request("POST", "/v1/x", modelKey, "{}"), 200, "{}")
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// silence is a way to an address on which everything can be made to vanish.
func silence(t *testing.T, to string) (string, *atomic.Bool) {
	t.Helper()
	var mute atomic.Bool
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	pass := func(to, from net.Conn) {
		defer to.Close()
		buffer := make([]byte, 4096)
		for {
			n, err := from.Read(buffer)
			if err != nil {
				return
			}
			if !mute.Load() {
				_, _ = to.Write(buffer[:n])
			}
		}
	}
	wg.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				_ = in.Close()
				continue
			}
			mu.Lock()
			open = append(open, in, out)
			mu.Unlock()
			wg.Go(func() { pass(out, in) })
			wg.Go(func() { pass(in, out) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for _, c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return l.Addr().String(), &mute
}

// TestOneSlowReaderHoldsUpNobody: a sandbox that does not read its answer fills
// the window of its own stream and no other.
func TestOneSlowReaderHoldsUpNobody(t *testing.T) {
	p := newPlace(t, relay.Options{}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/flood" {
			echo(w, r)
			return
		}
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	})
	p.connect()
	resp, err := http.DefaultClient.Do(p.request("POST", "/v1/flood", modelKey, "{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body := strings.Repeat("x", 1<<20)
	for range 20 {
		p.want(p.request("POST", "/v1/x", modelKey, body), 200, "xxx")
	}
}

// TestManyStreamsLoseNothing is the load of R10, short: 64 sandboxes that stream
// at once, every token in order, and what it took is given back.
func TestManyStreamsLoseNothing(t *testing.T) {
	const sandboxes, tokens = 64, 200
	p := newPlace(t, relay.Options{}, stream(tokens, 0))
	p.connect()
	read := func(n int) {
		resp, err := http.DefaultClient.Do(p.request("POST", "/v1/chat/completions", modelKey, "{}"))
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		if err := readTokens(resp.Body, tokens); err != nil {
			t.Errorf("sandbox %d: %v", n, err)
		}
	}
	read(0)
	var first runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&first)
	for range 3 {
		var wg sync.WaitGroup
		for n := range sandboxes {
			wg.Go(func() { read(n) })
		}
		wg.Wait()
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	var last runtime.MemStats
	p.until("memory is given back", func() bool {
		runtime.GC()
		runtime.ReadMemStats(&last)
		return last.HeapAlloc < first.HeapAlloc+(8<<20)
	})
	if c := p.seen(); c.Succeeded != 3*sandboxes+1 || c.Aborted != 0 || c.Failed != 0 {
		t.Errorf("%+v", c)
	}
}

// stream is a model that writes tokens with a pause between them.
func stream(tokens int, pause time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		control := http.NewResponseController(w)
		for i := range tokens {
			fmt.Fprintf(w, "data: %d %d\n\n", i, time.Now().UnixNano())
			if control.Flush() != nil {
				return
			}
			if pause > 0 {
				time.Sleep(pause)
			}
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	}
}

// readTokens reads a stream and requires every token.
func readTokens(body io.Reader, tokens int) error {
	lines := bufio.NewScanner(body)
	for want := 0; lines.Scan(); {
		text, ok := strings.CutPrefix(lines.Text(), "data: ")
		switch {
		case !ok:
		case text == "[DONE]":
			if want != tokens {
				return fmt.Errorf("it ends after %d tokens", want)
			}
			_, err := io.Copy(io.Discard, body) // to its end: who hangs up before counts as having left
			return err
		case !strings.HasPrefix(text, fmt.Sprintf("%d ", want)):
			return fmt.Errorf("%q comes instead of token %d", text, want)
		default:
			want++
		}
	}
	return fmt.Errorf("it breaks off: %w", cmpErr(lines.Err()))
}

func cmpErr(err error) error {
	if err == nil {
		return io.ErrUnexpectedEOF
	}
	return err
}

// BenchmarkOverhead measures a small call directly and through the relay.
func BenchmarkOverhead(b *testing.B) {
	for _, way := range []string{"direct", "relayed"} {
		b.Run(way, func(b *testing.B) {
			p := newPlace(b, relay.Options{}, echo)
			p.connect()
			body := strings.Repeat("x", 2<<10)
			var took []time.Duration
			for b.Loop() {
				r := p.request("POST", "/v1/chat/completions", modelKey, body)
				if way == "direct" {
					r.URL.Host, r.URL.Path = strings.TrimPrefix(p.model.URL, "http://"), "/v1/chat/completions"
				}
				began := time.Now()
				if _, _, err := p.ask(r); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "median-µs")
		})
	}
}

// BenchmarkStreams measures 64 streams of 100 tokens a second, which take a second
// each: how old a token is when it arrives, how many do not, and by how much memory
// grows from the first round to the last. -benchtime 60x is a minute of them.
func BenchmarkStreams(b *testing.B) {
	const sandboxes, tokens = 64, 100
	for _, way := range []string{"direct", "relayed"} {
		b.Run(way, func(b *testing.B) {
			p := newPlace(b, relay.Options{}, stream(tokens, 10*time.Millisecond))
			p.connect()
			var mu sync.Mutex
			ages := make([]time.Duration, 0, sandboxes*tokens*max(b.N, 1))
			round := func() {
				var wg sync.WaitGroup
				for range sandboxes {
					wg.Go(func() {
						r := p.request("POST", "/v1/chat/completions", modelKey, "{}")
						if way == "direct" {
							r.URL.Host, r.URL.Path = strings.TrimPrefix(p.model.URL, "http://"), "/v1/chat/completions"
						}
						resp, err := http.DefaultClient.Do(r)
						if err != nil {
							b.Error(err)
							return
						}
						defer resp.Body.Close()
						lines := bufio.NewScanner(resp.Body)
						for lines.Scan() {
							var i, sent int64
							if _, err := fmt.Sscanf(lines.Text(), "data: %d %d", &i, &sent); err == nil {
								mu.Lock()
								ages = append(ages, time.Since(time.Unix(0, sent)))
								mu.Unlock()
							}
						}
						if err := lines.Err(); err != nil {
							b.Error(err)
						}
					})
				}
				wg.Wait()
			}
			round() // connections and buffers
			before := heap()
			ages = ages[:0]
			b.ResetTimer()
			for range b.N {
				round()
			}
			b.StopTimer()
			after := heap()
			lost := sandboxes*tokens*b.N - len(ages)
			if lost != 0 {
				b.Errorf("%d tokens of %d are lost", lost, sandboxes*tokens*b.N)
			}
			slices.Sort(ages)
			b.ReportMetric(float64(ages[len(ages)/2].Microseconds()), "median-age-µs")
			b.ReportMetric(float64(ages[len(ages)*99/100].Microseconds()), "p99-age-µs")
			b.ReportMetric(float64(lost), "lost")
			b.ReportMetric(float64(after-before)/1e3, "heap-growth-kB")
		})
	}
}

// heap is how much memory is in use once what is not was collected.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}
