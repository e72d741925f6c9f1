package screen

import (
	"fmt"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/tui/look"
	"github.com/posttrainarena/arena/tui/nav"
	"github.com/posttrainarena/arena/tui/widget/celltext"
)

// runScreen shows one run: what it is, how far it is, what it costs, why it
// stopped, how training went.
type runScreen struct {
	route  nav.Route
	curves curves
	scroll Scroll
}

func newRun(r nav.Route, t look.Theme) *runScreen {
	return &runScreen{route: r, curves: newCurves(t)}
}

// Title is the run's short id.
func (s *runScreen) Title(World) string { return shortID(s.route.Run) }

// Needs are the run, and the others of its challenge for the usual durations.
func (s *runScreen) Needs(World) []Key {
	return []Key{RunQuery(s.route.Challenge, s.route.Run).Key, RunsQuery(s.route.Challenge).Key, CollectionsQuery().Key}
}

// Scopes are those of a run and of text that scrolls.
func (s *runScreen) Scopes(World) []Scope { return []Scope{OnRun, InText} }

func (s *runScreen) run(w World) (api.Run, bool) {
	return latest(w.Data, s.route.Challenge, s.route.Run)
}

// Update scrolls, inspects the curves and acts on the run.
func (s *runScreen) Update(w World, msg tea.Msg) tea.Cmd {
	r, ok := s.run(w)
	if ok {
		s.curves.set(r.Training)
	}
	s.scroll.Set(len(s.rows(w)), w.Height)
	switch msg := msg.(type) {
	case Wheel:
		s.scroll.Wheel(msg.Rows)
	case Act:
		switch {
		case s.curves.act(msg.Intent), s.scroll.Act(msg.Intent):
		case msg.Intent == Back:
			return nav.To(nav.Back{})
		case ok:
			return actOnRun(w, r, msg.Intent)
		}
	}
	return nil
}

// Subject is the run.
func (s *runScreen) Subject(w World) Subject {
	if r, ok := s.run(w); ok {
		return runSubject(r)
	}
	return Subject{What: "run", ID: s.route.Run}
}

// View draws the run, scrolled where the room is short.
func (s *runScreen) View(w World) string { return block(s.scroll.Rows(s.rows(w)), w.Height) }

// wideRun is the width from which the curves stand beside the facts.
const wideRun = 150

// leastCurve is the least height that a curve is worth drawing in.
const leastCurve = 6

func (s *runScreen) rows(w World) []string {
	r, ok := s.run(w)
	if !ok {
		return []string{emptyLine(w, s.Needs(w), false, "There is no such run.")}
	}
	if w.Width >= wideRun {
		left := (w.Width - gap) * 11 / 20
		right := w.Width - left - gap
		facts := append(s.facts(w, r, left), s.stages(w, r, left)...)
		height := max(len(facts), w.Height)
		return beside(facts, left, s.curves.view(right, height), right, height)
	}
	rows := append(s.facts(w, r, w.Width), s.stages(w, r, w.Width)...)
	return append(rows, s.curves.view(w.Width, max(w.Height-len(rows), leastCurve+1))...)
}

// facts say what the run is.
func (s *runScreen) facts(w World, r api.Run, width int) []string {
	t := w.Theme
	of := collectionsByID(w.Data)
	rows := []string{
		heading(t, width, "Run", runMark(t, r).cell()),
		line(t, width, cell{team(of, r.EnvironmentID, r.Author), look.Strong}, cell{"  " + or(of[r.EnvironmentID].Title, r.EnvironmentID), look.Plain},
			cell{" at " + short(r.EnvironmentRevision) + " on " + r.ChallengeID, look.Dim}),
		line(t, width, cell{s.money(w, r), look.Plain}),
		line(t, width, cell{s.launch(w, r), look.Dim}),
		line(t, width, cell{s.size(r), look.Dim}),
	}
	rows = append(rows, s.trouble(w, r, width)...)
	if res := r.Result; res != nil {
		m := resultMark(t, res.Verification)
		rows = append(rows, line(t, width, cell{"Result  ", look.Dim}, cell{deltaText(t, *res), look.Strong}, cell{fmt.Sprintf("  %s to %s on %s  ", percent(res.BaselinePassRate), percent(res.AfterPassRate), counted(res.NTasks, "task")), look.Plain}, m.cell()))
	} else if r.State == protocol.RunScored {
		rows = append(rows, line(t, width, cell{"Scored, and not collected yet: s collects the result for review.", look.Warn}))
	}
	return append(rows, "")
}

// short is the start of a commit.
func short(commit string) string { return commit[:min(len(commit), 8)] }

// deltaText is what a result measured.
func deltaText(t look.Theme, r api.Result) string {
	return fmt.Sprintf("%s %s %s %s pp", t.Delta, points(r.DeltaPP), t.PlusMinus, fixed(r.StderrPP))
}

func (s *runScreen) money(w World, r api.Run) string {
	text := dollars(r.MaxComputeUSD) + " reserved"
	if r.SettledUSD != nil {
		text = fmt.Sprintf("%s billed of %s reserved", dollars(*r.SettledUSD), dollars(r.MaxComputeUSD))
	}
	if r.StartedAt != nil {
		text += ", " + elapsed(w, r) + " of at most " + span(time.Duration(r.TimeoutSeconds)*time.Second)
	}
	return text
}

func (s *runScreen) launch(w World, r api.Run) string {
	text := "launched " + clock(w, r.CreatedAt) + " by " + r.LaunchedBy
	if r.AgentID != nil {
		text += " with agent " + *r.AgentID
	}
	return text + ", " + r.Flavor + " on " + r.Provider
}

func (s *runScreen) size(r api.Run) string {
	return fmt.Sprintf("%s to train on, %d excluded, %d held out, %s of log", counted(r.TrainTaskCount, "task"), r.ExcludedTaskCount, r.EvalTaskCount, counted(int(r.LogLines), "line"))
}

// trouble says in full why a run stopped or what it waits for.
func (s *runScreen) trouble(w World, r api.Run, width int) []string {
	t := w.Theme
	say := func(tone look.Tone, head, body string) []string {
		var rows []string
		for i, part := range celltext.Wrap(body, max(width-celltext.Width(head)-1, 20)) {
			lead := celltext.Spaces(celltext.Width(head) + 1)
			if i == 0 {
				lead = head + " "
			}
			rows = append(rows, line(t, width, cell{lead, look.Dim}, cell{part, tone}))
		}
		return rows
	}
	var rows []string
	if reason := deref(r.Reason); reason != "" {
		tone := look.Plain
		if r.State == protocol.RunFailed {
			tone = look.Bad
		}
		rows = append(rows, say(tone, "Reason", reason)...)
	}
	if f := faultText(r); f != "" {
		rows = append(rows, say(look.Warn, "Fault ", f)...)
	}
	if r.UnreachableSince != nil && !r.State.Ended() {
		rows = append(rows, say(look.Bad, "Silent", "the provider has not answered for "+coarse(w.Now.Sub(*r.UnreachableSince)))...)
	}
	if r.CancelRequested != nil && !r.State.Ended() {
		answer := "the provider has not taken it"
		if r.CancelAcknowledged != nil {
			answer = "the provider took it " + Ago(w.Now, *r.CancelAcknowledged) + " ago"
		}
		rows = append(rows, say(look.Warn, "Cancel", "asked for "+Ago(w.Now, *r.CancelRequested)+" ago; "+answer)...)
	}
	if b := deref(r.BlockedBy); b != "" {
		rows = append(rows, say(look.Plain, "Waits ", b)...)
	}
	if why := stalled(w, r); why != "" && !r.State.Ended() {
		rows = append(rows, say(look.Warn, "Slow  ", why)...)
	}
	return rows
}

// faultText says whose fault it was that a run stopped.
func faultText(r api.Run) string {
	switch deref(r.Fault) {
	case protocol.FaultPlatform:
		return "the platform's; it does not count for the daily limit"
	case protocol.FaultCollection:
		return "the collection's"
	case protocol.FaultLimit:
		return "a time or size limit was hit"
	case protocol.FaultCanceled:
		return ""
	default:
		return ""
	}
}

func (s *runScreen) stages(w World, r api.Run, width int) []string {
	t := w.Theme
	tl := stageTimeline(w, r)
	n := len(protocol.Stages())
	tl.SetSize(width, n)
	note := cell{}
	if len(medianStages(w.Data, r.ChallengeID)) > 0 {
		note = cell{"beside the median of the scored runs of " + r.ChallengeID, look.Dim}
	}
	rows := append([]string{heading(t, width, "Stages", note)}, strings.Split(tl.View(), "\n")...)
	return append(rows, "")
}
