package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
)

// stateReader is a connection that does nothing but notice changes: SQLite counts
// them for each connection.
type stateReader struct {
	mu     sync.Mutex
	conn   *sql.Conn
	ask    *sql.Stmt
	closed bool
}

func (r *stateReader) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.conn == nil {
		return nil
	}
	return errors.Join(r.ask.Close(), r.conn.Close())
}

// State is a number that is another one after anything was committed, by this
// process or by another. It says nothing else. Asking is cheap: nothing is read.
func (s *Store) State(ctx context.Context) (n int64, err error) {
	r := &s.state
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return 0, sql.ErrConnDone
	}
	if r.conn == nil {
		conn, err := s.reader.Conn(context.WithoutCancel(ctx))
		if err != nil {
			return 0, fmt.Errorf("open a connection that notices changes: %w", err)
		}
		ask, err := conn.PrepareContext(context.WithoutCancel(ctx), "PRAGMA data_version")
		if err != nil {
			return 0, errors.Join(fmt.Errorf("prepare to notice changes: %w", err), conn.Close())
		}
		r.conn, r.ask = conn, ask
	}
	// One caller's end must not break the connection for the others.
	if err := r.ask.QueryRowContext(context.WithoutCancel(ctx)).Scan(&n); err != nil {
		return 0, fmt.Errorf("ask whether anything changed: %w", err)
	}
	return n, nil
}
