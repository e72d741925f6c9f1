package main

import "context"

// gatesCmd groups what there is to do with gates.
type gatesCmd struct {
	Static    gatesStaticCmd    `cmd:"" help:"Run the static gates on a directory of this machine; needs no server."`
	Explain   gatesExplainCmd   `cmd:"" help:"Say what a finding's code means and how to fix it."`
	Get       gatesGetCmd       `cmd:"" help:"Show what the static gates found in a collection, and the verdict of the dynamic ones."`
	Catalogue gatesCatalogueCmd `cmd:"" help:"List every static gate with its meaning and fix."`
}

type gatesGetCmd struct {
	remote
	Challenge string `required:"" placeholder:"CHALLENGE" help:"The challenge."`
	ID        string `name:"id" required:"" placeholder:"ENV" help:"The collection's id, env-…."`
}

// Run reads the gates' view of one collection.
func (cmd *gatesGetCmd) Run(ctx context.Context, env *environ) error {
	c, err := env.reader()
	if err != nil {
		return err
	}
	a, err := c.GetGates(ctx, cmd.Challenge, cmd.ID)
	return show(env, a, err)
}

type gatesCatalogueCmd struct{ remote }

// Run reads the catalogue.
func (*gatesCatalogueCmd) Run(ctx context.Context, env *environ) error {
	c, err := env.reader()
	if err != nil {
		return err
	}
	a, err := c.GatesCatalogue(ctx)
	return show(env, a, err)
}
