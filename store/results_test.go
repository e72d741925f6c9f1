package store_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/store/storetest"
)

// result is a result of a run as Collect would make it.
func result(run protocol.Run) protocol.Result {
	return protocol.Result{
		Run:   run.ID,
		Score: protocol.Score{BaselinePassRate: 0.25, AfterPassRate: 0.375, DeltaPP: 12.5, NTasks: 32, Trials: 1},
		Cells: []protocol.Cell{{Suite: "tb2", Task: "sealed-task-7", Before: protocol.OutcomeFail, After: protocol.OutcomePass}},

		GRPORan: true, GRPOEffectiveUpdate: true, EvidenceDigest: "sha256:00", ReportURL: "https://example.org/report", JobURL: run.JobURL, CollectedBy: "ada",
	}
}

const note = "Recomputed by hand from the report; agrees."

func TestSaveResultOnce(t *testing.T) {
	ctx := context.Background()
	s, clock, run := scored(t)
	asked := result(run)
	at := clock.Advance(time.Minute)
	saved, existing, err := s.SaveResult(ctx, ada(), asked)
	if err != nil || existing {
		t.Fatalf("save: existing %t, %v", existing, err)
	}
	want := asked
	want.Challenge, want.Collection, want.Revision, want.Author = run.Challenge, run.Collection, run.Revision, run.Author
	want.Verification, want.VerificationNote, want.CollectedAt = protocol.Pending, protocol.PendingNote, at
	if diff := cmp.Diff(want, saved); diff != "" {
		t.Errorf("saved (-want +got):\n%s", diff)
	}
	if got := must(s.Run(ctx, run.ID))(t).Stage; got != protocol.StageCollect {
		t.Errorf("the run is at stage %q", got)
	}
	var told []string
	for _, e := range newest(t, s, 2) {
		told = append(told, string(e.Kind)+" "+e.State+" "+e.Stage)
	}
	if diff := cmp.Diff([]string{"run-stage scored collect", "result pending "}, told); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	nothing(t, s, func() {
		asked.Score.DeltaPP = 99
		again, existing, err := s.SaveResult(ctx, eve(), asked)
		if err != nil || !existing || !cmp.Equal(again, saved) {
			t.Errorf("again: existing %t, %v, %+v", existing, err, again)
		}
	})
	if rows := must(s.Results(ctx, run.Challenge))(t); len(rows) != 1 || !cmp.Equal(rows[0], saved) {
		t.Errorf("results = %+v", rows)
	}
	if rows := must(s.Results(ctx, "terminal-35b"))(t); len(rows) != 0 {
		t.Errorf("results of another challenge = %+v", rows)
	}
}

func TestOnlyScoredRunsHaveResults(t *testing.T) {
	ctx := context.Background()
	s, _, run := started(t)
	nothing(t, s, func() {
		_, _, err := s.SaveResult(ctx, ada(), result(run))
		wantError(t, err, protocol.ErrNotScored)
		_, _, err = s.SaveResult(ctx, ada(), protocol.Result{Run: "challenge-000000000000"})
		wantError(t, err, protocol.ErrNoRun)
		_, err = s.Result(ctx, run.ID)
		wantError(t, err, protocol.ErrNoResult)
		_, err = s.Review(ctx, eve(), run.ID, protocol.Review{Accepted: true, Note: note})
		wantError(t, err, protocol.ErrNoResult)
	})
}

func TestAReviewIsFinal(t *testing.T) {
	ctx := context.Background()
	s, clock, run := scored(t)
	pending, _, err := s.SaveResult(ctx, ada(), result(run))
	if err != nil {
		t.Fatal(err)
	}
	nothing(t, s, func() {
		_, err := s.Review(ctx, eve(), run.ID, protocol.Review{Accepted: true, Note: "fine"})
		wantError(t, err, protocol.ErrInvalid)
	})
	at := clock.Advance(time.Hour)
	reviewed := must(s.Review(ctx, eve(), run.ID, protocol.Review{Accepted: true, Note: note}))(t)
	want := pending
	want.Verification, want.VerificationNote, want.ReviewedBy, want.ReviewedAt = protocol.Valid, note, "eve", &at
	if diff := cmp.Diff(want, reviewed); diff != "" {
		t.Errorf("reviewed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, must(s.Result(ctx, run.ID))(t)); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	if e := newest(t, s, 1)[0]; e.Kind != protocol.EventResult || e.State != string(protocol.Valid) {
		t.Errorf("event %+v", e)
	}
	nothing(t, s, func() {
		_, err := s.Review(ctx, eve(), run.ID, protocol.Review{Accepted: false, Note: note})
		wantError(t, err, protocol.ErrReviewed)
	})
}

func TestTheAuditTrailNamesNoSealedTask(t *testing.T) {
	ctx := context.Background()
	s, _, run := scored(t)
	if _, _, err := s.SaveResult(ctx, ada(), result(run)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Review(ctx, eve(), run.ID, protocol.Review{Accepted: true, Note: note}); err != nil {
		t.Fatal(err)
	}
	rows, _, err := s.Audit(ctx, protocol.Page{})
	if err != nil || len(rows) < 5 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, a := range rows {
		if strings.Contains(a.Before+a.After, "sealed-task") {
			t.Errorf("%s %s: %s", a.Action, a.Object, a.After)
		}
	}
}

func TestVerdictsAreVersioned(t *testing.T) {
	ctx := context.Background()
	s, clock := storetest.Open(t)
	c := storetest.Submit(t, s, "ada", "tools")
	nothing(t, s, func() {
		_, err := s.Verdict(ctx, c.ID, "tb2-9b")
		wantError(t, err, protocol.ErrNotFound)
		_, err = s.AttachVerdict(ctx, eve(), protocol.Verdict{Collection: "env-000000000000", Challenge: "tb2-9b"})
		wantError(t, err, protocol.ErrNoCollection)
	})
	rate := 0.5
	for version := 1; version <= 2; version++ {
		clock.Advance(time.Hour)
		v := protocol.Verdict{Collection: c.ID, Challenge: "tb2-9b", PlanDigest: "sha256:01", Tasks: []protocol.TaskVerdict{{Task: "a", Decision: protocol.TaskAccepted, BandPassRate: &rate}}}
		for _, stale := range []int{version - 1, version + 1} {
			nothing(t, s, func() {
				v.Version = stale
				_, err := s.AttachVerdict(ctx, eve(), v)
				wantError(t, err, protocol.ErrVerdictMoved)
			})
		}
		v.Version = version
		attached := must(s.AttachVerdict(ctx, eve(), v))(t)
		v.AttachedBy, v.AttachedAt = "eve", clock.Now()
		if diff := cmp.Diff(v, attached); diff != "" {
			t.Errorf("attached (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(v, must(s.Verdict(ctx, c.ID, "tb2-9b"))(t)); diff != "" {
			t.Errorf("read back (-want +got):\n%s", diff)
		}
	}
	if e := newest(t, s, 1)[0]; e.Kind != protocol.EventVerdict || e.Collection != c.ID {
		t.Errorf("event %+v", e)
	}
}

func TestAClaimKeepsOtherEditorsAway(t *testing.T) {
	ctx := context.Background()
	s, clock, run := scored(t)
	nothing(t, s, func() {
		_, err := s.Claim(ctx, eve(), run.ID, false)
		wantError(t, err, protocol.ErrNoResult)
	})
	if _, _, err := s.SaveResult(ctx, ada(), result(run)); err != nil {
		t.Fatal(err)
	}
	at := clock.Advance(time.Minute)
	claimed := must(s.Claim(ctx, eve(), run.ID, false))(t)
	want := &protocol.Claim{By: "eve", At: at, ExpiresAt: at.Add(protocol.ClaimFor)}
	if diff := cmp.Diff(want, claimed.Claim); diff != "" {
		t.Errorf("claim (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(claimed, must(s.Result(ctx, run.ID))(t)); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	if e := newest(t, s, 1)[0]; e.Kind != protocol.EventResult || e.State != string(protocol.Pending) {
		t.Errorf("event %+v", e)
	}
	nothing(t, s, func() {
		_, err := s.Claim(ctx, ada(), run.ID, false)
		wantError(t, err, protocol.ErrClaimed)
		_, err = s.Claim(ctx, ada(), run.ID, true)
		wantError(t, err, protocol.ErrClaimed)
		_, err = s.Review(ctx, ada(), run.ID, protocol.Review{Accepted: true, Note: note})
		wantError(t, err, protocol.ErrClaimed)
	})

	// Renewed by its owner, given up, taken by another, and over by itself.
	clock.Advance(protocol.ClaimFor - time.Second)
	must(s.Claim(ctx, eve(), run.ID, false))(t)
	clock.Advance(protocol.ClaimFor - time.Second)
	nothing(t, s, func() {
		_, err := s.Claim(ctx, ada(), run.ID, false)
		wantError(t, err, protocol.ErrClaimed)
	})
	must(s.Claim(ctx, eve(), run.ID, true))(t)
	must(s.Claim(ctx, ada(), run.ID, false))(t)
	clock.Advance(protocol.ClaimFor)
	must(s.Review(ctx, eve(), run.ID, protocol.Review{Accepted: true, Note: note}))(t)
	nothing(t, s, func() {
		_, err := s.Claim(ctx, eve(), run.ID, false)
		wantError(t, err, protocol.ErrReviewed)
	})
}
