package simulated

import (
	"fmt"
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// Notes and fault lines of platform issues, as a log shows them (seed 000,
// fault_catalog).
const (
	noteVLLM     = "VLLM_FAILED"
	noteSnapshot = "RuntimeError: bench tasks snapshot-hf failed with exit code 1"
	noteLiteLLM  = "LiteLLM proxy failed to start for model…"
	noteACP      = "ACP initialize timed out after 120s"
)

// basePassRate is the untrained model's pass rate on sealed tasks, and the
// chances that a task passes after training by whether it did before: two
// optimizer steps move almost nothing (seed 000, run_log; invented).
const (
	basePassRate = 0.15
	keepsPassing = 0.88
	startsToPass = 0.03
)

// run plays the stages in order and reports whether the last one was passed.
func (p *player) run() bool {
	for _, stage := range []func() bool{p.setup, p.snapshot, p.baseline, p.gateStage, p.training, p.heldout} {
		if !stage() {
			return false
		}
	}
	p.mark(12*time.Second, "compare_eval_lift", "posttrainarena compare --baseline jobs/baseline --trained jobs/posttrain")
	p.exit(0, time.Minute)
	return true
}

// setup brings the model server and the bridge to the arena up.
func (p *player) setup() bool {
	c := p.stream("setup")
	ref := p.recipe.Pipeline.Ref
	p.say(0, "pipeline ref %s at %s", ref, ref[:min(7, len(ref))])
	if p.fault == FaultSetup {
		p.say(c.minutes(18, 21), noteVLLM)
		p.exit(1, 12*time.Second)
		return false
	}
	p.say(c.minutes(4.5, 6), "vllm up")
	p.say(12*time.Second, "bridge up")
	p.say(6*time.Second, "relay reachable via https://relay.example.org/relay/%s/v1", p.spec.Run)
	return true
}

// snapshot pins the training and the sealed tasks.
func (p *player) snapshot() bool {
	p.mark(6*time.Second, "snapshot_train_tasks", "bench tasks snapshot-hf %s --revision %s", p.sim.Source, p.sim.Revision)
	if p.fault == FaultSnapshot {
		return p.stop(noteSnapshot)
	}
	for i, s := range p.suites {
		name := "snapshot_eval_tasks"
		if i > 0 {
			name = "snapshot_benchmark_" + s.id
		}
		p.mark(18*time.Second, name, "bench tasks snapshot-hf %s --revision %s", s.repo, s.revision)
	}
	p.mark(18*time.Second, "validate_task_content_isolation", "posttrainarena isolation --train data/train --eval data/eval")
	return true
}

// baseline measures the untrained model on the sealed suites.
func (p *player) baseline() bool {
	note := ""
	if p.fault == FaultBaseline {
		note = noteLiteLLM
	}
	model := "vllm/" + p.sim.Challenge.BaseModel.RepoID
	return p.sealed(sealedStage{
		side: SideBefore, marker: "baseline_eval", extra: "baseline_benchmark_", model: model, note: note,
		passes: func(c chance, _ suite, _ string, _ int) bool { return c.hits(basePassRate + c.within(-0.03, 0.03)) },
	})
}

// heldout measures the trained model on the same suites.
func (p *player) heldout() bool {
	note := ""
	if p.fault == FaultHeldout {
		note = noteLiteLLM
	}
	var hang time.Duration
	if p.fault == FaultJobTimeout {
		hang = p.spec.Timeout
	}
	return p.sealed(sealedStage{
		side: SideAfter, marker: "posttrain_eval", extra: "final_benchmark_", model: "vllm/student", note: note, hang: hang,
		passes: func(c chance, s suite, task string, trial int) bool {
			switch p.outcomes[s.id][SideBefore][task][trial] {
			case protocol.OutcomePass:
				return c.hits(keepsPassing)
			case protocol.OutcomeError:
				return c.hits(basePassRate)
			default:
				return c.hits(startsToPass)
			}
		},
	})
}

// sealedStage is one side of the measurement on the sealed suites.
type sealedStage struct {
	side   string
	marker string // of the first suite
	extra  string // prefix of the further suites' markers
	model  string
	note   string // on the errored tasks of a faulty stage; empty for a healthy one
	hang   time.Duration
	passes func(c chance, s suite, task string, trial int) bool
}

// sealed evaluates every suite, each trial as a job of its own.
func (p *player) sealed(st sealedStage) bool {
	for i, s := range p.suites {
		name, dir := st.marker, "data/eval"
		if i > 0 {
			name, dir = st.extra+s.id, "data/benchmarks/"+s.id
		}
		p.mark(24*time.Second, name, "bench eval run --tasks-dir %s --agent %s --model %s --sandbox %s --concurrency %d",
			dir, p.recipe.Harness.Agent, st.model, p.recipe.Sandbox, p.recipe.Harness.Concurrency)
		for trial := range p.trials {
			c := p.stream(st.side, s.id, fmt.Sprint(trial))
			outcomes, ok := p.evaluate(evaluation{
				purpose: fmt.Sprintf("%s/%s/%d", st.side, s.id, trial), tasks: s.tasks, note: st.note, hang: st.hang,
				passes: func(task string) bool { return st.passes(c, s, task, trial) },
			})
			p.outcomes.add(s.id, st.side, outcomes)
			if !ok {
				return false
			}
		}
	}
	return true
}

// gateStage measures the untrained model on the first training tasks. The
// recipe's run policy is "always": the score never stops the run.
func (p *player) gateStage() bool {
	note := ""
	if p.fault == FaultGate {
		note = noteACP
	}
	tasks := p.sim.Train[:min(p.recipe.GateTaskCount, len(p.sim.Train))]
	rates := SolveRates(p.seed, p.sim.Revision, p.sim.Train)
	c := p.stream("gate")
	p.mark(18*time.Second, "grpo_gate_eval", "bench eval run --tasks-dir data/train --agent %s --model vllm/%s --concurrency %d",
		p.recipe.Harness.Agent, p.sim.Challenge.BaseModel.RepoID, p.recipe.Harness.Concurrency)
	outcomes, ok := p.evaluate(evaluation{
		purpose: "gate", tasks: tasks, note: note, keep: true,
		passes: func(task string) bool { return c.hits(rates[task]) },
	})
	p.gate = float64(count(outcomes, protocol.OutcomePass)) / float64(max(1, len(tasks)))
	return ok
}

// count counts the tasks with an outcome.
func count(outcomes map[string]protocol.Outcome, want protocol.Outcome) int {
	n := 0
	for _, o := range outcomes {
		if o == want {
			n++
		}
	}
	return n
}
