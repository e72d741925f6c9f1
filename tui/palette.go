package tui

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/tui/look"
	"github.com/posttrainarena/arena/tui/nav"
	"github.com/posttrainarena/arena/tui/screen"
	"github.com/posttrainarena/arena/tui/widget/palette"
)

// commands is the palette: every action that is live here, every place, every
// object that is known, by name.
type commands struct {
	palette palette.Model
	does    map[string]command // by the id of the palette's item
}

// command is what choosing an item does: an intent, or a place to open.
type command struct {
	binding screen.Binding
	route   nav.Route
}

// mostPalette is how wide and high the palette may be.
const (
	mostPaletteWidth  = 84
	mostPaletteHeight = 22
)

func (m *Model) openPalette() tea.Cmd {
	c := &commands{does: map[string]command{}}
	var items []palette.Item
	add := func(id string, item palette.Item, does command) {
		item.ID = id
		c.does[id] = does
		items = append(items, item)
	}
	w := m.world()
	live := append(m.top().screen.Scopes(w), screen.Global)
	for _, b := range m.keys.Commands(live) {
		key := ""
		if len(b.Keys) > 0 {
			key = screen.KeyName(b.Keys[0])
		}
		add("do "+string(b.Scope)+" "+string(b.Intent), palette.Item{Title: b.Help, Key: key, Hint: b.Argument, Why: w.May(b.Need)}, command{binding: b})
	}
	for _, o := range screen.Objects(w) {
		add(fmt.Sprintf("open %v", o.Route), palette.Item{Title: o.Title}, command{route: o.Route})
	}
	t := m.theme
	c.palette = palette.New(items, palette.WithASCII(t.ASCII()), palette.WithStyles(palette.Styles{
		Border: t.Style(look.Faint), Title: t.Style(look.Strong), Prompt: t.Style(look.Accent), Cursor: t.Style(look.Plain), Item: t.Style(look.Plain),
		Selected: t.Style(look.Select), Disabled: t.Style(look.Dim), Match: t.Style(look.Accent), Key: t.Style(look.Key), Hint: t.Style(look.Dim), Count: t.Style(look.Dim),
	}))
	m.overlay = c
	return nil
}

func (c *commands) scopes() []screen.Scope { return []screen.Scope{screen.InPalette} }

func (c *commands) act(m *Model, i screen.Intent) (tea.Cmd, bool) {
	switch i {
	case screen.Up:
		c.palette.Move(-1)
	case screen.Down:
		c.palette.Move(1)
	case screen.PageUp:
		c.palette.Move(-10)
	case screen.PageDown:
		c.palette.Move(10)
	case screen.Complete:
		c.palette.Complete()
	case screen.Clear:
		return nil, true
	case screen.Choose:
		return c.choose(m)
	}
	return nil, false
}

// choose does what is selected. Nothing is, when nothing fits; what cannot be
// done says why on its row.
func (c *commands) choose(m *Model) (tea.Cmd, bool) {
	choice, ok := c.palette.Choice()
	if !ok {
		return nil, false
	}
	does := c.does[choice.Item.ID]
	m.overlay = nil // before the action, which may open another
	if does.route.Place != "" {
		return m.show(does.route), false
	}
	return m.intend(does.binding, choice.Argument), false
}

func (c *commands) typed(_ *Model, msg tea.KeyMsg) { c.palette, _ = c.palette.Update(oneLine(msg)) }

func (c *commands) draw(_ *Model, width, height int) []string {
	c.palette.SetSize(min(width, mostPaletteWidth), min(height, mostPaletteHeight))
	return strings.Split(c.palette.View(), "\n")
}

// click chooses the item in a row of the palette.
func (c *commands) click(m *Model, row int) tea.Cmd {
	if !c.palette.Click(row) {
		return nil
	}
	cmd, _ := c.choose(m)
	return cmd
}
