package screen

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/tui/look"
	"github.com/posttrainarena/arena/tui/nav"
)

// collectionsScreen lists the registered collections.
type collectionsScreen struct {
	listed
	runs  map[string]int
	ranks map[string]cell
}

func newCollections() *collectionsScreen {
	return &collectionsScreen{listed: listed{NewList("team", "author", "challenge", "track", "agent", "type")}}
}

// Title is the tab's name.
func (s *collectionsScreen) Title(World) string { return "Collections" }

// Needs are the collections, their runs and their ranks.
func (s *collectionsScreen) Needs(w World) []Key {
	return append(append(runsKeys(w.Data), CollectionsQuery().Key), boardKeys(w.Data)...)
}

// Scopes are those of the list.
func (s *collectionsScreen) Scopes(World) []Scope { return s.list.Scopes() }

// Update moves the selection and opens the selected collection.
func (s *collectionsScreen) Update(w World, msg tea.Msg) tea.Cmd {
	cmd := s.update(msg, 1, func(i Intent) tea.Cmd { return s.open(w, i) })
	s.sync(w)
	return cmd
}

func (s *collectionsScreen) open(w World, i Intent) tea.Cmd {
	id, ok := s.list.Selected()
	if !ok || i != Choose {
		return nil
	}
	return nav.Go(nav.Route{Place: nav.Collection, Challenge: deref(collectionsByID(w.Data)[id].TargetChallengeID), Collection: id})
}

func (s *collectionsScreen) sync(w World) {
	rows, _ := Read(w.Data, CollectionsQuery())
	s.list.Size(w.Height - 2)
	s.list.Set(w.versionOf(listedWith()), func() []string {
		s.runs, s.ranks = map[string]int{}, rankCells(w)
		for _, r := range allRuns(w.Data) {
			s.runs[r.EnvironmentID]++
		}
		ids := make([]string, len(rows.All))
		for i, e := range rows.All {
			ids[i] = e.ID
		}
		return ids
	}, func(i int) Fields {
		e := rows.All[i]
		return Fields{
			Text: strings.Join([]string{e.ID, e.Title, e.TeamName, e.Author, deref(e.AgentID), e.RepoID, e.Revision, deref(e.TargetChallengeID), e.ChallengeID}, "\n"),
			Named: map[string]string{
				"team": e.TeamName, "author": e.Author, "challenge": deref(e.TargetChallengeID), "track": e.ChallengeID, "agent": deref(e.AgentID), "type": string(e.RepoType),
			},
			Age: w.Now.Sub(e.CreatedAt), HasAge: true,
		}
	})
}

// rankCells is where each collection stands on its challenge.
func rankCells(w World) map[string]cell {
	all := map[string]cell{}
	for _, c := range challenges(w.Data) {
		board, _ := Read(w.Data, LeaderboardQuery(c.ID))
		for _, r := range board.Rows {
			all[r.Collection] = cell{fmt.Sprintf("#%d %s pp", r.Rank, points(r.DeltaPP)), look.Plain}
		}
	}
	return all
}

// Subject is the selected collection.
func (s *collectionsScreen) Subject(w World) Subject {
	id, _ := s.list.Selected()
	e, ok := collectionsByID(w.Data)[id]
	if !ok {
		return Subject{What: "collections", Command: []string{"environments", "list"}}
	}
	return collectionSubject(e)
}

func collectionSubject(e api.Environment) Subject {
	return Subject{What: "collection", ID: e.ID, Value: e, Command: []string{"environments", "get", e.ID}}
}

func collectionColumns() []column {
	return []column{
		{title: "Team", width: 14, flex: 2},
		{title: "Title", width: 18, flex: 3},
		{title: "Challenge", width: 13, keep: 4},
		{title: "Source", width: 8, keep: 2},
		{title: "Eligible", width: 8, right: true},
		{title: "To look at", width: 10, right: true, keep: 3},
		{title: "Runs", width: 4, right: true, keep: 5},
		{title: "Rank", width: 11, keep: 6},
		{title: "Author", width: 14, keep: 1},
		{title: "Age", width: 4, right: true},
	}
}

// View draws the list.
func (s *collectionsScreen) View(w World) string {
	return block(s.draw(w, w.Width, nil, table{
		columns: collectionColumns(), noun: "collection", keys: []Key{CollectionsQuery().Key}, none: "No collection yet. One is registered with: arena submit --dir DIR --challenge ID",
		cells: func(id string) []cell { return s.cells(w, collectionsByID(w.Data)[id]) },
	}), w.Height)
}

func (s *collectionsScreen) cells(w World, e api.Environment) []cell {
	sum := e.QualityGates.Static.Summary
	eligible := cell{fmt.Sprintf("%d of %d", e.EligibleTasks, e.TaskCount), look.Plain}
	if e.EligibleTasks < e.TaskCount {
		eligible.tone = look.Warn
	}
	toLookAt := cell{"", look.Dim}
	if n := sum.NeedsControls + sum.Review; n > 0 {
		toLookAt = cell{fmt.Sprint(n), look.Warn}
	}
	runs := ""
	if n := s.runs[e.ID]; n > 0 {
		runs = fmt.Sprint(n)
	}
	return []cell{
		text(or(e.TeamName, e.Author)), text(or(e.Title, e.ID)),
		{deref(e.TargetChallengeID), look.Dim},
		{string(e.RepoType), look.Dim},
		eligible, toLookAt, text(runs), s.ranks[e.ID],
		{e.Author, look.Dim},
		{Ago(w.Now, e.CreatedAt), look.Dim},
	}
}
