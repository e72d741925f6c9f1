package tui_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/tui/screen"
	"github.com/posttrainarena/arena/tui/tuitest"
)

// deed is something that happens to the dashboard.
type deed struct {
	name string
	do   func(p *tuitest.Pump)
	size [2]int // after it; zero when it is as before
}

// deeds draws what a terminal, a mouse and a person can do.
func deeds() *rapid.Generator[deed] {
	var keys []string
	for _, b := range screen.Bindings() {
		if b.Intent != screen.Quit && b.Intent != screen.Leave && b.Intent != screen.Suspend {
			keys = append(keys, b.Keys...)
		}
	}
	keys = append(keys, "a text", "日本語🧪", "\x1b[2J", "e\u0301", "/")
	return rapid.Custom(func(r *rapid.T) deed {
		switch rapid.IntRange(0, 6).Draw(r, "what") {
		case 0:
			w, h := rapid.IntRange(1, 220).Draw(r, "width"), rapid.IntRange(1, 70).Draw(r, "height")
			return deed{fmt.Sprintf("resize to %dx%d", w, h), func(p *tuitest.Pump) { p.Send(tea.WindowSizeMsg{Width: w, Height: h}) }, [2]int{w, h}}
		case 1:
			x, y := rapid.IntRange(0, 220).Draw(r, "x"), rapid.IntRange(0, 70).Draw(r, "y")
			return deed{name: fmt.Sprintf("click at %d,%d", x, y), do: func(p *tuitest.Pump) {
				p.Send(tea.MouseMsg{X: x, Y: y, Button: tea.MouseButtonLeft, Action: tea.MouseActionPress})
			}}
		case 2:
			pasted := rapid.StringN(0, 60, 200).Draw(r, "pasted")
			return deed{name: fmt.Sprintf("paste %q", pasted), do: func(p *tuitest.Pump) { p.Send(tea.KeyMsg{Type: tea.KeyRunes, Paste: true, Runes: []rune(pasted)}) }}
		default:
			key := rapid.SampledFrom(keys).Draw(r, "key")
			return deed{name: "press " + key, do: func(p *tuitest.Pump) { p.Type(key) }}
		}
	})
}

// However the terminal is resized and whatever is pressed, clicked or pasted, the
// dashboard never panics, and every row is exactly as wide as the terminal.
func TestAnySizeAndAnyKey(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		done := rapid.SliceOfN(deeds(), 1, 25).Draw(r, "deeds")
		wrong := ""
		synctest.Test(t, func(t *testing.T) {
			p := tuitest.Start(t, tuitest.Sample(time.Now()), 80, 24, nil)
			size := [2]int{80, 24}
			for _, d := range done {
				d.do(p)
				if d.size != [2]int{} {
					size = d.size
				}
				view := ansi.Strip(p.Model.View())
				if err := p.Model.Err(); err != nil {
					wrong = fmt.Sprintf("after %s: %v\n%s", d.name, err, err.(screen.Crash).Stack)
					return
				}
				if wrong = tuitest.Misfit(view, size[0], size[1]); wrong != "" {
					wrong = "after " + d.name + ": " + wrong
					return
				}
			}
		})
		if wrong != "" {
			var names []string
			for _, d := range done {
				names = append(names, d.name)
			}
			r.Fatalf("%s\n%s", strings.Join(names, ", "), wrong)
		}
	})
}

// Every screen is drawn at every small size, and on a terminal of one cell.
func TestResizeStorm(t *testing.T) {
	for _, s := range screens() {
		t.Run(s.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := tuitest.Start(t, tuitest.Sample(time.Now()), 80, 24, nil)
				p.Type(s.keys...)
				at := func(w, h int) {
					p.Send(tea.WindowSizeMsg{Width: w, Height: h})
					tuitest.Exact(t, ansi.Strip(p.Model.View()), w, h)
				}
				for w := 60; w <= 140; w += 7 {
					at(w, 16+w%9)
				}
				at(1, 1)
				at(500, 200)
				at(60, 16)
				if p.Model.Err() != nil {
					t.Fatal(p.Model.Err())
				}
				if strings.Contains(p.View(), "too small") {
					t.Error("60x16 is called too small")
				}
			})
		})
	}
}
