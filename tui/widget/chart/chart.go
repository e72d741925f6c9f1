package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/lipgloss"

	"github.com/posttrainarena/arena/tui/widget/celltext"
)

// Point is one measurement.
type Point struct{ X, Y float64 }

// Styles are the looks of the parts.
type Styles struct {
	Title, Value, Note lipgloss.Style
	Line, Axis, Cursor lipgloss.Style
}

// DefaultStyles returns styles without colours.
func DefaultStyles() Styles {
	plain := lipgloss.NewStyle()
	bold, faint := plain.Bold(true), plain.Faint(true)
	return Styles{Title: bold, Value: plain, Note: faint, Line: plain, Axis: faint, Cursor: plain.Reverse(true)}
}

// Model is a chart.
type Model struct {
	title, unit   string  // of the curve, and what X counts
	points        []Point // by X, without those whose X is no number
	cursor        int     // index of the point that is read off; -1 for none
	logarithmic   bool
	styles        Styles
	ascii         bool
	width, height int
}

// Option changes a new Model.
type Option func(*Model)

// WithStyles sets the styles.
func WithStyles(s Styles) Option { return func(m *Model) { m.styles = s } }

// WithTitle sets the name of the curve and the word for what X counts, such as
// "step".
func WithTitle(title, unit string) Option {
	return func(m *Model) { m.title, m.unit = celltext.Clean(title), celltext.Clean(unit) }
}

// WithASCII draws with ASCII characters only.
func WithASCII(on bool) Option { return func(m *Model) { m.ascii = on } }

// New returns an empty chart of 60×12 cells.
func New(opts ...Option) Model {
	m := Model{unit: "x", cursor: -1, styles: DefaultStyles(), width: 60, height: 12}
	for _, o := range opts {
		o(&m)
	}
	return m
}

// SetSize sets the size in cells.
func (m *Model) SetSize(width, height int) { m.width, m.height = max(width, 0), max(height, 0) }

// SetStyles changes the styles, as when the theme changes.
func (m *Model) SetStyles(s Styles) { m.styles = s }

// SetTitle changes what WithTitle sets.
func (m *Model) SetTitle(title, unit string) { WithTitle(title, unit)(m) }

// SetPoints sets the curve. Points are drawn by X, whatever their order; those
// whose X is no number are dropped. The cursor stays at its X.
func (m *Model) SetPoints(points []Point) {
	at, reading := m.Inspected()
	m.points = make([]Point, 0, len(points))
	for _, p := range points {
		if finite(p.X) {
			m.points = append(m.points, p)
		}
	}
	slices.SortStableFunc(m.points, func(a, b Point) int { return cmp.Compare(a.X, b.X) })
	m.cursor = -1
	if reading {
		m.inspectNear(at.X)
	}
}

// SetLog chooses the logarithmic scale or the linear one.
func (m *Model) SetLog(on bool) { m.logarithmic = on }

// Log reports whether the scale is logarithmic.
func (m Model) Log() bool { return m.logarithmic }

// Inspected returns the point under the cursor; false when there is no cursor.
func (m Model) Inspected() (Point, bool) {
	if m.cursor < 0 || m.cursor >= len(m.points) {
		return Point{}, false
	}
	return m.points[m.cursor], true
}

// Move moves the cursor by points, to the right when n is positive. Without a
// cursor it starts at the last point.
func (m *Model) Move(n int) {
	if len(m.points) == 0 {
		return
	}
	if m.cursor < 0 {
		m.cursor = len(m.points) - 1
		return
	}
	m.cursor = min(max(m.cursor+n, 0), len(m.points)-1)
}

// Click puts the cursor on the point nearest to a column of the chart, and reports
// whether the column is in the plot.
func (m *Model) Click(column int) bool {
	p := m.plan()
	if len(m.points) == 0 || column < p.left || column >= p.left+p.columns {
		return false
	}
	first, last := m.points[0].X, m.points[len(m.points)-1].X
	m.inspectNear(first + (last-first)*(float64(column-p.left)+0.5)/float64(p.columns))
	return true
}

// Leave removes the cursor and reports whether there was one.
func (m *Model) Leave() bool {
	was := m.cursor >= 0
	m.cursor = -1
	return was
}

func (m *Model) inspectNear(x float64) {
	for i, p := range m.points {
		if m.cursor < 0 || math.Abs(p.X-x) < math.Abs(m.points[m.cursor].X-x) {
			m.cursor = i
		}
	}
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// drawable reports whether a value has a place on the scale.
func (m Model) drawable(y float64) bool { return finite(y) && (!m.logarithmic || y > 0) }

// View draws the chart, exactly as large as its size: title and value, plot, and
// the X axis; in a single row a sparkline after the title.
func (m Model) View() string {
	view := m.view()
	if m.ascii {
		return celltext.ASCIIView(view)
	}
	return view
}

func (m Model) view() string {
	switch {
	case m.width == 0 || m.height == 0:
		return ""
	case m.height == 1:
		return m.line()
	}
	p := m.plan()
	rows := make([]string, 0, m.height)
	rows = append(rows, m.header())
	if p.rows > 0 {
		rows = append(rows, m.plot(p)...)
	}
	if p.axis {
		rows = append(rows, m.axis(p))
	}
	for len(rows) < m.height {
		rows = append(rows, celltext.Spaces(m.width))
	}
	return strings.Join(rows, "\n")
}

// line is the chart in one row.
func (m Model) line() string {
	values := make([]float64, len(m.points))
	for i, p := range m.points {
		values[i] = p.Y
	}
	title := ""
	if m.title != "" {
		title = celltext.Truncate(m.title, m.width/2) + " "
	}
	last := ""
	if n := len(values); n > 0 && finite(values[n-1]) && m.width >= 20 {
		last = " " + Number(values[n-1])
	}
	room := m.width - celltext.Width(title) - len(last)
	if room < 1 {
		return m.styles.Title.Render(celltext.Fit(m.title, m.width))
	}
	return m.styles.Title.Render(title) + m.styles.Line.Render(Sparkline(values, room, m.ascii)) + m.styles.Value.Render(last)
}

// header names the curve, the value under the cursor or the last one, and what is
// not drawn; and without a cursor the range, when there is room.
func (m Model) header() string {
	r := m.rangeOf()
	value, more := "", ""
	if p, ok := m.Inspected(); ok {
		value = fmt.Sprintf("%s at %s %s", Number(p.Y), m.unit, Number(p.X))
	} else if r.points > 0 {
		last := m.points[r.last]
		value = fmt.Sprintf("%s at %s %s", Number(last.Y), m.unit, Number(last.X))
		more = fmt.Sprintf(", %s to %s", Number(r.low), Number(r.high))
	}
	var notes []string
	if m.logarithmic {
		notes = append(notes, "log scale")
	}
	if n := len(m.points) - r.points; n > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d not drawn", n, len(m.points)))
	}
	note := strings.Join(notes, ", ")
	if celltext.Width(m.title+"  "+value+more+"  "+note) > m.width {
		more = ""
	}
	var parts []string
	for _, part := range []struct {
		style lipgloss.Style
		text  string
	}{{m.styles.Title, m.title}, {m.styles.Value, value + more}, {m.styles.Note, note}} {
		if part.text != "" {
			parts = append(parts, part.style.Render(part.text))
		}
	}
	return celltext.FitStyled(strings.Join(parts, "  "), m.width)
}

// extent is the range of what can be drawn.
type extent struct {
	low, high float64
	points    int // how many can be drawn
	last      int // the index of the last of them
}

func (m Model) rangeOf() (r extent) {
	for i, p := range m.points {
		if !m.drawable(p.Y) {
			continue
		}
		if r.points == 0 {
			r.low, r.high = p.Y, p.Y
		}
		r.low, r.high = min(r.low, p.Y), max(r.high, p.Y)
		r.points++
		r.last = i
	}
	return r
}

// Number writes a value with four significant digits, without zeros at its end.
func Number(x float64) string {
	switch {
	case math.IsNaN(x):
		return "nan"
	case math.IsInf(x, 1):
		return "inf"
	case math.IsInf(x, -1):
		return "-inf"
	case x == math.Trunc(x) && math.Abs(x) < 1e6:
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	text := strconv.FormatFloat(x, 'g', 4, 64)
	if strings.Contains(text, ".") && !strings.Contains(text, "e") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}
