package logview

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	"github.com/posttrainarena/arena/tui/widget/celltext"
)

// Kind is what a line says, as the owner's classifier reads it.
type Kind uint8

// The kinds of lines. Each has a sign of its own in the margin.
const (
	Plain Kind = iota
	Pass
	Warning
	Failure // what NextFailure looks for
	kinds
)

// Line is one line of a log.
type Line struct {
	N    int64 // counted from 1
	At   time.Time
	Text string
}

// Times says how the times of lines are shown.
type Times int

// The ways to show times.
const (
	NoTimes  Times = iota
	Absolute       // time of day
	Relative       // since the base time
)

// Bounds on what is held and asked for. A page is a quarter of the window at most,
// in lines and in bytes, so that reading on at one end never drops what was just
// read at the other.
const (
	defaultLines   = 20_000
	defaultBytes   = 16 << 20
	defaultVisible = 4 << 10
	defaultPage    = 1_000
	scanPage       = 5_000 // lines asked for at once when searching
)

// Styles are the looks of the parts.
type Styles struct {
	Kinds    [4]lipgloss.Style // by Kind
	Time     lipgloss.Style
	Chapter  lipgloss.Style // the first line of a chapter
	Cursor   lipgloss.Style // the line under the cursor
	Selected lipgloss.Style
	Match    lipgloss.Style
	Cut      lipgloss.Style // the note on a line that is not shown in full
	Status   lipgloss.Style
	Alert    lipgloss.Style // what is unusual in the status: paused, skipped, failed
}

// DefaultStyles returns styles without colours.
func DefaultStyles() Styles {
	plain := lipgloss.NewStyle()
	return Styles{
		Kinds: [4]lipgloss.Style{plain, plain, plain, plain.Bold(true)}, Time: plain.Faint(true), Chapter: plain.Bold(true),
		Cursor: plain.Underline(true), Selected: plain.Reverse(true), Match: plain.Reverse(true), Cut: plain.Faint(true),
		Status: plain.Faint(true), Alert: plain.Bold(true),
	}
}

// inks are the styles as rows are painted with them.
type inks struct {
	kinds                                                      [kinds]celltext.Ink
	time, chapter, cursor, selected, match, cut, status, alert celltext.Ink
}

func newInks(s Styles) (k inks) {
	for i, st := range s.Kinds {
		k.kinds[i] = celltext.NewInk(st)
	}
	k.time, k.chapter, k.cursor = celltext.NewInk(s.Time), celltext.NewInk(s.Chapter), celltext.NewInk(s.Cursor)
	k.selected, k.match, k.cut = celltext.NewInk(s.Selected), celltext.NewInk(s.Match), celltext.NewInk(s.Cut)
	k.status, k.alert = celltext.NewInk(s.Status), celltext.NewInk(s.Alert)
	return k
}

// Model is a log pane.
type Model struct {
	// What it was made with.
	id                             string
	classify                       func(text string) Kind
	maxLines, maxBytes, maxVisible int
	page                           int // lines asked for at once
	inks                           inks
	glyphs                         glyphs
	ascii                          bool
	resumeKey, stopKey             string
	base                           time.Time
	zone                           *time.Location

	// The log.
	win      window
	total    int64 // lines that the log is known to have
	ended    bool  // no further line will come
	chapters []Chapter

	// What is shown.
	width, height int
	cursor        int64 // number of the line under the cursor; 0 when there is none
	top           place
	column        int // columns scrolled sideways
	wrap          bool
	times         Times
	following     bool
	pausedAt      int64 // total when following stopped
	skipped       int64 // lines left out since following started
	anchor        int64 // where the selection started; 0 without one
	only          int   // the chapter to stay in; -1 for all

	// What it waits for.
	requests int   // the number of the last request
	waiting  int   // the request for the window that is under way; 0 for none
	goal     int64 // the line to go to when it comes; tail for the end, 0 for none
	failed   error // why the last request failed; nothing is asked until somebody acts
	scan     *scan
	search   *search
	sieve    *sieve // nil while all lines are shown
	notice   string // what the last action found, until the next
	stepping bool   // a Step is under way
}

// tail is the goal of going to the end.
const tail = -1

// Option changes a new Model.
type Option func(*Model)

// WithID sets what NeedTail, NeedLines and Step carry, for owners of several
// panes. Messages with another id are ignored by Update.
func WithID(id string) Option { return func(m *Model) { m.id = id } }

// WithClassifier sets what tells the kind of a line. It is called once for each
// line that is loaded, with clean text, and must be fast and free of side effects.
func WithClassifier(f func(text string) Kind) Option { return func(m *Model) { m.classify = f } }

// WithWindow bounds what is held: lines and bytes of text. Small values are raised
// to what a screen needs.
func WithWindow(lines, bytes int) Option {
	return func(m *Model) { m.maxLines, m.maxBytes = lines, bytes }
}

// WithVisible sets how many bytes of a line can be seen, searched and copied; of
// longer lines only the length is shown besides. The default is 4 KiB.
func WithVisible(bytes int) Option { return func(m *Model) { m.maxVisible = bytes } }

// WithBase sets the time that relative times count from, such as the start of a
// run, and the zone of absolute ones.
func WithBase(base time.Time, zone *time.Location) Option {
	return func(m *Model) { m.SetBase(base, zone) }
}

// WithStyles sets the styles.
func WithStyles(s Styles) Option { return func(m *Model) { m.inks = newInks(s) } }

// WithASCII draws with ASCII characters only; others in the log become question
// marks.
func WithASCII(on bool) Option {
	return func(m *Model) {
		if m.ascii = on; on {
			m.glyphs = asciiGlyphs()
		}
	}
}

// WithHints sets the keys that the status names: the one that follows again and
// the one that stops a search.
func WithHints(resume, stop string) Option {
	return func(m *Model) { m.resumeKey, m.stopKey = celltext.Clean(resume), celltext.Clean(stop) }
}

// New returns a pane of 80×24 cells that follows an unknown log. Init asks for its
// end.
func New(opts ...Option) Model {
	m := Model{
		classify: func(string) Kind { return Plain },
		maxLines: defaultLines, maxBytes: defaultBytes, maxVisible: defaultVisible,
		inks: newInks(DefaultStyles()), glyphs: unicodeGlyphs(), resumeKey: "G", stopKey: "esc", zone: time.UTC,
		width: 80, height: 24, following: true, only: -1, goal: tail,
	}
	for _, o := range opts {
		o(&m)
	}
	m.maxVisible = max(m.maxVisible, 64)
	m.maxLines = max(m.maxLines, 1_000)
	m.maxBytes = max(m.maxBytes, 64*(m.maxVisible+entryBytes))
	m.page = min(defaultPage, m.maxLines/4, m.maxBytes/4/(m.maxVisible+entryBytes))
	return m
}

// Init asks for the end of the log.
func (m *Model) Init() tea.Cmd { return m.fetch() }

// SetSize sets the size in cells. With two rows or more, the last is the status.
func (m *Model) SetSize(width, height int) tea.Cmd {
	m.width, m.height = max(width, 0), max(height, 0)
	m.settle()
	return m.fetch()
}

// SetStyles changes the styles, as when the theme changes.
func (m *Model) SetStyles(s Styles) { m.inks = newInks(s) }

// SetBase sets the time that relative times count from and the zone of absolute
// ones; nil is UTC.
func (m *Model) SetBase(base time.Time, zone *time.Location) {
	if zone == nil {
		zone = time.UTC
	}
	m.base, m.zone = base, zone
}

// SetTotal says how many lines the log has and whether it has ended. Totals never
// shrink.
func (m *Model) SetTotal(total int64, ended bool) tea.Cmd {
	m.total = max(m.total, total)
	m.ended = m.ended || ended
	return m.fetch()
}

// SetTimes sets how times are shown.
func (m *Model) SetTimes(t Times) tea.Cmd {
	m.times = t
	m.settle()
	return m.fetch()
}

// CycleTimes shows times in the next way: off, absolute, relative.
func (m *Model) CycleTimes() tea.Cmd { return m.SetTimes((m.times + 1) % 3) }

// ToggleWrap wraps long lines, or cuts them at the edge again.
func (m *Model) ToggleWrap() tea.Cmd {
	m.wrap = !m.wrap
	m.column = 0
	m.top.row = 0
	m.settle()
	return m.fetch()
}

// State is what an owner may show about the pane in a place of its own.
type State struct {
	First, Last int64 // numbers of the first and last line on the screen; 0 when there is none
	Cursor      int64
	Total       int64
	Following   bool
	New         int64 // lines that came since following stopped
	Skipped     int64 // lines that were left out while following
	Wrap        bool
	Times       Times
	Column      int    // columns scrolled sideways
	Chapter     string // of the line under the cursor
	Searching   bool   // lines that are not loaded are being searched
	Loading     bool
	Ended       bool
	Err         error // why lines could not be loaded
}

// State returns the state of the pane.
func (m Model) State() State {
	s := State{
		Cursor: m.cursor, Total: m.total, Following: m.following, Skipped: m.skipped, Wrap: m.wrap, Times: m.times,
		Column: m.column, Searching: m.scan != nil, Loading: m.waiting != 0, Ended: m.ended, Err: m.failed,
	}
	if !m.following {
		s.New = m.total - m.pausedAt
	}
	if m.sieve != nil {
		s.Cursor, s.Searching = m.sieve.cursor, s.Searching || m.sieve.request != 0
		return s
	}
	if m.cursor != 0 {
		s.First, s.Last = m.top.line, m.bottom().line
		if i := m.chapterOf(m.cursor); i >= 0 {
			s.Chapter = m.chapters[i].Name
		}
	}
	return s
}
