package joblog

import (
	"bytes"
	"slices"
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// tally counts attempts at one task, or at all tasks of a stage, by outcome.
type tally struct {
	Passed   int
	Failed   int // ended with a reward that is not 1; not counting timeouts
	Errors   int // ended without a reward
	Timeouts int // ran into the time limit, whatever the verifier said
}

// Done is the number of attempts.
func (t tally) Done() int { return t.Passed + t.Failed + t.Errors + t.Timeouts }

func (t *tally) add(o protocol.Outcome) {
	switch o {
	case protocol.OutcomePass:
		t.Passed++
	case protocol.OutcomeTimeout:
		t.Timeouts++
	case protocol.OutcomeError:
		t.Errors++
	default:
		t.Failed++
	}
}

// task is one expected task of a stage.
type task struct {
	tally
	allowed int // verdicts that may count
}

// stage is what the log said about one stage.
type stage struct {
	tasks   map[string]*task
	allowed int // sum over tasks

	seen           bool
	started, ended time.Time // ended is zero while the stage runs

	tally
	opening       bool // its marker was read and its job line was not
	rawPassed     int  // PASS verdicts, those with a timeout note included
	announced     int  // tasks that the job said it has; 0 when it did not
	resumed       int  // tasks that were done before this job and get no verdict
	resumedPassed int
	spare         int // training: rollouts of which the log did not name the task
	notes         notes
}

// enter makes id the stage whose lines are read next.
func (s *State) enter(at time.Time, id stageID) {
	if s.active != id {
		s.leave(at)
	}
	s.active = id
	if st := &s.stages[id]; !st.seen {
		st.seen, st.started = true, at
	}
	if id > s.furthest {
		s.furthest = id
		s.why.outlived()
	}
}

// leave ends the active stage, unless its end is known already.
func (s *State) leave(at time.Time) {
	if s.active < 0 {
		return
	}
	if st := &s.stages[s.active]; st.ended.IsZero() {
		st.ended = at
	}
}

// markerPrefix starts the line that the pipeline prints before a subprocess.
const markerPrefix = "[posttrainarena] "

// marker reads "[posttrainarena] STAGE: COMMAND". Names that are not stages, such
// as "warning", are known forms that change nothing.
func (s *State) marker(at time.Time, b []byte) bool {
	rest, ok := bytes.CutPrefix(b, []byte(markerPrefix))
	if !ok {
		return false
	}
	name, command, ok := bytes.Cut(rest, []byte(":"))
	if !ok {
		return true
	}
	id, ok := stageOf(name)
	if !ok {
		return true
	}
	s.enter(at, id)
	st := &s.stages[id]
	st.opening = true
	if s.exited { // the job was started again and goes on in this log
		s.exited, s.why, st.ended = false, reason{}, time.Time{}
	}
	if rollout, ok := bytes.CutPrefix(name, []byte("grpo_rollout_")); ok {
		s.rollout(rollout, command)
	}
	return true
}

// stageOf maps a marker's name to the run's stage (reference/pipeline.md §4.2).
// Stages of recipes with supervised fine-tuning are not stages of a run.
func stageOf(name []byte) (stageID, bool) {
	switch string(name) {
	case "snapshot_train_tasks", "snapshot_eval_tasks", "validate_task_content_isolation":
		return snapshot, true
	case "baseline_eval":
		return baseline, true
	case "grpo_gate_eval":
		return gate, true
	case "conditional_grpo", "sync_grpo_endpoint":
		return training, true
	case "posttrain_eval", "final_eval", "compare_eval_lift", "write_score_report":
		return heldout, true
	}
	for _, p := range [...]struct {
		prefix string
		id     stageID
	}{
		{"grpo_rollout_", training},
		{"snapshot_benchmark_", snapshot},
		{"baseline_benchmark_", baseline},
		{"final_benchmark_", heldout},
		{"compare_benchmark_", heldout},
	} {
		if len(name) > len(p.prefix) && string(name[:len(p.prefix)]) == p.prefix {
			return p.id, true
		}
	}
	return 0, false
}

// total is the number of attempts that a stage has; 0 when it is not known.
func (s *State) total(id stageID) int {
	st := &s.stages[id]
	switch id {
	case baseline, heldout: // every sealed task, whatever the log says
		return st.allowed
	case gate:
		return max(st.announced, st.Done())
	case training:
		return max(s.rollouts, st.Done())
	default:
		return 0
	}
}

// verdict reads a verdict line and counts it when the stage expects one.
func (s *State) verdict(b []byte) bool {
	v, ok := parseVerdict(b)
	if !ok {
		return false
	}
	st := &s.stages[s.active]
	t := st.tasks[string(v.name)]
	switch {
	case t == nil:
		s.unknown++
		return true
	case t.Done() < t.allowed:
	case st.spare > 0:
		st.spare--
	default:
		return true // a second verdict for an attempt that has one
	}
	t.add(v.outcome)
	st.add(v.outcome)
	st.ended = time.Time{} // whatever said that the stage was over was wrong
	if v.raw {
		st.rawPassed++
	}
	if v.outcome == protocol.OutcomeError && len(v.note) > 0 {
		st.notes.add(v.note)
	}
	return true
}

// job reads "Job: 12 tasks, 3 done, 9 to run (concurrency=4)". The first number
// may exceed what was selected, so both are held to what the stage can have. Only
// the first one after a marker counts: it comes before anything that a task prints.
func (s *State) job(b []byte) bool {
	total, rest, ok := field(b, "Job: ", " task")
	if !ok {
		return false
	}
	if len(rest) > 0 && rest[0] == 's' {
		rest = rest[1:]
	}
	done, _, ok := field(rest, ", ", " done, ")
	if st := &s.stages[s.active]; ok && st.opening && s.active.evaluates() {
		st.opening = false
		st.announced = min(max(st.announced, total), st.allowed)
		// Verdicts of an earlier attempt of the same job are counted already.
		st.resumed = max(st.resumed, min(done, st.announced)-st.Done())
	}
	return ok
}

// jobComplete reads "Job complete: 5/12 (41.7%), errors=1, …", the end of one
// evaluation. Its passes tell how many of the resumed tasks had passed; its
// errors leave out those of verifiers, so the verdicts are counted instead.
func (s *State) jobComplete(at time.Time, b []byte) bool {
	passed, rest, ok := field(b, "Job complete: ", "/")
	if !ok {
		return false
	}
	if _, _, ok = field(rest, "", " ("); ok && s.active.evaluates() {
		st := &s.stages[s.active]
		st.resumedPassed = min(max(0, passed-st.rawPassed), st.resumed)
		if st.Done()+st.resumed >= s.total(s.active) && st.ended.IsZero() {
			st.ended = at
		}
	}
	return ok
}

// field reads prefix, digits, suffix.
func field(b []byte, prefix, suffix string) (value int, rest []byte, ok bool) {
	if len(b) < len(prefix) || string(b[:len(prefix)]) != prefix {
		return 0, nil, false
	}
	b = b[len(prefix):]
	digits, value := leadingInt(b)
	b = b[digits:]
	if digits == 0 || len(b) < len(suffix) || string(b[:len(suffix)]) != suffix {
		return 0, nil, false
	}
	return value, b[len(suffix):], true
}

// The bounds of the notes of errored attempts that one stage keeps.
const (
	maxNotes = 16
	noteSize = 200
)

// notes counts the distinct notes of a stage's errored attempts.
type notes []note

type note struct {
	Text  string `json:"text"`
	Count int    `json:"count"`
}

// add counts a note. Beyond maxNotes distinct ones, new ones are not kept: what
// stops a stage is an error that repeats.
func (n *notes) add(raw []byte) {
	text := excerpt(raw, noteSize)
	for i := range *n {
		if (*n)[i].Text == text {
			(*n)[i].Count++
			return
		}
	}
	if len(*n) < maxNotes {
		*n = append(*n, note{text, 1})
	}
}

// byCount returns the notes, the most frequent first.
func (n notes) byCount() []note {
	sorted := slices.Clone(n)
	slices.SortStableFunc(sorted, func(a, b note) int { return b.Count - a.Count })
	return sorted
}
