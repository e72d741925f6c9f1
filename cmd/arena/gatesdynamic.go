package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/posttrainarena/arena/gates/dynamic"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/artifacts"
)

// maxPlan bounds a plan's file: 200 tasks with fifty runs of each control fit.
const maxPlan = 64 << 20

// gatesPlanCmd asks for a plan.
type gatesPlanCmd struct {
	remote
	Challenge      string `required:"" placeholder:"CHALLENGE" help:"The challenge whose base model attempts the tasks."`
	ID             string `name:"id" required:"" placeholder:"ENV" help:"The collection's id, env-…."`
	ControlsReruns int    `placeholder:"N" help:"Runs of each control; 8 otherwise."`
	BandAttempts   int    `placeholder:"N" help:"Attempts of the base model; 4 otherwise."`
	RequireOracle  bool   `xor:"oracle" help:"Leave out tasks without a working reference solution, whatever the arena's policy."`
	AllowNoOracle  bool   `xor:"oracle" help:"Plan tasks without a working reference solution, whatever the arena's policy."`
	Out            string `placeholder:"FILE" help:"Write the plan to this file as well."`
}

// Run prints or writes the plan.
func (cmd *gatesPlanCmd) Run(ctx context.Context, env *environ) error {
	c, err := env.signed()
	if err != nil {
		return err
	}
	req := api.GatePlanRequest{ControlsReruns: cmd.ControlsReruns, BandAttempts: cmd.BandAttempts}
	if cmd.RequireOracle || cmd.AllowNoOracle {
		req.RequireOracle = &cmd.RequireOracle
	}
	a, err := c.PlanGates(ctx, cmd.Challenge, cmd.ID, req)
	if err != nil {
		return err
	}
	if err := env.put(cmd.Out, a.Raw); err != nil {
		return err
	}
	p := a.Value
	env.say("%s with %s; plan %s", counted(len(p.Tasks), "task"), counted(p.Steps(), "step"), p.Digest)
	env.say("Run the commands in the collection's directory, after: %s", p.Install)
	if cmd.Out != "" {
		env.say("%s", next("gates", "collect", "--plan", cmd.Out, "--jobs-root", dynamic.JobsRoot, "--out", "results.json"))
	}
	return nil
}

// put writes a document to standard output, and to a file when there is a name.
func (env *environ) put(name string, raw json.RawMessage) error {
	if name != "" {
		if err := write(name, slices.Concat(raw, []byte{'\n'})); err != nil {
			return err
		}
	}
	return env.answer(raw)
}

// gatesCollectCmd makes results from a machine's files.
type gatesCollectCmd struct {
	Plan     string `required:"" placeholder:"FILE" help:"The plan that was run."`
	JobsRoot string `required:"" placeholder:"DIR" help:"The directory that its commands wrote to."`
	Out      string `placeholder:"FILE" help:"Write the results to this file as well."`
	Rest     string `placeholder:"FILE" help:"Write the commands to run again, for what the results leave open, to this file."`
}

// Run collects, and says what judging the results would give.
func (cmd *gatesCollectCmd) Run(_ context.Context, env *environ) error {
	p, err := env.plan(cmd.Plan)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(cmd.JobsRoot)
	if err != nil {
		return usagef("read the jobs directory: %w", err)
	}
	defer root.Close()
	r, problems, err := collectJobs(p, root.FS())
	if err != nil {
		return err
	}
	for _, problem := range problems[:min(len(problems), 20)] {
		env.say("%s: %s", problem.Path, problem.Detail)
	}
	raw, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode the results: %w", err)
	}
	if err := env.put(cmd.Out, raw); err != nil {
		return err
	}
	env.say("%d of %s left a trial.", len(r.Trials), counted(p.Steps(), "step"))
	env.tell(judgedLines(dynamic.Judge(p, r.Trials)))
	if err := cmd.rest(env, dynamic.Rest(p, r.Trials)); err != nil {
		return err
	}
	if cmd.Out != "" && p.EnvironmentID != "" {
		env.say("%s   (editors)", next("gates", "attach", "--challenge", p.ChallengeID, "--id", p.EnvironmentID, "--file", cmd.Out))
	}
	return nil
}

// rest says or writes which commands to run again.
func (cmd *gatesCollectCmd) rest(env *environ, steps []dynamic.Step) error {
	if cmd.Rest != "" {
		var b strings.Builder
		for _, s := range steps {
			b.WriteString(s.Command + "\n")
		}
		if err := write(cmd.Rest, []byte(b.String())); err != nil {
			return err
		}
	}
	if len(steps) > 0 {
		env.say("%s to run again; --rest FILE writes the commands.", counted(len(steps), "step"))
	}
	return nil
}

// plan reads a plan and checks that nobody changed it.
func (env *environ) plan(name string) (dynamic.Plan, error) {
	var p dynamic.Plan
	if err := env.decodeUpTo(name, maxPlan, &p); err != nil {
		return p, err
	}
	if !p.Intact() {
		return p, usagef("%s is not a plan as it was made: its content does not have the digest %q. Plan again", name, p.Digest)
	}
	return p, nil
}

// collectJobs reads the jobs of a plan's steps.
func collectJobs(p dynamic.Plan, jobs fs.FS) (dynamic.Results, []artifacts.Problem, error) {
	var problems []artifacts.Problem
	r, err := dynamic.Collect(p, func(dir string) ([]dynamic.Trial, error) {
		found, wrong := artifacts.Trials(jobs, dir)
		problems = append(problems, wrong...)
		trials := make([]dynamic.Trial, len(found))
		for i, t := range found {
			trials[i] = trialFrom(t)
		}
		return trials, nil
	})
	return r, problems, err
}

// trialFrom is a recorded trial as the gates judge it.
func trialFrom(t artifacts.Trial) dynamic.Trial {
	return dynamic.Trial{
		Task: t.Task, Reward: t.Reward, RewardProblem: t.RewardProblem, Started: t.Started, TimedOut: t.TimedOut,
		Checks: dynamic.Checks{Source: t.Checks.Source, Passed: t.Checks.Passed, Failed: t.Checks.Failed, Skipped: t.Checks.Skipped},
		Error:  t.Error, Category: t.Category, VerifierError: t.VerifierError, VerifierProblem: t.VerifierCategory,
		Agent: t.Agent, Model: t.Model, TaskDigest: t.TaskDigest, Finished: t.Finished,
	}
}

// judgedLines says what a judgement comes to, what is not accepted first.
func judgedLines(all []dynamic.Verdict) []string {
	n := map[dynamic.Decision]int{}
	var lines []string
	for _, v := range all {
		n[v.Decision]++
		if v.Decision != dynamic.Accepted {
			lines = append(lines, fmt.Sprintf("  %-12s %s: %s", v.Decision, v.Task, v.Reasons[0]))
		}
	}
	return append([]string{fmt.Sprintf("%d accepted, %d rejected, %d inconclusive", n[dynamic.Accepted], n[dynamic.Rejected], n[dynamic.Inconclusive])}, lines...)
}

// gatesAttachCmd attaches results.
type gatesAttachCmd struct {
	remote
	Challenge string `required:"" placeholder:"CHALLENGE" help:"The challenge."`
	ID        string `name:"id" required:"" placeholder:"ENV" help:"The collection's id, env-…."`
	File      string `required:"" placeholder:"FILE" help:"The results that gates collect made; - is standard input."`
	DryRun    bool   `help:"Only show what the arena's judgement would be."`
}

// Run has the results judged.
func (cmd *gatesAttachCmd) Run(ctx context.Context, env *environ) error {
	var req api.AttachGates
	if err := env.decodeUpTo(cmd.File, api.MaxResults, &req); err != nil {
		return err
	}
	req.DryRun = req.DryRun || cmd.DryRun
	c, err := env.signed()
	if err != nil {
		return err
	}
	a, err := c.AttachGates(ctx, cmd.Challenge, cmd.ID, req)
	if err != nil {
		return uncertain(err, "The verdict may have been stored. See it with: arena gates get --challenge "+argument(cmd.Challenge)+" --id "+argument(cmd.ID))
	}
	if err := env.answer(a.Raw); err != nil {
		return err
	}
	env.tell(attachedLines(a.Value))
	return nil
}

// attachedLines says what attaching gave and what comes next.
func attachedLines(a api.AttachedGates) []string {
	first := fmt.Sprintf("Version %d of the verdict: %d accepted, %d rejected, %d inconclusive.", a.Verdict.Version, a.Accepted, a.Rejected, a.Inconclusive)
	if a.DryRun {
		first = "Nothing was stored. It would be: " + first
	}
	lines := []string{first}
	for _, t := range a.Verdict.Tasks {
		if t.Decision != protocol.TaskAccepted && len(t.Reasons) > 0 {
			lines = append(lines, fmt.Sprintf("  %-12s %s: %s", t.Decision, t.Task, t.Reasons[0]))
		}
	}
	return append(lines, next("gates", "get", "--challenge", a.ChallengeID, "--id", a.EnvironmentID))
}
