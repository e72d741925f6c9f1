package gates_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/gates"
	"github.com/posttrainarena/arena/gates/overlap"
	"github.com/posttrainarena/arena/gates/report"
	"github.com/posttrainarena/arena/gates/task"
)

func TestCleanPackageHasNoFindings(t *testing.T) {
	r := reportOne(t, sample("ledger", nil), sealedSuites(), gates.Options{RequireOracle: true})
	if len(r.Findings) != 0 || r.Findings == nil || r.CreditWarnings == nil || r.Excluded == nil {
		t.Errorf("findings %+v, or a list that would be null on the wire", r.Findings)
	}
	want := report.Summary{Tasks: 2, Eligible: 2, Clean: 2, ByCode: map[string]int{}}
	if diff := cmp.Diff(want, r.Summary); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}

// The numbers and names of a whole report over one package of each kind.
func TestReportGolden(t *testing.T) {
	pkgs := read(t, map[string]files{
		"clean":       sample("ledger", nil),
		"no-oracle":   sample("harbour", files{"solution/solve.sh": "gone"}),
		"stub":        sample("weather", files{"solution/solve.sh": "#!/bin/bash\nexit 0\n"}),
		"Night_Shift": sample("clinic", nil),
		"copied":      sample("archive", files{"task.md": "---\nname: x\n---\n" + sealedPrompt + "\n"}),
		"twin":        sample("ledger", files{"environment/data/in.csv": "id,date\n"}),
		"broken":      sample("library", files{"solution/solve.sh": "echo 'unclosed\n"}),
	})
	r := gates.Report(pkgs, sealedSuites(), gates.Options{Defaults: task.Defaults{License: "MIT", Origin: "original"}})
	var got bytes.Buffer
	if err := report.JSON(&got, r); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.json", got.Bytes())
}

func TestRequireOracle(t *testing.T) {
	pkgs := read(t, map[string]files{
		"none": sample("harbour", files{"solution/solve.sh": "gone"}),
		"stub": sample("weather", files{"solution/solve.sh": "true\n"}),
		"fine": sample("ledger", nil),
	})
	lenient, strict := gates.Report(pkgs, nil, gates.Options{}), gates.Report(pkgs, nil, gates.Options{RequireOracle: true})
	if s := lenient.Summary; s.Eligible != 3 || s.NeedsControls != 2 || s.Rejected != 0 {
		t.Errorf("by default: %+v", s)
	}
	if s := strict.Summary; s.Eligible != 1 || s.NeedsControls != 0 || s.Rejected != 2 {
		t.Errorf("with require_oracle: %+v", s)
	}
	if diff := cmp.Diff(map[string][]string{"none": {"no-oracle"}, "stub": {"stub-oracle"}}, strict.Excluded); diff != "" {
		t.Errorf("excluded (-want +got):\n%s", diff)
	}
	if lenient.PolicyDigest == strict.PolicyDigest {
		t.Error("both policies have the same digest")
	}
}

func TestPolicyDigestIgnoresTheCollection(t *testing.T) {
	a := gates.PolicyDigest(gates.Options{Defaults: task.Defaults{License: "MIT"}})
	if b := gates.PolicyDigest(gates.Options{}); a != b {
		t.Errorf("the digest depends on a collection's defaults: %s, %s", a, b)
	}
}

// variants are packages with all kinds of defects, for properties that must hold for any mixture.
func variants(subject string) []files {
	return []files{
		sample(subject, nil),
		sample(subject, files{"solution/solve.sh": "gone"}),
		sample(subject, files{"solution/solve.sh": "exit 0"}),
		sample(subject, files{"solution/solve.sh": "if"}),
		sample(subject, files{"task.md": sealedPrompt}),
		sample(subject, files{"task.md": "---\ntask: {name: x/night-shift}\n---\n" + sealedPrompt[:120]}),
		sample("ledger", nil),
		sample(subject, files{"task.md": "\xff\xfe"}),
	}
}

// Property: the report does not depend on the order of packages, adds up, and says everything twice the same.
func TestReportIsDeterministic(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		packages := map[string]files{}
		for i, n := range rapid.SliceOfN(rapid.IntRange(0, 7), 1, 12).Draw(rt, "variants") {
			packages[fmt.Sprintf("task-%d", i)] = variants(fmt.Sprintf("subject%d", i))[n]
		}
		pkgs := read(t, packages)
		opts := gates.Options{RequireOracle: rapid.Bool().Draw(rt, "require")}
		first := gates.Report(pkgs, sealedSuites(), opts)
		shuffled := slices.Clone(pkgs)
		seed := rapid.Uint64().Draw(rt, "seed")
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if diff := cmp.Diff(first, gates.Report(shuffled, sealedSuites(), opts)); diff != "" {
			rt.Fatalf("another order gives another report:\n%s", diff)
		}
		s := first.Summary
		if s.Blocked+s.Rejected+s.Eligible != s.Tasks || s.Tasks != len(pkgs) {
			rt.Fatalf("%+v does not add up for %d packages", s, len(pkgs))
		}
		for _, f := range first.Findings {
			rule, ok := gates.Explain(f.Code)
			if !ok || rule.Severity != f.Severity || f.Message == "" || f.Fix == "" || packages[f.Task] == nil {
				rt.Fatalf("finding %+v does not fit the catalogue", f)
			}
		}
	})
}

func TestRepeatedFindingsAreCapped(t *testing.T) {
	leaks := files{}
	for i := range 60 {
		leaks[fmt.Sprintf("environment/data/%02d", i)] = fakeToken() + "\n"
	}
	r := reportOne(t, sample("ledger", leaks), nil, gates.Options{})
	list := found(r, "ledger")
	if len(list) != 25 {
		t.Fatalf("%d findings; want 25", len(list))
	}
	if last := r.Findings[24]; !strings.Contains(last.Message, "35 more") || last.Path != "environment/data/24" {
		t.Errorf("the last finding does not say how many there are: %+v", last)
	}
}

func TestTaskIdentity(t *testing.T) {
	r := reportOne(t, sample("ledger", files{"task.md": "---\nmetadata: {author_name: Ida Holm, author_email: ida@example.org, category: games}\n---\nx\n"}), nil,
		gates.Options{Defaults: task.Defaults{License: "ISC", Origin: "generated"}})
	id := r.TaskIdentity["ledger"]
	if id.AuthorName != "Ida Holm" || id.License != "ISC" || id.Origin != "generated" || id.Category != "games" || !strings.HasPrefix(id.ContentHash, "sha256:") {
		t.Errorf("identity %+v", id)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte("ida@example.org")) {
		t.Error("the author's address is in the report")
	}
}

func TestCreditWarnings(t *testing.T) {
	front := func(metadata string) files { return files{"task.md": "---\nmetadata: {" + metadata + "}\n---\nx\n"} }
	pkgs := read(t, map[string]files{
		"a": sample("ledger", nil),
		"b": sample("harbour", front("author_name: Bo, author_email: bo@example.org, category: cybersecurity, license: MIT, origin: adapted")),
		"c": sample("weather", front("author_name: Bo, author_email: bo, category: games, license: Apache 2.0")),
	})
	r := gates.Report(pkgs, nil, gates.Options{})
	var got []string
	for _, w := range r.CreditWarnings {
		got = append(got, fmt.Sprintf("%s: %d missing, %d invalid", w.Field, w.Missing, w.Invalid))
	}
	want := []string{"author_email: 0 missing, 1 invalid", "license: 0 missing, 1 invalid", "category: 0 missing, 1 invalid", "origin: 1 missing, 0 invalid", "origin_url: 1 missing, 0 invalid"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if r := gates.Report(pkgs[:1], nil, gates.Options{}); len(r.CreditWarnings) != 0 {
		t.Errorf("complete credit warns: %+v", r.CreditWarnings)
	}
}

func TestMessages(t *testing.T) {
	packages := map[string]files{"Night_Shift": sample("clinic", nil), "broken": sample("library", files{"solution/solve.sh": "if\n"})}
	for i := range 8 {
		packages[fmt.Sprintf("none-%d", i)] = sample(fmt.Sprintf("s%d", i), files{"solution/solve.sh": "gone"})
	}
	r := gates.Report(read(t, packages), sealedSuites(), gates.Options{})
	problems := []task.Problem{
		{Severity: report.Error, Code: "file-missing", Task: "broken", Path: "verifier/test.sh", Message: "the file is missing", Fix: "add it"},
		{Severity: report.Warning, Code: "submission-unknown-key", Path: "submission.yaml", Line: 4, Field: "licence", Message: "means nothing", Fix: "did you mean license?"},
	}
	errors, warnings := gates.Messages(r, problems)
	wantErrors := []string{
		"broken/verifier/test.sh: the file is missing (add it)",
		"sealed-name (blocks the collection) in 1 task: Night_Shift. ",
	}
	wantWarnings := []string{
		"submission.yaml:4: licence: means nothing (did you mean license?)",
		"no-oracle (counts only with passing controls) in 8 tasks: none-0, none-1, none-2, none-3, none-4 and 3 more. ",
		"unparsed (for review) in 1 task: broken. ",
	}
	if len(errors) != len(wantErrors) || len(warnings) != len(wantWarnings) {
		t.Fatalf("errors %q\nwarnings %q", errors, warnings)
	}
	for i, want := range wantErrors {
		if !strings.HasPrefix(errors[i], want) {
			t.Errorf("error %q; want %q…", errors[i], want)
		}
	}
	for i, want := range wantWarnings {
		if !strings.HasPrefix(warnings[i], want) {
			t.Errorf("warning %q; want %q…", warnings[i], want)
		}
	}
	if errors, warnings := gates.Messages(report.Report{}, nil); errors == nil || warnings == nil {
		t.Error("empty lists must not be null on the wire")
	}
	if full := gates.WithProblems(r, problems); len(full.Problems) != 2 || full.Summary.Tasks != r.Summary.Tasks || len(r.Problems) != 0 {
		t.Errorf("WithProblems: %d problems, %d in the original", len(full.Problems), len(r.Problems))
	}
}

func TestSourceLine(t *testing.T) {
	pkgs := read(t, map[string]files{"ledger": sample("ledger", files{"notes": "one\r\ntwo\nthree", "link": "-> notes"})})
	source := gates.SourceLine(pkgs)
	for _, test := range []struct {
		f    report.Finding
		want string
		ok   bool
	}{
		{report.Finding{Task: "ledger", Path: "notes", Line: 1}, "one\r", true},
		{report.Finding{Task: "ledger", Path: "notes", Line: 3}, "three", true},
		{report.Finding{Task: "ledger", Path: "notes", Line: 4}, "", false},
		{report.Finding{Task: "ledger", Path: "notes"}, "", false},
		{report.Finding{Task: "ledger", Path: "link", Line: 1}, "", false},
		{report.Finding{Task: "ledger", Path: "none", Line: 1}, "", false},
		{report.Finding{Task: "nobody", Path: "notes", Line: 1}, "", false},
		{report.Finding{Task: "ledger", Path: "notes", Line: 1, Code: "secret"}, "", false},
	} {
		if line, ok := source(test.f); line != test.want || ok != test.ok {
			t.Errorf("SourceLine(%+v) = %q, %v; want %q, %v", test.f, line, ok, test.want, test.ok)
		}
	}
}

// FuzzReport: the report of any bytes in any file of a package, in each layout, ends, does not panic, and keeps its
// promises.
func FuzzReport(f *testing.F) {
	s := sample("ledger", nil)
	f.Add(s["task.md"], s["solution/solve.sh"], s["environment/Dockerfile"], s["verifier/test.sh"], s["verifier/test_outputs.py"], "*.pyc")
	f.Add("---\nmetadata: [", "#!/bin/sh\n(((((`$(", "FROM ${X}\nADD <<E", "set -e\nexit", "def f(:\n", "!\n[")
	f.Add("\ufeff---\r\n---\r\n## prompt\r\n", "exit 0\n\x00\xff", "", ":", "x = '''", "\x1f\x8b")
	f.Add("[environment]\nallow_internet = false\n", "cp /verifier/x /app", "FROM a\nCOPY . /app\nADD extra /x/\nRUN python3 /app/extra", "pytest /app", "import time\ndef test():\n    assert time.time() == 1\n", "open('/x', 'w')")
	f.Fuzz(func(t *testing.T, md, solve, docker, sh, py, extra string) {
		common := files{"solution/solve.sh": solve, "environment/Dockerfile": docker, "environment/extra": extra, "environment/.dockerignore": extra, "environment/make.py": extra}
		pkg := sample("ledger", files{"task.md": md, "verifier/test.sh": sh, "verifier/test_outputs.py": py, "verifier/verifier.md": extra})
		maps.Copy(pkg, common)
		harbor := files{"task.toml": md, "instruction.md": md, "tests/test.sh": sh, "tests/test_outputs.py": py, "tests/expected.json": extra}
		maps.Copy(harbor, common)
		pkgs := read(t, map[string]files{"ledger": pkg, "harbor": harbor, "other": sample("orchard", nil)})
		r := gates.Report(pkgs, sealedSuites(), gates.Options{})
		if s := r.Summary; s.Blocked+s.Rejected+s.Eligible != 3 {
			t.Errorf("summary %+v", s)
		}
		for _, f := range r.Findings {
			if rule, ok := gates.Explain(f.Code); !ok || rule.Severity != f.Severity || f.Line < 0 {
				t.Errorf("finding %+v does not fit the catalogue", f)
			}
		}
		if err := report.Text(io.Discard, r, report.TextOptions{Source: gates.SourceLine(pkgs)}); err != nil {
			t.Error(err)
		}
	})
}

// bigCollection is 200 tasks of 10 files each.
func bigCollection(b *testing.B) []task.Package {
	packages := map[string]files{}
	for i := range 200 {
		subject := fmt.Sprintf("subject%d", i)
		more := files{}
		for j := range 4 {
			more[fmt.Sprintf("environment/data/part%d.csv", j)] = strings.Repeat(fmt.Sprintf("%d,2026-01-%02d,value %d of %s\n", j, i%28+1, i*j, subject), 200)
		}
		packages[fmt.Sprintf("task-%03d", i)] = sample(subject, more)
	}
	return read(b, packages)
}

func BenchmarkReport200Tasks(b *testing.B) {
	pkgs := bigCollection(b)
	suites := []overlap.Suite{{ID: "s"}}
	for i := range 87 {
		suites[0].Tasks = append(suites[0].Tasks, overlap.SealedTask{Name: fmt.Sprintf("sealed-%d", i), Prompt: prompt(fmt.Sprintf("sealed%d", i)), Evaluated: true})
	}
	b.ReportAllocs()
	for b.Loop() {
		gates.Report(pkgs, suites, gates.Options{})
	}
}
