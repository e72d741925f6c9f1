package screen

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/tui/nav"
)

// listed is the part that screens which are a list have in common.
type listed struct{ list List }

// Typing reports whether the filter has the focus.
func (l *listed) Typing() bool { return l.list.Typing() }

// scopes are those of the list, and around them that of its rows.
func (l *listed) scopes(of Scope) []Scope {
	if l.list.Typing() {
		return l.list.Scopes()
	}
	return append([]Scope{of}, l.list.Scopes()...)
}

// update takes a message of a screen on which so many rows stand above the list.
// An intent that is not the list's goes to act, but Back, which leaves the screen.
func (l *listed) update(msg tea.Msg, above int, act func(Intent) tea.Cmd) tea.Cmd {
	switch msg := msg.(type) {
	case tea.KeyMsg:
		l.list.Type(msg)
	case Wheel:
		l.list.Wheel(msg.Rows)
	case Click:
		if l.list.Click(msg.Y - above) {
			return act(Choose)
		}
	case Act:
		switch {
		case l.list.Do(msg):
		case msg.Intent == Back:
			return nav.To(nav.Back{})
		default:
			return act(msg.Intent)
		}
	}
	return nil
}

// table is how a list is drawn.
type table struct {
	columns []column
	cells   func(id string) []cell
	noun    string // what a row is
	keys    []Key  // what the rows are read from
	none    string // what is said when there is no row
}

// draw draws titles, rows or why there are none, and the count, in so many columns
// and down to the last row of the World's room, below what stands above.
func (l *listed) draw(w World, width int, above []string, t table) []string {
	widths := arrange(t.columns, width-2)
	rows := append(above, "  "+headOf(w.Theme, t.columns, widths))
	rows = append(rows, l.list.Rows(w.Theme, width, func(id string, _ int) string {
		return rowOf(w.Theme, t.columns, widths, t.cells(id))
	})...)
	if l.list.Len() == 0 {
		rows = append(rows, emptyLine(w, t.keys, l.list.Filtered(), t.none))
	}
	for len(rows) < w.Height-1 {
		rows = append(rows, "")
	}
	return append(rows, l.list.Status(w.Theme, width, t.noun))
}
