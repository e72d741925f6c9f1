package screen

import (
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/tui/look"
)

func TestArrange(t *testing.T) {
	columns := []column{{width: 10}, {width: 12, flex: 1, keep: 3}, {width: 8, keep: 1}, {width: 4, keep: 2}, {width: 6, flex: 3}}
	for _, c := range []struct {
		room int
		want []int
	}{
		{200, []int{10, 50, 8, 4, 120}}, // what is left over is shared
		{48, []int{10, 12, 8, 4, 6}},    // everything just fits
		{47, []int{10, 14, 0, 4, 13}},   // the least wanted goes first
		{38, []int{10, 12, 0, 4, 6}},
		{37, []int{10, 13, 0, 0, 10}},
		{29, []int{10, 0, 0, 4, 11}}, // what fits after all comes back
		{18, []int{10, 0, 0, 0, 6}},
		{5, []int{10, 0, 0, 0, 6}}, // what is always kept is cut when drawn
	} {
		if diff := cmp.Diff(c.want, arrange(columns, c.room)); diff != "" {
			t.Errorf("%d cells: %s", c.room, diff)
		}
	}
}

// Rows are as wide as their columns add up to, whatever is in them.
func TestRowsAreExact(t *testing.T) {
	theme := look.New(look.Options{})
	rapid.Check(t, func(t *rapid.T) {
		var columns []column
		var cells []cell
		for range rapid.IntRange(1, 8).Draw(t, "columns") {
			columns = append(columns, column{
				width: rapid.IntRange(1, 20).Draw(t, "width"), flex: rapid.IntRange(0, 3).Draw(t, "flex"), keep: rapid.IntRange(0, 5).Draw(t, "keep"),
				right: rapid.Bool().Draw(t, "right"),
			})
			cells = append(cells, cell{rapid.String().Draw(t, "text"), look.Dim})
		}
		room := rapid.IntRange(0, 120).Draw(t, "room")
		widths := arrange(columns, room)
		if got := ansi.StringWidth(rowOf(theme, columns, widths, cells)); got != total(widths) {
			t.Fatalf("%d cells wide, not %d", got, total(widths))
		}
		if got := ansi.StringWidth(line(theme, room, cells...)); got != room {
			t.Fatalf("a line is %d cells wide, not %d", got, room)
		}
		if got := ansi.StringWidth(heading(theme, room, "title", cells...)); got != room {
			t.Fatalf("a heading is %d cells wide, not %d", got, room)
		}
		half := len(cells) / 2
		if got := ansi.StringWidth(ends(theme, room, cells[:half], cells[half:])); got != room {
			t.Fatalf("a row with two ends is %d cells wide, not %d", got, room)
		}
	})
}
