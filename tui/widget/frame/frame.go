// Package frame draws a box with a title around rows, for what lies over a screen.
package frame

import (
	"strings"

	"github.com/charmbracelet/lipgloss"

	"github.com/posttrainarena/arena/tui/widget/celltext"
)

// The columns and rows that a frame takes.
const (
	Columns = 4 // a border and a space on either side
	Rows    = 2
)

// Frame is how a box looks.
type Frame struct {
	Border, Title lipgloss.Style
	ASCII         bool
}

// Draw puts rows, which may have styles in them, into a box of exactly width
// columns. There is nothing to see in fewer than five columns.
func (f Frame) Draw(title string, rows []string, width int) string {
	if width <= Columns {
		return ""
	}
	topLeft, topRight, bottomLeft, bottomRight, rule, wall := "╭", "╮", "╰", "╯", "─", "│"
	if f.ASCII {
		topLeft, topRight, bottomLeft, bottomRight, rule, wall = "+", "+", "+", "+", "-", "|"
	}
	border := celltext.NewInk(f.Border)
	inner := width - Columns
	var b strings.Builder
	if title == "" {
		border.Write(&b, topLeft+strings.Repeat(rule, width-2)+topRight)
	} else {
		title = celltext.Truncate(title, max(inner-2, 1))
		left := max(inner-1-celltext.Width(title), 0)
		border.Write(&b, topLeft+rule)
		celltext.NewInk(f.Title).Write(&b, " "+title+" ")
		border.Write(&b, strings.Repeat(rule, left)+topRight)
	}
	top := celltext.FitStyled(b.String(), width)
	b.Reset()
	b.WriteString(top)
	for _, row := range rows {
		b.WriteByte('\n')
		border.Write(&b, wall)
		b.WriteString(" " + celltext.FitStyled(row, inner) + " ")
		border.Write(&b, wall)
	}
	b.WriteByte('\n')
	border.Write(&b, bottomLeft+strings.Repeat(rule, width-2)+bottomRight)
	if f.ASCII {
		return celltext.ASCIIView(b.String())
	}
	return b.String()
}
