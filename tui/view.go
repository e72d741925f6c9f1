package tui

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/tui/look"
	"github.com/posttrainarena/arena/tui/nav"
	"github.com/posttrainarena/arena/tui/screen"
	"github.com/posttrainarena/arena/tui/widget/celltext"
)

// footerRows are the keys, or what was said last.
const footerRows = 1

// roomy is the height from which a blank row keeps header and screen apart.
const roomy = 30

// headerRows are tabs and breadcrumb, and a blank row where there is room.
func (m *Model) headerRows() int {
	if m.height >= roomy {
		return 3
	}
	return 2
}

// View draws the frame: every row exactly as wide as the terminal.
func (m *Model) View() (frame string) {
	defer func() {
		if p := recover(); p != nil {
			m.fail(screen.Recovered(p))
			frame = ""
		}
	}()
	switch {
	case m.width <= 0 || m.height <= 0 || m.crash != nil:
		return ""
	case m.tooSmall():
		return m.tooSmallView()
	}
	w := m.world()
	body := strings.Split(m.top().screen.View(w), "\n")
	rows := make([]string, 0, m.height)
	rows = append(rows, m.tabBar().row, m.breadcrumb(w))
	for len(rows) < m.headerRows() {
		rows = append(rows, "")
	}
	for i := range m.bodyHeight() {
		row := ""
		if i < len(body) {
			row = body[i]
		}
		rows = append(rows, celltext.FitStyled(" "+row, m.width))
	}
	if m.overlay != nil {
		m.lay(rows[m.headerRows():], m.overlay.draw(m, m.width-4, m.bodyHeight()))
	}
	rows = append(rows, m.footer(w))
	for i, row := range rows {
		rows[i] = celltext.FitStyled(row, m.width)
	}
	return m.finish(strings.Join(rows, "\n"))
}

// finish replaces the few characters beyond ASCII that come from sentences.
func (m *Model) finish(frame string) string {
	if !m.theme.ASCII() {
		return frame
	}
	return strings.NewReplacer("…", "~", "·", "-", "–", "-", "—", "-", "Δ", "d", "±", "~", "×", "x", "→", ">", "≥", ">").Replace(frame)
}

// tooSmall reports whether the terminal has no room for the dashboard.
func (m *Model) tooSmall() bool { return m.width < MinWidth || m.height < MinHeight }

func (m *Model) tooSmallView() string {
	lines := []string{
		"The terminal is too small.",
		fmt.Sprintf("It is %d x %d;", m.width, m.height),
		fmt.Sprintf("%d x %d are needed.", MinWidth, MinHeight),
		"q quits.",
	}
	rows := make([]string, m.height)
	from := max((m.height-len(lines))/2, 0)
	for i := range rows {
		text := ""
		if i >= from && i-from < len(lines) {
			text = lines[i-from]
		}
		rows[i] = celltext.FitCenter(text, m.width)
	}
	return strings.Join(rows, "\n")
}

// lay puts a box over the middle of rows that are exactly as wide as the screen.
// What is behind it loses its colours, so that the eye stays on the box.
func (m *Model) lay(rows, box []string) {
	if len(box) == 0 {
		return
	}
	width := ansi.StringWidth(box[0])
	left, top := max((m.width-width)/2, 0), m.boxTop(len(box))
	for i, row := range rows {
		behind := ansi.Strip(row)
		if i < top || i >= top+len(box) {
			rows[i] = m.theme.Paint(look.Dim, behind)
			continue
		}
		rows[i] = m.theme.Paint(look.Dim, celltext.Slice(behind, 0, left)) + box[i-top] + m.theme.Paint(look.Dim, celltext.Slice(behind, left+width, m.width))
	}
}

// boxTop is the first row of the body that a box of some height covers.
func (m *Model) boxTop(height int) int { return max((m.bodyHeight()-height)/2, 0) }

// tab is where a tab shows in the first row.
type tab struct {
	place    nav.Place
	from, to int
}

// bar is the first row.
type bar struct {
	row    string
	places []tab
}

// tabName is what a tab is called, with the number of things that wait there.
func (m *Model) tabName(p nav.Place) string {
	name := strings.ToUpper(string(p)[:1]) + string(p)[1:]
	if p == nav.Results {
		if n := screen.Waiting(m.data); n > 0 {
			return fmt.Sprintf("%s (%d)", name, n)
		}
	}
	return name
}

// shortTabName is what a tab is called where the room is short.
func (m *Model) shortTabName(p nav.Place) string {
	if p == nav.Leaderboard {
		return "Ranking"
	}
	return m.tabName(p)
}

// tabBar draws the tabs: in full where there is room, else closer together, else
// only the key of those that are not open.
func (m *Model) tabBar() bar {
	open := m.stack[0].route.Place
	for _, form := range []struct {
		between string
		name    func(i int, p nav.Place) string
	}{
		{"  ", func(i int, p nav.Place) string { return fmt.Sprintf("%d %s", i+1, m.tabName(p)) }},
		{" ", func(i int, p nav.Place) string { return fmt.Sprintf("%d %s", i+1, m.shortTabName(p)) }},
		{"  ", func(i int, p nav.Place) string {
			if p == open {
				return fmt.Sprintf("%d %s", i+1, m.tabName(p))
			}
			return fmt.Sprint(i + 1)
		}},
	} {
		var b bar
		at := 1
		var row strings.Builder
		row.WriteString(" ")
		for i, p := range nav.Tabs() {
			if i > 0 {
				row.WriteString(form.between)
				at += len(form.between)
			}
			name := form.name(i, p)
			tone := look.Dim
			if p == open {
				tone = look.Accent
			}
			row.WriteString(m.theme.Paint(tone, name))
			n := celltext.Width(name)
			b.places = append(b.places, tab{p, at, at + n})
			at += n
		}
		if at <= m.width {
			b.row = celltext.FitStyled(row.String(), m.width)
			return b
		}
	}
	return bar{}
}

// breadcrumb is the second row: where the person is, and how the data stands.
func (m *Model) breadcrumb(w screen.World) string {
	left := " "
	for i, p := range m.stack {
		if i > 0 {
			left += m.theme.Paint(look.Faint, " "+m.theme.Into+" ")
		}
		tone := look.Dim
		if i == len(m.stack)-1 {
			tone = look.Strong
		}
		left += m.theme.Paint(tone, celltext.Clean(p.screen.Title(w)))
	}
	right, width := m.status(w)
	if room := m.width - width; room > 0 {
		return celltext.FitStyled(left, room) + right
	}
	return left
}

// status says who the person is and how the connection is.
func (m *Model) status(w screen.World) (string, int) {
	var parts []string
	width := 0
	add := func(tone look.Tone, text string) {
		text = celltext.Clean(text)
		parts = append(parts, m.theme.Paint(tone, text))
		width += celltext.Width(text) + 2
	}
	switch v, _ := screen.Read(m.data, screen.VersionQuery()); {
	case v.Mock:
		add(look.Note, "mocked")
	case v.Simulated:
		add(look.Note, "simulated")
	}
	if m.options.ReadOnly {
		add(look.Warn, "read-only")
	}
	if host := m.host(); m.width >= 110 {
		add(look.Dim, host)
	}
	if who := whoName(w.Me()); who != "" && m.width >= 80 {
		add(look.Dim, who)
	}
	l := m.data.Link()
	switch {
	case l.Since.IsZero():
		add(look.Dim, m.theme.Away+" connecting")
	case !l.Up:
		add(look.Bad, m.theme.Away+" offline "+screen.Ago(m.now, l.Since))
	case !l.Streaming:
		add(look.Warn, m.theme.Stale+" polling")
	default:
		if at, behind := m.data.Behind(m.needs()); behind {
			add(look.Warn, m.theme.Stale+" stale "+screen.Ago(m.now, at))
			break
		}
		add(look.Good, m.theme.Live+" live")
	}
	return "  " + strings.Join(parts, "  ") + " ", width + 1
}

// host is the arena's address, without what goes without saying.
func (m *Model) host() string {
	return strings.TrimPrefix(strings.TrimPrefix(m.options.BaseURL, "http://"), "https://")
}

func whoName(me api.Whoami) string {
	if me.Name == "" {
		return ""
	}
	if me.Editor {
		return me.Name + ", editor"
	}
	return me.Name
}

// footer is the last row: the decision that waits to be sent, which nothing hides,
// then what was said last, else the keys.
func (m *Model) footer(w screen.World) string {
	row := " "
	if n := len(m.later); n > 0 {
		l := m.later[n-1]
		text := fmt.Sprintf("%s %s: sent in %ds. z takes it back.", m.theme.Pending, l.What, int(l.due.Sub(m.now).Seconds()))
		row += m.theme.Paint(look.Warn, celltext.Truncate(text, m.width-2)) + "  "
	}
	room := m.width - ansi.StringWidth(row)
	switch {
	case m.toast.Text != "":
		mark, tone := m.moodMark(m.toast.Mood)
		return row + m.theme.Paint(tone, mark+" "+celltext.Truncate(strings.Join(strings.Fields(m.toast.Text), " "), room-3))
	case len(m.later) > 0:
		return row
	default:
		return row + m.hints(room-1)
	}
}

func (m *Model) moodMark(mood nav.Mood) (string, look.Tone) {
	switch mood {
	case nav.Did:
		return m.theme.Done, look.Good
	case nav.Warned:
		return m.theme.Alarm, look.Warn
	case nav.Broke:
		return m.theme.Failed, look.Bad
	default:
		return m.theme.Dot, look.Dim
	}
}

// hints are the keys that are worth knowing here, as many as fit.
func (m *Model) hints(width int) string {
	var b strings.Builder
	used := 0
	end := ""
	if !m.mouse {
		end = "mouse released, m takes it"
		width -= len(end) + 2
	}
	for _, row := range m.keys.Live(m.scopes()) {
		if row.Hint == "" || m.world().May(row.Need) != "" {
			continue
		}
		key := screen.KeyName(row.Keys[0])
		n := celltext.Width(key) + 1 + celltext.Width(row.Hint)
		if used > 0 {
			n += 2
		}
		if used+n > width {
			continue
		}
		if used > 0 {
			b.WriteString("  ")
		}
		used += n
		b.WriteString(m.theme.Paint(look.Key, key) + " " + m.theme.Paint(look.Dim, row.Hint))
	}
	if end != "" {
		return celltext.FitStyled(b.String(), width) + "  " + m.theme.Paint(look.Warn, end)
	}
	return b.String()
}
