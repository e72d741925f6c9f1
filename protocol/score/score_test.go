package score_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/score"
)

// suite makes a sealed suite of n evaluated tasks, and one that is not.
func suite(id string, n int) protocol.SealedSuite {
	s := protocol.SealedSuite{ID: id, Tasks: []protocol.SealedTask{{Name: "secret-spare"}}}
	for i := range n {
		s.Tasks = append(s.Tasks, protocol.SealedTask{Name: fmt.Sprintf("secret-%02d", i), Evaluated: true})
	}
	return s
}

// outcomes writes one side of a suite as letters, a task each and a trial after
// the other: p(ass), f(ail), t(imeout), e(rror).
func outcomes(trials ...string) map[string][]protocol.Outcome {
	words := map[byte]protocol.Outcome{'p': protocol.OutcomePass, 'f': protocol.OutcomeFail, 't': protocol.OutcomeTimeout, 'e': protocol.OutcomeError, '?': "maybe"}
	side := map[string][]protocol.Outcome{}
	for _, letters := range trials {
		for i := range len(letters) {
			task := fmt.Sprintf("secret-%02d", i)
			side[task] = append(side[task], words[letters[i]])
		}
	}
	return side
}

func sides(before, after map[string][]protocol.Outcome) map[string]map[string][]protocol.Outcome {
	return map[string]map[string][]protocol.Outcome{"baseline": before, "posttrain": after}
}

func one(before, after string) score.Outcomes {
	return score.Outcomes{"tb": sides(outcomes(before), outcomes(after))}
}

func expect(n int) score.Expect {
	return score.Expect{Run: "challenge-0a1b2c3d4e5f", Suites: []protocol.SealedSuite{suite("tb", n)}, Trials: 1}
}

// report makes a report from JSON members, with what every report has.
func report(t testing.TB, members string) score.Report {
	t.Helper()
	r, err := score.ParseReport([]byte(`{"schema_version":1,"run_name":"challenge-0a1b2c3d4e5f","grpo_ran":true,` + members + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func scores(b, a float64) string {
	return fmt.Sprintf(`"baseline_score":%v,"score_after_posttrain":%v,"delta_score":%v`, b, a, a-b)
}

// The worked example of reference/pipeline.md §5.3.
func TestOneSuiteOneTrial(t *testing.T) {
	got, cells, err := score.Collect(expect(8), report(t, scores(0.25, 0.375)), one("ppffffff", "pppfffft"))
	if err != nil {
		t.Fatal(err)
	}
	want := protocol.Score{
		BaselinePassRate: 0.25, AfterPassRate: 0.375, DeltaPP: 12.5, StderrPP: 22.9640, PairedDeltaPP: 12.5, PairedStderrPP: 12.5,
		NTasks: 8, Trials: 1, PairedCells: 8, Timeouts: protocol.SideCounts{Posttrain: 1}, ReportAgrees: score.AllTasks,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("score (-want +got):\n%s", d)
	}
	if len(cells) != 8 || cells[2] != (protocol.Cell{Suite: "tb", Task: "secret-02", Before: protocol.OutcomeFail, After: protocol.OutcomePass}) {
		t.Errorf("cells %v", cells)
	}
}

// Errored tasks did not pass, but are left out of the paired numbers; the report
// may count them either way.
func TestErrors(t *testing.T) {
	const before, after = "ppffffeffe", "pppffefffe"
	for way, r := range map[string]string{score.AllTasks: scores(0.2, 0.3), score.WithoutErrors: scores(2.0/8, 3.0/8)} {
		got, _, err := score.Collect(expect(10), report(t, r), one(before, after))
		if err != nil {
			t.Fatal(err)
		}
		want := protocol.Score{
			BaselinePassRate: 0.2, AfterPassRate: 0.3, DeltaPP: 10, StderrPP: 19.2354,
			// Seven pairs are left: one +1, six 0; s² = 1/7.
			PairedDeltaPP: 14.2857, PairedStderrPP: 14.2857,
			NTasks: 10, Trials: 1, PairedCells: 7, ExcludedCells: 3, Errors: protocol.SideCounts{Baseline: 2, Posttrain: 2}, ReportAgrees: way,
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", way, d)
		}
	}
}

// Several suites and trials: every cell weighs the same, cells with an error are
// left out, and the error is clustered by task.
func TestSuitesAndTrials(t *testing.T) {
	e := score.Expect{Suites: []protocol.SealedSuite{suite("tb", 3), suite("sb", 2)}, Trials: 2}
	o := score.Outcomes{
		"tb": sides(outcomes("pff", "ffe"), outcomes("ppf", "pff")),
		"sb": sides(outcomes("fp", "ff"), outcomes("ff", "pf")),
	}
	// Differences by task: tb 0,+1 | +1,0 | 0,(left out); sb 0,+1 | −1,0. Of nine
	// cells the mean is 2/9. Deviations of the task sums from 2/9 a cell:
	// 5/9, 5/9, −2/9, 5/9, −13/9, whose squares sum to 248/81.
	got, cells, err := score.Collect(e, report(t, `"score_v2":{"delta_pp":22.2222,"stderr_pp":21.7368,"trials":2,"paired_cells":9,"excluded_cells":1,
		"suites":{"tb":{"delta_pp":40,"baseline_pass_rate":0.2,"after_pass_rate":0.6,"n_tasks":3},"sb":{"delta_pp":0}}}`), o)
	if err != nil {
		t.Fatal(err)
	}
	want := protocol.Score{
		BaselinePassRate: 0.222222, AfterPassRate: 0.444444, DeltaPP: 22.2222, StderrPP: pp(math.Sqrt(248.0/81*5/4) / 9),
		NTasks: 5, Trials: 2, PairedCells: 9, ExcludedCells: 1, Errors: protocol.SideCounts{Baseline: 1}, ReportAgrees: score.ScoreV2,
		Suites: map[string]protocol.SuiteScore{
			// tb: sums 1, 1, 0 of 2, 2, 1 cells, mean 0.4: deviations 0.2, 0.2, −0.4.
			"tb": {BaselinePassRate: 0.2, AfterPassRate: 0.6, DeltaPP: 40, StderrPP: pp(math.Sqrt(0.24*3/2) / 5), NTasks: 3},
			// sb: sums 1, −1 of 2 cells each, mean 0.
			"sb": {BaselinePassRate: 0.25, AfterPassRate: 0.25, DeltaPP: 0, StderrPP: pp(math.Sqrt(2*2/1) / 4), NTasks: 2},
		},
	}
	want.PairedDeltaPP, want.PairedStderrPP = want.DeltaPP, want.StderrPP
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("score (-want +got):\n%s", d)
	}
	if len(cells) != 10 || cells[1].Trial != 1 || cells[6].Suite != "sb" {
		t.Errorf("cells %v", cells)
	}
}

func pp(share float64) float64 { return math.Round(share*1e6) / 1e4 }

// Every refusal, with the sentences it gives. None names a sealed task.
func TestRefusals(t *testing.T) {
	good := scores(0.25, 0.375)
	const before, after = "ppffffff", "pppfffff"
	without := func(side string, tasks ...string) score.Outcomes {
		o := one(before, after)
		for _, task := range tasks {
			delete(o["tb"][side], task)
		}
		return o
	}
	with := func(o score.Outcomes, change func(score.Outcomes)) score.Outcomes {
		change(o)
		return o
	}
	two := score.Expect{Suites: []protocol.SealedSuite{suite("tb", 8), suite("sb", 1)}}
	both := func() score.Outcomes {
		o := one(before, after)
		o["sb"] = sides(outcomes("f"), outcomes("p"))
		return o
	}
	for name, c := range map[string]struct {
		expect   score.Expect
		report   string
		outcomes score.Outcomes
		want     map[string]string // field → sentence
	}{
		"a task without outcome": {expect(8), good, without("baseline", "secret-03"), map[string]string{
			"outcomes.tb.baseline": "1 of the 8 sealed tasks of tb have no outcome before training.",
		}},
		"nothing after training": {expect(8), good, with(one(before, after), func(o score.Outcomes) { delete(o["tb"], "posttrain") }), map[string]string{
			"outcomes.tb.posttrain": "8 of the 8 sealed tasks of tb have no outcome after training.",
		}},
		"a task too many": {expect(8), good, with(one(before, after), func(o score.Outcomes) { o["tb"]["posttrain"]["secret-spare"] = []protocol.Outcome{"pass"} }), map[string]string{
			"outcomes.tb.posttrain": "The outcomes after training hold 1 task(s) that are not in the sealed suite tb.",
		}},
		"a task swapped": {expect(8), good, with(without("baseline", "secret-00"), func(o score.Outcomes) { o["tb"]["baseline"]["secret-99"] = []protocol.Outcome{"pass"} }), map[string]string{
			"outcomes.tb.baseline": "1 of the 8 sealed tasks of tb have no outcome before training. | The outcomes before training hold 1 task(s) that are not in the sealed suite tb.",
		}},
		"a trial too many": {expect(8), good, with(one(before, after), func(o score.Outcomes) {
			o["tb"]["baseline"]["secret-00"] = []protocol.Outcome{"pass", "pass"}
		}), map[string]string{
			"outcomes.tb.baseline": "1 sealed task(s) of tb do not have exactly 1 outcome(s) before training, one a trial.",
		}},
		"a word that is no outcome": {expect(8), good, one("ppfffff?", after), map[string]string{
			"outcomes.tb.baseline": "1 outcome(s) of tb before training are none of pass, fail, timeout and error.",
		}},
		"a third side": {expect(8), good, with(one(before, after), func(o score.Outcomes) { o["tb"]["sft"] = nil }), map[string]string{
			"outcomes.tb": "The suite tb has outcomes of 1 side(s) other than baseline and posttrain.",
		}},
		"a suite is missing": {two, good, one(before, after), map[string]string{"outcomes.sb": "The suite sb has no outcomes."}},
		"a suite too many": {expect(8), good, both(), map[string]string{
			"outcomes": "The outcomes hold 1 suite(s) that the challenge does not have.",
		}},
		"suites are not told apart": {two, good, score.Outcomes{"": one(before, after)["tb"]}, map[string]string{
			"outcomes":    "The outcomes do not say which suite a task belongs to, and the challenge has 2. | The outcomes hold 1 suite(s) that the challenge does not have.",
			"outcomes.tb": "The suite tb has no outcomes.", "outcomes.sb": "The suite sb has no outcomes.",
		}},
		"every pair has an error": {expect(2), scores(0, 0), one("ef", "fe"), map[string]string{
			"outcomes": "Every task has an infrastructure error before or after training, so there is nothing to compare.",
		}},
		"another report version": {expect(8), `"schema_version":2,` + good, one(before, after), map[string]string{
			"report.schema_version": "The report's schema_version is not 1.",
		}},
		"the report of another run": {expect(8), `"run_name":"challenge-ffffffffffff",` + good, one(before, after), map[string]string{
			"report.run_name": "The report is of another run than challenge-0a1b2c3d4e5f.",
		}},
		"another task list": {expect(2), `"eval_task_ids":["secret-00","secret-99","secret-99"],` + good, one("pf", "pf"), map[string]string{
			"report.eval_task_ids": "The report's task list leaves out 1 of the 2 sealed tasks and has 2 that are not in the suite.",
		}},
		"members of a wrong type": {expect(8), `"grpo_effective_update":"yes","baseline_score":"NaN","eval_task_ids":[1],"score_v2":{"suites":[]}`, one(before, after), map[string]string{
			"report.grpo_effective_update": "grpo_effective_update in the report has the wrong type.",
			"report.baseline_score":        "baseline_score in the report has the wrong type.",
			"report.eval_task_ids":         "eval_task_ids in the report has the wrong type.",
			"report.score_v2.suites":       "suites in the report has the wrong type.",
		}},
		"no scores": {expect(8), `"baseline_score":null,"delta_score":0.125`, one(before, after), map[string]string{
			"report.baseline_score":        "The report has no baseline_score.",
			"report.score_after_posttrain": "The report has no score_after_posttrain.",
		}},
		"other scores": {expect(8), `"baseline_score":0.25,"score_after_posttrain":0.5,"delta_score":0.25`, one("ppffffff", "pppffffe"), map[string]string{
			"report.score_after_posttrain": "The report says score_after_posttrain = 0.5; the outcomes give 0.375 over all tasks and 0.428571 without the errored ones (3 of 8 passed, 1 errored).",
			"report.delta_score":           "The report says delta_score = 0.25; the outcomes give 0.125 over all tasks and 0.178571 without the errored ones (before 2 of 8 passed, 0 errored, after 3 of 8 passed, 1 errored).",
		}},
		"scores counted in two ways": {expect(8), fmt.Sprintf(`"baseline_score":%v,"score_after_posttrain":0.375,"delta_score":%v`, 2.0/7, 0.375-2.0/7), one("ppfffffe", "pppffffe"), map[string]string{
			"report.baseline_score": "The report says baseline_score = 0.2857142857142857; the outcomes give 0.25 over all tasks and 0.285714 without the errored ones (2 of 8 passed, 1 errored).",
			"report.delta_score":    "The report says delta_score = 0.08928571428571429; the outcomes give 0.125 over all tasks and 0.142857 without the errored ones (before 2 of 8 passed, 1 errored, after 3 of 8 passed, 1 errored).",
		}},
		"another score_v2": {two, `"score_v2":{"delta_pp":22.3,"stderr_pp":0,"trials":2,"paired_cells":8,"excluded_cells":1,
			"suites":{"tb":{"delta_pp":1,"n_tasks":9},"other":{}}}`, both(), map[string]string{
			"report.score_v2.delta_pp":           "The report's score_v2 says delta_pp = 22.3; the outcomes give 22.222222.",
			"report.score_v2.stderr_pp":          "The report's score_v2 says stderr_pp = 0; the outcomes give 14.698618.",
			"report.score_v2.trials":             "The report's score_v2 says trials = 2; the outcomes give 1.",
			"report.score_v2.paired_cells":       "The report's score_v2 says paired_cells = 8; the outcomes give 9.",
			"report.score_v2.excluded_cells":     "The report's score_v2 says excluded_cells = 1; the outcomes give 0.",
			"report.score_v2.suites.tb.delta_pp": "The report's score_v2 says suites.tb.delta_pp = 1; the outcomes give 12.5.",
			"report.score_v2.suites.tb.n_tasks":  "The report's score_v2 says suites.tb.n_tasks = 9; the outcomes give 8.",
			"report.score_v2.suites":             "The report's score_v2 leaves out the suite sb. | The report's score_v2 has 1 suite(s) that the challenge does not have.",
		}},
		"score_v2 without its number": {two, `"score_v2":{}`, both(), map[string]string{
			"report.score_v2.delta_pp": "The report's score_v2 has no delta_pp.",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s, cells, err := score.Collect(c.expect, report(t, c.report), c.outcomes)
			if !errors.Is(err, protocol.ErrEvidence) || cells != nil || s.Trials != 0 {
				t.Fatalf("got %+v, %v; want it refused as evidence", s, err)
			}
			refusal := protocol.AsError(err)
			if refusal.Kind.Status() != 422 {
				t.Errorf("status %d", refusal.Kind.Status())
			}
			got := map[string]string{}
			for _, f := range refusal.Fields {
				if old, ok := got[f.Field]; ok {
					f.Message = old + " | " + f.Message
				}
				got[f.Field] = f.Message
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("fields (-want +got):\n%s", d)
			}
			if !strings.Contains(refusal.Detail, refusal.Fields[0].Message) {
				t.Errorf("the detail %q does not give the first difference", refusal.Detail)
			}
			if strings.Contains(fmt.Sprint(refusal.Detail, refusal.Fields), "secret-") {
				t.Errorf("a sealed task is named: %v", refusal)
			}
		})
	}
}

func TestParseReportRefuses(t *testing.T) {
	for _, text := range []string{"", "null", "[]", `{"schema_version":1`} {
		if _, err := score.ParseReport([]byte(text)); !errors.Is(err, protocol.ErrEvidence) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Outcomes of a pipeline that does not know about suites belong to the only one.
func TestUnnamedSuite(t *testing.T) {
	o := score.Outcomes{"": one("pf", "pp")["tb"]}
	s, cells, err := score.Collect(expect(2), report(t, scores(0.5, 1)), o)
	if err != nil || s.DeltaPP != 50 || cells[0].Suite != "tb" {
		t.Errorf("%+v, %v, %v", s, cells, err)
	}
}

// world draws a challenge and outcomes that cover it.
func world(r *rapid.T) (score.Expect, score.Outcomes) {
	e := score.Expect{Trials: rapid.IntRange(1, 3).Draw(r, "trials")}
	o := score.Outcomes{}
	outcome := rapid.SampledFrom([]protocol.Outcome{protocol.OutcomePass, protocol.OutcomePass, protocol.OutcomeFail, protocol.OutcomeFail, protocol.OutcomeTimeout, protocol.OutcomeError})
	for i := range rapid.IntRange(1, 3).Draw(r, "suites") {
		s := suite(fmt.Sprintf("suite-%d", i), rapid.IntRange(1, 12).Draw(r, "tasks"))
		e.Suites = append(e.Suites, s)
		side := func(name string) map[string][]protocol.Outcome {
			m := map[string][]protocol.Outcome{}
			for _, task := range s.Evaluated() {
				m[task] = rapid.SliceOfN(outcome, e.Trials, e.Trials).Draw(r, name)
			}
			return m
		}
		o[s.ID] = sides(side("before"), side("after"))
	}
	return e, o
}

// reportOf makes the report that a correct pipeline writes.
func reportOf(t testing.TB, o score.Outcomes) score.Report {
	rates := [2]float64{}
	for i, side := range []string{"baseline", "posttrain"} {
		n, passed := 0, 0
		for _, s := range o {
			for _, trials := range s[side] {
				for _, x := range trials {
					n++
					if x == protocol.OutcomePass {
						passed++
					}
				}
			}
		}
		rates[i] = float64(passed) / float64(n)
	}
	return report(t, scores(rates[0], rates[1]))
}

// A correct report is accepted; the score is finite, within bounds, and JSON; one
// outcome changed makes the report wrong.
func TestAnyCoveredOutcomes(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		e, o := world(r)
		rep := reportOf(t, o)
		s, cells, err := score.Collect(e, rep, o)
		if err != nil {
			if s.PairedCells == 0 && strings.Contains(err.Error(), "nothing to compare") {
				return
			}
			r.Fatalf("a correct report is refused: %v", err)
		}
		if _, err := json.Marshal(s); err != nil {
			r.Fatal(err)
		}
		if s.PairedCells+s.ExcludedCells != len(cells) || len(cells) != s.NTasks*s.Trials {
			r.Fatalf("%d cells: %+v", len(cells), s)
		}
		if math.Abs(s.DeltaPP) > 100 || s.StderrPP < 0 || s.StderrPP > 150 || math.Abs(100*(s.AfterPassRate-s.BaselinePassRate)-s.DeltaPP) > 1e-3 {
			r.Fatalf("%+v", s)
		}
		again, _, err := score.Collect(e, rep, o)
		if d := cmp.Diff(s, again); d != "" || err != nil {
			r.Fatalf("collecting again differs: %v\n%s", err, d)
		}
		// Turn one pass into a failure: the report no longer agrees.
		for _, id := range slices.Sorted(maps.Keys(o)) {
			for _, task := range slices.Sorted(maps.Keys(o[id]["posttrain"])) {
				for i, x := range o[id]["posttrain"][task] {
					if x == protocol.OutcomePass {
						o[id]["posttrain"][task][i] = protocol.OutcomeFail
						// The other way of counting may give the same number by chance.
						s, _, err := score.Collect(e, rep, o)
						if !errors.Is(err, protocol.ErrEvidence) && s.ReportAgrees != score.WithoutErrors {
							r.Fatalf("a changed outcome goes unnoticed: %v", err)
						}
						return
					}
				}
			}
		}
	})
}
