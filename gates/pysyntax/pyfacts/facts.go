package pyfacts

import (
	"strings"

	"github.com/posttrainarena/arena/gates/pysyntax"
)

// Unknown stands in a text for a part that cannot be known from the file.
const Unknown = "{?}"

// Here stands at the start of a path for the folder of the file itself.
const Here = "{here}"

// Facts is what a file does, in source order.
type Facts struct {
	Tests      []Test
	Assertions []Assertion
	Skips      []Skip
	Paths      []PathUse
	Imports    []Import
	Commands   []Command
	Chance     []ChanceUse
	Network    []NetworkUse
}

// Place says where in a file a fact was found. In is the function, such as
// "TestOutput.test_rows", or empty for code at module level.
type Place struct {
	pysyntax.Position
	In string
}

// Test is a function that pytest or unittest would run.
type Test struct {
	Place
	// Asserts tells whether it can fail on purpose: it contains an assertion, or
	// uses a function, method or fixture of this file that does.
	Asserts bool
	// Helper is the function through which it asserts, if it does not itself.
	Helper string
	// Unresolved lists the functions it uses from modules that are neither part
	// of Python nor well-known libraries; they may assert, too.
	Unresolved []string
}

// AssertionKind says what an assertion asks for.
type AssertionKind uint8

// The kinds of assertions, the weakest first. An assertion that combines
// several with "and" or "or" has the strongest of them.
const (
	Literal  AssertionKind = iota // decided by constants alone
	Exists                        // whether something is there, or is not
	Size                          // how large a file is
	Type                          // of what type a value is
	Truth                         // any other value taken as true or false
	Compare                       // a comparison with a value that the file does not fix
	Raises                        // that something raises or warns
	Library                       // a library's assertion, such as numpy.testing's
	Succeeds                      // that a command succeeds, as with check=True
	Fail                          // fails whenever it is reached
)

// String returns the name of the kind in lower case.
func (k AssertionKind) String() string {
	return [...]string{
		"literal", "exists", "size", "type", "truth", "compare", "raises", "library", "command", "fail",
	}[k]
}

// Assertion is one way in which the file fails on purpose.
type Assertion struct {
	Place
	Kind AssertionKind
	// Conditional is set when it stands under an "if", a loop or a handler, and
	// so may not be reached.
	Conditional bool
	// Swallowed is set when a handler around it catches the failure and goes on.
	Swallowed bool
}

// Skip is a way in which tests do not run or do not count.
type Skip struct {
	Place
	// Kind is "skip", "skipif", "importorskip", "xfail" or "empty-parametrize".
	Kind        string
	Conditional bool
}

// Access says what is done with a path.
type Access uint8

// The kinds of access.
const (
	Read    Access = iota // its content is read
	Write                 // it is written, created or removed
	Check                 // only its existence or kind is asked for
	Stat                  // its size or other attributes are read
	List                  // the names in it are listed
	Execute               // Python code in it is loaded or put on the import path
)

// String returns the name of the access in lower case.
func (a Access) String() string {
	return [...]string{"read", "write", "check", "stat", "list", "execute"}[a]
}

// PathUse is one access to one path.
type PathUse struct {
	Place
	Access Access
	// Path may contain [Unknown] and may start with [Here].
	Path string
	// Exact is set when no part of Path is unknown.
	Exact bool
	// Env is the environment variable that can replace Path, or part of it.
	Env string
	// Via is the function or method, such as "open" or "read_text".
	Via string
}

// Import is an imported module, with the name imported from it, if any.
// Relative imports start with dots.
type Import struct {
	Place
	Module, Name string
}

// Command is a command that the file runs.
type Command struct {
	Place
	Via string
	// Args are the words of the command; one may be [Unknown] or contain it. For
	// a shell command there is one, the command line.
	Args  []string
	Shell bool
	// Checked is set when a failure of the command raises an exception.
	Checked bool
}

// ChanceKind says what a result depends on besides its input.
type ChanceKind uint8

// The kinds of chance.
const (
	Clock  ChanceKind = iota // the current time or date
	Timer                    // how long something takes
	Random                   // random numbers without a fixed seed
)

// String returns the name of the kind in lower case.
func (k ChanceKind) String() string { return [...]string{"clock", "timer", "random"}[k] }

// ChanceUse is a use of the clock or of random numbers.
type ChanceUse struct {
	Place
	Kind ChanceKind
	Via  string
	// Judged is set when the value decides an assertion of the same function. The
	// difference of two readings of the clock, which is a duration, and a random
	// value that other code works with, which is any input, do not.
	Judged bool
}

// NetworkUse is a call that reaches over the network.
type NetworkUse struct {
	Place
	Via string
	// Target is the URL or host, [Unknown] if it cannot be known.
	Target string
	// Local is set when the target is this machine.
	Local bool
}

// Collect reads the facts from a parsed file. env are the environment variables that it is run with, as far as they are
// known.
func Collect(m *pysyntax.Module, env map[string]string) *Facts {
	c := &collector{m: m, env: env, total: fileSteps, facts: &Facts{}}
	c.newBudget()
	c.index()
	c.seeded = c.seeds()
	c.inputs, c.returned = map[int]bool{}, map[*function][]int{}
	c.walkBody(m.Body, c.module, circumstances{})
	c.newBudget()
	c.findTests()
	c.markJudged()
	return c.facts
}

// newBudget gives the next statement its steps out of those of the file.
func (c *collector) newBudget() {
	c.budget = min(statementSteps, c.total)
	c.total -= c.budget
}

// refund returns the unused steps to the file.
func (c *collector) refund() {
	c.total += max(c.budget, 0)
	c.budget = 0
}

// place returns the place of a node in the given scope.
func (c *collector) place(n pysyntax.Node, s *scope) Place {
	return Place{Position: c.m.Position(n.Range().Start), In: s.function()}
}

// hasUnknown reports whether a text has an unknown part.
func hasUnknown(s string) bool { return strings.Contains(s, Unknown) }
