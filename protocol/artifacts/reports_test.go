package artifacts_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/artifacts"
)

const (
	reportFile   = "reports/score.json"
	outcomesFile = "reports/eval_task_outcomes.json"
)

func TestReport(t *testing.T) {
	got, err := artifacts.Report(tree{reportFile: "\ufeff{\"schema_version\":1, \"loss\": NaN, \"note\": \"NaN\", \"worst\": -Infinity}"}.fs())
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"schema_version":1, "loss": "NaN", "note": "NaN", "worst": "-Infinity"}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// What cannot be used is refused as evidence, with a sentence that names nothing sealed.
func TestReportsRefused(t *testing.T) {
	outcomes := func(suites string) tree {
		return tree{outcomesFile: `{"schema_version":1,"suites":` + suites + `}`}
	}
	readReport := func(files tree) error { _, err := artifacts.Report(files.fs()); return err }
	readOutcomes := func(files tree) error { _, _, err := artifacts.ReadOutcomes(files.fs()); return err }
	for name, c := range map[string]struct {
		read  func(tree) error
		files tree
		want  string
	}{
		"no report":               {readReport, tree{}, "The run uploaded no report (reports/score.json)."},
		"half a report":           {readReport, tree{reportFile: `{"a":`}, "it is not complete JSON"},
		"report is a list":        {readReport, tree{reportFile: `[]`}, "it is not a JSON object"},
		"report and more":         {readReport, tree{reportFile: `{}{}`}, "something follows the JSON object"},
		"report names it twice":   {readReport, tree{reportFile: `{"delta_score":0,"delta_score":1}`}, "a name occurs twice"},
		"no outcomes":             {readOutcomes, tree{}, "uploaded no per-task outcomes (reports/eval_task_outcomes.json) and no attempts at sealed tasks."},
		"half the outcomes":       {readOutcomes, tree{outcomesFile: `{"schema_version":1,"suites":{"tb":{"baseline":{"bake-index":["pa`}, "not complete JSON of the agreed form"},
		"another version":         {readOutcomes, tree{outcomesFile: `{"schema_version":2,"suites":{}}`}, "its schema_version is not 1"},
		"no suites":               {readOutcomes, tree{outcomesFile: `{"schema_version":1}`}, "not complete JSON of the agreed form"},
		"a suite twice":           {readOutcomes, outcomes(`{"tb":{},"tb":{}}`), "a suite occurs twice"},
		"a side twice":            {readOutcomes, outcomes(`{"tb":{"baseline":{},"baseline":{}}}`), "a side of a suite occurs twice"},
		"a task twice":            {readOutcomes, outcomes(`{"tb":{"baseline":{"bake-index":["pass"],"bake-index":["fail"]}}}`), "a sealed task occurs twice"},
		"an outcome, not a list":  {readOutcomes, outcomes(`{"tb":{"baseline":{"bake-index":"pass"}}}`), "are not a list of words"},
		"a number for an outcome": {readOutcomes, outcomes(`{"tb":{"baseline":{"bake-index":[1]}}}`), "are not a list of words"},
		"too large":               {readReport, tree{reportFile: strings.Repeat(" ", 17<<20)}, "more than 16777216 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.read(c.files)
			if !errors.Is(err, protocol.ErrEvidence) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want evidence refused with %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "bake-index") {
				t.Errorf("a sealed name is in %q", err)
			}
		})
	}
}

func TestReadOutcomes(t *testing.T) {
	got, problems, err := artifacts.ReadOutcomes(tree{outcomesFile: `{"schema_version":1,"suites":{"tb":{
		"baseline":{"bake-index":["pass","timeout"],"fold_maps":["error","fail"]},"posttrain":{}}}}`}.fs())
	want := artifacts.Outcomes{"tb": {
		artifacts.Baseline:  {"bake-index": {protocol.OutcomePass, protocol.OutcomeTimeout}, "fold_maps": {protocol.OutcomeError, protocol.OutcomeFail}},
		artifacts.Posttrain: {},
	}}
	if d := cmp.Diff(want, got); d != "" || len(problems) > 0 || err != nil {
		t.Errorf("problems %v, error %v (-want +got):\n%s", problems, err, d)
	}
}

// Without an outcomes file the uploaded attempts are read: of several at one task
// the newest that did not error counts, else the newest.
func TestOutcomesOfOlderPipelines(t *testing.T) {
	result := func(reward, finished string) string {
		return `{"rewards":` + reward + `,"finished_at":"` + finished + `"}`
	}
	const first, second = "jobs/baseline/2026-03-01__08-00-00/", "jobs/baseline/2026-03-01__09-00-00/"
	got, problems, err := artifacts.ReadOutcomes(tree{
		first + "bake-index__b/result.json":                             result(`{"reward":1}`, "2026-03-01 08:10:00"),
		first + "bake-index__a/result.json":                             result(`{"reward":0}`, "2026-03-01 08:20:00"), // newer in the same job
		second + "bake-index__c/result.json":                            result(`null`, "2026-03-01 09:10:00"),         // newest, but errored
		first + "fold_maps__1/result.json":                              result(`{"reward":0}`, ""),
		second + "fold_maps__0/result.json":                             result(`{"reward":1}`, ""),
		first + "mend-clock__1/result.json":                             `{"rewards":{"reward":1},"error":"Agent prompt exceeded wall-clock budget 900s"}`,
		"jobs/posttrain/2026-03-01__12-00-00/bake-index__d/result.json": `{"rewards":`,
	}.fs())
	want := artifacts.Outcomes{"": {
		artifacts.Baseline: {
			"bake-index": {protocol.OutcomeFail}, "fold_maps": {protocol.OutcomePass}, "mend-clock": {protocol.OutcomeTimeout},
		},
		artifacts.Posttrain: {"bake-index": {protocol.OutcomeError}},
	}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, d)
	}
	if len(problems) != 2 || !strings.HasPrefix(problems[0].Detail, "2 sealed task(s) had several attempts before") {
		t.Errorf("problems %v", problems)
	}
	for _, p := range problems {
		if p.Path != "" || strings.Contains(p.Detail, "bake-index") {
			t.Errorf("a sealed place is named: %v", p)
		}
	}
}

// The digest changes with everything that collecting reads, and with nothing else.
func TestDigest(t *testing.T) {
	digest := func(files tree) string {
		t.Helper()
		d, err := artifacts.Digest(files.fs())
		if err != nil || len(d) != len("sha256:")+64 {
			t.Fatalf("digest %q, %v", d, err)
		}
		return d
	}
	base := tree{reportFile: "{}", outcomesFile: "{}"}
	if got, want := digest(base), digest(merge(base, tree{"jobs/grpo-gate/s/a__1/result.json": "{}", "jobs/baseline/s/a__1/result.json": "x"})); got != want {
		t.Error("files that are not read change the digest")
	}
	old := tree{reportFile: "{}", "jobs/baseline/s/a__1/result.json": "{}"}
	seen := map[string]string{}
	for name, files := range map[string]tree{
		"base": base, "other report": merge(base, tree{reportFile: "{ }"}), "other outcomes": merge(base, tree{outcomesFile: "{ }"}), "none": {},
		"older": old, "older, other result": merge(old, tree{"jobs/baseline/s/a__1/result.json": "{ }"}), "older, reward": merge(old, tree{"jobs/baseline/s/a__1/verifier/reward.txt": "1"}),
	} {
		d := digest(files)
		if other, ok := seen[d]; ok {
			t.Errorf("%s and %s have one digest", name, other)
		}
		seen[d] = name
	}
}
