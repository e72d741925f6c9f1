package leaderboard

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// Board is the leaderboard of one challenge. Everything that ends in PP is in
// percentage points with 4 decimals.
type Board struct {
	Challenge    string   `json:"challenge_id"`
	PerRunSDPP   *float64 `json:"per_run_sd_pp"` // how much Δ varies from run to run; nil before any repeats
	PendingCount int      `json:"pending_count"` // collected results that await review
	Rows         []Row    `json:"rows"`
}

// Row is one ranked collection. What is not about all of its accepted runs is
// that of the latest.
type Row struct {
	Rank       int     `json:"rank"`
	Collection string  `json:"environment_id"`
	Title      string  `json:"title"` // for the caller to fill in: results do not have it
	Author     string  `json:"author"`
	AgentID    *string `json:"agent_id"` // nil when the person launched the run
	Revision   string  `json:"environment_revision"`

	DeltaPP  float64 `json:"delta_pp"`  // mean over the accepted runs
	StderrPP float64 `json:"stderr_pp"` // of that mean
	// CI95PP is the 95% interval of DeltaPP over tasks like those of the suite;
	// nil when the results hold no cells to resample.
	CI95PP *[2]float64 `json:"ci95_pp"`
	// RunsNeeded is the number of accepted runs with which the 95% interval of
	// DeltaPP ± 1.96·stderr would exclude 0, if DeltaPP stays what it is. It is nil
	// when no reasonable number would.
	RunsNeeded   *int      `json:"runs_needed"`
	VerifiedRuns int       `json:"verified_runs"`
	RejectedRuns int       `json:"rejected_runs"`
	PendingRuns  int       `json:"pending_runs"`
	RunDeltasPP  []float64 `json:"run_deltas_pp"` // in the order of collection
	RunIDs       []string  `json:"run_ids"`       // likewise

	BaselinePassRate    float64                        `json:"baseline_pass_rate"`
	AfterPassRate       float64                        `json:"after_pass_rate"`
	NTasks              int                            `json:"n_tasks"`
	Trials              int                            `json:"trials"`
	Errors              protocol.SideCounts            `json:"errors"`
	Suites              map[string]protocol.SuiteScore `json:"suites,omitempty"`
	GRPORan             bool                           `json:"grpo_ran"`
	GRPOEffectiveUpdate bool                           `json:"grpo_effective_update"`
	VerificationNote    string                         `json:"verification_note"`
	CollectedAt         time.Time                      `json:"collected_at"`
	FirstResultAt       time.Time                      `json:"first_result_at"` // when its first accepted run was collected
}

// Options says how to rank. The zero value is what the arena uses.
type Options struct {
	// Resamples is the number of bootstrap resamples behind an interval; 0 means
	// 10,000, and a negative number makes no intervals.
	Resamples int
}

const (
	defaultResamples = 10_000
	z95              = 1.959963984540054 // standard normal quantile of 0.975
	mostRunsNeeded   = 1_000_000
)

// Rank ranks the collections that have accepted results on a challenge. Results
// of other challenges are ignored; a result whose numbers are not finite or that
// is about no task is never ranked. Collections of which no result was accepted
// have no row.
func Rank(challenge string, results []protocol.Result, opts Options) Board {
	board := Board{Challenge: challenge, Rows: []Row{}}
	groups := map[string]*group{}
	for _, r := range results {
		if r.Challenge != challenge {
			continue
		}
		g := groups[r.Collection]
		if g == nil {
			g = &group{}
			groups[r.Collection] = g
		}
		switch {
		case r.Verification == protocol.Pending:
			g.pending++
			board.PendingCount++
		case r.Verification == protocol.Rejected:
			g.rejected++
		case r.Verification == protocol.Valid && usable(r.Score):
			g.accepted = append(g.accepted, r)
		}
	}
	var ranked []*group
	for _, id := range slices.Sorted(maps.Keys(groups)) { // in order, so that sums are the same every time
		if g := groups[id]; len(g.accepted) > 0 {
			g.order()
			ranked = append(ranked, g)
		}
	}
	pooled := pool(ranked)
	if pooled != nil {
		sd := pp(math.Sqrt(*pooled))
		board.PerRunSDPP = &sd
	}
	for _, g := range ranked {
		board.Rows = append(board.Rows, g.row(challenge, pooled, opts))
	}
	number(board.Rows)
	return board
}

// usable reports whether a score can be ranked.
func usable(s protocol.Score) bool {
	finite := func(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
	return s.NTasks > 0 && finite(s.DeltaPP) && finite(s.StderrPP) && s.StderrPP >= 0
}

// number sorts rows and gives them their ranks. Means that are equal at 4
// decimals share a rank, and the next rank counts them: 1, 1, 3. Inside a rank the
// smaller error comes first, then the earlier first result, then the id.
func number(rows []Row) {
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(
			cmp.Compare(b.DeltaPP, a.DeltaPP),
			cmp.Compare(a.StderrPP, b.StderrPP),
			a.FirstResultAt.Compare(b.FirstResultAt),
			strings.Compare(a.Collection, b.Collection),
		)
	})
	for i := range rows {
		rows[i].Rank = i + 1
		if i > 0 && rows[i].DeltaPP == rows[i-1].DeltaPP { // both are rounded
			rows[i].Rank = rows[i-1].Rank
		}
	}
}

// group is what is known of one collection.
type group struct {
	accepted          []protocol.Result // by collection time
	rejected, pending int
}

// order sorts the accepted results by the time of their collection.
func (g *group) order() {
	slices.SortFunc(g.accepted, func(a, b protocol.Result) int {
		return cmp.Or(a.CollectedAt.Compare(b.CollectedAt), strings.Compare(a.Run, b.Run))
	})
}

// mean is the mean Δ of the accepted runs.
func (g *group) mean() float64 {
	sum := 0.0
	for _, r := range g.accepted {
		sum += r.Score.DeltaPP
	}
	return sum / float64(len(g.accepted))
}

// evaluation is the variance that evaluating alone gives one run: the mean over
// the runs of the square of their own standard error.
func (g *group) evaluation() float64 {
	sum := 0.0
	for _, r := range g.accepted {
		sum += r.Score.StderrPP * r.Score.StderrPP
	}
	return sum / float64(len(g.accepted))
}

// pool is the run-to-run variance of Δ pooled over the collections with two or
// more accepted runs: Σ(x − x̄ᵢ)² ÷ Σ(nᵢ − 1). It is nil when there are none.
func pool(ranked []*group) *float64 {
	squares, freedom := 0.0, 0
	for _, g := range ranked {
		mean := g.mean()
		for _, r := range g.accepted {
			squares += (r.Score.DeltaPP - mean) * (r.Score.DeltaPP - mean)
		}
		freedom += len(g.accepted) - 1
	}
	if freedom == 0 {
		return nil
	}
	v := squares / float64(freedom)
	return &v
}

// row makes a collection's row, without its rank.
func (g *group) row(challenge string, pooled *float64, opts Options) Row {
	latest, mean := g.accepted[len(g.accepted)-1], g.mean()
	variance := g.evaluation()
	if pooled != nil {
		variance = max(variance, *pooled)
	}
	row := Row{
		Collection: latest.Collection, Author: latest.Author, Revision: latest.Revision,
		DeltaPP: pp(mean), StderrPP: pp(math.Sqrt(variance / float64(len(g.accepted)))),
		RunsNeeded:   runsNeeded(pp(mean), variance),
		VerifiedRuns: len(g.accepted), RejectedRuns: g.rejected, PendingRuns: g.pending,
		BaselinePassRate: latest.Score.BaselinePassRate, AfterPassRate: latest.Score.AfterPassRate,
		NTasks: latest.Score.NTasks, Trials: latest.Score.Trials, Errors: latest.Score.Errors, Suites: latest.Score.Suites,
		GRPORan: latest.GRPORan, GRPOEffectiveUpdate: latest.GRPOEffectiveUpdate,
		VerificationNote: latest.VerificationNote, CollectedAt: latest.CollectedAt, FirstResultAt: g.accepted[0].CollectedAt,
	}
	if latest.AgentID != "" {
		row.AgentID = &latest.AgentID
	}
	for _, r := range g.accepted {
		row.RunDeltasPP = append(row.RunDeltasPP, r.Score.DeltaPP)
		row.RunIDs = append(row.RunIDs, r.Run)
	}
	if opts.Resamples == 0 {
		opts.Resamples = defaultResamples
	}
	if low, high, ok := interval(seed(challenge, latest.Collection, row.RunIDs), g.accepted, opts.Resamples); ok {
		row.CI95PP = &[2]float64{pp(mean + low), pp(mean + high)}
	}
	return row
}

// runsNeeded is the smallest n with 1.96·sqrt(variance ÷ n) < |mean|.
func runsNeeded(mean, variance float64) *int {
	if mean == 0 {
		return nil
	}
	n := math.Floor(z95*z95*variance/(mean*mean)) + 1
	if n > mostRunsNeeded {
		return nil
	}
	needed := int(n)
	return &needed
}

// pp rounds percentage points as the board shows them, to 4 decimals.
func pp(x float64) float64 {
	x = math.Round(x*1e4) / 1e4
	if x == 0 {
		return 0 // not −0
	}
	return x
}
