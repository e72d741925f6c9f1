// Package interval draws means with their intervals on one axis, a row each, as a
// leaderboard needs them: with a line at zero, and brackets over neighbouring rows
// whose intervals overlap and whose order therefore means little.
package interval

import (
	"math"
	"strings"

	"github.com/charmbracelet/lipgloss"

	"github.com/posttrainarena/arena/tui/widget/celltext"
)

// Row is one mean with its interval. Low and High are NaN when there is no
// interval; a Mean that is not finite is no number at all.
type Row struct {
	Mean      float64
	Low, High float64
}

// Known reports whether the row has a mean.
func (r Row) Known() bool { return finite(r.Mean) }

// Bounded reports whether the row has a mean and an interval.
func (r Row) Bounded() bool { return r.Known() && finite(r.Low) && finite(r.High) && r.Low <= r.High }

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// Styles are the looks of the parts.
type Styles struct {
	Interval lipgloss.Style // the line and its ends
	Better   lipgloss.Style // the mean of a row whose interval is above zero
	Worse    lipgloss.Style // the mean of a row whose interval is below zero
	Unclear  lipgloss.Style // the mean of any other row
	Zero     lipgloss.Style // the line at zero
	Axis     lipgloss.Style
	Bracket  lipgloss.Style
}

// DefaultStyles returns styles without colours.
func DefaultStyles() Styles {
	plain := lipgloss.NewStyle()
	bold, faint := plain.Bold(true), plain.Faint(true)
	return Styles{Interval: plain, Better: bold, Worse: bold, Unclear: plain, Zero: faint, Axis: faint, Bracket: plain}
}

// glyphs are the shapes of one character set. The mean's shape says on which side
// of zero the interval lies.
type glyphs struct {
	low, line, high        string
	better, worse, unclear string
	zero, rule, tick       string
	top, middle, bottom    string
}

func unicodeGlyphs() glyphs {
	return glyphs{
		low: "├", line: "─", high: "┤", better: "●", worse: "◆", unclear: "○", zero: "┊", rule: "─", tick: "┴",
		top: "╭", middle: "│", bottom: "╰",
	}
}

func asciiGlyphs() glyphs {
	return glyphs{
		low: "[", line: "-", high: "]", better: "*", worse: "x", unclear: "o", zero: ":", rule: "-", tick: "+",
		top: "/", middle: "|", bottom: "\\",
	}
}

// Model is a set of rows on one axis.
type Model struct {
	rows          []Row
	ties          []Span
	lanes         int
	scale         scale
	unit          string
	styles        Styles
	glyphs        glyphs
	ascii         bool
	width, height int
}

// Option changes a new Model.
type Option func(*Model)

// WithStyles sets the styles.
func WithStyles(s Styles) Option { return func(m *Model) { m.styles = s } }

// WithUnit sets the unit that is written on the axis, such as "pp".
func WithUnit(unit string) Option { return func(m *Model) { m.unit = celltext.Clean(unit) } }

// WithASCII draws with ASCII characters only.
func WithASCII(on bool) Option {
	return func(m *Model) {
		if m.ascii = on; on {
			m.glyphs = asciiGlyphs()
		}
	}
}

// New returns an empty axis of 60×10 cells.
func New(opts ...Option) Model {
	m := Model{styles: DefaultStyles(), glyphs: unicodeGlyphs(), width: 60, height: 10}
	for _, o := range opts {
		o(&m)
	}
	m.SetRows(nil)
	return m
}

// SetSize sets the size in cells.
func (m *Model) SetSize(width, height int) { m.width, m.height = max(width, 0), max(height, 0) }

// SetStyles changes the styles, as when the theme changes.
func (m *Model) SetStyles(s Styles) { m.styles = s }

// SetRows sets the rows, best first. The axis spans all intervals and zero, and
// the brackets are those of Ties.
func (m *Model) SetRows(rows []Row) {
	m.rows = rows
	m.ties = Ties(rows)
	m.lanes = 0
	for _, t := range m.ties {
		m.lanes = max(m.lanes, t.Lane+1)
	}
	m.scale = scaleOf(rows)
}

// View draws all rows that have room and the axis below them, exactly as large as
// the size. An owner that draws a table of its own uses Row and Axis.
func (m Model) View() string {
	if m.width == 0 || m.height == 0 {
		return ""
	}
	lines := make([]string, 0, m.height)
	for i := range min(len(m.rows), m.height-1) {
		lines = append(lines, m.Row(i, m.width))
	}
	lines = append(lines, m.Axis(m.width))
	for len(lines) < m.height {
		lines = append(lines, celltext.Spaces(m.width))
	}
	return strings.Join(lines, "\n")
}

// Row draws one row in exactly width columns: brackets, a space, then the
// interval. A row that does not exist is blank.
func (m Model) Row(i, width int) string {
	if width <= 0 {
		return ""
	}
	if i < 0 || i >= len(m.rows) {
		return celltext.Spaces(width)
	}
	gutter := m.gutter(width)
	if gutter == 0 {
		return m.interval(m.rows[i], width)
	}
	return m.brackets(i) + m.interval(m.rows[i], width-gutter)
}

// gutter is the width of the brackets with the space after them, in rows of a
// width. Brackets give way where they would leave too little for the intervals.
func (m Model) gutter(width int) int {
	if m.lanes == 0 || m.lanes+1 > width/2 {
		return 0
	}
	return m.lanes + 1
}

// brackets draws the lanes of one row.
func (m Model) brackets(i int) string {
	lanes := make([]string, m.lanes)
	for lane := range lanes {
		lanes[lane] = " "
	}
	for _, t := range m.ties {
		switch {
		case i == t.First:
			lanes[t.Lane] = m.glyphs.top
		case i == t.Last:
			lanes[t.Lane] = m.glyphs.bottom
		case t.First < i && i < t.Last:
			lanes[t.Lane] = m.glyphs.middle
		}
	}
	return m.styles.Bracket.Render(strings.Join(lanes, "")) + " "
}

// interval draws the plot of one row.
func (m Model) interval(r Row, width int) string {
	if !r.Known() {
		text := celltext.FitCenter("no number", width)
		if m.ascii {
			text = celltext.ASCIIView(text)
		}
		return m.styles.Axis.Render(text)
	}
	cells, marks := make([]string, width), make([]*lipgloss.Style, width)
	set := func(i int, glyph string, style *lipgloss.Style) { cells[i], marks[i] = glyph, style }
	for i := range cells {
		cells[i] = " "
	}
	set(m.scale.cell(0, width), m.glyphs.zero, &m.styles.Zero)
	mean := m.scale.cell(r.Mean, width)
	if r.Bounded() {
		low, high := m.scale.cell(r.Low, width), m.scale.cell(r.High, width)
		for i := low; i <= high; i++ {
			set(i, m.glyphs.line, &m.styles.Interval)
		}
		set(low, m.glyphs.low, &m.styles.Interval)
		set(high, m.glyphs.high, &m.styles.Interval)
	}
	switch {
	case r.Bounded() && r.Low > 0:
		set(mean, m.glyphs.better, &m.styles.Better)
	case r.Bounded() && r.High < 0:
		set(mean, m.glyphs.worse, &m.styles.Worse)
	default:
		set(mean, m.glyphs.unclear, &m.styles.Unclear)
	}
	return paint(cells, marks)
}

// paint joins cells, rendering neighbours of one style together.
func paint(cells []string, styles []*lipgloss.Style) string {
	var b strings.Builder
	for i := 0; i < len(cells); {
		end := i + 1
		for end < len(cells) && styles[end] == styles[i] {
			end++
		}
		text := strings.Join(cells[i:end], "")
		if styles[i] != nil {
			text = styles[i].Render(text)
		}
		b.WriteString(text)
		i = end
	}
	return b.String()
}

// Axis draws the rule under the rows in exactly width columns, with numbers where
// there is room: at zero first, then at both ends.
func (m Model) Axis(width int) string {
	if width <= 0 {
		return ""
	}
	gutter := m.gutter(width)
	return celltext.Spaces(gutter) + m.styles.Axis.Render(m.axis(width-gutter))
}

func (m Model) axis(width int) string {
	cells := make([]string, width)
	for i := range cells {
		cells[i] = m.glyphs.rule
	}
	taken := make([]bool, width)
	put := func(at int, text string) {
		at = min(max(at, 0), width-len(text))
		if at < 0 {
			return
		}
		for i := max(at-1, 0); i < min(at+len(text)+1, width); i++ {
			if taken[i] {
				return
			}
		}
		for i := range len(text) {
			cells[at+i], taken[at+i] = text[i:i+1], true
		}
	}
	zero := m.scale.cell(0, width)
	cells[zero] = m.glyphs.tick
	put(zero, "0")
	unit := ""
	if m.unit != "" {
		unit = " " + celltext.ASCII(m.unit)
	}
	if m.scale.high > 0 {
		text := m.scale.label(m.scale.high) + unit
		put(width-len(text), text)
	}
	if m.scale.low < 0 {
		put(0, m.scale.label(m.scale.low))
	}
	return strings.Join(cells, "")
}
