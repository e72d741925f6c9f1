package shell_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/gates/shell"
)

// TestAgainstBash writes random verifiers, lets bash run each of them with every
// combination of passing and failing checks, and compares what it finds in the
// reward file with the claims of the model. The checks are calls of a stand-in
// for pytest, each with a number of its own.
func TestAgainstBash(t *testing.T) {
	if testing.Short() {
		t.Skip("short: runs bash some thousand times")
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	const scripts = 40 // the same ones every time
	world := newWorld(t, bash)
	scriptOf := rapid.Custom(func(r *rapid.T) *generator {
		g := &generator{r: r}
		g.text = g.script()
		return g
	})
	runs := 0
	for seed := range scripts {
		g := scriptOf.Example(seed)
		v, err := shell.Verifier([]byte(g.text), nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, g.text)
		}
		seen := observed{}
		for combination := range 1 << g.checks {
			runs++
			seen[world.run(t, g.text, g.checks, combination)] = true
		}
		seen.compare(t, v, g.text)
	}
	t.Logf("%d scripts agreed with %d runs of bash", scripts, runs)
}

// world is a directory with a stand-in for pytest and a place for the reward.
type world struct {
	bash, dir, reward string
}

func newWorld(t *testing.T, bash string) *world {
	t.Helper()
	w := &world{bash: bash, dir: t.TempDir()}
	w.reward = filepath.Join(w.dir, "reward.txt")
	stub := "#!/bin/sh\ncase \" $STUB_FAIL \" in *\" $1 \"*) exit 1 ;; esac\n"
	if err := os.WriteFile(filepath.Join(w.dir, "pytest"), []byte(stub), 0o755); err != nil {
		t.Fatal(err)
	}
	return w
}

// run runs a script and returns the reward that it left behind, "" if there is none; the checks whose bit is set in
// failing fail.
func (w *world) run(t *testing.T, script string, checks, failing int) string {
	t.Helper()
	if err := os.RemoveAll(w.reward); err != nil {
		t.Fatal(err)
	}
	var fail []string
	for i := range checks {
		if failing&(1<<i) != 0 {
			fail = append(fail, fmt.Sprint(i))
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.bash, "-c", script)
	cmd.Dir = w.dir
	cmd.Env = []string{"PATH=" + w.dir + ":/usr/bin:/bin", "BENCHFLOW_REWARD_TEXT=" + w.reward, "STUB_FAIL=" + strings.Join(fail, " ")}
	_ = cmd.Run() // a verifier may fail; only its reward counts
	b, err := os.ReadFile(w.reward)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// observed are the rewards of all combinations.
type observed map[string]bool

func (s observed) compare(t *testing.T, v shell.VerifierFacts, script string) {
	t.Helper()
	one, zero, none := s["1"], s["0"], s[""]
	for _, c := range []struct {
		name        string
		model, real bool
	}{
		{"always one", v.AlwaysOne, one && !zero && !none},
		{"never zero", v.NeverZero, one && !zero},
		{"may end without a reward", len(v.WithoutReward) > 0, none},
	} {
		if c.model != c.real {
			t.Errorf("%s: the model says %v, bash %v (rewards %v)\n%s", c.name, c.model, c.real, slices.Sorted(maps.Keys(s)), script)
		}
	}
	if v.AbortsBeforeReward && !none {
		t.Errorf("the model says that it aborts before a reward\n%s", script)
	}
}

// generator writes a random verifier.
type generator struct {
	r      *rapid.T
	text   string
	checks int
	funcs  int
	depth  int
}

func (g *generator) script() string {
	var b strings.Builder
	b.WriteString("rc=0\nflag=0\n")
	for range rapid.IntRange(1, 5).Draw(g.r, "statements") {
		b.WriteString(g.statement() + "\n")
	}
	b.WriteString(rapid.SampledFrom([]string{"", g.write() + "\n", "if [ $rc -eq 0 ]; then " + g.write() + "; else " + g.write() + "; fi\n"}).Draw(g.r, "end"))
	return b.String()
}

// check is a command that passes or fails as the test wants; after four of them
// others take its place, so that all combinations can be run.
func (g *generator) check() string {
	if g.checks == 4 {
		return rapid.SampledFrom([]string{"true", "false", "[ $flag = 1 ]"}).Draw(g.r, "constant")
	}
	g.checks++
	return fmt.Sprintf("pytest %d", g.checks-1)
}

func (g *generator) write() string {
	return rapid.SampledFrom([]string{
		`echo 1 > "$BENCHFLOW_REWARD_TEXT"`, `echo 0 > "$BENCHFLOW_REWARD_TEXT"`, `printf "%s\n" 1 > $BENCHFLOW_REWARD_TEXT`, `rm -f "$BENCHFLOW_REWARD_TEXT"`,
	}).Draw(g.r, "write")
}

func (g *generator) condition() string {
	return rapid.SampledFrom([]func() string{
		g.check, g.check,
		func() string { return "! " + g.check() },
		func() string { return g.check() + " && " + g.check() },
		func() string { return g.check() + " || " + g.check() },
		func() string { return "[ $rc -eq 0 ]" },
		func() string { return "[ $rc -ne 0 ]" },
		func() string { return "[[ $? == 0 ]]" },
		func() string { return "(( rc == 0 ))" },
		func() string { return `[ "$flag" = 1 ]` },
		func() string { return "test -f \"$BENCHFLOW_REWARD_TEXT\"" },
	}).Draw(g.r, "condition")()
}

func (g *generator) block() string {
	g.depth++
	defer func() { g.depth-- }()
	if g.depth > 2 {
		return g.write()
	}
	n := rapid.IntRange(1, 2).Draw(g.r, "block")
	parts := make([]string, 0, n)
	for range n {
		parts = append(parts, g.statement())
	}
	return strings.Join(parts, "; ")
}

func (g *generator) statement() string {
	return rapid.SampledFrom([]func() string{
		g.write, g.write, g.check,
		func() string { return g.check() + "; rc=$?" },
		func() string { return g.check() + " || rc=1" },
		func() string { return g.check() + " || true" },
		func() string { return g.check() + " && flag=1" },
		func() string { return g.check() + " && " + g.write() + " || " + g.write() },
		func() string { return g.check() + " | cat" },
		func() string { return g.check() + " | cat; rc=${PIPESTATUS[0]}" },
		func() string { return "set -e" },
		func() string { return "set +e" },
		func() string { return "set -o pipefail" },
		func() string { return "if " + g.condition() + "; then " + g.block() + "; else " + g.block() + "; fi" },
		func() string { return "if " + g.condition() + "; then " + g.block() + "; fi" },
		func() string { return "( " + g.block() + " )" },
		func() string { return "{ " + g.block() + "; }" },
		func() string { return "case $rc in 0) " + g.block() + " ;; *) " + g.write() + " ;; esac" },
		func() string { return "for i in 1 2; do [ $i = 2 ] && break; " + g.block() + "; done" },
		func() string {
			// The inner shell does not see the flag, which is not exported.
			return "bash -c '" + strings.ReplaceAll(g.check()+" && "+g.write(), "$flag = 1", "1 = 1") + "'"
		},
		func() string { return "trap '" + g.write() + "' EXIT" },
		func() string { return "exit $rc" },
		g.function,
	}).Draw(g.r, "statement")()
}

func (g *generator) function() string {
	g.funcs++
	name := fmt.Sprintf("f%d", g.funcs)
	return name + "() { local rc=0; " + g.block() + "; " + rapid.SampledFrom([]string{"return $rc", "return 0", ":"}).Draw(g.r, "return") + "; }; " + name + " || flag=1"
}
