package gates_test

import (
	"archive/zip"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/gates"
	"github.com/posttrainarena/arena/gates/overlap"
	"github.com/posttrainarena/arena/gates/report"
)

// golden compares with a file under testdata; ARENA_UPDATE=1 writes it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	place := filepath.Join("testdata", name)
	if os.Getenv("ARENA_UPDATE") == "1" {
		if err := os.WriteFile(place, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(place)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("output differs from %s; set ARENA_UPDATE=1 if it should (-want +got):\n%s", place, diff)
	}
}

const sealedPrompt = "The night shift at the lighthouse keeps a log in which every lamp change is noted with the hour and the keeper, " +
	"but three keepers wrote in different calendars; rebuild one consistent log in /srv/lamp and explain each correction you made in a second file."

const unevaluatedPrompt = "A bakery prints its orders on paper strips of varying width and asks you to reassemble the torn strips by their edges, " +
	"then total the loaves per street and mark every order that cannot be placed."

func sealedSuites() []overlap.Suite {
	return []overlap.Suite{{ID: "invented", Tasks: []overlap.SealedTask{
		{Name: "night-shift", Prompt: sealedPrompt, Evaluated: true},
		{Name: "paper-strips", Prompt: unevaluatedPrompt},
	}}}
}

// words returns n words of a text, beginning at word from.
func words(text string, from, n int) string {
	return strings.Join(strings.Fields(text)[from:from+n], " ")
}

func TestSealedRules(t *testing.T) {
	own := strings.Repeat("Quite another matter is described here with words that no other task would ever use in this order. ", 6)
	for _, test := range []struct {
		name, task, declared, prompt string
		want                         []string
	}{
		{"nothing in common", "ledger", "", own, nil},
		{"the name of a sealed task", "night-shift", "", own, []string{"sealed-name"}},
		{"the name in another dress", "Night_Shift", "", own, []string{"sealed-name"}},
		{"a longer name", "night-shift-2", "", own, nil},
		{"the name in the frontmatter", "ledger", "lamp/NIGHT_SHIFT", own, []string{"sealed-name task.md:3"}},
		{"the organization's name does not count", "ledger", "night-shift/ledger", own, nil},
		{"the name of a task that is not evaluated", "paper-strips", "", own, nil},
		{"the whole prompt", "ledger", "", sealedPrompt, []string{"sealed-near-copy task.md:5"}},
		{"in capitals and with other punctuation", "ledger", "", strings.ToUpper(strings.ReplaceAll(sealedPrompt, ",", " --")), []string{"sealed-near-copy task.md:5"}},
		{"all of it within a longer text", "ledger", "", own + sealedPrompt + own, []string{"sealed-near-copy task.md:5"}},
		{"half of it", "ledger", "", words(sealedPrompt, 0, 30) + " " + own, []string{"sealed-near-copy task.md:5"}},
		{"thirteen words of it", "ledger", "", own + words(sealedPrompt, 3, 13), []string{"sealed-overlap task.md:5"}},
		{"twelve words of it", "ledger", "", own + words(sealedPrompt, 3, 12), nil},
		{"words of one that is not evaluated", "ledger", "", own + words(unevaluatedPrompt, 0, 20), []string{"sealed-overlap-unevaluated task.md:5"}},
		{"words of both", "ledger", "", own + words(sealedPrompt, 3, 14) + " and " + words(unevaluatedPrompt, 0, 20), []string{"sealed-overlap task.md:5", "sealed-overlap-unevaluated task.md:5"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			pkg := sample("ledger", files{"task.md": "---\ntask:\n  name: " + test.declared + "\n---\n" + test.prompt + "\n"})
			pkgs := read(t, map[string]files{test.task: pkg, "other": sample("orchard", nil)})
			r := gates.Report(pkgs, sealedSuites(), gates.Options{})
			if diff := cmp.Diff(test.want, found(r, test.task)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever matches, nothing in the report says what it was.
func TestReportsDoNotTellWhatIsSealed(t *testing.T) {
	r := reportOne(t, sample("ledger", files{"task.md": "---\nname: x\n---\n" + words(sealedPrompt, 3, 20) + " " + words(unevaluatedPrompt, 0, 14) + strings.Repeat(" more of my own words", 20)}), sealedSuites(), gates.Options{})
	if len(r.Findings) != 2 {
		t.Fatalf("findings %+v", r.Findings)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"night-shift", "night shift", "paper-strips", "invented", "lighthouse", "bakery"} {
		if strings.Contains(strings.ToLower(string(text)), secret) {
			t.Errorf("the report contains %q: %s", secret, text)
		}
	}
	for _, f := range r.Findings {
		if f.Line != 4 || f.Column != 0 || strings.ContainsAny(f.Message, "0456789%") {
			t.Errorf("the finding is more exact than it should be: %+v", f)
		}
	}
}

func TestOracleRules(t *testing.T) {
	stub := []string{"stub-oracle solution/solve.sh:1"}
	for _, test := range []struct {
		name, solve string
		want        []string
	}{
		{"there is none", "gone", []string{"no-oracle oracle/solve.sh"}},
		{"it is a link", "-> ../environment/data/in.csv", []string{"no-oracle solution/solve.sh"}},
		{"it is empty", "", stub},
		{"only comments", "#!/bin/bash\n# later\n\n", stub},
		{"exit", "#!/bin/bash\nexit 0\n", []string{"stub-oracle solution/solve.sh:2"}},
		{"true and colon", "true; : nothing\n", stub},
		{"set and cd", "set -euo pipefail\ncd /app || exit 1\n", stub},
		{"echo to the terminal", "echo \"done at $(pwd)\" >&2\nprintf '%s\\n' x > /dev/null\n", stub},
		{"harmless commands in control flow", "if [ -f /app/x ] && [[ -n $HOME ]]; then echo yes; else exit 1; fi\nfor i in 1 2; do :; done\ncase $1 in a) true;; esac\n", stub},
		{"a function that does nothing", "main() { echo hello; }\nmain \"$@\"\n", stub},
		{"variables only", "X=1\nexport Y=2\nlocal z\n(( X += 1 ))\n", stub},
		{"an exit before the work", "echo hi\nexit 0\npython3 work.py > /app/out\n", stub},
		{"an exit behind what always holds", "if true; then exit 0; fi\nmake\n", stub},
		{"an exit before something that is not shell", "exit 0\n__DATA__ ((( '\n", stub},
		{"a here-document for nobody", ": <<'END'\nrm -rf /\nEND\n", stub},

		{"echo into a file", "echo 42 > /app/answer\n", nil},
		{"echo appended", "echo 42 >> /app/answer\n", nil},
		{"an empty file is work", "> /app/answer\n", nil},
		{"a pipe into tee", "echo 42 | tee /app/answer\n", nil},
		{"a command substitution that works", "X=$(python3 solve.py)\n", nil},
		{"work inside echo", "echo $(make -C /app)\n", nil},
		{"a process substitution", ": > >(cat > /app/x)\n", nil},
		{"a variable command", "$RUN\n", nil},
		{"an exit under a condition", "[ -f /app/done ] && exit 0\npython3 work.py\n", nil},
		{"an exit in an if", "if [ -e /app/done ]; then exit 0; fi\nmake\n", nil},
		{"an exit in the background", "exit 0 &\nmake\n", nil},
		{"a function that works", "main() { make; }\nmain\n", nil},
		{"a here-document into a file", "cat > /app/x.py <<'END'\nprint(1)\nEND\n", nil},
		{"exec", "exec python3 /solution/solve.py\n", nil},
		{"another language", "#!/usr/bin/env python3\nprint('if (')\n", nil},
		{"another language through env -S", "#!/usr/bin/env -S uv run\nimport os\n", nil},
		{"CRLF line ends", "#!/bin/bash\r\nmake all\r\n", nil},

		{"an unclosed quote", "#!/bin/bash\necho 'x\n", []string{"unparsed solution/solve.sh:2"}},
		{"an unclosed if", "if true; then\nmake\n", []string{"unparsed solution/solve.sh:1"}},
		{"a zero byte", "make\x00all\n", nil},
		{"nesting without end", strings.Repeat("(", 300_000), []string{"unparsed solution/solve.sh"}},
		{"nesting of substitutions", strings.Repeat("$(", 300_000), []string{"unparsed solution/solve.sh"}},
		{"nesting of arithmetic", "x=" + strings.Repeat("$((", 200_000), []string{"unparsed solution/solve.sh"}},
		{"a very long pipe", strings.Repeat(": | ", 100_000) + ":\n", []string{stub[0], "unparsed solution/solve.sh"}},
		{"a very long sum", "x=$((1" + strings.Repeat("+1", 200_000) + "))\n", stub},
		{"a file above the limit", strings.Repeat("# x\n", 1<<18+1), []string{"unparsed solution/solve.sh"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := reportOne(t, sample("ledger", files{"solution/solve.sh": test.solve}), nil, gates.Options{})
			if diff := cmp.Diff(test.want, found(r, "ledger")); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// An archive that the image holds as it is can be opened by the agent as well as one that the build unpacks.
func TestSolutionInAnArchive(t *testing.T) {
	archive := func(content string) string {
		var b strings.Builder
		w := zip.NewWriter(&b)
		f, err := w.Create("backup/notes")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	solve := sample("ledger", nil)["solution/solve.sh"]
	for _, test := range []struct {
		name, build, content string
		want                 []string
	}{
		{"left packed", "COPY kit.zip /opt/", solve, []string{"oracle-in-image environment/Dockerfile:4"}},
		{"under a directory", "COPY . /opt/", solve, []string{"oracle-in-image environment/Dockerfile:4"}},
		{"added, then unpacked", "ADD kit.zip /tmp/\nRUN unzip /tmp/kit.zip -d /opt && rm /tmp/kit.zip", solve, []string{"oracle-in-image environment/Dockerfile:5"}},
		{"of other things", "COPY kit.zip /opt/", "#!/bin/bash\nmake -C /app everything else\n", nil},
		{"taken away", "COPY kit.zip /opt/\nRUN rm /opt/kit.zip", solve, nil},
		{"not copied", "", solve, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			pkg := sample("ledger", files{"environment/kit.zip": archive(test.content)})
			pkg["environment/Dockerfile"] += test.build + "\n"
			if diff := cmp.Diff(test.want, found(reportOne(t, pkg, nil, gates.Options{}), "ledger")); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDuplicateRule(t *testing.T) {
	long := strings.Repeat("Every ledger line holds a date, an amount and a note. ", 3)
	for i := range 60 {
		long += " item" + string(rune('a'+i%26)) + strings.Repeat("x", i/26)
	}
	md := func(prompt string) files { return files{"task.md": "---\nname: x\n---\n" + prompt + "\n"} }
	for _, test := range []struct {
		name string
		b    files
		says string // empty: b is no duplicate of a
	}{
		{"another task", sample("harbour", nil), ""},
		{"the same files", sample("ledger", md(long)), "all files"},
		{"the same prompt in another dress", sample("harbour", md(strings.ToUpper(long)+"!")), "the same words"},
		{"one word differs", sample("harbour", md(strings.Replace(long, "itema ", "itemzz ", 1))), "nearly"},
		{"a third differs", sample("harbour", md(long+strings.Repeat(" quite new words follow here", 12))), "nearly"},
		{"a common frame", sample("harbour", md(words(long, 0, 25)+strings.Repeat(" but the work is another", 12))), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			pkgs := read(t, map[string]files{"a": sample("ledger", md(long)), "b": test.b})
			r := gates.Report(pkgs, nil, gates.Options{})
			if list := found(r, "a"); list != nil {
				t.Errorf("the first of the two was marked: %q", list)
			}
			list := r.Findings
			switch {
			case test.says == "" && len(list) > 0:
				t.Errorf("findings %+v", list)
			case test.says != "" && (len(list) != 1 || list[0].Code != "duplicate-task" || !strings.Contains(list[0].Message, test.says) || !strings.HasSuffix(list[0].Message, "task a")):
				t.Errorf("findings %+v; want one that says %q", list, test.says)
			}
		})
	}
}

// fakeToken has the form of a token. It is put together here, so that no scanner takes this file for a leak.
func fakeToken() string { return "gh" + "p_" + "q7Rk2mX9vB4nT6wY1zL8cD3fG5hJ0sPaUeIo"[:36] }

func TestSecretRule(t *testing.T) {
	random := "q7Rk2mX9vB4nT6wY1zL8cD3fG5hJ0sPaUeIoKtMxNvQwErTyZaSdFgHjLpOiUyTrEwQz7Rk2mX9vB4nT6wY1zL8cD3fG5hJ0sPa"
	letters := "qRkmXvBnTwYzLcDfGhJsPaUeIoKtMxNvQwErTyZ"
	pem := func(kind, body string) string {
		return "-----BEGIN " + kind + "PRIVATE KEY-----\n" + body + "\n-----END " + kind + "PRIVATE KEY-----\n"
	}
	keyLine := "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtz"
	for _, test := range []struct {
		name, text, want string
	}{
		{"GitHub", "token: " + fakeToken() + "\n", "a GitHub token"},
		{"GitHub, fine-grained", "github" + "_pat_" + random[:22] + "_" + random[:59], "a GitHub token"},
		{"GitLab", "x=glpat" + "-" + random[:20] + "\n", "a GitLab token"},
		{"Hugging Face", "export HF_TOKEN=hf" + "_" + letters[:34] + "\n", "a Hugging Face token"},
		{"AWS", "aws_access_key_id = AK" + "IAQ7RK2MX3VB4NT6WY\n", "an AWS access key id"},
		{"Google", "key=AI" + "za" + random[:35] + "\n", "a Google API key"},
		{"Slack", "xo" + "xb-738291640285-940271835562-" + random[:24], "a Slack token"},
		{"Stripe", "sk" + "_live_" + random[:24] + "\n", "a Stripe live key"},
		{"npm", "//registry/:_authToken=npm" + "_" + random[:36] + "\n", "an npm token"},
		{"PyPI", "password = pypi-" + "AgEIcHlwaS5vcmc" + random[:60] + "\n", "a PyPI token"},
		{"Anthropic", "sk-" + "ant-api03-" + random[:95] + "\n", "an Anthropic API key"},
		{"OpenAI", "sk-" + "proj-" + random[:24] + "T3Blbk" + "FJ" + random[:24] + "\n", "an OpenAI API key"},
		{"a private key", pem("OPENSSH ", keyLine+"\n"+keyLine), "a private key"},
		{"a private key with headers", pem("RSA ", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n"+keyLine+"\n"+keyLine), "a private key"},

		{"the manual's example key", "AK" + "IAIOSFODNN7EXAMPLE\n", ""},
		{"a placeholder", "gh" + "p_" + strings.Repeat("x", 36) + "\n", ""},
		{"counting letters", "gh" + "p_" + "abcdefghijklmnopqrstuvwxyz0123456789\n", ""},
		{"alternating letters and digits", "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8\n", ""},
		{"digits that count down", "sk" + "_live_" + "9Kq8Xm7Vt6Lz5Rw4Hb3Pn2Yj1Fd\n", ""},
		{"a secret that says so", "sk" + "_live_" + "shopSecretKey8fK2mQ7xZ4vW\n", ""},
		{"too short", "gh" + "p_" + random[:35] + "\n", ""},
		{"inside a word", "x" + fakeToken() + "\n", ""},
		{"a prefix in prose", "Tokens begin with ghp_, hf_ or sk-.\n", ""},
		{"a public key", strings.ReplaceAll(pem("", keyLine+"\n"+keyLine), "PRIVATE", "PUBLIC"), ""},
		{"a private key that is cut off", "-----BEGIN PRIVATE KEY-----\n...\n", ""},
		{"a test key of a shop", "sk" + "_test_" + random[:24] + "\n", ""},
		{"a hash", strings.Repeat("0123456789abcdef", 4) + "\n", ""},
		{"a binary file", "\x00" + fakeToken(), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := reportOne(t, sample("ledger", files{"environment/data/notes.txt": "first line\n  " + test.text}), nil, gates.Options{})
			switch {
			case test.want == "":
				if len(r.Findings) > 0 {
					t.Errorf("findings %+v", r.Findings)
				}
			case len(r.Findings) != 1 || r.Findings[0].Code != "secret" || !strings.Contains(r.Findings[0].Message, test.want):
				t.Errorf("findings %+v; want %q", r.Findings, test.want)
			default:
				f := r.Findings[0]
				if f.Line != 2 || f.Column < 3 || f.Path != "environment/data/notes.txt" || strings.Contains(f.Message, random[:12]) {
					t.Errorf("finding %+v", f)
				}
			}
		})
	}
}

func TestUnparsedRule(t *testing.T) {
	for name, test := range map[string]struct {
		changes files
		want    []string
	}{
		"frontmatter":         {files{"task.md": "---\na: [\n---\nx\n"}, []string{"unparsed task.md:2"}},
		"not UTF-8":           {files{"task.md": "---\na: b\n---\nx\xff\n"}, []string{"unparsed task.md:4"}},
		"both at once":        {files{"task.md": "\xff", "solution/solve.sh": "if"}, []string{"unparsed solution/solve.sh:1", "unparsed task.md:1"}},
		"a linked Dockerfile": {files{"environment/Dockerfile": "-> /etc/passwd"}, []string{"unparsed environment/Dockerfile"}},
		"a Dockerfile beyond the bounds": {
			files{"environment/Dockerfile": "FROM scratch\n" + strings.Repeat("LABEL a=b\n", 2000) + "COPY data/ /app/data/\n"},
			[]string{"unparsed environment/Dockerfile:2001"},
		},
		"an archive that is not read": {
			files{"environment/Dockerfile": "FROM scratch\nADD in.tar.xz /app/\n", "environment/in.tar.xz": "\xfd7zXZ\x00rest"},
			[]string{"unparsed environment/Dockerfile:2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := reportOne(t, sample("ledger", test.changes), nil, gates.Options{})
			if diff := cmp.Diff(test.want, found(r, "ledger")); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// The codes and severities of PROTOCOL §6.
func TestCatalogueIsTheProtocols(t *testing.T) {
	want := map[report.Severity]string{
		report.Block:    "sealed-name sealed-near-copy",
		report.Reject:   "oracle-in-image verifier-in-image answer-key-in-image sealed-overlap",
		report.Controls: "no-oracle stub-oracle",
		report.Review: "answer-like-file verifier-named-file image-bytecode image-cache image-git remote-add oracle-downloads unmentioned-grading-data " +
			"existence-only no-assertions always-reward sealed-overlap-unevaluated " +
			"verifier-downloads verifier-agent-writable reward-abort oracle-reads-verifier literal-only clock-dependent duplicate-task unparsed secret",
	}
	got := map[report.Severity]string{}
	for _, rule := range gates.Catalogue() {
		got[rule.Severity] = strings.TrimSpace(got[rule.Severity] + " " + rule.Code)
		for part, text := range map[string]string{"title": rule.Title, "meaning": rule.Meaning, "why": rule.Why, "example": rule.Example, "fix": rule.Fix} {
			if strings.TrimSpace(text) == "" {
				t.Errorf("%s has no %s", rule.Code, part)
			}
		}
		if back, ok := gates.Explain(rule.Code); !ok || back != rule {
			t.Errorf("Explain(%q) = %+v, %v", rule.Code, back, ok)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("catalogue (-want +got):\n%s", diff)
	}
	if _, ok := gates.Explain("no-such-code"); ok {
		t.Error("an unknown code is explained")
	}
}
