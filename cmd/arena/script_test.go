package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets scripts run this test binary as arena, with the real main.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"arena": main})
}

// TestScripts tells the command line's behaviour as stories. Beside the usual
// commands a script has:
//
//	exits CODE COMMAND…   run a command and expect exactly that exit code
//	answers FILE          start a fake arena that answers from the file; see
//	                      parseAnswers. ARENA_URL points to it
//	requests FILE         write what the fake arena was asked to the file
//	elsewhere             start a server that must never be asked; ELSEWHERE
//	                      points to it
//
// Each starts with no token and an empty home directory; CANARY is a token.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir+"/home")
			e.Setenv("CANARY", canary)
			e.Setenv("ARENA_URL", "http://127.0.0.1:1")
			e.Values[fakeKey{}] = new(fakeArena)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":     exits,
			"answers":   scriptedAnswers,
			"requests":  scriptedRequests,
			"elsewhere": elsewhere,
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		got = failed.ExitCode()
	} else if err != nil {
		ts.Fatalf("run %s: %v", args[1], err)
	}
	if got != want {
		ts.Fatalf("%v exits %d, want %d", args[1:], got, want)
	}
}

// fakeKey is where a script keeps its fake arena.
type fakeKey struct{}

func scriptedAnswers(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: answers FILE")
	}
	answers, err := parseAnswers(ts.ReadFile(args[0]))
	ts.Check(err)
	f := ts.Value(fakeKey{}).(*fakeArena)
	f.mu.Lock()
	f.answers, f.asked = answers, nil
	f.mu.Unlock()
	if f.Server == nil {
		f.Server = httptest.NewServer(f)
		ts.Defer(f.Close)
		ts.Setenv("ARENA_URL", f.URL)
	}
}

func scriptedRequests(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: requests FILE")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(ts.Value(fakeKey{}).(*fakeArena).requests()), 0o600))
}

func elsewhere(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: elsewhere")
	}
	asked := make(chan string, 100)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.Method + " " + r.RequestURI }))
	ts.Setenv("ELSEWHERE", srv.URL)
	ts.Defer(func() {
		srv.Close()
		select {
		case what := <-asked:
			ts.Fatalf("the server that must not be asked was asked: %s", what)
		default:
		}
	})
}
