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
	global := map[string][]int{} // names at module level, and the uses that reach them
	c.judgeOwner(nil, byOwner[nil], global, global)
	for owner, flows := range byOwner {
		if owner != nil {
			c.judgeOwner(owner, flows, global, map[string][]int{})
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

// usesIn returns the uses of chance that an expression contains or receives by
// name.
func (c *collector) usesIn(e pysyntax.Expr, owner *function, global, local map[string][]int) []int {
	if e == nil {
		return nil
	}
	var uses []int
	r := e.Range()
	first, _ := slices.BinarySearchFunc(c.chance, r.Start, func(u chanceSpan, at pysyntax.Pos) int {
		return cmp.Compare(u.span.Start, at)
	})
	for i := first; i < len(c.chance) && c.chance[i].span.Start < r.End; i++ {
		if c.chance[i].owner == owner {
			uses = append(uses, c.chance[i].fact)
		}
	}
	pysyntax.Inspect(e, func(n pysyntax.Node) bool {
		if name, ok := n.(*pysyntax.Name); ok && len(uses) < maxValues {
			uses = append(uses, local[name.ID]...)
			if owner != nil {
				uses = append(uses, global[name.ID]...)
			}
		}
		return true
	})
	return uses
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
