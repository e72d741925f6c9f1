package shell_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/gates/shell"
)

// verdict renders the claims and rewards of a verifier, one a line.
func verdict(v shell.VerifierFacts) []string {
	var out []string
	for _, c := range []struct {
		name string
		set  bool
	}{
		{"always one", v.AlwaysOne},
		{"never zero", v.NeverZero},
		{"aborts before reward", v.AbortsBeforeReward},
		{"truncated", v.Truncated},
	} {
		if c.set {
			out = append(out, c.name)
		}
	}
	for _, r := range v.Rewards {
		s := fmt.Sprintf("reward %s line %d", r.Value, r.Line)
		if r.Conditional {
			s += " if"
		}
		out = append(out, s)
	}
	for _, o := range v.Opaque {
		out = append(out, fmt.Sprintf("opaque line %d", o.Line))
	}
	return out
}

type verifierCase struct {
	name   string
	script string
	want   []string
}

func runVerifierCases(t *testing.T, cases []verifierCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			v, err := shell.Verifier([]byte(c.script), nil)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, verdict(v)); d != "" {
				t.Errorf("facts (-want +got):\n%s", d)
			}
		})
	}
}

// TestRewards covers what a script can write to the reward file.
func TestRewards(t *testing.T) {
	runVerifierCases(t, []verifierCase{
		{
			name: "if and else", script: "set -e\nif python3 -m pytest -q /verifier/test_outputs.py; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi\n",
			want: []string{"reward 1 line 2 if", "reward 0 line 2 if"},
		},
		{
			name: "a constant", script: "#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n",
			want: []string{"always one", "never zero", "reward 1 line 2"},
		},
		{
			name: "a constant after a check that nobody asks", script: "pytest /tests\necho 1 > /logs/verifier/reward.txt\n",
			want: []string{"always one", "never zero", "reward 1 line 2"},
		},
		{
			name: "status in a variable, reward by printf, path by default", script: `REWARD_TEXT="${BENCHFLOW_REWARD_TEXT:-/logs/verifier/reward.txt}"
pytest /verifier/test_outputs.py
CODE=$?
if [ $CODE -eq 0 ]; then R=1.0; else R=0.0; fi
printf '%s\n' "$R" > "$REWARD_TEXT"
`,
			want: []string{"reward 1 line 5 if", "reward 0 line 5 if"},
		},
		{
			name: "the harness variable without a default", script: "if pytest; then echo 1 > \"$BENCHFLOW_REWARD_TEXT\"; else echo 0 > $BENCHFLOW_REWARD_TEXT; fi\n",
			want: []string{"reward 1 line 1 if", "reward 0 line 1 if"},
		},
		{
			name: "both branches write one", script: "if pytest; then echo 1 > /logs/verifier/reward.txt; else echo 1.0 > /logs/verifier/reward.txt; fi\n",
			want: []string{"always one", "never zero", "reward 1 line 1"},
		},
		{
			name: "a list with && and ||", script: "pytest && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt\n",
			want: []string{"reward 1 line 1 if", "reward 0 line 1 if"},
		},
		{
			name: "zero first, one when the check passes", script: "echo 0 > /logs/verifier/reward.txt\npytest && echo 1 > /logs/verifier/reward.txt\n",
			want: []string{"reward 0 line 1", "reward 1 line 2 if"},
		},
		{
			name: "one first, zero when the check fails", script: "echo 1 > /logs/verifier/reward.txt\npytest || echo 0 > /logs/verifier/reward.txt\n",
			want: []string{"reward 1 line 1", "reward 0 line 2 if"},
		},
		{
			name: "one first and nothing takes it back", script: "echo 1 > /logs/verifier/reward.txt\npytest /tests\nexit $?\n",
			want: []string{"always one", "never zero", "reward 1 line 1"},
		},
		{
			name: "always zero", script: "pytest\necho 0 > /logs/verifier/reward.txt\n",
			want: []string{"reward 0 line 2"},
		},
		{
			name: "a here-document", script: "if pytest; then R=1; else R=0; fi\ncat > /logs/verifier/reward.json <<EOF\n{\"reward\": $R}\nEOF\n",
			want: []string{"reward 1 line 2 if", "reward 0 line 2 if"},
		},
		{
			name: "tee, a redirected block and a subshell", script: "echo 1 | tee /logs/verifier/reward.txt\n{ echo 0; } > /logs/verifier/reward.txt\n( cd /logs/verifier && echo 1 > reward.txt )\n",
			want: []string{"always one", "never zero", "reward 1 line 1", "reward 0 line 2", "reward 1 line 3"},
		},
		{
			name: "moved into place", script: "echo 1 > /tmp/r\nmv /tmp/r /logs/verifier/reward.txt\n",
			want: []string{"always one", "never zero", "reward 1 line 2"},
		},
		{
			name: "a directory in a variable that is not known", script: "echo 1 > \"$LOGS/reward.txt\"\n",
			want: []string{"always one", "never zero", "reward 1 line 1"},
		},
		{
			name: "a function", script: "score() { echo \"$1\" > /logs/verifier/reward.txt; }\nif pytest; then score 1; else score 0; fi\n",
			want: []string{"reward 1 line 1 if", "reward 0 line 1 if"},
		},
		{
			name: "a local variable shadows", script: "R=0\nf() { local R=1; pytest; }\nf\necho $R > /logs/verifier/reward.txt\n",
			want: []string{"reward 0 line 4"},
		},
		{
			name: "a computed score", script: "SCORE=$(python3 /verifier/score.py)\necho \"$SCORE\" > /logs/verifier/reward.txt\n",
			want: []string{"reward unknown line 2"},
		},
		{
			name: "another number", script: "pytest && echo 1 > /logs/verifier/reward.txt || echo 0.5 > /logs/verifier/reward.txt\n",
			want: []string{"reward 1 line 1 if", "reward other line 1 if"},
		},
		{
			name: "counting failures", script: `FAIL=0
check() { "$@" || FAIL=$((FAIL + 1)); }
check test -f /app/out
check diff /app/out /tests/expected
if (( FAIL == 0 )); then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi
`,
			want: []string{"reward 1 line 5 if", "reward 0 line 5 if"},
		},
		{
			name: "a flag set in a loop", script: `ok=1
for t in one two three; do
  python3 /tests/$t.py || ok=0
done
echo $ok > /logs/verifier/reward.txt
`,
			want: []string{"reward 1 line 5 if", "reward 0 line 5 if"},
		},
		{
			name: "a loop over files", script: "ok=1\nfor t in /tests/*.sh; do bash $t || ok=0; done\necho $ok > /logs/verifier/reward.txt\n",
			want: []string{"reward 1 line 3 if", "reward 0 line 3 if"},
		},
		{
			name: "case on the status", script: "pytest\ncase $? in\n0) echo 1 > /logs/verifier/reward.txt ;;\n*) echo 0 > /logs/verifier/reward.txt ;;\nesac\n",
			want: []string{"reward 1 line 3 if", "reward 0 line 4 if"},
		},
		{
			name: "a branch that cannot be taken", script: "X=no\nif [ \"$X\" = yes ]; then echo 0 > /logs/verifier/reward.txt; else echo 1 > /logs/verifier/reward.txt; fi\n",
			want: []string{"always one", "never zero", "reward 1 line 2"},
		},
		{
			name: "a default does not decide a branch", script: "if [ \"${MODE:-a}\" = a ]; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi\n",
			want: []string{"reward 1 line 1 if", "reward 0 line 1 if"},
		},
		{
			name: "negated", script: "if ! pytest; then echo 0 > /logs/verifier/reward.txt; exit 1; fi\necho 1 > /logs/verifier/reward.txt\n",
			want: []string{"reward 0 line 1 if", "reward 1 line 2 if"},
		},
		{
			name: "an exit trap", script: "trap 'if [ $? -eq 0 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt' EXIT\nset -e\npytest\n",
			want: []string{"reward 1 line 1 if", "reward 0 line 1 if"},
		},
		{
			name: "an error trap", script: "set -e\ntrap 'echo 0 > /logs/verifier/reward.txt' ERR\npytest\necho 1 > /logs/verifier/reward.txt\n",
			want: []string{"reward 0 line 2 if", "reward 1 line 4 if"},
		},
		{
			name: "inline Python with constants", script: "python3 -c \"open('/logs/verifier/reward.txt', 'w').write('1')\"\n",
			want: []string{"always one", "never zero", "reward 1 line 1"},
		},
		{
			name: "inline Python that decides", script: "python3 - <<'EOF'\nimport json\nok = json.load(open('/app/out.json')) == 3\nopen('/logs/verifier/reward.txt', 'w').write('1' if ok else '0')\nEOF\n",
			want: []string{"reward unknown line 1"},
		},
		{
			name: "inline Python with arguments", script: "pytest\npython3 - \"$?\" /logs/verifier/reward.json <<'EOF'\nimport json, sys\njson.dump({'reward': float(sys.argv[1] == '0')}, open(sys.argv[2], 'w'))\nEOF\n",
			want: []string{"reward unknown line 2"},
		},
		{
			name: "a program is given the path", script: "python3 /verifier/grade.py --out /logs/verifier/reward.txt\n",
			want: []string{"reward unknown line 1"},
		},
		{
			name: "a program may write it by itself", script: "python3 /verifier/grade.py\n",
			want: nil,
		},
		{
			name: "a program may overwrite it", script: "echo 1 > /logs/verifier/reward.txt\nbash /tests/run.sh\n",
			want: []string{"reward 1 line 1"},
		},
		{name: "nothing", script: "#!/bin/bash\npytest /tests/test_outputs.py\n", want: nil},
		{name: "the path is only mentioned", script: "mkdir -p /logs/verifier\nmytool --reward /logs/verifier/reward.txt\n", want: nil},
		{name: "an empty script", script: "", want: nil},
		{
			name: "another file of that name", script: "echo 1 > /tmp/reward.txt\n",
			want: nil,
		},
		{
			name: "a file of that name somewhere", script: "echo 1 > reward.txt\n",
			want: nil,
		},
		{
			name: "hidden in eval", script: "eval \"echo 1 > /logs/verifier/reward.txt\"\n",
			want: []string{"always one", "never zero", "reward 1 line 1"},
		},
		{
			name: "eval of the unknown withdraws all claims", script: "echo 1 > /logs/verifier/reward.txt\neval \"$MORE\"\n",
			want: []string{"reward 1 line 1", "opaque line 2"},
		},
		{
			name: "in another shell", script: "bash -c 'pytest && echo 1 > \"$0\" || echo 0 > \"$0\"' /logs/verifier/reward.txt\nsh <<'EOF'\necho 1 > /logs/verifier/reward.txt\nEOF\n",
			want: []string{"always one", "never zero", "reward 1 line 3"},
		},
		{
			name: "behind launchers", script: "timeout 60 env X=1 sudo -u root pytest && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt\n",
			want: []string{"reward 1 line 1 if", "reward 0 line 1 if"},
		},
		{
			name: "an array of arguments", script: "ARGS=(-q /tests/test_outputs.py)\nif pytest \"${ARGS[@]}\"; then R=(0 1); else R=(0 0); fi\necho ${R[1]} > /logs/verifier/reward.txt\n",
			want: []string{"reward 1 line 3 if", "reward 0 line 3 if"},
		},
		{
			name: "string operators", script: "P=/logs/verifier/reward.txt.tmp\nX=one1\necho ${X#one} > ${P%.tmp}\n",
			want: []string{"always one", "never zero", "reward 1 line 3"},
		},
		{
			name: "removed again", script: "echo 1 > /logs/verifier/reward.txt\nrm -f /logs/verifier/reward.txt\npytest && echo 1 > /logs/verifier/reward.txt\n",
			want: []string{"never zero", "reward 1 line 1", "reward 1 line 3 if"},
		},
	})
}

// TestLostStatus covers checks whose failure is lost on the way to the reward.
func TestLostStatus(t *testing.T) {
	runVerifierCases(t, []verifierCase{
		{
			name: "or true", script: "pytest || true\nif [ $? -eq 0 ]; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi\n",
			want: []string{"always one", "never zero", "reward 1 line 2"},
		},
		{
			name: "a pipe hides the status", script: "pytest | tee /logs/verifier/out.txt\nif [ $? -eq 0 ]; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi\n",
			want: []string{"always one", "never zero", "reward 1 line 2"},
		},
		{
			name: "pipefail brings it back", script: "set -o pipefail\npytest | tee /logs/verifier/out.txt\nif [ $? -eq 0 ]; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi\n",
			want: []string{"reward 1 line 3 if", "reward 0 line 3 if"},
		},
		{
			name: "so does PIPESTATUS", script: "pytest | tee /logs/verifier/out.txt\nif [ ${PIPESTATUS[0]} -eq 0 ]; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi\n",
			want: []string{"reward 1 line 2 if", "reward 0 line 2 if"},
		},
		{
			name: "an echo in between", script: "pytest\necho done\nif [ $? -eq 0 ]; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi\n",
			want: []string{"always one", "never zero", "reward 1 line 3"},
		},
		{
			name: "export hides the status of a substitution", script: "export OUT=$(diff /app/out /tests/expected)\nif [ $? -eq 0 ]; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi\n",
			want: []string{"always one", "never zero", "reward 1 line 2"},
		},
		{
			name: "the output is judged instead", script: "pytest > /tmp/log || true\nif grep -q passed /tmp/log; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi\n",
			want: []string{"reward 1 line 2 if", "reward 0 line 2 if"},
		},
		{
			name: "the report is judged instead", script: "pytest --ctrf /logs/verifier/ctrf.json || true\npython3 - <<'EOF'\nimport json\nd = json.load(open('/logs/verifier/ctrf.json'))\nopen('/logs/verifier/reward.txt', 'w').write(str(int(d['ok'])))\nEOF\n",
			want: []string{"reward unknown line 2"},
		},
		{
			name: "the output in a pipe is judged", script: "pytest | grep -q passed\nif [ $? -eq 0 ]; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi\n",
			want: []string{"reward 1 line 2 if", "reward 0 line 2 if"},
		},
		{
			name: "one of two suites", script: "pytest /tests/one\npytest /tests/two\nif [ $? -eq 0 ]; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi\n",
			want: []string{"reward 1 line 3 if", "reward 0 line 3 if"},
		},
		{
			name: "a program that prepares may fail", script: "bash /tests/prepare.sh || true\nif pytest /tests; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi\n",
			want: []string{"reward 1 line 2 if", "reward 0 line 2 if"},
		},
		{
			name: "in the background", script: "pytest &\nwait\necho 1 > /logs/verifier/reward.txt\n",
			want: []string{"always one", "never zero", "reward 1 line 3"},
		},
	})
}

// TestAborts covers set -e that ends the script before it writes a reward.
func TestAborts(t *testing.T) {
	runVerifierCases(t, []verifierCase{
		{
			name: "the check ends the script", script: "set -e\npytest\necho 1 > /logs/verifier/reward.txt\n",
			want: []string{"never zero", "aborts before reward", "reward 1 line 3 if"},
		},
		{
			name: "by the first line", script: "#!/bin/bash -eu\npytest\necho 1 > /logs/verifier/reward.txt\n",
			want: []string{"never zero", "aborts before reward", "reward 1 line 3 if"},
		},
		{
			name: "by option name", script: "set -euo pipefail\npytest | tee log\necho 1 > /logs/verifier/reward.txt\n",
			want: []string{"never zero", "aborts before reward", "reward 1 line 3 if"},
		},
		{
			name: "the status is asked too late", script: "set -e\npytest\nif [ $? -eq 0 ]; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi\n",
			want: []string{"never zero", "aborts before reward", "reward 1 line 3 if"},
		},
		{
			name: "a bare test", script: "set -e\n[ -f /app/out ]\n[[ $(cat /app/out) == 42 ]]\necho 1 > /logs/verifier/reward.txt\n",
			want: []string{"never zero", "aborts before reward", "reward 1 line 4 if"},
		},
		{
			name: "in a function", script: "set -e\nrun() { pytest /tests; }\nrun\necho 1 > /logs/verifier/reward.txt\n",
			want: []string{"never zero", "aborts before reward", "reward 1 line 4 if"},
		},
		{
			name: "zero was written before", script: "set -e\necho 0 > /logs/verifier/reward.txt\npytest\necho 1 > /logs/verifier/reward.txt\n",
			want: []string{"reward 0 line 2", "reward 1 line 4 if"},
		},
		{
			name: "turned off around the check", script: "set -e\nset +e\npytest\nrc=$?\nset -e\nif [ $rc -ne 0 ]; then echo 0 > /logs/verifier/reward.txt; else echo 1 > /logs/verifier/reward.txt; fi\n",
			want: []string{"reward 1 line 6 if", "reward 0 line 6 if"},
		},
		{
			name: "the status is caught", script: "set -e\nrc=0\npytest || rc=$?\n[ $rc -eq 0 ] && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt\n",
			want: []string{"reward 1 line 4 if", "reward 0 line 4 if"},
		},
		{
			name: "a trap writes zero", script: "set -e\ntrap 'test -f /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt' EXIT\npytest\necho 1 > /logs/verifier/reward.txt\n",
			want: []string{"reward 0 line 2 if", "reward 1 line 4 if"},
		},
		{
			name: "a condition is no abort", script: "set -e\nif pytest && diff a b; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi\n",
			want: []string{"reward 1 line 2 if", "reward 0 line 2 if"},
		},
		{
			name: "only a preparation can fail", script: "set -e\nmkdir -p /logs/verifier\ncd /app\nif pytest; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi\n",
			want: []string{"reward 1 line 4 if", "reward 0 line 4 if"},
		},
	})
}

// TestWithoutReward covers where a script can end without having written one.
func TestWithoutReward(t *testing.T) {
	v, err := shell.Verifier([]byte(`set -e
if [ "$PWD" = / ]; then exit 1; fi
cd /app
python3 /tests/check.py
pytest
echo 1 > /logs/verifier/reward.txt
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range v.WithoutReward {
		got = append(got, fmt.Sprintf("%s line %d check=%v after %v", e.Cause, e.Line, e.Check, e.Programs))
	}
	want := []string{
		"exit line 2 check=false after []",
		"abort line 4 check=true after [/tests/check.py]",
		"abort line 5 check=true after [/tests/check.py]",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("endings (-want +got):\n%s", d)
	}
}

// TestPlants covers what lets the agent's files into the verdict.
func TestPlants(t *testing.T) {
	v, err := shell.Verifier([]byte(`export PYTHONPATH=/app/src:/verifier
cd /app
pytest -p plug -p no:cacheprovider --rootdir=/app /verifier/test_outputs.py
python3 -m pytest -c pytest.ini tests/
PATH=/app/bin:$PATH pytest /tests
unset PYTHONPATH
/app/.venv/bin/python /tests/run.py
bash check.sh
/usr/bin/python3 /verifier/ok.py
cp /verifier/test_outputs.py /app/ && pytest /app/test_outputs.py
cp -r /tests/suite /app/suite; pytest /app/suite/test_a.py
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range v.Plants {
		got = append(got, fmt.Sprintf("%d %s %s", p.Line, p.Kind, p.Path))
	}
	want := []string{
		"3 import-path /app/src", "3 config /app", "3 plugin plug",
		"4 import-path /app/src", "4 tests /app/tests/", "4 cwd /app", "4 config /app/pytest.ini",
		"5 interpreter /app/bin", "5 import-path /app/src",
		"7 interpreter /app/.venv/bin/python",
		"8 program /app/check.sh",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("plants (-want +got):\n%s", d)
	}
}

// TestVerifierFiles covers the files that a verifier executes and reads.
func TestVerifierFiles(t *testing.T) {
	v, err := shell.Verifier([]byte(`DIR="$(cd "$(dirname "$0")" && pwd)"
source "$DIR/lib.sh"
python3 "$DIR/check.py" --fast
pytest -q --tb short "$DIR/test_outputs.py::test_one"
diff <(sort /app/out) "$DIR"/expected.txt
jq .x /app/out.json
cp /verifier/data/in.csv /tmp/in.csv
while read -r l; do :; done < /app/list
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range v.Files {
		got = append(got, fmt.Sprintf("%d %s %s", f.Line, f.How, f.Path))
	}
	want := []string{
		"2 source /verifier/lib.sh", "3 run /verifier/check.py", "4 test /verifier/test_outputs.py",
		"5 read /app/out", "5 read <(sort /app/out)", "5 read /verifier/expected.txt",
		"6 read /app/out.json", "7 read /verifier/data/in.csv", "8 read /app/list",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
}

// TestRefused covers scripts that cannot be followed.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name, script string
		line, column int
	}{
		{"an open if", "echo a\nif true; then\n", 2, 10},
		{"an open quote", "echo 'a\n", 1, 6},
		{"a stray fi", "\n\nfi\n", 3, 1},
		{"an open here-document", "cat <<EOF\nx\n", 1, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := shell.Verifier([]byte(c.script), nil)
			var e *shell.SyntaxError
			if !errors.As(err, &e) || e.Line != c.line || e.Column != c.column || e.Message == "" {
				t.Errorf("error %v (%#v), want line %d, column %d", err, e, c.line, c.column)
			}
			if _, err := shell.Solution([]byte(c.script)); !errors.As(err, &e) {
				t.Errorf("solution: error %v", err)
			}
		})
	}
	if _, err := shell.Verifier([]byte("#!/usr/bin/env python3\nprint(1)\n"), nil); !errors.Is(err, shell.ErrNotShell) {
		t.Errorf("a Python script: error %v", err)
	}
}
