package logview

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/posttrainarena/arena/tui/widget/celltext"
)

// part is a piece of the status. What is unusual is painted so that it is seen.
type part struct {
	text  string
	alert bool
}

// status draws the last row. Parts for which there is no room beside the more
// important ones before them are left out.
func (m *Model) status() string {
	var b strings.Builder
	left := m.width
	for i, p := range m.parts() {
		text := " " + p.text
		if i > 0 {
			text = " " + m.glyphs.separator + text
		}
		w := celltext.Width(text)
		if w > left {
			if i > 0 {
				continue
			}
			text = celltext.Truncate(text, left)
			w = celltext.Width(text)
		}
		left -= w
		if p.alert {
			m.inks.alert.Write(&b, text)
		} else {
			m.inks.status.Write(&b, text)
		}
	}
	m.inks.status.Write(&b, celltext.Spaces(left))
	return b.String()
}

// parts are what the status says, the most important first.
func (m *Model) parts() (parts []part) {
	add := func(alert bool, format string, args ...any) {
		parts = append(parts, part{celltext.Clean(fmt.Sprintf(format, args...)), alert})
	}
	m.addMode(add)
	switch {
	case m.failed != nil:
		add(true, "not loaded: %s", celltext.Truncate(m.failed.Error(), 80))
	case m.scan != nil:
		add(true, "searching%s %s read, %s stops", m.glyphs.cut, thousands(m.scan.read), m.stopKey)
	case m.notice != "":
		add(true, "%s", m.notice)
	case m.goal > 0:
		add(false, "loading line %s", thousands(m.goal))
	case m.waiting != 0:
		add(false, "loading")
	}
	if m.skipped > 0 {
		add(true, "skipped %s", counted(m.skipped, "line"))
	}
	if m.sieve != nil {
		m.sieveSays(add)
		m.addView(add)
		return parts
	}
	if i := m.chapterOf(m.cursor); i >= 0 {
		only := ""
		if m.only == i {
			only = " only"
		}
		add(false, "%s%s", celltext.Truncate(m.chapters[i].Name, 20), only)
	}
	if m.search != nil {
		add(false, "%s", m.matchPart())
	}
	if m.cursor != 0 {
		bottom := m.bottom().line
		add(false, "%s-%s of %s", thousands(m.top.line), thousands(bottom), thousands(m.total))
		add(false, "%d%%", int(float64(bottom)/float64(max(m.total, bottom))*100))
	}
	m.addView(add)
	return parts
}

// addMode says whether the pane follows.
func (m *Model) addMode(add func(alert bool, format string, args ...any)) {
	switch more := m.total - m.pausedAt; {
	case m.following && m.ended:
		add(false, "end of the log")
	case m.following:
		add(false, "following")
	case m.ended && more == 0:
		add(false, "ended, %s to the end", m.resumeKey)
	case more == 0:
		add(false, "paused, %s follows", m.resumeKey)
	default:
		add(true, "paused, %s new, %s follows", thousands(more), m.resumeKey)
	}
}

// addView says what is special about the way in which lines are shown.
func (m *Model) addView(add func(alert bool, format string, args ...any)) {
	if first, last := m.Selection(); m.anchor != 0 {
		add(false, "%s selected", counted(last-first+1, "line"))
	}
	if m.wrap {
		add(false, "wrapped")
	}
	if m.column > 0 {
		add(false, "from column %d", m.column+1)
	}
	if m.times == Absolute && m.win.has(m.cursor) {
		if at := m.win.at(m.cursor).at; !at.IsZero() {
			add(false, "%s", at.In(m.zone).Format("2006-01-02 MST"))
		}
	}
}

// matchPart says where the cursor is among the matches.
func (m *Model) matchPart() string {
	i, n, all := m.Matches()
	text := thousands(int64(n))
	if i > 0 {
		text = fmt.Sprintf("%s/%s", thousands(int64(i)), text)
	}
	if !all {
		text += " loaded"
	}
	return fmt.Sprintf("%s matches %q", text, celltext.Truncate(m.search.query, 20))
}

// counted is a number with its noun.
func counted(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return thousands(n) + " " + noun
}

// thousands is a number with separators.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
