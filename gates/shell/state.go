package shell

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// flow says where execution continues after a statement.
type flow int

const (
	flowNext flow = iota
	flowBreak
	flowContinue
	flowReturn
	flowExit
)

// state is one way in which the script may have come to a statement. The tables
// and slices of a state are shared with its clones and never changed in place.
type state struct {
	vars   table[value]
	params []value      // positional parameters, without $0
	dir    value        // working directory
	status value        // $?
	pipe   []value      // PIPESTATUS
	stdin  *value       // what a pipe feeds into the command; nil when nothing is known
	out    []value      // captured output, innermost last
	subst  table[value] // what command substitutions printed, by place
	files  table[value] // contents of small files, and of the reward
	funcs  table[*function]
	traps  table[*function]
	export table[bool]     // names of the variables that other programs see
	frames []table[*value] // values that "local" hides, innermost call last

	errexit, pipefail bool
	tested            bool // the last status comes from a check

	flow   flow
	levels int     // loops still to leave, for break N
	end    *End    // how the path ended, once flow is flowExit
	left   leaving // how the path had ended before its EXIT trap ran

	wrote uint64 // the rewards written on this path, by index
	maybe []Word // programs that may have written the reward
}

// leaving says how a path ended.
type leaving struct {
	flow flow
	end  *End
}

// function is a piece of script to be run later, with the text its positions refer to.
type function struct {
	body []*syntax.Stmt
	text *text
}

// offset tells functions apart: no two start at the same place of the same text.
func (f *function) offset() int {
	if len(f.body) == 0 {
		return f.text.at
	}
	return f.text.at + int(f.body[0].Pos().Offset())
}

func newState() *state {
	return &state{params: []value{}, status: success()}
}

// clone returns a state that can change without changing st.
func (st *state) clone() *state {
	c := *st
	return &c
}

// settle decides the open exit status sym everywhere in the state.
func (st *state) settle(sym int, ok bool) {
	decide := func(v value) value {
		if v.sym != sym {
			return v
		}
		if ok != v.inverted {
			return success()
		}
		return failure()
	}
	st.status = decide(st.status)
	for _, e := range st.vars {
		if e.v.sym == sym {
			st.vars = st.vars.with(e.name, decide(e.v))
		}
	}
	for i, v := range st.pipe {
		if v.sym == sym {
			st.pipe = slices.Clone(st.pipe)
			st.pipe[i] = decide(v)
		}
	}
}

// split divides states into those whose last status is zero and those where it
// is not. A state that does not know goes into both.
func split(states []*state) (ok, failed []*state) {
	for _, st := range states {
		switch st.status.succeeded() {
		case yes:
			ok = append(ok, st)
		case no:
			failed = append(failed, st)
		default:
			other := st.clone()
			if sym := st.status.sym; sym != 0 {
				inverted := st.status.inverted
				st.settle(sym, !inverted)
				other.settle(sym, inverted)
			}
			st.status, other.status = success(), failure()
			ok, failed = append(ok, st), append(failed, other)
		}
	}
	return ok, failed
}

// partition divides states into those that run the next statement and those
// that have left the current list of statements.
func partition(states []*state) (live, gone []*state) {
	for _, st := range states {
		if st.flow == flowNext {
			live = append(live, st)
		} else {
			gone = append(gone, st)
		}
	}
	return live, gone
}

// set assigns a variable. Very long values are forgotten.
func (st *state) set(name string, v value) {
	if len(v.Text) > maxValueBytes {
		v = unknown("$" + name)
	}
	st.vars = st.vars.with(name, v)
}

// inherited returns the variables that a shell started as a program sees.
func (st *state) inherited() table[value] {
	var out table[value]
	for _, e := range st.vars {
		if _, ok := st.export.get(e.name); ok {
			out = append(out, e)
		}
	}
	return out
}

// shadow remembers the value of a variable that becomes local to a function.
func (st *state) shadow(name string) {
	last := len(st.frames) - 1
	if last < 0 {
		return
	}
	if _, done := st.frames[last].get(name); done {
		return
	}
	var hidden *value
	if old, ok := st.vars.get(name); ok {
		hidden = &old
	}
	st.frames = slices.Clone(st.frames)
	st.frames[last] = st.frames[last].with(name, hidden)
}

// leaveFunction restores what the innermost call made local.
func (st *state) leaveFunction() {
	last := len(st.frames) - 1
	for _, e := range st.frames[last] {
		if e.v == nil {
			st.vars = st.vars.without(e.name)
		} else {
			st.vars = st.vars.with(e.name, *e.v)
		}
	}
	st.frames = st.frames[:last:last]
}

// key is a text that two states share only if they behave alike from here on.
func (st *state) key() string {
	var b strings.Builder
	b.Grow(256)
	for _, t := range []table[value]{st.vars, st.files} {
		writeTable(&b, t)
	}
	for _, list := range [][]value{st.params, st.out, st.pipe} {
		for _, v := range list {
			v.key(&b)
		}
		b.WriteByte('\n')
	}
	st.dir.key(&b)
	st.status.key(&b)
	for _, e := range st.export {
		b.WriteString(e.name + ",")
	}
	for _, t := range []table[*function]{st.funcs, st.traps} {
		for _, e := range t {
			b.WriteString(e.name + " " + itoa(e.v.offset()) + ",")
		}
		b.WriteByte('\n')
	}
	b.WriteString(st.outcome())
	return b.String()
}

func writeTable(b *strings.Builder, t table[value]) {
	for _, e := range t {
		b.WriteString(e.name)
		b.WriteByte('=')
		e.v.key(b)
	}
	b.WriteByte('\n')
}

// outcome is the part of a state's key that is never given up when states are widened.
func (st *state) outcome() string {
	var b strings.Builder
	b.WriteString(strconv.FormatBool(st.errexit) + strconv.FormatBool(st.pipefail))
	b.WriteString(itoa(int(st.flow)) + "," + itoa(st.levels) + "," + itoa(len(st.out)) + "," + itoa(len(st.frames)))
	b.WriteString("," + strconv.FormatUint(st.wrote, 16))
	for _, w := range st.maybe {
		b.WriteString(w.Text + "\x00")
	}
	for _, e := range []*End{st.end, st.left.end} {
		if e != nil {
			b.WriteString(itoa(e.Line) + string(e.Cause))
		}
	}
	return b.String()
}

// merge drops states that equal another one and, above max states, joins those
// that differ only in variables, which become unknown.
func merge(states []*state, max int, work *int) []*state {
	if len(states) <= 4 {
		return states
	}
	seen := make(map[string]bool, len(states))
	kept := states[:0:0]
	for _, st := range states {
		k := st.key()
		*work += len(k)
		if !seen[k] {
			seen[k] = true
			kept = append(kept, st)
		}
	}
	if len(kept) <= max {
		return kept
	}
	return widen(kept)
}

// widen joins all states with the same outcome and the same files.
func widen(states []*state) []*state {
	groups := map[string]*state{}
	var kept []*state
	for _, st := range states {
		var b strings.Builder
		writeTable(&b, st.files)
		k := st.outcome() + b.String()
		if g, ok := groups[k]; ok {
			g.join(st)
			continue
		}
		groups[k] = st
		kept = append(kept, st)
	}
	return kept
}

// join makes st stand for both states by forgetting where they differ.
func (st *state) join(o *state) {
	for _, e := range st.vars {
		if w, ok := o.vars.get(e.name); !ok || !e.v.equal(w) {
			st.vars = st.vars.with(e.name, unknown("$"+e.name))
		}
	}
	for _, e := range o.vars {
		if _, ok := st.vars.get(e.name); !ok {
			st.vars = st.vars.with(e.name, unknown("$"+e.name))
		}
	}
	if !st.dir.equal(o.dir) {
		st.dir = unknown("$PWD")
	}
	if !st.status.equal(o.status) {
		st.status = unknown("$?")
	}
	for i := range st.out {
		if !st.out[i].equal(o.out[i]) {
			st.out = slices.Clone(st.out)
			st.out[i] = unknown("")
		}
	}
	if len(st.params) != len(o.params) || !slices.EqualFunc(st.params, o.params, value.equal) {
		st.params = nil
	}
	st.pipe, st.stdin = nil, nil
}

func itoa(n int) string { return strconv.Itoa(n) }
