package joblog

import (
	"bytes"
	"fmt"
	"regexp"

	"github.com/posttrainarena/arena/protocol"
)

// StageAt returns the stage that the last marker among lines begins, as far as
// the log itself says; false without a marker.
func StageAt(lines []string) (protocol.Stage, bool) {
	for i := len(lines) - 1; i >= 0; i-- {
		if id, ok := markerStage(trimStamp(Clean(nil, []byte(lines[i])))); ok {
			return id.name(), true
		}
	}
	return "", false
}

// markerStage returns the stage that a marker line begins.
func markerStage(b []byte) (stageID, bool) {
	rest, ok := bytes.CutPrefix(b, []byte(markerPrefix))
	if !ok {
		return 0, false
	}
	name, _, ok := bytes.Cut(rest, []byte(":"))
	if !ok {
		return 0, false
	}
	return stageOf(name)
}

// Excerpt is a part of a log for participants.
type Excerpt struct {
	Lines []string
	Stage protocol.Stage // in which the first line was printed; empty when not known, and then taken for a sealed one
	// Sealed says that the run has come to its held-out evaluation. Nothing that is
	// printed from then on can be trusted to say that it is about something else,
	// because what runs then was trained on participants' tasks.
	Sealed bool
}

// visibleLine is how much of one line participants see, in bytes.
const visibleLine = 1000

// Visible returns what participants may see of it (PROTOCOL §1; reference/
// pipeline.md §9, answer 37). Of a sealed stage that is the shape of the
// evaluation: which stage it is, how many tasks it has, how they ended in numbers.
// Prompts, transcripts, verdicts and what verifiers print are counted and left
// out, because each of them is about one task. Every other line is shown with
// sealed names replaced.
func (e Excerpt) Visible(r *Redactor) []string {
	visible := []string{}
	sealed, hidden := e.Sealed || e.Stage == "" || e.Stage.Sealed(), 0
	reveal := func() {
		if hidden > 0 {
			visible = append(visible, fmt.Sprintf("[%d lines of a sealed stage]", hidden))
			hidden = 0
		}
	}
	for _, line := range e.Lines {
		b := trimStamp(Clean(nil, []byte(line)))
		if id, ok := markerStage(b); ok {
			sealed = e.Sealed || id.name().Sealed()
		}
		text := excerpt([]byte(line), visibleLine)
		if sealed {
			shape, ok := shapeOf(b)
			if !ok {
				hidden++
				continue
			}
			text = shape
		}
		reveal()
		visible = append(visible, r.Redact(text))
	}
	reveal()
	return visible
}

// The lines of an evaluation that are about all of its tasks. They are matched
// whole, so that nothing can ride on them.
var (
	shapeMarker = regexp.MustCompile(`^\[posttrainarena\] [a-z0-9_]+`)
	shapeWhole  = regexp.MustCompile(`^(Job: \d+ tasks?, \d+ done, \d+ to run( \(concurrency=\d+\))?` +
		`|Job complete: \d+/\d+ \(\d+(\.\d+)?%\)(, [a-z_]+=[0-9.]+(min)?)*` +
		`|TRAINER_EXIT=-?\d+|VLLM_FAILED)$`)
)

// shapeOf returns what a line of a sealed stage says about the evaluation as a
// whole; false when it is about something else.
func shapeOf(b []byte) (string, bool) {
	if _, ok := markerStage(b); ok {
		return string(shapeMarker.Find(b)), true // without its command, which lists tasks
	}
	return string(b), shapeWhole.Match(b)
}
