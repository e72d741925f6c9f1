package main

import "context"

// attemptsCmd lists a run's attempts or shows one.
type attemptsCmd struct {
	remote
	Of runFlags `embed:""`
	N  int      `name:"n" placeholder:"N" help:"Show this attempt with its transcript and verifier output."`
}

// Run reads them.
func (cmd *attemptsCmd) Run(ctx context.Context, env *environ) error {
	c, err := env.signed()
	if err != nil {
		return err
	}
	challenge, err := cmd.Of.challenge(ctx, c)
	if err != nil {
		return err
	}
	if cmd.N > 0 {
		a, err := c.GetAttempt(ctx, challenge, cmd.Of.RunID, cmd.N)
		return show(env, a, err)
	}
	a, err := c.ListAttempts(ctx, challenge, cmd.Of.RunID)
	return show(env, a, err)
}
