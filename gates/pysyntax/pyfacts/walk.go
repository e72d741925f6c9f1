package pyfacts

import (
	"strings"

	"github.com/posttrainarena/arena/gates/pysyntax"
)

// circumstances are what decides whether a statement is reached and whether
// its failure counts.
type circumstances struct {
	conditional, swallowed bool
	recorded               bool // the failure has been recorded with the condition around it
}

// maybe returns the circumstances of what may not be reached.
func (at circumstances) maybe() circumstances {
	at.conditional = true
	return at
}

func (c *collector) walkBody(body []pysyntax.Stmt, s *scope, at circumstances) {
	for _, stmt := range body {
		c.refund()
		c.newBudget()
		c.walkStmt(stmt, s, at)
	}
}

func (c *collector) walkStmt(stmt pysyntax.Stmt, s *scope, at circumstances) {
	switch n := stmt.(type) {
	case *pysyntax.FunctionDef:
		c.walkDecorators(n.Decorators, c.scopes[n], at)
		c.walkExprs(n.Args, s, at)
		if s.fn == nil {
			at = circumstances{}
		}
		c.walkBody(n.Body, c.scopes[n], at)
	case *pysyntax.ClassDef:
		c.walkDecorators(n.Decorators, c.scopes[n], at)
		c.walkBody(n.Body, c.scopes[n], at)
	case *pysyntax.If:
		c.walkIf(n, s, at)
	case *pysyntax.For:
		c.walkExprs(n.Iter, s, at)
		c.flow(n.Target, n.Iter, s)
		inside := at
		inside.conditional = at.conditional || !c.surelyIterates(n.Iter, s)
		c.walkBody(n.Body, s, inside)
		c.walkBody(n.Orelse, s, at)
	case *pysyntax.While:
		c.walkExprs(n.Test, s, at)
		c.walkBody(n.Body, s, at.maybe())
		c.walkBody(n.Orelse, s, at)
	case *pysyntax.With:
		c.walkWith(n, s, at)
	case *pysyntax.Match:
		c.walkExprs(n.Subject, s, at)
		for _, clause := range n.Cases {
			c.walkBody(clause.Body, s, at.maybe())
		}
	case *pysyntax.Try:
		c.walkTry(n, s, at)
	case *pysyntax.Assert:
		c.assertion(n, c.classify(n.Test, s, 0), s, at, n.Test)
		c.walkExprs(n, s, at)
	case *pysyntax.Raise:
		c.raise(n, s, at)
		c.walkExprs(n, s, at)
	default:
		c.noteFlow(stmt, s)
		c.walkExprs(stmt, s, at)
	}
}

func (c *collector) walkIf(n *pysyntax.If, s *scope, at circumstances) {
	c.walkExprs(n.Test, s, at)
	if isMainGuard(n.Test) {
		c.walkBody(n.Body, s, at)
		c.walkBody(n.Orelse, s, at.maybe())
		return
	}
	inside := at.maybe()
	for _, body := range [][]pysyntax.Stmt{n.Body, n.Orelse} {
		if len(body) > 0 && c.fails(body[len(body)-1], s) {
			// "if not ok: pytest.fail()" is an assertion of the condition.
			c.assertion(n, c.classify(n.Test, s, 0), s, at, n.Test)
			c.walkBody(body[:len(body)-1], s, inside)
			c.walkExprs(body[len(body)-1], s, circumstances{recorded: true})
			continue
		}
		c.walkBody(body, s, inside)
	}
}

// isMainGuard recognizes "if __name__ == '__main__'".
func isMainGuard(test pysyntax.Expr) bool {
	cmp, ok := test.(*pysyntax.Compare)
	if !ok {
		return false
	}
	name, ok := cmp.Left.(*pysyntax.Name)
	return ok && name.ID == "__name__"
}

// fails reports whether a statement does nothing but fail.
func (c *collector) fails(stmt pysyntax.Stmt, s *scope) bool {
	switch n := stmt.(type) {
	case *pysyntax.Raise:
		return n.Exc != nil && !c.isSkipException(n.Exc, s)
	case *pysyntax.Assert:
		return isFalse(n.Test)
	case *pysyntax.ExprStmt:
		call, ok := n.Value.(*pysyntax.Call)
		return ok && c.failingCall(call, s)
	}
	return false
}

func isFalse(e pysyntax.Expr) bool {
	k, ok := e.(*pysyntax.Constant)
	return ok && (k.Kind == pysyntax.False || k.Kind == pysyntax.None || k.Kind == pysyntax.Int && k.Value == "0")
}

// surelyIterates reports whether a loop runs at least once.
func (c *collector) surelyIterates(iter pysyntax.Expr, s *scope) bool {
	for _, it := range c.follow(item{expr: iter, scope: s}, 0) {
		switch d := it.expr.(type) {
		case *pysyntax.Dict:
			if len(d.Keys) == 0 {
				return false
			}
		default:
			if len(displayElements(d)) == 0 {
				return false
			}
		}
		if name, ok := iter.(*pysyntax.Name); ok && c.mutated[name.ID] {
			return false
		}
	}
	return true
}

func (c *collector) walkWith(n *pysyntax.With, s *scope, at circumstances) {
	for _, item := range n.Items {
		c.walkExprs(item, s, at)
		if item.Target != nil {
			c.flow(item.Target, item.Context, s)
		}
		call, ok := item.Context.(*pysyntax.Call)
		if ok && c.dotted(call.Func, s) == "contextlib.suppress" && c.catchesAssertion(call.Args, s) {
			at.swallowed = true
		}
	}
	c.walkBody(n.Body, s, at)
}

func (c *collector) walkTry(n *pysyntax.Try, s *scope, at circumstances) {
	inside := at
	for _, h := range n.Handlers {
		types := []pysyntax.Expr{h.Type}
		if t, ok := h.Type.(*pysyntax.Tuple); ok {
			types = t.Elts
		}
		if (h.Type == nil || c.catchesAssertion(types, s)) && !c.handlerFails(h.Body, s) {
			inside.swallowed = true
		}
	}
	c.walkBody(n.Body, s, inside)
	for _, h := range n.Handlers {
		if h.Type != nil {
			c.walkExprs(h.Type, s, at)
		}
		c.walkBody(h.Body, s, at.maybe())
	}
	c.walkBody(n.Orelse, s, at.maybe())
	c.walkBody(n.Finalbody, s, at)
}

// catchesAssertion reports whether a handler for one of the types catches a
// failed assertion.
func (c *collector) catchesAssertion(types []pysyntax.Expr, s *scope) bool {
	for _, t := range types {
		switch c.dotted(t, s) {
		case "AssertionError", "Exception", "BaseException":
			return true
		}
	}
	return false
}

// handlerFails reports whether a handler passes a failure on, in whatever way.
// A handler that keeps the error for later, by appending it or counting it, is
// given the benefit of the doubt.
func (c *collector) handlerFails(body []pysyntax.Stmt, s *scope) bool {
	for _, stmt := range body {
		found := false
		pysyntax.Inspect(stmt, func(n pysyntax.Node) bool {
			switch n := n.(type) {
			case *pysyntax.Raise, *pysyntax.Assert, *pysyntax.Return, *pysyntax.Assign, *pysyntax.AugAssign:
				found = true
			case *pysyntax.Call:
				if c.failingCall(n, s) {
					found = true
				}
				if a, ok := n.Func.(*pysyntax.Attribute); ok && (a.Attr == "append" || a.Attr == "add") {
					found = true
				}
			}
			return !found
		})
		if found {
			return true
		}
	}
	return false
}

// walkExprs looks at all calls and names below a node. Statements inside it,
// other than the node itself, do not occur.
func (c *collector) walkExprs(root pysyntax.Node, s *scope, at circumstances) {
	owner := s.owner()
	var open []pysyntax.Node
	pysyntax.Inspect(root, func(n pysyntax.Node) bool {
		if n == nil {
			last := open[len(open)-1]
			open = open[:len(open)-1]
			if c.scopes[last] != nil {
				s = s.outer
			}
			return false
		}
		open = append(open, n)
		if sub := c.scopes[n]; sub != nil {
			s = sub
		}
		switch n := n.(type) {
		case *pysyntax.Call:
			c.call(n, s, at)
		case *pysyntax.Name:
			c.use(owner, n, s)
		case *pysyntax.Attribute:
			c.use(owner, n, s)
		}
		return true
	})
}

// use notes that a function mentions another one of the file.
func (c *collector) use(owner *function, e pysyntax.Expr, s *scope) {
	if owner == nil {
		return
	}
	if f := c.callee(e, s); f != nil && f != owner {
		owner.uses[f] = true
	}
}

// call examines one call from every side.
func (c *collector) call(n *pysyntax.Call, s *scope, at circumstances) {
	name := c.dotted(n.Func, s)
	c.assertingCall(n, name, s, at)
	c.skippingCall(n, name, s, at)
	c.pathCall(n, name, s)
	c.command(n, name, s, at)
	c.chanceCall(n, name, s)
	c.networkCall(n, name, s)
	if owner := s.owner(); owner != nil && isForeign(c.root(n.Func), c.imports) {
		owner.helps = append(owner.helps, name)
	}
}

// root returns the leftmost name of a dotted expression.
func (c *collector) root(e pysyntax.Expr) string {
	for {
		switch n := e.(type) {
		case *pysyntax.Name:
			return n.ID
		case *pysyntax.Attribute:
			e = n.Value
		default:
			return ""
		}
	}
}

// isForeign reports whether a local name was imported from a module that is
// neither part of Python nor a well-known library.
func isForeign(name string, imports map[string]string) bool {
	full, ok := imports[name]
	if !ok {
		return false
	}
	module, _, _ := strings.Cut(full, ".")
	return !isKnownModule(module)
}
