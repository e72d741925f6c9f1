package tui

import (
	"bytes"
	"io"
	"os"
	"sync"

	"github.com/charmbracelet/x/term"
)

// Synchronized output (mode 2026): the terminal shows what is between the two at
// once. Terminals that do not know the mode ignore it.
const (
	syncBegin = "\x1b[?2026h"
	syncEnd   = "\x1b[?2026l"
)

// output is the terminal as the renderer writes to it. Each write is whole: a
// frame is shown at once, and a copied text does not land inside one.
type output struct {
	term.File
	mu   sync.Mutex
	sync bool
	buf  bytes.Buffer
}

// Write writes p in one piece.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.sync || len(p) < len(syncBegin)+len(syncEnd) {
		return o.File.Write(p)
	}
	o.buf.Reset()
	o.buf.WriteString(syncBegin)
	o.buf.Write(p)
	o.buf.WriteString(syncEnd)
	if _, err := o.File.Write(o.buf.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// stream is an output that is no terminal: a pipe or a test.
type stream struct{ io.Writer }

// terminal wraps where the dashboard draws. ARENA_TUI_SYNC=0 turns synchronized
// output off, for terminals that draw it wrongly.
func (o Options) terminal() io.Writer {
	f, ok := o.Out.(*os.File)
	if !ok {
		return stream{o.Out}
	}
	name := o.Getenv("TERM")
	return &output{File: f, sync: o.Getenv("ARENA_TUI_SYNC") != "0" && name != "dumb" && name != "linux"}
}
