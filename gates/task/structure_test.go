package task_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/gates/report"
	"github.com/posttrainarena/arena/gates/task"
)

func TestSamplesAreValid(t *testing.T) {
	for name, pkg := range map[string]files{"posttrain": postTrain(), "native": native()} {
		t.Run(name, func(t *testing.T) {
			p, problems := readOne(t, pkg)
			if errs := codes(problems, report.Error); len(errs) > 0 {
				t.Errorf("errors %v", errs)
			}
			want := "Count the words of /app/poem.txt and write the number to /app/count.txt."
			if p.Prompt != want {
				t.Errorf("prompt %q", p.Prompt)
			}
			if line := strings.Split(pkg["task.md"], "\n")[p.PromptLine-1]; line != want {
				t.Errorf("line %d is %q, not the prompt", p.PromptLine, line)
			}
			if string(p.Format) == "" || p.OraclePath != "oracle/solve.sh" || p.VerifierDir != "verifier" {
				t.Errorf("format %q, oracle %q, verifier %q", p.Format, p.OraclePath, p.VerifierDir)
			}
		})
	}
}

// edit replaces text in a task.md and fails the test when it is not there.
func edit(t *testing.T, pkg files, pairs ...string) files {
	t.Helper()
	md := pkg["task.md"]
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(md, pairs[i]) {
			t.Fatalf("task.md has no %q", pairs[i])
		}
		md = strings.Replace(md, pairs[i], pairs[i+1], 1)
	}
	return pkg.with(files{"task.md": md})
}

// TestPackageStructure has one case for each structural rule: what is changed in a valid package, and what must be
// said about it, in the form "code field path:line".
func TestPackageStructure(t *testing.T) {
	pt, nat := postTrain(), native()
	for _, test := range []struct {
		name     string
		pkg      files
		errors   []string
		warnings []string
	}{
		{"frontmatter is missing", pt.with(files{"task.md": "# Title\n" + body}), []string{"frontmatter task.md:1"}, nil},
		{"frontmatter is not closed", pt.with(files{"task.md": "---\n" + postTrainFront + body}), []string{"frontmatter task.md:1"}, nil},
		{"dashes may have blanks behind them", edit(t, pt, "---\n", "--- \t\n"), nil, nil},
		{"frontmatter is a list", pt.with(files{"task.md": document("- a\n- b\n", body)}), []string{"frontmatter task.md:2"}, nil},
		{"frontmatter is empty", pt.with(files{"task.md": document("", body)}), []string{"frontmatter task.md:2"}, nil},
		{"a key stands twice", edit(t, pt, "agent:\n", "version: '1.0'\nagent:\n"), []string{"frontmatter task.md:9"}, nil},
		{"a nested key stands twice", edit(t, pt, "  license: MIT\n", "  license: MIT\n  license: ISC\n"), []string{"frontmatter task.md:7"}, nil},
		{"anchors and aliases", edit(t, pt, "license: MIT", "license: &l MIT", "origin: original", "origin: *l"), []string{"frontmatter task.md:6"}, nil},
		{"merge keys", edit(t, pt, "  cpus: 1", "  <<: {cpus: 1}"), []string{"frontmatter task.md:14"}, nil},
		{"tags", edit(t, pt, "license: MIT", "license: !!str MIT"), []string{"frontmatter task.md:6"}, nil},
		{"explicit keys", edit(t, pt, "agent:\n", "? [a]\n: b\nagent:\n"), []string{"frontmatter task.md:9"}, nil},
		{"several documents", edit(t, pt, "agent:\n", "...\nagent:\n"), []string{"frontmatter task.md:2"}, nil},
		{"tabs for indentation", edit(t, pt, "  cpus: 1", "\tcpus: 1"), []string{"frontmatter task.md:14"}, nil},
		{"nesting beyond the limit", edit(t, pt, "  license: MIT", "  license: MIT\n  deep: "+strings.Repeat("[", 25)+strings.Repeat("]", 25)), []string{"frontmatter task.md:7"}, nil},
		{"list dashes inside brackets", edit(t, pt, "  license: MIT", "  license: MIT\n  deep: ["+strings.Repeat("- ", 20_000)+"]"), []string{"frontmatter task.md:7"}, nil},
		{"more keys than anyone writes", edit(t, pt, "agent:\n", strings.Repeat("a:\n", 20_000)+"agent:\n"), []string{"frontmatter task.md:1999"}, nil},
		{"frontmatter beyond 64 KiB", edit(t, pt, "  license: MIT", "  license: MIT\n  note: "+strings.Repeat("x", 64<<10)), []string{"frontmatter task.md:2"}, nil},
		{"a task.md beyond 1 MiB", pt.with(files{"task.md": document(postTrainFront, body+strings.Repeat("x", 1<<20))}), []string{"file-too-large task.md"}, nil},
		{"byte order mark", pt.with(files{"task.md": "\ufeff" + pt["task.md"]}), []string{"byte-order-mark task.md:1"}, nil},
		{"UTF-16", pt.with(files{"task.md": "\xff\xfe-\x00-\x00-\x00"}), []string{"not-utf8 task.md:1"}, nil},
		{"Latin-1", edit(t, pt, "Ida Holm", "Zo\xeb Holm"), []string{"not-utf8 task.md:4"}, nil},
		{"NUL bytes", edit(t, pt, "Count the", "Count\x00the"), []string{"not-utf8 task.md:20"}, nil},
		{"CRLF line ends", pt.with(files{"task.md": strings.ReplaceAll(pt["task.md"], "\n", "\r\n")}), nil, nil},
		{"task.md is a link", pt.with(files{"task.md": "-> verifier/verifier.md"}), []string{"not-regular task.md"}, nil},

		{"no version", edit(t, pt, "version: \"1.0\"\n", ""), []string{"frontmatter-missing-key version task.md:2"}, nil},
		{"version is empty", edit(t, pt, "version: \"1.0\"", "version:"), []string{"frontmatter-version version task.md:2"}, nil},
		{"no agent", edit(t, pt, "agent:\n  timeout_sec: 600\n", ""), []string{"frontmatter-missing-key agent task.md:2"}, nil},
		{"agent is empty", edit(t, pt, "agent:\n  timeout_sec: 600\n", "agent:\n"), nil, []string{"frontmatter-empty agent task.md:9"}},
		{"agent is text", edit(t, pt, "agent:\n  timeout_sec: 600\n", "agent: me\n"), []string{"frontmatter-not-map agent task.md:9"}, nil},
		{"no author", edit(t, pt, "  author_name: Ida Holm\n", ""), []string{"frontmatter-missing-key metadata.author_name task.md:3"}, nil},
		{"an empty author is a matter of credit", edit(t, pt, "author_name: Ida Holm", "author_name:"), nil, nil},
		{"metadata in braces", edit(t, pt, "metadata:\n  author_name: Ida Holm\n  author_email: ida@example.org\n  license: MIT\n  category: data-processing\n  origin: original\n", "metadata: {author_name: Ida, author_email: i@example.org, category: games}\n"), nil, []string{"metadata-flow-style metadata task.md:3"}},
		{"sandbox in a PostTrain task", edit(t, pt, "environment:\n", "sandbox:\n"), []string{"frontmatter-wrong-key sandbox task.md:13"}, nil},
		{"environment and sandbox", edit(t, pt, "environment:\n", "sandbox:\n  cpus: 1\nenvironment:\n"), []string{"frontmatter-alias-conflict sandbox task.md:13"}, nil},
		{"oracle and solution keys", edit(t, pt, "environment:\n", "oracle: {}\nsolution: {}\nenvironment:\n"), []string{"frontmatter-alias-conflict solution task.md:14"}, nil},

		{"native with environment", edit(t, nat, "sandbox:\n", "environment:\n"), []string{"frontmatter-wrong-key environment task.md:15"}, nil},
		{"native with both spellings", edit(t, nat, "sandbox:\n", "environment: {}\nsandbox:\n"), []string{"frontmatter-alias-conflict environment task.md:15"}, nil},
		{"native with both versions", edit(t, nat, "task:\n", "version: '1.0'\ntask:\n"), []string{"frontmatter-alias-conflict version task.md:3"}, nil},
		{"native with a number for version", edit(t, nat, `"1.3"`, "1.3"), nil, []string{"frontmatter-version schema_version task.md:2"}},
		{"native of another major version", edit(t, nat, `"1.3"`, `"2.0"`), []string{"frontmatter-version schema_version task.md:2"}, nil},
		{"native with a bare name", edit(t, nat, "lamp-post/tally", "tally"), nil, []string{"task-name-bare task.name task.md:4"}},
		{"native needs no author", edit(t, nat, "  author_name: Ida Holm\n", ""), nil, nil},
		{"native needs no reference solution", nat.with(files{"oracle/solve.sh": "gone"}), nil, nil},
		{"native without metadata", edit(t, nat, "metadata:\n  author_name: Ida Holm\n  author_email: ida@example.org\n  license: MIT\n  category: data-processing\n  origin: original\n", ""), []string{"frontmatter-missing-key metadata task.md:2"}, nil},
		{"only schema_version makes it a PostTrain task", edit(t, nat, "task:\n  name: lamp-post/tally\n", "version: '1.3'\n"), []string{
			"file-missing verifier/test_outputs.py", "file-missing verifier/verifier.md", "frontmatter-alias-conflict version task.md:3", "frontmatter-wrong-key sandbox task.md:14", "rubric-missing verifier/rubrics",
		}, nil},

		{"no prompt heading", edit(t, pt, "## prompt\n", "# prompt\n"), []string{"prompt-missing task.md:17"}, nil},
		{"the heading is matched without case", edit(t, pt, "## prompt\n", "##  Prompt \n"), nil, nil},
		{"a deeper heading is none", edit(t, pt, "## prompt\n", "### prompt\n"), []string{"prompt-missing task.md:17"}, nil},
		{"an escaped heading is none", edit(t, pt, "## prompt\n", "\\## prompt\n"), []string{"prompt-missing task.md:17"}, nil},
		{"a heading in a fence does not count", edit(t, pt, "## prompt\n", "```md\n## prompt\n```\n"), []string{"prompt-missing task.md:17"}, []string{"heading-in-fence task.md:19"}},
		{"a heading in a fence of the prompt", edit(t, pt, "Count the words", "~~~\n## prompt\n~~~\nCount the words"), nil, []string{"heading-in-fence task.md:21"}},
		{"an empty prompt", edit(t, pt, "Count the words of /app/poem.txt and write the number to /app/count.txt.\n", " \n\n## role:critic\nBe fair.\n"), []string{"prompt-empty task.md:18"}, nil},
		{"two prompts", edit(t, pt, "## prompt\n", "## prompt\nFirst.\n## PROMPT\n"), []string{"section-twice task.md:20"}, nil},
		{"a placeholder", edit(t, pt, "Count the", "[REPLACE: verb] the"), []string{"placeholder-left task.md:20"}, nil},

		{"a timeout of zero", edit(t, pt, "timeout_sec: 600", "timeout_sec: 0"), []string{"value-out-of-range agent.timeout_sec task.md:10"}, nil},
		{"a timeout that is no number", edit(t, pt, "timeout_sec: 600", "timeout_sec: soon"), []string{"value-out-of-range agent.timeout_sec task.md:10"}, nil},
		{"an endless timeout", edit(t, pt, "timeout_sec: 600", "timeout_sec: .inf"), []string{"value-out-of-range agent.timeout_sec task.md:10"}, nil},
		{"no timeout", edit(t, pt, "timeout_sec: 600", "timeout_sec: null"), nil, nil},
		{"numbers in quotes", edit(t, pt, "timeout_sec: 600", "timeout_sec: '600.5'", "cpus: 1", "cpus: \"2\""), nil, nil},
		{"half a processor", edit(t, pt, "cpus: 1", "cpus: 0.5"), []string{"value-out-of-range environment.cpus task.md:14"}, nil},
		{"yes is true", edit(t, pt, "allow_internet: false", "allow_internet: No"), nil, nil},
		{"perhaps is not", edit(t, pt, "allow_internet: false", "allow_internet: perhaps"), []string{"value-out-of-range environment.allow_internet task.md:15"}, nil},
		{"an unknown network mode", edit(t, nat, "no-network", "host"), []string{"value-out-of-range sandbox.network_mode task.md:17"}, nil},
		{"an allow list without hosts", edit(t, nat, "no-network", "allowlist"), []string{"value-out-of-range sandbox.allowed_hosts task.md:17"}, nil},
		{"an allow list with hosts", edit(t, nat, "no-network", "allowlist\n  allowed_hosts: [example.org]"), nil, nil},
		{"hosts without an allow list", edit(t, nat, "no-network", "no-network\n  allowed_hosts: [example.org]"), []string{"value-out-of-range sandbox.allowed_hosts task.md:18"}, nil},
		{"network settings that disagree", edit(t, nat, "no-network", "public\n  allow_internet: false"), []string{"value-out-of-range sandbox.allow_internet task.md:18"}, nil},

		{"no Dockerfile", pt.with(files{"environment/Dockerfile": "gone"}), []string{"file-missing environment/Dockerfile"}, nil},
		{"the Dockerfile is a link", pt.with(files{"environment/Dockerfile": "-> poem.txt"}), []string{"not-regular environment/Dockerfile"}, nil},
		{"the Dockerfile is empty", pt.with(files{"environment/Dockerfile": "# nothing\n"}), []string{"dockerfile-no-from environment/Dockerfile:1"}, nil},
		{"the Dockerfile begins with RUN", pt.with(files{"environment/Dockerfile": "\n# x\nRUN true\nFROM a\n"}), []string{"dockerfile-no-from environment/Dockerfile:3"}, nil},
		{"the Dockerfile begins with ARG", pt.with(files{"environment/Dockerfile": "ARG A=1 \\\n  B=2\nARG C\nFROM a:$A\n"}), nil, []string{"dockerfile-arg-first environment/Dockerfile:1"}},
		{"ARG alone", pt.with(files{"environment/Dockerfile": "ARG A=1\n"}), []string{"dockerfile-no-from environment/Dockerfile:1"}, nil},
		{"FROM in any dress", pt.with(files{"environment/Dockerfile": "\ufeff# syntax=docker/dockerfile:1\r\n\r\n  from\ta AS b\r\n"}), nil, nil},
		{"FROMAGE is not FROM", pt.with(files{"environment/Dockerfile": "FROMAGE brie\n"}), []string{"dockerfile-no-from environment/Dockerfile:1"}, nil},
		{"FROM without an image", pt.with(files{"environment/Dockerfile": "FROM\n"}), []string{"dockerfile-no-from environment/Dockerfile:1"}, nil},
		{"no test.sh", nat.with(files{"verifier/test.sh": "gone", "verifier/x": ""}), []string{"file-missing verifier/test.sh"}, nil},
		{"test.sh is elsewhere", nat.with(files{"verifier/test.sh": "gone", "tests/test.sh": ""}), []string{"file-missing verifier/test.sh"}, nil},
		{"no test_outputs.py", pt.with(files{"verifier/test_outputs.py": "gone"}), []string{"file-missing verifier/test_outputs.py"}, nil},
		{"no verifier.md", pt.with(files{"verifier/verifier.md": "gone"}), []string{"file-missing verifier/verifier.md"}, nil},
		{"no rubric", pt.with(files{"verifier/rubrics/verifier.md": "gone", "verifier/rubrics/a/b.md": "", "verifier/rubrics/c.txt": ""}), []string{"rubric-missing verifier/rubrics"}, nil},
		{"no reference solution", pt.with(files{"oracle/solve.sh": "gone"}), []string{"file-missing oracle/solve.sh"}, nil},
		{"both directories of each kind", pt.with(files{"tests/a": "", "solution/solve.sh": "", "task.toml": "", "instruction.md": ""}), nil, []string{"alias-drift instruction.md", "alias-drift solution", "alias-drift task.toml", "alias-drift tests"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, problems := readOne(t, test.pkg)
			if diff := cmp.Diff(test.errors, places(problems, report.Error)); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.warnings, places(problems, report.Warning)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			for _, p := range problems {
				if p.Message == "" || p.Fix == "" {
					t.Errorf("nothing to read or to do: %+v", p)
				}
			}
		})
	}
}

// places lists problems of package tally as "code field path:line", sorted.
func places(list []task.Problem, severity report.Severity) []string {
	var found []string
	for _, p := range list {
		if p.Severity != severity || p.Task != "tally" {
			continue
		}
		s := p.Code
		if p.Field != "" {
			s += " " + p.Field
		}
		s += " " + p.Path
		if p.Line > 0 {
			s += fmt.Sprintf(":%d", p.Line)
		}
		found = append(found, s)
	}
	sortStrings(found)
	return found
}

func TestHintForHalfNativeTasks(t *testing.T) {
	_, problems := readOne(t, edit(t, native(), "task:\n  name: lamp-post/tally\n", ""))
	for _, p := range problems {
		if p.Field == "version" && strings.Contains(p.Fix, "schema_version and task") {
			return
		}
	}
	t.Errorf("no problem says that a native task has both keys: %+v", problems)
}

func TestPromptWithoutHeadingIsWhatThePipelineReads(t *testing.T) {
	for name, test := range map[string]struct{ body, want string }{
		"the whole body":                              {"\nDo it.\n\n# Now\n", "Do it.\n\n# Now"},
		"the text before a heading":                   {"Do it.\n## role:critic\nBe fair.\n", "Do it."},
		"up to the next heading":                      {"Intro.\n## prompt\nDo it.\n## notes\nStill.\n## user-persona\nNo.\n", "Do it.\n## notes\nStill."},
		"fences keep their headings":                  {"## prompt\n````\n```\n## role:x\n````\nEnd.\n", "````\n```\n## role:x\n````\nEnd."},
		"backticks with code in a line open no fence": {"## prompt\n```x` y\n## role:a\n", "```x` y"},
		"a deeply indented fence is code":             {"## prompt\n    ```\n## role:a\n", "    ```"},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := readOne(t, postTrain().with(files{"task.md": document(postTrainFront, test.body)}))
			if p.Prompt != test.want {
				t.Errorf("prompt %q; want %q", p.Prompt, test.want)
			}
		})
	}
}

func TestReferenceSolution(t *testing.T) {
	for name, test := range map[string]struct {
		change files
		want   string
	}{
		"oracle":                          {files{}, "oracle/solve.sh"},
		"solution":                        {files{"oracle/solve.sh": "gone", "solution/solve.sh": ""}, "solution/solve.sh"},
		"oracle wins":                     {files{"solution/solve.sh": ""}, "oracle/solve.sh"},
		"oracle wins even without script": {files{"oracle/solve.sh": "gone", "oracle/notes": "", "solution/solve.sh": ""}, ""},
		"a link is no script":             {files{"oracle/solve.sh": "-> ../verifier/test.sh"}, ""},
		"none":                            {files{"oracle/solve.sh": "gone"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if p, _ := readOne(t, native().with(test.change)); p.OraclePath != test.want {
				t.Errorf("oracle %q; want %q", p.OraclePath, test.want)
			}
		})
	}
}
