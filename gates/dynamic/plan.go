package dynamic

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/posttrainarena/arena/gates/report"
	"github.com/posttrainarena/arena/gates/task"
)

// Gate is one of the dynamic gates.
type Gate string

// The gates, in the order in which they are judged.
const (
	Build  Gate = "build"  // the image builds and starts; judged from the controls
	Oracle Gate = "oracle" // the reference solution scores 1, every check passing
	Noop   Gate = "noop"   // an untouched environment scores 0
	Band   Gate = "band"   // the base model solves the task sometimes
)

// SchemaVersion is the form of a plan and of results.
const SchemaVersion = 1

// BenchFlow is the commit of the harness that plans are made for: the one that the training pipeline pins. It reads
// both formats of task packages (reference/pipeline.md §0).
const BenchFlow = "2a97db55947d6742b765ad34ddd91d74c20d625f"

// DefaultReruns and DefaultAttempts are how often a control is run and a task is attempted when nobody says otherwise.
const (
	DefaultReruns   = 8
	DefaultAttempts = 4
)

// Options are what a plan can be asked for.
type Options struct {
	ControlsReruns int  `json:"controls_reruns"` // runs of each control
	BandAttempts   int  `json:"band_attempts"`   // attempts of the base model; 0 plans none
	RequireOracle  bool `json:"require_oracle"`  // leave out tasks without a working reference solution
}

// Harness is how the challenge's base model attempts a task.
type Harness struct {
	Agent            string `json:"agent"`
	Model            string `json:"model"`          // as the harness names it, such as vllm/OWNER/NAME
	ModelRevision    string `json:"model_revision"` // commit of the model that must be served
	MaxContext       int    `json:"max_context"`    // tokens of one attempt
	AgentTimeoutSecs int    `json:"agent_timeout_sec"`
}

// Target is what a plan is made for.
type Target struct {
	EnvironmentID string `json:"environment_id"` // empty for a directory that is not registered
	ChallengeID   string `json:"challenge_id"`   // likewise
	RepoType      string `json:"repo_type"`
	RepoID        string `json:"repo_id"`
	Revision      string `json:"revision"` // the commit whose files were read
	EntryPath     string `json:"entry_path"`
	GateSet       string `json:"gate_set"`
	GateVersion   string `json:"gate_version"`
	PolicyDigest  string `json:"policy_digest"`
	Sandbox       string `json:"sandbox"`
}

// Task is one eligible task as a plan needs to know it.
type Task struct {
	Name        string `json:"task"`
	ContentHash string `json:"content_hash"` // the arena's identity of the task
	Digest      string `json:"task_digest"`  // what the harness records of the package; empty when not all of it can be read
	NoopDigest  string `json:"noop_digest"`  // likewise, of the copy that does nothing
	Oracle      bool   `json:"oracle"`       // it has a reference solution that does something
	OraclePath  string `json:"oracle_path"`  // the script that the no-op's copy replaces
}

// Step is one run of one gate on one task. Each has a directory of its own, because the harness resumes a directory
// that it finds.
type Step struct {
	Gate    Gate   `json:"gate"`
	Number  int    `json:"n"`        // from 1
	JobsDir string `json:"jobs_dir"` // below the jobs root
	Command string `json:"command"`  // for a shell in the collection's directory
}

// Planned is one task with its steps.
type Planned struct {
	Task
	Prepare string `json:"prepare"` // makes the copy of the package that does nothing
	Steps   []Step `json:"steps"`
}

// Plan is everything that has to be run for one collection.
type Plan struct {
	SchemaVersion int    `json:"schema_version"`
	Digest        string `json:"plan_digest"` // "sha256:" over everything else
	Target
	Options Options   `json:"options"`
	Harness Harness   `json:"harness"`
	Install string    `json:"install"` // puts the pinned harness on a machine
	Tasks   []Planned `json:"tasks"`
}

// JobsRoot is the directory that the commands of a plan write to.
const JobsRoot = "gates"

// noopDir is where the copies of the packages that do nothing are made.
const noopDir = "gates-noop"

// NoopScript is the reference script of a copy that does nothing. The harness has no agent that does nothing
// (reference/pipeline.md §2.2), and this one takes the same way through sandbox and verifier as the reference solution.
const NoopScript = "#!/bin/bash\n# The no-op control: leaves the environment as it is.\nexit 0\n"

// Tasks lists the eligible tasks of a report with the digests that results are compared with.
func Tasks(r report.Report, pkgs []task.Package) ([]Task, error) {
	idle := map[string]bool{}
	for _, f := range r.Findings {
		if f.Severity == report.Controls {
			idle[f.Task] = true
		}
	}
	byName := map[string]*task.Package{}
	for i := range pkgs {
		byName[pkgs[i].Name] = &pkgs[i]
	}
	tasks := []Task{}
	for _, name := range r.Eligible() {
		p := byName[name]
		if p == nil {
			return nil, fmt.Errorf("plan the gates: the report names the task %q, but its package is not among the files", name)
		}
		t := Task{Name: name, ContentHash: r.TaskIdentity[name].ContentHash, OraclePath: p.OraclePath, Oracle: p.OraclePath != "" && !idle[name]}
		if t.OraclePath == "" {
			t.OraclePath = "oracle/solve.sh"
		}
		var err error
		if t.Digest, err = p.HarnessDigest(nil); err == nil {
			t.NoopDigest, err = p.HarnessDigest(map[string]string{t.OraclePath: NoopScript})
		}
		if err != nil {
			return nil, fmt.Errorf("plan the gates: %w", err)
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// New makes a plan. The tasks may come in any order.
func New(target Target, options Options, harness Harness, tasks []Task) Plan {
	p := Plan{
		SchemaVersion: SchemaVersion, Target: target, Options: options, Harness: harness,
		Install: "uv tool install 'benchflow[sandbox-daytona] @ git+https://github.com/benchflow-ai/benchflow.git@" + BenchFlow + "'",
		Tasks:   []Planned{},
	}
	for _, t := range slices.SortedFunc(slices.Values(tasks), func(a, b Task) int { return strings.Compare(a.Name, b.Name) }) {
		p.Tasks = append(p.Tasks, p.planned(t))
	}
	p.Digest = p.digest()
	return p
}

// digest is the plan's hash over everything but itself.
func (p Plan) digest() string {
	p.Digest = ""
	raw, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings, numbers and booleans always encode
	}
	sum := sha256.Sum256(raw)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Intact reports whether the plan is what its digest says.
func (p Plan) Intact() bool { return p.SchemaVersion == SchemaVersion && p.Digest == p.digest() }

// ControlsOnly is the plan without the attempts of the base model: what a machine without the model can run and judge.
// It has a digest of its own.
func (p Plan) ControlsOnly() Plan {
	tasks := make([]Task, len(p.Tasks))
	for i, t := range p.Tasks {
		tasks[i] = t.Task
	}
	p.Options.BandAttempts = 0
	return New(p.Target, p.Options, p.Harness, tasks)
}

// Steps is the number of steps of all tasks.
func (p Plan) Steps() int {
	n := 0
	for _, t := range p.Tasks {
		n += len(t.Steps)
	}
	return n
}

func (p Plan) planned(t Task) Planned {
	out := Planned{Task: t, Steps: []Step{}}
	envs := path.Join(p.EntryPath, "envs")
	script := path.Join(noopDir, t.Name, t.OraclePath)
	out.Prepare = fmt.Sprintf("mkdir -p %[1]s && cp -R %[2]s %[1]s/ && mkdir -p %[3]s && printf '%%s\\n' '#!/bin/bash' '# The no-op control: leaves the environment as it is.' 'exit 0' > %[4]s",
		noopDir, word(path.Join(envs, t.Name)), word(path.Dir(script)), word(script))
	add := func(gate Gate, times int, format string, words func(jobs string) []string) {
		for n := 1; n <= times; n++ {
			dir := path.Join(string(gate), t.Name, fmt.Sprintf(format, n))
			out.Steps = append(out.Steps, Step{Gate: gate, Number: n, JobsDir: dir, Command: shell(words(path.Join(JobsRoot, dir)))})
		}
	}
	control := func(tasks string) func(string) []string {
		return func(jobs string) []string {
			return append(p.common(tasks, t.Name, "oracle", jobs), "--usage-tracking", "off")
		}
	}
	if t.Oracle {
		add(Oracle, p.Options.ControlsReruns, "rerun-%02d", control(envs))
	}
	add(Noop, p.Options.ControlsReruns, "rerun-%02d", control(noopDir))
	add(Band, p.Options.BandAttempts, "attempt-%d", func(jobs string) []string {
		return append(p.common(envs, t.Name, p.Harness.Agent, jobs), "--model", p.Harness.Model, "--usage-tracking", "required")
	})
	return out
}

// common is the part that every command has. One task, one attempt: a retry would hide the flakiness that reruns are to
// show.
func (p Plan) common(tasks, name, agent, jobs string) []string {
	return []string{
		"bench", "eval", "run", "--tasks-dir", tasks, "--include", name, "--agent", agent, "--sandbox", p.Sandbox,
		"--concurrency", "1", "--jobs-dir", jobs, "--expected-tasks", "1", "--retry-attempts", "0",
	}
}

func shell(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = word(w)
	}
	return strings.Join(quoted, " ")
}

// word is a word as a shell needs it.
func word(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@%+,", r))
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
