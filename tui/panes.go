package tui

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/tui/nav"
	"github.com/posttrainarena/arena/tui/screen"
)

// paneStep is how far a key moves the border between panes, in columns of a
// hundred.
const paneStep = 5

// arrange moves the border between two panes, shows one of them alone, or puts
// them back as they come. Each screen remembers its own.
func (m *Model) arrange(i screen.Intent) tea.Cmd {
	s, ok := m.top().screen.(screen.Splitter)
	if !ok {
		return m.flash(nav.Warned, "This screen has no panes side by side.")
	}
	place := m.top().route.Place
	p := m.panes[place]
	_, wide := s.Border(m.world())
	switch {
	case i == screen.ResetPanes:
		p = screen.Panes{}
	case i == screen.Alone && (wide || p.Alone):
		p.Alone = !p.Alone
	case !wide && p.Alone:
		return m.flash(nav.Warned, "One pane shows alone: Z brings the other back.")
	case !wide:
		return m.flash(nav.Warned, "There is no room for two panes side by side here.")
	case i == screen.Narrower:
		p = p.Move(-paneStep)
	case i == screen.Wider:
		p = p.Move(paneStep)
	}
	m.panes[place] = p
	return m.synced()
}

// drag moves the border between two panes with the mouse. It reports whether it
// did, or has just taken hold of it.
func (m *Model) drag(msg tea.MouseMsg) bool {
	s, ok := m.top().screen.(screen.Splitter)
	if !ok || m.overlay != nil || msg.Action == tea.MouseActionRelease {
		m.border = false
		return false
	}
	at, wide := s.Border(m.world())
	x := msg.X - 1 // a column is free at the side
	switch {
	case !wide:
		m.border = false
	case msg.Action == tea.MouseActionPress:
		m.border = msg.Y >= m.headerRows() && msg.Y < m.height-footerRows && x >= at && x < at+screen.Gap
	case m.border:
		place := m.top().route.Place
		m.panes[place] = m.panes[place].To(x, m.bodyWidth())
	}
	return m.border
}
