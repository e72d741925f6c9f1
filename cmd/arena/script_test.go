package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/posttrainarena/arena/protocol/leaktest"
)

// TestMain lets scripts run this test binary as arena, with the real main.
func TestMain(m *testing.M) {
	testscript.Main(leaks{m}, map[string]func(){"arena": main, "job-image": jobImage})
}

// leaks runs the tests of this package and fails them when they leave something
// open.
type leaks struct{ m *testing.M }

func (l leaks) Run() int { return leaktest.Run(l.m) }

// TestScripts tells the command line's behaviour as stories. Beside the usual
// commands a script has:
//
//	exits CODE COMMAND…   run a command and expect exactly that exit code
//	answers FILE          start a fake arena that answers from the file; see
//	                      parseAnswers. ARENA_URL points to it
//	requests FILE         write what the fake arena was asked to the file
//	elsewhere             start a server that must never be asked; ELSEWHERE
//	                      points to it
//	serve ARG…            start the real arena serve with the arguments.
//	                      ARENA_URL points to it
//	up ARG…               the same for arena up
//	routes                ask that server for every route that everybody may read,
//	                      and expect something from each
//	kill-server           end it without giving it a chance to do anything
//	until TEXT COMMAND…   run a command again and again until it prints the text,
//	                      for a minute
//	keep VAR FILE         keep a file's text, without the last newline, in a variable
//	keep VAR FILE MEMBER  keep a member of the JSON object in a file, such as
//	                      rows[0].rank; FILE may be stdout
//
// Each starts with no token and an empty home directory. CANARY is a token, SAMPLE
// the sample collection.
func TestScripts(t *testing.T) {
	testscript.Run(t, scripts("testdata/script", nil))
}

// scripts are the scripts of a directory, with further variables.
func scripts(dir string, vars map[string]string) testscript.Params {
	return testscript.Params{
		Dir: dir,
		Setup: func(e *testscript.Env) error {
			for name, value := range vars {
				e.Setenv(name, value)
			}
			e.Setenv("HOME", e.WorkDir+"/home")
			e.Setenv("CANARY", canary)
			sample, err := filepath.Abs("../../fixture/collections/sample")
			if err != nil {
				return err
			}
			e.Setenv("SAMPLE", sample)
			e.Setenv("ARENA_URL", "http://127.0.0.1:1")
			e.Values[fakeKey{}] = new(fakeArena)
			e.Values[serverKey{}] = new(latestServer)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":     exits,
			"answers":   scriptedAnswers,
			"requests":  scriptedRequests,
			"elsewhere": elsewhere,
			"serve":     serve,
			"up":        up,
			"routes":    routes,
			"keep":      keep,

			"kill-server": killServer,
			"until":       until,
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	}
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

// serverKey is where a script keeps its latest server.
type serverKey struct{}

type latestServer struct{ *realServer }

// realServer is an arena that a script started.
type realServer struct {
	cmd    *exec.Cmd
	killed bool // on purpose
}

func killServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: kill-server")
	}
	s := ts.Value(serverKey{}).(*latestServer)
	s.killed = true
	ts.Check(s.cmd.Process.Kill())
	// Its locks go with it, and the next command may want them.
	_, err := s.cmd.Process.Wait()
	ts.Check(err)
}

func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until TEXT COMMAND…")
	}
	for range 600 {
		if err := ts.Exec(args[1], args[2:]...); err == nil && strings.Contains(ts.ReadFile("stdout"), args[0]) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	ts.Fatalf("%v does not print %q", args[1:], args[0])
}

func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: serve ARG…")
	}
	launch(ts, "msg=serving url=", "serve", args)
}

func up(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: up ARG…")
	}
	launch(ts, "PostTrain Arena is up at ", "up", args)
}

// launch starts a server and reads what it says until that is where it serves.
func launch(ts *testscript.TestScript, before, verb string, args []string) {
	cmd := exec.Command(filepath.Join(filepath.SplitList(ts.Getenv("PATH"))[0], "arena"), append([]string{verb, "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), []string{"HOME=" + ts.Getenv("HOME")}
	log, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	server := &realServer{cmd: cmd}
	ts.Value(serverKey{}).(*latestServer).realServer = server
	address := make(chan string, 1)
	done := make(chan struct{})
	var said strings.Builder
	go func() {
		defer close(done)
		for lines := bufio.NewScanner(log); lines.Scan(); {
			said.WriteString(lines.Text() + "\n")
			if _, url, ok := strings.Cut(lines.Text(), before); ok {
				address <- strings.Fields(url)[0]
			}
		}
	}()
	ts.Defer(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-done
		if err := cmd.Wait(); err != nil && !server.killed {
			ts.Logf("arena %s ends with %v and said:\n%s", verb, err, said.String())
			ts.Fatalf("arena %s did not end in order", verb)
		}
	})
	select {
	case url := <-address:
		ts.Setenv("ARENA_URL", url)
	case <-done:
		ts.Fatalf("arena %s said:\n%s", verb, said.String())
	}
}

func keep(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: keep VAR FILE [MEMBER]")
	}
	text := strings.TrimSuffix(ts.ReadFile(args[1]), "\n")
	if len(args) == 3 {
		var v any
		ts.Check(json.Unmarshal([]byte(text), &v))
		for _, step := range strings.FieldsFunc(args[2], func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
			switch at := v.(type) {
			case map[string]any:
				v = at[step]
			case []any:
				i, err := strconv.Atoi(step)
				if err != nil || i >= len(at) {
					ts.Fatalf("%s: there is no %s", args[2], step)
				}
				v = at[i]
			}
		}
		text = fmt.Sprint(v)
	}
	ts.Setenv(args[0], text)
}
