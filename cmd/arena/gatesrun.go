package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/posttrainarena/arena/gates"
	"github.com/posttrainarena/arena/gates/adversary"
	"github.com/posttrainarena/arena/gates/controls"
	"github.com/posttrainarena/arena/gates/dynamic"
	"github.com/posttrainarena/arena/gates/task"
	"github.com/posttrainarena/arena/protocol/engine"
)

// gatesRunCmd runs controls on this machine.
type gatesRunCmd struct {
	Dir            string `arg:"" optional:"" default:"." help:"The collection's directory; without --plan also a directory of packages, or one package."`
	Plan           string `placeholder:"FILE" help:"The plan to run. Without one the directory's own controls are run."`
	JobsRoot       string `default:"gates" placeholder:"DIR" help:"Where the jobs are written. Trials that are there already are not run again."`
	Jobs           int    `default:"1" placeholder:"N" help:"Trials at a time."`
	ControlsReruns int    `placeholder:"N" help:"Runs of each control, without --plan; 8 otherwise."`
	NoBuildNetwork bool   `help:"Build the images without a network too."`

	Adversaries bool     `help:"Also try to cheat each verifier, and say what gets through and how to close it."`
	NoControls  bool     `help:"With --adversaries: run those alone."`
	Attack      []string `placeholder:"NAME" help:"With --adversaries: only this one, or mutant; may be repeated."`
	Mutants     int      `default:"4" placeholder:"N" help:"With --adversaries: mutants of each reference solution; ${default} otherwise."`
	MutantSeed  uint64   `default:"1" placeholder:"N" help:"With --adversaries: chooses among the possible mutants; ${default} otherwise."`
}

// judgement is what gates run prints.
type judgement struct {
	PlanDigest string            `json:"plan_digest"`
	Verdicts   []dynamic.Verdict `json:"verdicts"`            // of the controls; none when they were not run
	Soundness  *adversary.Report `json:"soundness,omitempty"` // of the verifiers; no part of the verdicts
}

// Run runs the controls and prints what they come to. It ends with 1 when a task is not accepted, or when an adversary
// got through.
func (cmd *gatesRunCmd) Run(ctx context.Context, env *environ) error {
	against, err := cmd.adversaries()
	if err != nil {
		return err
	}
	packages, tree, closeDir, err := cmd.packages()
	if err != nil {
		return err
	}
	defer closeDir()
	p, err := cmd.plan(env, packages, tree)
	if err != nil {
		return err
	}
	if err := controls.Check(p, packages); err != nil {
		return usagef("%s is not what the plan is for: %w", cmd.Dir, err)
	}
	root, err := filepath.Abs(cmd.JobsRoot)
	if err != nil {
		return usagef("find the jobs directory: %w", err)
	}
	e, err := engine.Open(ctx, env.Getenv("DOCKER_HOST"))
	if err != nil {
		return fmt.Errorf("the controls need a container engine on this machine: %w", err)
	}
	defer e.Close()
	err = controls.Run(ctx, controls.Config{
		Engine: localEngine{e}, Jobs: root, Parallel: cmd.Jobs, NoBuildNetwork: cmd.NoBuildNetwork, Now: env.Now, ID: trialID,
		Adversaries: against, NoControls: cmd.NoControls,
		Progress: func(ev controls.Event) { env.say("%s", eventLine(ev)) },
	}, p, packages)
	if err != nil {
		return err
	}
	return cmd.judge(env, p, packages, against, root)
}

// adversaries is what to try against the verifiers; nil when that was not asked for.
func (cmd *gatesRunCmd) adversaries() (*adversary.Options, error) {
	switch {
	case !cmd.Adversaries && (cmd.NoControls || len(cmd.Attack) > 0):
		return nil, usagef("--no-controls and --attack are for --adversaries")
	case !cmd.Adversaries:
		return nil, nil
	case cmd.Mutants < 0 || cmd.Mutants > adversary.MaxMutants:
		return nil, usagef("--mutants must be from 0 to %d", adversary.MaxMutants)
	}
	for _, name := range cmd.Attack {
		if _, ok := adversary.Find(name); !ok && name != string(adversary.MutantKind) {
			var all []string
			for _, a := range adversary.Attacks() {
				all = append(all, a.Name)
			}
			return nil, usagef("there is no attack %q; there are %s, and %s", name, strings.Join(all, ", "), adversary.MutantKind)
		}
	}
	return &adversary.Options{Mutants: cmd.Mutants, Seed: cmd.MutantSeed, Only: cmd.Attack}, nil
}

// judge prints the verdicts on what is in the jobs directory now.
func (cmd *gatesRunCmd) judge(env *environ, p dynamic.Plan, packages []task.Package, against *adversary.Options, root string) error {
	jobs, err := os.OpenRoot(root)
	if err != nil {
		return fmt.Errorf("read the jobs directory: %w", err)
	}
	defer jobs.Close()
	out := judgement{PlanDigest: p.Digest, Verdicts: []dynamic.Verdict{}}
	var lines []string
	if !cmd.NoControls {
		r, _, err := collectJobs(p, jobs.FS())
		if err != nil {
			return err
		}
		out.Verdicts = dynamic.Judge(p.ControlsOnly(), r.Trials)
		lines = judgedLines(out.Verdicts)
	}
	if against != nil {
		rep, err := controls.Soundness(jobs, p, packages, *against)
		if err != nil {
			return err
		}
		out.Soundness = &rep
		lines = append(lines, rep.Lines()...)
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("encode the verdicts: %w", err)
	}
	if err := env.answer(raw); err != nil {
		return err
	}
	env.tell(lines)
	if against != nil {
		env.say("The report: %s", filepath.Join(root, controls.SoundnessText))
	}
	if cmd.Plan != "" && !cmd.NoControls {
		env.say("%s", next("gates", "collect", "--plan", cmd.Plan, "--jobs-root", cmd.JobsRoot, "--out", "results.json"))
	}
	return out.failure()
}

// failure is the command's verdict.
func (j judgement) failure() error {
	for _, v := range j.Verdicts {
		if v.Decision != dynamic.Accepted {
			return &verdict{code: exitError, text: "not every task is accepted"}
		}
	}
	if j.Soundness == nil {
		return nil
	}
	for _, t := range j.Soundness.Tasks {
		switch t.Soundness {
		case adversary.Unsound:
			return &verdict{code: exitError, text: "an adversary got through"}
		case adversary.Undecided:
			return &verdict{code: exitError, text: "not every adversary could be tried; run the same command again"}
		}
	}
	return nil
}

// packages reads the directory.
func (cmd *gatesRunCmd) packages() ([]task.Package, task.Tree, func() error, error) {
	root, err := os.OpenRoot(cmd.Dir)
	if err != nil {
		return nil, task.Tree{}, nil, usagef("read the directory: %w", err)
	}
	tree, err := task.ReadTree(root.FS(), task.DefaultLimits())
	if err != nil {
		_ = root.Close()
		return nil, tree, nil, usagef("%s cannot be read as a collection: %w", cmd.Dir, err)
	}
	if abs, err := filepath.Abs(cmd.Dir); err == nil {
		tree.Name = filepath.Base(abs)
	}
	col, _ := task.ReadPackages(tree, "", task.DefaultLimits())
	if len(col.Packages) == 0 {
		_ = root.Close()
		return nil, tree, nil, usagef("%s holds no task package", cmd.Dir)
	}
	return col.Packages, tree, root.Close, nil
}

// plan reads the plan, or makes one of every package of the directory. What the static gates exclude is run all the
// same: the author wants to know.
func (cmd *gatesRunCmd) plan(env *environ, packages []task.Package, tree task.Tree) (dynamic.Plan, error) {
	if cmd.Plan != "" {
		if cmd.ControlsReruns != 0 {
			return dynamic.Plan{}, usagef("--controls-reruns is for a directory without a plan; ask for it in gates plan")
		}
		return env.plan(cmd.Plan)
	}
	if cmd.ControlsReruns < 0 || cmd.ControlsReruns > 50 {
		return dynamic.Plan{}, usagef("--controls-reruns must be from 1 to 50")
	}
	revision, err := task.GitTreeID(tree.Entries)
	if err != nil {
		return dynamic.Plan{}, err
	}
	rep := gates.Report(packages, nil, gates.Options{})
	clear(rep.Excluded)
	tasks, err := dynamic.Tasks(rep, packages)
	if err != nil {
		return dynamic.Plan{}, err
	}
	o := dynamic.Options{ControlsReruns: dynamic.DefaultReruns}
	if cmd.ControlsReruns > 0 {
		o.ControlsReruns = cmd.ControlsReruns
	}
	return dynamic.New(dynamic.Target{Revision: revision, GateSet: rep.GateSet, GateVersion: rep.Version, PolicyDigest: rep.PolicyDigest, Sandbox: "docker"},
		o, dynamic.Harness{}, tasks), nil
}

// trialID is what the harness puts behind a trial's task: 8 hex digits.
func trialID() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// eventLine is an event as a line.
func eventLine(e controls.Event) string {
	what := map[string]string{controls.Passed: "ok", controls.Failed: "FAIL", controls.Unbuilt: "NO IMAGE", controls.Lost: "LOST", controls.Built: "built", controls.Kept: "kept", controls.Weak: "weak"}[e.What]
	line := fmt.Sprintf("[%d/%d] %-8s %s %s", e.Done, e.Steps, what, e.Task, e.Gate)
	switch {
	case e.Name != "":
		line += " " + e.Name
	case e.Gate != dynamic.Build:
		line += fmt.Sprintf(" %d", e.Number)
	}
	if e.Took > 0 {
		line += fmt.Sprintf(" (%.1f s)", e.Took.Seconds())
	}
	if detail, _, _ := strings.Cut(e.Detail, "\n"); detail != "" {
		line += ": " + detail
	}
	return line
}
