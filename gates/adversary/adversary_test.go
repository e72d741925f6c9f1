package adversary

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"mvdan.cc/sh/v3/syntax"
	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/gates/task"
)

// pkg is a package of files.
func pkg(t testing.TB, files map[string]string) *task.Package {
	t.Helper()
	fsys := fstest.MapFS{"envs/a/task.md": {Data: []byte("---\nschema_version: '1.3'\ntask: {name: own/a}\n---\n## prompt\n\nDo it.\n")}}
	for name, text := range files {
		fsys["envs/a/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	tree, err := task.ReadTree(fsys, task.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	col, _ := task.ReadPackages(tree, "", task.DefaultLimits())
	return &col.Packages[0]
}

// Every attack explains itself, and its script is plain POSIX shell that fits into one argument of a process, whatever
// the package holds.
func TestAttacksAreWhole(t *testing.T) {
	var long strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&long, "cat /app/%s/file%d.txt\n", strings.Repeat("x", 90), i)
	}
	s := surfaceOf(pkg(t, map[string]string{"verifier/test.sh": long.String(), "oracle/solve.sh": strings.ReplaceAll(long.String(), "file", "work")}))
	if len(s.named) != maxNamed || len(s.work) != maxWork {
		t.Errorf("%d names, %d of the work", len(s.named), len(s.work))
	}
	seen := map[string]bool{}
	for i, a := range Attacks() {
		if seen[a.Name] || a.Name == "" || a.What == "" || a.Why == "" || a.Close == "" || a.Guard == "" || a.Do == "" || (a.Name == Idle) != (i == 0) {
			t.Errorf("%+v", a)
		}
		seen[a.Name] = true
		script := a.script(s)
		if _, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(script), a.Name); err != nil {
			t.Error(err)
		}
		if len(script) > 128<<10-1 {
			t.Errorf("%s has %d bytes", a.Name, len(script))
		}
		if found, ok := Find(a.Name); !ok || found.What != a.What {
			t.Errorf("%s is not found", a.Name)
		}
	}
	if _, ok := Find("none"); ok {
		t.Error("an attack that does not exist is found")
	}
}

func TestWhatAnAttackerReads(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  surface
	}{
		"nothing": {nil, surface{}},
		"helpers, data and the work": {map[string]string{
			"oracle/solve.sh":  "cd /app\nsed -i s/a/b/ src/main.c\necho 42 > /app/answer\npatch -p1 < fix.diff\n",
			"oracle/fix.diff":  "--- a/lib/util.c\n+++ b/lib/util.c\n",
			"verifier/test.sh": "cd /app\n. ./settings.sh\ncmp expected answer && /app/tests/run.sh src/main.c lib/util.c && sh /verifier/more.sh > /tmp/log.txt\necho $? > /logs/verifier/reward.txt\ncurl https://example.org/x.tar.gz /usr/bin/thing.so ../up\n",
			"verifier/more.sh": "cat /opt/data.json; x.split y@example.org example.org .read\n",
		}, surface{named: []string{"/app/expected", "/app/settings.sh", "/app/tests/run.sh", "/opt/data.json", "/tmp/log.txt", "app/settings.sh", "settings.sh"}, outputs: []string{"/app/answer"}}},
		"python":        {map[string]string{"tests/test.sh": "python3 /tests/check.py\n", "tests/check.py": "open('/app/out.csv')\n"}, surface{named: []string{"/app/out.csv"}, python: true}},
		"pytest":        {map[string]string{"tests/test.sh": "pytest /tests/test_x.py\n", "tests/test_x.py": ""}, surface{python: true, pytest: true}},
		"not even text": {map[string]string{"verifier/test.sh": "\x00/app/a.txt", "oracle/solve.sh": "if\n"}, surface{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := surfaceOf(pkg(t, c.files))
			for _, n := range c.want.named {
				if n != "app/settings.sh" && n != "settings.sh" && !slices.Contains(got.named, n) {
					t.Errorf("%s is not among %q", n, got.named)
				}
			}
			for _, n := range got.named {
				if !slices.Contains(c.want.named, n) {
					t.Errorf("%s is too much", n)
				}
			}
			if got.python != c.want.python || got.pytest != c.want.pytest {
				t.Errorf("python %v, pytest %v", got.python, got.pytest)
			}
			for _, n := range c.want.outputs {
				if !slices.Contains(got.outputs, n) {
					t.Errorf("the outputs %q lack %s", got.outputs, n)
				}
			}
		})
	}
}

func TestMutantsOfScripts(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		want   []string // kind, line and what
		fails  string
	}{
		"one file": {"#!/bin/bash\nset -e\necho 42 > /app/answer\n", []string{"empty 0 empties /app/answer", "constant 3 has 43 for 42", "drop 3 leaves out echo 42 >/app/answer"}, ""},
		"a program in a here-document": {
			"cd /app\nmkdir -p out\ncat > out/x.py <<'EOF'\n# rule 7\nx1 = 10 # of 20\nprint(x1)\nEOF\npython3 out/x.py\n",
			[]string{"empty 0 empties /app/out/x.py", "constant 5 has 11 for 10", "drop 3 leaves out cat >out/x.py <<'EOF'", "drop 8 leaves out python3 out/x.py"},
			"",
		},
		"words":                              {"echo \"salt, pepper\" > a.txt\n", []string{"drop 1 leaves out echo \"salt, pepper\" >a.txt", "word 1 has saltt for salt", "word 1 has pepperr for pepper"}, ""},
		"options and paths are no constants": {"head -n 5 /data/7 > /app/o\nsort -k2 /app/o\n", []string{"empty 0 empties /app/o", "drop 1 leaves out head -n 5 /data/7 >/app/o", "drop 2 leaves out sort -k2 /app/o", "constant 1 has 6 for 5"}, ""},
		"names with numbers":                 {"# what it does\nrun 'encode(\"utf-8\", 3)'\n", []string{"constant 2 has 4 for 3", `drop 2 leaves out run 'encode("utf-8", 3)'`}, ""},
		"inside of branches":                 {"if true; then\n  make all\nfi\nfor i in 1 2; do run $i; done\n", []string{"drop 2 leaves out make all", "drop 4 leaves out run $i"}, ""},
		"line ends":                          {"make 3\r\n", []string{"drop 1 leaves out make 3", "constant 1 has 4 for 3"}, ""},
		"nothing to change":                  {"#!/bin/bash\nset -e\nexit 0\n", nil, ""},
		"empty":                              {"", nil, ""},
		"another language":                   {"#!/usr/bin/env python3\nprint(1)\n", nil, "not a shell script"},
		"no script":                          {"if\n", nil, "line 1"},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := Mutants([]byte(c.script), 1, 20)
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range all {
				got = append(got, fmt.Sprintf("%s %d %s", m.Kind, m.Line, m.What))
			}
			slices.Sort(got)
			slices.Sort(c.want)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("mutants (-want +got):\n%s", diff)
			}
		})
	}
}

// lines are what random scripts are made of.
func lines() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{
		"echo 42 > /app/a", "printf 'x 1 2\\n' >> /app/b", "set -e", "cd /app", "make -j4 all", "X=3 run 7", "# a comment 5", "a | b 2 | c", "if t 1; then u 2; fi",
		"cat > /app/f <<EOF\nn = 10\n$HOME 20\nEOF", "f() { g 1; }; f", "for i in 1 2 3; do echo $i > /app/$i; done", "exit 0", "(cd x && y 9)", "case $a in b) c 1 ;; esac", "echo \"$(date +%s) 5\" > d",
	})
}

// Mutants are a pure function: the same in every run, fewer are the first of more, each is a script that differs from
// the others and from the original.
func TestMutantsArePure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		script := []byte(strings.Join(rapid.SliceOfN(lines(), 0, 8).Draw(t, "lines"), "\n") + "\n")
		seed, k := rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 8).Draw(t, "k")
		checkMutants(t, script, seed, k)
	})
}

func checkMutants(t interface {
	Helper()
	Fatalf(string, ...any)
}, script []byte, seed uint64, k int,
) {
	t.Helper()
	all, err := Mutants(script, seed, k)
	again, err2 := Mutants(slices.Clone(script), seed, k)
	if fmt.Sprint(err) != fmt.Sprint(err2) || cmp.Diff(all, again) != "" {
		t.Fatalf("two runs differ: %v, %v", err, err2)
	}
	if err != nil {
		return
	}
	more, err := Mutants(script, seed, k+3)
	if err != nil || len(all) > k || len(more) < len(all) || cmp.Diff(all, more[:len(all):len(all)]) != "" && len(all) > 0 {
		t.Fatalf("%d of %d mutants, %d of %d: %v", len(all), k, len(more), k+3, err)
	}
	seen := map[string]bool{string(script): true}
	for _, m := range more {
		if seen[m.Text] || m.What == "" || strings.Contains(m.What, "\n") {
			t.Fatalf("%+v", m)
		}
		seen[m.Text] = true
		if _, err := syntax.NewParser().Parse(strings.NewReader(m.Text), ""); err != nil {
			t.Fatalf("%v in %s", err, m.Text)
		}
	}
}

func FuzzMutants(f *testing.F) {
	f.Add([]byte("echo 42 > /app/answer\n"), uint64(1))
	f.Add([]byte("cat > f <<EOF\n9\nEOF\n"), uint64(2))
	f.Add([]byte("x=$((1+2)); y <<< \"7 z\"; echo $'a\\n1' > q\r\n"), uint64(3))
	f.Add([]byte("#!/bin/zsh\nif"), uint64(4))
	f.Fuzz(func(t *testing.T, script []byte, seed uint64) {
		if len(script) > 4096 {
			return
		}
		checkMutants(t, script, seed, 3)
	})
}

func TestPlanDependsOnFilesAndOptionsAlone(t *testing.T) {
	files := map[string]string{"oracle/solve.sh": "echo 42 > /app/answer\n", "verifier/test.sh": "pytest /verifier\n"}
	o := Options{Mutants: 2, Seed: 1}
	first, again := Plan(pkg(t, files), o), Plan(pkg(t, files), o)
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("two plans differ:\n%s", diff)
	}
	var names []string
	for _, trial := range first {
		if trial.Moot == "" {
			names = append(names, trial.Name)
		}
	}
	want := []string{"idle", "reward-in-advance", "late-writer", "symlinked-logs", "path-shim", "conftest", "pytest-plugin", "pytest-config", "sitecustomize", "shadowed-module", "reference", "mutant-01", "mutant-02"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("trials (-want +got):\n%s", diff)
	}
	files["verifier/more.txt"] = "x"
	for i, trial := range Plan(pkg(t, files), o) {
		if trial.Digest == first[i].Digest {
			t.Errorf("%s has the digest that it had with other files", trial.Name)
		}
	}
	only := Plan(pkg(t, files), Options{Mutants: 2, Only: []string{"late-writer", "mutant"}})
	if len(only) != 5 || only[0].Name != Idle || only[1].Name != "late-writer" || only[2].Kind != ReferenceKind {
		t.Errorf("only: %+v", only)
	}
	files["oracle/solve.sh"] = "#!/usr/bin/perl\n"
	odd := Plan(pkg(t, files), Options{Mutants: 2, Only: []string{"mutant"}})
	if len(odd) != 2 || !strings.Contains(odd[1].Moot, "not a shell script") {
		t.Errorf("a solution in another language: %+v", odd)
	}
}

// What the planted Python does is tried with this machine's own: a program of the work's own directory is left alone,
// and what comes with -c or on standard input is not.
func TestShadowedModulesStepAsideForTheWork(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("the planted modules are tried with python3 (Debian: apt-get install python3)")
	}
	dir := t.TempDir()
	start := strings.Index(prelude, "import os, sys")
	shadow, _, ok := strings.Cut(prelude[start:], "END\n")
	if !ok {
		t.Fatal("the shadow is not where it was")
	}
	paid := filepath.Join(dir, "paid")
	shadow = strings.ReplaceAll(shadow, Kit+"/payload", filepath.Join(dir, "payload"))
	for name, text := range map[string]string{"json.py": shadow, "payload": "echo paid > " + paid + "\n", "work.py": "import json\nprint(json.dumps([1]))\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args   []string
		paid   bool
		prints string
	}{
		{[]string{"work.py"}, false, "[1]\n"},
		{[]string{"-I", "-c", "import json; print(json.dumps([2]))"}, false, "[2]\n"},
		{[]string{"-c", "import json; print(json.dumps([2]))"}, true, ""},
		{[]string{"-m", "json"}, true, ""},
	} {
		_ = os.Remove(paid)
		cmd := exec.Command(python, c.args...)
		cmd.Dir, cmd.Env = dir, []string{"PYTHONDONTWRITEBYTECODE=1"}
		out, err := cmd.Output()
		_, missing := os.Stat(paid)
		if err != nil || string(out) != c.prints || (missing == nil) != c.paid {
			t.Errorf("python3 %q prints %q, %v; paid: %v", c.args, out, err, missing == nil)
		}
	}
}

// TestReport shows a report of everything that can come out.
func TestReport(t *testing.T) {
	p := pkg(t, map[string]string{"oracle/solve.sh": "echo 42 > /app/answer\n", "verifier/test.sh": "cat /app/answer\n"})
	trials := Plan(p, Options{Mutants: 3, Seed: 1})
	reward := func(r float64) Record { return Record{Reward: &r} }
	base := func(change map[string]Record) map[string]Record {
		all := map[string]Record{}
		for _, trial := range trials {
			all[trial.Name] = reward(0)
		}
		all["reference"] = reward(1)
		for name, r := range change {
			all[name] = r
		}
		return all
	}
	rep := Report{Tasks: []Task{
		Judge("a-sound", trials, base(nil)),
		Judge("b-attacked", trials, base(map[string]Record{"late-writer": reward(1), "path-shim": reward(0.5)})),
		Judge("c-idle", trials, base(map[string]Record{Idle: reward(1), "late-writer": reward(1)})),
		Judge("d-weak", trials, base(map[string]Record{"mutant-02": reward(1)})),
		Judge("e-partly", trials, base(map[string]Record{"mutant-02": reward(0.5)})),
		Judge("f-broken", trials, base(map[string]Record{"reference": reward(0), "mutant-02": reward(1)})),
		Judge("g-lost", trials, base(map[string]Record{"late-writer": {Lost: "the disk is gone"}})),
		Judge("h-crashes", trials, base(map[string]Record{"reward-in-advance": {Problem: "verifier crashed: it left no reward file"}})),
		Judge("i-untried", trials, nil),
		Judge("j-negative", trials, base(map[string]Record{"late-writer": reward(-1)})),
	}}
	got := strings.Join(rep.Lines(), "\n") + "\n"
	golden := filepath.Join("testdata", "report.txt")
	if os.Getenv("ARENA_UPDATE") != "" {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the report (-want +got):\n%s", diff)
	}
}
