// Package nav holds the messages that screens send to the root: where to go,
// what to say, what to ask a person first. Screens know nothing of each other;
// they name a place, and the root opens what shows it.
package nav

import tea "github.com/charmbracelet/bubbletea"

// Place is a kind of screen.
type Place string

// The places. The first group are the views that have a tab.
const (
	Overview    Place = "overview"
	Runs        Place = "runs"
	Results     Place = "results"
	Collections Place = "collections"
	Leaderboard Place = "leaderboard"
	Board       Place = "board"
	Jobs        Place = "jobs"
	Health      Place = "health"

	Run        Place = "run"
	RunLog     Place = "log"
	Attempts   Place = "attempts"
	Attempt    Place = "attempt"
	Review     Place = "review"
	Collection Place = "collection"
	Attach     Place = "attach" // gate results
	Message    Place = "message"
	Write      Place = "write" // a new message
	Deeds      Place = "deeds" // what the person did
)

// Tabs are the places that have a tab, in order.
func Tabs() []Place {
	return []Place{Overview, Runs, Results, Collections, Leaderboard, Board, Jobs, Health}
}

// Route is a place with the object that it shows. Fields that the place has no
// use for are empty, so that two routes to one thing are equal.
type Route struct {
	Place      Place
	Challenge  string
	Run        string
	Collection string
	Attempt    int
	Message    string // filename: of the message shown, or of the one replied to
}

// Open asks for a screen on top of the present one. A tab's place replaces all.
type Open struct{ Route Route }

// Back asks to leave the present screen.
type Back struct{}

// Mood is how a flash is meant.
type Mood int

// The moods.
const (
	Said   Mood = iota // something happened
	Did                // something was done that the person asked for
	Warned             // something was not done, or is in doubt
	Broke              // something failed
)

// Flash says a sentence for a few seconds.
type Flash struct {
	Mood Mood
	Text string
}

// Copy puts text into the clipboard of the person's terminal.
type Copy struct {
	What string // such as "run id"
	Text string
}

// Ask puts a question before something that cannot be taken back. Cancel has the
// focus.
type Ask struct {
	Title  string
	Object string // what it is about, such as an id
	Effect string // what will happen, in a sentence or two
	Cost   string // what it costs; empty when it costs nothing
	Do     string // what the button says, such as "Cancel the run"
	Keep   string // what the other says; empty is "Cancel"
	Word   string // must be typed first; empty when enter is enough
	Danger bool
	Then   tea.Cmd // runs once, when the person agrees
}

// Later does something after a grace period in which it can be taken back.
type Later struct {
	What string  // such as "Accept tb2-9b-1f2e3d"
	Run  string  // the run that it is about
	Do   tea.Cmd // runs when the period is over
}

// Shown tells a screen that it is on top: when it is opened, and when the one
// above it was left.
type Shown struct{}

// To is a command that sends a message.
func To(msg tea.Msg) tea.Cmd { return func() tea.Msg { return msg } }

// Go is a command that opens a route.
func Go(r Route) tea.Cmd { return To(Open{Route: r}) }

// Say is a command that flashes a sentence.
func Say(mood Mood, text string) tea.Cmd { return To(Flash{Mood: mood, Text: text}) }
