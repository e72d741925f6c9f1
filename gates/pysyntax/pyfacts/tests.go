package pyfacts

import (
	"slices"
	"strings"

	"github.com/posttrainarena/arena/gates/pysyntax"
)

// isTest reports whether a test runner would call a function: "test..." at
// module level, in a class "Test...", or in a subclass of a TestCase.
func (c *collector) isTest(f *function) bool {
	if !strings.HasPrefix(f.def.Name, "test") || c.isFixture(f) {
		return false
	}
	if f.class == nil {
		return f.scope.outer == c.module
	}
	return strings.HasPrefix(f.class.name, "Test") || c.isTestCase(f.class, 0)
}

func (c *collector) isTestCase(class *scope, depth int) bool {
	c.budget--
	if class == nil || depth > 8 || c.budget < 0 {
		return false
	}
	for _, base := range class.class.Bases {
		if strings.HasSuffix(c.dotted(base, class.outer), "TestCase") {
			return true
		}
		if name, ok := base.(*pysyntax.Name); ok && c.isTestCase(class.outer.lookupClass(name.ID), depth+1) {
			return true
		}
	}
	return false
}

// findTests lists the tests and how each asserts.
func (c *collector) findTests() {
	for _, f := range c.functions {
		if !c.isTest(f) {
			continue
		}
		c.addFixtures(f)
		t := Test{Place: Place{c.m.Position(f.def.Start), f.scope.function()}, Asserts: f.direct}
		reached := c.reach(f)
		for _, g := range reached {
			if g.direct && !t.Asserts {
				t.Asserts, t.Helper = true, g.scope.function()
			}
			t.Unresolved = append(t.Unresolved, g.helps...)
		}
		slices.Sort(t.Unresolved)
		t.Unresolved = slices.Compact(t.Unresolved)
		c.facts.Tests = append(c.facts.Tests, t)
	}
	slices.SortStableFunc(c.facts.Tests, func(a, b Test) int { return a.Line - b.Line })
}

// reach returns f and all functions of the file that it uses, directly or not,
// nearest first.
func (c *collector) reach(f *function) []*function {
	seen := map[*function]bool{f: true}
	queue := []*function{f}
	for i := 0; i < len(queue); i++ {
		c.addFixtures(queue[i])
		next := make([]*function, 0, len(queue[i].uses))
		for g := range queue[i].uses {
			if !seen[g] {
				seen[g] = true
				next = append(next, g)
			}
		}
		slices.SortFunc(next, func(a, b *function) int { return int(a.def.Start) - int(b.def.Start) })
		queue = append(queue, next...)
	}
	return queue
}

// addFixtures adds what a test or fixture uses without a call: the fixtures
// that its parameters and marks name, and the set-up methods of its class.
func (c *collector) addFixtures(f *function) {
	a := f.def.Args
	for _, arg := range append(append([]*pysyntax.Arg{}, a.PosOnly...), a.Args...) {
		if g := c.fixture(arg.Name, f); g != nil {
			f.uses[g] = true
		}
	}
	if !c.isTest(f) {
		return
	}
	for _, d := range f.def.Decorators {
		call, ok := d.(*pysyntax.Call)
		if !ok || c.dotted(call.Func, f.scope) != "pytest.mark.usefixtures" {
			continue
		}
		for _, arg := range call.Args {
			if g := c.fixtures[c.single(arg, f.scope)]; g != nil {
				f.uses[g] = true
			}
		}
	}
	for _, name := range [...]string{"setUp", "tearDown", "setup_method", "teardown_method", "setUpClass", "setup_class"} {
		if g := c.method(f.class, name, 0); g != nil && g != f {
			f.uses[g] = true
		}
	}
}
