package pysyntax

import (
	"fmt"
)

// operator scans an operator or delimiter that starts with c.
func (l *lexer) operator(c byte) {
	start := l.pos
	field := l.atFieldLevel()
	if field && c == ':' {
		l.pos++
		l.emit(tColon, start)
		s := &l.strings[len(l.strings)-1]
		s.literal, s.spec = true, true
		return
	}
	switch c {
	case '(', '[', '{':
		l.open(c)
		return
	case ')', ']', '}':
		l.close(c)
		return
	}
	k, size := operatorKind(c, l.peek(1), l.peek(2))
	if size == 0 || k == tExclamation && len(l.strings) == 0 {
		l.badRune(start)
		return
	}
	l.pos += size
	l.emit(k, start)
}

// open pushes a bracket.
func (l *lexer) open(c byte) {
	if len(l.parens) >= maxParens {
		l.fail(Pos(l.pos), TooDeep, "too many nested parentheses")
		return
	}
	l.parens = append(l.parens, paren{Pos(l.pos), c})
	l.pos++
	k := tLParen
	switch c {
	case '[':
		k = tLBracket
	case '{':
		k = tLBrace
	}
	l.emit(k, l.pos-1)
}

// close pops a bracket and, with it, the replacement field it may end.
func (l *lexer) close(c byte) {
	n := len(l.parens)
	if n == 0 {
		l.fail(Pos(l.pos), SyntaxError, fmt.Sprintf("unmatched '%c'", c))
		return
	}
	k, opener := tRParen, byte('(')
	switch c {
	case ']':
		k, opener = tRBracket, '['
	case '}':
		k, opener = tRBrace, '{'
	}
	if top := l.parens[n-1]; top.open != opener {
		l.fail(Pos(l.pos), SyntaxError, fmt.Sprintf("closing '%c' does not match opening '%c'", c, top.open))
		return
	}
	if l.atFieldLevel() {
		s := &l.strings[len(l.strings)-1]
		s.fields--
		s.literal, s.spec = true, false
	}
	l.parens = l.parens[:n-1]
	l.pos++
	l.emit(k, l.pos-1)
}

// operatorKind returns the longest operator that starts with c, and its length.
// Brackets are handled elsewhere; 0 means that there is none.
func operatorKind(c, c1, c2 byte) (kind, int) {
	switch c {
	case ',':
		return tComma, 1
	case ';':
		return tSemicolon, 1
	case '~':
		return tTilde, 1
	case '.':
		if c1 == '.' && c2 == '.' {
			return tEllipsis, 3
		}
		return tDot, 1
	case ':':
		return withEqual(c1, tColon, tColonEqual)
	case '=':
		return withEqual(c1, tEqual, tEqEq)
	case '!':
		return withEqual(c1, tExclamation, tNotEq)
	case '+':
		return withEqual(c1, tPlus, tPlusEqual)
	case '-':
		if c1 == '>' {
			return tArrow, 2
		}
		return withEqual(c1, tMinus, tMinusEqual)
	case '@':
		return withEqual(c1, tAt, tAtEqual)
	case '%':
		return withEqual(c1, tPercent, tPercentEqual)
	case '|':
		return withEqual(c1, tVBar, tVBarEqual)
	case '^':
		return withEqual(c1, tCaret, tCaretEqual)
	case '&':
		return withEqual(c1, tAmp, tAmpEqual)
	case '*':
		return doubled(c, c1, c2, tStar, tStarEqual, tDoubleStar, tDoubleStarEqual)
	case '/':
		return doubled(c, c1, c2, tSlash, tSlashEqual, tDoubleSlash, tDoubleSlashEqual)
	case '<':
		return doubled(c, c1, c2, tLess, tLessEq, tLeftShift, tLeftShiftEqual)
	case '>':
		return doubled(c, c1, c2, tGreater, tGreaterEq, tRightShift, tRightShiftEqual)
	}
	return tEOF, 0
}

// withEqual chooses between an operator and the one with "=" behind it.
func withEqual(next byte, plain, equal kind) (kind, int) {
	if next == '=' {
		return equal, 2
	}
	return plain, 1
}

// doubled chooses between x, x=, xx and xx=.
func doubled(c, c1, c2 byte, plain, equal, double, doubleEqual kind) (kind, int) {
	if c1 == c {
		k, n := withEqual(c2, double, doubleEqual)
		return k, n + 1
	}
	return withEqual(c1, plain, equal)
}
