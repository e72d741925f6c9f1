package pysyntax

import (
	"strings"
	"unicode/utf8"
)

// stringValue returns what a plain string literal stands for.
func (p *parser) stringValue(t token) (text string, bytes bool) {
	s := p.slice(t)
	raw := false
	i := 0
	for ; s[i] != '"' && s[i] != '\''; i++ {
		switch s[i] | 0x20 {
		case 'r':
			raw = true
		case 'b':
			bytes = true
		}
	}
	body := s[i:]
	quotes := 1
	if len(body) >= 6 && body[1] == body[0] && body[2] == body[0] {
		quotes = 3
	}
	body = body[quotes : len(body)-quotes]
	if t.flags&nonASCII != 0 {
		if bytes {
			p.fail(t.start, SyntaxError, "bytes can only contain ASCII literal characters")
			return "", true
		}
		p.checkUTF8(t)
	}
	if raw || t.flags&hasEscape == 0 {
		return body, bytes
	}
	at := t.end - Pos(len(body)+quotes)
	if bytes {
		return p.unescapeBytes(body, at), true
	}
	return p.unescapeText(body, at), false
}

// unescape returns what literal text inside an f-string stands for.
func (p *parser) unescape(t token, raw bool) string {
	if t.flags&nonASCII != 0 {
		p.checkUTF8(t)
	}
	if raw || t.flags&hasEscape == 0 {
		return p.slice(t)
	}
	return p.unescapeText(p.slice(t), t.start)
}

func (p *parser) checkUTF8(t token) {
	s := p.slice(t)
	if utf8.ValidString(s) {
		return
	}
	for i, r := range s {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				p.fail(t.start+Pos(i), EncodingError, "invalid UTF-8 in a string; save the file as UTF-8 or declare its encoding in the first line")
				return
			}
		}
	}
}

// simpleEscape returns the byte that a one-letter escape stands for.
func simpleEscape(c byte) (byte, bool) {
	switch c {
	case '\\', '\'', '"':
		return c, true
	case 'a':
		return '\a', true
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	case 'v':
		return '\v', true
	}
	return 0, false
}

// octal reads up to three octal digits at the start of s.
func octal(s string) (value, size int) {
	for size < len(s) && size < 3 && '0' <= s[size] && s[size] <= '7' {
		value = value*8 + int(s[size]-'0')
		size++
	}
	return value, size
}

// hexValue reads exactly n hexadecimal digits at the start of s.
func hexValue(s string, n int) (value rune, ok bool) {
	if len(s) < n {
		return 0, false
	}
	for i := range n {
		c := s[i]
		switch {
		case isDigit(c):
			value = value<<4 | rune(c-'0')
		case isHexDigit(c):
			value = value<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return value, true
}

// unescapeText replaces the escapes of a string that starts at the given
// offset. An unknown escape stands for itself, backslash included.
func (p *parser) unescapeText(s string, at Pos) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		n := strings.IndexByte(s[i:], '\\')
		if n < 0 {
			b.WriteString(s[i:])
			break
		}
		b.WriteString(s[i : i+n])
		i += n + 1
		if i == len(s) {
			b.WriteByte('\\') // the text before a replacement field may end so
			break
		}
		c := s[i]
		i++
		if plain, ok := simpleEscape(c); ok {
			b.WriteByte(plain)
			continue
		}
		size, ok := p.unescapeOne(&b, s[i-1:])
		if !ok {
			p.fail(at+Pos(i-2), SyntaxError, "invalid \\"+string(c)+" escape in a string")
			return ""
		}
		i += size - 1
	}
	return b.String()
}

// unescapeOne writes what the escape at the start of s, without its backslash,
// stands for, and returns its size.
func (p *parser) unescapeOne(b *strings.Builder, s string) (size int, ok bool) {
	digits := 0
	switch c := s[0]; {
	case c == '\n':
		return 1, true
	case '0' <= c && c <= '7':
		value, n := octal(s)
		b.WriteRune(rune(value))
		return n, true
	case c == 'x':
		digits = 2
	case c == 'u':
		digits = 4
	case c == 'U':
		digits = 8
	case c == 'N':
		r, n := p.namedCharacter(s[1:])
		if n > 0 {
			b.WriteRune(r)
		}
		return 1 + n, n > 0
	default:
		b.WriteByte('\\')
		b.WriteByte(c)
		return 1, true
	}
	r, ok := hexValue(s[1:], digits)
	if !ok || r > utf8.MaxRune || r < 0 {
		return 0, false
	}
	writeCodePoint(b, r)
	return 1 + digits, true
}

// writeCodePoint writes a code point as UTF-8, and a surrogate, which Python
// strings can hold, the same way.
func writeCodePoint(b *strings.Builder, r rune) {
	if 0xd800 <= r && r < 0xe000 {
		b.WriteByte(byte(0xe0 | r>>12))
		b.WriteByte(byte(0x80 | r>>6&0x3f))
		b.WriteByte(byte(0x80 | r&0x3f))
		return
	}
	b.WriteRune(r)
}

// unescapeBytes replaces the escapes of a bytes literal.
func (p *parser) unescapeBytes(s string, at Pos) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		c := s[i]
		i++
		if c != '\\' {
			b.WriteByte(c)
			continue
		}
		c = s[i] // the literal cannot end in a backslash
		i++
		if plain, ok := simpleEscape(c); ok {
			b.WriteByte(plain)
			continue
		}
		switch {
		case c == '\n':
		case '0' <= c && c <= '7':
			value, size := octal(s[i-1:])
			i += size - 1
			b.WriteByte(byte(value))
		case c == 'x':
			value, ok := hexValue(s[i:], 2)
			if !ok {
				p.fail(at+Pos(i-2), SyntaxError, "invalid \\x escape in a bytes literal")
				return ""
			}
			i += 2
			b.WriteByte(byte(value))
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String()
}
