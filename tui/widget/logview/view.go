package logview

import (
	"fmt"
	"strings"
	"time"

	"github.com/posttrainarena/arena/tui/widget/celltext"
)

// glyphs are the shapes of one character set.
type glyphs struct {
	kinds                     [kinds]string
	chapter, cursor, selected string
	more, cut, separator      string
}

func unicodeGlyphs() glyphs {
	return glyphs{kinds: [kinds]string{" ", "✓", "!", "✗"}, chapter: "»", cursor: "▌", selected: "┃", more: "›", cut: "…", separator: "·"}
}

func asciiGlyphs() glyphs {
	return glyphs{kinds: [kinds]string{" ", "+", "!", "x"}, chapter: "#", cursor: ">", selected: "|", more: ">", cut: "~", separator: "-"}
}

// margin is the cursor's mark, the sign of the kind and a space; narrow panes have
// none.
const margin = 3

// The widths of times, with the space after them.
const (
	absoluteWidth = len("15:04:05 ")
	relativeWidth = len("+999:59:59 ")
)

// leastText is the width below which margin and times give way to the text.
const leastText = 16

func (m *Model) marginWidth() int {
	if m.width < margin+leastText {
		return 0
	}
	return margin
}

func (m *Model) timeWidth() int {
	width := [...]int{NoTimes: 0, Absolute: absoluteWidth, Relative: relativeWidth}[min(max(m.times, NoTimes), Relative)]
	if m.width-m.marginWidth()-width < leastText {
		return 0
	}
	return width
}

// textWidth is the number of columns for the text of lines, one at least.
func (m *Model) textWidth() int { return max(m.width-m.marginWidth()-m.timeWidth(), 1) }

// View draws the pane, exactly as large as its size: lines, and the status in the
// last of two rows or more.
func (m Model) View() string {
	if m.width == 0 || m.height == 0 {
		return ""
	}
	var b strings.Builder
	b.Grow(m.height * (m.width + 32))
	m.drawBody(&b)
	if m.height > 1 {
		b.WriteByte('\n')
		b.WriteString(m.status())
	}
	if m.ascii {
		return celltext.ASCIIView(b.String())
	}
	return b.String()
}

// drawBody draws the rows above the status.
func (m *Model) drawBody(b *strings.Builder) {
	body, drawn := m.body(), 0
	newline := func() {
		if drawn > 0 {
			b.WriteByte('\n')
		}
		drawn++
	}
	if m.sieve != nil {
		for _, row := range m.sieveRows() {
			newline()
			b.WriteString(row)
		}
	} else if m.win.empty() {
		newline()
		b.WriteString(m.inks.status.Paint(celltext.Fit("  "+m.emptiness(), m.width)))
	} else {
		high := m.high()
		for p := m.top; p.line <= high && drawn < body; p = (place{line: p.line + 1}) {
			for _, row := range m.drawLine(p.line, p.row, body-drawn) {
				newline()
				b.WriteString(row)
			}
		}
	}
	for drawn < body {
		newline()
		b.WriteString(celltext.Spaces(m.width))
	}
}

// emptiness says why there is nothing to show.
func (m *Model) emptiness() string {
	switch {
	case m.failed != nil:
		return "not loaded"
	case m.waiting != 0 || m.total > 0 || m.goal != 0:
		return "loading"
	case m.ended:
		return "the log is empty"
	default:
		return "no lines yet"
	}
}

// drawLine draws at most limit rows of a line, from a row of it on.
func (m *Model) drawLine(n int64, from, limit int) []string {
	e := m.win.at(n)
	ink := m.ink(n, e)
	if !m.wrap {
		return []string{m.lead(n, e, ink, true) + m.cutRow(e, ink)}
	}
	var rows []string
	width := m.textWidth()
	pieces := celltext.Break(e.text, width)
	offset := 0
	var found [][2]int
	if m.search != nil {
		found = m.search.matcher.all(e.text, mostFound)
	}
	for i, piece := range pieces {
		if i >= from && len(rows) < limit {
			pad := width - celltext.Width(piece)
			rows = append(rows, m.lead(n, e, ink, i == 0)+m.highlight(piece, offset, pad, found, ink))
		}
		offset += len(piece)
	}
	if e.cut && len(rows) < limit {
		rows = append(rows, m.lead(n, e, ink, false)+m.inks.cut.Paint(celltext.Fit(m.note(e), width)))
	}
	return rows
}

// ink is what the text of a line is painted with.
func (m *Model) ink(n int64, e *entry) celltext.Ink {
	switch {
	case m.selected(n):
		return m.inks.selected
	case n == m.current():
		return m.inks.cursor
	case e.kind == Plain && m.starts(n):
		return m.inks.chapter
	default:
		return m.inks.kinds[e.kind]
	}
}

// lead draws margin and time of a line's row; of rows after its first only the
// cursor's mark.
func (m *Model) lead(n int64, e *entry, ink celltext.Ink, first bool) string {
	var b strings.Builder
	if m.marginWidth() > 0 {
		mark := " "
		switch {
		case n == m.current():
			mark = m.glyphs.cursor
		case m.selected(n):
			mark = m.glyphs.selected
		}
		ink.Write(&b, mark)
		sign, signInk := m.glyphs.kinds[Plain], m.inks.kinds[Plain]
		switch {
		case !first:
		case e.kind != Plain:
			sign, signInk = m.glyphs.kinds[e.kind], m.inks.kinds[e.kind]
		case m.starts(n):
			sign, signInk = m.glyphs.chapter, m.inks.chapter
		}
		signInk.Write(&b, sign)
		b.WriteByte(' ')
	}
	if width := m.timeWidth(); width > 0 {
		text := ""
		if first {
			text = m.timeOf(e.at)
		}
		m.inks.time.Write(&b, celltext.FitRight(text, width-1)+" ")
	}
	return b.String()
}

// timeOf writes the time of a line in the way that was chosen.
func (m *Model) timeOf(at time.Time) string {
	switch {
	case at.IsZero():
		return ""
	case m.times == Absolute:
		return at.In(m.zone).Format("15:04:05")
	case m.base.IsZero():
		return ""
	}
	d, sign := at.Sub(m.base), "+"
	if d < 0 {
		d, sign = -d, "-"
	}
	return fmt.Sprintf("%s%d:%02d:%02d", sign, d/time.Hour, d%time.Hour/time.Minute, d%time.Minute/time.Second)
}

// mostFound is how many matches of one line are painted.
const mostFound = 200

// cutRow draws the text of a line that is not wrapped: the columns that are in
// view, with a mark when it goes on and a note when it is longer than what is held.
func (m *Model) cutRow(e *entry, ink celltext.Ink) string {
	width := m.textWidth()
	end := ""
	if e.cut && width > 2 {
		if end = " " + m.note(e); celltext.Width(end) > width/2 {
			end = " " + m.glyphs.cut
		}
	}
	room := width - celltext.Width(end)
	part := celltext.Locate(e.text, m.column, m.column+room)
	if part.High < len(e.text) && end == "" && room > 1 {
		end = m.glyphs.more
		room -= celltext.Width(end)
		part = celltext.Locate(e.text, m.column, m.column+room)
	}
	var found [][2]int
	if m.search != nil {
		// What lies beyond the edge may belong to a match that begins before it.
		around := min(part.High+256, len(e.text))
		found = m.search.matcher.all(e.text[:around], mostFound)
	}
	return ink.Paint(celltext.Spaces(part.Left)) + m.highlight(e.text[part.Low:part.High], part.Low, part.Right, found, ink) +
		m.inks.cut.Paint(end)
}

// note says how long a line is of which only the start is held.
func (m *Model) note(e *entry) string {
	return fmt.Sprintf("%s %s bytes", m.glyphs.cut, thousands(int64(e.size)))
}

// highlight paints a piece of a line that starts at byte offset, with pad spaces
// after it, and the matches in it. A match covers whole characters, so that no
// width changes.
func (m *Model) highlight(piece string, offset, pad int, found [][2]int, ink celltext.Ink) string {
	var b strings.Builder
	at := 0
	for _, f := range found {
		low, high := max(f[0]-offset, at), min(f[1]-offset, len(piece))
		if low >= high {
			continue
		}
		low, high = whole(piece, at, low, high)
		ink.Write(&b, piece[at:low])
		m.inks.match.Write(&b, piece[low:high])
		at = high
	}
	ink.Write(&b, piece[at:]+celltext.Spaces(pad))
	return b.String()
}

// whole widens low to high to whole characters, which are counted from byte at.
func whole(s string, at, low, high int) (int, int) {
	start := at
	for at < high {
		n, _ := celltext.Next(s[at:])
		if at+n <= low {
			start = at + n
		}
		at += n
	}
	return start, at
}
