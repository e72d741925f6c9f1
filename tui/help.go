package tui

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/tui/look"
	"github.com/posttrainarena/arena/tui/screen"
	"github.com/posttrainarena/arena/tui/widget/celltext"
	"github.com/posttrainarena/arena/tui/widget/frame"
)

// help lists the keys that are live on the page below, from the table that
// dispatches them.
type help struct{ top int }

func (h *help) scopes() []screen.Scope { return []screen.Scope{screen.InHelp} }

func (h *help) act(m *Model, i screen.Intent) (tea.Cmd, bool) {
	page := max(m.bodyHeight()-4, 1)
	switch i {
	case screen.Clear:
		return nil, true
	case screen.Up:
		h.top--
	case screen.Down:
		h.top++
	case screen.PageUp:
		h.top -= page
	case screen.PageDown:
		h.top += page
	}
	h.top = max(min(h.top, len(h.lines(m, 40))-page), 0)
	return nil, false
}

func (h *help) typed(*Model, tea.KeyMsg) {}

// keyWidth is the room for the names of keys.
const keyWidth = 16

// lines are the rows of the help, grouped by scope.
func (h *help) lines(m *Model, width int) []string {
	t := m.theme
	var rows []string
	scope := screen.Scope("")
	live := append(m.top().screen.Scopes(m.world()), screen.Global)
	for _, b := range m.keys.Live(live) {
		if b.Scope != scope {
			if scope != "" {
				rows = append(rows, "")
			}
			scope = b.Scope
			rows = append(rows, t.Paint(look.Strong, strings.ToUpper(string(scope)[:1])+string(scope)[1:]))
		}
		names := make([]string, len(b.Keys))
		for i, k := range b.Keys {
			names[i] = screen.KeyName(k)
		}
		does, tone := b.Help, look.Plain
		if why := m.world().May(b.Need); why != "" {
			does, tone = b.Help+" ("+why+")", look.Dim
		}
		rows = append(rows, t.Paint(look.Key, celltext.Fit(strings.Join(names, " "), keyWidth))+"  "+t.Paint(tone, celltext.Truncate(does, width-keyWidth-2)))
	}
	return rows
}

func (h *help) draw(m *Model, width, height int) []string {
	inner := min(width-4, 76)
	rows := h.lines(m, inner)
	show := max(height-2, 1)
	top := max(min(h.top, len(rows)-show), 0)
	rows = rows[top:min(top+show, len(rows))]
	f := frame.Frame{Border: m.theme.Style(look.Faint), Title: m.theme.Style(look.Strong), ASCII: m.theme.ASCII()}
	return strings.Split(f.Draw("Keys", rows, inner+frame.Columns), "\n")
}
