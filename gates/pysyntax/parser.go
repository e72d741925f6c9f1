package pysyntax

// parser builds the tree of a file from its tokens.
//
// A fault does not unwind the stack: it is recorded, and the parser moves to
// the last token, where every loop and every rule ends. Callers therefore need
// no error checks; they may see nil nodes, but only once p.fault is set.
type parser struct {
	arena
	text     string
	lines    []Pos
	toks     []token
	i        int // index of the current token
	fault    *fault
	lexFault *fault // belongs to the last token
	needs    *Feature

	depth int // nesting of the rule being parsed

	// How deep the tree may have become: the deepest nesting of rules, and the
	// most operators and trailers in a statement, each of which adds a node to a
	// path without nesting.
	deepest, links, mostLinks int

	charNames map[string]rune // built when a \N escape asks for it
}

// maxNesting bounds the recursion of the parser. safeHeight is a sum of nesting
// and links that cannot make a path too long, whatever brackets and blocks add
// to it, since those have limits of their own.
const (
	maxNesting = MaxDepth / 2
	safeHeight = MaxDepth / 6
)

func newParser(m *Module) *parser {
	p := &parser{text: m.Text, lines: m.lines, needs: &m.Needs}
	p.toks, p.lexFault = tokenize(m.Text, p.needs)
	return p
}

func (p *parser) kind() kind { return p.toks[p.i].kind }

// kindAt looks ahead.
func (p *parser) kindAt(n int) kind {
	if p.i+n < len(p.toks) {
		return p.toks[p.i+n].kind
	}
	return tEOF
}

func (p *parser) at(k kind) bool { return p.toks[p.i].kind == k }

// next moves past the current token and returns it. It stays at the last one.
func (p *parser) next() token {
	t := p.toks[p.i]
	if p.i < len(p.toks)-1 {
		p.i++
	}
	return t
}

// got moves past the current token if it is of kind k.
func (p *parser) got(k kind) bool {
	if p.toks[p.i].kind == k && k != tEOF {
		p.i++
		return true
	}
	return false
}

// expect moves past a token of kind k or fails, naming what is missing.
func (p *parser) expect(k kind, what string) {
	if !p.got(k) {
		p.expected(what)
	}
}

// start returns where the current token starts.
func (p *parser) start() Pos { return p.toks[p.i].start }

// end returns where the last token that is not just layout ended.
func (p *parser) end() Pos {
	for i := p.i - 1; i >= 0; i-- {
		switch p.toks[i].kind {
		case tNewline, tIndent, tDedent:
		default:
			return p.toks[i].end
		}
	}
	return 0
}

func (p *parser) span(start Pos) Span { return Span{start, p.end()} }

func (p *parser) slice(t token) string { return p.text[t.start:t.end] }

// isWord reports whether the current token is the given soft keyword.
func (p *parser) isWord(word string) bool {
	t := p.toks[p.i]
	return t.kind == tName && p.text[t.start:t.end] == word
}

// fail records the first fault. Where the tokens end because the lexer failed,
// the lexer's fault is the cause.
func (p *parser) fail(at Pos, k ErrorKind, msg string) {
	if p.fault == nil {
		p.fault = &fault{kind: k, at: at, msg: msg}
		if p.i == len(p.toks)-1 && p.lexFault != nil {
			p.fault = p.lexFault
		}
	}
	p.i = len(p.toks) - 1
}

func (p *parser) failAt(n Node, msg string) {
	if p.fault == nil {
		p.fail(n.Range().Start, SyntaxError, msg)
	}
}

// expected fails at the current token.
func (p *parser) expected(what string) {
	t := p.toks[p.i]
	found := "the end of the file"
	switch t.kind {
	case tEOF:
	case tNewline:
		found = "the end of the line"
	case tIndent:
		p.fail(t.start, IndentationError, "unexpected indent")
		return
	case tDedent:
		found = "the end of the block"
	default:
		text := p.slice(t)
		if len(text) > 20 {
			text = text[:20]
		}
		found = "'" + text + "'"
	}
	p.fail(t.start, SyntaxError, "expected "+what+", found "+found)
}

// enter counts one level of nesting; each enter is paired with a leave.
func (p *parser) enter() bool {
	p.depth++
	p.deepest = max(p.deepest, p.depth)
	if p.depth > maxNesting {
		p.fail(p.start(), TooDeep, "too much nesting")
		return false
	}
	return true
}

func (p *parser) leave() { p.depth-- }

func (p *parser) require(minor int, at Pos, what string) {
	require(p.needs, minor, at, what)
}

// attempt runs a rule. If the rule fails or reports false, the parser is back
// where it was.
func (p *parser) attempt(rule func() bool) bool {
	at, needs := p.i, *p.needs
	if rule() && p.fault == nil {
		return true
	}
	p.i, p.fault, *p.needs = at, nil, needs
	return false
}

// identifier takes a name and returns it in normal form.
func (p *parser) identifier() string {
	t := p.toks[p.i]
	if t.kind != tName {
		p.expected("a name")
		return ""
	}
	p.i++
	return p.identifierOf(t)
}

func (p *parser) identifierOf(t token) string {
	s := p.text[t.start:t.end]
	if t.flags&nonASCII != 0 {
		s = normalizeIdentifier(s)
	}
	return s
}

// name takes a name as an expression.
func (p *parser) name(ctx Context) *Name {
	t := p.toks[p.i]
	n := p.arena.names.new()
	n.Span = Span{t.start, t.end}
	n.ID = p.identifier()
	n.Ctx = ctx
	return n
}

// newStatement starts the count of links again.
func (p *parser) newStatement() {
	p.mostLinks = max(p.mostLinks, p.links)
	p.links = 0
}

// checkHeight fails if a path through the tree is longer than MaxDepth.
func (p *parser) checkHeight(m *Module) {
	if p.newStatement(); p.fault != nil || p.deepest+p.mostLinks <= safeHeight {
		return
	}
	depth := 0
	Inspect(m, func(n Node) bool {
		if n == nil {
			depth--
			return false
		}
		if depth > MaxDepth {
			p.fail(n.Range().Start, TooDeep, "too much nesting")
		}
		if p.fault != nil {
			return false
		}
		depth++
		return true
	})
}
