package github_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/hub"
	"github.com/posttrainarena/arena/protocol/hub/blobcache"
	"github.com/posttrainarena/arena/protocol/hub/github"
	"github.com/posttrainarena/arena/protocol/hub/hubtest"
	"github.com/posttrainarena/arena/protocol/leaktest"
	"github.com/posttrainarena/arena/protocol/outbound"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }

const arenaToken = "ghp_arenaCANARYarenaCANARYarenaCANARY01"

func options(t testing.TB, fake *hubtest.GitHub) github.Options {
	t.Helper()
	transport := outbound.NewTransport(8)
	t.Cleanup(transport.CloseIdleConnections)
	return github.Options{
		API: fake.URL, Archives: fake.Archives.URL, Raw: fake.Raw.URL, Transport: transport, UserAgent: "arena/test", Now: time.Now,
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }, Files: 20_000, Ahead: 1 << 20,
	}
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

func source(rev, entry string) protocol.Source {
	return protocol.Source{RepoType: protocol.RepoGitHub, RepoID: "ada/tasks", Revision: rev, EntryPath: entry}
}

func TestConform(t *testing.T) {
	hubtest.Conform(t, hubtest.Place{
		Modes: true, Submodules: true,
		Serve: func(t *testing.T, files []hubtest.File) func(context.Context, string) (*hub.Snapshot, error) {
			fake := hubtest.NewGitHub(t)
			fake.Repository("ada/tasks").Commit(files, "main")
			g := github.New(options(t, fake), newCache(t, t.TempDir()))
			return func(ctx context.Context, entry string) (*hub.Snapshot, error) {
				return g.Open(ctx, source("main", entry))
			}
		},
	})
}

func sample() []hubtest.File {
	return []hubtest.File{
		{Path: "submission.yaml", Text: "team_name: x\n"},
		{Path: "envs/a/task.md", Text: "Do it.\n"},
		{Path: "envs/a/run.sh", Text: "true\n", Mode: "100755"},
		{Path: "envs/a/link", Text: "task.md", Mode: "120000"},
		{Path: "envs/a/sub", Mode: "160000"},
	}
}

// TestTwoCalls: a validation costs two API calls and one tarball, whatever the
// revision is called, and a second one at the same commit no tarball at all.
func TestTwoCalls(t *testing.T) {
	fake := hubtest.NewGitHub(t)
	fake.Token = arenaToken
	commit := fake.Repository("ada/tasks").Commit(sample(), "main", "v1", "feature/x")
	o := options(t, fake)
	o.Token = arenaToken
	g := github.New(o, newCache(t, t.TempDir()))
	for i, rev := range []string{"main", "v1", "feature/x", "heads/main", commit} {
		fake.Forget()
		fake.Archives.Forget()
		s, err := g.Open(t.Context(), source(rev, ""))
		if err != nil || s.Commit != commit {
			t.Fatalf("%s: %+v, %v", rev, s, err)
		}
		_ = s.Release()
		tarballs := 0
		if i == 0 {
			tarballs = 1
		}
		if n, m, raw := fake.Calls(""), fake.Archives.Calls(""), fake.Raw.Calls(""); n != 2 || m != tarballs || raw != 0 {
			t.Errorf("%s: %d API calls, %d tarballs, %d raw files", rev, n, m, raw)
		}
		for _, r := range fake.Archives.Requests("") {
			if !strings.HasSuffix(r.Path, commit) {
				t.Errorf("%s: the tarball is that of %s", rev, r.Path)
			}
		}
	}
	fake.Rename("ada/tasks", "ada/newer")
	if s, err := g.Open(t.Context(), source(commit, "")); err != nil || s.Commit != commit {
		t.Errorf("renamed: %+v, %v", s, err)
	}
}

// TestRenamed: under its old name a repository is still read whole, its tarball and what
// that leaves out too.
func TestRenamed(t *testing.T) {
	fake := hubtest.NewGitHub(t)
	commit := fake.Repository("ada/tasks").Commit(append(sample(), hubtest.File{Path: "left-out.txt", Text: "left out\n", ExportIgnore: true}), "main")
	fake.Rename("ada/tasks", "ada/newer")
	s, err := github.New(options(t, fake), newCache(t, t.TempDir())).Open(t.Context(), source("main", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	if b, err := fs.ReadFile(s.Files, "left-out.txt"); err != nil || string(b) != "left out\n" || s.Commit != commit {
		t.Errorf("%q, %v at %s", b, err, s.Commit)
	}
}

// TestLargeCollection: 2,000 files come with the same three requests.
func TestLargeCollection(t *testing.T) {
	fake := hubtest.NewGitHub(t)
	var files []hubtest.File
	for i := range 200 {
		for j := range 10 {
			files = append(files, hubtest.File{Path: fmt.Sprintf("envs/task-%03d/f%d.txt", i, j), Text: fmt.Sprintf("file %d of task %d\n", j, i)})
		}
	}
	fake.Repository("ada/tasks").Commit(files, "main")
	s, err := github.New(options(t, fake), newCache(t, t.TempDir())).Open(t.Context(), source("main", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	for _, f := range files {
		if b, err := fs.ReadFile(s.Files, f.Path); err != nil || string(b) != f.Text {
			t.Fatalf("%s: %q, %v", f.Path, b, err)
		}
	}
	if n := fake.Calls("") + fake.Archives.Calls("") + fake.Raw.Calls(""); n != 3 {
		t.Errorf("%d requests", n)
	}
}

// TestTarballsThatDiffer: .gitattributes leave out and change files; those come
// singly. Whatever is in a tarball and not in the listing is passed over.
func TestTarballsThatDiffer(t *testing.T) {
	fake := hubtest.NewGitHub(t)
	files := append(sample(), hubtest.File{Path: "left-out.txt", Text: "left out\n", ExportIgnore: true}, hubtest.File{Path: "changed.txt", Text: "$Format:%H$\n", ExportSubst: true})
	fake.Repository("ada/tasks").Commit(files, "main")
	fake.Extra = []tar.Header{
		{Name: "tasks/../../etc/passwd", Typeflag: tar.TypeReg},
		{Name: "/etc/passwd", Typeflag: tar.TypeReg},
		{Name: "x/envs/a/task.md", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"},
		{Name: "x/envs/a/task.md", Typeflag: tar.TypeReg},
		{Name: "x/dev", Typeflag: tar.TypeChar},
	}
	s, err := github.New(options(t, fake), newCache(t, t.TempDir())).Open(t.Context(), source("main", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	for _, f := range files {
		if b, err := fs.ReadFile(s.Files, f.Path); f.Mode != "120000" && f.Mode != "160000" && (err != nil || string(b) != f.Text) {
			t.Errorf("%s: %q, %v", f.Path, b, err)
		}
	}
	if n := fake.Raw.Calls(""); n != 2 {
		t.Errorf("%d files came singly, 2 differ", n)
	}
}

// TestCutOffGoesOn: files that arrived before a tarball broke off stay.
func TestCutOffGoesOn(t *testing.T) {
	fake := hubtest.NewGitHub(t)
	fake.Repository("ada/tasks").Commit(sample(), "main")
	dir := t.TempDir()
	cache := newCache(t, dir)
	fake.Archives.Fail("GET /", 0, func(s *hubtest.Server, w http.ResponseWriter, r *http.Request, next http.Handler) {
		// Half of the files, then the end of the stream without the end of the tar.
		hubtest.Changed(func(body string) string { return gunzipHalf(t, body) })(s, w, r, next)
	})
	_, err := github.New(options(t, fake), cache).Open(t.Context(), source("main", ""))
	if !errors.Is(err, protocol.ErrUnavailable) {
		t.Fatal(err)
	}
	if f := sample()[2]; !cache.Has(blobcache.Key{Git: f.Blob(), Size: int64(len(f.Text))}) {
		t.Error("what had arrived is gone")
	}
	fake.Archives.Heal()
	s, err := github.New(options(t, fake), cache).Open(t.Context(), source("main", ""))
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Release()
}

// gunzipHalf cuts a tarball inside: what is left unpacks, and ends too early.
func gunzipHalf(t *testing.T, body string) string {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	var plain bytes.Buffer
	if _, err := plain.ReadFrom(z); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(plain.Bytes()[:plain.Len()-3000])
	_ = w.Close()
	return out.String()
}

func TestFailures(t *testing.T) {
	const (
		commits = "GET /repos/ada/tasks/commits/"
		trees   = "GET /repos/ada/tasks/git/trees/"
	)
	invalid, away := protocol.ErrInvalidSource, protocol.ErrUnavailable
	api := func(where string, n int, f hubtest.Fault) func(*hubtest.GitHub) {
		return func(g *hubtest.GitHub) { g.Fail(where, n, f) }
	}
	ball := func(n int, f hubtest.Fault) func(*hubtest.GitHub) {
		return func(g *hubtest.GitHub) { g.Archives.Fail("GET /", n, f) }
	}
	for _, tc := range []struct {
		name    string
		setup   func(*hubtest.GitHub)
		files   []hubtest.File
		token   string
		repo    string
		rev     string
		timeout time.Duration
		want    *protocol.Error // nil: it is overcome
		say     string
		wait    time.Duration
	}{
		{name: "missing (404)", repo: "ada/nothing", want: invalid, say: "not public"},
		{name: "private (404)", setup: func(g *hubtest.GitHub) { g.Repository("ada/tasks").Private = true }, want: invalid, say: "not public"},
		{name: "empty (409)", repo: "ada/empty", setup: func(g *hubtest.GitHub) { g.Repository("ada/empty") }, want: invalid, say: "no commits"},
		{name: "no such revision (422)", rev: "nope", want: invalid, say: `no revision "nope"`},
		{name: "taken down (451)", setup: func(g *hubtest.GitHub) { g.Repository("ada/tasks").TakenDown = "dmca" }, want: invalid, say: "taken down"},
		{name: "a listing of a byte a second", setup: api(trees, 0, hubtest.Trickle()), timeout: 50 * time.Millisecond, want: away, say: "it took longer than 50ms"},
		{name: "no answer at all", setup: api(commits, 0, hubtest.Silent()), timeout: 50 * time.Millisecond, want: away, say: "cannot be reached for reading the repository ada/tasks right now because it took longer than 50ms"},
		{name: "bad token (401)", token: "ghp_bad", want: away, say: "arena's own token"},
		{name: "403 that is no limit", setup: api(commits, 0, hubtest.Status(403)), want: protocol.ErrSourceRefused, say: "403"},
		{name: "truncated", setup: func(g *hubtest.GitHub) { g.Truncate = true }, want: invalid, say: "cuts its listing"},
		{name: "the hour is used up (403)", setup: func(g *hubtest.GitHub) {
			g.Limit = 1
			g.Now = func() time.Time { return time.Date(2026, 1, 1, 10, 40, 0, 0, time.UTC) } // whose clock is months off
		}, want: away, say: "GitHub's limit of 1 requests an hour stops the arena from reading the repository ada/tasks. It resets in 20m1s", wait: 20*time.Minute + time.Second},
		{name: "a burst (403 with Retry-After)", setup: api(trees, 0, hubtest.Status(403, "Retry-After", "33")), want: away, say: "bursts", wait: 33 * time.Second},
		{name: "a burst (403 that names it)", setup: api(trees, 0, func(_ *hubtest.Server, w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.WriteHeader(403)
			fmt.Fprint(w, `{"message":"slow down","documentation_url":"https://docs.github.com/rest/overview/rate-limits#about-secondary-rate-limits"}`)
		}), want: away, say: "bursts", wait: time.Minute},
		{name: "the hour is used up, and a wait beside it", setup: api(trees, 0, hubtest.Status(403, "X-Ratelimit-Remaining", "0", "X-Ratelimit-Reset", "33000000000", "Retry-After", "33")), want: away, say: "a few requests an hour", wait: 33 * time.Second},
		{name: "the hour is used up and over", setup: api(trees, 0, hubtest.Status(403, "X-Ratelimit-Remaining", "0", "X-Ratelimit-Reset", "1000000000")), want: away, say: "It resets in 1s", wait: time.Second},
		{name: "the hour is used up for ever", setup: api(trees, 0, hubtest.Status(403, "X-Ratelimit-Remaining", "0", "X-Ratelimit-Reset", "33000000000")), want: away, say: "It resets in 24h0m1s", wait: 24*time.Hour + time.Second},
		{name: "the hour is used up until nobody knows when", setup: api(trees, 0, hubtest.Status(403, "X-Ratelimit-Remaining", "0", "X-Ratelimit-Reset", "soon")), want: away, say: "requests an hour", wait: time.Minute},
		{name: "429 with nothing", setup: api(trees, 0, hubtest.Status(429)), want: away, say: "bursts", wait: time.Minute},
		{name: "429 with a short wait, once", setup: api(trees, 1, hubtest.Status(429, "Retry-After", "2"))},
		{name: "500 once", setup: api(commits, 1, hubtest.Status(500))},
		{name: "500 always", setup: api(commits, 0, hubtest.Status(500)), want: away, say: "cannot be reached"},
		{name: "502, an HTML page", setup: api(trees, 0, hubtest.Page(502)), want: away, say: "cannot be reached"},
		{name: "200, an HTML page", setup: api(trees, 0, hubtest.Page(200)), want: away, say: "instead of JSON"},
		{name: "HTML for a commit", setup: api(commits, 0, hubtest.Page(200)), want: away, say: "of no use"},
		{name: "another commit than was asked for", rev: strings.Repeat("a", 40), setup: api(commits, 0, hubtest.Text("application/vnd.github.sha", strings.Repeat("b", 40))), want: away, say: "names no commit"},
		{name: "wrong type", setup: api(trees, 0, hubtest.WrongType("text/plain")), want: away, say: "instead of JSON"},
		{name: "an unknown mode", setup: api(trees, 0, hubtest.Changed(func(b string) string { return strings.Replace(b, "100755", "100123", 1) })), want: protocol.ErrSourceRefused, say: "100123"},
		{name: "a name that is not UTF-8", setup: api(trees, 0, hubtest.Changed(func(b string) string { return strings.Replace(b, "run.sh", "r\uFFFDn.sh", 1) })), want: protocol.ErrSourceRefused, say: "cannot be read"},
		{name: "cut once", setup: api(trees, 1, hubtest.Cut(30))},
		{name: "cut always", setup: api(trees, 0, hubtest.Cut(30)), want: away, say: "breaks off"},
		{name: "stalls", setup: api(trees, 0, hubtest.Stall(30)), timeout: 50 * time.Millisecond, want: away, say: "took longer than"},
		{name: "breaks once", setup: api(trees, 1, hubtest.Reset())},
		{name: "nobody there", setup: func(g *hubtest.GitHub) { g.Down(true) }, want: away, say: "cannot be reached"},
		{name: "a loop", setup: api(trees, 0, hubtest.Loop()), want: away},
		{name: "tarball is cut once", setup: ball(1, hubtest.Cut(100))},
		{name: "tarball is cut always", setup: ball(0, hubtest.Cut(100)), want: away, say: "breaks off"},
		{name: "tarball is a page", setup: ball(0, hubtest.Page(200)), want: away, say: "cannot be unpacked"},
		{name: "tarball is missing", setup: ball(0, hubtest.Status(404)), want: invalid, say: "not public"},
		{name: "tarball of another commit", setup: func(g *hubtest.GitHub) { g.WrongComment = true }, want: away, say: "another commit"},
		{
			name: "raw host refuses", setup: func(g *hubtest.GitHub) { g.Raw.Fail("GET /", 0, hubtest.Status(429)) },
			files: []hubtest.File{{Path: "a", Text: "x", ExportIgnore: true}}, want: away, say: "bursts", wait: time.Minute,
		},
		{name: "too many left out", files: leftOut(61), want: invalid, say: "export-ignore"},
		{name: "Git LFS", files: []hubtest.File{{Path: "data.bin", Text: "x", LFS: true}}, want: invalid, say: `"data.bin" is in Git LFS`},
		{name: "ten times more files than may be", files: []hubtest.File{{Path: "a"}}, setup: api(trees, 0, hubtest.Changed(tenfold)), want: invalid, say: "more than 20000 files"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			fake := hubtest.NewGitHub(t)
			if tc.files == nil {
				tc.files = sample()
			}
			fake.Repository("ada/tasks").Commit(tc.files, "main")
			if tc.setup != nil {
				tc.setup(fake)
			}
			s := source("main", "")
			if tc.repo != "" {
				s.RepoID = tc.repo
			}
			if tc.rev != "" {
				s.Revision = tc.rev
			}
			o := options(t, fake)
			o.Token, o.Timeout = tc.token, tc.timeout
			snapshot, err := github.New(o, newCache(t, t.TempDir())).Open(t.Context(), s)
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
			if tc.token != "" && strings.Contains(err.Error(), tc.token) {
				t.Errorf("the error holds the token: %v", err)
			}
		})
	}
}

// leftOut is n files that tarballs leave out.
func leftOut(n int) []hubtest.File {
	var files []hubtest.File
	for i := range n {
		files = append(files, hubtest.File{Path: fmt.Sprintf("f%d", i), Text: fmt.Sprint(i), ExportIgnore: true})
	}
	return files
}

// tenfold makes a listing of 200,001 files out of one.
func tenfold(string) string {
	var b strings.Builder
	b.WriteString(`{"sha":"x","truncated":false,"tree":[`)
	for i := range 200_001 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"path":"f%d","mode":"100644","sha":"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391","size":0}`, i)
	}
	b.WriteString("]}")
	return b.String()
}
