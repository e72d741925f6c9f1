package celltext_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/tui/widget/celltext"
)

func TestCleanShowsOrDropsWhatATerminalWouldObey(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"printable ASCII is untouched", "reward 0.25 | step 7", "reward 0.25 | step 7"},
		{"colours are dropped", "\x1b[1;31mFAIL\x1b[0m jar", "FAIL jar"},
		{"a window title is dropped", "a\x1b]0;owned\x07b", "ab"},
		{"a clipboard write is dropped", "a\x1b]52;c;b3du\x1b\\b", "ab"},
		{"a sequence that does not end hides nothing", "a\x1b]0;title", "a0;title"},
		{"a control sequence that does not end hides nothing", "a\x1b[12\x01b", "a␁b"},
		{"two sequences that do not end", "a\x1b]b\x1bPc", "abc"},
		{"a character set is dropped", "a\x1b(0b", "ab"},
		{"a lone escape is shown", "a\x1b", "a␛"},
		{"controls are shown", "a\x00b\x08c\x7f", "a␀b␈c␡"},
		{"a progress bar keeps its steps", "10%\r20%\r", "10%␍20%"},
		{"8-bit controls have no effect", "a\u009b31mb", "a\ufffd31mb"},
		{"bytes that are not UTF-8", "a\xff\xfeb", "a\ufffd\ufffdb"},
		{"tabs go to the next stop", "a\tbc\tdefghijk\tl", "a       bc      defghijk        l"},
		{"tabs count columns", "日本\tx", "日本    x"},
		{"direction changes are shown", "user\u202etxt.exe", "user\ufffdtxt.exe"},
		{"what has no shape is dropped", "a\u200bb\ufeffc\u00ad", "abc"},
		{"marks stay", "e\u0301", "e\u0301"},
		{"too many marks are dropped", "e" + strings.Repeat("\u0301", 50), "e" + strings.Repeat("\u0301", 4)},
		{"a mark with nothing to stand on", "\u0301a", "◌\u0301a"},
		{"joined emoji are taken apart", "👩\u200d👧", "👩👧"},
		{"skin tones are dropped", "👍🏽!", "👍!"},
		{"an emoji has one width", "❤\ufe0f", "❤"},
		{"flags become letters", "🇩🇪", "DE"},
		{"a line separator is no line", "a\u2028b", "ab"},
	} {
		if got := celltext.Clean(tt.in); got != tt.want {
			t.Errorf("%s: Clean(%q) = %q, want %q", tt.name, tt.in, got, tt.want)
		}
	}
}

func TestLinesSplitAtLineEnds(t *testing.T) {
	for in, want := range map[string][]string{
		"":            {""},
		"a":           {"a"},
		"a\n":         {"a"},
		"a\r\nb\n\nc": {"a", "b", "", "c"},
	} {
		if diff := cmp.Diff(want, celltext.Lines(in)); diff != "" {
			t.Errorf("Lines(%q) (-want +got):\n%s", in, diff)
		}
	}
}

func TestASCIIKeepsTheWidth(t *testing.T) {
	if got, want := celltext.ASCII("Δ = 日本 e\u0301 ok"), "? = ???? e ok"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := celltext.ASCIIView("\x1b[1m│ lon… \x1b[0m\n日"), "\x1b[1m? lon~ \x1b[0m\n??"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFit(t *testing.T) {
	for _, tt := range []struct {
		in                   string
		width                int
		left, center, fright string
	}{
		{"abc", 5, "abc  ", " abc ", "  abc"},
		{"abc", 4, "abc ", "abc ", " abc"},
		{"abcdef", 4, "abc…", "abc…", "abc…"},
		{"日本語", 6, "日本語", "日本語", "日本語"},
		{"日本語", 5, "日本…", "日本…", "日本…"},
		{"日本語", 4, "日… ", "日… ", " 日…"},
		{"日本語", 1, "…", "…", "…"},
		{"abc", 0, "", "", ""},
		{"abc", -3, "", "", ""},
	} {
		got := []string{celltext.Fit(tt.in, tt.width), celltext.FitCenter(tt.in, tt.width), celltext.FitRight(tt.in, tt.width)}
		if want := []string{tt.left, tt.center, tt.fright}; !slices.Equal(got, want) {
			t.Errorf("%q in %d columns: %q, want %q", tt.in, tt.width, got, want)
		}
	}
}

func TestSliceCutsWideCharactersIntoSpaces(t *testing.T) {
	for _, tt := range []struct {
		in       string
		from, to int
		want     string
	}{
		{"abcdef", 1, 4, "bcd"},
		{"abc", 1, 5, "bc  "},
		{"abc", 7, 9, "  "},
		{"日本語", 0, 3, "日 "},
		{"日本語", 1, 4, " 本"},
		{"日本語", 1, 2, " "},
		{"日本語", 3, 6, " 語"},
		{"ae\u0301b", 1, 2, "e\u0301"},
		{"abc", -2, 2, "ab"},
		{"abc", 2, 2, ""},
		{"abc", 2, 1, ""},
	} {
		if got := celltext.Slice(tt.in, tt.from, tt.to); got != tt.want {
			t.Errorf("Slice(%q, %d, %d) = %q, want %q", tt.in, tt.from, tt.to, got, tt.want)
		}
	}
}

func TestWrapBreaksAtSpaces(t *testing.T) {
	for _, tt := range []struct {
		in    string
		width int
		want  []string
	}{
		{"", 10, []string{""}},
		{"the verifier never ran", 10, []string{"the", "verifier", "never ran"}},
		{"the verifier", 12, []string{"the verifier"}},
		{"the verifier  ran", 12, []string{"the verifier", "ran"}},
		{"antidisestablishment no", 8, []string{"antidise", "stablish", "ment no"}},
		{"  indented line", 10, []string{"  indented", "line"}},
		{"a\n\nb", 4, []string{"a", "", "b"}},
		{"日本語", 4, []string{"日本", "語"}},
		{"日 本 a", 1, []string{"?", "?", "a"}},
		{"abc", 0, nil},
	} {
		if diff := cmp.Diff(tt.want, celltext.Wrap(tt.in, tt.width)); diff != "" {
			t.Errorf("Wrap(%q, %d) (-want +got):\n%s", tt.in, tt.width, diff)
		}
	}
}

func TestBreakLosesNothing(t *testing.T) {
	if diff := cmp.Diff([]string{"ab c", "d"}, celltext.Break("ab cd", 4)); diff != "" {
		t.Error(diff)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := celltext.Clean(anyText().Draw(t, "text"))
		rows := celltext.Break(s, rapid.IntRange(2, 12).Draw(t, "width"))
		if got := strings.Join(rows, ""); got != s {
			t.Fatalf("rows %q join to %q, want %q", rows, got, s)
		}
	})
}

func TestFitStyledKeepsStyles(t *testing.T) {
	red := "\x1b[31mab日\x1b[0m"
	for width, want := range map[int]string{
		0: "",
		3: "\x1b[31mab\x1b[0m ",
		4: red,
		6: red + "  ",
	} {
		if got := celltext.FitStyled(red, width); got != want {
			t.Errorf("width %d: %q, want %q", width, got, want)
		}
	}
}

// anyText draws text of everything that makes widths hard.
func anyText() *rapid.Generator[string] {
	pieces := []string{
		"a", "Z", " ", "  ", "word ", "\t", "\n", "\r", "\x1b", "\x1b[31m", "\x1b]0;t\x07", "\x1b]", "\x00", "\x7f", "\xff", "\u009b",
		"日", "本", "한", "ｱ", "ア", "\u3000", "é", "e\u0301", "\u0301", "\u20dd", "\u202e", "\u2066", "\u200b", "\u200d", "\ufe0f", "\ufe0e",
		"👍", "🏽", "👩‍👧", "🇩", "🇪", "1\ufe0f\u20e3", "❤", "⏳", "│", "█", "⣿", "…", "±", "α", "ß", "م", "ש", "กำ", "क्षि", "\u0d4e",
		"\u1100", "\u1161", "\u11a8", "\u1160", "\u115f", "\ufffd", "\ue000", "\U0010ffff", "\U000e0041", "\u0378",
	}
	return rapid.Custom(func(t *rapid.T) string {
		if rapid.IntRange(0, 4).Draw(t, "kind") == 0 {
			return rapid.String().Draw(t, "runes")
		}
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 30).Draw(t, "pieces"), "")
	})
}

func TestEveryRowHasTheWidthThatWasAsked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkWidths(t, anyText().Draw(t, "text"), rapid.IntRange(-1, 40).Draw(t, "width"), rapid.IntRange(0, 60).Draw(t, "from"))
	})
}

// FuzzWidths holds every function to its width, on any bytes.
func FuzzWidths(f *testing.F) {
	f.Add("plain text", 7, 2)
	f.Add("日本\tx\x1b[31mred\x1b[0m e\u0301", 9, 3)
	f.Add("👩\u200d👧🇩🇪\u202e", 3, 1)
	f.Fuzz(func(t *testing.T, s string, width, from int) {
		checkWidths(t, s, width%256, from%256)
	})
}

type fataler interface {
	Fatalf(format string, args ...any)
}

func checkWidths(t fataler, s string, width, from int) {
	clean := celltext.Clean(s)
	if again := celltext.Clean(clean); again != clean {
		t.Fatalf("Clean(%q) = %q, and again %q", s, clean, again)
	}
	for _, r := range clean {
		if unicode.IsControl(r) {
			t.Fatalf("Clean(%q) = %q holds the control %U", s, clean, r)
		}
	}
	if got, want := celltext.Width(s), ansi.StringWidth(clean); got != want {
		t.Fatalf("Width(%q) = %d, but the renderer counts %d", s, got, want)
	}
	if got := celltext.ASCII(s); len(got) != celltext.Width(s) || ansi.StringWidth(got) != len(got) {
		t.Fatalf("ASCII(%q) = %q, want %d columns", s, got, celltext.Width(s))
	}
	exact := func(what, row string, width int) {
		if got := ansi.StringWidth(row); got != max(width, 0) {
			t.Fatalf("%s of %q is %q: %d columns, want %d", what, s, row, got, width)
		}
		// Beside others, as in a table.
		if got := ansi.StringWidth("│" + row + "│" + row); got != 2*max(width, 0)+2 {
			t.Fatalf("%s of %q is %q: between borders it has %d columns", what, s, row, got-2)
		}
	}
	exact("Fit", celltext.Fit(s, width), width)
	exact("FitRight", celltext.FitRight(s, width), width)
	exact("FitCenter", celltext.FitCenter(s, width), width)
	exact("Slice", celltext.Slice(s, from, from+width), width+min(from, 0))
	exact("FitStyled", celltext.FitStyled("\x1b[1m"+clean+"\x1b[0m", width), width)
	if got, want := celltext.Rows(s, width), len(celltext.Break(s, width)); got != want {
		t.Fatalf("Rows(%q, %d) = %d, but Break makes %d", s, width, got, want)
	}
	for _, rows := range [][]string{celltext.Break(s, width), celltext.Wrap(s, width)} {
		for _, row := range rows {
			exact("Fit of a row", celltext.Fit(row, width), width)
			if ansi.StringWidth(row) > width {
				t.Fatalf("row %q of %q is wider than %d", row, s, width)
			}
		}
	}
}

// TestTerminalsWithoutClustersAgree holds for the text that the dashboard expects:
// a terminal that adds up the widths of characters, and knows no clusters, arrives
// at the same width as one that does.
func TestTerminalsWithoutClustersAgree(t *testing.T) {
	pieces := []string{
		"word", " ", "日本語", "한국어", "ひらがな", "e\u0301", "o\u0308\u0323", "👩‍👧", "👍🏽", "🇩🇪", "1\ufe0f\u20e3", "❤\ufe0f", "│─█", "⣿", "مرحبا", "שָׁלוֹם", "Привет", "กำลัง", "\t",
	}
	perRune := func(s string) (n int) {
		for _, r := range s {
			if !unicode.In(r, unicode.Mn, unicode.Me) {
				n += ansi.StringWidth(string(r))
			}
		}
		return n
	}
	rapid.Check(t, func(t *rapid.T) {
		s := celltext.Clean(strings.Join(rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(t, "pieces"), ""))
		if got, want := perRune(s), celltext.Width(s); got != want {
			t.Fatalf("%q has %d columns by characters and %d by clusters", s, got, want)
		}
	})
}

func BenchmarkFit(b *testing.B) {
	for name, s := range map[string]string{
		"ascii":  strings.Repeat("INFO engine.py:310] Avg prompt throughput: 812.1 ", 5),
		"cjk":    strings.Repeat("日本語のログ行 ", 20),
		"escape": strings.Repeat("\x1b[32mINFO\x1b[0m engine ", 12),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				celltext.Fit(s, 120)
			}
		})
	}
}
