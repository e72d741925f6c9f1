package timeline

import (
	"fmt"
	"strings"
	"time"

	"github.com/posttrainarena/arena/tui/widget/celltext"
)

// Compact draws all stages in one row of exactly width columns: a bar of which
// each stage has a share like its usual length, filled as far as it is, and a word
// on the stage that matters now. Without room for a cell a stage, there are only
// signs; without room for those, the row is cut.
func (m Model) Compact(width int) string {
	if m.ascii {
		return celltext.ASCIIView(m.compact(width))
	}
	return m.compact(width)
}

func (m Model) compact(width int) string {
	if width <= 0 {
		return ""
	}
	if len(m.stages) == 0 {
		return celltext.Spaces(width)
	}
	label := m.label()
	room := width - celltext.Width(label) - 1
	if room < 2*len(m.stages) {
		label, room = "", width
	}
	if room < 2*len(m.stages) {
		return m.signs(width)
	}
	row := m.segments(min(room, mostBar*2))
	if label != "" {
		current := m.styles.of(m.stages[m.current()].State)
		row += " " + current.Render(label)
	}
	return celltext.FitStyled(row, width)
}

// signs is the states alone.
func (m Model) signs(width int) string {
	var b strings.Builder
	for _, s := range m.stages {
		b.WriteString(m.styles.of(s.State).Render(m.sign(s.State)))
	}
	return celltext.FitStyled(b.String(), width)
}

// current is the index of the stage that matters now: the one that runs, else the
// one at which the run stopped, else the last that is done, else the first.
func (m Model) current() int {
	current := 0
	for i, s := range m.stages {
		switch s.State {
		case Running:
			return i
		case Failed, Stopped:
			return i
		case Done:
			current = i
		}
	}
	return current
}

// label names the current stage.
func (m Model) label() string {
	i := m.current()
	s := m.stages[i]
	text := fmt.Sprintf("%s %s %s", m.sign(s.State), celltext.Truncate(s.Name, 20), s.State)
	if t := took(s); t != "" {
		text += " " + t
	}
	return fmt.Sprintf("%s (%d/%d)", text, i+1, len(m.stages))
}

// segments draws the bar: for each stage its sign, then cells for its progress.
func (m Model) segments(width int) string {
	shares := m.shares(width - len(m.stages))
	var b strings.Builder
	for i, s := range m.stages {
		st := m.styles.of(s.State)
		b.WriteString(st.Render(m.sign(s.State)))
		filled := shares[i]
		if s.State == Running {
			filled = min(cells(s.Took, expected(s), shares[i]), max(shares[i]-1, 1))
		}
		b.WriteString(paint(st, strings.Repeat(m.glyphs.cell[m.index(s.State)], filled)))
		b.WriteString(paint(m.styles.Waiting, strings.Repeat(m.glyphs.cell[Waiting], shares[i]-filled)))
	}
	return b.String()
}

// expected is how long a stage is thought to take in all.
func expected(s Stage) time.Duration {
	switch s.State {
	case Skipped:
		return 0
	case Waiting, Running:
		return max(s.Took, s.Reference, 0)
	default:
		return max(s.Took, 0)
	}
}

// shares divides width cells among the stages by their expected lengths. Each has
// one at least.
func (m Model) shares(width int) []int {
	shares := make([]int, len(m.stages))
	var sum time.Duration
	for i, s := range m.stages {
		shares[i] = 1
		sum += expected(s)
	}
	left := width - len(shares)
	given, longest := 0, 0
	for i, s := range m.stages {
		if sum > 0 {
			n := int(float64(expected(s)) / float64(sum) * float64(left))
			shares[i] += n
			given += n
		}
		if shares[i] > shares[longest] {
			longest = i
		}
	}
	shares[longest] += left - given
	return shares
}
