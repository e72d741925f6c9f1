package client

import (
	"context"
	"iter"

	"github.com/posttrainarena/arena/protocol/api"
)

// Events yields what changes in the arena after the event with the given id; 0
// starts with what happens next. It reconnects and resumes like FollowLog, and
// ends only with an error.
func (c *Client) Events(ctx context.Context, after int64) iter.Seq2[api.Event, error] {
	return values[api.Event](ctx, &stream{c: c, route: "events", after: after, resume: after > 0})
}
