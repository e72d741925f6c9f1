package joblog

import (
	"bytes"
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// State is what a run's log has said up to some line. It is not safe for
// concurrent use.
type State struct {
	expect Expect

	furthest stageID // the stage the run has reached; never moves back
	active   stageID // the stage whose lines are being read
	stages   [stageCount]stage

	steps    curve
	rollouts int // attempts at rollouts that the trainer started
	why      reason

	exitCode int
	exited   bool
	unknown  int // verdict lines about tasks that the stage does not have

	buf  []byte // a cleaned copy of the line being read
	text []byte // the line that FoldText was given
}

// New returns the state before the first line.
func New(expect Expect) *State {
	s := &State{expect: expect, furthest: -1, active: -1, steps: curve{stride: 1}}
	trials := max(1, expect.Trials)
	for i := range s.stages {
		id := stageID(i)
		names := expect.Tasks[id.name()]
		st := &s.stages[i]
		st.tasks = make(map[string]*task, len(names))
		for _, name := range names {
			t := st.tasks[name]
			if t == nil {
				t = &task{}
				st.tasks[name] = t
			}
			if id.evaluates() {
				t.allowed++
				if id.name().Sealed() {
					t.allowed += trials - 1
				}
			}
		}
		for _, t := range st.tasks {
			st.allowed += t.allowed
		}
	}
	return s
}

// Fold takes the next line, which arrived at the given time. A line may hold
// several records behind carriage returns, colours, and anything else.
func (s *State) Fold(at time.Time, line []byte) {
	line = line[:min(len(line), MaxLine)]
	if !dirty(line) {
		s.fold(at, line)
		return
	}
	for len(line) > 0 {
		piece := line
		if i := bytes.IndexAny(line, "\r\n"); i >= 0 {
			piece, line = line[:i], line[i+1:]
		} else {
			line = nil
		}
		s.buf = Clean(s.buf[:0], piece)
		s.fold(at, s.buf)
	}
}

// FoldText is Fold for a line that is a string.
func (s *State) FoldText(at time.Time, line string) {
	s.text = append(s.text[:0], line[:min(len(line), MaxLine)]...)
	s.Fold(at, s.text)
}

// fold reads one clean line. Which forms it can have is decided by its first
// byte, so that a line which means nothing costs little.
func (s *State) fold(at time.Time, b []byte) {
	b = trimStamp(b)
	if len(b) == 0 {
		return
	}
	if s.furthest < 0 {
		s.enter(at, setup)
	}
	known := false
	switch b[0] {
	case '[':
		known = s.verdict(b) || s.marker(at, b)
	case 'J':
		known = s.job(b) || s.jobComplete(at, b)
	case 'T':
		known = s.exit(at, b) || s.why.traceback(b)
	case 'V':
		known = s.modelFailed(b)
	}
	if !known && s.active == training {
		known = s.step(at, b)
	}
	if !known {
		s.why.exception(s.active, b)
	}
}

// exit reads the last line of a job: TRAINER_EXIT=1. After a 0 only what is printed
// later, such as a failed upload, can be why the job stopped.
func (s *State) exit(at time.Time, b []byte) bool {
	rest, ok := bytes.CutPrefix(b, []byte("TRAINER_EXIT="))
	if !ok {
		return false
	}
	rest, negative := bytes.CutPrefix(bytes.TrimSpace(rest), []byte("-"))
	digits, code := leadingInt(rest)
	if digits == 0 || digits != len(rest) {
		return false
	}
	if negative {
		code = -code
	}
	s.exitCode, s.exited = code, true
	if code == 0 {
		s.why = reason{}
	}
	s.leave(at)
	return true
}

// modelFailed reads the line with which a job ends whose model server did not come up.
func (s *State) modelFailed(b []byte) bool {
	failed := s.furthest == setup && string(bytes.TrimSpace(b)) == modelFailed
	s.why.modelFailed = s.why.modelFailed || failed
	return failed
}

// timeRef returns a pointer to a copy, or nil for the zero time.
func timeRef(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// Stage returns the stage that the run has reached, empty before its first line.
func (s *State) Stage() protocol.Stage {
	if s.furthest < 0 {
		return ""
	}
	return s.furthest.name()
}

// TrainerExit returns the exit code that the job printed last, and whether it
// printed one. A job that was killed prints none.
func (s *State) TrainerExit() (code int, seen bool) { return s.exitCode, s.exited }
