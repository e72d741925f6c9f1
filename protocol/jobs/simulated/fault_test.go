package simulated_test

import (
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/protocol/jobs"
	"github.com/posttrainarena/arena/protocol/jobs/simulated"
)

func TestParsePlan(t *testing.T) {
	for text, want := range map[string]simulated.Plan{
		"":                           nil,
		" , ":                        nil,
		"stage=baseline":             {{Fault: simulated.FaultBaseline}},
		"refuse@1":                   {{Fault: simulated.FaultRefuse, Start: 1}},
		"lost-reply@2, stage=gate@3": {{Fault: simulated.FaultLostReply, Start: 2}, {Fault: simulated.FaultGate, Start: 3}},
	} {
		got, err := simulated.ParsePlan(text)
		if err != nil {
			t.Errorf("ParsePlan(%q): %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("ParsePlan(%q) (-want +got):\n%s", text, diff)
		}
	}
	for text, hint := range map[string]string{
		"stage=collect": "use one of refuse, lost-reply,",
		"Refuse":        "use one of",
		"refuse@":       "write refuse@1",
		"refuse@0":      "write refuse@1",
		"refuse@1@2":    "write refuse@1",
	} {
		if _, err := simulated.ParsePlan(text); err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("ParsePlan(%q): %v; want the hint %q", text, err, hint)
		}
	}
}

// FuzzParsePlan: what parses means the same after it was written and read again.
func FuzzParsePlan(f *testing.F) {
	f.Add("refuse@1,stage=baseline")
	f.Add("gone@99999999999999999999,,")
	f.Fuzz(func(t *testing.T, text string) {
		plan, err := simulated.ParsePlan(text)
		if err != nil {
			return
		}
		again, err := simulated.ParsePlan(plan.String())
		if err != nil || !slices.Equal(plan, again) {
			t.Errorf("%q parsed as %v, written as %q and parsed as %v, %v", text, plan, plan.String(), again, err)
		}
	})
}

// TestFaultsOfTheJob: each fault ends the job its own way, in its own stage,
// and uploads what a real job of that kind would have.
func TestFaultsOfTheJob(t *testing.T) {
	for _, c := range []struct {
		fault     simulated.Fault
		status    jobs.Status
		marker    string // the last stage marker
		last      string // a pattern of the last lines, joined by |
		gate      bool   // gate attempts are uploaded
		training  bool   // training attempts are uploaded
		report    bool
		outcomes  bool
		completed bool
	}{
		{fault: simulated.FaultSetup, status: jobs.Failed, marker: "", last: `^VLLM_FAILED\|TRAINER_EXIT=1$`},
		{fault: simulated.FaultSnapshot, status: jobs.Failed, marker: "snapshot_train_tasks", last: `^RuntimeError: bench tasks snapshot-hf failed with exit code 1\|TRAINER_EXIT=1$`},
		{fault: simulated.FaultBaseline, status: jobs.Failed, marker: "baseline_eval", last: `^RuntimeError: OpenCode evaluation contains agent or verifier errors \([34] > 2 tolerated\)\|TRAINER_EXIT=1$`},
		{fault: simulated.FaultGate, status: jobs.Failed, marker: "grpo_gate_eval", gate: true, last: `^RuntimeError: OpenCode evaluation contains agent or verifier errors \([34] > 2 tolerated\)\|TRAINER_EXIT=1$`},
		{fault: simulated.FaultRollout, status: jobs.Failed, marker: "grpo_rollout_", gate: true, training: true, last: `^RuntimeError: OpenCode GRPO rollout failed for tidy-\d+ after 2 attempts\|TRAINER_EXIT=1$`},
		{fault: simulated.FaultZeroVariance, status: jobs.Failed, marker: "grpo_rollout_", gate: true, training: true, last: `^RuntimeError: GRPO produced zero within-group reward variance; .*\|TRAINER_EXIT=1$`},
		{fault: simulated.FaultHeldout, status: jobs.Failed, marker: "posttrain_eval", gate: true, training: true, last: `^RuntimeError: OpenCode evaluation contains .* tolerated\)\|TRAINER_EXIT=1$`},
		{fault: simulated.FaultNoReport, status: jobs.Completed, marker: "compare_eval_lift", gate: true, training: true, last: `\|TRAINER_EXIT=0$`},
		{fault: simulated.FaultWrongReport, status: jobs.Completed, marker: "compare_eval_lift", gate: true, training: true, report: true, outcomes: true, last: `\|TRAINER_EXIT=0$`},
		{fault: simulated.FaultNoOutcomes, status: jobs.Completed, marker: "compare_eval_lift", gate: true, training: true, report: true, last: `\|TRAINER_EXIT=0$`},
		{fault: simulated.FaultMissingOutcomes, status: jobs.Completed, marker: "compare_eval_lift", gate: true, training: true, report: true, outcomes: true, last: `\|TRAINER_EXIT=0$`},
		{fault: simulated.FaultJobTimeout, status: jobs.TimedOut, marker: "posttrain_eval", last: `^Job: 16 tasks.*\|\[`},
		{fault: simulated.FaultDeleted, status: jobs.Deleted, marker: "grpo_gate_eval", last: `\|\[`},
		{fault: simulated.FaultGone, status: jobs.Completed, marker: "compare_eval_lift", gate: true, training: true, report: true, outcomes: true, last: `\|TRAINER_EXIT=0$`},
	} {
		t.Run(string(c.fault), func(t *testing.T) {
			s := play(c.fault)
			if s.Status != c.status || s.Scored != (c.status == jobs.Completed) {
				t.Errorf("the job ended as %s (%s), scored %v; want %s", s.Status, s.Message, s.Scored, c.status)
			}
			n := len(s.Lines)
			if ends := s.Lines[n-2].Text + "|" + s.Lines[n-1].Text; !regexp.MustCompile(c.last).MatchString(ends) {
				t.Errorf("the log ends with %q; want %s", ends, c.last)
			}
			if marker := lastMarker(s); marker != c.marker && !(c.marker == "grpo_rollout_" && strings.HasPrefix(marker, c.marker)) {
				t.Errorf("the last marker is %q; want %q", marker, c.marker)
			}
			for path, want := range map[string]bool{
				"jobs/grpo-gate/": c.gate, "jobs/grpo-train/": c.training,
				"reports/score.json": c.report, "reports/eval_task_outcomes.json": c.outcomes,
			} {
				if got := len(uploads(s, path)) > 0; got != want {
					t.Errorf("uploaded %s: %v; want %v", path, got, want)
				}
			}
		})
	}
}

// lastMarker returns the name in the log's last stage marker.
func lastMarker(s simulated.Script) string {
	found := matching(s, "[posttrainarena] ")
	if len(found) == 0 {
		return ""
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(found[len(found)-1], "[posttrainarena] "), ":")
	return name
}

func TestAFaultLeavesEarlierStagesAsTheyWere(t *testing.T) {
	healthy := text(play(simulated.FaultNone))
	faulty := text(play(simulated.FaultGate))
	before, _, _ := strings.Cut(healthy, "[posttrainarena] grpo_gate_eval")
	if !strings.HasPrefix(faulty, before) {
		t.Errorf("a fault in the gate changed the log before it:\n%s", cmp.Diff(strings.Split(healthy, "\n"), strings.Split(faulty, "\n")))
	}
}

func TestAFaultStopsAlsoTheSmallestSuite(t *testing.T) {
	for _, fault := range []simulated.Fault{simulated.FaultBaseline, simulated.FaultGate, simulated.FaultHeldout} {
		s := simulated.Play(spec(testRun, size{train: 1, sealed: 1}), testSeed, testStart(), fault)
		if s.Scored {
			t.Errorf("%s with one task: the run scored", fault)
		}
	}
}

func TestAFailedRolloutLeavesItsErrors(t *testing.T) {
	s := play(simulated.FaultRollout)
	var wrong []string
	for _, path := range uploads(s, "jobs/grpo-train/") {
		if !strings.HasSuffix(path, "/rollout_error.json") {
			continue
		}
		var failure struct {
			Attempt int    `json:"attempt"`
			Error   string `json:"error"`
			Type    string `json:"error_type"`
		}
		if err := json.Unmarshal(s.Files()[path], &failure); err != nil || failure.Error == "" || failure.Type != "RuntimeError" || failure.Attempt == 0 {
			t.Errorf("%s: %+v, %v", path, failure, err)
		}
		wrong = append(wrong, path)
	}
	if !slices.ContainsFunc(wrong, func(path string) bool { return strings.Contains(path, "/attempt-02/") }) {
		t.Errorf("no rollout failed twice: %v", wrong)
	}
}

func TestTamperedReports(t *testing.T) {
	honest, lying := play(simulated.FaultNone), play(simulated.FaultWrongReport)
	if text(honest) != text(lying) || cmp.Diff(honest.Outcomes, lying.Outcomes) != "" {
		t.Error("a tampered report changed what happened")
	}
	var a, b scoreFile
	if err := errors.Join(json.Unmarshal(honest.Files()["reports/score.json"], &a), json.Unmarshal(lying.Files()["reports/score.json"], &b)); err != nil {
		t.Fatal(err)
	}
	if a.Baseline != b.Baseline || a.After == b.After || b.Delta != b.After-b.Baseline {
		t.Errorf("the honest report is %+v, the tampered one %+v; want another score after training, in itself consistent", a, b)
	}

	short := play(simulated.FaultMissingOutcomes)
	var uploaded struct{ Suites simulated.Outcomes }
	if err := json.Unmarshal(short.Files()["reports/eval_task_outcomes.json"], &uploaded); err != nil {
		t.Fatal(err)
	}
	sides := uploaded.Suites["vault-1"]
	if len(sides[simulated.SideBefore]) != 16 || len(sides[simulated.SideAfter]) != 15 || len(short.Outcomes["vault-1"][simulated.SideAfter]) != 16 {
		t.Errorf("%d and %d outcomes were uploaded; want one of 16 missing after training", len(sides[simulated.SideBefore]), len(sides[simulated.SideAfter]))
	}
}

// TestFaultsOfStart: what the caller learns, and what exists afterwards.
func TestFaultsOfStart(t *testing.T) {
	for _, c := range []struct {
		plan string
		err  error
		jobs int
	}{
		{"refuse", jobs.ErrRefused, 0},
		{"timeout-before", jobs.ErrUnknown, 0},
		{"lost-reply", jobs.ErrUnknown, 1},
		{"kill-before-start", jobs.ErrUnknown, 0},
		{"kill-after-start", jobs.ErrUnknown, 1},
	} {
		t.Run(c.plan, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir, killed := t.TempDir(), 0
				count := func() int {
					found, err := open(t, dir, nil).Find(t.Context(), testRun)
					if err != nil {
						t.Fatal(err)
					}
					return len(found)
				}
				p := open(t, dir, func(o *simulated.Options) {
					o.Fault = parse(t, c.plan+"@1")
					o.Kill = func() {
						// This is all that a new process would find.
						if got := count(); got != c.jobs {
							t.Errorf("at the moment of the kill there are %d jobs; want %d", got, c.jobs)
						}
						killed++
					}
				})
				if _, err := p.Start(t.Context(), spec(testRun, size{train: 2, sealed: 2})); !errors.Is(err, c.err) {
					t.Errorf("Start: %v; want %v", err, c.err)
				}
				if got := count(); got != c.jobs {
					t.Errorf("%d jobs exist; want %d", got, c.jobs)
				}
				if want := strings.HasPrefix(c.plan, "kill"); (killed == 1) != want {
					t.Errorf("killed %d times", killed)
				}

				// The plan was for the first Start, also across a restart.
				p = open(t, dir, func(o *simulated.Options) { o.Fault = parse(t, c.plan+"@1") })
				if _, err := p.Start(t.Context(), spec(testRun, size{train: 2, sealed: 2})); err != nil {
					t.Errorf("the second Start: %v", err)
				}
				if got := count(); got != c.jobs+1 {
					t.Errorf("after a second Start %d jobs exist; want %d", got, c.jobs+1)
				}
			})
		})
	}
}

func TestAnUnreachableServiceComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, t.TempDir(), func(o *simulated.Options) { o.Fault = parse(t, "unreachable") })
		job := start(t, p)
		var head []jobs.Line
		var failed error
		for line, err := range p.Logs(t.Context(), job.ID, 0) {
			if failed = err; err == nil {
				head = append(head, line)
			}
		}
		if !errors.Is(failed, jobs.ErrUnreachable) {
			t.Fatalf("the log ended with %v; want ErrUnreachable", failed)
		}
		if _, err := p.Inspect(t.Context(), job.ID); !errors.Is(err, jobs.ErrUnreachable) {
			t.Errorf("Inspect: %v; want ErrUnreachable", err)
		}
		time.Sleep(time.Hour / simulated.DefaultSpeed)
		tail := follow(t, p, job.ID, head[len(head)-1].Position)
		if want := len(play(simulated.FaultNone).Lines); len(head)+len(tail) != want {
			t.Errorf("%d and %d lines around the gap; want %d in all", len(head), len(tail), want)
		}
		if ended := inspect(t, p, job.ID); ended.Status != jobs.Completed {
			t.Errorf("the job ended as %+v", ended)
		}
	})
}

func TestAServiceThatForgetsAJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, t.TempDir(), func(o *simulated.Options) { o.Fault = parse(t, "gone@1") })
		job := start(t, p)
		var failed error
		for _, err := range p.Logs(t.Context(), job.ID, 0) {
			failed = err
		}
		_, inspect := p.Inspect(t.Context(), job.ID)
		found, find := p.Find(t.Context(), testRun)
		if !errors.Is(failed, jobs.ErrNoJob) || !errors.Is(inspect, jobs.ErrNoJob) || find != nil || len(found) != 0 {
			t.Errorf("Logs: %v, Inspect: %v, Find: %v, %v; want ErrNoJob and nothing found", failed, inspect, found, find)
		}
	})
}

func TestADeletedJobHasNoUploads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, t.TempDir(), func(o *simulated.Options) { o.Fault = parse(t, "deleted") })
		job := start(t, p)
		follow(t, p, job.ID, 0)
		if ended := inspect(t, p, job.ID); ended.Status != jobs.Deleted || ended.Billed <= 0 {
			t.Errorf("the job ended as %+v", ended)
		}
	})
}

func TestATimedOutJobIsBilledItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, t.TempDir(), func(o *simulated.Options) { o.Fault = parse(t, "job-timeout") })
		job := start(t, p)
		follow(t, p, job.ID, 0)
		ended := inspect(t, p, job.ID)
		if ended.Status != jobs.TimedOut || ended.Billed != 8*time.Hour {
			t.Errorf("the job ended as %+v; want it timed out and billed 8 hours", ended)
		}
		if wall := ended.EndedAt.Sub(ended.StartedAt); wall != 8*time.Hour/simulated.DefaultSpeed {
			t.Errorf("the job took %v", wall)
		}
	})
}

// TestLogsThatLie: the faults of delivery lose nothing and repeat or swap whole
// chunks.
func TestLogsThatLie(t *testing.T) {
	want := play(simulated.FaultNone).Lines
	for plan, lies := range map[string]func(positions []int64) bool{
		"duplicate-log": func(p []int64) bool { return len(p) == 2*len(want) },
		"reorder-log":   func(p []int64) bool { return len(p) == len(want) && p[0] == 9 && p[8] == 1 },
		"duplicate-log,reorder-log": func(p []int64) bool {
			return len(p) == 2*len(want) && p[0] == 9 && p[8] == 9 && p[16] == 1
		},
	} {
		t.Run(plan, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := open(t, t.TempDir(), func(o *simulated.Options) { o.Fault = parse(t, plan) })
				lines := follow(t, p, start(t, p).ID, 0)
				var positions []int64
				texts := map[int64]string{}
				for _, l := range lines {
					positions = append(positions, l.Position)
					texts[l.Position] = l.Text
				}
				if !lies(positions) {
					t.Errorf("positions: %v", positions)
				}
				for i, l := range want {
					if texts[int64(i)+1] != l.Text {
						t.Errorf("position %d is %q; want %q", i+1, texts[int64(i)+1], l.Text)
					}
				}
			})
		})
	}
}

func TestManyStartsAtOnceMakeAsManyJobs(t *testing.T) {
	dir := t.TempDir()
	// Two providers on one directory, as when an old process has not yet died.
	providers := []*simulated.Provider{open(t, dir, nil), open(t, dir, nil)}
	ids := make(chan string)
	for i := range 64 {
		go func() {
			job, err := providers[i%2].Start(t.Context(), spec(testRun, size{train: 2, sealed: 2}))
			if err != nil {
				t.Errorf("Start: %v", err)
			}
			ids <- job.ID
		}()
	}
	seen := map[string]bool{}
	for range 64 {
		seen[<-ids] = true
	}
	found, err := providers[0].Find(t.Context(), testRun)
	if err != nil || len(found) != 64 || len(seen) != 64 {
		t.Errorf("64 Starts made %d ids and %d jobs, %v", len(seen), len(found), err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 64 {
		t.Errorf("the directory has %d entries, %v; want 64", len(entries), err)
	}
}
