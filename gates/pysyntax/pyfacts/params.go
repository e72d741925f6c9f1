package pyfacts

import (
	"strings"

	"github.com/posttrainarena/arena/gates/pysyntax"
)

func isStatic(def *pysyntax.FunctionDef) bool {
	for _, d := range def.Decorators {
		if n, ok := d.(*pysyntax.Name); ok && n.ID == "staticmethod" {
			return true
		}
	}
	return false
}

// results returns the expressions that a function returns or yields, without
// those of the functions inside it.
func results(def *pysyntax.FunctionDef) []pysyntax.Expr {
	var out []pysyntax.Expr
	for _, stmt := range def.Body {
		pysyntax.Inspect(stmt, func(n pysyntax.Node) bool {
			switch n := n.(type) {
			case *pysyntax.FunctionDef, *pysyntax.Lambda, *pysyntax.ClassDef:
				return false
			case *pysyntax.Return:
				if n.Value != nil {
					out = append(out, n.Value)
				}
			case *pysyntax.Yield:
				if n.Value != nil {
					out = append(out, n.Value)
				}
			}
			return true
		})
	}
	return out
}

// evalParam evaluates a parameter: what parametrize lists for it, what the
// fixture of its name provides, what the calls in this file pass, or its
// default.
func (c *collector) evalParam(name string, b binding, s *scope, depth int) []value {
	f := parameterOwner(s, name)
	if f == nil || depth > maxDepth {
		return unknown()
	}
	if items, pick, ok := c.parametrized(f, name, depth); ok {
		return c.evalItems(items, pick, depth)
	}
	if fixture := c.fixture(name, f); fixture != nil && b.expr == nil {
		var vs []value
		for _, e := range results(fixture.def) {
			vs = append(vs, c.eval(e, fixture.scope, depth+2)...)
		}
		return vs
	}
	var vs []value
	for i, site := range f.calls {
		arg := passed(f, name, site.call)
		switch {
		case arg != nil:
			vs = append(vs, c.eval(arg, site.scope, depth+1)...)
		case b.expr != nil:
			vs = append(vs, c.eval(b.expr, b.scope, depth+1)...)
		default:
			vs = append(vs, value{text: Unknown})
		}
		if i == 4*maxValues {
			vs = append(vs, value{text: Unknown})
			break
		}
	}
	if len(f.calls) == 0 && b.expr != nil {
		return c.eval(b.expr, b.scope, depth+1)
	}
	return vs
}

// parameterOwner returns the function whose parameter a name is, seen from s.
func parameterOwner(s *scope, name string) *function {
	for ; s != nil; s = s.outer {
		if s.fn != nil && s.names[name] != nil {
			return s.fn
		}
	}
	return nil
}

// passed returns what a call passes for a parameter.
func passed(f *function, name string, call *pysyntax.Call) pysyntax.Expr {
	a := f.def.Args
	params := append(append([]*pysyntax.Arg{}, a.PosOnly...), a.Args...)
	offset := 0
	if _, method := call.Func.(*pysyntax.Attribute); method && f.class != nil && !isStatic(f.def) {
		offset = 1
	}
	for i, p := range params {
		if p.Name == name {
			return argument(call, i-offset, name)
		}
	}
	return argument(call, -1, name)
}

// parametrized looks for @pytest.mark.parametrize with the given name and
// returns the items it lists and where the name stands in each. Indirect ones
// go to fixtures instead.
func (c *collector) parametrized(f *function, name string, depth int) (items []item, pick []int, ok bool) {
	decorators := f.def.Decorators
	if f.class != nil {
		decorators = append(append([]pysyntax.Expr{}, decorators...), f.class.class.Decorators...)
	}
	for _, d := range decorators {
		call, isCall := d.(*pysyntax.Call)
		if !isCall || c.dotted(call.Func, f.scope) != "pytest.mark.parametrize" || argument(call, -1, "indirect") != nil {
			continue
		}
		names := c.parameterNames(argument(call, 0, "argnames"), f.scope)
		for i, n := range names {
			if n != name {
				continue
			}
			if len(names) > 1 {
				pick = []int{i}
			}
			if values := argument(call, 1, "argvalues"); values != nil {
				return c.elements(values, f.scope.outer, depth+1), pick, true
			}
		}
	}
	return nil, nil, false
}

// parameterNames reads the first argument of parametrize: "a, b" or ["a", "b"].
func (c *collector) parameterNames(e pysyntax.Expr, s *scope) []string {
	if elts := displayElements(e); elts != nil {
		var names []string
		for _, elt := range elts {
			names = append(names, c.eval(elt, s, 0)[0].text)
		}
		return names
	}
	if e == nil {
		return nil
	}
	names := strings.Split(c.eval(e, s, 0)[0].text, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}

// fixture finds the pytest fixture that a parameter of f asks for.
func (c *collector) fixture(name string, f *function) *function {
	if !c.isTest(f) && !c.isFixture(f) {
		return nil
	}
	if f.class != nil {
		if m := c.method(f.class, name, 0); m != nil && c.isFixture(m) {
			return m
		}
	}
	if g := c.fixtures[name]; g != f {
		return g
	}
	return nil
}

func (c *collector) isFixture(f *function) bool {
	for _, d := range f.def.Decorators {
		if call, ok := d.(*pysyntax.Call); ok {
			d = call.Func
		}
		if name := c.dotted(d, f.scope); name == "pytest.fixture" || name == "pytest_asyncio.fixture" {
			return true
		}
	}
	return false
}

// fixtureName is the name under which a fixture is asked for.
func (c *collector) fixtureName(f *function) string {
	for _, d := range f.def.Decorators {
		if call, ok := d.(*pysyntax.Call); ok {
			if name, ok := argument(call, -1, "name").(*pysyntax.Constant); ok {
				return name.Value
			}
		}
	}
	return f.def.Name
}
