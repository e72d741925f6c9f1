package client

import (
	"context"

	"github.com/posttrainarena/arena/protocol/api"
)

// Collect recomputes a scored run's result from its evidence and stores it for
// review. Collecting again answers the stored one.
func (c *Client) Collect(ctx context.Context, challenge, run string) (Answer[api.Result], error) {
	return ask[api.Result](ctx, c, "collect", nil, nil, challenge, run)
}

// Review accepts or rejects a collected result. Editors only, and only once.
func (c *Client) Review(ctx context.Context, challenge, run string, req api.ReviewRequest) (Answer[api.Result], error) {
	return ask[api.Result](ctx, c, "review", nil, req, challenge, run)
}

// Claim says that the caller reviews a result, or stopped, so that two editors do
// not judge it at once. Editors only.
func (c *Client) Claim(ctx context.Context, challenge, run string, req api.ClaimRequest) (Answer[api.Result], error) {
	return ask[api.Result](ctx, c, "claim", nil, req, challenge, run)
}
