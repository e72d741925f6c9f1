package pyfacts

import (
	"github.com/posttrainarena/arena/gates/pysyntax"
)

// Evaluation steps allowed for one statement and for a file. Following names
// can branch without end; real tests need a few dozen steps for a statement.
const (
	statementSteps = 2_000
	fileSteps      = 100_000
)

// collector holds what is known about a file while its facts are collected.
type collector struct {
	m      *pysyntax.Module
	env    map[string]string
	facts  *Facts
	budget int // steps left for the statement at hand
	total  int // steps left for the rest of the file

	module    *scope
	scopes    map[pysyntax.Node]*scope // of functions, classes, lambdas and comprehensions
	functions []*function
	calls     []callSite
	imports   map[string]string // local name to dotted name
	fixtures  map[string]*function
	mentioned map[string]bool // names that occur in an expression
	seeded    map[string]bool // random generators that get a fixed seed
	mutated   map[string]bool // names whose value may change in place

	flows    []flow
	chance   []chanceSpan
	returned map[*function][]int // uses of chance that reach what a function returns
	inputs   map[int]bool        // uses of chance that something unknown works with
	depth    int                 // of expressions, while chance is followed
}

// scope is a namespace: the module, a class, a function, a lambda or a
// comprehension. A frame is a scope of its own for one call of a function, with
// its arguments.
type scope struct {
	outer *scope
	class *pysyntax.ClassDef
	fn    *function
	name  string
	names map[string][]binding
	attrs map[string][]binding // of a class: what is assigned to self.name
	defs  map[string]*function
	subs  map[string]*scope // classes defined here
}

// binding is one way in which a name gets a value. The zero expr stands for a
// value that cannot be followed.
type binding struct {
	expr  pysyntax.Expr
	scope *scope // where expr is evaluated
	each  bool   // the name is bound to each element of expr in turn
	pick  []int  // positions in nested tuples
	param bool   // a parameter: expr is its default
}

// function is a function or method of the file.
type function struct {
	def    *pysyntax.FunctionDef
	scope  *scope
	class  *scope // of a method
	calls  []callSite
	uses   map[*function]bool // functions of the file that it mentions
	helps  []string           // imported functions that it calls
	direct bool               // contains an assertion
}

type callSite struct {
	call  *pysyntax.Call
	scope *scope
}

// function returns the qualified name of the outermost function that a scope
// belongs to: assertions in nested functions count for the outer one.
func (s *scope) function() string {
	f := s.owner()
	if f == nil {
		return ""
	}
	if f.class != nil {
		return f.class.name + "." + f.def.Name
	}
	return f.def.Name
}

// owner returns the outermost function of a scope, nil at module level.
func (s *scope) owner() *function {
	var f *function
	for ; s != nil; s = s.outer {
		if s.fn != nil {
			f = s.fn
		}
	}
	return f
}

// lookup finds what a name is bound to, seen from s. Functions do not see the
// names of the class around them.
func (s *scope) lookup(name string) []binding {
	for first := true; s != nil; s, first = s.outer, false {
		if s.class != nil && !first {
			continue
		}
		if b := s.names[name]; b != nil {
			return b
		}
	}
	return nil
}

// lookupDef finds a function by name.
func (s *scope) lookupDef(name string) *function {
	for ; s != nil; s = s.outer {
		if f := s.defs[name]; f != nil {
			return f
		}
	}
	return nil
}

// lookupClass finds a class by name.
func (s *scope) lookupClass(name string) *scope {
	for ; s != nil; s = s.outer {
		if sub := s.subs[name]; sub != nil {
			return sub
		}
	}
	return nil
}

// inner returns the scope of a lambda or comprehension in s.
func (c *collector) inner(n pysyntax.Node, s *scope) *scope {
	if sub := c.scopes[n]; sub != nil {
		return sub
	}
	return s
}

// hosting returns the scope in which ":=" binds a name: comprehensions pass it
// on.
func (s *scope) hosting() *scope {
	for s.outer != nil && s.fn == nil && s.class == nil && s.name == "" {
		s = s.outer
	}
	return s
}

// enclosingClass returns the class whose method s belongs to.
func (s *scope) enclosingClass() *scope {
	for ; s != nil; s = s.outer {
		if s.class != nil {
			return s
		}
	}
	return nil
}

func newScope(outer *scope, name string) *scope {
	return &scope{
		outer: outer, name: name,
		names: map[string][]binding{}, attrs: map[string][]binding{},
		defs: map[string]*function{}, subs: map[string]*scope{},
	}
}

// callee returns the function of this file that a call reaches, or nil.
func (c *collector) callee(fn pysyntax.Expr, s *scope) *function {
	switch f := fn.(type) {
	case *pysyntax.Name:
		return s.lookupDef(f.ID)
	case *pysyntax.Attribute:
		name, ok := f.Value.(*pysyntax.Name)
		if !ok {
			return nil
		}
		class := s.lookupClass(name.ID)
		if name.ID == "self" || name.ID == "cls" {
			class = s.enclosingClass()
		}
		return c.method(class, f.Attr, 0)
	}
	return nil
}

// method finds a method in a class or in those of its bases that are defined
// in the file.
func (c *collector) method(class *scope, name string, depth int) *function {
	c.budget--
	if class == nil || depth > 8 || c.budget < 0 {
		return nil
	}
	if f := class.defs[name]; f != nil {
		return f
	}
	for _, base := range class.class.Bases {
		if n, ok := base.(*pysyntax.Name); ok {
			if f := c.method(class.outer.lookupClass(n.ID), name, depth+1); f != nil {
				return f
			}
		}
	}
	return nil
}

// dotted returns the full name of an expression such as "np.testing", with its
// first part replaced by what was imported under that name. It is empty for
// anything else than names joined by dots, and for names that the file binds
// itself.
func (c *collector) dotted(e pysyntax.Expr, s *scope) string {
	switch n := e.(type) {
	case *pysyntax.Name:
		if full, ok := c.imports[n.ID]; ok {
			return full
		}
		if s.lookup(n.ID) != nil || s.lookupDef(n.ID) != nil || s.lookupClass(n.ID) != nil {
			return ""
		}
		return n.ID
	case *pysyntax.Attribute:
		if base := c.dotted(n.Value, s); base != "" {
			return base + "." + n.Attr
		}
	}
	return ""
}
