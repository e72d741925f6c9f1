package main

import "context"

// budgetCmd shows the money.
type budgetCmd struct{ remote }

// Run reads the budget.
func (*budgetCmd) Run(ctx context.Context, env *environ) error {
	c, err := env.reader()
	if err != nil {
		return err
	}
	a, err := c.ArenaBudget(ctx)
	return show(env, a, err)
}

// jobsCmd lists the ledger, or with --all every job.
type jobsCmd struct {
	remote
	All  bool      `help:"List every job with its purpose and cost instead."`
	Page pageFlags `embed:""`
}

// Run reads a page of the list.
func (cmd *jobsCmd) Run(ctx context.Context, env *environ) error {
	c, err := env.reader()
	if err != nil {
		return err
	}
	if cmd.All {
		a, err := c.ListJobs(ctx, cmd.Page.page())
		return list(env, a, err)
	}
	a, err := c.ArenaJobs(ctx, cmd.Page.page())
	return list(env, a, err)
}
