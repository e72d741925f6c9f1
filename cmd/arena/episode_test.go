package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol/engine/enginetest"
	"github.com/posttrainarena/arena/protocol/episode/check"
	"github.com/posttrainarena/arena/protocol/episode/episodetest"
)

// The binary, as it is released, serves a fixture task of each type, and the verb
// finds that it keeps every rule of the seed.
func TestEpisodeCheckOfFixtureImages(t *testing.T) {
	e := enginetest.Open(t)
	binary := filepath.Join(t.TempDir(), "arena")
	build := exec.Command("go", "build", "-trimpath", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build arena: %v\n%s", err, out)
	}
	base := episodetest.Base(t, e, binary)
	for task, checks := range map[*episodetest.Task]int{
		new(episodetest.OpenSource()): 12 + 1, // and a probe of the task's own
		new(episodetest.Terminal()):   17 + 1,
	} {
		t.Run(task.Instance.DatasetType, func(t *testing.T) {
			dir := t.TempDir()
			solution, probes, output := filepath.Join(dir, "solution.py"), filepath.Join(dir, "probes.toml"), filepath.Join(dir, "out", "report.json")
			writeText(t, solution, task.Solution)
			writeText(t, probes, "[tasks."+task.Instance.TaskID+"]\nmodule = \""+task.Module+"\"\n"+
				"[[tasks."+task.Instance.TaskID+".probe]]\nlabel = \"nothing_but_a_file_is_zero\"\ncommand = \"echo 1 > reward.txt\"\nreward = 0\n")
			if task.Module == "" {
				writeText(t, probes, strings.Replace(readText(t, probes), "module = \"\"\n", "", 1))
			}
			var stdout, stderr bytes.Buffer
			env := &environ{
				Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Getenv: os.Getenv, Environ: os.Environ,
				Now: time.Now, Sleep: sleep, Jitter: jitter, Transport: http.DefaultTransport,
			}
			code := run(t.Context(), []string{
				"episode", "check", task.Image(t, e, base), task.Instance.TaskID, "--dataset-type", task.Instance.DatasetType,
				"--solution", solution, "--probes", probes, "--output", output,
			}, env)
			var r check.Report
			if err := json.Unmarshal([]byte(readText(t, output)), &r); err != nil {
				t.Fatal(err)
			}
			if code != exitOK || !r.Passed || len(r.Checks) != checks || len(r.Skipped) != 0 {
				t.Fatalf("exit %d, %d checks of %d\n%s\n%s\n%s", code, len(r.Checks), checks, stdout.String(), stderr.String(), r.ContainerLogs)
			}
			if !slices.Contains(r.Checks, "nothing_but_a_file_is_zero") || r.PeakWritableBytes <= 0 || !strings.Contains(r.ContainerLogs, "prepared") {
				t.Errorf("checks %q, %d writable bytes, log %q", r.Checks, r.PeakWritableBytes, r.ContainerLogs)
			}
			if r.ReadySeconds > 100 || len(r.Timings) < 10 || len(r.Schema) == 0 || !strings.Contains(r.Validation, `"passed_count": 6`) {
				t.Errorf("ready after %g s, %d timings, schema %s, validation %s", r.ReadySeconds, len(r.Timings), r.Schema, r.Validation)
			}
			if strings.Contains(stdout.String()+stderr.String(), "Hello") {
				t.Error("the solution stands in the output")
			}
		})
	}
}

func writeText(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func readText(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
