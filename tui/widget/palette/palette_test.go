package palette_test

import (
	"fmt"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/tui/widget/palette"
	"github.com/posttrainarena/arena/tui/widget/widgettest"
)

func items() []palette.Item {
	return []palette.Item{
		{ID: "log", Title: "Open the job's log", Key: "l"},
		{ID: "cancel", Title: "Cancel the run", Key: "x", Why: "started with --readonly"},
		{ID: "line", Title: "Go to line", Hint: "<number>"},
		{ID: "board", Title: "Leaderboard", Key: "5"},
		{ID: "copy", Title: "Copy as CLI", Key: "C"},
		{ID: "run", Title: "Run challenge-0123456789ab", Hint: "<part>"},
		{ID: "wide", Title: "図書館の棚 — ein sehr langer Titel mit vielen Wörtern darin", Key: "ctrl+k"},
	}
}

func typed(m palette.Model, text string) palette.Model {
	for _, r := range text {
		m, _ = m.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}})
	}
	return m
}

func TestView(t *testing.T) {
	c, plain := widgettest.Colour, widgettest.Style()
	styles := palette.Styles{
		Border: c("8"), Title: plain.Bold(true), Prompt: plain, Cursor: plain, Item: plain, Selected: plain.Background(lipgloss.Color("4")),
		Disabled: c("8"), Match: c("3"), Key: c("6"), Hint: c("8"), Count: c("8"),
	}
	for _, tt := range []struct {
		name, query   string
		width, height int
		opts          []palette.Option
	}{
		{"all", "", 60, 12, nil},
		{"what fits", "co", 60, 12, nil},
		{"an argument", "go to line 500", 60, 12, nil},
		{"nothing fits", "xyzzy", 60, 8, nil},
		{"narrow", "", 24, 8, nil},
		{"ascii", "l", 60, 10, []palette.Option{palette.WithASCII(true)}},
		{"styled", "l", 60, 10, []palette.Option{palette.WithStyles(styles)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := typed(palette.New(items(), tt.opts...), tt.query)
			m.SetSize(tt.width, tt.height)
			widgettest.Exact(t, m.View(), tt.width, tt.height)
			if tt.name == "ascii" {
				widgettest.ASCIIOnly(t, m.View())
			}
			widgettest.Golden(t, m.View())
		})
	}
}

// choice is what the palette would do now.
func choice(m palette.Model) string {
	c, ok := m.Choice()
	if !ok {
		return "nothing"
	}
	return strings.TrimSpace(c.Item.ID + " " + c.Argument)
}

func TestChoice(t *testing.T) {
	for query, want := range map[string]string{
		"":                "log",
		"board":           "board",
		"go line":         "line",
		"go to line 500":  "line 500",
		"GO TO LINE  7  ": "line 7",
		"cancel":          "nothing", // it says why
		"xyzzy":           "nothing",
		"copy as cli x":   "nothing", // it takes no argument
		"run challenge-0123456789ab heldout part 2": "run heldout part 2",
	} {
		if got := choice(typed(palette.New(items()), query)); got != want {
			t.Errorf("%q chooses %q, want %q", query, got, want)
		}
	}
}

func TestCompleteTypesTheTitle(t *testing.T) {
	m := typed(palette.New(items()), "gtl")
	m.Complete()
	if got := m.Query(); got != "Go to line " {
		t.Errorf("completed to %q", got)
	}
	m = typed(m, "12")
	if got := choice(m); got != "line 12" {
		t.Errorf("chooses %q", got)
	}
}

func TestTheCursorStopsAtTheEndsAndStaysInView(t *testing.T) {
	var many []palette.Item
	for i := range 100 {
		many = append(many, palette.Item{ID: fmt.Sprint(i), Title: fmt.Sprintf("command %d.", i)})
	}
	m := palette.New(many)
	m.SetSize(40, 10)
	for _, move := range []struct {
		rows int
		want string
	}{{-5, "0"}, {3, "3"}, {40, "43"}, {1000, "99"}, {-7, "92"}} {
		m.Move(move.rows)
		if got := choice(m); got != move.want {
			t.Errorf("after %d rows it is on %s, want %s", move.rows, got, move.want)
		}
		if !strings.Contains(m.View(), "command "+move.want+".") {
			t.Errorf("after %d rows command %s is not in view", move.rows, move.want)
		}
	}
}

func TestAClickSelectsWhatIsDrawnThere(t *testing.T) {
	m := palette.New(items())
	m.SetSize(60, 8)
	rows := strings.Split(ansi.Strip(m.View()), "\n")
	for y := range rows {
		ok := m.Click(y)
		it, _ := m.Selected()
		if ok != (y >= 2 && y < 6) || ok && !strings.Contains(rows[y], it.Title) {
			t.Errorf("a click on row %d (%q) selects %q, %t", y, rows[y], it.Title, ok)
		}
	}
}

func TestNewItemsKeepTheSelection(t *testing.T) {
	m := palette.New(items())
	m.Move(3)
	m.SetItems(append([]palette.Item{{ID: "new", Title: "New"}}, items()...))
	if got := choice(m); got != "board" {
		t.Errorf("after new items it is on %q", got)
	}
}

func TestViewIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ascii := rapid.Bool().Draw(t, "ascii")
		m := palette.New(items(), palette.WithASCII(ascii))
		width, height := rapid.IntRange(0, 100).Draw(t, "width"), rapid.IntRange(0, 30).Draw(t, "height")
		m.SetSize(width, height)
		m.SetQuery(rapid.SampledFrom([]string{"", "l", "go", "図", "e", "\u0301", strings.Repeat("long ", 50), "👩‍👧"}).Draw(t, "query"))
		m.Move(rapid.IntRange(-3, 20).Draw(t, "rows"))
		widgettest.Exact(t, m.View(), width, height)
		if ascii {
			widgettest.ASCIIOnly(t, m.View())
		}
	})
}

func BenchmarkType(b *testing.B) {
	var many []palette.Item
	for i := range 500 {
		many = append(many, palette.Item{ID: fmt.Sprint(i), Title: fmt.Sprintf("Open the run challenge-%012d", i)})
	}
	m := palette.New(many)
	m.SetSize(80, 24)
	b.ReportAllocs()
	for b.Loop() {
		m.SetQuery("open 42")
		_ = m.View()
	}
}
