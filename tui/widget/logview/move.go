package logview

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/tui/widget/celltext"
)

// place is a row of the log: a line and, when lines are wrapped, a row of it.
type place struct {
	line int64
	row  int
}

func (p place) before(q place) bool { return p.line < q.line || p.line == q.line && p.row < q.row }

// Up moves the cursor a line up.
func (m *Model) Up() tea.Cmd { return m.moveBy(-1) }

// Down moves the cursor a line down. At the end of the log it follows again.
func (m *Model) Down() tea.Cmd { return m.moveBy(1) }

// PageUp scrolls a page up, with one row of the old page in view.
func (m *Model) PageUp() tea.Cmd { return m.Scroll(-max(m.body()-1, 1)) }

// PageDown scrolls a page down. At the end of the log it follows again.
func (m *Model) PageDown() tea.Cmd { return m.Scroll(max(m.body()-1, 1)) }

// HalfUp scrolls half a page up.
func (m *Model) HalfUp() tea.Cmd { return m.Scroll(-max(m.body()/2, 1)) }

// HalfDown scrolls half a page down. At the end of the log it follows again.
func (m *Model) HalfDown() tea.Cmd { return m.Scroll(max(m.body()/2, 1)) }

// Home goes to the first line, of the chapter when only one is shown.
func (m *Model) Home() tea.Cmd {
	if m.sieve != nil {
		return m.sieveEnds(false)
	}
	if m.only >= 0 {
		return m.toChapter(m.only)
	}
	return m.GotoLine(1)
}

// End goes to the last line and follows the log. When only one chapter is shown
// and it is not the last, it goes to the chapter's last line.
func (m *Model) End() tea.Cmd {
	if m.sieve != nil {
		return m.sieveEnds(true)
	}
	m.act()
	if m.only >= 0 && m.only+1 < len(m.chapters) {
		return m.toChapterEnd()
	}
	m.follow()
	return tea.Batch(m.fetch(), m.goOn())
}

// ToggleFollow follows the end of the log, or stops following where it is.
func (m *Model) ToggleFollow() tea.Cmd {
	if !m.following {
		return m.End()
	}
	if m.sieve == nil {
		m.act()
	}
	m.pause()
	return m.fetch()
}

// Left scrolls half a page to the left. Wrapped lines do not scroll.
func (m *Model) Left() { m.sideways(-1) }

// Right scrolls half a page to the right, as far as a line can be seen.
func (m *Model) Right() { m.sideways(1) }

func (m *Model) sideways(d int) {
	if !m.wrap {
		m.column = min(max(m.column+d*max(m.textWidth()/2, 1), 0), m.maxVisible)
	}
}

// Click puts the cursor on the line that is drawn in a row of the pane.
func (m *Model) Click(row int) tea.Cmd {
	if m.sieve != nil {
		return m.sieveClick(row)
	}
	if m.cursor == 0 || row < 0 || row >= m.body() {
		return nil
	}
	m.act()
	m.pause()
	m.cursor = m.walk(m.top, row).line
	return m.fetch()
}

// GotoLine goes to a line, which is loaded if need be. Numbers outside of the log
// mean its ends.
func (m *Model) GotoLine(n int64) tea.Cmd {
	m.act()
	m.pause()
	m.goTo(n)
	return tea.Batch(m.fetch(), m.goOn())
}

// goTo shows a line, now or when it has come.
func (m *Model) goTo(n int64) {
	n = max(n, 1)
	if m.total > 0 {
		n = min(n, m.total)
	}
	if m.win.has(n) {
		m.show(n)
		return
	}
	m.goal = n
	m.waiting = 0 // what is under way is of another place
}

// show puts the cursor on a line of the window, in the middle of the screen unless
// it is in view.
func (m *Model) show(n int64) {
	m.goal = 0
	m.cursor = n
	if !m.win.has(m.top.line) || m.top.line > n || m.bottom().line < n {
		m.top = m.walk(place{line: n}, -m.body()/2)
	}
	m.settle()
	m.reveal()
}

// moveBy moves the cursor by lines.
func (m *Model) moveBy(d int64) tea.Cmd {
	if m.sieve != nil {
		return m.sieveMove(int(d), false)
	}
	m.act()
	if m.cursor == 0 || d > 0 && m.resume() {
		return m.fetch()
	}
	m.pause()
	m.cursor = min(max(m.cursor+d, m.low()), m.high())
	m.reveal()
	return m.fetch()
}

// Scroll scrolls by rows, as a mouse wheel does; the cursor stays in view. Down at
// the end of the log it follows again.
func (m *Model) Scroll(rows int) tea.Cmd {
	if m.sieve != nil {
		return m.sieveMove(rows, true)
	}
	m.act()
	if m.cursor == 0 || rows > 0 && m.resume() {
		return m.fetch()
	}
	m.pause()
	top := m.walk(m.top, rows)
	if end := m.lastTop(); end.before(top) {
		top = end
	}
	if top == m.top { // nothing to scroll: the cursor goes to the end instead
		if rows < 0 {
			m.cursor = m.low()
		} else {
			m.cursor = m.high()
		}
	}
	m.top = top
	m.cursor = min(max(m.cursor, m.top.line), m.bottom().line)
	return m.fetch()
}

// resume follows again when the cursor is on the last line of the log, and reports
// whether the pane follows now.
func (m *Model) resume() bool {
	if !m.following && m.cursor == m.total && m.only < 0 {
		m.follow()
	}
	return m.following
}

// follow goes to the end and stays there.
func (m *Model) follow() {
	m.following, m.skipped, m.goal = true, 0, 0
	if m.total-m.win.last() > int64(m.pageSize()) || m.win.empty() {
		m.goal = tail
		m.waiting = 0
	}
	m.settle()
}

// pause stops following.
func (m *Model) pause() {
	if m.following {
		m.following, m.pausedAt = false, m.total
	}
}

// act notes that somebody did something among all lines: old news is cleared, what
// failed may be tried again, and a sieve is taken out.
func (m *Model) act() {
	m.failed, m.notice, m.sieve = nil, "", nil
	m.stopScan()
}

// body is the number of rows that show lines.
func (m *Model) body() int {
	if m.height < 2 {
		return m.height
	}
	return m.height - 1
}

// rows is the number of rows that line n of the window takes.
func (m *Model) rows(n int64) int {
	if !m.wrap {
		return 1
	}
	e := m.win.at(n)
	rows := celltext.Rows(e.text, m.textWidth())
	if e.cut {
		rows++ // the note on its length
	}
	return rows
}

// walk goes d rows from a place of the window, and stops at the ends of what is
// shown.
func (m *Model) walk(p place, d int) place {
	if m.win.empty() {
		return place{}
	}
	low, high := m.low(), m.high()
	for d > 0 {
		left := m.rows(p.line) - p.row - 1
		if d <= left || p.line >= high {
			return place{p.line, p.row + min(d, left)}
		}
		d -= left + 1
		p = place{line: p.line + 1}
	}
	for d < 0 {
		if -d <= p.row || p.line <= low {
			return place{p.line, max(p.row+d, 0)}
		}
		d += p.row + 1
		p = place{line: p.line - 1, row: m.rows(p.line-1) - 1}
	}
	return p
}

// lastTop is the place from which the screen ends with the last row.
func (m *Model) lastTop() place {
	high := m.high()
	return m.walk(place{high, m.rows(high) - 1}, 1-max(m.body(), 1))
}

// settle brings cursor and top back to lines that there are, after the window or
// the size has changed.
func (m *Model) settle() {
	if m.sieve != nil {
		m.sieveSettle()
	}
	if m.win.empty() {
		m.cursor, m.top = 0, place{}
		return
	}
	low, high := m.low(), m.high()
	if m.following || m.cursor == 0 {
		m.cursor, m.top = high, m.lastTop()
		return
	}
	m.cursor = min(max(m.cursor, low), high)
	switch {
	case m.top.line < low:
		m.top = place{line: low}
	case m.top.line > high:
		m.top = place{line: high}
	}
	m.top.row = min(m.top.row, m.rows(m.top.line)-1)
	if end := m.lastTop(); end.before(m.top) {
		m.top = end
	}
	start, end := m.span(m.cursor)
	if end.before(m.top) || m.bottom().before(start) {
		m.reveal()
	}
}

// span is the first and the last row of a line.
func (m *Model) span(n int64) (start, end place) {
	return place{line: n}, place{n, m.rows(n) - 1}
}

// bottom is the place in the last row of the screen.
func (m *Model) bottom() place { return m.walk(m.top, max(m.body()-1, 0)) }

// reveal scrolls as little as it takes to show the line under the cursor, from its
// start when it is higher than the screen.
func (m *Model) reveal() {
	start, end := m.span(m.cursor)
	switch body := max(m.body(), 1); {
	case start.before(m.top), end.row >= body:
		m.top = start
	case m.bottom().before(end):
		m.top = m.walk(end, 1-body)
	}
}
