package artifacts

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"

	"github.com/posttrainarena/arena/protocol"
)

// maxError is how much of an error text is kept, in bytes.
const maxError = 2000

// timeLimit is how the harness begins the error of an attempt that ran into its
// time limit (reference/pipeline.md §2.5). Other errors that speak of time, such
// as an agent that did not start in time, are not the agent's time limit.
const timeLimit = "Agent prompt exceeded wall-clock budget"

// readAttempt reads the files of one attempt into a copy of like.
func readAttempt(fsys fs.FS, dir string, like Attempt) Attempt {
	a := like
	a.Path = dir
	a.Task, _, _ = splitTrial(path.Base(dir))
	result := a.result(fsys, dir)
	a.Reward, a.RewardProblem = reward(fsys, dir, result)
	if a.RewardProblem != "" {
		a.complain("The reward does not count: %s.", a.RewardProblem)
	}
	events, bad := transcript(fsys, dir)
	if bad != "" {
		a.complain("%s", bad)
	}
	a.Timing = timing(fsys, dir, result)
	usage := result.object("agent_result")
	a.Tools = first(result.count("n_tool_calls"), usage.count("n_tool_calls"))
	totals := result.object("final_metrics")
	a.InputTokens = first(usage.count("n_input_tokens"), totals.count("total_prompt_tokens"))
	a.OutputTokens = first(usage.count("n_output_tokens"), totals.count("total_completion_tokens"))
	a.finished = result.text("finished_at", 40)

	last := Event{}
	if len(events) > 0 {
		last = events[len(events)-1]
	}
	late := last.Type == "agent_timeout" || result.has("agent_timeout_info") || strings.HasPrefix(a.Error, timeLimit)
	a.Outcome = outcome(a.Reward, late)
	a.Ending = ending(a.Error, a.Reward, late, last)
	return a
}

func (a *Attempt) complain(format string, args ...any) {
	a.problems = append(a.problems, fmt.Sprintf(format, args...))
}

// result reads result.json and the error in it. An attempt without a readable
// one has an error that says so.
func (a *Attempt) result(fsys fs.FS, dir string) object {
	data, err := read(fsys, path.Join(dir, "result.json"), maxJSON)
	var result object
	if err == nil {
		result, err = decode(data)
	}
	if err != nil {
		a.Error = "The attempt left no readable result."
		if errors.Is(err, fs.ErrNotExist) {
			a.complain("result.json is missing, so the attempt counts as errored.")
		} else {
			a.complain("result.json cannot be used, so the attempt counts as errored: %v.", err)
		}
		return object{}
	}
	if name := result.text("task_name", 200); name != "" && name != a.Task {
		a.complain("result.json is about another task than the directory; the directory's name counts.")
	}
	a.Error = result.text("error", maxError)
	if v := result.text("verifier_error", maxError); a.Error == "" && v != "" {
		a.Error = "verifier: " + v
	}
	return result
}

// first returns the first value that is there.
func first[T any](values ...*T) *T {
	for _, v := range values {
		if v != nil {
			return v
		}
	}
	return nil
}

// timing reads timing.json, or the copy of it in the result.
func timing(fsys fs.FS, dir string, result object) Timing {
	t := result.object("timing")
	if data, err := read(fsys, path.Join(dir, "timing.json"), maxJSON); err == nil {
		if own, err := decode(data); err == nil {
			t = own
		}
	}
	return Timing{
		EnvironmentSetup: t.number("environment_setup"), AgentSetup: t.number("agent_setup"),
		AgentExecution: t.number("agent_execution"), Verifier: t.number("verifier"), Total: t.number("total"),
	}
}

// outcome decides pass@1: a reward of exactly 1 within the time limit.
func outcome(reward *float64, late bool) protocol.Outcome {
	switch {
	case reward == nil:
		return protocol.OutcomeError
	case late:
		return protocol.OutcomeTimeout
	case *reward == 1:
		return protocol.OutcomePass
	default:
		return protocol.OutcomeFail
	}
}

// ending classifies how an attempt ended, from its error and its last event.
func ending(failure string, reward *float64, late bool, last Event) Ending {
	switch {
	case late:
		return TimedOut
	case failure != "" || reward == nil:
		return Errored
	case last.Type != "agent_message":
		return Finished
	}
	reply := last.Text
	opened, closed := strings.LastIndex(reply, "<tool_call>"), strings.LastIndex(reply, "</tool_call>")
	switch {
	case opened > closed:
		return CutOff
	case closed > strings.LastIndex(reply, "</think>"):
		return MalformedCall // a call that was understood does not stay in the text
	default:
		return Finished
	}
}

// reward returns the attempt's reward. The harness records it in result.json; the
// verifier wrote it to one or two files. All that are there must be one number
// from 0 to 1, and the same one. problem says why not; then the reward is nil. An
// attempt of which no reward was recorded has neither.
func reward(fsys fs.FS, dir string, result object) (value *float64, problem string) {
	if !result.has("rewards") {
		return nil, ""
	}
	rewards, err := decode(result["rewards"])
	if err != nil {
		return nil, fmt.Sprintf("rewards in result.json cannot be used: %v", err)
	}
	recorded, problem := rewardIn(rewards, "result.json")
	if problem != "" {
		return nil, problem
	}
	for _, f := range [...]struct {
		name  string
		parse func(data []byte, name string) (float64, string)
	}{
		{"verifier/reward.txt", textReward},
		{"verifier/reward.json", jsonReward},
	} {
		data, err := read(fsys, path.Join(dir, f.name), maxJSON)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Sprintf("%s cannot be used: %v", f.name, err)
		}
		written, problem := f.parse(data, f.name)
		if problem != "" {
			return nil, problem
		}
		if math.Abs(written-recorded) > 1e-9 {
			return nil, fmt.Sprintf("result.json says %v but %s says %v", recorded, f.name, written)
		}
	}
	return &recorded, ""
}

// jsonReward reads {"reward": 1.0, …}.
func jsonReward(data []byte, name string) (float64, string) {
	o, err := decode(data)
	if err != nil {
		return 0, fmt.Sprintf("%s cannot be used: %v", name, err)
	}
	return rewardIn(o, name)
}

// rewardIn reads the member reward of an object.
func rewardIn(o object, name string) (float64, string) {
	raw, ok := o["reward"]
	if !ok {
		return 0, name + " has no reward"
	}
	var n *float64
	if err := json.Unmarshal(raw, &n); err != nil || n == nil {
		return 0, fmt.Sprintf("the reward in %s is %s, not a number", name, cut(string(raw), 40))
	}
	return inRange(*n, name)
}

// textReward reads one number, as reward.txt holds it.
func textReward(data []byte, name string) (float64, string) {
	text := strings.TrimSpace(string(data[:min(len(data), 200)]))
	if text == "" {
		return 0, name + " is empty"
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Sprintf("%s holds %q, not a number", name, cut(text, 40))
	}
	return inRange(n, name)
}

func inRange(n float64, name string) (float64, string) {
	if !(n >= 0 && n <= 1) { // also NaN
		return 0, fmt.Sprintf("the reward in %s is %v, which is not from 0 to 1", name, n)
	}
	return n, ""
}
