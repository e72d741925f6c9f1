package main

import "context"

// gatesCmd groups what there is to do with gates.
type gatesCmd struct {
	Static    gatesStaticCmd    `cmd:"" help:"Run the static gates on a directory of this machine; needs no server."`
	Explain   gatesExplainCmd   `cmd:"" help:"Say what a finding's code means and how to fix it."`
	Plan      gatesPlanCmd      `cmd:"" help:"Write what the dynamic gates of a collection take to run."`
	Run       gatesRunCmd       `cmd:"" help:"Run the controls of a plan, or of a directory, on the container engine of this machine."`
	Collect   gatesCollectCmd   `cmd:"" help:"Make results of what running a plan left in its jobs directories; needs no server."`
	Attach    gatesAttachCmd    `cmd:"" help:"Have results judged and keep the verdict; editors only."`
	Get       gatesGetCmd       `cmd:"" help:"Show what the static gates found in a collection, and the verdict of the dynamic ones."`
	Catalogue gatesCatalogueCmd `cmd:"" help:"List every static gate with its meaning and fix."`
}

type gatesGetCmd struct {
	remote
	Challenge string `required:"" placeholder:"CHALLENGE" help:"The challenge."`
	ID        string `name:"id" required:"" placeholder:"ENV" help:"The collection's id, env-…."`
	Version   int    `placeholder:"N" help:"This version of the verdict instead of the newest."`
}

// Run reads the gates' view of one collection.
func (cmd *gatesGetCmd) Run(ctx context.Context, env *environ) error {
	c, err := env.reader()
	if err != nil {
		return err
	}
	if cmd.Version != 0 {
		a, err := c.GetGatesVersion(ctx, cmd.Challenge, cmd.ID, cmd.Version)
		return show(env, a, err)
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
