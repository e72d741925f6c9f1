package editor_test

import (
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/tui/widget/editor"
	"github.com/posttrainarena/arena/tui/widget/widgettest"
)

func pasted(m editor.Model, text string) editor.Model {
	m, _ = m.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(text), Paste: true})
	return m
}

func styles() editor.Styles {
	c := widgettest.Colour
	return editor.Styles{Text: widgettest.Style(), Placeholder: c("8"), Cursor: widgettest.Style(), Count: c("2"), Short: c("3")}
}

func TestView(t *testing.T) {
	for _, tt := range []struct {
		name, text    string
		width, height int
		opts          []editor.Option
	}{
		{"empty", "", 50, 4, []editor.Option{editor.WithPlaceholder("What did you check?")}},
		{"too short", "looks fine", 50, 4, nil},
		{"long enough", "recomputed from the files;\nboth sides cover the suite", 50, 4, nil},
		{"wraps and scrolls", strings.Repeat("a long note about the evidence ", 8), 30, 5, nil},
		{"wide characters", "証拠を確認しました。両側が揃っています。", 24, 4, nil},
		{"full", strings.Repeat("x", 200), 50, 5, nil},
		{"ascii", "größer", 50, 3, []editor.Option{editor.WithASCII(true)}},
		{"styled", "looks fine", 50, 4, []editor.Option{editor.WithStyles(styles())}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := editor.New(append(tt.opts, editor.WithLimits(20, 120))...)
			m.SetSize(tt.width, tt.height)
			m = pasted(m, tt.text)
			widgettest.Exact(t, m.View(), tt.width, tt.height)
			if tt.name == "ascii" {
				widgettest.ASCIIOnly(t, m.View())
			}
			widgettest.Golden(t, m.View())
		})
	}
}

func TestValid(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, strings.Repeat("x", 19): false, strings.Repeat("x", 20): true,
		"   " + strings.Repeat("x", 17) + "   ": false, // spaces are no reasons
		strings.Repeat("証", 20):                 true,
	} {
		m := pasted(editor.New(editor.WithLimits(20, 4000)), text)
		if m.Valid() != want {
			t.Errorf("%q: valid %t, want %t", text, m.Valid(), want)
		}
	}
}

func TestNoMoreThanTheMostIsTaken(t *testing.T) {
	m := pasted(editor.New(editor.WithLimits(0, 10)), strings.Repeat("x", 50))
	if got := m.Value(); got != strings.Repeat("x", 10) {
		t.Errorf("took %q", got)
	}
	m.SetValue("a\nb")
	if got := m.Value(); got != "a\nb" {
		t.Errorf("set to %q", got)
	}
}

func TestWithoutTheFocusNothingIsTaken(t *testing.T) {
	m := editor.New()
	m.Blur()
	if m = pasted(m, "text"); m.Value() != "" || m.Focused() {
		t.Errorf("took %q without the focus", m.Value())
	}
	m.Focus()
	if m = pasted(m, "text"); m.Value() != "text" {
		t.Errorf("took %q with the focus", m.Value())
	}
}

func TestViewIsExactForAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ascii := rapid.Bool().Draw(t, "ascii")
		m := editor.New(editor.WithStyles(styles()), editor.WithASCII(ascii))
		width, height := rapid.IntRange(0, 80).Draw(t, "width"), rapid.IntRange(0, 12).Draw(t, "height")
		m.SetSize(width, height)
		for _, text := range rapid.SliceOfN(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"word ", "\n", "日本語", "e\u0301", "👩‍👧", "\t", strings.Repeat("x", 90)})), 0, 6).Draw(t, "texts") {
			m = pasted(m, text)
		}
		widgettest.Exact(t, m.View(), width, height)
		if ascii {
			widgettest.ASCIIOnly(t, m.View())
		}
	})
}

func BenchmarkView(b *testing.B) {
	m := editor.New()
	m.SetSize(100, 10)
	m.SetValue(strings.Repeat("a long note about the evidence ", 100))
	b.ReportAllocs()
	for b.Loop() {
		m.View()
	}
}
