package logview

import (
	"sort"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/tui/widget/celltext"
)

// Level says which lines are shown.
type Level int

// The levels.
const (
	AllLines     Level = iota
	WarningsUp         // warnings and failures
	FailuresOnly       // failures
	levels
)

// String names a level as the status does, empty for all lines.
func (l Level) String() string {
	return [...]string{AllLines: "", WarningsUp: "warnings and failures", FailuresOnly: "failures only"}[l]
}

// admits reports whether lines of a kind are shown.
func (l Level) admits(k Kind) bool {
	return l == AllLines || k == Failure || l == WarningsUp && k == Warning
}

// maxKept is how many lines a sieve holds. Beyond it those far from the cursor are
// let go, and found again when somebody moves there.
const maxKept = 10_000

// sieve shows only the lines of a level. It looks at lines outwards from where it
// was put in, no farther than it takes to fill the screen and one more at either
// side, so that a log of any length opens at once.
type sieve struct {
	level Level
	start int64 // the line under the cursor when it was put in
	kept  []sieved
	// Lines from (inclusive) to (exclusive) were looked at.
	from, to int64

	cursor, top int64 // numbers of lines that are kept; 0 while there are none
	request     int   // the page that is under way; 0 for none
	dir         int64 // which way that page lies
	page        []Line
	read        int64 // lines looked at
	stopped     bool  // somebody ended the reading
}

// sieved is a line that passed.
type sieved struct {
	n int64
	entry
}

// Level is the level that is shown.
func (m Model) Level() Level {
	if m.sieve == nil {
		return AllLines
	}
	return m.sieve.level
}

// CycleLevel shows the next level: all lines, warnings and failures, failures only.
func (m *Model) CycleLevel() tea.Cmd { return m.SetLevel((m.Level() + 1) % levels) }

// SetLevel shows only the lines of a level, or all lines again, with the cursor on
// the line that it was on.
func (m *Model) SetLevel(l Level) tea.Cmd {
	at, was := m.current(), m.sieve
	following := m.following
	m.act()
	if l <= AllLines || l >= levels {
		if was != nil && at != 0 && !following {
			m.goTo(at)
		}
		return tea.Batch(m.fetch(), m.goOn())
	}
	m.anchor = 0
	m.sift(l, at)
	return m.goOn()
}

// sift puts a sieve in at a line.
func (m *Model) sift(l Level, at int64) {
	m.sieve = &sieve{level: l, start: at, from: at + 1, to: at + 1}
}

// current is the number of the line under the cursor, 0 when there is none.
func (m *Model) current() int64 {
	if m.sieve != nil {
		return m.sieve.cursor
	}
	return m.cursor
}

// index is where a line is among those that are kept: the first not before it.
func (s *sieve) index(n int64) int {
	return sort.Search(len(s.kept), func(i int) bool { return s.kept[i].n >= n })
}

// at is the kept line under the cursor.
func (s *sieve) at() (entry, bool) {
	if i := s.index(s.cursor); i < len(s.kept) && s.kept[i].n == s.cursor {
		return s.kept[i].entry, true
	}
	return entry{}, false
}

// wants says which way lines are to be looked at: 1, -1, or 0 for not at all.
func (m *Model) wants() int64 {
	s := m.sieve
	if s == nil || s.request != 0 || s.stopped || m.failed != nil {
		return 0
	}
	top, body := s.index(s.top), max(m.body(), 1)
	switch below := len(s.kept) - top - body; {
	case s.to <= m.total && (m.following || below < body):
		return 1
	case s.from > 1 && (top < body || len(s.kept) < body):
		return -1
	default:
		return 0
	}
}

// sieveStep looks at lines until the budget is used up, or lines must be asked for.
func (m *Model) sieveStep() tea.Cmd {
	s := m.sieve
	s.dir = m.wants()
	for budget := stepCost; budget > 0; {
		next := s.to
		if s.dir < 0 {
			next = s.from - 1
		}
		if s.dir == 0 || next < 1 || next > m.total {
			break
		}
		e, ok := m.sieveLook(next)
		if !ok {
			return m.sievePage(next)
		}
		budget -= len(e.text) + entryBytes
		s.take(next, e)
		m.sieveSettle()
		s.dir = m.wants()
	}
	return nil
}

// sieveLook returns a line of the window or of the page that was read.
func (m *Model) sieveLook(n int64) (entry, bool) {
	if m.win.has(n) {
		return *m.win.at(n), true
	}
	if p := m.sieve.page; len(p) > 0 && n >= p[0].N && n <= p[len(p)-1].N {
		return m.read(p[n-p[0].N]), true
	}
	return entry{}, false
}

// take looks at a line that lies beside those that were looked at.
func (s *sieve) take(n int64, e entry) {
	s.read++
	passes := s.level.admits(e.kind)
	if n >= s.to {
		if s.to = n + 1; passes {
			s.kept = append(s.kept, sieved{n, e})
		}
		if len(s.kept) > maxKept {
			s.kept = s.kept[len(s.kept)-maxKept:]
			s.from = s.kept[0].n
		}
		return
	}
	if s.from = n; passes {
		s.kept = append([]sieved{{n, e}}, s.kept...)
	}
	if len(s.kept) > maxKept {
		s.kept = s.kept[:maxKept]
		s.to = s.kept[maxKept-1].n + 1
	}
}

// sievePage asks for the next lines to look at.
func (m *Model) sievePage(next int64) tea.Cmd {
	s := m.sieve
	from, limit := next, min(int64(scanPage), m.total-next+1)
	if s.dir < 0 {
		from = max(next-scanPage+1, 1)
		limit = next - from + 1
	}
	s.page = nil
	s.request = m.request()
	return m.lines(s.request, from, limit)
}

// sievedPage takes the lines that the sieve asked for.
func (m *Model) sievedPage(lines []Line, err error) tea.Cmd {
	s := m.sieve
	s.request = 0
	if err != nil || len(lines) == 0 {
		m.fail(err)
		return nil
	}
	s.page = lines
	return m.goOn()
}

// sieveSettle brings cursor and top to lines that are kept.
func (m *Model) sieveSettle() {
	s := m.sieve
	if len(s.kept) == 0 {
		s.cursor, s.top = 0, 0
		return
	}
	last, body := len(s.kept)-1, max(m.body(), 1)
	at := min(s.index(s.cursor), last)
	switch {
	case m.following:
		at = last
	case s.cursor == 0: // the nearest above where it was put in
		at = max(s.index(s.start+1)-1, 0)
	}
	top := min(s.index(s.top), max(len(s.kept)-body, 0))
	if s.top == 0 || m.following {
		top = max(len(s.kept)-body, 0)
	}
	top = min(max(top, at-body+1), at)
	s.cursor, s.top = s.kept[at].n, s.kept[top].n
}

// sieveMove moves the cursor by rows, or scrolls by them. At the end of the log it
// follows again.
func (m *Model) sieveMove(rows int, scroll bool) tea.Cmd {
	s := m.sieve
	m.failed, m.notice, s.stopped = nil, "", false
	if len(s.kept) > 0 {
		last, body := len(s.kept)-1, max(m.body(), 1)
		at := s.index(s.cursor)
		if rows > 0 && at == last && s.to > m.total {
			m.follow()
		} else {
			m.pause()
		}
		to := min(max(at+rows, 0), last)
		if scroll {
			top := min(max(s.index(s.top)+rows, 0), max(len(s.kept)-body, 0))
			if s.kept[top].n != s.top {
				to = min(max(at, top), top+body-1, last)
			}
			s.top = s.kept[top].n
		}
		s.cursor = s.kept[to].n
		m.sieveSettle()
	}
	return tea.Batch(m.fetch(), m.goOn())
}

// sieveEnds goes to the first line that is known to pass, or follows the end.
func (m *Model) sieveEnds(end bool) tea.Cmd {
	s := m.sieve
	switch {
	case !end:
		return m.sieveMove(-len(s.kept), false)
	case m.total-s.to > scanPage: // what is new is nearer to the end than to here
		m.sift(s.level, m.total)
	}
	m.failed, m.notice, m.sieve.stopped = nil, "", false
	m.follow()
	return tea.Batch(m.fetch(), m.goOn())
}

// sieveClick puts the cursor on a row.
func (m *Model) sieveClick(row int) tea.Cmd {
	s := m.sieve
	if i := s.index(s.top) + row; row >= 0 && row < m.body() && i < len(s.kept) {
		m.pause()
		s.cursor = s.kept[i].n
	}
	return nil
}

// sieveRows are the rows of the lines that are kept.
func (m *Model) sieveRows() []string {
	s := m.sieve
	if len(s.kept) == 0 && m.wants() == 0 && s.request == 0 {
		return []string{m.inks.status.Paint(celltext.Fit("  no such lines here", m.width))}
	}
	var rows []string
	for i := s.index(s.top); i < len(s.kept) && len(rows) < m.body(); i++ {
		k := &s.kept[i]
		ink := m.ink(k.n, &k.entry)
		rows = append(rows, m.lead(k.n, &k.entry, ink, true)+m.cutRow(&k.entry, ink))
	}
	return rows
}

// sieveSays is what the status says of the sieve.
func (m *Model) sieveSays(add func(alert bool, format string, args ...any)) {
	s := m.sieve
	reading := s.request != 0 || m.wants() != 0
	all := s.from <= 1 && s.to > m.total
	switch {
	case reading:
		add(true, "%s: %d, reading%s %s read, %s stops", s.level, len(s.kept), m.glyphs.cut, thousands(s.read), m.stopKey)
	case all:
		add(true, "%s: %d in the whole log", s.level, len(s.kept))
	default:
		add(true, "%s: %d among the %s read", s.level, len(s.kept), counted(s.to-s.from, "line"))
	}
	if s.cursor != 0 {
		add(false, "line %s of %s", thousands(s.cursor), thousands(m.total))
	}
}
