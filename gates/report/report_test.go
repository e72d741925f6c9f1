package report_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/gates/report"
)

func identities(names ...string) map[string]report.Identity {
	ids := map[string]report.Identity{}
	for _, name := range names {
		ids[name] = report.Identity{ContentHash: "sha256:" + strings.Repeat("0", 64)}
	}
	return ids
}

func TestTally(t *testing.T) {
	for _, test := range []struct {
		name          string
		requireOracle bool
		findings      []report.Finding
		summary       report.Summary
		excluded      map[string][]string
	}{
		{
			name:     "tasks without findings are clean",
			summary:  report.Summary{Tasks: 2, Eligible: 2, Clean: 2, ByCode: map[string]int{}},
			excluded: map[string][]string{},
		},
		{
			name: "a blocked task is blocked only",
			findings: []report.Finding{
				{Code: "x-reject", Severity: report.Reject, Task: "a"},
				{Code: "x-block", Severity: report.Block, Task: "a"},
				{Code: "x-review", Severity: report.Review, Task: "a"},
			},
			summary:  report.Summary{Tasks: 2, Blocked: 1, Eligible: 1, Clean: 1, ByCode: map[string]int{"x-block": 1, "x-reject": 1, "x-review": 1}},
			excluded: map[string][]string{"a": {"x-block", "x-reject"}},
		},
		{
			name: "controls and review leave a task eligible and can meet in one",
			findings: []report.Finding{
				{Code: "x-controls", Severity: report.Controls, Task: "a"},
				{Code: "x-review", Severity: report.Review, Task: "a"},
				{Code: "x-review", Severity: report.Review, Task: "a", Line: 2},
				{Code: "x-review", Severity: report.Review, Task: "b"},
			},
			summary:  report.Summary{Tasks: 2, Eligible: 2, NeedsControls: 1, Review: 2, ByCode: map[string]int{"x-controls": 1, "x-review": 3}},
			excluded: map[string][]string{},
		},
		{
			name:          "require_oracle excludes tasks that need controls",
			requireOracle: true,
			findings: []report.Finding{
				{Code: "x-controls", Severity: report.Controls, Task: "a"},
				{Code: "x-reject", Severity: report.Reject, Task: "b"},
				{Code: "x-reject", Severity: report.Reject, Task: "b", Line: 9},
			},
			summary:  report.Summary{Tasks: 2, Rejected: 2, ByCode: map[string]int{"x-controls": 1, "x-reject": 2}},
			excluded: map[string][]string{"a": {"x-controls"}, "b": {"x-reject"}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := report.Report{TaskIdentity: identities("a", "b"), Findings: test.findings, RequireOracle: test.requireOracle}
			r.Tally()
			if diff := cmp.Diff(test.summary, r.Summary); diff != "" {
				t.Errorf("summary (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.excluded, r.Excluded); diff != "" {
				t.Errorf("excluded (-want +got):\n%s", diff)
			}
		})
	}
}

// Property: whatever the findings, every task is counted once, and eligible means not excluded.
func TestTallyCountsEveryTaskOnce(t *testing.T) {
	severities := []report.Severity{report.Block, report.Reject, report.Controls, report.Review}
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-f]{1,2}`), 0, 8, rapid.ID).Draw(t, "names")
		finding := rapid.Custom(func(t *rapid.T) report.Finding {
			s := rapid.SampledFrom(severities).Draw(t, "severity")
			return report.Finding{Code: "x-" + string(s), Severity: s, Task: rapid.SampledFrom(append(names, "")).Draw(t, "task")}
		})
		r := report.Report{TaskIdentity: identities(names...), Findings: rapid.SliceOf(finding).Draw(t, "findings"), RequireOracle: rapid.Bool().Draw(t, "require")}
		r.Tally()
		s := r.Summary
		if s.Blocked+s.Rejected+s.Eligible != s.Tasks || s.Tasks != len(names) {
			t.Fatalf("%+v does not add up for %d tasks", s, len(names))
		}
		if len(r.Eligible()) != s.Eligible || len(r.Excluded) != s.Blocked+s.Rejected {
			t.Fatalf("%d eligible names, %d excluded for %+v", len(r.Eligible()), len(r.Excluded), s)
		}
		if s.Clean > s.Eligible || s.Review > s.Eligible || s.NeedsControls > s.Eligible {
			t.Fatalf("a part of the eligible tasks is larger than the whole: %+v", s)
		}
		total := 0
		for n := range maps.Values(s.ByCode) {
			total += n
		}
		if total != len(r.Findings) {
			t.Fatalf("by_code counts %d of %d findings", total, len(r.Findings))
		}
	})
}

func TestCompactKeepsPlacesAndDropsBodies(t *testing.T) {
	r := sample()
	compact := r.Compact()
	if len(compact.Findings) != len(r.Findings) || r.Findings[0].Message == "" {
		t.Fatal("Compact lost findings or changed the report it was called on")
	}
	for i, f := range slices.Concat(compact.Findings, compact.Problems) {
		if f.Message != "" || f.Fix != "" {
			t.Errorf("finding %d kept its body: %+v", i, f)
		}
	}
	if f := compact.Findings[0]; f.Code != r.Findings[0].Code || f.Line != r.Findings[0].Line || f.Path != r.Findings[0].Path {
		t.Errorf("finding lost its place: %+v", f)
	}
	if diff := cmp.Diff(r.Summary, compact.Summary); diff != "" {
		t.Errorf("the summary changed:\n%s", diff)
	}
}

func TestHeadline(t *testing.T) {
	for want, s := range map[string]report.Summary{
		"0 tasks: 0 blocked, 0 rejected, 0 eligible":                                                                {},
		"1 task: 1 blocked, 0 rejected, 0 eligible":                                                                 {Tasks: 1, Blocked: 1},
		"5 tasks: 1 blocked, 1 rejected, 3 eligible (1 clean, 2 to review, 1 without a working reference solution)": {Tasks: 5, Blocked: 1, Rejected: 1, Eligible: 3, NeedsControls: 1, Review: 2, Clean: 1},
	} {
		if got := report.Headline(s); got != want {
			t.Errorf("Headline(%+v) = %q; want %q", s, got, want)
		}
	}
}

// sample is a report with everything in it that an encoder has to get right.
func sample() report.Report {
	r := report.Report{
		GateSet: "gates-v2", Version: "2.0.0", PolicyDigest: "sha256:" + strings.Repeat("ab", 32),
		TaskIdentity: identities("bell-tower", "wire sort", "zeta"),
		Findings: []report.Finding{
			{Code: "stub-oracle", Severity: report.Controls, Task: "wire sort", Path: "oracle/solve.sh", Line: 2, Message: "the reference solution does nothing", Fix: "Write the commands that solve the task."},
			{Code: "oracle-in-image", Severity: report.Reject, Task: "bell-tower", Path: "environment/Dockerfile", Line: 14, Column: 6, Message: "COPY takes 100% of the context,\nsolve.sh included", Fix: "Name the files: one, two."},
			{Code: "image-git", Severity: report.Review, Task: "wire sort", Path: "environment/a,b:c\x1b[2J*.md", Message: "a `weird` name <b>&</b> @everyone | [x](javascript:y)"},
		},
		CreditWarnings: []report.CreditWarning{{Field: "license", Missing: 2, Message: "metadata.license: missing in 2 of 3 tasks"}},
		Problems: []report.Finding{
			{Code: "submission-missing-key", Severity: report.Error, Path: "submission.yaml", Line: 1, Message: "track: is missing or empty", Fix: "add track: and a value"},
		},
	}
	r.Tally()
	return r
}

func sampleRules() []report.Rule {
	rule := func(code string, severity report.Severity) report.Rule {
		return report.Rule{Code: code, Severity: severity, Title: "Title of " + code, Meaning: "Meaning.", Why: "Why.", Example: "Example.", Fix: "Fix."}
	}
	return []report.Rule{rule("oracle-in-image", report.Reject), rule("stub-oracle", report.Controls), rule("image-git", report.Review)}
}

func sampleSource(f report.Finding) (string, bool) {
	switch f.Code {
	case "oracle-in-image":
		return "COPY\t. /app \x1b[31mred", true
	case "stub-oracle":
		return "  exit 0", true
	}
	return "", false
}

func ExampleReport_Eligible() {
	r := report.Report{
		TaskIdentity: map[string]report.Identity{"bell-tower": {}, "wire-sort": {}},
		Findings:     []report.Finding{{Code: "sealed-overlap", Severity: report.Reject, Task: "bell-tower"}},
	}
	r.Tally()
	fmt.Println(r.Eligible(), r.Excluded)
	// Output: [wire-sort] map[bell-tower:[sealed-overlap]]
}
