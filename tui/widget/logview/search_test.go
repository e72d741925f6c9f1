package logview_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/posttrainarena/arena/tui/widget/logview"
)

// classify calls lines what tests call them.
func classify(text string) logview.Kind {
	switch {
	case strings.Contains(text, "FAIL"):
		return logview.Failure
	case strings.Contains(text, "WARN"):
		return logview.Warning
	case strings.Contains(text, "PASS"):
		return logview.Pass
	}
	return logview.Plain
}

// marked is a log in which every so manieth line holds a word.
func marked(every int64, word string) func(n int64) string {
	return func(n int64) string {
		if n%every == 0 {
			return fmt.Sprintf("line %d %s", n, word)
		}
		return fmt.Sprintf("line %d", n)
	}
}

// search runs a search that must be accepted.
func (o *owner) search(query string, regex bool) {
	o.t.Helper()
	cmd, err := o.m.Search(query, regex)
	if err != nil {
		o.t.Fatalf("search %q: %v", query, err)
	}
	o.run(cmd)
}

func TestSearchGoesUpFromTheEndAndCountsWhatIsLoaded(t *testing.T) {
	o := openText(t, 950, marked(100, "needle"))
	o.search("Needle", false)
	o.says("no match above") // an upper-case letter makes case matter
	o.search("needle", false)
	o.at(900)
	o.says(`9/9 matches "needle"`)
	o.run(o.m.PrevMatch())
	o.at(800)
	o.says("8/9")
	o.run(o.m.NextMatch())
	o.run(o.m.NextMatch())
	o.at(900)
	o.says("no match below")
	o.grow(150) // news are counted too
	o.says("9/11")
	o.run(o.m.NextMatch())
	o.at(1_000)
	o.m.ClearSearch()
	if o.m.Query() != "" {
		t.Errorf("after clearing the query is %q", o.m.Query())
	}
}

func TestSearchReadsLinesThatAreNotLoaded(t *testing.T) {
	o := open(t, 200_000, 100, 11)
	o.text = marked(70_000, "needle")
	o.search("needle", false)
	o.at(140_000)
	o.says("1 loaded matches")
	o.run(o.m.PrevMatch())
	o.at(70_000)
	o.run(o.m.PrevMatch())
	o.says("no match above")
	o.at(70_000)
	o.run(o.m.NextMatch())
	o.at(140_000)
}

func TestSearchStaysWhereItIsUntilItFinds(t *testing.T) {
	o := open(t, 200_000, 100, 11)
	o.text = marked(150_001, "needle")
	o.run(o.m.Home())
	o.held = true
	o.search("needle", false)
	for range 20 { // page by page
		cmds := o.pending
		o.pending = nil
		for _, c := range cmds {
			if c != nil {
				o.pending = append(o.pending, o.deliver(c())...)
			}
		}
	}
	o.shows("line 1", "line 10")
	o.says("read, esc stops")
	if !o.m.State().Searching || !o.m.Stop() || o.m.Stop() {
		t.Error("a search that is under way must be there to be stopped, once")
	}
	o.release()
	o.at(1)
	o.search("needle", false)
	o.at(150_001)
}

func TestSearchThatCannotReadOnSaysSo(t *testing.T) {
	o := open(t, 200_000, 100, 11)
	o.refuse = errors.New("the arena does not answer")
	o.search("needle", false)
	o.says("not loaded: the arena does not answer")
}

func TestSearchByExpression(t *testing.T) {
	o := open(t, 900, 100, 11)
	o.search(`LINE \d77$`, true)
	o.says("no match above")
	o.search(`line \d77$`, true)
	o.at(877)
	if _, err := o.m.Search("(", true); err == nil {
		t.Error("an expression that is not one is accepted")
	}
	if _, err := o.m.Search("", false); err == nil {
		t.Error("an empty query is accepted")
	}
	if _, err := o.m.Search(strings.Repeat("x", 2000), true); err == nil {
		t.Error("an endless query is accepted")
	}
	o.says("matches") // what was searched for before is kept
}

func TestSearchOfOtherAlphabetsFoldsCase(t *testing.T) {
	o := openText(t, 30, marked(10, "ПРИВЕТ"))
	o.search("привет", false)
	o.at(30)
	o.says("3/3")
}

func TestFailuresInBothDirections(t *testing.T) {
	o := open(t, 100_000, 100, 11, logview.WithClassifier(classify))
	o.text = func(n int64) string {
		switch {
		case n%40_000 == 0:
			return "[FAIL] task"
		case n%3 == 0:
			return "[PASS] task"
		}
		return "noise"
	}
	o.run(o.m.PrevFailure())
	o.at(80_000)
	o.run(o.m.PrevFailure())
	o.at(40_000)
	o.run(o.m.PrevFailure())
	o.says("no failure above")
	o.run(o.m.NextFailure())
	o.at(80_000)
	o.run(o.m.NextFailure())
	o.says("no failure below")
}

func TestGotoTimeHalvesTheLog(t *testing.T) {
	o := open(t, 10_000_000, 100, 11)
	for _, n := range []int64{1, 2, 5_000_000, 9_999_999, 10_000_000, 9_999_500} {
		before := len(o.asked)
		o.run(o.m.GotoTime(start().Add(time.Duration(n) * time.Second)))
		o.at(n)
		if asked := len(o.asked) - before; asked > 30 {
			t.Errorf("going to line %d took %d requests", n, asked)
		}
	}
	o.run(o.m.GotoTime(start().Add(-time.Hour)))
	o.at(1)
	o.run(o.m.GotoTime(start().Add(1e9 * time.Second)))
	o.at(10_000_000)
	o.says("no line at that time below")
}

// stages are chapters that start at lines 1, 101, 50,001 and 90,001, of which two
// are known by their times only.
func stages() []logview.Chapter {
	at := func(n int) time.Time { return start().Add(time.Duration(n) * time.Second) }
	return []logview.Chapter{{Name: "setup", First: 1}, {Name: "baseline", At: at(101)}, {Name: "training", First: 50_001}, {Name: "heldout", At: at(90_001)}}
}

func TestChapters(t *testing.T) {
	o := open(t, 100_000, 100, 11)
	o.m.SetChapters(stages())
	o.says("heldout")
	for _, n := range []int64{90_001, 50_001, 101, 1, 1} {
		o.run(o.m.PrevChapter())
		o.at(n)
	}
	for _, n := range []int64{101, 50_001, 90_001, 90_001} {
		o.run(o.m.NextChapter())
		o.at(n)
	}
	o.says("no stage below")
}

func TestShowOnlyAChapter(t *testing.T) {
	o := open(t, 100_000, 100, 11)
	o.text = marked(45_000, "needle")
	o.m.SetChapters(stages())
	o.run(o.m.ShowOnly(1))
	o.at(101)
	o.shows("line 101", "line 110")
	o.says("baseline only")
	o.run(o.m.PageUp())
	o.shows("line 101", "line 110")
	o.run(o.m.End())
	o.at(50_000)
	o.run(o.m.Down())
	o.shows("line 49991", "line 50000")
	o.search("needle", false)
	o.says("no match below in this stage")
	o.run(o.m.PrevMatch())
	o.at(45_000)
	o.run(o.m.Home())
	o.at(101)
	o.run(o.m.NextChapter())
	o.at(50_001)
	o.says("training only")
	o.run(o.m.ShowOnly(3))
	o.run(o.m.End())
	o.at(100_000)
	if !o.m.State().Following {
		t.Error("the end of the last stage is the end of the log, and is followed")
	}
	o.grow(5)
	o.at(100_005)
	o.run(o.m.Up())
	o.run(o.m.ShowOnly(-1))
	o.run(o.m.Home())
	o.at(1)
}

func TestSelection(t *testing.T) {
	o := open(t, 50, 100, 11)
	if text, complete := o.m.SelectedText(); text != "line 50\n" || !complete {
		t.Errorf("without a selection: %q, complete %t", text, complete)
	}
	o.m.ToggleSelection()
	o.run(o.m.Up())
	o.run(o.m.Up())
	if text, _ := o.m.SelectedText(); text != "line 48\nline 49\nline 50\n" {
		t.Errorf("three lines: %q", text)
	}
	o.says("3 lines selected")
	o.grow(5) // the selection does not move
	if first, last := o.m.Selection(); first != 48 || last != 50 {
		t.Errorf("selected %d to %d, want 48 to 50", first, last)
	}
	if !o.m.ClearSelection() || o.m.ClearSelection() {
		t.Error("a selection must be there to be cleared, once")
	}
	if text, _ := o.m.VisibleText(); !strings.HasPrefix(text, "line 41\n") || !strings.HasSuffix(text, "line 50\n") {
		t.Errorf("on the screen: %q", text)
	}
}

func TestASelectionBeyondTheWindowIsNotComplete(t *testing.T) {
	o := open(t, 100_000, 100, 11)
	o.m.ToggleSelection()
	o.run(o.m.GotoLine(10))
	if first, last := o.m.Selection(); first != 10 || last != 100_000 {
		t.Errorf("selected %d to %d", first, last)
	}
	if text, complete := o.m.SelectedText(); complete || !strings.HasPrefix(text, "line 10\n") {
		t.Errorf("complete %t, starts with %.20q", complete, text)
	}
}
