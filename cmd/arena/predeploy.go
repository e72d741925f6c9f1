package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/posttrainarena/arena/configs"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/store"
)

// predeployCmd says whether a restart would cut anything, and what.
type predeployCmd struct {
	dataFlag
	Configs string `placeholder:"DIR" help:"The directory that the arena is served with."`
}

func (predeployCmd) speaksJSON() bool { return true }

// liveRun is a run in whose way a restart would be.
type liveRun struct {
	Run   string     `json:"run_id"`
	State string     `json:"state"`
	Job   string     `json:"job_id"`
	Relay *liveRelay `json:"relay"` // null when its job has none
}

// liveRelay is the tunnel of a live run, and what a restart does to it.
type liveRelay struct {
	*api.Relay
	Grace     int64  `json:"grace_seconds"`      // how long a tunnel that broke counts as reconnecting
	GraceLeft *int64 `json:"grace_left_seconds"` // of that, while it is reconnecting
	Restart   string `json:"restart"`            // what a restart does, in words
}

// Run lists what is live and exits 1 when something is.
func (cmd *predeployCmd) Run(ctx context.Context, env *environ) error {
	cfg, err := loadConfig(cmd.Configs)
	if err != nil {
		return err
	}
	st, err := cmd.look(ctx, env)
	if err != nil {
		return err
	}
	defer st.Close()
	live, err := liveRuns(ctx, st, env.Now(), relayGrace(cfg))
	if err != nil {
		return err
	}
	if err := env.document(map[string]any{"ok": len(live) == 0, "live": live}); err != nil {
		return err
	}
	for _, r := range live {
		env.say("%s is %s (job %s).", r.Run, r.State, r.Job)
		if r.Relay != nil {
			env.say("  Its relay is %s.", relayText(*r.Relay.Relay))
			env.say("  %s", r.Relay.Restart)
		}
	}
	if len(live) > 0 {
		return &verdict{code: exitError, text: "a job is live; wait for its end, or cancel it"}
	}
	env.say("Nothing is live: the arena may be restarted.")
	return nil
}

// relayGrace is how long a tunnel that broke counts as reconnecting.
func relayGrace(cfg configs.Config) time.Duration {
	return time.Duration(cfg.Arena.Relay.GraceSeconds) * time.Second
}

// liveRuns reads the runs that go on, with their tunnels. The server writes how those
// stand at most a second late; when none runs, none holds.
func liveRuns(ctx context.Context, st *store.Store, now time.Time, grace time.Duration) ([]liveRun, error) {
	runs, _, err := st.Runs(ctx, protocol.RunFilter{Live: true}, protocol.Page{Limit: protocol.MaxPage})
	if err != nil {
		return nil, err
	}
	owner, err := store.Owner(st.Dir())
	if err != nil {
		return nil, err
	}
	live := []liveRun{}
	for _, r := range runs {
		l := liveRun{Run: r.ID, State: string(r.State), Job: r.JobID}
		access, err := st.RelayAccess(ctx, r.ID)
		switch {
		case err == nil:
			counters := access.Counters
			if owner == "" {
				counters = counters.Cut()
			}
			l.Relay = relayNow(protocol.Relay{State: counters.State(access.Open, now, grace), RelayCounters: counters}, now, grace)
		case !errors.Is(err, protocol.ErrNoRun):
			return nil, err
		}
		live = append(live, l)
	}
	return live, nil
}

// relayNow says what a restart does to a tunnel.
func relayNow(r protocol.Relay, now time.Time, grace time.Duration) *liveRelay {
	out := &liveRelay{Relay: api.RelayFrom(r), Grace: int64(grace / time.Second)}
	within := fmt.Sprintf("the job connects again by itself, so a restart that takes less than %s is harmless", grace)
	switch r.State {
	case protocol.RelayNever:
		out.Restart = "Its job has not connected yet: a restart cuts no call."
	case protocol.RelayConnected:
		out.Restart = "No call is under way: " + within + "."
		if r.InFlight > 0 {
			out.Restart = fmt.Sprintf("A restart cuts those of %s under way that do not end within %s; otherwise %s.", counted(int(r.InFlight), "call"), shutdownTimeout, within)
		}
	case protocol.RelayReconnecting:
		left := (grace - now.Sub(*r.LostAt)).Round(time.Second)
		seconds := int64(left / time.Second)
		out.GraceLeft = &seconds
		out.Restart = fmt.Sprintf("%s of %s are left to reconnect: a restart that ends within that is harmless.", left, grace)
	default:
		out.Restart = fmt.Sprintf("It broke longer than %s ago: a restart cuts nothing more.", grace)
	}
	return out
}
