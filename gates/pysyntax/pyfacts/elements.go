package pyfacts

import (
	"strings"

	"github.com/posttrainarena/arena/gates/pysyntax"
)

// item is an element of something that is iterated over: an expression in its
// scope, a tuple of such, or values that are already known.
type item struct {
	expr   pysyntax.Expr
	scope  *scope
	tuple  []item
	values []value
}

// displayElements returns the elements of a list, tuple or set display.
func displayElements(e pysyntax.Expr) []pysyntax.Expr {
	switch d := e.(type) {
	case *pysyntax.List:
		return d.Elts
	case *pysyntax.Tuple:
		return d.Elts
	case *pysyntax.Set:
		return d.Elts
	}
	return nil
}

// follow replaces a name or attribute by what it is bound to, until something
// else comes out.
func (c *collector) follow(it item, depth int) []item {
	c.budget--
	if depth > maxDepth || c.budget < 0 {
		return []item{{}}
	}
	var bs []binding
	switch n := it.expr.(type) {
	case *pysyntax.Name:
		bs = it.scope.lookup(n.ID)
	case *pysyntax.Attribute:
		bs = c.ownAttribute(n, it.scope)
	case *pysyntax.Subscript:
		var out []item
		for _, container := range c.follow(item{expr: n.Value, scope: it.scope}, depth+1) {
			element := c.indexItem(container, n.Slice, it.scope, depth)
			if element.expr == nil {
				return []item{it}
			}
			out = append(out, c.follow(element, depth+1)...)
		}
		return out
	default:
		return []item{it}
	}
	var out []item
	for _, b := range bs {
		switch {
		case b.expr == nil || b.param:
			out = append(out, item{})
		case b.each:
			for _, e := range c.elements(b.expr, b.scope, depth+1) {
				out = append(out, c.pickItem(e, b.pick, depth))
			}
		default:
			for _, next := range c.follow(item{expr: b.expr, scope: b.scope}, depth+1) {
				out = append(out, c.pickItem(next, b.pick, depth))
			}
		}
		if len(out) > maxValues {
			break
		}
	}
	if out == nil {
		out = []item{{}}
	}
	return out
}

// elements returns what iterating over an expression yields; an empty item
// stands for what is not known.
func (c *collector) elements(e pysyntax.Expr, s *scope, depth int) []item {
	var out []item
	for _, it := range c.follow(item{expr: e, scope: s}, depth+1) {
		switch d := it.expr.(type) {
		case *pysyntax.List, *pysyntax.Tuple, *pysyntax.Set:
			for _, elt := range displayElements(d) {
				if star, ok := elt.(*pysyntax.Starred); ok {
					out = append(out, c.elements(star.Value, it.scope, depth+1)...)
				} else {
					out = append(out, item{expr: elt, scope: it.scope})
				}
			}
		case *pysyntax.Dict:
			for _, key := range d.Keys {
				out = append(out, item{expr: key, scope: it.scope})
			}
		case *pysyntax.ListComp:
			out = append(out, item{expr: d.Elt, scope: c.inner(d, it.scope)})
		case *pysyntax.GeneratorExp:
			out = append(out, item{expr: d.Elt, scope: c.inner(d, it.scope)})
		case *pysyntax.Call:
			out = append(out, c.callElements(d, it.scope, depth)...)
		default:
			out = append(out, item{})
		}
		if len(out) > 8*maxValues {
			break
		}
	}
	return out
}

// callElements handles the calls that pass elements on or list a folder.
func (c *collector) callElements(call *pysyntax.Call, s *scope, depth int) []item {
	if len(call.Args) > 0 {
		switch c.dotted(call.Func, s) {
		case "sorted", "list", "tuple", "set", "reversed", "iter", "frozenset":
			return c.elements(call.Args[0], s, depth+1)
		case "enumerate":
			var out []item
			for _, it := range c.elements(call.Args[0], s, depth+1) {
				out = append(out, item{tuple: []item{{}, it}})
			}
			return out
		case "zip":
			return c.zipElements(call, s, depth)
		case "glob.glob", "glob.iglob":
			return []item{{values: globbed(c.eval(call.Args[0], s, depth+1))}}
		}
	}
	method, ok := call.Func.(*pysyntax.Attribute)
	if !ok {
		return []item{{}}
	}
	switch method.Attr {
	case "iterdir", "glob", "rglob":
		var vs []value
		for _, v := range c.eval(method.Value, s, depth+1) {
			vs = append(vs, joinPath([]value{v, {text: Unknown}}))
		}
		return []item{{values: vs}}
	case "keys", "values", "items":
		return c.dictElements(method, s, depth)
	}
	return []item{{}}
}

func (c *collector) zipElements(call *pysyntax.Call, s *scope, depth int) []item {
	var columns [][]item
	rows := 1 << 10
	for _, arg := range call.Args {
		column := c.elements(arg, s, depth+1)
		columns = append(columns, column)
		rows = min(rows, len(column))
	}
	out := make([]item, rows)
	for i := range out {
		for _, column := range columns {
			out[i].tuple = append(out[i].tuple, column[i])
		}
	}
	return out
}

func (c *collector) dictElements(method *pysyntax.Attribute, s *scope, depth int) []item {
	var out []item
	for _, it := range c.follow(item{expr: method.Value, scope: s}, depth+1) {
		d, ok := it.expr.(*pysyntax.Dict)
		if !ok {
			out = append(out, item{})
			continue
		}
		for i, key := range d.Keys {
			k, v := item{expr: key, scope: it.scope}, item{expr: d.Values[i], scope: it.scope}
			switch method.Attr {
			case "keys":
				out = append(out, k)
			case "values":
				out = append(out, v)
			default:
				out = append(out, item{tuple: []item{k, v}})
			}
		}
	}
	return out
}

// globbed turns a pattern into the paths it may stand for: what has a wildcard
// is unknown.
func globbed(vs []value) []value {
	out := make([]value, len(vs))
	for i, v := range vs {
		segments := strings.Split(v.text, "/")
		for j, segment := range segments {
			if strings.ContainsAny(segment, "*?[") && segment != Unknown {
				segments[j] = Unknown
			}
		}
		v.text = strings.Join(segments, "/")
		out[i] = v
	}
	return out
}

// pickItem takes a part of an item that is a tuple.
func (c *collector) pickItem(it item, pick []int, depth int) item {
	for _, i := range pick {
		if it.tuple != nil {
			if i >= len(it.tuple) {
				return item{}
			}
			it = it.tuple[i]
			continue
		}
		followed := c.follow(it, depth+1)
		if len(followed) != 1 {
			return item{}
		}
		it = followed[0]
		elts := displayElements(it.expr)
		if call, ok := it.expr.(*pysyntax.Call); ok && c.dotted(call.Func, it.scope) == "pytest.param" {
			elts = call.Args
		}
		if i >= len(elts) {
			return item{}
		}
		it = item{expr: elts[i], scope: it.scope}
	}
	if call, ok := it.expr.(*pysyntax.Call); ok && len(call.Args) == 1 && c.dotted(call.Func, it.scope) == "pytest.param" {
		it.expr = call.Args[0]
	}
	return it
}
