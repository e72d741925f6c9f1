package screen

import (
	"context"
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/tui/look"
	"github.com/posttrainarena/arena/tui/nav"
	"github.com/posttrainarena/arena/tui/widget/editor"
	"github.com/posttrainarena/arena/tui/widget/matrix"
)

// reviewPart is a part of the review screen.
type reviewPart int

const (
	partEvidence reviewPart = iota
	partTasks
	partHistory
	reviewParts
)

// reviewScreen shows what a result stands on, and takes the decision.
type reviewScreen struct {
	route  nav.Route
	part   reviewPart
	scroll [reviewParts]Scroll // of the parts but the tasks
	tasks  matrix.Model

	note     editor.Model
	deciding bool // the note is being written
	accept   bool
}

func newReview(r nav.Route, t look.Theme) *reviewScreen {
	return &reviewScreen{
		route: r,
		tasks: matrix.New(matrix.WithASCII(t.ASCII()), matrix.WithStyles(matrixStyles(t))),
		note:  editor.New(editor.WithASCII(t.ASCII()), editor.WithStyles(noteStyles(t)), editor.WithLimits(protocol.MinReviewNote, protocol.MaxReviewNote)),
	}
}

// Title is the run's short id.
func (s *reviewScreen) Title(World) string { return "Review " + shortID(s.route.Run) }

// Needs are the run with its result, and what it is compared with.
func (s *reviewScreen) Needs(w World) []Key {
	keys := []Key{RunQuery(s.route.Challenge, s.route.Run).Key, RunsQuery(s.route.Challenge).Key, CollectionsQuery().Key, LeaderboardQuery(s.route.Challenge).Key}
	if r, ok := s.run(w); ok {
		keys = append(keys, GatesQuery(s.route.Challenge, r.EnvironmentID).Key)
		if w.Me().Name != "" {
			keys = append(keys, AttemptsQuery(s.route.Challenge, s.route.Run).Key)
		}
		for _, other := range siblings(w.Data, r) {
			if collected(&other) {
				keys = append(keys, RunQuery(other.ChallengeID, other.RunID).Key)
			}
		}
	}
	return keys
}

// maxSiblings bounds how many earlier runs are compared with.
const maxSiblings = 20

// siblings are the other runs of the same collection on the same challenge,
// newest first.
func siblings(d *Data, r api.Run) []api.Run {
	rows, _ := Read(d, RunsQuery(r.ChallengeID))
	var all []api.Run
	for _, o := range rows.All {
		if o.EnvironmentID == r.EnvironmentID && o.RunID != r.RunID && len(all) < maxSiblings {
			all = append(all, o)
		}
	}
	return all
}

// Scopes are those of the note while it is written, else of the review.
func (s *reviewScreen) Scopes(World) []Scope {
	if s.deciding {
		return []Scope{OnNote}
	}
	return []Scope{OnReview, InText}
}

// Typing reports whether the note is being written.
func (s *reviewScreen) Typing() bool { return s.deciding }

func (s *reviewScreen) run(w World) (api.Run, bool) {
	return Read(w.Data, RunQuery(s.route.Challenge, s.route.Run))
}

func (s *reviewScreen) result(w World) (api.Run, api.Result, bool) {
	r, ok := s.run(w)
	if !ok || r.Result == nil {
		return r, api.Result{}, false
	}
	return r, *r.Result, true
}

// Update scrolls, switches parts, and takes the decision.
func (s *reviewScreen) Update(w World, msg tea.Msg) tea.Cmd {
	s.sync(w)
	switch msg := msg.(type) {
	case tea.KeyMsg:
		s.note, _ = s.note.Update(msg)
		w.Drafts.Set(s.draftKey(), s.note.Value())
	case Wheel:
		s.wheel(msg.Rows)
	case claimRefused:
		if msg.run == s.route.Run {
			s.deciding = false
			return nav.Say(nav.Warned, "Somebody else has just begun to review it. What you wrote is kept.")
		}
	case Act:
		cmd := s.act(w, msg.Intent)
		s.sync(w) // the note takes room when it is opened
		return cmd
	}
	return nil
}

func (s *reviewScreen) sync(w World) {
	height := s.partHeight(w)
	for p := range reviewParts {
		if p != partTasks {
			s.scroll[p].Set(len(s.partRows(w, p, s.partWidth(w, p))), height)
		}
	}
	_, res, _ := s.result(w)
	s.tasks.SetSize(s.partWidth(w, partTasks), height)
	s.tasks.SetRows(taskRows(res.Cells))
	s.note.SetSize(w.Width, s.noteHeight(w)-1)
}

func (s *reviewScreen) act(w World, i Intent) tea.Cmd {
	switch i {
	case Accept, Reject:
		return s.begin(w, i == Accept)
	case Send:
		return s.confirm(w)
	case Clear:
		s.deciding = false
		return s.giveUp(w)
	case Back:
		return tea.Batch(s.giveBack(w), nav.To(nav.Back{}))
	case NextPane, PrevPane:
		step := reviewPart(1)
		if i == PrevPane {
			step = reviewParts - 1
		}
		s.part = (s.part + step) % reviewParts
		return nil
	case FlipsOnly:
		s.tasks.ToggleOnlyFlips()
		s.part = partTasks
		return nil
	}
	if s.scrolls(i) {
		return nil
	}
	if r, ok := s.run(w); ok {
		return actOnRun(w, r, i)
	}
	return nil
}

// scrolls moves in the part that shows.
func (s *reviewScreen) scrolls(i Intent) bool {
	if s.part != partTasks {
		return s.scroll[s.part].Act(i)
	}
	const all = 1 << 20
	rows, ok := map[Intent]int{
		Up: -1, Down: 1, PageUp: -s.tasks.Page(), PageDown: s.tasks.Page(), HalfUp: -s.tasks.Page() / 2, HalfDown: s.tasks.Page() / 2, Top: -all, Bottom: all,
	}[i]
	s.tasks.Move(rows)
	return ok
}

func (s *reviewScreen) wheel(rows int) {
	if s.part == partTasks {
		s.tasks.Move(rows)
		return
	}
	s.scroll[s.part].Wheel(rows)
}

// begin opens the note of a decision, with a draft from the evidence.
func (s *reviewScreen) begin(w World, accept bool) tea.Cmd {
	r, res, ok := s.result(w)
	switch {
	case !ok:
		return nav.Say(nav.Warned, "There is no result here yet.")
	case res.Verification != protocol.Pending:
		return nav.Say(nav.Warned, fmt.Sprintf("The result was %s by %s. Reviews are final.", resultMark(w.Theme, res.Verification).word, deref(res.ReviewedBy)))
	case w.Held(r.RunID):
		return nav.Say(nav.Warned, "A decision on it is about to be sent: z takes it back.")
	}
	if c, ok := othersClaim(w, res); ok {
		return nav.Say(nav.Warned, fmt.Sprintf("%s is reviewing it, until %s at the latest.", c.By, clock(w, c.ExpiresAt)))
	}
	s.deciding, s.accept = true, accept
	s.note.SetValue(or(w.Drafts.Get(s.draftKey()), draftNote(evidenceOf(w.Data, r, res), res, accept)))
	return claim(w, res, false)
}

// draftKey is where the note is kept while the screen is left.
func (s *reviewScreen) draftKey() string {
	return fmt.Sprintf("review %s %t", s.route.Run, s.accept)
}

// confirm asks before the decision, which cannot be changed once it is sent.
func (s *reviewScreen) confirm(w World) tea.Cmd {
	_, res, ok := s.result(w)
	if !ok {
		return nil
	}
	if !s.note.Valid() {
		return nav.Say(nav.Warned, fmt.Sprintf("The note says what the evidence shows, in at least %d characters.", protocol.MinReviewNote))
	}
	accept, note := s.accept, strings.TrimSpace(s.note.Value())
	verb, effect := "Reject", "It will never count for the leaderboard of "+res.ChallengeID+"."
	if accept {
		verb, effect = "Accept", "It counts for the leaderboard of "+res.ChallengeID+" from then on."
	}
	send := w.Do(func(ctx context.Context, a API) tea.Msg {
		ans, err := a.Review(ctx, res.ChallengeID, res.RunID, api.ReviewRequest{Accepted: accept, Note: note})
		m := Changed{What: verb + " " + shortID(res.RunID), Err: err}
		if err == nil {
			m.Result = &ans.Value
			m.Said = fmt.Sprintf("%s is %s.", shortID(res.RunID), resultMark(w.Theme, ans.Value.Verification).word)
		}
		return m
	})
	s.deciding = false
	return nav.To(nav.Ask{
		Title: verb + " this result?", Do: verb, Danger: !accept,
		Object: fmt.Sprintf("%s, %s, %s to %s", res.RunID, deltaText(w.Theme, res), percent(res.BaselinePassRate), percent(res.AfterPassRate)),
		Effect: effect + " A review is final once it is sent. That is in a few seconds, in which z takes it back.\n\n" + note,
		Then: tea.Batch(
			nav.To(nav.Later{What: verb + " " + shortID(res.RunID), Run: res.RunID, Do: send}),
			nav.To(nav.Back{}),
		),
	})
}

// Subject is the result.
func (s *reviewScreen) Subject(w World) Subject {
	r, res, ok := s.result(w)
	if !ok {
		return Subject{What: "run", ID: s.route.Run}
	}
	return Subject{
		What: "result", ID: r.RunID, Value: res,
		Command: []string{"result", "review", "--challenge", res.ChallengeID, "--run-id", res.RunID, "--file", "review.json"},
	}
}

// View draws the numbers, then one part, or two side by side where there is room,
// and the note while it is written.
func (s *reviewScreen) View(w World) string {
	r, res, ok := s.result(w)
	if !ok {
		return block([]string{emptyLine(w, []Key{RunQuery(s.route.Challenge, s.route.Run).Key}, false, "The run has no collected result.")}, w.Height)
	}
	rows := s.head(w, r, res)
	height := s.partHeight(w)
	if s.wide(w) {
		left, right := w.sides()
		first := s.part
		if first == partTasks {
			first = partEvidence
		}
		l := append([]string{s.partsBar(w, left, first)}, s.scroll[first].Rows(s.partRows(w, first, left))...)
		r := append([]string{s.partsBar(w, right, partTasks)}, s.taskView(w, res, right)...)
		rows = append(rows, beside(l, left, r, right, height+1)...)
	} else if rows = append(rows, s.partsBar(w, w.Width, s.part)); s.part == partTasks {
		rows = append(rows, s.taskView(w, res, w.Width)...)
	} else {
		rows = append(rows, s.scroll[s.part].Rows(s.partRows(w, s.part, w.Width))...)
	}
	for len(rows) < w.Height-s.noteHeight(w) {
		rows = append(rows, "")
	}
	if s.deciding {
		rows = append(rows[:w.Height-s.noteHeight(w)], s.noteRows(w)...)
	}
	return block(rows, w.Height)
}

// headRows is the number of rows of head.
const headRows = 4

// wideReview is the width from which the tasks stand beside the evidence.
const wideReview = 110

func (s *reviewScreen) wide(w World) bool { return w.Width >= wideReview && !w.Panes.Alone }

// Border is where evidence and tasks meet.
func (s *reviewScreen) Border(w World) (int, bool) {
	left, _ := w.sides()
	return left, s.wide(w)
}

// partWidth is the room for the rows of a part.
func (s *reviewScreen) partWidth(w World, p reviewPart) int {
	left, right := w.sides()
	switch {
	case !s.wide(w):
		return w.Width
	case p == partTasks:
		return right
	default:
		return left
	}
}

func (s *reviewScreen) noteHeight(w World) int {
	if !s.deciding {
		return 0
	}
	return max(min(w.Height/3, 10), 5)
}

// partHeight is the room for the rows of a part.
func (s *reviewScreen) partHeight(w World) int {
	return max(w.Height-headRows-1-s.noteHeight(w), 1)
}

func (s *reviewScreen) head(w World, r api.Run, res api.Result) []string {
	t := w.Theme
	of := collectionsByID(w.Data)
	state := resultMark(t, res.Verification).cell()
	if w.Held(r.RunID) {
		state = cell{t.Stale + " deciding", look.Warn}
	}
	by := fmt.Sprintf("collected %s ago by %s", Ago(w.Now, res.CollectedAt), res.CollectedBy)
	if res.ReviewedAt != nil {
		by = fmt.Sprintf("%s ago by %s: %s", Ago(w.Now, *res.ReviewedAt), deref(res.ReviewedBy), sentence(res.VerificationNote))
	}
	note := cell{}
	if n := claimNote(w, res); n != "" {
		note = cell{"  " + n, look.Warn}
	}
	var simulated []cell
	if res.Simulated {
		simulated = []cell{{"  simulated numbers", look.Note}}
	}
	return []string{
		ends(t, w.Width, []cell{{team(of, r.EnvironmentID, r.Author), look.Strong}, {"  " + or(of[r.EnvironmentID].Title, r.EnvironmentID), look.Plain}, {" on " + r.ChallengeID, look.Dim}}, simulated),
		line(t, w.Width, cell{deltaText(t, res), look.Strong}, cell{fmt.Sprintf("  %s to %s on %s", percent(res.BaselinePassRate), percent(res.AfterPassRate), counted(res.NTasks, "task")), look.Plain},
			cell{fmt.Sprintf("  paired %s %s %s pp", points(res.PairedDeltaPP), t.PlusMinus, fixed(res.PairedStderrPP)), look.Dim}),
		line(t, w.Width, state, cell{"  " + by, look.Dim}, note),
		"",
	}
}

// partsBar names the parts, and marks the one that shows.
func (s *reviewScreen) partsBar(w World, width int, shown reviewPart) string {
	t := w.Theme
	r, _ := s.run(w)
	names := []string{"Evidence", fmt.Sprintf("Tasks %d flips", s.tasks.Count(matrix.Gained)+s.tasks.Count(matrix.Lost)), fmt.Sprintf("History %d", len(siblings(w.Data, r)))}
	var cells []cell
	for p, name := range names {
		if s.wide(w) && (reviewPart(p) == partTasks) != (shown == partTasks) {
			continue
		}
		tone := look.Dim
		if reviewPart(p) == shown {
			tone = look.Accent
			name = t.Into + " " + name
		}
		cells = append(cells, cell{name, tone}, text("  "))
	}
	return ends(t, width, cells, []cell{{s.scroll[shown].Position(t), look.Dim}})
}

func (s *reviewScreen) noteRows(w World) []string {
	t := w.Theme
	verb := "Reject"
	if s.accept {
		verb = "Accept"
	}
	return append([]string{heading(t, w.Width, verb+": what does the evidence show?")}, strings.Split(s.note.View(), "\n")...)
}

// noteStyles are those of text that is written.
func noteStyles(t look.Theme) editor.Styles {
	return editor.Styles{Text: t.Style(look.Plain), Placeholder: t.Style(look.Dim), Cursor: t.Style(look.Plain), Count: t.Style(look.Dim), Short: t.Style(look.Warn)}
}
