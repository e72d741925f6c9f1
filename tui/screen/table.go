package screen

import (
	"strings"

	"github.com/posttrainarena/arena/tui/look"
	"github.com/posttrainarena/arena/tui/widget/celltext"
)

// column is a column of a list.
type column struct {
	title string
	width int  // cells that it needs
	flex  int  // its share of what is left over
	right bool // numbers stand at the right
	keep  int  // the lower, the sooner it is dropped where the room is short; 0 is never
}

// cell is a piece of text in a tone.
type cell struct {
	text string
	tone look.Tone
}

// text is a cell without a tone.
func text(s string) cell { return cell{text: s} }

// gap is the space between columns.
const gap = 2

// arrange decides how wide each column is in a room. A width of 0 is a column
// that was dropped.
func arrange(columns []column, room int) []int {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = c.width
	}
	for total(widths) > room {
		drop := -1
		for i, c := range columns {
			if c.keep > 0 && widths[i] > 0 && (drop < 0 || c.keep < columns[drop].keep) {
				drop = i
			}
		}
		if drop < 0 {
			break
		}
		widths[drop] = 0
	}
	restore(columns, widths, room)
	spread(columns, widths, room-total(widths))
	return widths
}

// restore brings back dropped columns for which there turned out to be room, the
// most wanted first.
func restore(columns []column, widths []int, room int) {
	for {
		best := -1
		for i, c := range columns {
			if widths[i] == 0 && c.width > 0 && total(widths)+gap+c.width <= room && (best < 0 || c.keep > columns[best].keep) {
				best = i
			}
		}
		if best < 0 {
			return
		}
		widths[best] = columns[best].width
	}
}

// total is the room that columns of some widths take.
func total(widths []int) int {
	n := -gap
	for _, w := range widths {
		if w > 0 {
			n += w + gap
		}
	}
	return max(n, 0)
}

// spread gives the room that is left to the columns that want it.
func spread(columns []column, widths []int, left int) {
	shares := 0
	for i, c := range columns {
		if widths[i] > 0 {
			shares += c.flex
		}
	}
	for i, c := range columns {
		if left <= 0 || shares == 0 {
			return
		}
		if widths[i] > 0 && c.flex > 0 {
			more := left * c.flex / shares
			widths[i] += more
			left, shares = left-more, shares-c.flex
		}
	}
}

// rowOf draws cells in columns of the given widths.
func rowOf(t look.Theme, columns []column, widths []int, cells []cell) string {
	var b strings.Builder
	first := true
	for i, c := range cells {
		if i >= len(widths) || widths[i] == 0 {
			continue
		}
		if !first {
			b.WriteString(celltext.Spaces(gap))
		}
		first = false
		fit := celltext.Fit
		if columns[i].right {
			fit = celltext.FitRight
		}
		b.WriteString(t.Paint(c.tone, fit(c.text, widths[i])))
	}
	return b.String()
}

// headOf draws the titles of columns.
func headOf(t look.Theme, columns []column, widths []int) string {
	cells := make([]cell, len(columns))
	for i, c := range columns {
		cells[i] = cell{c.title, look.Dim}
	}
	return rowOf(t, columns, widths, cells)
}

// line draws cells one after the other, exactly width cells wide. What does not
// fit is cut.
func line(t look.Theme, width int, cells ...cell) string {
	var b strings.Builder
	for _, c := range cells {
		if width <= 0 {
			break
		}
		s := c.text
		if celltext.Width(s) > width {
			s = celltext.Truncate(s, width)
		} else {
			s = celltext.Clean(s)
		}
		width -= celltext.Width(s)
		b.WriteString(t.Paint(c.tone, s))
	}
	b.WriteString(celltext.Spaces(width))
	return b.String()
}

// ends draws one list of cells at the left and one at the right of a row. The
// right one stays whole.
func ends(t look.Theme, width int, left, right []cell) string {
	n := 0
	for _, c := range right {
		n += celltext.Width(c.text)
	}
	if n >= width {
		return line(t, width, right...)
	}
	return line(t, width-n, left...) + line(t, n, right...)
}

// heading draws a title over a part of a screen, with a rule to the right end.
func heading(t look.Theme, width int, title string, note ...cell) string {
	cells := append([]cell{{title, look.Strong}, {" ", look.Plain}}, note...)
	n := 0
	for _, c := range cells {
		n += celltext.Width(c.text)
	}
	if len(note) > 0 && n < width {
		cells = append(cells, text(" "))
		n++
	}
	if n < width {
		cells = append(cells, cell{strings.Repeat(t.Rule, width-n), look.Faint})
	}
	return line(t, width, cells...)
}

// beside puts two blocks of rows next to each other.
func beside(left []string, leftWidth int, right []string, rightWidth, height int) []string {
	rows := make([]string, height)
	for i := range rows {
		l, r := "", ""
		if i < len(left) {
			l = left[i]
		}
		if i < len(right) {
			r = right[i]
		}
		rows[i] = celltext.FitStyled(l, leftWidth) + celltext.Spaces(gap) + celltext.FitStyled(r, rightWidth)
	}
	return rows
}

// block joins rows into what a screen's View returns, cut to height.
func block(rows []string, height int) string {
	if len(rows) > height {
		rows = rows[:max(height, 0)]
	}
	return strings.Join(rows, "\n")
}
