package screen

import (
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/tui/look"
	"github.com/posttrainarena/arena/tui/nav"
	"github.com/posttrainarena/arena/tui/widget/celltext"
)

// boardScreen lists the messages of the shared board, with the selected one
// beside them where there is room.
type boardScreen struct {
	listed
	messages map[string]api.Message
}

func newBoard() *boardScreen { return &boardScreen{listed: listed{NewList("author", "agent")}} }

// Title is the tab's name.
func (s *boardScreen) Title(World) string { return "Board" }

// Needs are the messages.
func (s *boardScreen) Needs(World) []Key { return []Key{MessagesQuery().Key} }

// Scopes are those of the board and of the list.
func (s *boardScreen) Scopes(World) []Scope {
	return s.scopes(OnBoard)
}

// Update moves the selection, opens messages and begins new ones.
func (s *boardScreen) Update(w World, msg tea.Msg) tea.Cmd {
	cmd := s.update(msg, 1, s.act)
	s.sync(w)
	return cmd
}

func (s *boardScreen) act(i Intent) tea.Cmd {
	id, ok := s.list.Selected()
	switch {
	case i == WriteNew:
		return nav.Go(nav.Route{Place: nav.Write})
	case i == Choose && ok:
		return nav.Go(nav.Route{Place: nav.Message, Message: id})
	case i == Answer && ok:
		return nav.Go(nav.Route{Place: nav.Write, Message: id})
	default:
		return nil
	}
}

func (s *boardScreen) sync(w World) {
	rows, _ := Read(w.Data, MessagesQuery())
	s.list.Size(w.Height - 2)
	s.list.Set(w.Version(), func() []string {
		s.messages = make(map[string]api.Message, len(rows.All))
		ids := make([]string, len(rows.All))
		for i, m := range rows.All {
			ids[i] = m.Filename
			s.messages[m.Filename] = m
		}
		return ids
	}, func(i int) Fields {
		m := rows.All[i]
		return Fields{
			Text:  strings.Join([]string{m.Filename, m.Author, deref(m.AgentID), m.Body}, "\n"),
			Named: map[string]string{"author": m.Author, "agent": deref(m.AgentID)}, Age: w.Now.Sub(m.CreatedAt), HasAge: true,
		}
	})
}

// Subject is the selected message.
func (s *boardScreen) Subject(World) Subject {
	id, _ := s.list.Selected()
	m, ok := s.messages[id]
	if !ok {
		return Subject{What: "board", Command: []string{"board", "list"}}
	}
	return messageSubject(m)
}

func messageSubject(m api.Message) Subject {
	return Subject{What: "message", ID: m.Filename, Value: m, Command: []string{"board", "list"}}
}

// wideBoard is the width from which the selected message stands beside the list.
const wideBoard = 110

// View draws the list, and the selected message where there is room.
func (s *boardScreen) View(w World) string {
	width := w.Width
	if width >= wideBoard {
		width = (w.Width - gap) * 2 / 5
	}
	rows := s.draw(w, width, nil, table{
		columns: []column{{title: "From", width: 14, flex: 1}, {title: "Message", width: 24, flex: 4}, {title: "Age", width: 4, right: true}},
		noun:    "message", keys: []Key{MessagesQuery().Key}, none: "Nobody has written yet. w writes the first message.",
		cells: func(id string) []cell {
			m := s.messages[id]
			return []cell{{from(m), look.Accent}, text(sentence(m.Body)), {Ago(w.Now, m.CreatedAt), look.Dim}}
		},
	})
	if id, ok := s.list.Selected(); ok && width < w.Width {
		right := w.Width - width - gap
		rows = beside(rows, width, messageRows(w, s.messages[id], right), right, w.Height)
	}
	return block(rows, w.Height)
}

// from is who speaks in a message.
func from(m api.Message) string { return or(deref(m.AgentID), m.Author) }

// messageRows are a message in full, with what it answers and what answers it.
func messageRows(w World, m api.Message, width int) []string {
	t := w.Theme
	all, _ := Read(w.Data, MessagesQuery())
	who := from(m)
	if m.AgentID != nil {
		who += " (agent of " + m.Author + ")"
	}
	rows := []string{
		heading(t, width, who, cell{clock(w, m.CreatedAt), look.Dim}),
		line(t, width, cell{m.Filename, look.Dim}),
	}
	for _, ref := range m.Refs {
		rows = append(rows, line(t, width, cell{"answers ", look.Dim}, cell{aboutMessage(all.All, ref), look.Note}))
	}
	rows = append(rows, "")
	rows = append(rows, celltext.Wrap(m.Body, width)...)
	var answers []string
	for _, o := range slices.Backward(all.All) {
		if slices.Contains(o.Refs, m.Filename) {
			answers = append(answers, line(t, width, cell{Ago(w.Now, o.CreatedAt) + " ", look.Dim}, cell{from(o) + ": ", look.Accent}, text(sentence(o.Body))))
		}
	}
	if len(answers) > 0 {
		rows = append(append(rows, "", heading(t, width, "Answers")), answers...)
	}
	return rows
}

// aboutMessage is a message in a few words.
func aboutMessage(all []api.Message, filename string) string {
	for _, m := range all {
		if m.Filename == filename {
			return from(m) + ": " + sentence(m.Body)
		}
	}
	return filename
}

// messageScreen shows one message in full.
type messageScreen struct {
	route  nav.Route
	scroll Scroll
}

func newMessage(r nav.Route) *messageScreen { return &messageScreen{route: r} }

// Title is what is shown.
func (s *messageScreen) Title(World) string { return "Message" }

// Needs are the messages.
func (s *messageScreen) Needs(World) []Key { return []Key{MessagesQuery().Key} }

// Scopes are those of the board and of text that scrolls.
func (s *messageScreen) Scopes(World) []Scope { return []Scope{OnBoard, InText} }

func (s *messageScreen) message(w World) (api.Message, bool) {
	all, _ := Read(w.Data, MessagesQuery())
	i := slices.IndexFunc(all.All, func(m api.Message) bool { return m.Filename == s.route.Message })
	if i < 0 {
		return api.Message{}, false
	}
	return all.All[i], true
}

// Update scrolls, and begins an answer.
func (s *messageScreen) Update(w World, msg tea.Msg) tea.Cmd {
	s.scroll.Set(len(s.rows(w)), w.Height)
	switch msg := msg.(type) {
	case Wheel:
		s.scroll.Wheel(msg.Rows)
	case Act:
		switch msg.Intent {
		case Back:
			return nav.To(nav.Back{})
		case WriteNew:
			return nav.Go(nav.Route{Place: nav.Write})
		case Answer:
			return nav.Go(nav.Route{Place: nav.Write, Message: s.route.Message})
		default:
			s.scroll.Act(msg.Intent)
		}
	}
	return nil
}

func (s *messageScreen) rows(w World) []string {
	m, ok := s.message(w)
	if !ok {
		return []string{emptyLine(w, s.Needs(w), false, "There is no such message.")}
	}
	return messageRows(w, m, w.Width)
}

// Subject is the message.
func (s *messageScreen) Subject(w World) Subject {
	m, ok := s.message(w)
	if !ok {
		return Subject{}
	}
	return messageSubject(m)
}

// View draws the message.
func (s *messageScreen) View(w World) string { return block(s.scroll.Rows(s.rows(w)), w.Height) }
