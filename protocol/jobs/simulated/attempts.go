package simulated

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// Endings of a failed attempt that did not time out. Once an attempt fills the
// model's context its reply is cut off, often inside a tool call; training
// attempts have the smaller context (seed 000, ENDINGS).
type endings struct{ cutOff, malformed float64 }

// endingsOf returns the shares of failed attempts with such an ending.
func endingsOf(stage protocol.Stage) endings {
	if stage == protocol.StageTraining {
		return endings{cutOff: 0.6, malformed: 0.1}
	}
	return endings{cutOff: 0.1, malformed: 0.07}
}

// ending is how an attempt's transcript stops (PROTOCOL §10).
type ending int

const (
	finished ending = iota
	cutOff
	malformed
	timedOut
	errored
)

// files makes the uploads of Script.Files.
func (p *player) files(scored bool) map[string][]byte {
	files := map[string][]byte{}
	for i, a := range p.attempts {
		p.write(files, i, a)
	}
	if scored && p.fault != FaultNoReport {
		p.report(files)
	}
	return files
}

// write adds the files of the ith attempt, in the pipeline's layout (seed 000,
// write_attempts; reference/pipeline.md §4.3).
func (p *player) write(files map[string][]byte, i int, a attempt) {
	c := p.stream("attempt", strconv.Itoa(i))
	sum := hash(p.seed, "trial", p.spec.Run, strconv.Itoa(i))
	trial := a.task + "__" + hex.EncodeToString(sum[:4])
	dir := path.Join("jobs/grpo-gate", p.stamp(p.gateBegan()), trial)
	if a.stage == protocol.StageTraining {
		top := fmt.Sprintf("jobs/grpo-train/step-%06d/rank-%02d/rollout-%06d/attempt-%02d", 0, 0, a.rollout, a.number)
		if a.retried {
			files[path.Join(top, "rollout_error.json")] = pretty(map[string]any{
				"attempt": a.number, "error": rolloutError, "error_type": "RuntimeError",
			})
		}
		dir = path.Join(top, "jobs", p.stamp(a.ended-a.took), trial)
	}
	end := a.ending(c)
	files[path.Join(dir, "trajectory/acp_trajectory.jsonl")] = p.transcript(c, a, end)
	if a.note == "" {
		files[path.Join(dir, "verifier/test-stdout.txt")] = testOutput(c, a.passed)
		files[path.Join(dir, "verifier/reward.txt")] = []byte(strconv.Itoa(int(reward(a.passed))))
	}
	files[path.Join(dir, "timing.json")] = timing(c, a)
	files[path.Join(dir, "result.json")] = p.result(c, a, trial)
}

// stamp names a directory by a time of the job's clock, as the bench does.
func (p *player) stamp(offset time.Duration) string {
	return p.start.Add(offset).UTC().Format("2006-01-02__15-04-05")
}

// gateBegan returns the earliest time at which an attempt of the gate can have
// begun.
func (p *player) gateBegan() time.Duration {
	first := p.clock
	for _, a := range p.attempts {
		if a.stage == protocol.StageGate {
			first = min(first, a.ended-a.took)
		}
	}
	return first
}

// ending draws how the attempt's transcript stops.
func (a attempt) ending(c chance) ending {
	shares, draw := endingsOf(a.stage), c.Float64()
	switch {
	case a.note != "":
		return errored
	case a.timedOut:
		return timedOut
	case a.passed:
		return finished
	case draw < shares.cutOff:
		return cutOff
	case draw < shares.cutOff+shares.malformed:
		return malformed
	default:
		return finished
	}
}

// reward is the verifier's number.
func reward(passed bool) float64 {
	if passed {
		return 1
	}
	return 0
}

// timing returns timing.json: seconds by phase.
func timing(c chance, a attempt) []byte {
	setup, agent, run, check := c.within(10, 140), c.within(15, 25), a.took.Seconds(), c.within(2, 12)
	return compact(struct {
		Setup    float64 `json:"environment_setup"`
		Agent    float64 `json:"agent_setup"`
		Run      float64 `json:"agent_execution"`
		Verifier float64 `json:"verifier"`
		Total    float64 `json:"total"`
	}{round(setup, 1), round(agent, 1), round(run, 1), round(check, 1), round(setup+agent+run+check, 1)})
}

// result returns result.json with the fields that seed 000 writes.
func (p *player) result(c chance, a attempt, trial string) []byte {
	var rewards map[string]float64
	var failure *string
	switch note := p.limitNote(); {
	case a.note != "":
		failure = &a.note
	case a.timedOut:
		failure = &note
		fallthrough
	default:
		rewards = map[string]float64{"reward": reward(a.passed)}
	}
	return compact(struct {
		Task    string             `json:"task_name"`
		Rollout string             `json:"rollout_name"`
		Rewards map[string]float64 `json:"rewards"`
		Agent   string             `json:"agent"`
		Tools   int                `json:"n_tool_calls"`
		Usage   map[string]int     `json:"agent_result"`
		Error   *string            `json:"error"`
	}{a.task, trial, rewards, p.recipe.Harness.Agent, a.tools, map[string]int{
		"n_tool_calls":    a.tools,
		"n_input_tokens":  a.tools * c.count(6000, 11_000),
		"n_output_tokens": a.tools * c.count(150, 400),
	}, failure})
}

// testOutput returns the end of what the verifier printed: pytest's list of
// failures and its summary.
func testOutput(c chance, ok bool) []byte {
	tests := []string{"test_result", "test_line_count", "test_nothing_else", "test_second_run", "test_utf8", "test_status"}
	n := c.count(2, len(tests))
	passed := n
	if !ok {
		passed = c.count(0, n-1)
	}
	var out strings.Builder
	var summary []string
	for _, test := range tests[passed:n] {
		fmt.Fprintf(&out, "FAILED ../root::%s - AssertionError: the files in /app/output are not the expected ones\n", test)
	}
	if passed < n {
		summary = append(summary, fmt.Sprintf("%d failed", n-passed))
	}
	if passed > 0 {
		summary = append(summary, fmt.Sprintf("%d passed", passed))
	}
	fmt.Fprintf(&out, "========== %s in 0.04s ==========\n", strings.Join(summary, ", "))
	return []byte(out.String())
}

// compact encodes a file in one line. None of the values can fail to encode.
func compact(v any) []byte {
	data, _ := json.Marshal(v)
	return data
}

// pretty encodes a file for people: two spaces, as the pipeline writes reports.
func pretty(v any) []byte {
	data, _ := json.MarshalIndent(v, "", "  ")
	return append(data, '\n')
}
