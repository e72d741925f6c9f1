package screen

import (
	"fmt"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/artifacts"
	"github.com/posttrainarena/arena/tui/look"
	"github.com/posttrainarena/arena/tui/nav"
	"github.com/posttrainarena/arena/tui/widget/celltext"
)

// attemptPart is a part of the attempt screen.
type attemptPart int

const (
	partTranscript attemptPart = iota
	partChecks
	partOutput
	attemptParts
)

// attemptScreen shows one attempt in full: nothing that was said or printed is
// left out, because the evidence is often at the end of a long text.
type attemptScreen struct {
	route  nav.Route
	part   attemptPart
	scroll [attemptParts]Scroll

	rows    [attemptParts][]string // made when the attempt or the width changes
	version int64
	width   int
}

func newAttempt(r nav.Route) *attemptScreen { return &attemptScreen{route: r} }

// Title is the attempt's number.
func (s *attemptScreen) Title(World) string { return fmt.Sprintf("attempt %d", s.route.Attempt) }

func (s *attemptScreen) query() Query[api.Attempt] {
	return AttemptQuery(s.route.Challenge, s.route.Run, s.route.Attempt)
}

// Needs are the attempt, and the list for the ones before and after.
func (s *attemptScreen) Needs(World) []Key {
	return []Key{s.query().Key, AttemptsQuery(s.route.Challenge, s.route.Run).Key}
}

// Scopes are those of an attempt and of text that scrolls.
func (s *attemptScreen) Scopes(World) []Scope { return []Scope{OnAttempt, InText} }

// Update scrolls, switches parts and goes to other attempts.
func (s *attemptScreen) Update(w World, msg tea.Msg) tea.Cmd {
	s.sync(w)
	switch msg := msg.(type) {
	case Wheel:
		s.scroll[s.part].Wheel(msg.Rows)
	case Act:
		switch msg.Intent {
		case Back:
			return nav.To(nav.Back{})
		case NextPane:
			s.part = (s.part + 1) % attemptParts
		case PrevPane:
			s.part = (s.part + attemptParts - 1) % attemptParts
		case NextChapter, PrevChapter:
			return s.neighbour(w, msg.Intent == NextChapter)
		default:
			s.scroll[s.part].Act(msg.Intent)
		}
	}
	return nil
}

// neighbour shows the next or the previous attempt in place of this one.
func (s *attemptScreen) neighbour(w World, next bool) tea.Cmd {
	all, _ := Read(w.Data, AttemptsQuery(s.route.Challenge, s.route.Run))
	i := slices.IndexFunc(all.Attempts, func(a artifacts.Attempt) bool { return a.Number == s.route.Attempt })
	if next {
		i++
	} else {
		i--
	}
	if i < 0 || i >= len(all.Attempts) {
		return nav.Say(nav.Warned, "There is no further attempt.")
	}
	s.route.Attempt = all.Attempts[i].Number
	for p := range attemptParts {
		s.scroll[p] = Scroll{}
	}
	s.version = 0
	s.sync(w)
	return nil
}

// sync makes the rows when they are not those of the attempt and the width. A
// transcript can be megabytes: it is not wrapped again for each frame.
func (s *attemptScreen) sync(w World) {
	version := w.Data.Version(s.query().Key)
	if version != s.version || w.Width != s.width {
		s.version, s.width = version, w.Width
		a, ok := Read(w.Data, s.query())
		s.rows = [attemptParts][]string{}
		if ok {
			s.rows = [attemptParts][]string{transcriptRows(w, a), checkRows(w, a), outputRows(w, a)}
		}
	}
	for p := range attemptParts {
		s.scroll[p].Set(len(s.rows[p]), w.Height-attemptHead)
	}
}

// Subject is the attempt.
func (s *attemptScreen) Subject(w World) Subject {
	a, ok := Read(w.Data, s.query())
	if !ok {
		return Subject{}
	}
	return Subject{What: "attempt", ID: a.Attempt.Path, Value: a, Command: attemptCommand(s.route, s.route.Attempt)}
}

// attemptHead is the number of rows above the parts.
const attemptHead = 5

// View draws what the attempt is, then one part of it.
func (s *attemptScreen) View(w World) string {
	a, ok := Read(w.Data, s.query())
	if !ok {
		return emptyLine(w, []Key{s.query().Key}, false, "There is no such attempt.")
	}
	rows := append(attemptHeadRows(w, a.Attempt), s.partsBar(w, a))
	rows = append(rows, s.scroll[s.part].Rows(s.rows[s.part])...)
	return block(rows, w.Height)
}

func attemptHeadRows(w World, a artifacts.Attempt) []string {
	t := w.Theme
	where := string(a.Stage)
	if a.Rollout != nil {
		where = fmt.Sprintf("training step %d, rank %d, rollout %d, try %d", a.Rollout.Step, a.Rollout.Rank, a.Rollout.Index, a.Rollout.Attempt)
	}
	trouble := ""
	for _, s := range []string{a.Error, a.RewardProblem, a.Retried} {
		if s != "" {
			trouble += sentence(s) + "  "
		}
	}
	return []string{
		line(t, w.Width, outcomeMark(t, a.Outcome).cell(), cell{"  " + or(a.Task, "unknown task"), look.Strong}, cell{"  " + where, look.Dim}),
		line(t, w.Width, cell{fmt.Sprintf("%s, reward %s", a.Ending, rewardText(a)), look.Plain},
			cell{fmt.Sprintf("  %s tools  %s in, %s out", or(optional(a.Tools), "no"), or(optional(a.InputTokens), "?"), or(optional(a.OutputTokens), "?")), look.Dim},
			cell{fmt.Sprintf("  setup %s  agent %s  verifier %s", or(seconds(a.Timing.EnvironmentSetup), "none"), or(seconds(a.Timing.AgentExecution), "none"), or(seconds(a.Timing.Verifier), "none")), look.Dim}),
		line(t, w.Width, cell{trouble, look.Warn}),
		"",
	}
}

func (s *attemptScreen) partsBar(w World, a api.Attempt) string {
	names := []string{
		fmt.Sprintf("Transcript %d", len(a.Events)), fmt.Sprintf("Checks %d of %d", a.Checks.Passed, a.Checks.Passed+a.Checks.Failed+a.Checks.Skipped), "Verifier output",
	}
	var cells []cell
	for p, name := range names {
		tone := look.Dim
		if attemptPart(p) == s.part {
			tone, name = look.Accent, w.Theme.Into+" "+name
		}
		cells = append(cells, cell{name, tone}, text("   "))
	}
	return ends(w.Theme, w.Width, cells, []cell{{s.scroll[s.part].Position(w.Theme), look.Dim}})
}

// transcriptRows are all events of the attempt with all of their text.
func transcriptRows(w World, a api.Attempt) []string {
	t := w.Theme
	var rows []string
	for _, e := range a.Events {
		head, tone := e.Type, look.Dim
		switch e.Type {
		case "user_message":
			head, tone = "user", look.Accent
		case "agent_message":
			head, tone = "agent", look.Strong
		case "agent_thought":
			head, tone = "thought", look.Dim
		case "tool_call":
			head, tone = fmt.Sprintf("%s %s", or(e.Tool, "tool"), e.Status), look.Good
			if e.Status != "completed" {
				tone = look.Warn
			}
		case "agent_timeout":
			head, tone = "timeout", look.Bad
		}
		rows = append(rows, t.Paint(tone, celltext.Truncate(t.Working+" "+head, w.Width)))
		body := look.Plain
		if e.Type == "agent_thought" {
			body = look.Dim
		}
		for _, part := range celltext.Wrap(e.Text, max(w.Width-2, 1)) {
			rows = append(rows, "  "+t.Paint(body, part))
		}
		rows = append(rows, "")
	}
	if len(rows) == 0 {
		return []string{t.Paint(look.Dim, "No transcript was uploaded.")}
	}
	return rows
}

// checkRows are the verifier's checks, those that failed first.
func checkRows(w World, a api.Attempt) []string {
	t := w.Theme
	var failed, others []string
	for _, c := range a.Checks.Tests {
		m, into := mark{t.Absent, c.Status, look.Dim}, &others
		switch c.Status {
		case "passed":
			m = mark{t.Done, c.Status, look.Good}
		case "failed":
			m, into = mark{t.Failed, c.Status, look.Bad}, &failed
		}
		*into = append(*into, line(t, w.Width, cell{celltext.Fit(m.shape+" "+m.word, 10), m.tone}, cell{" " + c.Name, look.Plain}))
		for _, part := range celltext.Wrap(c.Message, max(w.Width-11, 1)) {
			if part != "" {
				*into = append(*into, celltext.Spaces(11)+t.Paint(look.Dim, part))
			}
		}
	}
	rows := append(failed, others...)
	if a.Checks.Source == "pytest" && len(rows) > 0 {
		rows = append(rows, "", t.Paint(look.Dim, "The verifier's summary names only what failed."))
	}
	if len(rows) == 0 {
		return []string{t.Paint(look.Dim, "The verifier reported no checks; its output may say more.")}
	}
	return rows
}

// outputRows are what the verifier printed.
func outputRows(w World, a api.Attempt) []string {
	t := w.Theme
	var rows []string
	if a.StdoutCut {
		rows = append(rows, t.Paint(look.Warn, "Only the end of the output was kept."))
	}
	rows = append(rows, celltext.Wrap(a.Stdout, w.Width)...)
	for _, p := range a.Problems {
		rows = append(rows, line(t, w.Width, cell{p.Path + ": " + p.Detail, look.Warn}))
	}
	if a.Stdout == "" && len(rows) <= 1 {
		rows = append(rows, t.Paint(look.Dim, "The verifier printed nothing."))
	}
	return rows
}
