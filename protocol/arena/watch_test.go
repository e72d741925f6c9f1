package arena_test

import (
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/jobs"
	"github.com/posttrainarena/arena/protocol/jobs/simulated"
)

// undisturbed plays the run request-001 of ada's sample collection from its start
// to its end and returns it with its log. Every world plays the same one, so what
// another world stores of it can be compared line by line.
func undisturbed(t *testing.T) (protocol.Run, []protocol.LogLine) {
	t.Helper()
	var run protocol.Run
	var lines []protocol.LogLine
	t.Run("undisturbed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.watch()
			run = w.ended(w.started("request-001").ID)
			lines = w.lines(run.ID)
		})
	})
	if run.State != protocol.RunScored || len(lines) < 100 {
		t.Fatalf("the undisturbed run is %s with %d lines", run.State, len(lines))
	}
	return run, lines
}

// TestOutageIsNoFailure cuts the provider off for ten minutes in the middle of a
// run. The run goes on reading "the provider does not answer" since when, nothing
// fails, nothing starts twice, and afterwards not a line is missing.
func TestOutageIsNoFailure(t *testing.T) {
	t.Parallel()
	want, lines := undisturbed(t)
	synctest.Test(t, func(t *testing.T) {
		u := &unruly{}
		w := newWorld(t, between(u), slow)
		w.watch()
		run := w.started("request-001")
		w.until(run.ID, "is in its baseline", func(r protocol.Run) bool { return r.Stage == protocol.StageBaseline })

		u.down.Store(true)
		cut := time.Now()
		away := w.until(run.ID, "is out of reach", func(r protocol.Run) bool { return r.UnreachableFrom != nil })
		other := w.submit(ada, "another")
		for time.Since(cut) < 10*time.Minute {
			time.Sleep(30 * time.Second)
			now := w.run(run.ID)
			if now.State != protocol.RunRunning || w.Waiting(now).BlockedBy != "the provider does not answer" || !now.UnreachableFrom.Equal(*away.UnreachableFrom) {
				t.Fatalf("%s into the outage the run is %s, blocked by %q since %s", time.Since(cut), now.State, w.Waiting(now).BlockedBy, now.UnreachableFrom)
			}
			again, existing, err := w.launch(ada, "request-001", protocol.Collection{ID: run.Collection})
			if err != nil || !existing || again.ID != run.ID {
				t.Fatalf("the same request answers %s, existing %v, %v", again.ID, existing, err)
			}
			if _, _, err := w.launch(ada, "request-002", other); err == nil {
				t.Fatal("a second run starts beside one that is out of reach")
			}
			w.checkLedger()
		}

		u.down.Store(false)
		back := w.until(run.ID, "is in reach", func(r protocol.Run) bool { return r.UnreachableFrom == nil })
		if back.State != protocol.RunRunning {
			t.Errorf("after the outage the run is %s: %s", back.State, back.Reason)
		}
		run = w.ended(run.ID)
		if run.State != want.State || run.LogLines != want.LogLines || u.starts.Load() != 1 {
			t.Errorf("ended %s with %d lines after %d starts; want %s with %d after 1", run.State, run.LogLines, u.starts.Load(), want.State, want.LogLines)
		}
		sameTexts(t, w.lines(run.ID), lines)
		w.checkBill(run)
		w.checkLedger()
	})
}

// slow plays jobs so slowly that an outage of minutes falls inside one.
func slow(o *options) { o.simulated.Speed = 10 }

// TestRestartsLoseNoLine stops the arena again and again while a job prints, also
// while the provider repeats chunks of lines or mixes up their order. Whatever
// was stored stays, the rest is read, and the counts are those of one reading.
func TestRestartsLoseNoLine(t *testing.T) {
	t.Parallel()
	want, lines := undisturbed(t)
	for _, f := range []simulated.Fault{simulated.FaultNone, simulated.FaultDuplicateLog, simulated.FaultReorderLog} {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, fault(string(f)))
				w.watch()
				run := w.started("request-001")
				var kept []protocol.LogLine
				for range 12 {
					time.Sleep(11*time.Second + 7*time.Millisecond)
					w = w.restart()
					must0(t, w.Reconcile(t.Context()))
					w.watch()
					now := w.lines(run.ID)
					if len(now) < len(kept) || !slices.Equal(kept, now[:len(kept)]) {
						t.Fatalf("a restart changed the %d lines that were stored", len(kept))
					}
					kept = now
				}
				run = w.ended(run.ID)
				if run.State != protocol.RunScored || len(w.jobs(run.ID)) != 1 {
					t.Errorf("ended %s with %d jobs: %s", run.State, len(w.jobs(run.ID)), run.Reason)
				}
				if f == simulated.FaultReorderLog { // a stop between two chunks makes one of them late
					sameTexts(t, byTime(w.lines(run.ID)), byTime(lines))
				} else {
					sameTexts(t, w.lines(run.ID), lines)
					sameCounts(t, run, want)
				}
				w.checkLedger()
			})
		})
	}
}

// TestLateLinesAreKept delivers lines up to two seconds after those that follow
// them, and some twice: long after the arena has stored what came first. None is
// lost and none is stored twice, also when only late ones are left at the end.
func TestLateLinesAreKept(t *testing.T) {
	t.Parallel()
	_, lines := undisturbed(t)
	for name, deliver := range map[string]func(iter.Seq2[jobs.Line, error]) iter.Seq2[jobs.Line, error]{
		"every seventh line late": func(in iter.Seq2[jobs.Line, error]) iter.Seq2[jobs.Line, error] { return late(in, 7, 3) },
		"the last lines late":     func(in iter.Seq2[jobs.Line, error]) iter.Seq2[jobs.Line, error] { return late(in, 109, 10) },
		"twice":                   twice,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, between(&unruly{logs: deliver}))
				w.watch()
				run := w.ended(w.started("request-001").ID)
				if run.State != protocol.RunScored || run.LogLines != int64(len(lines)) {
					t.Errorf("ended %s with %d lines, want %d", run.State, run.LogLines, len(lines))
				}
				sameTexts(t, byTime(w.lines(run.ID)), byTime(lines))
			})
		})
	}
}

// late holds back every nth line until some others have come, or the log has
// ended, and then for two seconds.
func late(in iter.Seq2[jobs.Line, error], nth, others int) iter.Seq2[jobs.Line, error] {
	return func(yield func(jobs.Line, error) bool) {
		var held []jobs.Line
		release := func() bool {
			time.Sleep(2 * time.Second)
			for _, l := range held {
				if !yield(l, nil) {
					return false
				}
			}
			held = nil
			return true
		}
		for l, err := range in {
			if err != nil {
				yield(l, err)
				return
			}
			if l.Position%int64(nth) == 0 {
				held = append(held, l)
				continue
			}
			if !yield(l, nil) || len(held) > 0 && l.Position%int64(nth) == int64(others) && !release() {
				return
			}
		}
		release()
	}
}

// twice delivers every line again after five seconds.
func twice(in iter.Seq2[jobs.Line, error]) iter.Seq2[jobs.Line, error] {
	return func(yield func(jobs.Line, error) bool) {
		for l, err := range in {
			if !yield(l, err) {
				return
			}
			time.Sleep(5 * time.Second)
			if err != nil || !yield(l, nil) {
				return
			}
		}
	}
}

// TestUnheardCancelIsRepeated loses the call that cancels a job. The request is on
// record, so the arena asks again until the job has stopped.
func TestUnheardCancelIsRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := &unruly{}
		w := newWorld(t, between(u), slow)
		w.watch()
		run := w.started("request-001")
		time.Sleep(time.Minute)
		u.deaf.Store(2)
		asked, err := w.Cancel(t.Context(), ada, by(ada), challenge, run.ID)
		if err != nil || asked.CancelAsked == nil || w.Waiting(asked).BlockedBy != "the provider stops the job" {
			t.Fatalf("cancel: %+v, %v", asked, err)
		}
		run = w.ended(run.ID)
		if run.State != protocol.RunCanceled || run.Reason != "Canceled by ada." || !run.EndedAt.Before(asked.CancelAsked.Add(2*time.Minute)) {
			t.Errorf("ended %s (%s) at %s; the cancel was asked for at %s", run.State, run.Reason, run.EndedAt, asked.CancelAsked)
		}
		w.checkBill(run)
	})
}

// sameTexts requires that a log holds the lines of another in their order.
func sameTexts(t *testing.T, got, want []protocol.LogLine) {
	t.Helper()
	texts := func(lines []protocol.LogLine) []string {
		var all []string
		for _, l := range lines {
			all = append(all, l.Text)
		}
		return all
	}
	if diff := cmp.Diff(texts(want), texts(got)); diff != "" {
		t.Errorf("the log differs (-want +got):\n%s", diff)
	}
}

// sameCounts requires that two runs went through the same stages with the same
// results.
func sameCounts(t *testing.T, got, want protocol.Run) {
	t.Helper()
	counts := func(r protocol.Run) []protocol.StageProgress {
		stages := slices.Clone(r.Progress.Stages)
		for i := range stages {
			stages[i].StartedAt, stages[i].EndedAt = nil, nil
		}
		return stages
	}
	if diff := cmp.Diff(counts(want), counts(got)); diff != "" {
		t.Errorf("the progress differs (-want +got):\n%s", diff)
	}
}

// byTime returns lines in the order in which they were printed.
func byTime(lines []protocol.LogLine) []protocol.LogLine {
	return slices.SortedStableFunc(slices.Values(lines), func(a, b protocol.LogLine) int {
		if d := a.At.Compare(b.At); d != 0 {
			return d
		}
		return strings.Compare(a.Text, b.Text)
	})
}

func must0(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
