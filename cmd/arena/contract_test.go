package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/posttrainarena/arena/protocol/api"
)

// verbs are the leaves of the grammar.
func verbs(t testing.TB) []*kong.Node {
	t.Helper()
	env, _, _, _ := testEnviron(t, "", nil)
	parser, err := newParser(new(grammar), env, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	return parser.Model.Leaves(false)
}

// callsArena reports whether a verb is a client's.
func callsArena(verb *kong.Node) bool {
	_, ok := verb.Target.Addr().Interface().(interface{ callsArena() })
	return ok
}

// promisesJSON reports whether a verb answers with JSON on standard output. The
// dashboard calls an arena too, and draws.
func promisesJSON(verb *kong.Node) bool {
	v, ok := verb.Target.Addr().Interface().(interface{ speaksJSON() bool })
	return ok && v.speaksJSON()
}

// line is a command line for a verb that fills in what it requires, and one
// optional flag.
func line(t testing.TB, verb *kong.Node, optional *kong.Flag) []string {
	t.Helper()
	words := strings.Fields(strings.TrimPrefix(verb.FullPath(), "arena "))
	for _, arg := range verb.Positional {
		if arg.Required || verb.Name == "challenges" {
			words = append(words, "x")
		}
	}
	given := map[string]bool{}
	give := func(f *kong.Flag) {
		if given[f.Name] {
			return
		}
		given[f.Name] = true
		switch {
		case f.Name == "wait":
			words = append(words, "--wait=1s")
		case f.IsBool():
			words = append(words, "--"+f.Name)
		case f.Name == "file":
			words = append(words, "--file", file(t, "request.json", requestFor(verb)))
		case f.Name == "dir":
			words = append(words, "--dir", "testdata/pack")
		case f.Target.CanInt():
			words = append(words, "--"+f.Name, "1")
		case f.Name == "request-id":
			words = append(words, "--request-id", "request-0001")
		default:
			words = append(words, "--"+f.Name, "x")
		}
	}
	for _, f := range verb.Flags {
		if f.Required {
			give(f)
		}
	}
	if optional != nil {
		give(optional)
	}
	for _, also := range needs(verb, given) {
		for _, f := range verb.Flags {
			if f.Name == also {
				give(f)
			}
		}
	}
	return words
}

// needs lists what a verb cannot do without although the parser would let it.
func needs(verb *kong.Node, given map[string]bool) []string {
	switch {
	case (verb.Name == "validate" || verb.Name == "submit") && !given["file"]:
		return []string{"dir", "challenge"}
	case verb.Name == "runs" && given["wait"]:
		return []string{"run-id", "challenge"}
	case verb.Name == "runs":
		return []string{"challenge"}
	case verb.Name == "run" && (given["wait"] || given["execute"]):
		return []string{"challenge", "id", "execute", "request-id"}
	case verb.Name == "run":
		return []string{"challenge", "id"}
	default:
		return nil
	}
}

// requestFor is a request that the verb's --file accepts.
func requestFor(verb *kong.Node) string {
	switch verb.Name {
	case "validate", "submit":
		return `{"challenge_id":"x","repo_type":"dataset","repo_id":"x/y","revision":"main"}`
	case "run":
		return `{"request_id":"request-0001"}`
	default:
		return `{}`
	}
}

// broken is a standard error that nobody reads.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("nobody reads this") }

// oneDocument returns the single JSON value that stdout must hold.
func oneDocument(stdout string) (any, error) {
	d := json.NewDecoder(strings.NewReader(stdout))
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one value")
	}
	if !strings.HasSuffix(stdout, "\n") {
		return nil, errors.New("the last line has no end")
	}
	return v, nil
}

// arenas are the ways in which an arena can behave towards a verb.
func arenas(t *testing.T) map[string]string {
	t.Helper()
	start := func(h http.HandlerFunc) string {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return s.URL
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	return map[string]string{
		"a bug": start(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", api.ProblemType)
			w.WriteHeader(500)
			_, _ = io.WriteString(w, `{"status":500,"detail":"The arena failed to answer.","code":"internal","request_id":"req-9","retryable":false}`)
		}),
		"a proxy's page": start(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(502)
			_, _ = io.WriteString(w, "<html>bad\ngateway</html>")
		}),
		"a redirect": start(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://elsewhere.example.org/")
			w.WriteHeader(302)
		}),
		"nobody": gone.URL,
	}
}

// TestStdoutIsOneDocument runs every verb that calls an arena under each of its
// flags, with a standard error that fails, against an arena that answers and
// against several that do not. Standard output must always be one JSON document,
// the exit code must fit, and the token must appear nowhere.
func TestStdoutIsOneDocument(t *testing.T) {
	good := newFakeArena(t, everyRoute(t)).URL
	bad := arenas(t)
	for _, verb := range verbs(t) {
		if !callsArena(verb) || !promisesJSON(verb) {
			continue
		}
		t.Run(strings.TrimPrefix(verb.FullPath(), "arena "), func(t *testing.T) {
			flags := append([]*kong.Flag{nil}, verb.Flags...)
			for _, flag := range flags {
				t.Chdir(testdir(t))
				args := line(t, verb, flag)
				checkDocument(t, good, args, exitOK)
			}
			args := line(t, verb, nil)
			if verb.Name == "version" {
				args = append(args, "--server")
			}
			for name, url := range bad {
				t.Log(name)
				checkDocument(t, url, args, exitError)
			}
			checkDocument(t, good, append(args, "--no-such-flag"), exitUsage)
			checkDocument(t, "http://arena.example.org", args, exitUsage)
		})
	}
}

// testdir is a directory with the collection testdata/pack in it.
func testdir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"submission.yaml": "team_name: crane\n", "envs/sort-logs/task.md": "---\n---\n"} {
		put(t, dir+"/testdata/pack/"+name, text)
	}
	return dir
}

func checkDocument(t *testing.T, url string, args []string, code int) {
	t.Helper()
	for _, deaf := range []bool{false, true} {
		if deaf && code != exitOK {
			break // one kind of failure is as silent as the other
		}
		env, _, stdout, stderr := testEnviron(t, url, nil)
		if deaf {
			env.Stderr = broken{}
		}
		if got := run(t.Context(), args, env); got != code {
			t.Errorf("arena %s: exit %d, want %d\n%s%s", strings.Join(args, " "), got, code, stdout, stderr)
		}
		v, err := oneDocument(stdout.String())
		if err != nil {
			t.Errorf("arena %s: stdout is not one document: %v\n%q", strings.Join(args, " "), err, stdout)
		}
		if m, ok := v.(map[string]any); code != exitOK && (!ok || m["code"] == "" || m["detail"] == "") {
			t.Errorf("arena %s: no problem on stdout: %s", strings.Join(args, " "), stdout)
		}
		if strings.Contains(stdout.String()+stderr.String(), "canary") {
			t.Errorf("arena %s: the token is visible:\n%s%s", strings.Join(args, " "), stdout, stderr)
		}
		if code != exitOK && !deaf && !strings.Contains(stderr.String(), "arena: ") {
			t.Errorf("arena %s: says nothing to people: %q", strings.Join(args, " "), stderr)
		}
	}
}

// TestADocumentNobodyTakesIsAFailure checks that an answer which could not be
// written is not success.
func TestADocumentNobodyTakesIsAFailure(t *testing.T) {
	env, _, _, _ := testEnviron(t, newFakeArena(t, everyRoute(t)).URL, nil)
	env.Stdout = broken{}
	if code := run(t.Context(), []string{"budget"}, env); code != exitError {
		t.Errorf("exit %d, want %d", code, exitError)
	}
}

// TestEveryVerbExplainsItself holds the help to one sentence for each verb and
// some words for each flag and argument.
func TestEveryVerbExplainsItself(t *testing.T) {
	env, _, _, _ := testEnviron(t, "", nil)
	parser, err := newParser(new(grammar), env, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	err = kong.Visit(parser.Model, func(n kong.Visitable, next kong.Next) error {
		switch n := n.(type) {
		case *kong.Node:
			if n.Hidden {
				return nil
			}
			if !strings.HasSuffix(n.Help, ".") || strings.Contains(n.Help, ". ") {
				t.Errorf("arena %s: the help is not one sentence: %q", n.Path(), n.Help)
			}
			if n.Leaf() && n.ClosestGroup() == nil {
				t.Errorf("arena %s: is in no group", n.Path())
			}
		case *kong.Flag:
			if n.Help == "" {
				t.Errorf("--%s has no help", n.Name)
			}
		case *kong.Positional:
			if n.Help == "" {
				t.Errorf("%s has no help", n.Name)
			}
		}
		return next(nil)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestInterruptIs130(t *testing.T) {
	env, _, stdout, stderr := testEnviron(t, newFakeArena(t, ">>> GET /api/arena/budget 502 Content-Type=text/html\nx").URL, nil)
	ctx, cancel := contextWithCancel(t)
	env.Sleep = sleepThatCancels(cancel)
	if code := run(ctx, []string{"budget"}, env); code != exitInterrupted {
		t.Errorf("exit %d, want %d", code, exitInterrupted)
	}
	if !bytes.Contains(stdout.Bytes(), []byte(`"code":"interrupted"`)) || !strings.Contains(stderr.String(), "arena: interrupted") {
		t.Errorf("stdout %s\nstderr %s", stdout, stderr)
	}
}
