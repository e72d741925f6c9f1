package artifacts

import (
	"errors"
	"io/fs"
	"path"
	"strings"
)

// maxTrialError is how much of an error is kept of a trial, in bytes: a plan has thousands of them.
const maxTrialError = 300

// maxTrials bounds the trials that are read of one job.
const maxTrials = 200

// Trial is one trial of a job that evaluated tasks, as the harness recorded it.
// Unlike an Attempt it keeps apart what the sandbox, the agent and the verifier
// had to say, because gates judge them differently.
type Trial struct {
	Task             string
	Reward           *float64 // as recorded, also one that is not from 0 to 1
	RewardProblem    string   // why a reward that was written does not count
	Checks           Checks   // without the single tests
	Started          bool     // the sandbox was up
	TimedOut         bool     // the agent ran into its time limit
	Error            string
	Category         string // the harness's word for the error
	VerifierError    string
	VerifierCategory string
	Agent            string
	Model            string
	TaskDigest       string
	Finished         string // the harness's clock; orders trials of one directory
}

// Trials reads the trials in a jobs directory, dir/STAMP/TASK__ID, and what was
// wrong with their files. A missing directory has none.
func Trials(fsys fs.FS, dir string) ([]Trial, []Problem) {
	w := walk{fsys: fsys}
	var trials []Trial
	for _, stamp := range w.list(dir, "") {
		for _, name := range w.list(path.Join(dir, stamp), "") {
			task, _, ok := splitTrial(name)
			if !ok {
				continue
			}
			if len(trials) == maxTrials {
				w.problem(dir, "The directory has more than %d trials; the others were not read.", maxTrials)
				return trials, w.problems
			}
			where := path.Join(dir, stamp, name)
			trials = append(trials, w.trial(where, stamp, Trial{Task: task}))
		}
	}
	return trials, w.problems
}

// trial reads the files of one trial.
func (w *walk) trial(dir, stamp string, t Trial) Trial {
	t.Finished = stamp
	data, err := read(w.fsys, path.Join(dir, "result.json"), maxJSON)
	var result object
	if err == nil {
		result, err = decode(data)
	}
	if err != nil {
		t.Error = "The trial left no readable result."
		if !errors.Is(err, fs.ErrNotExist) {
			w.problem(dir, "result.json cannot be used, so the trial counts as lost: %v.", err)
		}
		return t
	}
	if name := result.text("task_name", 200); name != "" && name != t.Task {
		w.problem(dir, "result.json is about the task %q, so the trial counts as lost.", cut(name, 80))
		t.Error = "The trial's result is about another task than its directory."
		return t
	}
	t.Reward, t.RewardProblem = reward(w.fsys, dir, result)
	if n := result.object("rewards").number("reward"); t.Reward == nil && n != nil && (*n < 0 || *n > 1) {
		t.Reward, t.RewardProblem = n, "" // how far out it is matters to a gate
	}
	t.RewardProblem = cut(t.RewardProblem, maxTrialError)
	phases := timing(w.fsys, dir, result)
	t.Started = phases.EnvironmentSetup != nil && !result.has("sandbox_startup_info")
	t.Error, t.Category = result.text("error", maxTrialError), result.text("error_category", 60)
	t.VerifierError, t.VerifierCategory = result.text("verifier_error", maxTrialError), result.text("verifier_error_category", 60)
	events, bad := transcript(w.fsys, dir)
	if bad != "" {
		w.problem(dir, "%s", bad)
	}
	ended := len(events) > 0 && events[len(events)-1].Type == "agent_timeout"
	t.TimedOut = ended || result.has("agent_timeout_info") || strings.HasPrefix(t.Error, timeLimit)
	t.Agent, t.Model, t.TaskDigest = result.text("agent", 100), result.text("model", 200), result.text("task_digest", 100)
	t.Finished = stamp + " " + result.text("finished_at", 40)
	stdout, _, err := tail(w.fsys, path.Join(dir, "verifier/test-stdout.txt"), maxStdout)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.problem(dir, "The verifier's output cannot be read: %v.", err)
	}
	if t.Checks, bad = readChecks(w.fsys, dir, stdout); bad != "" {
		w.problem(dir, "%s", bad)
	}
	t.Checks.Tests = nil
	return t
}
