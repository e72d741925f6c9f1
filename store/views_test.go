package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/store/storetest"
)

// TestBriefsAreTheCollections: the short list agrees with the long one, page by
// page.
func TestBriefsAreTheCollections(t *testing.T) {
	ctx := context.Background()
	s, clock := storetest.Open(t)
	for _, name := range []string{"one", "two", "three", "four", "five"} {
		storetest.Submit(t, s, "ada", name)
		clock.Advance(time.Minute)
	}
	page := protocol.Page{Limit: 2}
	n := 0
	for {
		long, next, err := s.Collections(ctx, protocol.CollectionFilter{Author: "ada"}, page)
		if err != nil {
			t.Fatal(err)
		}
		short, nextShort, err := s.CollectionBriefs(ctx, protocol.CollectionFilter{Author: "ada"}, page)
		if err != nil {
			t.Fatal(err)
		}
		if next != nextShort || len(long) != len(short) {
			t.Fatalf("%d rows then %q, in brief %d then %q", len(long), next, len(short), nextShort)
		}
		for i, c := range long {
			want := protocol.CollectionBrief{
				ID: c.ID, Author: c.Author, AgentID: c.AgentID, Track: c.Track, TargetChallenge: c.TargetChallenge, Source: c.Source, Title: c.Title,
				TeamName: c.TeamName, TaskCount: c.TaskCount, Summary: c.Static.Summary, CreatedAt: c.CreatedAt,
			}
			if diff := cmp.Diff(want, short[i]); diff != "" {
				t.Errorf("%s in brief (-want +got):\n%s", c.ID, diff)
			}
			n++
		}
		if page.Cursor = next; next == "" {
			break
		}
	}
	if n != 5 {
		t.Errorf("%d collections, want 5", n)
	}
}

// TestTalliesCountsAndSpend follows three runs of two collections through every
// number that is kept about them.
func TestTalliesCountsAndSpend(t *testing.T) {
	ctx := context.Background()
	s, clock := storetest.Open(t)
	by := protocol.Actor{Name: "ada"}
	first, second := storetest.Submit(t, s, "ada", "first"), storetest.Submit(t, s, "bob", "second")
	run := func(c protocol.Collection, request, job string, end protocol.Ending) protocol.Run {
		t.Helper()
		r, _, err := s.Reserve(ctx, by, storetest.Reservation(c, request))
		if err != nil {
			t.Fatal(err)
		}
		if job == "" {
			if r, err = s.LaunchRefused(ctx, by, r.ID, "no room", protocol.FaultPlatform); err != nil {
				t.Fatal(err)
			}
			return r
		}
		if _, err := s.JobStarted(ctx, by, r.ID, protocol.Job{ID: job, StartedAt: clock.Now()}); err != nil {
			t.Fatal(err)
		}
		clock.Advance(time.Hour)
		end.EndedAt = clock.Now()
		if r, err = s.Finish(ctx, by, r.ID, end); err != nil {
			t.Fatal(err)
		}
		return r
	}
	run(first, "ada-launch-1", "", protocol.Ending{})
	clock.Advance(time.Minute)
	scored := run(first, "ada-launch-2", "job-2", protocol.Ending{Move: protocol.MoveScored, Stage: protocol.StageHeldout, Billed: 4 * protocol.Dollar})
	clock.Advance(24 * time.Hour)
	run(second, "bob-launch-1", "job-3", protocol.Ending{Move: protocol.MoveFailed, Stage: protocol.StageSetup, Fault: protocol.FaultPlatform, Reason: "x", Billed: protocol.Dollar})
	result, _, err := s.SaveResult(ctx, by, protocol.Result{Run: scored.ID, Score: protocol.Score{BaselinePassRate: 0.25, AfterPassRate: 0.5, DeltaPP: 25, StderrPP: 3}, EvidenceDigest: "sha256:x"})
	if err != nil {
		t.Fatal(err)
	}
	live, _, err := s.Reserve(ctx, by, storetest.Reservation(second, "bob-launch-2"))
	if err != nil {
		t.Fatal(err)
	}

	tallies, err := s.CollectionTallies(ctx, []string{first.ID, second.ID, "env-000000000000"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]protocol.CollectionTally{
		first.ID: {Runs: map[protocol.RunState]int{protocol.RunFailed: 1, protocol.RunScored: 1}, Pending: 1, Latest: &protocol.RunBrief{
			ID: scored.ID, Challenge: "tb2-9b", State: protocol.RunScored, Stage: protocol.StageCollect, CreatedAt: scored.CreatedAt,
		}},
		second.ID:          {Runs: map[protocol.RunState]int{protocol.RunFailed: 1, protocol.RunQueued: 1}, Latest: &protocol.RunBrief{ID: live.ID, Challenge: "tb2-9b", State: protocol.RunQueued, CreatedAt: live.CreatedAt}},
		"env-000000000000": {Runs: map[protocol.RunState]int{}},
	}
	if diff := cmp.Diff(want, tallies); diff != "" {
		t.Errorf("tallies (-want +got):\n%s", diff)
	}

	counts, err := s.RunCounts(ctx, "tb2-9b")
	if err != nil {
		t.Fatal(err)
	}
	runs, settled, reserved := 0, protocol.Micros(0), protocol.Micros(0)
	for _, c := range counts {
		runs, settled, reserved = runs+c.Runs, settled+c.Settled, reserved+c.Reserved
	}
	sums, err := s.Sums(ctx)
	if err != nil || runs != 4 || settled != sums.Settled || reserved != sums.Live {
		t.Errorf("%d runs, $%s settled and $%s reserved; the ledger says %+v, %v", runs, settled, reserved, sums, err)
	}
	if none, err := s.RunCounts(ctx, "elsewhere"); err != nil || len(none) != 0 {
		t.Errorf("another challenge has %d groups, %v", len(none), err)
	}

	days, err := s.DailySpend(ctx, "", 10)
	if err != nil {
		t.Fatal(err)
	}
	wantDays := []protocol.DaySpend{{Day: "2026-03-02", Runs: 2, Settled: 4 * protocol.Dollar}, {Day: "2026-03-03", Runs: 1, Settled: protocol.Dollar}}
	if diff := cmp.Diff(wantDays, days); diff != "" {
		t.Errorf("days (-want +got):\n%s", diff)
	}
	if last, err := s.DailySpend(ctx, "", 1); err != nil || len(last) != 1 || last[0].Day != "2026-03-03" {
		t.Errorf("the last day is %+v, %v", last, err)
	}

	points, err := s.ScorePoints(ctx, "tb2-9b", 5)
	if err != nil {
		t.Fatal(err)
	}
	wantPoints := []protocol.ScorePoint{{
		Run: scored.ID, Challenge: "tb2-9b", Collection: first.ID, At: result.CollectedAt, Baseline: 0.25, After: 0.5, DeltaPP: 25, StderrPP: 3, Verification: protocol.Pending,
	}}
	if diff := cmp.Diff(wantPoints, points); diff != "" {
		t.Errorf("scores (-want +got):\n%s", diff)
	}
}
