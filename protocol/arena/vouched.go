package arena

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/hub"
)

const (
	// refusalKept is how long a refused token is remembered: long enough that a
	// flood of one costs the hub nothing, and short for a new one.
	refusalKept = 30 * time.Second
	// vouchedTokens is how many tokens are remembered.
	vouchedTokens = 10_000
)

// vouched remembers what the hub said about tokens, by their hash. What it could
// not say is never remembered, so that an outage ends when it ends.
type vouched struct {
	flights singleflight.Group // by hash: one question about a token at a time

	mu   sync.Mutex
	kept map[[sha256.Size]byte]vouching
}

// vouching is one answer of the hub.
type vouching struct {
	who   protocol.Identity
	bad   error // ErrBadToken; nil when the token is good
	until time.Time
}

// identify returns who a token belongs to, asking the hub when it is not known and
// asking lets it.
func (v *vouched) identify(ctx context.Context, people hub.People, token string, life time.Duration, now func() time.Time, asking func() error) (protocol.Identity, error) {
	hash := sha256.Sum256([]byte(token))
	v.mu.Lock()
	k, ok := v.kept[hash]
	v.mu.Unlock()
	if ok && now().Before(k.until) {
		return k.who, k.bad
	}
	// Whoever asks first may leave; the others still want to know.
	asked := v.flights.DoChan(string(hash[:]), func() (any, error) {
		if asking != nil {
			if err := asking(); err != nil {
				return nil, err
			}
		}
		who, err := people.Whoami(context.WithoutCancel(ctx), token)
		switch {
		case err == nil:
			v.keep(hash, vouching{who: who, until: now().Add(life)}, now())
		case errors.Is(err, protocol.ErrBadToken):
			v.keep(hash, vouching{bad: protocol.AsError(err).Because(nil), until: now().Add(min(life, refusalKept))}, now())
		}
		return who, err
	})
	select {
	case <-ctx.Done():
		return protocol.Identity{}, ctx.Err()
	case r := <-asked:
		who, _ := r.Val.(protocol.Identity)
		return who, r.Err
	}
}

func (v *vouched) keep(hash [sha256.Size]byte, k vouching, now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.kept) >= vouchedTokens {
		for h, old := range v.kept {
			if !now.Before(old.until) || old.bad != nil {
				delete(v.kept, h)
			}
		}
	}
	if v.kept == nil || len(v.kept) >= vouchedTokens {
		v.kept = map[[sha256.Size]byte]vouching{}
	}
	v.kept[hash] = k
}

// SignIn opens a session for whoever a token of the hub belongs to, and returns
// who that is. The hub is asked anew, and the token is not kept. The secret's hash
// is the session's name.
func (s *Service) SignIn(ctx context.Context, requestID, token string, secret [sha256.Size]byte) (protocol.Session, error) {
	if s.People == nil {
		return protocol.Session{}, protocol.ErrNotFound
	}
	who, err := s.People.Whoami(ctx, token)
	if err != nil {
		return protocol.Session{}, err
	}
	session := protocol.Session{Who: who, ExpiresAt: s.now().Add(protocol.SessionLife)}
	return session, s.Store.OpenSession(ctx, protocol.Actor{Name: who.Name, RequestID: requestID}, session, secret)
}
