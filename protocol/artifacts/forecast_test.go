package artifacts_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/artifacts"
)

func TestForecast(t *testing.T) {
	f := artifacts.NewForecast(map[string]artifacts.Tries{
		"always": {Passed: 2000, Tried: 2000}, "never": {Tried: 2000}, "half": {Passed: 1000, Tried: 2000}, "once": {Tried: 1}, "untried": {},
	}, 8)
	by := map[string]artifacts.TaskForecast{}
	for _, one := range f.Tasks {
		by[one.Task] = one
	}
	// With many attempts the chance is 1 − p^8 − (1 − p)^8 at p = passed ÷ tried.
	if got, want := by["half"].Useful, 1-2*math.Pow(0.5, 8); math.Abs(got-want) > 1e-3 {
		t.Errorf("half: %v, want about %v", got, want)
	}
	if by["always"].Useful > 0.01 || by["never"].Useful > 0.01 {
		t.Errorf("tasks of which all groups are the same: %v, %v", by["always"].Useful, by["never"].Useful)
	}
	// One failure says that a task is harder than the average, not that it is impossible.
	if p := by["once"].P; p <= 0 || p >= by["untried"].P {
		t.Errorf("after one failure p = %v, of an untried task %v", p, by["untried"].P)
	}
	if f.Tasks[0].Task != "half" || math.Abs(f.Useful-f.UsefulTasks/5) > 1e-9 {
		t.Errorf("order %v, useful %v, useful tasks %v", f.Tasks, f.Useful, f.UsefulTasks)
	}
	if empty := artifacts.NewForecast(nil, 8); empty.Useful != 0 {
		t.Errorf("nothing to train on: %+v", empty)
	}
}

// The forecast's chances are chances, and a group of one never carries a gradient.
func TestForecastIsAChance(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		tries := map[string]artifacts.Tries{}
		for i := range rapid.IntRange(0, 12).Draw(r, "tasks") {
			n := rapid.IntRange(0, 40).Draw(r, "tried")
			tries[fmt.Sprint(i)] = artifacts.Tries{Passed: rapid.IntRange(0, n).Draw(r, "passed"), Tried: n}
		}
		group := rapid.IntRange(1, 64).Draw(r, "group")
		f := artifacts.NewForecast(tries, group)
		for _, one := range f.Tasks {
			if one.Useful < -1e-12 || one.Useful > 1 || one.P <= 0 || one.P >= 1 || group == 1 && one.Useful > 1e-12 {
				r.Fatalf("%+v", one)
			}
		}
	})
}

func TestCountTries(t *testing.T) {
	got := artifacts.CountTries([]artifacts.Attempt{
		{Task: "a", Outcome: protocol.OutcomePass},
		{Task: "a", Outcome: protocol.OutcomeTimeout},
		{Task: "a", Outcome: protocol.OutcomeError},
		{Task: "b", Outcome: protocol.OutcomeFail},
		{Outcome: protocol.OutcomePass},
	})
	if d := cmp.Diff(map[string]artifacts.Tries{"a": {Passed: 1, Tried: 2}, "b": {Tried: 1}}, got); d != "" {
		t.Error(d)
	}
}
