package screen

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/tui/look"
	"github.com/posttrainarena/arena/tui/nav"
)

// todo is something that waits for a person.
type todo struct {
	id    string
	rank  int // the lower, the more it hurts to wait
	mark  mark
	what  string
	why   string
	since time.Time
	route nav.Route
	run   *api.Run // the run that it is about; nil for none
}

// How long things may take before a person should look.
const (
	failedFor    = 72 * time.Hour   // a platform's failure is shown this long
	queuedFor    = 15 * time.Minute // a job usually begins sooner
	stalledTimes = 2                // a stage that takes so many times the median is stalled
	stalledLeast = 20 * time.Minute
)

// todos is the queue of what needs a person, the most pressing first, and of one
// kind the oldest first.
func todos(w World) []todo {
	var all []todo
	sources := collectionsByID(w.Data)
	if st := w.Data.Standing(ReadyQuery().Key); st.Age == Lost && w.Data.Link().Up {
		all = append(all, todo{id: "ready", rank: 0, mark: mark{w.Theme.Alarm, "arena", look.Bad}, what: "The arena takes no writes", why: sentence(st.Err.Error()), since: w.Data.Link().Since})
	}
	pending, _ := pendingResults(w.Data)
	for i := range pending {
		r := &pending[i]
		why := team(sources, r.EnvironmentID, r.Author) + " on " + r.ChallengeID
		if note := claimNote(w, *r.Result); note != "" {
			why = note + ", " + why
		}
		all = append(all, todo{
			id: "review:" + r.RunID, rank: 1, mark: mark{w.Theme.Pending, "review", look.Warn},
			what: fmt.Sprintf("%s %s %s %s pp", w.Theme.Delta, points(r.Result.DeltaPP), w.Theme.PlusMinus, fixed(r.Result.StderrPP)),
			why:  why, since: r.Result.CollectedAt,
			route: nav.Route{Place: nav.Review, Challenge: r.ChallengeID, Run: r.RunID}, run: r,
		})
	}
	for _, r := range unsettledRuns(w.Data) {
		if t, ok := runTodo(w, r); ok {
			t.why = or(t.why, team(sources, r.EnvironmentID, r.Author)+" on "+r.ChallengeID)
			all = append(all, t)
		}
	}
	all = append(all, challengeTodos(w)...)
	all = append(all, doctorTodos(w)...)
	if t, ok := gatesTodo(w); ok {
		all = append(all, t)
	}
	slices.SortStableFunc(all, func(a, b todo) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), a.since.Compare(b.since), cmp.Compare(a.id, b.id))
	})
	return all
}

// fixed is a number with one place.
func fixed(f float64) string { return fmt.Sprintf("%.1f", f) }

// unsettledRuns are the runs that may need a person: few, whatever the number of
// those that have gone as they should.
func unsettledRuns(d *Data) []*api.Run {
	return memo(d, "unsettled", runKinds(), func() []*api.Run {
		var few []*api.Run
		for _, r := range allRuns(d) {
			if !r.State.Ended() || r.State == protocol.RunScored && !collected(r) || r.State == protocol.RunFailed && r.PlatformFault {
				few = append(few, r)
			}
		}
		return few
	})
}

// runTodo says what a run needs of a person. A failure needs nothing any more
// once the collection ran again.
func runTodo(w World, r *api.Run) (todo, bool) {
	t := todo{since: r.Since, run: r}
	switch {
	case r.UnreachableSince != nil && !r.State.Ended():
		t.rank, t.mark, t.what, t.since = 2, mark{w.Theme.Alarm, "silent", look.Bad}, "The provider does not answer", *r.UnreachableSince
	case r.State == protocol.RunScored && !collected(r):
		t.rank, t.mark, t.what = 4, mark{w.Theme.Done, "collect", look.Warn}, "Scored, to be collected"
	case r.State == protocol.RunQueued && w.Now.Sub(r.Since) > queuedFor:
		t.rank, t.mark, t.what = 3, mark{w.Theme.Waiting, "queued", look.Warn}, or(sentence(deref(r.BlockedBy)), "Queued, not begun")
	case r.State == protocol.RunRunning && stalled(w, *r) != "":
		t.rank, t.mark, t.what = 3, mark{w.Theme.Stale, "stalled", look.Warn}, stalled(w, *r)
	case r.State == protocol.RunFailed && r.PlatformFault && w.Now.Sub(r.Since) < failedFor && newest(w.Data, r):
		t.rank, t.mark, t.what, t.why = 5, mark{w.Theme.Alarm, "failed", look.Bad}, "Failed on the platform", sentence(deref(r.Reason))
	default:
		return t, false
	}
	t.id, t.route = "run:"+r.RunID, nav.Route{Place: nav.Run, Challenge: r.ChallengeID, Run: r.RunID}
	return t, true
}

// newest reports whether no later run of the same collection is known.
func newest(d *Data, r *api.Run) bool {
	last := listedRuns(d).newest[entryPair{r.ChallengeID, r.EnvironmentID}]
	return last == nil || last.RunID == r.RunID
}

// stalled says that a run's stage takes much longer than it does in other runs,
// empty when it does not.
func stalled(w World, r api.Run) string {
	if len(r.Stages) == 0 {
		return ""
	}
	s := r.Stages[len(r.Stages)-1]
	usual := medianStages(w.Data, r.ChallengeID)[s.Stage]
	if s.StartedAt == nil || s.EndedAt != nil || usual == 0 {
		return ""
	}
	if took := w.Now.Sub(*s.StartedAt); took > stalledLeast && took > stalledTimes*usual {
		return fmt.Sprintf("%s takes %s, usually %s", s.Stage, coarse(took), coarse(usual))
	}
	return ""
}

// How many collections are looked at for gate results, and for how long they are
// waited for.
const (
	mostUngated = 8
	ungatedFor  = 14 * 24 * time.Hour
)

// gated are the newest collections of which gate results are to be expected.
func gated(w World) []api.Environment {
	open := map[string]bool{}
	for _, c := range challenges(w.Data) {
		open[c.ID] = c.Status == protocol.StatusOpen
	}
	rows, _ := Read(w.Data, CollectionsQuery())
	var all []api.Environment
	for _, e := range rows.All {
		if open[deref(e.TargetChallengeID)] && e.EligibleTasks > 0 && w.Now.Sub(e.CreatedAt) < ungatedFor && len(all) < mostUngated {
			all = append(all, e)
		}
	}
	return all
}

// gatedKeys ask what is attached to those.
func gatedKeys(w World) []Key {
	var keys []Key
	for _, e := range gated(w) {
		keys = append(keys, GatesQuery(*e.TargetChallengeID, e.ID).Key)
	}
	return keys
}

// doctorTodos are what the arena's doctor found wrong with its database, its
// backups and its machine.
func doctorTodos(w World) []todo {
	d, _ := Read(w.Data, DoctorQuery())
	var all []todo
	for _, f := range d.Checks {
		t := todo{id: "doctor:" + f.Check, what: f.Check, why: sentence(f.Detail), route: nav.Route{Place: nav.Health}}
		switch diagnosed(f.Status) {
		case breaks:
			t.rank, t.mark = 2, mark{w.Theme.Alarm, "doctor", look.Bad}
		case doubt:
			t.rank, t.mark = 6, mark{w.Theme.Alarm, "doctor", look.Warn}
		default:
			continue
		}
		all = append(all, t)
	}
	return all
}

// gatesTodo says which of the newest collections wait for gate results, in one row:
// they are the least pressing.
func gatesTodo(w World) (todo, bool) {
	var wait []api.Environment
	for _, e := range gated(w) {
		if g, ok := Read(w.Data, GatesQuery(*e.TargetChallengeID, e.ID)); ok && g.Verdict == nil {
			wait = append(wait, e)
		}
	}
	if len(wait) == 0 {
		return todo{}, false
	}
	oldest := wait[len(wait)-1]
	return todo{
		id: "gates", rank: 7, mark: mark{w.Theme.Waiting, "gates", look.Dim}, what: fmt.Sprintf("%d without gate results", len(wait)),
		why: "the oldest is " + or(oldest.Title, oldest.ID), since: oldest.CreatedAt,
		route: nav.Route{Place: nav.Collection, Challenge: *oldest.TargetChallengeID, Collection: oldest.ID},
	}, true
}

// challengeTodos are open challenges that take no runs although nobody paused
// them and no run is in the way.
func challengeTodos(w World) []todo {
	var all []todo
	for _, c := range challenges(w.Data) {
		if c.Status != protocol.StatusOpen || c.Health == nil || c.Health.AcceptingRuns || c.RunsPaused != nil || c.Health.ActiveRun != nil {
			continue
		}
		all = append(all, todo{
			id: "challenge:" + c.ID, rank: 6, mark: mark{w.Theme.Stopped, "closed", look.Warn}, what: c.ID + " takes no runs",
			why: sentence(deref(c.Health.Reason)), route: nav.Route{Place: nav.Leaderboard, Challenge: c.ID},
		})
	}
	return all
}

// cells draws a todo in columns.
func (t todo) cells(w World) []cell {
	return []cell{t.mark.cell(), {t.what, look.Plain}, {t.why, look.Dim}, {shortID(deref(t.run).RunID), look.Dim}, {Ago(w.Now, t.since), look.Dim}}
}

func todoColumns() []column {
	return []column{
		{width: 9}, {width: 22, flex: 2}, {width: 20, flex: 3}, {width: 12, keep: 1}, {width: 4, right: true},
	}
}
