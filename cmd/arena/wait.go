package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alecthomas/kong"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/client"
)

// waitFlag is --wait or --wait=DURATION.
type waitFlag struct {
	set   bool
	limit time.Duration // 0: as long as it takes
}

// IsBool lets the flag stand without a value.
func (waitFlag) IsBool() bool { return true }

// Decode reads the flag.
func (w *waitFlag) Decode(ctx *kong.DecodeContext) error {
	w.set = true
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		return nil
	}
	text := fmt.Sprint(ctx.Scan.Pop().Value)
	limit, err := time.ParseDuration(text)
	if err != nil || limit <= 0 {
		return fmt.Errorf("%q is not a duration such as 90s, 10m or 2h", text)
	}
	w.limit = limit
	return nil
}

// The pauses between two looks at a run that is waited for.
const (
	firstLook = time.Second
	lastLook  = 15 * time.Second
)

// maxMissed is how many looks in a row may find no arena, each tried four times,
// before the wait is given up. An arena that restarts is back long before.
const maxMissed = 20

// away reports whether a failure says that the arena is not there just now.
func away(err error) bool {
	return errors.Is(err, client.ErrNetwork) || errors.Is(err, client.ErrProxy) || errors.Is(err, protocol.ErrUnavailable)
}

// wait looks at a run until it has ended or the limit is over, says on the way
// what changes, and prints the run as it was seen last. A run that scored is
// success. One that ended otherwise and one that goes on are answers of no, told
// apart by their state; neither is a failure of the run.
func (env *environ) wait(ctx context.Context, c *client.Client, a client.Answer[api.Run], limit time.Duration) error {
	deadline := env.Now().Add(limit)
	pause, shown, missed := firstLook, "", 0
	for {
		run := a.Value
		if at := runPlace(run); at != shown {
			env.say("%s: %s", run.RunID, at)
			shown, pause = at, firstLook
		}
		if run.State.Ended() || limit > 0 && !env.Now().Before(deadline) {
			return env.waited(a)
		}
		next := env.Jitter(pause)
		if limit > 0 {
			next = min(next, deadline.Sub(env.Now()))
		}
		if err := env.Sleep(ctx, next); err != nil {
			return err
		}
		pause = min(pause*3/2, lastLook)
		again, err := c.GetRun(ctx, run.ChallengeID, run.RunID)
		switch {
		case err == nil:
			a, missed = again, 0
		case !away(err) || missed == maxMissed:
			return err
		default:
			missed++
			env.say("%s The run goes on meanwhile.", protocol.AsError(err).Detail)
		}
	}
}

// waited prints the last look at a run.
func (env *environ) waited(a client.Answer[api.Run]) error {
	if err := env.answer(a.Raw); err != nil {
		return err
	}
	env.tell(runLines(a.Value))
	switch {
	case a.Value.State == protocol.RunScored:
		return nil
	case !a.Value.State.Ended():
		env.say("The time to wait is over and the run goes on. Wait again with --wait.")
		return &verdict{exitError, "the run goes on"}
	default:
		return &verdict{exitError, "the run did not score"}
	}
}

// runPlace says in a few words where a run is.
func runPlace(r api.Run) string {
	place := string(r.State)
	if r.Stage != nil {
		place += ", stage " + string(*r.Stage)
	}
	if !r.State.Ended() && r.BlockedBy != nil && *r.BlockedBy != "" {
		place += ", waiting for: " + *r.BlockedBy
	}
	return place
}
