package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call is a simple command after expansion.
type call struct {
	words   []value
	env     []Variable
	redirs  []redirection
	pos     syntax.Pos
	end     syntax.Pos
	wrapped []string

	recorded bool // the files it writes are part of a recorded command
}

// redirection is one redirection after expansion.
type redirection struct {
	fd     int
	op     syntax.RedirOperator
	target value
	data   value // here-document or here-string
	line   int   // where a here-document starts
}

// input says whether the redirection feeds the standard input.
func (r redirection) input() bool {
	switch r.op {
	case syntax.RdrIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return r.fd == 0
	}
	return false
}

// output says whether the redirection sends fd 1 or 2 into a file.
func (r redirection) output() bool {
	switch r.op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.AppClob, syntax.RdrAll, syntax.RdrAllClob, syntax.AppAll, syntax.AppAllClob:
		return true
	case syntax.DplOut:
		_, isNumber := number(r.target.Text)
		return !isNumber && r.target.Text != "-"
	}
	return false
}

func (r redirection) appends() bool {
	return r.op == syntax.AppOut || r.op == syntax.AppClob || r.op == syntax.AppAll || r.op == syntax.AppAllClob
}

// stdout says whether the redirection takes the standard output.
func (r redirection) stdout() bool {
	switch r.op {
	case syntax.RdrAll, syntax.RdrAllClob, syntax.AppAll, syntax.AppAllClob, syntax.DplOut:
		return r.fd <= 1
	}
	return r.fd == 1
}

// call runs a simple command on one state.
func (in *interp) call(s *syntax.Stmt, cmd *syntax.CallExpr, st *state) []*state {
	words := append(redirWords(s.Redirs), cmd.Args...)
	for _, a := range cmd.Assigns {
		words = append(words, assignWords(a)...)
	}
	substituted := hasSubstitution(words)
	st.tested = false
	results := in.each(in.substitutions(words, st), func(st *state) []*state {
		tested := st.tested // of the last substitution, whose status is that of an assignment
		st.tested = false
		c := call{redirs: in.redirections(st, s.Redirs), pos: s.Pos(), end: s.End()}
		for _, w := range cmd.Args {
			c.words = append(c.words, in.fields(st, w)...)
		}
		if len(c.words) == 0 {
			for _, a := range cmd.Assigns {
				in.assign(st, a)
			}
			st.tested = tested
			if !substituted {
				st.status = success()
			}
			in.emit(st, c, in.redirectedInput(st, c))
			return []*state{st}
		}
		for _, a := range cmd.Assigns {
			if a.Name != nil {
				c.env = append(c.env, Variable{Name: a.Name.Value, Value: in.word(st, a.Value).Word})
			}
		}
		return in.dispatch(st, c)
	})
	return in.errexit(results, s)
}

// dispatch runs a simple command: a function, a builtin, a launcher of another
// command, or a program.
func (in *interp) dispatch(st *state, c call) []*state {
	name := c.words[0]
	if f, ok := st.funcs.get(name.Text); ok && name.Known {
		return in.withRedirections(st, c, func(st *state) []*state { return in.callFunction(st, f, c.words[1:]) })
	}
	if results, ok := in.builtin(st, c); ok {
		return results
	}
	if results, ok := in.launcher(st, c); ok {
		return results
	}
	return in.program(st, c)
}

// callFunction runs a function body with its own parameters.
func (in *interp) callFunction(st *state, f *function, args []value) []*state {
	if in.calls++; in.calls > maxCalls {
		in.calls--
		in.trace.Truncated = true
		return []*state{st}
	}
	defer func() { in.calls-- }()
	params := st.params
	st.params = append([]value{}, args...)
	st.frames = append(st.frames[:len(st.frames):len(st.frames)], nil)
	results := in.within(f.text, func() []*state { return in.stmts(f.body, []*state{st}) })
	for _, r := range results {
		r.params = params
		r.leaveFunction()
		if r.flow == flowReturn {
			r.flow = flowNext
		}
	}
	return results
}

// substitutions runs every command substitution in the words and remembers what
// each one printed. A substitution that can end in several ways splits the state.
func (in *interp) substitutions(words []*syntax.Word, st *state) []*state {
	st.subst = nil
	states := []*state{st}
	for _, w := range words {
		if w == nil || isPlain(w) {
			continue
		}
		syntax.Walk(w, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.CmdSubst:
				states = in.each(states, func(st *state) []*state { return in.substitute(n, n.Stmts, st, true) })
				return false
			case *syntax.ProcSubst:
				states = in.each(states, func(st *state) []*state { return in.substitute(nil, n.Stmts, st, false) })
				return false
			}
			return true
		})
	}
	return states
}

func hasSubstitution(words []*syntax.Word) bool {
	found := false
	for _, w := range words {
		if w == nil || isPlain(w) {
			continue
		}
		syntax.Walk(w, func(n syntax.Node) bool {
			_, ok := n.(*syntax.CmdSubst)
			found = found || ok
			return !found
		})
	}
	return found
}

// isPlain says that a word can hold no substitution.
func isPlain(w *syntax.Word) bool {
	for _, p := range w.Parts {
		switch p.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
		default:
			return false
		}
	}
	return true
}

func (in *interp) substitute(node *syntax.CmdSubst, body []*syntax.Stmt, st *state, keepStatus bool) []*state {
	old := st.status
	st.out = append(st.out[:len(st.out):len(st.out)], str(""))
	in.quiet++
	results := in.capturing(capture{substitution: true}, func() []*state {
		return in.subshell([]*state{st}, func(sub []*state) []*state { return in.stmts(body, sub) })
	})
	in.quiet--
	for _, r := range results {
		out := r.popOutput()
		if !out.Known && (out.Text == "" || strings.Contains(out.Text, unknownOutput)) {
			out = unknown(in.substitutionText(node))
		}
		out.Text = strings.TrimRight(out.Text, "\n")
		if !keepStatus {
			r.status = old
		}
		if node != nil {
			r.remember(node, in.text, out)
		}
	}
	return results
}

func (in *interp) substitutionText(node *syntax.CmdSubst) string {
	if node == nil {
		return ""
	}
	return in.text.snippet(node.Pos(), node.End())
}

// remember keeps what a substitution printed until its word is expanded.
func (st *state) remember(node *syntax.CmdSubst, t *text, v value) {
	st.subst = st.subst.with(placeOf(node, t), v)
}

func (st *state) substituted(node *syntax.CmdSubst, t *text) (value, bool) {
	return st.subst.get(placeOf(node, t))
}

// placeOf tells command substitutions apart.
func placeOf(node *syntax.CmdSubst, t *text) string {
	return itoa(t.at) + ":" + itoa(int(node.Left.Offset()))
}

func redirWords(redirs []*syntax.Redirect) []*syntax.Word {
	var out []*syntax.Word
	for _, r := range redirs {
		out = append(out, r.Word, r.Hdoc)
	}
	return out
}

func assignWords(a *syntax.Assign) []*syntax.Word {
	out := []*syntax.Word{a.Value}
	if a.Array != nil {
		for _, e := range a.Array.Elems {
			out = append(out, e.Value)
		}
	}
	return out
}

// redirections expands the redirections of a statement.
func (in *interp) redirections(st *state, redirs []*syntax.Redirect) []redirection {
	var out []redirection
	for _, r := range redirs {
		x := redirection{op: r.Op, fd: 1}
		switch r.Op {
		case syntax.RdrIn, syntax.RdrInOut, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc, syntax.DplIn:
			x.fd = 0
		}
		if r.N != nil {
			if n, ok := number(r.N.Value); ok {
				x.fd = n
			}
		}
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			x.data = in.hereDocument(st, r)
			if r.Hdoc != nil && len(r.Hdoc.Parts) > 0 {
				x.line = in.text.line(r.Hdoc.Pos())
			}
		case syntax.WordHdoc:
			x.data = concat(in.word(st, r.Word), str("\n"))
		default:
			if fields := in.fields(st, r.Word); len(fields) == 1 {
				x.target = fields[0]
			} else {
				x.target = unknown(in.text.snippet(r.Word.Pos(), r.Word.End()))
			}
		}
		out = append(out, x)
	}
	return out
}

// hereDocument returns the body of a here-document. A quoted delimiter keeps it literal.
func (in *interp) hereDocument(st *state, r *syntax.Redirect) value {
	if r.Hdoc == nil {
		return str("")
	}
	var v value
	quoted := false
	for _, p := range r.Word.Parts {
		switch p := p.(type) {
		case *syntax.SglQuoted, *syntax.DblQuoted:
			quoted = true
		case *syntax.Lit:
			quoted = quoted || strings.Contains(p.Value, `\`)
		}
	}
	if quoted {
		v = str(in.text.restore(r.Hdoc.Lit()))
	} else {
		v = in.hereText(st, r.Hdoc)
	}
	if r.Op == syntax.DashHdoc {
		lines := strings.SplitAfter(v.Text, "\n")
		for i, l := range lines {
			lines[i] = strings.TrimLeft(l, "\t")
		}
		v.Text = strings.Join(lines, "")
	}
	return v
}

// hereText expands an unquoted here-document, where only $, ` and \ are special.
func (in *interp) hereText(st *state, w *syntax.Word) value {
	var b builder
	for _, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok {
			b.add(str(unescapeQuoted(in.text.restore(lit.Value), "$`\\")))
			continue
		}
		b.add(in.part(st, p, true))
	}
	return value{Word: b.value().Word}
}

// withRedirections runs f with the redirections of a compound command or
// function call: its output goes to the file, its input comes from it.
func (in *interp) withRedirections(st *state, c call, f func(*state) []*state) []*state {
	outputs := call{pos: c.pos, end: c.end}
	input := st.stdin
	for _, r := range c.redirs {
		switch {
		case r.input():
			data := in.inputOf(st, r)
			st.stdin = &data
			if r.op == syntax.RdrIn {
				in.add(in.describe(st, call{pos: c.pos, redirs: []redirection{r}}))
			}
		case r.output() && r.stdout():
			outputs.redirs = []redirection{r}
		case r.op == syntax.DplOut && r.target.Text == "2" && r.stdout():
			outputs.redirs = []redirection{{op: syntax.RdrOut, fd: 1, target: str("/dev/stderr")}}
		}
	}
	if len(outputs.redirs) == 0 {
		results := f(st)
		for _, r := range results {
			r.stdin = input
		}
		return results
	}
	st.out = append(st.out[:len(st.out):len(st.out)], str(""))
	results := in.capturing(capture{file: outputs.redirs[0].target.Text}, func() []*state { return f(st) })
	for _, r := range results {
		r.stdin = input
		in.emit(r, outputs, r.popOutput())
	}
	return results
}

// redirectedInput is what redirections without a command print: $(<file) is the
// content of the file.
func (in *interp) redirectedInput(st *state, c call) value {
	for _, r := range c.redirs {
		if r.op == syntax.RdrIn && r.input() {
			in.add(in.describe(st, call{pos: c.pos, redirs: c.redirs}))
			return in.inputOf(st, r)
		}
	}
	return str("")
}

// inputOf returns what an input redirection feeds in.
func (in *interp) inputOf(st *state, r redirection) value {
	if r.op != syntax.RdrIn {
		return r.data
	}
	if v, ok := in.content(st, r.target.Word); ok {
		return v
	}
	return unknown(unknownOutput)
}
