package arena_test

import (
	"context"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/jobs"
	"github.com/posttrainarena/arena/protocol/jobs/simulated"
)

// watchOut looks at a live run every half minute for some time and returns when
// it was first stalled, zero when never. A run that has not ended must say what
// happens, and when it is looked at next, which is soon.
func (w *world) watchOut(id string, long time.Duration) (first time.Time, cause string) {
	w.t.Helper()
	for begin := time.Now(); time.Since(begin) < long; time.Sleep(30 * time.Second) {
		run := w.run(id)
		at := w.Waiting(run)
		if at == nil {
			w.t.Fatalf("the run is %s and explains nothing", run.State)
		}
		if at.Reason == "" || at.BlockedBy == "" || at.NextCheck == nil || at.NextCheck.After(time.Now().Add(time.Minute+time.Second)) {
			w.t.Fatalf("at %s the run says %+v", time.Now(), at)
		}
		if at.Stalled && first.IsZero() {
			first, cause = time.Now(), at.Cause
		}
	}
	return first, cause
}

// TestUnreachableProviderIsStalledInTime cuts a provider off for longer than
// anybody would wait. Within a minute after the deadline the run says so; nothing
// else happens to it, and when the provider is back it is as if nothing had been.
func TestUnreachableProviderIsStalledInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &unruly{}
		w := newWorld(t, between(u), slow)
		w.watch()
		run := w.started("request-001")
		w.until(run.ID, "is in its baseline", func(r protocol.Run) bool { return r.Stage == protocol.StageBaseline })
		u.down.Store(true)
		away := w.until(run.ID, "is out of reach", func(r protocol.Run) bool { return r.UnreachableFrom != nil })
		first, cause := w.watchOut(run.ID, 30*time.Minute)
		due := away.UnreachableFrom.Add(w.Patience.Unreachable)
		if first.Before(due) || first.After(due.Add(time.Minute)) || !strings.Contains(cause, "has not answered for more than 15m0s, since ") {
			t.Errorf("stalled at %s (%s), want at %s", first, cause, due)
		}
		if now := w.run(run.ID); now.State != protocol.RunRunning || u.starts.Load() != 1 {
			t.Errorf("after half an hour the run is %s and was started %d times", now.State, u.starts.Load())
		}
		u.down.Store(false)
		back := w.until(run.ID, "is in reach", func(r protocol.Run) bool { return r.UnreachableFrom == nil })
		if at := w.Waiting(back); at.Stalled {
			t.Errorf("the provider is back and the run says %+v", at)
		}
		if run = w.ended(run.ID); run.State != protocol.RunScored || w.Waiting(run) != nil {
			t.Errorf("ended %s, %+v", run.State, w.Waiting(run))
		}
	})
}

// TestUnheardCancelIsStalledInTime has a provider that takes no cancel. The
// request is acknowledged, repeated, and after a while it is said that it has had
// no effect.
func TestUnheardCancelIsStalledInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &unruly{}
		w := newWorld(t, between(u), slow)
		w.watch()
		run := w.started("request-001")
		time.Sleep(time.Minute)
		u.deaf.Store(1000)
		asked := must(w.Cancel(t.Context(), ada, by(ada), challenge, run.ID))(t)
		if at := w.Waiting(asked); !strings.HasSuffix(at.Reason, "has not taken the request so far; it is told again and again.") || asked.CancelTaken != nil {
			t.Errorf("of the lost cancel it is said: %s", at.Reason)
		}
		first, cause := w.watchOut(run.ID, 10*time.Minute)
		due := asked.CancelAsked.Add(w.Patience.Cancel)
		if first.Before(due) || first.After(due.Add(time.Minute)) || !strings.Contains(cause, "The job has gone on after it was to be canceled") {
			t.Errorf("stalled at %s (%s), want at %s", first, cause, due)
		}
		u.deaf.Store(0)
		again := must(w.Cancel(t.Context(), ada, by(ada), challenge, run.ID))(t)
		if at := w.Waiting(again); !strings.Contains(at.Reason, " took the request at ") || again.CancelTaken == nil || !again.CancelAsked.Equal(*asked.CancelAsked) {
			t.Errorf("of the second cancel it is said: %s", at.Reason)
		}
		if run = w.ended(run.ID); run.State != protocol.RunCanceled {
			t.Errorf("ended %s: %s", run.State, run.Reason)
		}
	})
}

// mute is a provider whose first log stream dies in silence: after some lines it
// neither yields nor ends.
type mute struct {
	jobs.Provider
	after   int64
	streams atomic.Int32
}

func (m *mute) Logs(ctx context.Context, id string, after int64) iter.Seq2[jobs.Line, error] {
	lines := m.Provider.Logs(ctx, id, after)
	if m.streams.Add(1) > 1 {
		return lines
	}
	return func(yield func(jobs.Line, error) bool) {
		for l, err := range lines {
			if l.Position > m.after || !yield(l, err) {
				break
			}
		}
		<-ctx.Done()
	}
}

// TestSilentStreamIsNoEnd lets the connection die on which a log arrives. Nobody
// can tell that from a job that thinks; but the provider is asked, and once it
// says that the job has ended, the rest of its log is read.
func TestSilentStreamIsNoEnd(t *testing.T) {
	want, lines := undisturbed(t)
	synctest.Test(t, func(t *testing.T) {
		m := &mute{after: 40}
		w := newWorld(t, func(o *options) {
			o.wrap = func(p jobs.Provider) jobs.Provider { m.Provider = p; return m }
		})
		w.watch()
		run := w.started("request-001")
		w.until(run.ID, "has ended at its provider", func(protocol.Run) bool {
			return must(m.Inspect(t.Context(), run.JobID))(t).Status.Ended()
		})
		over := time.Now()
		if now := w.run(run.ID); now.LogLines != 40 || now.State != protocol.RunRunning {
			t.Fatalf("with a dead stream the run is %s with %d lines", now.State, now.LogLines)
		}
		run = w.ended(run.ID)
		if run.State != want.State || time.Since(over) > 3*time.Minute {
			t.Errorf("ended %s, %s after its job", run.State, time.Since(over))
		}
		sameTexts(t, w.lines(run.ID), lines)
		w.checkBill(run)
	})
}

// quietStream is a provider whose job prints one line and then thinks for ever,
// and that can be cut off.
type quietStream struct {
	*unruly
}

func (q quietStream) Logs(ctx context.Context, id string, after int64) iter.Seq2[jobs.Line, error] {
	lines := q.Provider.Logs(ctx, id, after)
	return func(yield func(jobs.Line, error) bool) {
		for l, err := range lines {
			if l.Position > 1 || !yield(l, err) {
				break
			}
		}
		<-ctx.Done()
	}
}

// TestQuietJobShowsItsProvidersAbsence cuts off the provider of a job that prints
// nothing, so no stream breaks. That it is away is noticed all the same, and that
// it is back.
func TestQuietJobShowsItsProvidersAbsence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &unruly{}
		w := newWorld(t, func(o *options) {
			o.simulated.Speed = 1 // hours
			o.wrap = func(p jobs.Provider) jobs.Provider { u.Provider = p; return quietStream{u} }
		})
		w.watch()
		run := w.started("request-001")
		w.until(run.ID, "has a line", func(r protocol.Run) bool { return r.LogLines == 1 })
		u.down.Store(true)
		cut := time.Now()
		w.until(run.ID, "is out of reach", func(r protocol.Run) bool { return r.UnreachableFrom != nil })
		if took := time.Since(cut); took > 3*time.Minute {
			t.Errorf("noticed after %s", took)
		}
		u.down.Store(false)
		w.until(run.ID, "is in reach", func(r protocol.Run) bool { return r.UnreachableFrom == nil })
		first, cause := w.watchOut(run.ID, time.Hour)
		if heard := *w.run(run.ID).Progress.LastLineAt; first.Before(heard.Add(w.Patience.Silence)) || !strings.Contains(cause, "has not printed anything for more than 45m0s") {
			t.Errorf("stalled at %s (%s); the last line came at %s", first, cause, heard)
		}
		// Its log never ends either, but its job does.
		must(w.Cancel(t.Context(), ada, by(ada), challenge, run.ID))(t)
		if run = w.ended(run.ID); run.State != protocol.RunCanceled || run.EndedAt.Add(5*time.Minute).Before(*run.SettledAt) {
			t.Errorf("ended %s at %s and settled at %s", run.State, run.EndedAt, run.SettledAt)
		}
	})
}

// TestQueueHasAnAge looks at the challenge's health while a run waits, runs and
// has ended.
func TestQueueHasAnAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, fault(string(simulated.FaultLostReply)))
		health := func() protocol.RunTally { return must(w.Tally(t.Context(), challenge))(t) }
		run, _, err := w.launch(ada, "request-001", w.submit(ada, "sample"))
		wantError(t, err, protocol.ErrUnknownLaunch)
		if at := health().OldestQueued; at == nil || !at.Equal(run.CreatedAt) {
			t.Errorf("while it waits the oldest is queued since %v, want %s", at, run.CreatedAt)
		}
		time.Sleep(90 * time.Second)
		if h := must(w.Standing(t.Context(), challenge))(t).Health; h.QueuedFor < 90*time.Second || h.Refusal == "" {
			t.Errorf("after 90 seconds the health is %+v", h)
		}
		w.watch()
		run = w.ended(run.ID)
		if h := health(); h.OldestQueued != nil || h.LastLaunched == nil || !h.LastLaunched.Equal(*run.StartedAt) {
			t.Errorf("afterwards: %+v, the job was taken at %s", h, run.StartedAt)
		}
	})
}
