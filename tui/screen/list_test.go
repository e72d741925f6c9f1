package screen

import (
	"fmt"
	"slices"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"pgregory.net/rapid"
)

func noFields(int) Fields { return Fields{} }

// set gives a list new rows.
func set(l *List, ids []string, row func(int) Fields) {
	l.Set(l.version+1, func() []string { return ids }, row)
}

// listOf is a list over ids with so many rows in view and the cursor on one.
func listOf(ids []string, height int, selected string) List {
	l := NewList("state")
	l.Size(height)
	set(&l, ids, noFields)
	l.Select(selected)
	return l
}

func TestSelectionFollowsItsRow(t *testing.T) {
	ids := []string{"a", "b", "c", "d", "e"}
	for _, c := range []struct {
		name string
		next []string
		want string
	}{
		{"others come before it", []string{"x", "y", "a", "b", "c", "d", "e"}, "c"},
		{"others go", []string{"c"}, "c"},
		{"the order changes", []string{"e", "d", "c", "b", "a"}, "c"},
		{"it goes: the cursor keeps its place", []string{"a", "b", "d", "e"}, "d"},
		{"it goes with all after it", []string{"a", "b"}, "b"},
	} {
		l := listOf(ids, 3, "c")
		set(&l, c.next, noFields)
		if got, _ := l.Selected(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// The row under the cursor stays at its place on the screen when rows come above.
func TestScrollPositionStays(t *testing.T) {
	var ids []string
	for i := range 50 {
		ids = append(ids, fmt.Sprint(i))
	}
	l := listOf(ids, 10, "25")
	before := l.at - l.top
	set(&l, append([]string{"x", "y", "z"}, ids...), noFields)
	if after := l.at - l.top; after != before {
		t.Errorf("the row moved from line %d to line %d of the screen", before, after)
	}
}

func TestUntouchedCursorStaysOnTopWhileRowsAreRead(t *testing.T) {
	l := NewList()
	l.Size(5)
	l.Partly(true)
	set(&l, []string{"b"}, noFields)
	set(&l, []string{"a", "b"}, noFields)
	if got, _ := l.Selected(); got != "a" {
		t.Errorf("the cursor is on %s", got)
	}
	l.Partly(false)
	set(&l, []string{"first", "a", "b"}, noFields)
	if got, _ := l.Selected(); got != "first" {
		t.Errorf("with the last of them, the cursor is on %s", got)
	}
	l.Partly(false)
	set(&l, []string{"new", "first", "a", "b"}, noFields)
	if got, _ := l.Selected(); got != "first" {
		t.Errorf("once all was read, a refresh moved the cursor to %s", got)
	}
}

func TestFilteringCountsAndClears(t *testing.T) {
	ids := []string{"a1", "a2", "b1"}
	text := func(i int) Fields { return Fields{Text: ids[i]} }
	l := NewList()
	l.Size(5)
	set(&l, ids, text)
	l.Act(Filter)
	if !l.Typing() {
		t.Fatal("the filter has no focus")
	}
	for _, r := range "a" {
		l.Type(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}})
	}
	set(&l, ids, text)
	if l.Len() != 2 {
		t.Errorf("%d rows pass", l.Len())
	}
	l.Act(Keep)
	if l.Typing() || !l.Filtered() {
		t.Error("a kept filter is not kept")
	}
	if !l.Act(Back) {
		t.Error("back does not clear the filter first")
	}
	set(&l, ids, text)
	if l.Len() != 3 || l.Act(Back) {
		t.Errorf("%d rows pass, and back is still the list's", l.Len())
	}
}

// Whatever is done, the cursor is on a row that is there and in view, and a
// refresh leaves it on its row as long as that exists.
func TestListProperties(t *testing.T) {
	moves := []Intent{Up, Down, PageUp, PageDown, HalfUp, HalfDown, Top, Bottom}
	rapid.Check(t, func(t *rapid.T) {
		l := NewList()
		ids := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,3}`), 0, 40, rapid.ID)
		l.Size(rapid.IntRange(-1, 20).Draw(t, "height"))
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				before, had := l.Selected()
				next := ids.Draw(t, "ids")
				set(&l, next, noFields)
				if after, _ := l.Selected(); had && slices.Contains(next, before) && after != before {
					t.Fatalf("the cursor went from %s to %s although it is there", before, after)
				}
			case 1:
				l.Size(rapid.IntRange(-1, 20).Draw(t, "height"))
			case 2:
				l.Click(rapid.IntRange(-2, 30).Draw(t, "row"))
			default:
				l.Act(rapid.SampledFrom(moves).Draw(t, "move"))
			}
			if l.Len() > 0 && (l.at < l.top || l.at >= l.top+l.height || l.at >= l.Len()) {
				t.Fatalf("cursor %d, top %d, height %d of %d", l.at, l.top, l.height, l.Len())
			}
			if l.top > 0 && l.top+l.height > l.Len() {
				t.Fatalf("empty rows at the end: top %d, height %d of %d", l.top, l.height, l.Len())
			}
		}
	})
}
