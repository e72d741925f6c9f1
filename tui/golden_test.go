package tui_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/posttrainarena/arena/tui"
	"github.com/posttrainarena/arena/tui/tuitest"
)

// stop is a state of the dashboard that is worth a picture: how to get there from
// anywhere, and how to be rid of it.
type stop struct {
	name  string
	keys  []string
	after []string
}

// screens are every screen with the sample on it.
func screens() []stop {
	return []stop{
		{name: "overview", keys: []string{"1"}},
		{name: "runs", keys: []string{"2"}},
		{name: "run", keys: []string{"2", "g", "j", "enter"}},
		{name: "run-failed", keys: []string{"2", "g", "j", "j", "j", "j", "enter"}},
		{name: "log", keys: []string{"2", "g", "j", "l"}},
		{name: "attempts", keys: []string{"2", "g", "j", "j", "j", "j", "j", "t"}},
		{name: "attempt", keys: []string{"2", "g", "j", "j", "j", "j", "j", "t", "enter"}},
		{name: "results", keys: []string{"3"}},
		{name: "review", keys: []string{"3", "g", "enter"}},
		{name: "collections", keys: []string{"4"}},
		{name: "collection", keys: []string{"4", "g", "j", "j", "j", "j", "enter"}},
		{name: "leaderboard", keys: []string{"5"}},
		{name: "board", keys: []string{"6", "g", "j"}},
		{name: "attach", keys: []string{"4", "G", "enter", "a", "gates/results.json", "enter"}, after: []string{"esc"}},
		{name: "jobs", keys: []string{"7"}},
		{name: "health", keys: []string{"8"}},
	}
}

// moments are states of screens that need a picture at one size only.
func moments() []stop {
	return []stop{
		{name: "help", keys: []string{"2", "?"}, after: []string{"esc"}},
		{name: "palette", keys: []string{"2", ":", "leader"}, after: []string{"esc"}},
		{name: "filter", keys: []string{"2", "/", "!state:scored team:delta"}, after: []string{"esc"}},
		{name: "filter-empty", keys: []string{"2", "/", "nowhere"}, after: []string{"esc"}},
		{name: "cancel", keys: []string{"2", "g", "j", "x"}, after: []string{"esc"}},
		{name: "log-search", keys: []string{"2", "g", "j", "l", "/", "loss", "enter", "N"}},
		{name: "log-typing", keys: []string{"2", "g", "j", "l", "/", "los"}, after: []string{"esc"}},
		{name: "log-error", keys: []string{"2", "g", "j", "l", "E"}},
		{name: "log-failures", keys: []string{"2", "g", "j", "l", "L", "L"}, after: []string{"esc"}},
		{name: "attempt-checks", keys: []string{"2", "g", "j", "j", "j", "j", "j", "t", "j", "enter", "tab"}},
		{name: "review-tasks", keys: []string{"3", "g", "enter", "f"}},
		{name: "review-history", keys: []string{"3", "g", "enter", "shift+tab"}},
		{name: "note", keys: []string{"3", "g", "enter", "a"}, after: []string{"esc"}},
		{name: "accept", keys: []string{"3", "g", "enter", "a", "ctrl+s"}, after: []string{"esc"}},
		{name: "verdicts", keys: []string{"4", "G", "enter", "tab"}},
		{name: "collection-tasks", keys: []string{"4", "G", "enter", "shift+tab"}},
		{name: "attach-path", keys: []string{"4", "G", "enter", "a", "tab", "tab"}, after: []string{"esc"}},
		{name: "attach-refused", keys: []string{"4", "G", "enter", "a", "gates/nothing.json", "enter"}, after: []string{"esc"}},
		{name: "attach-confirm", keys: []string{"4", "G", "enter", "a", "gates/results.json", "enter", "ctrl+s"}, after: []string{"esc", "esc"}},
		{name: "message", keys: []string{"6", "g", "j", "enter"}},
		{name: "answer", keys: []string{"6", "g", "j", "a", "It is a good point."}, after: []string{"esc"}},
		{name: "grace", keys: []string{"3", "g", "enter", "a", "ctrl+s", "tab", "enter"}, after: []string{"z"}},
		{name: "toast", keys: []string{"2", "g", "v"}},
		{name: "deeds", keys: []string{"2", "g", "j", "x", "tab", "enter", "A"}, after: []string{"esc"}},
	}
}

// modes are the ways to draw.
func modes() map[string]func(*tui.Options) {
	return map[string]func(*tui.Options){
		"colour":  func(*tui.Options) {},
		"nocolor": func(o *tui.Options) { o.NoColor = true },
		"ascii":   func(o *tui.Options) { o.ASCII, o.NoColor = true, true },
		"light":   setenv("ARENA_THEME", "light"),
	}
}

// setenv changes one variable of the terminal's environment.
func setenv(name, value string) func(*tui.Options) {
	return func(o *tui.Options) {
		before := o.Getenv
		o.Getenv = func(n string) string {
			if n == name {
				return value
			}
			return before(n)
		}
	}
}

// sizes are those that every screen is drawn at.
func sizes() [][2]int { return [][2]int{{80, 24}, {120, 40}, {200, 60}} }

func TestScreens(t *testing.T) {
	for name, mode := range modes() {
		for _, size := range sizes() {
			stops := screens()
			if size == sizes()[0] && name != "light" {
				stops = append(stops, moments()...)
			}
			if name == "light" && size != sizes()[1] {
				continue
			}
			t.Run(fmt.Sprintf("%s %dx%d", name, size[0], size[1]), func(t *testing.T) { walk(t, stops, name, size, mode) })
		}
	}
}

// walk takes a picture at every stop.
func walk(t *testing.T, stops []stop, mode string, size [2]int, change func(*tui.Options)) {
	synctest.Test(t, func(t *testing.T) {
		p := tuitest.Start(t, tuitest.Sample(time.Now()), size[0], size[1], change)
		for _, s := range stops {
			p.Type(s.keys...)
			view := p.Model.View()
			tuitest.Exact(t, ansi.Strip(view), size[0], size[1])
			tuitest.Golden(t, fmt.Sprintf("%s/%dx%d/%s", mode, size[0], size[1], s.name), view)
			switch mode {
			case "nocolor":
				if i := strings.Index(view, "\x1b[3"); i >= 0 {
					t.Errorf("%s has a colour without colours: %q", s.name, view[i:i+10])
				}
			case "ascii":
				checkASCII(t, s.name, view)
			}
			p.Type(s.after...)
		}
	})
}

// checkASCII fails the test when something that the dashboard draws itself is not
// ASCII. What people wrote stays as it is.
func checkASCII(t *testing.T, name, view string) {
	t.Helper()
	theirs := "日本グループ端末タスク集🧪進捗█検証器の二番目テストについて。付長さで並べ替えるред␇"
	for _, r := range ansi.Strip(view) {
		if r > '~' && !strings.ContainsRune(theirs, r) {
			t.Errorf("%s draws %q in ASCII", name, r)
			return
		}
	}
}

// mark is a state as rows show it: a shape and a word.
var mark = regexp.MustCompile(`^[^\w\s›/] [a-z]+$`)

// Without any colour, no two states look alike: each has a shape and a word of its
// own.
func TestStatesDifferInGrey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := tuitest.Start(t, tuitest.Sample(time.Now()), 200, 60, func(o *tui.Options) { o.NoColor = true })
		var rows []string
		seen := map[string]string{}
		collect := func(column int, keys ...string) {
			p.Type(keys...)
			for _, row := range strings.Split(p.View(), "\n")[3:] {
				fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(row), "▌"))
				if len(fields) < column+2 || !mark.MatchString(fields[column]+" "+fields[column+1]) {
					continue
				}
				shape, word := fields[column], fields[column+1]
				if other, ok := seen[word]; ok && other != shape && word != "failed" {
					t.Errorf("%s is drawn as %s and as %s", word, other, shape)
				}
				if _, ok := seen[word]; !ok {
					rows = append(rows, shape+" "+word)
				}
				seen[word] = shape
			}
		}
		collect(0, "2")
		collect(0, "3")
		collect(1, "2", "g", "j", "j", "j", "j", "j", "t")
		collect(0, "4", "g", "j", "j", "j", "j", "enter")
		collect(0, "4", "G", "enter", "tab")
		collect(0, "4", "G", "enter", "shift+tab")
		collect(0, "8")
		for _, want := range []string{"well", "look", "open", "queued", "running", "scored", "failed", "canceled", "no", "pending", "accepted", "rejected", "pass", "fail", "timeout", "error", "block", "reject", "controls", "review", "inconclusive"} {
			if seen[want] == "" {
				t.Errorf("no row is %s", want)
			}
		}
		tuitest.Golden(t, "states", strings.Join(rows, "\n"))
	})
}

func TestEmptyArena(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := tuitest.Start(t, tuitest.Empty(time.Now()), 80, 24, nil)
		for _, tab := range []string{"1", "2", "3", "4", "5", "6", "7", "8"} {
			p.Type(tab)
			tuitest.Golden(t, "empty/"+tab, p.View())
		}
	})
}
