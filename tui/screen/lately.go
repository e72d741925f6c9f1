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

// happening is something that happened, as the objects themselves tell it.
// Events only wake the dashboard; what they are about is read again, so that
// this list is the same after a restart.
type happening struct {
	id    string
	at    time.Time
	mark  mark
	what  string
	route nav.Route
	run   *api.Run // the run that it is about; nil for none
}

// maxHappenings is how many are kept.
const maxHappenings = 200

// lately is what happened last, newest first.
func lately(w World) []happening {
	var all []happening
	sources := collectionsByID(w.Data)
	for i, r := range allRuns(w.Data) {
		if i == maxHappenings {
			break
		}
		all = append(all, runHappenings(w, sources, r)...)
	}
	for _, e := range sources {
		all = append(all, happening{
			id: "collection:" + e.ID, at: e.CreatedAt, mark: mark{w.Theme.Dot, "submitted", look.Plain},
			what:  fmt.Sprintf("%s by %s, %d of %s eligible", or(e.Title, e.ID), or(e.TeamName, e.Author), e.EligibleTasks, counted(e.TaskCount, "task")),
			route: nav.Route{Place: nav.Collection, Challenge: deref(e.TargetChallengeID), Collection: e.ID},
		})
	}
	messages, _ := Read(w.Data, MessagesQuery())
	for i, m := range messages.All {
		if i == maxHappenings {
			break
		}
		all = append(all, happening{
			id: "message:" + m.Filename, at: m.CreatedAt, mark: mark{w.Theme.Dot, "message", look.Note},
			what: or(deref(m.AgentID), m.Author) + ": " + sentence(m.Body), route: nav.Route{Place: nav.Message, Message: m.Filename},
		})
	}
	slices.SortFunc(all, func(a, b happening) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.id, b.id)) })
	return all[:min(len(all), maxHappenings)]
}

// runHappenings tells the life of a run.
func runHappenings(w World, sources map[string]api.Environment, r *api.Run) []happening {
	t := w.Theme
	who := team(sources, r.EnvironmentID, r.Author)
	add := func(all []happening, id string, at time.Time, m mark, what string) []happening {
		return append(all, happening{
			id: id + ":" + r.RunID, at: at, mark: m, what: what, run: r,
			route: nav.Route{Place: nav.Run, Challenge: r.ChallengeID, Run: r.RunID},
		})
	}
	all := add(nil, "launched", r.CreatedAt, mark{t.Waiting, "launched", look.Dim}, fmt.Sprintf("%s on %s by %s", who, r.ChallengeID, r.LaunchedBy))
	for _, s := range r.Stages {
		if s.StartedAt != nil && s.Stage != protocol.StageSetup && s.Stage != protocol.StageSnapshot {
			all = add(all, string(s.Stage), *s.StartedAt, mark{t.Working, "reached", look.Dim}, fmt.Sprintf("%s, %s", s.Stage, who))
		}
	}
	if r.State.Ended() {
		m := runMark(t, *r)
		what := who
		if reason := sentence(deref(r.Reason)); reason != "" {
			what += ": " + reason
		}
		all = add(all, "ended", or1(r.EndedAt, r.Since), m, what)
	}
	whole, ok := Read(w.Data, RunQuery(r.ChallengeID, r.RunID))
	if !ok || whole.Result == nil {
		return all
	}
	res := *whole.Result
	all = add(all, "collected", res.CollectedAt, mark{t.Pending, "collected", look.Warn}, fmt.Sprintf("%s pp for %s", points(res.DeltaPP), who))
	if res.ReviewedAt != nil {
		all = add(all, "reviewed", *res.ReviewedAt, resultMark(t, res.Verification), fmt.Sprintf("%s pp for %s by %s", points(res.DeltaPP), who, deref(res.ReviewedBy)))
	}
	return all
}

func or1(t *time.Time, other time.Time) time.Time {
	if t != nil {
		return *t
	}
	return other
}
