package simulated

import (
	"fmt"
	"math"
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// What a rollout that timed out says, both in its error file and as the reason
// of the retry (reference/pipeline.md §4.5).
const rolloutError = "OpenCode evaluation telemetry coverage is incomplete"

// rolloutTimeouts is the share of failed rollout attempts that are timeouts
// (seed 000, run_log).
const rolloutTimeouts = 0.15

// training plays the optimizer steps on one group of rollouts of one task.
func (p *player) training() bool {
	p.mark(time.Minute, "sync_grpo_endpoint", "posttrainarena sync --endpoint student")
	task, rewards := p.group()
	if !p.rollouts(task, rewards) {
		return p.stop("RuntimeError: OpenCode GRPO rollout failed for %s after %d attempts", task, p.recipe.RolloutAttempts)
	}
	mean, deviation := spread(rewards)
	p.effect = deviation > 0
	for step := 1; step <= p.recipe.MaxSteps; step++ {
		p.step(step, mean, deviation)
	}
	if !p.effect && p.recipe.RequireRewardVariance {
		return p.stop("RuntimeError: GRPO produced zero within-group reward variance; increase runtime.num_generations or improve reward shaping")
	}
	p.clock += 18 * time.Second
	return true
}

// group returns the task that this collection trains on and the rewards of its
// rollouts. The task is the same in every run of a revision: the first in the
// revision's own order that the model sometimes solves. Rewards that must
// differ are drawn until they do.
func (p *player) group() (task string, solved []bool) {
	train := p.sim.Train
	rates := SolveRates(p.seed, p.sim.Revision, train)
	for _, i := range newChance(p.seed, "group", p.sim.Revision).Perm(len(train)) {
		if task = train[i]; rates[task] > 0 {
			break
		}
	}
	solved = make([]bool, p.recipe.NumGenerations)
	if p.fault == FaultZeroVariance {
		return task, solved
	}
	c := p.stream("group")
	// The least likely group, 8 rollouts at 0.95, has variance in one draw of
	// three, so the bound is never reached by a group that can have it.
	for range 1000 {
		for k := range solved {
			solved[k] = c.hits(rates[task])
		}
		if _, deviation := spread(solved); deviation > 0 || !p.recipe.RequireRewardVariance {
			break
		}
	}
	return task, solved
}

// rollouts plays all rollouts of a group at once. An attempt that times out has
// incomplete telemetry and is repeated; the last one counts. It reports false
// when a rollout has no attempt that counts.
func (p *player) rollouts(task string, solved []bool) bool {
	c := p.stream("rollouts")
	rate := SolveRates(p.seed, p.sim.Revision, p.sim.Train)[task]
	stuck := -1
	if p.fault == FaultRollout {
		stuck = c.IntN(len(solved))
	}
	began := p.clock
	var lines []Line
	for k, passes := range solved {
		at := began + c.seconds(1, 20)
		for number := 1; number <= p.recipe.RolloutAttempts; number++ {
			last := number == p.recipe.RolloutAttempts
			late := k == stuck || !last && c.hits((1-rate)*rolloutTimeouts)
			a := attempt{stage: protocol.StageTraining, task: task, rollout: k, number: number, passed: passes && !late, timedOut: late, retried: late}
			p.spendRollout(c, &a)
			a.ended = at + a.took + c.seconds(20, 60)
			lines = append(lines,
				Line{at, fmt.Sprintf("[posttrainarena] grpo_rollout_%06d_%06d: bench eval run --tasks-dir data/train --task-id %s --model vllm/student", 0, k, task)},
				Line{a.ended, a.verdict(p.limitNote())})
			p.attempts = append(p.attempts, a)
			at = a.ended
			if !late {
				break
			}
		}
	}
	p.sayAll(lines)
	return stuck < 0
}

// spendRollout draws how long an attempt of a rollout takes and how many tools
// it uses.
func (p *player) spendRollout(c chance, a *attempt) {
	limit := float64(p.recipe.Harness.AgentTimeoutSecs)
	a.tools = c.count(3, 60)
	if a.timedOut {
		a.took = span(limit+c.within(5, 40), time.Second)
		return
	}
	a.took = span(limit*c.within(0.13, 0.96), time.Second)
}

// spread returns the mean and the standard deviation of a group's rewards.
func spread(solved []bool) (mean, deviation float64) {
	for _, s := range solved {
		if s {
			mean++
		}
	}
	mean /= float64(max(1, len(solved)))
	return mean, math.Sqrt(mean * (1 - mean))
}

// step prints what the trainer logs for one optimizer step.
func (p *player) step(step int, mean, deviation float64) {
	c := p.stream("step", fmt.Sprint(step))
	loss, norm, flat := round(c.gauss(0, 0.002), 5), round(math.Abs(c.gauss(0.2, 0.05)), 4), 0.0
	if deviation == 0 {
		loss, norm, flat = 0, 0, 1
	}
	p.say(c.minutes(2, 6), "%s", pythonDict([]entry{
		{"loss", loss},
		{"grad_norm", norm},
		{"learning_rate", p.recipe.LearningRate},
		{"num_tokens", float64(c.count(60_000, 120_000))},
		{"completions/mean_length", round(c.within(6000, 9000), 1)},
		{"rewards/opencode_reward/mean", round(mean, 4)},
		{"reward", round(mean, 4)},
		{"reward_std", round(deviation, 4)},
		{"frac_reward_zero_std", flat},
		{"kl", round(math.Abs(c.gauss(0.0004*float64(step), 0.0002)), 6)},
		{"entropy", round(c.within(0.7, 0.9), 4)},
		{"epoch", round(float64(step)/float64(p.recipe.MaxSteps), 2)},
	}))
}
