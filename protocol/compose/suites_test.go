package compose

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/protocol"
)

func files(pairs ...string) fstest.MapFS {
	m := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return m
}

func TestReadSealedSuite(t *testing.T) {
	tests := []struct {
		name string
		dir  fstest.MapFS
		want []protocol.SealedTask
	}{
		{
			"one line a task",
			files("suite.jsonl", `{"name":"a","prompt":"Do a.","evaluated":true}`+"\n\n"+`{"name":"b","prompt":"Do b.","evaluated":false}`),
			[]protocol.SealedTask{{Name: "a", Prompt: "Do a.", Evaluated: true}, {Name: "b", Prompt: "Do b."}},
		},
		{
			"packages of both kinds",
			files(
				"one/task.md", "---\nversion: \"1.0\"\n---\n\n## prompt\n\nDo one.\n\n## Notes\nStill the prompt.\n## role:helper\nNot the prompt.\n",
				"two/instruction.md", "Do two.\n",
				"three/task.md", "---\r\nversion: \"1.0\"\r\n---\r\nNo section,\r\nso all of it.\r\n",
				".git/HEAD", "skipped", "_drafts/task.md", "skipped", "README.md", "skipped",
			),
			[]protocol.SealedTask{
				{Name: "one", Prompt: "Do one.\n\n## Notes\nStill the prompt.", Evaluated: true},
				{Name: "three", Prompt: "No section,\nso all of it.", Evaluated: true},
				{Name: "two", Prompt: "Do two.", Evaluated: true},
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ReadSealedSuite("s", tt.dir)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(protocol.SealedSuite{ID: "s", Tasks: tt.want}, got); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
		})
	}
}

// TestReadSealedSuiteErrors also makes sure that no error gives a task away.
func TestReadSealedSuiteErrors(t *testing.T) {
	const secret = "squirrel"
	line := func(name, prompt, rest string) string {
		return fmt.Sprintf(`{"name":%q,"prompt":%q%s}`, name, prompt, rest)
	}
	good := line(secret, secret, `,"evaluated":true`)
	tests := []struct {
		name string
		dir  fstest.MapFS
		want string
	}{
		{"nothing", files(), "it has no task"},
		{"an empty file", files("suite.jsonl", "\n"), "it has no task"},
		{"not JSON", files("suite.jsonl", good+"\nsquirrel\n"), "line 2: is not a JSON object"},
		{"an unknown key", files("suite.jsonl", line(secret, secret, `,"evaluated":true,"squirrel":1`)), "line 1: is not a JSON object with the keys"},
		{"two objects on a line", files("suite.jsonl", good+good), "line 1: has something after"},
		{"no name", files("suite.jsonl", line("", secret, `,"evaluated":true`)), "the name is missing"},
		{"no prompt", files("suite.jsonl", line(secret, " ", `,"evaluated":true`)), "the prompt is missing"},
		{"evaluated left open", files("suite.jsonl", line(secret, secret, "")), "evaluated is missing"},
		{"a name twice", files("suite.jsonl", good+"\n"+strings.Replace(good, "squirrel", "Squirrel", 1)), "tasks 1 and 2 have the same name"},
		{"a line without end", files("suite.jsonl", strings.Repeat("x", 2*maxPromptBytes+1)), "after line 0"},
		{"too many tasks", files("suite.jsonl", numbered(maxSuiteTasks+1)), "more than 10000 tasks"},
		{"a directory that is no package", files("squirrel/notes.txt", "squirrel"), "entry 1 of 1: is a directory without"},
		{"a package without a prompt", files("squirrel/task.md", "---\nx: 1\n---\n\n## prompt\n\n"), "its task.md has no prompt"},
		{"a prompt without end", files("squirrel/instruction.md", strings.Repeat("x", maxPromptBytes+1)), "larger than"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ReadSealedSuite("s", tt.dir)
			switch {
			case err == nil:
				t.Errorf("read %d tasks, want an error with %q", len(got.Tasks), tt.want)
			case !strings.Contains(err.Error(), tt.want):
				t.Errorf("error %q, want one with %q", err, tt.want)
			case strings.Contains(strings.ToLower(err.Error()), secret):
				t.Errorf("the error gives a task away: %v", err)
			}
		})
	}
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"name":"t%d","prompt":"p","evaluated":true}`+"\n", i)
	}
	return b.String()
}

func FuzzReadSealedSuite(f *testing.F) {
	f.Add(`{"name":"a","prompt":"b","evaluated":true}`, "---\n---\n## prompt\nx\n")
	f.Add("", "## role:x\n\n## prompt")
	f.Add("{", "---\nno end")
	f.Fuzz(func(t *testing.T, lines, taskMD string) {
		for _, dir := range []fstest.MapFS{files("suite.jsonl", lines), files("t/task.md", taskMD)} {
			s, err := ReadSealedSuite("s", dir)
			if (err == nil) != (len(s.Tasks) > 0) {
				t.Errorf("%d tasks and the error %v", len(s.Tasks), err)
			}
			for _, task := range s.Tasks {
				if task.Name == "" || strings.TrimSpace(task.Prompt) == "" {
					t.Errorf("an empty task was read: %+v", task)
				}
			}
		}
	})
}
