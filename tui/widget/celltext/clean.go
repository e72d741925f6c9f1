package celltext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// TabWidth is the distance of tab stops in columns.
	TabWidth = 8

	replacement = '\uFFFD' // for what has no shape, or must not have its effect
	placeholder = '\u25CC' // the dotted circle that carries a mark without a base
	mostMarks   = 4        // combining marks kept on one base; more is an attack on the row above
)

// Clean returns one line of text without anything that a terminal would obey or
// that has no certain width. Line feeds are shown as symbols; use Lines to split a
// text first. Clean(Clean(s)) is Clean(s), and printable ASCII is returned as it
// is, without a copy.
func Clean(s string) string {
	if printable(s) {
		return s
	}
	c := cleaner{marks: -1}
	c.out.Grow(len(s))
	var esc escapes
	for s != "" {
		if n := esc.length(s); n > 0 {
			s = s[n:]
			continue
		}
		r, size := utf8.DecodeRuneInString(s)
		if r == '\r' && len(s) == 1 {
			break // what is left of a line that ended in CR LF
		}
		c.add(r)
		s = s[size:]
	}
	return c.out.String()
}

// Lines splits text at line ends (LF or CR LF) and cleans each line. A line end at
// the end of the text does not start another line; empty text is one empty line.
func Lines(s string) []string {
	parts := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	for i, p := range parts {
		parts[i] = Clean(p)
	}
	return parts
}

// ASCII returns the text cleaned, and in ASCII as ASCIIView makes it.
func ASCII(s string) string { return ASCIIView(Clean(s)) }

// ASCIIView makes a finished view, which may have styles in it, one for terminals
// that show nothing beyond ASCII: an ellipsis becomes a tilde, and every other
// character as many question marks as it has columns.
func ASCIIView(view string) string {
	if !strings.ContainsFunc(view, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return view
	}
	var b strings.Builder
	b.Grow(len(view))
	for view != "" {
		n, w := Next(view)
		switch {
		case view[0] < utf8.RuneSelf:
			b.WriteByte(view[0])
		case view[:n] == Ellipsis:
			b.WriteString(strings.Repeat("~", w))
		default:
			b.WriteString(strings.Repeat("?", w))
		}
		view = view[n:]
	}
	return b.String()
}

// printable reports whether every byte of s is a printable ASCII character, which
// makes bytes, characters and columns the same thing.
func printable(s string) bool {
	for i := range len(s) {
		if s[i]-0x20 > 0x7e-0x20 {
			return false
		}
	}
	return true
}

// cleaner collects clean text.
type cleaner struct {
	out   strings.Builder
	marks int // marks on the last character; -1 when there is none yet
	// Columns are only counted for tabs: column holds for the first counted bytes.
	counted, column int
}

// add adds a character, or what stands for it.
func (c *cleaner) add(r rune) {
	switch {
	case r == '\t':
		c.tab()
	case r < 0x20:
		c.put(0x2400 + r) // the control pictures are in the order of the controls
	case r < 0x7f, common(r):
		c.put(r)
	case r == 0x7f:
		c.put('\u2421')
	case r <= 0x9f, bidi(r):
		c.put(replacement)
	case invisible(r):
	case r >= 0x1f3fb && r <= 0x1f3ff: // skin tones
	case r >= 0x1f1e6 && r <= 0x1f1ff: // flags are pairs of these letters
		c.put('A' + r - 0x1f1e6)
	case unicode.Is(unicode.M, r):
		c.mark(r)
	case r == '\u0e33': // Thai and Lao AM: a mark and a letter, of which some
		c.mark('\u0e4d') // terminals make one column and some two
		c.put('\u0e32')
	case r == '\u0eb3':
		c.mark('\u0ecd')
		c.put('\u0eb2')
	case prepended(r), !unicode.IsGraphic(r) && !unicode.Is(unicode.Co, r):
		c.put(replacement) // what is not in the tables may turn out to be a mark
	default:
		c.put(r)
	}
}

// put adds a character with a width of its own.
func (c *cleaner) put(r rune) {
	c.out.WriteRune(r)
	c.marks = 0
}

// mark adds a combining mark, on a placeholder when it has nothing to stand on.
func (c *cleaner) mark(r rune) {
	if c.marks < 0 {
		c.put(placeholder)
	}
	if c.marks < mostMarks {
		c.out.WriteRune(r)
		c.marks++
	}
}

// tab adds spaces up to the next tab stop.
func (c *cleaner) tab() {
	c.column += columns(c.out.String()[c.counted:])
	for {
		c.put(' ')
		c.column++
		if c.column%TabWidth == 0 {
			break
		}
	}
	c.counted = c.out.Len()
}

// common reports whether r is from blocks of nothing but ordinary characters:
// Latin, box drawing, blocks and shapes, Han, Hangul. The tables would say the
// same, slowly.
func common(r rune) bool {
	return r >= 0xae && r <= 0x2ff || r >= 0x2500 && r <= 0x25ff || r >= 0x4e00 && r <= 0x9fff || r >= 0xac00 && r <= 0xd7a3
}

// bidi reports whether r changes the direction of the text around it.
func bidi(r rune) bool {
	return r == 0x061c || r == 0x200e || r == 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// invisible reports whether r has no shape: format characters, variation
// selectors, fillers, separators and noncharacters.
func invisible(r rune) bool {
	switch r {
	case 0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x2028, 0x2029, 0x3164, 0xffa0:
		return true
	}
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) ||
		r&0xfffe == 0xfffe || r >= 0xe0000 && r <= 0xe0fff || r == 0x2065 || r >= 0xfff0 && r <= 0xfff8
}

// prepended reports whether r is a letter that swallows the one after it
// (Grapheme_Cluster_Break=Prepend, UAX #29, without format characters).
func prepended(r rune) bool {
	switch r {
	case 0x0d4e, 0x111c2, 0x111c3, 0x113d1, 0x1193f, 0x11941, 0x11a3a, 0x11f02:
		return true
	}
	return r >= 0x11a84 && r <= 0x11a89
}
