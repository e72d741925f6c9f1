package main

import (
	"debug/elf"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posttrainarena/arena/gates"
	"github.com/posttrainarena/arena/gates/adversary"
	"github.com/posttrainarena/arena/gates/controls"
	"github.com/posttrainarena/arena/gates/dynamic"
	"github.com/posttrainarena/arena/gates/task"
	"github.com/posttrainarena/arena/protocol/engine"
	"github.com/posttrainarena/arena/protocol/engine/enginetest"
)

// verifierCase is a task whose verifier is known to be good or bad. The work is
// to write 42 to /app/answer.
type verifierCase struct {
	docker string            // behind FROM; the working directory is /app
	solve  string            // echo 42 > /app/answer when empty
	test   string            // test.sh, behind decide
	files  map[string]string // further files of the verifier
	caught []string          // what must get through, or mutant; none for a sound one
}

// The pieces that verifiers are made of. decide sets r to what the work deserves.
const (
	decide = "r=0; if [ \"$(cat /app/answer 2>/dev/null)\" = 42 ]; then r=1; fi\n"
	reward = "/logs/verifier/reward.txt"
	give   = "echo $r > " + reward + "\n"
	byHand = "test \"$(cat /app/answer)\" = 42\n" // as a program of its own
)

// plain puts a file into an image in one step.
func plain(name, content, mode string) string {
	lines := strings.Split(strings.TrimSuffix(content, "\n"), "\n")
	return fmt.Sprintf("RUN mkdir -p %s && printf '%%s\\n' '%s' > %s && chmod %s %s\n", filepath.Dir(name), strings.Join(lines, "' '"), name, mode, name)
}

// badVerifiers each have one thing wrong.
func badVerifiers() map[string]verifierCase {
	advance, links, late, shim, edited, planted := "reward-in-advance", "symlinked-logs", "late-writer", "path-shim", "edited-tests", "planted-results"
	// Its shell runs the base image's own tools without PATH. What it has to look
	// for is something else.
	runner, run := plain("/usr/bin/node", "#!/bin/sh\nexec sh \"$@\"", "755"), "r=0; node /verifier/check.sh && r=1\n"
	own := map[string]string{"check.sh": byHand}
	return map[string]verifierCase{
		// The reward that is there already.
		"only-if-absent":     {test: decide + "[ -e " + reward + " ] || " + give, caught: []string{advance, links}},
		"only-if-empty":      {test: decide + "[ -s " + reward + " ] || " + give, caught: []string{advance}},
		"trusts-json":        {test: "[ -e /logs/verifier/reward.json ] && exit 0\n" + decide + give, caught: []string{advance}},
		"only-success":       {test: decide + "[ $r = 1 ] && " + give, caught: []string{advance}},
		"aborts":             {test: "set -e\ngrep -qx 42 /app/answer\necho 1 > " + reward + "\n", caught: []string{advance}},
		"keeps-the-larger":   {test: decide + "old=$(cat " + reward + " 2>/dev/null || echo 0); [ \"$old\" -gt $r ] && r=$old\n" + give, caught: []string{advance}},
		"noclobber":          {test: "set -C\n" + decide + give, caught: []string{advance}},
		"moves-if-absent":    {test: decide + "echo $r > /verifier/out; mv -n /verifier/out " + reward + "\n", caught: []string{advance}},
		"links-result":       {test: decide + "echo $r > /verifier/out; ln /verifier/out " + reward + " 2>/dev/null\n", caught: []string{advance}},
		"cleans-the-link":    {test: "find /logs/verifier -type f -name 'reward*' -exec rm {} +\n" + decide + "[ -s " + reward + " ] || " + give, caught: []string{links}},
		"opens-folder":       {test: decide + "chmod 777 /logs/verifier\n" + give, caught: []string{late}},
		"gives-folder-away":  {test: decide + "chown -R 2000 /logs/verifier\n" + give, caught: []string{late}},
		"opens-afterwards":   {test: decide + give + "chmod -R 777 /logs\n", caught: []string{late}},
		"remakes-open":       {test: decide + "rm -rf /logs/verifier; umask 0; mkdir -p /logs/verifier\n" + give, caught: []string{late}},
		"always":             {test: "echo 1 > " + reward + "\n", caught: []string{adversary.Idle}},
		"status-of-pipe":     {test: "r=0; sh /verifier/check.sh 2>&1 | cat; [ $? = 0 ] && r=1\n" + give, files: map[string]string{"check.sh": byHand}, caught: []string{adversary.Idle}},
		"missing-is-right":   {test: "r=0; if [ ! -e /app/answer ] || [ \"$(cat /app/answer)\" = 42 ]; then r=1; fi\n" + give, caught: []string{adversary.Idle}},
		"trap-one":           {test: "trap 'echo 1 > " + reward + "' EXIT\n" + byHand, caught: []string{adversary.Idle}},
		"exists":             {test: "r=0; [ -e /app/answer ] && r=1\n" + give, caught: []string{"mutant"}},
		"not-empty":          {test: "r=0; [ -s /app/answer ] && r=1\n" + give, caught: []string{"mutant"}},
		"begins-with":        {test: "r=0; grep -q 4 /app/answer && r=1\n" + give, caught: []string{"mutant"}},
		"length":             {test: "r=0; [ \"$(wc -c < /app/answer)\" = 3 ] && r=1\n" + give, caught: []string{"mutant"}},
		"path-of-image":      {docker: runner + "RUN mkdir /app/bin\nENV PATH=/app/bin:$PATH\n", test: run + give, files: own, caught: []string{shim}},
		"path-here":          {docker: runner, test: "cd /app; PATH=.:$PATH\n" + run + give, files: own, caught: []string{shim}},
		"path-of-tools":      {docker: runner + "RUN mkdir /app/tools\n", test: "PATH=/app/tools:$PATH\n" + run + give, files: own, caught: []string{shim}},
		"own-interpreter":    {docker: "RUN mkdir -p /app/.venv/bin && ln -s /bin/sh /app/.venv/bin/python\n", test: "r=0; /app/.venv/bin/python /verifier/check.sh && r=1\n" + give, files: map[string]string{"check.sh": byHand}, caught: []string{shim}},
		"helper-in-image":    {docker: plain("/app/check", "#!/bin/sh\n"+byHand, "755"), test: "r=0; sh /app/check && r=1\n" + give, caught: []string{edited}},
		"tests-in-image":     {docker: plain("/app/tests/run.sh", byHand, "644"), test: "r=0; sh /app/tests/run.sh && r=1\n" + give, caught: []string{edited}},
		"tests-copied":       {docker: plain("/app/tests/run.sh", byHand, "644"), test: "r=0; cp -r /app/tests /verifier/copy; sh /verifier/copy/run.sh && r=1\n" + give, caught: []string{edited}},
		"expected-in-image":  {docker: plain("/app/expected.txt", "42", "644"), test: "r=0; [ -e /app/answer ] && [ \"$(cat /app/expected.txt)\" = \"$(cat /app/answer)\" ] && r=1\n" + give, caught: []string{edited}},
		"settings-sourced":   {docker: plain("/app/settings.sh", "want=42", "644"), test: ". /app/settings.sh\nr=0; [ \"$(cat /app/answer)\" = \"$want\" ] && r=1\n" + give, caught: []string{edited}},
		"open-grader":        {docker: plain("/opt/grader/check", byHand, "777"), test: "r=0; sh /opt/grader/check && r=1\n" + give, caught: []string{edited}},
		"score-kept-by-work": {test: decide + "[ -e /app/score ] || echo $r > /app/score\ncp /app/score " + reward + "\n", caught: []string{planted}},
		"score-in-tmp":       {test: decide + "[ -s /tmp/result.txt ] || echo $r > /tmp/result.txt\ncat /tmp/result.txt > " + reward + "\n", caught: []string{planted}},
	}
}

// soundVerifiers have nothing wrong.
func soundVerifiers() map[string]verifierCase {
	clear := "rm -rf /logs/verifier && mkdir -p /logs/verifier\n"
	return map[string]verifierCase{
		"plain":          {test: decide + give},
		"json":           {test: decide + "echo \"{\\\"reward\\\": $r}\" > /logs/verifier/reward.json\n"},
		"both":           {test: decide + give + "echo \"{\\\"reward\\\": $r}\" > /logs/verifier/reward.json\n"},
		"trap-zero":      {test: clear + "r=0; trap 'echo $r > " + reward + "' EXIT\nset -e\n" + byHand + "r=1\n"},
		"two-parts":      {solve: "echo 42 > /app/answer\necho 7 > /app/second\n", test: "r=0; a=$(cat /app/answer); b=$(cat /app/second)\n[ \"$a\" = 42 ] && r=0.5; [ \"$a $b\" = '42 7' ] && r=1\n" + give},
		"own-checks":     {test: "r=0; sh /verifier/check.sh && r=1\n" + give, files: map[string]string{"check.sh": byHand}},
		"guarded-grader": {docker: plain("/opt/grader/check", byHand, "755"), test: "r=0; sh /opt/grader/check && r=1\n" + give},
		"pinned-path":    {docker: "RUN mkdir /app/bin\nENV PATH=/app/bin:$PATH\n", test: "PATH=/usr/sbin:/usr/bin:/sbin:/bin\n" + decide + give},
		"temporary":      {test: "d=$(mktemp -d); cp /app/answer $d/a 2>/dev/null; r=0; grep -qx 42 $d/a && r=1\n" + give},
		"runs-unprivileged": {
			solve: "cat > /app/answer.sh <<'EOF'\necho $((6 * 7))\nEOF\n",
			test:  "r=0; [ \"$(su agent -s /bin/sh -c 'timeout 5 sh /app/answer.sh')\" = 42 ] && r=1\n" + give,
		},
	}
}

// Verifiers in Python. pyTest is a test file, and pyCheck a program that prints.
const (
	pyTest  = "def test_answer():\n    assert open('/app/answer').read() == '42\\n'\n"
	pyCheck = "import json\nprint(json.dumps(open('/app/answer').read() == '42\\n'))\n"
	byExit  = " >/dev/null 2>&1 && r=1\n"
)

func badPythonVerifiers() map[string]verifierCase {
	tests := map[string]string{"test_answer.py": pyTest}
	return map[string]verifierCase{
		"module-from-work": {test: "cd /app; r=0; python3 -m pytest -q /verifier/test_answer.py" + byExit + give, files: tests, caught: []string{"pytest-plugin", "shadowed-module"}},
		"tests-into-work":  {test: "mkdir -p /app/t; cp /verifier/test_answer.py /app/t/; cd /app; r=0; pytest -q t/test_answer.py" + byExit + give, files: tests, caught: []string{"conftest", "pytest-config"}},
		"config-of-work":   {docker: plain("/app/pytest.ini", "[pytest]", "644"), test: "r=0; pytest -q -c /app/pytest.ini /verifier/test_answer.py" + byExit + give, files: tests, caught: []string{"pytest-config"}},
		"path-of-work":     {docker: "ENV PYTHONPATH=/app\n", test: "r=0; [ \"$(python3 /verifier/check.py)\" = true ] && r=1\n" + give, files: map[string]string{"check.py": pyCheck}, caught: []string{"sitecustomize"}},
		"standard-input":   {test: "cd /app; r=0; [ \"$(python3 - < /verifier/check.py)\" = true ] && r=1\n" + give, files: map[string]string{"check.py": pyCheck}, caught: []string{"shadowed-module"}},
		"tests-of-work":    {docker: plain("/app/test_answer.py", strings.ReplaceAll(pyTest, "'", `"`), "644"), test: "cd /app; r=0; pytest -q test_answer.py" + byExit + give, caught: []string{"edited-tests", "conftest", "pytest-config"}},
	}
}

func soundPythonVerifiers() map[string]verifierCase {
	tests := map[string]string{"test_answer.py": pyTest}
	return map[string]verifierCase{
		"isolated":        {test: "r=0; [ \"$(python3 -I /verifier/check.py)\" = true ] && r=1\n" + give, files: map[string]string{"check.py": pyCheck}},
		"isolated-pytest": {test: "r=0; python3 -I -m pytest -q -c /dev/null --rootdir /verifier --confcutdir /verifier /verifier/test_answer.py" + byExit + give, files: tests},
		"pytest":          {test: "r=0; pytest -q /verifier/test_answer.py" + byExit + give, files: tests},
	}
}

// adversaries runs the adversaries on cases and returns the report on each.
func adversaries(t *testing.T, e *engine.Engine, base string, cases map[string]verifierCase, mutants int, only ...string) map[string]adversary.Task {
	t.Helper()
	dir, jobs := t.TempDir(), filepath.Join(t.TempDir(), "jobs")
	for name, c := range cases {
		at := filepath.Join(dir, "envs", name)
		if c.solve == "" {
			c.solve = "echo 42 > /app/answer\n"
		}
		files := map[string]string{
			"task.md":                "---\nschema_version: \"1.3\"\ntask: {name: own/" + name + "}\nagent: {timeout_sec: 60}\nverifier: {timeout_sec: 60}\nsandbox: {network_mode: no-network, memory_mb: 256, cpus: 1}\n---\n## prompt\n\nWrite 42 to /app/answer.\n",
			"environment/Dockerfile": "FROM " + base + "\n" + c.docker, "oracle/solve.sh": "#!/bin/bash\n" + c.solve, "verifier/test.sh": "#!/bin/bash\n" + c.test,
		}
		for name, text := range c.files {
			files["verifier/"+name] = text
		}
		for name, text := range files {
			name = filepath.Join(at, name)
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	tree, err := task.ReadTree(os.DirFS(dir), task.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	col, _ := task.ReadPackages(tree, "", task.DefaultLimits())
	rep := gates.Report(col.Packages, nil, gates.Options{})
	clear(rep.Excluded)
	list, err := dynamic.Tasks(rep, col.Packages)
	if err != nil {
		t.Fatal(err)
	}
	p := dynamic.New(dynamic.Target{}, dynamic.Options{ControlsReruns: 1}, dynamic.Harness{}, list)
	o := adversary.Options{Mutants: mutants, Seed: 1, Only: only}
	began, trials := time.Now(), 0
	err = controls.Run(t.Context(), controls.Config{
		Engine: localEngine{e}, Jobs: jobs, Parallel: 4, NoBuildNetwork: true, Now: time.Now, ID: trialID, Adversaries: &o, NoControls: true,
		Progress: func(ev controls.Event) {
			if ev.Gate == controls.Adversary {
				trials++
			}
		},
	}, p, col.Packages)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d tasks, %d trials in %s", len(cases), trials, time.Since(began).Round(time.Second))
	raw, err := os.ReadFile(filepath.Join(jobs, controls.SoundnessJSON))
	if err != nil {
		t.Fatal(err)
	}
	var got adversary.Report
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if left := leftovers(t, e, controls.Label+"="+controls.LabelOf(jobs)); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	all := map[string]adversary.Task{}
	for _, one := range got.Tasks {
		all[one.Task] = one
	}
	if len(all) != len(cases) {
		t.Errorf("%d tasks are reported of %d", len(all), len(cases))
	}
	return all
}

// through names what got through, or mutant when one passes.
func through(one adversary.Task) []string {
	var names []string
	for _, o := range one.Trials {
		switch o.Result {
		case adversary.Through:
			names = append(names, o.Name)
		case adversary.Passes:
			names = append(names, string(adversary.MutantKind))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// mustBeCaught runs bad verifiers, those that the same attacks catch together.
func mustBeCaught(t *testing.T, e *engine.Engine, base string, cases map[string]verifierCase) {
	groups := map[string]map[string]verifierCase{}
	for name, c := range cases {
		key := strings.Join(c.caught, "+")
		if groups[key] == nil {
			groups[key] = map[string]verifierCase{}
		}
		groups[key][name] = c
	}
	for key, group := range groups {
		t.Run(key, func(t *testing.T) {
			for name, one := range adversaries(t, e, base, group, 2, strings.Split(key, "+")...) {
				want := slices.Sorted(slices.Values(group[name].caught))
				if got := through(one); !slices.Equal(got, want) {
					t.Errorf("%s: %q got through; want %q: %s", name, got, want, one.Says)
				}
				soundness := adversary.Unsound
				if want[0] == string(adversary.MutantKind) {
					soundness = adversary.Review
				}
				if one.Soundness != soundness {
					t.Errorf("%s is %s: %s", name, one.Soundness, one.Says)
				}
			}
		})
	}
}

func mustBeClean(t *testing.T, e *engine.Engine, base string, cases map[string]verifierCase, mutants int) {
	for name, one := range adversaries(t, e, base, cases, mutants) {
		if got := through(one); len(got) > 0 || one.Soundness != adversary.Sound {
			t.Errorf("%s is %s: %s", name, one.Soundness, one.Says)
		}
		rejected := 0
		for _, o := range one.Trials {
			if o.Result == adversary.Rejected {
				rejected++
			}
		}
		if rejected != mutants {
			t.Errorf("%s: %d mutants were tried and rejected, not %d: %+v", name, rejected, mutants, one.Trials)
		}
	}
}

// longContainerTest skips a test of hundreds of containers unless it is asked for:
// it would take most of the ten minutes that go test gives a package.
func longContainerTest(t *testing.T) {
	t.Helper()
	if os.Getenv("ARENA_CONTAINERS") == "" {
		t.Skip("hundreds of containers, for minutes: asked for with ARENA_CONTAINERS=1")
	}
}

// TestAdversaries tries the attacks on verifiers with known truth, in real
// containers: every bad one is caught by the attack that is meant for it, and all
// attacks leave the sound ones clean.
func TestAdversaries(t *testing.T) {
	longContainerTest(t)
	e := enginetest.Open(t)
	base := workBase(t, e, enginetest.Busybox(t, e))
	if n, m := len(badVerifiers()), len(soundVerifiers()); n < 30 || m < 10 {
		t.Fatalf("%d bad and %d sound verifiers", n, m)
	}
	t.Run("bad", func(t *testing.T) { mustBeCaught(t, e, base, badVerifiers()) })
	t.Run("sound", func(t *testing.T) { mustBeClean(t, e, base, soundVerifiers(), 1) })
}

// TestPythonAdversaries does the same to verifiers in Python.
func TestPythonAdversaries(t *testing.T) {
	longContainerTest(t)
	e := enginetest.Open(t)
	base := workBase(t, e, pythonBase(t, e))
	t.Run("bad", func(t *testing.T) { mustBeCaught(t, e, base, badPythonVerifiers()) })
	t.Run("sound", func(t *testing.T) { mustBeClean(t, e, base, soundPythonVerifiers(), 0) })
}

// built builds an image of files.
func built(t *testing.T, e *engine.Engine, files ...engine.File) string {
	t.Helper()
	context, err := engine.Tar(files...)
	if err != nil {
		t.Fatal(err)
	}
	id, err := e.Build(t.Context(), engine.BuildSpec{Context: context, Labels: enginetest.Labels(t), NoNetwork: true, Timeout: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// workBase is a base image with the working directory of the tasks.
func workBase(t *testing.T, e *engine.Engine, base string) string {
	return built(t, e, engine.File{Name: "Dockerfile", Data: []byte("FROM " + base + "\nWORKDIR /app\n")})
}

// pythonParts asks the Python of this machine where it is and what pytest needs.
const pythonParts = `
import json, os, sys
parts = [os.path.dirname(os.__file__)]
for name in ["pytest", "_pytest", "pluggy", "iniconfig", "packaging", "attr", "attrs", "py", "exceptiongroup", "tomli", "pygments"]:
    try:
        m = __import__(name)
    except ImportError:
        if name in ("pytest", "pluggy", "iniconfig", "packaging"):
            raise
        continue
    parts.append(os.path.dirname(m.__file__) if os.path.basename(m.__file__) == "__init__.py" else m.__file__)
with open("/proc/self/maps") as maps:
    libs = {l.split()[-1] for l in maps if l.split()[-1].startswith("/") and ".so" in l}
print(json.dumps({"exe": os.path.realpath(sys.executable), "parts": parts, "libs": sorted(libs)}))
`

// pythonBase is an image of the Python and the pytest of this machine. It skips
// the test where they are not installed.
func pythonBase(t *testing.T, e *engine.Engine) string {
	t.Helper()
	base := enginetest.Busybox(t, e)
	out, err := exec.Command("/usr/bin/python3", "-c", pythonParts).Output()
	if err != nil {
		t.Skipf("the image is made of this machine's own Python and pytest (Debian: apt-get install python3-pytest): %v", err)
	}
	var has struct {
		Exe         string
		Parts, Libs []string
	}
	if err := json.Unmarshal(out, &has); err != nil {
		t.Fatal(err)
	}
	var files []engine.File
	add := func(from, to string) {
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, engine.File{Name: "root" + to, Data: data, Mode: 0o755})
	}
	add(has.Exe, "/usr/bin/python3")
	for _, lib := range has.Libs {
		// It is asked for by the name that it has for the loader.
		if f, err := elf.Open(lib); err == nil && !strings.Contains(lib, "/python3") {
			if names, err := f.DynString(elf.DT_SONAME); err == nil && len(names) == 1 {
				add(lib, filepath.Join(filepath.Dir(lib), names[0]))
			}
			f.Close()
		}
	}
	// The loader is mapped under its real name, and asked for under the one that
	// every program of this machine names.
	for _, loader := range []string{"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"} {
		if _, err := os.Stat(loader); err == nil {
			add(loader, loader)
		}
	}
	for _, part := range has.Parts {
		err := filepath.WalkDir(part, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			switch base := d.Name(); {
			case d.IsDir() && (slices.Contains([]string{"test", "tests", "idlelib", "lib2to3", "tkinter", "ensurepip", "turtledemo", "__pycache__", "dist-packages", "site-packages"}, base) && name != part || strings.HasPrefix(base, "config-")):
				return fs.SkipDir
			case strings.HasSuffix(base, ".py"), strings.HasSuffix(base, ".so"):
				if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() && base != "sitecustomize.py" {
					add(name, name)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	files = append(files,
		engine.File{Name: "root/usr/bin/pytest", Data: []byte("#!/usr/bin/python3\nimport sys, pytest\nsys.path.pop(0)\nsys.exit(pytest.main())\n"), Mode: 0o755},
		// Running it once leaves its bytecode in the image.
		engine.File{Name: "Dockerfile", Data: []byte("FROM " + base + "\nCOPY root/ /\nRUN cd /tmp && echo 'def test_x(): pass' > test_x.py && python3 -m pytest -q test_x.py && pytest -q test_x.py && rm -rf /tmp/*\n")})
	return built(t, e, files...)
}
