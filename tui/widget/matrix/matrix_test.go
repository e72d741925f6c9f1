package matrix_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/tui/widget/matrix"
	"github.com/posttrainarena/arena/tui/widget/widgettest"
)

// outcomes reads a row of signs: p passed, f failed, t timed out, e error, - none.
func outcomes(signs string) []matrix.Outcome {
	var os []matrix.Outcome
	for _, r := range signs {
		os = append(os, map[rune]matrix.Outcome{'p': matrix.Pass, 'f': matrix.Fail, 't': matrix.Timeout, 'e': matrix.Error}[r])
	}
	return os
}

func rows() []matrix.Row {
	var rows []matrix.Row
	for _, s := range []string{
		"label-jars fff ppf", "merge-ledgers ppp pfp", "図書館の棚を整理する fpf fpf", "sort-letters ttt ptt", "weigh-parcels pep ppp", "count-cranes eee ppp", "fold-maps f-p p-p",
	} {
		f := strings.Fields(s)
		rows = append(rows, matrix.Row{Task: f[0], Before: outcomes(f[1]), After: outcomes(f[2])})
	}
	return rows
}

func styles() matrix.Styles {
	c, plain := widgettest.Colour, widgettest.Style()
	return matrix.Styles{
		Outcomes: [5]lipgloss.Style{c("8"), c("2"), c("1"), c("3"), c("5")}, Flips: [4]lipgloss.Style{c("8"), c("2").Bold(true), c("1").Bold(true), c("5")},
		Task: plain, Selected: plain.Background(lipgloss.Color("4")), Header: c("8"), Summary: c("8"),
	}
}

func TestView(t *testing.T) {
	many := rows()[:2]
	many[0].Before = slices.Repeat(many[0].Before, 10)
	for _, tt := range []struct {
		name          string
		rows          []matrix.Row
		width, height int
		flips         bool
		opts          []matrix.Option
	}{
		{"80x10", rows(), 80, 10, false, nil},
		{"40x5", rows(), 40, 5, false, nil},
		{"20x5", rows(), 20, 5, false, nil},
		{"flips only", rows(), 80, 10, true, nil},
		{"nothing turned", rows()[2:3], 60, 5, true, nil},
		{"no outcomes", nil, 60, 5, false, nil},
		{"many trials", many, 80, 5, false, nil},
		{"ascii", rows(), 60, 10, false, []matrix.Option{matrix.WithASCII(true)}},
		{"styled", rows(), 60, 10, false, []matrix.Option{matrix.WithStyles(styles())}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := matrix.New(tt.opts...)
			m.SetSize(tt.width, tt.height)
			m.SetRows(tt.rows)
			if tt.flips {
				m.ToggleOnlyFlips()
			}
			widgettest.Exact(t, m.View(), tt.width, tt.height)
			if tt.name == "ascii" {
				widgettest.ASCIIOnly(t, m.View())
			}
			widgettest.Golden(t, m.View())
		})
	}
}

func TestFlip(t *testing.T) {
	for _, tt := range []struct {
		before, after string
		want          matrix.Flip
	}{
		{"f", "p", matrix.Gained},
		{"p", "f", matrix.Lost},
		{"t", "f", matrix.Same},
		{"pf", "fp", matrix.Same},
		{"e", "p", matrix.Unknown},
		{"pe", "pp", matrix.Same}, // the error's pair is left out on both sides
		{"ef", "fp", matrix.Gained},
		{"p", "-", matrix.Unknown},
		{"pp", "p", matrix.Same},
		{"", "", matrix.Unknown},
	} {
		if got := (matrix.Row{Before: outcomes(tt.before), After: outcomes(tt.after)}).Flip(); got != tt.want {
			t.Errorf("%q to %q is %s, want %s", tt.before, tt.after, got, tt.want)
		}
	}
}

func TestTheCursorFollowsItsTask(t *testing.T) {
	m := matrix.New()
	m.SetSize(80, 5)
	m.SetRows(rows())
	selected := func() string { r, _ := m.Selected(); return r.Task }
	m.Move(3)
	if got := selected(); got != "sort-letters" {
		t.Fatalf("on %s", got)
	}
	m.ToggleOnlyFlips()
	if got := selected(); got != "sort-letters" || !m.OnlyFlips() {
		t.Errorf("with flips only it is on %s", got)
	}
	m.SetRows(slices.Insert(rows(), 0, matrix.Row{Task: "new", Before: outcomes("f"), After: outcomes("p")}))
	if got := selected(); got != "sort-letters" || !strings.Contains(m.View(), "sort-letters") {
		t.Errorf("with a new row it is on %s", got)
	}
	m.Move(-100)
	if got := selected(); got != "new" {
		t.Errorf("at the top it is on %s", got)
	}
	m.Move(100)
	if got := selected(); got != "fold-maps" {
		t.Errorf("at the end it is on %s", got)
	}
	m.SetRows(nil)
	if got := selected(); got != "" {
		t.Errorf("without rows it is on %s", got)
	}
}

func TestAClickSelectsWhatIsDrawnThere(t *testing.T) {
	m := matrix.New()
	m.SetSize(80, 6)
	m.SetRows(rows())
	m.Move(5)
	for y, row := range strings.Split(ansi.Strip(m.View()), "\n") {
		ok := m.Click(y)
		r, _ := m.Selected()
		if ok != (y >= 1 && y <= 4) || ok && !strings.Contains(row, r.Task) {
			t.Errorf("a click on row %d (%q) selects %q, %t", y, row, r.Task, ok)
		}
	}
}

func TestCountsAddUp(t *testing.T) {
	m := matrix.New()
	m.SetRows(rows())
	got := fmt.Sprint(m.Count(matrix.Gained), m.Count(matrix.Lost), m.Count(matrix.Same), m.Count(matrix.Unknown))
	if want := "3 1 2 1"; got != want {
		t.Errorf("gained, lost, same, unknown: %s, want %s", got, want)
	}
}

func TestSignsDifferWithoutColour(t *testing.T) {
	for _, ascii := range []bool{false, true} {
		m := matrix.New(matrix.WithASCII(ascii))
		m.SetSize(60, 10)
		m.SetRows([]matrix.Row{{Task: "t", Before: outcomes("-pfte")}})
		row := strings.Split(ansi.Strip(m.View()), "\n")[1]
		signs := []rune(row)[11:16]
		slices.Sort(signs)
		if len(slices.Compact(signs)) != 5 {
			t.Errorf("ascii %t: the signs are %q in %q", ascii, string(signs), row)
		}
	}
}

func TestViewIsExactForAnyRows(t *testing.T) {
	side := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) matrix.Outcome { return matrix.Outcome(rapid.IntRange(-1, 6).Draw(t, "outcome")) }), 0, 40)
	rapid.Check(t, func(t *rapid.T) {
		ascii := rapid.Bool().Draw(t, "ascii")
		m := matrix.New(matrix.WithStyles(styles()), matrix.WithASCII(ascii))
		width, height := rapid.IntRange(0, 120).Draw(t, "width"), rapid.IntRange(0, 20).Draw(t, "height")
		m.SetSize(width, height)
		m.SetRows(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) matrix.Row {
			return matrix.Row{Task: rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "task", "課題", "a\tb"})).Draw(t, "task"), Before: side.Draw(t, "before"), After: side.Draw(t, "after")}
		}), 0, 30).Draw(t, "rows"))
		if rapid.Bool().Draw(t, "flips") {
			m.ToggleOnlyFlips()
		}
		m.Move(rapid.IntRange(-5, 40).Draw(t, "move"))
		widgettest.Exact(t, m.View(), width, height)
		if ascii {
			widgettest.ASCIIOnly(t, m.View())
		}
	})
}

func BenchmarkView(b *testing.B) {
	m := matrix.New(matrix.WithStyles(styles()))
	m.SetSize(200, 60)
	m.SetRows(slices.Repeat(rows(), 30))
	b.ReportAllocs()
	for b.Loop() {
		m.View()
	}
}
