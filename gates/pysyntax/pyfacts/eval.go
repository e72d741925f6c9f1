package pyfacts

import (
	"path"
	"strings"

	"github.com/posttrainarena/arena/gates/pysyntax"
)

const (
	maxValues = 16 // possibilities that are kept for one expression
	maxDepth  = 24 // expressions and names followed from one to the next
)

// value is what an expression may be: a text, of which parts may be unknown.
type value struct {
	text string
	path bool   // a pathlib path
	env  string // environment variable that may replace it
}

func unknown() []value { return []value{{text: Unknown}} }

// eval returns what an expression may be as a text; there is at least one
// possibility, which may be entirely unknown.
func (c *collector) eval(e pysyntax.Expr, s *scope, depth int) []value {
	c.budget--
	if e == nil || depth > maxDepth || c.budget < 0 {
		return unknown()
	}
	var vs []value
	switch n := e.(type) {
	case *pysyntax.Constant:
		vs = constantValue(n)
	case *pysyntax.JoinedStr:
		vs = c.evalJoined(n, s, depth)
	case *pysyntax.Name:
		vs = c.evalName(n.ID, s, depth)
	case *pysyntax.BinOp:
		vs = c.evalBinOp(n, s, depth)
	case *pysyntax.Call:
		vs = c.evalCall(n, s, depth)
	case *pysyntax.Attribute:
		vs = c.evalAttribute(n, s, depth)
	case *pysyntax.Subscript:
		vs = c.evalSubscript(n, s, depth)
	case *pysyntax.IfExp:
		vs = append(c.eval(n.Body, s, depth+1), c.eval(n.Orelse, s, depth+1)...)
	case *pysyntax.BoolOp:
		if n.Op == pysyntax.Or {
			vs = c.evalOr(n, s, depth)
		}
	case *pysyntax.NamedExpr:
		vs = c.eval(n.Value, s, depth+1)
	case *pysyntax.Await:
		vs = c.eval(n.Value, s, depth+1)
	}
	return distinct(vs)
}

// distinct removes repeated possibilities and bounds their number. What does
// not fit makes the rest unknown.
func distinct(vs []value) []value {
	if len(vs) == 1 {
		return vs
	}
	seen := make(map[value]bool, len(vs))
	var out []value
	for _, v := range vs {
		if seen[v] {
			continue
		}
		seen[v] = true
		if len(out) == maxValues-1 {
			return append(out, value{text: Unknown})
		}
		out = append(out, v)
	}
	if out == nil {
		return unknown()
	}
	return out
}

func constantValue(n *pysyntax.Constant) []value {
	switch n.Kind {
	case pysyntax.Str, pysyntax.Bytes, pysyntax.Int:
		return []value{{text: n.Value}}
	}
	return nil
}

// joinPath joins paths as pathlib and os.path.join do.
func joinPath(parts []value) value {
	joined := ""
	for i, p := range parts {
		switch {
		case i == 0 || strings.HasPrefix(p.text, "/") || strings.HasPrefix(p.text, Here):
			joined = p.text
		case joined == "" || strings.HasSuffix(joined, "/"):
			joined += p.text
		case p.text != "":
			joined += "/" + p.text
		}
	}
	return value{text: clean(joined), path: true}
}

// clean tidies an absolute path; a relative one only loses double slashes.
func clean(p string) string {
	if strings.HasPrefix(p, "/") && !hasUnknown(p) {
		return path.Clean(p)
	}
	for strings.Contains(p, "//") && !strings.Contains(p, "://") {
		p = strings.ReplaceAll(p, "//", "/")
	}
	if len(p) > 1 {
		p = strings.TrimSuffix(p, "/")
	}
	return strings.TrimPrefix(p, "./")
}

// dir returns the folder of a path.
func dir(v value) value {
	switch {
	case v.text == Here || strings.HasSuffix(v.text, "/..") || v.text == "..":
		v.text += "/.."
	case strings.HasSuffix(v.text, Unknown) && !strings.HasSuffix(v.text, "/"+Unknown):
		v.text = Unknown // the unknown part may contain a slash
	default:
		v.text = path.Dir(v.text)
	}
	v.path = true
	return v
}

func (c *collector) evalOr(n *pysyntax.BoolOp, s *scope, depth int) []value {
	var vs []value
	for i, option := range n.Values {
		for _, v := range c.eval(option, s, depth+1) {
			// In "os.getenv(name) or default" the variable may be unset.
			if i < len(n.Values)-1 && v.text == Unknown && v.env != "" {
				for _, rest := range c.eval(n.Values[i+1], s, depth+1) {
					rest.env = v.env
					vs = append(vs, rest)
				}
				return vs
			}
			vs = append(vs, v)
		}
	}
	return vs
}

func (c *collector) evalName(name string, s *scope, depth int) []value {
	if name == "__file__" {
		return []value{{text: Here + "/__file__"}}
	}
	var vs []value
	for _, b := range s.lookup(name) {
		if b.param {
			vs = append(vs, c.evalParam(name, b, s, depth+1)...)
		} else {
			vs = append(vs, c.evalBinding(b, depth+1)...)
		}
	}
	return vs
}

func (c *collector) evalBinding(b binding, depth int) []value {
	if b.expr == nil {
		return unknown()
	}
	if !b.each && b.pick == nil {
		return c.eval(b.expr, b.scope, depth+1)
	}
	items := []item{{expr: b.expr, scope: b.scope}}
	if b.each {
		items = c.elements(b.expr, b.scope, depth+1)
	}
	return c.evalItems(items, b.pick, depth)
}

func (c *collector) evalItems(items []item, pick []int, depth int) []value {
	var vs []value
	for _, it := range items {
		it = c.pickItem(it, pick, depth)
		switch {
		case it.values != nil:
			vs = append(vs, it.values...)
		case it.expr != nil:
			vs = append(vs, c.eval(it.expr, it.scope, depth+1)...)
		default:
			vs = append(vs, value{text: Unknown})
		}
		if len(vs) > 4*maxValues {
			break
		}
	}
	return vs
}

func (c *collector) evalBinOp(n *pysyntax.BinOp, s *scope, depth int) []value {
	switch n.Op {
	case pysyntax.Add:
		return product([][]value{c.eval(n.Left, s, depth+1), c.eval(n.Right, s, depth+1)}, concatenation)
	case pysyntax.Div:
		left := c.eval(n.Left, s, depth+1)
		return product([][]value{left, c.eval(n.Right, s, depth+1)}, joinPath)
	case pysyntax.Mod:
		var args []pysyntax.Expr
		if t, ok := n.Right.(*pysyntax.Tuple); ok {
			args = t.Elts
		} else {
			args = []pysyntax.Expr{n.Right}
		}
		var vs []value
		for _, format := range c.eval(n.Left, s, depth+1) {
			vs = append(vs, c.percentFormat(format, args, s, depth)...)
		}
		return vs
	}
	return nil
}

func (c *collector) evalAttribute(n *pysyntax.Attribute, s *scope, depth int) []value {
	var vs []value
	if bs := c.ownAttribute(n, s); bs != nil {
		for _, b := range bs {
			vs = append(vs, c.evalBinding(b, depth+1)...)
		}
		return vs
	}
	switch n.Attr {
	case "parent":
		for _, v := range c.eval(n.Value, s, depth+1) {
			vs = append(vs, dir(v))
		}
	case "name", "stem", "suffix":
		for _, v := range c.eval(n.Value, s, depth+1) {
			vs = append(vs, pathPart(v, n.Attr))
		}
	}
	return vs
}

func pathPart(v value, part string) value {
	if !v.path || hasUnknown(v.text) {
		return value{text: Unknown}
	}
	base := path.Base(v.text)
	ext := path.Ext(base)
	switch part {
	case "stem":
		base = strings.TrimSuffix(base, ext)
	case "suffix":
		base = ext
	}
	return value{text: base, env: v.env}
}

// ownAttribute finds what "self.name" or "Class.name" is bound to.
func (c *collector) ownAttribute(n *pysyntax.Attribute, s *scope) []binding {
	base, ok := n.Value.(*pysyntax.Name)
	if !ok {
		return nil
	}
	class := s.lookupClass(base.ID)
	if base.ID == "self" || base.ID == "cls" {
		class = s.enclosingClass()
	}
	return c.attribute(class, n.Attr, 0)
}

// attribute finds what a class attribute is bound to, in the class or through
// self, in the class or its bases.
func (c *collector) attribute(class *scope, name string, depth int) []binding {
	c.budget--
	if class == nil || depth > 8 || c.budget < 0 {
		return nil
	}
	if bs := append(append([]binding{}, class.names[name]...), class.attrs[name]...); len(bs) > 0 {
		return bs
	}
	for _, base := range class.class.Bases {
		if n, ok := base.(*pysyntax.Name); ok {
			if bs := c.attribute(class.outer.lookupClass(n.ID), name, depth+1); bs != nil {
				return bs
			}
		}
	}
	return nil
}

func (c *collector) evalSubscript(n *pysyntax.Subscript, s *scope, depth int) []value {
	if c.dotted(n.Value, s) == "os.environ" {
		return c.environment(n.Slice, nil, s, depth)
	}
	if a, ok := n.Value.(*pysyntax.Attribute); ok && a.Attr == "parents" {
		return c.evalParents(a.Value, n.Slice, s, depth)
	}
	var vs []value
	for _, it := range c.follow(item{expr: n.Value, scope: s}, depth+1) {
		vs = append(vs, c.evalItems([]item{c.indexItem(it, n.Slice, s, depth)}, nil, depth)...)
	}
	return vs
}

// indexItem returns container[index] for displays whose index is constant.
func (c *collector) indexItem(container item, index pysyntax.Expr, s *scope, depth int) item {
	keys := c.eval(index, s, depth+1)
	if len(keys) != 1 || hasUnknown(keys[0].text) {
		return item{}
	}
	switch d := container.expr.(type) {
	case *pysyntax.Dict:
		for i, key := range d.Keys {
			if k, ok := key.(*pysyntax.Constant); ok && k.Value == keys[0].text {
				return item{expr: d.Values[i], scope: container.scope}
			}
		}
	case *pysyntax.List, *pysyntax.Tuple:
		i, ok := smallInt(keys[0].text)
		if elts := displayElements(d); ok && i < len(elts) {
			return item{expr: elts[i], scope: container.scope}
		}
	}
	return item{}
}

func (c *collector) evalParents(base, index pysyntax.Expr, s *scope, depth int) []value {
	k, ok := index.(*pysyntax.Constant)
	if !ok {
		return unknown()
	}
	n, ok := smallInt(k.Value)
	if !ok || n > 32 {
		return unknown()
	}
	vs := c.eval(base, s, depth+1)
	out := make([]value, len(vs))
	for i, v := range vs {
		for range n + 1 {
			v = dir(v)
		}
		out[i] = v
	}
	return out
}

func smallInt(s string) (int, bool) {
	if s == "" || len(s) > 4 {
		return 0, false
	}
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, true
}
