package logview_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/posttrainarena/arena/tui/widget/logview"
)

// only shows a level.
func (o *owner) only(l logview.Level) { o.run(o.m.SetLevel(l)) }

func TestLevelShowsOnlyFailuresAndFindsThemAboveTheWindow(t *testing.T) {
	o := openText(t, 100_000, marked(1_000, "FAIL"), logview.WithClassifier(classify))
	o.only(logview.FailuresOnly)
	rows, status := o.rows()
	for _, row := range rows {
		if !strings.Contains(row, "FAIL") {
			t.Fatalf("a row of another level shows:\n%s", strings.Join(rows, "\n"))
		}
	}
	if len(rows) != 10 || !strings.Contains(status, "failures only: ") || !strings.Contains(status, "line 100,000 of 100,000") {
		t.Errorf("%d rows, status %q", len(rows), status)
	}
	// No farther than a screen or two: a log of any length opens at once.
	if n := len(o.asked); n > 8 {
		t.Errorf("%d requests to fill one screen", n)
	}
	for range 5 {
		o.run(o.m.PageUp())
	}
	if at := o.m.State().Cursor; at%1_000 != 0 || at > 60_000 {
		t.Errorf("five pages up the cursor is on line %d", at)
	}
	o.run(o.m.End())
	if at := o.m.State().Cursor; at != 100_000 {
		t.Errorf("the end is line %d", at)
	}
}

func TestLevelFollows(t *testing.T) {
	o := openText(t, 50, marked(10, "FAIL"), logview.WithClassifier(classify))
	o.only(logview.FailuresOnly)
	if o.grow(5); o.m.State().Cursor != 50 {
		t.Errorf("a line of another level moves the cursor to %d", o.m.State().Cursor)
	}
	if o.grow(25); o.m.State().Cursor != 80 {
		t.Errorf("following failures, the cursor is on %d", o.m.State().Cursor)
	}
	o.run(o.m.Up())
	if o.grow(20); o.m.State().Cursor != 70 || o.m.State().Following {
		t.Errorf("paused, the cursor is on %d", o.m.State().Cursor)
	}
}

func TestLevelIsLeftWhereTheCursorIs(t *testing.T) {
	o := openText(t, 10_000, marked(100, "FAIL"), logview.WithClassifier(classify))
	o.only(logview.FailuresOnly)
	o.run(o.m.Up(), o.m.Up())
	if text, _ := o.m.SelectedText(); !strings.Contains(text, "FAIL") {
		t.Errorf("the line under the cursor is %q", text)
	}
	o.only(logview.AllLines)
	o.at(9_800)
	if o.m.Level() != logview.AllLines {
		t.Error("the level stays")
	}
}

func TestLevelWithoutLinesSaysSoAndCanBeStopped(t *testing.T) {
	o := openText(t, 30_000, func(n int64) string { return fmt.Sprint("line ", n) }, logview.WithClassifier(classify))
	o.only(logview.WarningsUp)
	rows, status := o.rows()
	if !strings.Contains(rows[0], "no such lines") || !strings.Contains(status, "warnings and failures: 0 in the whole log") {
		t.Errorf("%q, %q", rows[0], status)
	}
	o.only(logview.AllLines)
	o.m.SetLevel(logview.FailuresOnly) // nothing is read yet
	if _, status := o.rows(); !strings.Contains(status, "reading") {
		t.Errorf("status %q", status)
	}
	if !o.m.Stop() || o.m.Stop() {
		t.Error("reading is not stopped once")
	}
}

// What the sieve holds does not grow with the log.
func TestLevelHoldsABoundedNumberOfLines(t *testing.T) {
	o := openText(t, 60_000, func(int64) string { return "FAIL" }, logview.WithClassifier(classify))
	o.only(logview.FailuresOnly)
	for range 20 {
		o.grow(1_000)
	}
	rows, status := o.rows()
	if len(rows) != 10 || !strings.Contains(status, "line 80,000 of 80,000") {
		t.Errorf("%d rows, %q", len(rows), status)
	}
}
