package screen

import (
	"fmt"
	"math"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/leaderboard"
	"github.com/posttrainarena/arena/tui/look"
	"github.com/posttrainarena/arena/tui/nav"
	"github.com/posttrainarena/arena/tui/widget/celltext"
	"github.com/posttrainarena/arena/tui/widget/interval"
)

// leaderboardScreen ranks the collections of one challenge, and shows how much of
// the order means something.
type leaderboardScreen struct {
	listed
	challenge string // empty until one is chosen: the first with results
	turns     int64  // how often another was chosen
	rows      []leaderboard.Row
}

func newLeaderboard(r nav.Route) *leaderboardScreen {
	return &leaderboardScreen{challenge: r.Challenge, listed: listed{NewList("author", "agent", "title")}}
}

// Title is the challenge that is shown.
func (s *leaderboardScreen) Title(w World) string {
	return strings.TrimSpace("Leaderboard " + s.chosen(w))
}

// chosen is the challenge that is shown.
func (s *leaderboardScreen) chosen(w World) string {
	if s.challenge != "" {
		return s.challenge
	}
	for _, c := range challenges(w.Data) {
		if board, ok := Read(w.Data, LeaderboardQuery(c.ID)); ok && len(board.Rows) > 0 {
			return c.ID
		}
	}
	for _, c := range challenges(w.Data) {
		return c.ID
	}
	return ""
}

// Needs are the boards of all challenges, to know which have results.
func (s *leaderboardScreen) Needs(w World) []Key {
	return append([]Key{ChallengesQuery().Key, CollectionsQuery().Key}, boardKeys(w.Data)...)
}

// Scopes are those of the ranking and of the list.
func (s *leaderboardScreen) Scopes(World) []Scope {
	return s.scopes(OnRanking)
}

// Update moves the selection, changes the challenge and opens collections.
func (s *leaderboardScreen) Update(w World, msg tea.Msg) tea.Cmd {
	cmd := s.update(msg, rankingHead, func(i Intent) tea.Cmd { return s.act(w, i) })
	s.sync(w)
	return cmd
}

func (s *leaderboardScreen) act(w World, i Intent) tea.Cmd {
	switch i {
	case NextChallenge:
		s.turn(w, 1)
	case PrevChallenge:
		s.turn(w, -1)
	case Choose:
		if id, ok := s.list.Selected(); ok {
			return nav.Go(nav.Route{Place: nav.Collection, Challenge: s.chosen(w), Collection: id})
		}
	}
	return nil
}

// turn goes to another challenge.
func (s *leaderboardScreen) turn(w World, step int) {
	all := challenges(w.Data)
	for i, c := range all {
		if c.ID == s.chosen(w) {
			s.challenge = all[(i+step+len(all))%len(all)].ID
			s.turns++
			return
		}
	}
}

func (s *leaderboardScreen) sync(w World) {
	board, _ := Read(w.Data, LeaderboardQuery(s.chosen(w)))
	s.rows = board.Rows
	s.list.Size(w.Height - rankingHead - 2)
	s.list.Set(w.Version()+s.turns, func() []string {
		ids := make([]string, len(board.Rows))
		for i, r := range board.Rows {
			ids[i] = r.Collection
		}
		return ids
	}, func(i int) Fields {
		r := board.Rows[i]
		return Fields{
			Text:  strings.Join([]string{r.Collection, r.Title, r.Author, deref(r.AgentID)}, "\n"),
			Named: map[string]string{"author": r.Author, "agent": deref(r.AgentID), "title": r.Title}, Age: w.Now.Sub(r.CollectedAt), HasAge: true,
		}
	})
}

func (s *leaderboardScreen) row(id string) (int, leaderboard.Row) {
	for i, r := range s.rows {
		if r.Collection == id {
			return i, r
		}
	}
	return -1, leaderboard.Row{}
}

// Subject is the selected row.
func (s *leaderboardScreen) Subject(w World) Subject {
	command := []string{"leaderboard", "--challenge", s.chosen(w)}
	id, _ := s.list.Selected()
	if i, r := s.row(id); i >= 0 {
		return Subject{What: "collection", ID: r.Collection, Value: r, Command: command}
	}
	board, _ := Read(w.Data, LeaderboardQuery(s.chosen(w)))
	return Subject{What: "leaderboard", Value: board, Command: command}
}

// rankingHead is the number of rows above the list.
const rankingHead = 3

// axisColumn is the place of the interval among the columns.
const axisColumn = 4

func rankingColumns() []column {
	return []column{
		{title: "Rank", width: 4, right: true},
		{title: "Collection", width: 16, flex: 3},
		{title: "Team", width: 12, flex: 1, keep: 1},
		{title: "Change", width: 15, right: true},
		{title: "95% over tasks", width: 22, flex: 5, keep: 4},
		{title: "Runs", width: 4, right: true},
		{title: "Needed", width: 6, right: true, keep: 3},
		{title: "Pending", width: 7, right: true, keep: 2},
	}
}

// View draws the ranking over one axis.
func (s *leaderboardScreen) View(w World) string {
	t, columns := w.Theme, rankingColumns()
	widths := arrange(columns, w.Width-2)
	chosen := s.chosen(w)
	board, _ := Read(w.Data, LeaderboardQuery(chosen))
	rows := []string{s.challengeBar(w, chosen), s.summary(t, w.Width, board), "  " + headOf(t, columns, widths)}
	axis := s.axis(t)
	of := collectionsByID(w.Data)
	rows = append(rows, s.list.Rows(t, w.Width, func(id string, _ int) string {
		i, r := s.row(id)
		parts := rowOf(t, columns[:axisColumn], widths[:axisColumn], s.cells(t, of, r))
		if widths[axisColumn] > 0 {
			parts += celltext.Spaces(gap) + axis.Row(i, widths[axisColumn])
		}
		return parts + celltext.Spaces(gap) + rowOf(t, columns[axisColumn+1:], widths[axisColumn+1:], s.counts(r))
	})...)
	if s.list.Len() == 0 {
		rows = append(rows, emptyLine(w, []Key{LeaderboardQuery(chosen).Key}, s.list.Filtered(), "No accepted result yet."))
	} else if widths[axisColumn] > 0 {
		before := total(widths[:axisColumn]) + gap + 2
		rows = append(rows, celltext.Spaces(before)+axis.Axis(widths[axisColumn]))
	}
	for len(rows) < w.Height-1 {
		rows = append(rows, "")
	}
	return block(append(rows, s.list.Status(t, w.Width, "collection")), w.Height)
}

// challengeBar names the challenges, and marks the one that shows.
func (s *leaderboardScreen) challengeBar(w World, chosen string) string {
	var cells []cell
	for _, c := range challenges(w.Data) {
		tone, name := look.Dim, c.ID
		if c.ID == chosen {
			tone, name = look.Accent, w.Theme.Into+" "+c.ID
		}
		cells = append(cells, cell{name, tone}, text("   "))
	}
	return line(w.Theme, w.Width, cells...)
}

// summary says what the numbers are, and how many results are not among them yet.
func (s *leaderboardScreen) summary(t look.Theme, width int, board api.Leaderboard) string {
	cells := []cell{{"Mean change of accepted runs. Brackets: not to be told apart.", look.Dim}}
	if board.PerRunSDPP != nil {
		cells = append(cells, cell{fmt.Sprintf("  One run varies by %s%s pp.", t.PlusMinus, fixed(*board.PerRunSDPP)), look.Dim})
	}
	var pending []cell
	if board.PendingCount > 0 {
		pending = []cell{{fmt.Sprintf("  %d pending", board.PendingCount), look.Warn}}
	}
	return ends(t, width, cells, pending)
}

func (s *leaderboardScreen) axis(t look.Theme) interval.Model {
	axis := interval.New(interval.WithASCII(t.ASCII()), interval.WithUnit("pp"), interval.WithStyles(interval.Styles{
		Interval: t.Style(look.Dim), Better: t.Style(look.Good), Worse: t.Style(look.Bad), Unclear: t.Style(look.Warn),
		Zero: t.Style(look.Faint), Axis: t.Style(look.Dim), Bracket: t.Style(look.Note),
	}))
	rows := make([]interval.Row, len(s.rows))
	for i, r := range s.rows {
		rows[i] = interval.Row{Mean: r.DeltaPP, Low: math.NaN(), High: math.NaN()}
		if r.CI95PP != nil {
			rows[i].Low, rows[i].High = r.CI95PP[0], r.CI95PP[1]
		}
	}
	axis.SetRows(rows)
	return axis
}

func (s *leaderboardScreen) cells(t look.Theme, of map[string]api.Environment, r leaderboard.Row) []cell {
	return []cell{
		{fmt.Sprint(r.Rank), look.Strong},
		text(or(r.Title, r.Collection)),
		{team(of, r.Collection, r.Author), look.Dim},
		{fmt.Sprintf("%s %s %s pp", points(r.DeltaPP), t.PlusMinus, fixed(r.StderrPP)), look.Strong},
	}
}

func (s *leaderboardScreen) counts(r leaderboard.Row) []cell {
	needed, pending := "many", ""
	if r.RunsNeeded != nil {
		needed = fmt.Sprint(*r.RunsNeeded)
	}
	if r.PendingRuns > 0 {
		pending = fmt.Sprint(r.PendingRuns)
	}
	return []cell{text(fmt.Sprint(r.VerifiedRuns)), {needed, look.Dim}, {pending, look.Warn}}
}
