package server_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posttrainarena/arena/configs"
	"github.com/posttrainarena/arena/fixture"
	"github.com/posttrainarena/arena/gates/task"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/arena"
	"github.com/posttrainarena/arena/protocol/compose"
	"github.com/posttrainarena/arena/protocol/hub/bundle"
	"github.com/posttrainarena/arena/protocol/jobs"
	"github.com/posttrainarena/arena/protocol/jobs/simulated"
	"github.com/posttrainarena/arena/protocol/leaktest"
	"github.com/posttrainarena/arena/protocol/server"
	"github.com/posttrainarena/arena/store"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }

// challenge is the embedded one that takes runs.
const challenge = "tb2-9b"

// The callers of the permission matrix. nobody sends no token, stranger one that
// no arena issued; the others have an account of their name.
const (
	nobody   = "nobody"
	stranger = "stranger"
	author   = "ada"
	other    = "eve"
	editor   = "olga"
)

// site is a whole arena that answers on a local address: the embedded
// configuration, a real store, the simulated provider, the real server. It looks
// at every exchange: an answer must keep the published contract, nobody but
// editors may see a name of the sealed suites, and no token may reach the log.
type site struct {
	*httptest.Server
	t        testing.TB
	dir      string
	store    *store.Store
	service  *arena.Service
	provider *simulated.Provider
	server   *server.Server
	log      *logBuffer
	contract *contract
	tokens   map[string]string
	sealed   []string // names of sealed tasks and how their prompts begin, in lower case
}

// options is what a test may change about its site.
type options struct {
	simulated simulated.Options
	service   arena.Config
	server    server.Options
	limits    task.Limits   // of an upload
	provider  jobs.Provider // stands in for the simulated one; nil does not
}

// fast plays a job in a second, so that a test can see the end of one.
func fast(o *options) { o.simulated.Speed = 30_000 }

// fault plans faults of the provider, as on the command line.
func fault(plan string) func(*options) {
	return func(o *options) {
		var err error
		if o.simulated.Fault, err = simulated.ParsePlan(plan); err != nil {
			panic(err)
		}
	}
}

// newSite serves an arena with an account for each caller. Unless a test makes
// its jobs fast they last for hours.
func newSite(t testing.TB, change ...func(*options)) *site {
	t.Helper()
	s := openSite(t, change...)
	s.Server = httptest.NewServer(s.server)
	t.Cleanup(func() {
		s.server.CloseStreams()
		s.Server.Close()
	})
	return s
}

// openSite is a site that does not listen.
func openSite(t testing.TB, change ...func(*options)) *site {
	t.Helper()
	s := &site{t: t, dir: t.TempDir(), log: &logBuffer{}, tokens: map[string]string{}}
	cfg := must(configs.Default())(t)
	logger := slog.New(slog.NewJSONHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	o := options{
		simulated: simulated.Options{Dir: filepath.Join(s.dir, "simulated"), Now: time.Now, PricePerHour: must(arena.Prices(cfg))(t), Speed: 1, Seed: 20260926},
		service:   must(arena.Configure(cfg))(t),
		server:    server.Options{Version: api.Version{Name: "arena", Simulated: true}, BaseURL: "http://127.0.0.1:7860", Log: logger, Now: time.Now, Client: oneClient},
		limits:    task.DefaultLimits(),
	}
	o.service.Sealed, o.service.Now, o.service.Logger = s.readSealed(cfg), time.Now, logger
	o.service.Timing = arena.Timing{ProviderCall: time.Minute, LogFlush: 5 * time.Millisecond, Retry: 10 * time.Millisecond, Reconcile: time.Minute}
	for _, f := range change {
		f(&o)
	}
	s.assemble(o)
	for _, name := range []string{author, other, editor} {
		s.tokens[name] = s.issue(name, name == editor)
	}
	s.tokens[stranger] = protocol.TokenPrefix + strings.Repeat("STRANGER", 6)
	t.Cleanup(s.checkLog)
	return s
}

// oneClient serves a client for one platform.
func oneClient(goos, arch string) (server.Binary, error) {
	if goos != "linux" || arch != "amd64" {
		return server.Binary{}, protocol.ErrNotFound.Detailf("This arena serves no command line for %s on %s.", goos, arch)
	}
	const content = "the program\n"
	return server.Binary{Name: "arena", Content: strings.NewReader(content), Size: int64(len(content)), Digest: sha256.Sum256([]byte(content)), Close: func() error { return nil }}, nil
}

// assemble puts the parts together, as cmd/arena does, and follows runs until the
// test ends.
func (s *site) assemble(o options) {
	t := s.t
	t.Helper()
	s.store = must(store.Open(t.Context(), store.Options{Dir: filepath.Join(s.dir, "data"), Now: time.Now}))(t)
	s.provider = must(simulated.Open(o.simulated))(t)
	o.service.Store, o.service.Providers = s.store, map[string]jobs.Provider{simulated.Name: s.provider}
	if o.provider != nil {
		o.service.Providers[simulated.Name] = o.provider
	}
	s.service = must(arena.New(o.service))(t)
	o.server.Service = s.service
	if o.server.Receive == nil {
		o.server.Receive = bundle.Receiver{Dir: t.TempDir(), Limits: o.limits}.Receive
	}
	s.server = must(server.New(o.server))(t)
	s.contract = newContract(t, must(api.NewSchemas().Document("", "").MarshalJSON())(t))
	ctx, stop := context.WithCancel(context.Background())
	watched := make(chan error, 1)
	go func() { watched <- s.service.Watch(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-watched; err != nil {
			t.Errorf("watch: %v", err)
		}
		if err := s.store.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
}

// in is the site as a subtest uses it.
func (s *site) in(t testing.TB) *site {
	sub := *s
	sub.t = t
	return &sub
}

// readSealed reads the invented suites and remembers their secrets.
func (s *site) readSealed(cfg configs.Config) map[string]protocol.SealedSuite {
	s.t.Helper()
	all := map[string]protocol.SealedSuite{}
	for id := range cfg.Suites {
		all[id] = must(compose.ReadSealedSuite(id, must(fixture.Suite(id))(s.t)))(s.t)
		for _, t := range all[id].Tasks {
			s.sealed = append(s.sealed, strings.ToLower(t.Name), strings.ToLower(t.Prompt[:min(len(t.Prompt), 40)]))
		}
	}
	return all
}

// issue makes a token for an account.
func (s *site) issue(name string, isEditor bool) string {
	s.t.Helper()
	secret := fmt.Sprintf("%s%032d%s", protocol.TokenPrefix, len(s.tokens), strings.ToUpper(name))
	t := protocol.Token{ID: "tok-" + name, Name: name, Editor: isEditor, CreatedAt: time.Now()}
	must0(s.t, s.store.CreateToken(context.Background(), protocol.Actor{Name: protocol.ActorArena}, t, sha256.Sum256([]byte(secret))))
	return secret
}

// checkLog requires that no token was logged.
func (s *site) checkLog() {
	text := s.log.String()
	for who, secret := range s.tokens {
		if strings.Contains(text, secret) {
			s.t.Errorf("the log holds the token of %s", who)
		}
	}
}

// answer is what came back, read to its end.
type answer struct {
	*http.Response
	body []byte
}

// code is the word of a problem, empty for anything else.
func (a answer) code() string {
	var p api.Problem
	if a.Header.Get("Content-Type") != api.ProblemType || json.Unmarshal(a.body, &p) != nil {
		return ""
	}
	return p.Code
}

// problem decodes the answer as a problem.
func (a answer) problem(t testing.TB) api.Problem {
	t.Helper()
	if got := a.Header.Get("Content-Type"); got != api.ProblemType {
		t.Fatalf("%s %s: %s with %q: %s", a.Request.Method, a.Request.URL, a.Status, got, a.body)
	}
	return decode[api.Problem](t, a)
}

// decode reads an answer's JSON.
func decode[T any](t testing.TB, a answer) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(a.body, &v); err != nil {
		t.Fatalf("%s %s answered %s: %s", a.Request.Method, a.Request.URL, a.Status, a.body)
	}
	return v
}

// request makes a request of a caller; headers are name and value in turn. A
// body that is a string or nil is sent as it is, anything else as JSON.
func (s *site) request(method, path, who string, body any, headers ...string) *http.Request {
	s.t.Helper()
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	case io.Reader:
		reader = b
	default:
		reader = bytes.NewReader(must(json.Marshal(b))(s.t))
	}
	r := must(http.NewRequest(method, s.URL+path, reader))(s.t)
	if reader != nil {
		r.Header.Set("Content-Type", api.ContentJSON)
	}
	if who != nobody {
		r.Header.Set("Authorization", "Bearer "+s.tokens[who])
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// do makes a request and reads its answer, which must keep the contract.
func (s *site) do(method, path, who string, body any, headers ...string) answer {
	s.t.Helper()
	return s.send(who, s.request(method, path, who, body, headers...))
}

func (s *site) send(who string, r *http.Request) answer {
	s.t.Helper()
	res, err := s.Client().Do(r)
	if err != nil {
		s.t.Fatalf("%s %s: %v", r.Method, r.URL, err)
	}
	defer res.Body.Close()
	a := answer{res, must(io.ReadAll(res.Body))(s.t)}
	s.look(who, a)
	return a
}

// look checks what no answer may do.
func (s *site) look(who string, a answer) {
	s.t.Helper()
	r := a.Request
	if a.Header.Get("X-Request-Id") == "" {
		s.t.Errorf("%s %s: the answer has no X-Request-Id", r.Method, r.URL)
	}
	if route, ok := routeOf(r.Method, r.URL.Path); ok {
		for _, flaw := range s.contract.exchange(route, a.StatusCode, a.Header, a.body) {
			s.t.Errorf("%s %s answered %s: %s", r.Method, r.URL, a.Status, flaw)
		}
	} else if page := strings.Contains(r.Header.Get("Accept"), api.ContentHTML) && strings.HasPrefix(a.Header.Get("Content-Type"), api.ContentHTML); a.StatusCode >= 400 && r.Method != http.MethodHead && !page && a.code() == "" {
		s.t.Errorf("%s %s: %s is no problem document: %s", r.Method, r.URL, a.Status, a.body)
	}
	if who != editor {
		text := strings.ToLower(string(a.body)) + strings.ToLower(fmt.Sprint(a.Header))
		for _, name := range s.sealed {
			if strings.Contains(text, name) {
				s.t.Errorf("%s %s shows %q of a sealed task to %s", r.Method, r.URL, name, who)
			}
		}
	}
}

// routeOf finds the route that a request is for.
func routeOf(method, path string) (api.Route, bool) {
	parts := strings.Split(path, "/")
	var best api.Route
	found, literal := false, -1
	for _, route := range api.Routes() {
		if n, ok := matches(strings.Split(route.Path, "/"), parts); ok && route.Method == method && n > literal {
			best, found, literal = route, true, n
		}
	}
	return best, found
}

// matches compares a route's path with a request's and counts equal parts.
func matches(pattern, parts []string) (literal int, ok bool) {
	if len(pattern) != len(parts) {
		return 0, false
	}
	for i := range pattern {
		switch {
		case pattern[i] == parts[i]:
			literal++
		case !strings.HasPrefix(pattern[i], "{") || parts[i] == "":
			return 0, false
		}
	}
	return literal, true
}

// want makes a request that must be answered with a status.
func (s *site) want(status int, method, path, who string, body any, headers ...string) answer {
	s.t.Helper()
	a := s.do(method, path, who, body, headers...)
	if a.StatusCode != status {
		s.t.Fatalf("%s %s as %s: %s, want %d: %s", method, path, who, a.Status, status, a.body)
	}
	return a
}

// wantProblem makes a request that must be refused with a status and a code.
func (s *site) wantProblem(status int, code, method, path, who string, body any, headers ...string) api.Problem {
	s.t.Helper()
	p := s.want(status, method, path, who, body, headers...).problem(s.t)
	if p.Code != code || p.Status != status || p.Detail == "" || p.Title != http.StatusText(status) {
		s.t.Errorf("%s %s as %s: %+v, want the code %s", method, path, who, p, code)
	}
	return p
}

// must returns v, or ends the test.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func must0(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// logBuffer is a log that goroutines write to while a test reads it.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
