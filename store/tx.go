package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/posttrainarena/arena/protocol"
)

// tx is one transaction, or one change of a group that shares one. Unexported
// functions take it, so that steps compose inside what an exported method opened.
type tx struct {
	*sql.Tx
	now    time.Time // fixed when it began: UTC, in whole microseconds as columns keep it
	steady bool      // a caller's context does not end its statements: others share the transaction
}

// update runs f as the one change that is written at a time. What it did is on
// the disk when update returns nil; otherwise nothing is left of it. doing says
// what the change is for, in errors and when it is slow.
func (s *Store) update(ctx context.Context, doing string, f func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return explain(doing, err)
	}
	return explain(doing, s.submit(&write{ctx: ctx, doing: doing, run: f}))
}

// view runs f on one consistent state of the database, beside whatever is being
// written.
func (s *Store) view(ctx context.Context, doing string, f func(*tx) error) error {
	inner, err := s.reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return explain(doing, err)
	}
	defer inner.Rollback() // a view has nothing to commit
	t := &tx{Tx: inner, now: s.stamp()}
	defer s.slow(ctx, t, doing)
	return explain(doing, f(t))
}

// stamp is the time of a transaction that begins.
func (s *Store) stamp() time.Time { return s.now().UTC().Truncate(time.Microsecond) }

// slow logs a transaction that took long.
func (s *Store) slow(ctx context.Context, t *tx, doing string) {
	if open := s.now().Sub(t.now); open > slowTransaction {
		s.log.WarnContext(ctx, "a transaction was open for long", "doing", doing, "seconds", open.Seconds())
	}
}

// bound is the context of a statement.
func (t *tx) bound(ctx context.Context) context.Context {
	if t.steady {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// ExecContext is that of the transaction, as are the two below; see tx.steady.
func (t *tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return t.Tx.ExecContext(t.bound(ctx), query, args...)
}

func (t *tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return t.Tx.QueryContext(t.bound(ctx), query, args...)
}

func (t *tx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return t.Tx.QueryRowContext(t.bound(ctx), query, args...)
}

// explain turns what SQLite says into what the protocol says where it has a
// word for it, and otherwise adds what was being done. The protocol's own
// errors pass through: they are answers.
func explain(doing string, err error) error {
	if err == nil {
		return nil
	}
	if answer, ok := errors.AsType[*protocol.Error](err); ok {
		return answer
	}
	err = fmt.Errorf("%s: %w", doing, err)
	switch code(err) & 0xff { // the primary code
	case lib.SQLITE_FULL:
		return protocol.ErrDiskFull.Because(err)
	case lib.SQLITE_BUSY:
		return protocol.ErrUnavailable.Because(err)
	default:
		return err
	}
}

// code is the extended result code of SQLite in an error, or 0 when there is
// none.
func code(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()
	}
	return 0
}

// room refuses new work when the disk is below its floor, before anything is
// written (rivals.md P7).
func (s *Store) room() error {
	if s.floor < 0 {
		return nil
	}
	free, err := s.freeSpace(s.dir)
	if err != nil {
		return fmt.Errorf("ask how much of the disk is free: %w", err)
	}
	if free < s.floor {
		return protocol.ErrDiskFull.Because(fmt.Errorf("%d bytes are free under %s, the floor is %d", free, s.dir, s.floor))
	}
	return nil
}

// one reads a single row with a scan function. A missing row is the protocol's
// error for it.
func one[T any](row *sql.Row, scan func(scanner) (T, error), missing *protocol.Error) (T, error) {
	v, err := scan(row)
	if errors.Is(err, sql.ErrNoRows) {
		return v, missing
	}
	return v, err
}

// many reads every row of a query with a scan function.
func many[T any](rows *sql.Rows, err error, scan func(scanner) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

// scanner is a row or the current one of several.
type scanner interface{ Scan(dest ...any) error }

// The extended result codes of the constraints that this package tells apart.
const (
	constraintPrimaryKey = lib.SQLITE_CONSTRAINT_PRIMARYKEY
	constraintUnique     = lib.SQLITE_CONSTRAINT_UNIQUE
	constraintTrigger    = lib.SQLITE_CONSTRAINT_TRIGGER
)
