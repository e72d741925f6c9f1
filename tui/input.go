package tui

import (
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/protocol/client"
	"github.com/posttrainarena/arena/tui/nav"
	"github.com/posttrainarena/arena/tui/screen"
	"github.com/posttrainarena/arena/tui/widget/celltext"
)

// scopes are those that are live now, the innermost first.
func (m *Model) scopes() []screen.Scope {
	if m.overlay != nil {
		return m.overlay.scopes()
	}
	live := m.top().screen.Scopes(m.world())
	if m.typing() {
		return live
	}
	return append(live, screen.Global)
}

// typing reports whether the page on top takes keys as text.
func (m *Model) typing() bool {
	t, ok := m.top().screen.(screen.Typer)
	return ok && t.Typing()
}

// typed takes what was typed. Letters that arrive together, because a person types
// fast or a line is slow, are one message; each of them is a key. Pasted text is
// text.
func (m *Model) typed(msg tea.KeyMsg) tea.Cmd {
	if msg.Type != tea.KeyRunes || msg.Paste || len(msg.Runes) < 2 {
		return m.key(msg)
	}
	var cmds []tea.Cmd
	for _, r := range msg.Runes {
		one := msg
		one.Runes = []rune{r}
		cmds = append(cmds, m.key(one))
	}
	return tea.Batch(cmds...)
}

// oneLine is a key for a text field of one row that draws what it is given:
// pasted text can hold what has no certain width.
func oneLine(msg tea.KeyMsg) tea.KeyMsg {
	if msg.Type == tea.KeyRunes {
		msg.Runes = []rune(celltext.Clean(string(msg.Runes)))
	}
	return msg
}

// key turns a key into an intent, or hands it over as text.
func (m *Model) key(msg tea.KeyMsg) tea.Cmd {
	if m.tooSmall() { // what cannot be seen takes no keys
		if b, ok := m.keys.Find([]screen.Scope{screen.Global}, msg.String()); ok && (b.Intent == screen.Quit || b.Intent == screen.Leave) {
			return m.leave()
		}
		return nil
	}
	b, known := screen.Binding{}, false
	if !msg.Paste {
		b, known = m.keys.Find(m.scopes(), msg.String())
	}
	switch {
	case m.overlay != nil && known:
		cmd, done := m.overlay.act(m, b.Intent)
		return m.closing(cmd, done)
	case m.overlay != nil:
		m.overlay.typed(m, msg)
		return nil
	case known:
		return m.intend(b, "")
	case m.typing():
		return m.top().screen.Update(m.world(), msg)
	default:
		return nil
	}
}

// closing closes the overlay that was acted on, unless another took its place.
func (m *Model) closing(cmd tea.Cmd, done bool) tea.Cmd {
	if done {
		m.overlay = nil
	}
	return cmd
}

// intend does what a binding says, or says why not, and remembers how that leaves
// the layout.
func (m *Model) intend(b screen.Binding, argument string) tea.Cmd {
	cmd := m.obey(b, argument)
	return tea.Batch(cmd, m.keep())
}

func (m *Model) obey(b screen.Binding, argument string) tea.Cmd {
	if why := m.world().May(b.Need); why != "" {
		return m.flash(nav.Warned, "Not possible: "+why+".")
	}
	if b.Scope == screen.Global {
		return m.global(b.Intent)
	}
	return m.top().screen.Update(m.world(), screen.Act{Intent: b.Intent, Argument: argument})
}

// global does what means the same everywhere.
func (m *Model) global(i screen.Intent) tea.Cmd {
	switch i {
	case screen.Help:
		m.overlay = &help{}
	case screen.Palette:
		return m.openPalette()
	case screen.Back:
		return m.top().screen.Update(m.world(), screen.Act{Intent: screen.Back})
	case screen.Leave:
		if len(m.stack) > 1 {
			return m.back()
		}
		return m.quit()
	case screen.Quit:
		return m.quit()
	case screen.Refresh:
		m.data.Refresh(m.top().screen.Needs(m.world()))
		return m.flash(nav.Said, "Asking the arena again.")
	case screen.CopyID, screen.CopyJSON, screen.CopyCommand:
		return m.copySubject(i)
	case screen.Mouse:
		m.mouse = !m.mouse
		return m.restoreMouse()
	case screen.Suspend:
		if m.options.MaySuspend == nil || !m.options.MaySuspend() {
			return m.flash(nav.Warned, "There is no shell here that could bring the dashboard back.")
		}
		return tea.Suspend
	case screen.OpenDeeds:
		return m.show(nav.Route{Place: nav.Deeds})
	case screen.Narrower, screen.Wider, screen.Alone, screen.ResetPanes:
		return m.arrange(i)
	case screen.TakeBack:
		return m.takeBack()
	default:
		for n, tab := range nav.Tabs() {
			if i == screen.TabIntent(n) {
				return m.show(nav.Route{Place: tab})
			}
		}
	}
	return nil
}

// leave ends the dashboard at once.
func (m *Model) leave() tea.Cmd {
	m.quitting = true
	return tea.Quit
}

// quit ends the dashboard, after asking when something would be lost.
func (m *Model) quit() tea.Cmd {
	ask := nav.Ask{Title: "Quit?", Effect: m.options.QuitEffect, Do: "Quit", Danger: true, Then: tea.Quit}
	if len(m.later) > 0 {
		var waits []string
		for _, l := range m.later {
			waits = append(waits, l.What)
		}
		ask.Title, ask.Object, ask.Do = "Quit without sending?", strings.Join(waits, ", "), "Quit, drop it"
		ask.Effect = strings.TrimSpace("It was not sent yet, and quitting drops it. " + m.options.QuitEffect)
	}
	if ask.Effect == "" {
		return m.leave()
	}
	m.overlay = newDialog(m.theme, ask)
	return nil
}

// mouseMsg turns the mouse into scrolling and selecting.
func (m *Model) mouseMsg(msg tea.MouseMsg) tea.Cmd {
	if m.tooSmall() {
		return nil
	}
	rows := 0
	switch msg.Button {
	case tea.MouseButtonWheelUp:
		rows = -3
	case tea.MouseButtonWheelDown:
		rows = 3
	case tea.MouseButtonLeft:
		if m.drag(msg) {
			return m.synced()
		}
		if msg.Action == tea.MouseActionPress {
			return m.click(msg.X, msg.Y)
		}
		return nil
	default:
		m.border = false
		return m.keep()
	}
	if m.overlay != nil {
		i := screen.Down
		if rows < 0 {
			i = screen.Up
		}
		cmd, done := m.overlay.act(m, i)
		return m.closing(cmd, done)
	}
	return m.top().screen.Update(m.world(), screen.Wheel{Rows: rows})
}

func (m *Model) click(x, y int) tea.Cmd {
	if c, ok := m.overlay.(*commands); ok {
		return c.click(m, y-m.headerRows()-m.boxTop(len(c.draw(m, m.width-4, m.bodyHeight()))))
	}
	switch {
	case m.overlay != nil || m.typing():
		return nil
	case y == 0:
		for _, t := range m.tabBar().places {
			if x >= t.from && x < t.to {
				return m.show(nav.Route{Place: t.place})
			}
		}
		return nil
	case y < m.headerRows() || y >= m.height-footerRows:
		return nil
	default:
		return m.top().screen.Update(m.world(), screen.Click{X: x - 1, Y: y - m.headerRows()})
	}
}

// restoreMouse takes or releases the mouse as the person wants it.
func (m *Model) restoreMouse() tea.Cmd {
	if m.mouse {
		return tea.EnableMouseCellMotion
	}
	return tea.DisableMouse
}

// copySubject copies what is selected, in one of three forms.
func (m *Model) copySubject(i screen.Intent) tea.Cmd {
	s := m.top().screen.Subject(m.world())
	switch {
	case i == screen.CopyID && s.ID != "":
		return m.copy(nav.Copy{What: s.What + " " + s.ID, Text: s.ID})
	case i == screen.CopyJSON && s.Value != nil:
		return m.copy(nav.Copy{What: s.What + " as JSON", Text: indented(s.Value)})
	case i == screen.CopyCommand && len(s.Command) > 0:
		command := "arena " + strings.Join(m.addressed(s.Command), " ")
		return m.copy(nav.Copy{What: command, Text: command})
	default:
		return m.flash(nav.Warned, "There is nothing here to copy in that form.")
	}
}

// addressed adds the arena's address to a command, unless it is the one that the
// command line calls by itself.
func (m *Model) addressed(command []string) []string {
	if m.options.BaseURL == "" || m.options.BaseURL == client.DefaultURL {
		return command
	}
	return append(slices.Clone(command), "--url", m.options.BaseURL)
}
