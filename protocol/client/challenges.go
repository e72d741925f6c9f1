package client

import (
	"context"

	"github.com/posttrainarena/arena/protocol/api"
)

// ListChallenges lists every challenge: open, planned, closed.
func (c *Client) ListChallenges(ctx context.Context) (Answer[api.Challenges], error) {
	return ask[api.Challenges](ctx, c, "listChallenges", nil, nil)
}

// GetChallenge reads one challenge with its health and allocation.
func (c *Client) GetChallenge(ctx context.Context, challenge string) (Answer[api.Challenge], error) {
	return ask[api.Challenge](ctx, c, "getChallenge", nil, nil, challenge)
}

// ListTracks lists the tracks that collections are stored on.
func (c *Client) ListTracks(ctx context.Context) (Answer[api.Tracks], error) {
	return ask[api.Tracks](ctx, c, "listTracks", nil, nil)
}
