package compose

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/posttrainarena/arena/protocol"
)

// Bounds of what is read of one sealed suite.
const (
	maxSuiteTasks  = 10_000
	maxPromptBytes = 1 << 20
)

// SuiteFile is the file that holds a whole suite, one task a line.
const SuiteFile = "suite.jsonl"

// HoldsPrompt reports whether [ReadSealedSuite] may open a file of a directory
// without a [SuiteFile], by its path in it.
func HoldsPrompt(name string) bool {
	task, file, _ := strings.Cut(name, "/")
	return isPackage(task) && slices.Contains(promptFiles(), file)
}

// promptFiles are the files that may hold a package's prompt, in their order.
func promptFiles() []string { return []string{"task.md", "instruction.md"} }

// isPackage reports whether a folder of that name is a task package.
func isPackage(name string) bool {
	return name != "" && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "_")
}

// ReadSealedSuite reads the tasks of a sealed suite from a directory, in one of
// two forms. Either suite.jsonl lists them, one JSON object a line with name,
// prompt and evaluated; or every directory is a task package, whose prompt is in
// task.md or instruction.md, and all of them are evaluated.
//
// Errors name lines and counts, never a task: what they say may end in a log.
func ReadSealedSuite(id string, fsys fs.FS) (protocol.SealedSuite, error) {
	suite := protocol.SealedSuite{ID: id}
	f, err := fsys.Open(SuiteFile)
	switch {
	case err == nil:
		defer f.Close()
		suite.Tasks, err = readSuiteFile(f)
	case errors.Is(err, fs.ErrNotExist):
		suite.Tasks, err = readPackages(fsys)
	}
	if err == nil {
		err = distinct(suite.Tasks)
	}
	if err != nil {
		return protocol.SealedSuite{}, fmt.Errorf("read the sealed suite %s: %w", id, err)
	}
	return suite, nil
}

func readSuiteFile(r io.Reader) ([]protocol.SealedTask, error) {
	var tasks []protocol.SealedTask
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), 2*maxPromptBytes)
	n := 0
	for lines.Scan() {
		n++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		task, err := readSuiteLine(lines.Bytes())
		if err != nil {
			return nil, fmt.Errorf("%s line %d: %w", SuiteFile, n, err)
		}
		if tasks = append(tasks, task); len(tasks) > maxSuiteTasks {
			return nil, fmt.Errorf("%s has more than %d tasks", SuiteFile, maxSuiteTasks)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s after line %d: %w", SuiteFile, n, err)
	}
	return tasks, nil
}

func readSuiteLine(line []byte) (protocol.SealedTask, error) {
	var t struct {
		Name      string `json:"name"`
		Prompt    string `json:"prompt"`
		Evaluated *bool  `json:"evaluated"`
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil {
		// The decoder's own words could quote the task.
		return protocol.SealedTask{}, errors.New("is not a JSON object with the keys name, prompt and evaluated")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return protocol.SealedTask{}, errors.New("has something after its JSON object")
	}
	switch {
	case t.Name == "":
		return protocol.SealedTask{}, errors.New("the name is missing")
	case strings.TrimSpace(t.Prompt) == "":
		return protocol.SealedTask{}, errors.New("the prompt is missing")
	case t.Evaluated == nil:
		return protocol.SealedTask{}, errors.New("evaluated is missing; it says whether runs are measured on the task")
	}
	return protocol.SealedTask{Name: t.Name, Prompt: t.Prompt, Evaluated: *t.Evaluated}, nil
}

// readPackages reads a directory of task packages. Entries whose name starts
// with a dot or an underscore are passed over.
func readPackages(fsys fs.FS) ([]protocol.SealedTask, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, err
	}
	var tasks []protocol.SealedTask
	for i, e := range entries {
		if !e.IsDir() || !isPackage(e.Name()) {
			continue
		}
		if len(tasks) == maxSuiteTasks {
			return nil, fmt.Errorf("the directory has more than %d tasks", maxSuiteTasks)
		}
		prompt, err := readPrompt(fsys, e.Name())
		if err != nil {
			return nil, fmt.Errorf("entry %d of %d: %w", i+1, len(entries), err)
		}
		tasks = append(tasks, protocol.SealedTask{Name: e.Name(), Prompt: prompt, Evaluated: true})
	}
	return tasks, nil
}

// readPrompt returns the prompt of one task package.
func readPrompt(fsys fs.FS, task string) (string, error) {
	for _, name := range promptFiles() {
		f, err := fsys.Open(task + "/" + name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("its %s cannot be opened", name)
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, maxPromptBytes+1))
		if err != nil {
			return "", fmt.Errorf("its %s cannot be read", name)
		}
		if len(text) > maxPromptBytes {
			return "", fmt.Errorf("its %s is larger than %d bytes", name, maxPromptBytes)
		}
		prompt := string(text)
		if name == "task.md" {
			prompt = promptSection(prompt)
		}
		if prompt = strings.TrimSpace(prompt); prompt == "" {
			return "", fmt.Errorf("its %s has no prompt", name)
		}
		return prompt, nil
	}
	return "", errors.New("is a directory without task.md or instruction.md")
}

// promptSection returns the prompt of a task.md: the section "## prompt" up to
// the next reserved heading, or the whole body when there is no such section
// (reference/pipeline.md §1.4).
func promptSection(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	if strings.TrimSpace(lines[0]) == "---" {
		for i, line := range lines[1:] {
			if strings.TrimSpace(line) == "---" {
				lines = lines[i+2:]
				break
			}
		}
	}
	from, to := 0, len(lines)
	for i, line := range lines {
		heading, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(line)), "## ")
		switch heading = strings.TrimSpace(heading); {
		case !ok:
		case heading == "prompt" && from == 0:
			from, to = i+1, len(lines)
		case reservedHeading(heading) && to == len(lines):
			to = i
		}
	}
	return strings.Join(lines[from:to], "\n")
}

func reservedHeading(h string) bool {
	return strings.HasPrefix(h, "role:") || strings.HasPrefix(h, "scene:") || h == "user-persona"
}

// distinct reports two tasks of one name, by place and not by name.
func distinct(tasks []protocol.SealedTask) error {
	if len(tasks) == 0 {
		return errors.New("it has no task")
	}
	first := make(map[string]int, len(tasks))
	for i, t := range tasks {
		name := strings.ToLower(t.Name)
		if j, ok := first[name]; ok {
			return fmt.Errorf("tasks %d and %d have the same name", j+1, i+1)
		}
		first[name] = i
	}
	return nil
}
