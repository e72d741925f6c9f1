package tui

import (
	"context"
	"errors"
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/tui/screen"
)

// Run shows the dashboard until the person leaves it or ctx ends. Either way the
// terminal is left as it was found. A crash is written to a file, if there is a
// place for one, and returned.
func Run(ctx context.Context, o Options) error {
	out := o.terminalOptions()
	calls, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop() // ends what still waits for the arena
	m, err := New(calls, out)
	if err != nil {
		return err
	}
	p := tea.NewProgram(m, tea.WithInput(o.In), tea.WithOutput(out.Out), tea.WithAltScreen(), tea.WithMouseCellMotion(), tea.WithoutSignalHandler())
	release := context.AfterFunc(ctx, p.Quit)
	defer release()
	_, err = p.Run()
	switch {
	case m.crash != nil:
		return o.report(*m.crash)
	case err != nil && !errors.Is(err, tea.ErrInterrupted):
		return fmt.Errorf("show the dashboard: %w", err)
	default:
		return nil
	}
}

// terminalOptions are the options with the wrapped terminal in place.
func (o Options) terminalOptions() Options {
	o = o.complete()
	o.Out = o.terminal()
	return o
}

// report writes a crash down and says where it is.
func (o Options) report(c screen.Crash) error {
	if o.Create == nil {
		return c
	}
	file, path, err := o.Create("arena-tui-crash.txt")
	if err != nil {
		return fmt.Errorf("%w (and it could not be written down: %v)", c, err)
	}
	_, err = fmt.Fprintf(file, "%v\n\n%s\n", c.Value, c.Stack)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("%w (and it could not be written down: %v)", c, err)
	}
	return fmt.Errorf("%w; the details are in %s", c, path)
}
