package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/posttrainarena/arena/protocol"
)

const auditColumns = "seq, at, actor, action, object, request_id, state_before, state_after"

func scanAudit(r scanner) (a protocol.Audit, err error) {
	return a, r.Scan(&a.Seq, instant{&a.At}, &a.Actor, &a.Action, &a.Object, &a.RequestID, &a.Before, &a.After)
}

// Audit lists the audit trail, newest first.
func (s *Store) Audit(ctx context.Context, page protocol.Page) (rows []protocol.Audit, next string, err error) {
	err = s.view(ctx, "read the audit trail", func(t *tx) error {
		rows, next, err = list(ctx, t, page, listQuery[protocol.Audit]{
			name: "audit", columns: auditColumns, from: "audit", at: "seq", id: "''", scan: scanAudit,
			key: func(a protocol.Audit) (int64, string) { return a.Seq, "" },
		})
		return err
	})
	return rows, next, err
}

// change is what an audit row says about one change.
type change struct {
	by            protocol.Actor
	action        string
	object        string // kind:id
	before, after any    // nil where there was or is nothing
}

// OverlapSeen records that somebody was told that a collection overlaps with a
// sealed suite: how many findings of each code, never which task. Such answers
// could be used to guess a suite one task at a time, so each leaves a trace.
func (s *Store) OverlapSeen(ctx context.Context, by protocol.Actor, source protocol.Source, found map[string]int) error {
	return s.update(ctx, "record an overlap answer for "+by.Name, func(t *tx) error {
		object := "source:" + string(source.RepoType) + ":" + source.RepoID + "@" + source.Revision
		return t.audit(ctx, change{by: by, action: "overlap-answer", object: object, after: found})
	})
}

// audit adds a row to the audit trail. Each row's hash covers the row before
// it, so that nobody can change or drop one without changing every later hash.
func (t *tx) audit(ctx context.Context, c change) error {
	before, err := auditJSON(c.before)
	if err != nil {
		return err
	}
	after, err := auditJSON(c.after)
	if err != nil {
		return err
	}
	seq, last, err := auditHead(t.QueryRowContext(ctx, auditHeadQuery))
	if err != nil {
		return err
	}
	row := protocol.Audit{Seq: seq + 1, At: t.now, Actor: c.by.Name, Action: c.action, Object: c.object, RequestID: c.by.RequestID, Before: before, After: after}
	hash := auditHash(last, row)
	_, err = t.ExecContext(ctx, "INSERT INTO audit ("+auditColumns+", hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		row.Seq, micros(row.At), row.Actor, row.Action, row.Object, row.RequestID, row.Before, row.After, hash[:])
	return err
}

func auditJSON(v any) (string, error) {
	if v == nil {
		return "", nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("describe a change for the audit trail: %w", err)
	}
	return string(b), nil
}

// auditNumbered is the highest number that an audit row ever had, which SQLite
// remembers beside the table.
const auditNumbered = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'audit'"

const auditHeadQuery = "SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1"

// auditHead reads the newest row's number and hash; both are zero at the start.
func auditHead(row *sql.Row) (seq int64, hash [sha256.Size]byte, err error) {
	var b []byte
	err = row.Scan(&seq, &b)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, hash, nil
	}
	copy(hash[:], b)
	return seq, hash, err
}

// auditHash is the SHA-256 over the hash of the row before and the fields of
// this one, each with its length.
func auditHash(last [sha256.Size]byte, a protocol.Audit) [sha256.Size]byte {
	return bodyHash(string(last[:]), strconv.FormatInt(a.Seq, 10), strconv.FormatInt(micros(a.At), 10),
		a.Actor, a.Action, a.Object, a.RequestID, a.Before, a.After)
}

// AuditHead is the number and the hash of the newest audit row. Whoever keeps
// one elsewhere can later prove that nothing up to it was changed.
func (s *Store) AuditHead(ctx context.Context) (seq int64, hash [sha256.Size]byte, err error) {
	err = s.view(ctx, "read the head of the audit trail", func(t *tx) error {
		seq, hash, err = auditHead(t.QueryRowContext(ctx, auditHeadQuery))
		return err
	})
	return seq, hash, err
}

// VerifyAudit recomputes every hash of the audit trail. Its error names the
// first row that was changed, or the first that is missing. Rows that are missing
// at the end show in the number that the next one would have.
func (s *Store) VerifyAudit(ctx context.Context) error {
	return s.view(ctx, "verify the audit trail", func(t *tx) error {
		rows, err := t.QueryContext(ctx, "SELECT "+auditColumns+", hash FROM audit ORDER BY seq")
		if err != nil {
			return err
		}
		defer rows.Close()
		var last [sha256.Size]byte
		want := int64(1)
		for ; rows.Next(); want++ {
			var a protocol.Audit
			var kept []byte
			if err := rows.Scan(&a.Seq, instant{&a.At}, &a.Actor, &a.Action, &a.Object, &a.RequestID, &a.Before, &a.After, &kept); err != nil {
				return err
			}
			if a.Seq != want {
				return fmt.Errorf("audit row %d is missing", want)
			}
			last = auditHash(last, a)
			if string(kept) != string(last[:]) {
				return fmt.Errorf("audit row %d does not match its hash: it, or one before it, was changed", a.Seq)
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
		var ever int64
		if err := t.QueryRowContext(ctx, auditNumbered).Scan(&ever); err != nil {
			return err
		}
		if want <= ever {
			return fmt.Errorf("audit row %d is missing: the trail had %d rows and its end was cut off", want, ever)
		}
		return nil
	})
}

// AuditHolds requires that the trail has a row with a number and a hash that
// were kept elsewhere. Together with VerifyAudit it proves that nothing up to
// that row was rewritten, not even by somebody who computed every hash anew.
func (s *Store) AuditHolds(ctx context.Context, seq int64, hash [sha256.Size]byte) error {
	return s.view(ctx, "look up an audit row", func(t *tx) error {
		var have []byte
		err := t.QueryRowContext(ctx, "SELECT hash FROM audit WHERE seq = ?", seq).Scan(&have)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return fmt.Errorf("audit row %d is missing: the trail was cut, or it is another arena's", seq)
		case err == nil && !bytes.Equal(have, hash[:]):
			return fmt.Errorf("audit row %d has the hash %x and had %x: the trail was written anew, or it is another arena's", seq, have, hash)
		default:
			return err
		}
	})
}
