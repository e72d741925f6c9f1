package store

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/posttrainarena/arena/protocol"
)

const sessionColumns = "name, orgs, editor, note, created, expires"

func scanSession(r scanner) (s protocol.Session, err error) {
	var orgs []byte
	if err := r.Scan(&s.Who.Name, &orgs, &s.Who.Editor, &s.Who.EditorNote, instant{&s.CreatedAt}, instant{&s.ExpiresAt}); err != nil {
		return s, err
	}
	if err := json.Unmarshal(orgs, &s.Who.Orgs); err != nil {
		return s, fmt.Errorf("read the organizations of a session: %w", err)
	}
	return s, nil
}

// SessionByHash returns the session whose secret has a SHA-256, or ErrSignedOut
// when there is none, any more.
func (s *Store) SessionByHash(ctx context.Context, hash [sha256.Size]byte) (found protocol.Session, err error) {
	err = s.view(ctx, "look up a session", func(t *tx) error {
		found, err = one(t.QueryRowContext(ctx, "SELECT "+sessionColumns+" FROM sessions WHERE sha256 = ? AND expires > ?", hash[:], micros(t.now)), scanSession, protocol.ErrSignedOut)
		return err
	})
	if err != nil {
		return protocol.Session{}, err
	}
	return found, nil
}

// OpenSession stores a new session by the SHA-256 of its secret, and drops those
// that have expired.
func (s *Store) OpenSession(ctx context.Context, by protocol.Actor, session protocol.Session, hash [sha256.Size]byte) error {
	orgs, err := json.Marshal(append([]string{}, session.Who.Orgs...))
	if err != nil {
		return fmt.Errorf("store the organizations of a session: %w", err)
	}
	return s.update(ctx, "open a session of "+session.Who.Name, func(t *tx) error {
		if _, err := t.ExecContext(ctx, "DELETE FROM sessions WHERE expires <= ?", micros(t.now)); err != nil {
			return err
		}
		session.CreatedAt = t.now
		_, err := t.ExecContext(ctx, "INSERT INTO sessions (sha256, "+sessionColumns+") VALUES (?, ?, ?, ?, ?, ?, ?)",
			hash[:], session.Who.Name, string(orgs), session.Who.Editor, session.Who.EditorNote, micros(session.CreatedAt), micros(session.ExpiresAt))
		if err != nil {
			return err
		}
		return t.audit(ctx, change{by: by, action: "sign-in", object: "account:" + session.Who.Name, after: map[string]any{"editor": session.Who.Editor, "expires": session.ExpiresAt}})
	})
}

// CloseSession ends a session. One that is not there is no error.
func (s *Store) CloseSession(ctx context.Context, by protocol.Actor, hash [sha256.Size]byte) error {
	return s.update(ctx, "close a session", func(t *tx) error {
		res, err := t.ExecContext(ctx, "DELETE FROM sessions WHERE sha256 = ?", hash[:])
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err
		}
		return t.audit(ctx, change{by: by, action: "sign-out", object: "account:" + by.Name})
	})
}
