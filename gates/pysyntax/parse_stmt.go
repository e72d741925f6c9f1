package pysyntax

import "strings"

// module: all statements of the file.
func (p *parser) module() []Stmt {
	mark := p.stmts.mark()
	for !p.at(tEOF) {
		p.statement()
	}
	if p.lexFault != nil && p.fault == nil {
		p.fault = p.lexFault
	}
	return p.stmts.take(mark)
}

// statement parses one compound statement, or a line of simple ones, onto the
// stack.
func (p *parser) statement() {
	if s := p.compoundStatement(); s != nil {
		p.stmts.push(s)
		return
	}
	p.simpleStatements()
}

// simpleStatements: simple statements separated by semicolons.
func (p *parser) simpleStatements() {
	for {
		p.stmts.push(p.simpleStatement())
		if !p.got(tSemicolon) || p.at(tNewline) {
			break
		}
	}
	if p.got(tNewline) {
		return
	}
	if word := p.slice(p.toks[max(p.i-1, 0)]); word == "print" || word == "exec" {
		p.fail(p.start(), SyntaxError, word+" is a function and needs parentheses around its arguments")
	}
	p.expected("the end of the statement")
}

func (p *parser) simpleStatement() Stmt {
	p.newStatement()
	start := p.start()
	switch p.kind() {
	case kReturn:
		p.next()
		n := p.returns.new()
		if p.atExpression() {
			n.Value = p.starExpressions()
		}
		n.Span = p.span(start)
		return n
	case kRaise:
		return p.raise()
	case kPass:
		p.next()
		return &Pass{p.span(start)}
	case kBreak:
		p.next()
		return &Break{p.span(start)}
	case kContinue:
		p.next()
		return &Continue{p.span(start)}
	case kDel:
		return p.del()
	case kAssert:
		return p.assert()
	case kGlobal:
		p.next()
		names := p.nameList()
		return &Global{p.span(start), names}
	case kNonlocal:
		p.next()
		names := p.nameList()
		return &Nonlocal{p.span(start), names}
	case kImport:
		return p.importNames()
	case kFrom:
		return p.importFrom()
	case tName:
		if p.kindAt(1) == tName && p.isWord("type") {
			return p.typeAlias()
		}
	}
	return p.assignment()
}

// assignment: an expression, and what makes an assignment of it.
func (p *parser) assignment() Stmt {
	start := p.start()
	bare := p.at(tName)
	e := p.yieldOrStarExpressions()
	switch k := p.kind(); {
	case k == tEqual:
		return p.assign(start, e)
	case k == tColon:
		return p.annotated(start, e, bare)
	case tPlusEqual <= k && k <= tDoubleSlashEqual:
		p.singleTarget(e, "augmented assignment")
		p.next()
		value := p.yieldOrStarExpressions()
		return &AugAssign{p.span(start), e, Add + Operator(k-tPlusEqual), value}
	}
	n := p.exprStmts.new()
	*n = ExprStmt{p.span(start), e}
	return n
}

func (p *parser) assign(start Pos, first Expr) Stmt {
	mark := p.exprs.mark()
	value := first
	for p.got(tEqual) {
		p.setContext(value, Store)
		p.exprs.push(value)
		value = p.yieldOrStarExpressions()
	}
	n := p.assigns.new()
	*n = Assign{p.span(start), p.exprs.take(mark), value}
	return n
}

func (p *parser) annotated(start Pos, target Expr, bare bool) Stmt {
	p.singleTarget(target, "annotation")
	p.next()
	n := &AnnAssign{Target: target}
	_, name := target.(*Name)
	n.Simple = name && bare
	n.Annotation = p.expression()
	if p.got(tEqual) {
		n.Value = p.yieldOrStarExpressions()
	}
	n.Span = p.span(start)
	return n
}

func (p *parser) raise() Stmt {
	start := p.next().start
	n := &Raise{}
	if p.atExpression() {
		n.Exc = p.expression()
		if p.got(kFrom) {
			n.Cause = p.expression()
		}
	}
	n.Span = p.span(start)
	return n
}

func (p *parser) assert() Stmt {
	start := p.next().start
	n := &Assert{Test: p.expression()}
	if p.got(tComma) {
		n.Msg = p.expression()
	}
	n.Span = p.span(start)
	return n
}

func (p *parser) del() Stmt {
	start := p.next().start
	mark := p.exprs.mark()
	for {
		target := p.starExpression()
		p.setContext(target, Del)
		p.exprs.push(target)
		if !p.got(tComma) || !p.atExpression() {
			break
		}
	}
	return &Delete{p.span(start), p.exprs.take(mark)}
}

func (p *parser) nameList() []string {
	mark := p.strs.mark()
	p.strs.push(p.identifier())
	for p.got(tComma) {
		p.strs.push(p.identifier())
	}
	return p.strs.take(mark)
}

func (p *parser) typeAlias() Stmt {
	start := p.next().start
	p.require(12, start, "type statement")
	n := &TypeAlias{Name: p.name(Store)}
	n.TypeParams = p.typeParams()
	p.expect(tEqual, "'=' of the type statement")
	n.Value = p.expression()
	n.Span = p.span(start)
	return n
}

func (p *parser) importNames() Stmt {
	start := p.next().start
	mark := p.aliases.mark()
	for {
		p.aliases.push(p.alias(p.dottedName))
		if !p.got(tComma) {
			break
		}
	}
	return &Import{p.span(start), p.aliases.take(mark)}
}

// alias parses a name and the name it is given here.
func (p *parser) alias(name func() string) *Alias {
	start := p.start()
	a := &Alias{Name: name()}
	if p.got(kAs) {
		a.AsName = p.identifier()
	}
	a.Span = p.span(start)
	return a
}

// dottedName takes "a.b.c". Usually it stands in the source as it is, and need
// not be built.
func (p *parser) dottedName() string {
	first := p.i
	plain := true
	for {
		plain = plain && p.toks[p.i].flags == 0 && (p.i == first || p.start() == p.end())
		name := p.identifier()
		if p.fault != nil {
			return name
		}
		if !p.at(tDot) {
			break
		}
		plain = plain && p.start() == p.end()
		p.next()
	}
	toks := p.toks[first:p.i]
	if plain {
		return p.text[toks[0].start:toks[len(toks)-1].end]
	}
	var b strings.Builder
	for _, t := range toks {
		b.WriteString(p.identifierOf(t))
	}
	return b.String()
}

func (p *parser) importFrom() Stmt {
	start := p.next().start
	n := &ImportFrom{}
	for {
		if p.got(tDot) {
			n.Level++
		} else if p.got(tEllipsis) {
			n.Level += 3
		} else {
			break
		}
	}
	if n.Level == 0 || p.at(tName) {
		n.Module = p.dottedName()
	}
	p.expect(kImport, "'import'")
	n.Names = p.importTargets()
	n.Span = p.span(start)
	return n
}

func (p *parser) importTargets() []*Alias {
	mark := p.aliases.mark()
	open := p.start()
	if p.got(tStar) {
		p.aliases.push(&Alias{Span: p.span(open), Name: "*"})
		return p.aliases.take(mark)
	}
	parens := p.got(tLParen)
	for {
		p.aliases.push(p.alias(p.identifier))
		if !p.got(tComma) || parens && p.at(tRParen) {
			break
		}
		if p.at(tNewline) {
			p.fail(p.end()-1, SyntaxError, "trailing comma not allowed without surrounding parentheses")
		}
	}
	if parens {
		p.closeBracket(tRParen, open)
	}
	return p.aliases.take(mark)
}
