package client

import (
	"context"
	"net/url"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// Preflight makes every check of a launch and reserves nothing.
func (c *Client) Preflight(ctx context.Context, challenge, collection string) (Answer[api.Preflight], error) {
	return ask[api.Preflight](ctx, c, "preflight", url.Values{"environment_id": {collection}}, nil, challenge)
}

// Launch starts a run. Whatever happens to the first try, a further one sends
// the identical bytes, so that no second run can start. When the arena answers
// 503 to each, the failure is a *PersistentError.
func (c *Client) Launch(ctx context.Context, challenge string, req api.LaunchRequest) (Answer[api.Run], error) {
	return ask[api.Run](ctx, c, "launch", nil, req, challenge)
}

// ListRuns lists the run requests and runs of a challenge, newest first; of one
// collection when it is not empty.
func (c *Client) ListRuns(ctx context.Context, challenge, collection string, page protocol.Page) (Answer[api.Runs], error) {
	q := paged(page)
	set(q, "environment_id", collection)
	return ask[api.Runs](ctx, c, "listRuns", q, nil, challenge)
}

// GetRun reads one run, with its result once it is collected.
func (c *Client) GetRun(ctx context.Context, challenge, run string) (Answer[api.Run], error) {
	return ask[api.Run](ctx, c, "getRun", nil, nil, challenge, run)
}

// RunPlan reads what the job of a run executes. It is for the collection's author and
// editors.
func (c *Client) RunPlan(ctx context.Context, challenge, run string) (Answer[api.RunPlan], error) {
	return ask[api.RunPlan](ctx, c, "runPlan", nil, nil, challenge, run)
}

// Cancel asks the provider to stop a run. Asking again is harmless.
func (c *Client) Cancel(ctx context.Context, challenge, run string) (Answer[api.Run], error) {
	return ask[api.Run](ctx, c, "cancel", nil, nil, challenge, run)
}
