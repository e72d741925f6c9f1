package screen

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/tui/nav"
)

// challenges is every challenge that is known.
func challenges(d *Data) []api.Challenge {
	all, _ := Read(d, ChallengesQuery())
	return all
}

// runsKeys names the runs of every challenge.
func runsKeys(d *Data) []Key {
	keys := []Key{ChallengesQuery().Key}
	for _, c := range challenges(d) {
		keys = append(keys, RunsQuery(c.ID).Key)
	}
	return keys
}

// boardKeys names the leaderboards of the challenges that have results.
func boardKeys(d *Data) []Key {
	var keys []Key
	for _, c := range challenges(d) {
		if c.Status != protocol.StatusPlanned {
			keys = append(keys, LeaderboardQuery(c.ID).Key)
		}
	}
	return keys
}

// listKinds are the answers that the listed runs are made from.
func listKinds() []kind { return []kind{kindChallenges, kindRuns} }

// runKinds are those, and what is known of runs that were read alone.
func runKinds() []kind { return append(listKinds(), kindRun) }

// resultKinds are those, and where results are ranked.
func resultKinds() []kind { return append(runKinds(), kindLeaderboard) }

// runIndex is every listed run, newest first, where each is, and which is the
// newest of its collection on its challenge.
type runIndex struct {
	all    []*api.Run
	at     map[string]int
	newest map[entryPair]*api.Run
}

// entryPair is a collection on a challenge.
type entryPair struct{ challenge, collection string }

func listedRuns(d *Data) runIndex {
	return memo(d, "listed", listKinds(), func() runIndex {
		var all []*api.Run
		for _, c := range challenges(d) {
			rows, _ := Read(d, RunsQuery(c.ID))
			for i := range rows.All {
				all = append(all, &rows.All[i])
			}
		}
		newest := func(a, b *api.Run) int {
			return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.RunID, a.RunID))
		}
		if !slices.IsSortedFunc(all, newest) {
			slices.SortStableFunc(all, newest)
		}
		index := runIndex{all, make(map[string]int, len(all)), map[entryPair]*api.Run{}}
		for i, r := range all {
			index.at[r.RunID] = i
			if pair := (entryPair{r.ChallengeID, r.EnvironmentID}); index.newest[pair] == nil {
				index.newest[pair] = r
			}
		}
		return index
	})
}

// allRuns is every known run, newest first, with all that is known of it. The
// caller must not change it.
func allRuns(d *Data) []*api.Run {
	return memo(d, "runs", runKinds(), func() []*api.Run {
		index := listedRuns(d)
		all := slices.Clone(index.all)
		for k := range d.entries { // few runs were read alone
			if i, ok := index.at[k.ID]; ok && k.kind == kindRun {
				fresh := d.fresher(*all[i])
				all[i] = &fresh
			}
		}
		return all
	})
}

// runByID is one known run.
func runByID(d *Data, id string) (api.Run, bool) {
	i, ok := listedRuns(d).at[id]
	if !ok {
		return api.Run{}, false
	}
	return *allRuns(d)[i], true
}

// fresher is a run of a list, or the same run as it was read by itself when that
// was later. Lists have no results.
func (d *Data) fresher(listed api.Run) api.Run {
	alone, inList := d.entries[RunQuery(listed.ChallengeID, listed.RunID).Key], d.entries[RunsQuery(listed.ChallengeID).Key]
	if alone == nil || alone.value == nil {
		return listed
	}
	whole, _ := alone.value.(api.Run)
	if inList != nil && inList.at.After(alone.at) && whole.Since.Before(listed.Since) {
		listed.Result = whole.Result
		return listed
	}
	return whole
}

// latest is the newest that is known about a run.
func latest(d *Data, challenge, run string) (api.Run, bool) {
	if r, ok := runByID(d, run); ok {
		return r, true
	}
	return Read(d, RunQuery(challenge, run))
}

// activeRun is the run that has not ended, if there is one: one that runs before
// one that waits.
func activeRun(d *Data) (api.Run, bool) {
	r := memo(d, "active", runKinds(), func() *api.Run {
		var waits *api.Run
		for _, r := range allRuns(d) {
			switch {
			case r.State.Ended():
			case r.State != protocol.RunQueued:
				return r
			case waits == nil:
				waits = r
			}
		}
		return waits
	})
	return deref(r), r != nil
}

// collectionsByID is every known collection. The caller must not change it.
func collectionsByID(d *Data) map[string]api.Environment {
	return memo(d, "collections", []kind{kindCollections}, func() map[string]api.Environment {
		rows, _ := Read(d, CollectionsQuery())
		all := make(map[string]api.Environment, len(rows.All))
		for _, e := range rows.All {
			all[e.ID] = e
		}
		return all
	})
}

// team is who made a collection, as people call them.
func team(of map[string]api.Environment, collection, author string) string {
	return or(of[collection].TeamName, author)
}

// shortID is the part of a run's or collection's id that tells it from others.
func shortID(id string) string {
	for _, prefix := range []string{"challenge-", "env-"} {
		if len(id) > len(prefix) && id[:len(prefix)] == prefix {
			return id[len(prefix):]
		}
	}
	return id
}

// collected reports whether a run's result was collected.
func collected(r *api.Run) bool { return r.Stage != nil && *r.Stage == protocol.StageCollect }

// maxProbes is how many runs are read at a time to find those with a pending
// result.
const maxProbes = 8

// pendingResults returns the known runs whose result waits for review, the
// oldest first, and the keys to read to know them all. The arena says how many
// are pending but not which: collected runs are read from the newest on until as
// many are found. A reviewed result never changes again, so each is read once.
// The caller must not change what it gets.
func pendingResults(d *Data) ([]api.Run, []Key) {
	p := memo(d, "pending", runKinds(), func() pendingRuns { return findPending(d) })
	return p.runs, p.keys
}

type pendingRuns struct {
	runs []api.Run
	keys []Key
}

func findPending(d *Data) (p pendingRuns) {
	for _, c := range challenges(d) {
		if c.Health == nil && c.Status == protocol.StatusPlanned {
			continue
		}
		want, known := 0, false
		if c.Health != nil {
			want, known = c.Health.PendingReviews, true
		}
		rows, _ := Read(d, RunsQuery(c.ID))
		found, probes := 0, 0
		for i := range rows.All {
			r := &rows.All[i]
			if !collected(r) || r.State != protocol.RunScored {
				continue
			}
			if known && found >= want || probes >= maxProbes {
				break
			}
			whole, ok := Read(d, RunQuery(c.ID, r.RunID))
			switch {
			case !ok || whole.Result == nil:
				probes++
				p.keys = append(p.keys, RunQuery(c.ID, r.RunID).Key)
			case whole.Result.Verification == protocol.Pending:
				found++
				p.runs = append(p.runs, whole)
				p.keys = append(p.keys, RunQuery(c.ID, r.RunID).Key)
			}
		}
	}
	slices.SortStableFunc(p.runs, func(a, b api.Run) int {
		return cmp.Or(a.Result.CollectedAt.Compare(b.Result.CollectedAt), cmp.Compare(a.RunID, b.RunID))
	})
	return p
}

// Waiting is the number of results that wait for review.
func Waiting(d *Data) int {
	n := 0
	for _, c := range challenges(d) {
		if c.Health != nil {
			n += c.Health.PendingReviews
		}
	}
	return n
}

// measured is what is known of a run's result without reading the run itself.
type measured struct {
	delta, stderr float64
	verification  protocol.Verification
}

// results is what is known about the results of all runs, by run. The caller must
// not change it.
func results(d *Data) map[string]measured {
	return memo(d, "results", resultKinds(), func() map[string]measured {
		all := map[string]measured{}
		for _, c := range challenges(d) {
			board, _ := Read(d, LeaderboardQuery(c.ID))
			for _, row := range board.Rows {
				for i, run := range row.RunIDs {
					if i < len(row.RunDeltasPP) {
						all[run] = measured{delta: row.RunDeltasPP[i], verification: protocol.Valid}
					}
				}
			}
		}
		for _, r := range allRuns(d) {
			if r.Result != nil {
				all[r.RunID] = measured{r.Result.DeltaPP, r.Result.StderrPP, r.Result.Verification}
			}
		}
		return all
	})
}

// medianStages is the median duration of each stage over the ended runs of a
// challenge that passed it, with their number.
func medianStages(d *Data, challenge string) map[protocol.Stage]time.Duration {
	return memo(d, "stages of "+challenge, []kind{kindRuns}, func() map[protocol.Stage]time.Duration { return countStages(d, challenge) })
}

func countStages(d *Data, challenge string) map[protocol.Stage]time.Duration {
	rows, _ := Read(d, RunsQuery(challenge))
	took := map[protocol.Stage][]time.Duration{}
	for i := range rows.All {
		r := &rows.All[i]
		if r.State != protocol.RunScored {
			continue
		}
		for _, s := range r.Stages {
			if s.StartedAt != nil && s.EndedAt != nil {
				took[s.Stage] = append(took[s.Stage], s.EndedAt.Sub(*s.StartedAt))
			}
		}
	}
	median := map[protocol.Stage]time.Duration{}
	for stage, all := range took {
		slices.Sort(all)
		median[stage] = all[len(all)/2]
	}
	return median
}

// Object is something that can be opened by name.
type Object struct {
	Title string
	Route nav.Route
}

// maxObjects bounds how many of a kind can be opened by name.
const maxObjects = 500

// Objects is everything that is known and can be opened: runs, collections,
// leaderboards.
func Objects(w World) []Object {
	var all []Object
	of := collectionsByID(w.Data)
	for _, c := range challenges(w.Data) {
		all = append(all, Object{"Leaderboard of " + c.ID, nav.Route{Place: nav.Leaderboard, Challenge: c.ID}})
	}
	runs := allRuns(w.Data)
	for _, r := range runs[:min(len(runs), maxObjects)] {
		all = append(all, Object{
			fmt.Sprintf("Run %s, %s, %s on %s", shortID(r.RunID), runMark(w.Theme, *r).word, team(of, r.EnvironmentID, r.Author), r.ChallengeID),
			nav.Route{Place: nav.Run, Challenge: r.ChallengeID, Run: r.RunID},
		})
	}
	rows, _ := Read(w.Data, CollectionsQuery())
	for _, e := range rows.All[:min(len(rows.All), maxObjects)] {
		all = append(all, Object{
			fmt.Sprintf("Collection %s by %s, %s", or(e.Title, e.ID), or(e.TeamName, e.Author), shortID(e.ID)),
			nav.Route{Place: nav.Collection, Challenge: deref(e.TargetChallengeID), Collection: e.ID},
		})
	}
	return all
}
