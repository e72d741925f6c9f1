package chart

import (
	"math"
	"strings"

	"github.com/posttrainarena/arena/tui/widget/celltext"
)

// plan is how the room is divided.
type plan struct {
	left, columns int // the plot starts at a column and has so many
	rows          int
	axis          bool // there is a row for the X axis
	labels        []string
	scale         scale
}

// plan divides the room: a header, the plot, the X axis when there are four rows
// or more, and labels at the left when they leave most of the width to the plot.
func (m Model) plan() plan {
	p := plan{columns: m.width, rows: max(m.height-1, 0)}
	if m.height >= 4 {
		p.axis = true
		p.rows--
	}
	r := m.rangeOf()
	p.scale = newScale(r, m.logarithmic)
	p.labels = make([]string, p.rows)
	if r.points > 0 {
		p.labels = p.scale.labels(p.rows)
	}
	width := 0
	for _, l := range p.labels {
		width = max(width, len(l))
	}
	if width > 0 && width+1 <= m.width/3 {
		p.left = width + 1
		p.columns -= p.left
	}
	return p
}

// scale maps values to 0 (bottom) to 1 (top).
type scale struct {
	low, high   float64 // logarithms on a logarithmic scale
	logarithmic bool
}

func newScale(r extent, logarithmic bool) scale {
	s := scale{r.low, r.high, logarithmic}
	if logarithmic && r.points > 0 {
		s.low, s.high = math.Log10(r.low), math.Log10(r.high)
	}
	return s
}

// at is where a value lies. A curve that does not change lies in the middle.
func (s scale) at(y float64) float64 {
	if s.logarithmic {
		y = math.Log10(y)
	}
	return share(y, s.low, s.high)
}

// share is where v lies between two values, from 0 to 1, and in the middle when
// they are the same. Values are halved only where their difference would overflow:
// the halves of the smallest numbers are all 0.
func share(v, low, high float64) float64 {
	switch span := high - low; {
	case low == high:
		return 0.5
	case math.IsInf(span, 0):
		return (v/2 - low/2) / (high/2 - low/2)
	default:
		return (v - low) / span
	}
}

// value is the inverse of at.
func (s scale) value(at float64) float64 {
	y := s.low*(1-at) + s.high*at
	if s.logarithmic {
		return math.Pow(10, y)
	}
	return y
}

// labels are the values at the rows of a plot: at both ends, and between them at
// every fourth row or so.
func (s scale) labels(rows int) []string {
	labels := make([]string, rows)
	if rows == 0 {
		return labels
	}
	if s.low == s.high {
		labels[rows/2] = Number(s.value(0.5))
		return labels
	}
	steps := max((rows-1)/4, 1)
	for i := range steps + 1 {
		row := (rows - 1) * i / steps
		if at := 1 - float64(row)/float64(max(rows-1, 1)); rows > 1 || i == 0 {
			labels[row] = Number(s.value(at))
		}
	}
	return labels
}

// plot draws the rows of the plot with their labels.
func (m Model) plot(p plan) []string {
	c := newCanvas(p.columns, p.rows, m.ascii)
	m.trace(c, p)
	at := -1
	if point, ok := m.Inspected(); ok {
		at = m.column(point.X, p.columns)
	}
	axis, line, mark := celltext.NewInk(m.styles.Axis), celltext.NewInk(m.styles.Line), celltext.NewInk(m.styles.Cursor)
	wall, hair := "┤", "│"
	if m.ascii {
		wall, hair = "|", "|"
	}
	rows := make([]string, p.rows)
	for y := range rows {
		var b strings.Builder
		if p.left > 0 {
			axis.Write(&b, celltext.FitRight(p.labels[y], p.left-1)+wall)
		}
		if at < 0 {
			line.Write(&b, c.text(y, 0, p.columns))
		} else {
			line.Write(&b, c.text(y, 0, at))
			if cell := c.text(y, at, at+1); cell != " " {
				mark.Write(&b, cell)
			} else {
				axis.Write(&b, hair)
			}
			line.Write(&b, c.text(y, at+1, p.columns))
		}
		rows[y] = b.String()
	}
	return rows
}

// column is the column of columns in which x lies.
func (m Model) column(x float64, columns int) int {
	first, last := m.points[0].X, m.points[len(m.points)-1].X
	return min(int(share(x, first, last)*float64(columns)), columns-1)
}

// trace draws the curve. In each column of dots it draws from the least to the
// greatest of the points there, and joins it to the column before, unless a value
// between them has no place on the scale.
func (m Model) trace(c *canvas, p plan) {
	width, height := c.dots()
	row := func(y float64) int { return int(math.Round((1 - p.scale.at(y)) * float64(height-1))) }
	joined := false // to the point before, which is at x and y
	var x, y, top, bottom int
	for _, point := range m.points {
		if !m.drawable(point.Y) {
			if joined {
				c.line(x, top, x, bottom)
			}
			joined = false
			continue
		}
		nextX, nextY := m.column(point.X, width), row(point.Y)
		switch {
		case joined && nextX == x:
			top, bottom = min(top, nextY), max(bottom, nextY)
		case joined:
			c.line(x, top, x, bottom)
			c.line(x, y, nextX, nextY)
			fallthrough
		default:
			top, bottom = nextY, nextY
		}
		joined, x, y = true, nextX, nextY
	}
	if joined {
		c.line(x, top, x, bottom)
	}
}

// axis draws the X axis: a rule with the first and the last X, and the cursor's.
func (m Model) axis(p plan) string {
	rule, corner, tick := "─", "└", "┴"
	if m.ascii {
		rule, corner, tick = "-", "+", "+"
	}
	cells := make([]string, p.columns)
	for i := range cells {
		cells[i] = rule
	}
	taken := make([]bool, p.columns)
	put := func(at int, text string) {
		at = min(max(at, 0), p.columns-len(text))
		for i := max(at-1, 0); i < min(at+len(text)+1, p.columns); i++ {
			if at < 0 || taken[i] {
				return
			}
		}
		for i := range len(text) {
			cells[at+i], taken[at+i] = text[i:i+1], true
		}
	}
	if len(m.points) > 0 {
		if point, ok := m.Inspected(); ok {
			at, text := m.column(point.X, p.columns), Number(point.X)
			cells[at] = tick
			put(at-len(text)/2, text)
		}
		last := Number(m.points[len(m.points)-1].X)
		put(p.columns-len(last), last)
		put(0, Number(m.points[0].X))
	}
	left := ""
	if p.left > 0 {
		left = celltext.Spaces(p.left-1) + corner
	}
	return m.styles.Axis.Render(left + strings.Join(cells, ""))
}
