package screen

import (
	"fmt"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/protocol/artifacts"
	"github.com/posttrainarena/arena/tui/look"
	"github.com/posttrainarena/arena/tui/nav"
)

// attemptsScreen lists the gate and training attempts of a run. Attempts at
// sealed tasks are never among them.
type attemptsScreen struct {
	listed
	route    nav.Route
	attempts map[string]artifacts.Attempt
}

func newAttempts(r nav.Route) *attemptsScreen {
	return &attemptsScreen{route: r, listed: listed{NewList("outcome", "stage", "task", "ending", "step")}}
}

// Title is the part of the run.
func (s *attemptsScreen) Title(World) string { return shortID(s.route.Run) + " attempts" }

func (s *attemptsScreen) key() Key { return AttemptsQuery(s.route.Challenge, s.route.Run).Key }

// Needs are the attempts.
func (s *attemptsScreen) Needs(World) []Key { return []Key{s.key()} }

// Scopes are those of the list.
func (s *attemptsScreen) Scopes(World) []Scope { return s.list.Scopes() }

// Update moves the selection and opens the selected attempt.
func (s *attemptsScreen) Update(w World, msg tea.Msg) tea.Cmd {
	cmd := s.update(msg, 2, s.open)
	s.sync(w)
	return cmd
}

func (s *attemptsScreen) open(i Intent) tea.Cmd {
	a, ok := s.selected()
	if !ok || i != Choose {
		return nil
	}
	return nav.Go(nav.Route{Place: nav.Attempt, Challenge: s.route.Challenge, Run: s.route.Run, Attempt: a.Number})
}

func (s *attemptsScreen) selected() (artifacts.Attempt, bool) {
	id, _ := s.list.Selected()
	a, ok := s.attempts[id]
	return a, ok
}

func (s *attemptsScreen) sync(w World) {
	all, _ := Read(w.Data, AttemptsQuery(s.route.Challenge, s.route.Run))
	s.list.Size(w.Height - 3)
	s.list.Set(w.Version(), func() []string {
		s.attempts = make(map[string]artifacts.Attempt, len(all.Attempts))
		ids := make([]string, len(all.Attempts))
		for i, a := range all.Attempts {
			ids[i] = fmt.Sprint(a.Number)
			s.attempts[ids[i]] = a
		}
		return ids
	}, func(i int) Fields {
		a := all.Attempts[i]
		step := ""
		if a.Rollout != nil {
			step = fmt.Sprint(a.Rollout.Step)
		}
		return Fields{
			Text:  strings.Join([]string{string(a.Outcome), string(a.Stage), a.Task, string(a.Ending), a.Error, a.Retried, a.Path}, "\n"),
			Named: map[string]string{"outcome": string(a.Outcome), "stage": string(a.Stage), "task": a.Task, "ending": string(a.Ending), "step": step},
		}
	})
}

// Subject is the selected attempt.
func (s *attemptsScreen) Subject(World) Subject {
	a, ok := s.selected()
	if !ok {
		return Subject{What: "attempts", Command: []string{"attempts", "--run-id", s.route.Run}}
	}
	return Subject{What: "attempt", ID: a.Path, Value: a, Command: attemptCommand(s.route, a.Number)}
}

func attemptCommand(r nav.Route, n int) []string {
	return []string{"attempts", "--challenge", r.Challenge, "--run-id", r.Run, "--n", fmt.Sprint(n)}
}

func attemptColumns() []column {
	return []column{
		{title: "#", width: 4, right: true},
		{title: "Outcome", width: 9},
		{title: "Stage", width: 8},
		{title: "Task", width: 20, flex: 2},
		{title: "Step", width: 4, right: true, keep: 5},
		{title: "Rollout", width: 8, keep: 3},
		{title: "Ending", width: 19, flex: 1, keep: 4},
		{title: "Reward", width: 6, right: true, keep: 6},
		{title: "Tools", width: 5, right: true, keep: 2},
		{title: "Tokens", width: 9, right: true, keep: 1},
		{title: "Took", width: 7, right: true, keep: 7},
	}
}

// View draws what the attempts promise, then the list.
func (s *attemptsScreen) View(w World) string {
	all, _ := Read(w.Data, AttemptsQuery(s.route.Challenge, s.route.Run))
	var cells []cell
	if f := all.Forecast; f != nil && len(f.Tasks) > 0 {
		cells = append(cells, cell{fmt.Sprintf("%s of groups of %d can be expected to teach something", percent(f.Useful), f.Group), look.Plain}, cell{fmt.Sprintf(", on %.1f of %s", f.UsefulTasks, counted(len(f.Tasks), "task")), look.Dim})
	}
	if n := len(all.Problems); n > 0 {
		cells = append(cells, cell{fmt.Sprintf("  %s could not be read", counted(n, "file")), look.Warn})
	}
	return block(s.draw(w, w.Width, []string{line(w.Theme, w.Width, cells...)}, table{
		columns: attemptColumns(), noun: "attempt", keys: []Key{s.key()}, none: "No attempt was uploaded yet.",
		cells: func(id string) []cell { return s.cells(w, s.attempts[id]) },
	}), w.Height)
}

func (s *attemptsScreen) cells(w World, a artifacts.Attempt) []cell {
	step, rollout := "", ""
	if a.Rollout != nil {
		step, rollout = fmt.Sprint(a.Rollout.Step), fmt.Sprintf("%d try %d", a.Rollout.Index, a.Rollout.Attempt)
	}
	ending := cell{string(a.Ending), look.Dim}
	if a.Ending != artifacts.Finished {
		ending.tone = look.Warn
	}
	if a.Retried != "" {
		ending.text += ", retried"
	}
	return []cell{
		{fmt.Sprint(a.Number), look.Dim},
		outcomeMark(w.Theme, a.Outcome).cell(),
		{string(a.Stage), look.Dim},
		text(or(a.Task, "unknown")),
		text(step),
		{rollout, look.Dim},
		ending, text(rewardText(a)), text(optional(a.Tools)),
		{tokens(a), look.Dim},
		text(seconds(a.Timing.Total)),
	}
}

func rewardText(a artifacts.Attempt) string {
	if a.Reward == nil {
		return "none"
	}
	return fmt.Sprintf("%.2g", *a.Reward)
}

func optional(n *int64) string {
	if n == nil {
		return ""
	}
	return thousands(*n)
}

func tokens(a artifacts.Attempt) string {
	if a.InputTokens == nil && a.OutputTokens == nil {
		return ""
	}
	return thousands(deref(a.InputTokens) + deref(a.OutputTokens))
}

// seconds is a duration in seconds as people read it.
func seconds(s *float64) string {
	if s == nil {
		return ""
	}
	return span(time.Duration(*s * float64(time.Second)))
}
