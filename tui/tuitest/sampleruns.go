package tuitest

import (
	"fmt"
	"math"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/artifacts"
)

// stageMinutes is how long each stage usually takes in the sample.
func stageMinutes() map[protocol.Stage]int {
	return map[protocol.Stage]int{
		protocol.StageSetup: 6, protocol.StageSnapshot: 2, protocol.StageBaseline: 48, protocol.StageGate: 16, protocol.StageTraining: 66, protocol.StageHeldout: 52,
	}
}

// life says how far a run of the sample got.
type life struct {
	id, challenge, collection, author string
	age                               time.Duration // since it was launched
	state                             protocol.RunState
	stages                            int // reached
	reason                            string
	fault                             protocol.FaultClass
	before, after                     int // passes, of a collected run
	verification                      protocol.Verification
	slow                              int // minutes that each stage took longer
}

func runs(now time.Time) []api.Run {
	hours := func(h float64) time.Duration { return time.Duration(h * float64(time.Hour)) }
	lives := []life{
		{id: RunQueued, challenge: Real, collection: ColLyra, author: "lyra-dev", age: hours(0.4), state: protocol.RunQueued},
		{id: RunActive, challenge: Smoke, collection: ColVega, author: "vega", age: hours(1.6), state: protocol.RunRunning, stages: 5},
		{id: RunPending2, challenge: Smoke, collection: ColKappa, author: "kappa", age: hours(9), state: protocol.RunScored, stages: 6, before: 4, after: 7, verification: protocol.Pending},
		{id: RunUncollect, challenge: Smoke, collection: ColOrion, author: "orion-lab", age: hours(14), state: protocol.RunScored, stages: 6},
		{
			id: RunPlatform, challenge: Smoke, collection: ColDelta, author: "delta", age: hours(20), state: protocol.RunFailed, stages: 3, fault: protocol.FaultPlatform,
			reason: "RuntimeError: OpenCode evaluation contains agent or verifier errors (6 > 4 tolerated); most often (6×): LiteLLM proxy failed to start for model. The proxy between the agent and the model did not start.",
		},
		{id: RunPending, challenge: Smoke, collection: ColAurora, author: "aurora", age: hours(60), state: protocol.RunScored, stages: 6, before: 4, after: 6, verification: protocol.Pending, slow: 4},
		{id: RunCanceled, challenge: Smoke, collection: ColDelta, author: "delta", age: hours(70), state: protocol.RunCanceled, stages: 4, fault: protocol.FaultCanceled, reason: "Canceled by delta."},
		{id: RunCollection, challenge: Smoke, collection: ColDelta, author: "delta", age: hours(90), state: protocol.RunFailed, stages: 4, fault: protocol.FaultCollection, reason: "RuntimeError: no gate task could be built"},
		{id: RunLimit, challenge: Smoke, collection: ColKappa, author: "kappa", age: hours(100), state: protocol.RunFailed, stages: 5, fault: protocol.FaultLimit, reason: "The job ran into its hard limit of 8 hours."},
		{id: RunNoJob, challenge: Smoke, collection: ColOrion, author: "orion-lab", age: hours(110), state: protocol.RunFailed, reason: "The provider refused the job: quota exceeded."},
		{id: RunRejected, challenge: Smoke, collection: ColKappa, author: "kappa", age: hours(130), state: protocol.RunScored, stages: 6, before: 5, after: 5, verification: protocol.Rejected},
	}
	for i, pair := range [][2]int{{4, 9}, {4, 8}, {5, 6}, {4, 4}} {
		of := []struct{ id, author string }{{ColAurora, "aurora"}, {ColAurora, "aurora"}, {ColOrion, "orion-lab"}, {ColDelta, "delta"}}[i]
		lives = append(lives, life{
			id: fmt.Sprintf("challenge-c0000000000%d", i+1), challenge: Smoke, collection: of.id, author: of.author, age: hours(float64(150 + 24*i)),
			state: protocol.RunScored, stages: 6, before: pair[0], after: pair[1], verification: protocol.Valid, slow: i,
		})
	}
	all := make([]api.Run, len(lives))
	for i, l := range lives {
		all[i] = l.run(now)
	}
	return all
}

// run is the run of a life.
func (l life) run(now time.Time) api.Run {
	created := now.Add(-l.age)
	r := api.Run{
		RunID: l.id, RequestKey: "req-" + l.id[10:], ChallengeID: l.challenge, EnvironmentID: l.collection, EnvironmentRevision: l.collection[4:] + "00000000000000000000000000",
		Author: l.author, LaunchedBy: l.author, State: l.state, Status: "RUNNING", Since: created, Provider: "simulated", Simulated: true, Flavor: "a100x8", TimeoutSeconds: 28_800,
		RecipeID: "grpo-v1", TrainTaskCount: 20, ExcludedTaskCount: 2, EvalTaskCount: SealedTasks, MaxComputeUSD: usd(160), CreatedAt: created, LogLines: 400,
		PlatformFault: l.fault == protocol.FaultPlatform,
	}
	if l.reason != "" {
		r.Reason = ptr(l.reason)
	}
	if l.fault != protocol.FaultNone {
		r.Fault = ptr(l.fault)
	}
	if l.stages == 0 {
		r.Status, r.LogLines = protocol.NotLaunched, 0
		if l.state == protocol.RunQueued {
			r.BlockedBy = ptr("waits for the provider to name a job")
		} else {
			r.EndedAt = ptr(created.Add(time.Minute))
		}
		return r
	}
	r.JobID = ptr("job-" + l.id[10:])
	r.StartedAt = ptr(created.Add(time.Minute))
	end := l.play(&r)
	if l.state.Ended() {
		r.Status, r.Since, r.EndedAt = "COMPLETED", end, ptr(end)
		r.SettledUSD = ptr(usd(20 * end.Sub(created).Hours()))
		if l.state != protocol.RunScored {
			r.Status = "ERROR"
		}
	}
	if l.verification != "" {
		r.Stage = ptr(protocol.StageCollect)
		r.Result = resultOf(r, l.before, l.after, l.verification, end.Add(40*time.Minute))
	}
	return r
}

// play fills in stages and training, and returns when the last stage ended.
func (l life) play(r *api.Run) time.Time {
	at := *r.StartedAt
	for i, stage := range protocol.Stages()[:l.stages] {
		last := i == l.stages-1
		p := protocol.StageProgress{Stage: stage, StartedAt: ptr(at)}
		total := map[protocol.Stage]int{protocol.StageBaseline: SealedTasks, protocol.StageGate: 8, protocol.StageTraining: 320, protocol.StageHeldout: SealedTasks}[stage]
		p.Total, p.Done = total, total
		at = at.Add(time.Duration(stageMinutes()[stage]+l.slow) * time.Minute)
		switch {
		case last && !l.state.Ended():
			p.Done = total * 3 / 8
		case last && l.state != protocol.RunScored:
			p.Done = total / 2
			p.EndedAt = ptr(at)
		default:
			p.EndedAt = ptr(at)
		}
		p.Passed = passes(stage, l, p.Done)
		p.Failed = p.Done - p.Passed
		p.Timeouts = p.Failed / 6
		if last && l.fault == protocol.FaultPlatform {
			p.Errors, p.Failed = 6, p.Failed-6
		}
		r.Stages, r.Stage = append(r.Stages, p), ptr(stage)
	}
	if l.stages >= 5 {
		steps := 40
		if !l.state.Ended() {
			steps = 15
		}
		r.Training = training(*r.StartedAt, steps)
	}
	return at
}

func passes(stage protocol.Stage, l life, done int) int {
	switch {
	case stage == protocol.StageBaseline && l.verification != "":
		return l.before
	case stage == protocol.StageHeldout && l.verification != "":
		return l.after
	case stage == protocol.StageGate:
		return done / 2
	default:
		return done / 5
	}
}

// training is a trainer's steps, with one spike that no picture may lose.
func training(from time.Time, steps int) []protocol.TrainingStep {
	var all []protocol.TrainingStep
	for i := 1; i <= steps; i++ {
		x := float64(i)
		v := map[string]float64{
			"reward": 0.2 + 0.3*(1-math.Exp(-x/12)) + 0.05*math.Sin(x), "reward_std": 0.45 - 0.002*x, "loss": 0.02*math.Exp(-x/9) - 0.001*math.Cos(x),
			"kl": 0.0001 * x * (1 + 0.3*math.Sin(x/2)), "entropy": 0.9 - 0.006*x + 0.01*math.Sin(x), "grad_norm": 0.25 + 0.1*math.Sin(x*1.7), "learning_rate": 1e-6,
		}
		if i == 17 {
			v["grad_norm"], v["kl"] = 4.2, 0.02
		}
		all = append(all, protocol.TrainingStep{Step: i, At: from.Add(75*time.Minute + time.Duration(i)*100*time.Second), Values: v})
	}
	return all
}

func jobOf(r api.Run) api.Job {
	j := api.Job{
		ID: r.JobID, Kind: "challenge-run", Purpose: "measure " + r.EnvironmentID, RunID: r.RunID, Challenge: r.ChallengeID, Provider: r.Provider, Flavor: r.Flavor, Stage: r.Status,
		CreatedAt: r.CreatedAt, StartedAt: r.StartedAt, FinishedAt: r.EndedAt, CostUSD: r.SettledUSD,
	}
	return j
}

// attempts are a run's attempts in every kind of ending.
func attempts(run string) []api.Attempt {
	endings := []artifacts.Ending{artifacts.Finished, artifacts.TimedOut, artifacts.CutOff, artifacts.Finished, artifacts.MalformedCall, artifacts.Errored}
	outcomes := []protocol.Outcome{protocol.OutcomePass, protocol.OutcomeTimeout, protocol.OutcomeFail, protocol.OutcomeFail, protocol.OutcomeFail, protocol.OutcomeError}
	var all []api.Attempt
	for i := range 20 {
		k := i % len(endings)
		at := artifacts.Attempt{
			Number: i + 1, Stage: protocol.StageGate, Task: fmt.Sprintf("wire-sort-%d", i%8+1), Outcome: outcomes[k], Ending: endings[k],
			Timing: artifacts.Timing{EnvironmentSetup: ptr(31.5), AgentExecution: ptr(400.0 + 17*float64(i)), Verifier: ptr(8.4), Total: ptr(460.0 + 17*float64(i))},
			Tools:  ptr(int64(7 + i)), InputTokens: ptr(int64(41_000 + 977*i)), OutputTokens: ptr(int64(2_100 + 31*i)), Path: fmt.Sprintf("jobs/grpo-gate/2000-01-01__00-00-00/wire-sort-%d__%08x", i%8+1, i+1),
		}
		if at.Outcome != protocol.OutcomeError {
			at.Reward = ptr(map[bool]float64{true: 1, false: 0}[at.Outcome == protocol.OutcomePass])
		} else {
			at.Error = "ACP initialize timed out after 120s"
		}
		if i >= 8 {
			at.Stage = protocol.StageTraining
			at.Rollout = &artifacts.Rollout{Step: (i - 8) / 8, Rank: 0, Index: (i - 8) % 8, Attempt: 1}
			at.Path = fmt.Sprintf("jobs/grpo-train/step-%06d/rank-00/rollout-%06d/attempt-01", (i-8)/8, (i-8)%8)
		}
		all = append(all, api.Attempt{RunID: run, Detail: artifacts.Detail{Attempt: at, Events: transcript(at), Checks: checks(at), Stdout: output(at)}})
	}
	return all
}

func transcript(a artifacts.Attempt) []artifacts.Event {
	return []artifacts.Event{
		{Type: "user_message", Text: "Sort the wires by length and write them to /app/output/wires.csv. Keep the header, and do not touch the input."},
		{Type: "agent_thought", Text: "First I look at the data. 長さで並べ替える。 The file may have a header 🧪 and control bytes \x1b[2J that must not clear anything."},
		{Type: "tool_call", Tool: "bash", Kind: "execute", Status: "completed", Text: "$ head -3 data/wires.csv\nname,length\nред,12\n\tblue,7"},
		{Type: "tool_call", Tool: "bash", Kind: "execute", Status: "failed", Text: "$ sort -t, -k2n data/wires.csv > output/wires.csv\nbash: output/wires.csv: No such file or directory"},
		{Type: "agent_message", Text: fmt.Sprintf("The output is written. (attempt %d)", a.Number)},
	}
}

func checks(a artifacts.Attempt) artifacts.Checks {
	c := artifacts.Checks{Source: "ctrf", Passed: 1, Tests: []artifacts.Check{{Name: "test_header_is_kept", Status: "passed"}}}
	if a.Outcome != protocol.OutcomePass {
		c.Failed = 1
		c.Tests = append(c.Tests, artifacts.Check{Name: "test_order", Status: "failed", Message: "AssertionError: wires are not sorted by length:\nexpected 7 before 12"})
	}
	return c
}

func output(a artifacts.Attempt) string {
	if a.Outcome == protocol.OutcomePass {
		return "2 passed in 0.03s\n"
	}
	return "FAILED test_order - AssertionError: wires are not sorted by length\n1 failed, 1 passed in 0.04s\n"
}

func (a *Arena) attemptsOf(run string) api.Attempts {
	out := api.Attempts{RunID: run}
	if run != a.AttemptsOf {
		return out
	}
	for _, at := range a.Attempts {
		out.Attempts = append(out.Attempts, at.Attempt)
	}
	f := artifacts.NewForecast(artifacts.CountTries(out.Attempts), 8)
	out.Forecast = &f
	return out
}

// logLine writes the sample's log: the stages of a run with everything that a log
// can hold.
func logLine(from time.Time) func(n int64) protocol.LogLine {
	return func(n int64) protocol.LogLine {
		l := protocol.LogLine{N: n, At: from.Add(time.Duration(n) * 24 * time.Second)}
		switch {
		case n == 1:
			l.Text = "pipeline ref 2c37dc090d2a9e755d4dc3061166f39c86c653ad at 2c37dc0"
		case n%50 == 0:
			l.Text = fmt.Sprintf("[posttrainarena] stage_%d: bench eval run --tasks-dir data/eval --concurrency 8", n/50)
		case n%37 == 0:
			l.Text = fmt.Sprintf("[ERR] sealed-task-%02d: unexpected exception: ConnectionError('sandbox %d did not answer')", n%32+1, n)
		case n%11 == 0:
			l.Text = fmt.Sprintf("{'loss': %.5f, 'reward': 0.375, 'kl': %g, 'epoch': 0.5}", 1/float64(n), 0.0001*float64(n))
		case n%13 == 0:
			l.Text = "\x1b[32m進捗 ██████\x1b[0m 60%|######    |\t6/10 🧪 of the tasks that this line, which is much longer than any terminal is wide, goes on and on about without ever coming to its point"
		case n%5 == 0:
			l.Text = fmt.Sprintf("[PASS] wire-sort-%d (tools=%d)", n%8+1, n%60)
		default:
			l.Text = fmt.Sprintf("[FAIL] wire-sort-%d (tools=%d)", n%8+1, n%60)
		}
		return l
	}
}

// metricsOf adds an arena's runs up.
func metricsOf(a *Arena) api.RunMetrics {
	m := protocol.Metrics{Runs: len(a.Runs), Considered: len(a.Runs), ByState: map[protocol.RunState]int{}, Spend: protocol.Spend{Settled: a.Budget.SettledUSD, Reserved: a.Budget.ReservedUSD}}
	for _, r := range a.Runs {
		m.ByState[r.State]++
		if r.State == protocol.RunFailed {
			f := protocol.FailureCause{Cause: deref(r.Reason), Fault: deref(r.Fault), PlatformFault: r.PlatformFault, Runs: 1, LastRun: r.RunID, LastAt: r.Since}
			if r.Stage != nil {
				f.Stage = *r.Stage
			}
			m.Failures = append(m.Failures, f)
		}
	}
	return api.RunMetrics{Metrics: m, Simulated: a.Budget.Simulated}
}

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
