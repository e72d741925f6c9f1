package shell_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/gates/shell"
)

// seeds are short scripts of every kind, besides the corpus in testdata/fuzz.
func seeds() []string {
	return []string{
		"", "#!/bin/bash -e\n", "echo 1 > /logs/verifier/reward.txt\n", "pytest | tee x; if [ $? -eq 0 ]; then echo 1; fi > $R/reward.txt",
		"f() { local x=$(g \"$@\"); return ${x:-1}; }; f a b || exit $?", "cat <<-EOF | sh\n\t$(x)\n\tEOF\n", "case $1 in a|b*) ;; *) x;; esac",
		"for i in {1..3} *.x \"$@\"; do break 2; done", "while read -r l; do continue; done < <(ls)", "a=(1 2); echo ${a[@]:1} ${!a} ${#a[@]}",
		"trap 'rm -f x' EXIT ERR; set -euo pipefail", "python3 - \"$x\" <<'E'\nopen('/logs/verifier/reward.txt','w').write('1')\nE\n",
		"eval \"$x\"; bash -c 'a && b' c; (( x++ )); [[ -f a && b =~ c ]]", "timeout 5 env A=1 uvx --with x pytest -p y", "tar xzf a.tgz -C /b; curl -sSLo c https://d/e",
		"\xef\xbb\xbfecho a\r\necho b\r\n", "echo \x00 \xff", "`echo \\`a\\``", "$((1+$((2))))", "x=${y//a/b}${z##*/}${w:1:2}",
	}
}

// FuzzVerifier checks that any bytes give facts that agree with each other.
func FuzzVerifier(f *testing.F) {
	for _, s := range seeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		v, err := shell.Verifier(script, nil)
		if err != nil {
			return
		}
		if v.AlwaysOne && !v.NeverZero {
			t.Error("always one, but not never zero")
		}
		if (v.Truncated || len(v.Opaque) > 0) && (v.AlwaysOne || v.NeverZero || v.AbortsBeforeReward) {
			t.Error("a claim in spite of what could not be followed")
		}
		last := strings.Count(string(script), "\n") + 1
		for _, r := range v.Rewards {
			inFile(t, "reward", r.Line, last)
		}
		for _, d := range v.Downloads {
			inFile(t, "download", d.Line, last)
		}
		for _, e := range v.WithoutReward {
			if e.Line != 0 {
				inFile(t, "ending", e.Line, last)
			}
		}
		inOrder(t, v.Commands, last, len(script))
	})
}

// FuzzSolution does the same for solutions, and asks twice.
func FuzzSolution(f *testing.F) {
	for _, s := range seeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		s, err := shell.Solution(script)
		if err != nil {
			return
		}
		if s.DoesNothing && len(s.Written) > 0 {
			t.Error("does nothing, but writes")
		}
		if again, err := shell.Solution(script); err != nil || cmp.Diff(s, again) != "" {
			t.Errorf("the second answer differs: %v\n%s", err, cmp.Diff(s, again))
		}
	})
}

// FuzzFollow follows scripts as a build does.
func FuzzFollow(f *testing.F) {
	for _, s := range seeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		trace, err := shell.Follow(script, shell.Options{Dir: "/w", Env: map[string]string{"X": "a b"}, Assume: map[string]string{"HOME": "/root"}, MustSucceed: true})
		if err != nil {
			return
		}
		for _, c := range trace.Commands {
			for _, e := range c.Effects() {
				_ = e.Target()
			}
		}
		shell.Uses(trace.Commands)
		inOrder(t, trace.Commands, strings.Count(string(script), "\n")+1, len(script))
	})
}

func inFile(t *testing.T, what string, line, last int) {
	t.Helper()
	if line < 1 || line > last {
		t.Errorf("%s on line %d of %d", what, line, last)
	}
}

func inOrder(t *testing.T, commands []shell.Command, last, size int) {
	t.Helper()
	for _, c := range commands {
		inFile(t, c.String(), c.Line, last)
		if c.Offset < 0 || c.Offset > size {
			t.Errorf("%s at byte %d of %d", c, c.Offset, size)
		}
	}
}
