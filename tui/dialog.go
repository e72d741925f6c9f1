package tui

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/tui/look"
	"github.com/posttrainarena/arena/tui/nav"
	"github.com/posttrainarena/arena/tui/screen"
	"github.com/posttrainarena/arena/tui/widget/confirm"
)

// dialog asks before something that cannot be taken back. It says yes once, and
// closes: what comes of it is said when the arena has answered.
type dialog struct {
	confirm confirm.Model
	then    tea.Cmd
}

// mostDialog is how wide and high a question may be.
const (
	mostDialogWidth  = 70
	mostDialogHeight = 20
)

func newDialog(t look.Theme, ask nav.Ask) *dialog {
	focused := look.Accent
	if ask.Danger {
		focused = look.Bad
	}
	keep := ask.Keep
	if keep == "" {
		keep = "Cancel"
	}
	return &dialog{then: ask.Then, confirm: confirm.New(
		confirm.Question{Title: ask.Title, Object: ask.Object, Effect: ask.Effect, Cost: ask.Cost, Accept: ask.Do, Refuse: keep, Word: ask.Word},
		confirm.WithASCII(t.ASCII()), confirm.WithStyles(confirm.Styles{
			Border: t.Style(look.Faint), Title: t.Style(look.Strong), Object: t.Style(look.Plain), Effect: t.Style(look.Plain), Cost: t.Style(look.Warn),
			Button: t.Style(look.Dim), Focused: t.Style(focused).Reverse(true), Disabled: t.Style(look.Faint), Hint: t.Style(look.Dim),
		}),
	)}
}

func (d *dialog) scopes() []screen.Scope {
	if d.confirm.Typing() {
		return []screen.Scope{screen.InTyped}
	}
	return []screen.Scope{screen.InDialog}
}

func (d *dialog) act(_ *Model, i screen.Intent) (tea.Cmd, bool) {
	switch i {
	case screen.Left, screen.Right:
		d.confirm.Toggle()
		return nil, false
	case screen.Choose:
		switch d.confirm.Press() {
		case confirm.Confirmed:
			return d.then, true
		case confirm.Refused:
			return nil, true
		}
		return nil, false
	case screen.Clear:
		return nil, true
	default:
		return nil, false
	}
}

func (d *dialog) typed(_ *Model, msg tea.KeyMsg) { d.confirm, _ = d.confirm.Update(oneLine(msg)) }

func (d *dialog) draw(_ *Model, width, height int) []string {
	d.confirm.SetSize(min(width, mostDialogWidth), min(height, mostDialogHeight))
	return strings.Split(d.confirm.View(), "\n")
}
