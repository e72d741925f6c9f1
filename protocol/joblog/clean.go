package joblog

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

// MaxLine is how much of one line is kept, in bytes. A marker with every task of
// a suite on it is a few KiB; anything beyond this is a dumped file.
const MaxLine = 64 << 10

// Clean appends line to dst without anything that a terminal would obey: escape
// sequences, control characters other than tab, and bytes that are not UTF-8,
// which become U+FFFD.
func Clean(dst, line []byte) []byte {
	for len(line) > 0 {
		c := line[0]
		switch {
		case c == 0x1b:
			line = line[escape(line):]
		case c == '\t' || c >= 0x20 && c < 0x7f:
			dst = append(dst, c)
			line = line[1:]
		case c < utf8.RuneSelf: // a control character
			line = line[1:]
		default:
			r, size := utf8.DecodeRune(line)
			if r > 0x9f { // U+0080–U+009F are control characters too
				dst = utf8.AppendRune(dst, r)
			}
			line = line[size:]
		}
	}
	return dst
}

// escape returns the length of the escape sequence that b starts with. One that
// does not end on this line is cut to its introducer, so that it cannot hide
// what follows.
func escape(b []byte) int {
	if len(b) < 2 {
		return len(b)
	}
	switch c := b[1]; {
	case c == '[': // control sequence: parameters, intermediates, one final byte
		i := 2
		for i < len(b) && b[i] >= 0x20 && b[i] <= 0x3f {
			i++
		}
		if i < len(b) && b[i] >= 0x40 && b[i] <= 0x7e {
			return i + 1
		}
		return i
	case c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_': // a string up to BEL or ESC \
		if i := bytes.IndexByte(b, 0x07); i >= 0 {
			return i + 1
		}
		if i := bytes.Index(b[2:], []byte("\x1b\\")); i >= 0 {
			return 2 + i + 2
		}
		return 2
	case c >= 0x20 && c <= 0x2f: // intermediates and one final byte, such as a character set
		i := 2
		for i < len(b) && b[i] >= 0x20 && b[i] <= 0x2f {
			i++
		}
		return min(i+1, len(b))
	case c >= 0x30 && c <= 0x7e:
		return 2
	default:
		return 1
	}
}

// dirty reports whether a line holds control characters, so that the fold must
// clean and split it before it reads it. Every byte of every log passes here, so
// it looks at eight at a time: a byte below 0x20 borrows when 0x20 is subtracted,
// and one that is 0x7f becomes 0, which borrows when 1 is.
func dirty(line []byte) bool {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for len(line) >= 8 {
		x := binary.LittleEndian.Uint64(line)
		del := x ^ ones*0x7f
		if ((x-ones*0x20)&^x|(del-ones)&^del)&high != 0 && control(line[:8]) {
			return true
		}
		line = line[8:]
	}
	return control(line)
}

// control reports whether b holds a control character other than tab.
func control(b []byte) bool {
	for _, c := range b {
		if c < 0x20 && c != '\t' || c == 0x7f {
			return true
		}
	}
	return false
}

// excerpt returns a cleaned copy of b of at most limit bytes, cut at a rune and
// marked when it was cut.
func excerpt(b []byte, limit int) string {
	const mark = "…"
	b = Clean(nil, b[:min(len(b), 4*limit)])
	if len(b) <= limit {
		return string(b)
	}
	n := limit - len(mark)
	for n > 0 && !utf8.RuneStart(b[n]) {
		n--
	}
	return string(b[:n]) + mark
}

// trimStamp removes one ISO 8601 time stamp, such as a container engine puts
// before each line, from the start of a line.
func trimStamp(b []byte) []byte {
	const day, second = len("2026-03-01"), len("2026-03-01T08:15:00")
	if len(b) <= second || b[4] != '-' || b[7] != '-' || b[day] != 'T' && b[day] != ' ' || b[13] != ':' || b[16] != ':' {
		return b
	}
	for i, c := range b[:second] {
		if i != 4 && i != 7 && i != day && i != 13 && i != 16 && (c < '0' || c > '9') {
			return b
		}
	}
	// Fractions and the zone are whatever is left of the word.
	end := bytes.IndexByte(b[second:], ' ')
	if end < 0 {
		return b
	}
	for _, c := range b[second : second+end] {
		if (c < '0' || c > '9') && c != '.' && c != ',' && c != ':' && c != '+' && c != '-' && c != 'Z' {
			return b
		}
	}
	return bytes.TrimLeft(b[second+end:], " ")
}
