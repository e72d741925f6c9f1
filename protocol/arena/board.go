package arena

import (
	"context"

	"github.com/posttrainarena/arena/protocol"
)

// PostMessage puts a message on the board. The boolean says that the same
// request was made before and nothing was posted.
func (s *Service) PostMessage(ctx context.Context, who protocol.Identity, by protocol.Actor, m protocol.Message) (protocol.Message, bool, error) {
	if !who.SignedIn() {
		return m, false, protocol.ErrSignedOut
	}
	if err := protocol.CheckRequestID(m.RequestID); err != nil {
		return m, false, err
	}
	m.Author = who.Name
	if bad := protocol.CheckMessage(m); len(bad) > 0 {
		return m, false, protocol.ErrInvalid.Detailf("The message cannot be posted: %s %s.", bad[0].Field, bad[0].Message).WithFields(bad...)
	}
	if err := s.checkAgent(ctx, who, m.AgentID); err != nil {
		return m, false, err
	}
	if err := s.messages.take(who.Name, s.now()); err != nil {
		return m, false, err
	}
	posted, existing, err := s.Store.PostMessage(ctx, by, m)
	if err == nil && !existing {
		s.events.wake()
	}
	return posted, existing, err
}
