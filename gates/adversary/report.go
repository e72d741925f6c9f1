package adversary

import (
	"fmt"
	"slices"
	"strings"
)

// SchemaVersion is the form of a report.
const SchemaVersion = 1

// Result is what one trial came to.
type Result string

// The results.
const (
	Refused  Result = "refused"  // it scored 0, or below
	Through  Result = "through"  // an attack scored
	Unscored Result = "unscored" // the verifier gave no reward: nothing was won, and nothing was decided
	Rejected Result = "rejected" // a mutant did not score as the reference solution does
	Passes   Result = "passes"   // a mutant scored as the reference solution does
	Works    Result = "works"    // the reference solution scored 1
	Broken   Result = "broken"   // the reference solution did not
	Moot     Result = "moot"     // there was nothing to try, or no reason to
	Open     Result = "open"     // not tried, or lost to the engine
)

// Record is what was recorded of one trial.
type Record struct {
	Reward  *float64 // nil when there is none
	Problem string   // why there is none, when the task is to blame
	Lost    string   // why the trial says nothing about the task
}

// Outcome is one trial in a report.
type Outcome struct {
	Name   string   `json:"name"`
	Kind   Kind     `json:"kind"`
	Result Result   `json:"result"`
	Guard  Guard    `json:"guard"`
	What   string   `json:"what"`
	Reward *float64 `json:"reward"`
	Detail string   `json:"detail,omitempty"`
	Why    string   `json:"why,omitempty"`   // of an attack that got through: why it works
	Close  string   `json:"close,omitempty"` // and how to close it
	Line   int      `json:"line,omitempty"`  // of a mutant: of the reference solution
}

// Soundness says how a task's verifier stands.
type Soundness string

// The kinds of soundness, the worst first.
const (
	Unsound   Soundness = "unsound" // an attack got through
	Undecided Soundness = "open"    // something has to be tried again
	Review    Soundness = "review"  // a mutant passes: weak tests, or an equivalent mutant
	Sound     Soundness = "sound"
)

// Task is the report on one task.
type Task struct {
	Task      string    `json:"task"`
	Soundness Soundness `json:"soundness"`
	Says      string    `json:"says"` // the soundness line
	Trials    []Outcome `json:"trials"`
}

// Report is what trying the adversaries on a collection came to. It is no part of the verdicts of the dynamic gates.
type Report struct {
	SchemaVersion int     `json:"schema_version"`
	PlanDigest    string  `json:"plan_digest"` // of the plan whose tasks were tried
	Options       Options `json:"options"`
	Tasks         []Task  `json:"tasks"`
}

// Judge makes the report on one task. records has what was recorded of each trial by its name; one that is not there is
// open.
func Judge(name string, trials []Trial, records map[string]Record) Task {
	t := Task{Task: name, Trials: []Outcome{}}
	idle := false // the verifier rewards doing nothing
	works := true
	for _, trial := range trials {
		o := outcome(trial, records)
		switch {
		case trial.Name == Idle:
			idle = o.Result == Through
		case idle && o.Result != Moot:
			o = Outcome{Name: o.Name, Kind: o.Kind, Guard: o.Guard, What: o.What, Result: Moot, Detail: "doing nothing is enough"}
		case trial.Kind == ReferenceKind:
			works = o.Result == Works || o.Result == Open
		case trial.Kind == MutantKind && !works:
			o.Result, o.Detail = Moot, "the reference solution itself does not score 1"
		}
		t.Trials = append(t.Trials, o)
	}
	t.Soundness, t.Says = t.judge()
	return t
}

func outcome(t Trial, records map[string]Record) Outcome {
	o := Outcome{Name: t.Name, Kind: t.Kind, Guard: t.Guard}
	switch t.Kind {
	case AttackKind:
		o.What = "the agent " + t.Attack.What
	case ReferenceKind:
		o.What = "the reference solution as it is"
	default:
		o.What, o.Line = "the reference solution "+t.Mutant.What, t.Mutant.Line
	}
	r, tried := records[t.Name]
	switch {
	case t.Moot != "":
		o.Result, o.Detail = Moot, t.Moot
		return o
	case !tried:
		o.Result, o.Detail = Open, "it was not tried"
		return o
	case r.Lost != "":
		o.Result, o.Detail = Open, r.Lost
		return o
	}
	o.Reward, o.Detail = r.Reward, r.Problem
	got := 0.0
	if r.Reward != nil {
		got = *r.Reward
	}
	switch {
	case t.Kind == AttackKind && got > 0:
		o.Result, o.Why, o.Close = Through, t.Attack.Why, t.Attack.Close
	case t.Kind == AttackKind && r.Reward == nil:
		o.Result = Unscored
	case t.Kind == AttackKind:
		o.Result = Refused
	case t.Kind == ReferenceKind && got >= 1:
		o.Result = Works
	case t.Kind == ReferenceKind:
		o.Result = Broken
	case got >= 1:
		o.Result = Passes
	default:
		o.Result = Rejected
	}
	return o
}

// judge decides a task and says why.
func (t Task) judge() (Soundness, string) {
	named := func(kind Kind, results ...Result) []Outcome {
		return slices.DeleteFunc(slices.Clone(t.Trials), func(o Outcome) bool { return o.Kind != kind || !slices.Contains(results, o.Result) })
	}
	through, open := named(AttackKind, Through), append(named(AttackKind, Open), append(named(ReferenceKind, Open), named(MutantKind, Open)...)...)
	tried := append(named(AttackKind, Refused, Unscored), through...)
	passes, rejected := named(MutantKind, Passes), named(MutantKind, Rejected)
	var says []string
	for _, o := range through {
		under := ""
		if o.Guard != Guarded {
			under = fmt.Sprintf(" (under a harness with the %s)", o.Guard)
		}
		says = append(says, fmt.Sprintf("%s got through and scored %v%s: %s. Close it: %s", o.Name, *o.Reward, under, o.Why, o.Close))
	}
	if n := len(tried); n > 0 {
		says = append(says, fmt.Sprintf("%d of %s refused.", n-len(through), counted(n, "attack")))
	}
	if n := len(named(AttackKind, Unscored)); n > 0 {
		says = append(says, fmt.Sprintf("%d of them left no reward at all, which a harness may count as an error instead of a failure.", n))
	}
	if n := len(passes) + len(rejected); n > 0 {
		says = append(says, fmt.Sprintf("%d of %s rejected.", len(rejected), counted(n, "mutant")))
	}
	for _, o := range passes {
		at := ""
		if o.Line > 0 {
			at = fmt.Sprintf(" (line %d)", o.Line)
		}
		says = append(says, fmt.Sprintf("%s passes%s, although %s: the tests do not look at it, or it changes nothing that matters.", o.Name, at, o.What))
	}
	if len(through) > 0 && through[0].Name == Idle {
		return Unsound, strings.Join(says[:1], " ")
	}
	for _, o := range append(named(ReferenceKind, Broken, Moot), open...) {
		switch o.Result {
		case Broken:
			says = append(says, "The reference solution itself did not score 1, so its mutants say nothing.")
		default:
			says = append(says, fmt.Sprintf("%s: %s.", o.Name, strings.TrimSuffix(o.Detail, ".")))
		}
	}
	if len(says) == 0 {
		says = append(says, "Nothing was tried.")
	}
	line := strings.Join(says, " ")
	switch {
	case len(through) > 0:
		return Unsound, line
	case len(open) > 0:
		return Undecided, line
	case len(passes) > 0:
		return Review, line
	default:
		return Sound, line
	}
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Lines is the report as text: how many tasks stand how, and the soundness line of each, the worst first.
func (r Report) Lines() []string {
	order := []Soundness{Unsound, Undecided, Review, Sound}
	n := map[Soundness]int{}
	for _, t := range r.Tasks {
		n[t.Soundness]++
	}
	lines := []string{fmt.Sprintf("Soundness: %d unsound, %d open, %d to review, %d sound", n[Unsound], n[Undecided], n[Review], n[Sound])}
	for _, s := range order {
		for _, t := range r.Tasks {
			if t.Soundness == s {
				lines = append(lines, fmt.Sprintf("  %-8s %s: %s", s, t.Task, strings.Join(strings.Fields(t.Says), " ")))
			}
		}
	}
	return lines
}
