package pysyntax

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// CPython's limits on nesting.
const (
	maxParens   = 200
	maxIndents  = 100
	maxFStrings = 149
	maxFields   = 3 // replacement fields inside format specifications
	tabSize     = 8
)

// lexer splits a file into tokens. The text ends in a newline unless empty.
type lexer struct {
	src   string
	pos   int
	toks  []token
	fault *fault
	needs *Feature

	parens  []paren
	indents []indent
	strings []openString
}

type paren struct {
	at   Pos
	open byte
}

// indent is the width of a block's indentation with tabs of 8 columns and with
// tabs of one; where the two orders disagree, the file is ambiguous.
type indent struct{ col, alt int }

// tokenize returns the tokens of src, ended by tEOF. If it fails, the fault
// belongs to that last token.
func tokenize(src string, needs *Feature) ([]token, *fault) {
	l := lexer{
		src: src, needs: needs,
		toks:    make([]token, 0, len(src)/4+8),
		parens:  make([]paren, 0, 16),
		indents: make([]indent, 1, 16),
	}
	for l.fault == nil && l.pos < len(src) {
		if l.lineStart() {
			l.logicalLine()
		}
	}
	if l.fault == nil && len(l.parens) > 0 {
		open := l.parens[len(l.parens)-1]
		l.fail(open.at, SyntaxError, fmt.Sprintf("'%c' was never closed", open.open))
	}
	if l.fault == nil {
		for range l.indents[1:] {
			l.emit(tDedent, l.pos)
		}
	}
	l.emit(tEOF, l.pos)
	return l.toks, l.fault
}

func (l *lexer) emit(k kind, start int) {
	l.toks = append(l.toks, token{start: Pos(start), end: Pos(l.pos), kind: k})
}

// fail records the first fault and moves to the end of the file.
func (l *lexer) fail(at Pos, k ErrorKind, msg string) {
	if l.fault == nil {
		l.fault = &fault{kind: k, at: at, msg: msg}
		l.pos = len(l.src)
	}
}

// peek returns the byte at the given distance, or 0 beyond the end.
func (l *lexer) peek(n int) byte {
	if l.pos+n < len(l.src) {
		return l.src[l.pos+n]
	}
	return 0
}

// lineStart measures the indentation of a line and emits the indents and
// dedents before its first token. It reports false for a line without tokens.
func (l *lexer) lineStart() bool {
	var in indent
	joined := 0 // column of the first backslash, which decides when not 0
	for {
		switch l.peek(0) {
		case ' ':
			in.col++
			in.alt++
		case '\t':
			in.col = (in.col/tabSize + 1) * tabSize
			in.alt++
		case '\f':
			in = indent{}
		case '\\':
			if joined == 0 {
				joined = in.col
			}
			if !l.joinLine() {
				return false
			}
			continue
		case '#':
			l.skipComment()
			l.pos++
			return false
		case '\n':
			l.pos++
			return false
		default:
			if joined != 0 {
				in = indent{joined, joined}
			}
			l.indentation(in)
			return l.fault == nil
		}
		l.pos++
	}
}

func (l *lexer) indentation(in indent) {
	top := l.indents[len(l.indents)-1]
	if in.col > top.col {
		switch {
		case len(l.indents) >= maxIndents:
			l.fail(Pos(l.pos), TooDeep, "too many levels of indentation")
		case in.alt <= top.alt:
			l.tabFault()
		default:
			l.indents = append(l.indents, in)
			l.emit(tIndent, l.pos)
		}
		return
	}
	for in.col < top.col {
		l.indents = l.indents[:len(l.indents)-1]
		top = l.indents[len(l.indents)-1]
		l.emit(tDedent, l.pos)
	}
	if in.col != top.col {
		l.fail(Pos(l.pos), IndentationError, "unindent does not match any outer indentation level")
	} else if in.alt != top.alt {
		l.tabFault()
	}
}

func (l *lexer) tabFault() {
	l.fail(Pos(l.pos), TabError, "inconsistent use of tabs and spaces in indentation")
}

// skipComment moves to the newline that ends a comment.
func (l *lexer) skipComment() {
	n := strings.IndexByte(l.src[l.pos:], '\n')
	if n < 0 {
		n = len(l.src) - l.pos
	}
	l.pos += n
}

// joinLine skips a backslash and the newline after it.
func (l *lexer) joinLine() bool {
	switch {
	case l.peek(1) != '\n':
		l.fail(Pos(l.pos), SyntaxError, "unexpected character after line continuation character")
		return false
	case l.pos+2 >= len(l.src):
		l.fail(Pos(l.pos), SyntaxError, "the file ends after a line continuation character")
		return false
	}
	l.pos += 2
	return true
}

// logicalLine emits the tokens up to and including the newline that ends a
// statement.
func (l *lexer) logicalLine() {
	for l.pos < len(l.src) {
		if n := len(l.strings); n > 0 && l.strings[n-1].literal {
			l.stringPart()
			continue
		}
		start := l.pos
		switch c := l.src[l.pos]; {
		case c == ' ' || c == '\t' || c == '\f':
			l.pos++
		case isNameStart(c):
			l.name()
		case c == '\n':
			l.pos++
			if len(l.parens) == 0 {
				l.pos--
				l.emit(tNewline, start)
				l.pos++
				return
			}
			if len(l.strings) > 0 {
				l.newlineInField(start)
			}
		case isDigit(c) || c == '.' && isDigit(l.peek(1)):
			l.number()
		case c == '"' || c == '\'':
			l.stringLiteral(start)
		case c == '#':
			if len(l.strings) > 0 {
				require(l.needs, 12, Pos(start), "comment in an f-string expression")
			}
			l.skipComment()
		case c == '\\':
			if len(l.strings) > 0 {
				require(l.needs, 12, Pos(start), "backslash in an f-string expression")
			}
			if !l.joinLine() {
				return
			}
		default:
			l.operator(c)
		}
	}
}

// require notes that the file uses syntax of Python 3.minor.
func require(needs *Feature, minor int, at Pos, what string) {
	if minor > needs.Minor {
		*needs = Feature{Minor: minor, At: at, What: what}
	}
}

// name scans an identifier, a keyword, or a string with a prefix.
func (l *lexer) name() {
	start, flags := l.pos, uint8(0)
	for l.pos < len(l.src) && isNameByte(l.src[l.pos]) {
		if l.src[l.pos] >= utf8.RuneSelf {
			flags = nonASCII
		}
		l.pos++
	}
	s := l.src[start:l.pos]
	if c := l.peek(0); (c == '"' || c == '\'') && len(s) <= 2 && isStringPrefix(s) {
		l.stringLiteral(start)
		return
	}
	if flags != 0 {
		if bad := invalidInIdentifier(s); bad >= 0 {
			l.badRune(start + bad)
			return
		}
	}
	l.toks = append(l.toks, token{start: Pos(start), end: Pos(l.pos), kind: keyword(s), flags: flags})
}

// badRune reports a character that no token can contain.
func (l *lexer) badRune(at int) {
	r, size := utf8.DecodeRuneInString(l.src[at:])
	switch {
	case r == utf8.RuneError && size <= 1:
		l.fail(Pos(at), EncodingError, "invalid UTF-8; save the file as UTF-8 or declare its encoding in the first line")
	case r < ' ' || r == 0x7f:
		l.fail(Pos(at), SyntaxError, fmt.Sprintf("invalid non-printable character U+%04X", r))
	default:
		l.fail(Pos(at), SyntaxError, fmt.Sprintf("invalid character %q (U+%04X)", r, r))
	}
}
