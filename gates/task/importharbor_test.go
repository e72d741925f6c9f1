package task_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/gates/report"
	"github.com/posttrainarena/arena/gates/task"
)

const harborToml = `version = "1.0"

[metadata]
author_name = "Ida Holm"
author_email = "ida@example.org"
category = "games"
tags = ["a", "b: c"]
"on" = 1_000

[agent]
timeout_sec = 600.0

[verifier]
timeout_sec = 90
[verifier.env]
MODE = "strict # not a comment"

[environment]
cpus = 2
memory = "2G"
allow_internet = false
mcp_servers = []

[solution.env]
`

// imported rewrites a Harbor package and returns the files of the result.
func imported(t *testing.T, pkg files, to task.Format) (task.Imported, files) {
	t.Helper()
	p, _ := readOne(t, pkg)
	im, err := task.ImportHarbor(p, to)
	if err != nil {
		t.Fatal(err)
	}
	out := files{}
	for _, f := range im.Files {
		if out[f.Path] = string(f.Content); f.Content == nil {
			out[f.Path] = pkg[f.From]
		}
	}
	return im, out
}

func losses(im task.Imported) []string {
	var list []string
	for _, l := range im.Lost {
		list = append(list, strings.TrimSpace(l.Path+" "+l.Field))
	}
	return list
}

// What is imported is a valid collection, and reads back as the same task.
func TestImportHarbor(t *testing.T) {
	pkg := files{
		"task.toml": harborToml, "instruction.md": "# Chess\n\nWrite a chess clock.\n\n## Prompt\n\nIt shows > when it waits.\n",
		"environment/Dockerfile": "FROM alpine\n", "environment/data.txt": "x\n", "README.md": "notes\n",
		"tests/test.sh": "exit 0\n", "tests/test_outputs.py": "def test(): assert 1\n", "solution/solve.sh": "make\n",
	}
	for _, to := range []task.Format{task.Native, task.PostTrain} {
		t.Run(string(to), func(t *testing.T) {
			im, out := imported(t, pkg, to)
			if im.Lost == nil || len(im.Lost) != 0 {
				t.Errorf("lost %v", losses(im))
			}
			col, problems := task.ReadCollection(collection(map[string]files{"chess": out}).tree(t), "", task.DefaultLimits())
			if bad := codes(problems, report.Error); len(bad) > 0 {
				t.Fatalf("the result is not valid: %v\n%s", bad, out["task.md"])
			}
			p := col.Packages[0]
			// The pipeline's reader takes the backslash off again.
			if got := strings.ReplaceAll(p.Prompt, `\##`, "##"); got != strings.TrimSpace(pkg["instruction.md"]) || p.Format != to {
				t.Errorf("%s prompt %q", p.Format, got)
			}
			front := p.Frontmatter
			sandbox := "sandbox"
			if to == task.PostTrain {
				sandbox = "environment"
			}
			var got []string
			for _, keys := range [][]string{
				{"metadata", "author_name"}, {"metadata", "on"}, {"agent", "timeout_sec"}, {"verifier", "env", "MODE"}, {sandbox, "cpus"}, {sandbox, "memory_mb"},
			} {
				text, _ := front.Get(keys...).AsText()
				got = append(got, text)
			}
			want := []string{"Ida Holm", "1000", "600", "strict # not a comment", "2", "2048"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("settings (-want +got):\n%s\n%s", diff, out["task.md"])
			}
			if tags := front.Get("metadata", "tags").Items; len(tags) != 2 || tags[1].Scalar != "b: c" {
				t.Errorf("tags %+v", tags)
			}
			if out["oracle/solve.sh"] != "make\n" || out["verifier/test.sh"] != "exit 0\n" || out["README.md"] != "notes\n" || out["task.toml"] != "" {
				t.Errorf("files %v", out)
			}
		})
	}
}

func TestImportHarborSaysWhatIsLost(t *testing.T) {
	for _, test := range []struct {
		name    string
		changes files
		to      task.Format
		want    []string
		added   []string
	}{
		{"steps", files{"task.toml": harborToml + "[[steps]]\nname = \"one\"\n"}, task.Native, []string{"task.toml steps"}, nil},
		{"an unknown setting", files{"task.toml": strings.Replace(harborToml, "cpus = 2", "colour = 2", 1)}, task.Native, []string{"task.toml environment.colour"}, nil},
		{"a task table has no place in PostTrain", files{"task.toml": harborToml + "[task]\nname = \"a/b\"\n"}, task.PostTrain, []string{"task.toml task"}, []string{"verifier/verifier.md", "verifier/rubrics/verifier.md"}},
		{"no author", files{"task.toml": "version = \"1.0\"\n[metadata]\ncategory = \"games\"\n"}, task.PostTrain, []string{"task.toml metadata.author_name", "task.toml metadata.author_email"}, []string{"verifier/verifier.md", "verifier/rubrics/verifier.md"}},
		{"no solution", files{"solution/solve.sh": "gone"}, task.Native, []string{"solution/solve.sh"}, nil},
		{"a link", files{"environment/link": "-> Dockerfile"}, task.Native, []string{"environment/link"}, nil},
		{"an image by name", files{"task.toml": strings.Replace(harborToml, "cpus = 2", "docker_image = \"alpine:3\"", 1), "environment/Dockerfile": "gone"}, task.PostTrain, nil, []string{"environment/Dockerfile", "verifier/verifier.md", "verifier/rubrics/verifier.md"}},
		{"a solution that names its place", files{"solution/solve.sh": "python3 /solution/x.py\n"}, task.Native, []string{"solution/solve.sh"}, nil},
		{"two settings of one thing", files{"task.toml": strings.Replace(harborToml, "cpus = 2", "network_mode = \"public\"", 1)}, task.Native, []string{"task.toml environment.network_mode"}, nil},
		{"a directory of the new layout", files{"oracle/old.sh": "x\n"}, task.Native, []string{"oracle/old.sh"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			pkg := harbor().with(files{"task.toml": harborToml, "solution/solve.sh": "make\n", "tests/test_outputs.py": "x = 1\n"}).with(test.changes)
			im, _ := imported(t, pkg, test.to)
			if diff := cmp.Diff(test.want, losses(im)); diff != "" {
				t.Errorf("lost (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(fmt.Sprint(test.added), fmt.Sprint(im.Added)); diff != "" && len(im.Added) > 0 {
				t.Errorf("added (-want +got):\n%s", diff)
			}
		})
	}
}

func TestImportHarborRefusesOtherPackages(t *testing.T) {
	p, _ := readOne(t, native())
	if _, err := task.ImportHarbor(p, task.PostTrain); err == nil {
		t.Error("a native package was imported")
	}
	p, _ = readOne(t, harbor())
	if _, err := task.ImportHarbor(p, task.Harbor); err == nil {
		t.Error("Harbor is no format to import to")
	}
}

// FuzzImportHarbor: whatever task.toml and the instruction say, task.md can be read again, and with it the prompt.
func FuzzImportHarbor(f *testing.F) {
	f.Add(harborToml, "## prompt\n\n---\ntext")
	f.Add("a = 1979-05-27\nb = [{c = \"\\u0000\"}, 1e9, inf, -0x1F]\n\"\" = 1\n", "\ufeff\r\n## ROLE:x")
	f.Add("[metadata]\n\"a\\nb\" = 'x'\n'yes' = \"yes\"\n", "x")
	f.Fuzz(func(t *testing.T, toml, instruction string) {
		p, problems := readOne(t, harbor().with(files{"task.toml": toml, "instruction.md": instruction}))
		if p.Format != task.Harbor || len(codes(problems, report.Error)) > 0 {
			t.Skip()
		}
		im, err := task.ImportHarbor(p, task.Native)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(im.Files, func(f task.ImportedFile) bool { return f.Path == "task.md" })
		back, problems := readOne(t, native().with(files{"task.md": string(im.Files[i].Content)}))
		for _, code := range codes(problems, report.Error) {
			if strings.HasPrefix(code, "frontmatter ") || strings.HasPrefix(code, "prompt-missing") {
				t.Fatalf("%s in\n%s", code, im.Files[i].Content)
			}
		}
		if back.Format != task.Native {
			t.Fatalf("reads as %s:\n%s", back.Format, im.Files[i].Content)
		}
	})
}
