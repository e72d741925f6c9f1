package score

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/posttrainarena/arena/protocol"
)

// The sides of an evaluation, as outcomes name them.
const (
	baseline  = "baseline"
	posttrain = "posttrain"
)

// Outcomes holds the outcomes of the sealed tasks: suite → baseline or posttrain →
// task → one outcome a trial. A pipeline that does not know about suites uses "".
type Outcomes = map[string]map[string]map[string][]protocol.Outcome

// Expect is what a run was to measure.
type Expect struct {
	Run    string                 // the run's id
	Suites []protocol.SealedSuite // in the order of the challenge
	Trials int                    // attempts per task and side; 0 means 1
}

// pooled reports whether a run's number is pooled over cells.
func (e Expect) pooled() bool { return len(e.Suites) > 1 || e.Trials > 1 }

// Collect makes a run's score of its outcomes and checks the report against it.
// It returns the cells in the order of suites, task names and trials.
//
// It refuses with an error that is protocol.ErrEvidence and has one FieldError for
// everything that differs: outcomes that do not cover the sealed suites exactly
// once a trial on each side, and claims of the report that do not follow from
// them. No message names a sealed task.
func Collect(expect Expect, report Report, outcomes Outcomes) (protocol.Score, []protocol.Cell, error) {
	expect.Trials = max(1, expect.Trials)
	c := collection{expect: expect, report: report, problems: slices.Clone(report.problems)}
	outcomes = c.assign(outcomes)
	c.coverage(outcomes)
	c.identity()
	if len(c.problems) > 0 {
		return protocol.Score{}, nil, refusal(c.problems)
	}
	cells := c.cells(outcomes)
	score := measure(expect, cells)
	if score.PairedCells == 0 {
		c.problem("outcomes", "Every task has an infrastructure error before or after training, so there is nothing to compare.")
		return protocol.Score{}, nil, refusal(c.problems)
	}
	score.ReportAgrees = c.compare(cells)
	if len(c.problems) > 0 {
		return protocol.Score{}, nil, refusal(c.problems)
	}
	return score, cells, nil
}

// refusal makes one error of everything that differs.
func refusal(problems []protocol.FieldError) error {
	const shown = 5
	var sentences []string
	for _, p := range problems[:min(len(problems), shown)] {
		sentences = append(sentences, p.Message)
	}
	if more := len(problems) - shown; more > 0 {
		sentences = append(sentences, fmt.Sprintf("And %d more.", more))
	}
	return protocol.ErrEvidence.Detailf("The run's evidence does not support a result. %s", strings.Join(sentences, " ")).WithFields(problems...)
}

// collection is one call of Collect.
type collection struct {
	expect   Expect
	report   Report
	problems []protocol.FieldError
}

func (c *collection) problem(field, format string, args ...any) {
	c.problems = append(c.problems, protocol.FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
}

// assign gives outcomes without a suite to the only suite there is.
func (c *collection) assign(o Outcomes) Outcomes {
	unnamed, ok := o[""]
	if !ok || len(o) != 1 {
		return o
	}
	if len(c.expect.Suites) != 1 {
		c.problem("outcomes", "The outcomes do not say which suite a task belongs to, and the challenge has %d.", len(c.expect.Suites))
		return o
	}
	return Outcomes{c.expect.Suites[0].ID: unnamed}
}

// coverage requires every sealed task exactly once a trial on each side.
func (c *collection) coverage(o Outcomes) {
	unknown := len(o)
	for _, s := range c.expect.Suites {
		sides, ok := o[s.ID]
		if !ok {
			c.problem("outcomes."+s.ID, "The suite %s has no outcomes.", s.ID)
			continue
		}
		unknown--
		other := len(sides)
		for _, side := range [...]string{baseline, posttrain} {
			c.side(s, side, sides[side])
			if _, ok := sides[side]; ok {
				other--
			}
		}
		if other > 0 {
			c.problem("outcomes."+s.ID, "The suite %s has outcomes of %d side(s) other than baseline and posttrain.", s.ID, other)
		}
	}
	if unknown > 0 {
		c.problem("outcomes", "The outcomes hold %d suite(s) that the challenge does not have.", unknown)
	}
}

// side checks one side of one suite.
func (c *collection) side(s protocol.SealedSuite, side string, got map[string][]protocol.Outcome) {
	field, when := "outcomes."+s.ID+"."+side, whenOf(side)
	want := s.Evaluated()
	missing, wrongTrials, unknownWords := 0, 0, 0
	for _, task := range want {
		trials, ok := got[task]
		switch {
		case !ok:
			missing++
		case len(trials) != c.expect.Trials:
			wrongTrials++
		}
		for _, outcome := range trials {
			if !outcome.Known() {
				unknownWords++
			}
		}
	}
	if missing > 0 {
		c.problem(field, "%d of the %d sealed tasks of %s have no outcome %s training.", missing, len(want), s.ID, when)
	}
	if extra := len(got) - (len(want) - missing); extra > 0 {
		c.problem(field, "The outcomes %s training hold %d task(s) that are not in the sealed suite %s.", when, extra, s.ID)
	}
	if wrongTrials > 0 {
		c.problem(field, "%d sealed task(s) of %s do not have exactly %d outcome(s) %s training, one a trial.", wrongTrials, s.ID, c.expect.Trials, when)
	}
	if unknownWords > 0 {
		c.problem(field, "%d outcome(s) of %s %s training are none of pass, fail, timeout and error.", unknownWords, s.ID, when)
	}
}

func whenOf(side string) string {
	if side == baseline {
		return "before"
	}
	return "after"
}

// identity requires that the report is about this run and these tasks. Which
// tasks a report lists when there are several suites is not agreed.
func (c *collection) identity() {
	if r := c.report; r.RunName != "" && c.expect.Run != "" && r.RunName != c.expect.Run {
		c.problem("report.run_name", "The report is of another run than %s.", c.expect.Run)
	}
	if c.report.EvalTasks == nil || len(c.expect.Suites) != 1 {
		return
	}
	listed := map[string]int{}
	for _, t := range c.report.EvalTasks {
		listed[t]++
	}
	want := c.expect.Suites[0].Evaluated()
	missing := 0
	for _, t := range want {
		if listed[t] == 0 {
			missing++
		}
		listed[t]--
	}
	extra := 0
	for n := range maps.Values(listed) {
		extra += max(0, n)
	}
	if missing > 0 || extra > 0 {
		c.problem("report.eval_task_ids", "The report's task list leaves out %d of the %d sealed tasks and has %d that are not in the suite.", missing, len(want), extra)
	}
}

// cells pairs the outcomes of each task and trial.
func (c *collection) cells(o Outcomes) []protocol.Cell {
	var cells []protocol.Cell
	for _, s := range c.expect.Suites {
		for _, task := range s.Evaluated() {
			for trial := range c.expect.Trials {
				cells = append(cells, protocol.Cell{
					Suite: s.ID, Task: task, Trial: trial,
					Before: o[s.ID][baseline][task][trial], After: o[s.ID][posttrain][task][trial],
				})
			}
		}
	}
	return cells
}
