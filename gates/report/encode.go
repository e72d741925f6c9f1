package report

import (
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode"
)

// Locator turns a finding into the path that a reader can open from where they stand, such as
// "envs/wire-sort/environment/Dockerfile". [TaskPath] is the one that encoders use when given nil.
type Locator func(Finding) string

// TaskPath joins a finding's task and path. A finding without a path gets the task's directory.
func TaskPath(f Finding) string { return path.Join(f.Task, f.Path) }

func (l Locator) of(f Finding) string {
	if l == nil {
		l = TaskPath
	}
	return l(f)
}

// JSON writes the report as indented JSON and a final newline.
func JSON(w io.Writer, r Report) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		return fmt.Errorf("write report as json: %w", err)
	}
	return nil
}

// Headline is the summary in one sentence, as every human-readable format ends or begins with it.
func Headline(s Summary) string {
	line := fmt.Sprintf("%s: %d blocked, %d rejected, %d eligible", count(s.Tasks, "task"), s.Blocked, s.Rejected, s.Eligible)
	if s.Eligible == 0 {
		return line
	}
	return fmt.Sprintf("%s (%d clean, %d to review, %d without a working reference solution)", line, s.Clean, s.Review, s.NeedsControls)
}

// refusal says in one sentence that the report makes a collection invalid; it is empty when nothing does.
func refusal(r Report) string {
	errors, blocks := 0, r.Summary.Blocked
	for _, p := range r.Problems {
		if p.Severity == Error {
			errors++
		}
	}
	switch {
	case errors == 0 && blocks == 0:
		return ""
	case blocks == 0:
		return "The collection would be refused: " + count(errors, "structural error") + "."
	case errors == 0:
		return "The collection would be refused: " + count(blocks, "blocked task") + "."
	}
	return fmt.Sprintf("The collection would be refused: %s and %s.", count(errors, "structural error"), count(blocks, "blocked task"))
}

// count writes a number with its noun: "1 task", "2 tasks".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// visible makes text safe for one line of output: line breaks and tabs become blanks, other control characters and the
// Unicode controls that reorder text are written as escapes, so that a file cannot move the cursor, recolour the
// terminal or hide what it says.
func visible(s string) string {
	clean := true
	for _, r := range s {
		if hidden(r) {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\t' || r == '\n':
			b.WriteByte(' ')
		case r == unicode.ReplacementChar:
			b.WriteRune(r)
		case hidden(r):
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hidden(r rune) bool {
	return unicode.IsControl(r) || r == unicode.ReplacementChar || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r)
}

// sticky is an io.Writer for a run of prints whose first error is reported once, at the end.
type sticky struct {
	w   io.Writer
	err error
}

func (s *sticky) printf(format string, args ...any) {
	if s.err == nil {
		_, s.err = fmt.Fprintf(s.w, format, args...)
	}
}
