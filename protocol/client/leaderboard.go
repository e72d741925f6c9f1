package client

import (
	"context"

	"github.com/posttrainarena/arena/protocol/api"
)

// Leaderboard ranks the collections of a challenge on the mean of their accepted
// runs.
func (c *Client) Leaderboard(ctx context.Context, challenge string) (Answer[api.Leaderboard], error) {
	return ask[api.Leaderboard](ctx, c, "leaderboard", nil, nil, challenge)
}
