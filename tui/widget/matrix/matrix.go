// Package matrix shows a task a row with its outcomes before and after training
// side by side, and which way each task turned.
package matrix

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/lipgloss"

	"github.com/posttrainarena/arena/tui/widget/celltext"
)

// Styles are the looks of the parts.
type Styles struct {
	Outcomes [5]lipgloss.Style // by Outcome
	Flips    [4]lipgloss.Style // by Flip
	Task     lipgloss.Style
	Selected lipgloss.Style // the row under the cursor
	Header   lipgloss.Style
	Summary  lipgloss.Style
}

// DefaultStyles returns styles without colours.
func DefaultStyles() Styles {
	plain := lipgloss.NewStyle()
	bold, faint := plain.Bold(true), plain.Faint(true)
	return Styles{
		Outcomes: [5]lipgloss.Style{faint, plain, plain, plain, bold}, Flips: [4]lipgloss.Style{faint, bold, bold, faint},
		Task: plain, Selected: plain.Reverse(true), Header: faint, Summary: faint,
	}
}

// glyphs are the shapes of one character set.
type glyphs struct {
	outcomes      [outcomes]string
	flips         [flips]string
	arrow, cursor string
}

func unicodeGlyphs() glyphs {
	return glyphs{outcomes: [outcomes]string{"·", "✓", "✗", "◷", "!"}, flips: [flips]string{"=", "▲", "▼", "?"}, arrow: "→", cursor: "▌"}
}

func asciiGlyphs() glyphs {
	return glyphs{outcomes: [outcomes]string{".", "+", "x", "t", "!"}, flips: [flips]string{"=", "^", "v", "?"}, arrow: ">", cursor: ">"}
}

// Model is a matrix.
type Model struct {
	rows          []Row
	flips         []Flip // of each row
	shown         []int  // indexes of the rows that are shown
	counts        [flips]int
	before, after int    // the most trials of a row
	passes        [2]int // of both sides, over all trials
	onlyFlips     bool
	cursor, top   int // indexes into shown
	styles        Styles
	inks          inks
	glyphs        glyphs
	ascii         bool
	width, height int
}

// inks are the styles of what a row is painted with.
type inks struct {
	outcomes       [outcomes]celltext.Ink
	flips          [flips]celltext.Ink
	task, selected celltext.Ink
}

// Option changes a new Model.
type Option func(*Model)

// WithStyles sets the styles.
func WithStyles(s Styles) Option { return func(m *Model) { m.styles = s } }

// WithASCII draws with ASCII characters only.
func WithASCII(on bool) Option {
	return func(m *Model) {
		if m.ascii = on; on {
			m.glyphs = asciiGlyphs()
		}
	}
}

// New returns an empty matrix of 80×24 cells.
func New(opts ...Option) Model {
	m := Model{styles: DefaultStyles(), glyphs: unicodeGlyphs(), width: 80, height: 24}
	for _, o := range opts {
		o(&m)
	}
	m.SetStyles(m.styles)
	return m
}

// SetSize sets the size in cells. The first row is a header, the last a summary.
func (m *Model) SetSize(width, height int) {
	m.width, m.height = max(width, 0), max(height, 0)
	m.scroll()
}

// SetStyles changes the styles, as when the theme changes.
func (m *Model) SetStyles(s Styles) {
	m.styles = s
	for i, st := range s.Outcomes {
		m.inks.outcomes[i] = celltext.NewInk(st)
	}
	for i, st := range s.Flips {
		m.inks.flips[i] = celltext.NewInk(st)
	}
	m.inks.task, m.inks.selected = celltext.NewInk(s.Task), celltext.NewInk(s.Selected)
}

// SetRows sets the tasks, in the order in which they are shown. The cursor stays
// on the task with the same name.
func (m *Model) SetRows(rows []Row) {
	task := m.selectedTask()
	m.rows = rows
	m.flips = make([]Flip, len(rows))
	m.counts, m.before, m.after, m.passes = [flips]int{}, 0, 0, [2]int{}
	for i, r := range rows {
		m.flips[i] = r.Flip()
		m.counts[m.flips[i]]++
		m.before, m.after = max(m.before, len(r.Before)), max(m.after, len(r.After))
		m.passes[0] += passes(r.Before)
		m.passes[1] += passes(r.After)
	}
	m.show(task)
}

func passes(trials []Outcome) int {
	n := 0
	for _, o := range trials {
		if o == Pass {
			n++
		}
	}
	return n
}

// ToggleOnlyFlips shows only the tasks that turned, or all again.
func (m *Model) ToggleOnlyFlips() {
	task := m.selectedTask()
	m.onlyFlips = !m.onlyFlips
	m.show(task)
}

// OnlyFlips reports whether only tasks that turned are shown.
func (m Model) OnlyFlips() bool { return m.onlyFlips }

// show finds the rows to show, and puts the cursor on a task or near where it was.
func (m *Model) show(task string) {
	m.shown = m.shown[:0:0]
	at := -1
	for i, f := range m.flips {
		if m.onlyFlips && f != Gained && f != Lost {
			continue
		}
		if task != "" && m.rows[i].Task == task {
			at = len(m.shown)
		}
		m.shown = append(m.shown, i)
	}
	if at >= 0 {
		m.cursor = at
	}
	m.Move(0)
}

func (m *Model) selectedTask() string {
	if r, ok := m.Selected(); ok {
		return r.Task
	}
	return ""
}

// Selected returns the row under the cursor.
func (m Model) Selected() (Row, bool) {
	if m.cursor >= len(m.shown) {
		return Row{}, false
	}
	return m.rows[m.shown[m.cursor]], true
}

// Count returns how many tasks turned in a way.
func (m Model) Count(f Flip) int { return m.counts[f] }

// Move moves the cursor by rows, and stops at the ends.
func (m *Model) Move(rows int) {
	m.cursor = min(max(m.cursor+rows, 0), max(len(m.shown)-1, 0))
	m.scroll()
}

// Page is the number of rows that a page has.
func (m Model) Page() int { return max(m.height-2, 1) }

// Click puts the cursor on the task that is drawn in a row of the matrix, and
// reports whether there is one.
func (m *Model) Click(row int) bool {
	i := m.top + row - 1
	if row < 1 || row > m.height-2 || i >= len(m.shown) {
		return false
	}
	m.cursor = i
	return true
}

// scroll keeps the cursor in view.
func (m *Model) scroll() {
	m.top = min(m.top, m.cursor)
	m.top = max(m.top, m.cursor-m.Page()+1)
	m.top = max(min(m.top, len(m.shown)-m.Page()), 0)
}

// The fixed parts of a row: cursor, spaces around the arrow, the flip's sign and
// word.
const (
	flipWidth = len("= unknown")
	leastTask = 8
	mostTrial = 16 // trials of a side that are drawn; the others are counted
)

// layout is the width of each column; 0 is a column that has no room.
type layout struct{ task, before, after, flip int }

func (m Model) layout() layout {
	l := layout{before: trialsWidth(m.before), after: trialsWidth(m.after), flip: flipWidth}
	fixed := func() int { return 2 + 1 + l.before + 3 + l.after + 1 + l.flip }
	if m.width-fixed() < leastTask {
		l.flip = 1
	}
	longest := leastTask
	for _, r := range m.rows {
		longest = max(longest, celltext.Width(r.Task))
	}
	l.task = max(min(longest, m.width-fixed()), 0)
	return l
}

// trialsWidth is the width of a side's column, which its title must fit in.
func trialsWidth(trials int) int {
	width := min(trials, mostTrial)
	if trials > mostTrial {
		width = mostTrial + len("+99")
	}
	return max(width, len("before"))
}

// View draws the matrix, exactly as large as its size.
func (m Model) View() string {
	if m.width == 0 || m.height == 0 {
		return ""
	}
	l := m.layout()
	rows := make([]string, 0, m.height)
	rows = append(rows, m.header(l))
	for i := m.top; i < len(m.shown) && len(rows) < m.height-1; i++ {
		rows = append(rows, m.row(i, l))
	}
	if len(m.shown) == 0 && m.height > 2 {
		rows = append(rows, m.styles.Header.Render(celltext.Fit("  "+m.emptiness(), m.width)))
	}
	for len(rows) < m.height-1 {
		rows = append(rows, celltext.Spaces(m.width))
	}
	if m.height > 1 {
		rows = append(rows, m.summary())
	}
	if m.ascii {
		return celltext.ASCIIView(strings.Join(rows, "\n"))
	}
	return strings.Join(rows, "\n")
}

func (m Model) emptiness() string {
	if len(m.rows) == 0 {
		return "no outcomes"
	}
	return "no task turned"
}

func (m Model) header(l layout) string {
	text := "  " + celltext.Fit("task", l.task) + " " + celltext.Fit("before", l.before) + "   " + celltext.Fit("after", l.after)
	if legend := m.legend(); celltext.Width(text)+2+celltext.Width(legend) <= m.width {
		text = celltext.Fit(text, m.width-celltext.Width(legend)) + legend
	}
	return m.styles.Header.Render(celltext.Fit(text, m.width))
}

// legend says what the signs of outcomes mean, where there is room beside the
// titles.
func (m Model) legend() string {
	g := m.glyphs.outcomes
	return g[Pass] + " pass " + g[Fail] + " fail " + g[Timeout] + " timeout " + g[Error] + " error"
}

// row draws one task. Under the cursor everything but the signs is in one style.
func (m Model) row(i int, l layout) string {
	r, flip := m.rows[m.shown[i]], m.flips[m.shown[i]]
	ink, mark := m.inks.task, " "
	if i == m.cursor {
		ink, mark = m.inks.selected, m.glyphs.cursor
	}
	var b strings.Builder
	ink.Write(&b, mark+" "+celltext.Fit(r.Task, l.task)+" ")
	m.trials(&b, r.Before, l.before, ink)
	ink.Write(&b, " "+m.glyphs.arrow+" ")
	m.trials(&b, r.After, l.after, ink)
	ink.Write(&b, " ")
	sign := m.glyphs.flips[flip]
	if l.flip > 1 {
		sign += " " + flip.String()
	}
	m.inks.flips[flip].Write(&b, celltext.Fit(sign, l.flip))
	return celltext.FitStyled(b.String(), m.width)
}

// trials draws the outcomes of one side.
func (m Model) trials(b *strings.Builder, trials []Outcome, width int, ink celltext.Ink) {
	drawn := trials[:min(len(trials), mostTrial)]
	for _, o := range drawn {
		if o < 0 || o >= outcomes {
			o = Missing
		}
		m.inks.outcomes[o].Write(b, m.glyphs.outcomes[o])
	}
	rest := ""
	if more := len(trials) - len(drawn); more > 0 {
		rest = fmt.Sprintf("+%d", more)
	}
	ink.Write(b, celltext.Fit(rest, width-len(drawn)))
}

// summary counts the ways in which tasks turned, and the passes of both sides.
func (m Model) summary() string {
	text := fmt.Sprintf("  %s %d gained  %s %d lost  %s %d same", m.glyphs.flips[Gained], m.counts[Gained],
		m.glyphs.flips[Lost], m.counts[Lost], m.glyphs.flips[Same], m.counts[Same])
	if n := m.counts[Unknown]; n > 0 {
		text += fmt.Sprintf("  %s %d unknown", m.glyphs.flips[Unknown], n)
	}
	text += fmt.Sprintf("  passes %d %s %d", m.passes[0], m.glyphs.arrow, m.passes[1])
	if m.onlyFlips {
		text += fmt.Sprintf("  (%d of %d shown)", len(m.shown), len(m.rows))
	}
	return m.styles.Summary.Render(celltext.Fit(text, m.width))
}
