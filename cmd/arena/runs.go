package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/client"
)

// runCmd asks whether a run may start, and with --execute starts it.
type runCmd struct {
	remote
	Plan      []string `arg:"" optional:"" name:"plan RUN" help:"The word plan and a run's id: print what the job of that run executes, and start nothing."`
	Challenge string   `placeholder:"CHALLENGE" help:"The challenge to run on; required, but for plan."`
	ID        string   `name:"id" placeholder:"ENV" help:"The collection's id, env-…; required, but for plan."`
	Execute   bool     `xor:"mode" help:"Start the run. It uses the challenge's compute and costs you nothing."`
	DryRun    bool     `xor:"mode" help:"Only check, which is what happens without --execute too."`
	File      string   `placeholder:"FILE" help:"JSON with request_id and optionally agent_id; - is standard input."`
	RequestID string   `placeholder:"ID" help:"The request id, instead of a file. Keep it: repeating it never starts a second run."`
	Wait      waitFlag `placeholder:"DURATION" help:"Wait until the run has ended, at most DURATION when it is given (--wait=2h)."`
}

// Validate refuses what is neither a run nor a plan.
func (cmd *runCmd) Validate() error {
	switch {
	case len(cmd.Plan) == 0:
		return missingFlags(cmd.Challenge, cmd.ID)
	case len(cmd.Plan) != 2 || cmd.Plan[0] != "plan":
		return fmt.Errorf("unexpected argument %s", cmd.Plan[0])
	case cmd.ID != "" || cmd.Execute || cmd.DryRun || cmd.File != "" || cmd.RequestID != "" || cmd.Wait.set:
		return errors.New("plan takes a run's id and perhaps --challenge, and nothing else")
	}
	return nil
}

// missingFlags says in the parser's words what a run needs.
func missingFlags(challenge, id string) error {
	var missing []string
	if challenge == "" {
		missing = append(missing, "--challenge=CHALLENGE")
	}
	if id == "" {
		missing = append(missing, "--id=ENV")
	}
	if len(missing) == 0 {
		return nil
	}
	return errors.New("missing flags: " + strings.Join(missing, ", "))
}

// plan prints what the job of a run executes.
func (cmd *runCmd) plan(ctx context.Context, env *environ, run string) error {
	c, err := env.signed()
	if err != nil {
		return err
	}
	challenge, err := runFlags{RunID: run, Challenge: cmd.Challenge}.challenge(ctx, c)
	if err != nil {
		return err
	}
	a, err := c.RunPlan(ctx, challenge, run)
	if err != nil {
		return err
	}
	if a.Value.Job == nil {
		env.say("Runs on %s have no job on another machine; the pipeline's config is all of it.", a.Value.Provider)
	}
	return env.answer(a.Raw)
}

// Run checks or starts, or prints a plan.
func (cmd *runCmd) Run(ctx context.Context, env *environ) error {
	if len(cmd.Plan) == 2 {
		return cmd.plan(ctx, env, cmd.Plan[1])
	}
	req, err := cmd.request(env)
	if err != nil {
		return err
	}
	c, err := env.signed()
	if err != nil {
		return err
	}
	if cmd.Execute {
		return cmd.launch(ctx, env, c, req)
	}
	if cmd.Wait.set {
		return usagef("--wait needs --execute: a preflight starts nothing to wait for")
	}
	a, err := c.Preflight(ctx, cmd.Challenge, cmd.ID)
	if err != nil {
		return err
	}
	if err := env.answer(a.Raw); err != nil {
		return err
	}
	env.tell(preflightLines(a.Value, cmd.File, cmd.RequestID))
	if !a.Value.Allowed {
		return &verdict{exitNotAllowed, "the preflight does not allow the run"}
	}
	return nil
}

// request reads what a launch asks for. A preflight needs no file, but one that
// is given must be right.
func (cmd *runCmd) request(env *environ) (api.LaunchRequest, error) {
	req := api.LaunchRequest{EnvironmentID: cmd.ID}
	if cmd.File != "" {
		if err := env.decode(cmd.File, &req); err != nil {
			return req, err
		}
	}
	switch {
	case req.EnvironmentID != cmd.ID:
		return req, usagef("%s names the collection %s but --id names %s", cmd.File, req.EnvironmentID, cmd.ID)
	case req.RequestID != "" && cmd.RequestID != "" && req.RequestID != cmd.RequestID:
		return req, usagef("%s holds another request_id than --request-id", cmd.File)
	case cmd.RequestID != "":
		req.RequestID = cmd.RequestID
	}
	if cmd.Execute && protocol.CheckRequestID(req.RequestID) != nil {
		return req, usagef("a launch needs a request_id of 8 to 120 characters of A-Z a-z 0-9 . _ - that you keep, so that repeating it cannot start a second run: " +
			`put {"request_id":"NAME-run-001"} into run.json and add --file run.json`)
	}
	return req, nil
}

// launch starts the run, and waits for it if asked to.
func (cmd *runCmd) launch(ctx context.Context, env *environ, c *client.Client, req api.LaunchRequest) error {
	a, err := c.Launch(ctx, cmd.Challenge, req)
	if err != nil {
		return &advised{err, launchAdvice(err, cmd.Challenge, req.RequestID)}
	}
	env.tell(launchLines(a.Value))
	if !cmd.Wait.set {
		return env.answer(a.Raw)
	}
	return env.wait(ctx, c, a, cmd.Wait.limit)
}

// runsCmd lists runs or shows one.
type runsCmd struct {
	remote
	Challenge string    `placeholder:"CHALLENGE" help:"The challenge; with --run-id it is looked for when left out."`
	RunID     string    `placeholder:"RUN" help:"Show this run."`
	ID        string    `name:"id" placeholder:"ENV" help:"List only runs of this collection."`
	Wait      waitFlag  `placeholder:"DURATION" help:"With --run-id: wait until it has ended, at most DURATION when it is given (--wait=2h)."`
	Signed    bool      `help:"Send your token, so that an editor sees evidence links and per-task outcomes."`
	Page      pageFlags `embed:""`
}

// Run reads them.
func (cmd *runsCmd) Run(ctx context.Context, env *environ) error {
	switch {
	case cmd.RunID == "" && cmd.Wait.set:
		return usagef("--wait needs --run-id")
	case cmd.RunID == "" && cmd.Challenge == "":
		return usagef("name the challenge with --challenge, or one run with --run-id")
	}
	c, err := env.reads(cmd.Signed)
	if err != nil {
		return err
	}
	if cmd.RunID == "" {
		a, err := c.ListRuns(ctx, cmd.Challenge, cmd.ID, cmd.Page.page())
		return list(env, a, err)
	}
	challenge, err := runFlags{RunID: cmd.RunID, Challenge: cmd.Challenge}.challenge(ctx, c)
	if err != nil {
		return err
	}
	a, err := c.GetRun(ctx, challenge, cmd.RunID)
	if err != nil {
		return err
	}
	if cmd.Wait.set {
		return env.wait(ctx, c, a, cmd.Wait.limit)
	}
	if err := env.answer(a.Raw); err != nil {
		return err
	}
	env.tell(runLines(a.Value))
	return nil
}

// cancelCmd stops a run.
type cancelCmd struct {
	remote
	Of runFlags `embed:""`
}

// Run asks for it.
func (cmd *cancelCmd) Run(ctx context.Context, env *environ) error {
	c, err := env.signed()
	if err != nil {
		return err
	}
	challenge, err := cmd.Of.challenge(ctx, c)
	if err != nil {
		return err
	}
	a, err := c.Cancel(ctx, challenge, cmd.Of.RunID)
	if err != nil {
		return uncertain(err, "The run may have been asked to stop. Repeat the command: that is harmless.")
	}
	if err := env.answer(a.Raw); err != nil {
		return err
	}
	env.tell(runLines(a.Value))
	return nil
}
