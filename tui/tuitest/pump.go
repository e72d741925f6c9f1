package tuitest

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/tui"
	"github.com/posttrainarena/arena/tui/screen"
)

// Pump runs a dashboard. It must be made inside a synctest bubble.
type Pump struct {
	T     testing.TB
	Model *tui.Model
	Quit  bool      // the model asked to quit
	Sent  []tea.Msg // every message that commands brought, in order

	serial int
	done   chan arrived
}

// arrived is a message of a command, with the number under which that was started.
type arrived struct {
	serial int
	msg    tea.Msg
}

// Start makes a dashboard over an arena and lets it come to rest at a size.
func Start(t testing.TB, a *Arena, width, height int, change func(*tui.Options)) *Pump {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	o := Options(a)
	if change != nil {
		change(&o)
	}
	m, err := tui.New(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	p := &Pump{T: t, Model: m, done: make(chan arrived, 1024)}
	t.Cleanup(func() {
		stop()
		time.Sleep(time.Hour) // in the bubble's time: what still waits for a tick ends
	})
	p.run(m.Init())
	p.Send(tea.WindowSizeMsg{Width: width, Height: height})
	return p
}

// Options are those that tests start from: an 80-column colour terminal that says
// nothing about itself, and the bubble's clock.
func Options(a *Arena) tui.Options {
	env := map[string]string{"TERM": "xterm-256color", "LANG": "C.UTF-8"}
	return tui.Options{
		Client: a, BaseURL: "http://127.0.0.1:7860", Out: io.Discard, Now: time.Now, Zone: time.UTC,
		Getenv: func(name string) string { return env[name] },
		Files: screen.Files{
			List: func(dir string) ([]string, error) {
				return map[string][]string{"": {"gates/", "notes.txt", ".hidden/"}, "gates/": {"results.json", "results-2.json", "rest.sh"}}[dir], nil
			},
			Read: func(name string, _ int64) ([]byte, error) {
				if name == "gates/results.json" {
					return []byte(Results), nil
				}
				return nil, fmt.Errorf("open %s: no such file", name)
			},
		},
	}
}

// run starts a command.
func (p *Pump) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	p.serial++
	serial := p.serial
	go func() {
		if msg := cmd(); msg != nil {
			p.done <- arrived{serial, msg}
		}
	}()
}

// Send delivers a message, and everything that follows from it at this moment.
func (p *Pump) Send(msg tea.Msg) {
	p.T.Helper()
	p.deliver(msg)
	p.settle()
}

// deliver hands a message to the model, as Bubble Tea would.
func (p *Pump) deliver(msg tea.Msg) {
	switch msg := msg.(type) {
	case tea.BatchMsg:
		for _, cmd := range msg {
			p.run(cmd)
		}
	case tea.QuitMsg:
		p.Quit = true
	default:
		p.Sent = append(p.Sent, msg)
		_, cmd := p.Model.Update(msg)
		p.run(cmd)
	}
}

// settle delivers what commands bring until every goroutine waits.
func (p *Pump) settle() {
	p.T.Helper()
	for rounds := 0; ; rounds++ {
		if rounds > 10_000 {
			p.T.Fatal("the dashboard never comes to rest")
		}
		synctest.Wait()
		var came []arrived
		for len(p.done) > 0 {
			came = append(came, <-p.done)
		}
		if len(came) == 0 {
			return
		}
		slices.SortFunc(came, func(a, b arrived) int { return a.serial - b.serial })
		for _, c := range came {
			p.deliver(c.msg)
		}
	}
}

// Pass lets time pass, a second at a time.
func (p *Pump) Pass(d time.Duration) {
	p.T.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(min(time.Second, time.Until(end)))
		p.settle()
	}
}

// Type presses keys, one after the other. A key is spelled as the key table does;
// anything else is typed letter by letter.
func (p *Pump) Type(keys ...string) {
	p.T.Helper()
	for _, k := range keys {
		for _, msg := range Keys(k) {
			p.Send(msg)
		}
	}
}

// Keys are the key messages of a key or a text.
func Keys(k string) []tea.KeyMsg {
	if k == "space" {
		k = " "
	}
	for t := tea.KeyType(-128); t < 128; t++ {
		if msg := (tea.KeyMsg{Type: t}); t != tea.KeyRunes && msg.String() == k {
			return []tea.KeyMsg{msg}
		}
	}
	var all []tea.KeyMsg
	for _, r := range k {
		all = append(all, tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}})
	}
	return all
}

// View is what shows, without colours.
func (p *Pump) View() string { return ansi.Strip(p.Model.View()) }

// Has fails the test unless the view holds each text.
func (p *Pump) Has(texts ...string) {
	p.T.Helper()
	for _, text := range texts {
		if !strings.Contains(p.View(), text) {
			p.T.Errorf("the screen does not show %q:\n%s", text, p.View())
		}
	}
}

// Lacks fails the test if the view holds one of the texts.
func (p *Pump) Lacks(texts ...string) {
	p.T.Helper()
	for _, text := range texts {
		if strings.Contains(p.View(), text) {
			p.T.Errorf("the screen shows %q:\n%s", text, p.View())
		}
	}
}

// Exact fails the test unless the view is exactly as large as the terminal.
func Exact(t testing.TB, view string, width, height int) {
	t.Helper()
	if wrong := Misfit(view, width, height); wrong != "" {
		t.Fatal(wrong)
	}
}

// Misfit says where a view is not exactly as large as the terminal, empty when it
// is.
func Misfit(view string, width, height int) string {
	rows := strings.Split(view, "\n")
	if len(rows) != height {
		return fmt.Sprintf("%d rows at %dx%d", len(rows), width, height)
	}
	for i, r := range rows {
		if n := ansi.StringWidth(r); n != width {
			return fmt.Sprintf("row %d is %d cells wide at %dx%d: %q", i+1, n, width, height, r)
		}
	}
	return ""
}

// Golden compares a view with testdata/NAME.golden, which is written anew when
// ARENA_UPDATE is 1. In the file each row stands between bars, so that spaces at
// its end can be seen, and the escape character is ␛.
func Golden(t testing.TB, name, view string) {
	t.Helper()
	got := "|" + strings.ReplaceAll(strings.ReplaceAll(view, "\x1b", "␛"), "\n", "|\n|") + "|\n"
	path := filepath.Join("testdata", filepath.FromSlash(name)+".golden")
	if os.Getenv("ARENA_UPDATE") == "1" {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; ARENA_UPDATE=1 writes it", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got; ARENA_UPDATE=1 accepts):\n%s", path, diff)
	}
}
