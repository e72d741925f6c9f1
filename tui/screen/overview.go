package screen

import (
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/tui/look"
	"github.com/posttrainarena/arena/tui/nav"
	"github.com/posttrainarena/arena/tui/widget/celltext"
)

// overviewScreen answers what an organizer asks first: what needs me, what is
// running, what does it cost, what happened.
type overviewScreen struct {
	queue  List
	past   List
	inPast bool   // the selection is in what happened
	chosen bool   // because the person went there
	curves curves // of the active run, where there is room
	todos  map[string]todo
	happen map[string]happening
}

func newOverview(t look.Theme) *overviewScreen {
	return &overviewScreen{queue: NewList(), past: NewList(), curves: newCurves(t)}
}

// Title is the tab's name.
func (s *overviewScreen) Title(World) string { return "Overview" }

// Needs are the budget, the runs, and what the queue and the past are made of.
func (s *overviewScreen) Needs(w World) []Key {
	keys := append(runsKeys(w.Data), BudgetQuery().Key, ReadyQuery().Key, CollectionsQuery().Key, MessagesQuery().Key)
	keys = append(append(keys, gatedKeys(w)...), doctorKeys(w)...)
	_, pending := pendingResults(w.Data)
	keys = append(keys, pending...)
	if r, ok := activeRun(w.Data); ok {
		keys = append(keys, RunQuery(r.ChallengeID, r.RunID).Key)
	}
	return keys
}

// Scopes are those of the lists. There is nothing to filter here.
func (s *overviewScreen) Scopes(World) []Scope { return []Scope{OnOverview, InRows} }

// Update moves the selection and opens what it is on.
func (s *overviewScreen) Update(w World, msg tea.Msg) tea.Cmd {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case Wheel:
		for range max(msg.Rows, -msg.Rows) {
			s.step(msg.Rows > 0)
		}
	case Click:
		cmd = s.click(w, msg)
	case Act:
		cmd = s.act(w, msg.Intent)
	}
	s.sync(w)
	return cmd
}

// step moves one row, from one list into the other.
func (s *overviewScreen) step(down bool) {
	list, i := s.focused(), Up
	if down {
		i = Down
	}
	before := list.at
	list.Act(i)
	switch {
	case list.at != before:
	case down && !s.inPast && s.past.Len() > 0:
		s.inPast, s.chosen = true, true
		s.past.Act(Top)
	case !down && s.inPast && s.queue.Len() > 0:
		s.inPast = false
		s.queue.Act(Bottom)
	}
}

func (s *overviewScreen) focused() *List {
	if s.inPast {
		return &s.past
	}
	return &s.queue
}

func (s *overviewScreen) act(w World, i Intent) tea.Cmd {
	switch i {
	case Up, Down:
		s.step(i == Down)
		return nil
	case NextPane:
		s.inPast, s.chosen = !s.inPast, true
		return nil
	case Choose:
		if route := s.route(); route.Place != "" {
			return nav.Go(route)
		}
		return nil
	case OpenLog, OpenResult:
		r := s.run()
		if active, ok := activeRun(w.Data); r.RunID == "" && ok {
			r = active
		}
		if r.RunID == "" {
			return nav.Say(nav.Warned, "There is no run here.")
		}
		return actOnRun(w, r, i)
	default:
		s.focused().Act(i)
		return nil
	}
}

// route is where the selection leads.
func (s *overviewScreen) route() nav.Route {
	id, _ := s.focused().Selected()
	if s.inPast {
		return s.happen[id].route
	}
	return s.todos[id].route
}

// run is the run that the selection is about.
func (s *overviewScreen) run() api.Run {
	id, _ := s.focused().Selected()
	if s.inPast {
		return deref(s.happen[id].run)
	}
	return deref(s.todos[id].run)
}

func (s *overviewScreen) sync(w World) {
	partly := w.Data.Partly(s.Needs(w))
	s.queue.Partly(partly)
	s.past.Partly(partly)
	s.queue.Set(w.Version(), func() (ids []string) {
		s.todos = map[string]todo{}
		for _, t := range todos(w) {
			ids = append(ids, t.id)
			s.todos[t.id] = t
		}
		return ids
	}, nil)
	s.past.Set(w.versionOf(append(runKinds(), kindCollections, kindMessages)), func() (ids []string) {
		s.happen = map[string]happening{}
		for _, h := range lately(w) {
			ids = append(ids, h.id)
			s.happen[h.id] = h
		}
		return ids
	}, nil)
	if r, ok := activeRun(w.Data); ok {
		s.curves.set(r.Training)
	}
	l := s.layout(w)
	s.queue.Size(l.queueRows)
	s.past.Size(l.pastRows)
	switch {
	case s.queue.Len() == 0:
		s.inPast, s.chosen = s.past.Len() > 0, false
	case !s.chosen:
		s.inPast = false
	}
}

// Subject is what the selection is about.
func (s *overviewScreen) Subject(w World) Subject {
	if r := s.run(); r.RunID != "" {
		return runSubject(r)
	}
	budget, ok := Read(w.Data, BudgetQuery())
	if !ok {
		return Subject{}
	}
	return Subject{What: "budget", Value: budget, Command: []string{"budget"}}
}

// overviewLayout is where the parts of the overview stand.
type overviewLayout struct {
	left, right int // widths; right is 0 when there is one column
	queueRows   int
	queueAt     int // first row of the queue, in the left column
	curveRows   int // below the queue; 0 for none
	pastRows    int
	pastAt      int // first row of the past, in its column
	stages      bool
}

// leastQueue is the room that the queue keeps when curves stand below it.
const leastQueue = 6

// wideOverview is the width from which there are two columns.
const wideOverview = 110

// Border is where the two columns meet.
func (s *overviewScreen) Border(w World) (int, bool) {
	l := s.layout(w)
	return l.left, l.right > 0
}

func (s *overviewScreen) layout(w World) overviewLayout {
	l := overviewLayout{left: w.Width}
	l.stages = w.Height >= 32
	l.queueAt = budgetHeight + activeHeight(w, l.stages) + 1
	if w.Width >= wideOverview && !w.Panes.Alone {
		l.left, l.right = w.sides()
		l.queueRows = max(w.Height-l.queueAt, 1)
		if rest := l.queueRows - max(s.queue.Len(), leastQueue) - 1; rest > 2*fullChartHeight && s.curves.drawn() {
			l.curveRows = rest
			l.queueRows -= rest + 1
		}
		l.pastAt = len(challengeRows(w, l.right)) + 2
		l.pastRows = max(w.Height-l.pastAt, 1)
		return l
	}
	room := max(w.Height-l.queueAt-2, 2) // without the past's heading and a blank row
	l.queueRows = max(min(max(s.queue.Len(), 1), room-min(4, room/2)), 1)
	l.pastAt = l.queueAt + l.queueRows + 2
	l.pastRows = max(w.Height-l.pastAt, 1)
	return l
}

func (s *overviewScreen) click(w World, c Click) tea.Cmd {
	l := s.layout(w)
	var again bool
	switch {
	case l.right > 0 && c.X > l.left, l.right == 0 && c.Y >= l.pastAt:
		again = s.past.Click(c.Y-l.pastAt) && s.inPast
		s.inPast, s.chosen = true, true
	case c.Y >= l.queueAt:
		again = s.queue.Click(c.Y-l.queueAt) && !s.inPast
		s.inPast = false
	}
	if again {
		return s.act(w, Choose)
	}
	return nil
}

// View draws one column, or two where there is room.
func (s *overviewScreen) View(w World) string {
	l := s.layout(w)
	left := append(budgetRows(w, l.left), activeRows(w, l.left, l.stages)...)
	left = append(left, s.queueRows(w, l.left)...)
	if l.right == 0 {
		for len(left) < l.pastAt-1 {
			left = append(left, "")
		}
		return block(append(left, s.pastRows(w, l.left)...), w.Height)
	}
	if l.curveRows > 0 {
		for len(left) < l.queueAt+l.queueRows+1 {
			left = append(left, "")
		}
		left = append(left, s.curves.view(l.left, l.curveRows)...)
	}
	right := append(challengeRows(w, l.right), "")
	right = append(right, s.pastRows(w, l.right)...)
	return block(beside(left, l.left, right, l.right, w.Height), w.Height)
}

func (s *overviewScreen) queueRows(w World, width int) []string {
	note := []cell(nil)
	if n := s.queue.Len(); n > 0 {
		note = []cell{{fmt.Sprint(n), look.Warn}}
	}
	rows := []string{heading(w.Theme, width, "Needs you", note...)}
	if s.queue.Len() == 0 {
		return append(rows, emptyLine(w, s.Needs(w), false, "Nothing. Enjoy the quiet."))
	}
	columns := todoColumns()
	widths := arrange(columns, width-2)
	return append(rows, s.rows(w, &s.queue, width, !s.inPast, func(id string, _ int) string {
		return rowOf(w.Theme, columns, widths, s.todos[id].cells(w))
	})...)
}

func (s *overviewScreen) pastRows(w World, width int) []string {
	rows := []string{heading(w.Theme, width, "Lately")}
	if s.past.Len() == 0 {
		return append(rows, emptyLine(w, s.Needs(w), false, "Nothing has happened yet."))
	}
	columns := []column{{width: 12}, {width: 20, flex: 1}, {width: 5, right: true}}
	widths := arrange(columns, width-2)
	return append(rows, s.rows(w, &s.past, width, s.inPast, func(id string, _ int) string {
		h := s.happen[id]
		return rowOf(w.Theme, columns, widths, []cell{h.mark.cell(), text(h.what), {Ago(w.Now, h.at), look.Dim}})
	})...)
}

// rows draws a list, without a cursor when another has the focus.
func (s *overviewScreen) rows(w World, l *List, width int, focus bool, draw func(string, int) string) []string {
	if focus {
		return l.Rows(w.Theme, width, draw)
	}
	return l.Unfocused(width, draw)
}

// busyWith is the other challenge whose run a challenge waits for, empty when it is
// its own: one run is active at a time across the arena.
func busyWith(d *Data, c api.Challenge) string {
	if r, ok := runByID(d, deref(c.Health.ActiveRun)); ok && r.ChallengeID != c.ID {
		return r.ChallengeID
	}
	return ""
}

// challengeRows are the challenges with their health.
func challengeRows(w World, width int) []string {
	t := w.Theme
	rows := []string{heading(t, width, "Challenges")}
	columns := []column{{width: 14, flex: 1}, {width: 22, flex: 2}, {width: 12, right: true, keep: 1}}
	widths := arrange(columns, width)
	for _, c := range challenges(w.Data) {
		state := cell{t.Absent + " " + string(c.Status), look.Dim}
		counts := ""
		switch {
		case c.Status == protocol.StatusOpen && c.RunsPaused != nil:
			state = cell{t.Stopped + " runs paused", look.Warn}
		case c.Health == nil:
		case c.Health.AcceptingRuns:
			state = cell{t.Live + " takes runs", look.Good}
		case c.Health.ActiveRun != nil:
			state = cell{t.Working + " a run is active", look.Accent}
			if other := busyWith(w.Data, c); other != "" {
				state = cell{t.Waiting + " waits for " + other, look.Dim}
			}
		default:
			state = cell{t.Stopped + " " + sentence(deref(c.Health.Reason)), look.Warn}
		}
		if c.Health != nil {
			n := 0
			for _, k := range c.Health.Runs {
				n += k
			}
			counts = counted(n, "run")
		}
		rows = append(rows, celltext.FitStyled(rowOf(t, columns, widths, []cell{text(c.ID), state, {counts, look.Dim}}), width))
	}
	return rows
}
