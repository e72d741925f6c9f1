package screen

import (
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/tui/look"
	"github.com/posttrainarena/arena/tui/nav"
)

// jobsScreen lists every compute job with what it was for and what it cost.
type jobsScreen struct {
	listed
	jobs map[string]api.Job
}

func newJobs() *jobsScreen {
	return &jobsScreen{listed: listed{NewList("stage", "challenge", "provider", "flavor")}}
}

// Title is the tab's name.
func (s *jobsScreen) Title(World) string { return "Jobs" }

// Needs are the jobs and the budget.
func (s *jobsScreen) Needs(World) []Key { return []Key{JobsQuery().Key, BudgetQuery().Key} }

// Scopes are those of the list.
func (s *jobsScreen) Scopes(World) []Scope { return s.list.Scopes() }

// Update moves the selection and opens the job's run.
func (s *jobsScreen) Update(w World, msg tea.Msg) tea.Cmd {
	cmd := s.update(msg, jobsHead, s.open)
	s.sync(w)
	return cmd
}

// jobsHead is the number of rows over the list: the budget and the titles.
const jobsHead = budgetHeight + 1

func (s *jobsScreen) sync(w World) {
	rows, _ := Read(w.Data, JobsQuery())
	s.list.Size(w.Height - jobsHead - 1)
	s.list.Set(w.Version(), func() []string {
		s.jobs = make(map[string]api.Job, len(rows.All))
		ids := make([]string, len(rows.All))
		for i, j := range rows.All {
			ids[i] = j.RunID
			s.jobs[j.RunID] = j
		}
		return ids
	}, func(i int) Fields {
		j := rows.All[i]
		return Fields{
			Text:  strings.Join([]string{j.RunID, deref(j.ID), j.Purpose, j.Challenge, j.Provider, j.Flavor, j.Stage}, "\n"),
			Named: map[string]string{"stage": j.Stage, "challenge": j.Challenge, "provider": j.Provider, "flavor": j.Flavor},
			Age:   w.Now.Sub(j.CreatedAt), HasAge: true,
		}
	})
}

func (s *jobsScreen) open(i Intent) tea.Cmd {
	id, _ := s.list.Selected()
	j, ok := s.jobs[id]
	if !ok || i != Choose {
		return nil
	}
	return nav.Go(nav.Route{Place: nav.Run, Challenge: j.Challenge, Run: j.RunID})
}

// Subject is the selected job.
func (s *jobsScreen) Subject(World) Subject {
	id, _ := s.list.Selected()
	j, ok := s.jobs[id]
	if !ok {
		return Subject{What: "jobs", Command: []string{"jobs"}}
	}
	return Subject{What: "job", ID: or(deref(j.ID), j.RunID), Value: j, Command: []string{"jobs"}}
}

func jobColumns() []column {
	return []column{
		{title: "Status", width: 12},
		{title: "Run", width: 12, flex: 1},
		{title: "Job", width: 12, keep: 2},
		{title: "Purpose", width: 16, flex: 3, keep: 4},
		{title: "Challenge", width: 13, flex: 1, keep: 3},
		{title: "Hardware", width: 10, keep: 5},
		{title: "Provider", width: 11, keep: 1},
		{title: "Took", width: 8, right: true},
		{title: "Cost", width: 10, right: true},
		{title: "Age", width: 4, right: true},
	}
}

// View draws the budget and the list.
func (s *jobsScreen) View(w World) string {
	return block(s.draw(w, w.Width, budgetRows(w, w.Width), table{
		columns: jobColumns(), noun: "job", keys: []Key{JobsQuery().Key}, none: "No job yet.",
		cells: func(id string) []cell { return s.cells(w, s.jobs[id]) },
	}), w.Height)
}

func (s *jobsScreen) cells(w World, j api.Job) []cell {
	took, cost := "", cell{"reserved", look.Dim}
	if j.StartedAt != nil {
		took = coarse(or1(j.FinishedAt, w.Now).Sub(*j.StartedAt).Truncate(time.Second))
	}
	switch {
	case j.CostUSD != nil:
		cost = text(dollars(*j.CostUSD))
	case j.FinishedAt != nil:
		cost.text = "none"
	}
	tone := look.Plain
	if j.FinishedAt == nil {
		tone = look.Accent
	}
	return []cell{
		{j.Stage, tone},
		text(shortID(j.RunID)),
		{deref(j.ID), look.Dim},
		text(j.Purpose),
		{j.Challenge, look.Dim},
		text(j.Flavor),
		{j.Provider, look.Dim},
		text(took), cost,
		{Ago(w.Now, j.CreatedAt), look.Dim},
	}
}
