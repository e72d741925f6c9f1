package client

import (
	"context"
	"encoding/json"

	"github.com/posttrainarena/arena/protocol/api"
)

// Discover lists every endpoint of the arena with one line each.
func (c *Client) Discover(ctx context.Context) (Answer[api.Discover], error) {
	return ask[api.Discover](ctx, c, "discover", nil, nil)
}

// Version is the build fingerprint of the running arena.
func (c *Client) Version(ctx context.Context) (Answer[api.Version], error) {
	return ask[api.Version](ctx, c, "version", nil, nil)
}

// Healthz says whether the arena's process is alive.
func (c *Client) Healthz(ctx context.Context) (Answer[api.HealthStatus], error) {
	return ask[api.HealthStatus](ctx, c, "healthz", nil, nil)
}

// Readyz says whether the arena takes writes; an arena that does not is
// protocol.ErrUnavailable.
func (c *Client) Readyz(ctx context.Context) (Answer[api.HealthStatus], error) {
	return ask[api.HealthStatus](ctx, c, "readyz", nil, nil)
}

// Doctor is what the arena finds when it looks at itself; editors only.
func (c *Client) Doctor(ctx context.Context) (Answer[api.Doctor], error) {
	return ask[api.Doctor](ctx, c, "doctor", nil, nil)
}

// OpenAPI is the arena's interface as an OpenAPI 3.1 document.
func (c *Client) OpenAPI(ctx context.Context) (Answer[json.RawMessage], error) {
	return ask[json.RawMessage](ctx, c, "openapi", nil, nil)
}
