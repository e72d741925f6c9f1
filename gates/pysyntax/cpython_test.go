package pysyntax

import (
	"bufio"
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

const pythonRoots = `
import json, sys, sysconfig
paths = sysconfig.get_paths()
print(json.dumps({
    "version": list(sys.version_info[:3]),
    "roots": sorted({paths["stdlib"], paths["platstdlib"], paths["purelib"], paths["platlib"]}),
}))
`

// outcome compares what the two parsers made of one file.
type outcome struct {
	path    string
	size    int
	refused bool   // by both
	newer   string // accepted here for syntax newer than the interpreter
	problem string // disagreement
}

// TestCPython parses every file of the standard library and of the installed
// packages with CPython and with this package, and compares acceptance and
// trees. ARENA_PYTHON names another interpreter than python3, and
// ARENA_PYTHON_ROOTS other folders, separated by colons.
func TestCPython(t *testing.T) {
	if testing.Short() {
		t.Skip("parses thousands of files")
	}
	python, minor := findPython(t)
	info := struct {
		Version []int
		Roots   []string
	}{}
	out, err := exec.Command(python, "-c", pythonRoots).Output()
	if err != nil {
		t.Fatalf("ask %s for its paths: %v", python, err)
	}
	if err := json.Unmarshal(out, &info); err != nil {
		t.Fatal(err)
	}
	if roots := os.Getenv("ARENA_PYTHON_ROOTS"); roots != "" {
		info.Roots = filepath.SplitList(roots)
	}
	var files []string
	for i, file := range pythonFiles(t, info.Roots) {
		if i%sampleEvery == 0 {
			files = append(files, file)
		}
	}
	outcomes := compareAll(t, python, minor, files)

	bytes, refused, newer, agreed := 0, 0, 0, 0
	for _, o := range outcomes {
		bytes += o.size
		switch {
		case o.problem != "":
			t.Errorf("%s: %s", o.path, o.problem)
			continue
		case o.refused:
			refused++
		case o.newer != "":
			newer++
			t.Logf("newer syntax: %s: %s", o.path, o.newer)
			continue
		}
		agreed++
	}
	t.Logf("CPython %d.%d.%d: %d files, %.1f MB; the same answer for %d (%d refused by both); %d use newer syntax; agreement %.4f%%",
		info.Version[0], info.Version[1], info.Version[2], len(files), float64(bytes)/1e6,
		agreed, refused, newer, 100*float64(agreed+newer)/float64(len(files)))
	if len(files) < 100 {
		t.Errorf("only %d files found in %v", len(files), info.Roots)
	}
}

// pythonFiles lists the Python files below the given folders, each once.
func pythonFiles(t *testing.T, roots []string) []string {
	seen := map[string]bool{}
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			if d.Type().IsRegular() && strings.HasSuffix(path, ".py") && !strings.Contains(path, "\n") {
				seen[path] = true
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	files := make([]string, 0, len(seen))
	for path := range seen {
		files = append(files, path)
	}
	slices.Sort(files)
	return files
}

// compareAll splits the files over a few interpreters.
func compareAll(t *testing.T, python string, minor int, files []string) []outcome {
	workers := min(max(runtime.GOMAXPROCS(0), 2), 8)
	outcomes := make([]outcome, len(files))
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			if err := compareSome(python, minor, files, outcomes, w, workers); err != nil {
				t.Errorf("worker %d: %v", w, err)
			}
		})
	}
	wg.Wait()
	return outcomes
}

// compareSome compares every step-th file from first on.
func compareSome(python string, minor int, files []string, outcomes []outcome, first, step int) error {
	cmd := exec.Command(python, filepath.Join("testdata", "dump.py"))
	var paths bytes.Buffer
	for i := first; i < len(files); i += step {
		paths.WriteString(files[i] + "\n")
	}
	cmd.Stdin = &paths
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 1<<20)
	for i := first; i < len(files); i += step {
		if !lines.Scan() {
			return errors.Join(fmt.Errorf("no answer for %s", files[i]), cmd.Wait())
		}
		outcomes[i] = compare(python, files[i], minor, lines.Text())
	}
	return cmd.Wait()
}

// compare parses one file and holds the result against CPython's answer.
func compare(python, path string, minor int, answer string) outcome {
	o := outcome{path: path}
	src, err := os.ReadFile(path)
	if err != nil {
		o.problem = err.Error()
		return o
	}
	o.size = len(src)
	m, err := Parse(src, Options{})
	reason, refused := strings.CutPrefix(answer, "refused ")
	switch {
	case refused && err != nil:
		o.refused = true
	case refused && m.Needs.Minor > minor:
		o.newer = fmt.Sprintf("line %d, %s of 3.%d", m.Position(m.Needs.At).Line, m.Needs.What, m.Needs.Minor)
	case refused:
		o.problem = "accepted, but CPython says " + reason
	case err != nil:
		o.problem = "refused: " + err.Error()
	default:
		d := dumper{m: m, noPositions: minor < 10, oldFStrings: minor < 12}
		d.node(m)
		sum := md5.Sum(d.buf)
		if got := hex.EncodeToString(sum[:]); got != answer {
			o.problem = "the trees differ" + firstDifference(python, path, string(d.buf))
		} else if m.Needs.Minor > minor {
			o.problem = fmt.Sprintf("said to need 3.%d for %s, but CPython accepts it", m.Needs.Minor, m.Needs.What)
		}
	}
	return o
}

// firstDifference shows where two dumps of a file part.
func firstDifference(python, path, got string) string {
	out, err := exec.Command(python, filepath.Join("testdata", "dump.py"), path).Output()
	if err != nil {
		return ": " + err.Error()
	}
	want := string(out)
	n := 0
	for n < len(got) && n < len(want) && got[n] == want[n] {
		n++
	}
	excerpt := func(s string) string { return s[max(0, n-100):min(len(s), n+60)] }
	return fmt.Sprintf("\n got %q\nwant %q", excerpt(got), excerpt(want))
}
