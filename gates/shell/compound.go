package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// condition runs statements whose failure ends nothing and splits the states by
// their outcome. States that left the list come back apart.
func (in *interp) condition(list []*syntax.Stmt, states []*state) (ok, failed, gone []*state) {
	in.quiet++
	states = in.stmts(list, states)
	in.quiet--
	live, gone := partition(states)
	ok, failed = split(live)
	return ok, failed, gone
}

func (in *interp) ifClause(cmd *syntax.IfClause, states []*state) []*state {
	if len(cmd.Cond) == 0 { // else
		return in.stmts(cmd.Then, states)
	}
	ok, failed, gone := in.condition(cmd.Cond, states)
	g := in.guardOf(cmd.Cond[0], cmd.Cond[len(cmd.Cond)-1], cmd.Cond...)
	open := len(ok) > 0 && len(failed) > 0
	out := gone
	if len(ok) > 0 {
		out = append(out, in.branch(open, g, func() []*state { return in.stmts(cmd.Then, ok) })...)
	}
	if len(failed) > 0 && cmd.Else != nil {
		// The branch still sees the status of the condition in $?.
		return append(out, in.branch(open, g, func() []*state { return in.ifClause(cmd.Else, failed) })...)
	}
	for _, st := range failed {
		st.status = success()
	}
	return append(out, failed...)
}

// enterLoop says how often the body of a loop with an unknown number of rounds
// is run: twice, or once inside another such loop.
func (in *interp) enterLoop() (rounds int, leave func()) {
	in.loops++
	leave = func() { in.loops-- }
	if in.loops > 1 {
		return 1, leave
	}
	return 2, leave
}

// whileClause runs the body until the condition fails. A loop that is still
// running after the last round is taken to end, with its counts at any value.
func (in *interp) whileClause(cmd *syntax.WhileClause, states []*state) []*state {
	rounds, leave := in.enterLoop()
	defer leave()
	var out []*state
	g := in.guardOf(cmd.Cond[0], cmd.Cond[len(cmd.Cond)-1])
	for round := 0; round <= rounds && len(states) > 0 && !in.exhausted(); round++ {
		ok, failed, gone := in.condition(cmd.Cond, states)
		out = append(out, gone...)
		if cmd.Until {
			ok, failed = failed, ok
		}
		for _, st := range failed {
			st.status = success()
		}
		out = append(out, failed...)
		if round == rounds {
			forgetCounts(ok, cmd.Do)
			out = append(out, ok...)
			break
		}
		undecided := len(ok) > 0 && len(failed) > 0
		body := ok
		if len(ok) > 0 {
			body = in.branch(undecided, g, func() []*state { return in.stmts(cmd.Do, ok) })
		}
		var left []*state
		states, left = in.iterated(body)
		out = append(out, left...)
		states = in.merge(states)
	}
	return in.merge(out)
}

// iterated sorts states after one round of a loop: those that start the next
// round and those that have left the loop.
func (in *interp) iterated(states []*state) (next, left []*state) {
	for _, st := range states {
		switch st.flow {
		case flowNext:
			next = append(next, st)
		case flowBreak, flowContinue:
			st.levels--
			if st.levels > 0 {
				left = append(left, st)
				continue
			}
			continued := st.flow == flowContinue
			st.flow, st.levels = flowNext, 0
			if continued {
				next = append(next, st)
			} else {
				left = append(left, st)
			}
		default:
			left = append(left, st)
		}
	}
	return next, left
}

func (in *interp) forClause(cmd *syntax.ForClause, states []*state) []*state {
	iter, ok := cmd.Loop.(*syntax.WordIter)
	if !ok {
		loop := cmd.Loop.(*syntax.CStyleLoop)
		return in.openLoop(cmd, states, false, func(st *state) {
			if loop.Init != nil {
				in.arith(st, loop.Init)
			}
			for _, name := range assignedIn(loop) {
				st.set(name, unknown("$"+name))
			}
		})
	}
	return in.each(states, func(st *state) []*state {
		return in.each(in.substitutions(iter.Items, st), func(st *state) []*state {
			items, constant := in.items(iter, st)
			if !constant || cmd.Select {
				pattern := unknown("$" + iter.Name.Value)
				if len(items) == 1 {
					pattern = items[0]
				}
				// What is done to each file that a pattern matches is done to all that there are.
				pattern.match = in.opts.MustSucceed && pattern.Known && pattern.Glob && !cmd.Select
				return in.openLoop(cmd, []*state{st}, pattern.match, func(st *state) { st.set(iter.Name.Value, pattern) })
			}
			return in.unroll(cmd, iter.Name.Value, items, st)
		})
	})
}

// items expands the words of a for loop. constant says that these are exactly
// the rounds that the loop makes.
func (in *interp) items(iter *syntax.WordIter, st *state) (items []value, constant bool) {
	if !iter.InPos.IsValid() {
		return st.params, st.params != nil
	}
	constant = true
	for _, w := range iter.Items {
		for _, v := range in.fields(st, w) {
			constant = constant && v.Known && !v.Glob
			items = append(items, v)
		}
	}
	return items, constant && len(items) <= maxUnroll
}

func (in *interp) unroll(cmd *syntax.ForClause, name string, items []value, st *state) []*state {
	states, out := []*state{st}, []*state(nil)
	for _, item := range items {
		if len(states) == 0 || in.exhausted() {
			break
		}
		for _, s := range states {
			s.set(name, item)
		}
		var left []*state
		states, left = in.iterated(in.stmts(cmd.Do, states))
		out = append(out, left...)
		states = in.merge(states)
	}
	return append(out, states...)
}

// openLoop runs the body any number of times up to the rounds of enterLoop. sure
// says that the first round is no condition.
func (in *interp) openLoop(cmd *syntax.ForClause, states []*state, sure bool, round func(*state)) []*state {
	rounds, leave := in.enterLoop()
	defer leave()
	g := in.guardOf(cmd, cmd.Loop)
	var out []*state
	for i := 0; i <= rounds && len(states) > 0 && !in.exhausted(); i++ {
		if i == rounds {
			forgetCounts(states, cmd.Do)
			out = append(out, states...)
			break
		}
		for _, st := range states {
			out = append(out, st.clone())
		}
		for _, st := range states {
			round(st)
		}
		body := in.branch(!sure || i > 0, g, func() []*state { return in.stmts(cmd.Do, states) })
		var left []*state
		states, left = in.iterated(body)
		out = append(out, left...)
		states = in.merge(states)
	}
	return in.merge(out)
}

// forgetCounts makes the variables unknown that the body of a loop counts or
// collects with: those that get a new value from their old one.
func forgetCounts(states []*state, body []*syntax.Stmt) {
	if len(states) == 0 {
		return
	}
	counts := map[string]bool{}
	for _, s := range body {
		syntax.Walk(s, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Assign:
				if n.Name != nil && (n.Append || n.Value != nil && mentionsVariable(n.Value, n.Name.Value)) {
					counts[n.Name.Value] = true
				}
			case *syntax.ArithmCmd, *syntax.LetClause:
				for _, name := range namesIn(n) {
					counts[name] = true
				}
			}
			return true
		})
	}
	for _, st := range states {
		for name := range counts {
			if _, set := st.vars.get(name); set {
				st.set(name, unknown("$"+name))
			}
		}
	}
}

// mentionsVariable says whether a word uses a variable, also inside arithmetic.
func mentionsVariable(w *syntax.Word, name string) bool {
	found := false
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ParamExp:
			found = found || n.Param != nil && n.Param.Value == name
		case *syntax.ArithmExp:
			found = found || slices.Contains(namesIn(n), name)
		}
		return !found
	})
	return found
}

// namesIn lists the words of arithmetic that can be variables.
func namesIn(x syntax.Node) []string {
	var names []string
	syntax.Walk(x, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok && syntax.ValidName(w.Lit()) {
			names = append(names, w.Lit())
		}
		return true
	})
	return names
}

// assignedIn lists the variables that the header of a C-style loop changes.
func assignedIn(loop *syntax.CStyleLoop) []string {
	var names []string
	for _, x := range []syntax.ArithmExpr{loop.Init, loop.Cond, loop.Post} {
		if x != nil {
			names = append(names, namesIn(x)...)
		}
	}
	return names
}

// arrival is a state that has come to a case, with the word it looks at.
type arrival struct {
	st      *state
	subject value
}

func (in *interp) caseClause(cmd *syntax.CaseClause, states []*state) []*state {
	var waiting []arrival
	for _, st := range states {
		for _, s := range in.substitutions([]*syntax.Word{cmd.Word}, st) {
			waiting = append(waiting, arrival{s, in.word(s, cmd.Word)})
		}
	}
	g := in.guardOf(cmd, cmd.Word)
	var out []*state
	for _, item := range cmd.Items {
		enter, pass := in.arm(item, waiting)
		if len(enter) > 0 {
			out = append(out, in.branch(len(pass) > 0 || len(out) > 0, g, func() []*state { return in.stmts(item.Stmts, enter) })...)
		}
		if waiting = pass; len(waiting) == 0 {
			break
		}
	}
	for _, a := range waiting {
		a.st.status = success()
		out = append(out, a.st)
	}
	return in.merge(out)
}

// arm divides the states into those that may enter an arm and those that may
// go on to the next one.
func (in *interp) arm(item *syntax.CaseItem, waiting []arrival) (enter []*state, pass []arrival) {
	for _, a := range waiting {
		switch in.armMatches(a.st, a.subject, item) {
		case yes:
			enter = append(enter, a.st)
		case no:
			pass = append(pass, a)
		default:
			other := a.st.clone()
			if a.subject.sym != 0 && armIsZero(item) {
				a.st.settle(a.subject.sym, !a.subject.inverted)
				other.settle(a.subject.sym, a.subject.inverted)
			}
			enter = append(enter, a.st)
			pass = append(pass, arrival{other, a.subject})
		}
	}
	return enter, pass
}

func (in *interp) armMatches(st *state, subject value, item *syntax.CaseItem) verdict {
	result := no
	for _, p := range item.Patterns {
		pattern := in.word(st, p)
		if pattern.Text == "*" && pattern.Known {
			return yes
		}
		v := undecided
		text, known := subject.certain()
		switch {
		case subject.failed && pattern.Known && pattern.Text == "0":
			v = no
		case known && pattern.Known:
			v = verdictOf(match(pattern.Text, text))
		}
		if v == yes {
			return yes
		}
		if v == undecided {
			result = undecided
		}
	}
	return result
}

func armIsZero(item *syntax.CaseItem) bool {
	return len(item.Patterns) == 1 && item.Patterns[0].Lit() == "0"
}

// match matches a shell pattern of *, ? and [...] against a whole string. A
// slash is an ordinary character, as it is in case and [[ ]]. Only the last
// star is tried again, which is enough and keeps the work below len² steps.
func match(pattern, s string) bool {
	if len(s) > 4096 || len(pattern) > 4096 {
		return false
	}
	p, i, star, mark := 0, 0, -1, 0
	for i < len(s) {
		if p < len(pattern) && pattern[p] == '*' {
			star, mark = p, i
			p++
			continue
		}
		if n, ok := matchOne(pattern[p:], s[i]); ok {
			p, i = p+n, i+1
			continue
		}
		if star < 0 {
			return false
		}
		mark++
		p, i = star+1, mark
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// matchOne matches one character and returns the length of the pattern it used.
func matchOne(pattern string, c byte) (int, bool) {
	if pattern == "" {
		return 0, false
	}
	switch pattern[0] {
	case '?':
		return 1, true
	case '[':
		if end := strings.IndexByte(pattern[1:], ']'); end > 0 {
			return end + 2, inSet(pattern[1:1+end], c)
		}
	case '\\':
		if len(pattern) > 1 {
			return 2, pattern[1] == c
		}
	}
	return 1, pattern[0] == c
}

func inSet(set string, c byte) bool {
	negated := strings.HasPrefix(set, "!") || strings.HasPrefix(set, "^")
	if negated {
		set = set[1:]
	}
	found := false
	for i := 0; i < len(set); i++ {
		if i+2 < len(set) && set[i+1] == '-' {
			found = found || (set[i] <= c && c <= set[i+2])
			i += 2
			continue
		}
		found = found || set[i] == c
	}
	return found != negated
}
