package joblog

import (
	"regexp"

	"github.com/posttrainarena/arena/protocol"
)

// Expect is what is known about a run before its log is read.
type Expect struct {
	// Tasks lists the task names whose verdicts count in a stage: the evaluated
	// sealed names for baseline and heldout, the eligible training names for gate
	// and training. A name that occurs twice, in two suites, counts twice.
	Tasks map[protocol.Stage][]string
	// Trials is the number of attempts per held-out task and side; 0 means 1.
	Trials int
	// Known explains why runs stop, in order of preference.
	Known []KnownIssue
	// Sealed takes sealed names out of what everybody sees of the fold as it is:
	// the keys of training steps. nil leaves them.
	Sealed *Redactor
}

// KnownIssue explains one way in which a run stops.
type KnownIssue struct {
	Stage    protocol.Stage // empty when it may happen in any
	Pattern  *regexp.Regexp // matches somewhere in the reason or note
	Class    protocol.FaultClass
	Sentence string // what happened, for people
	Advice   string // what to do about it
}

// matches reports whether the issue explains a text that a stage ended with.
func (k KnownIssue) matches(stage protocol.Stage, text string) bool {
	return (k.Stage == "" || k.Stage == stage) && k.Pattern.MatchString(text)
}

// stageID is a stage's place in protocol.Stages, so that the fold can index by it.
type stageID int

// The stages a log can reach, in order. Collect is not among them: the arena
// sets it when a result is collected.
const (
	setup stageID = iota
	snapshot
	baseline
	gate
	training
	heldout
	stageCount
)

// name returns the stage as the protocol spells it.
func (s stageID) name() protocol.Stage { return protocol.Stages()[s] }

// evaluates reports whether the stage is one evaluation of a fixed set of
// tasks, so that each task has a known number of verdicts.
func (s stageID) evaluates() bool { return s == baseline || s == gate || s == heldout }
