package main

import "context"

// leaderboardCmd ranks a challenge's collections.
type leaderboardCmd struct {
	remote
	Challenge string `required:"" placeholder:"CHALLENGE" help:"The challenge."`
}

// Run reads the leaderboard.
func (cmd *leaderboardCmd) Run(ctx context.Context, env *environ) error {
	c, err := env.reader()
	if err != nil {
		return err
	}
	a, err := c.Leaderboard(ctx, cmd.Challenge)
	return show(env, a, err)
}
