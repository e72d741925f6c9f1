package task_test

import (
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/posttrainarena/arena/gates/report"
	"github.com/posttrainarena/arena/gates/task"
)

// files is a directory written down as text: path → content. A value that begins with "-> " is a symbolic link.
type files map[string]string

func (f files) fs() fstest.MapFS {
	m := fstest.MapFS{}
	for name, content := range f {
		if target, link := strings.CutPrefix(content, "-> "); link {
			m[name] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777}
			continue
		}
		m[name] = &fstest.MapFile{Data: []byte(content), Mode: 0o644}
	}
	return m
}

func (f files) tree(t testing.TB) task.Tree {
	t.Helper()
	tree, err := task.ReadTree(f.fs(), task.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// under moves all files into a directory.
func (f files) under(dir string) files {
	moved := files{}
	for name, content := range f {
		moved[dir+"/"+name] = content
	}
	return moved
}

// with returns a copy with other files added or replaced; the content "gone" removes one.
func (f files) with(changes files) files {
	changed := maps.Clone(f)
	maps.Copy(changed, changes)
	maps.DeleteFunc(changed, func(_, content string) bool { return content == "gone" })
	return changed
}

const submission = "team_name: Lamp Post\ncontact_email: lamp@example.org\ntrack: environments\n"

// collection wraps packages, given by name, with a submission.yaml.
func collection(packages map[string]files) files {
	all := files{"submission.yaml": submission}
	for name, pkg := range packages {
		maps.Copy(all, pkg.under("envs/"+name))
	}
	return all
}

const postTrainFront = `version: "1.0"
metadata:
  author_name: Ida Holm
  author_email: ida@example.org
  license: MIT
  category: data-processing
  origin: original
agent:
  timeout_sec: 600
verifier:
  timeout_sec: 90
environment:
  cpus: 1
  allow_internet: false
`

const nativeFront = `schema_version: "1.3"
task:
  name: lamp-post/tally
metadata:
  author_name: Ida Holm
  author_email: ida@example.org
  license: MIT
  category: data-processing
  origin: original
agent:
  timeout_sec: 600
verifier:
  timeout_sec: 90
sandbox:
  cpus: 1
  network_mode: no-network
`

const body = "\n## prompt\n\nCount the words of /app/poem.txt and write the number to /app/count.txt.\n"

func document(front, body string) string { return "---\n" + front + "---\n" + body }

func postTrain() files {
	return files{
		"task.md":                      document(postTrainFront, body),
		"environment/Dockerfile":       "# the image\nFROM debian:12-slim\nCOPY poem.txt /app/\n",
		"environment/poem.txt":         "a rose is a rose\n",
		"oracle/solve.sh":              "wc -w < /app/poem.txt > /app/count.txt\n",
		"verifier/test.sh":             "pytest /verifier/test_outputs.py && echo 1 > /logs/verifier/reward.txt\n",
		"verifier/test_outputs.py":     "def test_count():\n    assert open('/app/count.txt').read().strip() == '5'\n",
		"verifier/verifier.md":         "---\ndocument_version: '1.0'\n---\n",
		"verifier/rubrics/verifier.md": "Count is right.\n",
	}
}

func native() files {
	return postTrain().with(files{
		"task.md":                  document(nativeFront, body),
		"verifier/test_outputs.py": "gone", "verifier/verifier.md": "gone", "verifier/rubrics/verifier.md": "gone",
	})
}

func harbor() files {
	return files{
		"task.toml":              "version = \"1.0\"\n[metadata]\nauthor_name = \"Ida Holm\"\ncategory = \"games\"\n[agent]\ntimeout_sec = 60.0\n",
		"instruction.md":         "\n\nPlay a round of chess and write the moves to /app/moves.txt.\n",
		"environment/Dockerfile": "FROM debian:12-slim\n",
		"solution/solve.sh":      "echo e4 > /app/moves.txt\n",
		"tests/test.sh":          "grep -q e4 /app/moves.txt\n",
	}
}

// codes lists the codes of errors, or of warnings, as "code" or "task: code", sorted.
func codes(list []task.Problem, severity report.Severity) []string {
	found := []string{}
	for _, p := range list {
		if p.Severity != severity {
			continue
		}
		code := p.Code
		if p.Task != "" {
			code = p.Task + ": " + code
		}
		found = append(found, code)
	}
	return slices.Sorted(slices.Values(found))
}

// readOne reads a single package, called tally, as the registry does.
func readOne(t testing.TB, pkg files) (task.Package, []task.Problem) {
	t.Helper()
	col, problems := task.ReadCollection(collection(map[string]files{"tally": pkg}).tree(t), "", task.DefaultLimits())
	if len(col.Packages) != 1 {
		t.Fatalf("%d packages; problems %+v", len(col.Packages), problems)
	}
	return col.Packages[0], problems
}
