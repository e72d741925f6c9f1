package pysyntax

// Rules bear the names of CPython's grammar where they have one there.

// expression: a conditional, a disjunction or a lambda.
func (p *parser) expression() Expr {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	if p.at(kLambda) {
		return p.lambda()
	}
	start := p.start()
	body := p.disjunction()
	if !p.got(kIf) {
		return body
	}
	test := p.disjunction()
	p.expect(kElse, "'else' of the conditional expression")
	orelse := p.expression()
	return &IfExp{p.span(start), test, body, orelse}
}

func (p *parser) lambda() Expr {
	start := p.next().start
	args := p.parameters(tColon)
	p.expect(tColon, "':' of the lambda")
	body := p.expression()
	return &Lambda{p.span(start), args, body}
}

func (p *parser) disjunction() Expr {
	if isOperand(p.kind()) && endsOperand(p.kindAt(1)) {
		return p.atom() // by far the most frequent expression
	}
	start := p.start()
	first := p.conjunction()
	if !p.at(kOr) {
		return first
	}
	return p.boolOp(start, first, kOr, Or, p.conjunction)
}

// isOperand reports whether a token alone can be an expression.
func isOperand(k kind) bool {
	return k == tName || k == tNumber || k == tString
}

// endsOperand reports whether a token cannot continue an expression, so that
// the token before it is all there is.
func endsOperand(k kind) bool {
	switch k {
	case tComma, tRParen, tNewline, tRBracket, tColon, tEqual, tRBrace:
		return true
	}
	return false
}

func (p *parser) conjunction() Expr {
	start := p.start()
	first := p.inversion()
	if !p.at(kAnd) {
		return first
	}
	return p.boolOp(start, first, kAnd, And, p.inversion)
}

func (p *parser) boolOp(start Pos, first Expr, sep kind, op BoolOperator, operand func() Expr) Expr {
	mark := p.exprs.mark()
	p.exprs.push(first)
	for p.got(sep) {
		p.exprs.push(operand())
	}
	return &BoolOp{p.span(start), op, p.exprs.take(mark)}
}

func (p *parser) inversion() Expr {
	if !p.at(kNot) {
		return p.comparison()
	}
	if !p.enter() {
		return nil
	}
	defer p.leave()
	start := p.next().start
	operand := p.inversion()
	return &UnaryOp{p.span(start), Not, operand}
}

func (p *parser) comparison() Expr {
	start := p.start()
	left := p.bitwiseOr()
	op, ok := p.comparisonOperator()
	if !ok {
		return left
	}
	exprs, ops := p.exprs.mark(), p.operators.mark()
	for ok {
		p.operators.push(op)
		p.exprs.push(p.bitwiseOr())
		op, ok = p.comparisonOperator()
	}
	n := p.compares.new()
	*n = Compare{p.span(start), left, p.operators.take(ops), p.exprs.take(exprs)}
	return n
}

// comparisonOperator takes a comparison operator, if there is one.
func (p *parser) comparisonOperator() (CmpOperator, bool) {
	switch k := p.kind(); k {
	case tEqEq, tNotEq, tLess, tLessEq, tGreater, tGreaterEq:
		p.next()
		return Eq + CmpOperator(k-tEqEq), true
	case kIn:
		p.next()
		return In, true
	case kIs:
		p.next()
		if p.got(kNot) {
			return IsNot, true
		}
		return Is, true
	case kNot:
		if p.kindAt(1) == kIn {
			p.i += 2
			return NotIn, true
		}
	}
	return 0, false
}

// precedence of the binary operators, from tPlus on; 0 means that a token is
// none of them, or is "**", which binds tighter than a sign on its left.
func precedence(k kind) int {
	switch k {
	case tVBar:
		return 1
	case tCaret:
		return 2
	case tAmp:
		return 3
	case tLeftShift, tRightShift:
		return 4
	case tPlus, tMinus:
		return 5
	case tStar, tAt, tSlash, tPercent, tDoubleSlash:
		return 6
	}
	return 0
}

func (p *parser) bitwiseOr() Expr { return p.binary(1) }

// binary parses left-associative operators of at least the given precedence.
func (p *parser) binary(least int) Expr {
	start := p.start()
	left := p.factor()
	for {
		k := p.kind()
		prec := precedence(k)
		if prec < least || prec == 0 {
			return left
		}
		p.next()
		p.links++
		right := p.binary(prec + 1)
		n := p.binOps.new()
		*n = BinOp{p.span(start), left, Add + Operator(k-tPlus), right}
		left = n
	}
}

func (p *parser) factor() Expr {
	op := UAdd
	switch p.kind() {
	case tPlus:
	case tMinus:
		op = USub
	case tTilde:
		op = Invert
	default:
		return p.power()
	}
	if !p.enter() {
		return nil
	}
	defer p.leave()
	start := p.next().start
	operand := p.factor()
	return &UnaryOp{p.span(start), op, operand}
}

func (p *parser) power() Expr {
	start := p.start()
	left := p.awaitPrimary()
	if !p.got(tDoubleStar) {
		return left
	}
	if !p.enter() {
		return nil
	}
	defer p.leave()
	right := p.factor()
	n := p.binOps.new()
	*n = BinOp{p.span(start), left, Pow, right}
	return n
}

func (p *parser) awaitPrimary() Expr {
	if !p.at(kAwait) {
		return p.primary()
	}
	start := p.next().start
	value := p.primary()
	return &Await{p.span(start), value}
}

// primary: an atom and its trailers.
func (p *parser) primary() Expr {
	start := p.start()
	e := p.atom()
	for {
		switch p.kind() {
		case tDot:
			p.next()
			n := p.attributes.new()
			n.Value, n.Attr = e, p.identifier()
			n.Span = p.span(start)
			e = n
		case tLParen:
			e = p.call(start, e)
		case tLBracket:
			p.next()
			slice := p.slices()
			p.expect(tRBracket, "']'")
			n := p.subscripts.new()
			*n = Subscript{p.span(start), e, slice, Load}
			e = n
		default:
			return e
		}
		p.links++
	}
}

// slices: what stands between the brackets of a subscript.
func (p *parser) slices() Expr {
	start := p.start()
	star := p.at(tStar)
	first := p.sliceOrStarred()
	if !star && !p.at(tComma) {
		return first
	}
	mark := p.exprs.mark()
	p.exprs.push(first)
	for p.got(tComma) && !p.at(tRBracket) {
		p.exprs.push(p.sliceOrStarred())
	}
	n := p.tuples.new()
	*n = Tuple{p.span(start), p.exprs.take(mark), Load}
	return n
}

func (p *parser) sliceOrStarred() Expr {
	start := p.start()
	if p.got(tStar) {
		p.require(11, start, "starred expression in a subscript")
		value := p.expression()
		return &Starred{p.span(start), value, Load}
	}
	var lower, upper, step Expr
	if !p.at(tColon) {
		named := p.kindAt(1) == tColonEqual
		lower = p.namedExpression()
		if named || !p.at(tColon) {
			if named {
				p.require(10, start, "unparenthesized assignment expression in a subscript")
			}
			return lower
		}
	}
	p.expect(tColon, "':'")
	if !p.atSliceEnd() {
		upper = p.expression()
	}
	if p.got(tColon) && !p.atSliceEnd() {
		step = p.expression()
	}
	return &Slice{p.span(start), lower, upper, step}
}

func (p *parser) atSliceEnd() bool {
	return p.at(tColon) || p.at(tComma) || p.at(tRBracket)
}

// namedExpression: an expression, or "name := expression".
func (p *parser) namedExpression() Expr {
	start := p.start()
	if p.at(tName) && p.kindAt(1) == tColonEqual {
		target := p.name(Store)
		p.next()
		value := p.expression()
		return &NamedExpr{p.span(start), target, value}
	}
	e := p.expression()
	if p.at(tColonEqual) {
		p.failAt(e, "only a name can be the target of ':='")
	}
	return e
}

// starNamedExpression: "*operand" or a named expression.
func (p *parser) starNamedExpression() Expr {
	if p.at(tStar) {
		return p.starred()
	}
	return p.namedExpression()
}

// starExpression: "*operand" or an expression.
func (p *parser) starExpression() Expr {
	if p.at(tStar) {
		return p.starred()
	}
	return p.expression()
}

func (p *parser) starred() Expr {
	start := p.next().start
	value := p.bitwiseOr()
	return &Starred{p.span(start), value, Load}
}

// starExpressions: one expression, or a tuple without parentheses.
func (p *parser) starExpressions() Expr {
	return p.tupleOf(p.starExpression)
}

// tupleOf parses one element, or several separated by commas as a tuple.
func (p *parser) tupleOf(element func() Expr) Expr {
	start := p.start()
	first := element()
	if !p.at(tComma) {
		return first
	}
	mark := p.exprs.mark()
	p.exprs.push(first)
	for p.got(tComma) && p.atExpression() {
		p.exprs.push(element())
	}
	n := p.tuples.new()
	*n = Tuple{p.span(start), p.exprs.take(mark), Load}
	return n
}

// atExpression reports whether the current token can start an expression or a
// starred one.
func (p *parser) atExpression() bool {
	switch p.kind() {
	case tName, tNumber, tString, tFStringStart, tLParen, tLBracket, tLBrace,
		tMinus, tPlus, tTilde, tStar, tEllipsis,
		kFalse, kNone, kTrue, kNot, kLambda, kAwait:
		return true
	}
	return false
}

func (p *parser) yield() Expr {
	start := p.next().start
	if p.got(kFrom) {
		value := p.expression()
		return &YieldFrom{p.span(start), value}
	}
	var value Expr
	if p.atExpression() {
		value = p.starExpressions()
	}
	return &Yield{p.span(start), value}
}

// yieldOrStarExpressions: what may stand to the right of an assignment.
func (p *parser) yieldOrStarExpressions() Expr {
	if p.at(kYield) {
		return p.yield()
	}
	return p.starExpressions()
}
