package screen

import (
	"context"
	"io"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/tui/look"
	"github.com/posttrainarena/arena/tui/nav"
)

// Screen is what fills the room between header and footer. A screen is a small
// model: it holds what the person did on it (selection, scroll, filter, text) and
// reads everything else from the World.
type Screen interface {
	// Title is its part of the breadcrumb.
	Title(w World) string
	// Needs names what it shows. The root asks for it and keeps it new.
	Needs(w World) []Key
	// Scopes names the live keys, the innermost first, without Global.
	Scopes(w World) []Scope
	// Update takes an Act, a Click, a Wheel, typed keys when a text field has the
	// focus, and the messages of its own commands. It is called with nav.Shown when
	// the screen comes on top and with Synced whenever data has changed.
	Update(w World, msg tea.Msg) tea.Cmd
	// View draws at most w.Height rows of at most w.Width columns. It changes
	// nothing and depends on nothing but the screen and the World.
	View(w World) string
	// Subject is what is selected.
	Subject(w World) Subject
}

// Typer is a screen that at times wants keys as text. Keys that a live scope
// knows are still intents, but Global is not live then.
type Typer interface{ Typing() bool }

// Closer is a screen that has something running, to be ended when it is left.
type Closer interface{ Close() }

// World is what a screen may look at.
type World struct {
	Data     *Data
	Keys     Keys
	Theme    look.Theme
	Now      time.Time
	Zone     *time.Location
	Width    int // of the room for the screen
	Height   int
	ReadOnly bool
	// Held reports whether a decision about a run waits to be sent.
	Held func(run string) bool
	// Panes is how the person wants the panes of this screen.
	Panes Panes
	// Deeds is what the person did in this session, oldest first.
	Deeds []Deed
	// Drafts keeps what was written on screens that were left.
	Drafts Drafts
	// LogTaste is how the person wants logs to be drawn. The log pane changes it.
	LogTaste *LogTaste
	// Do makes a command of a call to the arena. The command survives a panic of
	// the call, and its context ends with the dashboard.
	Do func(call func(ctx context.Context, a API) tea.Msg) tea.Cmd
	// After makes a command that sends a message in a while.
	After func(d time.Duration, msg func(now time.Time) tea.Msg) tea.Cmd
	// Files is what may be read of this machine.
	Files Files
	// Save makes a command that writes a new file and says where it is.
	Save func(name string, content Content) tea.Cmd
	// Pager makes a command that shows a text in the person's pager.
	Pager func(name string, content Content) tea.Cmd
}

// Drafts are texts that were written and not sent, by what they are about.
type Drafts map[string]string

// Get returns a draft, empty when there is none.
func (d Drafts) Get(about string) string { return d[about] }

// Set keeps a draft. An empty one is dropped.
func (d Drafts) Set(about, text string) {
	if text == "" {
		delete(d, about)
		return
	}
	d[about] = text
}

// Content writes a text, as far as it has to be read from the arena first.
type Content func(ctx context.Context, a API, out io.Writer) error

// Act is a key of the person, as the table reads it.
type Act struct {
	Intent   Intent
	Argument string // what was typed after its name in the palette
}

// Synced says that data has changed.
type Synced struct{}

// Click is the mouse button pressed on a cell of the screen's room.
type Click struct{ X, Y int }

// Wheel is the mouse wheel turned by rows, down when positive.
type Wheel struct{ Rows int }

// Subject is what y, Y and "copy as CLI" are about.
type Subject struct {
	What    string // such as "run"
	ID      string
	Value   any      // what JSON shows; nil when there is nothing
	Command []string // the equivalent arena command, without its name
}

// Version grows when anything changes that the arena answers, and when a minute
// has passed: what a screen has made from the World is good until then.
func (w World) Version() int64 { return w.Data.changes + w.minutes() }

// versionOf is Version for what is made from answers of some kinds only.
func (w World) versionOf(of []kind) int64 { return w.Data.versionOf(of...) + w.minutes() }

func (w World) minutes() int64 { return w.Now.Unix() / 60 }

// Me is who the arena sees, nobody before it answered.
func (w World) Me() api.Whoami {
	me, _ := Read(w.Data, WhoamiQuery())
	return me
}

// May says why the person may not do something, empty when they may.
func (w World) May(n Need) string {
	switch me := w.Me(); {
	case n == Anyone:
		return ""
	case w.ReadOnly:
		return "started with --readonly"
	case me.Name == "":
		return "nobody is signed in: set ARENA_TOKEN"
	case n == Editor && !me.Editor:
		return me.Name + " is not an editor"
	default:
		return ""
	}
}

// New makes the screen of a route, nil for a place that has none.
func New(r nav.Route, t look.Theme) Screen {
	switch r.Place {
	case nav.Overview:
		return newOverview(t)
	case nav.Runs:
		return newRuns()
	case nav.Results:
		return newResults()
	case nav.Collections:
		return newCollections()
	case nav.Leaderboard:
		return newLeaderboard(r)
	case nav.Board:
		return newBoard()
	case nav.Jobs:
		return newJobs()
	case nav.Health:
		return newHealth()
	case nav.Deeds:
		return newDeeds()
	case nav.Run:
		return newRun(r, t)
	case nav.RunLog:
		return newRunLog(r, t)
	case nav.Attempts:
		return newAttempts(r)
	case nav.Attempt:
		return newAttempt(r)
	case nav.Review:
		return newReview(r, t)
	case nav.Collection:
		return newCollection(r)
	case nav.Attach:
		return newAttach(r)
	case nav.Message:
		return newMessage(r)
	case nav.Write:
		return newWrite(r, t)
	default:
		return nil
	}
}
