package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol/api"
)

// canary is the token of every test here. It must appear nowhere but in an
// Authorization header.
const canary = "arena_canary0123456789canary0123456789canary01"

// fakeArena answers from a script. Each request takes the next answer of its
// method and path; the last one is repeated. What the script does not mention is
// a 404 problem.
type fakeArena struct {
	*httptest.Server
	mu      sync.Mutex
	answers map[string][]fakeAnswer
	asked   []string // METHOD URI, "signed" when the canary was sent, and the body
}

type fakeAnswer struct {
	status int
	header http.Header
	body   string
}

// newFakeArena starts a fake arena with a script as parseAnswers reads it.
func newFakeArena(t testing.TB, script string) *fakeArena {
	t.Helper()
	answers, err := parseAnswers(script)
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeArena{answers: answers}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

// parseAnswers reads a script: a line ">>> METHOD PATH STATUS Header=Value …"
// for each answer, and its body below.
func parseAnswers(script string) (map[string][]fakeAnswer, error) {
	all := map[string][]fakeAnswer{}
	key := ""
	var body strings.Builder
	var a fakeAnswer
	flush := func() {
		if key != "" {
			a.body = body.String()
			all[key] = append(all[key], a)
		}
		body.Reset()
	}
	lines := bufio.NewScanner(strings.NewReader(script))
	for lines.Scan() {
		head, ok := strings.CutPrefix(lines.Text(), ">>> ")
		if !ok {
			body.WriteString(lines.Text() + "\n")
			continue
		}
		flush()
		words := strings.Fields(head)
		if len(words) < 3 {
			return nil, fmt.Errorf("%q is not METHOD PATH STATUS", head)
		}
		status, err := strconv.Atoi(words[2])
		if err != nil {
			return nil, err
		}
		key, a = words[0]+" "+words[1], fakeAnswer{status: status, header: http.Header{}}
		for _, w := range words[3:] {
			name, value, _ := strings.Cut(w, "=")
			a.header.Set(name, value)
		}
	}
	flush()
	return all, lines.Err()
}

func (f *fakeArena) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	key := r.Method + " " + r.URL.Path
	note := r.Method + " " + r.RequestURI
	if r.Header.Get("Authorization") == "Bearer "+canary {
		note += " signed"
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		note += fmt.Sprintf(" upload of %d bytes", len(body))
	} else if len(body) > 0 {
		note += " " + string(body)
	}
	f.mu.Lock()
	f.asked = append(f.asked, note)
	a := fakeAnswer{404, http.Header{}, `{"type":"about:blank","title":"Not Found","status":404,"detail":"There is nothing at this address.","code":"not-found","request_id":"req-1","retryable":false}`}
	if queue := f.answers[key]; len(queue) > 0 {
		a = queue[0]
		if len(queue) > 1 {
			f.answers[key] = queue[1:]
		}
	}
	f.mu.Unlock()
	kind := api.ContentJSON
	if a.status >= 400 {
		kind = api.ProblemType
	}
	w.Header().Set("Content-Type", kind)
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body)
}

// requests are the requests so far, one a line.
func (f *fakeArena) requests() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.asked) == 0 {
		return ""
	}
	return strings.Join(f.asked, "\n") + "\n"
}

var pathParam = regexp.MustCompile(`\{\w+\}`)

// everyRoute is a script in which each route answers with the zero value of its
// type; parameters in paths are "x", numbers "1".
func everyRoute(t testing.TB) string {
	t.Helper()
	var script strings.Builder
	for _, r := range api.Routes() {
		body := []byte("{}")
		if r.Answer != nil {
			v := reflect.New(reflect.TypeOf(r.Answer)).Interface()
			fill(v)
			raw, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			body = raw
		}
		fmt.Fprintf(&script, ">>> %s %s 200\n%s\n", r.Method, pathParam.ReplaceAllString(strings.ReplaceAll(r.Path, "{n}", "1"), "x"), body)
	}
	return script.String()
}

// fill makes zero answers say yes, so that the verbs succeed.
func fill(v any) {
	switch a := v.(type) {
	case *api.Version:
		a.Version, a.Commit = build().Version, build().Commit
	case *api.Challenges:
		a.Challenges = []api.Challenge{{ID: "x"}}
	case *api.Validation:
		a.Valid = true
	case *api.Preflight:
		a.Allowed = true
	case *api.Run:
		a.State = "scored"
	}
}

// outcome is what a command line left behind.
type outcome struct {
	code           int
	stdout, stderr string
	slept          []time.Duration
}

// testEnviron is an environ without a process: variables, a home directory and
// nothing else. It does not really wait.
func testEnviron(t testing.TB, url string, vars map[string]string) (*environ, *outcome, *bytes.Buffer, *bytes.Buffer) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	out := &outcome{}
	home := t.TempDir()
	now := time.Date(2026, 8, 1, 10, 0, 0, 0, time.UTC)
	return &environ{
		Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
		Getenv: func(name string) string {
			if v, ok := vars[name]; ok {
				return v
			}
			return map[string]string{"ARENA_URL": url, "ARENA_TOKEN": canary}[name]
		},
		HomeDir: func() (string, error) { return home, nil },
		Now:     func() time.Time { return now },
		Sleep: func(ctx context.Context, d time.Duration) error {
			out.slept = append(out.slept, d)
			now = now.Add(d)
			return ctx.Err()
		},
		Jitter:    func(d time.Duration) time.Duration { return d },
		Transport: http.DefaultTransport,
	}, out, &stdout, &stderr
}

// invoke runs a command line against an address.
func invoke(t testing.TB, url string, args ...string) outcome {
	t.Helper()
	env, out, stdout, stderr := testEnviron(t, url, nil)
	out.code = run(t.Context(), args, env)
	out.stdout, out.stderr = stdout.String(), stderr.String()
	return *out
}

// file writes a file for a --file flag and returns its name.
func file(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// golden compares text with a file under testdata, or writes it when
// ARENA_UPDATE is set.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("ARENA_UPDATE") != "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run with ARENA_UPDATE=1 and look at the change.\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}
