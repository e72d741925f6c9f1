package joblog

import (
	"fmt"
	"regexp"
	"strings"

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
	Pattern  Pattern
	Class    protocol.FaultClass
	Sentence string // what happened, for people
	Advice   string // what to do about it
}

// matches reports whether the issue explains a text that a stage ended with.
func (k KnownIssue) matches(stage protocol.Stage, text string) bool {
	return (k.Stage == "" || k.Stage == stage) && k.Pattern.Match(text)
}

// PatternKind says how a pattern is compared with a text.
type PatternKind string

// The kinds of pattern.
const (
	PatternLiteral PatternKind = "literal" // the text contains it
	PatternPrefix  PatternKind = "prefix"  // the text starts with it
	PatternRegexp  PatternKind = "regexp"  // it matches somewhere in the text (RE2)
)

// Pattern is what a known issue is recognised by. The zero Pattern matches
// nothing.
type Pattern struct {
	kind PatternKind
	text string
	re   *regexp.Regexp
}

// ParsePattern makes a pattern of a kind. It refuses an empty text, an unknown
// kind, and a regular expression that does not compile.
func ParsePattern(kind PatternKind, text string) (Pattern, error) {
	if text == "" {
		return Pattern{}, fmt.Errorf("read a known issue's pattern: it is empty and would match every reason; write what the reason says")
	}
	switch kind {
	case PatternLiteral, PatternPrefix:
		return Pattern{kind: kind, text: text}, nil
	case PatternRegexp:
		re, err := regexp.Compile(text)
		if err != nil {
			return Pattern{}, fmt.Errorf("read a known issue's pattern %q: %w", text, err)
		}
		return Pattern{kind: kind, text: text, re: re}, nil
	default:
		return Pattern{}, fmt.Errorf("read a known issue's pattern %q: there is no kind %q; use literal, prefix or regexp", text, kind)
	}
}

// Match reports whether the pattern fits a text.
func (p Pattern) Match(text string) bool {
	switch p.kind {
	case PatternLiteral:
		return strings.Contains(text, p.text)
	case PatternPrefix:
		return strings.HasPrefix(text, p.text)
	case PatternRegexp:
		return p.re.MatchString(text)
	default:
		return false
	}
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
