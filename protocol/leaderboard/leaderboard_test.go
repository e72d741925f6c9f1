package leaderboard_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/leaderboard"
)

const challenge = "tb2-9b"

// result makes the accepted result of a run, collected at an hour.
func result(collection, run string, hour int, delta, stderr float64) protocol.Result {
	return protocol.Result{
		Run: run, Challenge: challenge, Collection: collection, Verification: protocol.Valid,
		Score:       protocol.Score{DeltaPP: delta, StderrPP: stderr, NTasks: 32, Trials: 1},
		CollectedAt: time.Date(2026, 3, 1, hour, 0, 0, 0, time.UTC),
	}
}

func with(r protocol.Result, v protocol.Verification) protocol.Result {
	r.Verification = v
	return r
}

// The worked example of reference/pipeline.md §5.3: A has runs 2 and 4, B has 1,
// 1 and 4, so the pooled variance is (2 + 6) ÷ (1 + 2).
func TestPooledVariance(t *testing.T) {
	results := []protocol.Result{
		result("A", "a1", 1, 2, 0.5), result("A", "a2", 2, 4, 0.5),
		result("B", "b1", 3, 1, 0.5), result("B", "b2", 4, 1, 0.5), result("B", "b3", 5, 4, 0.5),
		result("C", "c1", 6, 2.5, 0.5), // no repeats, so it adds nothing to the pool and takes from it
		result("D", "d1", 7, 2, 3),     // its own evaluation error is larger than the pool
	}
	b := leaderboard.Rank(challenge, results, leaderboard.Options{})
	if b.PerRunSDPP == nil || *b.PerRunSDPP != 1.6330 {
		t.Errorf("per_run_sd_pp = %v, want 1.6330", b.PerRunSDPP)
	}
	type line struct {
		rank          int
		id            string
		delta, stderr float64
	}
	var got []line
	for _, r := range b.Rows {
		got = append(got, line{r.Rank, r.Collection, r.DeltaPP, r.StderrPP})
	}
	want := []line{{1, "A", 3, 1.1547}, {2, "C", 2.5, 1.6330}, {3, "B", 2, 0.9428}, {3, "D", 2, 3}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Before any collection has repeats, a single run keeps its own error.
func TestWithoutRepeats(t *testing.T) {
	b := leaderboard.Rank(challenge, []protocol.Result{result("A", "a", 1, 2, 5.25), result("B", "b", 1, 3, 4)}, leaderboard.Options{})
	if b.PerRunSDPP != nil || b.Rows[0].StderrPP != 4 || b.Rows[1].StderrPP != 5.25 {
		t.Errorf("%+v", b)
	}
}

// Means that are equal at 4 decimals share a rank; inside it the smaller error,
// the earlier first result and the id decide the order; the next rank skips.
func TestTies(t *testing.T) {
	b := leaderboard.Rank(challenge, []protocol.Result{
		result("F", "f", 3, 1, 1), result("E", "e", 3, 1, 1), result("D", "d", 2, 1.00001, 1), result("C", "c", 9, 0.99996, 0.5),
		result("Z", "z", 1, 5, 9), result("Y", "y", 1, -1, 1),
	}, leaderboard.Options{})
	var got []string
	for _, r := range b.Rows {
		got = append(got, fmt.Sprint(r.Rank, r.Collection))
	}
	if want := []string{"1Z", "2C", "2D", "2E", "2F", "6Y"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// What ranks and what only counts.
func TestWhoRanks(t *testing.T) {
	foreign := result("F", "f", 1, 9, 1)
	foreign.Challenge = "another"
	empty := result("N", "n4", 1, 9, 1)
	empty.Score.NTasks = 0
	b := leaderboard.Rank(challenge, []protocol.Result{
		result("A", "a1", 1, 1, 1), with(result("A", "a2", 2, 50, 1), protocol.Rejected), with(result("A", "a3", 3, 50, 1), protocol.Pending),
		with(result("P", "p", 1, 9, 1), protocol.Pending), with(result("R", "r", 1, 9, 1), protocol.Rejected), with(result("U", "u", 1, 9, 1), ""),
		result("N", "n1", 1, math.NaN(), 1), result("N", "n2", 1, math.Inf(1), 1), result("N", "n3", 1, 1, math.NaN()), empty, foreign,
	}, leaderboard.Options{})
	if len(b.Rows) != 1 || b.PendingCount != 2 {
		t.Fatalf("%d rows, %d pending; want 1 and 2", len(b.Rows), b.PendingCount)
	}
	if r := b.Rows[0]; r.VerifiedRuns != 1 || r.RejectedRuns != 1 || r.PendingRuns != 1 || r.DeltaPP != 1 {
		t.Errorf("%+v", r)
	}
}

// What is not about all runs is that of the latest accepted one.
func TestLatestRun(t *testing.T) {
	early, late := result("A", "a1", 1, 1, 1), result("A", "a2", 2, 2, 1)
	late.Author, late.AgentID, late.Revision, late.GRPORan = "mo", "mo-bot", "abc", true
	late.Score.BaselinePassRate, late.Score.Errors.Baseline = 0.25, 1
	b := leaderboard.Rank(challenge, []protocol.Result{late, with(result("A", "a3", 3, 9, 1), protocol.Rejected), early}, leaderboard.Options{})
	r := b.Rows[0]
	if r.Author != "mo" || r.AgentID == nil || *r.AgentID != "mo-bot" || r.Revision != "abc" || !r.GRPORan || r.BaselinePassRate != 0.25 || r.Errors.Baseline != 1 {
		t.Errorf("%+v", r)
	}
	if !slices.Equal(r.RunIDs, []string{"a1", "a2"}) || !slices.Equal(r.RunDeltasPP, []float64{1, 2}) || !r.FirstResultAt.Equal(early.CollectedAt) || !r.CollectedAt.Equal(late.CollectedAt) {
		t.Errorf("%+v", r)
	}
}

func TestRunsNeeded(t *testing.T) {
	for _, c := range []struct {
		delta, stderr float64
		want          int // 0 for nil
	}{
		{10, 5, 1},    // 1.96·5 = 9.8 < 10
		{9.7, 5, 2},   // just not
		{-10, 20, 16}, // the sign does not matter
		{3, 6, 16},
		{1, 0, 1},
		{0, 5, 0},
		{0.0001, 50, 0}, // nobody makes that many runs
	} {
		b := leaderboard.Rank(challenge, []protocol.Result{result("A", "a", 1, c.delta, c.stderr)}, leaderboard.Options{})
		got := 0
		if n := b.Rows[0].RunsNeeded; n != nil {
			got = *n
		}
		if got != c.want {
			t.Errorf("Δ %v ± %v: %d runs, want %d", c.delta, c.stderr, got, c.want)
		}
	}
}

// The wire form: names of the seed, lists and not null.
func TestJSON(t *testing.T) {
	empty, err := json.Marshal(leaderboard.Rank(challenge, nil, leaderboard.Options{}))
	if err != nil || string(empty) != `{"challenge_id":"tb2-9b","per_run_sd_pp":null,"pending_count":0,"rows":[]}` {
		t.Errorf("%s, %v", empty, err)
	}
	b, err := json.Marshal(leaderboard.Rank(challenge, []protocol.Result{result("env-1", "run-1", 1, 3.125, 8)}, leaderboard.Options{}).Rows[0])
	want := `{"rank":1,"environment_id":"env-1","title":"","author":"","agent_id":null,"environment_revision":"","delta_pp":3.125,"stderr_pp":8,"ci95_pp":null,` +
		`"runs_needed":26,"verified_runs":1,"rejected_runs":0,"pending_runs":0,"run_deltas_pp":[3.125],"run_ids":["run-1"],"baseline_pass_rate":0,"after_pass_rate":0,` +
		`"n_tasks":32,"trials":1,"errors":{"baseline":0,"posttrain":0},"grpo_ran":false,"grpo_effective_update":false,"verification_note":"",` +
		`"collected_at":"2026-03-01T01:00:00Z","first_result_at":"2026-03-01T01:00:00Z"}`
	if d := cmp.Diff(want, string(b)); d != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, d)
	}
}

// anyResults draws results of a few collections.
func anyResults(r *rapid.T) []protocol.Result {
	return rapid.SliceOfN(rapid.Custom(func(r *rapid.T) protocol.Result {
		x := result(rapid.SampledFrom([]string{"A", "B", "C", "D"}).Draw(r, "collection"), "", rapid.IntRange(0, 23).Draw(r, "hour"),
			rapid.OneOf(rapid.Float64Range(-100, 100), rapid.SampledFrom([]float64{0, 1, 1.00001, math.NaN()})).Draw(r, "delta"),
			rapid.OneOf(rapid.Float64Range(0, 50), rapid.SampledFrom([]float64{0, 1})).Draw(r, "stderr"))
		x.Verification = rapid.SampledFrom([]protocol.Verification{protocol.Valid, protocol.Valid, protocol.Rejected, protocol.Pending}).Draw(r, "verification")
		x.Cells = cells(rapid.SliceOfN(rapid.IntRange(-1, 1), 0, 6).Draw(r, "cells"))
		return x
	}), 0, 20).Draw(r, "results")
}

// cells makes one cell for each difference of −1, 0 or 1.
func cells(differences []int) []protocol.Cell {
	var out []protocol.Cell
	for i, d := range differences {
		c := protocol.Cell{Suite: "tb", Task: fmt.Sprint(i), Before: protocol.OutcomeFail, After: protocol.OutcomeFail}
		if d < 0 {
			c.Before = protocol.OutcomePass
		} else if d > 0 {
			c.After = protocol.OutcomePass
		}
		out = append(out, c)
	}
	return out
}

// A board is a function of the set of results, it is JSON, and its ranks and
// errors obey the rules whatever the results.
func TestRankProperties(t *testing.T) {
	opts := leaderboard.Options{Resamples: 50}
	rapid.Check(t, func(r *rapid.T) {
		results := anyResults(r)
		for i := range results {
			results[i].Run = fmt.Sprint("run-", i)
		}
		b := leaderboard.Rank(challenge, results, opts)
		if _, err := json.Marshal(b); err != nil {
			r.Fatal(err)
		}
		if d := cmp.Diff(b, leaderboard.Rank(challenge, rapid.Permutation(results).Draw(r, "order"), opts)); d != "" {
			r.Fatalf("the order of the results matters:\n%s", d)
		}
		for i, row := range b.Rows {
			if i == 0 && row.Rank != 1 {
				r.Fatalf("the first rank is %d", row.Rank)
			}
			if i > 0 {
				above := b.Rows[i-1]
				tie := above.DeltaPP == row.DeltaPP
				if above.DeltaPP < row.DeltaPP || tie != (above.Rank == row.Rank) || !tie && row.Rank != i+1 || tie && above.StderrPP > row.StderrPP {
					r.Fatalf("%+v above %+v", above, row)
				}
			}
			if len(row.RunIDs) != row.VerifiedRuns || row.VerifiedRuns == 0 {
				r.Fatalf("%+v", row)
			}
			// The floor: never below the run's own evaluation error, over √n.
			own := 0.0
			for _, x := range results {
				if slices.Contains(row.RunIDs, x.Run) {
					own += x.Score.StderrPP * x.Score.StderrPP / float64(row.VerifiedRuns)
				}
			}
			if n := float64(row.VerifiedRuns); row.StderrPP < math.Sqrt(own/n)-1e-3 {
				r.Fatalf("stderr %v is below the floor %v", row.StderrPP, math.Sqrt(own/n))
			}
			if ci := row.CI95PP; ci != nil && ci[0] > ci[1] {
				r.Fatalf("interval %v", *ci)
			}
		}
	})
}

// Another accepted run of the same Δ never makes a collection's error larger.
func TestRepeatsNeverHurt(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(r, "runs")
		var results []protocol.Result
		before := math.Inf(1)
		for i := range n {
			results = append(results, result("A", fmt.Sprint(i), i, 2, 5))
			b := leaderboard.Rank(challenge, results, leaderboard.Options{})
			if got := b.Rows[0].StderrPP; got >= before {
				r.Fatalf("%d runs: %v, before %v", i+1, got, before)
			} else {
				before = got
			}
		}
	})
}

func TestInterval(t *testing.T) {
	// A mean of 25 pp over eight tasks: two gained, none lost.
	one := result("A", "a", 1, 25, 20)
	one.Cells = cells([]int{1, 1, 0, 0, 0, 0, 0, 0})
	ci := leaderboard.Rank(challenge, []protocol.Result{one}, leaderboard.Options{}).Rows[0].CI95PP
	if ci == nil || ci[0] != 0 || ci[1] < 50 || ci[1] > 75 {
		t.Fatalf("interval %v; want from 0 to 50–75", ci)
	}
	if again := leaderboard.Rank(challenge, []protocol.Result{one}, leaderboard.Options{}).Rows[0].CI95PP; *again != *ci {
		t.Errorf("another interval for the same results: %v, %v", *ci, *again)
	}
	if none := leaderboard.Rank(challenge, []protocol.Result{one}, leaderboard.Options{Resamples: -1}).Rows[0].CI95PP; none != nil {
		t.Errorf("an interval without resamples: %v", *none)
	}

	// Where nothing varies between tasks, neither does the mean.
	same := result("A", "a", 1, 100, 0)
	same.Cells = cells([]int{1, 1, 1, 1})
	if ci := leaderboard.Rank(challenge, []protocol.Result{same}, leaderboard.Options{}).Rows[0].CI95PP; *ci != [2]float64{100, 100} {
		t.Errorf("interval %v", *ci)
	}

	// Cells with an infrastructure error are left out when the number is pooled,
	// and are failures when it is not.
	errored := result("A", "a", 1, 50, 20)
	errored.Cells = append(cells([]int{1, 0}), protocol.Cell{Suite: "tb", Task: "2", Before: protocol.OutcomePass, After: protocol.OutcomeError})
	plain := leaderboard.Rank(challenge, []protocol.Result{errored}, leaderboard.Options{}).Rows[0].CI95PP
	errored.Score.Trials = 2
	pooled := leaderboard.Rank(challenge, []protocol.Result{errored}, leaderboard.Options{}).Rows[0].CI95PP
	if plain[0] >= pooled[0] {
		t.Errorf("plain %v, pooled %v", *plain, *pooled)
	}
}

// world is a population of tasks and what training does to the model.
type world struct {
	name        string
	tasks, runs int
	task        func(r *rand.Rand) (before, after float64) // chances to pass a random task
	truth       float64                                    // mean of after − before over the population, in pp
}

func worlds() []world {
	clip := func(p float64) float64 { return min(1, max(0, p)) }
	return []world{
		{"small suite, no effect", 32, 1, func(r *rand.Rand) (float64, float64) {
			p := r.Float64()
			return p, p
		}, 0},
		{"middle suite, even gain", 87, 1, func(r *rand.Rand) (float64, float64) {
			p := 0.8 * r.Float64()
			return p, p + 0.1
		}, 10},
		{"middle suite, uneven gain, three runs", 87, 3, func(r *rand.Rand) (float64, float64) {
			if r.Float64() < 0.45 { // never solved, whatever the training
				return 0, 0
			}
			p := 0.5 * r.Float64()
			return p, clip(p + 0.4*r.Float64())
		}, 0.55 * 20},
		{"large suite, loss", 120, 1, func(r *rand.Rand) (float64, float64) {
			p := 0.3 + 0.7*r.Float64()
			return p, p - 0.2
		}, -20},
	}
}

// run draws one run on the given tasks.
func (w world) run(r *rand.Rand, chances [][2]float64) protocol.Result {
	out := protocol.Result{Challenge: challenge, Collection: "A", Verification: protocol.Valid}
	outcome := func(p float64) protocol.Outcome {
		if r.Float64() < p {
			return protocol.OutcomePass
		}
		return protocol.OutcomeFail
	}
	delta := 0.0
	for i, c := range chances {
		cell := protocol.Cell{Suite: "tb", Task: fmt.Sprint(i), Before: outcome(c[0]), After: outcome(c[1])}
		if cell.After.Passed() {
			delta++
		}
		if cell.Before.Passed() {
			delta--
		}
		out.Cells = append(out.Cells, cell)
	}
	out.Score = protocol.Score{DeltaPP: 100 * delta / float64(len(chances)), StderrPP: 1, NTasks: len(chances), Trials: 1}
	return out
}

// In synthetic worlds ci95_pp holds the true Δ in 95 ± 2 % of the cases.
func TestCoverage(t *testing.T) {
	const experiments = 800
	for n, w := range worlds() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(uint64(n), 20260301))
			covered := 0
			for e := range experiments {
				var chances [][2]float64
				for range w.tasks {
					before, after := w.task(r)
					chances = append(chances, [2]float64{before, after})
				}
				var results []protocol.Result
				for i := range w.runs {
					x := w.run(r, chances)
					x.Run = fmt.Sprint(e, "/", i)
					results = append(results, x)
				}
				ci := leaderboard.Rank(challenge, results, leaderboard.Options{Resamples: 800}).Rows[0].CI95PP
				if ci[0] <= w.truth+1e-9 && w.truth <= ci[1]+1e-9 {
					covered++
				}
			}
			share := 100 * float64(covered) / experiments
			t.Logf("%.1f%% covered", share)
			if share < 93 || share > 97 {
				t.Errorf("%.1f%% of the intervals hold the true Δ, want 95 ± 2 %%", share)
			}
		})
	}
}

func BenchmarkRank(b *testing.B) {
	w := world{tasks: 87, runs: 3}
	r := rand.New(rand.NewPCG(1, 2))
	chances := make([][2]float64, w.tasks)
	for i := range chances {
		chances[i] = [2]float64{0.2, 0.3}
	}
	var results []protocol.Result
	for i := range w.runs {
		x := w.run(r, chances)
		x.Run = fmt.Sprint(i)
		results = append(results, x)
	}
	for b.Loop() {
		leaderboard.Rank(challenge, results, leaderboard.Options{})
	}
}
