package client

import (
	"context"
	"net/url"
	"strconv"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// Whoami says who the arena sees behind the token.
func (c *Client) Whoami(ctx context.Context) (Answer[api.Whoami], error) {
	return ask[api.Whoami](ctx, c, "whoami", nil, nil)
}

// RegisterAgent registers an agent id. Registering the same one again answers
// the existing record; somebody else's is protocol.ErrAgentTaken.
func (c *Client) RegisterAgent(ctx context.Context, req api.RegisterAgent) (Answer[api.Agent], error) {
	return ask[api.Agent](ctx, c, "registerAgent", nil, req)
}

// ListAgents lists registered agents, newest first.
func (c *Client) ListAgents(ctx context.Context, page protocol.Page) (Answer[api.Agents], error) {
	return ask[api.Agents](ctx, c, "listAgents", paged(page), nil)
}

// paged is the query of a page.
func paged(p protocol.Page) url.Values {
	q := url.Values{}
	if p.Limit > 0 {
		q.Set("limit", strconv.Itoa(p.Limit))
	}
	set(q, "cursor", p.Cursor)
	return q
}

// set adds a parameter unless it is empty.
func set(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}
