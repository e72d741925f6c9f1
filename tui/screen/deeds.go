package screen

import (
	"fmt"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/tui/look"
	"github.com/posttrainarena/arena/tui/nav"
)

// DeedState is what became of something that the person did.
type DeedState int

// The states of a deed.
const (
	DeedWaiting   DeedState = iota // not sent yet: z takes it back
	DeedTakenBack                  // never sent
	DeedSent                       // sent; the arena has not answered
	DeedDone                       // the arena says that it is done
	DeedFailed                     // the arena refused, or did not answer
)

// Deed is something that the person did in this session.
type Deed struct {
	At    time.Time
	What  string // such as "Accept 1f2e3d4c5b6a"
	State DeedState
	Said  string // what the arena answered
}

// mark is the state as a shape and a word.
func (d Deed) mark(t look.Theme) mark {
	switch d.State {
	case DeedWaiting:
		return mark{t.Waiting, "waiting", look.Warn}
	case DeedTakenBack:
		return mark{t.Stopped, "taken back", look.Dim}
	case DeedSent:
		return mark{t.Stale, "sent", look.Warn}
	case DeedDone:
		return mark{t.Done, "done", look.Good}
	default:
		return mark{t.Failed, "refused", look.Bad}
	}
}

// deedsScreen lists what the person did since the dashboard was started.
type deedsScreen struct{ list List }

func newDeeds() *deedsScreen { return &deedsScreen{list: NewList()} }

// Title says whose they are.
func (s *deedsScreen) Title(World) string { return "What you did" }

// Needs are none: the session knows.
func (s *deedsScreen) Needs(World) []Key { return nil }

// Scopes are those of rows.
func (s *deedsScreen) Scopes(World) []Scope { return []Scope{InRows} }

// Update moves the selection.
func (s *deedsScreen) Update(w World, msg tea.Msg) tea.Cmd {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case Wheel:
		s.list.Wheel(msg.Rows)
	case Click:
		s.list.Click(msg.Y - 2)
	case Act:
		if msg.Intent == Back {
			cmd = nav.To(nav.Back{})
		} else {
			s.list.Act(msg.Intent)
		}
	}
	s.list.Size(w.Height - 2)
	s.list.Set(int64(len(w.Deeds)), func() (ids []string) {
		for i := range w.Deeds {
			ids = append(ids, fmt.Sprint(len(w.Deeds)-1-i)) // newest first
		}
		return ids
	}, nil)
	return cmd
}

// deed is the one with an id.
func (s *deedsScreen) deed(w World, id string) Deed {
	var i int
	if _, err := fmt.Sscan(id, &i); err != nil || i < 0 || i >= len(w.Deeds) {
		return Deed{}
	}
	return w.Deeds[i]
}

// Subject is the selected deed.
func (s *deedsScreen) Subject(w World) Subject {
	id, ok := s.list.Selected()
	if !ok {
		return Subject{}
	}
	d := s.deed(w, id)
	return Subject{What: "line", ID: fmt.Sprintf("%s %s %s", d.At.UTC().Format(time.RFC3339), d.What, d.Said)}
}

// View draws the list.
func (s *deedsScreen) View(w World) string {
	t := w.Theme
	rows := []string{heading(t, w.Width, "What you did since the dashboard was started"), ""}
	if s.list.Len() == 0 {
		rows = append(rows, line(t, w.Width, cell{"  Nothing was sent to the arena yet.", look.Dim}))
	}
	columns := []column{{width: 17}, {width: 14}, {width: 24, flex: 2}, {width: 16, flex: 3}}
	widths := arrange(columns, w.Width-2)
	rows = append(rows, s.list.Rows(t, w.Width, func(id string, _ int) string {
		d := s.deed(w, id)
		return rowOf(t, columns, widths, []cell{{clock(w, d.At), look.Dim}, d.mark(t).cell(), text(d.What), {sentence(d.Said), look.Dim}})
	})...)
	return block(rows, w.Height)
}
