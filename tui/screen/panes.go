package screen

// Panes is how two panes stand side by side on a screen: the person may move the
// border, or show one at a time. The zero value is how the screen comes.
type Panes struct {
	Moved int  `json:"moved,omitempty"` // columns of a hundred that the border was moved to the right
	Alone bool `json:"alone,omitempty"` // one pane at a time
}

// Splitter is a screen that can show two panes side by side.
type Splitter interface {
	// Border is the column at which the gap between the panes begins, and false
	// while one pane shows alone.
	Border(w World) (column int, ok bool)
}

// Gap is the number of columns between two panes.
const Gap = gap

// The room of a pane: what it may take of a hundred, and of columns at least.
const (
	usualRight = 40
	leastShare = 15
	leastPane  = 24
)

// Move moves the border by so many columns of a hundred, within what either pane
// needs.
func (p Panes) Move(by int) Panes {
	p.Moved = min(max(p.Moved+by, leastShare+usualRight-100), usualRight-leastShare)
	return p
}

// To moves the border to a column of a room.
func (p Panes) To(column, room int) Panes {
	p.Moved = 0
	return p.Move(usualRight - (room-column)*100/max(room, 1))
}

// sides are the widths of two panes that stand side by side in the World's room.
func (w World) sides() (left, right int) {
	room := w.Width - gap
	right = room * (usualRight - w.Panes.Moved) / 100
	right = min(max(right, leastPane), room-leastPane)
	return room - right, right
}
