package logview

import (
	"strings"
)

// ToggleSelection starts a selection at the cursor, which then extends it, or ends
// the selection.
func (m *Model) ToggleSelection() {
	if m.sieve != nil {
		return // what lies between its lines would be selected unseen
	}
	if m.anchor != 0 {
		m.anchor = 0
		return
	}
	m.pause()
	m.anchor = m.cursor
}

// ClearSelection ends the selection and reports whether there was one.
func (m *Model) ClearSelection() bool {
	was := m.anchor != 0
	m.anchor = 0
	return was
}

// Selection returns the numbers of the first and last selected line, or those of
// the line under the cursor when nothing is selected; 0 when there are no lines.
func (m *Model) Selection() (first, last int64) {
	if m.anchor == 0 {
		return m.current(), m.current()
	}
	return min(m.anchor, m.cursor), max(m.anchor, m.cursor)
}

// SelectedText returns the selected lines as they are shown, without terminal
// controls, and whether it is all of them: lines that are not loaded and the rest
// of long ones are missing. An owner that needs those reads them by Selection.
func (m *Model) SelectedText() (text string, complete bool) {
	if m.sieve != nil {
		e, ok := m.sieve.at()
		if !ok {
			return "", true
		}
		return e.text + "\n", !e.cut
	}
	first, last := m.Selection()
	return m.text(first, last)
}

// VisibleText returns the lines on the screen, as SelectedText does.
func (m *Model) VisibleText() (text string, complete bool) {
	if m.cursor == 0 {
		return "", true
	}
	return m.text(m.top.line, m.bottom().line)
}

func (m *Model) text(first, last int64) (string, bool) {
	if first == 0 {
		return "", true
	}
	var b strings.Builder
	complete := m.win.has(first) && m.win.has(last)
	for n := max(first, m.win.first); n <= min(last, m.win.last()); n++ {
		e := m.win.at(n)
		complete = complete && !e.cut
		b.WriteString(e.text)
		b.WriteByte('\n')
	}
	return b.String(), complete
}

// selected reports whether line n is in the selection.
func (m *Model) selected(n int64) bool {
	if m.anchor == 0 {
		return false
	}
	first, last := m.Selection()
	return first <= n && n <= last
}
