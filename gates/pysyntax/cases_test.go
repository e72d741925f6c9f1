package pysyntax

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const casesFile = "testdata/cases.txt"

// syntaxCase is one case of testdata/cases.txt.
type syntaxCase struct{ name, source, want string }

func readCases(t *testing.T) (preamble string, cases []syntaxCase) {
	t.Helper()
	data, err := os.ReadFile(casesFile)
	if err != nil {
		t.Fatal(err)
	}
	preamble, rest, _ := strings.Cut(string(data), "=== ")
	for _, block := range strings.Split(rest, "\n=== ") {
		name, body, _ := strings.Cut(block, "\n")
		source, want, ok := strings.Cut(body, "\n---\n")
		if !ok {
			source, want = strings.TrimSuffix(body, "\n---"), ""
		}
		cases = append(cases, syntaxCase{name, source + "\n", strings.TrimSuffix(want, "\n")})
	}
	return preamble, cases
}

// answer says what Parse makes of a source, in the form of the cases file.
func answer(source string) string {
	m, err := Parse([]byte(source), Options{})
	if err != nil {
		return "refused: " + err.Error()
	}
	d := dumper{m: m, noPositions: true}
	var b strings.Builder
	for _, s := range m.Body {
		d.buf = d.buf[:0]
		d.node(s)
		b.Write(append(d.buf, '\n'))
	}
	if m.Needs.Minor > 0 {
		fmt.Fprintf(&b, "needs 3.%d for %s", m.Needs.Minor, m.Needs.What)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func TestCases(t *testing.T) {
	preamble, cases := readCases(t)
	if os.Getenv("ARENA_UPDATE") != "" {
		var b strings.Builder
		b.WriteString(preamble)
		for _, c := range cases {
			fmt.Fprintf(&b, "=== %s\n%s---\n%s\n", c.name, c.source, answer(c.source))
		}
		if err := os.WriteFile(casesFile, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := answer(c.source); got != c.want {
				t.Errorf("source:\n%s\n got: %s\nwant: %s", c.source, got, c.want)
			}
		})
	}
}

// TestCasesAgainstCPython asks the interpreter about the same cases. Those that
// need a newer one are listed.
func TestCasesAgainstCPython(t *testing.T) {
	python, minor := findPython(t)
	if minor < 9 {
		t.Skip("the parser of Python 3.8 accepts some of what all later ones refuse")
	}
	dir := t.TempDir()
	_, cases := readCases(t)
	files := make([]string, len(cases))
	for i, c := range cases {
		files[i] = filepath.Join(dir, fmt.Sprintf("%03d.py", i))
		if err := os.WriteFile(files[i], []byte(c.source), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	outcomes := make([]outcome, len(files))
	if err := compareSome(python, minor, files, outcomes, 0, 1); err != nil {
		t.Fatal(err)
	}
	newer := 0
	for i, o := range outcomes {
		if o.problem != "" {
			t.Errorf("%s: %s", cases[i].name, o.problem)
		}
		if o.newer != "" {
			newer++
		}
	}
	t.Logf("CPython 3.%d gives the same answer for %d of %d cases; the other %d need a newer one",
		minor, len(cases)-newer, len(cases), newer)
}

// findPython returns the interpreter to compare with and its minor version, or
// skips the test.
func findPython(t *testing.T) (path string, minor int) {
	t.Helper()
	python := os.Getenv("ARENA_PYTHON")
	if python == "" {
		python = "python3"
	}
	path, err := exec.LookPath(python)
	if err != nil {
		t.Skipf("no CPython to compare with: %v", err)
	}
	out, err := exec.Command(path, "-c", "import sys; print(*sys.version_info[:2])").Output()
	if err != nil {
		t.Skipf("%s does not run: %v", path, err)
	}
	major := 0
	if _, err := fmt.Sscan(string(out), &major, &minor); err != nil || major != 3 || minor < 8 {
		t.Skipf("%s is no Python 3.8 or newer: %s", path, out)
	}
	return path, minor
}
