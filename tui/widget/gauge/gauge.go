// Package gauge draws a budget as one bar: what is settled, what is reserved by
// live runs, and what remains. Amounts that are not zero are never invisible, and
// going over the cap is said in words.
package gauge

import (
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/lipgloss"

	"github.com/posttrainarena/arena/tui/widget/celltext"
)

// Amounts is a budget in any unit. Negative amounts count as 0.
type Amounts struct {
	Settled  int64 // spent for good
	Reserved int64 // held by what still runs
	Cap      int64
}

// Remaining is what may still be reserved; negative when the cap is passed.
func (a Amounts) Remaining() int64 { return a.Cap - max(a.Settled, 0) - max(a.Reserved, 0) }

// Styles are the looks of the parts of a gauge.
type Styles struct {
	Settled, Reserved, Remaining lipgloss.Style // cells of the bar and the signs in the legend
	Over                         lipgloss.Style // the words that say the cap is passed
	Legend                       lipgloss.Style
}

// DefaultStyles returns styles without colours.
func DefaultStyles() Styles {
	plain := lipgloss.NewStyle()
	return Styles{Settled: plain.Bold(true), Reserved: plain, Remaining: plain.Faint(true), Over: plain.Bold(true), Legend: plain}
}

// Model is a gauge.
type Model struct {
	amounts       Amounts
	styles        Styles
	format        func(int64) string
	glyphs        [3]string // settled, reserved, remaining
	ascii         bool
	width, height int
}

// Option changes a new Model.
type Option func(*Model)

// WithStyles sets the styles.
func WithStyles(s Styles) Option { return func(m *Model) { m.styles = s } }

// WithFormat sets how amounts are written, such as cents as dollars.
func WithFormat(format func(int64) string) Option { return func(m *Model) { m.format = format } }

// WithASCII draws the bar with ASCII characters only.
func WithASCII(on bool) Option {
	return func(m *Model) {
		if m.ascii = on; on {
			m.glyphs = [3]string{"#", "=", "."}
		}
	}
}

// New returns a gauge of 40×1 cells. Without a format it writes amounts as numbers.
func New(opts ...Option) Model {
	m := Model{
		styles: DefaultStyles(), glyphs: [3]string{"█", "▒", "░"}, width: 40, height: 1,
		format: func(n int64) string { return strconv.FormatInt(n, 10) },
	}
	for _, o := range opts {
		o(&m)
	}
	return m
}

// SetSize sets the size in cells. With two rows or more the legend has a row of
// its own.
func (m *Model) SetSize(width, height int) { m.width, m.height = max(width, 0), max(height, 0) }

// SetAmounts sets what is shown.
func (m *Model) SetAmounts(a Amounts) {
	m.amounts = Amounts{Settled: max(a.Settled, 0), Reserved: max(a.Reserved, 0), Cap: max(a.Cap, 0)}
}

// View draws the gauge, exactly as large as its size.
func (m Model) View() string {
	if m.ascii {
		return celltext.ASCIIView(m.view())
	}
	return m.view()
}

func (m Model) view() string {
	if m.width == 0 || m.height == 0 {
		return ""
	}
	if m.height == 1 {
		const least = 10 // cells of bar that are worth having
		legend := m.legend(m.width - least - 2)
		return m.bar(m.width-legend.width-min(legend.width, 1)*2) + celltext.Spaces(min(legend.width, 1)*2) + legend.text
	}
	legend := m.legend(m.width)
	rows := []string{m.bar(m.width), legend.text + celltext.Spaces(m.width-legend.width)}
	for len(rows) < m.height {
		rows = append(rows, celltext.Spaces(m.width))
	}
	return strings.Join(rows, "\n")
}

// bar draws the three amounts in proportion.
func (m Model) bar(width int) string {
	var b strings.Builder
	for i, n := range split(m.amounts, width) {
		if n > 0 {
			b.WriteString(m.style(i).Render(strings.Repeat(m.glyphs[i], n)))
		}
	}
	return b.String()
}

func (m Model) style(part int) lipgloss.Style {
	return [...]lipgloss.Style{m.styles.Settled, m.styles.Reserved, m.styles.Remaining}[part]
}

// split divides width cells among settled, reserved and remaining. An amount that
// is not zero gets a cell, as long as there are cells.
func split(a Amounts, width int) (cells [3]int) {
	parts := [3]int64{a.Settled, a.Reserved, max(a.Remaining(), 0)}
	total := float64(a.Settled) + float64(a.Reserved) + float64(parts[2])
	if total == 0 {
		return [3]int{0, 0, width}
	}
	sum := 0
	for i, p := range parts {
		if p > 0 {
			cells[i] = max(int(float64(p)/total*float64(width)), 1)
		}
		sum += cells[i]
	}
	// The largest has what rounding left over, and gives what the small ones took.
	for sum != width {
		largest := slices.Index(cells[:], slices.Max(cells[:]))
		if sum < width {
			cells[largest] += width - sum
			break
		}
		cells[largest]--
		sum--
	}
	return cells
}

// legend is a text that is width columns wide, with styles in it.
type legend struct {
	text  string
	width int
}

// legend names the amounts in at most width columns, with fewer words where there
// is less room. It is empty when there is no room for any.
func (m Model) legend(width int) legend {
	a := m.amounts
	settled, reserved, limit := m.format(a.Settled), m.format(a.Reserved), m.format(a.Cap)
	last, remaining := 2, m.format(a.Remaining())+" left"
	if a.Remaining() < 0 {
		last, remaining = over, m.format(-a.Remaining())+" over"
	}
	for _, parts := range [][]entry{
		{{0, settled + " settled"}, {1, reserved + " reserved"}, {last, remaining + " of " + limit}},
		{{0, settled}, {1, reserved}, {last, remaining}},
		{{last, remaining}},
	} {
		if l := m.render(parts); l.width <= width {
			return l
		}
	}
	return legend{}
}

// over marks the entry that says by how much the cap is passed.
const over = 3

// entry is one amount of a legend: part is an index into the glyphs, or over.
type entry struct {
	part int
	text string
}

func (m Model) render(parts []entry) (l legend) {
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			b.WriteString("  ")
			l.width += 2
		}
		text := celltext.Clean(p.text)
		if p.part == over {
			b.WriteString(m.styles.Over.Render("! " + text))
		} else {
			b.WriteString(m.style(p.part).Render(m.glyphs[p.part]) + m.styles.Legend.Render(" "+text))
		}
		l.width += 2 + celltext.Width(text)
	}
	l.text = b.String()
	return l
}
