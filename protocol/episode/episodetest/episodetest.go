// Package episodetest builds images for episodes out of what this machine has: a
// static busybox, its git, and a binary that serves. There are two tasks of a few
// lines, one for each type of dataset, and a test may spoil them.
package episodetest

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol/engine"
	"github.com/posttrainarena/arena/protocol/engine/enginetest"
	"github.com/posttrainarena/arena/protocol/episode"
)

// Task is one task, as its image holds it.
type Task struct {
	Instance episode.Instance
	Test     string            // /tests/test.sh while grading
	Files    map[string]string // in the workdir
	Module   string            // what the syntax probe breaks
	Solution string            // for "python3 -", which is a shell here
	Build    []string          // further lines of the Dockerfile, run in the workdir
	Env      map[string]string // of the image
	Start    []string          // entry point; the server's when nil
}

// OpenSource is a git repository whose one script counts wrong. Its history has a
// future: the solution, on another branch and in the reflog.
func OpenSource() Task {
	return Task{
		Instance: episode.Instance{
			TaskID: "fixture-count-lines", DatasetType: episode.OpenSourceCode, Workdir: "/app",
			Instruction: "count.sh prints how many lines its input has; it is one off. Repair it.", Verifier: []string{"sh", "/tests/test.sh"},
		},
		Files:    map[string]string{"count.sh": "n=$(wc -l)\necho $((n + 1))\n", "README": "Counts lines.\n"},
		Test:     "test \"$(printf 'a\\nb\\n' | sh /app/count.sh)\" = 2\n",
		Solution: "cat > count.sh <<'E'\nwc -l\nE\n",
		Build: []string{
			"git init -q . && git config user.name Fixture && git config user.email fixture@example.org && git add . && git commit -qm 'Count lines'",
			"git tag v1 && git checkout -qb repair && echo 'wc -l' > count.sh && git commit -qam 'Count right' && git checkout -q -",
		},
	}
}

// Terminal is a machine on which one script greets wrong.
func Terminal() Task {
	return Task{
		Instance: episode.Instance{
			TaskID: "fixture-greeting", DatasetType: episode.TerminalBench, Workdir: "/app",
			Instruction: "src/greet.sh NAME should print: Hello, NAME!", Verifier: []string{"sh", "/tests/test.sh"},
		},
		Files:    map[string]string{"src/greet.sh": "echo \"Goodbye, $1!\"\n", "src/kept.txt": "kept\n"},
		Module:   "/app/src/greet.sh",
		Test:     "r=0\nif [ \"$(sh /app/src/greet.sh you)\" = 'Hello, you!' ]; then r=1; fi\necho $r > /logs/verifier/reward.txt\n",
		Solution: "echo 'echo \"Hello, $1!\"' > /app/src/greet.sh\n",
	}
}

// Base builds the image that all tasks stand on: busybox, git with its libraries,
// a python3 that is a shell, and binary as the server, which must be static. It
// skips the test where one of them cannot be had.
func Base(t testing.TB, e *engine.Engine, binary string) string {
	t.Helper()
	enginetest.Static(t, binary, "the image's server is a static binary, built without cgo and so without the race detector")
	server, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	files := []engine.File{
		{Name: "root/opt/arena/", Mode: 0o700},
		{Name: "root/opt/arena/arena", Data: server, Mode: 0o755},
		{Name: "root/bin/python3", Data: []byte("#!/bin/sh\nexec /bin/sh -s\n"), Mode: 0o755},
	}
	files = append(files, git(t)...)
	from := "FROM " + enginetest.Busybox(t, e) + "\nCOPY root/ /\nWORKDIR /app\nEXPOSE 8000\n"
	return build(t, e, append(files, engine.File{Name: "Dockerfile", Data: []byte(from)}))
}

// git is this machine's git and the libraries that it names.
func git(t testing.TB) []engine.File {
	t.Helper()
	path, err := exec.LookPath("git")
	if err != nil {
		t.Skipf("the fixture's repository needs a git to copy into the image (Debian: apt-get install git): %v", err)
	}
	out, err := exec.Command("ldd", path).Output()
	if err != nil {
		t.Skipf("the libraries of %s cannot be listed: %v", path, err)
	}
	names := map[string]string{"usr/bin/git": path}
	for _, word := range strings.Fields(string(out)) {
		if strings.HasPrefix(word, "/") {
			names[word[1:]] = word
		}
	}
	var files []engine.File
	for name, from := range names {
		data, err := os.ReadFile(from)
		if err != nil {
			t.Skipf("git's library: %v", err)
		}
		files = append(files, engine.File{Name: "root/" + name, Data: data, Mode: 0o755})
	}
	return files
}

func build(t testing.TB, e *engine.Engine, files []engine.File) string {
	t.Helper()
	context, err := engine.Tar(files...)
	if err != nil {
		t.Fatal(err)
	}
	id, err := e.Build(t.Context(), engine.BuildSpec{Context: context, Labels: enginetest.Labels(t), NoNetwork: true, Timeout: 2 * time.Minute})
	if failed, ok := err.(*engine.BuildError); ok {
		t.Fatalf("%v\n%s", err, failed.Log)
	}
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// Image builds a task's image on top of a base.
func (task Task) Image(t testing.TB, e *engine.Engine, base string) string {
	t.Helper()
	instance, err := json.Marshal(task.Instance)
	if err != nil {
		t.Fatal(err)
	}
	files := []engine.File{
		{Name: "arena/instance.json", Data: instance},
		{Name: "arena/server.py", Data: []byte("# The seed looks for a server of this name.\n")},
		{Name: "arena/tests/test.sh", Data: []byte(task.Test)},
	}
	for name, text := range task.Files {
		files = append(files, engine.File{Name: "app/" + name, Data: []byte(text)})
	}
	var d strings.Builder
	d.WriteString("FROM " + base + "\nCOPY arena/ /opt/arena/\nCOPY app/ /app/\n")
	for _, line := range task.Build {
		d.WriteString("RUN " + line + "\n")
	}
	for name, value := range maps.All(task.Env) {
		d.WriteString("ENV " + name + "=" + value + "\n")
	}
	start := task.Start
	if start == nil {
		start = []string{"/opt/arena/arena", "episode", "serve"}
	}
	entry, err := json.Marshal(start)
	if err != nil {
		t.Fatal(err)
	}
	d.WriteString("ENTRYPOINT " + string(entry) + "\n")
	return build(t, e, append(files, engine.File{Name: "Dockerfile", Data: []byte(d.String())}))
}
