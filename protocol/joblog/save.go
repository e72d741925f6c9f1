package joblog

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// savedVersion is the version of the form that Save writes.
const savedVersion = 1

// saved is a State without what follows from its Expect. Task names are kept, so
// that a saved state survives a change of the expected tasks: verdicts of tasks
// that are no longer expected are dropped.
type saved struct {
	Version  int           `json:"v"`
	Furthest stageID       `json:"furthest"`
	Active   stageID       `json:"active"`
	Stages   []savedStage  `json:"stages"`
	Steps    savedCurve    `json:"steps"`
	Rollouts savedRollouts `json:"rollouts"`
	Why      savedReason   `json:"why"`
	Exit     *int          `json:"exit,omitempty"`
	Unknown  int           `json:"unknown,omitempty"`
}

type savedStage struct {
	Seen          bool            `json:"seen,omitempty"`
	Started       time.Time       `json:"started,omitzero"`
	Ended         time.Time       `json:"ended,omitzero"`
	Opening       bool            `json:"opening,omitempty"`
	RawPassed     int             `json:"raw,omitempty"`
	Announced     int             `json:"announced,omitempty"`
	Resumed       int             `json:"resumed,omitempty"`
	ResumedPassed int             `json:"resumed_passed,omitempty"`
	Spare         int             `json:"spare,omitempty"`
	Notes         notes           `json:"notes,omitempty"`
	Tasks         map[string]tags `json:"tasks,omitempty"`
}

// tags are the numbers of a task: passed, failed, errors, timeouts, and for the
// training stage the verdicts that may count.
type tags [5]int

type savedCurve struct {
	Points []protocol.TrainingStep `json:"points,omitempty"`
	Stride int                     `json:"stride,omitempty"`
	Count  int                     `json:"count,omitempty"`
	Last   protocol.TrainingStep   `json:"last"`
}

type savedRollouts struct {
	Started int `json:"started,omitempty"`
}

type savedReason struct {
	ModelFailed bool       `json:"model_failed,omitempty"`
	Text        string     `json:"text,omitempty"`
	Stage       stageID    `json:"stage,omitempty"`
	InTraceback bool       `json:"in_traceback,omitempty"`
	Group       groupState `json:"group,omitempty"`
}

// Save returns the state in a form that Load reads. The same state always gives
// the same bytes.
func (s *State) Save() []byte {
	out := saved{
		Version: savedVersion, Furthest: s.furthest, Active: s.active, Unknown: s.unknown,
		Steps:    savedCurve{s.steps.points, s.steps.stride, s.steps.count, s.steps.last},
		Rollouts: savedRollouts{s.rollouts},
		Why:      savedReason{s.why.modelFailed, s.why.text, s.why.stage, s.why.inTraceback, s.why.group},
	}
	if s.exited {
		out.Exit = &s.exitCode
	}
	for i := range s.stages {
		out.Stages = append(out.Stages, s.stages[i].save(stageID(i)))
	}
	b, err := json.Marshal(out)
	if err != nil { // no value in it can fail: every number is finite
		return nil
	}
	return b
}

func (st *stage) save(id stageID) savedStage {
	out := savedStage{
		Seen: st.seen, Started: st.started, Ended: st.ended, Opening: st.opening, RawPassed: st.rawPassed, Announced: st.announced,
		Resumed: st.resumed, ResumedPassed: st.resumedPassed, Spare: st.spare, Notes: st.notes, Tasks: map[string]tags{},
	}
	for name, t := range st.tasks {
		row := tags{t.Passed, t.Failed, t.Errors, t.Timeouts, 0}
		if id == training {
			row[4] = t.allowed
		}
		if row != (tags{}) {
			out.Tasks[name] = row
		}
	}
	return out
}

// Load returns the state that Save saved, for the same run. Empty data is the
// state before the first line. It fails on data that Save did not write; the log
// must then be folded again from its first line.
func Load(expect Expect, data []byte) (*State, error) {
	s := New(expect)
	if len(data) == 0 {
		return s, nil
	}
	var in saved
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, fmt.Errorf("load the state of a job log: %w", err)
	}
	ranged := func(id stageID) bool { return id >= -1 && id < stageCount }
	if in.Version != savedVersion || len(in.Stages) != int(stageCount) || !ranged(in.Furthest) || !ranged(in.Active) ||
		in.Why.Stage < 0 || in.Why.Stage >= stageCount || (in.Furthest < 0) != (in.Active < 0) {
		return nil, fmt.Errorf("load the state of a job log: it was saved in form %d and this arena reads form %d; fold the log again from its first line", in.Version, savedVersion)
	}
	s.furthest, s.active, s.unknown = in.Furthest, in.Active, in.Unknown
	s.steps = curve{in.Steps.Points, max(1, in.Steps.Stride), in.Steps.Count, in.Steps.Last}
	s.rollouts = in.Rollouts.Started
	s.why = reason{in.Why.ModelFailed, in.Why.Text, in.Why.Stage, in.Why.InTraceback, in.Why.Group}
	if in.Exit != nil {
		s.exitCode, s.exited = *in.Exit, true
	}
	for i := range s.stages {
		s.stages[i].load(stageID(i), in.Stages[i])
	}
	return s, nil
}

func (st *stage) load(id stageID, in savedStage) {
	st.seen, st.started, st.ended, st.opening = in.Seen, in.Started, in.Ended, in.Opening
	st.rawPassed, st.announced = in.RawPassed, in.Announced
	st.resumed, st.resumedPassed, st.spare, st.notes = in.Resumed, in.ResumedPassed, in.Spare, in.Notes
	for name, row := range in.Tasks {
		t := st.tasks[name]
		if t == nil {
			continue
		}
		t.tally = tally{row[0], row[1], row[2], row[3]}
		if id == training {
			t.allowed = row[4]
		}
		st.Passed += t.Passed
		st.Failed += t.Failed
		st.Errors += t.Errors
		st.Timeouts += t.Timeouts
	}
}
