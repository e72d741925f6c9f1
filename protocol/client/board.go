package client

import (
	"context"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// ListMessages reads the shared board, newest first.
func (c *Client) ListMessages(ctx context.Context, page protocol.Page) (Answer[api.Messages], error) {
	return ask[api.Messages](ctx, c, "listMessages", paged(page), nil)
}

// PostMessage posts on the shared board. The same request id and body again
// answers the first post.
func (c *Client) PostMessage(ctx context.Context, req api.PostMessage) (Answer[api.Message], error) {
	return ask[api.Message](ctx, c, "postMessage", nil, req)
}
