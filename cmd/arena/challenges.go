package main

import "context"

// challengesCmd lists the challenges or shows one.
type challengesCmd struct {
	remote
	ID     string `arg:"" optional:"" name:"challenge" help:"Only this one."`
	Signed bool   `help:"Send your token, so that an editor sees evidence links."`
}

// Run reads them.
func (cmd *challengesCmd) Run(ctx context.Context, env *environ) error {
	c, err := env.reads(cmd.Signed)
	if err != nil {
		return err
	}
	if cmd.ID != "" {
		a, err := c.GetChallenge(ctx, cmd.ID)
		return show(env, a, err)
	}
	a, err := c.ListChallenges(ctx)
	return show(env, a, err)
}

// discoverCmd lists the endpoints.
type discoverCmd struct{ remote }

// Run reads the list.
func (*discoverCmd) Run(ctx context.Context, env *environ) error {
	c, err := env.reader()
	if err != nil {
		return err
	}
	a, err := c.Discover(ctx)
	return show(env, a, err)
}
