package protocol

import (
	"time"

	"github.com/posttrainarena/arena/gates/report"
)

// CollectionBrief is a collection without the details of its gates report, as
// long lists need it.
type CollectionBrief struct {
	ID              string
	Author          string
	AgentID         string
	Track           string
	TargetChallenge string
	Source          Source
	Title           string
	TeamName        string
	TaskCount       int
	Summary         report.Summary
	CreatedAt       time.Time
}

// CollectionTally is what became of a collection's runs.
type CollectionTally struct {
	Runs     map[RunState]int // by state; requests that never got a job included
	Pending  int              // collected results that await review
	Valid    int              // accepted ones
	Rejected int
	Latest   *RunBrief // nil before the first
}

// RunBrief is a run in one line.
type RunBrief struct {
	ID        string
	Challenge string
	State     RunState
	Stage     Stage
	CreatedAt time.Time
}

// RunCount is a group of runs that ended, or are, in the same way.
type RunCount struct {
	State    RunState
	Stage    Stage
	Fault    FaultClass
	Launched bool // they got a job
	Runs     int
	Settled  Micros
	Reserved Micros // of those that are live
}

// DaySpend is what runs that were settled on one day (UTC) cost.
type DaySpend struct {
	Day     string `json:"day"` // 2006-01-02
	Runs    int    `json:"runs"`
	Settled Micros `json:"settled_usd"`
}

// ScorePoint is a result in one line.
type ScorePoint struct {
	Run          string       `json:"run_id"`
	Challenge    string       `json:"challenge_id"`
	Collection   string       `json:"environment_id"`
	At           time.Time    `json:"collected_at"`
	Baseline     float64      `json:"baseline_pass_rate"`
	After        float64      `json:"after_pass_rate"`
	DeltaPP      float64      `json:"delta_pp"`
	StderrPP     float64      `json:"stderr_pp"`
	Verification Verification `json:"verification"`
}
