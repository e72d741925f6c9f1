package api

import (
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// Budget is the one figure that preflight, health, the launch guard and the
// dashboard use.
type Budget struct {
	CapUSD       protocol.Micros `json:"cap_usd"`
	PriorUSD     protocol.Micros `json:"prior_allowance_usd"`
	SettledUSD   protocol.Micros `json:"settled_usd"`
	ReservedUSD  protocol.Micros `json:"reserved_usd" doc:"Live reservations"`
	RecordedUSD  protocol.Micros `json:"recorded_usd" doc:"What the providers' own records add up to"`
	CommittedUSD protocol.Micros `json:"committed_usd"`
	RemainingUSD protocol.Micros `json:"remaining_usd"`
	Simulated    bool            `json:"simulated"`
}

// BudgetFrom maps the ledger to the wire.
func BudgetFrom(l protocol.Ledger, simulated bool) Budget {
	return Budget{
		CapUSD: l.Cap, PriorUSD: l.Prior, SettledUSD: l.Settled, ReservedUSD: l.Live, RecordedUSD: l.Recorded,
		CommittedUSD: l.Committed(), RemainingUSD: l.Remaining(), Simulated: simulated,
	}
}

// LedgerRow is one reservation.
type LedgerRow struct {
	RunID         string           `json:"run_id"`
	RequestKey    string           `json:"request_key"`
	Kind          string           `json:"kind" doc:"challenge-run"`
	ChallengeID   string           `json:"challenge_id"`
	EnvironmentID string           `json:"environment_id"`
	Author        string           `json:"author"`
	Status        string           `json:"status"`
	MaxComputeUSD protocol.Micros  `json:"max_compute_usd"`
	SettledUSD    *protocol.Micros `json:"settled_usd"`
	CreatedAt     time.Time        `json:"created_at"`
	SettledAt     *time.Time       `json:"settled_at"`
}

// ArenaJobs is the reservation ledger.
type ArenaJobs struct {
	PriorUSD protocol.Micros `json:"prior_allowance_usd"`
	Runs     []LedgerRow     `json:"runs"`
	Next     *string         `json:"next_cursor"`
}

// LedgerRowFrom maps a run's money to the wire.
func LedgerRowFrom(r protocol.Run) LedgerRow {
	return LedgerRow{
		RunID: r.ID, RequestKey: r.RequestID, Kind: "challenge-run", ChallengeID: r.Challenge, EnvironmentID: r.Collection, Author: r.Author,
		Status: r.Status(), MaxComputeUSD: r.Reserved, SettledUSD: r.Settled, CreatedAt: r.CreatedAt, SettledAt: r.SettledAt,
	}
}

// Job is one compute job with what it was for and what it cost.
type Job struct {
	ID         *string          `json:"id"`
	Kind       string           `json:"kind"`
	Purpose    string           `json:"purpose"`
	RunID      string           `json:"run_id"`
	Challenge  string           `json:"challenge"`
	Provider   string           `json:"provider"`
	Flavor     string           `json:"flavor"`
	Stage      string           `json:"stage" doc:"The provider's word, or: not launched"`
	CreatedAt  time.Time        `json:"created_at"`
	StartedAt  *time.Time       `json:"started_at"`
	FinishedAt *time.Time       `json:"finished_at"`
	CostUSD    *protocol.Micros `json:"cost_usd"`
	URL        *string          `json:"url,omitempty" doc:"Editors only"`
}

// Jobs lists every job and the budget that the launch guard enforces.
type Jobs struct {
	Jobs   []Job   `json:"jobs"`
	Budget Budget  `json:"budget"`
	Next   *string `json:"next_cursor"`
}

// JobFrom maps a run's job to the wire.
func JobFrom(r protocol.Run, who protocol.Identity) Job {
	j := Job{
		ID: Optional(r.JobID), Kind: "challenge run", Purpose: r.Author + ": a run of " + r.Collection, RunID: r.ID, Challenge: r.Challenge,
		Provider: r.Provider, Flavor: r.Flavor, Stage: r.Status(), CreatedAt: r.CreatedAt, StartedAt: r.StartedAt, FinishedAt: r.EndedAt, CostUSD: r.Settled,
	}
	if r.LateBill != nil {
		j.FinishedAt, j.CostUSD = r.LateEnd, r.LateBill
	}
	if who.Editor {
		j.URL = Optional(r.JobURL)
	}
	return j
}
