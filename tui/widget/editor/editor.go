// Package editor is a box to write a few lines in, with a count of characters and
// the least and most that are wanted, so that nobody writes a note that is refused.
package editor

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/textarea"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	"github.com/posttrainarena/arena/tui/widget/celltext"
)

// Styles are the looks of the parts.
type Styles struct {
	Text, Placeholder lipgloss.Style
	Cursor            lipgloss.Style // drawn reversed
	Count             lipgloss.Style // the counter when the length is right
	Short             lipgloss.Style // the counter when it is not
}

// DefaultStyles returns styles without colours.
func DefaultStyles() Styles {
	plain := lipgloss.NewStyle()
	return Styles{Text: plain, Placeholder: plain.Faint(true), Cursor: plain, Count: plain.Faint(true), Short: plain.Bold(true)}
}

// Model is an editor.
type Model struct {
	area          textarea.Model
	styles        Styles
	least, most   int
	ascii         bool
	width, height int
}

// Option changes a new Model.
type Option func(*Model)

// WithStyles sets the styles.
func WithStyles(s Styles) Option { return func(m *Model) { m.styles = s } }

// WithLimits sets how many characters are wanted at least and accepted at most.
// Spaces at both ends do not count towards the least.
func WithLimits(least, most int) Option { return func(m *Model) { m.least, m.most = least, most } }

// WithPlaceholder sets what is shown while nothing is written.
func WithPlaceholder(text string) Option {
	return func(m *Model) { m.area.Placeholder = celltext.Clean(text) }
}

// WithASCII draws with ASCII characters only; others in the text become question
// marks on the screen, not in the value.
func WithASCII(on bool) Option { return func(m *Model) { m.ascii = on } }

// mostLines bounds what is written when no limit is set.
const (
	mostLines      = 1_000
	mostCharacters = 20_000
)

// New returns an empty editor of 60×6 cells that has the focus.
func New(opts ...Option) Model {
	m := Model{area: textarea.New(), styles: DefaultStyles(), most: mostCharacters, width: 60, height: 6}
	m.area.ShowLineNumbers = false
	m.area.Prompt = ""
	m.area.MaxHeight = mostLines
	m.area.KeyMap.Paste.SetEnabled(false)      // it would read the clipboard of this machine; terminals paste by themselves
	m.area.Cursor.SetMode(cursor.CursorStatic) // a blinking one draws when nothing happens
	for _, o := range opts {
		o(&m)
	}
	m.area.CharLimit = m.most
	m.area.Focus()
	m.SetStyles(m.styles)
	m.SetSize(m.width, m.height)
	return m
}

// SetSize sets the size in cells. With two rows or more the last is the counter.
func (m *Model) SetSize(width, height int) {
	m.width, m.height = max(width, 0), max(height, 0)
	m.area.SetWidth(max(m.width, 1))
	m.area.SetHeight(max(m.textRows(), 1))
}

// textRows is the number of rows for text.
func (m Model) textRows() int {
	if m.height < 2 {
		return m.height
	}
	return m.height - 1
}

// SetStyles changes the styles, as when the theme changes.
func (m *Model) SetStyles(s Styles) {
	m.styles = s
	style := textarea.Style{Base: s.Text, Text: s.Text, CursorLine: s.Text, Placeholder: s.Placeholder, EndOfBuffer: s.Text, Prompt: s.Text}
	m.area.FocusedStyle, m.area.BlurredStyle = style, style
	m.area.Cursor.Style, m.area.Cursor.TextStyle = s.Cursor, s.Text
	if m.area.Focused() {
		m.area.Focus() // the text area copies its style when it gets the focus
	}
}

// Value returns what was written.
func (m Model) Value() string { return m.area.Value() }

// SetValue replaces what was written, cut at the most characters.
func (m *Model) SetValue(text string) { m.area.SetValue(text) }

// Length is the number of characters that count.
func (m Model) Length() int { return utf8.RuneCountInString(strings.TrimSpace(m.area.Value())) }

// Valid reports whether enough is written.
func (m Model) Valid() bool { return m.Length() >= m.least }

// Focus and Blur say whether typed text is taken and a cursor is shown.
func (m *Model) Focus() { m.area.Focus() }

// Blur takes the focus away.
func (m *Model) Blur() { m.area.Blur() }

// Focused reports whether the editor has the focus.
func (m Model) Focused() bool { return m.area.Focused() }

// Update takes typed and pasted text and the usual editing keys. Lines end with
// Enter; the owner must keep for itself the key that sends.
func (m Model) Update(msg tea.Msg) (Model, tea.Cmd) {
	if _, key := msg.(tea.KeyMsg); !key {
		return m, nil
	}
	var cmd tea.Cmd
	m.area, cmd = m.area.Update(msg)
	return m, cmd
}

// View draws the editor, exactly as large as its size.
func (m Model) View() string {
	if m.width == 0 || m.height == 0 {
		return ""
	}
	rows := strings.Split(m.area.View(), "\n")
	view := make([]string, 0, m.height)
	for i := range m.textRows() {
		row := ""
		if i < len(rows) {
			row = rows[i]
		}
		view = append(view, celltext.FitStyled(row, m.width))
	}
	if m.height > 1 {
		view = append(view, m.counter())
	}
	if m.ascii {
		return celltext.ASCIIView(strings.Join(view, "\n"))
	}
	return strings.Join(view, "\n")
}

// counter says how much is written, and how much is missing.
func (m Model) counter() string {
	n, style := m.Length(), m.styles.Count
	text := fmt.Sprintf("%d characters", n)
	switch {
	case n < m.least:
		style = m.styles.Short
		text = fmt.Sprintf("%d of at least %d characters, %d to go", n, m.least, m.least-n)
	case utf8.RuneCountInString(m.area.Value()) >= m.most:
		style = m.styles.Short
		text = fmt.Sprintf("%d characters, no more fit", n)
	}
	return style.Render(celltext.FitRight(text, m.width))
}
