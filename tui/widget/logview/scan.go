package logview

import (
	"sort"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// seeking is what a scan looks for.
type seeking int

const (
	seekMatch seeking = iota
	seekFailure
	seekTimeOf
)

// scan is a search for a line, which goes on in lines that are not loaded. They
// are read in pages of their own, so that the screen stays where it is until there
// is something to show.
type scan struct {
	what    seeking
	dir     int64 // 1 or -1
	next    int64 // the next line to look at
	request int   // the page that is under way; 0 for none
	page    []Line
	read    int64 // lines looked at so far

	// For a time: the line is among low to high, or is high+1.
	when      time.Time
	low, high int64
	offset    int64 // added to the line that is found
}

// find looks for a line from number n on, in the window at once and then in Steps.
func (m *Model) find(what seeking, n, dir int64) tea.Cmd {
	if m.total == 0 {
		m.notice = notFound(what, dir)
		return nil
	}
	m.scan = &scan{what: what, dir: dir, next: n}
	return tea.Batch(m.scanStep(), m.goOn())
}

// notFound is the notice that a scan ends with.
func notFound(what seeking, dir int64) string {
	noun := map[seeking]string{seekMatch: "match", seekFailure: "failure", seekTimeOf: "line at that time"}[what]
	if dir < 0 {
		return "no " + noun + " above"
	}
	return "no " + noun + " below"
}

// scanStep looks at lines until one is found, the budget is used up, or lines must
// be asked for.
func (m *Model) scanStep() tea.Cmd {
	s := m.scan
	if s.what == seekTimeOf {
		return m.halve()
	}
	for budget := stepCost; budget > 0; s.next += s.dir {
		if s.next < 1 || s.next > m.total {
			m.stopScan()
			m.notice = notFound(s.what, s.dir)
			return nil
		}
		e, ok := m.lookAt(s.next)
		if !ok {
			return m.scanPage()
		}
		if m.only >= 0 && m.chapterAt(s.next, e.at) != m.only {
			m.stopScan()
			m.notice = notFound(s.what, s.dir) + " in this stage"
			return nil
		}
		s.read++
		if s.what == seekMatch {
			budget -= m.search.matcher.cost(e.text)
		} else {
			budget -= len(e.text) + entryBytes
		}
		if s.what == seekMatch && m.search.matcher.matches(e.text) || s.what == seekFailure && e.kind == Failure {
			return m.found(s.next)
		}
	}
	return nil // goOn schedules the next Step
}

// lookAt returns a line of the window or of the page that was read.
func (m *Model) lookAt(n int64) (entry, bool) {
	if m.win.has(n) {
		return *m.win.at(n), true
	}
	if p := m.scan.page; len(p) > 0 && n >= p[0].N && n <= p[len(p)-1].N {
		return m.read(p[n-p[0].N]), true
	}
	return entry{}, false
}

// scanPage asks for the next lines to look at.
func (m *Model) scanPage() tea.Cmd {
	s := m.scan
	from, limit := s.next, int64(scanPage)
	if s.dir < 0 {
		from = max(s.next-limit+1, 1)
		limit = s.next - from + 1
	}
	s.page = nil
	s.request = m.request()
	return m.lines(s.request, from, limit)
}

// scanned takes the lines that a scan asked for.
func (m *Model) scanned(lines []Line, err error) tea.Cmd {
	s := m.scan
	s.request = 0
	covers := len(lines) > 0 && lines[0].N <= s.next && s.next <= lines[len(lines)-1].N
	if err != nil || !covers {
		m.stopScan()
		m.fail(err)
		return nil
	}
	s.page = lines
	return m.goOn()
}

// found ends a scan at a line.
func (m *Model) found(n int64) tea.Cmd {
	s := m.scan
	m.stopScan()
	m.pause()
	if p := s.page; s.what != seekTimeOf && !m.win.has(n) && len(p) > 0 && n >= p[0].N && n <= p[len(p)-1].N {
		m.waiting = 0 // what is under way is of another place
		half := int64(m.pageSize()) / 2
		from, to := max(n-half, p[0].N), min(n+half, p[len(p)-1].N)
		m.replace(p[from-p[0].N:to-p[0].N+1], n)
	}
	m.goTo(n)
	return tea.Batch(m.fetch(), m.goOn())
}

// seekTime looks for the first line that is not before t, and goes offset lines
// beyond.
func (m *Model) seekTime(t time.Time, offset int64) tea.Cmd {
	if m.total == 0 {
		m.notice = notFound(seekTimeOf, 1)
		return nil
	}
	m.scan = &scan{what: seekTimeOf, when: t, low: 1, high: m.total, offset: offset}
	return tea.Batch(m.scanStep(), m.goOn())
}

// halve uses the line that was asked for, or the window before the first is, and
// asks for the middle of the lines that are left. The window answers without a
// request when it holds the place.
func (m *Model) halve() tea.Cmd {
	s := m.scan
	switch {
	case len(s.page) > 0 && s.page[s.next-s.page[0].N].At.Before(s.when):
		s.low = s.next + 1
	case len(s.page) > 0:
		s.high = s.next - 1
	case !m.win.empty():
		if n, ok := m.timeInWindow(); ok {
			return m.arrive(n)
		}
	}
	if s.low > s.high {
		return m.arrive(s.low)
	}
	s.next = s.low + (s.high-s.low)/2
	s.request = m.request()
	return m.lines(s.request, s.next, 1)
}

// timeInWindow finds the line of a time in the window, or narrows the search to the
// side on which it lies.
func (m *Model) timeInWindow() (n int64, ok bool) {
	s := m.scan
	first, last := m.win.first, m.win.last()
	n = first + int64(sort.Search(len(m.win.lines), func(i int) bool { return !m.win.lines[i].at.Before(s.when) }))
	switch {
	case n > last && last < m.total:
		s.low = last + 1
	case n == first && first > 1: // lines before may be as late
		s.high = first - 1
	default:
		return n, true
	}
	return 0, false
}

// arrive ends a search for a time; line total+1 stands for the end of the log.
func (m *Model) arrive(n int64) tea.Cmd {
	n += m.scan.offset
	if n > m.total {
		m.notice = notFound(seekTimeOf, 1)
	}
	return m.found(min(n, m.total))
}
