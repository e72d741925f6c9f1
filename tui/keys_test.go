package tui_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posttrainarena/arena/tui/screen"
	"github.com/posttrainarena/arena/tui/tuitest"
)

// setups are states of the dashboard in which the keys of each scope do
// something. A key that does something in none of them is dead.
func setups() map[screen.Scope][][]string {
	return map[screen.Scope][][]string{
		screen.Global:      {{"2", "j", "enter"}, {"1"}, {"2"}, {"3", "enter", "a", "ctrl+s", "tab", "enter"}},
		screen.InList:      {{"2", "j", "j", "j"}},
		screen.InRows:      {{"1", "j", "j", "j"}},
		screen.InFilter:    {{"2", "j", "j", "/", "a"}},
		screen.InText:      {{"2", "j", "l"}, {"2", "j", "l", "g"}, {"2", "j", "l", "pgup"}},
		screen.InDialog:    {{"2", "j", "x"}},
		screen.InPalette:   {{"2", ":", "run"}, {"2", ":", "run", "down"}, {"2", ":", "run", "pgdown"}},
		screen.InHelp:      {{"2", "?"}, {"2", "?", "down", "down"}, {"2", "?", "pgdown"}},
		screen.OnOverview:  {{"1", "j"}},
		screen.OnRuns:      {{"2", "j"}, {"2", "j", "j", "j"}},
		screen.OnRun:       {{"2", "j", "enter"}, {"2", "j", "j", "j", "enter"}},
		screen.OnLog:       {{"2", "j", "l"}, {"2", "j", "l", "/", "loss", "enter"}, {"2", "j", "l", "g"}, {"2", "j", "l", "right"}, {"2", "j", "l", "L"}},
		screen.OnSearch:    {{"2", "j", "l", "/", "loss"}},
		screen.OnAttempt:   {{"3", "enter", "t", "j", "enter"}},
		screen.OnReview:    {{"3", "enter"}},
		screen.OnNote:      {{"3", "enter", "a"}},
		screen.OnRanking:   {{"5"}},
		screen.OnBoard:     {{"6"}},
		screen.OnWrite:     {{"6", "w", "text"}},
		screen.OnCollected: {{"4", "enter"}},
		screen.OnAttach:    {{"4", "enter", "a"}, {"4", "enter", "a", "gates/results.json", "enter"}, {"4", "enter", "a", "gates/results.json", "enter", "down"}},
	}
}

// Every key of the table does something, in the state in which it is said to.
func TestNoKeyIsDead(t *testing.T) {
	states := setups()
	rows := map[screen.Scope][]screen.Binding{}
	for _, b := range screen.Bindings() {
		rows[b.Scope] = append(rows[b.Scope], b)
		if len(states[b.Scope]) == 0 && b.Scope != screen.InTyped {
			t.Errorf("no state shows the keys of %s", b.Scope)
		}
	}
	for scope, bindings := range rows {
		t.Run(string(scope), func(t *testing.T) {
			for _, b := range bindings {
				for _, key := range b.Keys {
					if !works(t, states[scope], b, key) && scope != screen.InTyped {
						t.Errorf("%s (%s) does nothing", key, b.Help)
					}
				}
			}
		})
	}
}

// works reports whether a key changes what shows, or has a command do something,
// in one of the states.
func works(t *testing.T, states [][]string, b screen.Binding, key string) bool {
	done := false
	for _, state := range states {
		synctest.Test(t, func(t *testing.T) {
			p := tuitest.Start(t, tuitest.Sample(time.Now()), 80, 24, nil)
			p.Type(state...)
			before, sent := p.View(), len(p.Sent)
			p.Type(key)
			done = p.Quit || p.View() != before || len(p.Sent) > sent+1
		})
		if done {
			return true
		}
	}
	return false
}

// Every key of the table says what it does, and no key means two things at one
// place.
func TestKeysAreDocumented(t *testing.T) {
	if _, err := screen.NewKeys(screen.Bindings()); err != nil {
		t.Error(err)
	}
	for _, b := range screen.Bindings() {
		if b.Help == "" || b.Intent == "" || strings.HasSuffix(b.Help, ".") {
			t.Errorf("%s %v: help %q, intent %q", b.Scope, b.Keys, b.Help, b.Intent)
		}
		if len(b.Keys) == 0 && b.Argument == "" {
			t.Errorf("%s: %s has neither a key nor an argument", b.Scope, b.Help)
		}
		for _, k := range b.Keys {
			if got := tuitest.Keys(k); len(got) != 1 {
				t.Errorf("%s: %q is no key that a terminal sends", b.Scope, k)
			}
		}
	}
}

func TestConflictingKeysAreRefused(t *testing.T) {
	_, err := screen.NewKeys(append(screen.Bindings(), screen.Binding{Scope: screen.OnLog, Keys: []string{"w"}, Intent: screen.Save}))
	if want := "the key w of log means both wrap and save"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// Keys become intents in one place: no other code looks at how a key is spelled.
func TestKeysAreReadInOnePlace(t *testing.T) {
	spelled := regexp.MustCompile(`\.String\(\) [!=]= "|case "(ctrl|esc|enter|up|down)|tea\.Key[A-LN-Z]|msg\.(Type|Runes)\b`)
	for _, dir := range []string{".", "screen"} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") || e.Name() == "input.go" {
				continue
			}
			raw, err := os.ReadFile(dir + "/" + e.Name())
			if err != nil {
				t.Fatal(err)
			}
			if m := spelled.FindString(string(raw)); m != "" {
				t.Errorf("%s/%s looks at how a key is spelled: %s", dir, e.Name(), m)
			}
		}
	}
}

// The help of a screen lists exactly the keys that are live there.
func TestHelpListsWhatIsLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := tuitest.Start(t, tuitest.Sample(time.Now()), 100, 80, nil)
		keys, err := screen.NewKeys(screen.Bindings())
		if err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]struct {
			keys   []string
			scopes []screen.Scope
		}{
			"runs":   {[]string{"2"}, []screen.Scope{screen.OnRuns, screen.InList, screen.Global}},
			"log":    {[]string{"2", "j", "l"}, []screen.Scope{screen.OnLog, screen.InText, screen.Global}},
			"review": {[]string{"3", "enter"}, []screen.Scope{screen.OnReview, screen.InText, screen.Global}},
		} {
			p.Type(append(c.keys, "?")...)
			for _, b := range keys.Live(c.scopes) {
				row := screen.KeyName(b.Keys[0])
				if !strings.Contains(p.View(), row) || !strings.Contains(p.View(), b.Help) {
					t.Errorf("the help of %s lacks %s: %s\n%s", name, row, b.Help, p.View())
				}
			}
			p.Type("esc", "esc", "esc")
		}
	})
}
