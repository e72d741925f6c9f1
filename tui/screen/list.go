package screen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/tui/look"
	"github.com/posttrainarena/arena/tui/widget/celltext"
)

// List is the selection, the scroll position and the filter of a list. It knows
// the rows by their ids only: the selection stays on its row when others come and
// go, and on its place when the row itself goes.
type List struct {
	version int64    // of the rows
	every   []string // the rows in order
	asked   []Fields // what the filter asked of them; nil before it did
	applied string   // the filter that was applied

	ids    []string // what passes the filter, in order
	at     int      // index of the selection
	top    int      // index of the first row that shows
	height int      // rows that show
	moved  bool     // the person has moved the cursor
	partly bool     // rows are still being read for the first time
	last   bool     // the last of them have just come

	input  textinput.Model
	typing bool
	filter Filtering
	fields []string
}

// NewList makes a list whose filter knows some fields.
func NewList(fields ...string) List {
	in := textinput.New()
	in.Prompt = ""
	in.CharLimit = 200
	in.KeyMap.Paste.SetEnabled(false)      // it would read the clipboard of this machine; terminals paste by themselves
	in.Cursor.SetMode(cursor.CursorStatic) // a blinking one would redraw an idle screen
	return List{input: in, fields: fields}
}

// Partly says whether the rows are still being read for the first time. Until
// they are all there, the cursor of a person who has not moved it stays on top.
func (l *List) Partly(on bool) { l.partly, l.last = on, l.partly && !on }

// Set gives the list its rows, when they are of another version than those it has.
// Rows returns their ids, row what the filter may ask of the i-th.
func (l *List) Set(version int64, rows func() []string, row func(i int) Fields) {
	anew := version != l.version || l.every == nil
	if anew {
		l.version, l.every, l.asked = version, append([]string{}, rows()...), nil
	}
	if anew || l.input.Value() != l.applied {
		l.applied = l.input.Value()
		l.pick(row)
	}
	l.settle()
}

// pick applies the filter. The selection stays on its row.
func (l *List) pick(row func(i int) Fields) {
	selected, had := l.Selected()
	l.ids = l.every
	if !l.filter.Empty() {
		if l.asked == nil {
			l.asked = make([]Fields, len(l.every))
			for i := range l.every {
				l.asked[i] = row(i).folded()
			}
		}
		l.ids = nil
		for i, id := range l.every {
			if l.filter.Matches(l.asked[i]) {
				l.ids = append(l.ids, id)
			}
		}
	}
	if (l.partly || l.last) && !l.moved {
		had, l.at, l.top = false, 0, 0
	}
	if i := slices.Index(l.ids, selected); had && i >= 0 {
		l.top += i - l.at // what is above may have grown: the row stays where it is
		l.at = i
	}
}

// Size says how many rows show.
func (l *List) Size(height int) {
	l.height = max(height, 1)
	l.settle()
}

// settle puts selection and scroll position into their bounds.
func (l *List) settle() {
	l.at = max(min(l.at, len(l.ids)-1), 0)
	l.top = max(min(l.top, l.at, len(l.ids)-l.height), l.at-l.height+1, 0)
}

// Selected is the id under the cursor.
func (l *List) Selected() (string, bool) {
	if l.at < len(l.ids) {
		return l.ids[l.at], true
	}
	return "", false
}

// Select puts the cursor on a row, if it is there.
func (l *List) Select(id string) {
	if i := slices.Index(l.ids, id); i >= 0 {
		l.at, l.moved = i, true
		l.settle()
	}
}

// Len is the number of rows that pass the filter.
func (l *List) Len() int { return len(l.ids) }

// Typing reports whether the filter takes keys as text.
func (l *List) Typing() bool { return l.typing }

// Scopes are the live scopes of the list.
func (l *List) Scopes() []Scope {
	if l.typing {
		return []Scope{InFilter}
	}
	return []Scope{InList}
}

// Act moves or filters. It returns false for what is not the list's: Choose, and
// Back when there is no filter to clear. After a change of the filter the owner
// sets the rows again.
func (l *List) Act(i Intent) bool {
	page := max(l.height-1, 1)
	switch i {
	case Up:
		l.at--
	case Down:
		l.at++
	case PageUp:
		l.at -= page
	case PageDown:
		l.at += page
	case HalfUp:
		l.at -= max(page/2, 1)
	case HalfDown:
		l.at += max(page/2, 1)
	case Top:
		l.at = 0
	case Bottom:
		l.at = len(l.ids) - 1
	case Filter:
		l.typing = true
		l.input.Focus()
	case Keep:
		l.typing = false
		l.input.Blur()
	case Clear:
		l.typing = false
		l.input.Blur()
		l.setFilter("")
	case Back:
		if l.input.Value() == "" {
			return false
		}
		l.setFilter("")
	default:
		return false
	}
	l.moved = true
	l.settle()
	return true
}

// Do is Act with the argument of a filter that was typed in the palette.
func (l *List) Do(a Act) bool {
	if a.Intent == Filter && a.Argument != "" {
		l.setFilter(a.Argument)
		l.settle()
		return true
	}
	return l.Act(a.Intent)
}

// Type gives a key to the filter's text field.
func (l *List) Type(msg tea.KeyMsg) {
	l.input, _ = l.input.Update(msg)
	l.filter = ParseFilter(l.input.Value(), l.fields)
}

func (l *List) setFilter(text string) {
	l.input.SetValue(text)
	l.filter = ParseFilter(text, l.fields)
}

// Wheel scrolls with the cursor.
func (l *List) Wheel(rows int) {
	l.at += rows
	l.moved = true
	l.settle()
}

// Click selects the row that shows at a place, counted from the first that
// shows. It returns true when that row was selected before.
func (l *List) Click(y int) bool {
	i := l.top + y
	if y < 0 || y >= l.height || i >= len(l.ids) {
		return false
	}
	again := i == l.at
	l.at, l.moved = i, true
	l.settle()
	return again
}

// Filtered reports whether a filter is set or being typed.
func (l *List) Filtered() bool { return l.typing || l.input.Value() != "" }

// Status is the line under a list: its filter with the count, or the count.
func (l *List) Status(t look.Theme, width int, noun string) string {
	right := []cell{{l.position(noun), look.Dim}}
	if !l.Filtered() {
		return ends(t, width, nil, right)
	}
	left := []cell{{"/ ", look.Accent}, {l.input.Value(), look.Plain}}
	if l.typing {
		left = append(left, cell{" ", look.Select})
		if l.input.Value() == "" {
			left = append(left, cell{" words, /regex/, " + strings.Join(l.fields, ": ") + ": age:<2d  ! for the opposite", look.Dim})
		}
	}
	right[0].text = fmt.Sprintf("  %d of %s", len(l.ids), counted(len(l.every), noun))
	return ends(t, width, left, right)
}

func (l *List) position(noun string) string {
	if len(l.ids) > l.height {
		return fmt.Sprintf("%s-%s of %s", thousands(int64(l.top+1)), thousands(int64(min(l.top+l.height, len(l.ids)))), counted(len(l.ids), noun))
	}
	return counted(len(l.ids), noun)
}

// Rows draws the rows that show. Draw is asked for the row of an id in a room
// that is two cells narrower, because the cursor stands before it.
func (l *List) Rows(t look.Theme, width int, draw func(id string, width int) string) []string {
	var rows []string
	for i := l.top; i < min(l.top+l.height, len(l.ids)); i++ {
		row := celltext.FitStyled(draw(l.ids[i], width-2), width-2)
		if i == l.at {
			rows = append(rows, t.Paint(look.Accent, t.Cursor)+t.Over(look.Select, " "+row))
		} else {
			rows = append(rows, "  "+row)
		}
	}
	return rows
}

// Unfocused draws the rows that show without a cursor.
func (l *List) Unfocused(width int, draw func(id string, width int) string) []string {
	var rows []string
	for i := l.top; i < min(l.top+l.height, len(l.ids)); i++ {
		rows = append(rows, "  "+celltext.FitStyled(draw(l.ids[i], width-2), width-2))
	}
	return rows
}
