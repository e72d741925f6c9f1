package screen

import (
	"fmt"

	"github.com/posttrainarena/arena/tui/look"
)

// Scroll is the position in rows of text that are longer than their room.
type Scroll struct {
	top    int
	height int
	total  int
}

// Set says how many rows there are and how many show.
func (s *Scroll) Set(total, height int) {
	s.total, s.height = total, max(height, 1)
	s.settle()
}

func (s *Scroll) settle() { s.top = max(min(s.top, s.total-s.height), 0) }

// Act moves. It returns false for what is not about moving.
func (s *Scroll) Act(i Intent) bool {
	page := max(s.height-1, 1)
	switch i {
	case Up:
		s.top--
	case Down:
		s.top++
	case PageUp:
		s.top -= page
	case PageDown:
		s.top += page
	case HalfUp:
		s.top -= max(page/2, 1)
	case HalfDown:
		s.top += max(page/2, 1)
	case Top:
		s.top = 0
	case Bottom:
		s.top = s.total
	default:
		return false
	}
	s.settle()
	return true
}

// Wheel scrolls by rows.
func (s *Scroll) Wheel(rows int) {
	s.top += rows
	s.settle()
}

// Rows returns the rows that show.
func (s *Scroll) Rows(all []string) []string {
	from := max(min(s.top, len(all)-s.height), 0)
	return all[from:min(from+s.height, len(all))]
}

// Position says which rows show, empty when all do.
func (s *Scroll) Position(t look.Theme) string {
	if s.total <= s.height {
		return ""
	}
	up, down := t.Up, t.Down
	if s.top == 0 {
		up = " "
	}
	if s.top+s.height >= s.total {
		down = " "
	}
	return fmt.Sprintf("%s%s %d-%d of %d", up, down, s.top+1, min(s.top+s.height, s.total), s.total)
}
