package arena_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/posttrainarena/arena/protocol"
)

// goodReview is a decision with enough substance.
func goodReview() protocol.Review {
	return protocol.Review{Accepted: true, Note: "The outcomes cover the suite and agree with the report."}
}

// scored plays a run of ada's sample collection to its end.
func (w *world) scored(request string) protocol.Run {
	w.t.Helper()
	w.watch()
	run := w.ended(w.started(request).ID)
	if run.State != protocol.RunScored {
		w.t.Fatalf("the run ended %s: %s", run.State, run.Reason)
	}
	return run
}

// TestFromRunToRank walks a scored run through collect, review and leaderboard:
// who may do what, what can be repeated, and what everybody sees.
func TestFromRunToRank(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		run := w.scored("request-001")

		_, _, err := w.Collect(t.Context(), eve, by(eve), challenge, run.ID)
		wantError(t, err, protocol.ErrNotAuthor)
		_, _, err = w.Collect(t.Context(), ada, by(ada), "skillsbench-9b", run.ID)
		wantError(t, err, protocol.ErrNoRun)
		_, err = w.Review(t.Context(), editor, by(editor), challenge, run.ID, goodReview())
		wantError(t, err, protocol.ErrNoResult)

		first, existing, err := w.Collect(t.Context(), ada, by(ada), challenge, run.ID)
		if err != nil || existing || first.Verification != protocol.Pending || first.CollectedBy != "ada" || len(first.Cells) != 32 {
			t.Fatalf("collect: %+v, existing %v, %v", first, existing, err)
		}
		again, existing, err := w.Collect(t.Context(), editor, by(editor), challenge, run.ID)
		if err != nil || !existing || again.CollectedBy != "ada" || again.EvidenceDigest != first.EvidenceDigest {
			t.Errorf("collect again: %+v, existing %v, %v", again, existing, err)
		}
		board := must(w.Leaderboard(t.Context(), challenge))(t)
		if len(board.Rows) != 0 || board.PendingCount != 1 {
			t.Errorf("before the review the board has %d rows and %d pending", len(board.Rows), board.PendingCount)
		}

		_, err = w.Review(t.Context(), ada, by(ada), challenge, run.ID, goodReview())
		wantError(t, err, protocol.ErrEditorOnly)
		_, err = w.Review(t.Context(), editor, by(editor), challenge, run.ID, protocol.Review{Accepted: true, Note: "looks fine"})
		wantError(t, err, protocol.ErrInvalid)
		judged, err := w.Review(t.Context(), editor, by(editor), challenge, run.ID, goodReview())
		if err != nil || judged.Verification != protocol.Valid || judged.ReviewedBy != editor.Name {
			t.Fatalf("review: %+v, %v", judged, err)
		}
		_, err = w.Review(t.Context(), editor, by(editor), challenge, run.ID, goodReview())
		wantError(t, err, protocol.ErrReviewed)

		board = must(w.Leaderboard(t.Context(), challenge))(t)
		if len(board.Rows) != 1 || board.PendingCount != 0 {
			t.Fatalf("after the review the board is %+v", board)
		}
		row := board.Rows[0]
		if row.Rank != 1 || row.Collection != run.Collection || row.VerifiedRuns != 1 || row.DeltaPP != first.Score.DeltaPP || row.Title == "" {
			t.Errorf("the row is %+v; the run measured %+v", row, first.Score)
		}
	})
}

// TestAttemptsAreForTheAuthor opens what a run uploaded about its attempts. No
// sealed stage is among them.
func TestAttemptsAreForTheAuthor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		run := w.scored("request-001")
		_, err := w.Attempts(t.Context(), eve, challenge, run.ID)
		wantError(t, err, protocol.ErrNotAuthor)
		all := must(w.Attempts(t.Context(), ada, challenge, run.ID))(t)
		if len(all.List) == 0 || len(all.Problems) != 0 || all.Forecast == nil {
			t.Fatalf("%d attempts, problems %v, forecast %v", len(all.List), all.Problems, all.Forecast)
		}
		one := must(w.Attempt(t.Context(), editor, challenge, run.ID, 1))(t)
		if one.Attempt.Task != all.List[0].Task {
			t.Errorf("attempt 1 is of %s, the list says %s", one.Attempt.Task, all.List[0].Task)
		}
		for _, n := range []int{0, -1, len(all.List) + 1} {
			_, err := w.Attempt(t.Context(), ada, challenge, run.ID, n)
			wantError(t, err, protocol.ErrNoAttempt)
		}
		_, kept, err := w.Artifacts(context.Background(), run.ID)
		if err != nil || len(kept) == 0 {
			t.Fatalf("%d artifacts, %v", len(kept), err)
		}
		for _, f := range kept {
			if strings.HasPrefix(f.Path, "jobs/baseline") || strings.HasPrefix(f.Path, "jobs/posttrain") {
				t.Errorf("%s of a sealed stage is kept", f.Path)
			}
		}
	})
}
