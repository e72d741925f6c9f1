package pyfacts

import (
	"strings"

	"github.com/posttrainarena/arena/gates/pysyntax"
)

// assertion records an assertion; reads is the expression whose value it
// judges.
func (c *collector) assertion(n pysyntax.Node, k AssertionKind, s *scope, at circumstances, reads ...pysyntax.Expr) {
	if c.isDead(s) {
		return
	}
	c.facts.Assertions = append(c.facts.Assertions, Assertion{
		Place: c.place(n, s), Kind: k, Conditional: at.conditional, Swallowed: at.swallowed,
	})
	if owner := s.owner(); owner != nil && !at.swallowed {
		owner.direct = true
	}
	for _, e := range reads {
		c.flows = append(c.flows, flow{owner: s.owner(), value: e, judged: true})
	}
}

// isDead reports whether code stands in a function that nothing can call: the
// file never mentions it, and no test runner looks for it.
func (c *collector) isDead(s *scope) bool {
	for ; s != nil; s = s.outer {
		f := s.fn
		if f == nil || f.class != nil || len(f.def.Decorators) > 0 || c.mentioned[f.def.Name] || c.isTest(f) {
			continue
		}
		if f.scope.outer != c.module || !isHook(f.def.Name) {
			return true
		}
	}
	return false
}

// isHook reports whether a test runner calls functions of a name.
func isHook(name string) bool {
	return strings.HasPrefix(name, "pytest_") || strings.HasPrefix(name, "setup") || strings.HasPrefix(name, "teardown") ||
		name == "setUpModule" || name == "tearDownModule" || name == "load_tests"
}

func (c *collector) raise(n *pysyntax.Raise, s *scope, at circumstances) {
	if n.Exc == nil {
		return // passes on what a handler caught
	}
	if c.isSkipException(n.Exc, s) {
		c.skip(n, "skip", s, at.conditional)
		return
	}
	c.assertion(n, Fail, s, at)
}

func (c *collector) isSkipException(e pysyntax.Expr, s *scope) bool {
	if call, ok := e.(*pysyntax.Call); ok {
		e = call.Func
	}
	name := c.dotted(e, s)
	return name == "unittest.SkipTest" || name == "unittest.case.SkipTest" || name == "pytest.skip.Exception"
}

// failingCall reports whether a call always ends the test as failed.
func (c *collector) failingCall(n *pysyntax.Call, s *scope) bool {
	switch c.dotted(n.Func, s) {
	case "pytest.fail":
		return true
	case "sys.exit", "exit", "quit", "os._exit":
		return len(n.Args) == 1 && c.isLiteral(n.Args[0], s, 0) && !isFalse(n.Args[0])
	}
	a, ok := n.Func.(*pysyntax.Attribute)
	return ok && a.Attr == "fail" && c.root(a.Value) == "self"
}

// assertingCall records calls that are assertions.
func (c *collector) assertingCall(n *pysyntax.Call, name string, s *scope, at circumstances) {
	switch name {
	case "pytest.raises", "pytest.warns", "pytest.deprecated_call":
		c.assertion(n, Raises, s, at)
		return
	case "sys.exit", "exit", "quit", "os._exit":
		if len(n.Args) == 1 && !c.isLiteral(n.Args[0], s, 0) && !c.runsTests(n.Args[0], s) {
			c.assertion(n, c.classify(n.Args[0], s, 0), s, at, n.Args[0])
			return
		}
	}
	if c.failingCall(n, s) {
		if !at.recorded {
			c.assertion(n, Fail, s, at)
		}
		return
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	a, method := n.Func.(*pysyntax.Attribute)
	if method {
		last = a.Attr
	}
	switch {
	case c.callee(n.Func, s) != nil:
		// a helper of this file: its own assertions count
	case method && isUnittestAssert(last):
		c.assertion(n, c.unittestKind(last, n, s), s, at, n.Args...)
	case strings.HasPrefix(last, "assert_"):
		c.assertion(n, Library, s, at, n.Args...)
	}
}

func (c *collector) runsTests(e pysyntax.Expr, s *scope) bool {
	call, ok := e.(*pysyntax.Call)
	if !ok {
		return false
	}
	name := c.dotted(call.Func, s)
	return name == "pytest.main" || name == "unittest.main"
}

// isUnittestAssert recognizes assertEqual and its kin.
func isUnittestAssert(name string) bool {
	rest, ok := strings.CutPrefix(name, "assert")
	return ok && rest != "" && 'A' <= rest[0] && rest[0] <= 'Z'
}

// unittestKind classifies a call of a unittest assertion.
func (c *collector) unittestKind(name string, n *pysyntax.Call, s *scope) AssertionKind {
	switch {
	case strings.HasPrefix(name, "assertRaises"), strings.HasPrefix(name, "assertWarns"), strings.HasPrefix(name, "assertLogs"):
		return Raises
	case strings.HasPrefix(name, "assertIsInstance"), strings.HasPrefix(name, "assertNotIsInstance"):
		return Type
	case len(n.Args) == 0:
		return Library
	case name == "assertTrue", name == "assertFalse", name == "assertIsNone", name == "assertIsNotNone":
		return c.classify(n.Args[0], s, 0)
	case len(n.Args) == 1:
		return Library
	}
	return c.compareKind(n.Args[0], n.Args[1:2], s, 0)
}

// classify says what an assertion of the truth of e asks for.
func (c *collector) classify(e pysyntax.Expr, s *scope, depth int) AssertionKind {
	c.budget--
	if depth > maxDepth || c.budget < 0 {
		return Truth
	}
	if isFalse(e) {
		return Fail
	}
	if c.isLiteral(e, s, depth) {
		return Literal
	}
	switch n := e.(type) {
	case *pysyntax.BoolOp:
		return c.strongest(n.Values, s, depth)
	case *pysyntax.UnaryOp:
		return c.classify(n.Operand, s, depth+1)
	case *pysyntax.NamedExpr:
		return c.classify(n.Value, s, depth+1)
	case *pysyntax.IfExp:
		return max(c.classify(n.Test, s, depth+1), c.strongest([]pysyntax.Expr{n.Body, n.Orelse}, s, depth))
	case *pysyntax.Tuple:
		return Literal // "assert (condition, message)" is always true
	case *pysyntax.Compare:
		if c.alwaysTrue(n, s) {
			return Literal
		}
		return c.compareKind(n.Left, n.Comparators, s, depth)
	case *pysyntax.Call:
		return c.callKind(n, s, depth)
	case *pysyntax.Name:
		return c.nameKind(n, s, depth)
	case *pysyntax.ListComp:
		return c.filterKind(n.Generators, n, s, depth)
	case *pysyntax.SetComp:
		return c.filterKind(n.Generators, n, s, depth)
	case *pysyntax.Attribute:
		switch n.Attr {
		case "st_size":
			return Size
		case "returncode":
			for _, it := range c.follow(item{expr: n.Value, scope: s}, depth) {
				if call, ok := it.expr.(*pysyntax.Call); !ok || !c.asksExistence(call, it.scope) {
					return Truth
				}
			}
			return Exists
		}
	}
	return Truth
}

// filterKind says what is asked by looking whether a comprehension is empty:
// with a fixed list, what its conditions ask.
func (c *collector) filterKind(gens []*pysyntax.Comprehension, n pysyntax.Node, s *scope, depth int) AssertionKind {
	if len(gens) != 1 || len(gens[0].Ifs) == 0 || !c.isLiteral(gens[0].Iter, s, depth+1) {
		return Truth
	}
	return c.strongest(gens[0].Ifs, c.inner(n, s), depth)
}

// asksExistence reports whether a call runs test -f and the like.
func (c *collector) asksExistence(n *pysyntax.Call, s *scope) bool {
	switch c.dotted(n.Func, s) {
	case "subprocess.run", "subprocess.call", "subprocess.check_call", "os.system":
	default:
		return false
	}
	arg := argument(n, 0, "args")
	if arg == nil {
		return false
	}
	words := c.commandWords(arg, s)
	if len(words) == 1 {
		words = strings.Fields(words[0])
	}
	if len(words) < 3 || words[0] != "test" && words[0] != "[" {
		return false
	}
	switch words[1] {
	case "-e", "-f", "-d", "-s", "-L", "-h", "-r", "-w", "-x":
		return len(words) == 3 || len(words) == 4 && words[0] == "[" && words[3] == "]"
	}
	return false
}

func (c *collector) strongest(exprs []pysyntax.Expr, s *scope, depth int) AssertionKind {
	kind := Literal
	for _, e := range exprs {
		if k := c.classify(e, s, depth+1); k != Fail {
			kind = max(kind, k)
		}
	}
	return kind
}

// compareKind classifies a comparison.
func (c *collector) compareKind(left pysyntax.Expr, right []pysyntax.Expr, s *scope, depth int) AssertionKind {
	all := append([]pysyntax.Expr{left}, right...)
	fixed := make([]bool, len(all))
	open := 0
	for i, e := range all {
		if fixed[i] = c.isLiteral(e, s, depth+1); !fixed[i] {
			open++
		}
	}
	if open == 0 {
		return Literal
	}
	kind := Literal
	for i, e := range all {
		if fixed[i] {
			continue
		}
		// What is asked of one side alone, with constants on the others.
		k := c.classify(e, s, depth+1)
		switch {
		case c.isListing(e, s):
			k = Exists
		case k == Exists, k == Size && open == 1, k == Type:
		case open == 1 && comparesWithNone(all):
			k = Truth
		default:
			k = Compare
		}
		kind = max(kind, k)
	}
	// "name in os.listdir(folder)" asks for existence however the name is made.
	if kind == Compare && len(right) == 1 && c.isListing(right[0], s) {
		return Exists
	}
	return kind
}

func comparesWithNone(all []pysyntax.Expr) bool {
	for _, e := range all {
		if k, ok := e.(*pysyntax.Constant); ok && k.Kind == pysyntax.None {
			return true
		}
	}
	return false
}

// alwaysTrue recognizes comparisons that hold for any value: of a thing with
// itself, and "len(x) >= 0". "x != x" is left alone, as it looks for NaN.
func (c *collector) alwaysTrue(n *pysyntax.Compare, s *scope) bool {
	if len(n.Ops) != 1 {
		return false
	}
	switch n.Ops[0] {
	case pysyntax.Eq, pysyntax.Is:
		return c.sameWithoutCalls(n.Left, n.Comparators[0])
	case pysyntax.GtE:
		call, ok := n.Left.(*pysyntax.Call)
		zero, isConst := n.Comparators[0].(*pysyntax.Constant)
		return ok && isConst && zero.Kind == pysyntax.Int && zero.Value == "0" && c.dotted(call.Func, s) == "len"
	}
	return false
}

// sameWithoutCalls reports whether both sides are the same text and contain no
// call, so that they have the same value.
func (c *collector) sameWithoutCalls(a, b pysyntax.Expr) bool {
	if c.m.Source(a) != c.m.Source(b) {
		return false
	}
	calls := false
	pysyntax.Inspect(a, func(n pysyntax.Node) bool {
		switch n.(type) {
		case *pysyntax.Call, *pysyntax.Await, *pysyntax.Yield:
			calls = true
		}
		return !calls
	})
	return !calls
}

// isListing reports whether an expression is the content of a folder, or made
// of it by a comprehension or a call such as set or len.
func (c *collector) isListing(e pysyntax.Expr, s *scope) bool {
	for _, it := range c.follow(item{expr: e, scope: s}, 0) {
		switch n := it.expr.(type) {
		case *pysyntax.ListComp:
			return len(n.Generators) > 0 && c.isListing(n.Generators[0].Iter, c.inner(n, it.scope))
		case *pysyntax.SetComp:
			return len(n.Generators) > 0 && c.isListing(n.Generators[0].Iter, c.inner(n, it.scope))
		case *pysyntax.GeneratorExp:
			return len(n.Generators) > 0 && c.isListing(n.Generators[0].Iter, c.inner(n, it.scope))
		case *pysyntax.Call:
			switch c.dotted(n.Func, it.scope) {
			case "os.listdir", "os.scandir", "glob.glob", "glob.iglob", "os.walk":
				return true
			case "list", "set", "sorted", "tuple", "len", "frozenset", "any":
				return len(n.Args) > 0 && c.isListing(n.Args[0], it.scope)
			}
			if a, ok := n.Func.(*pysyntax.Attribute); ok {
				return a.Attr == "iterdir" || a.Attr == "glob" || a.Attr == "rglob"
			}
		}
	}
	return false
}

// callKind classifies a call that is taken as true or false.
func (c *collector) callKind(n *pysyntax.Call, s *scope, depth int) AssertionKind {
	name := c.dotted(n.Func, s)
	switch name {
	case "os.path.exists", "os.path.isfile", "os.path.isdir", "os.path.islink", "os.path.lexists",
		"os.path.ismount", "os.access", "os.listdir", "shutil.which", "glob.glob":
		return Exists
	case "os.path.getsize":
		return Size
	case "isinstance", "issubclass", "hasattr", "callable", "type":
		return Type
	case "subprocess.call", "os.system":
		if c.asksExistence(n, s) {
			return Exists
		}
	case "bool", "list", "set", "sorted", "len", "tuple":
		if len(n.Args) == 1 {
			if k := c.classify(n.Args[0], s, depth+1); k == Exists {
				return Exists
			}
			return c.operandKind(n.Args[0], s, depth)
		}
	case "any", "all", "not":
		if len(n.Args) == 1 {
			return c.operandKind(n.Args[0], s, depth)
		}
	}
	if f := c.callee(n.Func, s); f != nil {
		if k := c.strongest(results(f.def), f.scope, depth); k != Literal {
			return k
		}
		return Truth // which of its constants it returns is not known
	}
	if a, ok := n.Func.(*pysyntax.Attribute); ok {
		switch a.Attr {
		case "exists", "is_file", "is_dir", "is_symlink", "is_mount", "iterdir", "glob", "rglob":
			return Exists
		case "stat":
			return Exists
		}
	}
	return Truth
}

// operandKind classifies the argument of all, any and bool: of a comprehension
// or display, what is asked of its elements.
func (c *collector) operandKind(e pysyntax.Expr, s *scope, depth int) AssertionKind {
	if c.isListing(e, s) {
		return Exists
	}
	switch n := e.(type) {
	case *pysyntax.GeneratorExp:
		return c.classify(n.Elt, c.inner(n, s), depth+1)
	case *pysyntax.ListComp:
		return c.classify(n.Elt, c.inner(n, s), depth+1)
	}
	if elts := displayElements(e); elts != nil {
		return c.strongest(elts, s, depth)
	}
	return c.classify(e, s, depth+1)
}

// nameKind classifies a name by what it is bound to, if that is all known.
func (c *collector) nameKind(n *pysyntax.Name, s *scope, depth int) AssertionKind {
	bs := s.lookup(n.ID)
	kind := Literal
	for _, b := range bs {
		if b.expr == nil || b.each || b.pick != nil || b.param || c.isLiteral(b.expr, b.scope, depth+1) {
			return Truth
		}
		kind = max(kind, c.classify(b.expr, b.scope, depth+1))
	}
	if kind == Literal {
		return Truth
	}
	return kind
}
