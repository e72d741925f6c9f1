package simulated_test

import (
	"encoding/json"
	"errors"
	"maps"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/artifacts"
	"github.com/posttrainarena/arena/protocol/joblog"
	"github.com/posttrainarena/arena/protocol/jobs/simulated"
	"github.com/posttrainarena/arena/protocol/score"
)

// TestTheLogParserReadsAPlay: what joblog makes of a played log is what the play
// measured, with nothing left over.
func TestTheLogParserReadsAPlay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sp := genSpec(t)
		sim := sp.Simulation
		var sealed []string
		for _, tasks := range sim.Sealed {
			sealed = append(sealed, tasks...)
		}
		state := joblog.New(joblog.Expect{Trials: sim.Challenge.Metric.TrialsPerRun, Tasks: map[protocol.Stage][]string{
			protocol.StageBaseline: sealed, protocol.StageHeldout: sealed, protocol.StageGate: sim.Train, protocol.StageTraining: sim.Train,
		}})
		s := simulated.Play(sp, rapid.Uint64().Draw(t, "seed"), testStart(), simulated.FaultNone)
		for _, l := range s.Lines {
			state.FoldText(testStart().Add(l.Offset), l.Text)
		}
		progress := state.Progress()
		var names []protocol.Stage
		for _, stage := range progress.Stages {
			names = append(names, stage.Stage)
			side, ok := map[protocol.Stage]string{protocol.StageBaseline: simulated.SideBefore, protocol.StageHeldout: simulated.SideAfter}[stage.Stage]
			if !ok {
				continue
			}
			want := map[protocol.Outcome]int{}
			for _, sides := range s.Outcomes {
				for _, trials := range sides[side] {
					for _, outcome := range trials {
						want[outcome]++
					}
				}
			}
			got := map[protocol.Outcome]int{
				protocol.OutcomePass: stage.Passed, protocol.OutcomeFail: stage.Failed - stage.Timeouts,
				protocol.OutcomeTimeout: stage.Timeouts, protocol.OutcomeError: stage.Errors,
			}
			maps.DeleteFunc(got, func(_ protocol.Outcome, n int) bool { return n == 0 })
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("stage %s (-played +read):\n%s", stage.Stage, diff)
			}
		}
		if diff := cmp.Diff(protocol.Stages()[:6], names); diff != "" {
			t.Fatalf("stages (-want +read):\n%s", diff)
		}
		if code, seen := state.TrainerExit(); code != 0 || !seen || progress.Unrecognised > 0 || len(progress.Training) != sim.Challenge.Recipe.MaxSteps {
			t.Fatalf("exit %d (%v), %d unrecognised lines, %d training steps", code, seen, progress.Unrecognised, len(progress.Training))
		}
	})
}

// TestTheArtifactReaderReadsAPlay: artifacts finds nothing wrong with what plays
// upload, and every way in which an attempt can end among them.
func TestTheArtifactReaderReadsAPlay(t *testing.T) {
	endings := map[artifacts.Ending]bool{}
	for i, fault := range []simulated.Fault{simulated.FaultNone, simulated.FaultGate, simulated.FaultRollout} {
		s := simulated.Play(spec(testRun, size{train: 40, sealed: 16, suites: 1 + i}), testSeed, testStart(), fault)
		tree := fstest.MapFS{}
		for path, data := range s.Files() {
			tree[path] = &fstest.MapFile{Data: data}
		}
		attempts, problems := artifacts.Attempts(tree)
		if len(problems) > 0 || len(attempts) < 32 {
			t.Errorf("fault %q: %d attempts, problems %v", fault, len(attempts), problems)
		}
		for _, a := range attempts {
			endings[a.Ending] = true
		}
		if !s.Scored {
			continue
		}
		outcomes, problems, err := artifacts.ReadOutcomes(tree)
		if err != nil || len(problems) > 0 {
			t.Errorf("fault %q: %v, problems %v", fault, err, problems)
		}
		if diff := cmp.Diff(s.Outcomes, simulated.Outcomes(outcomes)); diff != "" {
			t.Errorf("fault %q (-played +read):\n%s", fault, diff)
		}
	}
	for _, ending := range []artifacts.Ending{artifacts.Finished, artifacts.TimedOut, artifacts.Errored, artifacts.CutOff, artifacts.MalformedCall} {
		if !endings[ending] {
			t.Errorf("no attempt ended as %q; they ended as %v", ending, endings)
		}
	}
}

// TestTheScoreAgreesWithAPlay: collecting an honest play gives its numbers, and
// a report that was tampered with is refused.
func TestTheScoreAgreesWithAPlay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sp, seed := genSpec(t), rapid.Uint64().Draw(t, "seed")
		sp.Simulation.Train = sp.Simulation.Train[:1] // transcripts are most of the work and nothing here
		sp.Simulation.Challenge.Recipe.NumGenerations = 2
		expect := score.Expect{Run: sp.Run, Trials: sp.Simulation.Challenge.Metric.TrialsPerRun}
		for _, s := range sp.Simulation.Challenge.Suites {
			sealed := protocol.SealedSuite{ID: s.ID}
			for _, task := range sp.Simulation.Sealed[s.ID] {
				sealed.Tasks = append(sealed.Tasks, protocol.SealedTask{Name: task, Evaluated: true})
			}
			expect.Suites = append(expect.Suites, sealed)
		}
		collect := func(fault simulated.Fault) error {
			files := simulated.Play(sp, seed, testStart(), fault).Files()
			report, err := score.ParseReport(files["reports/score.json"])
			if err != nil {
				t.Fatal(err)
			}
			var uploaded struct{ Suites score.Outcomes }
			if err := json.Unmarshal(files["reports/eval_task_outcomes.json"], &uploaded); err != nil {
				t.Fatal(err)
			}
			_, _, err = score.Collect(expect, report, uploaded.Suites)
			return err
		}
		if err := collect(simulated.FaultNone); err != nil {
			t.Fatalf("an honest play is refused: %+v", protocol.AsError(err))
		}
		for _, fault := range []simulated.Fault{simulated.FaultWrongReport, simulated.FaultMissingOutcomes} {
			if err := collect(fault); !errors.Is(err, protocol.ErrEvidence) {
				t.Fatalf("fault %q: collecting gives %v; want ErrEvidence", fault, err)
			}
		}
	})
}
