package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/posttrainarena/arena/fixture/world"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/hub"
	"github.com/posttrainarena/arena/store"
)

// arenaClock is the time of an arena in this process: the real one, or in a
// mocked arena the time at which its world left off and that goes on from there.
type arenaClock struct {
	real func() time.Time

	mu     sync.Mutex
	offset time.Duration
}

// Now returns the arena's time.
func (c *arenaClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.real().Add(c.offset)
}

// start makes the arena's time go on from a moment.
func (c *arenaClock) start(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset = at.Sub(c.real())
}

// openMock finds out whether the arena is mocked, and if so makes it run on the
// configuration, the clock and the code hosts of its world. It refuses a
// configuration that would take a mocked arena to a real provider.
func (n *node) openMock(ctx context.Context, clock *arenaClock) (map[protocol.RepoType]hub.Host, error) {
	var err error
	if n.mock, err = n.store.Mock(ctx); err != nil || n.mock == nil {
		return nil, err
	}
	if n.config, err = world.Config(n.config, *n.mock); err != nil {
		return nil, err
	}
	last := n.mock.Now
	acts, _, err := n.store.Audit(ctx, protocol.Page{Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(acts) > 0 && acts[0].At.After(last) {
		last = acts[0].At
	}
	clock.start(last)
	return world.Hosts(*n.mock)
}

// mockFlags say which world to make.
type mockFlags struct {
	Seed      uint64 `placeholder:"N" default:"20260926" help:"Decides every collection and outcome of a mocked arena."`
	Now       moment `placeholder:"TIME" help:"The moment that a mocked arena shows, such as 2026-10-19 or 2026-10-19T18:00:00Z."`
	Challenge string `placeholder:"ID" default:"skillsbench-9b" help:"The challenge whose history is made up."`
	Scale     int    `placeholder:"K" default:"1" help:"How much of it: 100 makes 1,600 collections and more than 10,000 runs."`
}

// mock is the world that the flags ask for, showing another moment when they
// name none.
func (f mockFlags) mock(otherwise time.Time) protocol.Mock {
	m := protocol.Mock{Seed: f.Seed, Now: time.Time(f.Now), Challenge: f.Challenge, Scale: f.Scale}
	if m.Now.IsZero() {
		m.Now = otherwise
	}
	return m
}

// moment is a time as people write it: a day, or a time in RFC 3339.
type moment time.Time

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *moment) UnmarshalText(text []byte) error {
	for _, form := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(form, string(text)); err == nil {
			*m = moment(t.UTC())
			return nil
		}
	}
	return fmt.Errorf("%q is no day such as 2026-10-19 and no time such as 2026-10-19T18:00:00Z", text)
}

// mockCmd makes the data directory of an arena that looks as if it had been in
// use for two weeks.
type mockCmd struct {
	mockFlags
	Data    string  `required:"" placeholder:"DIR" help:"Data directory to make; it must not hold an arena yet."`
	Configs string  `placeholder:"DIR" help:"Directory laid over the embedded configuration, file by file."`
	Speed   float64 `placeholder:"N" help:"Simulated seconds in a real one for the run that goes on; arena.toml says 600."`
}

func (mockCmd) speaksJSON() bool { return true }

// Run makes the world and prints what it holds. Without --now it shows a fixed
// moment, so that the same seed makes the same arena on any day.
func (cmd *mockCmd) Run(ctx context.Context, env *environ) error {
	if cmd.Data == "" {
		return usagef("--data is empty; name the directory to make the mocked arena in")
	}
	if err := checkSpeed(cmd.Speed); err != nil {
		return err
	}
	began := env.Now()
	sum, err := buildMock(ctx, cmd.Data, cmd.Configs, cmd.mock(world.DefaultNow()), cmd.Speed)
	if err != nil {
		return err
	}
	env.say("A mocked arena is in %s: %d collections, %d runs, %d results. It took %.1f s.", argument(cmd.Data), sum.Collections, count(sum.Runs), sum.Results, env.Now().Sub(began).Seconds())
	env.say("Everything in it is invented, its tokens follow from the seed, and it never reaches a real provider.")
	env.say("Look at it:            arena serve --data %s", argument(cmd.Data))
	for _, t := range sum.Tokens {
		env.say("Act as %-16s export ARENA_TOKEN=$(cat %s)", t.Name+":", argument(tokenFile(cmd.Data, t.Name)))
	}
	return env.document(sum)
}

// count adds up the runs of every state.
func count(runs map[protocol.RunState]int) int {
	n := 0
	for _, k := range runs {
		n += k
	}
	return n
}

// buildMock makes a mocked arena in a directory, with the tokens of its three
// roles in files beside the database.
func buildMock(ctx context.Context, data, overlay string, m protocol.Mock, speed float64) (world.Summary, error) {
	cfg, err := loadConfig(overlay)
	if err != nil {
		return world.Summary{}, err
	}
	if err := world.Check(cfg, m); err != nil {
		return world.Summary{}, usagef("%w", err)
	}
	sum, err := world.Build(ctx, world.Options{Dir: data, Config: cfg, Mock: m, Speed: speed})
	if err != nil {
		return sum, err
	}
	for _, t := range sum.Tokens {
		err = errors.Join(err, os.WriteFile(tokenFile(data, t.Name), []byte(t.Secret+"\n"), 0o600))
	}
	if err != nil {
		return sum, fmt.Errorf("keep the tokens of the mock world: %w", err)
	}
	return sum, nil
}

// makeMock makes the mocked arena that up serves, in a directory of its own when
// none is named; the function it returns removes that again. A mocked arena that
// is there already goes on. It shows the present moment, because it is looked at
// right away.
func (cmd *upCmd) makeMock(ctx context.Context, env *environ) (func() error, error) {
	keep := func() error { return nil }
	if cmd.Data == "" {
		dir, err := os.MkdirTemp("", "arena-mock-")
		if err != nil {
			return nil, fmt.Errorf("make a directory for the mocked arena: %w", err)
		}
		cmd.Data, keep = dir, func() error { return os.RemoveAll(dir) }
	} else if _, err := os.Stat(filepath.Join(cmd.Data, store.DatabaseName)); err == nil {
		return keep, nil // openNode says whether it is a mocked one
	}
	if _, err := buildMock(ctx, cmd.Data, cmd.Configs, cmd.mock(env.Now()), cmd.Speed); err != nil {
		return nil, errors.Join(err, keep())
	}
	return keep, nil
}

// tokenFile is where a mocked arena keeps an account's token; the organizer's is
// where every arena keeps it.
func tokenFile(data, name string) string { return filepath.Join(data, name+".token") }
