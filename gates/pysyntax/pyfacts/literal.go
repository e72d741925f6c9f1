package pyfacts

import "github.com/posttrainarena/arena/gates/pysyntax"

// isLiteral reports whether the value of an expression is fixed by the file
// itself: constants, names bound once to constants, and pure functions of them.
func (c *collector) isLiteral(e pysyntax.Expr, s *scope, depth int) bool {
	c.budget--
	if e == nil || depth > maxDepth || c.budget < 0 {
		return false
	}
	depth++
	switch n := e.(type) {
	case *pysyntax.Constant:
		return true
	case *pysyntax.Name:
		return c.isLiteralName(n.ID, s, depth)
	case *pysyntax.Attribute:
		return c.isLiteralBinding(n.Attr, c.ownAttribute(n, s), depth)
	case *pysyntax.Tuple:
		return c.areLiteral(n.Elts, s, depth)
	case *pysyntax.List:
		return c.areLiteral(n.Elts, s, depth)
	case *pysyntax.Set:
		return c.areLiteral(n.Elts, s, depth)
	case *pysyntax.Dict:
		return c.areLiteral(n.Keys, s, depth) && c.areLiteral(n.Values, s, depth)
	case *pysyntax.UnaryOp:
		return c.isLiteral(n.Operand, s, depth)
	case *pysyntax.BinOp:
		return c.isLiteral(n.Left, s, depth) && c.isLiteral(n.Right, s, depth)
	case *pysyntax.BoolOp:
		return c.areLiteral(n.Values, s, depth)
	case *pysyntax.Compare:
		return c.isLiteral(n.Left, s, depth) && c.areLiteral(n.Comparators, s, depth)
	case *pysyntax.Subscript:
		return c.isLiteral(n.Value, s, depth) && c.isLiteral(n.Slice, s, depth)
	case *pysyntax.JoinedStr:
		return c.areLiteral(n.Values, s, depth)
	case *pysyntax.FormattedValue:
		return c.isLiteral(n.Value, s, depth)
	case *pysyntax.Call:
		return c.isLiteralCall(n, s, depth)
	}
	return false
}

func (c *collector) areLiteral(exprs []pysyntax.Expr, s *scope, depth int) bool {
	for _, e := range exprs {
		if !c.isLiteral(e, s, depth) {
			return false
		}
	}
	return true
}

// isLiteralName reports whether a name is bound once, to a literal that nothing
// changes in place.
func (c *collector) isLiteralName(name string, s *scope, depth int) bool {
	bs := s.lookup(name)
	if len(bs) == 1 && bs[0].param {
		return c.isLiteralParam(name, s, depth)
	}
	return c.isLiteralBinding(name, bs, depth)
}

// isLiteralParam reports whether a test gets a parameter from a list of literals.
func (c *collector) isLiteralParam(name string, s *scope, depth int) bool {
	f := parameterOwner(s, name)
	if f == nil {
		return false
	}
	items, _, ok := c.parametrized(f, name, depth)
	for _, it := range items {
		if it.expr == nil || !c.isLiteral(it.expr, it.scope, depth) {
			return false
		}
	}
	return ok && len(items) > 0
}

func (c *collector) isLiteralBinding(name string, bs []binding, depth int) bool {
	if len(bs) != 1 || bs[0].expr == nil || bs[0].param || c.mutated[name] && isMutable(bs[0].expr) {
		return false
	}
	return c.isLiteral(bs[0].expr, bs[0].scope, depth)
}

// isMutable reports whether the value of a literal expression can be changed.
func isMutable(e pysyntax.Expr) bool {
	switch n := e.(type) {
	case *pysyntax.List, *pysyntax.Dict, *pysyntax.Set:
		return true
	case *pysyntax.Call:
		name, ok := n.Func.(*pysyntax.Name)
		return ok && (name.ID == "list" || name.ID == "dict" || name.ID == "set")
	}
	return false
}

func (c *collector) isLiteralCall(n *pysyntax.Call, s *scope, depth int) bool {
	for _, k := range n.Keywords {
		if !c.isLiteral(k.Value, s, depth) {
			return false
		}
	}
	if !c.areLiteral(n.Args, s, depth) {
		return false
	}
	if isPure(c.dotted(n.Func, s)) {
		return true
	}
	a, ok := n.Func.(*pysyntax.Attribute)
	return ok && isPureMethod(a.Attr) && c.isLiteral(a.Value, s, depth)
}

// isPure lists functions whose result depends on their arguments alone.
func isPure(name string) bool {
	switch name {
	case "len", "str", "int", "float", "bool", "sorted", "sum", "min", "max", "abs", "round", "list", "set",
		"tuple", "dict", "range", "repr", "any", "all", "isinstance", "type", "ord", "chr", "divmod", "pow",
		"frozenset", "bytes", "reversed", "zip", "enumerate", "math.sqrt", "math.isclose", "math.floor",
		"math.ceil", "json.loads", "json.dumps", "decimal.Decimal", "re.match", "re.search", "re.fullmatch",
		"pytest.approx":
		return true
	}
	return false
}

// isPureMethod lists methods that neither change their object nor look at
// anything else.
func isPureMethod(name string) bool {
	switch name {
	case "upper", "lower", "strip", "lstrip", "rstrip", "split", "splitlines", "join", "replace", "format",
		"startswith", "endswith", "encode", "decode", "count", "index", "find", "get", "keys", "values",
		"items", "title", "isdigit", "zfill", "copy":
		return true
	}
	return false
}

// noteMutation notes the names that a call may change in place: its object,
// and its arguments unless the function is known to be pure.
func (c *collector) noteMutation(n *pysyntax.Call) {
	if a, ok := n.Func.(*pysyntax.Attribute); ok && !isPureMethod(a.Attr) {
		if name, ok := a.Value.(*pysyntax.Name); ok {
			c.mutated[name.ID] = true
		}
	}
	if isPure(c.dotted(n.Func, c.module)) {
		return
	}
	if a, ok := n.Func.(*pysyntax.Attribute); ok && isPureMethod(a.Attr) {
		return
	}
	for _, arg := range n.Args {
		if name, ok := arg.(*pysyntax.Name); ok {
			c.mutated[name.ID] = true
		}
	}
}
