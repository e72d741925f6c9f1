package logview

import (
	"errors"

	tea "github.com/charmbracelet/bubbletea"
)

// errNoLines is why a request failed that was answered without what it asked for.
var errNoLines = errors.New("the log has no such lines any more")

// NeedTail asks for the last Limit lines of the log.
type NeedTail struct {
	ID      string
	Request int
	Limit   int
}

// NeedLines asks for the lines that are numbered After+1 to After+Limit.
type NeedLines struct {
	ID      string
	Request int
	After   int64
	Limit   int
}

// Page brings lines: an answer to a request, or news from a stream.
type Page struct {
	ID      string
	Request int    // of the request that it answers; 0 for news
	Lines   []Line // consecutive, in order
	Total   int64  // lines that the log has; 0 when not known
	Ended   bool   // no further line will come
	Err     error  // why a request has no answer
}

// Step makes the pane go on with long work. The pane sends it to itself.
type Step struct{ ID string }

// Update takes a Page or a Step. It ignores everything else.
func (m Model) Update(msg tea.Msg) (Model, tea.Cmd) {
	switch msg := msg.(type) {
	case Page:
		if msg.ID == m.id {
			cmd := m.take(msg)
			return m, cmd
		}
	case Step:
		if msg.ID == m.id {
			m.stepping = false
			cmd := m.work()
			return m, cmd
		}
	}
	return m, nil
}

// take uses a page.
func (m *Model) take(p Page) tea.Cmd {
	lines := consecutive(p.Lines)
	m.total = max(m.total, p.Total)
	if len(lines) > 0 {
		m.total = max(m.total, lines[len(lines)-1].N)
	}
	m.ended = m.ended || p.Ended
	if m.scan != nil && p.Request != 0 && p.Request == m.scan.request {
		return m.scanned(lines, p.Err)
	}
	if m.sieve != nil && p.Request != 0 && p.Request == m.sieve.request {
		return m.sievedPage(lines, p.Err)
	}
	asked := p.Request != 0 && p.Request == m.waiting
	first, last := m.win.first, m.win.last()
	if asked {
		m.waiting = 0
		if p.Err == nil && len(lines) == 0 && m.total == 0 {
			m.goal = 0 // an empty log
		} else if p.Err != nil || len(lines) == 0 {
			m.fail(p.Err)
			return nil
		}
	}
	if len(lines) > 0 {
		m.merge(lines, asked)
		if asked && (m.goal != 0 || m.win.first == first && m.win.last() == last) {
			m.fail(nil) // asking again would bring the same
		}
	}
	return tea.Batch(m.fetch(), m.goOn())
}

// Retry asks again for what could not be loaded. So does every move; an owner calls
// it when the reason for the failure is gone.
func (m *Model) Retry() tea.Cmd {
	m.failed = nil
	return m.fetch()
}

// fail remembers that lines could not be loaded.
func (m *Model) fail(err error) {
	if err == nil {
		err = errNoLines
	}
	m.failed = err
	m.goal = 0
}

// consecutive returns the lines up to the first that does not follow the one
// before it.
func consecutive(lines []Line) []Line {
	for i, l := range lines {
		if l.N < 1 || i > 0 && l.N != lines[i-1].N+1 {
			return lines[:i]
		}
	}
	return lines
}

// merge brings lines into the window, or replaces it with them.
func (m *Model) merge(lines []Line, asked bool) {
	first, last := lines[0].N, lines[len(lines)-1].N
	switch {
	case asked && m.goal == tail:
		m.goal = 0
		m.replace(lines, last)
	case asked && m.goal >= first && m.goal <= last:
		n := m.goal
		m.replace(lines, n)
		m.show(n)
	case m.goal != 0: // news from elsewhere: the total is all that matters
	case m.win.empty():
		m.replace(lines, last)
	case m.win.joins(first, last):
		m.join(lines)
	case m.following && first-m.win.last() > int64(m.pageSize()):
		m.skipped += first - m.win.last() - 1
		m.replace(lines, last)
	}
	m.settle()
}

// replace makes lines the window, of which those near a line are kept when there
// are too many.
func (m *Model) replace(lines []Line, near int64) {
	m.win.set(lines[0].N, m.readAll(lines))
	m.trim(near)
	m.recount()
}

// join adds what the window does not have of lines that lie in or beside it.
func (m *Model) join(lines []Line) {
	before := min(max(m.win.first-lines[0].N, 0), int64(len(lines)))
	after := min(max(m.win.last()+1-lines[0].N, 0), int64(len(lines)))
	m.win.append(m.readAll(lines[after:]))
	m.win.prepend(m.readAll(lines[:before]))
	near := m.cursor
	if m.following {
		near = m.win.last()
	}
	m.trim(near)
	m.trimHits()
}

// trim holds the window to its bounds. What is kept around a line is more than
// what fetch wants there, so that the two do not work against each other.
func (m *Model) trim(near int64) {
	m.win.trim(near, int64(m.pageSize()+2*m.height), m.maxLines, m.maxBytes)
}

func (m *Model) readAll(lines []Line) []entry {
	entries := make([]entry, len(lines))
	for i, l := range lines {
		entries[i] = m.read(l)
	}
	return entries
}

// fetch asks for what the screen needs next, one request at a time.
func (m *Model) fetch() tea.Cmd {
	if m.waiting != 0 || m.failed != nil {
		return nil
	}
	limit := int64(m.pageSize())
	margin := limit/2 + int64(m.height)
	switch {
	case m.goal == tail:
		return m.needTail()
	case m.goal > 0:
		return m.needLines(m.goal-limit/2, limit)
	case m.win.empty():
		if m.total == 0 {
			return nil
		}
		return m.needTail()
	case m.following && m.total-m.win.last() > limit:
		return m.needTail()
	case m.following && m.total > m.win.last():
		return m.needLines(m.win.last()+1, limit)
	case m.following:
		return nil
	case m.win.first > 1 && m.low() == m.win.first && m.top.line-m.win.first < margin:
		from := max(m.win.first-limit, 1)
		return m.needLines(from, m.win.first-from)
	case m.win.last() < m.total && m.high() == m.win.last() && m.win.last()-m.top.line < margin+int64(m.height):
		return m.needLines(m.win.last()+1, limit)
	}
	return nil
}

// pageSize is how many lines are asked for at once: enough for a move or two by a
// page before the answer to the next request.
func (m *Model) pageSize() int { return max(m.page, 4*m.height) }

// request numbers the next request.
func (m *Model) request() int {
	m.requests++
	return m.requests
}

func (m *Model) needTail() tea.Cmd {
	m.waiting = m.request()
	need := NeedTail{ID: m.id, Request: m.waiting, Limit: m.pageSize()}
	return func() tea.Msg { return need }
}

// needLines asks for lines from a number on.
func (m *Model) needLines(from, limit int64) tea.Cmd {
	m.waiting = m.request()
	return m.lines(m.waiting, from, limit)
}

func (m *Model) lines(request int, from, limit int64) tea.Cmd {
	need := NeedLines{ID: m.id, Request: request, After: max(from-1, 0), Limit: int(limit)}
	return func() tea.Msg { return need }
}

// goOn schedules a Step if there is long work and none is under way.
func (m *Model) goOn() tea.Cmd {
	if m.stepping || !m.busy() {
		return nil
	}
	m.stepping = true
	step := Step{ID: m.id}
	return func() tea.Msg { return step }
}
