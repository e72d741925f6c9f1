package pysyntax

// setContext turns an expression into a target, or fails if it cannot be one.
// Lists and tuples are targets if their elements are; a starred expression can
// be assigned but not deleted.
func (p *parser) setContext(e Expr, ctx Context) {
	switch n := e.(type) {
	case *Name:
		n.Ctx = ctx
	case *Attribute:
		n.Ctx = ctx
	case *Subscript:
		n.Ctx = ctx
	case *List:
		n.Ctx = ctx
		for _, elt := range n.Elts {
			p.setContext(elt, ctx)
		}
	case *Tuple:
		n.Ctx = ctx
		for _, elt := range n.Elts {
			p.setContext(elt, ctx)
		}
	case *Starred:
		if ctx == Del {
			p.failAt(e, "cannot delete a starred expression")
			return
		}
		n.Ctx = ctx
		p.setContext(n.Value, ctx)
	case nil: // a fault has been recorded
	default:
		verb := "assign to"
		if ctx == Del {
			verb = "delete"
		}
		p.failAt(e, "cannot "+verb+" "+describe(e))
	}
}

// singleTarget checks the target of an annotation or augmented assignment,
// which must be a name, an attribute or a subscript.
func (p *parser) singleTarget(e Expr, use string) {
	switch e.(type) {
	case *Name, *Attribute, *Subscript:
		p.setContext(e, Store)
	case nil:
	default:
		p.failAt(e, describe(e)+" is no target for an "+use)
	}
}

// describe names the kind of an expression in an error message.
func describe(e Expr) string {
	switch n := e.(type) {
	case *Call:
		return "a function call"
	case *Constant, *JoinedStr, *TemplateStr:
		return "a literal"
	case *Compare:
		return "a comparison"
	case *Lambda:
		return "a lambda"
	case *IfExp:
		return "a conditional expression"
	case *NamedExpr:
		return "an assignment expression"
	case *Yield, *YieldFrom:
		return "a yield expression"
	case *Await:
		return "an await expression"
	case *Tuple:
		return "a tuple"
	case *List:
		return "a list"
	case *Dict, *DictComp:
		return "a dictionary"
	case *Set, *SetComp:
		return "a set"
	case *ListComp, *GeneratorExp:
		return "a comprehension"
	case *Starred:
		return describe(n.Value)
	}
	return "an expression"
}

// starTargets: what stands between "for" and "in".
func (p *parser) starTargets() Expr {
	e := p.tupleOf(p.starTarget)
	p.setContext(e, Store)
	return e
}

// starTarget parses a target without its validity having been checked. It must
// not take "in" for an operator.
func (p *parser) starTarget() Expr {
	if p.at(tStar) {
		return p.starred()
	}
	return p.bitwiseOr()
}
