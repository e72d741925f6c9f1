package screen

import (
	"slices"
	"strings"
	"testing"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// soundResult is a run and a result in which everything holds.
func soundResult() (api.Run, api.Result) {
	r := api.Run{RunID: "r", ChallengeID: "c", EnvironmentID: "e"}
	for _, stage := range protocol.Stages()[:6] {
		p := protocol.StageProgress{Stage: stage}
		switch stage {
		case protocol.StageBaseline:
			p.Total, p.Done, p.Passed = 32, 32, 4
		case protocol.StageHeldout:
			p.Total, p.Done, p.Passed = 32, 32, 6
		}
		r.Stages = append(r.Stages, p)
	}
	return r, api.Result{
		ChallengeID: "c", GRPORan: true, GRPOEffectiveUpdate: true,
		Score: protocol.Score{BaselinePassRate: 4.0 / 32, AfterPassRate: 6.0 / 32, DeltaPP: 6.25, NTasks: 32, Trials: 1, PairedCells: 32, ReportAgrees: "all-tasks"},
	}
}

// dataWith holds a challenge that tolerates a tenth of errors and measured its
// base model at 12.5%.
func dataWith() *Data {
	d := NewData()
	Put(d, ChallengesQuery(), []api.Challenge{{ID: "c", Recipe: protocol.Recipe{MaxErrorFraction: 0.1}, Baseline: &protocol.Baseline{PassRate: 0.125, StderrPP: 3}}})
	return d
}

func TestEvidence(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*api.Run, *api.Result)
		piece  string
		want   verdictOf
		says   string
	}{
		{"everything is there", func(*api.Run, *api.Result) {}, "coverage", holds, "32 cells of 32 in 1 trial"},
		{"a task is missing", func(_ *api.Run, r *api.Result) { r.PairedCells = 31 }, "coverage", breaks, "31 cells of 32"},
		{"a cell was left out, and counted", func(_ *api.Run, r *api.Result) { r.PairedCells, r.ExcludedCells = 31, 1 }, "coverage", holds, "32 cells"},
		{"the report was not compared", func(_ *api.Run, r *api.Result) { r.ReportAgrees = "" }, "recomputation", doubt, "did not say"},
		{"no training", func(_ *api.Run, r *api.Result) { r.GRPORan = false }, "training", breaks, "did not run"},
		{"training without effect", func(_ *api.Run, r *api.Result) { r.GRPOEffectiveUpdate = false }, "training", breaks, "without an effective update"},
		{"the log stops in the snapshot", func(r *api.Run, _ *api.Result) { r.Stages = r.Stages[:2] }, "isolation", unknown, "does not show"},
		{"the log counts other passes", func(r *api.Run, _ *api.Result) { r.Stages[5].Passed = 9 }, "log and files", doubt, "after: the log counts 9 passes, the files 6"},
		{"the log counts not every task", func(r *api.Run, _ *api.Result) { r.Stages[2].Done = 30 }, "log and files", unknown, "nothing to compare"},
		{"no errors", func(*api.Run, *api.Result) {}, "infrastructure", holds, "4 are tolerated"},
		{"some errors", func(_ *api.Run, r *api.Result) { r.Errors.Posttrain = 3 }, "infrastructure", doubt, "0 before and 3 after of 32"},
		{"too many errors", func(_ *api.Run, r *api.Result) { r.Errors.Baseline = 5 }, "infrastructure", breaks, "5 before"},
		{"timeouts on one side", func(_ *api.Run, r *api.Result) { r.Timeouts.Posttrain = 20 }, "timeouts", doubt, "0 before, 20 after"},
		{"another base model", func(_ *api.Run, r *api.Result) { r.BaselinePassRate = 0.6 }, "base model", doubt, "47.5 pp apart"},
		{"the base model as expected", func(*api.Run, *api.Result) {}, "base model", holds, "0.0 pp apart"},
		{"gates that were not read", func(*api.Run, *api.Result) {}, "gates", unknown, "not read"},
	} {
		r, res := soundResult()
		c.change(&r, &res)
		found := false
		for _, e := range evidenceOf(dataWith(), r, res) {
			if e.name == c.piece {
				found = true
				if e.verdict != c.want || !strings.Contains(e.detail, c.says) {
					t.Errorf("%s: %s is %d, %q; want %d, %q", c.name, e.name, e.verdict, e.detail, c.want, c.says)
				}
			}
		}
		if !found {
			t.Errorf("%s: nothing is said about %s", c.name, c.piece)
		}
	}
}

func TestGatesAsEvidence(t *testing.T) {
	r, res := soundResult()
	for _, c := range []struct {
		name   string
		change func(*api.Gates)
		want   verdictOf
		says   string
	}{
		{"clean", func(*api.Gates) {}, holds, "no gate results are attached"},
		{"a copy of a sealed task", func(g *api.Gates) { g.Static.Summary.Blocked = 1 }, breaks, "1 task blocked"},
		{"controls that nobody ran", func(g *api.Gates) { g.Static.Summary.NeedsControls = 2 }, doubt, "2 need controls"},
		{"a rejected task", func(g *api.Gates) {
			g.Verdict = &api.Verdict{Tasks: []protocol.TaskVerdict{{Decision: protocol.TaskRejected}, {Decision: protocol.TaskAccepted}}}
		}, doubt, "1 accepted, 1 rejected"},
	} {
		d := dataWith()
		g := api.Gates{}
		g.Static.Summary.Tasks, g.Static.Summary.Eligible = 8, 8
		c.change(&g)
		Put(d, GatesQuery("c", "e"), g)
		for _, e := range evidenceOf(d, r, res) {
			if e.name == "gates" && (e.verdict != c.want || !strings.Contains(e.detail, c.says)) {
				t.Errorf("%s: %d, %q", c.name, e.verdict, e.detail)
			}
		}
	}
}

// What the arena noted as odd about the evidence is put before the person, and into
// what they confirm.
func TestOdditiesAreEvidence(t *testing.T) {
	r, res := soundResult()
	res.Notes = []string{"two cells were uploaded twice"}
	list := evidenceOf(dataWith(), r, res)
	if !slices.ContainsFunc(list, func(e evidence) bool { return e.verdict == doubt && e.detail == res.Notes[0] }) {
		t.Errorf("%+v", list)
	}
	if note := draftNote(list, res, true); !strings.Contains(note, "Looked at: oddity: two cells were uploaded twice") {
		t.Error(note)
	}
}

// A drafted note says what was found, is long enough for the arena, and claims
// nothing that was not checked.
func TestDraftedNotes(t *testing.T) {
	r, res := soundResult()
	list := evidenceOf(dataWith(), r, res)
	note := draftNote(list, res, true)
	if len(note) < protocol.MinReviewNote || !strings.Contains(note, "+6.25 pp over 32 tasks") || strings.Contains(note, "gates") {
		t.Errorf("accepting: %q", note)
	}
	if note := draftNote(list, res, false); note != "" {
		t.Errorf("a rejection without a reason is drafted: %q", note)
	}
	res.GRPORan = false
	list = evidenceOf(dataWith(), r, res)
	if note := draftNote(list, res, false); !strings.Contains(note, "Not accepted because of training: GRPO did not run") {
		t.Errorf("rejecting: %q", note)
	}
	if note := draftNote(list, res, true); !strings.Contains(note, "Looked at: training: GRPO did not run") || strings.Contains(note, "holding: coverage, recomputation, training") {
		t.Errorf("accepting all the same: %q", note)
	}
}

func TestPendingResultsAreFoundWithoutReadingEverything(t *testing.T) {
	d := NewData()
	stage := protocol.StageCollect
	var runs []api.Run
	for i := range 100 {
		runs = append(runs, api.Run{RunID: string(rune('a'+i%26)) + string(rune('a'+i/26)), ChallengeID: "c", State: protocol.RunScored, Stage: &stage, CreatedAt: at(-i)})
	}
	Put(d, RunsQuery("c"), Rows[api.Run]{All: runs})
	challenge := func(pending int) {
		Put(d, ChallengesQuery(), []api.Challenge{{ID: "c", Status: protocol.StatusOpen, Health: &api.Health{PendingReviews: pending}}})
	}
	challenge(0)
	if found, keys := pendingResults(d); len(found)+len(keys) != 0 {
		t.Errorf("%d found, %d asked for although none is pending", len(found), len(keys))
	}
	challenge(2)
	asked := 0
	for range 20 {
		found, keys := pendingResults(d)
		if len(found) == 2 {
			break
		}
		for _, k := range keys {
			if _, ok := Read(d, RunQuery("c", k.ID)); ok {
				continue
			}
			asked++
			res := &api.Result{RunID: k.ID, Verification: protocol.Valid}
			if k.ID == runs[3].RunID || k.ID == runs[11].RunID {
				res.Verification = protocol.Pending
			}
			Put(d, RunQuery("c", k.ID), api.Run{RunID: k.ID, ChallengeID: "c", Result: res})
		}
	}
	found, _ := pendingResults(d)
	if len(found) != 2 || asked > 16 {
		t.Errorf("%d of 2 found after reading %d of 100 runs", len(found), asked)
	}
}
