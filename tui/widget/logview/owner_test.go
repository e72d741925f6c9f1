package logview_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/posttrainarena/arena/tui/widget/logview"
	"github.com/posttrainarena/arena/tui/widget/widgettest"
)

func start() time.Time { return time.Date(2031, 5, 6, 8, 0, 0, 0, time.UTC) }

// owner has a log of any length, because it makes up lines when they are asked for.
type owner struct {
	t       widgettest.Fataler
	m       logview.Model
	total   int64
	text    func(n int64) string // nil for a usual line
	refuse  error                // the answer to every request
	asked   []tea.Msg            // every request
	held    bool                 // requests are not answered until release
	pending []tea.Cmd
}

// open shows a log of total lines at a size.
func open(t widgettest.Fataler, total int64, width, height int, opts ...logview.Option) *owner {
	o := &owner{t: t, total: total, m: logview.New(opts...)}
	o.run(o.m.SetSize(width, height))
	o.run(o.m.Init())
	return o
}

// openText is open with a text of its own, in 100×11 cells.
func openText(t widgettest.Fataler, total int64, text func(n int64) string, opts ...logview.Option) *owner {
	o := &owner{t: t, total: total, text: text, m: logview.New(opts...)}
	o.run(o.m.SetSize(100, 11))
	o.run(o.m.Init())
	return o
}

func (o *owner) line(n int64) logview.Line {
	text := fmt.Sprintf("line %d", n)
	if o.text != nil {
		text = o.text(n)
	}
	return logview.Line{N: n, At: start().Add(time.Duration(n) * time.Second), Text: text}
}

// lines are the lines after a number, at most limit.
func (o *owner) lines(after int64, limit int) []logview.Line {
	var lines []logview.Line
	for n := max(after, 0) + 1; n <= min(after+int64(limit), o.total); n++ {
		lines = append(lines, o.line(n))
	}
	return lines
}

// run runs commands and what follows from them, in order, until nothing is left.
func (o *owner) run(cmds ...tea.Cmd) {
	o.t.Helper()
	if o.held {
		o.pending = append(o.pending, cmds...)
		return
	}
	for steps := 0; len(cmds) > 0; steps++ {
		if steps > 100_000 {
			o.t.Fatalf("the pane never comes to rest: the last requests are %+v", o.asked[max(len(o.asked)-4, 0):])
		}
		cmd := cmds[0]
		cmds = cmds[1:]
		if cmd != nil {
			cmds = append(cmds, o.deliver(cmd())...)
		}
	}
}

// release answers what was held.
func (o *owner) release() {
	o.held = false
	cmds := o.pending
	o.pending = nil
	o.run(cmds...)
}

// deliver does what a message asks for and returns the commands that follow.
func (o *owner) deliver(msg tea.Msg) []tea.Cmd {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.BatchMsg:
		return msg
	case logview.NeedTail:
		o.asked = append(o.asked, msg)
		o.m, cmd = o.m.Update(o.answer(msg.ID, msg.Request, max(o.total-int64(msg.Limit), 0), msg.Limit))
	case logview.NeedLines:
		o.asked = append(o.asked, msg)
		o.m, cmd = o.m.Update(o.answer(msg.ID, msg.Request, msg.After, msg.Limit))
	case logview.Step:
		o.m, cmd = o.m.Update(msg)
	}
	return []tea.Cmd{cmd}
}

func (o *owner) answer(id string, request int, after int64, limit int) logview.Page {
	if o.refuse != nil {
		return logview.Page{ID: id, Request: request, Err: o.refuse}
	}
	return logview.Page{ID: id, Request: request, Lines: o.lines(after, limit), Total: o.total}
}

// grow adds lines to the log and streams them to the pane.
func (o *owner) grow(n int64) {
	o.t.Helper()
	after := o.total
	o.total += n
	var cmd tea.Cmd
	o.m, cmd = o.m.Update(logview.Page{Lines: o.lines(after, int(n))})
	o.run(cmd)
}

// rows are the rows of the view without styles, and the status.
func (o *owner) rows() (rows []string, status string) {
	rows = strings.Split(ansi.Strip(o.m.View()), "\n")
	return rows[:len(rows)-1], rows[len(rows)-1]
}

// shows fails the test unless the first and the last row hold these texts.
func (o *owner) shows(first, last string) {
	o.t.Helper()
	rows, status := o.rows()
	for i, want := range map[int]string{0: first, len(rows) - 1: last} {
		if got := strings.TrimSpace(strings.TrimLeft(rows[i], "▌┃»!✓✗ ")); got != want {
			o.t.Fatalf("row %d is %q, want %q; status %q", i, got, want, status)
		}
	}
}

// says fails the test unless the status holds a text.
func (o *owner) says(want string) {
	o.t.Helper()
	if _, status := o.rows(); !strings.Contains(status, want) {
		o.t.Fatalf("the status is %q, want %q in it", status, want)
	}
}

// at fails the test unless the cursor is on a line.
func (o *owner) at(n int64) {
	o.t.Helper()
	if got := o.m.State().Cursor; got != n {
		_, status := o.rows()
		o.t.Fatalf("the cursor is on line %d, want %d; status %q", got, n, status)
	}
}

func TestOpensAtTheTail(t *testing.T) {
	for _, total := range []int64{1, 5, 9, 10, 1_000, 10_000_000} {
		o := open(t, total, 60, 11)
		first := max(total-9, 1)
		rows, _ := o.rows()
		last := int64(len(rows)) - 1
		if total < 10 {
			last = total - 1
		}
		if !strings.Contains(rows[0], fmt.Sprintf("line %d ", first)) || !strings.Contains(rows[last], fmt.Sprintf("line %d ", total)) {
			t.Errorf("of %d lines it shows %q", total, rows)
		}
		o.at(total)
		if len(o.asked) != 1 {
			t.Errorf("of %d lines it took %d requests to show the end", total, len(o.asked))
		}
	}
}

func TestAnEmptyLogSaysSo(t *testing.T) {
	o := open(t, 0, 60, 5)
	if rows, _ := o.rows(); !strings.Contains(rows[0], "no lines yet") {
		t.Errorf("got %q", rows[0])
	}
	o.grow(3)
	o.at(3)
	ended := open(t, 0, 60, 5)
	ended.run(ended.m.SetTotal(0, true))
	if rows, _ := ended.rows(); !strings.Contains(rows[0], "the log is empty") {
		t.Errorf("got %q", rows[0])
	}
}

func TestFollowsUntilSomebodyScrollsUp(t *testing.T) {
	o := open(t, 100, 60, 11)
	o.grow(3)
	o.shows("line 94", "line 103")
	o.says("following")

	o.run(o.m.Up())
	o.grow(25)
	o.shows("line 94", "line 103")
	o.at(102)
	o.says("paused, 25 new, G follows")

	o.run(o.m.End())
	o.shows("line 119", "line 128")
	o.says("following")
}

func TestDownAtTheEndFollowsAgain(t *testing.T) {
	for name, down := range map[string]func(o *owner) tea.Cmd{
		"a line": func(o *owner) tea.Cmd { return o.m.Down() }, "half a page": func(o *owner) tea.Cmd { return o.m.HalfDown() },
		"a page": func(o *owner) tea.Cmd { return o.m.PageDown() }, "the wheel": func(o *owner) tea.Cmd { return o.m.Scroll(3) },
	} {
		o := open(t, 100, 60, 11)
		o.run(o.m.Up())
		for range 2 {
			o.run(down(o))
		}
		if !o.m.State().Following {
			t.Errorf("%s down at the end does not follow again", name)
		}
	}
}

func TestAnotherClientsMessagesAreIgnored(t *testing.T) {
	o := open(t, 100, 60, 11, logview.WithID("a"))
	before := o.m.View()
	o.m, _ = o.m.Update(logview.Page{ID: "b", Lines: []logview.Line{{N: 101, Text: "of another log"}}})
	if o.m.View() != before {
		t.Error("lines with another id are shown")
	}
}

func TestMoves(t *testing.T) {
	o := open(t, 10_000, 60, 11) // ten rows
	for _, tt := range []struct {
		name        string
		do          func() tea.Cmd
		first, last int64
		cursor      int64
	}{
		{"home", o.m.Home, 1, 10, 1},
		{"down", o.m.Down, 1, 10, 2},
		{"a page down keeps a row", o.m.PageDown, 10, 19, 10},
		{"half a page down", o.m.HalfDown, 15, 24, 15},
		{"half a page up keeps the cursor in view", o.m.HalfUp, 10, 19, 15},
		{"up", o.m.Up, 10, 19, 14},
		{"a page up", o.m.PageUp, 1, 10, 10},
		{"a page up at the start", o.m.PageUp, 1, 10, 1},
		{"to a line in the middle", func() tea.Cmd { return o.m.GotoLine(5_000) }, 4_995, 5_004, 5_000},
		{"to a line in view", func() tea.Cmd { return o.m.GotoLine(5_002) }, 4_995, 5_004, 5_002},
		{"to a line past the end", func() tea.Cmd { return o.m.GotoLine(99_999) }, 9_991, 10_000, 10_000},
		{"the wheel", func() tea.Cmd { return o.m.Scroll(-3) }, 9_988, 9_997, 9_997},
		{"a click", func() tea.Cmd { return o.m.Click(2) }, 9_988, 9_997, 9_990},
		{"a click on the status", func() tea.Cmd { return o.m.Click(10) }, 9_988, 9_997, 9_990},
		{"the end", o.m.End, 9_991, 10_000, 10_000},
	} {
		o.run(tt.do())
		if s := o.m.State(); s.First != tt.first || s.Last != tt.last || s.Cursor != tt.cursor {
			t.Errorf("%s: lines %d to %d with the cursor on %d, want %d to %d on %d", tt.name, s.First, s.Last, s.Cursor, tt.first, tt.last, tt.cursor)
		}
		o.shows(fmt.Sprint("line ", tt.first), fmt.Sprint("line ", tt.last))
	}
}

// TestEveryLineIsReachable scrolls through a log that is larger than the window,
// in both directions.
func TestEveryLineIsReachable(t *testing.T) {
	o := open(t, 9_000, 60, 41, logview.WithWindow(1_000, 1<<20))
	for first := int64(9_001); first > 1; o.run(o.m.PageUp()) {
		s := o.m.State()
		if s.Last < first-1 || s.First >= first {
			t.Fatalf("after line %d the screen shows %d to %d", first, s.First, s.Last)
		}
		first = s.First
	}
	for last := int64(0); !o.m.State().Following; {
		s := o.m.State()
		if s.First > last+1 {
			t.Fatalf("line %d was never on the screen", last+1)
		}
		last = s.Last
		o.run(o.m.PageDown())
	}
	if last := o.m.State().Last; last != 9_000 {
		t.Fatalf("scrolled down to line %d only", last)
	}
	if len(o.asked) > 200 {
		t.Errorf("it took %d requests", len(o.asked))
	}
}

func TestARefusalIsSaidAndNotRepeated(t *testing.T) {
	o := open(t, 10_000, 100, 11)
	o.refuse = errors.New("the arena does not answer")
	asked := len(o.asked)
	o.run(o.m.Home())
	o.says("not loaded: the arena does not answer")
	o.grow(1) // news come, but they are no reason to ask again
	if got := len(o.asked) - asked; got != 1 {
		t.Errorf("asked %d times, want once", got)
	}
	o.refuse = nil
	o.run(o.m.Home())
	o.shows("line 1", "line 10")
}

func TestAGapInTheStreamIsFilledByAsking(t *testing.T) {
	o := open(t, 100, 60, 11)
	o.refuse = errors.New("the arena does not answer")
	o.grow(10) // joins what there is
	o.total = 150
	var cmd tea.Cmd
	o.m, cmd = o.m.Update(logview.Page{Lines: o.lines(130, 20)})
	o.run(cmd)
	o.at(110)
	if o.m.State().Err == nil {
		t.Error("the failure is not told")
	}
	o.refuse = nil
	o.run(o.m.Retry())
	o.at(150)
	o.shows("line 141", "line 150")
}

func TestAnAnswerWithoutTheLinesEndsTheRequest(t *testing.T) {
	o := open(t, 10_000, 100, 11)
	o.m, _ = o.m.Update(logview.Page{Total: 20_000})
	o.run(o.m.GotoLine(15_000)) // the total was a lie
	o.says("not loaded: the log has no such lines any more")
}

func TestALateAnswerIsDropped(t *testing.T) {
	o := open(t, 1_000_000, 60, 11)
	o.held = true
	o.run(o.m.GotoLine(500_000))
	o.run(o.m.GotoLine(100))
	o.release()
	o.at(100)
	o.shows("line 95", "line 104")
}

func TestLinesThatDoNotFollowEachOtherAreDropped(t *testing.T) {
	o := open(t, 10, 60, 11)
	o.m, _ = o.m.Update(logview.Page{Lines: []logview.Line{{N: 11, Text: "line 11"}, {N: 13, Text: "line 13"}, {N: 0}}})
	o.at(11)
	if s := o.m.State(); s.Total != 11 {
		t.Errorf("the log has %d lines, want 11", s.Total)
	}
}

func TestAFastStreamSkipsToTheEndAndSaysSo(t *testing.T) {
	o := open(t, 5_000, 60, 11)
	o.total = 50_000
	var cmd tea.Cmd
	o.m, cmd = o.m.Update(logview.Page{Lines: o.lines(49_500, 500)})
	o.run(cmd)
	o.at(50_000)
	o.says("skipped 44,500 lines")
	o.run(o.m.GotoLine(20_000)) // they are still there
	o.shows("line 19995", "line 20004")
}

func TestAnOwnerWithoutAStreamOnlyTellsTheTotal(t *testing.T) {
	o := open(t, 100, 60, 11)
	o.total = 160
	o.run(o.m.SetTotal(160, false))
	o.at(160)
	o.total = 90_000
	o.run(o.m.SetTotal(90_000, true))
	o.at(90_000)
	o.says("end of the log")
}

func TestStreamAndRequestsMayOverlap(t *testing.T) {
	o := open(t, 100, 60, 11)
	o.total = 120
	o.held = true
	o.run(o.m.SetTotal(120, false)) // asks for 101 to 120
	var cmd tea.Cmd
	o.m, cmd = o.m.Update(logview.Page{Lines: o.lines(95, 20)}) // which come by themselves
	o.run(cmd)
	o.release()
	o.shows("line 111", "line 120")
	for _, text := range []string{"line 100", "line 101", "line 115", "line 116"} {
		o.run(o.m.GotoLine(1))
		if s, _ := o.m.Search(text+"$", true); s != nil {
			o.run(s)
		}
		if _, n, all := o.m.Matches(); n != 1 || !all {
			t.Errorf("%s is there %d times", text, n)
		}
	}
}
