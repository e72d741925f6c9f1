package simulated

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/jobs"
)

// Line is one line of a played log.
type Line struct {
	Offset time.Duration // since the job was created, in the job's time
	Text   string
}

// Script is everything that one job does. All its times are offsets from the
// job's creation in the job's own time.
type Script struct {
	Begins  time.Duration // when the job leaves the queue
	Lines   []Line        // in order of time
	Ends    time.Duration // when the job ends; its uploads appear then
	Status  jobs.Status   // how it ends: Completed, Failed, TimedOut or Deleted
	Message string        // what the service says about the end
	// Outcomes is what the sealed stages measured, as far as the pipeline came;
	// nil for a job that was cut short. It is the truth even where a fault makes
	// the uploaded reports lie.
	Outcomes Outcomes
	// Scored reports whether the pipeline came to its end.
	Scored bool

	played *player // nil when the job uploads nothing
}

// Files returns what the job uploads when it ends, by slash-separated path
// (PROTOCOL §10): the attempts made so far and, when it scored, the reports.
// Sealed stages leave nothing there but their outcomes. The files are made anew
// at every call; most of a play's work is in them.
func (s Script) Files() map[string][]byte {
	if s.played == nil {
		return nil
	}
	return s.played.files(s.Scored)
}

// Outcomes holds the outcome of every attempt at a sealed task: suite id →
// side → task → outcome by trial. The sides are SideBefore and SideAfter.
type Outcomes map[string]map[string]map[string][]protocol.Outcome

// The two sides of Outcomes, as reports/eval_task_outcomes.json spells them
// (reference/pipeline.md §9, answer 7).
const (
	SideBefore = "baseline"
	SideAfter  = "posttrain"
)

// add appends the outcomes of one more trial.
func (o Outcomes) add(suite, side string, trial map[string]protocol.Outcome) {
	if o[suite] == nil {
		o[suite] = map[string]map[string][]protocol.Outcome{}
	}
	if o[suite][side] == nil {
		o[suite][side] = map[string][]protocol.Outcome{}
	}
	for task, outcome := range trial {
		o[suite][side][task] = append(o[suite][side][task], outcome)
	}
}

// Play returns what a job does: its log, uploads and end. It reads the spec's
// Run, Timeout and Simulation, does no I/O and depends on nothing but its
// arguments. Start is the time of the job's creation by the job's own clock; it
// names directories and changes nothing else. Faults that are not faults of the
// job (see Fault) have no effect.
func Play(spec jobs.Spec, seed uint64, start time.Time, fault Fault) Script {
	p := newPlayer(spec, seed, start, fault)
	script := Script{Begins: p.stream("queue").seconds(20, 90), Outcomes: p.outcomes, played: p}
	p.clock = script.Begins
	script.Scored = p.run()

	script.Lines = p.lines
	script.Ends = p.clock + uploading
	script.Status, script.Message = jobs.Completed, ""
	if !script.Scored {
		script.Status, script.Message = jobs.Failed, "the command exited with code 1"
	}
	return p.cut(script)
}

// uploading is how long the job goes on after the pipeline's last line
// (seed 000, simulate: 0.05 h).
const uploading = 3 * time.Minute

// cut ends the job early when it reaches its hard limit or is deleted. The
// pipeline uploads when it exits, so a job that is stopped uploads nothing.
func (p *player) cut(s Script) Script {
	end, status, message := s.Ends, s.Status, s.Message
	if limit := s.Begins + p.spec.Timeout; p.spec.Timeout > 0 && end > limit {
		end, status, message = limit, jobs.TimedOut, fmt.Sprintf("the job reached its limit of %s", p.spec.Timeout)
	}
	if p.fault == FaultDeleted {
		end, status, message = s.Begins+(end-s.Begins)/2, jobs.Deleted, "the job was deleted"
	}
	if status == s.Status {
		return s
	}
	kept, _ := slices.BinarySearchFunc(s.Lines, end, func(l Line, at time.Duration) int {
		return cmp.Or(cmp.Compare(l.Offset, at), -1)
	})
	if status == jobs.TimedOut && kept < len(s.Lines) {
		// The limit strikes while a line is being written.
		half := s.Lines[kept].Text
		s.Lines[kept] = Line{Offset: end, Text: half[:len(half)/2]}
		kept++
	}
	s.Lines, s.Ends, s.Status, s.Message = s.Lines[:kept], end, status, message
	s.Outcomes, s.Scored, s.played = nil, false, nil
	return s
}

// suite is one held-out suite with its sealed tasks.
type suite struct {
	id, repo, revision string
	tasks              []string
}

// player plays one job. Its clock runs from the job's creation.
type player struct {
	spec     jobs.Spec
	sim      jobs.Simulation
	recipe   protocol.Recipe
	suites   []suite
	trials   int
	seed     uint64
	start    time.Time
	fault    Fault
	clock    time.Duration
	lines    []Line
	attempts []attempt
	outcomes Outcomes
	gate     float64 // pass rate of the gate
	effect   bool    // the training group had reward variance
}

// newPlayer prepares a play. What a recipe leaves out is as in grpo-v1, the
// recipe of seed 000.
func newPlayer(spec jobs.Spec, seed uint64, start time.Time, fault Fault) *player {
	p := &player{
		spec: spec, sim: spec.Simulation, recipe: spec.Simulation.Challenge.Recipe, seed: seed, start: start, fault: fault,
		trials: max(1, spec.Simulation.Challenge.Metric.TrialsPerRun), outcomes: Outcomes{},
	}
	r := &p.recipe
	r.MaxSteps = positive(r.MaxSteps, 2)
	r.NumGenerations = positive(r.NumGenerations, 8)
	r.RolloutAttempts = positive(r.RolloutAttempts, 2)
	r.GateTaskCount = positive(r.GateTaskCount, 32)
	r.Harness.Concurrency = positive(r.Harness.Concurrency, 8)
	r.Harness.AgentTimeoutSecs = positive(r.Harness.AgentTimeoutSecs, 900)
	r.Harness.Agent = cmp.Or(r.Harness.Agent, "opencode")
	r.Sandbox = cmp.Or(r.Sandbox, "daytona")
	p.suites = suites(p.sim)
	return p
}

// positive returns n, or the default when n is not positive.
func positive(n, otherwise int) int {
	if n > 0 {
		return n
	}
	return otherwise
}

// suites returns the suites that have sealed tasks in the challenge's order,
// then those that the challenge does not list, by id.
func suites(sim jobs.Simulation) []suite {
	var all []suite
	listed := map[string]bool{}
	for _, s := range sim.Challenge.Suites {
		if tasks := sim.Sealed[s.ID]; len(tasks) > 0 && !listed[s.ID] {
			all = append(all, suite{s.ID, s.RepoID, s.Revision, tasks})
			listed[s.ID] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(sim.Sealed)) {
		if tasks := sim.Sealed[id]; len(tasks) > 0 && !listed[id] {
			all = append(all, suite{id: id, repo: id, tasks: tasks})
		}
	}
	return all
}

// stream opens the draws of one purpose. They differ from run to run.
func (p *player) stream(purpose ...string) chance {
	return newChance(p.seed, append([]string{p.spec.Run, p.sim.Revision}, purpose...)...)
}

// say prints a line some time after the one before.
func (p *player) say(pause time.Duration, format string, args ...any) {
	p.clock += pause
	p.lines = append(p.lines, Line{p.clock, fmt.Sprintf(format, args...)})
}

// mark prints the marker of a pipeline stage that starts a command.
func (p *player) mark(pause time.Duration, name, format string, args ...any) {
	p.say(pause, "[posttrainarena] %s: %s", name, fmt.Sprintf(format, args...))
}

// sayAll prints lines that were made out of order.
func (p *player) sayAll(lines []Line) {
	slices.SortStableFunc(lines, func(a, b Line) int { return cmp.Compare(a.Offset, b.Offset) })
	p.lines = append(p.lines, lines...)
	if n := len(lines); n > 0 {
		p.clock = max(p.clock, lines[n-1].Offset)
	}
}

// stop ends the pipeline with an error. It returns false, for its callers to
// return.
func (p *player) stop(format string, args ...any) bool {
	p.say(6*time.Second, format, args...)
	p.exit(1, 12*time.Second)
	return false
}

// exit prints the pipeline's last line.
func (p *player) exit(code int, pause time.Duration) { p.say(pause, "TRAINER_EXIT=%d", code) }
