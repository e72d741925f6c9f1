package simulated_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/jobs"
	"github.com/posttrainarena/arena/protocol/jobs/simulated"
)

// golden compares a text with a file under testdata, or writes it there when
// ARENA_UPDATE is 1.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("ARENA_UPDATE") == "1" {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s differs (-want +got); if the change is wanted, run the test with ARENA_UPDATE=1:\n%s", path, diff)
	}
}

func TestTheLogOfARun(t *testing.T) { golden(t, "run.log", text(play(simulated.FaultNone))) }

func TestTheUploadsOfARun(t *testing.T) {
	s := play(simulated.FaultNone)
	var b strings.Builder
	files := s.Files()
	for _, path := range uploads(s, "") {
		fmt.Fprintf(&b, "%6d %s\n", len(files[path]), path)
	}
	for _, path := range uploads(s, "reports/") {
		fmt.Fprintf(&b, "\n-- %s --\n%s", path, files[path])
	}
	golden(t, "run.files", b.String())
}

func TestAPlayHasEveryStageInOrder(t *testing.T) {
	s := play(simulated.FaultNone)
	at := -1
	for _, start := range []string{
		"pipeline ref ", "vllm up", "bridge up", "relay reachable via ",
		"[posttrainarena] snapshot_train_tasks: ", "[posttrainarena] snapshot_eval_tasks: ", "[posttrainarena] validate_task_content_isolation: ",
		"[posttrainarena] baseline_eval: ", "Job: 16 tasks, 0 done, 16 to run (concurrency=8)", "Job complete: ",
		"[posttrainarena] grpo_gate_eval: ", "Job: 12 tasks, 0 done, 12 to run (concurrency=8)", "Job complete: ",
		"[posttrainarena] sync_grpo_endpoint: ", "[posttrainarena] grpo_rollout_000000_00000", "{'loss': ", "{'loss': ",
		"[posttrainarena] posttrain_eval: ", "Job: 16 tasks", "Job complete: ",
		"[posttrainarena] compare_eval_lift: ", "TRAINER_EXIT=0",
	} {
		next := slices.IndexFunc(s.Lines[at+1:], func(l simulated.Line) bool { return strings.HasPrefix(l.Text, start) })
		if next < 0 {
			t.Fatalf("no line after line %d begins with %q in\n%s", at, start, text(s))
		}
		at += 1 + next
	}
	if at != len(s.Lines)-1 {
		t.Errorf("the log goes on after its end: %+v", s.Lines[at+1:])
	}
}

// genSpec draws a run of any size, with a recipe that any challenge may have.
func genSpec(t *rapid.T) jobs.Spec {
	s := spec(fmt.Sprintf("challenge-%012x", rapid.Uint32().Draw(t, "run")), size{
		train:  rapid.IntRange(1, 20).Draw(t, "train"),
		sealed: rapid.IntRange(1, 24).Draw(t, "sealed"),
		suites: rapid.IntRange(1, 2).Draw(t, "suites"),
		trials: rapid.IntRange(1, 3).Draw(t, "trials"),
	})
	r := &s.Simulation.Challenge.Recipe
	r.NumGenerations = rapid.IntRange(2, 9).Draw(t, "generations")
	r.RolloutAttempts = rapid.IntRange(1, 3).Draw(t, "attempts")
	r.GateTaskCount = rapid.IntRange(1, 12).Draw(t, "gate")
	r.MaxErrorFraction = rapid.SampledFrom([]float64{0, 0.1, 0.25}).Draw(t, "tolerance")
	r.Harness.Concurrency = rapid.IntRange(1, 16).Draw(t, "slots")
	r.RequireRewardVariance = rapid.Bool().Draw(t, "variance")
	s.Timeout = 1000 * time.Hour
	return s
}

var (
	verdictForm  = regexp.MustCompile(`^\[(PASS|FAIL|ERR)\] (\S+) \(tools=\d+\)(?: \((.*)\))?$`)
	completeForm = regexp.MustCompile(`^Job complete: (\d+)/(\d+) \(([0-9.]+)%\), errors=(\d+), idle_timeouts=0, time=([0-9.]+)min$`)
)

// read returns what the log says about tasks whose names begin with a prefix,
// by task: outcomes in the order of the log.
func read(s simulated.Script, prefix string) map[string][]protocol.Outcome {
	seen := map[string][]protocol.Outcome{}
	for _, l := range s.Lines {
		m := verdictForm.FindStringSubmatch(l.Text)
		if m == nil || !strings.HasPrefix(m[2], prefix) {
			continue
		}
		outcome := map[string]protocol.Outcome{"PASS": protocol.OutcomePass, "FAIL": protocol.OutcomeFail, "ERR": protocol.OutcomeError}[m[1]]
		if strings.HasPrefix(m[3], "Agent prompt exceeded wall-clock budget") {
			outcome = protocol.OutcomeTimeout
		}
		seen[m[2]] = append(seen[m[2]], outcome)
	}
	return seen
}

// scoreFile is the part of reports/score.json that tests read.
type scoreFile struct {
	Baseline float64 `json:"baseline_score"`
	After    float64 `json:"score_after_posttrain"`
	Delta    float64 `json:"delta_score"`
	V2       *struct {
		Delta    float64 `json:"delta_pp"`
		Paired   int     `json:"paired_cells"`
		Excluded int     `json:"excluded_cells"`
	} `json:"score_v2"`
}

// TestARunWithoutAFaultScoresAndAgreesWithItself draws runs of any size: each
// comes to its end, its log and its uploads say the same, and the report is the
// outcomes' own.
func TestARunWithoutAFaultScoresAndAgreesWithItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sp := genSpec(t)
		s := simulated.Play(sp, rapid.Uint64().Draw(t, "seed"), testStart(), simulated.FaultNone)
		if !s.Scored || s.Status != jobs.Completed {
			t.Fatalf("the run did not score:\n%s", text(s))
		}
		if !slices.IsSortedFunc(s.Lines, func(a, b simulated.Line) int { return int(a.Offset - b.Offset) }) {
			t.Fatal("the lines are not in order of time")
		}
		checkSealed(t, sp, s)
		checkReport(t, s)
		checkUploaded(t, sp, s)
	})
}

// checkSealed compares the log's verdicts with the outcomes: before and after,
// each trial exactly once.
func checkSealed(t *rapid.T, sp jobs.Spec, s simulated.Script) {
	trials := sp.Simulation.Challenge.Metric.TrialsPerRun
	logged := read(s, "sealed-")
	n := 0
	for suite, tasks := range sp.Simulation.Sealed {
		for _, task := range tasks {
			n++
			sides := s.Outcomes[suite]
			want := slices.Concat(sides[simulated.SideBefore][task], sides[simulated.SideAfter][task])
			if len(want) != 2*trials || !slices.Equal(logged[task], want) {
				t.Fatalf("task %s of suite %s: the log says %v, the outcomes %v; want %d trials a side", task, suite, logged[task], want, trials)
			}
		}
	}
	if n != len(logged) {
		t.Fatalf("the log has verdicts for %d sealed tasks of %d", len(logged), n)
	}
}

// checkReport computes the report's numbers from the uploaded outcomes.
func checkReport(t *rapid.T, s simulated.Script) {
	var score scoreFile
	var uploaded struct{ Suites simulated.Outcomes }
	reports := s.Files()
	if err := json.Unmarshal(reports["reports/score.json"], &score); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(reports["reports/eval_task_outcomes.json"], &uploaded); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s.Outcomes, uploaded.Suites); diff != "" {
		t.Fatalf("the uploaded outcomes are not those of the play:\n%s", diff)
	}
	var before, after, cells, paired, change int
	for _, sides := range s.Outcomes {
		for task, trials := range sides[simulated.SideBefore] {
			for i, b := range trials {
				a := sides[simulated.SideAfter][task][i]
				cells++
				before += number(b.Passed())
				after += number(a.Passed())
				if a != protocol.OutcomeError && b != protocol.OutcomeError {
					paired++
					change += number(a.Passed()) - number(b.Passed())
				}
			}
		}
	}
	near := func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }
	b, a := float64(before)/float64(cells), float64(after)/float64(cells)
	if !near(score.Baseline, b) || !near(score.After, a) || !near(score.Delta, a-b) {
		t.Fatalf("the report says %+v; the outcomes %v and %v", score, b, a)
	}
	if v2 := score.V2; v2 != nil {
		if v2.Paired != paired || v2.Excluded != cells-paired || !near(v2.Delta, 100*float64(change)/float64(max(1, paired))) {
			t.Fatalf("score_v2 is %+v; want %d paired of %d cells with a change of %d", *v2, paired, cells, change)
		}
	}
}

// checkUploaded compares the uploaded attempts with the log's verdicts on
// training tasks, outcome by outcome.
func checkUploaded(t *rapid.T, sp jobs.Spec, s simulated.Script) {
	made := map[string][]protocol.Outcome{}
	for path, data := range s.Files() {
		if filepath.Base(path) != "result.json" {
			continue
		}
		var r struct {
			Task    string              `json:"task_name"`
			Rewards *map[string]float64 `json:"rewards"`
			Error   *string             `json:"error"`
		}
		if err := json.Unmarshal(data, &r); err != nil {
			t.Fatal(err)
		}
		outcome := protocol.OutcomeFail
		switch {
		case r.Rewards == nil:
			outcome = protocol.OutcomeError
		case r.Error != nil:
			outcome = protocol.OutcomeTimeout
		case (*r.Rewards)["reward"] == 1:
			outcome = protocol.OutcomePass
		}
		made[r.Task] = append(made[r.Task], outcome)
	}
	logged := read(s, "tidy-")
	for _, all := range []map[string][]protocol.Outcome{made, logged} {
		for _, outcomes := range all {
			slices.Sort(outcomes)
		}
	}
	if diff := cmp.Diff(logged, made); diff != "" {
		t.Fatalf("log and uploads disagree about training tasks (-log +uploads):\n%s", diff)
	}
	if n, want := len(logged), min(sp.Simulation.Challenge.Recipe.GateTaskCount, len(sp.Simulation.Train)); n < want || n > want+1 {
		t.Fatalf("the log has verdicts on %d training tasks; want the %d of the gate and perhaps the group's", n, want)
	}
}

// number is 1 for true.
func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestAnEvaluationCountsItsVerdicts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := simulated.Play(genSpec(t), rapid.Uint64().Draw(t, "seed"), testStart(), simulated.FaultNone)
		counts := map[string]int{}
		for _, l := range s.Lines {
			if strings.HasPrefix(l.Text, "Job: ") {
				clear(counts)
			} else if m := verdictForm.FindStringSubmatch(l.Text); m != nil {
				counts[m[1]]++
				counts["all"]++
			} else if m := completeForm.FindStringSubmatch(l.Text); m != nil {
				got := fmt.Sprint(counts["PASS"], "/", counts["all"], " errors ", counts["ERR"])
				if want := m[1] + "/" + m[2] + " errors " + m[4]; strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") {
					t.Fatalf("%q closes an evaluation with %s", l.Text, got)
				}
			}
		}
	})
}

func TestTheSameArgumentsGiveTheSamePlay(t *testing.T) {
	sp := spec(testRun, size{train: 20, sealed: 12, suites: 2, trials: 2})
	for _, fault := range append(simulated.Faults(), simulated.FaultNone) {
		a, b := simulated.Play(sp, testSeed, testStart(), fault), simulated.Play(sp, testSeed, testStart(), fault)
		if text(a) != text(b) || a.Status != b.Status || a.Ends != b.Ends || !maps.EqualFunc(a.Files(), b.Files(), bytes.Equal) {
			t.Errorf("two plays with the fault %q differ:\n%s\n%s", fault, text(a), text(b))
		}
	}
}

func TestAnotherSeedOrRunGivesAnotherPlay(t *testing.T) {
	sp := spec(testRun, size{train: 12, sealed: 16})
	base := text(simulated.Play(sp, testSeed, testStart(), simulated.FaultNone))
	if base == text(simulated.Play(sp, testSeed+1, testStart(), simulated.FaultNone)) {
		t.Error("another seed gives the same log")
	}
	sp.Run = "challenge-ba9876543210"
	other := text(simulated.Play(sp, testSeed, testStart(), simulated.FaultNone))
	if base == strings.ReplaceAll(other, sp.Run, testRun) {
		t.Error("another run gives the same log")
	}
}

func TestEveryRunOfARevisionTrainsOnOneTask(t *testing.T) {
	tasks := map[string]bool{}
	marker := regexp.MustCompile(`grpo_rollout_.*--task-id (\S+)`)
	for i := range 20 {
		s := simulated.Play(spec(fmt.Sprintf("challenge-%012d", i), size{train: 12, sealed: 4}), testSeed, testStart(), simulated.FaultNone)
		for _, line := range matching(s, "grpo_rollout_") {
			tasks[marker.FindStringSubmatch(line)[1]] = true
		}
	}
	if len(tasks) != 1 {
		t.Errorf("twenty runs of one revision trained on %v", tasks)
	}
}

func TestSolveRates(t *testing.T) {
	names := make([]string, 2000)
	for i := range names {
		names[i] = fmt.Sprintf("tidy-%04d", i)
	}
	never := 0
	for task, rate := range simulated.SolveRates(testSeed, "r1", names) {
		switch {
		case rate == 0:
			never++
		case rate < 0.15 || rate >= 0.95:
			t.Errorf("the rate of %s is %v", task, rate)
		}
	}
	// 45% of 2,000 is 900; five standard deviations are 111.
	if never < 789 || never > 1011 {
		t.Errorf("%d of 2,000 tasks are never solved; want about 900", never)
	}

	rapid.Check(t, func(t *rapid.T) {
		few := names[:rapid.IntRange(1, 4).Draw(t, "tasks")]
		rates := simulated.SolveRates(rapid.Uint64().Draw(t, "seed"), "r2", few)
		if !slices.ContainsFunc(few, func(task string) bool { return rates[task] > 0 }) {
			t.Fatalf("no task of %v is ever solved", rates)
		}
	})
}

// FuzzPlay plays specs that no challenge has.
func FuzzPlay(f *testing.F) {
	f.Add("challenge-0123456789ab", "tidy-001", "sealed-001", 8, 2, uint64(1))
	f.Add("", "", "", 0, 0, uint64(0))
	f.Fuzz(func(t *testing.T, run, train, sealed string, slots, trials int, seed uint64) {
		s := spec(run, size{})
		s.Simulation.Train = strings.Fields(train)
		s.Simulation.Sealed = map[string][]string{"vault-1": strings.Fields(sealed), "%s": {"%d"}}
		s.Simulation.Challenge.Metric.TrialsPerRun = trials % 4
		s.Simulation.Challenge.Recipe = protocol.Recipe{Harness: protocol.Harness{Concurrency: slots % 64}}
		for _, fault := range append(simulated.Faults(), simulated.FaultNone) {
			script := simulated.Play(s, seed, testStart(), fault)
			if script.Ends < script.Begins || len(script.Lines) == 0 && script.Status != jobs.Deleted {
				t.Errorf("fault %q: the play ends at %v after %d lines", fault, script.Ends, len(script.Lines))
			}
		}
	})
}

func BenchmarkPlay(b *testing.B) {
	s := spec(testRun, size{train: 50, sealed: 87})
	for b.Loop() {
		simulated.Play(s, testSeed, testStart(), simulated.FaultNone)
	}
}

func BenchmarkFiles(b *testing.B) {
	s := simulated.Play(spec(testRun, size{train: 50, sealed: 87}), testSeed, testStart(), simulated.FaultNone)
	for b.Loop() {
		s.Files()
	}
}
