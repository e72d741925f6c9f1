package store

import (
	"context"

	"github.com/posttrainarena/arena/protocol"
)

const eventColumns = "seq, kind, at, challenge, run, collection, message, state, stage"

func scanEvent(r scanner) (e protocol.Event, err error) {
	return e, r.Scan(&e.Seq, &e.Kind, instant{&e.At}, &e.Challenge, &e.Run, &e.Collection, &e.Message, &e.State, &e.Stage)
}

// maxEvents is the most events one read returns.
const maxEvents = 1000

// Events returns the events after a sequence number, oldest first, at most
// limit of them (and never more than 1,000).
func (s *Store) Events(ctx context.Context, after int64, limit int) (all []protocol.Event, err error) {
	err = s.view(ctx, "read events", func(t *tx) error {
		rows, err := t.QueryContext(ctx, "SELECT "+eventColumns+" FROM events WHERE seq > ? ORDER BY seq LIMIT ?", after, bounded(limit, maxEvents))
		all, err = many(rows, err, scanEvent)
		return err
	})
	return all, err
}

// LastEvent is the sequence number of the newest event, 0 when there is none.
func (s *Store) LastEvent(ctx context.Context) (seq int64, err error) {
	err = s.view(ctx, "read the last event", func(t *tx) error {
		return t.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM events").Scan(&seq)
	})
	return seq, err
}

// emit adds an event to the transaction of what it tells about.
func (t *tx) emit(ctx context.Context, e protocol.Event) error {
	_, err := t.ExecContext(ctx, "INSERT INTO events (kind, at, challenge, run, collection, message, state, stage) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		e.Kind, micros(t.now), e.Challenge, e.Run, e.Collection, e.Message, e.State, e.Stage)
	return err
}

// bounded is a limit that a caller asked for, kept between 1 and most; what is
// not positive means most.
func bounded(limit, most int) int {
	if limit <= 0 {
		return most
	}
	return min(limit, most)
}
