package screen

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/tui/look"
)

// runsScreen lists the runs of all challenges.
type runsScreen struct {
	listed
	asked   map[*api.Run]Fields // what the filter asked of runs that are as they were
	askedOf int64               // what else those were made from
}

func newRuns() *runsScreen {
	return &runsScreen{listed: listed{NewList("state", "team", "author", "challenge", "stage", "result", "class")}}
}

// Title is the tab's name.
func (s *runsScreen) Title(World) string { return "Runs" }

// Needs are the runs with what is known of their results.
func (s *runsScreen) Needs(w World) []Key {
	_, pending := pendingResults(w.Data)
	keys := append(runsKeys(w.Data), CollectionsQuery().Key)
	keys = append(keys, boardKeys(w.Data)...)
	return append(keys, pending...)
}

// Scopes are those of the list, and of the selected run.
func (s *runsScreen) Scopes(World) []Scope {
	return s.scopes(OnRuns)
}

func (s *runsScreen) sync(w World) {
	s.list.Size(w.Height - 2)
	s.list.Partly(w.Data.Partly(runsKeys(w.Data)))
	s.list.Set(w.versionOf(listedWith()), func() []string { return runIDs(allRuns(w.Data)) }, func(i int) Fields { return s.known(w, allRuns(w.Data)[i]) })
}

// listedWith are the answers that a list of runs and its filter are made from.
func listedWith() []kind { return append(resultKinds(), kindCollections) }

// runIDs are the ids of runs.
func runIDs(runs []*api.Run) []string {
	ids := make([]string, len(runs))
	for i, r := range runs {
		ids[i] = r.RunID
	}
	return ids
}

// known is fields, made once for a run that stays as it is.
func (s *runsScreen) known(w World, r *api.Run) Fields {
	if of := w.versionOf(append(listKinds(), kindCollections, kindLeaderboard)); s.asked == nil || of != s.askedOf {
		s.asked, s.askedOf = map[*api.Run]Fields{}, of
	}
	f, ok := s.asked[r]
	if !ok {
		f = s.fields(w, r).folded()
		s.asked[r] = f
	}
	return f
}

// fields is what the filter may ask of a run.
func (s *runsScreen) fields(w World, r *api.Run) Fields {
	of := collectionsByID(w.Data)
	named := map[string]string{
		"state": runMark(w.Theme, *r).word + " " + string(r.State), "team": team(of, r.EnvironmentID, r.Author), "author": r.Author, "challenge": r.ChallengeID,
		"stage": string(deref(r.Stage)), "result": s.resultWord(w, r), "class": string(deref(r.Fault)),
	}
	text := strings.Join([]string{
		r.RunID, r.EnvironmentID, of[r.EnvironmentID].Title, named["state"], named["team"], named["author"], named["challenge"],
		named["stage"], named["result"], named["class"], deref(r.Reason), deref(r.AgentID),
	}, "\n")
	return Fields{Text: text, Named: named, Age: w.Now.Sub(r.CreatedAt), HasAge: true}
}

func (s *runsScreen) resultWord(w World, r *api.Run) string {
	m, ok := results(w.Data)[r.RunID]
	switch {
	case ok:
		return resultMark(w.Theme, m.verification).word
	case collected(r):
		return "collected"
	case r.State == protocol.RunScored:
		return "to collect"
	default:
		return ""
	}
}

// Update moves the selection and acts on the selected run.
func (s *runsScreen) Update(w World, msg tea.Msg) tea.Cmd {
	cmd := s.update(msg, 1, func(i Intent) tea.Cmd {
		if r, ok := s.selected(w); ok {
			return actOnRun(w, r, i)
		}
		return nil
	})
	s.sync(w)
	return cmd
}

func (s *runsScreen) selected(w World) (api.Run, bool) {
	id, _ := s.list.Selected()
	return runByID(w.Data, id)
}

// Subject is the selected run.
func (s *runsScreen) Subject(w World) Subject {
	r, ok := s.selected(w)
	if !ok {
		return Subject{What: "runs", Command: []string{"runs"}}
	}
	return runSubject(r)
}

func runColumns() []column {
	return []column{
		{title: "State", width: 11},
		{title: "Run", width: 12},
		{title: "Team", width: 12, flex: 2},
		{title: "Collection", width: 18, flex: 3, keep: 3},
		{title: "Challenge", width: 13, flex: 1, keep: 2},
		{title: "Stage", width: 9, keep: 5},
		{title: "Progress, result", width: 18, flex: 2, keep: 6},
		{title: "Cost", width: 9, right: true, keep: 1},
		{title: "Age", width: 4, right: true},
	}
}

// View draws the list.
func (s *runsScreen) View(w World) string {
	return block(s.draw(w, w.Width, nil, table{
		columns: runColumns(), noun: "run", keys: runsKeys(w.Data), none: "No run yet. One starts with: arena run --challenge ID --id ENV --execute",
		cells: func(id string) []cell {
			r, _ := runByID(w.Data, id)
			return s.cells(w, r)
		},
	}), w.Height)
}

func (s *runsScreen) cells(w World, r api.Run) []cell {
	t := w.Theme
	cost := cell{t.AtMost + dollars(r.MaxComputeUSD), look.Dim} // reserved
	if r.SettledUSD != nil {
		cost = text(dollars(*r.SettledUSD))
	}
	return []cell{
		runMark(t, r).cell(),
		text(shortID(r.RunID)),
		text(team(collectionsByID(w.Data), r.EnvironmentID, r.Author)),
		text(or(collectionsByID(w.Data)[r.EnvironmentID].Title, shortID(r.EnvironmentID))),
		{r.ChallengeID, look.Dim},
		{string(deref(r.Stage)), look.Dim},
		s.resultCell(w, r),
		cost,
		{Ago(w.Now, r.CreatedAt), look.Dim},
	}
}

func (s *runsScreen) resultCell(w World, r api.Run) cell {
	m, ok := results(w.Data)[r.RunID]
	if !ok {
		if p := progressCell(w.Theme, r); p.text != "" {
			return p
		}
		if word := s.resultWord(w, &r); word != "" {
			return cell{word, look.Dim}
		}
		return cell{sentence(deref(r.Reason)), look.Dim}
	}
	k := resultMark(w.Theme, m.verification)
	return cell{fmt.Sprintf("%s %s %s", k.shape, points(m.delta), k.word), k.tone}
}

// points is a difference in percentage points. What rounds to nothing has no sign.
func points(pp float64) string {
	if s := fmt.Sprintf("%+.1f", pp); s != "-0.0" {
		return s
	}
	return "+0.0"
}

// progressCell is how far the present stage of a run is.
func progressCell(t look.Theme, r api.Run) cell {
	if len(r.Stages) == 0 || r.State.Ended() {
		return cell{}
	}
	p := r.Stages[len(r.Stages)-1]
	if p.Total == 0 {
		return cell{}
	}
	return cell{fmt.Sprintf("%d/%d  %s%d %s%d", p.Done, p.Total, t.Done, p.Passed, t.Failed, p.Failed), look.Plain}
}

// emptyLine says why a list shows nothing.
func emptyLine(w World, keys []Key, filtered bool, none string) string {
	for _, k := range keys {
		if st := w.Data.Standing(k); st.Err != nil {
			return line(w.Theme, w.Width, cell{"  " + sentence(st.Err.Error()), look.Bad})
		}
	}
	switch {
	case filtered:
		return line(w.Theme, w.Width, cell{"  Nothing matches the filter. esc clears it.", look.Dim})
	case w.Data.Asking(keys...):
		return line(w.Theme, w.Width, cell{"  Asking the arena" + w.Theme.Ellipsis, look.Dim})
	default:
		return line(w.Theme, w.Width, cell{"  " + none, look.Dim})
	}
}
