package task

import (
	"errors"
	"fmt"
	"strings"

	"github.com/posttrainarena/arena/gates/report"
)

// The reasons for which a tree is refused. Test for them with errors.Is; the concrete error is a [*TreeError].
var (
	ErrNotUTF8      = errors.New("the name is not valid UTF-8; rename the file")
	ErrControl      = errors.New("the name contains a control character; rename the file")
	ErrEscape       = errors.New("the path is absolute, empty or leaves the directory; use a plain relative path")
	ErrTooLong      = errors.New("the path is too long; shorten it")
	ErrTooDeep      = errors.New("the path has too many components; flatten the directories")
	ErrTwin         = errors.New("two names differ only in case or accent encoding and would overwrite each other on some systems; rename one")
	ErrDuplicate    = errors.New("the path is listed twice, or is both a file and a directory")
	ErrTooManyFiles = errors.New("there are too many files; remove what the tasks do not need")
	ErrTooLarge     = errors.New("the files are too large; remove what the tasks do not need")
	ErrIrregular    = errors.New("not a regular file, directory or symbolic link; remove it")
	ErrChanged      = errors.New("the file changed while it was read; try again")
)

// TreeError says which path of a tree was refused and why.
type TreeError struct {
	Path   string // quoted by Error, since it may hold anything
	Reason error  // one of the Err… values
	Detail string // the numbers or names behind the reason; may be empty
}

// Error names the path, the reason and what to do.
func (e *TreeError) Error() string {
	if e.Detail == "" {
		return fmt.Sprintf("list files: %q: %v", e.Path, e.Reason)
	}
	return fmt.Sprintf("list files: %q: %v (%s)", e.Path, e.Reason, e.Detail)
}

// Problem is the error as a structural problem of the collection.
func (e *TreeError) Problem() Problem {
	message, fix, _ := strings.Cut(e.Reason.Error(), "; ")
	if e.Detail != "" {
		message += " (" + e.Detail + ")"
	}
	return Problem{Severity: report.Error, Code: "unsafe-path", Path: e.Path, Message: message, Fix: fix}
}

// Unwrap returns the reason.
func (e *TreeError) Unwrap() error { return e.Reason }
