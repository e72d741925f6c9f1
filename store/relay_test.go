package store_test

import (
	"context"
	"crypto/sha256"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/protocol"
)

// TestRelayOfARun follows a run's tunnel from its secrets to its end.
func TestRelayOfARun(t *testing.T) {
	ctx := context.Background()
	s, clock, run := reserved(t)
	hash := func(text string) [sha256.Size]byte { return sha256.Sum256([]byte(text)) }
	_, err := s.RelayAccess(ctx, run.ID)
	wantError(t, err, protocol.ErrNoRun)
	wantError(t, s.RelayCounted(ctx, run.ID, protocol.RelayCounters{}), protocol.ErrNoRun)
	wantError(t, s.OpenRelay(ctx, arena(), "challenge-000000000000", hash("a"), hash("b")), protocol.ErrNoRun)

	for _, round := range []string{"first", "second"} { // a launch that was proved to have failed is tried again
		if err := s.OpenRelay(ctx, arena(), run.ID, hash(round+" job"), hash(round+" model")); err != nil {
			t.Fatal(err)
		}
	}
	want := protocol.RelayAccess{Run: run.ID, Open: true, Job: hash("second job"), Model: hash("second model")}
	if diff := cmp.Diff(want, must(s.RelayAccess(ctx, run.ID))(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	must(s.JobStarted(ctx, arena(), run.ID, protocol.Job{ID: "job-1", Status: "SCHEDULING", StartedAt: clock.Now()}))(t)
	nothing(t, s, func() {
		wantError(t, s.OpenRelay(ctx, arena(), run.ID, hash("third"), hash("third")), protocol.ErrIllegalMove)
	})
	at := clock.Advance(time.Minute)
	want.JobID = "job-1"
	want.Counters = protocol.RelayCounters{Requests: 9, Succeeded: 4, Rejected: 2, Failed: 2, Aborted: 1, BytesIn: 10, BytesOut: 20, Connections: 3, ConnectedSince: &at, LastSeen: &at, InFlight: 2}
	if err := s.RelayCounted(ctx, run.ID, want.Counters); err != nil {
		t.Fatal(err)
	}
	// A process that was killed recorded no break; the next one does, once.
	want.Counters.LostAt, want.Counters.InFlight = &at, 0
	for range 2 {
		if err := s.RelaysCut(ctx); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, must(s.RelayAccess(ctx, run.ID))(t)); diff != "" {
			t.Errorf("after a kill (-want +got):\n%s", diff)
		}
		clock.Advance(time.Minute)
	}
	must(s.Finish(ctx, arena(), run.ID, protocol.Ending{Move: protocol.MoveFailed, Status: "ERROR", EndedAt: clock.Now()}))(t)
	want.Open = false
	if diff := cmp.Diff(want, must(s.RelayAccess(ctx, run.ID))(t)); diff != "" {
		t.Errorf("after the end (-want +got):\n%s", diff)
	}
}
