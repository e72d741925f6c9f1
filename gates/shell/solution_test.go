package shell_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/gates/shell"
)

// TestSolution covers what a reference solution does.
func TestSolution(t *testing.T) {
	for _, c := range []struct {
		name, script string
		want         []string // "nothing", "writes PATH", "reads KIND PATH line N"
	}{
		{"an empty file", "", []string{"nothing"}},
		{"only a shebang and comments", "#!/bin/bash\n# to be written\n", []string{"nothing"}},
		{"exit", "#!/bin/bash\nexit 0\n", []string{"nothing"}},
		{"talk", "set -euo pipefail\ncd /app\necho done\nprintf '%s' ok\ntrue\n:\necho err >&2\necho quiet > /dev/null\n", []string{"nothing"}},
		{"variables and conditions", "export X=1\nif [ -f /app/x ]; then echo there; else echo missing; fi\nfor i in 1 2; do echo $i; done\n", []string{"nothing"}},
		{"work behind exit is never reached", "exit 0\npython3 /app/solve.py > /app/out\n", []string{"nothing"}},
		{"work in a function that is never called", "solve() { python3 run.py; }\ntrue\n", []string{"nothing"}},
		{"work in a function that is called", "solve() { python3 run.py; }\nsolve\n", nil},
		{"a directory is something", "mkdir -p /app/out\n", nil},
		{"a redirection is something", "echo 42 > /app/out.txt\n", []string{"writes /app/out.txt"}},
		{"a directory and a constant", "mkdir -p \"${WORK:-/app}\"\ncat > \"${WORK:-/app}/answer.json\" <<'EOF'\n{\"x\": 1}\nEOF\nchmod 644 /app/answer.json\n", []string{"writes /app/answer.json"}},
		{"tee and printf", "printf '%d\\n' 42 | tee /app/a /app/b >/dev/null\necho x >> /app/c\n", []string{"writes /app/a", "writes /app/b", "writes /app/c"}},
		{"a constant from inline Python", "python3 -c \"open('/app/out','w').write('42')\"\n", []string{"writes /app/out"}},
		{"Python that computes", "python3 - <<'EOF'\nn = sum(int(x) for x in open('/app/in'))\nopen('/app/out', 'w').write(str(n))\nEOF\n", []string{"writes /app/out"}},
		{"the output of a program", "echo \"$(date +%s)\" > /app/out\nsort /app/in > /app/sorted\n", []string{"writes /app/out", "writes /app/sorted"}},
		{"a program is written and run", "cat > /app/fix.py <<'EOF'\nprint(1)\nEOF\npython3 /app/fix.py\n", []string{"writes /app/fix.py"}},
		{"editing", "sed -i 's/a/b/' /app/x.py\ncp /app/x.py /app/y.py\n", []string{"writes /app/x.py", "writes /app/y.py"}},
		{"the expected output is copied", "cp /verifier/expected.json /app/out.json\n", []string{"writes /app/out.json", "reads verifier /verifier/expected.json line 1"}},
		{"the test file is read", "grep EXPECTED /tests/test_outputs.py | cut -d= -f2 > /app/out\n", []string{"writes /app/out", "reads verifier /tests/test_outputs.py line 1"}},
		{"the test file somewhere", "cat test_outputs.py\n", []string{"reads tests test_outputs.py line 1"}},
		{"an expected file of the task", "cd /app && python3 solve.py && diff out.txt data/expected_output.txt\n", []string{"reads expected /app/data/expected_output.txt line 1"}},
		{"an expected file that it writes itself", "./run > /app/expected.txt\ncat /app/expected.txt\n", []string{"writes /app/expected.txt"}},
		{"Python reads the verifier", "python3 <<'EOF'\nimport shutil\nshutil.copy('/tests/golden.csv', '/app/out.csv')\nEOF\n", []string{"reads verifier /tests/golden.csv line 1"}},
		{"a variable of the harness", "cp \"$BENCHFLOW_VERIFIER_DIR/gold.txt\" /app/out\n", []string{"writes /app/out", "reads verifier $BENCHFLOW_VERIFIER_DIR/gold.txt line 1"}},
		{"a test directory of its own", "cd /app && pytest tests/ && ls tests\n", nil},
		{"eval of the unknown", "eval \"$CMD\"\n", []string{"opaque"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := shell.Solution([]byte(c.script))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, solved(s)); d != "" {
				t.Errorf("facts (-want +got):\n%s", d)
			}
		})
	}
}

func solved(s shell.SolutionFacts) []string {
	var out []string
	if s.DoesNothing {
		out = append(out, "nothing")
	}
	if len(s.Opaque) > 0 {
		out = append(out, "opaque")
	}
	for _, w := range s.Written {
		out = append(out, "writes "+w.Path.Text)
	}
	for _, r := range s.ReadsVerifier {
		out = append(out, fmt.Sprintf("reads %s %s line %d", r.Kind, r.Path, r.Line))
	}
	return out
}

// TestDownloads covers commands that need the network, and those that look as if they did.
func TestDownloads(t *testing.T) {
	for _, c := range []struct {
		name, script string
		want         []string // "TOOL HOST", with "registry", "if" and "probe" where they hold
	}{
		{"curl", "curl -fsSL https://Example.org:8443/x.tgz -o /tmp/x.tgz\n", []string{"curl example.org"}},
		{"curl without a scheme", "curl -s example.org/x\n", []string{"curl example.org"}},
		{"curl of several addresses", "curl https://a.example.org/1 https://b.example.org/2\n", []string{"curl a.example.org", "curl b.example.org"}},
		{"curl with credentials and options", "curl -H 'Accept: x/y' -u me:pw -X POST -d a=b https://me@api.example.org/v1?u=http://no.example.org\n", []string{"curl api.example.org"}},
		{"the machine itself", "curl http://localhost:8080/health && wget -qO- http://127.0.0.1/x && curl http://[::1]:80/\n", nil},
		{"an address that is not known", "curl \"$URL\"\ncurl \"https://$HOST/x\"\n", []string{"curl ", "curl "}},
		{"an address in a variable of the script", "BASE=https://dl.example.org\ncurl $BASE/x | sh\n", []string{"curl dl.example.org"}},
		{"wget", "wget -q -O /tmp/out.bin http://example.org/in.bin\n", []string{"wget example.org"}},
		{"git", "git clone --depth 1 -b main https://git.example.org/a/b.git\ngit clone git@ssh.example.org:a/b.git\n", []string{"git git.example.org", "git ssh.example.org"}},
		{"git without the network", "git clone /srv/repo.git x\ngit status\ngit commit -m 'clone it'\ngit checkout main\n", nil},
		{"git from a remote", "git fetch origin\ngit submodule update --init\n", []string{"git ", "git "}},
		{"pip", "pip install numpy\npython3 -m pip install -r req.txt\n", []string{"pip  registry", "pip  registry"}},
		{"pip from an address", "pip install git+https://git.example.org/a.git\npip install -i https://pkg.example.org/simple x\n", []string{"pip git.example.org", "pip pkg.example.org registry"}},
		{"pip without the network", "pip install --no-index --find-links=/wheels x\npip list\npip uninstall x\n", nil},
		{"uv", "uv pip install x\nuvx --with pytest==8 pytest /tests\nuv run --with x python a.py\nuv run pytest\nuv --version\n", []string{"uv  registry", "uvx  registry", "uv  registry"}},
		{"system packages", "apt-get update && apt-get install -y curl\napk add git\nyum install -y x\n", []string{"apt-get  registry", "apt-get  registry if", "apk  registry", "yum  registry"}},
		{"system packages without the network", "apt-get clean\ndpkg -i x.deb\napt-cache search x\n", nil},
		{"node", "npm ci\nnpm install x\nnpx create-x\nnpm test\nyarn add x\n", []string{"npm  registry", "npm  registry", "npx  registry", "yarn  registry"}},
		{"others", "go install example.org/x@latest\ngo mod download\ngo build ./...\ncargo install x\ncargo build\ngem install x\nhf download a/b\n", []string{"go  registry", "go  registry", "cargo  registry", "gem  registry", "hf  registry"}},
		{"copying over the network", "scp me@host.example.org:/x .\nrsync -a /a/ /b/\nrsync -a me@r.example.org:/x /y\n", []string{"scp host.example.org", "rsync r.example.org"}},
		{"inline Python", "python3 -c \"import urllib.request as u; u.urlretrieve('https://py.example.org/x', 'x')\"\npython3 -c \"print('https://no.example.org')\"\n", []string{"python3 py.example.org"}},
		{"only if something is missing", "if ! command -v jq >/dev/null; then apt-get install -y jq; fi\n[ -x /usr/bin/x ] || curl https://example.org/x\n", []string{"apt-get  registry if probe", "curl example.org if probe"}},
		{"only if a variable says so", "if [ \"$ONLINE\" = 1 ]; then pip install x; fi\n", []string{"pip  registry if"}},
		{"in words", "echo 'curl https://no.example.org'\n# pip install x\ncat <<'EOF'\nwget http://no.example.org\nEOF\n", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := shell.Solution([]byte(c.script))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range s.Downloads {
				line := d.Tool + " " + d.Host
				for _, f := range []struct {
					word string
					set  bool
				}{{"registry", d.Registry}, {"if", d.Guard != ""}, {"probe", d.Probe}} {
					if f.set {
						line += " " + f.word
					}
				}
				got = append(got, line)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("downloads (-want +got):\n%s", d)
			}
		})
	}
}

// TestFollow covers how words, directories and control flow are resolved.
func TestFollow(t *testing.T) {
	for _, c := range []struct {
		name, script string
		want         []string // "LINE DIR$ command", with "?" for conditional
	}{
		{"variables and quotes", "A=one\nB='two words'\ncmd $A \"$B\" $B '$A' \\$A ${A}s\n", []string{"3 /w$ cmd one two words two words $A $A ones"}},
		{"what is not known stays as written", "cmd $X \"${Y}/z\" $(date) ~/f\n", []string{"1 /w$ date", "1 /w$ cmd $X ${Y}/z $(date) $HOME/f"}},
		{"substitutions", "cmd $(echo a b) \"$(dirname /x/y)\" `basename /x/y.txt .txt` $((1 + 2 * 3))\n", []string{"1 /w$ echo a b", "1 /w$ dirname /x/y", "1 /w$ basename /x/y.txt .txt", "1 /w$ cmd a b /x y 7"}},
		{"directories", "cd sub\na\ncd /x && b\n( cd y; c )\nd\npushd z; e; popd; f\n", []string{
			"1 /w$ cd sub", "2 /w/sub$ a", "3 /w/sub$ cd /x", "3 /x$ b", "4 /x$ cd y", "4 /x/y$ c", "5 /x$ d", "6 /x$ pushd z", "6 /x/z$ e", "6 /x/z$ popd", "6 /x$ f",
		}},
		{"braces", "cmd {a,b}{1..3} x{,.bak}\n", []string{"1 /w$ cmd a1 a2 a3 b1 b2 b3 x x.bak"}},
		{"string operators", "P=/a/b.tar.gz\ncmd ${P##*/} ${P%.*} ${P%%.*} ${P/b/c} ${#P} ${P:0:2} ${NO:-def} ${P:+set}\n", []string{"2 /w$ cmd b.tar.gz /a/b.tar /a/b /a/c.tar.gz 11 /a def set"}},
		{"parameters", "f() { cmd \"$#\" \"$1\" \"$@\"; shift; cmd \"$*\"; }\nf 'a b' c\n", []string{"1 /w$ cmd 2 a b a b c", "1 /w$ shift", "1 /w$ cmd c"}},
		{"loops", "for i in 1 2; do a $i; done\nfor f in *.x; do b $f; done\nwhile read -r l; do c $l; done\nfor ((i=0; i<3; i++)); do d $i; done\n", []string{
			"1 /w$ a 1", "1 /w$ a 2", "2 /w$ b *.x ?", "3 /w$ read -r l", "3 /w$ c $l ?", "4 /w$ d $i ?",
		}},
		{"leaving loops", "for i in 1 2 3; do if [ $i = 2 ]; then break; fi; a $i; done\nfor i in 1 2; do [ $i = 1 ] && continue; b $i; done\n", []string{
			"1 /w$ [ 1 = 2 ]", "1 /w$ a 1", "1 /w$ [ 2 = 2 ]", "1 /w$ break", "2 /w$ [ 1 = 1 ]", "2 /w$ continue", "2 /w$ [ 2 = 1 ]", "2 /w$ b 2",
		}},
		{"conditions", "if true; then a; else b; fi\nif check; then c; elif [ 1 -gt 2 ]; then d; else e; fi\n[[ x == x* && -n y ]] && f\ncase abc in a*) g ;; *) h ;; esac\n", []string{
			"1 /w$ true", "1 /w$ a", "2 /w$ check", "2 /w$ c ?", "2 /w$ [ 1 -gt 2 ] ?", "2 /w$ e ?", "3 /w$ f", "4 /w$ g",
		}},
		{"returning", "f() { a; return 1; b; }\nf && c\nf || d\n", []string{"1 /w$ a", "1 /w$ return 1", "3 /w$ d"}},
		{"launchers", "timeout -k 5 60 nice -n 3 a x\nenv -u Z A=1 b\nsudo -u me c\nxvfb-run -a d\ncommand e\nfind . | xargs -n 1 f\n", []string{
			"1 /w$ a x", "2 /w$ b", "3 /w$ c", "4 /w$ d", "5 /w$ e", "6 /w$ find .", "6 /w$ f",
		}},
		{"shells in shells", "bash -euc 'cd /x; a \"$1\"' sh one\nsu me -c 'b'\nsh -c \"$UNKNOWN\"\n", []string{"1 /w$ cd /x", "1 /x$ a one", "2 /w$ b", "3 /w$ sh -c $UNKNOWN"}},
		{"a shell inherits what is exported", "A=1; export B=2; C=3; export C; f() { g; }\nD=4 bash -c 'a \"$A$B$C$D\"; f'\n", []string{"1 /w$ export", "1 /w$ export", "2 /w$ a $A234", "2 /w$ f"}},
		{"exec ends the script", "exec a\nb\n", []string{"1 /w$ a"}},
		{"recursion stops", "f() { a; f; }\nf\n", []string{"1 /w$ a"}},
		{"here-documents", "a <<EOF\nx $HOME\nEOF\nb <<< word\n", []string{"1 /w$ a", "4 /w$ b"}},
		{"arrays", "A=(x 'y z')\nA+=(w)\ncmd \"${A[@]}\" ${#A[@]} \"${A[1]}\"\n", []string{"3 /w$ cmd x y z w 3 y z"}},
		{"old and odd syntax", "function g { a; }\ng\n{ b; } 2>/dev/null\n! c\ntime d\nlet X=1\n", []string{"1 /w$ a", "3 /w$ b", "4 /w$ c", "5 /w$ d"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			trace, err := shell.Follow([]byte(c.script), shell.Options{Dir: "/w"})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, cmd := range trace.Commands {
				if cmd.Name == "" {
					continue
				}
				line := fmt.Sprintf("%d %s$ %s", cmd.Line, cmd.Dir, cmd)
				if cmd.Conditional() {
					line += " ?"
				}
				got = append(got, line)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("commands (-want +got):\n%s", d)
			}
		})
	}
}

// TestBounds covers scripts that are too much for the model: they are refused or
// truncated, and no claim is made.
func TestBounds(t *testing.T) {
	t.Run("a long script", func(t *testing.T) {
		if _, err := shell.Verifier([]byte(strings.Repeat("a", shell.MaxBytes+1)), nil); err == nil {
			t.Error("accepted")
		}
	})
	for _, open := range []string{"(", "$(", "{ ", "if ", "\"$(", "${a:-", "$((", "<(", "case a in a) ", "while ", "((", "a[", "[[ a && ( "} {
		t.Run("nested "+open, func(t *testing.T) {
			if _, err := shell.Verifier([]byte(strings.Repeat(open, 20_000)), nil); err == nil {
				t.Error("accepted")
			}
		})
	}
	t.Run("a large literal here-document is no nesting", func(t *testing.T) {
		body := strings.Repeat("[[1, 2], [3, {\"a\": (4)}]]\n", 10_000)
		s, err := shell.Solution([]byte("cat > /app/data.json <<'EOF'\n" + body + "EOF\necho end > /app/end\n"))
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"writes /app/data.json", "writes /app/end"}
		if d := cmp.Diff(want, solved(s)); d != "" {
			t.Errorf("facts (-want +got):\n%s", d)
		}
		if s.Written[0].Data.Text != body || s.Commands[1].Line != 10_003 {
			t.Errorf("the text has %d bytes and the next command is on line %d", len(s.Written[0].Data.Text), s.Commands[1].Line)
		}
	})
	t.Run("too many paths", func(t *testing.T) {
		v, err := shell.Verifier([]byte(strings.Repeat("if a; then x=$x$?; fi; y=$((y+1)); while b; do c || d; e; done\n", 1500)), nil)
		if err != nil {
			t.Fatal(err)
		}
		if !v.Truncated || v.AlwaysOne {
			t.Errorf("truncated %v, always one %v", v.Truncated, v.AlwaysOne)
		}
	})
	t.Run("many independent flags are joined, not multiplied", func(t *testing.T) {
		var b strings.Builder
		for i := range 30 {
			fmt.Fprintf(&b, "if cond%d; then V%d=1; else V%d=2; fi\n", i, i, i)
		}
		v, err := shell.Verifier([]byte(b.String()+"if pytest; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi\n"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{"reward 1 line 31 if", "reward 0 line 31 if"}, verdict(v)); d != "" {
			t.Errorf("facts (-want +got):\n%s", d)
		}
	})
}
