package screen

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/tui/look"
	"github.com/posttrainarena/arena/tui/nav"
	"github.com/posttrainarena/arena/tui/widget/celltext"
)

// healthScreen says how the arena itself is: what can be checked from here, and
// what goes wrong with runs.
type healthScreen struct {
	list   List
	checks map[string]check
}

// check is one thing that is well or not.
type check struct {
	id      string
	verdict verdictOf
	name    string
	what    string // what was found
	fix     string // what to do; empty when it is well
}

func newHealth() *healthScreen { return &healthScreen{list: NewList()} }

// Title is the tab's name.
func (s *healthScreen) Title(World) string { return "Health" }

// Needs are everything that says how the arena is.
func (s *healthScreen) Needs(w World) []Key {
	keys := append(runsKeys(w.Data), ReadyQuery().Key, VersionQuery().Key, BudgetQuery().Key, MetricsQuery().Key)
	return append(keys, doctorKeys(w)...)
}

// Scopes are those of rows.
func (s *healthScreen) Scopes(World) []Scope { return []Scope{InRows} }

// Update moves the selection.
func (s *healthScreen) Update(w World, msg tea.Msg) tea.Cmd {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case Wheel:
		s.list.Wheel(msg.Rows)
	case Click:
		s.list.Click(msg.Y - 1)
	case Act:
		switch msg.Intent {
		case Back:
			cmd = nav.To(nav.Back{})
		case Choose:
			cmd = s.open(w)
		default:
			s.list.Act(msg.Intent)
		}
	}
	s.list.Size(s.listHeight(w))
	s.list.Set(w.Version(), func() (ids []string) {
		s.checks = map[string]check{}
		for _, c := range checks(w) {
			ids = append(ids, c.id)
			s.checks[c.id] = c
		}
		return ids
	}, nil)
	return cmd
}

// errText is why the connection is down, empty while it is up.
func (l Link) errText() string {
	if l.Err == nil {
		return ""
	}
	return l.Err.Error()
}

// open goes to what a check is about.
func (s *healthScreen) open(w World) tea.Cmd {
	id, _ := s.list.Selected()
	if run, ok := strings.CutPrefix(id, "run:"); ok {
		if r, ok := runByID(w.Data, run); ok {
			return nav.Go(nav.Route{Place: nav.Run, Challenge: r.ChallengeID, Run: r.RunID})
		}
	}
	if challenge, ok := strings.CutPrefix(id, "challenge:"); ok {
		return nav.Go(nav.Route{Place: nav.Leaderboard, Challenge: challenge})
	}
	return nav.Say(nav.Said, "It is about the arena as a whole: there is nothing to open.")
}

// Subject is the selected check.
func (s *healthScreen) Subject(World) Subject {
	id, _ := s.list.Selected()
	c, ok := s.checks[id]
	if !ok {
		return Subject{}
	}
	return Subject{What: "finding", ID: c.name + ": " + c.what, Command: []string{"version"}}
}

// checks is what can be said about the arena, what is wrong first: from here, and
// by its doctor, which looks at the database, the backups and the machine.
func checks(w World) []check {
	all := []check{linkCheck(w), readyCheck(w), budgetCheck(w), versionCheck(w)}
	for _, c := range challenges(w.Data) {
		if c.Status == protocol.StatusOpen {
			all = append(all, challengeCheck(w, c))
		}
	}
	all = append(all, providerChecks(w)...)
	all = append(all, doctorChecks(w)...)
	var sorted []check
	for _, v := range []verdictOf{breaks, doubt, unknown, holds} {
		for _, c := range all {
			if c.verdict == v {
				sorted = append(sorted, c)
			}
		}
	}
	return sorted
}

func linkCheck(w World) check {
	switch l := w.Data.Link(); {
	case l.Since.IsZero():
		return check{"link", unknown, "connection", "the arena has not answered yet", ""}
	case !l.Up:
		return check{"link", breaks, "connection", "no answer since " + clock(w, l.Since) + ": " + sentence(l.errText()), "is arena serve running, and is ARENA_URL right?"}
	case !l.Streaming:
		return check{"link", doubt, "connection", "events do not arrive; what shows is asked for again and again", "a proxy in between may hold server-sent events back"}
	default:
		return check{"link", holds, "connection", "events arrive as they happen", ""}
	}
}

func readyCheck(w World) check {
	h, known := Read(w.Data, ReadyQuery())
	switch st := w.Data.Standing(ReadyQuery().Key); {
	case st.Err != nil:
		return check{"ready", breaks, "database", sentence(st.Err.Error()), "look at the arena's log and at the disk"}
	case !known:
		return check{"ready", unknown, "database", "not asked yet", ""}
	default:
		return check{"ready", judge(h.OK, breaks), "database", "migrations are done and the disk takes writes", ""}
	}
}

func budgetCheck(w World) check {
	b, ok := Read(w.Data, BudgetQuery())
	if !ok {
		return check{"budget", unknown, "budget", "not known yet", ""}
	}
	dearest := protocol.Micros(0)
	for _, c := range challenges(w.Data) {
		if c.Allocation != nil && c.Status == protocol.StatusOpen {
			dearest = max(dearest, c.Allocation.MaxComputeUSD)
		}
	}
	left := fmt.Sprintf("%s left of %s", dollars(b.RemainingUSD), dollars(b.CapUSD))
	switch {
	case b.RemainingUSD < 0:
		return check{"budget", breaks, "budget", left + ": more is committed than the cap", "compare with arena budget, and with what the provider billed"}
	case b.RemainingUSD < dearest:
		return check{"budget", doubt, "budget", left + ", less than the " + dollars(dearest) + " that a run may reserve", "raise the cap in the configuration, or wait for reservations to settle"}
	default:
		return check{"budget", holds, "budget", left, ""}
	}
}

func versionCheck(w World) check {
	v, ok := Read(w.Data, VersionQuery())
	if !ok {
		return check{"version", unknown, "build", "not known yet", ""}
	}
	return check{"version", holds, "build", fmt.Sprintf("%s %s, schema %d, SQLite %s, gates %s, provider %s", v.Name, v.Version, v.Schema, v.SQLite, v.GateSet, or(v.Provider, "none")), ""}
}

func challengeCheck(w World, c api.Challenge) check {
	k := check{id: "challenge:" + c.ID, name: "challenge"}
	switch {
	case c.RunsPaused != nil:
		k.verdict, k.what, k.fix = doubt, c.ID+": runs are paused: "+sentence(*c.RunsPaused), "take runs_paused out of its configuration"
	case c.Health == nil:
		k.verdict, k.what = unknown, c.ID+": nothing is known about its health"
	case c.Health.AcceptingRuns:
		k.verdict, k.what = holds, c.ID+" takes runs"
	case c.Health.ActiveRun != nil:
		k.verdict, k.what = holds, c.ID+" is busy with a run"
		if other := busyWith(w.Data, c); other != "" {
			k.what = c.ID + " waits for the run on " + other
		}
	default:
		k.verdict, k.what, k.fix = doubt, c.ID+" takes no runs: "+sentence(deref(c.Health.Reason)), "arena run --challenge "+c.ID+" shows every check"
	}
	return k
}

// providerChecks are the runs of which the provider says nothing, that are stalled,
// or that failed on the platform lately.
func providerChecks(w World) []check {
	var all []check
	silent := false
	for _, r := range unsettledRuns(w.Data) {
		id := "run:" + r.RunID
		switch {
		case r.UnreachableSince != nil && !r.State.Ended():
			silent = true
			all = append(all, check{id, breaks, "provider", fmt.Sprintf("does not answer about %s since %s", shortID(r.RunID), clock(w, *r.UnreachableSince)), "nothing is launched twice meanwhile; look at the provider's status page"})
		case r.State == protocol.RunRunning && stalled(w, *r) != "":
			all = append(all, check{id, doubt, "run", shortID(r.RunID) + ": " + stalled(w, *r), "read its log; x on its row asks for its end"})
		case r.State == protocol.RunFailed && r.PlatformFault && w.Now.Sub(r.Since) < failedFor:
			all = append(all, check{id, doubt, "run", fmt.Sprintf("%s failed on the platform %s ago: %s", shortID(r.RunID), Ago(w.Now, r.Since), sentence(deref(r.Reason))), "its author may launch again; it does not count against them"})
		}
	}
	if r, ok := activeRun(w.Data); ok && !silent {
		all = append(all, check{"provider", holds, "provider", "answers about the active run " + shortID(r.RunID), ""})
	}
	return all
}

// doctorKeys ask the arena's doctor, for those whom it answers.
func doctorKeys(w World) []Key {
	if !w.Me().Editor {
		return nil
	}
	return []Key{DoctorQuery().Key}
}

// doctorChecks are what the arena's doctor found.
func doctorChecks(w World) []check {
	d, ok := Read(w.Data, DoctorQuery())
	switch st := w.Data.Standing(DoctorQuery().Key); {
	case !w.Me().Editor:
		return []check{{"doctor", unknown, "doctor", "what it finds of database, backups and machine is for editors", "sign in as an editor, or run arena doctor there"}}
	case st.Age == Denied: // a result that was kept is of before
		return []check{{"doctor", doubt, "doctor", sentence(st.Err.Error()), "run arena doctor on the arena's machine"}}
	case !ok:
		return []check{{"doctor", unknown, "doctor", "not asked yet", ""}}
	}
	var all []check
	for _, f := range d.Checks {
		c := check{"doctor:" + f.Check, diagnosed(f.Status), f.Check, sentence(f.Detail), sentence(f.Fix)}
		if f.Safe {
			c.fix = strings.TrimPrefix(c.fix+"; arena doctor --fix does it", "; ")
		}
		all = append(all, c)
	}
	return all
}

// diagnosed is a finding of the doctor as a verdict.
func diagnosed(s protocol.DiagnosisStatus) verdictOf {
	switch s {
	case protocol.DiagnosisOK, protocol.DiagnosisFixed:
		return holds
	case protocol.DiagnosisWarn:
		return doubt
	case protocol.DiagnosisFail:
		return breaks
	default:
		return unknown
	}
}

// leastHealth is the room that the list keeps.
const leastHealth = 5

// listHeight is the room for the list: the numbers below take what they need.
func (s *healthScreen) listHeight(w World) int {
	return max(min(s.list.Len(), w.Height-1-detailRows-len(s.numbers(w, w.Width))), leastHealth)
}

// detailRows say the selected check in full.
const detailRows = 4

// View draws the checks, the selected one in full, and what runs add up to.
func (s *healthScreen) View(w World) string {
	t := w.Theme
	rows := []string{heading(t, w.Width, "Health", s.summary(w))}
	columns := []column{{width: 8}, {width: 17}, {width: 40, flex: 1}}
	widths := arrange(columns, w.Width-2)
	rows = append(rows, s.list.Rows(t, w.Width, func(id string, _ int) string {
		c := s.checks[id]
		return rowOf(t, columns, widths, []cell{c.mark(t).cell(), {c.name, look.Dim}, text(c.what)})
	})...)
	rows = append(rows, "")
	id, _ := s.list.Selected()
	c := s.checks[id]
	detail := celltext.Wrap(c.what, w.Width-2)
	for _, l := range detail[:min(len(detail), detailRows-2)] {
		rows = append(rows, line(t, w.Width, text("  "+l)))
	}
	if c.fix != "" {
		rows = append(rows, line(t, w.Width, cell{"  " + t.Into + " ", look.Accent}, text(c.fix)))
	}
	for len(rows) < 1+s.listHeight(w)+detailRows {
		rows = append(rows, "")
	}
	return block(append(rows, s.numbers(w, w.Width)...), w.Height)
}

// mark is the verdict as a shape and a word.
func (c check) mark(t look.Theme) mark {
	switch c.verdict {
	case holds:
		return mark{t.Done, "well", look.Good}
	case breaks:
		return mark{t.Failed, "broken", look.Bad}
	case doubt:
		return mark{t.Alarm, "look", look.Warn}
	default:
		return mark{t.Absent, "open", look.Dim}
	}
}

// summary counts what is not well.
func (s *healthScreen) summary(World) cell {
	bad := 0
	for _, c := range s.checks {
		if c.verdict == breaks || c.verdict == doubt {
			bad++
		}
	}
	of := " of " + counted(len(s.checks), "check")
	if bad == 0 {
		return cell{"nothing is wrong" + of, look.Good}
	}
	return cell{counted(bad, "thing") + " to look at" + of, look.Warn}
}

// mostCauses is how many causes of failures are listed.
const mostCauses = 6

// numbers are why runs failed, and what they cost.
func (s *healthScreen) numbers(w World, width int) []string {
	t := w.Theme
	m, ok := Read(w.Data, MetricsQuery())
	if !ok {
		return []string{heading(t, width, "Failures"), emptyLine(w, []Key{MetricsQuery().Key}, false, "No run yet.")}
	}
	rows := []string{heading(t, width, "Failures", cell{fmt.Sprintf("of the newest %s", counted(m.Considered, "run")), look.Dim})}
	columns := []column{{width: 5, right: true}, {width: 10}, {width: 30, flex: 1}, {width: 12, keep: 1}, {width: 5, right: true}}
	widths := arrange(columns, width)
	for _, f := range m.Failures[:min(len(m.Failures), mostCauses)] {
		fault := cell{string(f.Fault), look.Dim}
		if f.PlatformFault {
			fault = cell{"platform", look.Warn}
		}
		rows = append(rows, rowOf(t, columns, widths, []cell{text(fmt.Sprint(f.Runs) + t.Times), fault, text(sentence(f.Cause)), {string(f.Stage), look.Dim}, {Ago(w.Now, f.LastAt), look.Dim}}))
	}
	if len(m.Failures) == 0 {
		rows = append(rows, line(t, width, cell{"  No run failed.", look.Dim}))
	}
	rows = append(rows, "", heading(t, width, "Spend", s.simulated(w)))
	rows = append(rows, line(t, width, text("  "+"by runs: "+dollars(m.Spend.Settled)+" settled, "+dollars(m.Spend.Reserved)+" reserved by those that live")))
	if n := len(m.Spend.ByDay); n > 0 {
		last := m.Spend.ByDay[n-1]
		rows = append(rows, line(t, width, cell{fmt.Sprintf("  last on %s UTC: %s", last.Day, dollars(last.Settled)), look.Dim}))
	}
	return rows
}

func (s *healthScreen) simulated(w World) cell {
	if b, _ := Read(w.Data, BudgetQuery()); b.Simulated {
		return cell{"simulated: nothing is spent", look.Note}
	}
	return cell{}
}
