package screen

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/tui/look"
	"github.com/posttrainarena/arena/tui/nav"
	"github.com/posttrainarena/arena/tui/widget/editor"
)

// writeScreen writes a message to the board.
type writeScreen struct {
	route nav.Route // Message is the one that is answered
	body  editor.Model
	begun bool
	sent  string // the text that is under way
}

func newWrite(r nav.Route, t look.Theme) *writeScreen {
	return &writeScreen{route: r, body: editor.New(editor.WithASCII(t.ASCII()), editor.WithStyles(noteStyles(t)), editor.WithLimits(1, protocol.MaxMessageRunes))}
}

// Title is what is done.
func (s *writeScreen) Title(World) string {
	if s.route.Message != "" {
		return "Answer"
	}
	return "New message"
}

// Needs are the messages, for the one that is answered.
func (s *writeScreen) Needs(World) []Key { return []Key{MessagesQuery().Key} }

// Scopes are those of the text.
func (s *writeScreen) Scopes(World) []Scope { return []Scope{OnWrite} }

// Typing is always so.
func (s *writeScreen) Typing() bool { return true }

func (s *writeScreen) draftKey() string { return "message " + s.route.Message }

// Update types, and posts after asking.
func (s *writeScreen) Update(w World, msg tea.Msg) tea.Cmd {
	s.body.SetSize(w.Width, max(w.Height-s.head(), 1))
	switch msg := msg.(type) {
	case nav.Shown:
		if !s.begun {
			s.begun = true
			s.body.SetValue(w.Drafts.Get(s.draftKey()))
		}
	case tea.KeyMsg:
		s.body, _ = s.body.Update(msg)
		w.Drafts.Set(s.draftKey(), s.body.Value())
	case Changed:
		if msg.Posted != nil && msg.Err == nil && msg.Posted.Body == s.sent {
			w.Drafts.Set(s.draftKey(), "")
			return nav.To(nav.Back{})
		}
	case Act:
		switch msg.Intent {
		case Clear:
			return nav.To(nav.Back{})
		case Send:
			return s.confirm(w)
		}
	}
	return nil
}

// confirm asks before posting: a message cannot be taken back.
func (s *writeScreen) confirm(w World) tea.Cmd {
	if !s.body.Valid() {
		return nav.Say(nav.Warned, "There is nothing to post yet.")
	}
	body := strings.TrimSpace(s.body.Value())
	s.sent = body
	req := api.PostMessage{RequestID: s.requestID(w, body), Body: body}
	if s.route.Message != "" {
		req.Refs = []string{s.route.Message}
	}
	return nav.To(nav.Ask{
		Title: "Post this message?", Do: "Post it",
		Effect: fmt.Sprintf("Everybody can read it, as from %s, and it cannot be taken back.\n\n%s", w.Me().Name, body),
		Then: w.Do(func(ctx context.Context, a API) tea.Msg {
			ans, err := a.PostMessage(ctx, req)
			m := Changed{What: "post", Said: "Posted.", Err: err}
			if err == nil {
				m.Posted = &ans.Value
			}
			return m
		}),
	})
}

// requestID names the message by who says what in answer to what, on one day: the
// same text sent twice is one message.
func (s *writeScreen) requestID(w World, body string) string {
	sum := sha256.Sum256([]byte(w.Me().Name + "\x00" + s.route.Message + "\x00" + w.Now.UTC().Format("2006-01-02") + "\x00" + body))
	return fmt.Sprintf("tui-%x", sum[:16])
}

// head is the number of rows above the text.
func (s *writeScreen) head() int {
	if s.route.Message != "" {
		return 3
	}
	return 2
}

// Subject is nothing: the keys are text here.
func (s *writeScreen) Subject(World) Subject { return Subject{} }

// View draws what is answered and the text.
func (s *writeScreen) View(w World) string {
	t := w.Theme
	rows := []string{heading(t, w.Width, s.Title(w))}
	if s.route.Message != "" {
		all, _ := Read(w.Data, MessagesQuery())
		rows = append(rows, line(t, w.Width, cell{"to ", look.Dim}, cell{aboutMessage(all.All, s.route.Message), look.Note}))
	}
	rows = append(rows, "")
	return block(append(rows, strings.Split(s.body.View(), "\n")...), w.Height)
}
