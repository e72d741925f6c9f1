package tui

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"github.com/posttrainarena/arena/tui/look"
	"github.com/posttrainarena/arena/tui/screen"
)

// Options is everything that the dashboard may know and use of its process. Only
// Client, Out and Now are required.
type Options struct {
	Client  screen.API
	BaseURL string // shown, and part of copied commands when it is not the default

	In  io.Reader // the terminal's input; nil for none
	Out io.Writer // the terminal

	Getenv func(string) string // nil: an empty environment
	Now    func() time.Time
	Zone   *time.Location // of the times that are shown; nil for UTC
	// After makes a command that waits; nil for the system's timer.
	After func(d time.Duration, msg func(now time.Time) tea.Msg) tea.Cmd

	ReadOnly bool // nothing can be changed
	ASCII    bool // draw with ASCII only, whatever the locale
	NoColor  bool // draw without colours, whatever the environment

	// Bindings is the key table; nil for the built-in one. screen.Remap changes it.
	Bindings []screen.Binding

	// MaySuspend reports whether somebody is there to wake the process up again
	// when it is stopped. Nil: nobody.
	MaySuspend func() bool

	// QuitEffect is what leaving the dashboard does besides; it is asked about
	// then. Empty: nothing, and leaving is not asked about.
	QuitEffect string

	// Create makes a new file for a saved log or a crash, and says where it is.
	// Nil: saving is refused.
	Create func(name string) (file io.WriteCloser, path string, err error)
	// Files is what may be read of this machine, for gate results. Zero: nothing.
	Files screen.Files
	// Memory keeps layout and preferences from one session to the next.
	Memory Memory
	// Pager makes the command that shows a file; nil: there is no pager.
	Pager func(path string) *exec.Cmd
}

// complete fills in what was left out.
func (o Options) complete() Options {
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	if o.Bindings == nil {
		o.Bindings = screen.Bindings()
	}
	if o.After == nil {
		now := o.Now
		o.After = func(d time.Duration, msg func(time.Time) tea.Msg) tea.Cmd {
			return tea.Tick(d, func(time.Time) tea.Msg { return msg(now()) })
		}
	}
	return o
}

// theme is how the terminal is drawn on.
func (o Options) theme() look.Theme {
	l := look.Detect(o.Getenv)
	if o.ASCII {
		l.ASCII = true
	}
	if o.NoColor {
		l.Profile = termenv.Ascii
	}
	return look.New(l)
}

// maxSameName is how many files of one name are kept apart by a number.
const maxSameName = 1000

// CreateIn makes files below a directory, never over one that is there.
func CreateIn(dir string) func(string) (io.WriteCloser, string, error) {
	return func(name string) (io.WriteCloser, string, error) {
		base, ext := strings.TrimSuffix(name, filepath.Ext(name)), filepath.Ext(name)
		for n := 1; ; n++ {
			path := filepath.Join(dir, name)
			if n > 1 {
				path = filepath.Join(dir, fmt.Sprintf("%s-%d%s", base, n, ext))
			}
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if err == nil || !errors.Is(err, fs.ErrExist) || n == maxSameName {
				return f, path, err
			}
		}
	}
}

// maxListed is how many names of a directory are looked at.
const maxListed = 10_000

// FilesIn reads files by paths that are relative to a directory, or begin with ~/
// for the person's own.
func FilesIn(dir, home string) screen.Files {
	locate := func(name string) string {
		if rest, ok := strings.CutPrefix(name, "~/"); ok && home != "" {
			return filepath.Join(home, rest)
		}
		if filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(dir, name)
	}
	return screen.Files{
		List: func(name string) ([]string, error) {
			d, err := os.Open(locate(name))
			if err != nil {
				return nil, err
			}
			defer d.Close()
			entries, err := d.ReadDir(maxListed)
			if err != nil && err != io.EOF {
				return nil, err
			}
			names := make([]string, len(entries))
			for i, e := range entries {
				if names[i] = e.Name(); e.IsDir() {
					names[i] += "/"
				}
			}
			return names, nil
		},
		Read: func(name string, limit int64) ([]byte, error) {
			return readFile(locate(name), limit)
		},
	}
}
