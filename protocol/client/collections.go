package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"

	"github.com/posttrainarena/arena/gates/dynamic"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// Validate checks a collection at its current commit and stores nothing. With a
// bundle the directory is uploaded; nil is for a collection that lives
// elsewhere. An invalid collection is an answer, not a failure.
func (c *Client) Validate(ctx context.Context, req api.EnvironmentRequest, bundle *Bundle) (Answer[api.Validation], error) {
	return submission[api.Validation](ctx, c, "validate", req, bundle)
}

// Submit validates a collection and registers it at its commit. Submitting the
// same one again answers the existing record.
func (c *Client) Submit(ctx context.Context, req api.EnvironmentRequest, bundle *Bundle) (Answer[api.Environment], error) {
	return submission[api.Environment](ctx, c, "submit", req, bundle)
}

func submission[T any](ctx context.Context, c *Client, route string, req api.EnvironmentRequest, bundle *Bundle) (Answer[T], error) {
	k, err := c.prepare(route, nil)
	if err != nil {
		return Answer[T]{}, err
	}
	if k.body, err = json.Marshal(req); err != nil {
		return Answer[T]{}, fmt.Errorf("%s: encode the request: %w", k.what(), err)
	}
	k.bundle = bundle
	return finish[T](ctx, c, k)
}

// ListEnvironments lists registered collections, newest first.
func (c *Client) ListEnvironments(ctx context.Context, f protocol.CollectionFilter, page protocol.Page) (Answer[api.Environments], error) {
	return ask[api.Environments](ctx, c, "listEnvironments", filtered(f, page), nil)
}

// GetEnvironment reads one registered collection.
func (c *Client) GetEnvironment(ctx context.Context, id string) (Answer[api.Environment], error) {
	return ask[api.Environment](ctx, c, "getEnvironment", nil, nil, id)
}

// GetGates reads what the static gates found in a collection, and the verdict of
// the dynamic ones once it is attached.
func (c *Client) GetGates(ctx context.Context, challenge, id string) (Answer[api.Gates], error) {
	return ask[api.Gates](ctx, c, "getGates", nil, nil, challenge, id)
}

// GetGatesVersion is GetGates with an earlier version of the verdict.
func (c *Client) GetGatesVersion(ctx context.Context, challenge, id string, version int) (Answer[api.Gates], error) {
	return ask[api.Gates](ctx, c, "getGates", url.Values{"version": {strconv.Itoa(version)}}, nil, challenge, id)
}

// PlanGates asks for the commands that the dynamic gates of a collection take.
func (c *Client) PlanGates(ctx context.Context, challenge, id string, req api.GatePlanRequest) (Answer[dynamic.Plan], error) {
	return ask[dynamic.Plan](ctx, c, "planGates", nil, req, challenge, id)
}

// AttachGates has the results of a plan judged and, unless it is a dry run, the
// verdict stored as the next version. Editors only.
func (c *Client) AttachGates(ctx context.Context, challenge, id string, req api.AttachGates) (Answer[api.AttachedGates], error) {
	return ask[api.AttachedGates](ctx, c, "attachGates", nil, req, challenge, id)
}

// GatesCatalogue lists every static gate with its meaning and fix.
func (c *Client) GatesCatalogue(ctx context.Context) (Answer[api.Catalogue], error) {
	return ask[api.Catalogue](ctx, c, "gatesCatalogue", nil, nil)
}
