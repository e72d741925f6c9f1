package screen

import (
	"fmt"
	"slices"
	"strings"
)

// Intent is what a key asks for. Screens act on intents and never see which key
// it was.
type Intent string

// Scope is a place where keys mean something. A screen names the scopes that are
// live, the innermost first; the first that knows a key decides.
type Scope string

// The scopes.
const (
	Global      Scope = "anywhere"
	InList      Scope = "list"
	InRows      Scope = "rows" // a list without a filter
	InFilter    Scope = "filter"
	InText      Scope = "text"
	InDialog    Scope = "question"
	InTyped     Scope = "question with a word" // a word has to be typed first
	InPalette   Scope = "palette"
	InHelp      Scope = "help"
	OnOverview  Scope = "overview"
	OnRuns      Scope = "runs"
	OnRun       Scope = "run"
	OnLog       Scope = "log"
	OnSearch    Scope = "search"
	OnAttempts  Scope = "attempts"
	OnAttempt   Scope = "attempt"
	OnResults   Scope = "results"
	OnReview    Scope = "review"
	OnNote      Scope = "note"
	OnRanking   Scope = "leaderboard"
	OnBoard     Scope = "board"
	OnWrite     Scope = "message"
	OnJobs      Scope = "jobs"
	OnSources   Scope = "collections"
	OnCollected Scope = "collection"
	OnAttach    Scope = "attach"
)

// The intents.
const (
	Quit        Intent = "quit"
	Leave       Intent = "leave" // back, or quit where there is nothing to go back to
	Back        Intent = "back"
	Help        Intent = "help"
	Palette     Intent = "palette"
	Refresh     Intent = "refresh"
	CopyID      Intent = "copy-id"
	CopyJSON    Intent = "copy-json"
	CopyCommand Intent = "copy-command"
	Mouse       Intent = "mouse"
	Suspend     Intent = "suspend"
	TakeBack    Intent = "take-back"
	OpenDeeds   Intent = "deeds"
	Narrower    Intent = "narrower"
	Wider       Intent = "wider"
	Alone       Intent = "alone"
	ResetPanes  Intent = "reset-panes"
	Up          Intent = "up"
	Down        Intent = "down"
	PageUp      Intent = "page-up"
	PageDown    Intent = "page-down"
	HalfUp      Intent = "half-up"
	HalfDown    Intent = "half-down"
	Top         Intent = "top"
	Bottom      Intent = "bottom"
	Left        Intent = "left"
	Right       Intent = "right"
	Choose      Intent = "choose"
	Filter      Intent = "filter"
	NextPane    Intent = "next-pane"
	PrevPane    Intent = "previous-pane"

	Keep  Intent = "keep"  // what was typed stands
	Clear Intent = "clear" // what was typed is dropped

	Complete Intent = "complete"
	GotoLine Intent = "goto-line"

	OpenLog        Intent = "open-log"
	OpenAttempts   Intent = "open-attempts"
	OpenResult     Intent = "open-result"
	OpenCollection Intent = "open-collection"
	CancelRun      Intent = "cancel-run"
	CollectResult  Intent = "collect-result"
	NextChallenge  Intent = "next-challenge"
	PrevChallenge  Intent = "previous-challenge"
	NextCurve      Intent = "next-curve"
	LogScale       Intent = "log-scale"

	FollowEnd   Intent = "follow"
	Wrap        Intent = "wrap"
	Times       Intent = "times"
	Search      Intent = "search"
	NextMatch   Intent = "next-match"
	PrevMatch   Intent = "previous-match"
	NextError   Intent = "next-error"
	PrevError   Intent = "previous-error"
	NextChapter Intent = "next-chapter"
	PrevChapter Intent = "previous-chapter"
	Save        Intent = "save"
	Pager       Intent = "pager"
	SelectRows  Intent = "select-rows"
	Levels      Intent = "levels"

	Accept    Intent = "accept"
	Reject    Intent = "reject"
	FlipsOnly Intent = "flips-only"
	Send      Intent = "send"
	WriteNew  Intent = "write"
	Answer    Intent = "answer"
	Attach    Intent = "attach"
)

// TabIntent opens the n-th tab, counted from 0.
func TabIntent(n int) Intent { return Intent(fmt.Sprintf("tab-%d", n+1)) }

// Need is what an action requires.
type Need int

// The needs.
const (
	Anyone Need = iota
	Writer      // somebody signed in, and not --readonly
	Editor      // an editor, and not --readonly
)

// Binding is one row of the key table.
type Binding struct {
	Scope  Scope
	Keys   []string // as Bubble Tea spells them; the first is the one that is shown
	Intent Intent
	Help   string // what it does, for the help
	Hint   string // a word for the footer; empty when it is not worth the room
	Need   Need
	// Argument is what may be typed after the help's words in the palette.
	Argument string
}

// Bindings is the key table: it dispatches, it is the help, and the tests walk
// it. Rows of one scope stand together, in the order in which they are shown.
func Bindings() []Binding {
	row := func(s Scope, keys string, i Intent, hint, help string) Binding {
		return Binding{Scope: s, Keys: strings.Fields(keys), Intent: i, Hint: hint, Help: help}
	}
	needs := func(n Need, b Binding) Binding { b.Need = n; return b }
	argument := func(a string, b Binding) Binding { b.Argument = a; return b }
	return slices.Concat(
		[]Binding{
			row(Global, "?", Help, "help", "All keys of this screen"),
			row(Global, ": ctrl+k", Palette, "commands", "Command palette: every action, screen and object by name"),
			row(Global, "1", TabIntent(0), "", "Overview"),
			row(Global, "2", TabIntent(1), "", "Runs"),
			row(Global, "3", TabIntent(2), "", "Results to review"),
			row(Global, "4", TabIntent(3), "", "Collections"),
			row(Global, "5", TabIntent(4), "", "Leaderboard"),
			row(Global, "6", TabIntent(5), "", "Board"),
			row(Global, "7", TabIntent(6), "", "Jobs"),
			row(Global, "8", TabIntent(7), "", "Health"),
			row(Global, "esc backspace", Back, "", "Back; clears a filter first"),
			row(Global, "q", Leave, "", "Back, and on a tab quit"),
			row(Global, "ctrl+c", Quit, "", "Quit"),
			row(Global, "r", Refresh, "", "Ask the arena again now"),
			row(Global, "y", CopyID, "", "Copy the id of what is selected"),
			row(Global, "Y", CopyJSON, "", "Copy what is selected as JSON"),
			row(Global, "C", CopyCommand, "", "Copy the equivalent arena command"),
			row(Global, "z", TakeBack, "", "Take back a decision that has not been sent yet"),
			row(Global, "A", OpenDeeds, "", "What you did since the dashboard was started"),
			row(Global, "<", Narrower, "", "Panes side by side: the border to the left"),
			row(Global, ">", Wider, "", "Panes side by side: the border to the right"),
			row(Global, "Z", Alone, "", "One pane at a time, or side by side again"),
			row(Global, "=", ResetPanes, "", "The panes as they come"),
			row(Global, "m", Mouse, "", "Release the mouse to the terminal, or take it again"),
			row(Global, "ctrl+z", Suspend, "", "Suspend; fg brings it back"),
		},
		[]Binding{
			row(InList, "up k", Up, "", "Up"),
			row(InList, "down j", Down, "", "Down"),
			row(InList, "pgup ctrl+b", PageUp, "", "A page up"),
			row(InList, "pgdown ctrl+f space", PageDown, "", "A page down"),
			row(InList, "ctrl+u", HalfUp, "", "Half a page up"),
			row(InList, "ctrl+d", HalfDown, "", "Half a page down"),
			row(InList, "home g", Top, "", "To the top"),
			row(InList, "end G", Bottom, "", "To the end"),
			row(InList, "enter", Choose, "open", "Open what is selected"),
			argument("<words, /regex/, state:failed, age:<2d, !not>", row(InList, "/", Filter, "filter", "Filter")),

			row(InRows, "up k", Up, "", "Up"),
			row(InRows, "down j", Down, "", "Down"),
			row(InRows, "pgup ctrl+b", PageUp, "", "A page up"),
			row(InRows, "pgdown ctrl+f space", PageDown, "", "A page down"),
			row(InRows, "ctrl+u", HalfUp, "", "Half a page up"),
			row(InRows, "ctrl+d", HalfDown, "", "Half a page down"),
			row(InRows, "home g", Top, "", "To the top"),
			row(InRows, "end G", Bottom, "", "To the end"),
			row(InRows, "enter", Choose, "open", "Open what is selected"),

			row(InFilter, "enter", Keep, "keep", "Keep the filter"),
			row(InFilter, "esc ctrl+c", Clear, "clear", "Clear the filter"),
			row(InFilter, "up", Up, "", "Up in the list"),
			row(InFilter, "down", Down, "", "Down in the list"),

			row(InText, "up k", Up, "", "Up"),
			row(InText, "down j", Down, "", "Down"),
			row(InText, "pgup ctrl+b", PageUp, "", "A page up"),
			row(InText, "pgdown ctrl+f space", PageDown, "", "A page down"),
			row(InText, "ctrl+u", HalfUp, "", "Half a page up"),
			row(InText, "ctrl+d", HalfDown, "", "Half a page down"),
			row(InText, "home g", Top, "", "To the top"),
			row(InText, "end G", Bottom, "", "To the end"),
		},
		overlayKeys(row),
		runKeys(row, needs),
		logKeys(row, argument),
		resultKeys(row, needs),
	)
}

type rowFunc = func(Scope, string, Intent, string, string) Binding

type needFunc = func(Need, Binding) Binding

type argumentFunc = func(string, Binding) Binding

// overlayKeys are those of what lies over a screen.
func overlayKeys(row rowFunc) []Binding {
	return []Binding{
		row(InDialog, "left h shift+tab", Left, "", "The other button"),
		row(InDialog, "right l tab", Right, "choose", "The other button"),
		row(InDialog, "enter", Choose, "press", "Press the button that has the focus"),
		row(InDialog, "esc q ctrl+c", Clear, "cancel", "Leave everything as it is"),

		row(InTyped, "shift+tab", Left, "", "The other button"),
		row(InTyped, "tab", Right, "choose", "The other button"),
		row(InTyped, "enter", Choose, "press", "Press the button that has the focus"),
		row(InTyped, "esc ctrl+c", Clear, "cancel", "Leave everything as it is"),

		row(InPalette, "up ctrl+p", Up, "", "Up"),
		row(InPalette, "down ctrl+n", Down, "", "Down"),
		row(InPalette, "pgup", PageUp, "", "Ten up"),
		row(InPalette, "pgdown", PageDown, "", "Ten down"),
		row(InPalette, "tab", Complete, "complete", "Type the name in full, for an argument to follow"),
		row(InPalette, "enter", Choose, "do", "Do it"),
		row(InPalette, "esc ctrl+c ctrl+k", Clear, "close", "Close the palette"),

		row(InHelp, "esc q ? enter ctrl+c", Clear, "close", "Close the help"),
		row(InHelp, "up k", Up, "", "Up"),
		row(InHelp, "down j", Down, "", "Down"),
		row(InHelp, "pgup ctrl+b", PageUp, "", "A page up"),
		row(InHelp, "pgdown ctrl+f space", PageDown, "", "A page down"),
	}
}

// runKeys are those of runs and what belongs to them.
func runKeys(row rowFunc, needs needFunc) []Binding {
	ofRun := func(s Scope) []Binding {
		return []Binding{
			needs(Editor, row(s, "l", OpenLog, "log", "The job's log; editors only")),
			row(s, "t", OpenAttempts, "attempts", "Gate and training attempts"),
			row(s, "v", OpenResult, "result", "The result, to review it"),
			row(s, "c", OpenCollection, "collection", "The collection that is measured"),
			needs(Writer, row(s, "s", CollectResult, "", "Collect the result of a scored run for review")),
			needs(Writer, row(s, "x", CancelRun, "", "Ask the provider to stop the run")),
		}
	}
	return slices.Concat(
		[]Binding{
			needs(Editor, row(OnOverview, "l", OpenLog, "log", "The log of the selected or active run; editors only")),
			row(OnOverview, "v", OpenResult, "", "The result of the selected run"),
			row(OnOverview, "tab", NextPane, "", "From the queue to what happened, and back"),
		},
		ofRun(OnRuns),
		ofRun(OnRun),
		[]Binding{
			row(OnRun, "tab", NextCurve, "", "The next training curve"),
			row(OnRun, "left h", Left, "", "Inspect the step before"),
			row(OnRun, "right", Right, "", "Inspect the step after"),
			row(OnRun, "L", LogScale, "", "Logarithmic scale on and off"),

			row(OnAttempt, "tab", NextPane, "next part", "Transcript, checks, verifier's output"),
			row(OnAttempt, "shift+tab", PrevPane, "", "The part before"),
			row(OnAttempt, "]", NextChapter, "next attempt", "The next attempt"),
			row(OnAttempt, "[", PrevChapter, "", "The attempt before"),
		},
	)
}

// logKeys are those of a run's log.
func logKeys(row rowFunc, argument argumentFunc) []Binding {
	return []Binding{
		row(OnLog, "f", FollowEnd, "follow", "Follow the end, or stop following"),
		argument("<text or /regex/>", row(OnLog, "/", Search, "search", "Search")),
		argument("<number>", row(OnLog, "", GotoLine, "", "Go to line")),
		row(OnLog, "n", NextMatch, "", "Next match"),
		row(OnLog, "N", PrevMatch, "", "Previous match"),
		row(OnLog, "e", NextError, "next failure", "Next failure"),
		row(OnLog, "E", PrevError, "", "Previous failure"),
		row(OnLog, "L", Levels, "level", "Which lines: all, warnings and failures, failures only"),
		row(OnLog, "enter", Choose, "", "From a line among failures to the same line among all"),
		row(OnLog, "]", NextChapter, "next stage", "Next stage"),
		row(OnLog, "[", PrevChapter, "", "Previous stage"),
		row(OnLog, "w", Wrap, "wrap", "Wrap long lines, or cut them"),
		row(OnLog, "t", Times, "", "Times: none, time of day, since the start"),
		row(OnLog, "left h", Left, "", "Half a screen to the left"),
		row(OnLog, "right l", Right, "", "Half a screen to the right"),
		row(OnLog, "v", SelectRows, "", "Select lines, for y to copy, or stop selecting"),
		row(OnLog, "s", Save, "", "Save the whole log to a file"),
		row(OnLog, "o", Pager, "", "Open the whole log in $PAGER"),

		row(OnSearch, "enter", Keep, "search", "Go to the first match"),
		row(OnSearch, "esc ctrl+c", Clear, "clear", "Drop the search"),
	}
}

// resultKeys are those of results, collections, the leaderboard and the board.
func resultKeys(row rowFunc, needs needFunc) []Binding {
	return []Binding{
		needs(Editor, row(OnReview, "a", Accept, "accept", "Accept the result: write the note, then confirm")),
		needs(Editor, row(OnReview, "x", Reject, "reject", "Reject the result: write the note, then confirm")),
		row(OnReview, "tab", NextPane, "next part", "Evidence, tasks, history"),
		row(OnReview, "shift+tab", PrevPane, "", "The part before"),
		row(OnReview, "f", FlipsOnly, "flips", "Only tasks whose outcome changed, or all"),
		needs(Editor, row(OnReview, "l", OpenLog, "log", "The job's log; editors only")),
		row(OnReview, "t", OpenAttempts, "", "Gate and training attempts"),
		row(OnReview, "c", OpenCollection, "", "The collection that was measured"),

		row(OnNote, "ctrl+s", Send, "confirm", "The note is done: confirm the decision"),
		row(OnNote, "esc ctrl+c", Clear, "leave", "Leave the note; what was written is kept"),

		row(OnRanking, ".", NextChallenge, "next challenge", "The next challenge"),
		row(OnRanking, ",", PrevChallenge, "", "The challenge before"),

		needs(Writer, row(OnBoard, "w", WriteNew, "write", "Write a message")),
		needs(Writer, row(OnBoard, "a", Answer, "answer", "Answer the selected message")),

		needs(Writer, row(OnWrite, "ctrl+s", Send, "post", "Post the message")),
		row(OnWrite, "esc ctrl+c", Clear, "leave", "Leave without posting"),

		needs(Editor, row(OnCollected, "a", Attach, "attach", "Attach results of the dynamic gates from a file")),
		row(OnCollected, "tab", NextPane, "next part", "Findings, verdicts, runs, tasks"),
		row(OnCollected, "shift+tab", PrevPane, "", "The part before"),

		row(OnAttach, "tab", Complete, "complete", "Complete the path"),
		row(OnAttach, "enter", Choose, "judge", "Have the arena judge the file; nothing is stored"),
		needs(Editor, row(OnAttach, "ctrl+s", Send, "attach", "Attach what was judged, after confirming")),
		row(OnAttach, "up", Up, "", "The verdict before"),
		row(OnAttach, "down", Down, "", "The next verdict"),
		row(OnAttach, "pgup", PageUp, "", "A page of verdicts up"),
		row(OnAttach, "pgdown", PageDown, "", "A page of verdicts down"),
		row(OnAttach, "esc ctrl+c", Clear, "leave", "Leave without attaching"),
	}
}
