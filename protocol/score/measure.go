package score

import (
	"math"

	"github.com/posttrainarena/arena/protocol"
)

// measure makes the score of covered cells, without what the report claims.
func measure(e Expect, cells []protocol.Cell) protocol.Score {
	all, paired := overTasks(cells), overPairs(cells)
	s := protocol.Score{
		BaselinePassRate: rate(all.before), AfterPassRate: rate(all.after), DeltaPP: pp(all.delta), StderrPP: pp(all.stderr),
		PairedDeltaPP: pp(paired.delta), PairedStderrPP: pp(paired.stderr),
		NTasks: len(cells) / e.Trials, Trials: e.Trials,
		PairedCells: paired.n, ExcludedCells: len(cells) - paired.n,
	}
	for _, c := range cells {
		count(&s.Errors.Baseline, &s.Timeouts.Baseline, c.Before)
		count(&s.Errors.Posttrain, &s.Timeouts.Posttrain, c.After)
	}
	if !e.pooled() {
		return s
	}
	s.BaselinePassRate, s.AfterPassRate, s.DeltaPP, s.StderrPP = rate(paired.before), rate(paired.after), pp(paired.delta), pp(paired.stderr)
	s.Suites = map[string]protocol.SuiteScore{}
	for _, suite := range e.Suites {
		own := ofSuite(cells, suite.ID)
		p := overPairs(own)
		s.Suites[suite.ID] = protocol.SuiteScore{
			BaselinePassRate: rate(p.before), AfterPassRate: rate(p.after), DeltaPP: pp(p.delta), StderrPP: pp(p.stderr),
			NTasks: len(own) / e.Trials,
		}
	}
	return s
}

func count(errors, timeouts *int, o protocol.Outcome) {
	switch o {
	case protocol.OutcomeError:
		*errors++
	case protocol.OutcomeTimeout:
		*timeouts++
	}
}

func ofSuite(cells []protocol.Cell, id string) []protocol.Cell {
	var own []protocol.Cell
	for _, c := range cells {
		if c.Suite == id {
			own = append(own, c)
		}
	}
	return own
}

// numbers are unrounded shares: 0.031 is 3.1 percentage points.
type numbers struct {
	before, after, delta, stderr float64
	n                            int // cells that they are over
}

// overTasks counts an errored attempt as not passed and treats the two sides as
// independent samples (PROTOCOL §11).
func overTasks(cells []protocol.Cell) numbers {
	var r numbers
	for _, c := range cells {
		r.n++
		r.before += passed(c.Before)
		r.after += passed(c.After)
	}
	if r.n == 0 {
		return r
	}
	n := float64(r.n)
	r.before, r.after = r.before/n, r.after/n
	r.delta, r.stderr = r.after-r.before, unpaired(r.before, r.after, n)
	return r
}

// unpaired is the standard error of the difference of two pass rates over n tasks
// each: sqrt(b(1−b)/n + a(1−a)/n).
func unpaired(b, a, n float64) float64 { return math.Sqrt(b*(1-b)/n + a*(1-a)/n) }

// overPairs leaves out cells with an infrastructure error on either side and
// takes the mean difference over the others. Its standard error is clustered by
// task, because trials of one task are not independent; with one trial it is that
// of a paired comparison, s/√n. From a single task no spread can be told, so there
// it is that of overTasks.
func overPairs(cells []protocol.Cell) numbers {
	type task struct{ suite, name string }
	var r numbers
	byTask := map[task][2]float64{} // sum of differences, number of cells
	for _, c := range cells {
		if c.Before == protocol.OutcomeError || c.After == protocol.OutcomeError {
			continue
		}
		r.n++
		r.before += passed(c.Before)
		r.after += passed(c.After)
		t := byTask[task{c.Suite, c.Task}]
		byTask[task{c.Suite, c.Task}] = [2]float64{t[0] + passed(c.After) - passed(c.Before), t[1] + 1}
	}
	if r.n == 0 {
		return r
	}
	n := float64(r.n)
	r.before, r.after = r.before/n, r.after/n
	r.delta = r.after - r.before
	clusters := float64(len(byTask))
	if clusters < 2 {
		r.stderr = unpaired(r.before, r.after, n)
		return r
	}
	squares := 0.0
	for _, c := range cells { // in the order of the cells, so that the sum is the same every time
		t, ok := byTask[task{c.Suite, c.Task}]
		if !ok {
			continue
		}
		delete(byTask, task{c.Suite, c.Task})
		off := t[0] - t[1]*r.delta
		squares += off * off
	}
	r.stderr = math.Sqrt(squares*clusters/(clusters-1)) / n
	return r
}

func passed(o protocol.Outcome) float64 {
	if o.Passed() {
		return 1
	}
	return 0
}

// rate rounds a share as results show it, to 6 decimals.
func rate(share float64) float64 { return round(share, 1e6) }

// pp turns a share into percentage points with 4 decimals.
func pp(share float64) float64 { return round(100*share, 1e4) }

func round(x, unit float64) float64 {
	x = math.Round(x*unit) / unit
	if x == 0 {
		return 0 // not −0
	}
	return x
}
