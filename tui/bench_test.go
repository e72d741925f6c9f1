package tui_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/tui"
	"github.com/posttrainarena/arena/tui/tuitest"
)

// manyRuns is the sample with so many runs.
func manyRuns(n int) *tuitest.Arena {
	a := tuitest.Sample(time.Date(2031, 5, 6, 8, 0, 0, 0, time.UTC))
	old := a.Runs[len(a.Runs)-1]
	for i := range n {
		r := old
		r.RunID, r.CreatedAt, r.Training, r.Result = fmt.Sprintf("challenge-%012x", i), old.CreatedAt.Add(-time.Duration(i)*time.Minute), nil, nil
		a.Runs = append(a.Runs, r)
	}
	return a
}

// longLog is the sample with a log of so many lines.
func longLog(n int64) *tuitest.Arena {
	a := tuitest.Sample(time.Date(2031, 5, 6, 8, 0, 0, 0, time.UTC))
	a.LogLength = n
	for i := range a.Runs {
		a.Runs[i].LogLines = n
	}
	return a
}

// frames reports the slowest and the 99th percentile of one key and the frame
// after it.
func frames(b *testing.B, m *tui.Model, keys ...string) {
	b.Helper()
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		tuitest.Press(m, keys[i%len(keys)])
		if m.View() == "" {
			b.Fatal("nothing is drawn")
		}
		took = append(took, time.Since(began))
	}
	reportP99(b, took)
}

// reportP99 reports the 99th percentile. On a machine that is busy with other
// things it says how busy: compare ns/op then.
func reportP99(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// What it costs to take in one answer of the arena and draw the frame after it,
// with 10,000 runs: the time in which the answers are made does not count.
func BenchmarkAnswers(b *testing.B) {
	for _, s := range []stop{{name: "overview", keys: []string{"1"}}, {name: "runs", keys: []string{"2"}}, {name: "runs filtered", keys: []string{"2", "/", "!zebra", "enter"}}} {
		b.Run(s.name, func(b *testing.B) {
			m := tuitest.Inline(b, manyRuns(10_000), 200, 60)
			tuitest.Press(m, s.keys...)
			var took []time.Duration
			for b.Loop() {
				b.StopTimer()
				todo := []tea.Cmd{func() tea.Msg { return tuitest.Keys("r")[0] }}
				for len(todo) > 0 {
					cmd := todo[0]
					todo = todo[1:]
					if cmd == nil {
						continue
					}
					switch msg := cmd().(type) {
					case nil:
					case tea.BatchMsg:
						todo = append(todo, msg...)
					default:
						b.StartTimer()
						began := time.Now()
						_, next := m.Update(msg)
						if m.View() == "" {
							b.Fatal("nothing is drawn")
						}
						took = append(took, time.Since(began))
						b.StopTimer()
						todo = append(todo, next)
					}
				}
				b.StartTimer()
			}
			reportP99(b, took)
		})
	}
}

// What it costs to move by one row and draw the frame, in the usual room and in
// the largest.
func BenchmarkFrame(b *testing.B) {
	for _, size := range sizes()[1:] {
		b.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(b *testing.B) { benchFrames(b, size[0], size[1]) })
	}
}

func benchFrames(b *testing.B, width, height int) {
	for _, s := range screens() {
		b.Run(s.name, func(b *testing.B) {
			m := tuitest.Inline(b, tuitest.Sample(time.Date(2031, 5, 6, 8, 0, 0, 0, time.UTC)), width, height)
			tuitest.Press(m, s.keys...)
			frames(b, m, "down", "up")
		})
	}
	b.Run("log of 10,000,000 lines", func(b *testing.B) {
		m := tuitest.Inline(b, longLog(10_000_000), width, height)
		tuitest.Press(m, "2", "j", "l")
		frames(b, m, "up", "pgup", "e", "down", "pgdown", "E")
	})
	b.Run("10,000 runs", func(b *testing.B) {
		m := tuitest.Inline(b, manyRuns(10_000), width, height)
		tuitest.Press(m, "2")
		frames(b, m, "down", "pgdown", "up", "pgup")
	})
	b.Run("overview of 10,000 runs", func(b *testing.B) {
		m := tuitest.Inline(b, manyRuns(10_000), width, height)
		frames(b, m, "down", "up")
	})
}

// What it costs to open a log and draw its end.
func BenchmarkOpenLog(b *testing.B) {
	for _, n := range []int64{1_000, 10_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			m := tuitest.Inline(b, longLog(n), 200, 60)
			tuitest.Press(m, "2", "j")
			for b.Loop() {
				tuitest.Press(m, "l")
				if m.View() == "" {
					b.Fatal("nothing is drawn")
				}
				tuitest.Press(m, "esc")
			}
		})
	}
}

// What it costs to filter 10,000 runs, a letter at a time.
func BenchmarkFilter(b *testing.B) {
	m := tuitest.Inline(b, manyRuns(10_000), 200, 60)
	tuitest.Press(m, "2", "/")
	frames(b, m, "d", "e", "l", "backspace", "backspace", "backspace")
}

// What it costs when a line of 5 MB is in view.
func BenchmarkLongLine(b *testing.B) {
	a := longLog(1_000)
	long := string(make([]byte, 5<<20))
	before := a.LogLine
	a.LogLine = func(n int64) protocol.LogLine {
		l := before(n)
		if n == 998 {
			l.Text = long
		}
		return l
	}
	m := tuitest.Inline(b, a, 200, 60)
	tuitest.Press(m, "2", "j", "l")
	frames(b, m, "up", "down")
}
