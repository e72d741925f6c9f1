package store

import (
	"context"

	"github.com/posttrainarena/arena/gates/report"
	"github.com/posttrainarena/arena/protocol"
)

const briefColumns = "id, author, agent, track, challenge, repo_type, repo_id, revision, entry_path, title, team, tasks, " + briefStatic + ", created"

func scanBrief(r scanner) (c protocol.CollectionBrief, err error) {
	var static report.Report
	err = r.Scan(&c.ID, &c.Author, maybeText{&c.AgentID}, &c.Track, &c.TargetChallenge,
		&c.Source.RepoType, &c.Source.RepoID, &c.Source.Revision, &c.Source.EntryPath,
		&c.Title, &c.TeamName, &c.TaskCount, asJSON{&static}, instant{&c.CreatedAt})
	c.Summary = static.Summary
	return c, err
}

// CollectionBriefs lists the collections that a filter selects, newest first.
func (s *Store) CollectionBriefs(ctx context.Context, want protocol.CollectionFilter, page protocol.Page) (rows []protocol.CollectionBrief, next string, err error) {
	f := collectionFilter(want)
	err = s.view(ctx, "list collections in brief", func(t *tx) error {
		rows, next, err = list(ctx, t, page, listQuery[protocol.CollectionBrief]{
			name: "collections", columns: briefColumns, from: "collections", at: "created", id: "id", where: f, scan: scanBrief,
			key: func(c protocol.CollectionBrief) (int64, string) { return micros(c.CreatedAt), c.ID },
		})
		return err
	})
	return rows, next, err
}

// tallyRow is one group of a collection's runs.
type tallyRow struct {
	collection               string
	state                    protocol.RunState
	runs                     int
	pending, valid, rejected int
}

// CollectionTallies says what became of the runs of collections, by id. A
// collection without runs has an empty tally.
func (s *Store) CollectionTallies(ctx context.Context, collections []string) (map[string]protocol.CollectionTally, error) {
	all := make(map[string]protocol.CollectionTally, len(collections))
	for _, id := range collections {
		all[id] = protocol.CollectionTally{Runs: map[protocol.RunState]int{}}
	}
	err := s.view(ctx, "tally the runs of collections", func(t *tx) error {
		if err := t.tallyStates(ctx, collections, all); err != nil {
			return err
		}
		return t.tallyLatest(ctx, collections, all)
	})
	return all, err
}

// tallyStates asks for the index because SQLite prefers the unique one, from which
// it has to read rows whose score is long.
func (t *tx) tallyStates(ctx context.Context, ids []string, all map[string]protocol.CollectionTally) error {
	rows, err := t.QueryContext(ctx, `SELECT r.collection, r.state, count(*), coalesce(sum(s.verification = 'pending'), 0),
  coalesce(sum(s.verification = 'valid'), 0), coalesce(sum(s.verification = 'rejected'), 0)
  FROM runs r LEFT JOIN results s INDEXED BY results_in_lists ON s.run = r.id WHERE r.collection IN (SELECT value FROM json_each(?)) GROUP BY r.collection, r.state`, asJSON{present(ids)})
	groups, err := many(rows, err, func(row scanner) (g tallyRow, err error) {
		return g, row.Scan(&g.collection, &g.state, &g.runs, &g.pending, &g.valid, &g.rejected)
	})
	for _, g := range groups {
		c := all[g.collection]
		c.Runs[g.state] += g.runs
		c.Pending, c.Valid, c.Rejected = c.Pending+g.pending, c.Valid+g.valid, c.Rejected+g.rejected
		all[g.collection] = c
	}
	return err
}

func (t *tx) tallyLatest(ctx context.Context, ids []string, all map[string]protocol.CollectionTally) error {
	// With a single max() SQLite takes the other columns from the row that has it.
	rows, err := t.QueryContext(ctx, `SELECT collection, id, challenge, state, stage, max(created) FROM runs
  WHERE collection IN (SELECT value FROM json_each(?)) GROUP BY collection`, asJSON{present(ids)})
	type latest struct {
		collection string
		protocol.RunBrief
	}
	found, err := many(rows, err, func(row scanner) (l latest, err error) {
		return l, row.Scan(&l.collection, &l.ID, &l.Challenge, &l.State, &l.Stage, instant{&l.CreatedAt})
	})
	for _, l := range found {
		c := all[l.collection]
		c.Latest = &l.RunBrief
		all[l.collection] = c
	}
	return err
}

// RunCounts groups the runs of a challenge, or of every one when it is empty, by
// how they are or ended.
func (s *Store) RunCounts(ctx context.Context, challenge string) (all []protocol.RunCount, err error) {
	var f filter
	f.equal("r.challenge", challenge)
	err = s.view(ctx, "count runs", func(t *tx) error {
		rows, err := t.QueryContext(ctx, `SELECT r.state, r.stage, r.fault, j.id IS NOT NULL, count(*), coalesce(sum(r.settled), 0),
  coalesce(sum(CASE WHEN r.settled IS NULL THEN r.reserved END), 0)
  FROM runs r LEFT JOIN jobs j ON j.run = r.id`+f.where()+" GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4", f.args...)
		all, err = many(rows, err, func(row scanner) (c protocol.RunCount, err error) {
			return c, row.Scan(&c.State, &c.Stage, &c.Fault, &c.Launched, &c.Runs, &c.Settled, &c.Reserved)
		})
		return err
	})
	return all, err
}

// DailySpend is what the runs of a challenge, or of every one when it is empty,
// were settled with on each of the last days on which any was, oldest first.
func (s *Store) DailySpend(ctx context.Context, challenge string, days int) (all []protocol.DaySpend, err error) {
	var f filter
	f.conditions = append(f.conditions, "settled IS NOT NULL")
	f.equal("challenge", challenge)
	err = s.view(ctx, "add up what days cost", func(t *tx) error {
		rows, err := t.QueryContext(ctx, `SELECT * FROM (SELECT strftime('%Y-%m-%d', settled_at / 1000000, 'unixepoch') AS day, count(*), sum(settled) FROM runs`+
			f.where()+" GROUP BY day ORDER BY day DESC LIMIT ?) ORDER BY day", append(f.args, days)...)
		all, err = many(rows, err, func(row scanner) (d protocol.DaySpend, err error) {
			return d, row.Scan(&d.Day, &d.Runs, &d.Settled)
		})
		return err
	})
	return all, err
}

// ScorePoints are the newest results of a challenge, or of every one when it is
// empty, oldest first.
func (s *Store) ScorePoints(ctx context.Context, challenge string, limit int) (all []protocol.ScorePoint, err error) {
	var f filter
	f.equal("r.challenge", challenge)
	err = s.view(ctx, "list scores", func(t *tx) error {
		rows, err := t.QueryContext(ctx, `SELECT * FROM (SELECT s.run, r.challenge, r.collection, s.collected, s.score, s.verification FROM results s JOIN runs r ON r.id = s.run`+
			f.where()+" ORDER BY s.collected DESC, s.run DESC LIMIT ?) ORDER BY 4, 1", append(f.args, limit)...)
		all, err = many(rows, err, func(row scanner) (p protocol.ScorePoint, err error) {
			var score protocol.Score
			err = row.Scan(&p.Run, &p.Challenge, &p.Collection, instant{&p.At}, asJSON{&score}, &p.Verification)
			p.Baseline, p.After, p.DeltaPP, p.StderrPP = score.BaselinePassRate, score.AfterPassRate, score.DeltaPP, score.StderrPP
			return p, err
		})
		return err
	})
	return all, err
}
