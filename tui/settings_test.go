package tui_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posttrainarena/arena/tui"
	"github.com/posttrainarena/arena/tui/tuitest"
)

// Layout and preferences are those of last time: panes, mouse, and how logs are
// drawn.
func TestSettingsLastFromOneSessionToTheNext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings", "arena", "dashboard.json")
	remember := func(o *tui.Options) { o.Memory = tui.MemoryIn(path) }
	var overview, log string
	synctest.Test(t, func(t *testing.T) {
		p := tuitest.Start(t, tuitest.Sample(time.Now()), 160, 40, remember)
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("settings are written before anything was set: %v", err)
		}
		p.Type(">", ">", "m")
		p.Has("mouse released")
		overview = p.View()
		p.Type("2", "j", "l", "t", "w")
		log = p.View()
	})
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.Stat(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 || folder.Mode().Perm() != 0o700 {
		t.Errorf("the settings are %v in %v", info.Mode(), folder.Mode())
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("beside the settings lie %v, %v", entries, err)
	}
	synctest.Test(t, func(t *testing.T) {
		p := tuitest.Start(t, tuitest.Sample(time.Now()), 160, 40, remember)
		if p.View() != overview {
			t.Errorf("the overview is\n%s\nand was\n%s", p.View(), overview)
		}
		p.Type("2", "j", "l")
		if p.View() != log {
			t.Errorf("the log is\n%s\nand was\n%s", p.View(), log)
		}
		p.Type("1", "=")
	})
	if raw, err := os.ReadFile(path); err != nil || strings.Contains(string(raw), `"moved"`) {
		t.Errorf("after a reset there is %s, %v", raw, err)
	}
}

// Whatever is in the file, the dashboard starts.
func TestSettingsThatCannotBeRead(t *testing.T) {
	for name, c := range map[string]struct {
		raw  string
		says string
	}{
		"empty":            {"", ""},
		"no JSON":          {"panes: wide", "cannot be read"},
		"another shape":    {`{"panes":[1,2]}`, "cannot be read"},
		"too large":        {strings.Repeat(" ", 65<<10), "larger than 64 KB"},
		"of a later arena": {`{"panes":{"nowhere":{"moved":3}},"theme":"blue"}`, ""},
		"out of bounds":    {`{"panes":{"overview":{"moved":99999}},"log":{"times":-7}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "dashboard.json")
			if err := os.WriteFile(path, []byte(c.raw), 0o600); err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				p := tuitest.Start(t, tuitest.Sample(time.Now()), 200, 40, func(o *tui.Options) { o.Memory = tui.MemoryIn(path) })
				p.Has("Needs you", "Lately")
				if c.says != "" {
					p.Has(c.says)
				} else {
					p.Lacks("cannot be read")
				}
				p.Pass(6 * time.Second)
				p.Lacks("cannot be read")
				p.Type("2", "j", "l")
				p.Has("log")
			})
		})
	}
}

// A folder that takes no files costs the layout, and nothing else.
func TestSettingsThatCannotBeWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		p := tuitest.Start(t, tuitest.Sample(time.Now()), 160, 40, func(o *tui.Options) { o.Memory = tui.MemoryIn(filepath.Join(path, "dashboard.json")) })
		p.Type("m")
		p.Has("The layout is not remembered")
		p.Type("2")
		p.Has("15 runs")
	})
}
