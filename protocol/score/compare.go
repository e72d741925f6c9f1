package score

import (
	"fmt"
	"math"

	"github.com/posttrainarena/arena/protocol"
)

// How a report can agree with the recomputed numbers.
const (
	AllTasks      = "all-tasks"      // passes ÷ tasks, as the arena counts
	WithoutErrors = "without-errors" // passes ÷ (tasks − errored tasks), as older pipelines count
	ScoreV2       = "score_v2"       // cell by cell, for several suites or trials
)

// The tolerances of a comparison: of shares, and of what score_v2 holds.
const (
	shareTolerance = 1e-9
	v2Tolerance    = 1e-6
)

// compare checks every number that the report claims and returns how it agrees.
func (c *collection) compare(cells []protocol.Cell) string {
	if c.report.V2 != nil {
		c.compareV2(cells)
	}
	if c.expect.pooled() && c.report.V2 != nil {
		return ScoreV2 // what the older members cover then is not agreed
	}
	before, after := sideOf(cells, func(x protocol.Cell) protocol.Outcome { return x.Before }), sideOf(cells, func(x protocol.Cell) protocol.Outcome { return x.After })
	claims := [...]struct {
		name  string
		value *float64
	}{{"baseline_score", c.report.Baseline}, {"score_after_posttrain", c.report.After}, {"delta_score", c.report.Delta}}
	for _, claim := range claims {
		if claim.value == nil {
			c.problem("report."+claim.name, "The report has no %s.", claim.name)
		}
	}
	if len(c.problems) > 0 {
		return ""
	}
	all := [...]float64{before.overAll(), after.overAll(), after.overAll() - before.overAll()}
	healthy := [...]float64{before.withoutErrors(), after.withoutErrors(), after.withoutErrors() - before.withoutErrors()}
	agreesAll, agreesHealthy := true, true
	for i, claim := range claims {
		agreesAll = agreesAll && near(*claim.value, all[i], shareTolerance)
		agreesHealthy = agreesHealthy && near(*claim.value, healthy[i], shareTolerance)
	}
	switch {
	case agreesAll:
		return AllTasks
	case agreesHealthy:
		return WithoutErrors
	}
	counted := [...]string{before.String(), after.String(), fmt.Sprintf("before %s, after %s", before, after)}
	for i, claim := range claims {
		if !near(*claim.value, all[i], shareTolerance) {
			c.problem("report."+claim.name, "The report says %s = %v; the outcomes give %v over all tasks and %v without the errored ones (%s).",
				claim.name, *claim.value, rate(all[i]), rate(healthy[i]), counted[i])
		}
	}
	return ""
}

// side counts the attempts of one side.
type side struct{ passed, errors, n int }

func sideOf(cells []protocol.Cell, of func(protocol.Cell) protocol.Outcome) side {
	var s side
	for _, c := range cells {
		s.n++
		if o := of(c); o.Passed() {
			s.passed++
		} else if o == protocol.OutcomeError {
			s.errors++
		}
	}
	return s
}

func (s side) overAll() float64 { return float64(s.passed) / float64(s.n) }

// withoutErrors needs an attempt that did not error; Collect has made sure.
func (s side) withoutErrors() float64 { return float64(s.passed) / float64(s.n-s.errors) }

func (s side) String() string {
	return fmt.Sprintf("%d of %d passed, %d errored", s.passed, s.n, s.errors)
}

// compareV2 checks score_v2.
func (c *collection) compareV2(cells []protocol.Cell) {
	v, all := c.report.V2, overPairs(cells)
	c.v2("delta_pp", v.DeltaPP, 100*all.delta, 1e4)
	c.v2("stderr_pp", v.StderrPP, 100*all.stderr, 1e4)
	c.v2("trials", v.Trials, float64(c.expect.Trials), 1)
	c.v2("paired_cells", v.PairedCells, float64(all.n), 1)
	c.v2("excluded_cells", v.ExcludedCells, float64(len(cells)-all.n), 1)
	if v.DeltaPP == nil {
		c.problem("report.score_v2.delta_pp", "The report's score_v2 has no delta_pp.")
	}
	if v.Suites == nil {
		return
	}
	known := 0
	for _, s := range c.expect.Suites {
		claim, ok := v.Suites[s.ID]
		if !ok {
			c.problem("report.score_v2.suites", "The report's score_v2 leaves out the suite %s.", s.ID)
			continue
		}
		known++
		own := ofSuite(cells, s.ID)
		p, at := overPairs(own), "suites."+s.ID+"."
		c.v2(at+"baseline_pass_rate", claim.BaselinePassRate, p.before, 1e6)
		c.v2(at+"after_pass_rate", claim.AfterPassRate, p.after, 1e6)
		c.v2(at+"delta_pp", claim.DeltaPP, 100*p.delta, 1e4)
		c.v2(at+"stderr_pp", claim.StderrPP, 100*p.stderr, 1e4)
		c.v2(at+"n_tasks", claim.NTasks, float64(len(own)/c.expect.Trials), 1)
	}
	if n := len(v.Suites) - known; n > 0 {
		c.problem("report.score_v2.suites", "The report's score_v2 has %d suite(s) that the challenge does not have.", n)
	}
}

// v2 checks one number of score_v2. A number that the report rounded as results
// show it agrees too. One that it leaves out claims nothing.
func (c *collection) v2(name string, claim *float64, want, unit float64) {
	if claim == nil || near(*claim, want, v2Tolerance) || near(*claim, round(want, unit), v2Tolerance) {
		return
	}
	c.problem("report.score_v2."+name, "The report's score_v2 says %s = %v; the outcomes give %v.", name, *claim, round(want, 1e6))
}

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance }
