package look_test

import (
	"reflect"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"github.com/posttrainarena/arena/tui/look"
)

func TestDetect(t *testing.T) {
	for _, c := range []struct {
		name string
		env  map[string]string
		want look.Options
	}{
		{"nothing is known", nil, look.Options{Profile: termenv.Ascii, ASCII: true}},
		{"a common terminal", map[string]string{"TERM": "xterm-256color", "LANG": "en_US.UTF-8"}, look.Options{Profile: termenv.ANSI256}},
		{"true colour", map[string]string{"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}, look.Options{Profile: termenv.TrueColor}},
		{"sixteen colours", map[string]string{"TERM": "xterm", "LANG": "C.utf8"}, look.Options{Profile: termenv.ANSI}},
		{"NO_COLOR wins over all", map[string]string{"TERM": "xterm-256color", "COLORTERM": "truecolor", "NO_COLOR": "1", "LANG": "C.UTF-8"}, look.Options{Profile: termenv.Ascii}},
		{"LC_ALL wins over LANG", map[string]string{"TERM": "xterm", "LC_ALL": "C", "LANG": "en_US.UTF-8"}, look.Options{Profile: termenv.ANSI, ASCII: true}},
		{"a light background", map[string]string{"TERM": "xterm", "COLORFGBG": "0;default;15", "LANG": "C.UTF-8"}, look.Options{Profile: termenv.ANSI, Light: true}},
		{"a dark background", map[string]string{"TERM": "xterm", "COLORFGBG": "15;0", "LANG": "C.UTF-8"}, look.Options{Profile: termenv.ANSI}},
		{"the person's word wins", map[string]string{"TERM": "xterm", "COLORFGBG": "0;15", "ARENA_THEME": "dark", "LANG": "C.UTF-8"}, look.Options{Profile: termenv.ANSI}},
	} {
		if got := look.Detect(func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// Every glyph is one cell wide in every theme, and in ASCII it is ASCII: rows
// are put together by counting cells.
func TestGlyphsAreOneCell(t *testing.T) {
	for _, ascii := range []bool{false, true} {
		v := reflect.ValueOf(look.New(look.Options{ASCII: ascii}).Glyphs)
		for i := range v.NumField() {
			g, name := v.Field(i).String(), v.Type().Field(i).Name
			if ansi.StringWidth(g) != 1 {
				t.Errorf("%s %q is %d cells wide", name, g, ansi.StringWidth(g))
			}
			if ascii && (len(g) != 1 || g[0] < ' ' || g[0] > '~') {
				t.Errorf("%s %q is not ASCII", name, g)
			}
		}
	}
}

func TestPaint(t *testing.T) {
	for _, c := range []struct {
		name    string
		options look.Options
	}{
		{"true colour", look.Options{Profile: termenv.TrueColor}},
		{"256 colours", look.Options{Profile: termenv.ANSI256, Light: true}},
		{"16 colours", look.Options{Profile: termenv.ANSI}},
		{"no colour", look.Options{Profile: termenv.Ascii}},
	} {
		theme := look.New(c.options)
		for tone := look.Plain; tone <= look.Match; tone++ {
			got := theme.Paint(tone, "text")
			if ansi.Strip(got) != "text" {
				t.Errorf("%s, tone %d: %q changes the text", c.name, tone, got)
			}
			if got != theme.Style(tone).Render("text") {
				t.Errorf("%s, tone %d: %q is not what the style draws, %q", c.name, tone, got, theme.Style(tone).Render("text"))
			}
		}
	}
}

func TestOverStartsAgainAfterAnInnerTone(t *testing.T) {
	theme := look.New(look.Options{Profile: termenv.Ascii})
	got := theme.Over(look.Select, "a"+theme.Paint(look.Strong, "b")+"c")
	if want := "\x1b[7ma\x1b[1mb\x1b[0m\x1b[7mc\x1b[0m"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestZeroThemeDrawsPlainText(t *testing.T) {
	var theme look.Theme
	if got := theme.Over(look.Select, theme.Paint(look.Bad, "x")); got != "x" {
		t.Errorf("%q", got)
	}
}
