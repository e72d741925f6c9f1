package screen

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/tui/look"
)

// resultsScreen lists collected results: those that wait for review first, the
// oldest of them on top.
type resultsScreen struct {
	listed
}

func newResults() *resultsScreen {
	return &resultsScreen{listed: listed{NewList("result", "team", "author", "challenge")}}
}

// Title is what the tab is about.
func (s *resultsScreen) Title(World) string { return "Results to review" }

// Needs are the runs, and the results of those that may wait.
func (s *resultsScreen) Needs(w World) []Key {
	_, pending := pendingResults(w.Data)
	keys := append(runsKeys(w.Data), CollectionsQuery().Key)
	return append(append(keys, boardKeys(w.Data)...), pending...)
}

// Scopes are those of results and of the list.
func (s *resultsScreen) Scopes(World) []Scope {
	return s.scopes(OnResults)
}

// Update moves the selection and opens the selected result.
func (s *resultsScreen) Update(w World, msg tea.Msg) tea.Cmd {
	cmd := s.update(msg, 1, func(i Intent) tea.Cmd { return s.act(w, i) })
	s.sync(w)
	return cmd
}

func (s *resultsScreen) act(w World, i Intent) tea.Cmd {
	r, ok := s.selected(w)
	if !ok {
		return nil
	}
	if i == Choose {
		i = OpenResult
	}
	return actOnRun(w, r, i)
}

func (s *resultsScreen) selected(w World) (api.Run, bool) {
	id, _ := s.list.Selected()
	return runByID(w.Data, id)
}

func (s *resultsScreen) sync(w World) {
	s.list.Size(w.Height - 2)
	s.list.Partly(w.Data.Partly(s.Needs(w)))
	s.list.Set(w.versionOf(listedWith()), func() []string { return runIDs(collectedRuns(w.Data)) }, func(i int) Fields { return s.fields(w, collectedRuns(w.Data)[i]) })
}

// collectedRuns are the runs whose result was collected: those that wait for
// review first, the oldest of them on top, then the others, newest first. The
// caller must not change it.
func collectedRuns(d *Data) []*api.Run {
	return memo(d, "collected", runKinds(), func() []*api.Run {
		pending, _ := pendingResults(d)
		var all []*api.Run
		waits := map[string]bool{}
		for i := range pending {
			waits[pending[i].RunID] = true
			all = append(all, &pending[i])
		}
		for _, r := range allRuns(d) {
			if collected(r) && !waits[r.RunID] {
				all = append(all, r)
			}
		}
		return all
	})
}

func (s *resultsScreen) fields(w World, r *api.Run) Fields {
	named := map[string]string{
		"result": s.word(w, r), "team": team(collectionsByID(w.Data), r.EnvironmentID, r.Author), "author": r.Author, "challenge": r.ChallengeID,
	}
	return Fields{
		Text:  strings.Join([]string{r.RunID, r.EnvironmentID, collectionsByID(w.Data)[r.EnvironmentID].Title, named["result"], named["team"], r.Author, r.ChallengeID}, "\n"),
		Named: named, Age: w.Now.Sub(r.CreatedAt), HasAge: true,
	}
}

func (s *resultsScreen) word(w World, r *api.Run) string {
	if m, ok := results(w.Data)[r.RunID]; ok {
		return resultMark(w.Theme, m.verification).word
	}
	return "reviewed"
}

// Subject is the selected result.
func (s *resultsScreen) Subject(w World) Subject {
	r, ok := s.selected(w)
	if !ok {
		return Subject{}
	}
	sub := runSubject(r)
	if r.Result != nil {
		sub.What, sub.Value = "result", r.Result
	}
	return sub
}

func resultColumns() []column {
	return []column{
		{title: "Review", width: 10},
		{title: "Run", width: 12},
		{title: "Team", width: 12, flex: 2},
		{title: "Collection", width: 18, flex: 3, keep: 2},
		{title: "Challenge", width: 14, keep: 3},
		{title: "Before, after", width: 14, right: true, keep: 4},
		{title: "Change, pp", width: 12, right: true},
		{title: "By", width: 12, keep: 1},
		{title: "Age", width: 4, right: true},
	}
}

// View draws the list.
func (s *resultsScreen) View(w World) string {
	return block(s.draw(w, w.Width, nil, table{
		columns: resultColumns(), noun: "result", keys: runsKeys(w.Data), none: "No result yet. A scored run's is collected with s on its row in Runs.",
		cells: func(id string) []cell {
			r, _ := runByID(w.Data, id)
			return s.cells(w, r)
		},
	}), w.Height)
}

func (s *resultsScreen) cells(w World, r api.Run) []cell {
	t := w.Theme
	cells := []cell{{t.Done + " reviewed", look.Dim}, text(shortID(r.RunID)), text(team(collectionsByID(w.Data), r.EnvironmentID, r.Author)), text(collectionsByID(w.Data)[r.EnvironmentID].Title), {r.ChallengeID, look.Dim}}
	age := cell{Ago(w.Now, r.Since), look.Dim}
	if res := r.Result; res != nil {
		cells[0] = resultMark(t, res.Verification).cell()
		if w.Held(r.RunID) {
			cells[0] = cell{t.Stale + " deciding", look.Warn}
		}
		change := fmt.Sprintf("%s %s %s", points(res.DeltaPP), t.PlusMinus, fixed(res.StderrPP))
		if res.Verification == protocol.Pending {
			age = cell{Ago(w.Now, res.CollectedAt), look.Warn}
		}
		by := cell{deref(res.ReviewedBy), look.Dim}
		if c, ok := liveClaim(w, *res); ok {
			by = cell{c.By, look.Warn}
			cells[0] = cell{t.Working + " claimed", look.Warn}
		}
		return append(cells, text(percent(res.BaselinePassRate)+" "+percent(res.AfterPassRate)), cell{change, look.Strong}, by, age)
	}
	change := ""
	if m, ok := results(w.Data)[r.RunID]; ok {
		cells[0], change = resultMark(t, m.verification).cell(), points(m.delta)
	}
	return append(cells, cell{}, text(change), cell{}, age)
}
