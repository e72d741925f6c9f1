package api

import (
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// Challenge is a challenge as lists show it. The parts that only an open one
// has are null otherwise.
type Challenge struct {
	ID            string                   `json:"id"`
	Title         string                   `json:"title"`
	Status        protocol.ChallengeStatus `json:"status" enum:"open,planned,closed"`
	Role          *string                  `json:"role" doc:"What the challenge is for, such as smoke test"`
	Description   string                   `json:"description"`
	StatusNote    *string                  `json:"status_note"`
	RunsPaused    *string                  `json:"runs_paused" doc:"Why no run may start; null when runs may start"`
	Track         string                   `json:"track" doc:"Where collections submitted to it are stored"`
	Opens         *time.Time               `json:"opens"`
	Binding       Binding                  `json:"binding"`
	BaseModel     protocol.BaseModel       `json:"base_model"`
	Recipe        protocol.Recipe          `json:"recipe"`
	EvalSuite     *protocol.Suite          `json:"eval_suite" doc:"The first suite; null when there is none"`
	EvalSuites    []protocol.Suite         `json:"eval_suites"`
	Metric        protocol.Metric          `json:"metric"`
	Compute       protocol.Compute         `json:"compute"`
	Allocation    *Allocation              `json:"per_run_allocation" doc:"What one run reserves; null when no price is known"`
	Baseline      *protocol.Baseline       `json:"baseline"`
	Health        *Health                  `json:"health" doc:"Only of open challenges"`
	LayoutProblem *string                  `json:"layout_problem" doc:"Why the job layout cannot work; null when it can"`
	Simulated     bool                     `json:"simulated" doc:"Runs are played by the arena, not trained"`
	Basis         []string                 `json:"basis" doc:"What about this challenge is invented"`
}

// Binding names the fragments a challenge is composed of.
type Binding struct {
	Model  string   `json:"model"`
	Recipe string   `json:"recipe"`
	Suites []string `json:"suites"`
}

// Allocation is what one run reserves.
type Allocation struct {
	Flavor         string          `json:"flavor"`
	TimeoutSeconds int64           `json:"timeout_seconds"`
	PricePerHour   protocol.Micros `json:"price_per_hour_usd"`
	MaxComputeUSD  protocol.Micros `json:"max_compute_usd"`
}

// Health says whether a run would be accepted now, and how the challenge does.
type Health struct {
	AcceptingRuns   bool                      `json:"accepting_runs"`
	Reason          *string                   `json:"reason" doc:"Why no run would be accepted; null when one would"`
	ActiveRun       *string                   `json:"active_run"`
	Runs            map[protocol.RunState]int `json:"runs" doc:"Launched runs by state"`
	RemainingUSD    protocol.Micros           `json:"remaining_usd"`
	OldestQueuedAt  *time.Time                `json:"oldest_queued_at" doc:"Since when the run that has waited longest is queued; null when none is"`
	OldestQueuedAge *int64                    `json:"oldest_queued_seconds" doc:"How long that is"`
	LastLaunchedAt  *time.Time                `json:"last_launched_at" doc:"When the provider last took a job"`
	LastCollectedAt *time.Time                `json:"last_collected_at"`
	PendingReviews  int                       `json:"pending_reviews"`
}

// Challenges lists every challenge: open, planned, closed.
type Challenges struct {
	Challenges []Challenge `json:"challenges"`
}

// ChallengeFacts is what a challenge row says beyond its configuration.
type ChallengeFacts struct {
	Challenge  protocol.Challenge
	Allocation *Allocation
	Health     *Health
}

// ChallengeFrom maps a challenge to what a caller may see: the baseline's
// source is a private link.
func ChallengeFrom(f ChallengeFacts, who protocol.Identity) Challenge {
	c := f.Challenge
	out := Challenge{
		ID: c.ID, Title: c.Title, Status: c.Status, Role: Optional(c.Role), Description: c.Description,
		StatusNote: Optional(c.StatusNote), RunsPaused: Optional(c.RunsPaused), Track: c.Track,
		Binding:   Binding{Model: c.BaseModel.RepoID, Recipe: c.Recipe.ID, Suites: each(c.Suites, func(s protocol.Suite) string { return s.ID })},
		BaseModel: c.BaseModel, Recipe: c.Recipe, EvalSuites: append([]protocol.Suite{}, c.Suites...), Metric: c.Metric, Compute: c.Compute,
		Allocation: f.Allocation, Health: f.Health, LayoutProblem: Optional(c.LayoutProblem),
		Simulated: c.Compute.Provider == SimulatedProvider, Basis: append([]string{}, c.Basis...),
	}
	if !c.Opens.IsZero() {
		out.Opens = &c.Opens
	}
	if len(c.Suites) > 0 {
		out.EvalSuite = &c.Suites[0]
	}
	if c.Baseline != nil {
		b := *c.Baseline
		if !who.Editor {
			b.Source = ""
		}
		out.Baseline = &b
	}
	return out
}

// SimulatedProvider is the name of the provider that plays runs instead of
// training; whatever it touches says that it is simulated.
const SimulatedProvider = "simulated"

// Tracks lists where collections are stored. The wire calls them challenges
// for the sake of older clients (seed 003, glossary).
type Tracks struct {
	Challenges []Track `json:"challenges"`
}

// Track is a place where collection records are stored. It cannot run anything.
type Track struct {
	ID           string   `json:"id"`
	Runnable     bool     `json:"runnable" doc:"Always false: only challenges run"`
	Challenges   []string `json:"challenges" doc:"Challenges that store their collections here"`
	Environments int      `json:"environments"`
}
