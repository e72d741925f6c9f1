package task_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/gates/report"
	"github.com/posttrainarena/arena/gates/task"
)

func sortStrings(s []string) { slices.Sort(s) }

func TestSubmission(t *testing.T) {
	const complete = "team_name: Lamp Post\ncontact_email: lamp@example.org\ntrack: environments\n"
	for _, test := range []struct {
		name, text string
		errors     []string
		warnings   []string
	}{
		{"complete", complete, nil, nil},
		{"with defaults", complete + "license: Apache-2.0 OR MIT\norigin: generated\n", nil, nil},
		{"a comment and a quoted hash", "team_name: \"Lamp #1\" # us\ncontact_email: lamp@example.org\ntrack: 'environments'\n", nil, nil},
		{"CRLF and a byte order mark", "\ufeff" + strings.ReplaceAll(complete, "\n", "\r\n"), nil, nil},
		{"empty", "", []string{"submission-yaml :1"}, nil},
		{"only a comment", "# nothing\n", []string{"submission-yaml :1"}, nil},
		{"a list", "- a\n", []string{"submission-yaml :1"}, nil},
		{"not YAML", "team_name: [\n", []string{"submission-yaml :1"}, nil},
		{"not text", "team_name: \xff\n", []string{"not-utf8 :1"}, nil},
		{"a missing key", "team_name: a\ntrack: environments\n", []string{"submission-missing-key contact_email:1"}, nil},
		{"an empty key", strings.Replace(complete, "Lamp Post", "''", 1), []string{"submission-missing-key team_name:1"}, nil},
		{"a key that stands twice", complete + "track: environments\n", []string{"submission-yaml :4"}, nil},
		{"a nested key", strings.Replace(complete, "Lamp Post", "\n  first: Lamp", 1), []string{"submission-nested team_name:1"}, nil},
		{"a list of tracks", strings.Replace(complete, "environments", "[environments]", 1), []string{"submission-nested track:3"}, nil},
		{"another track", strings.Replace(complete, "environments", "skills", 1), []string{"submission-value track:3"}, nil},
		{"no address", strings.Replace(complete, "lamp@example.org", "lamp at example", 1), []string{"submission-value contact_email:2"}, nil},
		{"a very long name", strings.Replace(complete, "Lamp Post", strings.Repeat("x", 400), 1), []string{"submission-value team_name:1"}, nil},
		{"an unknown key", complete + "licence: MIT\n", nil, []string{"submission-unknown-key licence:4"}},
		{"an unknown license", complete + "license: Mine\n", nil, []string{"submission-value license:4"}},
		{"an unknown origin", complete + "origin: borrowed\n", nil, []string{"submission-value origin:4"}},
		{"an anchor", strings.Replace(complete, "Lamp Post", "&a Lamp", 1), []string{"submission-yaml :1"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			all := collection(map[string]files{"tally": native()}).with(files{"submission.yaml": test.text})
			_, problems := task.ReadCollection(all.tree(t), "", task.DefaultLimits())
			list := func(severity report.Severity) []string {
				var found []string
				for _, p := range problems {
					if p.Severity == severity && p.Path == "submission.yaml" {
						found = append(found, fmt.Sprintf("%s %s:%d", p.Code, p.Field, p.Line))
					}
				}
				return found
			}
			if diff := cmp.Diff(test.errors, list(report.Error)); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.warnings, list(report.Warning)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSubmissionValues(t *testing.T) {
	all := collection(map[string]files{"tally": native()}).with(files{"submission.yaml": "team_name: 'Lamp #1'\ncontact_email: lamp@example.org\ntrack: environments\nlicense: MIT\norigin: original\n"})
	col, problems := task.ReadCollection(all.tree(t), "", task.DefaultLimits())
	want := task.Submission{TeamName: "Lamp #1", ContactEmail: "lamp@example.org", Track: "environments", Defaults: task.Defaults{License: "MIT", Origin: "original"}}
	if diff := cmp.Diff(want, col.Submission); diff != "" || len(problems) > 0 {
		t.Errorf("submission (-want +got):\n%s\nproblems %+v", diff, problems)
	}
}

func TestDiscovery(t *testing.T) {
	two := map[string]files{"tally": native(), "sum": native()}
	many := map[string]files{}
	for i := range 201 {
		many[fmt.Sprintf("t%03d", i)] = native()
	}
	big := native()
	for i := range 2000 {
		big[fmt.Sprintf("environment/data/%04d", i)] = ""
	}
	for _, test := range []struct {
		name     string
		all      files
		entry    string
		packages int
		errors   []string
	}{
		{"at the root", collection(two), "", 2, nil},
		{"in a directory", collection(two).under("a/b"), "a/b", 2, nil},
		{"with a slash at the end", collection(two).under("a/b"), "a/b/", 2, nil},
		{"a directory that is not there", collection(two), "a", 0, []string{"entry-path"}},
		{"a directory above", collection(two), "../x", 0, []string{"entry-path"}},
		{"an absolute directory", collection(two).under("a"), "/a", 0, []string{"entry-path"}},
		{"the name is a file", collection(two), "submission.yaml", 0, []string{"entry-path"}},
		{"no submission.yaml", collection(two).with(files{"submission.yaml": "gone"}), "", 2, []string{"file-missing"}},
		{"no packages", files{"submission.yaml": submission}, "", 0, []string{"no-tasks"}},
		{"files and hidden or private directories are passed over", collection(two).with(files{"envs/README.md": "", "envs/_draft/x": "", "envs/.cache/x": ""}), "", 2, nil},
		{"a directory without task.md", collection(two).with(files{"envs/typo/tsk.md": ""}), "", 2, []string{"typo: task-md-missing"}},
		{"a package too deep", collection(two).with(files{"envs/more/inner/task.md": ""}), "", 2, []string{"more: task-md-missing"}},
		{"a linked package", collection(two).with(files{"envs/copy": "-> tally"}), "", 2, []string{"copy: not-regular"}},
		{"a name with a blank", collection(map[string]files{"word count": native()}), "", 1, []string{"word count: task-name"}},
		{"a name with a dash in front", collection(map[string]files{"-x": native()}), "", 1, []string{"-x: task-name"}},
		{"a name of 129 letters", collection(map[string]files{strings.Repeat("x", 129): native()}), "", 1, []string{strings.Repeat("x", 129) + ": task-name"}},
		{"names with dots and digits", collection(map[string]files{"0.tally_v1-b": native()}), "", 1, nil},
		{"201 packages", collection(many), "", 200, []string{"too-many-tasks"}},
		{"2,008 files", collection(map[string]files{"tally": big}), "", 1, []string{"tally: too-many-files"}},
		{"Harbor packages", collection(map[string]files{"h1": harbor(), "h2": harbor().with(files{"tests/test.sh": "gone"}), "tally": native()}), "", 3, []string{"harbor-format"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			col, problems := task.ReadCollection(test.all.tree(t), test.entry, task.DefaultLimits())
			if len(col.Packages) != test.packages {
				t.Errorf("%d packages; want %d", len(col.Packages), test.packages)
			}
			if diff := cmp.Diff(test.errors, codes(problems, report.Error), cmpEmpty); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

var cmpEmpty = cmp.FilterValues(func(a, b []string) bool { return len(a)+len(b) == 0 }, cmp.Comparer(func(a, b []string) bool { return true }))

func TestHarborMessageNamesTheWayOut(t *testing.T) {
	_, problems := task.ReadCollection(collection(map[string]files{"chess": harbor()}).tree(t), "", task.DefaultLimits())
	for _, p := range problems {
		if p.Code == "harbor-format" && strings.Contains(p.Fix, "arena import harbor") && strings.Contains(p.Message, "chess") {
			return
		}
	}
	t.Errorf("problems %+v", problems)
}

func TestReadPackages(t *testing.T) {
	two := map[string]files{"tally": native(), "chess": harbor()}
	envs := files{}
	for name, pkg := range two {
		for place, content := range pkg.under(name) {
			envs[place] = content
		}
	}
	for _, test := range []struct {
		name   string
		all    files
		dir    string
		want   []string
		errors []string
	}{
		{"a collection", collection(two), "", []string{"chess", "tally"}, nil},
		{"a collection without submission.yaml", collection(two).with(files{"submission.yaml": "gone"}), "", []string{"chess", "tally"}, nil},
		{"a typo in a collection", collection(two).with(files{"envs/typo/x": ""}), "", []string{"chess", "tally"}, []string{"typo: task-md-missing"}},
		{"a directory of packages", envs, "", []string{"chess", "tally"}, nil},
		{"a directory of packages and other things", envs.with(files{"docs/a.md": "", "link": "-> docs"}), "", []string{"chess", "tally"}, nil},
		{"a repository with tasks/", envs.under("tasks").with(files{"src/x": ""}), "", []string{"chess", "tally"}, nil},
		{"one package", native(), "", []string{"the-root"}, nil},
		{"one Harbor package", harbor(), "", []string{"the-root"}, nil},
		{"one package of several", envs, "tally", []string{"tally"}, nil},
		{"nothing", files{"a": ""}, "", nil, []string{"no-tasks"}},
		{"no such directory", envs, "nowhere", nil, []string{"entry-path"}},
		{"a Harbor package without tests", harbor().with(files{"tests/test.sh": "gone", "instruction.md": " \n"}), "", []string{"the-root"}, []string{"the-root: file-missing", "the-root: prompt-empty"}},
		{"a Harbor package with its image named", harbor().with(files{"environment/Dockerfile": "gone", "task.toml": "[environment]\ndocker_image = \"debian\"\n"}), "", []string{"the-root"}, nil},
		{"a Harbor package without image", harbor().with(files{"environment/Dockerfile": "gone"}), "", []string{"the-root"}, []string{"the-root: file-missing"}},
		{"broken TOML", harbor().with(files{"task.toml": "[a\n"}), "", []string{"the-root"}, []string{"the-root: task-toml"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			tree := test.all.tree(t)
			tree.Name = "the-root"
			col, problems := task.ReadPackages(tree, test.dir, task.DefaultLimits())
			var names []string
			for _, p := range col.Packages {
				names = append(names, p.Name)
				place := col.Locate(report.Finding{Task: p.Name, Path: p.PromptPath})
				if _, err := fs.Stat(tree.Files, place); err != nil {
					t.Errorf("Locate leads to %q: %v", place, err)
				}
			}
			if diff := cmp.Diff(test.want, names, cmpEmpty); diff != "" {
				t.Errorf("packages (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.errors, codes(problems, report.Error), cmpEmpty); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHarborPackage(t *testing.T) {
	col, _ := task.ReadPackages(harbor().tree(t), "", task.DefaultLimits())
	p := col.Packages[0]
	if p.Format != task.Harbor || p.Prompt != "Play a round of chess and write the moves to /app/moves.txt." || p.PromptPath != "instruction.md" || p.PromptLine != 3 {
		t.Errorf("format %q, prompt %q in %s:%d", p.Format, p.Prompt, p.PromptPath, p.PromptLine)
	}
	if p.OraclePath != "solution/solve.sh" || p.VerifierDir != "tests" || p.Credit.Category != "games" {
		t.Errorf("oracle %q, verifier %q, category %q", p.OraclePath, p.VerifierDir, p.Credit.Category)
	}
	if f, ok := p.Frontmatter.Get("agent", "timeout_sec").AsFloat(); !ok || f != 60 {
		t.Errorf("timeout %v, %v", f, ok)
	}
}

func TestPackageReadText(t *testing.T) {
	p, _ := readOne(t, native().with(files{"big": strings.Repeat("x", 1<<20+1), "edge": strings.Repeat("x", 1<<20), "link": "-> task.md"}))
	for name, want := range map[string]error{"big": task.ErrOversize, "link": task.ErrNotRegular, "missing": fs.ErrNotExist, "verifier": fs.ErrNotExist, "../sum/task.md": fs.ErrNotExist} {
		if _, err := p.ReadText(name); !errors.Is(err, want) {
			t.Errorf("ReadText(%q): %v; want %v", name, err, want)
		}
	}
	if text, err := p.ReadText("edge"); err != nil || len(text) != 1<<20 {
		t.Errorf("ReadText(edge): %d bytes, %v", len(text), err)
	}
}

func TestSubtreeIdentity(t *testing.T) {
	// The same package has the same identity wherever it lies.
	a, _ := task.ReadPackages(native().tree(t), "", task.DefaultLimits())
	b, _ := readOne(t, native())
	if a.Packages[0].ContentHash() != b.ContentHash() {
		t.Error("the directory above changes the content hash")
	}
	c, _ := readOne(t, native().with(files{"environment/poem.txt": "other"}))
	if b.ContentHash() == c.ContentHash() {
		t.Error("another content has the same hash")
	}
}

func FuzzFrontmatter(f *testing.F) {
	f.Add(postTrainFront, body)
	f.Add(nativeFront, "\n```\n## prompt\n```\n## prompt\nx\n")
	f.Add("a: &a [*a]\nb: {<<: *a}\n", "## prompt\r\n")
	f.Add("a: |\n  ---\n---\n", "")
	f.Add("? [a, {b: !!int 1}]\n: - - - x\n", "\ufeff\x00")
	f.Fuzz(func(t *testing.T, front, body string) {
		p, problems := readOne(t, postTrain().with(files{"task.md": document(front, body)}))
		for _, pr := range problems {
			if pr.Message == "" || pr.Fix == "" || pr.Line < 0 {
				t.Errorf("an unhelpful problem: %+v", pr)
			}
		}
		if p.Frontmatter.Kind == task.Absent && len(codes(problems, report.Error)) == 0 {
			t.Error("frontmatter was not read and nothing was said")
		}
		p.Credit.Check()
	})
}

func FuzzSubmission(f *testing.F) {
	f.Add(submission)
	f.Add("team_name: [a]\ntrack: {b: c}\n")
	f.Add("license: (MIT AND (ISC OR 0BSD)) WITH x\norigin: 1e999\n")
	f.Fuzz(func(t *testing.T, text string) {
		all := collection(map[string]files{"tally": native()}).with(files{"submission.yaml": text})
		col, problems := task.ReadCollection(all.tree(t), "", task.DefaultLimits())
		if len(codes(problems, report.Error)) == 0 && (col.Submission.TeamName == "" || col.Submission.Track != "environments") {
			t.Errorf("%q was accepted as %+v", text, col.Submission)
		}
	})
}

func FuzzTaskTOML(f *testing.F) {
	f.Add(harbor()["task.toml"])
	f.Add("[a]\nb = [[[[1]]]]\n[[c]]\nd = 1979-05-27T07:32:00Z\n")
	f.Fuzz(func(t *testing.T, text string) {
		task.ReadPackages(harbor().with(files{"task.toml": text}).tree(t), "", task.DefaultLimits())
	})
}
