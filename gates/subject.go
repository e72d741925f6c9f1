package gates

import (
	"errors"
	"io/fs"

	"github.com/posttrainarena/arena/gates/report"
	"github.com/posttrainarena/arena/gates/task"
)

// subject is one package under examination. It remembers what was read and parsed, so that rules can share it, and
// which files a parser refused. One goroutine works on a subject at a time.
type subject struct {
	*task.Package
	rules  map[string]report.Rule
	index  int    // position in the batch
	hash   string // content identity
	shells map[string]*script
	models models
	leaked map[string]bool // paths of the image that a stronger rule has reported

	refused []report.Finding // "unparsed" findings, one for each file that could not be read or parsed
}

// finding makes a finding of a catalogued code at a place of this package; the catalogue gives its severity and fix.
func (s *subject) finding(code, path string, line int, message string) report.Finding {
	rule := s.rules[code]
	return report.Finding{Code: code, Severity: rule.Severity, Task: s.Name, Path: path, Line: line, Message: message, Fix: rule.Fix}
}

// one is a list of a single finding, which is what most rules return.
func (s *subject) one(code, path string, line int, message string) []report.Finding {
	return []report.Finding{s.finding(code, path, line, message)}
}

// refuse records that a file could not be understood, once for each file.
func (s *subject) refuse(path string, line int, message string) {
	for _, f := range s.refused {
		if f.Path == path {
			return
		}
	}
	s.refused = append(s.refused, s.finding("unparsed", path, line, message))
}

// source reads a file for a parser. A file that is not there is no refusal; one that is too large or unreadable is.
func (s *subject) source(path string) ([]byte, bool) {
	src, err := s.ReadText(path)
	switch {
	case err == nil:
		return src, true
	case errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, task.ErrOversize):
		s.refuse(path, 0, "the file is too large to be inspected")
	case errors.Is(err, task.ErrNotRegular):
		s.refuse(path, 0, "the file is a symbolic link or submodule and was not followed")
	default:
		s.refuse(path, 0, "the file could not be read")
	}
	return nil, false
}
