package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"

	"github.com/posttrainarena/arena/protocol"
)

// The kinds of request that a client may repeat (PROTOCOL §3).
const (
	requestLaunch  = "launch"
	requestMessage = "message"
)

// request is the first use of a request id.
type request struct {
	owner  string
	body   [sha256.Size]byte // what was asked for
	object string            // what it made
}

// request finds the first use of a request id; false means that there was none.
func (t *tx) request(ctx context.Context, kind, id string) (request, bool, error) {
	var r request
	var body []byte
	err := t.QueryRowContext(ctx, "SELECT owner, body_hash, object FROM requests WHERE kind = ? AND request_id = ?", kind, id).
		Scan(&r.owner, &body, &r.object)
	if errors.Is(err, sql.ErrNoRows) {
		return r, false, nil
	}
	copy(r.body[:], body)
	return r, err == nil, err
}

// remember records the first use of a request id, in the transaction of its
// effect.
func (t *tx) remember(ctx context.Context, kind, id string, r request) error {
	_, err := t.ExecContext(ctx, "INSERT INTO requests (kind, request_id, owner, body_hash, object, created) VALUES (?, ?, ?, ?, ?, ?)",
		kind, id, r.owner, r.body[:], r.object, micros(t.now))
	if code(err) == constraintPrimaryKey {
		return protocol.ErrRequestReused
	}
	return err
}

// bodyHash is the SHA-256 over what a request asks for, each part with its
// length so that no two lists of parts hash the same.
func bodyHash(parts ...string) (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, p := range parts {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
	h.Sum(sum[:0])
	return sum
}
