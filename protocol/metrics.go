package protocol

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// Metrics is what runs add up to. Counts and money are of all runs; durations
// and causes of the newest, as many as Considered says.
type Metrics struct {
	Runs        int              `json:"runs"`         // requests in all
	NotLaunched int              `json:"not_launched"` // of those, the ones that never got a job
	ByState     map[RunState]int `json:"by_state"`
	ByStage     []StageCount     `json:"by_stage"`
	Considered  int              `json:"considered"`
	Durations   []StageDuration  `json:"stage_durations"`
	Failures    []FailureCause   `json:"failures"`
	PassRates   []ScorePoint     `json:"pass_rates"` // of the newest results, oldest first
	Spend       Spend            `json:"spend"`
}

// StageCount says how many runs are in a stage, or ended there.
type StageCount struct {
	Stage   Stage            `json:"stage"`
	ByState map[RunState]int `json:"by_state"`
}

// StageDuration is how long a stage takes in runs that went on after it.
type StageDuration struct {
	Stage         Stage   `json:"stage"`
	Runs          int     `json:"runs"`
	MedianSeconds float64 `json:"median_seconds"`
	P90Seconds    float64 `json:"p90_seconds"`
}

// FailureCause is one reason why runs stopped.
type FailureCause struct {
	Cause         string     `json:"cause"`
	Advice        string     `json:"advice"` // empty for a cause that nobody has explained
	Stage         Stage      `json:"stage"`
	Fault         FaultClass `json:"fault"`
	PlatformFault bool       `json:"platform_fault"`
	Runs          int        `json:"runs"`
	LastRun       string     `json:"last_run_id"`
	LastAt        time.Time  `json:"last_at"`
}

// Spend is what runs cost.
type Spend struct {
	Settled   Micros         `json:"settled_usd"`
	Reserved  Micros         `json:"reserved_usd"` // by live runs
	ByOutcome []OutcomeSpend `json:"by_outcome"`
	ByDay     []DaySpend     `json:"by_day"` // oldest first
}

// OutcomeSpend is what the runs cost that ended in one way.
type OutcomeSpend struct {
	State   RunState   `json:"state"`
	Fault   FaultClass `json:"fault"`
	Runs    int        `json:"runs"`
	Settled Micros     `json:"settled_usd"`
}

// MetricsFacts is what Measure adds up.
type MetricsFacts struct {
	Counts  []RunCount
	Recent  []Run                                 // the newest, any order
	Scores  []ScorePoint                          // the newest, oldest first
	Days    []DaySpend                            // oldest first
	Explain func(r Run) (sentence, advice string) // why a run stopped; empty when nobody knows
}

// Measure adds runs up.
func Measure(f MetricsFacts) Metrics {
	m := Metrics{
		ByState: map[RunState]int{}, Considered: len(f.Recent), Durations: durations(f.Recent), Failures: failures(f.Recent, f.Explain),
		PassRates: append([]ScorePoint{}, f.Scores...), Spend: Spend{ByDay: append([]DaySpend{}, f.Days...)},
	}
	stages := map[Stage]map[RunState]int{}
	outcomes := map[[2]string]*OutcomeSpend{}
	for _, c := range f.Counts {
		m.Runs += c.Runs
		m.Spend.Settled += c.Settled
		m.Spend.Reserved += c.Reserved
		if !c.Launched {
			m.NotLaunched += c.Runs
			continue
		}
		m.ByState[c.State] += c.Runs
		if stages[c.Stage] == nil {
			stages[c.Stage] = map[RunState]int{}
		}
		stages[c.Stage][c.State] += c.Runs
		if c.State.Ended() {
			key := [2]string{string(c.State), string(c.Fault)}
			if outcomes[key] == nil {
				outcomes[key] = &OutcomeSpend{State: c.State, Fault: c.Fault}
			}
			outcomes[key].Runs += c.Runs
			outcomes[key].Settled += c.Settled
		}
	}
	m.ByStage = []StageCount{}
	for _, s := range append([]Stage{""}, Stages()...) {
		if stages[s] != nil {
			m.ByStage = append(m.ByStage, StageCount{s, stages[s]})
		}
	}
	m.Spend.ByOutcome = []OutcomeSpend{}
	for _, key := range slices.SortedFunc(maps.Keys(outcomes), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		m.Spend.ByOutcome = append(m.Spend.ByOutcome, *outcomes[key])
	}
	return m
}

// durations measures the stages that runs have left behind. The stage in which a
// run stopped says nothing about how long it takes.
func durations(recent []Run) []StageDuration {
	seconds := map[Stage][]float64{}
	for _, r := range recent {
		done := len(r.Progress.Stages)
		if r.State != RunScored {
			done--
		}
		for i := range max(0, done) {
			s := r.Progress.Stages[i]
			if s.StartedAt != nil && s.EndedAt != nil {
				seconds[s.Stage] = append(seconds[s.Stage], s.EndedAt.Sub(*s.StartedAt).Seconds())
			}
		}
	}
	all := []StageDuration{}
	for _, s := range Stages() {
		if of := seconds[s]; len(of) > 0 {
			slices.Sort(of)
			all = append(all, StageDuration{Stage: s, Runs: len(of), MedianSeconds: rank(of, 0.5), P90Seconds: rank(of, 0.9)})
		}
	}
	return all
}

// rank is the smallest of sorted values that a share of them does not exceed.
func rank(sorted []float64, share float64) float64 {
	i := int(math.Ceil(share*float64(len(sorted)))) - 1
	return math.Round(sorted[max(0, i)]*1000) / 1000
}

// maxCauseRunes bounds the text of a cause that nobody has explained.
const maxCauseRunes = 160

// failures groups the runs that stopped by why they did, the commonest first.
func failures(recent []Run, explain func(Run) (string, string)) []FailureCause {
	found := map[[2]string]*FailureCause{}
	for _, r := range recent {
		if r.State != RunFailed && r.State != RunCanceled {
			continue
		}
		sentence, advice := explain(r)
		if sentence == "" {
			sentence = firstRunes(r.Reason, maxCauseRunes)
		}
		key := [2]string{sentence, string(r.Stage)}
		c := found[key]
		if c == nil {
			c = &FailureCause{Cause: sentence, Advice: advice, Stage: r.Stage, Fault: r.Fault, PlatformFault: r.Fault == FaultPlatform}
			found[key] = c
		}
		c.Runs++
		if r.CreatedAt.After(c.LastAt) || c.LastRun == "" {
			c.LastRun, c.LastAt = r.ID, r.CreatedAt
		}
	}
	all := []FailureCause{}
	for _, c := range found {
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b FailureCause) int {
		return cmp.Or(cmp.Compare(b.Runs, a.Runs), cmp.Compare(a.Stage.Index(), b.Stage.Index()), strings.Compare(a.Cause, b.Cause))
	})
	return all
}

func firstRunes(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:n]) + "…"
}
