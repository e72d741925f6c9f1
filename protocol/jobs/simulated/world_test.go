package simulated_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/jobs"
	"github.com/posttrainarena/arena/protocol/jobs/simulated"
)

const (
	testRun  = "challenge-0123456789ab"
	testSeed = 42
	flavor   = "a100x8"
)

// testStart is the time at which plays start.
func testStart() time.Time { return time.Date(2026, 10, 6, 9, 0, 0, 0, time.UTC) }

// size says how large a run is.
type size struct{ train, sealed, suites, trials int }

// spec returns the spec of a run on invented tasks, with the recipe grpo-v1.
func spec(run string, s size) jobs.Spec {
	challenge := protocol.Challenge{
		ID:        "toy-9b",
		BaseModel: protocol.BaseModel{RepoID: "example/toy-9b", Revision: strings.Repeat("1", 40)},
		Recipe: protocol.Recipe{
			ID: "grpo-v1", MaxSteps: 2, NumGenerations: 8, RolloutAttempts: 2, GateTaskCount: 32, LearningRate: 1e-6,
			RequireRewardVariance: true, MaxErrorFraction: 0.1, Sandbox: "daytona",
			Harness:  protocol.Harness{Agent: "opencode", Concurrency: 8, AgentTimeoutSecs: 900},
			Pipeline: protocol.Pipeline{Ref: "0abc123" + strings.Repeat("4", 33)},
		},
		Metric:  protocol.Metric{TrialsPerRun: max(1, s.trials)},
		Compute: protocol.Compute{Flavor: flavor, TimeoutSeconds: 8 * 3600},
	}
	sim := jobs.Simulation{
		Challenge: challenge, Revision: strings.Repeat("a", 40), Source: "bundle/north-star",
		Prompts: map[string]string{}, Sealed: map[string][]string{},
	}
	for i := range s.train {
		task := fmt.Sprintf("tidy-%03d", i+1)
		sim.Train = append(sim.Train, task)
		sim.Prompts[task] = "Tidy the records of day " + fmt.Sprint(i+1) + "."
	}
	for i := range max(1, s.suites) {
		id := fmt.Sprintf("vault-%d", i+1)
		sim.Challenge.Suites = append(sim.Challenge.Suites, protocol.Suite{
			ID: id, RepoID: "example/" + id, Revision: strings.Repeat("b", 40), TaskCount: s.sealed,
		})
		for k := range s.sealed {
			sim.Sealed[id] = append(sim.Sealed[id], fmt.Sprintf("sealed-%d-%03d", i+1, k+1))
		}
	}
	return jobs.Spec{
		Run: run, Flavor: flavor, Timeout: 8 * time.Hour, Simulation: sim,
		Config: []byte("[model]\n"), Command: []string{"posttrainarena-train", "run"}, Env: map[string]string{"ARENA_RUN": run},
	}
}

// play plays a run of the usual size.
func play(fault simulated.Fault) simulated.Script {
	return simulated.Play(spec(testRun, size{train: 12, sealed: 16}), testSeed, testStart(), fault)
}

// open returns a provider on a directory; change may adjust its options.
func open(t testing.TB, dir string, change func(*simulated.Options)) *simulated.Provider {
	t.Helper()
	o := simulated.Options{
		Dir: dir, Now: time.Now, Seed: testSeed,
		PricePerHour: map[string]protocol.Micros{flavor: 20 * protocol.Dollar},
	}
	if change != nil {
		change(&o)
	}
	p, err := simulated.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// text returns a script's log, one line a line, with the time of the job in
// front.
func text(s simulated.Script) string {
	var b strings.Builder
	for _, l := range s.Lines {
		fmt.Fprintf(&b, "%s %s\n", clock(l.Offset), l.Text)
	}
	return b.String()
}

// clock formats a time of the job.
func clock(d time.Duration) string { return time.Time{}.Add(d).Format("15:04:05") }

// matching returns the lines that contain a text.
func matching(s simulated.Script, part string) []string {
	var found []string
	for _, l := range s.Lines {
		if strings.Contains(l.Text, part) {
			found = append(found, l.Text)
		}
	}
	return found
}

// uploads returns the paths of the files below a folder, sorted.
func uploads(s simulated.Script, under string) []string {
	var found []string
	for path := range s.Files() {
		if strings.HasPrefix(path, under) {
			found = append(found, path)
		}
	}
	slices.Sort(found)
	return found
}
