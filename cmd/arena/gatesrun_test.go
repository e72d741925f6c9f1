package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/posttrainarena/arena/gates/controls"
	"github.com/posttrainarena/arena/gates/dynamic"
	"github.com/posttrainarena/arena/protocol/engine"
	"github.com/posttrainarena/arena/protocol/engine/enginetest"
)

// ownTask is a task with known truth: what it is made of, and what the controls must say.
type ownTask struct {
	docker, solve, test string
	agent, verifier     float64 // limits in seconds
	want                dynamic.Decision
	says                string
}

// goodTest grades honestly.
const goodTest = `if [ "$(cat /app/answer 2>/dev/null)" = 42 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt` + "\n"

// ownTasks are the tasks of TestControlsOfOwnTasks.
func ownTasks() map[string]ownTask {
	const solve = "echo 42 > /app/answer\n"
	return map[string]ownTask{
		"good":          {solve: solve, test: goodTest, want: dynamic.Accepted, says: "scored 1 in 2 of 2 runs"},
		"broken-oracle": {solve: "echo 41 > /app/answer\n", test: goodTest, want: dynamic.Rejected, says: "The reference solution failed 2 of 2 runs: run 1 scored 0"},
		"noop-passes":   {solve: solve, test: "echo 1 > /logs/verifier/reward.txt\n", want: dynamic.Rejected, says: "did not score 0 in 2 of 2 runs: run 1 scored 1 without doing anything"},
		// One run in 256 passes, and two must.
		"flaky":         {solve: "test $(($(od -An -N1 -tu1 /dev/urandom))) = 7 && echo 42 > /app/answer\n", test: goodTest, want: dynamic.Rejected, says: "of 2 runs: run"},
		"build-failure": {docker: "RUN echo about to fail; exit 9\n", solve: solve, test: goodTest, want: dynamic.Rejected, says: "The image does not build: run 1 Image build failed"},
		"needs-network": {solve: "ping -c 1 -W 2 192.0.2.1 && echo 42 > /app/answer\n", test: goodTest, want: dynamic.Rejected, says: "failed 2 of 2 runs: run 1 scored 0"},
		"slow-solution": {solve: solve + "sleep 600\n", agent: 1, test: goodTest, want: dynamic.Rejected, says: "run 1 ran into its time limit"},
		"slow-verifier": {solve: solve, test: "sleep 600\n", verifier: 1, want: dynamic.Rejected, says: "could not be graded: verifier timed out after 1s"},
		// The controls alone cannot see it: nobody attacks.
		"agent-writable-verifier": {
			docker: "RUN printf '#!/bin/sh\\ntest \"$(cat /app/answer)\" = 42\\n' > /app/check && chmod 777 /app/check\n",
			solve:  solve, test: "if /app/check; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n", want: dynamic.Accepted, says: "scored 0 in 2 of 2",
		},
	}
}

// writeTasks writes tasks on top of a base image as a collection.
func writeTasks(t *testing.T, dir, base string, all map[string]ownTask) {
	t.Helper()
	for name, o := range all {
		at := filepath.Join(dir, "envs", name)
		agent, verifier := max(o.agent, 0), max(o.verifier, 0)
		if agent == 0 {
			agent = 60
		}
		if verifier == 0 {
			verifier = 60
		}
		front := fmt.Sprintf("---\nschema_version: \"1.3\"\ntask: {name: own/%s}\nagent: {timeout_sec: %g}\nverifier: {timeout_sec: %g}\nsandbox: {network_mode: no-network, memory_mb: 128, cpus: 1, build_timeout_sec: 120}\n---\n## prompt\n\nWrite 42 to /app/answer.\n", name, agent, verifier)
		for file, text := range map[string]string{
			"task.md": front, "environment/Dockerfile": "FROM " + base + "\nWORKDIR /app\n" + o.docker,
			"oracle/solve.sh": "#!/bin/bash\n" + o.solve, "verifier/test.sh": "#!/bin/bash\n" + o.test,
		} {
			file = filepath.Join(at, file)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// gatesRun is the real command on a directory.
func gatesRun(t *testing.T, dir, jobs string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	arena := filepath.Join(t.TempDir(), "arena")
	if err := os.Symlink(self, arena); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(arena, "gates", "run", dir, "--jobs-root", jobs, "--jobs", "2", "--controls-reruns", "2")
	cmd.Env = []string{"DOCKER_HOST=" + os.Getenv("DOCKER_HOST"), "HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	return cmd
}

// leftovers names the containers and images that carry a label.
func leftovers(t *testing.T, e *engine.Engine, label string) []string {
	t.Helper()
	c, err := e.Containers(t.Context(), label)
	if err != nil {
		t.Fatal(err)
	}
	i, err := e.Images(t.Context(), label)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, c := range c {
		all = append(all, fmt.Sprintf("container %s %s %v", c.ID, c.State, c.Labels))
	}
	for _, i := range i {
		all = append(all, fmt.Sprintf("image %s %v", i.ID, i.Labels))
	}
	return all
}

// TestScriptsWithContainers tells the stories that need a container engine. BASE is
// an image to build on.
func TestScriptsWithContainers(t *testing.T) {
	e := enginetest.Open(t)
	testscript.Run(t, scripts("testdata/containers", map[string]string{"BASE": enginetest.Busybox(t, e), "DOCKER_HOST": os.Getenv("DOCKER_HOST")}))
}

// TestControlsOfOwnTasks runs tasks with known truth in real containers. The run
// is killed in the middle, and a second one completes it: the verdicts are as
// labelled, what was finished is not run again, and nothing is left.
func TestControlsOfOwnTasks(t *testing.T) {
	e := enginetest.Open(t)
	base := enginetest.Busybox(t, e)
	dir, jobs := t.TempDir(), filepath.Join(t.TempDir(), "jobs")
	all := ownTasks()
	writeTasks(t, dir, base, all)

	first := gatesRun(t, dir, jobs)
	said, err := first.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	var seen bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 4096)
		for killed := false; ; {
			n, err := said.Read(buf)
			seen.Write(buf[:n])
			if !killed && strings.Count(seen.String(), "\n") >= 12 {
				killed = true
				_ = first.Process.Kill()
			}
			if err != nil {
				return
			}
		}
	}()
	<-done
	if err := first.Wait(); err == nil {
		t.Fatal("the first run was not killed")
	}
	finished, err := filepath.Glob(filepath.Join(jobs, "*", "*", "*", "*", "*", "result.json"))
	if err != nil || len(finished) < 8 {
		t.Fatalf("the killed run finished %d trials, %v:\n%s", len(finished), err, seen.String())
	}

	second := gatesRun(t, dir, jobs)
	var out, notes bytes.Buffer
	second.Stdout, second.Stderr = &out, &notes
	began := time.Now()
	if err := second.Run(); second.ProcessState.ExitCode() != exitError {
		t.Fatalf("the second run: %v\n%s", err, notes.String())
	}
	t.Logf("the second run took %s", time.Since(began).Round(time.Second))
	if n := strings.Count(notes.String(), " kept "); n != len(finished) {
		t.Errorf("%d trials were kept of %d", n, len(finished))
	}
	var got judgement
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Verdicts) != len(all) {
		t.Errorf("%d verdicts", len(got.Verdicts))
	}
	for _, v := range got.Verdicts {
		if want := all[v.Task]; v.Decision != want.want || !strings.Contains(strings.Join(v.Reasons, "\n"), want.says) {
			t.Errorf("%s is %s: %q; want %s, %q", v.Task, v.Decision, v.Reasons, want.want, want.says)
		}
	}
	// Of this directory's runs: other runs may be going on.
	if left := leftovers(t, e, controls.Label+"="+controls.LabelOf(jobs)); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	if t.Failed() {
		t.Log(notes.String())
	}
}
