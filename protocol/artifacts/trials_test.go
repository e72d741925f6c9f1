package artifacts_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/protocol/artifacts"
)

// TestTrials has a row for each way in which a trial's files say how it went.
func TestTrials(t *testing.T) {
	num := func(f float64) *float64 { return &f }
	passed := artifacts.Checks{Source: "ctrf", Passed: 1}
	for name, c := range map[string]struct {
		files   map[string]string // of the trial
		want    artifacts.Trial
		problem string
	}{
		"a pass": {
			map[string]string{
				"result.json":        `{"task_name":"sort__it","rewards":{"reward":1.0},"agent":"oracle","model":null,"task_digest":"sha256:1","finished_at":"2026-03-01 08:15:00.1","timing":{"environment_setup":1.5}}`,
				"verifier/ctrf.json": `{"results":{"tests":[{"name":"a","status":"passed"}]}}`, "verifier/reward.txt": "1\n",
			},
			artifacts.Trial{Reward: num(1), Checks: passed, Started: true, Agent: "oracle", TaskDigest: "sha256:1", Finished: "2026-03-01__08-15-00 2026-03-01 08:15:00.1"},
			"",
		},
		"the sandbox did not start": {
			map[string]string{"result.json": `{"rewards":null,"error":"Docker compose command failed","error_category":"sandbox_setup","sandbox_startup_info":{"x":1},"timing":{"environment_setup":1}}`},
			artifacts.Trial{Error: "Docker compose command failed", Category: "sandbox_setup", Finished: "2026-03-01__08-15-00 "},
			"",
		},
		"the verifier broke": {
			map[string]string{"result.json": `{"rewards":null,"verifier_error":"no reward file","verifier_error_category":"verifier_failure","timing":{"environment_setup":1}}`, "verifier/test-stdout.txt": "== 2 passed in 0.1s ==\n"},
			artifacts.Trial{Started: true, VerifierError: "no reward file", VerifierCategory: "verifier_failure", Checks: artifacts.Checks{Source: "pytest", Passed: 2}, Finished: "2026-03-01__08-15-00 "},
			"",
		},
		"below zero": {
			map[string]string{"result.json": `{"rewards":{"reward":-2}}`},
			artifacts.Trial{Reward: num(-2), Finished: "2026-03-01__08-15-00 "},
			"",
		},
		"not a number": {
			map[string]string{"result.json": `{"rewards":{"reward":NaN}}`},
			artifacts.Trial{RewardProblem: `the reward in result.json is "NaN", not a number`, Finished: "2026-03-01__08-15-00 "},
			"",
		},
		"two rewards": {
			map[string]string{"result.json": `{"rewards":{"reward":1}}`, "verifier/reward.txt": "0"},
			artifacts.Trial{RewardProblem: "result.json says 1 but verifier/reward.txt says 0", Finished: "2026-03-01__08-15-00 "},
			"",
		},
		"the time limit, by its object": {
			map[string]string{"result.json": `{"rewards":{"reward":1},"agent_timeout_info":{"limit":900}}`},
			artifacts.Trial{Reward: num(1), TimedOut: true, Finished: "2026-03-01__08-15-00 "},
			"",
		},
		"the time limit, by its text": {
			map[string]string{"result.json": `{"rewards":{"reward":0},"error":"Agent prompt exceeded wall-clock budget 900s","error_category":"timeout"}`},
			artifacts.Trial{Reward: num(0), TimedOut: true, Error: "Agent prompt exceeded wall-clock budget 900s", Category: "timeout", Finished: "2026-03-01__08-15-00 "},
			"",
		},
		"another timeout": {
			map[string]string{"result.json": `{"rewards":null,"error":"ACP initialize timed out after 120s","error_category":"timeout"}`},
			artifacts.Trial{Error: "ACP initialize timed out after 120s", Category: "timeout", Finished: "2026-03-01__08-15-00 "},
			"",
		},
		"no result":        {map[string]string{"config.json": `{}`}, artifacts.Trial{Error: "The trial left no readable result.", Finished: "2026-03-01__08-15-00"}, ""},
		"half a result":    {map[string]string{"result.json": `{"rewards":`}, artifacts.Trial{Error: "The trial left no readable result.", Finished: "2026-03-01__08-15-00"}, "cannot be used"},
		"somebody else's":  {map[string]string{"result.json": `{"task_name":"other","rewards":{"reward":1}}`}, artifacts.Trial{Error: "The trial's result is about another task than its directory.", Finished: "2026-03-01__08-15-00"}, "about the task"},
		"a very long text": {map[string]string{"result.json": `{"error":"` + strings.Repeat("x", 5000) + `"}`}, artifacts.Trial{Error: strings.Repeat("x", 297) + "…", Finished: "2026-03-01__08-15-00 "}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{"gates/oracle/x/rerun-01/summary.json": {Data: []byte("{}")}, "gates/oracle/x/rerun-01/2026-03-01__08-15-00/logs/a.txt": {}}
			for path, text := range c.files {
				files["gates/oracle/x/rerun-01/2026-03-01__08-15-00/sort__it__1a2b3c4d/"+path] = &fstest.MapFile{Data: []byte(text)}
			}
			c.want.Task = "sort__it"
			got, problems := artifacts.Trials(files, "gates/oracle/x/rerun-01")
			if diff := cmp.Diff([]artifacts.Trial{c.want}, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if (c.problem != "") != (len(problems) > 0) || len(problems) > 0 && !strings.Contains(problems[0].Detail, c.problem) {
				t.Errorf("problems %v, want %q", problems, c.problem)
			}
		})
	}
	if got, problems := artifacts.Trials(fstest.MapFS{}, "nowhere"); len(got) > 0 || len(problems) > 0 {
		t.Errorf("a missing directory has %v, %v", got, problems)
	}
}
