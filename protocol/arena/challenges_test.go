package arena_test

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/arena"
)

// TestStandingsAreInOrder lists the embedded challenges: open, planned, closed.
// Open ones say what a run reserves and whether one would be accepted.
func TestStandingsAreInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	order := map[protocol.ChallengeStatus]int{protocol.StatusOpen: 0, protocol.StatusPlanned: 1, protocol.StatusClosed: 2}
	last := 0
	for _, st := range must(w.Standings(t.Context()))(t) {
		rank := order[st.Challenge.Status]
		if rank < last {
			t.Errorf("%s, which is %s, comes after one that is listed later", st.Challenge.ID, st.Challenge.Status)
		}
		last = rank
		if open := st.Challenge.Status == protocol.StatusOpen; (st.Health != nil) != open || (st.Reservation > 0) != open {
			t.Errorf("%s is %s with health %+v and reserves %s", st.Challenge.ID, st.Challenge.Status, st.Health, st.Reservation)
		}
	}
	_, err := w.Standing(t.Context(), "tb9-9b")
	wantError(t, err, protocol.ErrNoChallenge)
}

// TestHealthSaysWhyNoRunStarts follows a challenge's health through a run, an
// outage and a cap that is used up.
func TestHealthSaysWhyNoRunStarts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := &unruly{}
		w := newWorld(t, between(u), func(o *options) { o.service.Cap = 200 * protocol.Dollar })
		refusal := func(want string) *arena.Health {
			t.Helper()
			st := must(w.Standing(t.Context(), challenge))(t)
			if got := st.Health.Refusal; want == "" && got != "" || !strings.Contains(got, want) {
				t.Errorf("the challenge refuses runs because %q, want %q", got, want)
			}
			return st.Health
		}
		if h := refusal(""); h.ActiveRun != "" || h.LastLaunched != nil || h.Remaining != 200*protocol.Dollar {
			t.Errorf("at the start: %+v", h)
		}
		u.down.Store(true)
		refusal("does not answer right now")
		u.down.Store(false)

		w.watch()
		run := w.started("request-001")
		if h := refusal("is active"); h.ActiveRun != run.ID || h.Runs[protocol.RunQueued] != 1 {
			t.Errorf("with a run: %+v", h)
		}
		run = w.ended(run.ID)
		_, _, err := w.Collect(t.Context(), ada, by(ada), challenge, run.ID)
		must0(t, err)
		h := refusal("of the $200.00 cap remain")
		if h.Runs[protocol.RunScored] != 1 || h.PendingReviews != 1 || h.LastCollected == nil || h.ActiveRun != "" {
			t.Errorf("after the run: %+v", h)
		}
	})
}

// TestTracksCountTheirCollections lists where collections are stored.
func TestTracksCountTheirCollections(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.submit(ada, "sample")
	w.submit(eve, "sample")
	counts := map[string]int{}
	for _, track := range must(w.Tracks(t.Context()))(t) {
		counts[track.ID] = track.Collections
	}
	if counts["terminal"] != 2 || counts["skillsbench"] != 0 || len(counts) != 2 {
		t.Errorf("the tracks hold %v", counts)
	}
}

// TestNewRefusesWhatCannotWork configures services with one flaw each.
func TestNewRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		flaw func(*arena.Config)
		says string
	}{
		"no store":           {func(c *arena.Config) { c.Store = nil }, "needs a store"},
		"no clock":           {func(c *arena.Config) { c.Now = nil }, "a clock"},
		"no logger":          {func(c *arena.Config) { c.Logger = nil }, "a logger"},
		"no provider":        {func(c *arena.Config) { c.Providers = nil }, "does not set up"},
		"no sealed tasks":    {func(c *arena.Config) { c.Sealed = nil }, "were not loaded"},
		"a challenge twice":  {func(c *arena.Config) { c.Challenges = append(c.Challenges, c.Challenges[0]) }, "configured twice"},
		"another task count": {func(c *arena.Config) { c.Challenges[0].Suites[0].TaskCount++ }, "task_count"},
	} {
		w := newWorld(t)
		cfg := w.Config
		cfg.Now, cfg.Logger = time.Now, slog.New(slog.DiscardHandler)
		c.flaw(&cfg)
		if _, err := arena.New(cfg); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}
