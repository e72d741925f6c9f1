package controls

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/posttrainarena/arena/gates/dynamic"
)

// maxResult bounds a result.json that is read back.
const maxResult = 1 << 20

// result is what the harness's result.json says (reference/pipeline.md §3.2), as far as controls fill it.
type result struct {
	TaskName      string             `json:"task_name"`
	RolloutName   string             `json:"rollout_name"`
	Rewards       map[string]float64 `json:"rewards"`
	Agent         string             `json:"agent"`
	Model         *string            `json:"model"`
	ToolCalls     int                `json:"n_tool_calls"`
	Error         *string            `json:"error"`
	Category      *string            `json:"error_category"`
	VerifierError *string            `json:"verifier_error"`
	VerifierKind  *string            `json:"verifier_error_category"`
	AgentTimeout  *limitInfo         `json:"agent_timeout_info"`
	VerifyTimeout *limitInfo         `json:"verifier_timeout_info"`
	Startup       *startupInfo       `json:"sandbox_startup_info"`
	StartedAt     string             `json:"started_at"`
	FinishedAt    string             `json:"finished_at"`
	Timing        map[string]float64 `json:"timing"`
	TaskDigest    string             `json:"task_digest"`
	Harness       string             `json:"harness"` // that it was the arena and not BenchFlow
}

type limitInfo struct {
	Seconds float64 `json:"timeout_sec"`
}

type startupInfo struct {
	Message string `json:"message"`
	Log     string `json:"log"`
}

// runner names this package in what it writes.
const runner = "arena gates run"

// stamped is the layout of the directory of one job, in the harness's form.
const stamped = "2006-01-02__15-04-05"

// partial begins the names of directories of trials that have not ended.
const partial = ".partial-"

// finished looks in a directory for a trial of a task that need not be repeated: one of the same agent on the same files
// that neither the engine nor this machine spoiled.
func finished(jobs *os.Root, task, dir, digest, agent string) (result, bool, error) {
	stamps, err := fs.ReadDir(jobs.FS(), dir)
	if errors.Is(err, fs.ErrNotExist) {
		return result{}, false, nil
	}
	if err != nil {
		return result{}, false, fmt.Errorf("read the journal in %s: %w", dir, err)
	}
	for _, stamp := range stamps {
		trials, err := fs.ReadDir(jobs.FS(), path.Join(dir, stamp.Name()))
		if err != nil {
			continue // a file; not ours
		}
		for _, trial := range trials {
			if strings.HasPrefix(trial.Name(), partial) {
				// A killed run was writing it.
				_ = jobs.RemoveAll(path.Join(dir, stamp.Name(), trial.Name()))
			}
			if !strings.HasPrefix(trial.Name(), task+"__") {
				continue
			}
			if r, ok := readResult(jobs, path.Join(dir, stamp.Name(), trial.Name(), "result.json")); ok && r.counts(digest, agent) {
				return r, true, nil
			}
		}
	}
	return result{}, false, nil
}

func readResult(jobs *os.Root, name string) (r result, ok bool) {
	info, err := jobs.Stat(name)
	if err != nil || info.Size() > maxResult {
		return r, false
	}
	raw, err := jobs.ReadFile(name)
	return r, err == nil && json.Unmarshal(raw, &r) == nil
}

// counts reports whether a result is of these files and this agent, and says something about the task.
func (r result) counts(digest, agent string) bool {
	lost := r.Error != nil && r.AgentTimeout == nil && !strings.HasPrefix(*r.Error, dynamic.BuildFailed)
	return r.Agent == agent && r.TaskDigest == digest && !lost
}

// scored reports whether there is a reward above 0.
func (r result) scored() bool { return r.Rewards != nil && r.Rewards["reward"] > 0 }

// digestOf is the digest that the harness would record of a step's package.
func digestOf(t dynamic.Planned, s dynamic.Step) string {
	if s.Gate == dynamic.Noop {
		return t.NoopDigest
	}
	return t.Digest
}

// record is a trial's directory before it is in place.
type record struct {
	result result
	files  map[string][]byte // by slash path below the trial's directory
}

// keep writes a trial whole: into a directory of another name first, which is then renamed.
func (r record) keep(jobs *os.Root, stepDir, stamp, name string) error {
	into := path.Join(stepDir, stamp)
	hidden := path.Join(into, partial+name)
	fail := func(err error) error { return fmt.Errorf("write the trial %s: %w", path.Join(into, name), err) }
	if err := jobs.RemoveAll(hidden); err != nil {
		return fail(err)
	}
	r.result.RolloutName = name
	raw, err := json.MarshalIndent(r.result, "", "  ")
	if err != nil {
		return fail(err)
	}
	files := map[string][]byte{"result.json": raw}
	if files["timing.json"], err = json.Marshal(r.result.Timing); err != nil {
		return fail(err)
	}
	for name, content := range r.files {
		files[name] = content
	}
	for name, content := range files {
		at := path.Join(hidden, name)
		if err := jobs.MkdirAll(filepath.FromSlash(path.Dir(at)), 0o755); err != nil {
			return fail(err)
		}
		if err := jobs.WriteFile(filepath.FromSlash(at), content, 0o644); err != nil {
			return fail(err)
		}
	}
	if err := jobs.Rename(hidden, path.Join(into, name)); err != nil {
		return fail(err)
	}
	return nil
}
