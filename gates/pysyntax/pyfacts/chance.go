package pyfacts

import (
	"cmp"
	"slices"
	"strings"

	"github.com/posttrainarena/arena/gates/pysyntax"
)

// flow is a step that values take: from an expression into the names of a
// target, or into an assertion.
type flow struct {
	owner  *function
	target pysyntax.Expr
	value  pysyntax.Expr
	judged bool
}

// maxChanceDepth bounds the nesting of expressions that chance is followed through.
const maxChanceDepth = 200

// chanceSpan is where a use of chance stands.
type chanceSpan struct {
	owner *function
	span  pysyntax.Span
	fact  int // index into facts.Chance
}

func (c *collector) flow(target, value pysyntax.Expr, s *scope) {
	c.flows = append(c.flows, flow{owner: s.owner(), target: target, value: value})
}

// seeds finds the random generators that the file seeds with some argument.
func (c *collector) seeds() map[string]bool {
	seeded := map[string]bool{}
	pysyntax.Inspect(c.m, func(n pysyntax.Node) bool {
		call, ok := n.(*pysyntax.Call)
		if !ok || len(call.Args)+len(call.Keywords) == 0 {
			return true
		}
		if len(call.Args) > 0 && isFalse(call.Args[0]) && c.m.Source(call.Args[0]) == "None" {
			return true
		}
		switch c.dotted(call.Func, c.module) {
		case "random.seed":
			seeded["random"] = true
		case "numpy.random.seed":
			seeded["numpy.random"] = true
		case "torch.manual_seed":
			seeded["torch"] = true
		}
		return true
	})
	return seeded
}

// chanceCall records calls whose result depends on time or chance.
func (c *collector) chanceCall(n *pysyntax.Call, name string, s *scope) {
	kind, ok := c.chanceKind(n, name)
	if !ok {
		return
	}
	c.facts.Chance = append(c.facts.Chance, ChanceUse{Place: c.place(n, s), Kind: kind, Via: name})
	c.chance = append(c.chance, chanceSpan{s.owner(), n.Span, len(c.facts.Chance) - 1})
	if strings.HasSuffix(name, ".shuffle") && len(n.Args) > 0 {
		c.flow(n.Args[0], n, s) // what is shuffled takes the chance on
	}
}

func (c *collector) chanceKind(n *pysyntax.Call, name string) (ChanceKind, bool) {
	bare := len(n.Args) == 0 && len(n.Keywords) == 0
	switch name {
	case "time.time", "time.time_ns", "datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today",
		"datetime.date.today", "time.asctime", "pandas.Timestamp.now", "pandas.Timestamp.today":
		return Clock, true
	case "time.localtime", "time.gmtime", "time.ctime":
		return Clock, bare
	case "time.strftime":
		return Clock, len(n.Args) == 1
	case "time.monotonic", "time.monotonic_ns", "time.perf_counter", "time.perf_counter_ns", "time.process_time", "timeit.timeit":
		return Timer, true
	case "uuid.uuid1", "uuid.uuid4", "os.urandom", "os.getrandom", "random.SystemRandom":
		return Random, true
	case "random.Random", "numpy.random.default_rng", "numpy.random.RandomState":
		return Random, bare
	}
	module, fn, _ := cutLast(name)
	switch module {
	case "secrets":
		return Random, fn != "compare_digest"
	case "random", "numpy.random":
		return Random, !c.seeded[module] && fn != "seed" && fn != "getstate" && fn != "setstate" && fn != "Generator"
	case "torch":
		return Random, !c.seeded[module] && strings.HasPrefix(fn, "rand")
	}
	return 0, false
}

// markJudged follows each use of chance through the assignments of its function
// into the assertions.
func (c *collector) markJudged() {
	if len(c.chance) == 0 {
		return
	}
	slices.SortStableFunc(c.chance, func(a, b chanceSpan) int { return cmp.Compare(a.span.Start, b.span.Start) })
	byOwner := map[*function][]flow{}
	for _, f := range c.flows {
		byOwner[f.owner] = append(byOwner[f.owner], f)
	}
	// Two rounds: functions pass on what they return, and one may call another.
	for range 2 {
		global := map[string][]int{} // names at module level, and the uses that reach them
		c.judgeOwner(nil, byOwner[nil], global, global)
		for _, f := range c.functions {
			if f.scope.owner() != f {
				continue
			}
			local := map[string][]int{}
			c.judgeOwner(f, byOwner[f], global, local)
			c.returned[f] = nil
			for _, e := range results(f.def) {
				c.returned[f] = append(c.returned[f], c.usesIn(e, f, global, local)...)
			}
		}
	}
	for i := range c.facts.Chance {
		if use := &c.facts.Chance[i]; use.Kind == Random && c.inputs[i] {
			use.Judged = false
		}
	}
}

// judgeOwner handles the flows of one function. Two rounds suffice for what is
// written in order; a third for what loops carry around.
func (c *collector) judgeOwner(owner *function, flows []flow, global, local map[string][]int) {
	for range 3 {
		for _, f := range flows {
			uses := c.usesIn(f.value, owner, global, local)
			if len(uses) == 0 {
				continue
			}
			if f.judged {
				for _, i := range uses {
					c.facts.Chance[i].Judged = true
				}
				continue
			}
			for _, name := range targetNames(f.target) {
				if len(local[name]) < maxValues {
					local[name] = append(local[name], uses...)
				}
			}
		}
	}
}

// usesIn returns the uses of chance whose value an expression passes on. A
// difference or comparison of two readings of the clock is a duration, and one
// of a random value with what was made of it holds for any value: neither passes
// anything on. Nor does a call of something unknown, which only works with the
// value.
func (c *collector) usesIn(e pysyntax.Expr, owner *function, global, local map[string][]int) []int {
	var uses []int
	add := func(more []int) {
		if len(uses) < maxValues {
			uses = append(uses, more...)
		}
	}
	in := func(e pysyntax.Expr) []int { return c.usesIn(e, owner, global, local) }
	if e == nil || c.depth == maxChanceDepth {
		return nil
	}
	c.depth++
	defer func() { c.depth-- }()
	pysyntax.Inspect(e, func(n pysyntax.Node) bool {
		switch n := n.(type) {
		case *pysyntax.Name:
			add(local[n.ID])
			if owner != nil {
				add(global[n.ID])
			}
		case *pysyntax.BinOp:
			left, right := in(n.Left), in(n.Right)
			if n.Op != pysyntax.Sub || !c.cancel(left, right) {
				add(left)
				add(right)
			}
			return false
		case *pysyntax.Compare:
			left := in(n.Left)
			for _, right := range n.Comparators {
				other := in(right)
				if !c.cancel(left, other) {
					add(left)
					add(other)
				}
				left = other
			}
			return false
		case *pysyntax.Call:
			if i, ok := c.chanceAt(n.Span, owner); ok {
				add([]int{i})
				return false
			}
			add(c.usesOfCall(n, in))
			where := c.module
			if owner != nil {
				where = owner.scope
			}
			if f := c.callee(n.Func, where); f != nil && f != owner {
				add(c.returned[f])
			}
			return false
		case *pysyntax.Lambda:
			return false
		}
		return true
	})
	return uses
}

// usesOfCall returns the uses that a call passes on: those of the object whose
// method it is, and those that go through a function that only converts.
func (c *collector) usesOfCall(n *pysyntax.Call, in func(pysyntax.Expr) []int) []int {
	uses := []int{}
	converts := false
	switch f := n.Func.(type) {
	case *pysyntax.Name:
		converts = converter(f.ID)
	case *pysyntax.Attribute:
		uses = append(uses, in(f.Value)...)
		converts = convertingMethod(f.Attr)
	}
	args := slices.Clone(n.Args)
	for _, k := range n.Keywords {
		args = append(args, k.Value)
	}
	for _, arg := range args {
		for _, i := range in(arg) {
			if converts {
				uses = append(uses, i)
			} else {
				c.inputs[i] = true
			}
		}
	}
	return uses[:min(len(uses), maxValues)]
}

// converter reports whether a function of Python only brings values into another
// form, so that what comes out is decided by what goes in.
func converter(name string) bool {
	switch name {
	case "str", "int", "float", "bool", "round", "abs", "repr", "format", "min", "max", "sum", "sorted", "reversed",
		"list", "tuple", "set", "dict", "zip", "enumerate", "map", "next", "iter", "any", "all", "print":
		return true
	}
	return false
}

// convertingMethod is converter for methods and functions of modules, and for the comparisons among them.
func convertingMethod(name string) bool {
	switch name {
	case "fromtimestamp", "utcfromtimestamp", "strftime", "strptime", "localtime", "gmtime", "mktime", "combine", "fromisoformat", "join", "format", "startswith", "endswith":
		return true
	}
	return false
}

// chanceAt returns the use of chance that is a call itself.
func (c *collector) chanceAt(at pysyntax.Span, owner *function) (int, bool) {
	first, _ := slices.BinarySearchFunc(c.chance, at.Start, func(u chanceSpan, start pysyntax.Pos) int {
		return cmp.Compare(u.span.Start, start)
	})
	for i := first; i < len(c.chance) && c.chance[i].span.Start == at.Start; i++ {
		if c.chance[i].owner == owner && c.chance[i].span == at {
			return c.chance[i].fact, true
		}
	}
	return 0, false
}

// cancel reports whether both sides depend on the clock, or on the same use.
func (c *collector) cancel(left, right []int) bool {
	clock := func(i int) bool { return c.facts.Chance[i].Kind != Random }
	if slices.ContainsFunc(left, clock) && slices.ContainsFunc(right, clock) {
		return true
	}
	return slices.ContainsFunc(left, func(i int) bool { return slices.Contains(right, i) })
}

func targetNames(e pysyntax.Expr) []string {
	switch t := e.(type) {
	case *pysyntax.Name:
		return []string{t.ID}
	case *pysyntax.Tuple:
		var names []string
		for _, elt := range t.Elts {
			names = append(names, targetNames(elt)...)
		}
		return names
	case *pysyntax.Attribute:
		return []string{t.Attr}
	case *pysyntax.Subscript:
		return targetNames(t.Value)
	}
	return nil
}
