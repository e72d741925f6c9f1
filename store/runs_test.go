package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/store"
	"github.com/posttrainarena/arena/store/storetest"
)

// reserved opens a store with one queued run.
func reserved(t *testing.T) (*store.Store, *storetest.Clock, protocol.Run) {
	t.Helper()
	s, clock := storetest.Open(t)
	run, _, err := s.Reserve(context.Background(), ada(), storetest.Reservation(storetest.Submit(t, s, "ada", "tools"), "launch-001"))
	if err != nil {
		t.Fatal(err)
	}
	return s, clock, run
}

// started opens a store with one run that has a job.
func started(t *testing.T) (*store.Store, *storetest.Clock, protocol.Run) {
	t.Helper()
	s, clock, run := reserved(t)
	run = must(s.JobStarted(context.Background(), arena(), run.ID, protocol.Job{ID: "job-1", Status: "SCHEDULING", URL: "https://jobs.example.org/1", StartedAt: clock.Now()}))(t)
	return s, clock, run
}

// scored opens a store with one run that ended with a report and cost $6.
func scored(t *testing.T) (*store.Store, *storetest.Clock, protocol.Run) {
	t.Helper()
	s, clock, run := started(t)
	clock.Advance(36 * time.Minute)
	run = must(s.Finish(context.Background(), arena(), run.ID, protocol.Ending{Move: protocol.MoveScored, Status: "COMPLETED", EndedAt: clock.Now(), Billed: 6 * protocol.Dollar, Stage: protocol.StageHeldout}))(t)
	return s, clock, run
}

func TestTheLifeOfARun(t *testing.T) {
	ctx := context.Background()
	s, clock, run := reserved(t)
	at := clock.Advance(time.Second)
	run = must(s.JobStarted(ctx, arena(), run.ID, protocol.Job{ID: "job-1", Status: "SCHEDULING", URL: "u", StartedAt: at}))(t)
	if run.State != protocol.RunQueued || run.JobID != "job-1" || run.Status() != "SCHEDULING" || !run.StartedAt.Equal(at) {
		t.Errorf("started: %+v", run)
	}

	first := clock.Advance(time.Minute)
	run = must(s.AppendLog(ctx, run.ID, protocol.LogBatch{
		Lines: []protocol.LogLine{{At: first, Text: "vllm up"}}, Position: 10, Fold: []byte("f1"), Stage: protocol.StageSetup, Status: "RUNNING",
		Progress: protocol.Progress{Stages: []protocol.StageProgress{{Stage: protocol.StageSetup, StartedAt: &first}}},
	}))(t)
	if run.State != protocol.RunRunning || !run.Since.Equal(first) || run.Stage != protocol.StageSetup || run.LogLines != 1 || run.JobStatus != "RUNNING" {
		t.Errorf("running: %+v", run)
	}

	asked := clock.Advance(time.Minute)
	run = must(s.CancelAsked(ctx, eve(), run.ID))(t)
	if !run.CancelAsked.Equal(asked) || run.CancelAskedBy != "eve" {
		t.Errorf("asked to cancel: %+v", run)
	}
	taken := clock.Advance(time.Second)
	run = must(s.CancelTaken(ctx, run.ID))(t)
	if run.CancelTaken == nil || !run.CancelTaken.Equal(taken) {
		t.Errorf("the cancel was taken at %v", run.CancelTaken)
	}

	end := clock.Advance(time.Minute)
	run = must(s.Finish(ctx, arena(), run.ID, protocol.Ending{
		Move: protocol.MoveCanceled, Reason: "Canceled by eve.", Fault: protocol.FaultCanceled, Status: "CANCELED", EndedAt: end.Add(-30 * time.Second),
		Billed: 400_000, Progress: protocol.Progress{Unrecognised: 2},
	}))(t)
	want := run
	want.State, want.Since, want.Reason, want.Fault, want.JobStatus = protocol.RunCanceled, end, "Canceled by eve.", protocol.FaultCanceled, "CANCELED"
	billed, ended := protocol.Micros(400_000), end.Add(-30*time.Second)
	want.Settled, want.SettledAt, want.EndedAt, want.Progress, want.Stage = &billed, &end, &ended, protocol.Progress{Unrecognised: 2}, protocol.StageSetup
	if diff := cmp.Diff(want, run); diff != "" {
		t.Errorf("canceled (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(run, must(s.Run(ctx, run.ID))(t)); diff != "" {
		t.Errorf("read back (-returned +read):\n%s", diff)
	}
	if l := must(s.Sums(ctx))(t); l != (protocol.Ledger{Settled: billed, Recorded: billed}) {
		t.Errorf("sums = %+v", l)
	}

	var told []string
	for _, e := range must(s.Events(ctx, 0, 0))(t) {
		told = append(told, string(e.Kind)+" "+e.State+" "+e.Stage)
	}
	if diff := cmp.Diff([]string{
		"submission  ", "run-state queued ", "run-state queued ", "run-stage running setup", "run-state running setup",
		"run-state running setup", "run-state running setup", "run-state canceled setup",
	}, told); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestRepeatingAMoveChangesNothing(t *testing.T) {
	ctx := context.Background()
	s, clock, run := started(t)
	since := clock.Now().Add(-time.Hour).Add(7) // nanoseconds are not kept
	end := protocol.Ending{Move: protocol.MoveFailed, Reason: "no report", Fault: protocol.FaultPlatform, Billed: protocol.Dollar, EndedAt: clock.Now()}
	for about, again := range map[string]func() (protocol.Run, error){
		"job-started": func() (protocol.Run, error) { return s.JobStarted(ctx, arena(), run.ID, protocol.Job{ID: "job-1"}) },
		"cancel":      func() (protocol.Run, error) { return s.CancelAsked(ctx, ada(), run.ID) },
		"cancel-taken": func() (protocol.Run, error) {
			must(s.CancelAsked(ctx, ada(), run.ID))(t)
			return s.CancelTaken(ctx, run.ID)
		},
		"unreachable": func() (protocol.Run, error) {
			err := s.Unreachable(ctx, run.ID, &since)
			return must(s.Run(ctx, run.ID))(t), err
		},
	} {
		first := must(again())(t)
		clock.Advance(time.Second)
		nothing(t, s, func() {
			if diff := cmp.Diff(first, must(again())(t)); diff != "" {
				t.Errorf("%s (-first +again):\n%s", about, diff)
			}
		})
	}
	first := must(s.Finish(ctx, arena(), run.ID, end))(t)
	if first.UnreachableFrom != nil {
		t.Error("an ended run is still called unreachable")
	}
	clock.Advance(time.Second)
	nothing(t, s, func() {
		end.Billed, end.Reason = 99*protocol.Dollar, "something else"
		if diff := cmp.Diff(first, must(s.Finish(ctx, arena(), run.ID, end))(t)); diff != "" {
			t.Errorf("finish (-first +again):\n%s", diff)
		}
		if diff := cmp.Diff(first, must(s.JobStarted(ctx, arena(), run.ID, protocol.Job{ID: "job-1"}))(t)); diff != "" {
			t.Errorf("the job of an ended run (-first +again):\n%s", diff)
		}
		since := clock.Now()
		if err := s.Unreachable(ctx, run.ID, &since); err != nil {
			t.Error(err)
		}
	})
}

func TestALaunchThatWasRefusedReleasesItsReservation(t *testing.T) {
	ctx := context.Background()
	s, clock, run := reserved(t)
	at := clock.Advance(time.Second)
	run = must(s.LaunchRefused(ctx, arena(), run.ID, "no machines", protocol.FaultPlatform))(t)
	if run.State != protocol.RunFailed || *run.Settled != 0 || !run.EndedAt.Equal(at) || run.Reason != "no machines" || run.Status() != protocol.NotLaunched {
		t.Errorf("refused: %+v", run)
	}
	if l := must(s.Sums(ctx))(t); l != (protocol.Ledger{}) {
		t.Errorf("sums = %+v", l)
	}
	nothing(t, s, func() {
		if diff := cmp.Diff(run, must(s.LaunchRefused(ctx, arena(), run.ID, "again", protocol.FaultNone))(t)); diff != "" {
			t.Errorf("refused again (-first +again):\n%s", diff)
		}
	})
}

// TestALateJobCounts: a job that turns up after its launch was given up is not the
// run's, which stays settled, but what it cost is committed.
func TestALateJobCounts(t *testing.T) {
	ctx := context.Background()
	s, clock, run := reserved(t)
	late := func() error {
		return s.LateJob(ctx, arena(), run.ID, protocol.Job{ID: "job-9", Status: "CANCELED", StartedAt: clock.Now()}, "it came late", 3*protocol.Dollar, clock.Now())
	}
	nothing(t, s, func() { wantError(t, late(), protocol.ErrIllegalMove) }) // nobody has given it up
	run = must(s.LaunchRefused(ctx, arena(), run.ID, "no machines", protocol.FaultPlatform))(t)
	at := clock.Advance(time.Hour)
	if err := late(); err != nil {
		t.Fatal(err)
	}
	want, cost := run, 3*protocol.Dollar
	want.JobID, want.JobStatus, want.StartedAt, want.Reason, want.LateBill, want.LateEnd = "job-9", "CANCELED", &at, "it came late", &cost, &at
	if diff := cmp.Diff(want, must(s.Run(ctx, run.ID))(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	l := must(s.Sums(ctx))(t)
	if l != (protocol.Ledger{Recorded: cost}) || l.Committed() != cost {
		t.Errorf("sums = %+v", l)
	}
	if e := must(s.Examine(ctx))(t); e.Ledger != e.Recount || len(e.BadBills) != 1 || len(e.OpenBills) != 0 {
		t.Errorf("examined: %+v", e)
	}
	agreed(t, s)
	clock.Advance(time.Hour)
	nothing(t, s, func() {
		if err := late(); err != nil {
			t.Error(err)
		}
	})
	// It keeps nobody from launching again, and its name is taken.
	r := storetest.Reservation(must(s.Collection(ctx, run.Collection))(t), "launch-002")
	second, _, err := s.Reserve(ctx, ada(), r)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.JobStarted(ctx, arena(), second.ID, protocol.Job{ID: "job-9"})
	wantError(t, err, protocol.ErrIllegalMove)
}

func TestMovesThatAreNotAllowed(t *testing.T) {
	ctx := context.Background()
	job := func(id string) protocol.Job { return protocol.Job{ID: id} }
	for _, c := range []struct {
		about string
		open  func(*testing.T) (*store.Store, *storetest.Clock, protocol.Run)
		try   func(s *store.Store, run string) error
		want  error
	}{
		{"a second job", started, func(s *store.Store, run string) error {
			_, err := s.JobStarted(ctx, arena(), run, job("job-2"))
			return err
		}, protocol.ErrIllegalMove},
		{"a refusal of a run with a job", started, func(s *store.Store, run string) error {
			_, err := s.LaunchRefused(ctx, arena(), run, "", "")
			return err
		}, protocol.ErrIllegalMove},
		{"a job for a scored run", scored, func(s *store.Store, run string) error {
			_, err := s.JobStarted(ctx, arena(), run, job("job-2"))
			return err
		}, protocol.ErrIllegalMove},
		{"canceling a scored run", scored, func(s *store.Store, run string) error {
			_, err := s.CancelAsked(ctx, ada(), run)
			return err
		}, protocol.ErrIllegalMove},
		{"another end for a scored run", scored, func(s *store.Store, run string) error {
			_, err := s.Finish(ctx, arena(), run, protocol.Ending{Move: protocol.MoveFailed})
			return err
		}, protocol.ErrIllegalMove},
		{"a move that is no end", started, func(s *store.Store, run string) error {
			_, err := s.Finish(ctx, arena(), run, protocol.Ending{Move: protocol.MoveRunning})
			return err
		}, protocol.ErrIllegalMove},
		{"log lines of a scored run", scored, func(s *store.Store, run string) error {
			_, err := s.AppendLog(ctx, run, protocol.LogBatch{Position: 1, Lines: []protocol.LogLine{{Text: "x"}}})
			return err
		}, protocol.ErrIllegalMove},
		{"no such run", started, func(s *store.Store, _ string) error {
			_, err := s.CancelAsked(ctx, ada(), "challenge-000000000000")
			return err
		}, protocol.ErrNoRun},
	} {
		t.Run(c.about, func(t *testing.T) {
			s, _, run := c.open(t)
			nothing(t, s, func() { wantError(t, c.try(s, run.ID), c.want) })
		})
	}

	t.Run("a job that belongs to another run", func(t *testing.T) {
		s, clock, first := scored(t)
		clock.Advance(25 * time.Hour)
		r := storetest.Reservation(must(s.Collection(ctx, first.Collection))(t), "launch-002")
		second, _, err := s.Reserve(ctx, ada(), r)
		if err != nil {
			t.Fatal(err)
		}
		nothing(t, s, func() {
			_, err := s.JobStarted(ctx, arena(), second.ID, job("job-1"))
			wantError(t, err, protocol.ErrIllegalMove)
		})
	})
	t.Run("a bill below zero", func(t *testing.T) {
		s, _, run := started(t)
		nothing(t, s, func() {
			if _, err := s.Finish(ctx, arena(), run.ID, protocol.Ending{Move: protocol.MoveScored, Billed: -1}); err == nil {
				t.Error("accepted")
			}
		})
	})
}

func TestRunsAreFilteredAndTallied(t *testing.T) {
	ctx := context.Background()
	s, clock, first := scored(t)
	eves := storetest.Submit(t, s, "eve", "kit")
	clock.Advance(time.Hour)
	refused, _, err := s.Reserve(ctx, eve(), storetest.Reservation(eves, "launch-002"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.LaunchRefused(ctx, arena(), refused.ID, "no machines", protocol.FaultPlatform); err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Hour)
	r := storetest.Reservation(eves, "launch-003")
	r.Challenge.ID = "skillsbench-9b"
	live, _, err := s.Reserve(ctx, eve(), r)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		filter protocol.RunFilter
		want   []string
	}{
		{protocol.RunFilter{}, []string{live.ID, refused.ID, first.ID}},
		{protocol.RunFilter{Challenge: "tb2-9b"}, []string{refused.ID, first.ID}},
		{protocol.RunFilter{Author: "eve"}, []string{live.ID, refused.ID}},
		{protocol.RunFilter{Collection: first.Collection}, []string{first.ID}},
		{protocol.RunFilter{Live: true}, []string{live.ID}},
		{protocol.RunFilter{Live: true, Author: "ada"}, nil},
	} {
		rows, _, err := s.Runs(ctx, c.filter, protocol.Page{})
		var ids []string
		for _, r := range rows {
			ids = append(ids, r.ID)
		}
		if diff := cmp.Diff(c.want, ids); diff != "" || err != nil {
			t.Errorf("%+v: %v (-want +got):\n%s", c.filter, err, diff)
		}
	}
	if _, _, err := s.SaveResult(ctx, ada(), result(first)); err != nil {
		t.Fatal(err)
	}
	collected := clock.Now()
	want := protocol.RunTally{ActiveRun: live.ID, Runs: map[protocol.RunState]int{protocol.RunScored: 1}, LastLaunched: &first.CreatedAt, LastCollected: &collected, PendingReviews: 1}
	if diff := cmp.Diff(want, must(s.Tally(ctx, "tb2-9b"))(t)); diff != "" {
		t.Errorf("tally (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(protocol.RunTally{ActiveRun: live.ID, Runs: map[protocol.RunState]int{}}, must(s.Tally(ctx, "terminal-35b"))(t)); diff != "" {
		t.Errorf("tally of a challenge without runs (-want +got):\n%s", diff)
	}
}
