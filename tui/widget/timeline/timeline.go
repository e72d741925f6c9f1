// Package timeline draws the stages of a run: one row each, with a bar for how
// long it took beside how long it usually takes, or all of them in one line.
package timeline

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/lipgloss"

	"github.com/posttrainarena/arena/tui/widget/celltext"
)

// State is how far a stage is. Each has a shape and a word, so that none is told
// by its colour alone.
type State int

// The states of a stage.
const (
	Waiting State = iota // has not begun
	Running
	Done
	Failed
	Stopped // canceled, or cut off by a limit
	Skipped // will not happen
)

// String is the word for the state.
func (s State) String() string {
	words := [...]string{"waiting", "running", "done", "failed", "stopped", "skipped"}
	if s < 0 || int(s) >= len(words) {
		return "unknown"
	}
	return words[s]
}

// Stage is one part of a run.
type Stage struct {
	Name      string
	State     State
	Took      time.Duration // until now, when it runs
	Reference time.Duration // what it usually takes, such as the median; 0 when not known
	Note      string        // counts and the like, shown where there is room
}

// Styles are the looks of the parts of a timeline.
type Styles struct {
	Waiting, Running, Done, Failed, Stopped, Skipped lipgloss.Style // sign, word and bar
	Name, Duration, Reference, Note                  lipgloss.Style
}

// DefaultStyles returns styles without colours.
func DefaultStyles() Styles {
	plain := lipgloss.NewStyle()
	faint := plain.Faint(true)
	return Styles{
		Waiting: faint, Running: plain.Bold(true), Done: plain, Failed: plain.Bold(true), Stopped: plain, Skipped: faint,
		Name: plain, Duration: plain, Reference: faint, Note: faint,
	}
}

func (s Styles) of(state State) lipgloss.Style {
	styles := [...]lipgloss.Style{s.Waiting, s.Running, s.Done, s.Failed, s.Stopped, s.Skipped}
	if state < 0 || int(state) >= len(styles) {
		return s.Note
	}
	return styles[state]
}

// glyphs are the shapes of one character set, by state where there are six.
type glyphs struct {
	sign, cell  [6]string
	median, tip string
	separator   string
}

func unicodeGlyphs() glyphs {
	return glyphs{
		sign:   [6]string{"○", "▸", "✓", "✗", "⊘", "–"},
		cell:   [6]string{"·", "▓", "█", "▚", "▒", " "},
		median: "│", tip: "▸", separator: "·",
	}
}

func asciiGlyphs() glyphs {
	return glyphs{
		sign:   [6]string{"o", ">", "+", "x", "/", "-"},
		cell:   [6]string{".", "=", "#", "X", "%", " "},
		median: "|", tip: ">", separator: "-",
	}
}

// Model is a timeline.
type Model struct {
	stages        []Stage
	styles        Styles
	glyphs        glyphs
	ascii         bool
	width, height int
}

// Option changes a new Model.
type Option func(*Model)

// WithStyles sets the styles.
func WithStyles(s Styles) Option { return func(m *Model) { m.styles = s } }

// WithASCII draws with ASCII characters only.
func WithASCII(on bool) Option {
	return func(m *Model) {
		if m.ascii = on; on {
			m.glyphs = asciiGlyphs()
		}
	}
}

// New returns an empty timeline of 80×7 cells.
func New(opts ...Option) Model {
	m := Model{styles: DefaultStyles(), glyphs: unicodeGlyphs(), width: 80, height: 7}
	for _, o := range opts {
		o(&m)
	}
	return m
}

// SetSize sets the size in cells. With one row the timeline is compact.
func (m *Model) SetSize(width, height int) { m.width, m.height = max(width, 0), max(height, 0) }

// SetStages sets what is shown. The timeline keeps the slice.
func (m *Model) SetStages(stages []Stage) { m.stages = stages }

// View draws the timeline, exactly as large as its size: a row a stage, or one
// compact row when the height is 1. Stages that have no row are counted in the
// last one.
func (m Model) View() string {
	switch {
	case m.width == 0 || m.height == 0:
		return ""
	case m.height == 1:
		return m.Compact(m.width)
	case m.ascii:
		return celltext.ASCIIView(m.table())
	}
	return m.table()
}

// table draws a row a stage.
func (m Model) table() string {
	shown := m.stages
	if len(shown) > m.height {
		shown = shown[:m.height-1]
	}
	l := m.layout()
	rows := make([]string, 0, m.height)
	for _, s := range shown {
		rows = append(rows, m.row(s, l))
	}
	if hidden := len(m.stages) - len(shown); hidden > 0 {
		rows = append(rows, m.styles.Note.Render(celltext.Fit(fmt.Sprintf("  and %d more", hidden), m.width)))
	}
	for len(rows) < m.height {
		rows = append(rows, celltext.Spaces(m.width))
	}
	return strings.Join(rows, "\n")
}

// layout is the width of each column of a row; 0 is a column that has no room.
type layout struct {
	name, word, bar, duration, reference, note int
	scale                                      time.Duration // what a full bar stands for
}

// The fixed widths of columns, and what a bar needs to say anything.
const (
	wordWidth      = 7  // the longest state
	durationWidth  = 7  // "123h59m"
	referenceWidth = 20 // "123h59m usual, +999%" is the longest
	leastBar       = 8
	mostBar        = 60
)

// layout divides a row: sign and name always, then the duration, the bar, the
// word, the reference and the note, as long as there is room.
func (m Model) layout() (l layout) {
	for _, s := range m.stages {
		l.name = max(l.name, celltext.Width(s.Name))
		l.note = max(l.note, celltext.Width(s.Note))
		l.scale = max(l.scale, s.Took, s.Reference)
	}
	l.name = min(l.name, 20)
	left := m.width - 2 - l.name
	take := func(column *int, width int) {
		if *column = 0; width > 0 && left >= width+1 {
			*column = width
			left -= width + 1
		}
	}
	note := l.note
	take(&l.duration, durationWidth)
	take(&l.bar, leastBar)
	take(&l.word, wordWidth)
	take(&l.reference, referenceWidth)
	take(&l.note, note)
	if l.bar > 0 {
		more := min(max(left, 0), mostBar-leastBar)
		l.bar += more
	}
	return l
}

// row draws one stage.
func (m Model) row(s Stage, l layout) string {
	st := m.styles.of(s.State)
	parts := []string{st.Render(m.sign(s.State)) + " " + m.styles.Name.Render(celltext.Fit(s.Name, l.name))}
	add := func(width int, style lipgloss.Style, text string) {
		if width > 0 {
			parts = append(parts, style.Render(celltext.Fit(text, width)))
		}
	}
	add(l.word, st, s.State.String())
	if l.bar > 0 {
		parts = append(parts, m.bar(s, l))
	}
	if l.duration > 0 {
		parts = append(parts, m.styles.Duration.Render(celltext.FitRight(took(s), l.duration)))
	}
	add(l.reference, m.styles.Reference, against(s))
	add(l.note, m.styles.Note, s.Note)
	return celltext.FitStyled(strings.Join(parts, " "), m.width)
}

// bar draws the duration of a stage on the scale of the longest, with a mark at
// its reference.
func (m Model) bar(s Stage, l layout) string {
	st, cell := m.styles.of(s.State), m.glyphs.cell[m.index(s.State)]
	filled := cells(s.Took, l.scale, l.bar)
	text := make([]string, l.bar)
	for i := range text {
		switch {
		case i >= filled:
			text[i] = " "
		case i == filled-1 && s.State == Running:
			text[i] = m.glyphs.tip
		default:
			text[i] = cell
		}
	}
	mark := -1
	if s.Reference > 0 {
		mark = max(cells(s.Reference, l.scale, l.bar)-1, 0)
	}
	if mark < 0 {
		return paint(st, strings.Join(text, ""))
	}
	return paint(st, strings.Join(text[:mark], "")) + paint(m.styles.Reference, m.glyphs.median) + paint(st, strings.Join(text[mark+1:], ""))
}

// paint renders text, and leaves blanks without a style.
func paint(st lipgloss.Style, text string) string {
	solid := strings.TrimRight(text, " ")
	if solid == "" {
		return text
	}
	return st.Render(solid) + text[len(solid):]
}

// cells is how many of width cells a duration takes on a scale; something that
// took time takes at least one.
func cells(d, scale time.Duration, width int) int {
	if d <= 0 || scale <= 0 {
		return 0
	}
	return min(max(int(float64(d)/float64(scale)*float64(width)+0.5), 1), width)
}

func (m Model) index(s State) int {
	if s < 0 || int(s) >= len(m.glyphs.sign) {
		return int(Waiting)
	}
	return int(s)
}

func (m Model) sign(s State) string { return m.glyphs.sign[m.index(s)] }

// took says how long a stage took, nothing for one that has not begun.
func took(s Stage) string {
	if s.Took <= 0 && (s.State == Waiting || s.State == Skipped) {
		return ""
	}
	return Span(s.Took)
}

// against compares a stage with its reference: by how much it is over or under
// once it is done, and how long it usually takes until then.
func against(s Stage) string {
	switch {
	case s.Reference <= 0:
		return ""
	case s.State != Done || s.Took <= 0:
		return Span(s.Reference) + " usual"
	}
	change := 100 * (float64(s.Took)/float64(s.Reference) - 1)
	if change > 999 {
		return Span(s.Reference) + " usual, >10x"
	}
	return fmt.Sprintf("%s usual, %+.0f%%", Span(s.Reference), change)
}

// Span writes a duration in its two largest units: 42s, 3m05s, 2h17m, 5d03h.
func Span(d time.Duration) string {
	d = max(d, 0).Truncate(time.Second)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < 100*time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	default:
		return fmt.Sprintf("%dd%02dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
	}
}
