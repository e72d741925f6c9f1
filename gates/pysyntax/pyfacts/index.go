package pyfacts

import (
	"strings"

	"github.com/posttrainarena/arena/gates/pysyntax"
)

// index walks the file once and notes all definitions, bindings, imports and
// calls.
func (c *collector) index() {
	c.module = newScope(nil, "")
	c.scopes = map[pysyntax.Node]*scope{}
	c.imports = map[string]string{}
	c.fixtures = map[string]*function{}
	c.mutated, c.mentioned = map[string]bool{}, map[string]bool{}
	c.define()
	for _, f := range c.functions {
		if f.class == nil && c.isFixture(f) {
			c.fixtures[c.fixtureName(f)] = f
		}
	}
	for _, site := range c.calls {
		c.noteMutation(site.call)
		if f := c.callee(site.call.Func, site.scope); f != nil {
			f.calls = append(f.calls, site)
		}
	}
}

// define walks the file with the scope of each node at hand.
func (c *collector) define() {
	s := c.module
	var open []pysyntax.Node
	pysyntax.Inspect(c.m, func(n pysyntax.Node) bool {
		if n == nil {
			last := open[len(open)-1]
			open = open[:len(open)-1]
			if c.scopes[last] != nil {
				s = s.outer
			}
			return false
		}
		open = append(open, n)
		s = c.defineNode(n, s)
		return true
	})
}

// defineNode notes what a node defines or binds in s and returns the scope of
// what is below it.
func (c *collector) defineNode(n pysyntax.Node, s *scope) *scope {
	switch n := n.(type) {
	case *pysyntax.FunctionDef:
		return c.defineFunction(n, s)
	case *pysyntax.ClassDef:
		sub := newScope(s, n.Name)
		sub.class = n
		s.subs[n.Name] = sub
		c.scopes[n] = sub
		return sub
	case *pysyntax.Lambda:
		sub := newScope(s, "lambda")
		c.scopes[n] = sub
		return sub
	case *pysyntax.Arg:
		if s.name == "lambda" && s.fn == nil {
			s.names[n.Name] = []binding{{}}
		}
	case *pysyntax.ListComp, *pysyntax.SetComp, *pysyntax.DictComp, *pysyntax.GeneratorExp:
		sub := newScope(s, "")
		c.scopes[n] = sub
		return sub
	case *pysyntax.Call:
		c.calls = append(c.calls, callSite{n, s})
	case *pysyntax.Name:
		c.mentioned[n.ID] = true
	case *pysyntax.Attribute:
		c.mentioned[n.Attr] = true
	default:
		c.bindNode(n, s)
	}
	return s
}

// defineFunction makes the scope of a function and binds its parameters.
func (c *collector) defineFunction(n *pysyntax.FunctionDef, outer *scope) *scope {
	s := newScope(outer, n.Name)
	f := &function{def: n, scope: s, uses: map[*function]bool{}}
	if outer.class != nil {
		f.class = outer
	}
	s.fn = f
	outer.defs[n.Name] = f
	c.scopes[n] = s
	c.functions = append(c.functions, f)
	a := n.Args
	positional := append(append([]*pysyntax.Arg{}, a.PosOnly...), a.Args...)
	for i, arg := range positional {
		b := binding{scope: outer, param: true}
		if d := i - (len(positional) - len(a.Defaults)); d >= 0 {
			b.expr = a.Defaults[d]
		}
		s.names[arg.Name] = append(s.names[arg.Name], b)
	}
	for i, arg := range a.KwOnly {
		s.names[arg.Name] = append(s.names[arg.Name], binding{expr: a.KwDefaults[i], scope: outer, param: true})
	}
	for _, arg := range []*pysyntax.Arg{a.Vararg, a.Kwarg} {
		if arg != nil {
			s.names[arg.Name] = append(s.names[arg.Name], binding{})
		}
	}
	return s
}

// bindNode notes the names that a statement or expression binds.
func (c *collector) bindNode(n pysyntax.Node, s *scope) {
	switch n := n.(type) {
	case *pysyntax.Assign:
		for _, target := range n.Targets {
			c.bind(target, binding{expr: n.Value, scope: s}, s)
		}
	case *pysyntax.AnnAssign:
		if n.Value != nil {
			c.bind(n.Target, binding{expr: n.Value, scope: s}, s)
		}
	case *pysyntax.AugAssign:
		c.bind(n.Target, binding{}, s)
	case *pysyntax.NamedExpr:
		c.bind(n.Target, binding{expr: n.Value, scope: s}, s.hosting())
	case *pysyntax.For:
		c.bind(n.Target, binding{expr: n.Iter, scope: s, each: true}, s)
	case *pysyntax.Comprehension:
		c.bind(n.Target, binding{expr: n.Iter, scope: s, each: true}, s)
	case *pysyntax.WithItem:
		if n.Target != nil {
			c.bind(n.Target, binding{}, s)
		}
	case *pysyntax.ExceptHandler:
		if n.Name != "" {
			s.names[n.Name] = append(s.names[n.Name], binding{})
		}
	case *pysyntax.Import, *pysyntax.ImportFrom:
		c.bindImport(n, s)
	case *pysyntax.Global:
		for _, name := range n.Names {
			c.module.names[name] = append(c.module.names[name], binding{})
		}
	}
}

// bind gives a target a binding; the parts of a tuple get a part each.
func (c *collector) bind(target pysyntax.Expr, b binding, s *scope) {
	switch t := target.(type) {
	case *pysyntax.Name:
		s.names[t.ID] = append(s.names[t.ID], b)
	case *pysyntax.Attribute:
		if name, ok := t.Value.(*pysyntax.Name); ok && (name.ID == "self" || name.ID == "cls") {
			if class := s.enclosingClass(); class != nil {
				class.attrs[t.Attr] = append(class.attrs[t.Attr], b)
			}
		}
	case *pysyntax.Subscript:
		if name, ok := t.Value.(*pysyntax.Name); ok {
			c.mutated[name.ID] = true
		}
	case *pysyntax.Tuple:
		c.bindParts(t.Elts, b, s)
	case *pysyntax.List:
		c.bindParts(t.Elts, b, s)
	case *pysyntax.Starred:
		c.bind(t.Value, binding{}, s)
	}
}

func (c *collector) bindParts(targets []pysyntax.Expr, b binding, s *scope) {
	starred := false
	for i, t := range targets {
		part := b
		part.pick = append(append([]int{}, b.pick...), i)
		if _, star := t.(*pysyntax.Starred); star || starred {
			starred = true
			part = binding{}
		}
		c.bind(t, part, s)
	}
}

func (c *collector) bindImport(n pysyntax.Node, s *scope) {
	switch n := n.(type) {
	case *pysyntax.Import:
		for _, a := range n.Names {
			c.facts.Imports = append(c.facts.Imports, Import{c.place(a, s), a.Name, ""})
			if a.AsName != "" {
				c.imports[a.AsName] = a.Name
			} else {
				root, _, _ := strings.Cut(a.Name, ".")
				c.imports[root] = root
			}
		}
	case *pysyntax.ImportFrom:
		module := strings.Repeat(".", n.Level) + n.Module
		for _, a := range n.Names {
			c.facts.Imports = append(c.facts.Imports, Import{c.place(a, s), module, a.Name})
			local := a.AsName
			if local == "" {
				local = a.Name
			}
			c.imports[local] = strings.TrimSuffix(module, ".") + "." + a.Name
		}
	}
}
