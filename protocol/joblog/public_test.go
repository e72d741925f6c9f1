package joblog_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/joblog"
)

func TestVisible(t *testing.T) {
	redactor := joblog.NewRedactor([]string{"secret-one", "secret-two"})
	for name, c := range map[string]struct {
		excerpt joblog.Excerpt
		want    []string
	}{
		"a stage of the collection's own": {
			joblog.Excerpt{Stage: protocol.StageGate, Lines: []string{"[PASS] label-jars (tools=3)", "\x1b[31mKeyError: 'jar'\x1b[0m", "copied from Secret_One"}},
			[]string{"[PASS] label-jars (tools=3)", "KeyError: 'jar'", "copied from sealed-01"},
		},
		"a sealed stage": {
			joblog.Excerpt{Stage: protocol.StageBaseline, Lines: []string{
				"Job: 12 tasks, 3 done, 9 to run (concurrency=4)", "Prompt 1/1: count the secret jars", "[PASS] secret-one (tools=3)", "[ERR] secret-two (a note)",
				"2026-03-01T08:15:00Z Job complete: 5/12 (41.7%), errors=1, idle_timeouts=0, time=3.5min", "Traceback (most recent call last):", "TRAINER_EXIT=1",
			}},
			[]string{
				"Job: 12 tasks, 3 done, 9 to run (concurrency=4)", "[3 lines of a sealed stage]",
				"Job complete: 5/12 (41.7%), errors=1, idle_timeouts=0, time=3.5min", "[1 lines of a sealed stage]", "TRAINER_EXIT=1",
			},
		},
		"lines that only begin like the shape of an evaluation": {
			joblog.Excerpt{Stage: protocol.StageHeldout, Lines: []string{
				"Job: 12 tasks, 3 done, 9 to run: secret", "Job complete: 5/12 (41.7%), note=secret", "TRAINER_EXIT=1 secret", "VLLM_FAILED secret", "[posttrainarena] warning: secret",
			}},
			[]string{"[5 lines of a sealed stage]"},
		},
		"markers change the stage, and their commands list tasks": {
			joblog.Excerpt{Stage: protocol.StageBaseline, Lines: []string{
				"the prompt", "[posttrainarena] grpo_gate_eval: bench --include label-jars", "own output", "[posttrainarena] posttrain_eval: bench --include secret-one", "the prompt",
			}},
			[]string{
				"[1 lines of a sealed stage]", "[posttrainarena] grpo_gate_eval: bench --include label-jars", "own output", "[posttrainarena] posttrain_eval", "[1 lines of a sealed stage]",
			},
		},
		"after the held-out stage began, no marker is believed": {
			joblog.Excerpt{Stage: protocol.StageTraining, Sealed: true, Lines: []string{"[posttrainarena] conditional_grpo: x", "the prompt"}},
			[]string{"[posttrainarena] conditional_grpo", "[1 lines of a sealed stage]"},
		},
		"a stage that nobody knows": {
			joblog.Excerpt{Lines: []string{"the prompt"}},
			[]string{"[1 lines of a sealed stage]"},
		},
		"nothing":       {joblog.Excerpt{}, []string{}},
		"a giant line":  {joblog.Excerpt{Stage: protocol.StageSetup, Lines: []string{strings.Repeat("x", 5000)}}, []string{strings.Repeat("x", 997) + "…"}},
		"only controls": {joblog.Excerpt{Stage: protocol.StageSetup, Lines: []string{"\x1b[2J"}}, []string{""}},
	} {
		if diff := cmp.Diff(c.want, c.excerpt.Visible(redactor)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestStageAt(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  protocol.Stage
		ok    bool
	}{
		{[]string{"[posttrainarena] baseline_eval: x", "y", "[posttrainarena] grpo_rollout_000001_000002: z", "[posttrainarena] warning: w"}, protocol.StageTraining, true},
		{[]string{"2026-03-01T08:15:00Z \x1b[1m[posttrainarena] snapshot_eval_tasks: x"}, protocol.StageSnapshot, true},
		{[]string{"[posttrainarena] something_else: x", "say [posttrainarena] baseline_eval: x", "[posttrainarena] baseline_eval"}, "", false},
		{nil, "", false},
	} {
		if got, ok := joblog.StageAt(c.lines); got != c.want || ok != c.ok {
			t.Errorf("%q: %q, %v; want %q, %v", c.lines, got, ok, c.want, c.ok)
		}
	}
}

// TestNothingOfASealedStageIsVisible holds for any lines that are not a marker:
// in a sealed stage no word of them gets through that is not a number or part of
// the fixed forms.
func TestNothingOfASealedStageIsVisible(t *testing.T) {
	redactor := joblog.NewRedactor(nil)
	rapid.Check(t, func(t *rapid.T) {
		e := joblog.Excerpt{Stage: rapid.SampledFrom([]protocol.Stage{protocol.StageBaseline, protocol.StageHeldout, ""}).Draw(t, "stage")}
		part := rapid.SampledFrom([]string{"Job: ", "12 tasks, ", "3 done, 9 to run", "Job complete: ", "5/12 (41.7%)", ", errors=1", "TRAINER_EXIT=", "1", "VLLM_FAILED", "SECRET", " ", "\r", "\x1b[0m"})
		for range rapid.IntRange(0, 8).Draw(t, "lines") {
			e.Lines = append(e.Lines, strings.Join(rapid.SliceOfN(part, 1, 6).Draw(t, "parts"), ""))
		}
		if text := strings.Join(e.Visible(redactor), "\n"); strings.Contains(text, "SECRET") {
			t.Fatalf("%q shows %q", e.Lines, text)
		}
	})
}
