package screen

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/tui/look"
	"github.com/posttrainarena/arena/tui/nav"
	"github.com/posttrainarena/arena/tui/widget/celltext"
)

// collectionPart is a part of the collection screen.
type collectionPart int

const (
	partFindings collectionPart = iota
	partVerdicts
	partRuns
	partIdentity
	collectionParts
)

// collectionScreen shows one collection: what it is, what the gates found in it,
// how it ran.
type collectionScreen struct {
	route  nav.Route
	part   collectionPart
	lists  [collectionParts]List
	items  [collectionParts]map[string]item
	fields [collectionParts]func(i int) Fields
}

// item is a row of a part: how it is drawn, and what is said about it below.
type item struct {
	cells  []cell
	detail []string // sentences
	route  nav.Route
	value  any
}

func newCollection(r nav.Route) *collectionScreen {
	s := &collectionScreen{route: r}
	s.lists = [collectionParts]List{NewList("code", "severity", "task"), NewList("task", "decision"), NewList("state"), NewList("task", "license", "category", "origin")}
	return s
}

func (s *collectionScreen) environment(w World) (api.Environment, bool) {
	e, ok := collectionsByID(w.Data)[s.route.Collection]
	return e, ok
}

// Title is the collection's title.
func (s *collectionScreen) Title(w World) string {
	e, _ := s.environment(w)
	return or(e.Title, shortID(s.route.Collection))
}

// challenge is the challenge that the gates are asked for: the one the collection
// was submitted to, else the first open one.
func (s *collectionScreen) challenge(w World) string {
	if s.route.Challenge != "" {
		return s.route.Challenge
	}
	e, _ := s.environment(w)
	if e.TargetChallengeID != nil {
		return *e.TargetChallengeID
	}
	for _, c := range challenges(w.Data) {
		return c.ID
	}
	return ""
}

// Needs are the collection, its gates with what their codes mean, and its runs.
func (s *collectionScreen) Needs(w World) []Key {
	keys := append(runsKeys(w.Data), CollectionsQuery().Key, CatalogueQuery().Key)
	keys = append(keys, boardKeys(w.Data)...)
	if c := s.challenge(w); c != "" {
		keys = append(keys, GatesQuery(c, s.route.Collection).Key)
	}
	return keys
}

func (s *collectionScreen) list() *List { return &s.lists[s.part] }

// Scopes are those of a collection and of its lists.
func (s *collectionScreen) Scopes(World) []Scope {
	if s.list().Typing() {
		return s.list().Scopes()
	}
	return append([]Scope{OnCollected}, s.list().Scopes()...)
}

// Typing reports whether a filter has the focus.
func (s *collectionScreen) Typing() bool { return s.list().Typing() }

// Update moves the selection and switches parts.
func (s *collectionScreen) Update(w World, msg tea.Msg) tea.Cmd {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.KeyMsg:
		s.list().Type(msg)
	case Wheel:
		s.list().Wheel(msg.Rows)
	case Click:
		if s.list().Click(msg.Y - collectionHead) {
			cmd = s.open()
		}
	case Act:
		switch {
		case s.list().Do(msg):
		case msg.Intent == NextPane:
			s.part = (s.part + 1) % collectionParts
		case msg.Intent == PrevPane:
			s.part = (s.part + collectionParts - 1) % collectionParts
		case msg.Intent == Back:
			cmd = nav.To(nav.Back{})
		case msg.Intent == Choose:
			cmd = s.open()
		case msg.Intent == Attach:
			cmd = nav.Go(nav.Route{Place: nav.Attach, Challenge: s.challenge(w), Collection: s.route.Collection})
		}
	}
	s.sync(w)
	return cmd
}

func (s *collectionScreen) open() tea.Cmd {
	id, _ := s.list().Selected()
	if r := s.items[s.part][id].route; r.Place != "" {
		return nav.Go(r)
	}
	return nil
}

// Subject is what is selected, else the collection.
func (s *collectionScreen) Subject(w World) Subject {
	e, ok := s.environment(w)
	if !ok {
		return Subject{What: "collection", ID: s.route.Collection}
	}
	sub := collectionSubject(e)
	if id, ok := s.list().Selected(); ok && s.part != partRuns {
		if it := s.items[s.part][id]; it.value != nil {
			sub.Value = it.value
		}
		if s.part == partFindings || s.part == partVerdicts {
			sub.Command = []string{"gates", "get", "--challenge", s.challenge(w), "--id", e.ID}
		}
	}
	return sub
}

func (s *collectionScreen) sync(w World) {
	for p := range collectionParts {
		s.lists[p].Size(w.Height - collectionHead - 1 - s.detailHeight(w))
		s.lists[p].Set(w.Version(), func() (ids []string) {
			ids, s.items[p], s.fields[p] = s.build(w, p)
			return ids
		}, func(i int) Fields { return s.fields[p](i) })
	}
}

// build makes the rows of a part.
func (s *collectionScreen) build(w World, p collectionPart) ([]string, map[string]item, func(int) Fields) {
	switch p {
	case partVerdicts:
		return s.verdicts(w)
	case partRuns:
		return s.runs(w)
	case partIdentity:
		return s.identity(w)
	default:
		return s.findings(w)
	}
}

// collectionHead is the number of rows above the list.
const collectionHead = 6

// detailHeight is the room below the list for what is said about the selection.
func (s *collectionScreen) detailHeight(w World) int {
	if s.part == partRuns || s.part == partIdentity {
		return 0
	}
	return max(min(w.Height/4, 10), 4)
}

// View draws what the collection is, then one part with what is said about the
// selected row.
func (s *collectionScreen) View(w World) string {
	t := w.Theme
	e, ok := s.environment(w)
	if !ok {
		return emptyLine(w, []Key{CollectionsQuery().Key}, false, "There is no such collection.")
	}
	columns := s.columns()
	widths := arrange(columns, w.Width-2)
	rows := append(s.head(w, e), s.partsBar(w, e), "  "+headOf(t, columns, widths))
	rows = append(rows, s.list().Rows(t, w.Width, func(id string, _ int) string { return rowOf(t, columns, widths, s.items[s.part][id].cells) })...)
	if s.list().Len() == 0 {
		rows = append(rows, emptyLine(w, s.Needs(w), s.list().Filtered(), s.nothing()))
	}
	detail := s.detailHeight(w)
	for len(rows) < w.Height-1-detail {
		rows = append(rows, "")
	}
	rows = append(rows, s.detailRows(w, detail)...)
	return block(append(rows, s.list().Status(t, w.Width, []string{"finding", "verdict", "run", "task"}[s.part])), w.Height)
}

func (s *collectionScreen) nothing() string {
	return []string{
		"The gates found nothing.", "No gate results are attached: a attaches a file of them.", "The collection has not run yet.", "No task was looked at.",
	}[s.part]
}

func (s *collectionScreen) head(w World, e api.Environment) []string {
	t := w.Theme
	sum := e.QualityGates.Static.Summary
	eligible := look.Good
	if e.EligibleTasks < e.TaskCount {
		eligible = look.Warn
	}
	where := fmt.Sprintf("%s %s at %s", e.RepoType, e.RepoID, short(e.Revision))
	if e.EntryPath != "" {
		where += " in " + e.EntryPath
	}
	who := "submitted " + clock(w, e.CreatedAt) + " by " + e.Author
	if e.AgentID != nil {
		who += " with agent " + *e.AgentID
	}
	counts := []cell{
		{fmt.Sprintf("%d of %s eligible", e.EligibleTasks, counted(e.TaskCount, "task")), eligible},
		{fmt.Sprintf("  %d blocked  %d rejected  %d need controls  %d to look at  %d clean", sum.Blocked, sum.Rejected, sum.NeedsControls, sum.Review, sum.Clean), look.Dim},
	}
	return []string{
		line(t, w.Width, cell{or(e.TeamName, e.Author), look.Strong}, cell{"  " + or(e.Title, "untitled"), look.Plain}, cell{"  " + e.ID, look.Dim}),
		line(t, w.Width, cell{where + ", " + who, look.Dim}),
		line(t, w.Width, counts...),
		line(t, w.Width, cell{sentence(e.Notes), look.Dim}),
	}
}

func (s *collectionScreen) partsBar(w World, e api.Environment) string {
	g, _ := Read(w.Data, GatesQuery(s.challenge(w), s.route.Collection))
	verdicts := "Verdicts"
	if g.Verdict != nil {
		verdicts = fmt.Sprintf("Verdicts %d", len(g.Verdict.Tasks))
	}
	names := []string{fmt.Sprintf("Findings %d", len(s.lists[partFindings].ids)), verdicts, fmt.Sprintf("Runs %d", len(s.lists[partRuns].every)), fmt.Sprintf("Tasks %d", e.TaskCount)}
	var cells []cell
	for p, name := range names {
		tone := look.Dim
		if collectionPart(p) == s.part {
			tone, name = look.Accent, w.Theme.Into+" "+name
		}
		cells = append(cells, cell{name, tone}, text("   "))
	}
	return line(w.Theme, w.Width, cells...)
}

// detailRows are what is said about the selected row.
func (s *collectionScreen) detailRows(w World, height int) []string {
	if height == 0 {
		return nil
	}
	id, _ := s.list().Selected()
	rows := []string{w.Theme.Paint(look.Faint, strings.Repeat(w.Theme.Rule, w.Width))}
	for _, d := range s.items[s.part][id].detail {
		rows = append(rows, celltext.Wrap(d, w.Width)...)
	}
	for len(rows) < height {
		rows = append(rows, "")
	}
	return rows[:height]
}

// sortedKeys are the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
