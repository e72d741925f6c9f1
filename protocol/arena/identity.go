package arena

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"

	"github.com/posttrainarena/arena/protocol"
)

// maxToken bounds what is accepted as a token before it is hashed, in bytes.
const maxToken = 4096

// Identify returns who a bearer token belongs to: ErrBadToken for one that is
// unknown or revoked, ErrUnavailable when the hub that could vouch for it cannot
// be asked. Before the hub is asked about a token, asking may refuse that with an
// error of its own; nil never does.
func (s *Service) Identify(ctx context.Context, token string, asking func() error) (protocol.Identity, error) {
	if token == "" || len(token) > maxToken {
		return protocol.Identity{}, protocol.ErrBadToken
	}
	if !strings.HasPrefix(token, protocol.TokenPrefix) && s.People != nil {
		return s.vouched.identify(ctx, s.People, token, s.PeopleCache, s.now, asking)
	}
	if !strings.HasPrefix(token, protocol.TokenPrefix) {
		return protocol.Identity{}, protocol.ErrBadToken.Detailf("This arena takes its own tokens only, which start with %s. Ask an organizer for one.", protocol.TokenPrefix)
	}
	t, err := s.TokenByHash(ctx, sha256.Sum256([]byte(token)))
	if err != nil {
		return protocol.Identity{}, err
	}
	return protocol.Identity{Name: t.Name, Editor: t.Editor}, nil
}

// RegisterAgent registers an agent id for who. The boolean says that the same
// registration existed before.
func (s *Service) RegisterAgent(ctx context.Context, who protocol.Identity, by protocol.Actor, a protocol.Agent) (protocol.Agent, bool, error) {
	if !who.SignedIn() {
		return a, false, protocol.ErrSignedOut
	}
	a.Owner = who.Name
	if bad := protocol.CheckAgent(a); len(bad) > 0 {
		return a, false, protocol.ErrInvalid.Detailf("The agent cannot be registered: %s %s.", bad[0].Field, bad[0].Message).WithFields(bad...)
	}
	return s.Store.RegisterAgent(ctx, by, a)
}

// checkAgent returns nil when who may act as the agent; empty means themselves.
func (s *Service) checkAgent(ctx context.Context, who protocol.Identity, agentID string) error {
	if agentID == "" {
		return nil
	}
	found, err := s.Agent(ctx, agentID)
	if errors.Is(err, protocol.ErrNotFound) {
		return protocol.ActsAs(who, agentID, nil)
	}
	if err != nil {
		return err
	}
	return protocol.ActsAs(who, agentID, &found)
}
