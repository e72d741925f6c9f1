package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// stmts runs a list of statements on every state.
func (in *interp) stmts(list []*syntax.Stmt, states []*state) []*state {
	for _, s := range list {
		live, gone := partition(states)
		if len(live) == 0 || in.exhausted() {
			return states
		}
		states = in.merge(append(in.stmt(s, live), gone...))
	}
	return states
}

// exhausted says that the script has used up what may be spent on it. Nothing
// more is executed then; loops end.
func (in *interp) exhausted() bool {
	if in.work > in.maxWork {
		in.trace.Truncated = true
	}
	return in.work > in.maxWork
}

// merge joins states that are alike. When too many are left all the same, no
// more checks split them.
func (in *interp) merge(states []*state) []*state {
	merged := merge(states, maxStates, &in.work)
	in.blurred = in.blurred || len(merged) > maxStates
	return merged
}

// stmt runs one statement on states that are all live.
func (in *interp) stmt(s *syntax.Stmt, states []*state) []*state {
	if in.work += stepCost * len(states); in.exhausted() || in.depth >= maxDepth || len(states) > 4*maxStates {
		in.trace.Truncated = true
		return states
	}
	in.depth++
	defer func() { in.depth-- }()
	if s.Negated {
		in.quiet++
		defer func() { in.quiet-- }()
	}
	if s.Background || s.Coprocess || s.Disown {
		states = in.inBackground(s, states)
	} else {
		states = in.redirected(s, states)
	}
	if s.Negated {
		for _, st := range states {
			st.status = st.status.not(in.fresh())
		}
	}
	return states
}

// inBackground runs a statement that nobody waits for in a subshell.
func (in *interp) inBackground(s *syntax.Stmt, states []*state) []*state {
	in.background++
	in.quiet++
	states = in.subshell(states, func(sub []*state) []*state { return in.redirected(s, sub) })
	in.quiet--
	in.background--
	for _, st := range states {
		st.status = success()
	}
	return states
}

// redirected runs the command of a statement with its redirections.
func (in *interp) redirected(s *syntax.Stmt, states []*state) []*state {
	switch cmd := s.Cmd.(type) {
	case *syntax.CallExpr:
		return in.each(states, func(st *state) []*state { return in.call(s, cmd, st) })
	case nil:
		return in.each(states, func(st *state) []*state { return in.call(s, &syntax.CallExpr{}, st) })
	}
	if len(s.Redirs) == 0 {
		return in.command(s, states)
	}
	return in.each(states, func(st *state) []*state {
		return in.each(in.substitutions(redirWords(s.Redirs), st), func(st *state) []*state {
			c := call{redirs: in.redirections(st, s.Redirs), pos: s.Pos(), end: s.End()}
			return in.withRedirections(st, c, func(st *state) []*state {
				return in.command(s, []*state{st})
			})
		})
	})
}

// each runs f on every live state and collects the results.
func (in *interp) each(states []*state, f func(*state) []*state) []*state {
	if len(states) == 1 && states[0].flow == flowNext {
		return f(states[0])
	}
	var out []*state
	for _, st := range states {
		if st.flow != flowNext {
			out = append(out, st)
			continue
		}
		out = append(out, f(st)...)
	}
	return out
}

// command runs a compound command.
func (in *interp) command(s *syntax.Stmt, states []*state) []*state {
	switch cmd := s.Cmd.(type) {
	case *syntax.Block:
		return in.stmts(cmd.Stmts, states)
	case *syntax.Subshell:
		states = in.subshell(states, func(sub []*state) []*state { return in.stmts(cmd.Stmts, sub) })
		return in.errexit(states, s)
	case *syntax.BinaryCmd:
		return in.binary(s, cmd, states)
	case *syntax.IfClause:
		return in.ifClause(cmd, states)
	case *syntax.WhileClause:
		return in.whileClause(cmd, states)
	case *syntax.ForClause:
		return in.forClause(cmd, states)
	case *syntax.CaseClause:
		return in.caseClause(cmd, states)
	case *syntax.FuncDecl:
		for _, st := range states {
			in.declare(cmd, st)
		}
		return states
	case *syntax.DeclClause:
		return in.each(states, func(st *state) []*state { return in.declClause(s, cmd, st) })
	case *syntax.TestClause:
		return in.errexit(in.testClause(cmd, states), s)
	case *syntax.ArithmCmd:
		for _, st := range states {
			st.status, st.tested = in.arithStatus(st, cmd.X), true
		}
		return in.errexit(states, s)
	case *syntax.LetClause:
		for _, st := range states {
			for _, x := range cmd.Exprs {
				st.status = in.arithStatus(st, x)
			}
		}
		return states
	case *syntax.TimeClause:
		if cmd.Stmt != nil {
			return in.stmt(cmd.Stmt, states)
		}
	case *syntax.CoprocClause:
		return in.inBackground(cmd.Stmt, states)
	}
	return states
}

func (in *interp) declare(cmd *syntax.FuncDecl, st *state) {
	f := &function{body: []*syntax.Stmt{cmd.Body}, text: in.text}
	if cmd.Name != nil {
		st.funcs = st.funcs.with(cmd.Name.Value, f)
	}
	for _, n := range cmd.Names {
		st.funcs = st.funcs.with(n.Value, f)
	}
	st.status = success()
}

// subshell runs f on a copy of every state; only files and the exit status come
// back.
func (in *interp) subshell(states []*state, f func([]*state) []*state) []*state {
	return in.each(states, func(st *state) []*state {
		inner := st.clone()
		inner.traps = nil
		results := in.atExit(f([]*state{inner}))
		out := make([]*state, 0, len(results))
		for _, r := range results {
			back := st.clone()
			back.files, back.maybe, back.wrote = r.files, r.maybe, r.wrote
			back.out, back.status, back.tested = r.out, r.status, r.tested
			out = append(out, back)
		}
		return in.merge(out)
	})
}

// atExit runs the EXIT trap of every state. The states stay as they ended.
func (in *interp) atExit(states []*state) []*state {
	var out []*state
	trapped := map[*function][]*state{}
	var order []*function
	for _, st := range states {
		trap, ok := st.traps.get("EXIT")
		if !ok {
			out = append(out, st)
			continue
		}
		st.traps = st.traps.without("EXIT")
		st.left = leaving{st.flow, st.end}
		st.flow, st.errexit = flowNext, false
		if trapped[trap] == nil {
			order = append(order, trap)
		}
		trapped[trap] = append(trapped[trap], st)
	}
	for _, trap := range order {
		after := in.within(trap.text, func() []*state { return in.stmts(trap.body, trapped[trap]) })
		for _, a := range after {
			a.flow, a.end = a.left.flow, a.left.end
		}
		out = append(out, after...)
	}
	return out
}

// within runs f with positions that refer to another text.
func (in *interp) within(t *text, f func() []*state) []*state {
	saved := in.text
	in.text = t
	defer func() { in.text = saved }()
	return f()
}

// errexit ends the states in which set -e makes a failed statement fatal.
func (in *interp) errexit(states []*state, s *syntax.Stmt) []*state {
	if in.quiet > 0 {
		return states
	}
	return in.each(states, func(st *state) []*state {
		if st.status.succeeded() == yes {
			return []*state{st}
		}
		err, _ := st.traps.get("ERR")
		if !st.errexit && err == nil {
			return []*state{st}
		}
		end := &End{Cause: CauseAbort, Line: in.text.line(s.Pos()), Command: in.text.snippet(s.Pos(), s.End()), Check: st.tested}
		ok, failed := split([]*state{st})
		for _, f := range failed {
			ok = append(ok, in.fail(f, err, end)...)
		}
		return ok
	})
}

// fail runs the ERR trap and, under set -e, ends the state.
func (in *interp) fail(st *state, err *function, end *End) []*state {
	states := []*state{st}
	if err != nil {
		st.traps = st.traps.without("ERR")
		in.quiet++
		states = in.within(err.text, func() []*state { return in.stmts(err.body, states) })
		in.quiet--
	}
	for _, a := range states {
		if err != nil {
			a.traps = a.traps.with("ERR", err)
		}
		if a.errexit && a.flow == flowNext {
			a.flow, a.end, a.status = flowExit, end, failure()
		}
	}
	return states
}

// binary runs pipelines and lists joined with && and ||.
func (in *interp) binary(s *syntax.Stmt, cmd *syntax.BinaryCmd, states []*state) []*state {
	if cmd.Op == syntax.Pipe || cmd.Op == syntax.PipeAll {
		return in.errexit(in.pipeline(cmd, states), s)
	}
	in.quiet++
	states = in.stmt(cmd.X, states)
	in.quiet--
	live, gone := partition(states)
	if in.opts.MustSucceed && cmd.Op == syntax.AndStmt && !isCondition(cmd.X) {
		// What comes behind is reached, or everything has failed.
		return append(in.stmt(cmd.Y, live), gone...)
	}
	ok, failed := split(live)
	next, rest := ok, failed
	if cmd.Op == syntax.OrStmt {
		next, rest = failed, ok
	}
	if undecided := len(next) > 0 && len(rest) > 0; len(next) > 0 {
		var g guard
		if undecided {
			g = in.guardOf(cmd.X, cmd.X, cmd.X)
		}
		next = in.branch(undecided, g, func() []*state { return in.stmt(cmd.Y, next) })
	}
	return append(append(next, rest...), gone...)
}

// pipeline runs a | b | c. Every element is a subshell that reads the output of
// the one before.
func (in *interp) pipeline(cmd *syntax.BinaryCmd, states []*state) []*state {
	elements := flatten(cmd)
	for i := len(elements) - 1; i > 0; i-- {
		if s := findExec(elements[i-1], elements[i]); s != nil {
			elements = slices.Replace(elements, i-1, i+1, s)
		}
	}
	if len(elements) > maxPipe {
		in.trace.Truncated = true
		elements = elements[:maxPipe]
	}
	return in.each(states, func(st *state) []*state {
		input := st.stdin
		st.pipe = nil
		current := []*state{st}
		in.quiet++
		defer func() { in.quiet-- }()
		for i, e := range elements {
			last := i == len(elements)-1
			current = in.each(current, func(st *state) []*state { return in.element(e, last, st) })
			current = in.merge(current)
		}
		for _, r := range current {
			r.stdin = input
			if r.pipefail {
				r.status = in.allSucceeded(r)
			}
		}
		return current
	})
}

// element runs one part of a pipeline on a state.
func (in *interp) element(e *syntax.Stmt, last bool, st *state) []*state {
	tested := st.tested && st.pipefail && len(st.pipe) > 0
	run := func() []*state {
		return in.subshell([]*state{st}, func(sub []*state) []*state { return in.stmt(e, sub) })
	}
	var results []*state
	if !last {
		st.out = append(st.out[:len(st.out):len(st.out)], str(""))
		results = in.capturing(capture{pipe: true}, run)
	} else {
		results = run()
	}
	for _, r := range results {
		r.tested = r.tested || tested
		r.pipe = append(append([]value(nil), r.pipe...), r.status)
		if !last {
			out := r.popOutput()
			r.stdin = &out
		}
	}
	return results
}

// allSucceeded is the status of a pipeline under pipefail.
func (in *interp) allSucceeded(st *state) value {
	result := success()
	for _, v := range st.pipe {
		switch v.succeeded() {
		case no:
			return failure()
		case undecided:
			result = open(in.fresh())
		}
	}
	return result
}

// flatten returns the elements of a pipeline in order.
func flatten(cmd *syntax.BinaryCmd) []*syntax.Stmt {
	var out []*syntax.Stmt
	for {
		out = append(out, cmd.Y)
		left, ok := cmd.X.Cmd.(*syntax.BinaryCmd)
		if !ok || (left.Op != syntax.Pipe && left.Op != syntax.PipeAll) || cmd.X.Negated || len(cmd.X.Redirs) > 0 {
			out = append(out, cmd.X)
			break
		}
		cmd = left
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// findExec reads "find … | xargs rm …" as "find … -exec rm …"; nil if the two
// commands are something else.
func findExec(find, xargs *syntax.Stmt) *syntax.Stmt {
	from, ok := find.Cmd.(*syntax.CallExpr)
	to, okay := xargs.Cmd.(*syntax.CallExpr)
	if !ok || !okay || literalArg(from, 0) != "find" || literalArg(to, 0) != "xargs" {
		return nil
	}
	rest := to.Args[1:]
	for len(rest) > 0 && strings.HasPrefix(rest[0].Lit(), "-") {
		rest = rest[1:]
	}
	if len(rest) == 0 || rest[0].Lit() != "rm" {
		return nil
	}
	exec := &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{ValuePos: rest[0].Pos(), ValueEnd: rest[0].Pos(), Value: "-exec"}}}
	joined := *xargs
	joined.Cmd = &syntax.CallExpr{Args: slices.Concat(from.Args, []*syntax.Word{exec}, rest)}
	return &joined
}

// popOutput ends the innermost capture and returns what it holds.
func (st *state) popOutput() value {
	n := len(st.out) - 1
	v := st.out[n]
	st.out = st.out[:n:n]
	return v
}
