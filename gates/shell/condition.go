package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const dupOut = syntax.DplOut

// testBuiltin runs test and [.
func (in *interp) testBuiltin(st *state, c call) []*state {
	in.record(st, c, str(""))
	args := c.words[1:]
	if c.words[0].Text == "[" && len(args) > 0 && args[len(args)-1].Text == "]" {
		args = args[:len(args)-1]
	}
	st.status, st.tested = in.testArgs(st, args), true
	return []*state{st}
}

// testArgs evaluates the arguments of test, for the forms that have one meaning.
func (in *interp) testArgs(st *state, args []value) value {
	for i, a := range args {
		if (a.Text == "-a" || a.Text == "-o") && a.Known && i > 0 && i < len(args)-1 {
			left, right := in.testArgs(st, args[:i]), in.testArgs(st, args[i+1:])
			return in.both(left, right, a.Text == "-a")
		}
	}
	switch {
	case len(args) > 0 && args[0].Text == "!" && args[0].Known:
		return in.testArgs(st, args[1:]).not(in.fresh())
	case len(args) == 0:
		return str("1")
	case len(args) == 1:
		return in.nonEmpty(args[0])
	case len(args) == 2:
		return in.unary(st, args[0].Text, args[1])
	case len(args) == 3:
		return in.compare(args[0], args[1].Text, args[2])
	}
	return open(in.fresh())
}

// both is the status of two conditions joined by "and" or "or".
func (in *interp) both(left, right value, and bool) value {
	l, r := left.succeeded(), right.succeeded()
	decisive := yes
	if and {
		decisive = no
	}
	switch {
	case l == decisive || r == decisive:
		return decisive.status(0)
	case l == decisive.not():
		return right
	case r == decisive.not():
		return left
	}
	return open(in.fresh())
}

func (in *interp) nonEmpty(v value) value {
	if v.sym != 0 || v.failed {
		return success()
	}
	if text, ok := v.certain(); ok {
		return verdictOf(text != "").status(0)
	}
	return open(in.fresh())
}

func (in *interp) unary(st *state, op string, v value) value {
	switch op {
	case "-e", "-f", "-s":
		return in.exists(st, v).status(in.fresh())
	case "-n":
		return in.nonEmpty(v)
	case "-z":
		return in.nonEmpty(v).not(in.fresh())
	}
	return open(in.fresh())
}

// exists says whether a file is there: yes for those that the script wrote on
// this path, and no for a reward that nothing can have written yet, because the
// harness starts with an empty directory.
func (in *interp) exists(st *state, v value) verdict {
	key := in.fileKey(st, v.Word)
	if _, ok := st.files.get(key); ok && key != "" {
		return yes
	}
	if key != "" && !strings.HasPrefix(key, "/") && len(st.maybe) == 0 {
		return no
	}
	return undecided
}

// compare evaluates a binary comparison of test or [[ ]].
func (in *interp) compare(a value, op string, b value) value {
	numeric := strings.HasPrefix(op, "-")
	if b.sym != 0 || b.failed {
		a, b = b, a
		if op == "-le" || op == "-gt" {
			return open(in.fresh())
		}
	}
	if a.sym != 0 || a.failed {
		if b.Text != "0" || !b.Known {
			return open(in.fresh())
		}
		zero := in.isZero(a)
		switch op {
		case "-eq", "=", "==", "-le":
			return zero
		case "-ne", "!=", "-gt":
			return zero.not(in.fresh())
		}
		return open(in.fresh())
	}
	x, okX := a.certain()
	y, okY := b.certain()
	if !okX || !okY {
		return open(in.fresh())
	}
	if numeric {
		n, okN := number(x)
		m, okM := number(y)
		if !okN || !okM {
			return open(in.fresh())
		}
		return numericTest(op, n, m).status(in.fresh())
	}
	switch op {
	case "=", "==":
		return verdictOf(x == y).status(0)
	case "!=":
		return verdictOf(x != y).status(0)
	}
	return open(in.fresh())
}

func numericTest(op string, n, m int) verdict {
	switch op {
	case "-eq":
		return verdictOf(n == m)
	case "-ne":
		return verdictOf(n != m)
	case "-lt":
		return verdictOf(n < m)
	case "-le":
		return verdictOf(n <= m)
	case "-gt":
		return verdictOf(n > m)
	case "-ge":
		return verdictOf(n >= m)
	}
	return undecided
}

// testClause runs [[ ]].
func (in *interp) testClause(cmd *syntax.TestClause, states []*state) []*state {
	return in.each(states, func(st *state) []*state {
		return in.each(in.substitutions(testWords(cmd.X), st), func(st *state) []*state {
			st.status, st.tested = in.testExpr(st, cmd.X), true
			return []*state{st}
		})
	})
}

// testWords lists the words of a [[ ]] expression.
func testWords(x syntax.TestExpr) []*syntax.Word {
	var words []*syntax.Word
	syntax.Walk(x, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok {
			words = append(words, w)
			return false
		}
		return true
	})
	return words
}

func (in *interp) testExpr(st *state, x syntax.TestExpr) value {
	if in.depth++; in.depth > maxDepth {
		in.depth--
		return open(in.fresh())
	}
	defer func() { in.depth-- }()
	switch x := x.(type) {
	case *syntax.ParenTest:
		return in.testExpr(st, x.X)
	case *syntax.Word:
		return in.nonEmpty(in.word(st, x))
	case *syntax.UnaryTest:
		if x.Op == syntax.TsNot {
			return in.testExpr(st, x.X).not(in.fresh())
		}
		if w, ok := x.X.(*syntax.Word); ok {
			return in.unary(st, x.Op.String(), in.word(st, w))
		}
	case *syntax.BinaryTest:
		return in.binaryTest(st, x)
	}
	return open(in.fresh())
}

func (in *interp) binaryTest(st *state, x *syntax.BinaryTest) value {
	switch x.Op {
	case syntax.AndTest, syntax.OrTest:
		return in.both(in.testExpr(st, x.X), in.testExpr(st, x.Y), x.Op == syntax.AndTest)
	case syntax.TsReMatch, syntax.TsNewer, syntax.TsOlder, syntax.TsDevIno, syntax.TsBefore, syntax.TsAfter:
		return open(in.fresh())
	}
	left, okL := x.X.(*syntax.Word)
	right, okR := x.Y.(*syntax.Word)
	if !okL || !okR {
		return open(in.fresh())
	}
	a, b := in.word(st, left), in.word(st, right)
	if pattern, ok := b.certain(); ok && b.Glob {
		text, known := a.certain()
		if !known || x.Op == syntax.TsEql {
			return open(in.fresh())
		}
		return verdictOf(match(pattern, text) == (x.Op != syntax.TsNoMatch)).status(0)
	}
	return in.compare(a, x.Op.String(), b)
}

// probes says whether a statement asks if something is installed or present.
func probes(s *syntax.Stmt) bool {
	return anyCommand(s, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			return probingCall(n)
		case *syntax.UnaryTest:
			return isPresenceTest(n.Op.String())
		}
		return false
	})
}

// isCondition says whether a statement is a test whose failure is expected.
func isCondition(s *syntax.Stmt) bool {
	return anyCommand(s, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			switch literalArg(n, 0) {
			case "test", "[", "grep", "egrep", "fgrep", "getent", "id", "cmp", "diff", "false":
				return true
			}
			return probingCall(n)
		case *syntax.TestClause, *syntax.ArithmCmd:
			return true
		}
		return false
	})
}

func anyCommand(s *syntax.Stmt, f func(syntax.Node) bool) bool {
	found := false
	syntax.Walk(s, func(n syntax.Node) bool {
		found = found || n != nil && f(n)
		return !found
	})
	return found
}

func literalArg(c *syntax.CallExpr, i int) string {
	if i < len(c.Args) {
		return c.Args[i].Lit()
	}
	return ""
}

func isPresenceTest(op string) bool {
	return isOneOf(op, []string{"-e", "-f", "-d", "-x", "-s", "-r", "-L"})
}

func probingCall(c *syntax.CallExpr) bool {
	name, first := literalArg(c, 0), literalArg(c, 1)
	switch name {
	case "command":
		return first == "-v" || first == "-V"
	case "type", "which", "hash", "dpkg", "dpkg-query":
		return true
	case "test", "[":
		return isPresenceTest(first) || first == "!" && isPresenceTest(literalArg(c, 2))
	case "pip", "pip3":
		return first == "show"
	}
	return strings.HasPrefix(name, "python") && importsOnly(c)
}

// importsOnly says that a Python command only asks whether a module can be imported.
func importsOnly(c *syntax.CallExpr) bool {
	for _, a := range c.Args {
		for _, p := range a.Parts {
			switch p := p.(type) {
			case *syntax.SglQuoted:
				if strings.HasPrefix(strings.TrimSpace(p.Value), "import ") {
					return true
				}
			case *syntax.DblQuoted:
				if len(p.Parts) != 1 {
					continue
				}
				if l, ok := p.Parts[0].(*syntax.Lit); ok && strings.HasPrefix(strings.TrimSpace(l.Value), "import ") {
					return true
				}
			}
		}
	}
	return false
}
