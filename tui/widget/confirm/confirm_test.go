package confirm_test

import (
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/tui/widget/confirm"
	"github.com/posttrainarena/arena/tui/widget/widgettest"
)

func question() confirm.Question {
	return confirm.Question{
		Title: "Cancel a run", Object: "challenge-0123456789ab of team-heron",
		Effect: "The provider is asked to stop the job. What it has measured so far is lost, and the run does not count against the daily limit.",
		Cost:   "About $31.20 of $48.00 are spent by now.",
		Accept: "Cancel the run",
	}
}

func final() confirm.Question {
	q := question()
	q.Title, q.Word, q.Accept = "Reject a result", "reject", "Reject"
	return q
}

func typed(m confirm.Model, text string) confirm.Model {
	for _, r := range text {
		m, _ = m.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}})
	}
	return m
}

func TestView(t *testing.T) {
	c := widgettest.Colour
	styles := confirm.Styles{
		Border: c("8"), Title: c("3").Bold(true), Object: c("7").Bold(true), Effect: widgettest.Style(), Cost: c("3"),
		Button: widgettest.Style(), Focused: c("0").Background(c("7").GetForeground()), Disabled: c("8"), Hint: c("8"),
		Input: widgettest.Style(), Cursor: widgettest.Style(),
	}
	for _, tt := range []struct {
		name          string
		m             confirm.Model
		width, height int
	}{
		{"refusing has the focus", confirm.New(question()), 60, 20},
		{"narrow", confirm.New(question()), 32, 20},
		{"low", confirm.New(question()), 60, 6},
		{"ascii", confirm.New(question(), confirm.WithASCII(true)), 60, 20},
		{"styled", confirm.New(question(), confirm.WithStyles(styles)), 60, 20},
		{"a word is asked for", confirm.New(final()), 60, 20},
		{"the word is typed", func() confirm.Model { m := typed(confirm.New(final()), "reject"); m.Toggle(); return m }(), 60, 20},
		{"a word is asked for, styled", typed(confirm.New(final(), confirm.WithStyles(styles)), "rej"), 60, 20},
		{"sent", func() confirm.Model { m := confirm.New(question()); m.Toggle(); m.Press(); return m }(), 60, 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.m.SetSize(tt.width, tt.height)
			view := tt.m.View()
			widgettest.Exact(t, view, tt.width, strings.Count(view, "\n")+1)
			if tt.name == "ascii" {
				widgettest.ASCIIOnly(t, view)
			}
			widgettest.Golden(t, view)
		})
	}
}

func TestEnterAloneChangesNothing(t *testing.T) {
	m := confirm.New(question())
	if got := m.Press(); got != confirm.Refused {
		t.Errorf("pressing at once is %d, want refused", got)
	}
}

func TestADoublePressConfirmsOnce(t *testing.T) {
	m := confirm.New(question())
	m.Toggle()
	if first, second := m.Press(), m.Press(); first != confirm.Confirmed || second != confirm.Open {
		t.Errorf("two presses are %d and %d, want confirmed and nothing", first, second)
	}
	m.Reopen()
	if got := m.Press(); got != confirm.Refused {
		t.Errorf("after a failure pressing is %d, want refused", got)
	}
}

func TestTheWordMustBeTyped(t *testing.T) {
	m := confirm.New(final())
	m.Toggle()
	if got := m.Press(); got != confirm.Open {
		t.Errorf("without the word: %d", got)
	}
	m = typed(m, "rejec")
	if got := m.Press(); got != confirm.Open || m.Ready() {
		t.Errorf("with part of the word: %d", got)
	}
	m = typed(m, "t")
	if got := m.Press(); got != confirm.Confirmed {
		t.Errorf("with the word: %d", got)
	}
}

func TestWithoutAWordTextIsIgnored(t *testing.T) {
	m := typed(confirm.New(question()), "y")
	if m.Typing() || m.View() != confirm.New(question()).View() {
		t.Error("a letter changes the dialog")
	}
}

func TestTheButtonsAreSeenWheneverThereIsARow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := question()
		q.Effect = rapid.SampledFrom([]string{"", "short", strings.Repeat("a long effect ", 40), "効果" + strings.Repeat("長", 200), "a\nb\nc\nd\ne\nf"}).Draw(t, "effect")
		if rapid.Bool().Draw(t, "final") {
			q.Word = "yes"
		}
		ascii := rapid.Bool().Draw(t, "ascii")
		m := confirm.New(q, confirm.WithASCII(ascii))
		m = typed(m, rapid.SampledFrom([]string{"", "yes", "日本語", strings.Repeat("long", 30)}).Draw(t, "typed"))
		width, height := rapid.IntRange(0, 90).Draw(t, "width"), rapid.IntRange(0, 24).Draw(t, "height")
		m.SetSize(width, height)
		view := m.View()
		if view == "" {
			return
		}
		rows := strings.Count(view, "\n") + 1
		if rows > height {
			t.Fatalf("%d rows in %d", rows, height)
		}
		widgettest.Exact(t, view, width, rows)
		if ascii {
			widgettest.ASCIIOnly(t, view)
		}
		if width >= 30 && height >= 4 && !strings.Contains(view, "Cancel the run") {
			t.Fatalf("no button in\n%s", view)
		}
	})
}
