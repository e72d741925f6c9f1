package gates_test

import (
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/posttrainarena/arena/gates"
	"github.com/posttrainarena/arena/gates/overlap"
	"github.com/posttrainarena/arena/gates/report"
	"github.com/posttrainarena/arena/gates/task"
)

// files is one package written down as text: path → content. "gone" removes a file of the sample.
type files map[string]string

// prompts gives each sample task words of its own, so that samples are no near-copies of each other.
func prompt(subject string) string {
	return fmt.Sprintf("Tidy the %s records below /app/data: drop rows without an id, sort the rest by %s date, and write the outcome to /app/out/%s.csv.", subject, subject, subject)
}

// sample is a package without defects, in the way of the mock world: any frontmatter, no "## prompt" heading.
func sample(subject string, changes files) files {
	pkg := files{
		"task.md": "---\nname: " + subject + "\nmetadata:\n  author_name: Ida Holm\n  author_email: ida@example.org\n  license: MIT\n" +
			"  category: data-processing\n  origin: original\n---\n" + prompt(subject) + "\n",
		"environment/Dockerfile":   "FROM python:3.12-slim\nWORKDIR /app\nCOPY data/ /app/data/\n",
		"environment/data/in.csv":  "id,date\n1,2026-01-01\n",
		"solution/solve.sh":        "#!/bin/bash\nset -euo pipefail\ncd /app\nmkdir -p out\npython3 tools/tidy.py data/in.csv > out/" + subject + ".csv\n",
		"verifier/test.sh":         "#!/bin/bash\nif python3 -m pytest -q /verifier/test_outputs.py; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi\n",
		"verifier/test_outputs.py": "from pathlib import Path\n\n\ndef test_rows():\n    rows = Path('/app/out/" + subject + ".csv').read_text().splitlines()\n    assert rows[1:] == ['1,2026-01-01']\n",
	}
	maps.Copy(pkg, changes)
	maps.DeleteFunc(pkg, func(_, content string) bool { return content == "gone" })
	return pkg
}

// read turns packages, by name, into what the gates take.
func read(t testing.TB, packages map[string]files) []task.Package {
	t.Helper()
	m := fstest.MapFS{}
	for name, pkg := range packages {
		for place, content := range pkg {
			file := &fstest.MapFile{Data: []byte(content), Mode: 0o644}
			if target, link := strings.CutPrefix(content, "-> "); link {
				file = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777}
			}
			m[name+"/"+place] = file
		}
	}
	tree, err := task.ReadTree(m, task.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	col, _ := task.ReadPackages(tree, "", task.DefaultLimits())
	if len(col.Packages) != len(packages) {
		t.Fatalf("%d of %d packages were found", len(col.Packages), len(packages))
	}
	return col.Packages
}

// found lists the findings of a task as "code path:line".
func found(r report.Report, name string) []string {
	var list []string
	for _, f := range r.Findings {
		if f.Task != name {
			continue
		}
		s := f.Code
		if f.Path != "" {
			s += " " + f.Path
		}
		if f.Line > 0 {
			s += fmt.Sprintf(":%d", f.Line)
		}
		list = append(list, s)
	}
	return list
}

// reportOne runs the gates over a single package called ledger.
func reportOne(t testing.TB, pkg files, suites []overlap.Suite, opts gates.Options) report.Report {
	t.Helper()
	return gates.Report(read(t, map[string]files{"ledger": pkg, "other": sample("orchard", nil)}), suites, opts)
}
