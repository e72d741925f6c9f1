package logview_test

import (
	"fmt"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/tui/widget/logview"
)

// usual is a log as runs write them.
func usual(n int64) string {
	switch n % 50 {
	case 0:
		return fmt.Sprintf("[FAIL] task-%d (tools=31) (verifier: the report has no total)", n)
	case 1:
		return fmt.Sprintf("[PASS] task-%d (tools=14)", n)
	case 2:
		return fmt.Sprintf("  → agent: 結果を書きました %d", n)
	}
	return fmt.Sprintf("INFO 03-01 08:15:00 engine.py:310] Avg prompt throughput: 812.1 tokens/s, running: %d reqs, swapped: 0 reqs, pending: 7 reqs, cache usage: 41.2%%", n)
}

// full is a pane with a full window in the middle of a log of ten million lines.
func full(b *testing.B) *owner {
	b.Helper()
	o := openText(b, 10_000_000, usual, logview.WithClassifier(classify), logview.WithStyles(styles()))
	o.run(o.m.SetSize(200, 60), o.m.SetTimes(logview.Absolute))
	o.run(o.m.GotoLine(5_000_000))
	for range 500 {
		o.run(o.m.PageDown())
	}
	return o
}

// BenchmarkKey is a key and the frame after it, with a full window.
func BenchmarkKey(b *testing.B) {
	for _, bb := range []struct {
		name  string
		setup func(o *owner)
	}{
		{"plain", func(*owner) {}},
		{"wrapped", func(o *owner) { o.run(o.m.ToggleWrap()) }},
		{"searched", func(o *owner) { o.search("reqs", false) }},
		{"searched by expression", func(o *owner) { o.search(`running: \d+ reqs|tools=\d+`, true) }},
	} {
		b.Run(bb.name, func(b *testing.B) {
			o := full(b)
			bb.setup(o)
			moves := []func() tea.Cmd{o.m.Up, o.m.HalfUp, o.m.Down, o.m.HalfDown}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				moves[i%len(moves)]()
				_ = o.m.View()
				i++
			}
		})
	}
}

// BenchmarkPage is the arrival of a page of the usual size and the frame after it.
func BenchmarkPage(b *testing.B) {
	o := full(b)
	o.run(o.m.Home())
	pages := [][]logview.Line{}
	for n := int64(0); n < 30_000; n += 1_000 {
		pages = append(pages, o.lines(n, 1_000))
	}
	i := 0
	for b.Loop() {
		if i%len(pages) == 0 {
			o.run(o.m.Home())
		}
		o.m, _ = o.m.Update(logview.Page{Lines: pages[i%len(pages)]})
		_ = o.m.View()
		i++
	}
}

// BenchmarkStream is one second of a log that grows by 5,000 lines a second, in
// batches of 50 with a frame after each, while a search counts its matches.
func BenchmarkStream(b *testing.B) {
	o := openText(b, 20_000, usual, logview.WithClassifier(classify), logview.WithStyles(styles()))
	o.run(o.m.SetSize(200, 60))
	o.search("pending", false)
	o.run(o.m.End())
	batch := o.lines(0, 50)
	b.ReportAllocs()
	for b.Loop() {
		for range 100 {
			for i := range batch {
				o.total++
				batch[i].N = o.total
			}
			var cmd tea.Cmd
			o.m, cmd = o.m.Update(logview.Page{Lines: batch})
			o.run(cmd)
			_ = o.m.View()
		}
	}
	if s := o.m.State(); !s.Following || s.Last != o.total {
		b.Fatalf("fell behind: %+v", s)
	}
}

// BenchmarkOpen is the first screen of a log of ten million lines.
func BenchmarkOpen(b *testing.B) {
	o := openText(b, 10_000_000, usual)
	lines := o.lines(10_000_000-1_000, 1_000)
	for b.Loop() {
		m := logview.New(logview.WithClassifier(classify))
		need := m.SetSize(200, 60)().(logview.NeedTail)
		m, _ = m.Update(logview.Page{Request: need.Request, Lines: lines, Total: 10_000_000})
		_ = m.View()
	}
}

// BenchmarkStep is one piece of searching lines that are not loaded, in the worst
// case: long lines and an expression that must look at all of them.
func BenchmarkStep(b *testing.B) {
	long := strings.Repeat("abcdefghij", 400)
	for _, bb := range []struct {
		name, query string
		regex       bool
	}{{"text", "needle", false}, {"expression", `[aj]+[bi]+x`, true}} {
		b.Run(bb.name, func(b *testing.B) {
			o := openText(b, 10_000_000, func(int64) string { return long })
			cmd, err := o.m.Search(bb.query, bb.regex)
			if err != nil {
				b.Fatal(err)
			}
			o.held = true
			o.run(cmd)
			for b.Loop() {
				cmds := o.pending
				o.pending = nil
				for _, c := range cmds {
					if c == nil {
						continue
					}
					msg := c()
					if _, step := msg.(logview.Step); !step {
						b.StopTimer() // what the owner does
					}
					o.pending = append(o.pending, o.deliver(msg)...)
					b.StartTimer()
				}
			}
		})
	}
}

// BenchmarkLongLine is the arrival of one line of 5 MB and the frame after it.
func BenchmarkLongLine(b *testing.B) {
	o := openText(b, 1_000, usual)
	line := logview.Line{Text: strings.Repeat("\x1b[31m日本\t", 5<<20/12)}
	for b.Loop() {
		o.total++
		line.N = o.total
		o.m, _ = o.m.Update(logview.Page{Lines: []logview.Line{line}})
		_ = o.m.View()
	}
}
