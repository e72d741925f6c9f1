package frame_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/tui/widget/frame"
	"github.com/posttrainarena/arena/tui/widget/widgettest"
)

func TestDraw(t *testing.T) {
	rows := []string{"a row", widgettest.Colour("1").Render("red"), "図書館"}
	for name, f := range map[string]frame.Frame{
		"unicode": {Border: widgettest.Style(), Title: widgettest.Style()},
		"ascii":   {ASCII: true},
		"styled":  {Border: widgettest.Colour("8"), Title: widgettest.Style().Bold(true)},
	} {
		t.Run(name, func(t *testing.T) { widgettest.Golden(t, f.Draw("Cancel a run", rows, 24)) })
	}
}

func TestDrawIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := frame.Frame{Border: widgettest.Colour("8"), ASCII: rapid.Bool().Draw(t, "ascii")}
		width := rapid.IntRange(frame.Columns+1, 80).Draw(t, "width")
		title := rapid.SampledFrom([]string{"", "a", "title", "図書館の長い題名", "\x1b[31mx"}).Draw(t, "title")
		rows := rapid.SliceOf(rapid.SampledFrom([]string{"", "row", "\x1b[31mred\x1b[0m", "長い長い長い長い長い行"})).Draw(t, "rows")
		widgettest.Exact(t, f.Draw(title, rows, width), width, len(rows)+frame.Rows)
	})
	if got := (frame.Frame{}).Draw("x", nil, frame.Columns); got != "" {
		t.Errorf("in no room: %q", got)
	}
}
