package celltext

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Ellipsis marks text that was cut.
const Ellipsis = "…"

// Width is the number of columns that the text takes once it is clean.
func Width(s string) int { return columns(Clean(s)) }

// Truncate shortens the text to at most width columns, with an ellipsis in place
// of what was cut.
func Truncate(s string, width int) string {
	s, _ = truncate(s, width)
	return s
}

// truncate is Truncate, and says how wide the result is.
func truncate(s string, width int) (string, int) {
	s = Clean(s)
	n, w := seek(s, width)
	if n == len(s) {
		return s, w
	}
	mark := columns(Ellipsis)
	if mark > width {
		return s[:n], w
	}
	n, w = seek(s[:n], width-mark)
	return s[:n] + Ellipsis, w + mark
}

// Fit makes the text exactly width columns wide: truncated when it is longer,
// spaces after it when it is shorter. It is "" when width is not positive.
func Fit(s string, width int) string {
	s, w := truncate(s, width)
	if w >= width {
		return s
	}
	return s + Spaces(width-w)
}

// FitRight is Fit with the spaces before the text.
func FitRight(s string, width int) string {
	s, w := truncate(s, width)
	return Spaces(width-w) + s
}

// FitCenter is Fit with the spaces on both sides, the odd one after the text.
func FitCenter(s string, width int) string {
	s, w := truncate(s, width)
	rest := max(width-w, 0)
	return Spaces(rest/2) + s + Spaces(rest-rest/2)
}

// FitStyled makes text that has styles in it exactly width columns wide. The text
// must come from rendering clean text; what is cut is cut without a mark, and the
// styles stay closed.
func FitStyled(s string, width int) string {
	if width <= 0 {
		return ""
	}
	w := ansi.StringWidth(s)
	if w > width {
		s = ansi.Truncate(s, width, "")
		w = ansi.StringWidth(s)
	}
	return s + Spaces(width-w)
}

// Spaces returns n spaces, none when n is not positive.
func Spaces(n int) string { return strings.Repeat(" ", max(n, 0)) }

// Slice returns the columns from (inclusive) to (exclusive) of the text, exactly
// that many: past its end there are spaces, and so there are in place of the half
// of a wide character that is cut at either side.
func Slice(s string, from, to int) string {
	s = Clean(s)
	p := Locate(s, from, to)
	if p.Left == 0 && p.Right == 0 {
		return s[p.Low:p.High]
	}
	return Spaces(p.Left) + s[p.Low:p.High] + Spaces(p.Right)
}

// Part is the piece of a clean text that shows in a range of columns: its bytes
// from Low to High, with Left and Right columns of space around them.
type Part struct {
	Low, High   int
	Left, Right int
}

// Locate finds the columns from (inclusive) to (exclusive) in clean text, as Slice
// shows them. It is for callers that style parts of a row.
func Locate(s string, from, to int) Part {
	from = max(from, 0)
	if to <= from {
		return Part{}
	}
	low, at := seek(s, from)
	if low == len(s) {
		return Part{Low: low, High: low, Right: to - from}
	}
	p := Part{Low: low}
	if at < from { // a wide character sticks out at the left
		n, w := Next(s[low:])
		p.Low, p.Left = low+n, min(at+w, to)-from
		at += w
	}
	n, w := seek(s[p.Low:], to-from-p.Left)
	p.High = p.Low + n
	p.Right = to - from - p.Left - w
	return p
}

// seek returns the length in bytes and the width of the longest start of clean
// text that is at most width columns wide.
func seek(s string, width int) (n, w int) {
	for n < len(s) {
		if s[n] < utf8.RuneSelf && (n+1 == len(s) || s[n+1] < utf8.RuneSelf) { // Next, without the call
			if w >= width {
				break
			}
			n, w = n+1, w+1
			continue
		}
		size, cols := Next(s[n:])
		if w+cols > width {
			break
		}
		n, w = n+size, w+cols
	}
	return n, w
}

// Next returns the length in bytes and the width in columns of the first
// character, with the marks that it carries, of clean text that is not empty.
func Next(s string) (size, width int) {
	if s[0] >= utf8.RuneSelf {
		c, w := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
		return len(c), w
	}
	if len(s) > 1 && s[1] >= utf8.RuneSelf {
		// The renderer counts an ASCII character by itself, even where a spacing
		// mark follows that others would count as part of it.
		if c, w := ansi.FirstGraphemeCluster(s[1:], ansi.GraphemeWidth); w == 0 {
			return 1 + len(c), 1
		}
	}
	return 1, 1
}

// columns is the width of clean text.
func columns(s string) int {
	if printable(s) {
		return len(s)
	}
	total := 0
	for s != "" {
		n, w := Next(s)
		total += w
		s = s[n:]
	}
	return total
}
