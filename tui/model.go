package tui

import (
	"context"
	"fmt"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/tui/look"
	"github.com/posttrainarena/arena/tui/nav"
	"github.com/posttrainarena/arena/tui/screen"
)

// beat is how often the model looks at the time. Nothing is redrawn by it unless
// something that shows has changed.
const beat = time.Second

// The least room in which the dashboard draws itself.
const (
	MinWidth  = 60
	MinHeight = 16
)

// page is a screen with the route that it was opened by.
type page struct {
	route  nav.Route
	screen screen.Screen
}

// Model is the root: it routes messages, owns what lies over the screens, and
// keeps the data new.
type Model struct {
	options Options
	theme   look.Theme
	keys    screen.Keys
	data    *screen.Data

	tabs    map[nav.Place]screen.Screen // every tab that was opened
	stack   []page                      // the tab, and what was opened on top of it
	overlay overlay                     // nil for none
	toast   toast
	later   []laterItem
	deeds   []screen.Deed
	panes   map[nav.Place]screen.Panes
	border  bool // the border between panes is being dragged
	mouse   bool
	drafts  screen.Drafts
	taste   screen.LogTaste

	kept    []byte // the settings as they were last written down
	keeping bool   // they are being written

	width, height int
	now           time.Time
	crash         *screen.Crash
	quitting      bool

	do        func(func(context.Context, screen.API) tea.Msg) tea.Cmd
	lastEvent int64 // id of the last event of the stream
}

// overlay is something that lies over the screen and takes the keys.
type overlay interface {
	scopes() []screen.Scope
	// act handles an intent; done says that the overlay is to be closed.
	act(m *Model, i screen.Intent) (cmd tea.Cmd, done bool)
	// typed takes keys that no live scope knows.
	typed(m *Model, msg tea.KeyMsg)
	// draw returns the rows of a box at most so large.
	draw(m *Model, width, height int) []string
}

// New makes the dashboard. Its calls to the arena end with ctx.
func New(ctx context.Context, o Options) (*Model, error) {
	o = o.complete()
	keys, err := screen.NewKeys(o.Bindings)
	if err != nil {
		return nil, err
	}
	m := &Model{
		options: o, theme: o.theme(), keys: keys, data: screen.NewData(), panes: map[nav.Place]screen.Panes{}, tabs: map[nav.Place]screen.Screen{}, drafts: screen.Drafts{},
		mouse: true, now: o.Now(), do: guarded(ctx, o.Client),
	}
	m.data.Tick(m.now)
	m.recall()
	m.show(nav.Route{Place: nav.Overview})
	return m, nil
}

// guarded makes commands of calls: a panic becomes a message to the root, which
// ends the dashboard in order.
func guarded(ctx context.Context, a screen.API) func(func(context.Context, screen.API) tea.Msg) tea.Cmd {
	return func(call func(context.Context, screen.API) tea.Msg) tea.Cmd {
		return func() (msg tea.Msg) {
			defer func() {
				if p := recover(); p != nil {
					msg = screen.Recovered(p)
				}
			}()
			return call(ctx, a)
		}
	}
}

// Init starts the clock, the events and the first requests.
func (m *Model) Init() tea.Cmd {
	return tea.Batch(m.tick(), m.followEvents(), m.sweep(), m.resume())
}

// beatMsg is the time.
type beatMsg struct{ now time.Time }

func (m *Model) tick() tea.Cmd {
	return m.after(beat, func(now time.Time) tea.Msg { return beatMsg{now} })
}

func (m *Model) after(d time.Duration, msg func(time.Time) tea.Msg) tea.Cmd {
	return m.options.After(d, msg)
}

// Update handles a message. A panic ends the dashboard instead of leaving the
// terminal as it is.
func (m *Model) Update(msg tea.Msg) (model tea.Model, cmd tea.Cmd) {
	defer func() {
		if p := recover(); p != nil {
			m.fail(screen.Recovered(p))
			model, cmd = m, tea.Quit
		}
	}()
	if m.crash != nil { // in View, which can end nothing
		return m, tea.Quit
	}
	cmd = m.update(msg)
	return m, tea.Batch(cmd, m.sweep())
}

// Err is the crash that ended the dashboard, nil for none.
func (m *Model) Err() error {
	if m.crash == nil {
		return nil
	}
	return *m.crash
}

func (m *Model) fail(c screen.Crash) {
	if m.crash == nil {
		m.crash = &c
	}
}

// update is the one switch over messages. What it does not know is for screens.
func (m *Model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case screen.Crash:
		m.fail(msg)
		return tea.Quit
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		return m.synced()
	case tea.KeyMsg:
		return m.typed(msg)
	case tea.MouseMsg:
		return m.mouseMsg(msg)
	case tea.ResumeMsg:
		return m.restoreMouse()
	case beatMsg:
		m.now = msg.now
		m.data.Tick(msg.now)
		m.fade()
		return tea.Batch(m.tick(), m.sendDue())
	case eventsMsg:
		return m.happened(msg)
	case eventsRetry:
		return m.followEvents()
	case screen.Loaded:
		if m.data.Accept(msg) {
			return m.synced()
		}
		return nil
	case screen.Changed:
		return m.changed(msg)
	case settingsKept:
		return m.wereKept(msg)
	case pagerReady:
		return m.page(msg)
	default:
		if cmd, ok := m.navigate(msg); ok {
			return cmd
		}
		return m.broadcast(msg)
	}
}

// navigate handles what screens send to the root.
func (m *Model) navigate(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case nav.Open:
		return m.show(msg.Route), true
	case nav.Back:
		return m.back(), true
	case nav.Flash:
		return m.flash(msg.Mood, msg.Text), true
	case nav.Copy:
		return m.copy(msg), true
	case nav.Ask:
		m.overlay = newDialog(m.theme, msg)
		return nil, true
	case nav.Later:
		m.later = append(m.later, laterItem{Later: msg, due: m.now.Add(Grace), deed: m.begin(msg.What, screen.DeedWaiting)})
		return nil, true
	default:
		return nil, false
	}
}

// top is the page that shows.
func (m *Model) top() page { return m.stack[len(m.stack)-1] }

// show opens a route: a tab in place of everything, another place on top. A place
// that is open below is returned to.
func (m *Model) show(r nav.Route) tea.Cmd {
	m.overlay = nil
	if i := slices.IndexFunc(m.stack, func(p page) bool { return p.route == r }); i >= 0 {
		m.cut(i + 1)
		return m.shown()
	}
	if slices.Contains(nav.Tabs(), r.Place) {
		s := m.tabs[r.Place]
		if s == nil {
			s = screen.New(r, m.theme)
			m.tabs[r.Place] = s
		}
		m.cut(0)
		m.stack = []page{{nav.Route{Place: r.Place}, s}}
		return m.shown()
	}
	s := screen.New(r, m.theme)
	if s == nil {
		return m.flash(nav.Broke, fmt.Sprintf("There is no screen for %s.", r.Place))
	}
	m.stack = append(m.stack, page{r, s})
	return m.shown()
}

// cut closes the pages from the i-th on. Tabs live on.
func (m *Model) cut(i int) {
	for _, p := range m.stack[i:] {
		if c, ok := p.screen.(screen.Closer); ok && m.tabs[p.route.Place] != p.screen {
			c.Close()
		}
	}
	m.stack = m.stack[:i]
}

func (m *Model) back() tea.Cmd {
	if len(m.stack) > 1 {
		m.cut(len(m.stack) - 1)
		return m.shown()
	}
	return nil
}

// shown tells the page on top that it is.
func (m *Model) shown() tea.Cmd {
	return tea.Batch(m.top().screen.Update(m.world(), nav.Shown{}), m.synced())
}

// synced tells the page on top that data or size have changed.
func (m *Model) synced() tea.Cmd { return m.top().screen.Update(m.world(), screen.Synced{}) }

// broadcast gives a message to every page: a page that is covered still gets what
// it has asked for.
func (m *Model) broadcast(msg tea.Msg) tea.Cmd {
	var cmds []tea.Cmd
	for _, p := range m.stack {
		cmds = append(cmds, p.screen.Update(m.world(), msg))
	}
	return tea.Batch(cmds...)
}

// world is what the page on top may look at.
func (m *Model) world() screen.World {
	return screen.World{
		Data: m.data, Keys: m.keys, Theme: m.theme, Now: m.now.Add(m.data.Skew()), Zone: m.options.Zone,
		Width: m.bodyWidth(), Height: m.bodyHeight(), ReadOnly: m.options.ReadOnly, Held: m.held, Drafts: m.drafts, LogTaste: &m.taste,
		Panes: m.panes[m.top().route.Place], Deeds: m.deeds,
		Do: m.do, After: m.after, Files: m.options.Files, Save: m.save, Pager: m.pager,
	}
}

// bodyHeight is the room between header and footer.
func (m *Model) bodyHeight() int { return max(m.height-m.headerRows()-footerRows, 1) }

// bodyWidth leaves a column free at either side.
func (m *Model) bodyWidth() int { return max(m.width-2, 1) }

// sweep asks for what is missing or too old among what shows.
func (m *Model) sweep() tea.Cmd {
	if m.quitting || m.crash != nil {
		return nil
	}
	var cmds []tea.Cmd
	for _, r := range m.data.Due(m.needs()) {
		cmds = append(cmds, r.Command(m.do, m.options.Now))
	}
	return tea.Batch(cmds...)
}

// needs is what shows: the page on top, and what the header says.
func (m *Model) needs() []screen.Key {
	return append([]screen.Key{screen.WhoamiQuery().Key, screen.VersionQuery().Key, screen.ChallengesQuery().Key}, m.top().screen.Needs(m.world())...)
}
