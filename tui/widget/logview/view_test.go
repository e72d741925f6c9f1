package logview_test

import (
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/tui/widget/logview"
	"github.com/posttrainarena/arena/tui/widget/widgettest"
)

func styles() logview.Styles {
	c, plain := widgettest.Colour, widgettest.Style()
	return logview.Styles{
		Kinds: [4]lipgloss.Style{plain, c("2"), c("3"), c("1")}, Time: c("8"), Chapter: c("6").Bold(true),
		Cursor: plain.Reverse(true), Selected: c("0").Background(lipgloss.Color("7")), Match: c("0").Background(lipgloss.Color("3")),
		Cut: c("5"), Status: c("8"), Alert: c("3").Bold(true),
	}
}

// story is a log with everything that is hard to draw.
func story() func(n int64) string {
	texts := []string{
		"[posttrainarena] sync_heldout_endpoint: posttrain eval --suite sealed --tasks 88 --concurrency 16",
		"Job: 88 tasks, 0 done, 88 to run (concurrency=16)",
		"[PASS] merge-ledgers (tools=14)",
		"[FAIL] 図書館の棚 (tools=31) (verifier: 期待した行がありません: 日本語の長い一行が続きます、そして折り返されます)",
		"\x1b[33mWARN\x1b[0m retry \x1b]0;title\x07after 5 s\tattempt\t2",
		"Traceback \x00 with controls\u202e and marks e\u0301 and 👩‍👧",
		"loading " + strings.Repeat("weights ", 40) + "done",
		"x" + strings.Repeat("=", 5<<20) + ">",
	}
	return func(n int64) string { return texts[n%int64(len(texts))] }
}

func TestView(t *testing.T) {
	none, text := func(*owner) {}, story()
	for _, tt := range []struct {
		name          string
		width, height int
		do            func(o *owner)
		opts          []logview.Option
	}{
		{"follows 120x14", 120, 14, none, nil},
		{"follows 80x14", 80, 14, none, nil},
		{"follows 30x6", 30, 6, none, nil},
		{"follows 10x4", 10, 4, none, nil},
		{"one row", 80, 1, none, nil},
		{"wrapped", 80, 24, func(o *owner) { o.run(o.m.ToggleWrap(), o.m.GotoLine(46)) }, nil},
		{"follows a wrapped line that is higher than the screen", 80, 6, func(o *owner) { o.run(o.m.ToggleWrap()) }, nil},
		{"absolute times", 80, 10, func(o *owner) { o.run(o.m.SetTimes(logview.Absolute)) }, nil},
		{"relative times wrapped", 80, 12, func(o *owner) {
			o.run(o.m.SetTimes(logview.Relative))
			o.run(o.m.ToggleWrap())
			o.run(o.m.GotoLine(40))
		}, nil},
		{"sideways", 80, 12, func(o *owner) { o.m.Right(); o.m.Right() }, nil},
		{"paused with news", 100, 10, func(o *owner) { o.run(o.m.Up()); o.run(o.m.Up()); o.grow(7) }, nil},
		{"searched", 100, 12, func(o *owner) { o.search("tools=", false) }, nil},
		{"selected", 100, 12, func(o *owner) { o.m.ToggleSelection(); o.run(o.m.Up()); o.run(o.m.Up()) }, nil},
		{"ascii", 100, 12, func(o *owner) { o.run(o.m.Up()); o.grow(1) }, []logview.Option{logview.WithASCII(true)}},
		{"styled", 80, 12, func(o *owner) { o.search("tools=", false); o.m.ToggleSelection(); o.run(o.m.Up()) }, []logview.Option{logview.WithStyles(styles())}},
		{"styled wrapped", 60, 14, func(o *owner) { o.search("(?:日本|weights)", true); o.run(o.m.ToggleWrap(), o.m.PrevMatch()) }, []logview.Option{logview.WithStyles(styles())}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			opts := append(tt.opts, logview.WithClassifier(classify), logview.WithBase(start().Add(30*time.Second), nil))
			o := openText(t, 47, text, opts...)
			o.m.SetChapters([]logview.Chapter{{Name: "baseline", First: 1}, {Name: "heldout", First: 40}})
			o.run(o.m.SetSize(tt.width, tt.height))
			tt.do(o)
			widgettest.Exact(t, o.m.View(), tt.width, tt.height)
			if tt.name == "ascii" {
				widgettest.ASCIIOnly(t, o.m.View())
			}
			widgettest.Golden(t, o.m.View())
		})
	}
}

func TestAnOverlongLineIsCutWithItsLength(t *testing.T) {
	o := openText(t, 3, func(n int64) string { return strings.Repeat("é", 5<<19) })
	rows, _ := o.rows()
	if !strings.Contains(rows[0], "… 5,242,880 bytes") {
		t.Errorf("the row is %q", rows[0])
	}
	if text, complete := o.m.VisibleText(); complete || len(text) > 3*(4<<10+1) {
		t.Errorf("%d bytes of text, complete %t", len(text), complete)
	}
}

// TestKindsDifferWithoutColour looks at the margin alone.
func TestKindsDifferWithoutColour(t *testing.T) {
	for _, ascii := range []bool{false, true} {
		o := openText(t, 4, func(n int64) string { return []string{"word", "PASS", "WARN", "FAIL"}[n-1] },
			logview.WithClassifier(classify), logview.WithASCII(ascii))
		seen := map[string]bool{}
		rows, _ := o.rows()
		for _, r := range rows[:4] {
			seen[string([]rune(r)[1])] = true
		}
		if len(seen) != 4 {
			t.Errorf("ascii %t: the signs are %v", ascii, seen)
		}
	}
}

// TestAMatchOfPartOfACharacterKeepsTheWidth searches for a mark, which a style must
// not part from its letter.
func TestAMatchOfPartOfACharacterKeepsTheWidth(t *testing.T) {
	o := openText(t, 1, func(int64) string { return "cafe\u0301 日本" }, logview.WithStyles(styles()))
	for _, query := range []string{"\u0301", "e", "本"} {
		o.search(query, false)
		widgettest.Exact(t, o.m.View(), 100, 11)
		if !strings.Contains(ansi.Strip(o.m.View()), "cafe\u0301 日本") {
			t.Errorf("searching for %q changes the text", query)
		}
	}
}

// TestAnyUseKeepsTheSize does random things to logs of random texts. The pane must
// come to rest, be as large as it should, and have its cursor on the screen.
func TestAnyUseKeepsTheSize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
			"", "plain", "FAIL", "日本語の行", "e\u0301\u0301", "a\tb\tc", "\x1b[31mred\x1b[0m", strings.Repeat("long ", 60), strings.Repeat("長い", 300), "👩‍👧🇩🇪",
		})), 1, 8).Draw(t, "texts")
		ascii := rapid.Bool().Draw(t, "ascii")
		o := openText(t, rapid.Int64Range(0, 3_000).Draw(t, "total"), func(n int64) string { return texts[n%int64(len(texts))] },
			logview.WithClassifier(classify), logview.WithWindow(1_000, 64<<10), logview.WithVisible(256), logview.WithStyles(styles()),
			logview.WithASCII(ascii))
		o.m.SetChapters([]logview.Chapter{{Name: "one", First: 1}, {Name: "two", At: start().Add(500 * time.Second)}, {Name: "three", First: 1_500}})
		width, height := 100, 11
		number := rapid.IntRange(-5, 120)
		t.Repeat(map[string]func(*rapid.T){
			"resize": func(t *rapid.T) {
				width, height = number.Draw(t, "width"), number.Draw(t, "height")
				o.run(o.m.SetSize(width, height))
				width, height = max(width, 0), max(height, 0)
			},
			"move": func(t *rapid.T) {
				moves := []func() tea.Cmd{
					o.m.Up, o.m.Down, o.m.PageUp, o.m.PageDown, o.m.HalfUp, o.m.HalfDown, o.m.Home, o.m.End, o.m.ToggleFollow,
					o.m.NextChapter, o.m.PrevChapter, o.m.NextFailure, o.m.PrevFailure, o.m.NextMatch, o.m.PrevMatch,
					o.m.ToggleWrap, o.m.CycleTimes,
				}
				o.run(moves[rapid.IntRange(0, len(moves)-1).Draw(t, "move")]())
			},
			"level":    func(*rapid.T) { o.run(o.m.CycleLevel()) },
			"stop":     func(*rapid.T) { o.m.Stop() },
			"sideways": func(*rapid.T) { o.m.Right(); o.m.Right(); o.m.Left() },
			"goto":     func(t *rapid.T) { o.run(o.m.GotoLine(rapid.Int64Range(-5, 4_000).Draw(t, "n"))) },
			"time":     func(t *rapid.T) { o.run(o.m.GotoTime(start().Add(time.Duration(number.Draw(t, "t")) * time.Minute))) },
			"scroll":   func(t *rapid.T) { o.run(o.m.Scroll(number.Draw(t, "rows"))) },
			"click":    func(t *rapid.T) { o.run(o.m.Click(number.Draw(t, "row"))) },
			"only":     func(t *rapid.T) { o.run(o.m.ShowOnly(rapid.IntRange(-1, 3).Draw(t, "chapter"))) },
			"select":   func(*rapid.T) { o.m.ToggleSelection() },
			"grow":     func(t *rapid.T) { o.grow(rapid.Int64Range(1, 2_000).Draw(t, "lines")) },
			"search": func(t *rapid.T) {
				if cmd, err := o.m.Search(rapid.SampledFrom([]string{"a", "FAIL", "日", ".*", "\\s", "["}).Draw(t, "query"), true); err == nil {
					o.run(cmd)
				}
			},
			"": func(t *rapid.T) {
				widgettest.Exact(t, o.m.View(), width, height)
				if ascii {
					widgettest.ASCIIOnly(t, o.m.View())
				}
				s := o.m.State()
				if o.total > 0 && s.Err == nil && o.m.Level() == logview.AllLines && (s.Cursor < 1 || s.Cursor > o.total || s.First > s.Cursor || s.Cursor > s.Last && height > 1) {
					t.Fatalf("the cursor is not on the screen: %+v of %d lines", s, o.total)
				}
				if s.Loading || s.Searching || s.Err != nil {
					t.Fatalf("not at rest: %+v", s)
				}
				if text, _ := o.m.SelectedText(); strings.ContainsRune(text, '\x1b') {
					t.Fatalf("copied text has controls: %q", text)
				}
			},
		})
	})
}
