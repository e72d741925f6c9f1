package arena_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// TestCrashBetweenReservationAndRecord stops the arena between the reservation
// and the record of its job. What the next start does is PROTOCOL §8: it adopts
// the job that there is, or releases the reservation when there provably is none.
func TestCrashBetweenReservationAndRecord(t *testing.T) {
	t.Parallel()
	for plan, c := range map[string]struct {
		adopted bool
		state   protocol.RunState
	}{
		"kill-before-start@1": {false, protocol.RunFailed},
		"kill-after-start@1":  {true, protocol.RunQueued},
	} {
		t.Run(plan, func(t *testing.T) {
			w := newWorld(t, fault(plan))
			col := w.submit(ada, "sample")
			run, _, err := w.launch(ada, "request-001", col)
			wantError(t, err, protocol.ErrUnknownLaunch)

			w = w.restart()
			must0(t, w.Reconcile(t.Context()))
			found := w.run(run.ID)
			if found.State != c.state || (found.JobID != "") != c.adopted || (found.Settled == nil) != c.adopted {
				t.Errorf("after the restart: %+v", found)
			}
			w.checkLedger()
			// Reconciling is repeatable, and so is the request that was cut off.
			must0(t, w.Reconcile(t.Context()))
			again, existing, err := w.launch(ada, "request-001", col)
			if err != nil || !existing || again.State != c.state || again.JobID != found.JobID {
				t.Errorf("the identical request: %+v, existing %v, %v", again, existing, err)
			}
			// A released slot is free for a new request.
			if _, _, err := w.launch(ada, "request-002", col); (err == nil) == c.adopted {
				t.Errorf("a new request: %v", err)
			}
			w.checkLedger()
		})
	}
}

// TestReservationOutlivesAnAbsentProvider restarts while the provider cannot be
// asked. Nothing is known, so nothing is released; the watcher finds out later.
func TestReservationOutlivesAnAbsentProvider(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, fault("lost-reply@1"))
		run, _, err := w.launch(ada, "request-001", w.submit(ada, "sample"))
		wantError(t, err, protocol.ErrUnknownLaunch)

		u := &unruly{}
		u.down.Store(true)
		w = w.restart(between(u))
		must0(t, w.Reconcile(t.Context()))
		w.watch()
		time.Sleep(10 * time.Minute)
		open := w.run(run.ID)
		if open.State != protocol.RunQueued || open.Settled != nil || open.UnreachableFrom == nil || w.Waiting(open).BlockedBy != "the provider does not answer" {
			t.Errorf("while the provider is away: %+v", open)
		}
		// A cancel is taken down, and sent when there is somebody to send it to.
		_, err = w.Cancel(t.Context(), ada, by(ada), challenge, run.ID)
		wantError(t, err, protocol.ErrProviderAway)

		u.down.Store(false)
		run = w.ended(run.ID)
		if run.JobID == "" || u.starts.Load() != 0 || len(w.jobs(run.ID)) != 1 {
			t.Errorf("ended %s with job %q; the provider has %d", run.State, run.JobID, len(w.jobs(run.ID)))
		}
		w.checkBill(run)
		w.checkLedger()
	})
}

// TestCancelOfAnUnconfirmedLaunch asks the provider first: a job is adopted and
// stopped, without one the reservation is released at once.
func TestCancelOfAnUnconfirmedLaunch(t *testing.T) {
	t.Parallel()
	for _, plan := range []string{"timeout-before@1", "lost-reply@1"} {
		t.Run(plan, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, fault(plan), slow)
				w.watch()
				run, _, err := w.launch(ada, "request-001", w.submit(ada, "sample"))
				wantError(t, err, protocol.ErrUnknownLaunch)
				if _, err := w.Cancel(t.Context(), ada, by(ada), challenge, run.ID); err != nil {
					t.Fatal(err)
				}
				run = w.ended(run.ID)
				if run.State != protocol.RunCanceled || run.Fault != protocol.FaultCanceled {
					t.Errorf("ended %s, fault %q: %s", run.State, run.Fault, run.Reason)
				}
				w.checkLedger()
			})
		})
	}
}

// TestCancelOutlivesARestart: what became of a cancel is on record, so the next
// process knows whether it was asked for and taken.
func TestCancelOutlivesARestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := &unruly{}
		w := newWorld(t, between(u), slow)
		w.watch()
		run := w.started("request-001")
		time.Sleep(time.Minute)
		u.deaf.Store(1000)
		must(w.Cancel(t.Context(), ada, by(ada), challenge, run.ID))(t)

		w = w.restart(between(u))
		asked := w.run(run.ID)
		if at := w.Waiting(asked); asked.CancelTaken != nil || !strings.Contains(at.Reason, "has not taken the request so far") {
			t.Errorf("after a restart it is said of a cancel that nobody heard: %+v", at)
		}
		u.deaf.Store(0)
		taken := must(w.Cancel(t.Context(), ada, by(ada), challenge, run.ID))(t)
		w = w.restart(between(u))
		again := w.run(run.ID)
		if at := w.Waiting(again); again.CancelTaken == nil || !again.CancelTaken.Equal(*taken.CancelTaken) || !strings.Contains(at.Reason, "took the request at") {
			t.Errorf("after a restart it is said of a cancel that was taken: %+v", at)
		}
		must0(t, w.Reconcile(t.Context()))
		w.watch()
		if run = w.ended(run.ID); run.State != protocol.RunCanceled || !run.CancelTaken.Equal(*taken.CancelTaken) {
			t.Errorf("ended %s, the cancel taken at %v", run.State, run.CancelTaken)
		}
	})
}

// TestJobThatEndedMeanwhile stops the arena for longer than the job takes: it is
// settled by what the provider still knows, with its whole log.
func TestJobThatEndedMeanwhile(t *testing.T) {
	t.Parallel()
	_, lines := undisturbed(t)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		run := w.started("request-001")
		w.close()
		time.Sleep(24 * time.Hour)
		w = w.restart()
		must0(t, w.Reconcile(t.Context()))
		w.watch()
		run = w.ended(run.ID)
		if run.State != protocol.RunScored || time.Since(*run.EndedAt) < 23*time.Hour {
			t.Errorf("ended %s at %s: %s", run.State, run.EndedAt, run.Reason)
		}
		sameTexts(t, w.lines(run.ID), lines)
		w.checkBill(run)
		w.checkLedger()
	})
}
