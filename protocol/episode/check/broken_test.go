package check_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/posttrainarena/arena/protocol/engine"
	"github.com/posttrainarena/arena/protocol/engine/enginetest"
	"github.com/posttrainarena/arena/protocol/episode"
	"github.com/posttrainarena/arena/protocol/episode/check"
	"github.com/posttrainarena/arena/protocol/episode/episodetest"
	"github.com/posttrainarena/arena/protocol/leaktest"
)

// TestMain lets this test binary be the server in an image, sound or broken in
// the way that ARENA_BROKEN names.
func TestMain(m *testing.M) {
	if broken, ok := os.LookupEnv("ARENA_BROKEN"); ok {
		fmt.Fprintln(os.Stderr, serveBroken(broken))
		os.Exit(1)
	}
	os.Exit(leaktest.Run(m))
}

// serveBroken serves the image's task with one rule broken.
func serveBroken(broken string) error {
	ctx, log := context.Background(), slog.New(slog.NewTextHandler(os.Stderr, nil))
	s, err := episode.OpenSandbox(ctx, episode.Home, os.Environ(), log)
	if err != nil {
		return err
	}
	server := episode.NewServer(&saboteur{World: s, broken: broken}, log)
	l, err := net.Listen("tcp", ":8000")
	if err != nil {
		return err
	}
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case broken == "mcp refuses" && r.URL.Path == "/mcp":
			w.WriteHeader(http.StatusBadRequest)
		case broken == "no state in openapi" && r.URL.Path == "/openapi.json":
			fmt.Fprint(w, `{"info":{"version":"1.0.0"},"paths":{"/reset":{},"/step":{}}}`)
		case broken == "sick" && r.URL.Path == "/health":
			w.WriteHeader(http.StatusServiceUnavailable)
		case broken == "terminal answer changes" && r.URL.Path == "/ws":
			relabel(w, r, server)
		default:
			server.ServeHTTP(w, r)
		}
	}))
}

// saboteur is the sandbox with one rule broken. It is root, as the server is.
type saboteur struct {
	episode.World
	broken  string
	resets  int
	repairs int
	solved  bool
}

func (s *saboteur) Reset(ctx context.Context) error {
	s.resets++
	switch {
	case s.broken == "reset keeps edits" && s.resets > 1:
		return s.Quiet()
	case s.broken == "reset keeps the solution" && s.solved:
		return s.Quiet()
	}
	if err := s.World.Reset(ctx); err != nil {
		return err
	}
	switch s.broken {
	case "instance is readable":
		return sh("chmod 755 /opt/arena && chmod 644 /opt/arena/instance.json")
	case "server is writable":
		return sh("chmod 755 /opt/arena && chmod 666 /opt/arena/server.py")
	case "future in history":
		return sh("git config --global safe.directory '*'; git -C /app update-ref refs/heads/future $(GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x git -C /app commit-tree -p HEAD -m future HEAD^{tree})")
	case "tests in sight":
		return os.MkdirAll("/tests", 0o755)
	case "module is protected":
		return sh("chown -R 0:0 /app/src")
	}
	return nil
}

func (s *saboteur) Shell(ctx context.Context, command string) (episode.Result, error) {
	if strings.Contains(command, "ARENA_REPAIR") {
		if s.repairs++; s.broken == "second repair fails" && s.repairs > 1 {
			return episode.Result{ExitCode: 1}, nil
		}
	}
	if s.broken == "agent is root" && strings.Contains(command, "id -u") {
		return episode.Result{ExitCode: 1, Output: "id: 0"}, nil
	}
	return s.World.Shell(ctx, command)
}

func (s *saboteur) Grade(ctx context.Context) (float64, error) {
	switch s.broken {
	case "hooks are ignored":
		if err := sh("sed -i /fsmonitor/d /app/.git/config"); err != nil {
			return 0, err
		}
	case "hooks are root's":
		if err := sh("git -c safe.directory=* -C /app status --porcelain >/dev/null"); err != nil {
			return 0, err
		}
	}
	reward, err := s.World.Grade(ctx)
	s.solved = s.solved || reward == 1
	if s.broken == "tests stay" && reward == 1 {
		return reward, os.MkdirAll("/tests", 0o755)
	}
	return reward, err
}

func sh(command string) error {
	out, err := exec.Command("sh", "-c", "export HOME=/root;"+command).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", command, err, out)
	}
	return nil
}

// relabel stands between the client and the server and counts the terminal
// answers in them.
func relabel(w http.ResponseWriter, r *http.Request, server http.Handler) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return
	}
	defer l.Close()
	go func() { _ = http.Serve(l, server) }()
	ctx := r.Context()
	outer, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer outer.CloseNow()
	inner, _, err := websocket.Dial(ctx, "ws://"+l.Addr().String()+"/ws", nil)
	if err != nil {
		return
	}
	defer inner.CloseNow()
	for n := 0; ; n++ {
		kind, frame, err := outer.Read(ctx)
		if err != nil {
			return
		}
		if inner.Write(ctx, kind, frame) != nil {
			return
		}
		if kind, frame, err = inner.Read(ctx); err != nil {
			return
		}
		frame = bytes.Replace(frame, []byte(`"observation":{`), fmt.Appendf(nil, `"observation":{"seconds":%d,`, n), 1)
		if outer.Write(ctx, kind, frame) != nil {
			return
		}
	}
}

// Each image breaks one rule, and the replay stops at exactly the check of that
// rule.
func TestBrokenImages(t *testing.T) {
	e := enginetest.Open(t)
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	base := episodetest.Base(t, e, binary)
	osc, tb := episodetest.OpenSource, episodetest.Terminal
	tests := []struct {
		broken string // by the server; a name only when spoil does it
		task   func() episodetest.Task
		spoil  func(*episodetest.Task)
		fails  string // "" for a sound image
	}{
		{broken: "nothing, " + episode.OpenSourceCode, task: osc},
		{broken: "nothing, " + episode.TerminalBench, task: tb},

		{broken: "it ends at once", task: osc, fails: check.Health, spoil: func(t *episodetest.Task) { t.Start = []string{"false"} }},
		{broken: "nobody listens", task: osc, fails: check.Health, spoil: func(t *episodetest.Task) { t.Start = []string{"sleep", "600"} }},
		{broken: "sick", task: osc, fails: check.Health},
		{broken: "mcp refuses", task: osc, fails: check.Validation},
		{broken: "no state in openapi", task: tb, fails: check.Validation},
		{broken: "another task", task: osc, fails: check.Identity, spoil: func(t *episodetest.Task) { t.Instance.TaskID = "another" }},
		{broken: "a repository without git", task: osc, fails: check.Identity, spoil: func(t *episodetest.Task) { t.Build = append(t.Build, "rm /usr/bin/git") }},
		{broken: "instance is readable", task: osc, fails: check.Unprivileged},
		{broken: "server is writable", task: tb, fails: check.Unprivileged},
		{broken: "agent is root", task: tb, fails: check.Unprivileged},
		{broken: "future in history", task: osc, fails: check.NoFuture},
		{broken: "a repository in a terminal task", task: tb, fails: check.NoFuture, spoil: func(t *episodetest.Task) { t.Files["lib/.git/config"] = "" }},
		{broken: "tests in sight", task: tb, fails: check.TestsAbsent},
		{broken: "everything passes", task: osc, fails: check.UnsolvedZero, spoil: func(t *episodetest.Task) { t.Test = "exit 0\n" }},
		{broken: "terminal answer changes", task: osc, fails: check.Stable},
		{broken: "reset keeps edits", task: tb, fails: check.ResetRemoves},
		{broken: "hooks are ignored", task: osc, fails: check.HooksUnprivd},
		{broken: "hooks are root's", task: osc, fails: check.HooksUnprivd},
		{broken: "module is protected", task: tb, fails: check.SyntaxApplied},
		{broken: "a crash passes", task: tb, fails: check.SyntaxZero, spoil: func(t *episodetest.Task) {
			t.Test = "sh /app/src/greet.sh you > /tmp/said 2>/dev/null || { echo 1 > /logs/verifier/reward.txt; exit; }\n" + t.Test
		}},
		{broken: "no python3", task: osc, fails: check.RepairApplied, spoil: func(t *episodetest.Task) { t.Build = append(t.Build, "rm /bin/python3") }},
		{broken: "nothing passes", task: tb, fails: check.ReferenceOne, spoil: func(t *episodetest.Task) { t.Test = "echo 0 > /logs/verifier/reward.txt\n" }},
		{broken: "tests stay", task: tb, fails: check.TestsRemoved},
		{broken: "second repair fails", task: tb, fails: check.RepairReapplied},
		{broken: "nothing is guarded", task: tb, fails: check.TamperRejected, spoil: func(t *episodetest.Task) { t.Instance.Guard = []string{} }},
		{broken: "reset keeps the solution", task: osc, fails: check.RestoresUnsolved},
	}
	for _, tt := range tests {
		t.Run(tt.broken, func(t *testing.T) {
			task := tt.task()
			task.Env = map[string]string{"ARENA_BROKEN": fmt.Sprintf("%q", tt.broken)}
			task.Start = []string{"/opt/arena/arena"}
			if tt.spoil != nil {
				tt.spoil(&task)
			}
			o := check.Options{
				Image: task.Image(t, e, base), TaskID: tt.task().Instance.TaskID, DatasetType: task.Instance.DatasetType,
				Solution: []byte(task.Solution), Engine: e, HTTP: new(http.Client), Now: time.Now,
				Probes: check.Probes{task.Instance.TaskID: {Module: task.Module}},
			}
			if tt.fails == check.Health {
				o.Within = 3 * time.Second
			}
			r, err := check.Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			failed := ""
			if r.Failed != nil {
				failed = r.Failed.Check
			}
			if failed != tt.fails || r.Passed != (tt.fails == "") {
				t.Fatalf("failed %q (%+v), want %q\n%s", failed, r.Failed, tt.fails, r.ContainerLogs)
			}
			if slices.Contains(r.Checks, failed) {
				t.Errorf("%s is among those that hold: %q", failed, r.Checks)
			}
			if _, err := json.Marshal(r); err != nil {
				t.Error(err)
			}
			left, err := e.Containers(t.Context(), check.Label+"="+o.TaskID)
			// Another package's test may check an image of the same task.
			left = slices.DeleteFunc(left, func(c engine.Container) bool { return c.Image != o.Image })
			if err != nil || len(left) != 0 {
				t.Errorf("left behind: %+v, %v", left, err)
			}
		})
	}
}
