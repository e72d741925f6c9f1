package dynamic

import (
	"cmp"
	"fmt"
	"slices"
)

// Trial is what one run of a step left behind, as it was recorded. What it means is decided by Judge alone.
type Trial struct {
	Task   string `json:"task"`
	Gate   Gate   `json:"gate"`
	Number int    `json:"n"` // of its step

	Reward          *float64 `json:"reward"` // nil when none was recorded
	RewardProblem   string   `json:"reward_problem,omitempty"`
	Checks          Checks   `json:"checks"`
	Started         bool     `json:"started"`             // the sandbox was up
	TimedOut        bool     `json:"timed_out,omitempty"` // the agent ran into its time limit
	Error           string   `json:"error,omitempty"`     // what stopped the attempt
	Category        string   `json:"category,omitempty"`  // the harness's word for it
	VerifierError   string   `json:"verifier_error,omitempty"`
	VerifierProblem string   `json:"verifier_category,omitempty"`
	Agent           string   `json:"agent,omitempty"`
	Model           string   `json:"model,omitempty"`
	TaskDigest      string   `json:"task_digest,omitempty"`
	Finished        string   `json:"finished,omitempty"` // the harness's clock; orders trials of one step
}

// Checks counts what a verifier checked in one trial.
type Checks struct {
	Source  string `json:"source"` // ctrf, pytest, or empty when there is no report of single checks
	Passed  int    `json:"passed"`
	Failed  int    `json:"failed"`
	Skipped int    `json:"skipped"`
}

// Results are the trials of a plan: what is attached to a collection.
type Results struct {
	SchemaVersion int     `json:"schema_version"`
	PlanDigest    string  `json:"plan_digest"`
	Revision      string  `json:"revision"`
	GateSet       string  `json:"gate_set"`
	GateVersion   string  `json:"gate_version"`
	PolicyDigest  string  `json:"policy_digest"`
	Options       Options `json:"options"`
	Trials        []Trial `json:"trials"`
}

// MaxTrials bounds the trials of one set of results.
const MaxTrials = 40_000

// Collect makes the results of a plan. read returns what was found in a step's directory, in no particular order; none
// is a step that was not run. Of several trials of one step, which the harness leaves when it was run again, the newest
// healthy one counts, and the newest when none is. Anything else would pick the best.
func Collect(p Plan, read func(jobsDir string) ([]Trial, error)) (Results, error) {
	r := Results{
		SchemaVersion: SchemaVersion, PlanDigest: p.Digest, Revision: p.Revision, GateSet: p.GateSet, GateVersion: p.GateVersion,
		PolicyDigest: p.PolicyDigest, Options: p.Options, Trials: []Trial{},
	}
	for _, t := range p.Tasks {
		for _, s := range t.Steps {
			found, err := read(s.JobsDir)
			if err != nil {
				return r, fmt.Errorf("collect %s: %w", s.JobsDir, err)
			}
			if trial, ok := pick(found, t.Name); ok {
				trial.Gate, trial.Number = s.Gate, s.Number
				r.Trials = append(r.Trials, trial)
			}
		}
	}
	return r, nil
}

// pick chooses the trial of a step that counts.
func pick(found []Trial, task string) (Trial, bool) {
	found = slices.DeleteFunc(slices.Clone(found), func(t Trial) bool { return t.Task != task })
	if len(found) == 0 {
		return Trial{}, false
	}
	return slices.MaxFunc(found, func(a, b Trial) int {
		return cmp.Or(compareBool(a.healthy(), b.healthy()), cmp.Compare(a.Finished, b.Finished))
	}), true
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

// healthy reports whether nothing but the task and the agent decided the trial.
func (t Trial) healthy() bool {
	return t.TimedOut || t.Reward != nil && t.RewardProblem == "" && t.Error == "" && t.VerifierError == ""
}

// foreign says why a trial is not one of its step: it ran something else. Empty when it is.
func (p Plan) foreign(t Planned, trial Trial) string {
	agent, model, digest := "oracle", "", t.Digest
	switch trial.Gate {
	case Noop:
		digest = t.NoopDigest
	case Band:
		agent, model = p.Harness.Agent, p.Harness.Model
	}
	switch {
	case trial.Agent != "" && trial.Agent != agent:
		return fmt.Sprintf("was run by the agent %q, not %q", trial.Agent, agent)
	case trial.Model != "" && model != "" && trial.Model != model:
		return fmt.Sprintf("was run with the model %q, not %q", trial.Model, model)
	case trial.TaskDigest != "" && digest != "" && trial.TaskDigest != digest:
		return "was run on other files than the plan's"
	default:
		return ""
	}
}
