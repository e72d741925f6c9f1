package protocol

import (
	"slices"
	"time"
)

// LaunchLimits says how much of everything that bounds the launches of a
// collection is used, and what would refuse the next one.
type LaunchLimits struct {
	RunsPerDay CountLimit `json:"runs_per_day" doc:"Counted runs of this collection on this challenge in the last 24 hours; failed and canceled ones do not count"`
	ActiveRuns CountLimit `json:"active_runs" doc:"Runs that have not ended, across the arena"`
	Compute    MoneyLimit `json:"compute_usd" doc:"The compute cap of the arena, which does not reset"`
	PerHour    HourLimits `json:"per_hour" doc:"What the caller may do in an hour; these bound no launch"`
	// Binding is the preflight check of the first of them that refuses.
	Binding  *string    `json:"binding" doc:"The preflight check that would refuse the next launch: daily_limit, no_active_job or cap; null when none of them does"`
	ResetsAt *time.Time `json:"resets_at" doc:"When the binding one allows another run; null when none binds or nobody can say"`
}

// HourLimits says how much of an hour's worth an account has used. The hour
// slides: what was used comes back evenly over it. nil is without a limit.
type HourLimits struct {
	Validations *CountLimit `json:"validations" doc:"Validations, those of a submit included; null when they are not limited"`
	Messages    *CountLimit `json:"messages" doc:"Messages on the board; null when they are not limited"`
}

// CountLimit is a limit on a number of things.
type CountLimit struct {
	Used      int        `json:"used"`
	Limit     int        `json:"limit"`
	Remaining int        `json:"remaining"`
	ResetsAt  *time.Time `json:"resets_at" doc:"When the next one is given back; null when none is used or nobody can say"`
}

// MoneyLimit is a limit on an amount of money.
type MoneyLimit struct {
	Used      Micros  `json:"used"`
	Limit     Micros  `json:"limit"`
	Remaining Micros  `json:"remaining"`
	Needed    *Micros `json:"needed" doc:"What one run reserves; null when no price is known"`
}

// Limits says how much of what bounds launches is used (reference/rivals.md R4
// and R5). It counts exactly what CheckLaunch decides on.
func (f LaunchFacts) Limits(now time.Time) LaunchLimits {
	recent, limit := f.counted(now)
	l := LaunchLimits{
		RunsPerDay: CountLimit{Used: len(recent), Limit: limit, Remaining: max(0, limit-len(recent))},
		ActiveRuns: CountLimit{Limit: 1, Remaining: 1},
		Compute:    MoneyLimit{Used: f.Ledger.Committed(), Limit: f.Ledger.Cap, Remaining: max(0, f.Ledger.Remaining())},
	}
	if len(recent) > 0 {
		// Below the limit a slot is free already; the first to leave gives back one.
		at := recent[max(0, len(recent)-limit)].Add(DailyWindow).UTC()
		l.RunsPerDay.ResetsAt = &at
	}
	if f.ActiveRun != "" {
		l.ActiveRuns.Used, l.ActiveRuns.Remaining = 1, 0
	}
	if f.PriceError == nil {
		needed := f.Reservation()
		l.Compute.Needed = &needed
	}
	bind := func(check string, resets *time.Time) { l.Binding, l.ResetsAt = &check, resets }
	switch {
	case l.RunsPerDay.Remaining == 0:
		bind(CheckDailyLimit, l.RunsPerDay.ResetsAt)
	case l.ActiveRuns.Remaining == 0:
		bind(CheckNoActiveJob, nil)
	case f.PriceError == nil && !f.Ledger.Covers(f.Reservation()):
		bind(CheckCap, nil)
	}
	return l
}

// counted returns the launch times of the runs that count for the daily limit,
// oldest first, and the limit.
func (f LaunchFacts) counted(now time.Time) (recent []time.Time, limit int) {
	for _, t := range f.Counted {
		if now.Sub(t) < DailyWindow {
			recent = append(recent, t)
		}
	}
	slices.SortFunc(recent, time.Time.Compare)
	return recent, max(1, f.Challenge.Compute.RunsPerDay)
}
