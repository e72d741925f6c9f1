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
	o = o.terminalOptions()
	calls, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop() // ends what still waits for the arena
	m, err := New(calls, o)
	if err != nil {
		return err
	}
	return m.run(ctx)
}

// run shows a dashboard on the terminal of its options.
func (m *Model) run(ctx context.Context) error {
	o := m.options
	p := tea.NewProgram(m, tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithAltScreen(), tea.WithMouseCellMotion(), tea.WithoutSignalHandler())
	release := context.AfterFunc(ctx, p.Quit)
	defer release()
	_, err := p.Run()
	switch {
	case m.crash != nil:
		return m.report(*m.crash)
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

// reportTo is where crashes are reported.
const reportTo = "https://github.com/posttrainarena/arena/issues"

// report writes a crash down, with what is needed to find its cause, and says
// where it is and where to report it.
func (m *Model) report(c screen.Crash) error {
	lost := func(err error) error {
		return fmt.Errorf("%w; please report it at %s (it could not be written down: %v)", c, reportTo, err)
	}
	if m.options.Create == nil {
		return lost(errors.New("there is no place for files"))
	}
	file, path, err := m.options.Create("arena-tui-crash.txt")
	if err != nil {
		return lost(err)
	}
	v, _ := screen.Read(m.data, screen.VersionQuery())
	_, err = fmt.Fprintf(file, "%v\n\n%s at %dx%d, TERM %s, arena %s\n\n%s\n",
		c.Value, m.top().route.Place, m.width, m.height, m.options.Getenv("TERM"), v.Version, c.Stack)
	if err := errors.Join(err, file.Close()); err != nil {
		return lost(err)
	}
	return fmt.Errorf("%w; nothing that waited was sent. The details are in %s: please report it with them at %s", c, path, reportTo)
}
