package artifacts_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/artifacts"
)

const (
	gate  = "jobs/grpo-gate/2026-03-01__08-15-00/"
	train = "jobs/grpo-train/step-000000/rank-00/"
	trial = "label-jars__1a2b3c4d"
)

// tree is a file tree: path → content.
type tree map[string]string

func (t tree) fs() fs.FS {
	m := fstest.MapFS{}
	for name, content := range t {
		m[name] = &fstest.MapFile{Data: []byte(content), Mode: 0o644}
	}
	return m
}

// under puts files into a directory.
func under(dir string, files tree) tree {
	out := tree{}
	for name, content := range files {
		out[path.Join(dir, name)] = content
	}
	return out
}

func merge(trees ...tree) tree {
	out := tree{}
	for _, t := range trees {
		maps.Copy(out, t)
	}
	return out
}

// attempt is the files of an attempt with a result, a reward and a transcript.
func attempt(result, reward, transcript string) tree {
	t := tree{"result.json": result}
	if reward != "" {
		t["verifier/reward.txt"] = reward
	}
	if transcript != "" {
		t["trajectory/acp_trajectory.jsonl"] = transcript
	}
	return t
}

func message(text string) string {
	return fmt.Sprintf(`{"type":"user_message","text":"Do it."}`+"\n"+`{"type":"agent_message","text":%q}`+"\n", text)
}

const (
	passed  = `{"task_name":"label-jars","rewards":{"reward":1.0},"error":null}`
	failed  = `{"task_name":"label-jars","rewards":{"reward":0.3},"error":null}`
	limited = `{"rewards":{"reward":1.0},"error":"Agent prompt exceeded wall-clock budget 900s"}`
)

// How an attempt ended, and what it counts as, follows from its files.
func TestOutcomeAndEnding(t *testing.T) {
	const pass, fail, timeout, errored = protocol.OutcomePass, protocol.OutcomeFail, protocol.OutcomeTimeout, protocol.OutcomeError
	for name, c := range map[string]struct {
		files   tree
		outcome protocol.Outcome
		ending  artifacts.Ending
	}{
		"passed":                           {attempt(passed, "1", message("Done.")), pass, artifacts.Finished},
		"passed without a transcript":      {attempt(passed, "1.0\n", ""), pass, artifacts.Finished},
		"failed with part of the reward":   {attempt(failed, "0.3", message("Done.\n</think>\nReally.")), fail, artifacts.Finished},
		"a last event that is a tool call": {attempt(failed, "", `{"type":"tool_call","title":"bash"}`), fail, artifacts.Finished},
		"timed out and graded 1":           {attempt(limited, "1", message("Still at it")), timeout, artifacts.TimedOut},
		"timed out by the structured cause": {
			attempt(`{"rewards":{"reward":0},"agent_timeout_info":{"timeout_sec":900}}`, "", ""), timeout, artifacts.TimedOut,
		},
		"timed out by the transcript": {attempt(passed, "1", `{"type":"agent_timeout"}`), timeout, artifacts.TimedOut},
		"timed out and not graded": {
			attempt(`{"rewards":null,"error":"Agent prompt exceeded wall-clock budget 900s"}`, "", ""), errored, artifacts.TimedOut,
		},
		"another text that speaks of time": {
			attempt(`{"rewards":null,"error":"ACP initialize timed out after 120s","error_category":"timeout"}`, "", ""), errored, artifacts.Errored,
		},
		"verifier broke":                {attempt(`{"rewards":null,"verifier_error":"verifier crashed: no reward file"}`, "", message("Done.")), errored, artifacts.Errored},
		"rewarded in spite of an error": {attempt(`{"rewards":{"reward":1},"error":"pipe closed"}`, "1", ""), pass, artifacts.Errored},
		"cut off in a tool call":        {attempt(failed, "", message("Write it.\n</think>\n\n<tool_call>\n<function=write>\n<parameter=content>\nimport sys\nfor ")), fail, artifacts.CutOff},
		"cut off after a whole call":    {attempt(failed, "", message("<tool_call>a</tool_call><tool_call>b")), fail, artifacts.CutOff},
		"malformed tool call":           {attempt(failed, "", message("Check.\n</think>\n\n<tool_call>\n<function=bash>\n</function>\n</function>\n</tool_call>")), fail, artifacts.MalformedCall},
		"a call that was only thought":  {attempt(failed, "", message("<tool_call>x</tool_call>\n</think>\nDone.")), fail, artifacts.Finished},
		"no result":                     {tree{"config.json": "{}"}, errored, artifacts.Errored},
		"half a result":                 {attempt(`{"rewards":{"reward":1.0`, "1", ""), errored, artifacts.Errored},
		"nothing at all in the result":  {attempt(`{}`, "1", ""), errored, artifacts.Errored},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := artifacts.Attempts(under(gate+trial, c.files).fs())
			if len(got) != 1 {
				t.Fatalf("%d attempts", len(got))
			}
			if a := got[0]; a.Outcome != c.outcome || a.Ending != c.ending {
				t.Errorf("got %s, %s; want %s, %s", a.Outcome, a.Ending, c.outcome, c.ending)
			}
		})
	}
}

// A reward that is ambiguous or impossible is named and not scored.
func TestRewardProblems(t *testing.T) {
	reward := func(value string) string { return `{"rewards":{"reward":` + value + `}}` }
	for name, c := range map[string]struct {
		files tree
		want  string // part of the problem; empty when the reward counts
	}{
		"agreeing files":       {tree{"result.json": reward("1"), "verifier/reward.txt": " 1.0\n", "verifier/reward.json": `{"reward":1}`}, ""},
		"almost agreeing":      {tree{"result.json": reward("0.3333333333"), "verifier/reward.txt": "0.33333333333"}, ""},
		"no file":              {tree{"result.json": reward("0")}, ""},
		"text disagrees":       {tree{"result.json": reward("1"), "verifier/reward.txt": "0"}, "result.json says 1 but verifier/reward.txt says 0"},
		"JSON disagrees":       {tree{"result.json": reward("0"), "verifier/reward.json": `{"reward":1}`}, "result.json says 0 but verifier/reward.json says 1"},
		"NaN":                  {tree{"result.json": reward("NaN")}, `"NaN", not a number`},
		"infinite":             {tree{"result.json": reward("-Infinity")}, `"-Infinity", not a number`},
		"a string":             {tree{"result.json": reward(`"1"`)}, `"1", not a number`},
		"a boolean":            {tree{"result.json": reward("true")}, "true, not a number"},
		"null":                 {tree{"result.json": reward("null")}, "null, not a number"},
		"a list":               {tree{"result.json": reward("[1]")}, "[1], not a number"},
		"above 1":              {tree{"result.json": reward("1.5")}, "is 1.5, which is not from 0 to 1"},
		"negative":             {tree{"result.json": reward("-1")}, "is -1, which is not from 0 to 1"},
		"beyond a float":       {tree{"result.json": reward("1e999")}, "not a number"},
		"no member":            {tree{"result.json": `{"rewards":{"rubric":[1]}}`}, "has no reward"},
		"rewards is a number":  {tree{"result.json": `{"rewards":1}`}, "not a JSON object"},
		"two rewards":          {tree{"result.json": `{"rewards":{"reward":0,"reward":1}}`}, "a name occurs twice"},
		"empty text":           {tree{"result.json": reward("1"), "verifier/reward.txt": "\n"}, "is empty"},
		"text is not a number": {tree{"result.json": reward("1"), "verifier/reward.txt": "passed"}, `holds "passed"`},
		"text is NaN":          {tree{"result.json": reward("1"), "verifier/reward.txt": "nan"}, "is NaN"},
		"half a JSON":          {tree{"result.json": reward("1"), "verifier/reward.json": `{"reward":`}, "not complete JSON"},
		"JSON names it twice":  {tree{"result.json": reward("1"), "verifier/reward.json": `{"reward":1,"reward":0}`}, "a name occurs twice"},
	} {
		t.Run(name, func(t *testing.T) {
			got, problems := artifacts.Attempts(under(gate+trial, c.files).fs())
			a := got[0]
			if c.want == "" {
				if a.RewardProblem != "" || a.Reward == nil || len(problems) > 0 {
					t.Errorf("refused: %q, problems %v", a.RewardProblem, problems)
				}
				return
			}
			if !strings.Contains(a.RewardProblem, c.want) {
				t.Errorf("problem %q does not say %q", a.RewardProblem, c.want)
			}
			if a.Reward != nil || a.Outcome != protocol.OutcomeError {
				t.Errorf("scored all the same: %v, %s", a.Reward, a.Outcome)
			}
			if len(problems) != 1 || problems[0].Path != gate+trial {
				t.Errorf("problems: %v", problems)
			}
		})
	}
}

// The attempts of a run, in order, with where they belong and what they cost.
func TestAttempts(t *testing.T) {
	rollout := func(index, attempt int) string {
		return fmt.Sprintf("%srollout-%06d/attempt-%02d/", train, index, attempt)
	}
	fsys := merge(
		under(gate+"wind__yarn__0000000a", attempt(failed, "", "")),
		under(gate+trial, attempt(`{"task_name":"label-jars","rewards":{"reward":1},"n_tool_calls":7,
			"agent_result":{"n_input_tokens":1200,"n_output_tokens":null},"final_metrics":{"total_completion_tokens":90}}`, "1", "")),
		under(gate+trial, tree{"timing.json": `{"agent_execution":12.5,"verifier":NaN,"total":"20"}`}),
		tree{
			gate + "summary.json":                        "{}",
			gate + "notes/readme.txt":                    "not an attempt",
			"jobs/baseline/s/bake-index__1/result.json":  passed,
			"jobs/posttrain/s/bake-index__1/result.json": passed,
			"jobs/grpo-train/training_diagnostics.json":  "{}",
			rollout(0, 1) + "rollout_error.json":         `{"attempt":1,"error_type":"RuntimeError","error":"telemetry coverage is incomplete"}`,
			rollout(1, 1) + "rollout_error.json":         `{"attempt":`,
		},
		under(rollout(0, 1)+"jobs/2026-03-01__09-00-00/"+trial, attempt(limited, "1", "")),
		under(rollout(0, 2)+"jobs/2026-03-01__09-20-00/"+trial, attempt(passed, "1", "")),
		under(rollout(1, 2)+"jobs/2026-03-01__09-20-00/"+trial, attempt(failed, "", "")),
	).fs()

	one, tools, in, out, secs, part := 1.0, int64(7), int64(1200), int64(90), 12.5, 0.3
	place := func(index, attempt int) *artifacts.Rollout {
		return &artifacts.Rollout{Index: index, Attempt: attempt}
	}
	want := []artifacts.Attempt{
		{
			Number: 1, Stage: protocol.StageGate, Task: "label-jars", Outcome: protocol.OutcomePass, Ending: artifacts.Finished, Reward: &one,
			Tools: &tools, InputTokens: &in, OutputTokens: &out, Timing: artifacts.Timing{AgentExecution: &secs}, Path: gate + trial,
		},
		{Number: 2, Stage: protocol.StageGate, Task: "wind__yarn", Outcome: protocol.OutcomeFail, Ending: artifacts.Finished, Reward: &part, Path: gate + "wind__yarn__0000000a"},
		{
			Number: 3, Stage: protocol.StageTraining, Task: "label-jars", Rollout: place(0, 1), Outcome: protocol.OutcomeTimeout, Ending: artifacts.TimedOut, Reward: &one,
			Error: "Agent prompt exceeded wall-clock budget 900s", Retried: "RuntimeError: telemetry coverage is incomplete", Path: rollout(0, 1) + "jobs/2026-03-01__09-00-00/" + trial,
		},
		{
			Number: 4, Stage: protocol.StageTraining, Task: "label-jars", Rollout: place(0, 2), Outcome: protocol.OutcomePass, Ending: artifacts.Finished, Reward: &one,
			Path: rollout(0, 2) + "jobs/2026-03-01__09-20-00/" + trial,
		},
		{
			Number: 5, Stage: protocol.StageTraining, Task: "label-jars", Rollout: place(1, 1), Outcome: protocol.OutcomeError, Ending: artifacts.Errored,
			Error: "unknown", Retried: "unknown", Path: strings.TrimSuffix(rollout(1, 1), "/"),
		},
		{
			Number: 6, Stage: protocol.StageTraining, Task: "label-jars", Rollout: place(1, 2), Outcome: protocol.OutcomeFail, Ending: artifacts.Finished, Reward: &part,
			Path: rollout(1, 2) + "jobs/2026-03-01__09-20-00/" + trial,
		},
	}
	got, problems := artifacts.Attempts(fsys)
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(artifacts.Attempt{})); d != "" {
		t.Errorf("attempts (-want +got):\n%s", d)
	}
	var where []string
	for _, p := range problems {
		where = append(where, p.Path)
	}
	if want := []string{gate + "wind__yarn__0000000a", rollout(1, 1) + "rollout_error.json"}; !slices.Equal(where, want) {
		t.Errorf("problems %v, want them at %v", problems, want)
	}
}

// An empty tree has no attempts and no problems.
func TestNothingUploaded(t *testing.T) {
	got, problems := artifacts.Attempts(tree{}.fs())
	if len(got) != 0 || len(problems) != 0 {
		t.Errorf("got %v, %v", got, problems)
	}
}

func TestOpen(t *testing.T) {
	long := strings.Repeat("x", 300)
	fsys := merge(under(gate+trial, attempt(failed, "", strings.Join([]string{
		`{"type":"user_message","text":"Do it."}`,
		`{"type":"agent_message","text":"Looking."}`,
		`{"type":"tool_call","tool_call_id":"c1","kind":"execute","title":"bash","status":"completed","content":[{"type":"content","content":{"type":"text","text":"$ ls\n` + long + `"}},{"type":"diff","path":"a"}]}`,
		`{"type":"tool_call","title":"bash","content":"not a list"}`,
		`{"type":"oracle","command":"bash solve.sh","return_code":0,"stdout":"ok"}`,
		`{"type":"novelty","x":NaN}`,
		`{"no":"type"}`,
		`{"type":"agent_mess`,
	}, "\n"))), under(gate+trial, tree{
		"verifier/test-stdout.txt": "collecting\nFAILED ../root::test_rows - AssertionError: 3 rows\n===== 1 failed, 2 passed, 1 skipped in 0.05s =====\n\xff\n",
	})).fs()
	all, _ := artifacts.Attempts(fsys)
	got, err := artifacts.Open(fsys, all[0])
	if err != nil {
		t.Fatal(err)
	}
	wantEvents := []artifacts.Event{
		{Type: "user_message", Text: "Do it."},
		{Type: "agent_message", Text: "Looking."},
		{Type: "tool_call", Tool: "bash", Kind: "execute", Status: "completed", Text: "$ ls\n" + long + "\n" + `{"type":"diff","path":"a"}`},
		{Type: "tool_call", Tool: "bash"},
		{Type: "oracle", Tool: "bash solve.sh", Status: "exit 0", Text: "ok"},
		{Type: "novelty", Text: `{"type":"novelty","x":NaN}`},
	}
	if d := cmp.Diff(wantEvents, got.Events); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
	wantChecks := artifacts.Checks{
		Source: "pytest", Passed: 2, Failed: 1, Skipped: 1,
		Tests: []artifacts.Check{{Name: "../root::test_rows", Status: "failed", Message: "AssertionError: 3 rows"}},
	}
	if d := cmp.Diff(wantChecks, got.Checks); d != "" {
		t.Errorf("checks (-want +got):\n%s", d)
	}
	if !strings.HasSuffix(got.Stdout, "\ufffd\n") || got.StdoutCut {
		t.Errorf("stdout %q, cut %v", got.Stdout, got.StdoutCut)
	}
	if n := len(got.Problems); n != 2 { // once from the list, once from opening
		t.Errorf("problems: %v", got.Problems)
	}
}

// Sealed attempts, and places outside the attempts, are not opened.
func TestOpenRefuses(t *testing.T) {
	fsys := merge(
		under("jobs/baseline/s/bake-index__1", attempt(passed, "1", "")),
		under(gate+trial, attempt(passed, "1", "")),
	).fs()
	for _, p := range []string{"", "jobs/baseline/s/bake-index__1", "jobs/grpo-gate", "jobs/grpo-gate/../baseline/s/bake-index__1", "/etc"} {
		if _, err := artifacts.Open(fsys, artifacts.Attempt{Path: p}); !errors.Is(err, protocol.ErrNoAttempt) {
			t.Errorf("%q: %v", p, err)
		}
	}
}

// Links in a tree on disk are not followed, wherever they are.
func TestLinksAreNotFollowed(t *testing.T) {
	secret := t.TempDir()
	if err := os.WriteFile(filepath.Join(secret, "result.json"), []byte(passed), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, place := range map[string]string{
		"an attempt": filepath.Join(gate, trial), "the jobs": "jobs", "a verifier": filepath.Join(gate, trial, "verifier"), "a result": filepath.Join(gate, trial, "result.json"),
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			at := filepath.Join(root, place)
			if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
				t.Fatal(err)
			}
			target := secret
			if strings.HasSuffix(place, ".json") {
				target = filepath.Join(secret, "result.json")
			}
			if err := os.Symlink(target, at); err != nil {
				t.Fatal(err)
			}
			attempts, _ := artifacts.Attempts(os.DirFS(root))
			for _, a := range attempts {
				if a.Reward != nil {
					t.Errorf("read through the link: %+v", a)
				}
			}
		})
	}
}

// Whatever bytes the files hold, reading them only ever yields attempts.
func TestAnyBytes(t *testing.T) {
	content := rapid.OneOf(
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.SampledFrom([]string{passed, failed, limited, `{"rewards":`, `{"rewards":{"reward":NaN}}`, "[]", "null", `"x"`, strings.Repeat("[", 20_000), message("<tool_call>")}),
	)
	rapid.Check(t, func(r *rapid.T) {
		files := tree{}
		for _, name := range []string{"result.json", "timing.json", "verifier/reward.txt", "verifier/reward.json", "verifier/ctrf.json", "verifier/test-stdout.txt", "trajectory/acp_trajectory.jsonl"} {
			if rapid.Bool().Draw(r, "has "+name) {
				files[name] = content.Draw(r, name)
			}
		}
		files["config.json"] = "{}"
		fsys := under(gate+trial, files).fs()
		all, _ := artifacts.Attempts(fsys)
		if len(all) != 1 || !all[0].Outcome.Known() || (all[0].Reward == nil) != (all[0].Outcome == protocol.OutcomeError) {
			r.Fatalf("attempts %+v", all)
		}
		if _, err := artifacts.Open(fsys, all[0]); err != nil {
			r.Fatal(err)
		}
	})
}
