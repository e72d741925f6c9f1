package tui

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/aymanbagabas/go-osc52/v2"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/tui/nav"
	"github.com/posttrainarena/arena/tui/screen"
)

// maxCopy is the most that is copied: terminals drop longer sequences without a
// word.
const maxCopy = 72 << 10

// copy puts text into the clipboard of the person's terminal with OSC 52, which
// works over SSH. Inside tmux and screen the sequence is passed through. Whether
// the terminal takes it cannot be known.
func (m *Model) copy(c nav.Copy) tea.Cmd {
	if len(c.Text) > maxCopy {
		return m.flash(nav.Warned, fmt.Sprintf("Not copied: %d KB is more than terminals take.", len(c.Text)>>10))
	}
	seq := osc52.New(c.Text).String()
	switch term := m.options.Getenv("TERM"); {
	case m.options.Getenv("TMUX") != "":
		seq += osc52.New(c.Text).Tmux().String() // tmux takes the one or the other, as it is set up
	case strings.HasPrefix(term, "screen"):
		seq = osc52.New(c.Text).Screen().String()
	}
	out := m.options.Out
	return tea.Batch(m.flash(nav.Did, "Copied "+c.What), m.do(func(context.Context, screen.API) tea.Msg {
		if _, err := io.WriteString(out, seq); err != nil {
			return nav.Flash{Mood: nav.Broke, Text: "Not copied: " + err.Error()}
		}
		return nil
	}))
}

// indented is a value as JSON for people.
func indented(v any) string {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// save makes a command that writes a new file and says where it is.
func (m *Model) save(name string, content screen.Content) tea.Cmd {
	create := m.options.Create
	if create == nil {
		return m.flash(nav.Warned, "There is no place to save to.")
	}
	return m.do(func(ctx context.Context, a screen.API) tea.Msg {
		path, err := write(ctx, a, create, name, content)
		if err != nil {
			return nav.Flash{Mood: nav.Broke, Text: "Not saved: " + err.Error()}
		}
		return nav.Flash{Mood: nav.Did, Text: "Saved to " + path}
	})
}

func write(ctx context.Context, a screen.API, create func(string) (io.WriteCloser, string, error), name string, content screen.Content) (string, error) {
	file, path, err := create(name)
	if err != nil {
		return "", err
	}
	if err := content(ctx, a, file); err != nil {
		_ = file.Close()
		return path, fmt.Errorf("%s is incomplete: %w", path, err)
	}
	return path, file.Close()
}

// pagerReady says that a file is there to be shown.
type pagerReady struct{ path string }

// pager makes a command that writes a text to a file and shows it in the pager,
// for which the terminal is handed over.
func (m *Model) pager(name string, content screen.Content) tea.Cmd {
	create := m.options.Create
	if create == nil || m.options.Pager == nil {
		return m.flash(nav.Warned, "There is no pager: set PAGER.")
	}
	return m.do(func(ctx context.Context, a screen.API) tea.Msg {
		path, err := write(ctx, a, create, name, content)
		if err != nil {
			return nav.Flash{Mood: nav.Broke, Text: err.Error()}
		}
		return pagerReady{path}
	})
}

// page hands the terminal to the pager.
func (m *Model) page(r pagerReady) tea.Cmd {
	return tea.ExecProcess(m.options.Pager(r.path), func(err error) tea.Msg {
		if err != nil {
			return nav.Flash{Mood: nav.Broke, Text: "The pager failed: " + err.Error()}
		}
		return nav.Flash{Mood: nav.Did, Text: "The log is in " + r.path}
	})
}
