package artifacts_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/protocol/artifacts"
)

func TestChecks(t *testing.T) {
	for name, c := range map[string]struct {
		ctrf, stdout string
		want         artifacts.Checks
	}{
		"CTRF": {
			`{"results":{"tests":[{"name":"a","status":"passed"},{"name":"b","status":"skipped"},{"name":"c","status":"pending","message":"later"}]}}`, "== 9 failed in 1s ==",
			artifacts.Checks{Source: "ctrf", Passed: 1, Skipped: 2, Tests: []artifacts.Check{{Name: "a", Status: "passed"}, {Name: "b", Status: "skipped"}, {Name: "c", Status: "pending", Message: "later"}}},
		},
		"CTRF with tests at the top": {`{"tests":[{"name":"a","status":"failed"}]}`, "", artifacts.Checks{Source: "ctrf", Failed: 1, Tests: []artifacts.Check{{Name: "a", Status: "failed"}}}},
		"CTRF without tests":         {`{"results":{}}`, "3 passed in 0.1s", artifacts.Checks{Source: "pytest", Passed: 3, Tests: []artifacts.Check{}}},
		"half a CTRF":                {`{"results":{"tests":[`, "== 1 error in 0.1s ==", artifacts.Checks{Source: "pytest", Failed: 1, Tests: []artifacts.Check{}}},
		"the last summary counts":    {"", "= 1 failed in 1s =\n= 2 passed in 1s =\n", artifacts.Checks{Source: "pytest", Passed: 2, Tests: []artifacts.Check{}}},
		"only skipped":               {"", "= 2 skipped in 1s =\n", artifacts.Checks{Source: "pytest", Skipped: 2, Tests: []artifacts.Check{}}},
		"no report":                  {"", "it went well: 3 passed in spirit", artifacts.Checks{Tests: []artifacts.Check{}}},
	} {
		t.Run(name, func(t *testing.T) {
			files := attempt(passed, "1", "")
			files["verifier/test-stdout.txt"] = c.stdout
			if c.ctrf != "" {
				files["verifier/ctrf.json"] = c.ctrf
			}
			fsys := under(gate+trial, files).fs()
			d, err := artifacts.Open(fsys, artifacts.Attempt{Path: gate + trial})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, d.Checks); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Only the end of a long output is kept; it is where the summary is.
func TestLongStdout(t *testing.T) {
	files := attempt(passed, "1", "")
	files["verifier/test-stdout.txt"] = strings.Repeat("noise of the verifier\n", 200_000) + "= 1 passed in 1s =\n"
	d, err := artifacts.Open(under(gate+trial, files).fs(), artifacts.Attempt{Path: gate + trial})
	if err != nil {
		t.Fatal(err)
	}
	if !d.StdoutCut || len(d.Stdout) != 1<<20 || d.Checks.Passed != 1 {
		t.Errorf("cut %v, %d bytes, checks %+v", d.StdoutCut, len(d.Stdout), d.Checks)
	}
}
