package tui

import (
	"context"

	"github.com/posttrainarena/arena/tui/look"
	"github.com/posttrainarena/arena/tui/nav"
	"github.com/posttrainarena/arena/tui/screen"
)

// RunWith is Run with the screen of one tab changed.
func RunWith(ctx context.Context, o Options, tab nav.Place, change func(screen.Screen) screen.Screen) error {
	m, err := New(ctx, o.terminalOptions())
	if err != nil {
		return err
	}
	m.tabs[tab] = change(screen.New(nav.Route{Place: tab}, look.Theme{}))
	return m.run(ctx)
}
