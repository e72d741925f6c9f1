package tuitest

import (
	"context"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/tui"
)

// Inline makes a dashboard for benchmarks, outside of a bubble: commands run to
// their end one after the other, and nothing waits. The arena's streams end at
// once.
func Inline(t testing.TB, a *Arena, width, height int) *tui.Model {
	t.Helper()
	close(a.events)
	a.LogEnded = true
	o := Options(a)
	now := a.Now
	o.Now = func() time.Time { return now }
	o.After = func(time.Duration, func(time.Time) tea.Msg) tea.Cmd { return nil }
	m, err := tui.New(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	Run(m, m.Init())
	Run(m, func() tea.Msg { return tea.WindowSizeMsg{Width: width, Height: height} })
	return m
}

// Run runs a command and all that follows from it, in order.
func Run(m *tui.Model, cmd tea.Cmd) {
	todo := []tea.Cmd{cmd}
	for len(todo) > 0 {
		cmd, todo = todo[0], todo[1:]
		if cmd == nil {
			continue
		}
		switch msg := cmd().(type) {
		case nil:
		case tea.BatchMsg:
			todo = append(todo, msg...)
		default:
			_, next := m.Update(msg)
			todo = append(todo, next)
		}
	}
}

// Press delivers keys to an inline dashboard.
func Press(m *tui.Model, keys ...string) {
	for _, k := range keys {
		for _, msg := range Keys(k) {
			Run(m, func() tea.Msg { return msg })
		}
	}
}
