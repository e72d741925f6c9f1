package pysyntax

import (
	"strings"
	"unicode/utf8"
)

// openString is an f-string or t-string whose end has not been seen.
type openString struct {
	start   Pos
	quote   string // one or three quotes
	raw     bool
	literal bool           // inside literal text, not inside a replacement field
	spec    bool           // inside a format specification, before any field in it
	fields  int            // open replacement fields: more than one inside a format specification
	depths  [maxFields]int // brackets open inside each field, its own included
}

// isStringPrefix reports whether s may stand before the quotes of a string.
func isStringPrefix(s string) bool {
	if len(s) == 1 {
		return strings.IndexByte("rRbBfFtTuU", s[0]) >= 0
	}
	a, b := s[0]|0x20, s[1]|0x20
	if a != 'r' {
		a, b = b, a
	}
	return a == 'r' && (b == 'b' || b == 'f' || b == 't')
}

// stringLiteral scans a string whose prefix starts at start and whose quotes
// start at the current position.
func (l *lexer) stringLiteral(start int) {
	quote := l.src[l.pos : l.pos+1]
	if l.peek(1) == quote[0] && l.peek(2) == quote[0] {
		quote = l.src[l.pos : l.pos+3]
	}
	prefix := l.src[start:l.pos]
	l.pos += len(quote)
	if i := strings.IndexAny(prefix, "fFtT"); i >= 0 {
		l.openFString(start, prefix, quote, prefix[i]|0x20 == 't')
		return
	}
	flags, ok := l.scanString(quote)
	if !ok {
		l.unterminated(start, quote)
		return
	}
	l.toks = append(l.toks, token{start: Pos(start), end: Pos(l.pos), kind: tString, flags: flags})
	if len(l.strings) > 0 {
		l.stringInField(l.strings, start, flags)
	}
}

// scanString moves behind the quotes that end a plain string.
func (l *lexer) scanString(quote string) (flags uint8, ok bool) {
	q, single := quote[0], len(quote) == 1
	src := l.src
	for i := l.pos; i < len(src); i++ {
		switch c := src[i]; {
		case c == q:
			if single || strings.HasPrefix(src[i:], quote) {
				l.pos = i + len(quote)
				return flags, true
			}
		case c == '\\':
			flags |= hasEscape
			i++
			if i < len(src) && src[i] >= utf8.RuneSelf {
				flags |= nonASCII
			}
		case c == '\n' && single:
			return 0, false
		case c >= utf8.RuneSelf:
			flags |= nonASCII
		}
	}
	return 0, false
}

func (l *lexer) unterminated(start int, quote string) {
	if n := len(l.strings); n > 0 && l.strings[n-1].quote == quote {
		l.fail(l.strings[n-1].start, SyntaxError, "f-string: expecting '}'")
		return
	}
	msg := "unterminated string literal"
	if len(quote) == 3 {
		msg = "unterminated triple-quoted string literal"
	}
	l.fail(Pos(start), SyntaxError, msg)
}

// openFString emits the start of an f-string or t-string.
func (l *lexer) openFString(start int, prefix, quote string, template bool) {
	if len(l.strings) >= maxFStrings {
		l.fail(Pos(start), TooDeep, "too many nested f-strings")
		return
	}
	if template {
		require(l.needs, 14, Pos(start), "t-string")
	}
	if len(l.strings) > 0 {
		l.stringInField(l.strings, start, 0)
	}
	l.strings = append(l.strings, openString{
		start: Pos(start), quote: quote, literal: true,
		raw: strings.ContainsAny(prefix, "rR"),
	})
	l.emit(tFStringStart, start)
}

// atFieldLevel reports whether the current position is inside a replacement
// field and outside any bracket in it.
func (l *lexer) atFieldLevel() bool {
	n := len(l.strings)
	if n == 0 {
		return false
	}
	s := &l.strings[n-1]
	return !s.literal && s.fields > 0 && s.depths[s.fields-1] == len(l.parens)
}

// newlineInField handles a line break inside a replacement field, which older
// versions allow only between triple quotes.
func (l *lexer) newlineInField(at int) {
	for i := range l.strings {
		if len(l.strings[i].quote) == 1 {
			require(l.needs, 12, Pos(at), "line break in an f-string expression")
			return
		}
	}
}

// stringInField notes whether a string inside replacement fields of the outer
// strings uses what came with PEP 701: a backslash, or quotes that would have
// ended one of them.
func (l *lexer) stringInField(outer []openString, start int, flags uint8) {
	if flags&hasEscape != 0 {
		require(l.needs, 12, Pos(start), "backslash in an f-string expression")
		return
	}
	text := l.src[start:l.pos]
	seen := [4]bool{} // each kind of quotes is searched for once
	for i := range outer {
		quote := outer[i].quote
		which := len(quote) / 2
		if quote[0] == '"' {
			which += 2
		}
		if seen[which] {
			continue
		}
		seen[which] = true
		if strings.Contains(text, quote) {
			require(l.needs, 12, Pos(start), "reused quotes in an f-string expression")
			return
		}
	}
}

// stringPart scans inside an f-string: literal text, then either the quotes
// that end it, the brace that opens a field, or the brace that closes the field
// whose format specification this is.
func (l *lexer) stringPart() {
	s := &l.strings[len(l.strings)-1]
	start, flags := l.pos, uint8(0)
	for l.pos < len(l.src) {
		switch c := l.src[l.pos]; {
		case c == s.quote[0] && strings.HasPrefix(l.src[l.pos:], s.quote):
			l.middle(start, flags)
			end := l.pos
			l.pos += len(s.quote)
			l.endFString(s, end)
			return
		case c == '\n' && len(s.quote) == 1:
			if !s.spec {
				l.fail(s.start, SyntaxError, "unterminated f-string literal")
				return
			}
			// The line break ends the specification; "}" must follow.
			require(l.needs, 12, Pos(l.pos), "line break in an f-string expression")
			l.middle(start, flags)
			s.literal = false
			return
		case c == '{' || c == '}':
			if l.peek(1) == c && (s.fields == 0 || c == '{' && !s.spec) {
				// A doubled brace stands for one: the text ends with the first
				// and goes on behind the second.
				l.pos++
				l.middle(start, flags|braceTwice)
				l.pos++
				return
			}
			l.middle(start, flags)
			l.brace(s, c)
			return
		case c == '\\':
			flags |= hasEscape
			l.skipEscape(s.raw)
		case c >= utf8.RuneSelf:
			flags |= nonASCII
			l.pos++
		default:
			l.pos++
		}
	}
	l.fail(s.start, SyntaxError, "unterminated triple-quoted f-string literal")
}

// middle emits literal text, if there is any.
func (l *lexer) middle(start int, flags uint8) {
	if l.pos > start {
		if n := len(l.strings) - 1; n > 0 {
			l.stringInField(l.strings[:n], start, flags)
		}
		l.toks = append(l.toks, token{start: Pos(start), end: Pos(l.pos), kind: tFStringMiddle, flags: flags})
	}
}

func (l *lexer) endFString(s *openString, start int) {
	if s.fields > 0 {
		l.fail(s.start, SyntaxError, "f-string: expecting '}'")
		return
	}
	l.strings = l.strings[:len(l.strings)-1]
	l.emit(tFStringEnd, start)
}

// brace opens or closes a replacement field from literal text.
func (l *lexer) brace(s *openString, c byte) {
	if c == '}' {
		if s.fields == 0 {
			l.fail(Pos(l.pos), SyntaxError, "f-string: single '}' is not allowed")
			return
		}
		s.literal = false
		l.close(c)
		return
	}
	if s.fields >= maxFields {
		l.fail(Pos(l.pos), TooDeep, "f-string: expressions nested too deeply")
		return
	}
	if s.fields >= 2 {
		require(l.needs, 12, Pos(l.pos), "f-string expressions nested more than two deep")
	}
	l.open(c)
	s.depths[s.fields] = len(l.parens)
	s.fields++
	s.literal, s.spec = false, false
}

// skipEscape moves behind a backslash and what it escapes. A brace is never
// escaped, and the braces of \N{...} are no field.
func (l *lexer) skipEscape(raw bool) {
	switch c := l.peek(1); {
	case c == '{' || c == '}':
		l.pos++
	case c == 'N' && !raw && l.peek(2) == '{':
		end := strings.IndexAny(l.src[l.pos:], "}\"'\n")
		if end < 0 || l.src[l.pos+end] != '}' {
			l.pos += 3
			return
		}
		l.pos += end + 1
	case c >= utf8.RuneSelf:
		l.pos++
	default:
		l.pos += 2
	}
}
