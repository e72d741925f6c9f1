// Package palette is a list of commands that is searched by typing a few letters of
// what is meant. An item can take an argument, which is typed after its title.
package palette

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	"github.com/posttrainarena/arena/tui/widget/celltext"
	"github.com/posttrainarena/arena/tui/widget/frame"
	"github.com/posttrainarena/arena/tui/widget/fuzzy"
)

// Item is a command.
type Item struct {
	ID    string // what the owner knows it by
	Title string
	Key   string // the key that does the same; empty for none
	Hint  string // what argument it takes, such as "<line>"; empty for none
	Why   string // why it cannot be done now; empty when it can
}

// Choice is a chosen item.
type Choice struct {
	Item     Item
	Argument string // without spaces around it; empty when none was typed
}

// Styles are the looks of the parts.
type Styles struct {
	Border, Title, Prompt, Cursor lipgloss.Style // the input's cursor is reversed
	Item, Selected, Disabled      lipgloss.Style
	Match                         lipgloss.Style // the letters that were typed
	Key, Hint, Count              lipgloss.Style
}

// DefaultStyles returns styles without colours.
func DefaultStyles() Styles {
	plain := lipgloss.NewStyle()
	bold, faint := plain.Bold(true), plain.Faint(true)
	return Styles{
		Border: plain, Title: bold, Prompt: plain, Cursor: plain, Item: plain, Selected: plain.Reverse(true), Disabled: faint,
		Match: bold.Underline(true), Key: bold, Hint: faint, Count: faint,
	}
}

// Model is a palette.
type Model struct {
	items         []Item
	titles        []string
	shown         []fuzzy.Ranked // what fits, best first
	cursor, top   int            // indexes into shown
	input         textinput.Model
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

// New returns a palette of items in 60×16 cells. Its input has the focus.
func New(items []Item, opts ...Option) Model {
	m := Model{input: textinput.New(), styles: DefaultStyles(), width: 60, height: 16}
	m.input.Prompt = ""
	m.input.CharLimit = 200
	m.input.KeyMap.Paste.SetEnabled(false)      // it would read the clipboard of this machine; terminals paste by themselves
	m.input.Cursor.SetMode(cursor.CursorStatic) // a blinking one draws when nothing happens
	m.input.Focus()
	for _, o := range opts {
		o(&m)
	}
	m.SetStyles(m.styles)
	m.SetItems(items)
	return m
}

// SetSize sets the size in cells.
func (m *Model) SetSize(width, height int) {
	m.width, m.height = max(width, 0), max(height, 0)
	m.scroll()
}

// SetStyles changes the styles, as when the theme changes.
func (m *Model) SetStyles(s Styles) {
	m.styles = s
	m.input.TextStyle, m.input.Cursor.TextStyle, m.input.Cursor.Style = s.Prompt, s.Prompt, s.Cursor
}

// SetItems replaces the items. What was typed stays, and the cursor stays on the
// item with the same id.
func (m *Model) SetItems(items []Item) {
	id := ""
	if at, ok := m.Selected(); ok {
		id = at.ID
	}
	m.items = items
	m.titles = make([]string, len(items))
	for i, it := range items {
		m.titles[i] = celltext.Clean(it.Title)
	}
	m.filter()
	m.cursor = max(slices.IndexFunc(m.shown, func(r fuzzy.Ranked) bool { return m.items[r.Index].ID == id }), 0)
	m.scroll()
}

// Query returns what is typed.
func (m Model) Query() string { return m.input.Value() }

// SetQuery replaces what is typed.
func (m *Model) SetQuery(query string) {
	m.input.SetValue(query)
	m.input.CursorEnd()
	m.refilter()
}

// Update takes typed text.
func (m Model) Update(msg tea.Msg) (Model, tea.Cmd) {
	if _, key := msg.(tea.KeyMsg); !key {
		return m, nil
	}
	before := m.input.Value()
	var cmd tea.Cmd
	m.input, cmd = m.input.Update(msg)
	if m.input.Value() != before {
		m.refilter()
	}
	return m, cmd
}

// refilter finds what fits anew, with the best selected.
func (m *Model) refilter() {
	m.filter()
	m.cursor, m.top = 0, 0
}

// filter finds the items that fit what is typed. An item whose title is typed in
// full fits, whatever argument follows, and comes first.
func (m *Model) filter() {
	m.shown = fuzzy.Rank(m.input.Value(), m.titles)
	for i := len(m.items) - 1; i >= 0; i-- {
		if m.items[i].Hint == "" {
			continue
		}
		if argument, ok := fuzzy.Words(m.input.Value(), m.titles[i]); ok && argument != "" {
			m.shown = slices.DeleteFunc(m.shown, func(r fuzzy.Ranked) bool { return r.Index == i })
			m.shown = slices.Insert(m.shown, 0, fuzzy.Ranked{Index: i})
		}
	}
}

// Move moves the cursor by rows, and stops at the ends.
func (m *Model) Move(rows int) {
	m.cursor = min(max(m.cursor+rows, 0), max(len(m.shown)-1, 0))
	m.scroll()
}

// Click selects the item that is drawn in a row of the palette, counted from its
// top border, and reports whether there is one.
func (m *Model) Click(row int) bool {
	i := m.top + row - 2
	if row < 2 || row-2 >= m.rows() || i >= len(m.shown) {
		return false
	}
	m.cursor = i
	return true
}

// Complete types the title of the selected item in full, so that an argument can
// follow.
func (m *Model) Complete() {
	if it, ok := m.Selected(); ok {
		m.SetQuery(celltext.Clean(it.Title) + " ")
		m.cursor = max(slices.IndexFunc(m.shown, func(r fuzzy.Ranked) bool { return m.items[r.Index].ID == it.ID }), 0)
		m.scroll()
	}
}

// Selected returns the item under the cursor.
func (m Model) Selected() (Item, bool) {
	if m.cursor >= len(m.shown) {
		return Item{}, false
	}
	return m.items[m.shown[m.cursor].Index], true
}

// Choice returns the selected item with the argument that was typed after its
// title, if it takes one. It is false when nothing fits or the item cannot be done.
func (m Model) Choice() (Choice, bool) {
	it, ok := m.Selected()
	if !ok || it.Why != "" {
		return Choice{}, false
	}
	c := Choice{Item: it}
	if it.Hint != "" {
		argument, _ := fuzzy.Words(m.input.Value(), celltext.Clean(it.Title))
		c.Argument = strings.TrimSpace(argument)
	}
	return c, true
}

// rows is the number of items that have room: all but the frame, the input and
// the count.
func (m Model) rows() int { return max(m.height-frame.Rows-2, 0) }

// scroll keeps the cursor in view.
func (m *Model) scroll() {
	rows := max(m.rows(), 1)
	m.top = min(m.top, m.cursor)
	m.top = max(m.top, m.cursor-rows+1)
	m.top = max(min(m.top, len(m.shown)-rows), 0)
}

// View draws the palette, exactly as large as its size.
func (m Model) View() string {
	inner := m.width - frame.Columns
	if inner < 1 || m.height <= frame.Rows {
		return blank(m.width, m.height)
	}
	prompt := "› "
	if m.ascii {
		prompt = "> "
	}
	m.input.Width = max(inner-len("> ")-1, 1)
	rows := []string{m.styles.Prompt.Render(prompt) + m.input.View()}
	for i := range m.rows() {
		rows = append(rows, m.row(m.top+i, inner))
	}
	if m.height > frame.Rows+1 {
		rows = append(rows, m.styles.Count.Render(celltext.Fit(fmt.Sprintf("%d of %d", len(m.shown), len(m.items)), inner)))
	}
	f := frame.Frame{Border: m.styles.Border, Title: m.styles.Title, ASCII: m.ascii}
	return f.Draw("Commands", rows, m.width)
}

// blank is a view in which there is no room for anything.
func blank(width, height int) string {
	if width <= 0 || height <= 0 {
		return ""
	}
	return strings.TrimSuffix(strings.Repeat(celltext.Spaces(width)+"\n", height), "\n")
}

// row draws the i-th item that fits: mark, title with the letters that were typed,
// hint or reason, and the key at the right.
func (m Model) row(i, width int) string {
	if i >= len(m.shown) {
		return ""
	}
	it, style, mark := m.items[m.shown[i].Index], m.styles.Item, "  "
	if it.Why != "" {
		style = m.styles.Disabled
	}
	if i == m.cursor {
		style, mark = m.styles.Selected, "▸ "
		if m.ascii {
			mark = "> "
		}
	}
	key := celltext.Truncate(it.Key, width/3)
	if key != "" {
		key = " " + key
	}
	room := max(width-len("> ")-celltext.Width(key), 0)
	title, w := m.highlighted(m.shown[i], room, style)
	left := room - w
	note := it.Hint
	if it.Why != "" {
		note = "(" + it.Why + ")"
	}
	noted := ""
	if note != "" && left > 2 {
		note = celltext.Truncate(note, left-1)
		left -= celltext.Width(note) + 1
		noted = style.Render(" ") + m.styles.Hint.Render(note)
	}
	row := style.Render(mark) + title + noted
	if left > 0 {
		row += style.Render(celltext.Spaces(left))
	}
	return row + celltext.NewInk(m.styles.Key).Paint(key)
}

// highlighted draws the start of a title, at most width columns, and says how wide
// it is. Of a character of several runes all are highlighted when one is.
func (m Model) highlighted(r fuzzy.Ranked, width int, style lipgloss.Style) (string, int) {
	title := m.titles[r.Index]
	short := celltext.Truncate(title, width)
	inks := map[bool]celltext.Ink{false: celltext.NewInk(style), true: celltext.NewInk(m.styles.Match)}
	var b strings.Builder
	start, hit := 0, false // of the piece that is not drawn yet
	for at, runes := 0, 0; at < len(short); {
		n, _ := celltext.Next(short[at:])
		next := runes + len([]rune(short[at:at+n]))
		is := slices.ContainsFunc(r.Positions, func(p int) bool { return p >= runes && p < next }) && strings.HasPrefix(title, short[:at+n])
		if is != hit {
			inks[hit].Write(&b, short[start:at])
			start, hit = at, is
		}
		at, runes = at+n, next
	}
	inks[hit].Write(&b, short[start:])
	return b.String(), celltext.Width(short)
}
