package pysyntax

// patternList: a pattern, or a sequence pattern without brackets.
func (p *parser) patternList() Pattern {
	start := p.start()
	first, star := p.maybeStarPattern()
	if !p.at(tComma) {
		if star {
			p.failAt(first, "a starred pattern must be part of a sequence")
		}
		return first
	}
	mark := p.patterns.mark()
	p.patterns.push(first)
	for p.got(tComma) && !p.at(tColon) && !p.at(kIf) {
		pattern, _ := p.maybeStarPattern()
		p.patterns.push(pattern)
	}
	return &MatchSequence{p.span(start), p.patterns.take(mark)}
}

// maybeStarPattern: a pattern, or "*name" within a sequence.
func (p *parser) maybeStarPattern() (pattern Pattern, star bool) {
	if !p.at(tStar) {
		return p.pattern(), false
	}
	start := p.next().start
	name := ""
	if p.isWord("_") {
		p.next()
	} else {
		name = p.captureName()
	}
	return &MatchStar{p.span(start), name}, true
}

// captureName takes the name that a pattern binds.
func (p *parser) captureName() string {
	if p.isWord("_") {
		p.expected("a name other than '_'")
	}
	name := p.identifier()
	if p.at(tDot) || p.at(tLParen) || p.at(tEqual) {
		p.expected("a plain name as the target of a pattern")
	}
	return name
}

// pattern: alternatives, and the name they may be bound to.
func (p *parser) pattern() Pattern {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	start := p.start()
	pattern := p.closedPattern()
	if p.at(tVBar) {
		mark := p.patterns.mark()
		p.patterns.push(pattern)
		for p.got(tVBar) {
			p.patterns.push(p.closedPattern())
		}
		pattern = &MatchOr{p.span(start), p.patterns.take(mark)}
	}
	if p.got(kAs) {
		name := p.captureName()
		pattern = &MatchAs{p.span(start), pattern, name}
	}
	return pattern
}

func (p *parser) closedPattern() Pattern {
	start := p.start()
	switch p.kind() {
	case tNumber, tMinus, tString, tFStringStart:
		value := p.literalPattern()
		return &MatchValue{p.span(start), value}
	case kNone, kTrue, kFalse:
		c := p.literalPattern().(*Constant)
		return &MatchSingleton{p.span(start), c.Kind}
	case tName:
		return p.namePattern()
	case tLParen:
		return p.groupPattern()
	case tLBracket:
		p.next()
		patterns := p.sequencePattern(tRBracket, start)
		return &MatchSequence{p.span(start), patterns}
	case tLBrace:
		return p.mappingPattern()
	}
	p.expected("a pattern")
	return nil
}

// literalPattern: a literal that can be a pattern or the key of a mapping
// pattern: a string, None, True, False, or a number with its sign and, if it is
// complex, its imaginary part.
func (p *parser) literalPattern() Expr {
	switch p.kind() {
	case tString, tFStringStart:
		return p.strings()
	case kNone:
		return p.constant(None)
	case kTrue:
		return p.constant(True)
	case kFalse:
		return p.constant(False)
	}
	start := p.start()
	number, real := p.signedNumber()
	op := Add
	switch p.kind() {
	case tPlus:
	case tMinus:
		op = Sub
	default:
		return number
	}
	p.next()
	if !real {
		p.fail(start, SyntaxError, "real number required in complex literal")
	}
	if !p.at(tNumber) {
		p.expected("an imaginary number")
		return number
	}
	imag := p.number()
	if imag.Kind != Imag {
		p.failAt(imag, "imaginary number required in complex literal")
	}
	return &BinOp{p.span(start), number, op, imag}
}

func (p *parser) signedNumber() (e Expr, real bool) {
	start := p.start()
	minus := p.got(tMinus)
	if !p.at(tNumber) {
		p.expected("a number")
		return nil, false
	}
	n := p.number()
	real = n.Kind != Imag
	if minus {
		return &UnaryOp{p.span(start), USub, n}, real
	}
	return n, real
}

// namePattern: "_", a name to bind, a dotted name to compare with, or a class.
func (p *parser) namePattern() Pattern {
	start := p.start()
	if p.isWord("_") {
		p.next()
		return &MatchAs{Span: p.span(start)}
	}
	if k := p.kindAt(1); k != tDot && k != tLParen {
		name := p.captureName()
		return &MatchAs{p.span(start), nil, name}
	}
	e := p.nameOrAttribute()
	if p.at(tLParen) {
		return p.classPattern(start, e)
	}
	if p.at(tEqual) {
		p.expected("a pattern")
	}
	return &MatchValue{p.span(start), e}
}

func (p *parser) nameOrAttribute() Expr {
	start := p.start()
	var e Expr = p.name(Load)
	for p.got(tDot) {
		p.links++
		attr := p.identifier()
		e = &Attribute{p.span(start), e, attr, Load}
	}
	return e
}

// groupPattern: a pattern in parentheses, or a sequence.
func (p *parser) groupPattern() Pattern {
	start := p.next().start
	if p.got(tRParen) {
		return &MatchSequence{Span: p.span(start)}
	}
	first, star := p.maybeStarPattern()
	if !star && p.got(tRParen) {
		return first
	}
	if !p.at(tComma) {
		p.closeBracket(tComma, start)
		return first
	}
	mark := p.patterns.mark()
	p.patterns.push(first)
	p.next()
	rest := p.sequencePattern(tRParen, start)
	for _, pattern := range rest {
		p.patterns.push(pattern)
	}
	return &MatchSequence{p.span(start), p.patterns.take(mark)}
}

// sequencePattern parses patterns up to the closing bracket.
func (p *parser) sequencePattern(closer kind, open Pos) []Pattern {
	mark := p.patterns.mark()
	for !p.at(closer) && p.fault == nil {
		pattern, _ := p.maybeStarPattern()
		p.patterns.push(pattern)
		if !p.got(tComma) {
			break
		}
	}
	p.closeBracket(closer, open)
	return p.patterns.take(mark)
}

func (p *parser) mappingPattern() Pattern {
	start := p.next().start
	n := &MatchMapping{}
	keys, patterns := p.exprs.mark(), p.patterns.mark()
	for !p.at(tRBrace) && p.fault == nil {
		if p.got(tDoubleStar) {
			n.Rest = p.captureName()
			p.got(tComma)
			break
		}
		if p.at(tName) {
			key := p.nameOrAttribute()
			if _, plain := key.(*Name); plain {
				p.failAt(key, "a mapping pattern key must be a literal or a dotted name")
			}
			p.exprs.push(key)
		} else {
			p.exprs.push(p.literalPattern())
		}
		p.expect(tColon, "':' after the pattern key")
		p.patterns.push(p.pattern())
		if !p.got(tComma) {
			break
		}
	}
	p.closeBracket(tRBrace, start)
	n.Keys, n.Patterns = p.exprs.take(keys), p.patterns.take(patterns)
	n.Span = p.span(start)
	return n
}

func (p *parser) classPattern(start Pos, cls Expr) Pattern {
	open := p.next().start
	n := &MatchClass{Cls: cls}
	patterns, names := p.patterns.mark(), p.strs.mark()
	for !p.at(tRParen) && p.fault == nil {
		if p.at(tName) && p.kindAt(1) == tEqual {
			if p.strs.mark() == names {
				n.Patterns = p.patterns.take(patterns)
			}
			p.strs.push(p.identifier())
			p.next()
		} else if p.strs.mark() > names {
			p.fail(p.start(), SyntaxError, "positional patterns follow keyword patterns")
		}
		p.patterns.push(p.pattern())
		if !p.got(tComma) {
			break
		}
	}
	p.closeBracket(tRParen, open)
	rest := p.patterns.take(patterns)
	if n.KwNames = p.strs.take(names); n.KwNames != nil {
		n.KwPatterns = rest
	} else {
		n.Patterns = rest
	}
	n.Span = p.span(start)
	return n
}
