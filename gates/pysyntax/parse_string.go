package pysyntax

import "strings"

// strings parses one string literal or several next to each other, which
// Python joins.
func (p *parser) strings() Expr {
	t := p.toks[p.i]
	if t.kind == tString && p.kindAt(1) != tString && p.kindAt(1) != tFStringStart {
		p.next()
		n := p.constants.new()
		text, bytes := p.stringValue(t)
		*n = Constant{Span{t.start, t.end}, Str, p.text[t.start] == 'u', text}
		if bytes {
			n.Kind = Bytes
		}
		return n
	}
	return p.joinedStrings()
}

// joiner collects the parts of adjacent literals. Neighbouring pieces of text
// become one constant.
type joiner struct {
	p    *parser
	mark int // where the finished parts start on p.exprs
	text strings.Builder
	open bool // a constant is being collected
	span Span
	u    bool
}

func (j *joiner) add(span Span, text string, u bool) {
	if !j.open {
		j.open, j.span, j.u = true, span, u
	}
	j.span.End = span.End
	j.text.WriteString(text)
}

// flush finishes the constant being collected; an empty one is dropped.
func (j *joiner) flush() {
	if j.text.Len() > 0 {
		n := j.p.constants.new()
		*n = Constant{j.span, Str, j.u, j.text.String()}
		j.p.exprs.push(n)
	}
	j.text = strings.Builder{}
	j.open = false
}

func (j *joiner) values() []Expr {
	j.flush()
	return j.p.exprs.take(j.mark)
}

// joinedStrings parses literals that are several, or have replacement fields.
func (p *parser) joinedStrings() Expr {
	start := p.start()
	j := joiner{p: p, mark: p.exprs.mark()}
	var plain, bytes, formatted, template bool
	u := p.text[start] == 'u'
	for {
		t := p.toks[p.i]
		switch t.kind {
		case tString:
			p.next()
			text, isBytes := p.stringValue(t)
			plain, bytes = plain || !isBytes, bytes || isBytes
			j.add(Span{t.start, t.end}, text, p.text[t.start] == 'u')
			continue
		case tFStringStart:
			prefix := p.slice(t)
			if strings.ContainsAny(prefix, "tT") {
				template = true
			} else {
				formatted = true
			}
			p.fstring(&j)
			continue
		}
		break
	}
	switch {
	case bytes && (plain || formatted || template):
		p.fail(start, SyntaxError, "cannot mix bytes and nonbytes literals")
	case template && (plain || formatted):
		p.fail(start, SyntaxError, "cannot mix t-string literals with string literals")
	}
	span := p.span(start)
	switch {
	case template:
		return &TemplateStr{span, j.values()}
	case formatted:
		return &JoinedStr{span, j.values()}
	}
	n := p.constants.new()
	*n = Constant{span, Str, u, j.text.String()}
	if bytes {
		n.Kind, n.U = Bytes, false
	}
	return n
}

// fstring parses one f-string or t-string into the parts of j.
func (p *parser) fstring(j *joiner) {
	prefix := p.slice(p.next())
	raw := strings.ContainsAny(prefix, "rR")
	template := strings.ContainsAny(prefix, "tT")
	for p.fault == nil {
		switch t := p.toks[p.i]; t.kind {
		case tFStringMiddle:
			p.next()
			span := Span{t.start, t.end}
			if t.flags&braceTwice != 0 {
				span.End++
			}
			j.add(span, p.unescape(t, raw), false)
		case tLBrace:
			p.replacementField(j, raw, template)
		default:
			p.expect(tFStringEnd, "the end of the f-string")
			return
		}
	}
}

// replacementField parses "{value = !r :spec}". A "=" puts the source of the
// expression into the text before the value.
func (p *parser) replacementField(j *joiner, raw, template bool) {
	if !p.enter() {
		return
	}
	defer p.leave()
	start := p.next().start
	if !p.atExpression() && !p.at(kYield) {
		p.expected("an expression in the replacement field")
		return
	}
	value := p.yieldOrStarExpressions()
	if _, star := value.(*Starred); star {
		p.require(12, start, "starred f-string expression")
	}
	debug := p.got(tEqual)
	if p.fault != nil {
		return
	}
	source := withoutComments(p.text[start+1 : p.start()])
	if debug {
		j.add(Span{start + 1, p.start()}, source, false)
	}
	j.flush()
	conversion := p.conversion()
	var spec *JoinedStr
	if p.at(tColon) {
		spec = p.formatSpec(raw)
	} else if debug && conversion == 0 {
		conversion = 'r'
	}
	p.expect(tRBrace, "'}' of the replacement field")
	if template {
		source = strings.TrimRight(source, "= \t\n\f\v\r")
		p.exprs.push(&Interpolation{p.span(start), value, source, conversion, spec})
		return
	}
	p.exprs.push(&FormattedValue{p.span(start), value, conversion, spec})
}

// withoutComments removes comments from the source of a field. The "#" of a
// string inside it is taken for one too, as CPython does.
func withoutComments(source string) string {
	if !strings.Contains(source, "#") {
		return source
	}
	var b strings.Builder
	for {
		i := strings.IndexByte(source, '#')
		if i < 0 {
			b.WriteString(source)
			return b.String()
		}
		b.WriteString(source[:i])
		source = source[i:]
		end := strings.IndexByte(source, '\n')
		if end < 0 {
			return b.String()
		}
		source = source[end:]
	}
}

// conversion parses "!r"; 0 means that there is none.
func (p *parser) conversion() byte {
	if !p.at(tExclamation) {
		return 0
	}
	bang := p.next()
	t := p.toks[p.i]
	if t.kind != tName || t.start != bang.end || t.end != t.start+1 || strings.IndexByte("sra", p.text[t.start]) < 0 {
		p.fail(bang.start, SyntaxError, "f-string: expected '!s', '!r' or '!a'")
		return 0
	}
	p.next()
	if p.start() != t.end {
		p.require(12, t.end, "space after the conversion in an f-string")
	}
	return p.text[t.start]
}

// formatSpec parses what follows the colon of a replacement field, which may
// hold fields of its own.
func (p *parser) formatSpec(raw bool) *JoinedStr {
	start := p.next().start
	j := joiner{p: p, mark: p.exprs.mark()}
	for p.fault == nil {
		switch t := p.toks[p.i]; t.kind {
		case tFStringMiddle:
			p.next()
			j.add(Span{t.start, t.end}, p.unescape(t, raw), false)
			continue
		case tLBrace:
			p.replacementField(&j, raw, false)
			continue
		}
		break
	}
	return &JoinedStr{p.span(start), j.values()}
}
