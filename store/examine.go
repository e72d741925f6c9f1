package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// Examination is what a database says about its own health: numbers and ids to
// judge, no judgement. Lists of ids hold at most maxExamined each.
type Examination struct {
	Schema      int
	JournalMode string
	Bytes       int64 // of the database file
	WALBytes    int64 // of its write-ahead log
	FreePages   int64
	Pages       int64

	Ledger      protocol.Ledger // Settled, Live and Recorded, as launches see them
	Recount     protocol.Ledger // the same, added up run by run
	BadBills    []string        // runs whose settled amount is not what their ended job was billed
	OpenBills   []string        // ended runs whose job has no end
	LostRuns    []string        // results of runs that are not scored
	NoJob       []string        // live runs without a job
	OldestNoJob time.Time       // zero when there are none
	Overdue     []string        // live runs beyond their timeout and an hour
	Unreachable []string        // live runs whose provider does not answer
	Cancelling  []string        // live runs that were to be canceled an hour ago
	Uncollected int             // scored runs without a result
	Pending     int             // results without a review
	LongestWait time.Time       // when the oldest of them was collected; zero when there are none

	LogGaps      []string // runs whose log chunks do not follow each other, or do not add up
	LooseBlobs   int      // bodies that no tree refers to
	BrokenTrees  []string // trees with fewer files than they say
	BadBlobs     []string // of a sample: bodies that do not have their hash
	SampledBlobs int

	Tokens       int // that work
	EditorTokens int
	Sessions     int // that have not expired
	OldSessions  int // that have

	Newest    time.Time // of events and audit rows
	Audit     int64     // number of the newest audit row
	AuditHole bool      // numbers are missing
	EventHole bool
}

const maxExamined = 20

// sampledBlobs is how many bodies Examine reads again.
const sampledBlobs = 32

// Examine looks at the records of the database. It reads indexes and a few
// bodies, not every page: Integrity and VerifyAudit do that.
func (s *Store) Examine(ctx context.Context) (e Examination, err error) {
	e.Schema = s.schema
	if e.Bytes, e.WALBytes, _, err = s.Disk(); err != nil {
		return e, fmt.Errorf("ask about the disk: %w", err)
	}
	err = s.view(ctx, "examine the database", func(t *tx) error {
		for _, look := range []func(context.Context, *Examination) error{
			t.examinePages, t.examineLedger, t.examineRuns, t.examineResults, t.examineLogs, t.examineTrees, t.examinePeople, t.examineHistory,
		} {
			if err := look(ctx, &e); err != nil {
				return err
			}
		}
		e.SampledBlobs, e.BadBlobs, err = s.sampleBlobs(ctx, t)
		return err
	})
	return e, err
}

func (t *tx) examinePages(ctx context.Context, e *Examination) error {
	for query, to := range map[string]any{"PRAGMA journal_mode": &e.JournalMode, "PRAGMA page_count": &e.Pages, "PRAGMA freelist_count": &e.FreePages} {
		if err := t.QueryRowContext(ctx, query).Scan(to); err != nil {
			return fmt.Errorf("%s: %w", query, err)
		}
	}
	return nil
}

// examineLedger adds the ledger up in a second way: row by row, here.
func (t *tx) examineLedger(ctx context.Context, e *Examination) (err error) {
	if e.Ledger, err = t.sums(ctx); err != nil {
		return err
	}
	rows, err := t.QueryContext(ctx, "SELECT r.id, r.reserved, r.settled, j.billed, j.id IS NOT NULL, j.ended IS NOT NULL FROM runs r LEFT JOIN jobs j ON j.run = r.id")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var reserved protocol.Micros
		var settled, billed *protocol.Micros
		var job, ended bool
		if err := rows.Scan(&id, &reserved, &settled, &billed, &job, &ended); err != nil {
			return err
		}
		if settled == nil {
			e.Recount.Live += reserved
		} else {
			e.Recount.Settled += *settled
			if job && !ended && len(e.OpenBills) < maxExamined {
				e.OpenBills = append(e.OpenBills, id)
			}
			if billed != nil && *billed != *settled && len(e.BadBills) < maxExamined {
				e.BadBills = append(e.BadBills, id)
			}
		}
		if billed != nil {
			e.Recount.Recorded += *billed
		}
	}
	return rows.Err()
}

// ids reads a list of ids. The query ends with a limit of maxExamined.
func (t *tx) ids(ctx context.Context, to *[]string, query string, args ...any) error {
	rows, err := t.QueryContext(ctx, query, append(args, maxExamined)...)
	*to, err = many(rows, err, func(r scanner) (id string, err error) { return id, r.Scan(&id) })
	return err
}

func (t *tx) examineRuns(ctx context.Context, e *Examination) error {
	const live = "r.id = " + liveRun
	hourAgo := micros(t.now.Add(-time.Hour))
	for _, q := range []struct {
		to    *[]string
		query string
		args  []any
	}{
		{&e.NoJob, "SELECT r.id FROM runs r LEFT JOIN jobs j ON j.run = r.id WHERE " + live + " AND j.id IS NULL ORDER BY r.created LIMIT ?", nil},
		{&e.Overdue, "SELECT r.id FROM runs r JOIN jobs j ON j.run = r.id WHERE " + live + " AND j.started + r.timeout < ? LIMIT ?", []any{hourAgo}},
		{&e.Unreachable, "SELECT r.id FROM runs r WHERE " + live + " AND r.unreachable_from IS NOT NULL LIMIT ?", nil},
		{&e.Cancelling, "SELECT r.id FROM runs r WHERE " + live + " AND r.cancel_asked < ? LIMIT ?", []any{hourAgo}},
		{&e.LostRuns, "SELECT s.run FROM results s JOIN runs r ON r.id = s.run WHERE r.state <> 'scored' LIMIT ?", nil},
	} {
		if err := t.ids(ctx, q.to, q.query, q.args...); err != nil {
			return err
		}
	}
	return t.QueryRowContext(ctx, "SELECT min(r.created) FROM runs r LEFT JOIN jobs j ON j.run = r.id WHERE "+live+" AND j.id IS NULL").Scan(maybeTime{&e.OldestNoJob})
}

func (t *tx) examineResults(ctx context.Context, e *Examination) error {
	if err := t.QueryRowContext(ctx, "SELECT count(*) FROM runs r WHERE r.state = 'scored' AND NOT EXISTS (SELECT 1 FROM results s WHERE s.run = r.id)").Scan(&e.Uncollected); err != nil {
		return err
	}
	return t.QueryRowContext(ctx, "SELECT count(*), min(collected) FROM results WHERE verification = 'pending'").Scan(&e.Pending, maybeTime{&e.LongestWait})
}

// examineLogs requires that the chunks of each log follow each other from line 1
// and byte 0, and add up to what the run says.
func (t *tx) examineLogs(ctx context.Context, e *Examination) error {
	return t.ids(ctx, &e.LogGaps, `WITH c AS (
  SELECT run, first_line, first_byte, lines, bytes,
    lag(first_line + lines, 1, 1) OVER w AS line, lag(first_byte + bytes, 1, 0) OVER w AS byte FROM log_chunks WINDOW w AS (PARTITION BY run ORDER BY first_line))
SELECT run FROM c WHERE first_line <> line OR first_byte <> byte
UNION
SELECT id FROM runs LEFT JOIN (SELECT run, sum(lines) AS lines FROM log_chunks GROUP BY run) ON run = id WHERE coalesce(lines, 0) <> log_lines
LIMIT ?`)
}

func (t *tx) examineTrees(ctx context.Context, e *Examination) error {
	if err := t.QueryRowContext(ctx, "SELECT count(*) FROM blobs b WHERE NOT EXISTS (SELECT 1 FROM tree_files f WHERE f.blob = b.id)").Scan(&e.LooseBlobs); err != nil {
		return err
	}
	return t.ids(ctx, &e.BrokenTrees, "SELECT kind || ' ' || name FROM trees t WHERE files <> (SELECT count(*) FROM tree_files f WHERE f.tree = t.id) LIMIT ?")
}

func (t *tx) examinePeople(ctx context.Context, e *Examination) error {
	if err := t.QueryRowContext(ctx, "SELECT count(*), coalesce(sum(editor), 0) FROM tokens WHERE revoked IS NULL").Scan(&e.Tokens, &e.EditorTokens); err != nil {
		return err
	}
	return t.QueryRowContext(ctx, "SELECT coalesce(sum(expires > ?), 0), coalesce(sum(expires <= ?), 0) FROM sessions", micros(t.now), micros(t.now)).Scan(&e.Sessions, &e.OldSessions)
}

func (t *tx) examineHistory(ctx context.Context, e *Examination) error {
	var audit, events, auditRows, numbered, eventRows, lastEvent int64
	err := t.QueryRowContext(ctx, `SELECT (SELECT coalesce(max(at), 0) FROM audit), (SELECT coalesce(max(at), 0) FROM events),
  (SELECT count(*) FROM audit), (SELECT coalesce(max(seq), 0) FROM audit), (`+auditNumbered+`), (SELECT count(*) FROM events), (SELECT coalesce(max(seq), 0) FROM events)`).
		Scan(&audit, &events, &auditRows, &e.Audit, &numbered, &eventRows, &lastEvent)
	if newest := max(audit, events); newest > 0 {
		e.Newest = time.UnixMicro(newest).UTC()
	}
	e.AuditHole, e.EventHole = auditRows != e.Audit || e.Audit < numbered, eventRows != lastEvent
	return err
}

// sampleBlobs reads some bodies again, spread over all of them and none large,
// and names those that do not have their hash.
func (s *Store) sampleBlobs(ctx context.Context, t *tx) (read int, bad []string, err error) {
	type body struct {
		id     int64
		sha256 []byte
	}
	rows, err := t.QueryContext(ctx, `SELECT id, sha256 FROM (SELECT id, sha256, row_number() OVER (ORDER BY id) AS n, count(*) OVER () AS all_of FROM blobs WHERE sha256 IS NOT NULL AND size <= ?)
WHERE n % max(1, all_of / ?) = 0 LIMIT ?`, blobPiece, sampledBlobs, sampledBlobs)
	sample, err := many(rows, err, func(r scanner) (b body, err error) { return b, r.Scan(&b.id, &b.sha256) })
	for _, b := range sample {
		h := sha256.New()
		rows, err := t.QueryContext(ctx, "SELECT body FROM blob_chunks WHERE blob = ? ORDER BY n", b.id)
		pieces, err := many(rows, err, func(r scanner) (piece []byte, err error) { return piece, r.Scan(&piece) })
		if err != nil {
			return read, bad, err
		}
		whole := true
		for _, p := range pieces {
			plain, err := s.unpack.DecodeAll(p, nil)
			whole = whole && err == nil
			h.Write(plain)
		}
		if !whole || !bytes.Equal(h.Sum(nil), b.sha256) {
			bad = append(bad, fmt.Sprintf("%x", b.sha256))
		}
	}
	return len(sample), bad, err
}

// WriteQueue says how changes have waited for their turn since the store was
// opened: how many did, and for how long in all.
func (s *Store) WriteQueue() (waited int64, total time.Duration) {
	s.group.mu.Lock()
	defer s.group.mu.Unlock()
	return s.group.waited, s.group.total
}

// Disk says how large the database and its write-ahead log are, and how many
// bytes are free beside them.
func (s *Store) Disk() (database, wal, free int64, err error) {
	for name, size := range map[string]*int64{DatabaseName: &database, DatabaseName + "-wal": &wal} {
		if info, err := os.Stat(filepath.Join(s.dir, name)); err == nil {
			*size = info.Size()
		}
	}
	free, err = s.freeSpace(s.dir)
	return database, wal, free, err
}
