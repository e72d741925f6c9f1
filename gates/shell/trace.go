package shell

import "mvdan.cc/sh/v3/syntax"

// Options say where a script runs.
type Options struct {
	// Script is the absolute path of the script, the value of $0; "" is unknown.
	Script string
	// Dir is the working directory at the start; "" is unknown.
	Dir string
	// Env holds variables that certainly have these values.
	Env map[string]string
	// Assume holds variables that the harness may set, with the values they
	// stand for. They resolve paths but never decide a branch.
	Assume map[string]string
	// FirstLine is the line number of the first line; 0 means 1.
	FirstLine int
	// MustSucceed says that a failing script ends everything around it, as a
	// failing RUN instruction ends a build: a command after && then counts as
	// reached unless it follows a test.
	MustSucceed bool
	// MaxWork bounds Trace.Work; 0 means the default, which grows with the script.
	MaxWork int

	// Read returns the text of a file that is there before the script runs; nil
	// means that none is known.
	Read func(path string) (string, bool)

	watch func(Word) string // names the file that writes are recorded for, "" for others
}

// Trace lists what a script may do, in the order in which it is first reached.
type Trace struct {
	Commands []Command
	// Opaque lists commands whose text cannot be known, such as eval "$x".
	Opaque []Command
	// Truncated says that the script went beyond the bounds of the model and
	// the lists may be incomplete.
	Truncated bool
	// Work is what following the script took: the bytes of all words, records
	// and states that were built, and a fixed amount for every statement.
	Work int
}

// Cause says how a path through a script ended.
type Cause string

// Ways in which a script can end.
const (
	CauseEnd   Cause = "end"   // ran to its last line
	CauseExit  Cause = "exit"  // an exit command
	CauseAbort Cause = "abort" // set -e and a command that failed
)

// End is one way in which a script ends.
type End struct {
	Cause   Cause
	Line    int    // line of the exit or of the failing command; 0 at the end of the file
	Command string // the failing command, for CauseAbort
	Check   bool   // the failing command is a check: a test runner, a program, a comparison
}

// Follow lists what a script may do. The error is a *SyntaxError, or wraps ErrNotShell.
func Follow(script []byte, opts Options) (Trace, error) {
	in, _, err := run(script, opts)
	if err != nil {
		return Trace{}, err
	}
	in.trace.Work = in.work
	return in.trace, nil
}

// run follows a script and returns the interpreter and all final states.
func run(script []byte, opts Options) (*interp, []*state, error) {
	file, t, err := parse(script, max(1, opts.FirstLine))
	if err != nil {
		return nil, nil, err
	}
	in := &interp{opts: opts, text: t, seen: map[int][]int{}, checks: map[string]bool{}, pythons: map[string]*python{}, maxWork: MaxWork + workPerByte*len(script)}
	if opts.MaxWork > 0 {
		in.maxWork = min(in.maxWork, opts.MaxWork)
	}
	st := newState()
	if opts.Dir != "" {
		st.dir = str(opts.Dir)
	} else {
		st.dir = unknown("")
	}
	for name, v := range opts.Env {
		st.set(name, str(v))
		st.export = st.export.with(name, true)
	}
	st.errexit = shebangErrexit(shebang(t.src))
	states := in.stmts(file.Stmts, []*state{st})
	states = in.atExit(states)
	return in, states, nil
}

// interp follows one script.
type interp struct {
	opts  Options
	text  *text
	trace Trace

	seen    map[int][]int      // indexes in trace.Commands by offset
	pythons map[string]*python // inline code that has been read, by code, arguments and environment
	rewards []RewardWrite
	checks  map[string]bool // the checks whose outcomes are told apart
	guards  []guard
	capture []capture // what takes the output of the command that runs, innermost last

	depth, calls  int
	loops         int // loops with an unknown number of rounds around what is executed
	work, maxWork int // spent and allowed, see Trace.Work
	sym           int // last exit status that was left open
	quiet         int // above 0 while a failure does not end the script
	background    int
	blurred       bool // there are too many states to tell the outcomes of more checks apart
}

// guard is an undecided condition around what is being executed.
type guard struct {
	text  string
	probe bool
}

// capture is one thing that takes the output of a command.
type capture struct {
	pipe         bool   // the rest of a pipeline
	file         string // a redirection of the statements around
	substitution bool   // $(…)
}

func (in *interp) capturing(c capture, f func() []*state) []*state {
	in.capture = append(in.capture, c)
	defer func() { in.capture = in.capture[:len(in.capture)-1] }()
	return f()
}

func (in *interp) fresh() int {
	in.sym++
	return in.sym
}

// guarded runs f with one more condition around it.
func (in *interp) guarded(g guard, f func() []*state) []*state {
	in.guards = append(in.guards, g)
	defer func() { in.guards = in.guards[:len(in.guards)-1] }()
	return f()
}

// branch runs f under the guard only if the condition was not decided.
func (in *interp) branch(open bool, g guard, f func() []*state) []*state {
	if !open {
		return f()
	}
	return in.guarded(g, f)
}

func (in *interp) guardText() string {
	if len(in.guards) == 0 {
		return ""
	}
	return in.guards[len(in.guards)-1].text
}

func (in *interp) probing() bool {
	for _, g := range in.guards {
		if g.probe {
			return true
		}
	}
	return false
}

// guardOf describes a condition.
func (in *interp) guardOf(from, to syntax.Node, nodes ...*syntax.Stmt) guard {
	g := guard{text: in.text.snippet(from.Pos(), to.End())}
	if g.text == "" {
		g.text = "condition"
	}
	for _, n := range nodes {
		g.probe = g.probe || probes(n)
	}
	return g
}
