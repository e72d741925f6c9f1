package tui

import (
	"fmt"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/tui/nav"
	"github.com/posttrainarena/arena/tui/screen"
)

// Grace is how long a decision waits before it is sent, and can be taken back.
const Grace = 6 * time.Second

// toastFor is how long a flash shows.
const toastFor = 5 * time.Second

// laterItem is a decision that waits to be sent.
type laterItem struct {
	nav.Later
	due  time.Time
	deed int // its place among the deeds
}

// sendDue sends the decisions whose grace period is over.
func (m *Model) sendDue() tea.Cmd {
	var cmds []tea.Cmd
	for len(m.later) > 0 && !m.now.Before(m.later[0].due) {
		cmds = append(cmds, m.later[0].Do)
		m.deeds[m.later[0].deed].State = screen.DeedSent
		m.later = m.later[1:]
	}
	return tea.Batch(cmds...)
}

// held reports whether a decision about a run waits.
func (m *Model) held(run string) bool {
	return slices.ContainsFunc(m.later, func(l laterItem) bool { return l.Run == run })
}

// takeBack drops the last decision that was not sent yet.
func (m *Model) takeBack() tea.Cmd {
	if len(m.later) == 0 {
		return m.flash(nav.Warned, "There is nothing to take back: what was sent is final.")
	}
	last := m.later[len(m.later)-1]
	m.later = m.later[:len(m.later)-1]
	m.deeds[last.deed].State = screen.DeedTakenBack
	return m.flash(nav.Did, "Taken back: "+last.What+". Nothing was sent.")
}

// toast is a sentence that shows for a while.
type toast struct {
	nav.Flash
	until time.Time
}

// flash says a sentence in place of the one before. There is nothing more to do:
// a later beat ends it.
func (m *Model) flash(mood nav.Mood, text string) tea.Cmd {
	m.toast = toast{Flash: nav.Flash{Mood: mood, Text: text}, until: m.now.Add(toastFor)}
	return nil
}

// fade ends a sentence that has shown for long enough.
func (m *Model) fade() {
	if !m.now.Before(m.toast.until) {
		m.toast = toast{}
	}
}

// changed takes in what the arena answered to an action.
func (m *Model) changed(c screen.Changed) tea.Cmd {
	cmd := m.broadcast(c)
	m.became(c)
	switch {
	case c.Err != nil:
		return tea.Batch(cmd, m.flash(nav.Broke, fmt.Sprintf("%s: %v", c.What, c.Err)))
	case c.Run != nil:
		screen.Put(m.data, screen.RunQuery(c.Run.ChallengeID, c.Run.RunID), *c.Run)
	case c.Result != nil:
		m.data.Refresh([]screen.Key{
			screen.RunQuery(c.Result.ChallengeID, c.Result.RunID).Key, screen.RunsQuery(c.Result.ChallengeID).Key,
			screen.LeaderboardQuery(c.Result.ChallengeID).Key, screen.ChallengesQuery().Key,
		})
	case c.Attached != nil:
		m.data.Refresh([]screen.Key{screen.GatesQuery(c.Attached.ChallengeID, c.Attached.EnvironmentID).Key})
	case c.Posted != nil:
		m.data.Refresh([]screen.Key{screen.MessagesQuery().Key})
	}
	return tea.Batch(cmd, m.flash(nav.Did, c.Said), m.synced())
}

// begin notes something that the person does, and returns its place.
func (m *Model) begin(what string, state screen.DeedState) int {
	m.deeds = append(m.deeds, screen.Deed{At: m.now, What: what, State: state})
	return len(m.deeds) - 1
}

// became notes what the arena answered. What was not announced, because it did not
// wait, is noted now.
func (m *Model) became(c screen.Changed) {
	i := len(m.deeds) - 1
	for i >= 0 && (m.deeds[i].State != screen.DeedSent || m.deeds[i].What != c.What) {
		i--
	}
	if i < 0 {
		i = m.begin(c.What, screen.DeedSent)
	}
	m.deeds[i].State, m.deeds[i].Said = screen.DeedDone, c.Said
	if c.Err != nil {
		m.deeds[i].State, m.deeds[i].Said = screen.DeedFailed, c.Err.Error()
	}
}
