package protocol_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/gates/report"

	"github.com/posttrainarena/arena/protocol"
)

// staged is a run whose stages took so many seconds each, in order.
func staged(id string, state protocol.RunState, created time.Time, seconds ...int) protocol.Run {
	r := protocol.Run{ID: id, State: state, CreatedAt: created}
	at := created
	for i, n := range seconds {
		begin, end := at, at.Add(time.Duration(n)*time.Second)
		r.Progress.Stages = append(r.Progress.Stages, protocol.StageProgress{Stage: protocol.Stages()[i], StartedAt: &begin, EndedAt: &end})
		r.Stage, at = protocol.Stages()[i], end
	}
	return r
}

// TestMeasure adds up a handful of runs by hand.
func TestMeasure(t *testing.T) {
	stopped := staged("c", protocol.RunFailed, noon, 30, 5, 700)
	stopped.Reason, stopped.Fault = "LiteLLM proxy failed", protocol.FaultPlatform
	again := staged("d", protocol.RunFailed, noon.Add(time.Hour), 50, 7, 100)
	again.Reason, again.Fault = "LiteLLM proxy failed", protocol.FaultPlatform
	odd := staged("e", protocol.RunFailed, noon.Add(2*time.Hour), 20)
	odd.Reason = strings.Repeat("long ", 100)
	got := protocol.Measure(protocol.MetricsFacts{
		Counts: []protocol.RunCount{
			{State: protocol.RunFailed, Stage: protocol.StageBaseline, Fault: protocol.FaultPlatform, Launched: true, Runs: 2, Settled: 5},
			{State: protocol.RunFailed, Stage: protocol.StageSetup, Launched: true, Runs: 1, Settled: 1},
			{State: protocol.RunFailed, Runs: 4},
			{State: protocol.RunRunning, Stage: protocol.StageBaseline, Launched: true, Runs: 1, Reserved: 160},
			{State: protocol.RunScored, Stage: protocol.StageCollect, Launched: true, Runs: 2, Settled: 20},
		},
		Recent: []protocol.Run{
			staged("a", protocol.RunScored, noon, 10, 1, 600), staged("b", protocol.RunScored, noon, 20, 3, 500), stopped, again, odd,
			staged("f", protocol.RunRunning, noon, 40, 2, 9999),
		},
		Days: []protocol.DaySpend{{Day: "2026-10-19", Runs: 5, Settled: 26}},
		Explain: func(r protocol.Run) (string, string) {
			if strings.HasPrefix(r.Reason, "LiteLLM") {
				return "The proxy did not start.", "Start again."
			}
			return "", ""
		},
	})
	want := protocol.Metrics{
		Runs: 10, NotLaunched: 4, Considered: 6,
		ByState: map[protocol.RunState]int{protocol.RunFailed: 3, protocol.RunRunning: 1, protocol.RunScored: 2},
		ByStage: []protocol.StageCount{
			{Stage: protocol.StageSetup, ByState: map[protocol.RunState]int{protocol.RunFailed: 1}},
			{Stage: protocol.StageBaseline, ByState: map[protocol.RunState]int{protocol.RunFailed: 2, protocol.RunRunning: 1}},
			{Stage: protocol.StageCollect, ByState: map[protocol.RunState]int{protocol.RunScored: 2}},
		},
		Durations: []protocol.StageDuration{
			{Stage: protocol.StageSetup, Runs: 5, MedianSeconds: 30, P90Seconds: 50}, // not that of the run which stopped there
			{Stage: protocol.StageSnapshot, Runs: 5, MedianSeconds: 3, P90Seconds: 7},
			{Stage: protocol.StageBaseline, Runs: 2, MedianSeconds: 500, P90Seconds: 600},
		},
		Failures: []protocol.FailureCause{
			{Cause: "The proxy did not start.", Advice: "Start again.", Stage: protocol.StageBaseline, Fault: protocol.FaultPlatform, PlatformFault: true, Runs: 2, LastRun: "d", LastAt: again.CreatedAt},
			{Cause: odd.Reason[:160] + "…", Stage: protocol.StageSetup, Runs: 1, LastRun: "e", LastAt: odd.CreatedAt},
		},
		PassRates: []protocol.ScorePoint{},
		Spend: protocol.Spend{
			Settled: 26, Reserved: 160,
			ByOutcome: []protocol.OutcomeSpend{
				{State: protocol.RunFailed, Runs: 1, Settled: 1},
				{State: protocol.RunFailed, Fault: protocol.FaultPlatform, Runs: 2, Settled: 5},
				{State: protocol.RunScored, Runs: 2, Settled: 20},
			},
			ByDay: []protocol.DaySpend{{Day: "2026-10-19", Runs: 5, Settled: 26}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// TestMeasureLosesNothing: whatever the groups, every run and every micro-dollar
// is counted once.
func TestMeasureLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var counts []protocol.RunCount
		runs, settled := 0, protocol.Micros(0)
		for range rapid.IntRange(0, 20).Draw(t, "groups") {
			c := protocol.RunCount{
				State: rapid.SampledFrom(protocol.RunStates()).Draw(t, "state"), Stage: rapid.SampledFrom(append(protocol.Stages(), "")).Draw(t, "stage"),
				Fault:    rapid.SampledFrom([]protocol.FaultClass{protocol.FaultNone, protocol.FaultPlatform}).Draw(t, "fault"),
				Launched: rapid.Bool().Draw(t, "launched"), Runs: rapid.IntRange(1, 9).Draw(t, "runs"),
			}
			if c.State.Ended() {
				c.Settled = protocol.Micros(rapid.IntRange(0, 1000).Draw(t, "settled"))
			}
			runs, settled = runs+c.Runs, settled+c.Settled
			counts = append(counts, c)
		}
		m := protocol.Measure(protocol.MetricsFacts{Counts: counts})
		states, stages, outcomes := m.NotLaunched, m.NotLaunched, 0
		for _, n := range m.ByState {
			states += n
		}
		for _, s := range m.ByStage {
			for _, n := range s.ByState {
				stages += n
			}
		}
		for _, o := range m.Spend.ByOutcome {
			outcomes += o.Runs
		}
		if m.Runs != runs || states != runs || stages != runs || m.Spend.Settled != settled || outcomes > runs {
			t.Fatalf("%d runs for $%s became %+v", runs, settled, m)
		}
	})
}

// TestPostTrain shows the command block of each kind of source.
func TestPostTrain(t *testing.T) {
	collection := func(kind protocol.RepoType, tasks, withoutOracle int) protocol.Collection {
		c := protocol.Collection{
			ID: "env-0123456789ab", TaskCount: tasks,
			Source: protocol.Source{RepoType: kind, RepoID: "two-oaks/Night Logs", Revision: strings.Repeat("a", 40)},
		}
		c.Static.TaskIdentity = identities(tasks)
		for i := range withoutOracle {
			c.Static.Findings = append(c.Static.Findings, finding("no-oracle", fmt.Sprintf("task-%02d", i)))
		}
		return c
	}
	for _, c := range []struct {
		name       string
		collection protocol.Collection
		first      []string // commands of the first step
		held       int
		root       bool
		noOracle   int
		steps      int
	}{
		{"a dataset", collection(protocol.RepoDataset, 9, 2), []string{"hf download two-oaks/Night Logs --repo-type dataset --revision " + strings.Repeat("a", 40) + " --local-dir night-logs"}, 2, false, 2, 6},
		{"a repository", collection(protocol.RepoGitHub, 4, 0), []string{"git clone https://github.com/two-oaks/Night Logs night-logs", "git -C night-logs checkout " + strings.Repeat("a", 40)}, 1, false, 0, 6},
		{"a bundle", collection(protocol.RepoBundle, 3, 0), []string{}, 0, false, 0, 3},
		{"no reference solution at all", collection(protocol.RepoDataset, 5, 5), []string{"hf download two-oaks/Night Logs --repo-type dataset --revision " + strings.Repeat("a", 40) + " --local-dir night-logs"}, 1, true, 5, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := protocol.PostTrain(c.collection)
			if diff := cmp.Diff(c.first, b.Steps[0].Commands); diff != "" {
				t.Errorf("fetch (-want +got):\n%s", diff)
			}
			if len(b.HeldOut) != c.held || b.Root != c.root || len(b.Steps) != c.steps || protocol.NoOracle(c.collection) != c.noOracle {
				t.Errorf("%d held out, root %v, %d steps, %d without oracle", len(b.HeldOut), b.Root, len(b.Steps), protocol.NoOracle(c.collection))
			}
			evaluate := b.Steps[2].Commands[0]
			if want := "posttrain eval MODEL --bench env:night-logs"; !strings.HasPrefix(evaluate, want) || strings.HasSuffix(evaluate, "sandbox_user=root") != c.root {
				t.Errorf("evaluate: %s", evaluate)
			}
		})
	}
}

// identities are those of n tasks, task-00 and on.
func identities(n int) map[string]report.Identity {
	all := map[string]report.Identity{}
	for i := range n {
		all[fmt.Sprintf("task-%02d", i)] = report.Identity{}
	}
	return all
}

func finding(code, task string) report.Finding {
	return report.Finding{Code: code, Severity: report.Controls, Task: task}
}
