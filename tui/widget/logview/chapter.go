package logview

import (
	"sort"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// Chapter is a part of the log, such as a stage. It starts at a line, or at a time
// when the line is not known, and ends where the next starts.
type Chapter struct {
	Name  string
	First int64     // number of its first line; 0 when only the time is known
	At    time.Time // when it starts
}

// SetChapters sets the chapters, in order. Lines before the first are in none.
func (m *Model) SetChapters(chapters []Chapter) {
	m.chapters = chapters
	if m.only >= len(chapters) {
		m.only = -1
	}
	m.settle()
}

// NextChapter goes to the start of the next chapter.
func (m *Model) NextChapter() tea.Cmd { return m.jump(1) }

// PrevChapter goes to the start of the chapter, and from there to the start of the
// one before.
func (m *Model) PrevChapter() tea.Cmd { return m.jump(-1) }

func (m *Model) jump(d int) tea.Cmd {
	m.act()
	if m.cursor == 0 || len(m.chapters) == 0 {
		m.notice = "no stages are known"
		return nil
	}
	i := m.chapterOf(m.cursor)
	if d > 0 {
		i++
	} else if m.starts(m.cursor) {
		i--
	}
	switch {
	case i < 0:
		return m.Home()
	case i >= len(m.chapters):
		m.notice = "no stage below"
		return nil
	}
	if m.only >= 0 {
		m.only = i
	}
	return m.toChapter(i)
}

// ShowOnly keeps the screen, moves and searches inside one chapter, by its index;
// -1 shows all. The cursor goes to the chapter's start unless it is inside.
func (m *Model) ShowOnly(i int) tea.Cmd {
	m.act()
	if i < 0 || i >= len(m.chapters) {
		m.only = -1
		m.settle()
		return m.fetch()
	}
	m.only = i
	if m.cursor != 0 && m.chapterOf(m.cursor) == i {
		m.settle()
		return m.fetch()
	}
	return m.toChapter(i)
}

// toChapter goes to the start of a chapter.
func (m *Model) toChapter(i int) tea.Cmd {
	m.pause()
	if c := m.chapters[i]; c.First == 0 {
		return m.seekTime(c.At, 0)
	}
	m.goTo(m.chapters[i].First)
	return tea.Batch(m.fetch(), m.goOn())
}

// toChapterEnd goes to the last line of the only chapter, which is not the last.
func (m *Model) toChapterEnd() tea.Cmd {
	m.pause()
	next := m.chapters[m.only+1]
	if next.First == 0 {
		return m.seekTime(next.At, -1)
	}
	m.goTo(next.First - 1)
	return tea.Batch(m.fetch(), m.goOn())
}

// chapterOf is the chapter of line n of the window, -1 for none.
func (m *Model) chapterOf(n int64) int {
	if !m.win.has(n) {
		return -1
	}
	return m.chapterAt(n, m.win.at(n).at)
}

// chapterAt is the chapter of a line with a time: the last that has begun.
func (m *Model) chapterAt(n int64, at time.Time) int {
	for i := len(m.chapters) - 1; i >= 0; i-- {
		if c := m.chapters[i]; c.First > 0 && c.First <= n || c.First == 0 && !c.At.After(at) {
			return i
		}
	}
	return -1
}

// starts reports whether line n is the first of its chapter. Of the first line of
// the window that is known only when the chapter's line is.
func (m *Model) starts(n int64) bool {
	i := m.chapterOf(n)
	switch {
	case i < 0:
		return false
	case m.chapters[i].First > 0:
		return m.chapters[i].First == n
	default:
		return n == 1 || m.win.has(n-1) && m.chapterOf(n-1) < i
	}
}

// low is the first line of the window that is shown.
func (m *Model) low() int64 {
	if m.only < 0 {
		return m.win.first
	}
	i := sort.Search(len(m.win.lines), func(i int) bool { return m.chapterAt(m.win.first+int64(i), m.win.lines[i].at) >= m.only })
	return min(m.win.first+int64(i), m.win.last())
}

// high is the last line of the window that is shown.
func (m *Model) high() int64 {
	if m.only < 0 {
		return m.win.last()
	}
	i := sort.Search(len(m.win.lines), func(i int) bool { return m.chapterAt(m.win.first+int64(i), m.win.lines[i].at) > m.only })
	return max(m.win.first+int64(i)-1, m.low())
}
