package artifacts

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/posttrainarena/arena/protocol"
)

// MaxAttempts is the number of attempts that are read of one run.
const MaxAttempts = 10_000

// Ending is how an attempt came to its end.
type Ending string

// The endings of an attempt (PROTOCOL §10).
const (
	Finished      Ending = "finished"            // the agent said that it was done
	TimedOut      Ending = "timed out"           // it ran into its time limit
	Errored       Ending = "errored"             // the harness, the sandbox or the verifier failed
	CutOff        Ending = "cut off"             // the reply ends inside a tool call: the context was full
	MalformedCall Ending = "malformed tool call" // the last reply holds a tool call that could not be read
)

// Attempt is one attempt at a training task.
type Attempt struct {
	Number  int              `json:"number"` // its place in the list of Attempts, from 1
	Stage   protocol.Stage   `json:"stage"`  // gate or training
	Task    string           `json:"task"`   // empty when nothing says which
	Rollout *Rollout         `json:"rollout"`
	Outcome protocol.Outcome `json:"outcome"`
	Reward  *float64         `json:"reward"` // as recorded; nil when there is none or none that counts
	// RewardProblem says why a reward that was written does not count.
	RewardProblem string   `json:"reward_problem,omitempty"`
	Ending        Ending   `json:"ending"`
	Timing        Timing   `json:"timing"`
	InputTokens   *int64   `json:"input_tokens"`
	OutputTokens  *int64   `json:"output_tokens"`
	Tools         *int64   `json:"tools"` // tool calls
	Error         string   `json:"error,omitempty"`
	Retried       string   `json:"retried,omitempty"` // why the trainer tried this rollout again
	Path          string   `json:"path"`              // its directory in the tree
	finished      string   // the harness's local time; orders attempts of one job
	problems      []string // what was wrong with its files
}

// Rollout is an attempt's place in training. Gate attempts have none.
type Rollout struct {
	Step    int `json:"step"`
	Rank    int `json:"rank"`
	Index   int `json:"index"`   // of the rollout in the step
	Attempt int `json:"attempt"` // counted from 1
}

// Timing is how long the phases of an attempt took, in seconds. Phases that were
// not reached are nil.
type Timing struct {
	EnvironmentSetup *float64 `json:"environment_setup"`
	AgentSetup       *float64 `json:"agent_setup"`
	AgentExecution   *float64 `json:"agent_execution"`
	Verifier         *float64 `json:"verifier"`
	Total            *float64 `json:"total"`
}

// Where the attempts that participants may see are.
const (
	gateDir  = "jobs/grpo-gate"
	trainDir = "jobs/grpo-train"
)

// NotKept is the name of the file that says why the directory in which it is was
// not kept.
const NotKept = "not-kept.txt"

// Attempts lists a run's gate and training attempts, gate first, in the order of
// their places in the tree, and what was wrong with them.
func Attempts(fsys fs.FS) ([]Attempt, []Problem) {
	w := walk{fsys: fsys}
	for _, dir := range [...]string{gateDir, trainDir} {
		if why, err := read(fsys, path.Join(dir, NotKept), maxError); err == nil {
			w.problem(dir, "%s", strings.TrimSpace(cut(string(why), maxError)))
		}
	}
	w.trials(gateDir, Attempt{Stage: protocol.StageGate})
	for _, step := range w.list(trainDir, "step-") {
		for _, rank := range w.list(path.Join(trainDir, step), "rank-") {
			for _, rollout := range w.list(path.Join(trainDir, step, rank), "rollout-") {
				w.rollout(path.Join(trainDir, step, rank, rollout), Rollout{
					Step: ordinal(step), Rank: ordinal(rank), Index: ordinal(rollout),
				})
			}
		}
	}
	for i := range w.attempts {
		w.attempts[i].Number = i + 1
	}
	return w.attempts, w.problems
}

// walk collects attempts from a tree.
type walk struct {
	fsys     fs.FS
	attempts []Attempt
	problems []Problem
}

func (w *walk) problem(where, format string, args ...any) {
	w.problems = append(w.problems, Problem{where, fmt.Sprintf(format, args...)})
}

// list returns the directories in dir whose names start with prefix.
func (w *walk) list(dir, prefix string) []string {
	names, more, err := directories(w.fsys, dir)
	if err != nil {
		w.problem(dir, "The directory cannot be read: %v.", err)
	}
	if more {
		w.problem(dir, "The directory has more than %d entries; the others were not read.", maxEntries)
	}
	kept := names[:0]
	for _, n := range names {
		if strings.HasPrefix(n, prefix) {
			kept = append(kept, n)
		}
	}
	return kept
}

// trials reads dir/STAMP/TRIAL and adds an attempt like the given one for each.
// It returns the new attempts.
func (w *walk) trials(dir string, like Attempt) []Attempt {
	from := len(w.attempts)
	for _, stamp := range w.list(dir, "") {
		for _, trial := range w.list(path.Join(dir, stamp), "") {
			if _, _, ok := splitTrial(trial); !ok {
				continue
			}
			if len(w.attempts) == MaxAttempts {
				w.problem(dir, "The run has more than %d attempts; the others were not read.", MaxAttempts)
				return w.attempts[from:]
			}
			a := readAttempt(w.fsys, path.Join(dir, stamp, trial), like)
			for _, p := range a.problems {
				w.problem(a.Path, "%s", p)
			}
			w.attempts = append(w.attempts, a)
		}
	}
	return w.attempts[from:]
}

// rollout reads the attempts at one rollout. All are at the same task, which
// names those that left no attempt directory.
func (w *walk) rollout(dir string, at Rollout) {
	from, task := len(w.attempts), ""
	for _, name := range w.list(dir, "attempt-") {
		where := at
		where.Attempt = ordinal(name)
		like := Attempt{Stage: protocol.StageTraining, Rollout: &where}
		like.Retried = w.retried(path.Join(dir, name))
		added := w.trials(path.Join(dir, name, "jobs"), like)
		if len(added) == 0 && len(w.attempts) < MaxAttempts {
			like.Outcome, like.Ending, like.Path = protocol.OutcomeError, Errored, path.Join(dir, name)
			like.Error = "The attempt left no files."
			if like.Retried != "" {
				like.Error = like.Retried
			}
			w.attempts = append(w.attempts, like)
		}
		for _, a := range added {
			task = a.Task
		}
	}
	for i := range w.attempts[from:] {
		if a := &w.attempts[from+i]; a.Task == "" {
			a.Task = task
		}
	}
}

// retried reads why an attempt at a rollout was tried again; empty when it was not.
func (w *walk) retried(dir string) string {
	data, err := read(w.fsys, path.Join(dir, "rollout_error.json"), maxJSON)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	var o object
	if err == nil {
		o, err = decode(data)
	}
	if err != nil {
		w.problem(path.Join(dir, "rollout_error.json"), "Why the rollout was tried again cannot be read: %v.", err)
		return "unknown"
	}
	return cut(strings.TrimPrefix(o.text("error_type", 200)+": "+o.text("error", maxError), ": "), maxError)
}

// splitTrial splits the name of an attempt's directory, TASK__ID, at its last
// double underscore: task names may hold some themselves.
func splitTrial(dir string) (task, id string, ok bool) {
	i := strings.LastIndex(dir, "__")
	if i <= 0 || i+2 == len(dir) {
		return "", "", false
	}
	return dir[:i], dir[i+2:], true
}

// ordinal returns the number that a directory name such as rollout-000005 ends in.
func ordinal(dir string) int {
	n, err := strconv.Atoi(dir[strings.LastIndexByte(dir, '-')+1:])
	if err != nil || n < 0 {
		return 0
	}
	return n
}
