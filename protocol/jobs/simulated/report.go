package simulated

import (
	"maps"
	"math"
	"slices"

	"github.com/posttrainarena/arena/protocol"
)

// Where the pipeline puts its reports.
const (
	scorePath    = "reports/score.json"
	outcomesPath = "reports/eval_task_outcomes.json"
)

// outcomesReport is reports/eval_task_outcomes.json (reference/pipeline.md §9,
// answer 7).
type outcomesReport struct {
	SchemaVersion int      `json:"schema_version"`
	Suites        Outcomes `json:"suites"`
}

// scoreReport is reports/score.json: the members that seed 000 writes, and
// score_v2 for challenges with several suites or trials. Members are in the
// order of their names, as the pipeline sorts them.
type scoreReport struct {
	BaselineScore       float64      `json:"baseline_score"`
	DeltaScore          float64      `json:"delta_score"`
	EvalDataset         dataset      `json:"eval_dataset"`
	EvalTaskIDs         []string     `json:"eval_task_ids"`
	FinalModel          string       `json:"final_model"`
	GRPOEffectiveUpdate bool         `json:"grpo_effective_update"`
	GRPOGateScore       float64      `json:"grpo_gate_score"`
	GRPOPlanned         bool         `json:"grpo_planned"`
	GRPORan             bool         `json:"grpo_ran"`
	GRPORunPolicy       string       `json:"grpo_run_policy"`
	GRPOThreshold       float64      `json:"grpo_threshold"`
	Model               string       `json:"model"`
	ModelRevision       string       `json:"model_revision"`
	RunName             string       `json:"run_name"`
	SchemaVersion       int          `json:"schema_version"`
	ScoreAfterPosttrain float64      `json:"score_after_posttrain"`
	ScoreV2             *pooledScore `json:"score_v2,omitempty"`
	SFTScore            *float64     `json:"sft_score"`
	TrainTaskIDs        []string     `json:"train_task_ids"`
}

// dataset pins where tasks come from.
type dataset struct {
	RepoID   string `json:"repo_id"`
	Revision string `json:"revision"`
}

// report adds the reports of a run that came to its end.
func (p *player) report(files map[string][]byte) {
	before, after := p.passRate(SideBefore), p.passRate(SideAfter)
	score := scoreReport{
		SchemaVersion: 1, RunName: p.spec.Run,
		Model: p.sim.Challenge.BaseModel.RepoID, ModelRevision: p.sim.Challenge.BaseModel.Revision, FinalModel: "grpo_merged",
		TrainTaskIDs: p.sim.Train, GRPOGateScore: p.gate,
		GRPOPlanned: true, GRPORan: true, GRPOEffectiveUpdate: p.effect, GRPORunPolicy: "always",
	}
	for i, s := range p.suites {
		if i == 0 {
			score.EvalDataset = dataset{s.repo, s.revision}
		}
		score.EvalTaskIDs = append(score.EvalTaskIDs, s.tasks...)
	}
	slices.Sort(score.EvalTaskIDs)
	if len(p.suites) > 1 || p.trials > 1 {
		pooled := pool(p.outcomes, p.trials)
		score.ScoreV2 = &pooled
	}
	if p.fault == FaultWrongReport {
		after = lie(after, len(score.EvalTaskIDs)*p.trials)
		if score.ScoreV2 != nil {
			score.ScoreV2.DeltaPP++
		}
	}
	score.BaselineScore, score.ScoreAfterPosttrain, score.DeltaScore = before, after, after-before
	files[scorePath] = pretty(score)
	if p.fault != FaultNoOutcomes {
		files[outcomesPath] = pretty(outcomesReport{SchemaVersion: 1, Suites: p.reported()})
	}
}

// lie returns a pass rate that is one attempt away from the true one.
func lie(rate float64, n int) float64 {
	one := 1 / float64(max(1, n))
	if rate+one > 1 {
		return rate - one
	}
	return rate + one
}

// reported returns the outcomes as they are uploaded: all of them, or under
// FaultMissingOutcomes all but those of one task after training.
func (p *player) reported() Outcomes {
	if p.fault != FaultMissingOutcomes || len(p.suites) == 0 {
		return p.outcomes
	}
	first := p.suites[0]
	shown := maps.Clone(p.outcomes)
	shown[first.id] = maps.Clone(shown[first.id])
	shown[first.id][SideAfter] = maps.Clone(shown[first.id][SideAfter])
	delete(shown[first.id][SideAfter], first.tasks[0])
	return shown
}

// passRate is the share of all attempts of a side that passed. Errors count as
// attempts, as in seed 000.
func (p *player) passRate(side string) float64 {
	passed, n := 0, 0
	for _, sides := range p.outcomes {
		for _, trials := range sides[side] {
			for _, outcome := range trials {
				n++
				if outcome.Passed() {
					passed++
				}
			}
		}
	}
	return float64(passed) / float64(max(1, n))
}

// pooledScore is the score_v2 member (reference/pipeline.md §9, answers 6 and
// 7). Cells with an infrastructure error on either side are left out.
type pooledScore struct {
	DeltaPP       float64               `json:"delta_pp"`
	StderrPP      float64               `json:"stderr_pp"`
	Trials        int                   `json:"trials"`
	PairedCells   int                   `json:"paired_cells"`
	ExcludedCells int                   `json:"excluded_cells"`
	Suites        map[string]suiteScore `json:"suites"`
}

// suiteScore is one suite's part of a pooledScore.
type suiteScore struct {
	BaselinePassRate float64 `json:"baseline_pass_rate"`
	AfterPassRate    float64 `json:"after_pass_rate"`
	DeltaPP          float64 `json:"delta_pp"`
	StderrPP         float64 `json:"stderr_pp"`
	NTasks           int     `json:"n_tasks"`
}

// pairs sums paired cells. Its clusters are the tasks: the trials of one task
// are not independent of each other.
type pairs struct {
	clusters              []cluster
	before, after, n, out int
	tasks                 int
}

// cluster is one task's sum of differences and number of cells.
type cluster struct{ sum, n int }

// pool computes score_v2 the way the pipeline does.
func pool(outcomes Outcomes, trials int) pooledScore {
	var all pairs
	score := pooledScore{Trials: trials, Suites: map[string]suiteScore{}}
	for _, id := range slices.Sorted(maps.Keys(outcomes)) {
		part := pair(outcomes[id])
		score.Suites[id] = suiteScore{
			BaselinePassRate: share(part.before, part.n), AfterPassRate: share(part.after, part.n),
			DeltaPP: part.delta(), StderrPP: part.stderr(), NTasks: part.tasks,
		}
		all.clusters = append(all.clusters, part.clusters...)
		all.before, all.after, all.n, all.out = all.before+part.before, all.after+part.after, all.n+part.n, all.out+part.out
	}
	score.DeltaPP, score.StderrPP, score.PairedCells, score.ExcludedCells = all.delta(), all.stderr(), all.n, all.out
	return score
}

// pair sums the cells of one suite.
func pair(sides map[string]map[string][]protocol.Outcome) pairs {
	var p pairs
	for _, task := range slices.Sorted(maps.Keys(sides[SideBefore])) {
		p.tasks++
		var c cluster
		for trial, before := range sides[SideBefore][task] {
			after := sides[SideAfter][task][trial]
			if before == protocol.OutcomeError || after == protocol.OutcomeError {
				p.out++
				continue
			}
			c.n++
			if before.Passed() {
				p.before++
				c.sum--
			}
			if after.Passed() {
				p.after++
				c.sum++
			}
		}
		if c.n > 0 {
			p.n += c.n
			p.clusters = append(p.clusters, c)
		}
	}
	return p
}

// share is k of n, 0 of nothing.
func share(k, n int) float64 { return float64(k) / float64(max(1, n)) }

// delta is the mean difference in percentage points.
func (p pairs) delta() float64 { return 100 * (share(p.after, p.n) - share(p.before, p.n)) }

// stderr is the standard error of the mean difference in percentage points,
// robust to dependence inside a task: sqrt(g/(g−1)·Σ(Σ(d−d̄))²)/n over g tasks.
// With one trial it is the paired error sqrt(s²/n). A single task shows no
// spread, so it has the unpaired error of two pass rates.
func (p pairs) stderr() float64 {
	g := float64(len(p.clusters))
	if g < 2 {
		b, a := share(p.before, p.n), share(p.after, p.n)
		return 100 * math.Sqrt((b*(1-b)+a*(1-a))/float64(max(1, p.n)))
	}
	mean := p.delta() / 100
	squares := 0.0
	for _, c := range p.clusters {
		residual := float64(c.sum) - float64(c.n)*mean
		squares += residual * residual
	}
	return 100 * math.Sqrt(g/(g-1)*squares) / float64(p.n)
}
