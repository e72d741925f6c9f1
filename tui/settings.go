package tui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/tui/nav"
	"github.com/posttrainarena/arena/tui/screen"
)

// settings is what is remembered from one session to the next, as it is written
// down. What is missing or unknown in it is as the dashboard comes.
type settings struct {
	Panes    map[nav.Place]screen.Panes `json:"panes,omitempty"`
	Released bool                       `json:"mouse_released,omitempty"`
	Log      screen.LogTaste            `json:"log"`
}

// maxSettings bounds how much of the settings is read.
const maxSettings = 64 << 10

// Memory keeps a few bytes from one session to the next. The zero value forgets.
type Memory struct {
	// Recall returns what was kept last, and nothing when nothing was.
	Recall func() ([]byte, error)
	// Keep keeps it in place of what was kept before.
	Keep func([]byte) error
}

// MemoryIn keeps a file, which nobody else may read. Its folder is made when
// something is kept. What is there is replaced in one step.
func MemoryIn(path string) Memory {
	return Memory{
		Recall: func() ([]byte, error) {
			raw, err := readFile(path, maxSettings)
			if errors.Is(err, os.ErrNotExist) {
				return nil, nil
			}
			return raw, err
		},
		Keep: func(raw []byte) (err error) {
			dir := filepath.Dir(path)
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return err
			}
			f, err := os.CreateTemp(dir, filepath.Base(path)+".*") // readable by its owner only
			if err != nil {
				return err
			}
			defer func() {
				if err != nil {
					_ = os.Remove(f.Name())
				}
			}()
			_, err = f.Write(raw)
			if err := errors.Join(err, f.Close()); err != nil {
				return err
			}
			return os.Rename(f.Name(), path)
		},
	}
}

// readFile reads a file that may not be larger than a limit.
func readFile(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular(): // opening a pipe would wait for ever
		return nil, fmt.Errorf("%s is no file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(raw)) > limit {
		err = fmt.Errorf("%s is larger than %d KB", path, limit>>10)
	}
	return raw, err
}

// recall takes up what the last session kept. Whatever is wrong with it, the
// dashboard starts, and says so.
func (m *Model) recall() {
	if m.options.Memory.Recall == nil {
		return
	}
	var s settings
	raw, err := m.options.Memory.Recall()
	if err == nil && len(raw) > 0 {
		err = json.Unmarshal(raw, &s)
	}
	if err != nil {
		m.flash(nav.Warned, "The layout of last time cannot be read, so it is as it comes: "+err.Error())
		s = settings{}
	}
	for place, p := range s.Panes {
		m.panes[place] = p.Move(0) // within bounds
	}
	m.mouse, m.taste = !s.Released, s.Log.Sound()
	m.kept = m.written()
}

// resume releases the mouse if it was released last time.
func (m *Model) resume() tea.Cmd {
	if m.mouse {
		return nil
	}
	return m.restoreMouse()
}

// written is what there is to remember now.
func (m *Model) written() []byte {
	raw, err := json.Marshal(settings{Panes: m.panes, Released: !m.mouse, Log: m.taste})
	if err != nil {
		return nil
	}
	return append(raw, '\n')
}

// settingsKept says that settings were written down, or why not.
type settingsKept struct{ err error }

// keep writes the settings down when they have changed. One write is under way at
// a time, so that an older one cannot come last.
func (m *Model) keep() tea.Cmd {
	now := m.written()
	if m.options.Memory.Keep == nil || m.keeping || bytes.Equal(now, m.kept) {
		return nil
	}
	m.keeping, m.kept = true, now
	return m.do(func(context.Context, screen.API) tea.Msg { return settingsKept{m.options.Memory.Keep(now)} })
}

// wereKept goes on with what has changed meanwhile.
func (m *Model) wereKept(msg settingsKept) tea.Cmd {
	m.keeping = false
	if msg.err != nil {
		return m.flash(nav.Warned, "The layout is not remembered: "+msg.err.Error())
	}
	return m.keep()
}
