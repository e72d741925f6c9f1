package arena_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/arena"
	"github.com/posttrainarena/arena/protocol/jobs/simulated"
)

// TestLaunchSaysWhetherAnythingStarted follows PROTOCOL §8's table: a definite
// refusal releases the reservation, anything that leaves the outcome open keeps
// it, and repeating the identical request then finds the job or starts it.
func TestLaunchSaysWhetherAnythingStarted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault     simulated.Fault
		err       error
		launched  protocol.Launched
		retry     error // of the identical request
		retried   protocol.RunState
		jobs      int
		reserving bool // between the tries
	}{
		{simulated.FaultNone, nil, "", nil, protocol.RunQueued, 1, true},
		{simulated.FaultRefuse, protocol.ErrRefused, protocol.LaunchedNo, nil, protocol.RunFailed, 0, false},
		{simulated.FaultLostReply, protocol.ErrUnknownLaunch, protocol.LaunchedUnknown, nil, protocol.RunQueued, 1, true},
		{simulated.FaultTimeoutBefore, protocol.ErrUnknownLaunch, protocol.LaunchedUnknown, nil, protocol.RunQueued, 1, true},
	} {
		t.Run(string(c.fault), func(t *testing.T) {
			plan := ""
			if c.fault != simulated.FaultNone {
				plan = string(c.fault) + "@1"
			}
			w := newWorld(t, fault(plan))
			col := w.submit(ada, "sample")
			first, existing, err := w.launch(ada, "request-001", col)
			if !errors.Is(err, c.err) || existing || first.ID == "" {
				t.Fatalf("launch: %+v, existing %v, %v", first, existing, err)
			}
			if err != nil {
				e := protocol.AsError(err)
				if e.Launched != c.launched || e.RetrySame != (c.launched == protocol.LaunchedUnknown) {
					t.Errorf("launched %q, retry with the same id %v; want %q", e.Launched, e.RetrySame, c.launched)
				}
			}
			if live := must(w.Budget(t.Context()))(t).Live; (live > 0) != c.reserving {
				t.Errorf("%s is reserved", live)
			}
			again, existing, err := w.launch(ada, "request-001", col)
			if !errors.Is(err, c.retry) || !existing || again.ID != first.ID || again.State != c.retried {
				t.Errorf("the identical request: %+v, existing %v, %v", again, existing, err)
			}
			if n := len(w.jobs(first.ID)); n != c.jobs {
				t.Errorf("the provider has %d jobs, want %d", n, c.jobs)
			}
			w.checkLedger()
		})
	}
}

// TestRefusedLaunchStartsNothing has a row for each way to be turned away before
// any provider is asked.
func TestRefusedLaunchStartsNothing(t *testing.T) {
	t.Parallel()
	u := &unruly{}
	w := newWorld(t, between(u))
	col := w.submit(ada, "sample")
	if _, _, err := w.RegisterAgent(t.Context(), eve, by(eve), protocol.Agent{ID: "eves-agent"}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		who       protocol.Identity
		challenge string
		request   arena.LaunchRequest
		want      error
	}{
		"nobody":              {protocol.Identity{}, challenge, arena.LaunchRequest{RequestID: "request-001", Collection: col.ID}, protocol.ErrSignedOut},
		"not the author":      {eve, challenge, arena.LaunchRequest{RequestID: "request-001", Collection: col.ID}, protocol.ErrNotAuthor},
		"short request id":    {ada, challenge, arena.LaunchRequest{RequestID: "short", Collection: col.ID}, protocol.ErrBadRequestID},
		"no such collection":  {ada, challenge, arena.LaunchRequest{RequestID: "request-001", Collection: "env-000000000000"}, protocol.ErrNoCollection},
		"no such challenge":   {ada, "tb9-9b", arena.LaunchRequest{RequestID: "request-001", Collection: col.ID}, protocol.ErrNoChallenge},
		"planned challenge":   {ada, "terminal-35b", arena.LaunchRequest{RequestID: "request-001", Collection: col.ID}, protocol.ErrClosed},
		"paused challenge":    {ada, "skillsbench-9b", arena.LaunchRequest{RequestID: "request-001", Collection: col.ID}, protocol.ErrPaused},
		"somebody's agent":    {ada, challenge, arena.LaunchRequest{RequestID: "request-001", Collection: col.ID, AgentID: "eves-agent"}, protocol.ErrForeignAgent},
		"an unknown agent id": {ada, challenge, arena.LaunchRequest{RequestID: "request-001", Collection: col.ID, AgentID: "nobodys-agent"}, protocol.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := w.Launch(t.Context(), c.who, by(c.who), c.challenge, c.request)
			if e := wantError(t, err, c.want); e.Launched == protocol.LaunchedUnknown || e.RetrySame {
				t.Errorf("the refusal leaves the launch open: %+v", e)
			}
		})
	}
	runs, _, err := w.Runs(t.Context(), protocol.RunFilter{}, protocol.Page{})
	if err != nil || len(runs) != 0 || u.starts.Load() != 0 {
		t.Errorf("%d runs and %d starts are left, %v", len(runs), u.starts.Load(), err)
	}
}

// TestRequestIDBelongsToOneLaunch reuses the id of a launch for another one.
func TestRequestIDBelongsToOneLaunch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	col, other := w.submit(ada, "sample"), w.submit(ada, "another")
	w.submit(eve, "sample")
	if _, _, err := w.launch(ada, "request-001", col); err != nil {
		t.Fatal(err)
	}
	_, _, err := w.launch(ada, "request-001", other)
	wantError(t, err, protocol.ErrRequestReused)
	_, _, err = w.launch(eve, "request-001", col)
	wantError(t, err, protocol.ErrRequestReused)
	_, _, err = w.Launch(t.Context(), ada, by(ada), "skillsbench-9b", arena.LaunchRequest{RequestID: "request-001", Collection: col.ID})
	wantError(t, err, protocol.ErrRequestReused)
}

// TestCapBindsToTheMicroDollar raises the cap by one micro-dollar: below it a run
// is refused, at it a run starts.
func TestCapBindsToTheMicroDollar(t *testing.T) {
	t.Parallel()
	const reservation = 159_999_800 // $19.999975 an hour for eight hours
	for cap, want := range map[protocol.Micros]error{reservation - 1: protocol.ErrCap, reservation: nil} {
		w := newWorld(t, func(o *options) { o.service.Cap = cap })
		run, _, err := w.launch(ada, "request-001", w.submit(ada, "sample"))
		if !errors.Is(err, want) || want == nil && run.Reserved != reservation {
			t.Errorf("cap %s: reserved %s, %v", cap, run.Reserved, err)
		}
		w.checkLedger()
	}
}

// TestDailyLimitCountsScoredRuns runs a collection twice in a day: after a scored
// run it must wait until the day is over, after a failed one it need not.
func TestDailyLimitCountsScoredRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, fault("stage=setup@1"))
		w.watch()
		col := w.submit(ada, "sample")
		next := func(request string) protocol.Run {
			run, _, err := w.launch(ada, request, col)
			if err != nil {
				t.Fatalf("%s: %v", request, err)
			}
			return w.ended(run.ID)
		}
		if run := next("request-001"); run.State != protocol.RunFailed {
			t.Fatalf("the first run is %s", run.State)
		}
		second := next("request-002")
		if second.State != protocol.RunScored {
			t.Fatalf("the second run is %s", second.State)
		}
		_, _, err := w.launch(ada, "request-003", col)
		e := wantError(t, err, protocol.ErrDailyLimit)
		if free := time.Now().Add(e.RetryAfter); !free.Equal(second.CreatedAt.Add(24 * time.Hour)) {
			t.Errorf("the next run may start at %s; the last one started at %s", free, second.CreatedAt)
		}
		w.close()
		time.Sleep(e.RetryAfter)
		w = w.restart()
		w.watch()
		next("request-004")
		w.checkLedger()
	})
}

// TestPreflightIsWhatLaunchDecides asks before and while a run is active.
func TestPreflightIsWhatLaunchDecides(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	col, other := w.submit(ada, "sample"), w.submit(ada, "another")
	before := must(w.Preflight(t.Context(), ada, challenge, col.ID))(t)
	if !before.Allowed() || before.Reservation != 159_999_800 || before.Eligible != col.Static.Summary.Eligible {
		t.Errorf("before: %+v", before)
	}
	if _, _, err := w.launch(ada, "request-001", col); err != nil {
		t.Fatal(err)
	}
	for _, who := range []protocol.Identity{ada, eve, {}} {
		p := must(w.Preflight(t.Context(), who, challenge, other.ID))(t)
		_, _, err := w.launch(who, "request-002", other)
		if p.Allowed() || !errors.Is(err, p.Refusal()) {
			t.Errorf("%q: preflight says %v, launch %v", who.Name, p.Refusal(), err)
		}
	}
}

// TestAccidentsDuringStart hang up on the client, or take the provider away, at
// the worst moment. Exactly one job comes of it.
func TestAccidentsDuringStart(t *testing.T) {
	t.Parallel()
	t.Run("the client hangs up", func(t *testing.T) {
		w := newWorld(t)
		col := w.submit(ada, "sample")
		ctx, hangUp := context.WithCancel(t.Context())
		hangUp()
		run, _, err := w.Launch(ctx, ada, by(ada), challenge, arena.LaunchRequest{RequestID: "request-001", Collection: col.ID})
		if err != nil || run.JobID == "" || len(w.jobs(run.ID)) != 1 {
			t.Errorf("launch: %+v, %v", run, err)
		}
	})
	t.Run("the provider goes away", func(t *testing.T) {
		u := &unruly{}
		w := newWorld(t, between(u))
		col := w.submit(ada, "sample")
		u.down.Store(true)
		_, _, err := w.launch(ada, "request-001", col)
		if e := wantError(t, err, protocol.ErrProviderAway); e.Launched != protocol.LaunchedNo || !e.RetrySame { // without a price nothing is reserved
			t.Errorf("launched %s, retry with the same id %v", e.Launched, e.RetrySame)
		}
		u.down.Store(false)
		u.noStart.Store(true)
		run, _, err := w.launch(ada, "request-001", col)
		if e := wantError(t, err, protocol.ErrProviderAway); e.Launched != protocol.LaunchedNo || !e.RetrySame {
			t.Errorf("launched %s, retry with the same id %v", e.Launched, e.RetrySame)
		}
		u.down.Store(true)
		_, _, err = w.launch(ada, "request-001", col)
		wantError(t, err, protocol.ErrUnknownLaunch)
		u.down.Store(false)
		u.noStart.Store(false)
		again, existing, err := w.launch(ada, "request-001", col)
		if err != nil || !existing || again.ID != run.ID || again.JobID == "" || len(w.jobs(run.ID)) != 1 {
			t.Errorf("retry: %+v, existing %v, %v", again, existing, err)
		}
	})
	t.Run("it is canceled meanwhile", func(t *testing.T) {
		u := &unruly{}
		w := newWorld(t, between(u))
		col := w.submit(ada, "sample")
		u.noStart.Store(true)
		run, _, err := w.launch(ada, "request-001", col)
		wantError(t, err, protocol.ErrProviderAway)
		u.down.Store(true)
		_, err = w.Cancel(t.Context(), ada, by(ada), challenge, run.ID)
		wantError(t, err, protocol.ErrProviderAway) // the cancel is on record
		u.down.Store(false)
		u.noStart.Store(false)
		again, existing, err := w.launch(ada, "request-001", col)
		if err != nil || !existing || again.State != protocol.RunCanceled || u.starts.Load() != 0 {
			t.Errorf("the identical request: %+v, existing %v, %v; %d starts", again, existing, err, u.starts.Load())
		}
		w.checkLedger()
	})
	t.Run("the watcher looks in", func(t *testing.T) {
		// The reservation is written and the job is not asked for yet when the watcher
		// begins: it must not take this launch for one that a crash left behind.
		synctest.Test(t, func(t *testing.T) {
			var w *world
			w = newWorld(t, func(o *options) {
				o.afterReserve = func() {
					w.watch()
					time.Sleep(time.Minute)
				}
			})
			run, _, err := w.launch(ada, "request-001", w.submit(ada, "sample"))
			if err != nil || run.JobID == "" || len(w.jobs(run.ID)) != 1 {
				t.Errorf("launch: %+v, %v", run, err)
			}
		})
	})
}
