package joblog_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/joblog"
)

// The tasks of the logs under testdata/logs.
func sealed() []string {
	return []string{"bake-index", "chart-tides", "fold_maps", "mend-clock", "sort-ledger", "trim__reel"}
}

func train() []string { return []string{"count-seeds", "label-jars", "press-flowers", "wind-yarn"} }

func start() time.Time { return time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC) }

// expectation is what the arena knows about the run of testdata/logs.
func expectation(t testing.TB) joblog.Expect {
	t.Helper()
	known := func(stage protocol.Stage, text string, class protocol.FaultClass) joblog.KnownIssue {
		return joblog.KnownIssue{Stage: stage, Pattern: regexp.MustCompile(text), Class: class, Sentence: "About " + text, Advice: "Advice on " + text}
	}
	return joblog.Expect{
		Tasks: map[protocol.Stage][]string{
			protocol.StageBaseline: sealed(), protocol.StageHeldout: sealed(),
			protocol.StageGate: train(), protocol.StageTraining: train(),
		},
		Known: []joblog.KnownIssue{
			known(protocol.StageSetup, "VLLM_FAILED", protocol.FaultPlatform),
			known(protocol.StageSnapshot, `snapshot-hf failed with exit code \d+`, protocol.FaultPlatform),
			known("", "LiteLLM proxy failed", protocol.FaultPlatform),
			known("", "ACP initialize timed out", protocol.FaultPlatform),
			known("", "Daytona", protocol.FaultPlatform),
			known(protocol.StageTraining, "zero within-group reward variance", protocol.FaultCollection),
			known(protocol.StageTraining, "OpenCode GRPO rollout failed", protocol.FaultCollection),
		},
	}
}

// reading is everything that a state says, as the golden files show it.
type reading struct {
	Stage    protocol.Stage
	Reason   string
	Fault    protocol.FaultClass
	Sentence string
	Advice   string
	Exit     *int
	Progress protocol.Progress
}

func read(s *joblog.State) reading {
	r := reading{Stage: s.Stage(), Reason: s.Reason(), Fault: s.Fault(), Progress: s.Progress()}
	if code, seen := s.TrainerExit(); seen {
		r.Exit = &code
	}
	if issue, ok := s.Issue(); ok {
		r.Sentence, r.Advice = issue.Sentence, issue.Advice
	}
	return r
}

// lines splits a log as a provider does: at line feeds only.
func lines(log []byte) [][]byte {
	return bytes.Split(bytes.TrimSuffix(log, []byte("\n")), []byte("\n"))
}

// fold feeds lines, ten seconds apart, from the n-th line of the log on.
func fold(s *joblog.State, n int, log [][]byte) *joblog.State {
	for i, l := range log {
		s.Fold(start().Add(time.Duration(n+i)*10*time.Second), l)
	}
	return s
}

func logs(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob("testdata/logs/*.log")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no logs under testdata: %v", err)
	}
	all := map[string][]byte{}
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(p), ".log")] = b
	}
	return all
}

// Each log under testdata/logs has a golden file with what the arena makes of it.
func TestLogs(t *testing.T) {
	for name, log := range logs(t) {
		t.Run(name, func(t *testing.T) {
			got, err := json.MarshalIndent(read(fold(joblog.New(expectation(t)), 0, lines(log))), "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			golden := filepath.Join("testdata", "logs", name+".json")
			if os.Getenv("ARENA_UPDATE") == "1" {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), string(got)); d != "" {
				t.Errorf("%s (-want +got):\n%s", golden, d)
			}
		})
	}
}

// A state saved after any line and loaded again goes on as if nothing happened.
func TestResumeAtEveryLine(t *testing.T) {
	for name, log := range logs(t) {
		all := lines(log)
		want := fold(joblog.New(expectation(t)), 0, all).Save()
		for cut := range len(all) + 1 {
			first := fold(joblog.New(expectation(t)), 0, all[:cut])
			second, err := joblog.Load(expectation(t), first.Save())
			if err != nil {
				t.Fatalf("%s, after line %d: %v", name, cut, err)
			}
			if d := cmp.Diff(read(first), read(second)); d != "" {
				t.Fatalf("%s, after line %d, loaded state (-saved +loaded):\n%s", name, cut, d)
			}
			if got := fold(second, cut, all[cut:]).Save(); !bytes.Equal(got, want) {
				t.Fatalf("%s resumed after line %d ends in another state:\n%s\n%s", name, cut, got, want)
			}
		}
	}
}

// A log that ends at any byte leaves every count of the lines before it in
// place, and what is resumed from the last whole line ends like the whole log.
func TestCutAtEveryByte(t *testing.T) {
	for _, name := range []string{"scored", "noisy"} {
		all := lines(logs(t)[name])
		want := fold(joblog.New(expectation(t)), 0, all).Save()
		s := joblog.New(expectation(t))
		for n, line := range all {
			saved, before := s.Save(), s.Progress()
			load := func() *joblog.State {
				s, err := joblog.Load(expectation(t), saved)
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			for cut := range line {
				partial := load()
				partial.Fold(start(), line[:cut])
				after := partial.Progress()
				for i, st := range before.Stages {
					if a := after.Stages[i]; a.Done < st.Done || a.Passed < st.Passed || a.Failed < st.Failed || a.Errors < st.Errors {
						t.Fatalf("%s cut in line %d at byte %d: %+v became %+v", name, n+1, cut, st, a)
					}
				}
			}
			if got := fold(load(), n, all[n:]).Save(); !bytes.Equal(got, want) {
				t.Fatalf("%s cut in line %d and resumed ends in another state", name, n+1)
			}
			fold(s, n, all[n:n+1])
		}
	}
}

// No verdict of an evaluation counts twice, whatever a reconnect repeats, and the
// run does not seem to go back.
func TestRepeatedChunks(t *testing.T) {
	log := lines(logs(t)["scored"])
	want := read(fold(joblog.New(expectation(t)), 0, log))
	rapid.Check(t, func(r *rapid.T) {
		s := joblog.New(expectation(t))
		done, reached := 0, -1
		for done < len(log) {
			from := rapid.IntRange(max(0, done-20), done).Draw(r, "from")
			to := rapid.IntRange(done+1, len(log)).Draw(r, "to")
			fold(s, from, log[from:to])
			done = to
			if at := s.Stage().Index(); at < reached {
				r.Fatalf("the stage went back from %d to %d", reached, at)
			} else {
				reached = at
			}
		}
		for i, st := range s.Progress().Stages {
			want := want.Progress.Stages[i]
			if st.Stage == protocol.StageTraining {
				continue // a repeated rollout marker looks like another attempt
			}
			if st.Passed != want.Passed || st.Failed != want.Failed || st.Errors != want.Errors || st.Timeouts != want.Timeouts || st.Done != want.Done {
				r.Fatalf("%s: got %+v, want the counts of %+v", st.Stage, st, want)
			}
		}
		if steps := s.Progress().Training; len(steps) != len(want.Progress.Training) {
			r.Fatalf("%d training steps, want %d", len(steps), len(want.Progress.Training))
		}
	})
}

// Whatever order lines come in, no stage has more attempts than it can have.
func TestShuffledLines(t *testing.T) {
	log := lines(logs(t)["scored"])
	rapid.Check(t, func(r *rapid.T) {
		order := rapid.Permutation(log).Draw(r, "order")
		s := fold(joblog.New(expectation(t)), 0, order)
		for _, st := range s.Progress().Stages {
			if st.Done != st.Passed+st.Failed+st.Errors || st.Total > 0 && st.Done > st.Total || st.Timeouts > st.Failed {
				r.Fatalf("impossible counts: %+v", st)
			}
			if st.Stage.Sealed() && st.Total != len(sealed()) {
				r.Fatalf("%s has %d tasks", st.Stage, st.Total)
			}
		}
	})
}

// In several trials each sealed task is attempted once a trial; a task that is in
// two suites is attempted once for each.
func TestTrialsAndSuites(t *testing.T) {
	s := joblog.New(joblog.Expect{
		Tasks:  map[protocol.Stage][]string{protocol.StageBaseline: {"bake-index", "bake-index", "chart-tides"}},
		Trials: 2,
	})
	s.FoldText(start(), "[posttrainarena] baseline_eval: bench eval run")
	for range 9 {
		s.FoldText(start(), "[PASS] bake-index (tools=1)")
		s.FoldText(start(), "[FAIL] chart-tides (tools=1)")
	}
	got := s.Progress().Stages[1]
	if got.Total != 6 || got.Passed != 4 || got.Failed != 2 {
		t.Errorf("got %+v, want 4 of 6 passed and 2 failed", got)
	}
}

// A saved state does not grow with the log.
func TestStateIsBounded(t *testing.T) {
	s := joblog.New(expectation(t))
	s.FoldText(start(), "[posttrainarena] sync_grpo_endpoint: x")
	size := 0
	for i := range 20_000 {
		s.FoldText(start(), fmt.Sprintf("{'loss': %d.5, 'reward': 0.25}", i))
		s.FoldText(start(), fmt.Sprintf("[posttrainarena] grpo_rollout_%06d_000000: bench eval run --include wind-yarn", i))
		s.FoldText(start(), fmt.Sprintf("[ERR] wind-yarn (tools=0) (note %d)", i))
		s.FoldText(start(), fmt.Sprintf("ValueError: %d", i))
		if i == 9_999 {
			size = len(s.Save())
		}
	}
	if grown := len(s.Save()); grown > size*11/10 {
		t.Errorf("the saved state grew from %d to %d bytes", size, grown)
	}
	steps := s.Progress().Training
	if n := len(steps); n < 400 || n > 1025 || steps[0].Step != 1 || steps[n-1].Step != 20_000 {
		t.Errorf("%d steps from %d to %d; want 400 to 1025 from 1 to 20000", n, steps[0].Step, steps[n-1].Step)
	}
}

// The common line costs no allocation, in any stage.
func TestCommonLinesDoNotAllocate(t *testing.T) {
	s := joblog.New(expectation(t))
	fold(s, 0, lines(logs(t)["scored"])[:30]) // into the training stage
	if s.Stage() != protocol.StageTraining {
		t.Fatalf("the sample ends in %s", s.Stage())
	}
	for _, l := range [][]byte{
		[]byte("Prompt 1/1: Merge the two ledgers and write the result to /root/out..."),
		[]byte("INFO: request finished in 0.2 s"),
		[]byte("Note: this is only a note"),
		[]byte("    at module.function (file.js:10)"),
		[]byte("[PASS] label-jars (tools=3) (Agent prompt exceeded wall-clock budget 900s)"),
		[]byte("[FAIL] nobody-knows (reward=0.30, tools=7)"),
		[]byte("vllm request served"),
		[]byte("2026-03-01T08:15:00.123Z pulling layer 7 of 12"),
		[]byte(" 50%|█████     | 1/2 [05:00<05:00, 300.00s/it]\r"),
	} {
		if n := testing.AllocsPerRun(100, func() { s.Fold(start(), l) }); n != 0 {
			t.Errorf("%q: %v allocations", l, n)
		}
	}
}

// A saved state of another form, or a damaged one, is refused with what to do.
func TestLoadRefuses(t *testing.T) {
	good := string(fold(joblog.New(expectation(t)), 0, lines(logs(t)["scored"])).Save())
	for name, data := range map[string]string{
		"not JSON":    "{",
		"another":     strings.Replace(good, `"v":1`, `"v":2`, 1),
		"no stages":   `{"v":1}`,
		"wrong stage": strings.Replace(good, `"furthest":5`, `"furthest":50`, 1),
	} {
		if _, err := joblog.Load(expectation(t), []byte(data)); err == nil {
			t.Errorf("%s: loaded", name)
		}
	}
	s, err := joblog.Load(expectation(t), nil)
	if err != nil || s.Stage() != "" {
		t.Errorf("nothing saved: stage %q, error %v; want the state before the first line", s.Stage(), err)
	}
}
