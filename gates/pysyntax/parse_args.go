package pysyntax

// call parses the arguments of a call of fn, which started at start.
func (p *parser) call(start Pos, fn Expr) Expr {
	args, keywords := p.arguments(true)
	n := p.calls.new()
	*n = Call{p.span(start), fn, args, keywords}
	return n
}

// arguments parses a parenthesized argument list. A generator expression
// without parentheses of its own is allowed as the only argument of a call, but
// not in a class definition.
func (p *parser) arguments(generator bool) ([]Expr, []*Keyword) {
	open := p.next().start
	args, kws := p.exprs.mark(), p.kwStack.mark()
	seenKeyword, seenUnpack := false, false
	for first := true; !p.at(tRParen) && p.fault == nil; first = false {
		at := p.start()
		switch {
		case p.got(tDoubleStar):
			seenUnpack = true
			p.keyword(at, "")
		case p.got(tStar):
			if seenUnpack {
				p.fail(at, SyntaxError, "iterable argument unpacking follows keyword argument unpacking")
			}
			value := p.expression()
			p.exprs.push(&Starred{p.span(at), value, Load})
		case p.at(tName) && p.kindAt(1) == tEqual:
			seenKeyword = true
			name := p.identifier()
			p.next()
			p.keyword(at, name)
		default:
			if seenKeyword || seenUnpack {
				p.fail(at, SyntaxError, "positional argument follows keyword argument")
			}
			e := p.namedExpression()
			if p.atComprehension() {
				if !first || !generator {
					p.failAt(e, "a generator expression must be parenthesized")
				}
				e = p.generator(open, e, false)
				p.exprs.push(e)
				return p.exprs.take(args), nil
			}
			if p.at(tEqual) {
				p.failAt(e, "only a name can stand before '=' in a call")
			}
			p.exprs.push(e)
		}
		if !p.got(tComma) {
			break
		}
	}
	p.closeBracket(tRParen, open)
	return p.exprs.take(args), p.kwStack.take(kws)
}

func (p *parser) keyword(start Pos, name string) {
	value := p.expression()
	n := p.keywords.new()
	*n = Keyword{p.span(start), name, value}
	p.kwStack.push(n)
}

// parameters parses the parameters of a function, up to a tRParen, or of a
// lambda, up to a tColon; only the former have annotations.
func (p *parser) parameters(closer kind) *Arguments {
	a := p.arena.arguments.new()
	start := p.start()
	args, defaults := p.argStack.mark(), p.exprs.mark()
	optional := false
	for !p.at(closer) && p.fault == nil {
		at := p.start()
		switch {
		case p.at(tStar) || p.at(tDoubleStar):
			a.Args, a.Defaults = p.argStack.take(args), p.exprs.take(defaults)
			p.starParameters(a, closer)
			a.Span = p.span(start)
			return a
		case p.got(tSlash):
			if a.PosOnly != nil || p.argStack.mark() == args {
				p.fail(at, SyntaxError, "'/' must follow at least one parameter and may appear once")
			}
			a.PosOnly = p.argStack.take(args)
		default:
			p.argStack.push(p.parameter(closer, false))
			if p.got(tEqual) {
				optional = true
				p.exprs.push(p.expression())
			} else if optional {
				p.fail(at, SyntaxError, "parameter without a default follows parameter with a default")
			}
		}
		if !p.got(tComma) {
			break
		}
	}
	a.Args, a.Defaults = p.argStack.take(args), p.exprs.take(defaults)
	a.Span = p.span(start)
	return a
}

// starParameters parses the parameters from the first star on.
func (p *parser) starParameters(a *Arguments, closer kind) {
	args, defaults := p.argStack.mark(), p.exprs.mark()
	star, bare := p.start(), false
	if p.got(tStar) {
		if bare = p.at(tComma); !bare {
			a.Vararg = p.parameter(closer, true)
			p.noDefault()
		}
		if !p.got(tComma) {
			return
		}
	}
	for !p.at(closer) && p.fault == nil {
		if p.got(tDoubleStar) {
			a.Kwarg = p.parameter(closer, false)
			p.noDefault()
			p.got(tComma)
			break
		}
		p.argStack.push(p.parameter(closer, false))
		var value Expr
		if p.got(tEqual) {
			value = p.expression()
		}
		p.exprs.push(value)
		if !p.got(tComma) {
			break
		}
	}
	a.KwOnly, a.KwDefaults = p.argStack.take(args), p.exprs.take(defaults)
	if bare && a.KwOnly == nil {
		p.fail(star, SyntaxError, "named parameters must follow a bare '*'")
	}
}

func (p *parser) noDefault() {
	if p.at(tEqual) {
		p.fail(p.start(), SyntaxError, "a starred parameter cannot have a default value")
	}
}

// parameter parses a name and its annotation, which may be starred for *args.
func (p *parser) parameter(closer kind, star bool) *Arg {
	start := p.start()
	n := p.args.new()
	n.Name = p.identifier()
	if closer == tRParen && p.got(tColon) {
		if star && p.at(tStar) {
			p.require(11, p.start(), "starred annotation")
			n.Annotation = p.starExpression()
		} else {
			n.Annotation = p.expression()
		}
	}
	n.Span = p.span(start)
	return n
}

// typeParams parses "[T: bound = default, *Ts, **P]", if it is there.
func (p *parser) typeParams() []TypeParam {
	if !p.at(tLBracket) {
		return nil
	}
	open := p.next().start
	p.require(12, open, "type parameters")
	var params []TypeParam
	for {
		params = append(params, p.typeParam())
		if !p.got(tComma) || p.at(tRBracket) {
			break
		}
	}
	p.closeBracket(tRBracket, open)
	return params
}

func (p *parser) typeParam() TypeParam {
	start := p.start()
	switch {
	case p.got(tStar):
		n := &TypeVarTuple{Name: p.identifier()}
		if p.atTypeDefault() {
			n.Default = p.starExpression()
		}
		n.Span = p.span(start)
		return n
	case p.got(tDoubleStar):
		n := &ParamSpec{Name: p.identifier()}
		if p.atTypeDefault() {
			n.Default = p.expression()
		}
		n.Span = p.span(start)
		return n
	}
	n := &TypeVar{Name: p.identifier()}
	if p.got(tColon) {
		n.Bound = p.expression()
	}
	if p.atTypeDefault() {
		n.Default = p.expression()
	}
	n.Span = p.span(start)
	return n
}

// atTypeDefault takes the "=" before the default of a type parameter.
func (p *parser) atTypeDefault() bool {
	if !p.at(tEqual) {
		return false
	}
	p.require(13, p.start(), "default of a type parameter")
	p.next()
	return true
}
