package pysyntax

// number scans a numeric literal.
func (l *lexer) number() {
	start := l.pos
	name := "decimal"
	ok := true
	if l.src[l.pos] == '0' {
		switch l.peek(1) | 0x20 {
		case 'x':
			name, ok = "hexadecimal", l.radix(isHexDigit)
		case 'o':
			name, ok = "octal", l.radix(func(c byte) bool { return '0' <= c && c <= '7' })
		case 'b':
			name, ok = "binary", l.radix(func(c byte) bool { return c == '0' || c == '1' })
		default:
			name, ok = l.decimal()
		}
	} else {
		name, ok = l.decimal()
	}
	if ok && !l.numberMayEndHere() {
		ok = false
	}
	if !ok {
		l.fail(Pos(start), SyntaxError, "invalid "+name+" literal")
		return
	}
	if l.fault == nil {
		l.emit(tNumber, start)
	}
}

// radix scans the rest of a literal such as 0x_1f. Digits that are too large
// for the radix end it in the wrong place and so make it invalid.
func (l *lexer) radix(digit func(byte) bool) bool {
	l.pos += 2
	for {
		if l.peek(0) == '_' {
			l.pos++
		}
		if !digit(l.peek(0)) {
			return false
		}
		for digit(l.peek(0)) {
			l.pos++
		}
		if l.peek(0) != '_' {
			return !isDigit(l.peek(0))
		}
	}
}

// digits scans decimal digits with single underscores between them. There may
// be none.
func (l *lexer) digits() bool {
	for {
		for isDigit(l.peek(0)) {
			l.pos++
		}
		if l.peek(0) != '_' {
			return true
		}
		l.pos++
		if !isDigit(l.peek(0)) {
			return false
		}
	}
}

// decimal scans an integer, float or imaginary literal in base ten.
func (l *lexer) decimal() (name string, ok bool) {
	start := l.pos
	if l.peek(0) != '.' && !l.digits() {
		return "decimal", false
	}
	integer := true
	if l.peek(0) == '.' {
		integer = false
		l.pos++
		if isDigit(l.peek(0)) && !l.digits() {
			return "decimal", false
		}
	}
	if l.peek(0)|0x20 == 'e' {
		size := 1
		if c := l.peek(1); c == '+' || c == '-' {
			size = 2
		}
		switch {
		case isDigit(l.peek(size)):
			integer = false
			l.pos += size
			if !l.digits() {
				return "decimal", false
			}
		case size == 2:
			return "decimal", false
		}
	}
	if l.peek(0)|0x20 == 'j' {
		l.pos++
		return "imaginary", true
	}
	if integer && hasLeadingZero(l.src[start:l.pos]) {
		l.fail(Pos(start), SyntaxError,
			"leading zeros in decimal integer literals are not permitted; use an 0o prefix for octal integers")
	}
	return "decimal", true
}

// hasLeadingZero reports whether a decimal integer other than zero starts
// with a zero.
func hasLeadingZero(s string) bool {
	if s[0] != '0' {
		return false
	}
	for i := range len(s) {
		if s[i] != '0' && s[i] != '_' {
			return true
		}
	}
	return false
}

// numberMayEndHere reports whether what follows may touch a number: nothing
// that could belong to a name, except a keyword as in "1if x else y", or a
// character beyond ASCII, which is refused later.
func (l *lexer) numberMayEndHere() bool {
	c := l.peek(0)
	if !isNameByte(c) || c >= 0x80 {
		return true
	}
	rest := l.src[l.pos:]
	for _, word := range [...]string{"and", "else", "for", "if", "in", "is", "or", "not"} {
		if len(rest) >= len(word) && rest[:len(word)] == word {
			// "if", "in" and "is" may run on: "1ifx" fails in the parser.
			return c == 'i' || len(rest) == len(word) || !isNameByte(rest[len(word)])
		}
	}
	return false
}
