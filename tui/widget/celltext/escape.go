package celltext

import "strings"

// escapes measures the escape sequences of one text, from its start to its end.
type escapes struct {
	endless bool // no text sequence ends any more: looking again would cost the square of the length
}

// length returns the length of the escape sequence that s starts with, or 0 when
// there is none. A sequence that does not end in this text is cut to its
// introducer, so that it cannot hide what follows.
func (e *escapes) length(s string) int {
	if len(s) < 2 || s[0] != 0x1b {
		return 0
	}
	switch c := s[1]; {
	case c == '[':
		return control(s)
	case c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_':
		return e.text(s)
	case c >= 0x20 && c <= 0x2f: // intermediates and one final byte
		n := 2
		for n < len(s) && s[n] >= 0x20 && s[n] <= 0x2f {
			n++
		}
		if n < len(s) && s[n] >= 0x30 && s[n] <= 0x7e {
			n++
		}
		return n
	case c >= 0x30 && c <= 0x7e:
		return 2
	}
	return 0
}

// control is the length of a control sequence: parameters, intermediates and one
// final byte.
func control(s string) int {
	n := 2
	for n < len(s) && s[n] >= 0x20 && s[n] <= 0x3f {
		n++
	}
	if n < len(s) && s[n] >= 0x40 && s[n] <= 0x7e {
		n++
	}
	return n
}

// text is the length of a sequence that carries a text, such as a window title or
// a clipboard: up to BEL or ESC \.
func (e *escapes) text(s string) int {
	for i := 2; i < len(s) && !e.endless; i++ {
		switch {
		case s[i] == 0x07:
			return i + 1
		case s[i] == 0x1b && strings.HasPrefix(s[i:], "\x1b\\"):
			return i + 2
		}
	}
	e.endless = true
	return 2
}
