package artifacts

import (
	"slices"
	"strings"

	"github.com/posttrainarena/arena/protocol"
)

// Tries counts the base model's attempts at one task.
type Tries struct {
	Passed int `json:"passed"`
	Tried  int `json:"tried"` // without those that errored
}

// CountTries counts the attempts of a run by task. Attempts that errored, or of
// which nobody knows the task, say nothing about how hard it is.
func CountTries(attempts []Attempt) map[string]Tries {
	tries := map[string]Tries{}
	for _, a := range attempts {
		if a.Outcome == protocol.OutcomeError || a.Task == "" {
			continue
		}
		t := tries[a.Task]
		t.Tried++
		if a.Outcome.Passed() {
			t.Passed++
		}
		tries[a.Task] = t
	}
	return tries
}

// Forecast says how much of a collection can teach the model something. GRPO
// learns from a group of rollouts on one task only when their rewards differ.
type Forecast struct {
	Group    int            `json:"group"`    // rollouts in one group
	Tried    int            `json:"tried"`    // tasks with attempts
	Attempts int            `json:"attempts"` // at them, without those that errored
	Tasks    []TaskForecast `json:"tasks"`    // the most useful first
	// UsefulTasks is the number of useful groups to expect of one group a task.
	UsefulTasks float64 `json:"useful_tasks"`
	// Useful is the chance that a group on a task drawn at random carries a
	// gradient: the expected share of useful groups.
	Useful float64 `json:"useful"`
}

// TaskForecast is the forecast for one task.
type TaskForecast struct {
	Task   string  `json:"task"`
	Passed int     `json:"passed"`
	Tried  int     `json:"tried"`
	P      float64 `json:"p"`      // estimated chance that one attempt passes
	Useful float64 `json:"useful"` // chance that a group carries a gradient
}

// NewForecast estimates, for every task in tries, the chance that a group of
// rollouts has both a pass and a failure: 1 − p^G − (1 − p)^G for a task that one
// attempt passes with chance p (reference/rivals.md M7).
//
// p is not known but estimated from few attempts, often one, so the chance is the
// mean over what p may be: a beta distribution of the attempts and of one more
// imagined attempt that passes as often as the collection's attempts did. With
// many attempts it becomes the formula at p = passed ÷ tried. A task that was
// never tried is like the average.
func NewForecast(tries map[string]Tries, group int) Forecast {
	group = max(1, group)
	passed, tried := 0, 0
	for _, t := range tries {
		passed, tried = passed+t.Passed, tried+t.Tried
	}
	average := (float64(passed) + 0.5) / (float64(tried) + 1)
	f := Forecast{Group: group, Tried: len(tries), Attempts: tried, Tasks: []TaskForecast{}}
	for task, t := range tries {
		alpha, beta := average+float64(t.Passed), 1-average+float64(t.Tried-t.Passed)
		one := TaskForecast{Task: task, Passed: t.Passed, Tried: t.Tried, P: alpha / (alpha + beta)}
		one.Useful = 1 - allSame(alpha, beta, group) - allSame(beta, alpha, group)
		f.Tasks = append(f.Tasks, one)
	}
	slices.SortFunc(f.Tasks, func(a, b TaskForecast) int {
		switch {
		case a.Useful > b.Useful:
			return -1
		case a.Useful < b.Useful:
			return 1
		default:
			return strings.Compare(a.Task, b.Task)
		}
	})
	for _, t := range f.Tasks { // in order, so that the sum is the same every time
		f.UsefulTasks += t.Useful
	}
	if n := len(f.Tasks); n > 0 {
		f.Useful = f.UsefulTasks / float64(n)
	}
	return f
}

// allSame is the mean of p^n for p of a beta distribution:
// Π (α + i) ÷ (α + β + i) for i from 0 to n − 1.
func allSame(alpha, beta float64, n int) float64 {
	product := 1.0
	for i := range n {
		product *= (alpha + float64(i)) / (alpha + beta + float64(i))
	}
	return product
}
