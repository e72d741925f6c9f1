package hfhub_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/hub"
	"github.com/posttrainarena/arena/protocol/hub/blobcache"
	"github.com/posttrainarena/arena/protocol/hub/hfhub"
	"github.com/posttrainarena/arena/protocol/hub/hubtest"
	"github.com/posttrainarena/arena/protocol/leaktest"
	"github.com/posttrainarena/arena/protocol/outbound"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }

// arenaToken is the arena's own in these tests. No error may repeat it.
const arenaToken = "hf_arenaCANARYarenaCANARYarenaCANARY01"

// pauses stands in for waiting between tries and remembers how long it was.
type pauses struct {
	mu  sync.Mutex
	all []time.Duration
}

func (p *pauses) sleep(ctx context.Context, d time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, d)
	return ctx.Err()
}

func options(t testing.TB, fake *hubtest.HuggingFace) hfhub.Options {
	t.Helper()
	transport := outbound.NewTransport(100)
	t.Cleanup(transport.CloseIdleConnections)
	return hfhub.Options{URL: fake.URL, Transport: transport, UserAgent: "arena/test", Now: time.Now, Sleep: (&pauses{}).sleep}
}

func newCache(t testing.TB, dir string) *blobcache.Cache {
	t.Helper()
	c, err := blobcache.Open(dir, 1<<30, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func limits() hfhub.DatasetLimits { return hfhub.DatasetLimits{Files: 20_000, Ahead: 1 << 20} }

func source(rev, entry string) protocol.Source {
	return protocol.Source{RepoType: protocol.RepoDataset, RepoID: "ada/tasks", Revision: rev, EntryPath: entry}
}

// TestConform: a dataset is a source like any other, but for what the hub does
// not say.
func TestConform(t *testing.T) {
	for name, shortcut := range map[string]bool{"with the short way to files": true, "without it": false} {
		t.Run(name, func(t *testing.T) {
			hubtest.Conform(t, hubtest.Place{
				Submodules: true,
				Serve: func(t *testing.T, files []hubtest.File) func(context.Context, string) (*hub.Snapshot, error) {
					fake := hubtest.NewHuggingFace(t)
					fake.Page, fake.NoShortcut = 3, !shortcut
					fake.Dataset("ada/tasks").Commit(files, "main")
					d := hfhub.NewDatasets(options(t, fake), limits(), newCache(t, t.TempDir()), "")
					return func(ctx context.Context, entry string) (*hub.Snapshot, error) {
						return d.Open(ctx, source("main", entry))
					}
				},
			})
		})
	}
}

// sample is a dataset with one file of each kind of storage.
func sample() []hubtest.File {
	return []hubtest.File{
		{Path: "submission.yaml", Text: "team_name: x\n"},
		{Path: "envs/a/task.md", Text: "Do it.\n"},
		{Path: "envs/a/data.csv", Text: "1,2,3\n", LFS: true},
		{Path: "envs/a/more.csv", Text: "4,5,6\n", Xet: true},
	}
}

// sampleCommit is the commit of the sample, which depends on nothing else.
func sampleCommit() string { return (&hubtest.Repository{Name: "ada/tasks"}).Commit(sample()) }

func TestRevisionsArePinned(t *testing.T) {
	fake := hubtest.NewHuggingFace(t)
	repo := fake.Dataset("ada/tasks")
	first := repo.Commit(sample(), "main", "v1", "refs/pr/1", "feature/x")
	fake.Issue(arenaToken, hubtest.Token{Account: hubtest.Account{Name: "arena"}})
	d := hfhub.NewDatasets(options(t, fake), limits(), newCache(t, t.TempDir()), arenaToken)
	for _, rev := range []string{"main", "v1", "refs/pr/1", "feature/x", first} {
		s, err := d.Open(t.Context(), source(rev, ""))
		if err != nil {
			t.Errorf("%s: %v", rev, err)
			continue
		}
		if s.Commit != first {
			t.Errorf("%s is commit %s, not %s", rev, s.Commit, first)
		}
		_ = s.Release()
	}
	// The branch moves between resolving and listing: the pin wins.
	fake.Forget()
	fake.Fail("GET /api/datasets/ada/tasks/tree/", 1, func(s *hubtest.Server, w http.ResponseWriter, r *http.Request, next http.Handler) {
		repo.Commit([]hubtest.File{{Path: "other", Text: "moved"}}, "main")
		next.ServeHTTP(w, r)
	})
	s, err := d.Open(t.Context(), source("main", ""))
	if err != nil || s.Commit != first || len(s.Entries) != len(sample()) {
		t.Fatalf("%+v, %v", s, err)
	}
	_ = s.Release()
	for _, r := range fake.Requests("GET /api/datasets/ada/tasks/tree/") {
		if !strings.HasPrefix(r.Path, "/api/datasets/ada/tasks/tree/"+first) {
			t.Errorf("listed at %s", r.Path)
		}
	}
	// A renamed repository is followed, and keeps the token: it is the same origin.
	fake.Rename("ada/tasks", "ada/newer")
	s, err = d.Open(t.Context(), source(first, ""))
	if err != nil || s.Commit != first {
		t.Errorf("renamed: %+v, %v", s, err)
	}
	_ = s.Release()
	if n := fake.CDN.Calls("GET /"); n == 0 {
		t.Error("nothing came from the content network, so nothing was shown about its token")
	}
}

// failures is every way in which the hub fails, and what the arena says. The fakes
// fail where it says; a refusal names what the author can do, a 503 when to come
// back.
func failures() []failure {
	const (
		info = "GET /api/datasets/ada/tasks/revision/"
		tree = "GET /api/datasets/ada/tasks/tree/"
		file = "GET /api/resolve-cache/"
	)
	invalid, away := protocol.ErrInvalidSource, protocol.ErrUnavailable
	change := func(f func(*hubtest.Repository)) func(*hubtest.HuggingFace) {
		return func(h *hubtest.HuggingFace) { f(h.Dataset("ada/tasks")) }
	}
	fail := func(where string, n int, f hubtest.Fault) func(*hubtest.HuggingFace) {
		return func(h *hubtest.HuggingFace) { h.Fail(where, n, f) }
	}
	return []failure{
		{name: "private, without a token (401)", setup: change(func(r *hubtest.Repository) { r.Private = true }), want: invalid, say: "not public"},
		{name: "private, with a token (404)", token: arenaToken, setup: change(func(r *hubtest.Repository) { r.Private = true }), want: invalid, say: "not public"},
		{name: "private, and the arena's token sees it", token: "hf_granted", setup: change(func(r *hubtest.Repository) { r.Private = true }), want: invalid, say: "it is private"},
		{name: "gated", setup: change(func(r *hubtest.Repository) { r.Gated = "auto" }), want: invalid, say: "gated"},
		{name: "gated, and the arena's token is granted", token: "hf_granted", setup: change(func(r *hubtest.Repository) { r.Gated = "manual" }), want: invalid, say: "gated"},
		{name: "gated while it is read (403)", token: arenaToken, setup: func(h *hubtest.HuggingFace) {
			h.Fail(file, 1, func(_ *hubtest.Server, w http.ResponseWriter, r *http.Request, next http.Handler) {
				h.Dataset("ada/tasks").Gated = "auto"
				next.ServeHTTP(w, r)
			})
		}, want: invalid, say: "gated"},
		{name: "disabled", setup: change(func(r *hubtest.Repository) { r.Disabled = true }), want: invalid, say: "disabled"},
		{name: "missing (401)", repo: "ada/nothing", want: invalid, say: "no such dataset"},
		{name: "missing, with a token (404)", repo: "ada/nothing", token: arenaToken, want: invalid, say: "no such dataset"},
		{name: "no such revision (404)", rev: "nope", want: invalid, say: `no revision "nope"`},
		{name: "the beginning of a commit", rev: sampleCommit()[:9], want: invalid, say: "use the whole " + sampleCommit()},
		{name: "no such commit (404)", rev: strings.Repeat("a", 40), want: invalid, say: "no revision"},
		{name: "the arena's token is bad (401)", token: "hf_revoked", want: away, say: "arena's own token"},
		{name: "409", setup: fail(tree, 0, hubtest.Status(409)), want: protocol.ErrSourceRefused, say: "409"},
		{name: "451", setup: fail(tree, 0, hubtest.Status(451)), want: invalid, say: "disabled"},
		{name: "429 with Retry-After", setup: fail(tree, 0, hubtest.Status(429, "Retry-After", "77")), want: away, say: "rate limit", wait: 77 * time.Second},
		{name: "429 with a date, by a clock that is off", setup: fail(tree, 0, hubtest.Skewed(10*time.Minute, func(s *hubtest.Server, w http.ResponseWriter, r *http.Request, next http.Handler) {
			w.Header().Set("Retry-After", s.Now().Add(10*time.Minute+90*time.Second).UTC().Format(http.TimeFormat))
			hubtest.Status(429)(s, w, r, next)
		})), want: away, say: "rate limit", wait: 90 * time.Second},
		{name: "429 with the headers of the hub", setup: fail(tree, 0, hubtest.Status(429, "RateLimit", `"api";r=0;t=120`)), want: away, say: "the limit on api", wait: 121 * time.Second},
		{name: "429 that says nothing", setup: fail(tree, 0, hubtest.Status(429)), want: away, say: "rate limit", wait: 30 * time.Second},
		{name: "429 that says nonsense", setup: fail(tree, 0, hubtest.Status(429, "Retry-After", "soon")), want: away, say: "rate limit", wait: 30 * time.Second},
		{name: "429 with a time below zero", setup: fail(tree, 0, hubtest.Status(429, "Retry-After", "-5")), want: away, say: "rate limit", wait: 30 * time.Second},
		{name: "429 for a month", setup: fail(tree, 0, hubtest.Status(429, "Retry-After", "2592000")), want: away, say: "rate limit", wait: 24 * time.Hour},
		{name: "the resolvers bucket empties", setup: func(h *hubtest.HuggingFace) { h.Quota["resolvers"] = 1 }, want: away, say: "the limit on resolvers", wait: 56 * time.Second},
		{name: "500 once", setup: fail(tree, 1, hubtest.Status(500))},
		{name: "500 always", setup: fail(tree, 0, hubtest.Status(500)), want: away, say: "cannot be reached for reading the dataset ada/tasks right now because it answers 500"},
		{name: "502 with an HTML page once", setup: fail(info, 1, hubtest.Page(502))},
		{name: "502 with an HTML page always", setup: fail(info, 0, hubtest.Page(502)), want: away, say: "cannot be reached"},
		{name: "200 with an HTML page", setup: fail(info, 0, hubtest.Page(200)), want: away, say: "instead of JSON"},
		{name: "JSON under another type", setup: fail(tree, 0, hubtest.WrongType("text/plain")), want: away, say: "text/plain instead of JSON"},
		{name: "HTML as JSON", setup: fail(tree, 0, hubtest.Text("application/json", "<html>")), want: away, say: "cannot be read as the JSON"},
		{name: "null", setup: fail(info, 0, hubtest.Text("application/json", "null")), want: away, say: "names no commit"},
		{name: "truncated JSON", setup: fail(tree, 0, hubtest.Changed(func(b string) string { return b[:len(b)/2] })), want: away, say: "cannot be read as the JSON"},
		{name: "numbers as strings", setup: fail(tree, 0, hubtest.Changed(func(b string) string { return strings.ReplaceAll(b, `"size":`, `"size":"x","y":`) })), want: away, say: "cannot be read"},
		{name: "members nobody knows", setup: fail(tree, 0, hubtest.Changed(func(b string) string { return strings.ReplaceAll(b, `"size":`, `"new":{"a":[1]},"size":`) }))},
		{name: "an unknown kind of entry", setup: fail(tree, 0, hubtest.Changed(func(b string) string { return strings.Replace(b, `"file"`, `"portal"`, 1) })), want: protocol.ErrSourceRefused, say: "portal"},
		{name: "content that cannot be named", setup: fail(tree, 0, hubtest.Changed(func(b string) string { return strings.Replace(b, `"lfs":{"oid":"`, `"lfs":{"oid":"z`, 1) })), want: protocol.ErrSourceRefused, say: "cannot be read"},
		{name: "content of a size below zero", setup: fail(tree, 0, hubtest.Changed(func(b string) string {
			return regexp.MustCompile(`("pointerSize":\d+,"size":)`).ReplaceAllString(b, "$1-")
		})), want: protocol.ErrSourceRefused, say: "cannot be read"},
		{name: "a size below zero beside content", setup: fail(tree, 0, hubtest.Changed(func(b string) string {
			return regexp.MustCompile(`("lfs":\{[^}]*\},[^}]*"size":)`).ReplaceAllString(b, "$1-")
		})), want: protocol.ErrSourceRefused, say: "cannot be read"},
		{name: "a size below zero", setup: fail(tree, 0, hubtest.Changed(func(b string) string { return strings.ReplaceAll(b, `"size":`, `"size":-`) })), want: protocol.ErrSourceRefused, say: "cannot be read"},
		{name: "deep nesting", setup: fail(tree, 0, hubtest.Text("application/json", strings.Repeat("[", 100_000))), want: away, say: "cannot be read"},
		{name: "a listing that stalls", setup: fail(tree, 0, hubtest.Stall(20)), timeout: 50 * time.Millisecond, want: away, say: "took longer than 50ms"},
		{name: "a listing of a byte a second", setup: fail(tree, 0, hubtest.Trickle()), timeout: 50 * time.Millisecond, want: away, say: "it took longer than 50ms"},
		{name: "a file of a byte a second", setup: fail(file, 0, hubtest.Trickle()), timeout: 300 * time.Millisecond, want: away, say: "it took longer than 300ms"},
		{name: "a file of a byte a second, once", setup: fail(file, 1, hubtest.Trickle()), timeout: 300 * time.Millisecond},
		{name: "no answer at all", setup: fail(info, 0, hubtest.Silent()), timeout: 50 * time.Millisecond, want: away, say: "cannot be reached for reading the dataset ada/tasks right now because it took longer than 50ms"},
		{name: "a name that cannot be resolved", adjust: unknownName, want: away, say: "because its name cannot be resolved"},
		{name: "a certificate of somebody else", adjust: strangersCertificate, want: away, say: "because its certificate is not accepted"},
		{name: "a port where nobody listens", adjust: func(_ *testing.T, o *hfhub.Options) { o.URL = "http://127.0.0.1:1" }, want: away, say: "because it takes no connections"},
		{name: "a file that stalls once", setup: fail(file, 1, hubtest.Stall(2)), timeout: 300 * time.Millisecond},
		{name: "a listing that is cut once", setup: fail(tree, 1, hubtest.Cut(20))},
		{name: "a listing that is cut always", setup: fail(tree, 0, hubtest.Cut(20)), want: away, say: "breaks off"},
		{name: "a file that is cut once", setup: fail(file, 1, hubtest.Cut(3))},
		{name: "a file that is cut always", setup: fail(file, 0, hubtest.Cut(3)), want: away},
		{name: "a connection that breaks once", setup: fail(info, 1, hubtest.Reset())},
		{name: "nobody there", setup: func(h *hubtest.HuggingFace) { h.Down(true) }, want: away, say: "cannot be reached"},
		{name: "a loop of redirects", setup: fail(tree, 0, hubtest.Loop()), want: away},
		{name: "a redirect without a place", setup: fail(tree, 0, hubtest.Redirect(302, "")), want: away},
		{name: "a redirect to another scheme", setup: fail(tree, 0, hubtest.Redirect(302, "file:///etc/passwd")), want: away},
		{name: "wrong bytes under a right name", setup: fail(file, 0, hubtest.Changed(func(string) string { return "Do not\n" })), want: away, say: "something else"},
		{name: "longer than it is listed", setup: fail(file, 0, hubtest.Changed(func(b string) string { return b + b })), want: away, say: "something else"},
		{name: "a pointer instead of its content", setup: func(h *hubtest.HuggingFace) {
			h.CDN.Fail("GET /", 0, hubtest.Text("text/plain", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 6\n"))
		}, want: away, say: "something else"},
		{name: "a file that is listed and missing", setup: fail("GET /", 3, hubtest.Status(404, "X-Error-Code", "EntryNotFound")), want: away, say: "does not deliver"},
		{name: "ten times more rows than a listing may have", setup: func(h *hubtest.HuggingFace) { h.Endless = true }, want: invalid, say: "more than 20000 files"},
		{name: "pages that go round", setup: fail(tree, 0, func(s *hubtest.Server, w http.ResponseWriter, r *http.Request, next http.Handler) {
			w.Header().Set("Link", fmt.Sprintf(`<%s>; rel="next"`, s.URL+r.URL.RequestURI()))
			next.ServeHTTP(w, r)
		}), want: protocol.ErrSourceRefused, say: "round in a circle"},
		{name: "pages that never end and hold nothing", setup: fail(tree, 0, func(s *hubtest.Server, w http.ResponseWriter, r *http.Request, _ http.Handler) {
			w.Header().Set("Link", fmt.Sprintf(`<%s?cursor=%d>;rel=next`, s.URL+r.URL.Path, s.Calls(tree)))
			hubtest.Text("application/json", "[]")(s, w, r, nil)
		}), want: protocol.ErrSourceRefused, say: "too many pages"},
		{name: "pages on another server", setup: fail(tree, 0, func(_ *hubtest.Server, w http.ResponseWriter, r *http.Request, next http.Handler) {
			w.Header().Set("Link", `<https://evil.example/next>; rel="prev", <https://evil.example/page>  ;  rel="next last"`)
			next.ServeHTTP(w, r)
		}), want: protocol.ErrSourceRefused, say: "another server"},
	}
}

type failure struct {
	name    string
	setup   func(*hubtest.HuggingFace)
	token   string
	repo    string
	rev     string
	timeout time.Duration
	adjust  func(*testing.T, *hfhub.Options)
	want    *protocol.Error // nil: it is overcome
	say     string
	wait    time.Duration // 0: whatever it says
}

// unknownName is a resolver that does not know the hub.
func unknownName(t *testing.T, o *hfhub.Options) {
	transport := outbound.NewTransport(1)
	transport.DialContext = func(_ context.Context, _, address string) (net.Conn, error) {
		return nil, &net.DNSError{Err: "no such host", Name: address, IsNotFound: true}
	}
	o.URL, o.Transport = "http://hub.example", transport
}

// strangersCertificate is a server that shows a certificate which nobody has vouched
// for.
func strangersCertificate(t *testing.T, o *hfhub.Options) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	o.URL = server.URL
}

// TestSizeOfContent: a row of a listing need not say how large its file is, and what it
// says of content elsewhere counts (D5).
func TestSizeOfContent(t *testing.T) {
	fake := hubtest.NewHuggingFace(t)
	fake.Dataset("ada/tasks").Commit([]hubtest.File{{Path: "large.bin", Text: "large", LFS: true}}, "main")
	fake.Fail("GET /api/datasets/ada/tasks/tree/", 0, hubtest.Changed(func(b string) string { return regexp.MustCompile(`,"size":5,"type"`).ReplaceAllString(b, `,"type"`) }))
	s, err := hfhub.NewDatasets(options(t, fake), limits(), newCache(t, t.TempDir()), "").Open(t.Context(), source("main", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	if s.Entries[0].Size != 5 {
		t.Errorf("%+v", s.Entries)
	}
}

func TestFailures(t *testing.T) {
	for _, tc := range failures() {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			fake := hubtest.NewHuggingFace(t)
			fake.Dataset("ada/tasks").Commit(sample(), "main")
			fake.Issue(arenaToken, hubtest.Token{Account: hubtest.Account{Name: "arena"}})
			fake.Issue("hf_granted", hubtest.Token{Account: hubtest.Account{Name: "arena"}, Grants: "ada/tasks"})
			fake.Issue("hf_revoked", hubtest.Token{Account: hubtest.Account{Name: "arena"}, Revoked: true})
			if tc.setup != nil {
				tc.setup(fake)
			}
			o := options(t, fake)
			if o.Timeout = tc.timeout; tc.adjust != nil {
				tc.adjust(t, &o)
			}
			s := source("main", "")
			if tc.repo != "" {
				s.RepoID = tc.repo
			}
			if tc.rev != "" {
				s.Revision = tc.rev
			}
			snapshot, err := hfhub.NewDatasets(o, limits(), newCache(t, t.TempDir()), tc.token).Open(t.Context(), s)
			if tc.want == nil {
				if err != nil {
					t.Fatalf("it is not overcome: %v", err)
				}
				_ = snapshot.Release()
				return
			}
			if !errors.Is(err, tc.want) {
				t.Fatalf("got %v, want %s", err, tc.want.Code)
			}
			e := protocol.AsError(err)
			if !strings.Contains(e.Detail, tc.say) {
				t.Errorf("it says %q, not %q", e.Detail, tc.say)
			}
			if tc.wait != 0 && e.RetryAfter.Round(2*time.Second) != tc.wait.Round(2*time.Second) {
				t.Errorf("it asks to wait %s, not %s", e.RetryAfter, tc.wait)
			}
			if e.Kind == protocol.KindUnavailable && e.RetryAfter <= 0 {
				t.Error("it does not say when to come back")
			}
			for _, secret := range []string{arenaToken, "hf_granted", "hf_revoked", "Signature="} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the error holds a secret: %v", err)
				}
			}
		})
	}
}

// TestCutOffGoesOn: what was fetched before a failure is not fetched again, not
// even by another process.
func TestCutOffGoesOn(t *testing.T) {
	fake := hubtest.NewHuggingFace(t)
	var files []hubtest.File
	for i := range 100 {
		files = append(files, hubtest.File{Path: fmt.Sprintf("envs/t%d/task.md", i), Text: fmt.Sprintf("task %d\n", i)})
	}
	fake.Dataset("ada/tasks").Commit(files, "main")
	dir := filepath.Join(t.TempDir(), "blobs")
	fake.Quota["resolvers"] = 70
	first := newCache(t, dir)
	_, err := hfhub.NewDatasets(options(t, fake), limits(), first, "").Open(t.Context(), source("main", ""))
	if !errors.Is(err, protocol.ErrUnavailable) {
		t.Fatal(err)
	}
	_ = first.Close()
	second := newCache(t, dir)
	var kept []string
	for _, f := range files {
		if second.Has(blobcache.Key{Git: f.Blob(), Size: int64(len(f.Text))}) {
			kept = append(kept, f.Path)
		}
	}
	if len(kept) == 0 || len(kept) > 70 {
		t.Fatalf("%d files are kept of 70 that were delivered", len(kept))
	}
	fake.Lift() // how many were under way when the limit struck, and so were given up, is chance
	s, err := hfhub.NewDatasets(options(t, fake), limits(), second, "").Open(t.Context(), source("main", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	// What the first gave up may arrive at the hub late; what it kept is asked for once.
	for _, path := range kept {
		if n := fake.Calls("GET /api/resolve-cache/datasets/ada/tasks/" + s.Commit + "/" + path); n != 1 {
			t.Errorf("%s was kept and asked for %d times", path, n)
		}
	}
	if b, err := fs.ReadFile(s.Files, "envs/t7/task.md"); err != nil || string(b) != "task 7\n" {
		t.Errorf("%q, %v", b, err)
	}
}

// large is a collection of 200 tasks with 10 files each.
func large() []hubtest.File {
	var files []hubtest.File
	for i := range 200 {
		for j := range 10 {
			files = append(files, hubtest.File{Path: fmt.Sprintf("envs/task-%03d/f%d.txt", i, j), Text: fmt.Sprintf("file %d of task %d\n", j, i)})
		}
	}
	return files
}

// TestRequestsOfALargeCollection counts what a validation asks for: the commit, the
// pages of the listing, each file once and without the detour of a redirect.
func TestRequestsOfALargeCollection(t *testing.T) {
	fake := hubtest.NewHuggingFace(t)
	fake.Dataset("ada/tasks").Commit(large(), "main")
	s, err := hfhub.NewDatasets(options(t, fake), limits(), newCache(t, t.TempDir()), "").Open(t.Context(), source("main", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	for prefix, want := range map[string]int{"GET /api/datasets/": 4, "GET /api/resolve-cache/": 2000, "GET /datasets/": 0, "": 2004} {
		if n := fake.Calls(prefix); n != want {
			t.Errorf("%q was asked %d times, not %d", prefix, n, want)
		}
	}
}

// BenchmarkOpen opens 200 tasks of 10 files at a hub that takes 50 ms to answer.
func BenchmarkOpen(b *testing.B) {
	fake := hubtest.NewHuggingFace(b)
	fake.Latency = 50 * time.Millisecond
	fake.Dataset("ada/tasks").Commit(large(), "main")
	for b.Loop() {
		d := hfhub.NewDatasets(options(b, fake), limits(), newCache(b, b.TempDir()), "")
		s, err := d.Open(b.Context(), source("main", ""))
		if err != nil {
			b.Fatal(err)
		}
		_ = s.Release()
	}
}
