// Package hush keeps the process from asking the terminal a question while it
// starts. Bubble Tea v1 asks for the background colour in an init function, so
// that every verb of the binary would, and would wait five seconds where nobody
// answers. Its libraries do not ask when the variable CI is set. Go initialises
// packages that are ready in the order of their paths, and Bubble Tea needs some
// of the standard library whose paths come after this one's: this package is first
// and can set the variable. Restore, which main calls before anything else, takes
// it back. A test runs the binary on a terminal that never answers.
package hush

import "os"

// quiet is the variable that silences the question.
const quiet = "CI"

// ours is what this package sets it to, to know it again.
const ours = "arena-starts"

func init() {
	if _, set := os.LookupEnv(quiet); !set {
		_ = os.Setenv(quiet, ours)
	}
}

// Restore leaves the environment as the process found it.
func Restore() {
	if os.Getenv(quiet) == ours {
		_ = os.Unsetenv(quiet)
	}
}
