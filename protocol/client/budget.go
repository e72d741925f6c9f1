package client

import (
	"context"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// ArenaJobs reads the reservation ledger, newest first.
func (c *Client) ArenaJobs(ctx context.Context, page protocol.Page) (Answer[api.ArenaJobs], error) {
	return ask[api.ArenaJobs](ctx, c, "arenaJobs", paged(page), nil)
}

// ArenaBudget reads the compute cap, what is committed and what remains.
func (c *Client) ArenaBudget(ctx context.Context) (Answer[api.Budget], error) {
	return ask[api.Budget](ctx, c, "arenaBudget", nil, nil)
}

// ListJobs lists every job with its purpose and cost, newest first.
func (c *Client) ListJobs(ctx context.Context, page protocol.Page) (Answer[api.Jobs], error) {
	return ask[api.Jobs](ctx, c, "listJobs", paged(page), nil)
}
