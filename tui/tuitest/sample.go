package tuitest

import (
	"fmt"
	"math"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/leaderboard"
)

// The challenges of the sample.
const (
	Smoke   = "tb2-9b"
	Real    = "skillsbench-9b"
	Planned = "terminal-35b"
)

// The runs of the sample that tests name.
const (
	RunActive     = "challenge-a00000000001"
	RunQueued     = "challenge-a00000000002"
	RunPending    = "challenge-b00000000001" // its result waits longest
	RunPending2   = "challenge-b00000000002"
	RunAccepted   = "challenge-c00000000001"
	RunRejected   = "challenge-c00000000005"
	RunUncollect  = "challenge-d00000000001"
	RunPlatform   = "challenge-e00000000001"
	RunCollection = "challenge-e00000000002"
	RunLimit      = "challenge-e00000000003"
	RunCanceled   = "challenge-f00000000001"
	RunNoJob      = "challenge-f00000000002"
)

// The collections of the sample that tests name.
const (
	ColAurora = "env-0a0a0a0a0a01"
	ColDelta  = "env-0a0a0a0a0a02"
	ColKappa  = "env-0a0a0a0a0a03"
	ColOrion  = "env-0a0a0a0a0a04"
	ColVega   = "env-0a0a0a0a0a05"
	ColLyra   = "env-0a0a0a0a0a06"
)

// SealedTasks is the number of held-out tasks of the sample.
const SealedTasks = 32

// Sample is an arena in the middle of its life: a run going on, one queued, runs
// that ended in every way, results that wait, findings of every severity. All of
// it is invented, and all of it is counted back from now.
func Sample(now time.Time) *Arena {
	a := &Arena{
		Now: now, Me: api.Whoami{Name: "mira", Orgs: []string{"arena-org"}, Editor: true},
		Build:  api.Version{Name: "arena", Version: "1.4.0", Commit: "0123abcd", GateSet: "gates-v2", Provider: "simulated", Simulated: true},
		Budget: api.Budget{CapUSD: usd(800), PriorUSD: usd(20), SettledUSD: usd(318.4), ReservedUSD: usd(160), RecordedUSD: usd(318.4), CommittedUSD: usd(498.4), RemainingUSD: usd(301.6), Simulated: true},
		Diagnoses: []protocol.Diagnosis{
			{Check: "ledger-arithmetic", Status: protocol.DiagnosisOK, Detail: "what is settled and reserved adds up"},
			{Check: "backup-age", Status: protocol.DiagnosisOK, Detail: "7 backups, the newest is from " + now.Add(-40*time.Minute).UTC().Format(time.RFC3339)},
			{Check: "backup-drill", Status: protocol.DiagnosisSkipped, Detail: "arena doctor restores the newest backup for practice"},
		},
		events: make(chan api.Event), lines: make(chan protocol.LogLine),
	}
	a.Collections = collections(now)
	a.Runs = runs(now)
	for _, r := range a.Runs {
		a.Jobs = append(a.Jobs, jobOf(r))
	}
	a.Challenges = challenges(now, a.Runs)
	a.Boards = boards(a)
	a.Gates, a.Catalogue, a.Judged = gates(), catalogue(), judged()
	a.Messages = messages(now)
	a.Attempts, a.AttemptsOf = attempts(RunPending), RunPending
	a.LogLength, a.LogLine = 400, logLine(now.Add(-3*time.Hour))
	return a
}

// Empty is an arena in which nothing has happened yet.
func Empty(now time.Time) *Arena {
	a := Sample(now)
	a.Collections, a.Runs, a.Jobs, a.Messages, a.Attempts, a.Gates = nil, nil, nil, nil, nil, nil
	a.Boards = map[string]api.Leaderboard{}
	a.Challenges = challenges(now, nil)
	a.Budget = api.Budget{CapUSD: usd(800), RemainingUSD: usd(800), Simulated: true}
	a.LogLength = 0
	return a
}

func usd(dollars float64) protocol.Micros { return protocol.Micros(math.Round(dollars * 1e6)) }

func ptr[T any](v T) *T { return &v }

func collections(now time.Time) []api.Environment {
	one := func(id, team, title, author string, agent *string, tasks, eligible int, age time.Duration) api.Environment {
		e := api.Environment{
			ID: id, Author: author, AgentID: agent, ChallengeID: "terminal", TargetChallengeID: ptr(Smoke), RepoType: protocol.RepoGitHub, RepoID: author + "/tasks",
			Revision: id[4:] + "00000000000000000000000000", Title: title, Notes: "Made for the challenge; comments are welcome.", TeamName: team, TaskCount: tasks, EligibleTasks: eligible,
			Status: protocol.CollectionStatus, CreatedAt: now.Add(-age),
		}
		e.QualityGates.Static.Summary.Tasks, e.QualityGates.Static.Summary.Eligible = tasks, eligible
		e.QualityGates.Static.Summary.Clean = eligible
		return e
	}
	all := []api.Environment{
		one(ColLyra, "Lyra", "Package repair drills", "lyra-dev", nil, 12, 12, 5*time.Hour),
		one(ColVega, "Vega Works", "Log triage with long contexts and a title that does not fit anywhere", "vega", ptr("vega-bot"), 40, 36, 26*time.Hour),
		one(ColOrion, "Orion", "Data joins", "orion-lab", nil, 24, 24, 3*24*time.Hour),
		one(ColKappa, "Kappa 日本 Group", "端末タスク集 🧪", "kappa", ptr("kappa-agent"), 18, 15, 6*24*time.Hour),
		one(ColDelta, "Delta Forge", "Shell and sed", "delta", nil, 20, 14, 9*24*time.Hour),
		one(ColAurora, "Aurora Lab", "Build systems", "aurora", nil, 30, 30, 12*24*time.Hour),
	}
	all[1].RepoType, all[2].RepoType = protocol.RepoDataset, protocol.RepoBundle
	sum := &all[4].QualityGates.Static.Summary
	sum.Blocked, sum.Rejected, sum.NeedsControls, sum.Review, sum.Clean = 1, 5, 2, 3, 9
	return all
}

func challenges(now time.Time, runs []api.Run) []api.Challenge {
	health := func(id string) *api.Health {
		h := &api.Health{Runs: map[protocol.RunState]int{}, RemainingUSD: usd(301.6)}
		for _, r := range runs {
			if r.ChallengeID != id {
				continue
			}
			h.Runs[r.State]++
			if r.Result != nil && r.Result.Verification == protocol.Pending {
				h.PendingReviews++
			}
		}
		return h
	}
	smoke, realOne := health(Smoke), health(Real)
	if len(runs) > 0 {
		smoke.ActiveRun, smoke.Reason = ptr(RunActive), ptr("Another run is active.")
	} else {
		smoke.AcceptingRuns = true
	}
	realOne.Reason = ptr("Runs are paused on this challenge.")
	recipe := protocol.Recipe{ID: "grpo-v1", MaxErrorFraction: 0.1, NumGenerations: 8, MaxSteps: 40}
	return []api.Challenge{
		{
			ID: Smoke, Title: "Terminal subset, 9B", Status: protocol.StatusOpen, Track: "terminal", Recipe: recipe, Health: smoke, Simulated: true,
			Baseline: &protocol.Baseline{PassRate: 0.104167, StderrPP: 3.12, Trials: 3}, Opens: ptr(now.Add(-40 * 24 * time.Hour)),
		},
		{ID: Real, Title: "SkillsBench, 9B", Status: protocol.StatusOpen, Track: "skillsbench", Recipe: recipe, Health: realOne, RunsPaused: ptr("Until the next pipeline release."), Simulated: true},
		{ID: Planned, Title: "Terminal, 35B", Status: protocol.StatusPlanned, Track: "terminal", Recipe: recipe},
	}
}

// cells are the held-out tasks with outcomes that give the wanted numbers of
// passes: the first before tasks pass before, and after shifts them by one, so
// that some are gained and some lost. errors of them are lost to the platform.
func cells(before, after, errors int) []protocol.Cell {
	var all []protocol.Cell
	for i := range SealedTasks {
		c := protocol.Cell{Suite: "tb2-sealed-32", Task: fmt.Sprintf("sealed-task-%02d", i+1), Before: protocol.OutcomeFail, After: protocol.OutcomeFail}
		if i < before {
			c.Before = protocol.OutcomePass
		}
		if i >= 1 && i < after+1 {
			c.After = protocol.OutcomePass
		}
		if i%5 == 4 && c.After == protocol.OutcomeFail {
			c.After = protocol.OutcomeTimeout
		}
		if i >= SealedTasks-errors {
			c.After = protocol.OutcomeError
		}
		all = append(all, c)
	}
	return all
}

// resultOf is a result in which so many of the held-out tasks passed.
func resultOf(r api.Run, before, after int, v protocol.Verification, at time.Time) *api.Result {
	b, a := float64(before)/SealedTasks, float64(after)/SealedTasks
	errors := 0
	if r.RunID == RunPending2 {
		errors = 2
	}
	res := &api.Result{
		RunID: r.RunID, ChallengeID: r.ChallengeID, EnvironmentID: r.EnvironmentID, EnvironmentRevision: r.EnvironmentRevision, Author: r.Author, AgentID: r.AgentID,
		GRPORan: true, GRPOEffectiveUpdate: true, EvidenceDigest: "sha256:" + r.RunID[10:] + "00ff", Verification: v, VerificationNote: protocol.PendingNote,
		CollectedBy: r.Author, CollectedAt: at, Cells: cells(before, after, errors), Simulated: true,
	}
	res.Score = protocol.Score{
		BaselinePassRate: b, AfterPassRate: a, DeltaPP: 100 * (a - b), StderrPP: 100 * math.Sqrt(b*(1-b)/SealedTasks+a*(1-a)/SealedTasks), PairedDeltaPP: 100 * (a - b), PairedStderrPP: 4.4,
		NTasks: SealedTasks, Trials: 1, PairedCells: SealedTasks - errors, ExcludedCells: errors, Errors: protocol.SideCounts{Posttrain: errors}, Timeouts: protocol.SideCounts{Baseline: 3, Posttrain: 5}, ReportAgrees: "all-tasks",
	}
	if v != protocol.Pending {
		res.ReviewedBy, res.ReviewedAt, res.VerificationNote = ptr("mira"), ptr(at.Add(5*time.Hour)), "Coverage is complete and the recomputed rates agree with the report."
	}
	return res
}

// boards rank the accepted results with the arena's own rules.
func boards(a *Arena) map[string]api.Leaderboard {
	all := map[string]api.Leaderboard{}
	for _, id := range []string{Smoke, Real} {
		var results []protocol.Result
		for _, r := range a.Runs {
			if res := r.Result; res != nil && r.ChallengeID == id {
				results = append(results, protocol.Result{
					Run: res.RunID, Challenge: id, Collection: res.EnvironmentID, Revision: res.EnvironmentRevision, Author: res.Author, Score: res.Score, Cells: res.Cells,
					GRPORan: true, GRPOEffectiveUpdate: true, Verification: res.Verification, CollectedAt: res.CollectedAt,
				})
			}
		}
		board := leaderboard.Rank(id, results, leaderboard.Options{Resamples: 500})
		for i, row := range board.Rows {
			for _, c := range a.Collections {
				if c.ID == row.Collection {
					board.Rows[i].Title = c.Title
				}
			}
		}
		all[id] = api.Leaderboard{Board: board, Simulated: true}
	}
	return all
}

func messages(now time.Time) []api.Message {
	return []api.Message{
		{Filename: "20000101-0900-mira-c3", RequestID: "seed-3", Author: "mira", Body: "Runs of skillsbench-9b stay paused until the next pipeline release.", CreatedAt: now.Add(-2 * time.Hour)},
		{
			Filename: "19991231-1800-kappa-b2", RequestID: "seed-2", Author: "kappa", AgentID: ptr("kappa-agent"), Refs: []string{"19991230-0800-aurora-a1"}, CreatedAt: now.Add(-15 * time.Hour),
			Body: "検証器の二番目のテストについて。\n\nThe second check of wire-sort compares only literals; \x1b[31mred\x1b[0m is not shown as red here, and a bell\a does not ring. 🧪",
		},
		{Filename: "19991230-0800-aurora-a1", RequestID: "seed-1", Author: "aurora", Body: "Our build systems collection is up.\nWe would like comments on the verifiers.", CreatedAt: now.Add(-49 * time.Hour)},
	}
}
