package check

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

//go:embed probes.toml
var seedProbes []byte

// Probes says what is probed in each task, by its id.
type Probes map[string]Task

// Task is what is probed in one task.
type Task struct {
	// Module is an editable production file; broken, it must earn nothing
	// (terminal_bench).
	Module string `toml:"module"`
	// Tamper is a file that the agent must not add; /app/sitecustomize.py when
	// empty (terminal_bench).
	Tamper string `toml:"tamper"`
	// Probe lists further episodes of the task's own, each on a fresh reset.
	Probe []Probe `toml:"probe"`
}

// Probe is one episode: a command, and what must come of it.
type Probe struct {
	Label    string   `toml:"label"`
	Command  string   `toml:"command"`
	ExitCode int      `toml:"exit_code"` // of the command
	Reward   *float64 `toml:"reward"`    // of finishing after it; absent: the episode is not finished
}

// SeedProbes are those of the three public tasks that the seed knows.
func SeedProbes() (Probes, error) { return ParseProbes(seedProbes) }

// ParseProbes reads a probe file:
//
//	[tasks."task-id"]
//	module = "/app/src/module.py"
//	tamper = "/app/sitecustomize.py"
//
//	[[tasks."task-id".probe]]
//	label = "empty_output_is_zero"
//	command = "true > /app/out.txt"
//	reward = 0
func ParseProbes(data []byte) (Probes, error) {
	var file struct {
		Tasks Probes `toml:"tasks"`
	}
	d := toml.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		if strict, ok := errors.AsType[*toml.StrictMissingError](err); ok {
			row, _ := strict.Errors[0].Position()
			return nil, fmt.Errorf("probes: line %d: there is no key %s here; a task has module, tamper and probe, a probe label, command, exit_code and reward",
				row, strings.Join(strict.Errors[0].Key(), "."))
		}
		if wrong, ok := errors.AsType[*toml.DecodeError](err); ok {
			row, _ := wrong.Position()
			return nil, fmt.Errorf("probes: line %d: %w", row, err)
		}
		return nil, fmt.Errorf("probes: %w", err)
	}
	for id, t := range file.Tasks {
		for name, value := range map[string]string{"module": t.Module, "tamper": t.Tamper} {
			if value != "" && !path.IsAbs(value) {
				return nil, fmt.Errorf("probes: task %q: %s is %q; it is an absolute path in the container", id, name, value)
			}
		}
		for i, p := range t.Probe {
			if p.Label == "" || p.Command == "" {
				return nil, fmt.Errorf("probes: task %q: probe %d needs a label and a command", id, i+1)
			}
		}
	}
	return file.Tasks, nil
}
