package pysyntax

// compoundStatement parses a statement with a block, or returns nil if none
// starts here.
func (p *parser) compoundStatement() Stmt {
	start := p.start()
	switch p.kind() {
	case kDef:
		return p.functionDef(start, nil, false)
	case kClass:
		return p.classDef(start, nil)
	case tAt:
		return p.decorated()
	case kAsync:
		return p.async()
	case kIf:
		return p.ifStatement()
	case kFor:
		return p.forStatement(start, false)
	case kWhile:
		return p.while()
	case kTry:
		return p.try()
	case kWith:
		return p.with(start, false)
	case tName:
		if p.isWord("match") {
			return p.match()
		}
	}
	return nil
}

// block: the indented statements after a colon, or simple statements on the
// same line. The owner is named in the error when it is missing.
func (p *parser) block(owner string) []Stmt {
	p.expect(tColon, "':'")
	if !p.enter() {
		return nil
	}
	defer p.leave()
	mark := p.stmts.mark()
	if !p.got(tNewline) {
		p.simpleStatements()
		return p.stmts.take(mark)
	}
	if !p.got(tIndent) {
		p.fail(p.start(), IndentationError, "expected an indented block after "+owner)
	}
	for !p.at(tDedent) && !p.at(tEOF) {
		p.statement()
	}
	p.expect(tDedent, "the end of the block")
	return p.stmts.take(mark)
}

func (p *parser) functionDef(start Pos, decorators []Expr, async bool) Stmt {
	p.next()
	n := p.functions.new()
	n.Name = p.identifier()
	n.TypeParams = p.typeParams()
	open := p.start()
	p.expect(tLParen, "'('")
	n.Args = p.parameters(tRParen)
	if p.fault == nil {
		p.closeBracket(tRParen, open)
	}
	if p.got(tArrow) {
		n.Returns = p.expression()
	}
	n.Body = p.block("the function definition")
	n.Decorators, n.Async = decorators, async
	n.Span = p.span(start)
	return n
}

func (p *parser) classDef(start Pos, decorators []Expr) Stmt {
	p.next()
	n := &ClassDef{Name: p.identifier(), Decorators: decorators}
	n.TypeParams = p.typeParams()
	if p.at(tLParen) {
		n.Bases, n.Keywords = p.arguments(false)
	}
	n.Body = p.block("the class definition")
	n.Span = p.span(start)
	return n
}

func (p *parser) decorated() Stmt {
	mark := p.exprs.mark()
	for p.got(tAt) {
		e := p.namedExpression()
		if p.fault == nil && !isPlainDecorator(e) {
			p.require(9, e.Range().Start, "decorator that is not a dotted name or a call of one")
		}
		p.exprs.push(e)
		p.expect(tNewline, "the end of the line")
	}
	decorators := p.exprs.take(mark)
	start := p.start()
	switch {
	case p.at(kDef):
		return p.functionDef(start, decorators, false)
	case p.at(kAsync) && p.kindAt(1) == kDef:
		p.next()
		return p.functionDef(start, decorators, true)
	case p.at(kClass):
		return p.classDef(start, decorators)
	}
	p.expected("a function or class definition after the decorator")
	return &Pass{}
}

// isPlainDecorator reports whether Python 3.8 allows a decorator.
func isPlainDecorator(e Expr) bool {
	if call, ok := e.(*Call); ok {
		e = call.Func
	}
	for {
		switch n := e.(type) {
		case *Name:
			return true
		case *Attribute:
			e = n.Value
		default:
			return false
		}
	}
}

func (p *parser) async() Stmt {
	start := p.next().start
	switch p.kind() {
	case kDef:
		return p.functionDef(start, nil, true)
	case kFor:
		return p.forStatement(start, true)
	case kWith:
		return p.with(start, true)
	}
	p.expected("'def', 'for' or 'with' after 'async'")
	return &Pass{}
}

// ifStatement parses "if" and "elif", which differ in the keyword only.
func (p *parser) ifStatement() Stmt {
	if !p.enter() {
		return &Pass{}
	}
	defer p.leave()
	n := p.ifs.new()
	start := p.next().start
	n.Test = p.namedExpression()
	n.Body = p.block("the if statement")
	if p.at(kElif) {
		mark := p.stmts.mark()
		p.stmts.push(p.ifStatement())
		n.Orelse = p.stmts.take(mark)
	} else {
		n.Orelse = p.orElse()
	}
	n.Span = p.span(start)
	return n
}

func (p *parser) orElse() []Stmt {
	if !p.got(kElse) {
		return nil
	}
	return p.block("the else clause")
}

func (p *parser) while() Stmt {
	start := p.next().start
	n := &While{Test: p.namedExpression()}
	n.Body = p.block("the while statement")
	n.Orelse = p.orElse()
	n.Span = p.span(start)
	return n
}

func (p *parser) forStatement(start Pos, async bool) Stmt {
	p.next()
	n := &For{Async: async, Target: p.starTargets()}
	p.expect(kIn, "'in' after the loop variables")
	at, star := p.start(), p.at(tStar)
	n.Iter = p.starExpressions()
	if star {
		p.require(9, at, "unparenthesized starred expression in a for loop")
	}
	n.Body = p.block("the for statement")
	n.Orelse = p.orElse()
	n.Span = p.span(start)
	return n
}

// with: the items may stand in parentheses, but an opening parenthesis may as
// well belong to the first expression; only what follows decides.
func (p *parser) with(start Pos, async bool) Stmt {
	p.next()
	n := &With{Async: async}
	parenthesized := p.at(tLParen) && p.attempt(func() bool {
		n.Items = p.parenthesizedItems()
		return p.at(tColon)
	})
	if !parenthesized {
		n.Items = []*WithItem{p.withItem()}
		for p.got(tComma) {
			n.Items = append(n.Items, p.withItem())
		}
	}
	n.Body = p.block("the with statement")
	n.Span = p.span(start)
	return n
}

func (p *parser) parenthesizedItems() []*WithItem {
	at := p.next().start
	items := []*WithItem{p.withItem()}
	for p.got(tComma) && !p.at(tRParen) {
		items = append(items, p.withItem())
	}
	p.expect(tRParen, "')'")
	for _, item := range items {
		if item.Target != nil {
			p.require(9, at, "parenthesized context managers")
		}
	}
	return items
}

func (p *parser) withItem() *WithItem {
	start := p.start()
	item := &WithItem{Context: p.expression()}
	if p.got(kAs) {
		item.Target = p.starTarget()
		p.setContext(item.Target, Store)
	}
	item.Span = p.span(start)
	return item
}

func (p *parser) try() Stmt {
	start := p.next().start
	n := &Try{Body: p.block("the try statement")}
	for p.at(kExcept) {
		h, star := p.exceptHandler()
		if len(n.Handlers) > 0 && star != n.Star {
			p.failAt(h, "cannot have both 'except' and 'except*' on the same 'try'")
		}
		n.Star = star
		n.Handlers = append(n.Handlers, h)
	}
	if n.Handlers != nil {
		n.Orelse = p.orElse()
	}
	if p.got(kFinally) {
		n.Finalbody = p.block("the finally clause")
	} else if n.Handlers == nil {
		p.expected("'except' or 'finally'")
	}
	n.Span = p.span(start)
	return n
}

func (p *parser) exceptHandler() (h *ExceptHandler, star bool) {
	h = &ExceptHandler{}
	start := p.next().start
	if p.at(tStar) {
		p.require(11, p.next().start, "except*")
		star = true
	}
	if star || !p.at(tColon) {
		at := p.start()
		h.Type = p.expression()
		switch {
		case p.got(kAs):
			h.Name = p.identifier()
		case p.at(tComma):
			p.require(14, at, "exception types without parentheses")
			h.Type = p.exceptTypes(at, h.Type)
		}
	}
	h.Body = p.block("the except clause")
	h.Span = p.span(start)
	return h, star
}

// exceptTypes parses the rest of a list of exception types (PEP 758).
func (p *parser) exceptTypes(start Pos, first Expr) Expr {
	mark := p.exprs.mark()
	p.exprs.push(first)
	for p.got(tComma) && !p.at(tColon) {
		p.exprs.push(p.expression())
	}
	n := p.tuples.new()
	*n = Tuple{p.span(start), p.exprs.take(mark), Load}
	if p.at(kAs) {
		p.fail(start, SyntaxError, "multiple exception types must be parenthesized when using 'as'")
	}
	return n
}

// match parses a match statement, or returns nil if "match" is just a name.
// Only the line as a whole tells: it must end in a colon and be followed by an
// indented case.
func (p *parser) match() Stmt {
	if k := p.kindAt(1); k == tDot || k == tEqual || k == tComma || k == tNewline {
		return nil // the most frequent uses of the name
	}
	start := p.start()
	n := &Match{}
	ok := p.attempt(func() bool {
		p.next()
		n.Subject = p.tupleOf(p.starNamedExpression)
		if _, star := n.Subject.(*Starred); star {
			return false
		}
		if !(p.got(tColon) && p.got(tNewline) && p.got(tIndent)) {
			return false
		}
		return p.isWord("case")
	})
	if !ok {
		return nil
	}
	if !p.enter() {
		return n
	}
	defer p.leave()
	p.require(10, start, "match statement")
	for p.isWord("case") {
		n.Cases = append(n.Cases, p.matchCase())
	}
	p.expect(tDedent, "'case' or the end of the match statement")
	n.Span = p.span(start)
	return n
}

func (p *parser) matchCase() *MatchCase {
	start := p.next().start
	c := &MatchCase{Pattern: p.patternList()}
	if p.got(kIf) {
		c.Guard = p.namedExpression()
	}
	c.Body = p.block("the case clause")
	c.Span = p.span(start)
	return c
}
