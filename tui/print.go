package tui

import (
	"context"
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/posttrainarena/arena/tui/screen"
)

// The size in which the overview is printed.
const (
	printWidth  = 100
	printHeight = 60
)

// maxPrintRounds bounds how often Print asks for what an answer made necessary.
const maxPrintRounds = 50

// Print writes the overview once, as plain text: for terminals that cannot move
// their cursor, for pipes and for mail.
func Print(ctx context.Context, o Options) error {
	o.NoColor, o.Memory = true, Memory{} // printed as it comes
	m, err := New(ctx, o)
	if err != nil {
		return err
	}
	m.width, m.height = printWidth, printHeight
	for range maxPrintRounds {
		due := m.data.Due(m.needs())
		if len(due) == 0 {
			break
		}
		for _, r := range due {
			if loaded, ok := r.Command(m.do, o.Now)().(screen.Loaded); ok {
				m.data.Accept(loaded)
			}
		}
		m.synced()
	}
	if l := m.data.Link(); !l.Up {
		return fmt.Errorf("show the overview: %w", l.Err)
	}
	var rows []string
	for _, row := range strings.Split(ansi.Strip(m.top().screen.View(m.world())), "\n") {
		rows = append(rows, strings.TrimRight(row, " "))
	}
	_, err = fmt.Fprintln(o.Out, strings.TrimRight(strings.Join(rows, "\n"), "\n"))
	return err
}
