package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/posttrainarena/arena/configs"
	"github.com/posttrainarena/arena/fixture/world"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/client"
	"github.com/posttrainarena/arena/protocol/compose"
)

// rehearseCmd takes a collection through everything that an arena would do with
// it, on a private arena that only plays: whoever passes here will not be refused
// there for anything that the collection can be blamed for.
type rehearseCmd struct {
	Dir       string `arg:"" help:"The collection: a directory with submission.yaml and envs."`
	Challenge string `placeholder:"CHALLENGE" help:"The challenge to rehearse for; the first open one by default."`
	Configs   string `placeholder:"DIR" help:"Directory laid over the embedded configuration, file by file."`
	JSON      bool   `name:"json" help:"Print the rehearsal as JSON instead of text."`
	Verbose   bool   `help:"Show the private arena's log."`
}

func (cmd rehearseCmd) speaksJSON() bool { return cmd.JSON }

// Run rehearses and prints what was found. A refusal ends in exit code 1.
func (cmd *rehearseCmd) Run(ctx context.Context, env *environ) error {
	cfg, err := loadConfig(cmd.Configs)
	if err != nil {
		return err
	}
	if cmd.Challenge == "" {
		cmd.Challenge = firstOpen(cfg)
	}
	if _, known := cfg.Challenges[cmd.Challenge]; !known {
		return usagef("there is no challenge %q; arena config check lists them", cmd.Challenge)
	}
	source, err := sourceFlags{Dir: cmd.Dir, Challenge: cmd.Challenge}.read(env)
	if err != nil {
		return err
	}
	defer func() { _ = source.close() }()
	data, err := os.MkdirTemp("", "arena-rehearsal-")
	if err != nil {
		return fmt.Errorf("make a directory for the rehearsal: %w", err)
	}
	defer os.RemoveAll(data)
	r := &rehearser{env: env, cmd: cmd, data: data, source: source, out: rehearsal{ChallengeID: cmd.Challenge, Steps: []rehearsalStep{}}}
	err = errors.Join(r.walk(ctx), r.close())
	if err != nil {
		return err
	}
	return r.print()
}

// firstOpen is the first open challenge that is not paused, else the first open
// one.
func firstOpen(cfg configs.Config) string {
	open := ""
	for _, id := range slices.Sorted(maps.Keys(cfg.Challenges)) {
		c := cfg.Challenges[id]
		if protocol.ChallengeStatus(c.Status) != protocol.StatusOpen {
			continue
		}
		if c.RunsPaused == "" {
			return id
		}
		if open == "" {
			open = id
		}
	}
	return open
}

// rehearser is one rehearsal under way. Its arena is opened twice when the
// challenge takes no runs at present: as it is, and with runs open.
type rehearser struct {
	env    *environ
	cmd    *rehearseCmd
	data   string
	source source
	out    rehearsal

	runID             string
	author, organizer *client.Client
	stop              context.CancelFunc
	served            chan error
}

// The people of a rehearsal.
const (
	rehearsalAuthor    = "you"
	rehearsalOrganizer = "organizer"
)

// rehearsalSpeed plays a run of eight hours in a fraction of a second.
const rehearsalSpeed = 1e6

// open opens the private arena, with its runs open when asked to.
func (r *rehearser) open(ctx context.Context, runsOpen bool) error {
	if err := r.close(); err != nil {
		return err
	}
	log := quiet()
	if r.cmd.Verbose {
		log = r.env.logger(true)
	}
	n, err := openNode(ctx, nodeOptions{
		Data: r.data, Configs: r.cmd.Configs, Listen: "127.0.0.1:0", Speed: rehearsalSpeed, Log: log, Now: r.env.Now, Getenv: r.env.Getenv,
		Adjust: func(cfg configs.Config) configs.Config { return private(cfg, r.cmd.Challenge, runsOpen) },
	})
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	r.stop, r.served = stop, make(chan error, 1)
	go func() { r.served <- n.run(serving) }()
	if r.author, err = r.env.join(ctx, n, rehearsalAuthor, false); err != nil {
		return err
	}
	r.organizer, err = r.env.join(ctx, n, rehearsalOrganizer, true)
	return err
}

// close ends the private arena, if it is open.
func (r *rehearser) close() error {
	if r.stop == nil {
		return nil
	}
	r.stop()
	r.stop = nil
	return <-r.served
}

// private is the configuration of a rehearsal: nothing but the simulated
// provider without faults of its own, local identity, uploads alone, and the sealed suites that
// ship with the arena where the real ones are elsewhere.
func private(cfg configs.Config, challenge string, runsOpen bool) configs.Config {
	cfg.Arena.Providers.Default = compose.ProviderSimulated
	cfg.Arena.Providers.Simulated.FaultRate = 0
	cfg.Arena.Identity.Mode = configs.IdentityLocal
	cfg.Arena.Sources.Dataset.Enabled, cfg.Arena.Sources.GitHub.Enabled = false, false
	cfg.Challenges = maps.Clone(cfg.Challenges)
	for id, c := range cfg.Challenges {
		c.Compute.Provider = ""
		if runsOpen && id == challenge {
			c = world.Opened(c)
			c.Status = string(protocol.StatusOpen)
		}
		cfg.Challenges[id] = c
	}
	suites := map[string]configs.SealedSource{}
	maps.Copy(suites, cfg.Arena.Suites)
	for id := range cfg.Suites {
		if compose.SuiteSource(cfg, id).From != configs.FromDataset {
			continue
		}
		if delete(suites, id); cfg.Suites[id].Sealed.From == configs.FromDataset {
			suites[id] = configs.SealedSource{From: configs.FromFixture}
		}
	}
	cfg.Arena.Suites = suites
	return cfg
}

// walk takes the steps in their order and stops at the first that leaves nothing
// to go on with. An error is a failure of the rehearsal, not of the collection.
func (r *rehearser) walk(ctx context.Context) error {
	if err := r.open(ctx, false); err != nil {
		return err
	}
	for _, step := range []func(context.Context) (bool, error){r.validate, r.submit, r.preflight, r.run, r.collect, r.review} {
		goOn, err := step(ctx)
		if err != nil || !goOn {
			return err
		}
	}
	return nil
}
