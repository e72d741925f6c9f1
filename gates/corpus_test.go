package gates_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/posttrainarena/arena/gates"
)

// labelled is one small package of the corpus and what the gates should say about it.
type labelled struct {
	code    string // the code that the archive is about
	name    string
	hit     bool  // the package has the defect; otherwise it only comes near it
	changes files // to the sample package
	twin    files // to a second package of the collection, which sorts before it
}

// readCorpus reads testdata/corpus: one txtar archive for each code. A file CASE/PATH of it changes the sample package
// of case CASE, and CASE/+/PATH a second package beside it. Cases called hit-… must yield exactly the archive's code,
// cases called near-… nothing. "~~" in a file stands for nothing: it keeps made-up credentials from looking like real
// ones where the corpus itself is scanned.
func readCorpus(t *testing.T) []labelled {
	t.Helper()
	archives, err := filepath.Glob("testdata/corpus/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	var cases []labelled
	for _, name := range archives {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		code := strings.TrimSuffix(filepath.Base(name), ".txtar")
		byName := map[string]int{}
		for _, file := range txtar.Parse(text).Files {
			kase, place, _ := strings.Cut(file.Name, "/")
			i, ok := byName[kase]
			if !ok {
				i = len(cases)
				byName[kase] = i
				cases = append(cases, labelled{code: code, name: kase, hit: strings.HasPrefix(kase, "hit-"), changes: files{}, twin: files{}})
				if !cases[i].hit && !strings.HasPrefix(kase, "near-") {
					t.Errorf("%s: case %s is neither hit- nor near-", name, kase)
				}
			}
			content := strings.ReplaceAll(string(file.Data), "~~", "")
			if strings.TrimSpace(content) == "gone" {
				content = "gone"
			}
			if below, ok := strings.CutPrefix(place, "+/"); ok {
				cases[i].twin[below] = content
			} else {
				cases[i].changes[place] = content
			}
		}
	}
	return cases
}

// codesOf runs the gates over a labelled package and returns the distinct codes found in it.
func codesOf(t *testing.T, c labelled) []string {
	t.Helper()
	packages := map[string]files{"ledger": sample("ledger", c.changes)}
	if len(c.twin) > 0 {
		packages["first"] = sample("orchard", c.twin)
	}
	r := gates.Report(read(t, packages), sealedSuites(), gates.Options{})
	codes := map[string]bool{}
	for _, f := range r.Findings {
		if f.Task == "ledger" {
			codes[f.Code] = true
		}
	}
	return slices.Sorted(maps.Keys(codes))
}

// TestCorpus measures the rules on the labelled corpus: every defect must be found and be the only finding, and
// whatever only comes near a defect must stay silent.
func TestCorpus(t *testing.T) {
	type score struct{ hits, found, near, alarms int }
	scores, total := map[string]*score{}, score{}
	for _, rule := range gates.Catalogue() {
		scores[rule.Code] = &score{}
	}
	for _, c := range readCorpus(t) {
		s := scores[c.code]
		if s == nil {
			t.Errorf("testdata/corpus/%s.txtar: the catalogue has no such code", c.code)
			continue
		}
		codes := codesOf(t, c)
		var want []string
		if c.hit {
			want = []string{c.code}
			s.hits++
			if slices.Contains(codes, c.code) {
				s.found++
			}
		} else {
			s.near++
			if len(codes) > 0 {
				s.alarms++
			}
		}
		if diff := cmp.Diff(want, codes, cmp.Transformer("", func(s []string) string { return strings.Join(s, " ") })); diff != "" {
			t.Errorf("%s, %s (-want +got):\n%s", c.code, c.name, diff)
		}
	}
	for _, rule := range gates.Catalogue() {
		s := scores[rule.Code]
		if s.hits < 2 || s.near < 2 {
			t.Errorf("%s has %d positive and %d near cases; it needs two of each", rule.Code, s.hits, s.near)
		}
		t.Logf("%-28s recall %d/%d, false alarms %d/%d", rule.Code, s.found, s.hits, s.alarms, s.near)
		total.hits, total.found, total.near, total.alarms = total.hits+s.hits, total.found+s.found, total.near+s.near, total.alarms+s.alarms
	}
	t.Logf("%d packages: recall %d/%d, false alarms %d/%d", total.hits+total.near, total.found, total.hits, total.alarms, total.near)
}

// mockTask is a package as the mock world writes it (seed 000), with at most one planted defect.
func mockTask(defect string) files {
	credit := "metadata:\n  author_name: grep-gang\n  author_email: grep-gang@example.org\n  license: MIT\n  category: debugging\n  origin: original\n"
	if defect == "no-credit" {
		credit = ""
	}
	solve := "#!/bin/bash\nset -euo pipefail\ncd /app\n"
	for i := range 4 {
		solve += fmt.Sprintf("python3 tools/step_%d.py --input data/in_%d.txt --out output/part_%d.txt\n", i, i, i)
	}
	pkg := files{
		"task.md":                   "---\nname: mock\n" + credit + "---\nRepair a Makefile build on Alpine. Leave the result in /app/output and do not change the tests.\n",
		"environment/Dockerfile":    "FROM python:3.12-slim\nWORKDIR /app\nCOPY data/ /app/data/\n",
		"environment/data/in_0.txt": "0.25\n0.5\n0.75\n",
		"solution/solve.sh":         solve,
		"verifier/test.sh": "#!/bin/bash\nset -e\nif python3 -m pytest -q /verifier/test_outputs.py; then echo 1 > /logs/verifier/reward.txt; " +
			"else echo 0 > /logs/verifier/reward.txt; fi\n",
		"verifier/test_outputs.py": "import os\nfrom pathlib import Path\nEXPECTED = \"ok\"\n\ndef test_output():\n" +
			"    assert Path(\"/app/output/part_0.txt\").read_text().strip() == EXPECTED\n" +
			"    assert len(Path(\"/app/output/part_1.txt\").read_text().splitlines()) == 20\n",
	}
	switch defect {
	case "no-oracle":
		delete(pkg, "solution/solve.sh")
	case "stub-oracle":
		pkg["solution/solve.sh"] = "#!/bin/bash\nexit 0\n"
	case "oracle-in-image":
		pkg["environment/data/helper.sh"] = solve
	case "answer-file":
		pkg["environment/data/expected_output.txt"] = "42\n"
	case "existence-only":
		pkg["verifier/test_outputs.py"] = "import os\nfrom pathlib import Path\nEXPECTED = \"ok\"\n\ndef test_output():\n    assert os.path.exists(\"/app/output/part_0.txt\")\n"
	case "always-reward":
		pkg["verifier/test.sh"] = "#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n"
	}
	return pkg
}

// Each defect that the mock world plants yields exactly its finding.
func TestMockWorldDefects(t *testing.T) {
	for defect, want := range map[string][]string{
		"":                nil,
		"no-oracle":       {"no-oracle oracle/solve.sh"},
		"stub-oracle":     {"stub-oracle solution/solve.sh:2"},
		"oracle-in-image": {"oracle-in-image environment/Dockerfile:3"},
		"answer-file":     {"answer-like-file environment/Dockerfile:3"},
		"existence-only":  {"existence-only verifier/test_outputs.py:5"},
		"always-reward":   {"always-reward verifier/test.sh:2"},
		"no-credit":       nil,
	} {
		t.Run(defect, func(t *testing.T) {
			r := gates.Report(read(t, map[string]files{"mock": mockTask(defect)}), nil, gates.Options{})
			if diff := cmp.Diff(want, found(r, "mock")); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if warned := len(r.CreditWarnings) > 0; warned != (defect == "no-credit") {
				t.Errorf("credit warnings %+v", r.CreditWarnings)
			}
		})
	}
}

// The catalogue has the codes of PROTOCOL §6, with their severities, and no others.
func TestCatalogueIsTheProtocol(t *testing.T) {
	protocol := map[string]string{
		"block":    "sealed-name sealed-near-copy",
		"reject":   "oracle-in-image verifier-in-image answer-key-in-image sealed-overlap",
		"controls": "no-oracle stub-oracle",
		"review": "answer-like-file verifier-named-file image-bytecode image-cache image-git remote-add oracle-downloads unmentioned-grading-data " +
			"existence-only no-assertions always-reward sealed-overlap-unevaluated " +
			"verifier-downloads verifier-agent-writable reward-abort oracle-reads-verifier literal-only clock-dependent duplicate-task unparsed secret",
	}
	want, got := map[string]string{}, map[string]string{}
	for severity, codes := range protocol {
		for code := range strings.FieldsSeq(codes) {
			want[code] = severity
		}
	}
	for _, rule := range gates.Catalogue() {
		got[rule.Code] = string(rule.Severity)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("catalogue (-protocol +catalogue):\n%s", diff)
	}
}
