package logview

import (
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// search is a query and the lines of the window that have it.
type search struct {
	matcher *matcher
	query   string
	hits    []int64 // in order
	// Lines from (inclusive) to (exclusive) are counted.
	from, to int64
}

// stepCost is how much of counting and searching one Step does, in the units of
// matcher.cost: a few milliseconds.
const stepCost = 1 << 19

// Search looks for a query: plain text, or a regular expression. Unless it has an
// upper-case letter, case does not matter. The cursor goes to the nearest line
// that has it, upwards when the pane follows and downwards otherwise. An error
// says what is wrong with the query, and leaves everything as it was.
func (m *Model) Search(query string, regex bool) (tea.Cmd, error) {
	q, err := newMatcher(query, regex)
	if err != nil {
		return nil, err
	}
	m.act()
	m.search = &search{matcher: q, query: query}
	m.recount()
	dir := int64(1)
	if m.following {
		dir = -1
	}
	return m.find(seekMatch, m.cursor, dir), nil
}

// Query returns what is searched for, empty for nothing.
func (m *Model) Query() string {
	if m.search == nil {
		return ""
	}
	return m.search.query
}

// ClearSearch forgets the query, and ends a search that is under way.
func (m *Model) ClearSearch() {
	m.act()
	m.search = nil
}

// Stop ends a search or a sieve's reading that is under way and reports whether there was one.
func (m *Model) Stop() bool {
	was := m.scan != nil
	m.stopScan()
	if s := m.sieve; s != nil && (s.request != 0 || m.wants() != 0) {
		was, s.stopped, s.request = true, true, 0
	}
	return was
}

func (m *Model) stopScan() { m.scan = nil }

// NextMatch goes to the next line that has the query, down the log. Lines that are
// not loaded are searched too, page by page.
func (m *Model) NextMatch() tea.Cmd { return m.match(1) }

// PrevMatch goes to the line before that has the query.
func (m *Model) PrevMatch() tea.Cmd { return m.match(-1) }

func (m *Model) match(dir int64) tea.Cmd {
	m.act()
	if m.search == nil {
		m.notice = "nothing is searched for"
		return nil
	}
	return m.find(seekMatch, m.cursor+dir, dir)
}

// NextFailure goes to the next line that the classifier calls a Failure, down the
// log.
func (m *Model) NextFailure() tea.Cmd { m.act(); return m.find(seekFailure, m.cursor+1, 1) }

// PrevFailure goes to the Failure before.
func (m *Model) PrevFailure() tea.Cmd { m.act(); return m.find(seekFailure, m.cursor-1, -1) }

// GotoTime goes to the first line that is not before t, by halving the log.
func (m *Model) GotoTime(t time.Time) tea.Cmd {
	m.act()
	return m.seekTime(t, 0)
}

// Matches returns where the cursor is among the loaded lines that have the query:
// the how-manieth of them it is on (0 for none), how many there are, and whether
// that is all of the log.
func (m *Model) Matches() (i, n int, all bool) {
	if m.search == nil {
		return 0, 0, false
	}
	at, found := slices.BinarySearch(m.search.hits, m.cursor)
	if found {
		i = at + 1
	}
	all = m.win.first <= 1 && m.win.last() >= m.total && m.search.from <= m.win.first && m.search.to > m.win.last()
	return i, len(m.search.hits), all
}

// recount starts counting anew, where the screen is.
func (m *Model) recount() {
	if m.search != nil {
		m.search.hits, m.search.from, m.search.to = nil, m.win.last()+1, m.win.last()+1
	}
}

// trimHits forgets the counts of lines that left the window.
func (m *Model) trimHits() {
	s := m.search
	if s == nil {
		return
	}
	s.from, s.to = max(s.from, m.win.first), min(s.to, m.win.last()+1)
	if s.from > s.to { // nothing of what was counted is left
		m.recount()
		return
	}
	low, _ := slices.BinarySearch(s.hits, s.from)
	high, _ := slices.BinarySearch(s.hits, s.to)
	s.hits = s.hits[low:high]
}

// busy reports whether there is work for a Step.
func (m *Model) busy() bool {
	if m.scan != nil && m.scan.request == 0 {
		return true
	}
	if m.wants() != 0 {
		return true
	}
	return m.search != nil && !m.win.empty() && (m.search.from > m.win.first || m.search.to <= m.win.last())
}

// work does one Step of work: first what somebody waits for, then counting.
func (m *Model) work() tea.Cmd {
	if m.scan != nil && m.scan.request == 0 {
		return tea.Batch(m.scanStep(), m.goOn())
	}
	if m.wants() != 0 {
		return tea.Batch(m.sieveStep(), m.goOn())
	}
	m.count(stepCost)
	return m.goOn()
}

// count counts matches in lines of the window that are not counted, newest first.
func (m *Model) count(budget int) {
	s := m.search
	if s == nil || m.win.empty() {
		return
	}
	for s.to <= m.win.last() && budget > 0 {
		if budget -= m.test(s.to); m.hit(s.to) {
			s.hits = append(s.hits, s.to)
		}
		s.to++
	}
	var found []int64
	for s.from > m.win.first && budget > 0 {
		s.from--
		if budget -= m.test(s.from); m.hit(s.from) {
			found = append(found, s.from)
		}
	}
	if len(found) > 0 {
		slices.Reverse(found)
		s.hits = append(found, s.hits...)
	}
}

// test is what looking at a line costs.
func (m *Model) test(n int64) int { return m.search.matcher.cost(m.win.at(n).text) }

func (m *Model) hit(n int64) bool { return m.search.matcher.matches(m.win.at(n).text) }
