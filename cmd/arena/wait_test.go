package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func contextWithCancel(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return ctx, cancel
}

// sleepThatCancels is an interrupt that comes while a verb waits.
func sleepThatCancels(cancel context.CancelFunc) func(context.Context, time.Duration) error {
	return func(ctx context.Context, _ time.Duration) error {
		cancel()
		<-ctx.Done()
		return context.Cause(ctx)
	}
}

// put writes a file and the directories above it.
func put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// runIn is a run's JSON in a state.
func runIn(state, stage string) string {
	place := "null"
	if stage != "" {
		place = `"` + stage + `"`
	}
	return `{"run_id":"challenge-1","challenge_id":"tb2-9b","environment_id":"env-1","state":"` + state + `","stage":` + place + `,"since":"2026-08-01T10:00:00Z"}`
}

// looks is a script of what GET of the run answers, one after the other.
func looks(bodies ...string) string {
	var script strings.Builder
	for _, b := range bodies {
		if b == "away" {
			script.WriteString(">>> GET /api/challenges/tb2-9b/runs/challenge-1 502 Content-Type=text/html\npage\n")
			continue
		}
		script.WriteString(">>> GET /api/challenges/tb2-9b/runs/challenge-1 200\n" + b + "\n")
	}
	return script.String()
}

func TestWait(t *testing.T) {
	queued, setup, training, scored, failed := runIn("queued", ""), runIn("running", "setup"), runIn("running", "training"), runIn("scored", "heldout"), runIn("failed", "training")
	s := func(n ...float64) (d []time.Duration) {
		for _, v := range n {
			d = append(d, time.Duration(v*float64(time.Second)))
		}
		return d
	}
	away := make([]string, 84) // 21 looks of four tries each
	for i := range away {
		away[i] = "away"
	}
	for _, c := range []struct {
		name  string
		flag  string
		looks []string
		code  int
		slept []time.Duration
		last  string // what stdout must be
		says  string
	}{
		{"until it scores", "--wait", []string{queued, queued, setup, training, training, training, scored}, 0, s(1, 1.5, 1, 1, 1.5, 2.25), scored, "challenge-1: running, stage training"},
		{"ended already", "--wait", []string{scored}, 0, nil, scored, "Next: arena result collect"},
		{"until it fails", "--wait", []string{training, failed}, 1, s(1), failed, "challenge-1: failed, stage training"},
		{"the time runs out", "--wait=4s", []string{training}, 1, s(1, 1.5, 1.5), training, "The time to wait is over and the run goes on"},
		{"an arena that restarts", "--wait", []string{training, "away", "away", "away", "away", scored}, 0, s(1, 1, 2, 4, 1.5), scored, "The run goes on meanwhile"},
		{"an arena that stays away", "--wait", append([]string{training}, away...), 1, nil, "", "briefly unavailable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := invoke(t, newFakeArena(t, looks(c.looks...)).URL, "runs", "--challenge", "tb2-9b", "--run-id", "challenge-1", c.flag)
			if got.code != c.code {
				t.Errorf("exit %d, want %d\n%s", got.code, c.code, got.stderr)
			}
			if c.last != "" && got.stdout != c.last+"\n" {
				t.Errorf("stdout %s", got.stdout)
			}
			if _, err := oneDocument(got.stdout); err != nil {
				t.Errorf("stdout: %v", err)
			}
			if !strings.Contains(got.stderr, c.says) {
				t.Errorf("does not say %q:\n%s", c.says, got.stderr)
			}
			if c.slept != nil || c.last == scored && len(c.looks) == 1 {
				if diff := cmp.Diff(c.slept, got.slept); diff != "" {
					t.Error("slept:", diff)
				}
			}
		})
	}
}

// TestLaunchAndWait checks that a launch which is waited for leaves one document:
// the run as it was seen last.
func TestLaunchAndWait(t *testing.T) {
	scored := runIn("scored", "heldout")
	script := ">>> POST /api/challenges/tb2-9b/runs 201\n" + runIn("queued", "") + "\n" + looks(runIn("running", "gate"), scored)
	got := invoke(t, newFakeArena(t, script).URL, "run", "--challenge", "tb2-9b", "--id", "env-1", "--execute", "--request-id", "request-0001", "--wait=8h")
	if got.code != 0 || got.stdout != scored+"\n" {
		t.Errorf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	if !strings.Contains(got.stderr, "Run challenge-1 is queued") || !strings.Contains(got.stderr, "challenge-1: running, stage gate") {
		t.Error(got.stderr)
	}
}
