package joblog

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"github.com/posttrainarena/arena/protocol"
)

// modelFailed is what a job prints when its model server did not come up.
const modelFailed = "VLLM_FAILED"

// reasonSize is how much of a reason is kept, in bytes.
const reasonSize = 500

// aggregates are the beginnings of reasons that only say that attempts went
// wrong. What went wrong is in the notes of the attempts.
func aggregates() [2]string {
	return [...]string{
		"RuntimeError: OpenCode evaluation contains agent or verifier errors",
		"RuntimeError: OpenCode GRPO rollout failed for ",
	}
}

// reason collects why a job stops: the last exception that it printed and did
// not outlive.
type reason struct {
	modelFailed bool
	text        string
	stage       stageID // in which text was printed
	inTraceback bool    // between "Traceback" and the exception
	group       groupState
}

// groupState is where the reader is in an exception group, whose parts follow it
// behind a gutter of bars.
type groupState int

const (
	groupNone    groupState = iota
	groupHeading            // the group's traceback began
	groupOpen               // the group was named; its parts follow
	groupPart               // at least one part was named
)

// The first lines of Python's tracebacks.
const (
	tracebackHeading = "Traceback (most recent call last):"
	groupHeadingText = "Exception Group " + tracebackHeading
)

// traceback reads the first line of a traceback.
func (r *reason) traceback(b []byte) bool {
	if !bytes.HasPrefix(b, []byte(tracebackHeading)) {
		return false
	}
	r.inTraceback, r.group = true, groupNone
	return true
}

// outlived forgets a reason: the pipeline went on after it.
func (r *reason) outlived() { *r = reason{modelFailed: r.modelFailed} }

// exception reads a line that may be the last one of a traceback, which is what
// Python says last and what people look for first. Chained causes print theirs
// before, so the last one stands. Of a group the group and its parts are kept.
func (r *reason) exception(stage stageID, b []byte) {
	content, inGroup := gutter(b)
	if inGroup {
		r.part(stage, content)
		return
	}
	if b[0] == ' ' || b[0] == '\t' {
		return // source lines of a traceback
	}
	name, ok := exceptionName(b)
	if !ok || !r.inTraceback && !namedLikeException(name) {
		return
	}
	r.inTraceback, r.group = false, groupNone
	if wrapper(name) && r.text != "" {
		return
	}
	r.text, r.stage = excerpt(b, reasonSize), stage
}

// part reads a line behind the gutter of an exception group.
func (r *reason) part(stage stageID, content []byte) {
	if bytes.HasPrefix(content, []byte(groupHeadingText)) {
		if r.group != groupOpen && r.group != groupPart {
			r.group = groupHeading
		}
		return
	}
	name, ok := exceptionName(content)
	if !ok || r.group == groupNone || !namedLikeException(name) {
		return
	}
	switch r.group {
	case groupHeading:
		r.text, r.stage, r.group = excerpt(content, reasonSize), stage, groupOpen
	case groupOpen:
		r.text, r.group = excerpt([]byte(r.text+": "+string(content)), reasonSize), groupPart
	case groupPart:
		r.text = excerpt([]byte(r.text+"; "+string(content)), reasonSize)
	}
}

// gutter removes the bars that Python draws before the lines of an exception
// group, such as "    | ValueError: …", and reports whether there were any.
func gutter(b []byte) ([]byte, bool) {
	text := bytes.TrimLeft(b, " ")
	if len(text) == len(b) || len(text) < 2 || text[0] != '|' && text[0] != '+' || text[1] != ' ' {
		return b, false
	}
	text = text[2:]
	if len(text) > 0 && text[0] == ' ' {
		return nil, true // a source line
	}
	return text, true
}

// exceptionName returns the dotted name that a line starts with, when the line
// has the form "package.Name: message" or "package.Name".
func exceptionName(b []byte) ([]byte, bool) {
	n := 0
	for n < len(b) && n < 120 && (identByte(b[n]) || n > 0 && b[n] == '.') {
		n++
	}
	if n == 0 || b[0] >= '0' && b[0] <= '9' {
		return nil, false
	}
	if rest := b[n:]; len(bytes.TrimSpace(rest)) > 0 && !bytes.HasPrefix(rest, []byte(":")) {
		return nil, false
	}
	name := b[:n]
	class := name[bytes.LastIndexByte(name, '.')+1:]
	// Log levels ("INFO: …") and words ("note: …") are not classes.
	return name, len(class) > 1 && class[0] >= 'A' && class[0] <= 'Z' && bytes.ContainsFunc(class[1:], unicode.IsLower)
}

func identByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// namedLikeException reports whether a class is an exception by its name, so
// that it counts without a traceback before it.
func namedLikeException(name []byte) bool {
	for _, suffix := range [...]string{"Error", "Exception", "Interrupt", "ExceptionGroup"} {
		if bytes.HasSuffix(name, []byte(suffix)) {
			return true
		}
	}
	return false
}

// wrapper reports whether an exception only repeats that a command failed, so
// that an earlier one says more.
func wrapper(name []byte) bool {
	return bytes.HasSuffix(name, []byte("CalledProcessError")) || bytes.HasSuffix(name, []byte("SystemExit"))
}

// Reason returns why the job stopped, as its log says it: the last exception, or
// VLLM_FAILED, with the most frequent note of the attempts that it is about. It
// is empty when the log gives no reason, which a scored run's does not. While the
// job runs it is what it would have stopped of. The text is that of the log: it
// may name sealed tasks, so it goes through a Redactor before participants see it.
func (s *State) Reason() string {
	text := s.why.text
	if s.why.modelFailed {
		text = strings.TrimSuffix(modelFailed+": "+text, ": ")
	}
	if notes := s.reasonNotes(); len(notes) > 0 {
		text += fmt.Sprintf("; most often (%d×): %s", notes[0].Count, notes[0].Text)
	}
	return text
}

// reasonNotes returns the notes that a reason about attempts stands for.
func (s *State) reasonNotes() []note {
	for _, a := range aggregates() {
		if strings.HasPrefix(s.why.text, a) {
			return s.stages[s.why.stage].notes.byCount()
		}
	}
	return nil
}

// Issue returns the known issue that explains the reason. A reason that only
// counts attempts is explained by their notes, the most frequent first: a rollout
// that failed because its sandboxes did not start is the platform's fault. Else,
// and when no note is known, it is the first that matches the reason itself. ok is
// false when there is no reason or no known issue.
func (s *State) Issue() (issue KnownIssue, ok bool) {
	stage := s.why.stage
	var texts []string
	for _, n := range s.reasonNotes() {
		texts = append(texts, n.Text)
	}
	texts = append(texts, s.why.text)
	if s.why.modelFailed {
		texts = append(texts, modelFailed)
	}
	for _, text := range texts {
		for _, k := range s.expect.Known {
			if text != "" && k.matches(stage.name(), text) {
				return k, true
			}
		}
	}
	return KnownIssue{}, false
}

// Fault returns whose fault the reason is, or FaultNone when no known issue
// explains it.
func (s *State) Fault() protocol.FaultClass {
	issue, _ := s.Issue()
	return issue.Class
}
