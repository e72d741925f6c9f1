package client

import (
	"context"
	"strconv"

	"github.com/posttrainarena/arena/protocol/api"
)

// ListAttempts lists the gate and training attempts of a run.
func (c *Client) ListAttempts(ctx context.Context, challenge, run string) (Answer[api.Attempts], error) {
	return ask[api.Attempts](ctx, c, "listAttempts", nil, nil, challenge, run)
}

// GetAttempt reads one attempt with its transcript and verifier output.
func (c *Client) GetAttempt(ctx context.Context, challenge, run string, n int) (Answer[api.Attempt], error) {
	return ask[api.Attempt](ctx, c, "getAttempt", nil, nil, challenge, run, strconv.Itoa(n))
}
