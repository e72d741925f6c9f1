package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
)

// stateReader is a connection that does nothing but notice changes: SQLite counts
// them for each connection. Whoever asks while it is in use shares the look that
// comes next with everybody else who does, so that a crowd waits for two looks at
// most and not for one another.
type stateReader struct {
	turn chan struct{} // holds one while the connection is in use

	mu   sync.Mutex
	next *look // not begun; nil when nobody waits for one

	conn   *sql.Conn // with those below, for whoever has the turn
	ask    *sql.Stmt
	closed bool
}

// look is one answer, for all who asked before it began.
type look struct {
	done  chan struct{}
	state int64
	err   error
}

func (r *stateReader) join() *look {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next == nil {
		r.next = &look{done: make(chan struct{})}
	}
	return r.next
}

// begin makes a look the caller's to do; false means that it was done.
func (r *stateReader) begin(l *look) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next != l {
		return false
	}
	r.next = nil
	return true
}

func (r *stateReader) close() error {
	r.turn <- struct{}{}
	defer func() { <-r.turn }()
	r.closed = true
	if r.conn == nil {
		return nil
	}
	return errors.Join(r.ask.Close(), r.conn.Close())
}

// State is a number that is another one after anything was committed, by this
// process or by another. It says nothing else. Asking is cheap: nothing is read.
func (s *Store) State(ctx context.Context) (int64, error) {
	r := &s.state
	l := r.join()
	select {
	case <-l.done:
	case <-ctx.Done():
		return 0, ctx.Err()
	case r.turn <- struct{}{}:
		if r.begin(l) {
			// One caller's end must not end it for the others.
			l.state, l.err = s.askState(context.WithoutCancel(ctx))
			close(l.done)
		}
		<-r.turn
	}
	return l.state, l.err
}

// askState asks SQLite. The caller has the turn.
func (s *Store) askState(ctx context.Context) (n int64, err error) {
	r := &s.state
	if r.closed {
		return 0, sql.ErrConnDone
	}
	if r.conn == nil {
		conn, err := s.reader.Conn(ctx)
		if err != nil {
			return 0, fmt.Errorf("open a connection that notices changes: %w", err)
		}
		ask, err := conn.PrepareContext(ctx, "PRAGMA data_version")
		if err != nil {
			return 0, errors.Join(fmt.Errorf("prepare to notice changes: %w", err), conn.Close())
		}
		r.conn, r.ask = conn, ask
	}
	if err := r.ask.QueryRowContext(ctx).Scan(&n); err != nil {
		return 0, fmt.Errorf("ask whether anything changed: %w", err)
	}
	return n, nil
}
