package pysyntax

import "fmt"

// maxIntDigits is the number of digits beyond which CPython refuses to convert
// a decimal literal.
const maxIntDigits = 4300

// atom: a name, a literal, or something in brackets.
func (p *parser) atom() Expr {
	switch p.kind() {
	case tName:
		return p.name(Load)
	case tString, tFStringStart:
		return p.strings()
	case tNumber:
		return p.number()
	case tLParen:
		return p.parenthesized()
	case tLBracket:
		return p.list()
	case tLBrace:
		return p.dictOrSet()
	case kNone:
		return p.constant(None)
	case kTrue:
		return p.constant(True)
	case kFalse:
		return p.constant(False)
	case tEllipsis:
		return p.constant(Ellipsis)
	}
	p.expected("an expression")
	return nil
}

func (p *parser) constant(k ConstKind) *Constant {
	t := p.next()
	n := p.constants.new()
	n.Span, n.Kind = Span{t.start, t.end}, k
	return n
}

func (p *parser) number() *Constant {
	t := p.toks[p.i]
	n := p.constant(Int)
	n.Value = p.slice(t)
	n.Kind = numberKind(n.Value)
	if n.Kind == Int && len(n.Value) > maxIntDigits && digitCount(n.Value) > maxIntDigits {
		p.fail(t.start, SyntaxError, fmt.Sprintf("the integer has more than %d digits; use a hexadecimal literal", maxIntDigits))
	}
	return n
}

func numberKind(s string) ConstKind {
	if len(s) > 1 && s[0] == '0' && isLetter(s[1]) && s[1]|0x20 != 'e' && s[1]|0x20 != 'j' {
		return Int
	}
	if s[len(s)-1]|0x20 == 'j' {
		return Imag
	}
	for i := range len(s) {
		if c := s[i]; c == '.' || c|0x20 == 'e' {
			return Float
		}
	}
	return Int
}

// digitCount counts the digits of a decimal integer; those of other radixes
// are not limited.
func digitCount(s string) int {
	if s[0] == '0' {
		return 0
	}
	n := 0
	for i := range len(s) {
		if s[i] != '_' {
			n++
		}
	}
	return n
}

// parenthesized: a tuple, a generator expression, or an expression in
// parentheses, which leave no trace in the tree.
func (p *parser) parenthesized() Expr {
	start := p.next().start
	if p.got(tRParen) {
		n := p.tuples.new()
		n.Span = p.span(start)
		return n
	}
	if p.at(kYield) {
		e := p.yield()
		p.closeBracket(tRParen, start)
		return e
	}
	star := p.at(tStar)
	first := p.starNamedExpression()
	switch {
	case p.atComprehension():
		return p.generator(start, first, star)
	case p.at(tComma):
		elts := p.elements(first, tRParen, start)
		n := p.tuples.new()
		*n = Tuple{p.span(start), elts, Load}
		return n
	case star:
		p.failAt(first, "cannot use a starred expression here")
	}
	p.closeBracket(tRParen, start)
	return first
}

// generator parses the rest of a generator expression whose parenthesis opened
// at start.
func (p *parser) generator(start Pos, elt Expr, star bool) Expr {
	clauses := p.comprehension(elt, star)
	p.closeBracket(tRParen, start)
	return &GeneratorExp{p.span(start), elt, clauses}
}

// elements parses ", element" until the bracket closes.
func (p *parser) elements(first Expr, closer kind, open Pos) []Expr {
	mark := p.exprs.mark()
	p.exprs.push(first)
	for p.got(tComma) && !p.at(closer) {
		p.exprs.push(p.starNamedExpression())
	}
	p.closeBracket(closer, open)
	return p.exprs.take(mark)
}

// closeBracket takes a closing bracket. What stands in its place is usually
// the sign of a forgotten comma.
func (p *parser) closeBracket(closer kind, open Pos) {
	if p.got(closer) {
		return
	}
	at := position(p.lines, open)
	p.expected(fmt.Sprintf("',' or the end of the '%c' opened in line %d", p.text[open], at.Line))
}

func (p *parser) list() Expr {
	start := p.next().start
	if p.got(tRBracket) {
		return &List{Span: p.span(start)}
	}
	star := p.at(tStar)
	first := p.starNamedExpression()
	if p.atComprehension() {
		clauses := p.comprehension(first, star)
		p.closeBracket(tRBracket, start)
		return &ListComp{p.span(start), first, clauses}
	}
	elts := p.elements(first, tRBracket, start)
	return &List{p.span(start), elts, Load}
}

func (p *parser) dictOrSet() Expr {
	start := p.next().start
	if p.got(tRBrace) {
		return &Dict{Span: p.span(start)}
	}
	if p.at(tDoubleStar) {
		return p.dict(start, nil)
	}
	named, star := p.kindAt(1) == tColonEqual, p.at(tStar)
	first := p.starNamedExpression()
	switch {
	case p.at(tColon) && !named && !star:
		return p.dict(start, first)
	case p.atComprehension():
		clauses := p.comprehension(first, star)
		p.closeBracket(tRBrace, start)
		return &SetComp{p.span(start), first, clauses}
	}
	if named {
		p.require(10, start, "unparenthesized assignment expression in a set")
	}
	elts := p.elements(first, tRBrace, start)
	return &Set{p.span(start), elts}
}

// dict parses a dictionary whose first key, if any, has been parsed.
func (p *parser) dict(start Pos, key Expr) Expr {
	mark := p.exprs.mark() // keys and values alternate
	for first := true; first || p.got(tComma) && !p.at(tRBrace); first = false {
		if p.got(tDoubleStar) {
			p.exprs.push(nil)
			p.exprs.push(p.bitwiseOr())
			continue
		}
		if !first {
			key = p.expression()
		}
		p.expect(tColon, "':' after the dictionary key")
		value := p.expression()
		if first && p.atComprehension() {
			clauses := p.comprehension(value, false)
			p.closeBracket(tRBrace, start)
			return &DictComp{p.span(start), key, value, clauses}
		}
		p.exprs.push(key)
		p.exprs.push(value)
	}
	p.closeBracket(tRBrace, start)
	pairs := p.exprs.take(mark)
	half := len(pairs) / 2
	keys, values := make([]Expr, half), make([]Expr, half)
	for i := range half {
		keys[i], values[i] = pairs[2*i], pairs[2*i+1]
	}
	return &Dict{p.span(start), keys, values}
}

func (p *parser) atComprehension() bool {
	return p.at(kFor) || p.at(kAsync) && p.kindAt(1) == kFor
}

// comprehension parses the for and if clauses that follow an element.
func (p *parser) comprehension(elt Expr, star bool) []*Comprehension {
	if star {
		p.failAt(elt, "iterable unpacking cannot be used in a comprehension")
	}
	var clauses []*Comprehension
	for p.atComprehension() {
		c := &Comprehension{}
		start := p.start()
		c.Async = p.got(kAsync)
		p.next()
		c.Target = p.starTargets()
		p.expect(kIn, "'in' after the loop variables")
		c.Iter = p.disjunction()
		mark := p.exprs.mark()
		for p.got(kIf) {
			p.exprs.push(p.disjunction())
		}
		c.Ifs = p.exprs.take(mark)
		c.Span = p.span(start)
		clauses = append(clauses, c)
	}
	return clauses
}
