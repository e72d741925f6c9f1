package simulated

import (
	"fmt"
	"slices"
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// evaluation is one bench job: every task is attempted once.
type evaluation struct {
	purpose string // names the draws
	tasks   []string
	passes  func(task string) bool // asked once a task, in order
	note    string                 // on the errored tasks of a faulty evaluation; empty for a healthy one
	keep    bool                   // the attempts are uploaded
	hang    time.Duration          // how long no sandbox answers at first
}

// attempt is one attempt at one task.
type attempt struct {
	stage    protocol.Stage
	task     string
	rollout  int // training only, counted from 0
	number   int // training only, counted from 1
	passed   bool
	timedOut bool
	retried  bool   // training only: it did not count
	note     string // the infrastructure error; empty for none
	tools    int
	took     time.Duration // the agent's part
	ended    time.Duration
}

// outcome returns how the attempt ended.
func (a attempt) outcome() protocol.Outcome {
	switch {
	case a.note != "":
		return protocol.OutcomeError
	case a.timedOut:
		return protocol.OutcomeTimeout
	case a.passed:
		return protocol.OutcomePass
	default:
		return protocol.OutcomeFail
	}
}

// verdict returns the line that reports the attempt, in the form of the older
// bench (reference/pipeline.md §2.5), which the seeds use.
func (a attempt) verdict(limit string) string {
	word, note := "FAIL", a.note
	switch a.outcome() {
	case protocol.OutcomeError:
		word = "ERR"
	case protocol.OutcomePass:
		word = "PASS"
	case protocol.OutcomeTimeout:
		note = limit
	}
	line := fmt.Sprintf("[%s] %s (tools=%d)", word, a.task, a.tools)
	if note != "" {
		line += " (" + note + ")"
	}
	return line
}

// limitNote is what an attempt that hit the time limit says.
func (p *player) limitNote() string {
	return fmt.Sprintf("Agent prompt exceeded wall-clock budget %ds", p.recipe.Harness.AgentTimeoutSecs)
}

// timeoutShare is the share of failures in an evaluation that are timeouts
// (seed 000, evaluate).
const timeoutShare = 0.35

// evaluate plays a bench job: tasks start on free slots of the harness, verdicts
// come in the order of completion. It reports false when the pipeline stops
// because of errored tasks.
func (p *player) evaluate(e evaluation) (map[string]protocol.Outcome, bool) {
	n := len(e.tasks)
	p.say(6*time.Second, "Job: %d tasks, 0 done, %d to run (concurrency=%d)", n, n, p.recipe.Harness.Concurrency)
	began := p.clock

	c := p.stream("times", e.purpose)
	notes := p.errors(e)
	slots := slices.Repeat([]time.Duration{began + e.hang}, p.recipe.Harness.Concurrency)
	outcomes := make(map[string]protocol.Outcome, n)
	lines := make([]Line, 0, n)
	for _, task := range e.tasks {
		a := attempt{stage: protocol.StageGate, task: task, passed: e.passes(task), note: notes[task]}
		p.spend(c, &a)
		slot := slices.Index(slots, slices.Min(slots))
		slots[slot] += a.took + c.seconds(20, 60)
		a.ended = slots[slot]
		outcomes[task] = a.outcome()
		lines = append(lines, Line{a.ended, a.verdict(p.limitNote())})
		if e.keep {
			p.attempts = append(p.attempts, a)
		}
	}
	p.sayAll(lines)
	return outcomes, p.complete(e, outcomes, began)
}

// spend draws how long an attempt of an evaluation takes and how many tools it
// uses. A failure may be a timeout.
func (p *player) spend(c chance, a *attempt) {
	limit := float64(p.recipe.Harness.AgentTimeoutSecs)
	// Every attempt takes the same number of draws, so that an error in one
	// does not change the others.
	timedOut, share, late, tools := c.hits(timeoutShare), c.Float64(), c.within(5, 40), c.count(0, 60)
	switch {
	case a.note != "":
		a.took = span(40+80*share, time.Second)
		return
	case !a.passed && timedOut:
		a.timedOut = true
		a.took = span(limit+late, time.Second)
	default:
		a.took = span(limit*(0.1+0.86*share), time.Second)
	}
	a.tools = tools
}

// errors draws the tasks that end in an infrastructure error, with their notes.
// A healthy evaluation of ten or more tasks has one or two in a quarter of the
// cases and never more than it tolerates; a faulty one has more than that.
func (p *player) errors(e evaluation) map[string]string {
	c := p.stream("errors", e.purpose)
	n := len(e.tasks)
	tolerated := p.tolerated(n)
	k, note := 0, e.note
	switch {
	case note != "":
		k = min(n, tolerated+c.count(1, 2))
	case n >= 10 && tolerated > 0 && c.hits(0.25):
		k = min(tolerated, c.count(1, 2))
		note = c.pick([]string{noteLiteLLM, noteACP})
	}
	notes := make(map[string]string, k)
	for _, i := range c.Perm(n)[:k] {
		notes[e.tasks[i]] = note
	}
	return notes
}

// tolerated is how many errored tasks an evaluation of n tasks survives.
func (p *player) tolerated(n int) int { return protocol.Tolerated(p.recipe.MaxErrorFraction, n) }

// complete prints the end of an evaluation and reports whether the pipeline
// goes on.
func (p *player) complete(e evaluation, outcomes map[string]protocol.Outcome, began time.Duration) bool {
	n, passed, errored := len(e.tasks), count(outcomes, protocol.OutcomePass), count(outcomes, protocol.OutcomeError)
	p.clock += 12 * time.Second
	p.say(0, "Job complete: %d/%d (%.1f%%), errors=%d, idle_timeouts=0, time=%.1fmin",
		passed, n, 100*float64(passed)/float64(max(1, n)), errored, (p.clock - began).Minutes())
	switch tolerated := p.tolerated(n); {
	case errored > tolerated:
		return p.stop("RuntimeError: OpenCode evaluation contains agent or verifier errors (%d > %d tolerated)", errored, tolerated)
	case e.note != "":
		// A suite so small that it tolerates all of its tasks to err.
		return p.stop("RuntimeError: OpenCode evaluation telemetry coverage is incomplete")
	default:
		return true
	}
}
