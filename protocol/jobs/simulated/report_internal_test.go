package simulated

import (
	"math"
	"testing"

	"github.com/posttrainarena/arena/protocol"
)

// trial returns one suite's outcomes in one trial: the first tasks of n pass.
func trial(n, before, after int) Outcomes {
	o := Outcomes{}
	for side, passes := range map[string]int{SideBefore: before, SideAfter: after} {
		outcomes := map[string]protocol.Outcome{}
		for i := range n {
			outcome := protocol.OutcomeFail
			if i < passes {
				outcome = protocol.OutcomePass
			}
			outcomes[string(rune('a'+i))] = outcome
		}
		o.add("vault", side, outcomes)
	}
	return o
}

// TestPoolTheWorkedExample: eight tasks, two and three passes
// (reference/pipeline.md §5.3).
func TestPoolTheWorkedExample(t *testing.T) {
	got := pool(trial(8, 2, 3), 1)
	if got.DeltaPP != 12.5 || math.Abs(got.StderrPP-12.5) > 1e-12 || got.PairedCells != 8 || got.ExcludedCells != 0 {
		t.Errorf("pool: %+v; want Δ 12.5 ± 12.5 over 8 cells", got)
	}
}

func TestPoolClustersTrialsByTask(t *testing.T) {
	once := trial(8, 2, 3)
	twice := trial(8, 2, 3)
	for side, tasks := range trial(8, 2, 3)["vault"] {
		for task, outcomes := range tasks {
			twice.add("vault", side, map[string]protocol.Outcome{task: outcomes[0]})
		}
	}
	a, b := pool(once, 1), pool(twice, 2)
	if math.Abs(a.StderrPP-b.StderrPP) > 1e-12 || b.PairedCells != 16 {
		t.Errorf("a second trial that repeats the first gives %+v after %+v; it adds no knowledge", b, a)
	}
}

func TestPoolLeavesErrorsOut(t *testing.T) {
	o := trial(8, 2, 3)
	o["vault"][SideAfter]["a"][0] = protocol.OutcomeError // passed before
	got := pool(o, 1)
	want := 100 * (2.0/7 - 1.0/7)
	if math.Abs(got.DeltaPP-want) > 1e-12 || got.PairedCells != 7 || got.ExcludedCells != 1 || got.Suites["vault"].NTasks != 8 {
		t.Errorf("pool: %+v; want Δ %v over 7 cells", got, want)
	}
}

func TestPythonNumbers(t *testing.T) {
	for want, x := range map[string]float64{
		"0.0": 0, "-0.5": -0.5, "1e-06": 1e-6, "0.0001": 1e-4, "9.9e-05": 9.9e-5, "100000.0": 100_000,
		"1e+16": 1e16, "123456789.0": 123456789, "nan": math.NaN(), "inf": math.Inf(1), "-inf": math.Inf(-1),
	} {
		if got := pythonFloat(x); got != want {
			t.Errorf("pythonFloat(%v) = %s; want %s", x, got, want)
		}
	}
	got := pythonDict([]entry{{"loss", 0}, {"epoch", 0.5}})
	if want := "{'loss': 0.0, 'epoch': 0.5}"; got != want {
		t.Errorf("pythonDict: %s; want %s", got, want)
	}
}
