package dynamic

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func n(f float64) *float64 { return &f }

// plan is a plan of a task with a reference solution, "full", and one without, "bare".
func plan(o Options) Plan {
	return New(
		Target{EnvironmentID: "env-1", ChallengeID: "tb", RepoType: "bundle", RepoID: "r", Revision: strings.Repeat("a", 40), EntryPath: "sub", GateSet: "gates-v2", GateVersion: "1", PolicyDigest: "sha256:p", Sandbox: "daytona"},
		o, Harness{Agent: "opencode", Model: "vllm/Qwen/Q", ModelRevision: "c", MaxContext: 16384, AgentTimeoutSecs: 900},
		[]Task{
			{Name: "full", ContentHash: "sha256:1", Digest: "sha256:f", NoopDigest: "sha256:fn", Oracle: true, OraclePath: "solution/solve.sh"},
			{Name: "bare", ContentHash: "sha256:2", Digest: "sha256:b", NoopDigest: "sha256:bn", OraclePath: "oracle/solve.sh"},
		})
}

func usual() Plan { return plan(Options{ControlsReruns: 8, BandAttempts: 4}) }

// good are the trials of a plan whose tasks deserve to be accepted.
func good(p Plan) []Trial {
	var all []Trial
	for _, t := range p.Tasks {
		for _, s := range t.Steps {
			tr := Trial{Task: t.Name, Gate: s.Gate, Number: s.Number, Started: true, Agent: "oracle", TaskDigest: t.Digest}
			switch s.Gate {
			case Oracle:
				tr.Reward, tr.Checks = n(1), Checks{Source: "ctrf", Passed: 3}
			case Noop:
				tr.Reward, tr.TaskDigest = n(0), t.NoopDigest
			default:
				tr.Reward, tr.Agent, tr.Model = n(float64(s.Number%2)), "opencode", "vllm/Qwen/Q"
			}
			all = append(all, tr)
		}
	}
	return all
}

func TestPlanIsPinned(t *testing.T) {
	raw, err := json.MarshalIndent(plan(Options{ControlsReruns: 1, BandAttempts: 2}), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden := "testdata/plan.json"
	if os.Getenv("ARENA_UPDATE") != "" {
		if err := os.WriteFile(golden, append(raw, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(raw)+"\n" {
		t.Errorf("the plan is not %s; run ARENA_UPDATE=1 go test ./gates/dynamic\n%s", golden, raw)
	}
}

func TestPlanCounts(t *testing.T) {
	p := usual()
	count := map[string]int{}
	dirs := map[string]bool{}
	for _, task := range p.Tasks {
		for _, s := range task.Steps {
			count[task.Name+" "+string(s.Gate)]++
			if dirs[s.JobsDir] {
				t.Errorf("two steps share %s", s.JobsDir)
			}
			dirs[s.JobsDir] = true
			if !strings.HasPrefix(s.Command, "bench eval run ") || !strings.Contains(s.Command, "--jobs-dir gates/"+s.JobsDir+" ") {
				t.Errorf("command %s", s.Command)
			}
		}
	}
	want := map[string]int{"full oracle": 8, "full noop": 8, "full band": 4, "bare noop": 8, "bare band": 4}
	if !reflect.DeepEqual(count, want) {
		t.Errorf("steps are %v, want %v", count, want)
	}
	if !p.Intact() {
		t.Error("a new plan is not intact")
	}
	shuffled := New(p.Target, p.Options, p.Harness, []Task{p.Tasks[1].Task, p.Tasks[0].Task})
	if shuffled.Digest != p.Digest {
		t.Error("the order of the tasks changes the plan")
	}
}

// TestEveryFactIsInTheDigest changes each field of a plan, wherever it is, and expects another digest.
func TestEveryFactIsInTheDigest(t *testing.T) {
	fields := 0
	var visit func(path string, v reflect.Value, check func(string))
	visit = func(path string, v reflect.Value, check func(string)) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				visit(path+"."+v.Type().Field(i).Name, v.Field(i), check)
			}
		case reflect.Slice:
			visit(path+"[0]", v.Index(0), check)
		case reflect.String:
			old := v.String()
			v.SetString(old + "x")
			check(path)
			v.SetString(old)
		case reflect.Int:
			v.SetInt(v.Int() + 1)
			check(path)
			v.SetInt(v.Int() - 1)
		case reflect.Bool:
			v.SetBool(!v.Bool())
			check(path)
			v.SetBool(!v.Bool())
		default:
			t.Fatalf("%s is a %s", path, v.Kind())
		}
	}
	p := usual()
	visit("", reflect.ValueOf(&p).Elem(), func(path string) {
		fields++
		if p.Intact() {
			t.Errorf("changing %s is not noticed", path)
		}
	})
	if fields < 25 || !p.Intact() {
		t.Errorf("%d fields were changed and the plan is intact: %v", fields, p.Intact())
	}
}

// TestJudge has a row for each way in which a gate decides. Each starts from trials that deserve to be accepted.
func TestJudge(t *testing.T) {
	infra := func(tr *Trial) {
		*tr = Trial{Task: tr.Task, Gate: tr.Gate, Number: tr.Number, Error: "Daytona sandbox lost", Category: "infra_failure"}
	}
	drop := func(tr *Trial) { tr.Task = "gone" }
	reward := func(r float64) func(*Trial) { return func(tr *Trial) { tr.Reward = n(r) } }
	unbuilt := func(tr *Trial) {
		*tr = Trial{Task: tr.Task, Gate: tr.Gate, Number: tr.Number, Error: "Image build failed: RUN false returned a non-zero code: 1", Category: "sandbox_setup"}
	}
	for _, c := range []struct {
		name   string
		task   string
		gate   Gate // of the trials that are changed; empty for all
		from   int  // the first that is changed
		change func(*Trial)
		want   Decision
		says   string
	}{
		{"all well", "full", "none", 1, drop, Accepted, "scored 1 in 8 of 8 runs"},
		{"all well without a solution", "bare", "none", 1, drop, Accepted, "untouched environment scored 0 in 8 of 8"},

		{"the solution fails once", "full", Oracle, 8, reward(0), Rejected, "failed 1 of 8 runs: run 8 scored 0"},
		{"the solution scores a part", "full", Oracle, 8, reward(0.5), Rejected, "scored 0.5"},
		{"a check fails under a reward of 1", "full", Oracle, 8, func(tr *Trial) { tr.Checks.Failed = 1 }, Rejected, "although 1 of its checks failed"},
		{"all checks are skipped", "full", Oracle, 8, func(tr *Trial) { tr.Checks = Checks{Source: "ctrf", Skipped: 3} }, Rejected, "without a check that passed"},
		{"no per-check report", "full", Oracle, 8, func(tr *Trial) { tr.Checks = Checks{} }, Accepted, "no per-check report for 1"},
		{"the solution is too slow", "full", Oracle, 8, func(tr *Trial) { tr.TimedOut = true }, Rejected, "time limit"},
		{"the verifier fails on the solution", "full", Oracle, 8, func(tr *Trial) {
			tr.Reward, tr.VerifierError, tr.VerifierProblem = nil, "no reward", "verifier_failure"
		}, Rejected, "could not be graded"},
		{"the verifier hangs on the solution", "full", Oracle, 8, func(tr *Trial) {
			tr.Reward, tr.VerifierError, tr.VerifierProblem = nil, "verifier timed out", "verifier_timeout"
		}, Rejected, "could not be graded"},
		{"the verifier's machine fails", "full", Oracle, 8, func(tr *Trial) {
			tr.Reward, tr.VerifierError, tr.VerifierProblem = nil, "sandbox gone", "verifier_infra"
		}, Inconclusive, "1 of 8 runs of the reference solution are open"},
		{"two rewards", "full", Oracle, 8, func(tr *Trial) { tr.Reward, tr.RewardProblem = nil, "two files disagree" }, Rejected, "does not count"},
		{"one solution run is lost", "full", Oracle, 8, infra, Inconclusive, "Daytona sandbox lost"},
		{"one solution run is missing", "full", Oracle, 8, drop, Inconclusive, "run 8 was not run"},
		{"a failure outweighs a loss", "full", Oracle, 7, func(tr *Trial) {
			if infra(tr); tr.Number == 7 {
				tr.Error, tr.Reward, tr.Started = "", n(0), true
			}
		}, Rejected, "failed 1 of 8"},

		{"the no-op passes", "full", Noop, 8, reward(1), Rejected, "without doing anything"},
		{"the no-op scores a part", "full", Noop, 8, reward(0.1), Rejected, "scored 0.1"},
		{"the no-op scores below 0", "full", Noop, 8, reward(-1), Rejected, "below 0"},
		{"the no-op is lost", "full", Noop, 8, infra, Inconclusive, "1 of 8 no-op runs are open"},
		{"a verifier error is no 0", "full", Noop, 1, func(tr *Trial) {
			tr.Reward, tr.VerifierError, tr.VerifierProblem = nil, "no reward", "verifier_failure"
		}, Inconclusive, "8 of 8 no-op runs are open"},
		{"a reward that does not count is no 0", "full", Noop, 8, func(tr *Trial) { tr.Reward, tr.RewardProblem = nil, "two files disagree" }, Inconclusive, "does not count"},

		{"never solved", "full", Band, 1, reward(0), Rejected, "never solved it in 4 attempts"},
		{"always solved", "full", Band, 1, reward(1), Rejected, "always solved it in 4 attempts"},
		{"solved only beyond the limit", "full", Band, 1, func(tr *Trial) { tr.TimedOut = true }, Rejected, "never solved"},
		{"decided early", "full", Band, 3, infra, Accepted, "solved it in 1 of 2 attempts"},
		{"one attempt, solved", "full", Band, 2, infra, Inconclusive, "3 of 4 attempts"},
		{"no attempt", "full", Band, 1, drop, Inconclusive, "4 of 4 attempts"},
		{"nobody ever solved it", "bare", Band, 1, reward(0), Rejected, "nothing shows that it can be solved"},
		{"the no-op passes without a solution", "bare", Noop, 8, reward(1), Rejected, "without doing anything"},
		{"no attempt without a solution", "bare", Band, 1, infra, Inconclusive, "4 of 4 attempts"},

		{"the image does not build", "full", "", 1, unbuilt, Rejected, "The image does not build: run 1 Image build failed: RUN false"},
		{"the image once did not build", "full", Oracle, 8, unbuilt, Inconclusive, "Image build failed"},
		{"the registry was away", "full", "", 1, func(tr *Trial) { unbuilt(tr); tr.Error = "Image build failed: dial tcp: i/o timeout" }, Inconclusive, "Whether the image builds is not known"},
		{"nothing was run", "full", "", 1, drop, Inconclusive, "Whether the image builds is not known: run 1 was not run"},

		{"another agent", "full", Oracle, 8, func(tr *Trial) { tr.Agent = "opencode" }, Inconclusive, `was run by the agent "opencode"`},
		{"another model", "full", Band, 1, func(tr *Trial) { tr.Model = "vllm/other" }, Inconclusive, `with the model "vllm/other"`},
		{"other files", "full", Oracle, 8, func(tr *Trial) { tr.TaskDigest = "sha256:fn" }, Inconclusive, "other files"},
		{"the no-op ran the real solution", "full", Noop, 8, func(tr *Trial) { tr.TaskDigest = "sha256:f" }, Inconclusive, "other files"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := usual()
			trials := good(p)
			for i := range trials {
				if tr := &trials[i]; tr.Task == c.task && (c.gate == "" || tr.Gate == c.gate) && tr.Number >= c.from {
					c.change(tr)
				}
			}
			all := Judge(p, trials)
			i := slices.IndexFunc(all, func(v Verdict) bool { return v.Task == c.task })
			v := all[i]
			if v.Decision != c.want || !strings.Contains(strings.Join(v.Reasons, "\n"), c.says) {
				t.Errorf("%s: %v; want %s, %q", v.Decision, v.Reasons, c.want, c.says)
			}
			if other := all[1-i]; other.Decision != Accepted {
				t.Errorf("the other task is %s: %v", other.Decision, other.Reasons)
			}
			if len(v.Reasons) == 0 || c.want != Inconclusive && len(Rest(p, trials)) > 0 || c.want == Inconclusive && len(Rest(p, trials)) == 0 {
				t.Errorf("to run again: %v", Rest(p, trials))
			}
		})
	}
}

func TestRestNamesOnlyWhatIsOpen(t *testing.T) {
	p := usual()
	trials := slices.DeleteFunc(good(p), func(tr Trial) bool { return tr.Task == "full" && tr.Gate == Oracle && tr.Number > 6 })
	rest := Rest(p, trials)
	if len(rest) != 2 || rest[0].JobsDir != "oracle/full/rerun-07" || rest[1].JobsDir != "oracle/full/rerun-08" {
		t.Errorf("rest = %+v", rest)
	}
}

func TestBandPassRate(t *testing.T) {
	p := usual()
	for _, v := range Judge(p, good(p)) {
		if v.PassRate == nil || *v.PassRate != 0.5 {
			t.Errorf("%s: %v", v.Task, v.PassRate)
		}
	}
	for _, v := range Judge(p, nil) {
		if v.PassRate != nil {
			t.Errorf("%s has a pass rate without attempts", v.Task)
		}
	}
}

// TestWithoutABand judges the controls alone, as a machine without the model can.
func TestWithoutABand(t *testing.T) {
	p := plan(Options{ControlsReruns: 2})
	all := Judge(p, good(p))
	if all[1].Decision != Accepted || all[0].Decision != Inconclusive || !strings.Contains(all[0].Reasons[0], "no attempt of the base model is planned") {
		t.Errorf("%+v", all)
	}
}

func TestCollectTakesTheNewestHealthyTrial(t *testing.T) {
	p := plan(Options{ControlsReruns: 1, BandAttempts: 2})
	first := Trial{Task: "full", Reward: n(0), Finished: "1"}
	again := Trial{Task: "full", Reward: n(1), Finished: "2"}
	lost := Trial{Task: "full", Error: "lost", Finished: "3"}
	lostEarlier := Trial{Task: "full", Error: "lost earlier", Finished: "0"}
	other := Trial{Task: "else", Reward: n(1), Finished: "9"}
	for _, c := range []struct {
		found []Trial
		want  *Trial
	}{
		{nil, nil},
		{[]Trial{other}, nil},
		{[]Trial{again, first, lost, other}, &again},
		{[]Trial{lostEarlier, lost}, &lost},
		{[]Trial{lost, lostEarlier}, &lost},
		{[]Trial{lost, first}, &first},
	} {
		r, err := Collect(p, func(dir string) ([]Trial, error) {
			if dir == "oracle/full/rerun-01" {
				return c.found, nil
			}
			return nil, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if c.want == nil {
			if len(r.Trials) != 0 {
				t.Errorf("%v gives %v", c.found, r.Trials)
			}
			continue
		}
		want := *c.want
		want.Gate, want.Number = Oracle, 1
		if len(r.Trials) != 1 || !reflect.DeepEqual(r.Trials[0], want) {
			t.Errorf("%v gives %v, want %v", c.found, r.Trials, want)
		}
	}
}

// TestMoreTrialsNeverReopen draws trials at random: taking some away may leave a task open, and never decides it the
// other way, except that a rejection may have been among them.
func TestMoreTrialsNeverReopen(t *testing.T) {
	p := plan(Options{ControlsReruns: 3, BandAttempts: 3})
	rapid.Check(t, func(t *rapid.T) {
		trials := good(p)
		for i := range trials {
			switch rapid.IntRange(0, 11).Draw(t, "what") {
			case 0:
				trials[i].Reward = n(0)
			case 1:
				trials[i].Reward = n(1)
			case 2:
				trials[i].Reward, trials[i].Error = nil, "lost"
			}
		}
		whole := Judge(p, trials)
		part := Judge(p, slices.DeleteFunc(slices.Clone(trials), func(Trial) bool { return rapid.IntRange(0, 3).Draw(t, "drop") == 0 }))
		for i, v := range part {
			if v.Decision == Rejected && whole[i].Decision == Inconclusive || v.Decision == Accepted && whole[i].Decision == Inconclusive {
				t.Fatalf("%s was %s with a part of the trials and is open with all", v.Task, v.Decision)
			}
			if v.Decision == Accepted && whole[i].Decision != Accepted {
				t.Fatalf("%s was accepted with a part of the trials and is %s with all", v.Task, whole[i].Decision)
			}
		}
	})
}

func FuzzJudge(f *testing.F) {
	p := plan(Options{ControlsReruns: 1, BandAttempts: 2})
	raw, err := json.Marshal(good(p))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte(`[{"task":"full","gate":"oracle","n":1,"reward":1e308,"error":"` + "\x00" + `"}]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var trials []Trial
		if json.Unmarshal(raw, &trials) != nil {
			return
		}
		for _, v := range Judge(p, trials) {
			if len(v.Reasons) == 0 || !slices.Contains([]Decision{Accepted, Rejected, Inconclusive}, v.Decision) {
				t.Fatalf("%+v", v)
			}
		}
		Rest(p, trials)
	})
}
