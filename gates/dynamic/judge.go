package dynamic

import (
	"fmt"
	"slices"
	"strings"
)

// Decision is what a gate, or all of them, say about a task.
type Decision string

// The decisions.
const (
	Accepted     Decision = "accepted"
	Rejected     Decision = "rejected"
	Inconclusive Decision = "inconclusive" // an infrastructure fault or a missing trial: run it again
)

// Outcome is what one gate says about one task. Its counts are of trials.
type Outcome struct {
	Gate     Gate     `json:"gate"`
	Decision Decision `json:"decision"`
	Planned  int      `json:"planned"`
	Passed   int      `json:"passed"` // as the gate wants them; for the band, solved
	Failed   int      `json:"failed"`
	Open     int      `json:"open"` // missing, or lost to infrastructure
	Reason   string   `json:"reason"`
}

// Verdict is the decision on one task.
type Verdict struct {
	Task     string    `json:"task"`
	Decision Decision  `json:"decision"`
	Reasons  []string  `json:"reasons"`        // a sentence for each gate, those that decided first
	PassRate *float64  `json:"band_pass_rate"` // of the valid attempts; nil when there are none
	Gates    []Outcome `json:"gates"`
}

// Judge decides every task of a plan. Trials of other tasks and steps are ignored; of two with the same step the later
// one in the list counts.
func Judge(p Plan, trials []Trial) []Verdict {
	byStep := index(trials)
	out := []Verdict{}
	for _, t := range p.Tasks {
		out = append(out, p.judge(t, byStep))
	}
	return out
}

// step names a step in a plan.
type step struct {
	task string
	gate Gate
	n    int
}

func index(trials []Trial) map[step]Trial {
	m := map[step]Trial{}
	for _, t := range trials {
		m[step{t.Task, t.Gate, t.Number}] = t
	}
	return m
}

// Rest lists the steps to run again for the tasks that the trials do not decide. The harness resumes a step's directory
// and repeats only what errored, so the same commands are run again.
func Rest(p Plan, trials []Trial) []Step {
	byStep := index(trials)
	rest := []Step{}
	for _, t := range p.Tasks {
		v := p.judge(t, byStep)
		if v.Decision != Inconclusive {
			continue
		}
		for _, s := range t.Steps {
			i := slices.IndexFunc(v.Gates, func(o Outcome) bool { return o.Gate == s.Gate })
			if i >= 0 && v.Gates[i].Decision != Inconclusive {
				continue
			}
			if c := p.classify(t, s, byStep); c.state == open || c.state == unbuilt {
				rest = append(rest, s)
			}
		}
	}
	return rest
}

// state is what one trial means for its gate.
type state int

const (
	passed  state = iota
	failed        // the task's own doing
	unbuilt       // the image did not build
	open          // missing or lost: says nothing about the task
)

// class is a trial's state with its reason.
type class struct {
	state  state
	why    string
	silent bool // there is no report of single checks
}

// Categories of errors (reference/pipeline.md §3.4) that are the task's own doing when its reference solution runs.
func ownVerifierFault(category string) bool {
	return slices.Contains([]string{"verifier_failure", "verifier_timeout", "verifier_dep_install"}, category)
}

// BuildFailed begins the error of a trial whose image could not be built, as the arena's own runner writes it.
const BuildFailed = "Image build failed"

// buildFailure reports whether a trial's error says that the image does not build, rather than that a machine failed.
func buildFailure(t Trial) bool {
	if t.Started || t.Reward != nil || t.Error == "" {
		return false
	}
	low := strings.ToLower(t.Error)
	for _, fault := range []string{"no space left", "cannot connect to the docker daemon", "toomanyrequests", "temporary failure", "i/o timeout", "connection refused", "connection reset", "tls handshake"} {
		if strings.Contains(low, fault) {
			return false
		}
	}
	for _, sign := range []string{"image build failed", "failed to solve", "returned a non-zero code", "did not complete successfully", "failed to build", "dockerfile parse error", "failed to compute cache key"} {
		if strings.Contains(low, sign) {
			return true
		}
	}
	return false
}

// brief is the first line of a text that somebody else wrote, without a full stop.
func brief(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if r := []rune(s); len(r) > 160 {
		s = string(r[:160]) + "…"
	}
	return strings.TrimSuffix(strings.TrimSpace(s), ".")
}

// classify says what the trial of a step means for its gate.
func (p Plan) classify(t Planned, s Step, byStep map[step]Trial) class {
	trial, ok := byStep[step{t.Name, s.Gate, s.Number}]
	if !ok {
		return class{state: open, why: "was not run"}
	}
	if why := p.foreign(t, trial); why != "" {
		return class{state: open, why: why}
	}
	if buildFailure(trial) {
		return class{state: unbuilt, why: brief(trial.Error)}
	}
	switch s.Gate {
	case Oracle:
		return solved(trial)
	case Noop:
		return idle(trial)
	default:
		return attempted(trial)
	}
}

// solved judges a run of the reference solution.
func solved(t Trial) class {
	switch {
	case t.TimedOut:
		return class{state: failed, why: "ran into its time limit"}
	case t.RewardProblem != "":
		return class{state: failed, why: "left a reward that does not count: " + brief(t.RewardProblem)}
	case t.Reward != nil && *t.Reward != 1:
		return class{state: failed, why: fmt.Sprintf("scored %v", *t.Reward)}
	case t.Reward != nil && t.Checks.Failed > 0:
		return class{state: failed, why: fmt.Sprintf("scored 1 although %d of its checks failed", t.Checks.Failed)}
	case t.Reward != nil && t.Checks.Source != "" && t.Checks.Passed == 0:
		return class{state: failed, why: "scored 1 without a check that passed"}
	case t.Reward != nil:
		return class{state: passed, silent: t.Checks.Source == ""}
	case ownVerifierFault(t.VerifierProblem):
		return class{state: failed, why: "could not be graded: " + brief(t.VerifierError)}
	default:
		return lost(t)
	}
}

// idle judges a run of the no-op. Only a reward of 0 is a 0: a verifier that breaks on an untouched environment says
// nothing.
func idle(t Trial) class {
	switch {
	case t.RewardProblem != "":
		return class{state: open, why: "left a reward that does not count: " + brief(t.RewardProblem)}
	case t.Reward != nil && *t.Reward < 0:
		return class{state: failed, why: fmt.Sprintf("scored %v, below 0", *t.Reward)}
	case t.Reward != nil && *t.Reward != 0:
		return class{state: failed, why: fmt.Sprintf("scored %v without doing anything", *t.Reward)}
	case t.Reward != nil:
		return class{state: passed}
	default:
		return lost(t)
	}
}

// attempted judges an attempt of the base model. One that runs into its time limit failed, whatever it scored.
func attempted(t Trial) class {
	switch {
	case t.TimedOut:
		return class{state: failed, why: "ran into its time limit"}
	case t.RewardProblem != "":
		return class{state: open, why: "left a reward that does not count: " + brief(t.RewardProblem)}
	case t.Reward != nil && *t.Reward == 1:
		return class{state: passed}
	case t.Reward != nil:
		return class{state: failed, why: fmt.Sprintf("scored %v", *t.Reward)}
	default:
		return lost(t)
	}
}

// lost is a trial that ended without a reward and without saying anything about the task.
func lost(t Trial) class {
	switch {
	case t.Error != "":
		return class{state: open, why: "ended in an error: " + brief(t.Error)}
	case t.VerifierError != "":
		return class{state: open, why: "could not be graded: " + brief(t.VerifierError)}
	default:
		return class{state: open, why: "left no reward"}
	}
}

// tally is the classes of one gate's steps.
type tally struct {
	Outcome
	unbuilt int
	silent  int
	first   map[state]string // the first reason of each state
}

func (p Plan) tally(t Planned, gate Gate, byStep map[step]Trial) tally {
	out := tally{Outcome: Outcome{Gate: gate}, first: map[state]string{}}
	for _, s := range t.Steps {
		if s.Gate != gate {
			continue
		}
		out.Planned++
		c := p.classify(t, s, byStep)
		switch c.state {
		case passed:
			out.Passed++
		case failed:
			out.Failed++
		case unbuilt:
			out.unbuilt++
			out.Open++
		case open:
			out.Open++
		}
		if c.silent {
			out.silent++
		}
		if _, seen := out.first[c.state]; !seen {
			out.first[c.state] = fmt.Sprintf("run %d %s", s.Number, c.why)
		}
	}
	return out
}

func (p Plan) judge(t Planned, byStep map[step]Trial) Verdict {
	oracle, noop, band := p.tally(t, Oracle, byStep), p.tally(t, Noop, byStep), p.tally(t, Band, byStep)
	v := Verdict{Task: t.Name, Gates: []Outcome{build(t, oracle, noop, byStep)}}
	if n := band.Passed + band.Failed; n > 0 {
		rate := float64(band.Passed) / float64(n)
		v.PassRate = &rate
	}
	if v.Gates[0].Decision != Rejected {
		if t.Oracle {
			v.Gates = append(v.Gates, judgeOracle(oracle))
		}
		v.Gates = append(v.Gates, judgeNoop(noop))
		if band.Planned > 0 {
			v.Gates = append(v.Gates, judgeBand(band, t.Oracle))
		}
	}
	for _, d := range []Decision{Rejected, Inconclusive, Accepted} {
		for _, g := range v.Gates {
			if g.Decision == d {
				v.Reasons = append(v.Reasons, g.Reason)
				if v.Decision == "" {
					v.Decision = d
				}
			}
		}
	}
	if v.Decision == Accepted && !t.Oracle && band.Planned == 0 {
		v.Decision = Inconclusive
		v.Reasons = append([]string{"It has no working reference solution, and no attempt of the base model is planned that could show that it can be solved."}, v.Reasons...)
	}
	return v
}

// build judges whether the image builds, from the controls: the harness has no separate command for it.
func build(t Planned, oracle, noop tally, byStep map[step]Trial) Outcome {
	o := Outcome{Gate: Build, Planned: oracle.Planned + noop.Planned, Failed: oracle.unbuilt + noop.unbuilt}
	for _, s := range t.Steps {
		trial, ok := byStep[step{t.Name, s.Gate, s.Number}]
		if ok && s.Gate != Band && (trial.Started || trial.Reward != nil || trial.TimedOut) {
			o.Passed++
		}
	}
	o.Open = max(0, o.Planned-o.Passed-o.Failed)
	switch {
	case o.Passed > 0:
		o.Decision, o.Reason = Accepted, "The image builds and starts."
	case o.Failed == o.Planned && o.Planned > 0:
		o.Decision, o.Reason = Rejected, "The image does not build: "+firstOf(oracle.first[unbuilt], noop.first[unbuilt])+"."
	default:
		o.Decision, o.Reason = Inconclusive, "Whether the image builds is not known: "+firstOf(oracle.first[open], noop.first[open], oracle.first[unbuilt], noop.first[unbuilt], "no control is planned")+"."
	}
	return o
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

func judgeOracle(c tally) Outcome {
	o := c.Outcome
	switch {
	case o.Failed > 0:
		o.Decision = Rejected
		o.Reason = fmt.Sprintf("The reference solution failed %d of %d runs: %s.", o.Failed, o.Planned, c.first[failed])
	case o.Open > 0:
		o.Decision = Inconclusive
		o.Reason = fmt.Sprintf("%d of %d runs of the reference solution are open: %s.", o.Open, o.Planned, firstOf(c.first[open], c.first[unbuilt]))
	default:
		o.Decision = Accepted
		o.Reason = fmt.Sprintf("The reference solution scored 1 in %d of %d runs.", o.Passed, o.Planned)
		if c.silent > 0 {
			o.Reason += fmt.Sprintf(" There is no per-check report for %d of them.", c.silent)
		}
	}
	return o
}

func judgeNoop(c tally) Outcome {
	o := c.Outcome
	switch {
	case o.Failed > 0:
		o.Decision = Rejected
		o.Reason = fmt.Sprintf("The untouched environment did not score 0 in %d of %d runs: %s.", o.Failed, o.Planned, c.first[failed])
	case o.Open > 0:
		o.Decision = Inconclusive
		o.Reason = fmt.Sprintf("%d of %d no-op runs are open: %s.", o.Open, o.Planned, firstOf(c.first[open], c.first[unbuilt]))
	default:
		o.Decision = Accepted
		o.Reason = fmt.Sprintf("The untouched environment scored 0 in %d of %d runs.", o.Passed, o.Planned)
	}
	return o
}

// judgeBand decides as soon as the missing attempts cannot change it: one pass and one failure stay.
func judgeBand(c tally, oracle bool) Outcome {
	o := c.Outcome
	valid := o.Passed + o.Failed
	switch {
	case o.Passed > 0 && o.Failed > 0:
		o.Decision = Accepted
		o.Reason = fmt.Sprintf("The base model solved it in %d of %d attempts.", o.Passed, valid)
	case o.Open > 0:
		o.Decision = Inconclusive
		o.Reason = fmt.Sprintf("%d of %d attempts of the base model are open: %s.", o.Open, o.Planned, firstOf(c.first[open], c.first[unbuilt]))
	case o.Passed == 0 && !oracle:
		o.Decision = Rejected
		o.Reason = fmt.Sprintf("It has no working reference solution, and the base model never solved it in %d attempts: nothing shows that it can be solved.", valid)
	case o.Passed == 0:
		o.Decision = Rejected
		o.Reason = fmt.Sprintf("The base model never solved it in %d attempts: no group of attempts differs, so nothing is learned.", valid)
	default:
		o.Decision = Rejected
		o.Reason = fmt.Sprintf("The base model always solved it in %d attempts: no group of attempts differs, so nothing is learned.", valid)
	}
	return o
}
