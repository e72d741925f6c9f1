package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/posttrainarena/arena/fixture/world/chaos"
)

// simCmd plays the arena's rules against a world that lies and a process that
// dies.
type simCmd struct {
	Seeds int    `placeholder:"N" default:"2000" help:"How many seeds to play."`
	From  uint64 `placeholder:"SEED" default:"1" help:"The first of them. With --seeds 1 it is played again."`
	Steps int    `placeholder:"N" help:"Steps of one play before the world becomes honest; 40 by default."`
	Limit int    `placeholder:"N" default:"1" help:"Stop when so many seeds have broken a rule."`
	Dir   string `placeholder:"DIR" help:"Where the databases of the plays are kept meanwhile; the system's temporary directory by default."`
}

func (simCmd) speaksJSON() bool { return true }

// Run plays and prints what came of it. A broken rule ends in exit code 1, with
// a trace that says what happened.
func (cmd *simCmd) Run(ctx context.Context, env *environ) (err error) {
	if cmd.Seeds < 1 || cmd.Limit < 1 || cmd.Steps < 0 {
		return usagef("--seeds and --limit are at least 1, and --steps is not negative")
	}
	dir, err := os.MkdirTemp(cmd.Dir, "arena-sim-")
	if err != nil {
		return usagef("make a directory for the plays: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	began := env.Now()
	report, err := chaos.Many(ctx, chaos.Options{Dir: dir, Steps: cmd.Steps}, cmd.From, cmd.Seeds, cmd.Limit, func(done int) {
		if done%500 == 0 {
			env.say("%d seeds played", done)
		}
	})
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	env.say("%s with %d steps in %.0f s: %s.", counted(report.Seeds, "seed"), report.Steps, env.Now().Sub(began).Seconds(), counted(len(report.Violations), "broken rule"))
	for _, v := range report.Violations {
		env.tell(violationLines(v))
	}
	if err := env.document(report); err != nil {
		return err
	}
	if len(report.Violations) > 0 {
		return &verdict{exitError, "a rule was broken"}
	}
	return nil
}

// violationLines tell how a rule was broken, and how to see it again.
func violationLines(v *chaos.Violation) []string {
	lines := []string{v.Error()}
	for _, step := range v.Trace {
		lines = append(lines, "  "+step)
	}
	return append(lines, fmt.Sprintf("Again: arena sim --seeds 1 --from %d", v.Seed))
}
