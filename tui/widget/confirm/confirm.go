// Package confirm asks before something is spent, published or destroyed. The
// dialog names the object, what will happen and what it costs; Cancel has the
// focus, so that Enter alone changes nothing; what cannot be undone needs a word to
// be typed. One dialog says yes at most once, however often Enter is pressed.
package confirm

import (
	"strings"

	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	"github.com/posttrainarena/arena/tui/widget/celltext"
	"github.com/posttrainarena/arena/tui/widget/frame"
)

// Question is what a dialog asks.
type Question struct {
	Title  string // such as "Cancel a run"
	Object string // what it is about, such as an id
	Effect string // what will happen, in a sentence or two
	Cost   string // what it costs; empty when it costs nothing
	Accept string // the word on the button that does it, such as "Cancel the run"
	Refuse string // the word on the other; empty is "Keep as it is"
	Word   string // must be typed first; empty when the effect can be undone
}

// Outcome is what pressing the focused button came to.
type Outcome int

// The outcomes of a press.
const (
	Open      Outcome = iota // nothing: the word is missing, or the answer was given before
	Refused                  // leave everything as it is
	Confirmed                // do it; said once
)

// Styles are the looks of the parts.
type Styles struct {
	Border, Title, Object, Effect, Cost lipgloss.Style
	Button, Focused, Disabled           lipgloss.Style
	Hint                                lipgloss.Style
	Input, Cursor                       lipgloss.Style // of the word that is typed; the cursor is reversed
}

// DefaultStyles returns styles without colours.
func DefaultStyles() Styles {
	plain := lipgloss.NewStyle()
	bold, faint := plain.Bold(true), plain.Faint(true)
	return Styles{
		Border: plain, Title: bold, Object: bold, Effect: plain, Cost: bold,
		Button: plain, Focused: plain.Reverse(true), Disabled: faint, Hint: faint,
		Input: plain, Cursor: plain,
	}
}

// Model is a dialog.
type Model struct {
	question      Question
	accept        bool // the button that does it has the focus
	done          bool // the answer was given
	word          textinput.Model
	styles        Styles
	ascii         bool
	width, height int
}

// Option changes a new Model.
type Option func(*Model)

// WithStyles sets the styles.
func WithStyles(s Styles) Option { return func(m *Model) { m.styles = s } }

// WithASCII draws with ASCII characters only.
func WithASCII(on bool) Option { return func(m *Model) { m.ascii = on } }

// New returns a dialog that asks a question in at most 60×20 cells, with the focus
// on the button that changes nothing.
func New(q Question, opts ...Option) Model {
	if q.Refuse == "" {
		q.Refuse = "Keep as it is"
	}
	m := Model{question: q, word: textinput.New(), styles: DefaultStyles(), width: 60, height: 20}
	m.word.Prompt = ""
	m.word.CharLimit = 64
	m.word.KeyMap.Paste.SetEnabled(false)      // it would read the clipboard of this machine; terminals paste by themselves
	m.word.Cursor.SetMode(cursor.CursorStatic) // a blinking one draws when nothing happens
	m.word.Focus()
	for _, o := range opts {
		o(&m)
	}
	m.SetStyles(m.styles)
	return m
}

// SetSize sets the most cells that the dialog may take.
func (m *Model) SetSize(width, height int) { m.width, m.height = max(width, 0), max(height, 0) }

// SetStyles changes the styles, as when the theme changes.
func (m *Model) SetStyles(s Styles) {
	m.styles = s
	m.word.TextStyle, m.word.Cursor.TextStyle, m.word.Cursor.Style = s.Input, s.Input, s.Cursor
}

// Question returns what is asked.
func (m Model) Question() Question { return m.question }

// Typing reports whether keys that mean nothing else are text: a word is asked for.
func (m Model) Typing() bool { return m.question.Word != "" && !m.done }

// Update takes typed text when a word is asked for.
func (m Model) Update(msg tea.Msg) (Model, tea.Cmd) {
	if _, key := msg.(tea.KeyMsg); !key || !m.Typing() {
		return m, nil
	}
	var cmd tea.Cmd
	m.word, cmd = m.word.Update(msg)
	return m, cmd
}

// Toggle gives the focus to the other button.
func (m *Model) Toggle() { m.accept = !m.accept }

// Ready reports whether the word was typed, if one is asked for.
func (m Model) Ready() bool {
	return m.question.Word == "" || strings.TrimSpace(m.word.Value()) == m.question.Word
}

// Press presses the button that has the focus.
func (m *Model) Press() Outcome {
	switch {
	case m.done || m.accept && !m.Ready():
		return Open
	case m.accept:
		m.done = true
		return Confirmed
	default:
		m.done = true
		return Refused
	}
}

// Sent reports whether the answer was given. The dialog then says that it waits.
func (m Model) Sent() bool { return m.done && m.accept }

// Reopen lets the question be answered again, after what was confirmed has failed.
// The focus goes back to where nothing changes.
func (m *Model) Reopen() { m.done, m.accept = false, false }

// View draws the dialog, as wide as its size allows and as high as it needs to be.
// Where there is too little room, the effect is cut before the buttons are.
func (m Model) View() string {
	inner := m.width - frame.Columns
	if inner < 1 || m.height <= frame.Rows {
		return ""
	}
	f := frame.Frame{Border: m.styles.Border, Title: m.styles.Title, ASCII: m.ascii}
	return f.Draw(m.question.Title, m.rows(inner, m.height-frame.Rows), m.width)
}

// rows are the rows inside of the frame, at most limit.
func (m Model) rows(width, limit int) []string {
	foot := m.foot(width)
	foot = foot[max(len(foot)-limit, 0):]
	var body []string
	paragraph := func(style lipgloss.Style, text string) {
		if text != "" {
			for _, row := range celltext.Wrap(text, width) {
				body = append(body, style.Render(row))
			}
		}
	}
	paragraph(m.styles.Object, m.question.Object)
	paragraph(m.styles.Effect, m.question.Effect)
	paragraph(m.styles.Cost, m.question.Cost)
	if room := limit - len(foot); len(body) > room {
		body = body[:max(room, 0)]
		if room > 0 {
			body[room-1] = m.styles.Hint.Render(celltext.Ellipsis)
		}
	}
	if len(body)+1+len(foot) <= limit {
		body = append(body, "")
	}
	return append(body, foot...)
}

// foot is the word to type, if any, and the buttons.
func (m Model) foot(width int) []string {
	if m.Sent() {
		return []string{m.styles.Hint.Render(celltext.Truncate("Sent. Waiting for the arena to say that it is done.", width))}
	}
	var rows []string
	if w := m.question.Word; w != "" {
		label := celltext.Truncate("Type "+w+" to go on: ", width/2)
		m.word.Width = max(width-celltext.Width(label)-1, 1)
		rows = append(rows, m.styles.Hint.Render(label)+m.word.View())
	}
	refuse, accept := m.button(m.question.Refuse, !m.accept, true), m.button(m.question.Accept, m.accept, m.Ready())
	if both := m.label(m.question.Refuse, false) + "  " + m.label(m.question.Accept, false); celltext.Width(both) <= width {
		return append(rows, refuse+"  "+accept)
	}
	return append(rows, refuse, accept)
}

// label is the text of a button; the focus is a shape, not a colour alone.
func (m Model) label(text string, focused bool) string {
	switch {
	case !focused:
		return "  " + celltext.Clean(text) + "  "
	case m.ascii:
		return "> " + celltext.Clean(text) + " <"
	default:
		return "▸ " + celltext.Clean(text) + " ◂"
	}
}

func (m Model) button(text string, focused, enabled bool) string {
	style := m.styles.Button
	switch {
	case !enabled:
		style = m.styles.Disabled
	case focused:
		style = m.styles.Focused
	}
	return style.Render(m.label(text, focused))
}
