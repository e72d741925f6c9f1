package client

import (
	"context"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// ListWebhooks lists the hooks of the configuration and what was sent to them,
// newest first; an empty hook means to all of them. Editors only.
func (c *Client) ListWebhooks(ctx context.Context, hook string, page protocol.Page) (Answer[api.Webhooks], error) {
	q := paged(page)
	set(q, "webhook", hook)
	return ask[api.Webhooks](ctx, c, "listWebhooks", q, nil)
}

// Redeliver has a delivery sent again under its id. One that is still tried stays as
// it is, so asking again is harmless. Editors only.
func (c *Client) Redeliver(ctx context.Context, delivery string) (Answer[api.Delivery], error) {
	return ask[api.Delivery](ctx, c, "redeliver", nil, nil, delivery)
}
