package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/posttrainarena/arena/protocol"
)

// actionMock is the first act in the audit trail of a mocked arena. The trail is
// append-only and part of every backup, so an arena that was mocked can never
// pass for a real one.
const actionMock = "mock"

// MarkMock records that this arena is mocked, as the first thing that ever
// happened in it. It refuses an arena in which something has happened.
func (s *Store) MarkMock(ctx context.Context, by protocol.Actor, m protocol.Mock) error {
	return s.update(ctx, "mark the arena as mocked", func(t *tx) error {
		seq, _, err := auditHead(t.QueryRowContext(ctx, auditHeadQuery))
		if err != nil {
			return err
		}
		if seq != 0 {
			return errors.New("this arena has a history already; make a mocked one in an empty directory")
		}
		return t.audit(ctx, change{by: by, action: actionMock, object: "challenge:" + m.Challenge, after: m})
	})
}

// Mock returns what a mocked arena was made from, nil when it is a real one.
func (s *Store) Mock(ctx context.Context) (m *protocol.Mock, err error) {
	err = s.view(ctx, "look whether the arena is mocked", func(t *tx) error {
		var after string
		err := t.QueryRowContext(ctx, "SELECT state_after FROM audit WHERE seq = 1 AND action = ?", actionMock).Scan(&after)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(after), &m); err != nil {
			return fmt.Errorf("what the audit trail says about it cannot be read: %w", err)
		}
		return nil
	})
	return m, err
}
