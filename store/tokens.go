package store

import (
	"context"
	"crypto/sha256"

	"github.com/posttrainarena/arena/protocol"
)

const tokenColumns = "id, name, editor, created, revoked"

func scanToken(r scanner) (k protocol.Token, err error) {
	return k, r.Scan(&k.ID, &k.Name, &k.Editor, instant{&k.CreatedAt}, maybeInstant{&k.RevokedAt})
}

// TokenByHash returns the token whose secret has a SHA-256, or ErrBadToken when
// it is not known or was revoked.
func (s *Store) TokenByHash(ctx context.Context, hash [sha256.Size]byte) (k protocol.Token, err error) {
	err = s.view(ctx, "look up a token", func(t *tx) error {
		k, err = one(t.QueryRowContext(ctx, "SELECT "+tokenColumns+" FROM tokens WHERE sha256 = ?", hash[:]), scanToken, protocol.ErrBadToken)
		if err == nil && k.RevokedAt != nil {
			err = protocol.ErrBadToken
		}
		return err
	})
	if err != nil {
		return protocol.Token{}, err
	}
	return k, nil
}

// Tokens lists every token, revoked ones included, oldest first.
func (s *Store) Tokens(ctx context.Context) (all []protocol.Token, err error) {
	err = s.view(ctx, "list tokens", func(t *tx) error {
		rows, err := t.QueryContext(ctx, "SELECT "+tokenColumns+" FROM tokens ORDER BY created, id")
		all, err = many(rows, err, scanToken)
		return err
	})
	return all, err
}

// CreateToken stores a new token by the SHA-256 of its secret.
func (s *Store) CreateToken(ctx context.Context, by protocol.Actor, k protocol.Token, hash [sha256.Size]byte) error {
	return s.update(ctx, "create token "+k.ID, func(t *tx) error {
		k.CreatedAt, k.RevokedAt = t.now, nil
		_, err := t.ExecContext(ctx, "INSERT INTO tokens (id, name, editor, sha256, created) VALUES (?, ?, ?, ?, ?)",
			k.ID, k.Name, k.Editor, hash[:], micros(k.CreatedAt))
		if err != nil {
			return err
		}
		return t.audit(ctx, change{by: by, action: "create-token", object: "token:" + k.ID, after: k})
	})
}

// RevokeToken revokes the token with an id, or every token of an account, and
// returns how many it revoked. Revoking what was revoked changes nothing.
func (s *Store) RevokeToken(ctx context.Context, by protocol.Actor, idOrName string) (n int, err error) {
	err = s.update(ctx, "revoke token "+idOrName, func(t *tx) error {
		rows, err := t.QueryContext(ctx, "SELECT "+tokenColumns+" FROM tokens WHERE revoked IS NULL AND (id = ?1 OR name = ?1) ORDER BY id", idOrName)
		live, err := many(rows, err, scanToken)
		if err != nil {
			return err
		}
		for _, k := range live {
			if _, err := t.ExecContext(ctx, "UPDATE tokens SET revoked = ? WHERE id = ?", micros(t.now), k.ID); err != nil {
				return err
			}
			revoked := k
			revoked.RevokedAt = &t.now
			if err := t.audit(ctx, change{by: by, action: "revoke-token", object: "token:" + k.ID, before: k, after: revoked}); err != nil {
				return err
			}
		}
		n = len(live)
		return nil
	})
	return n, err
}
