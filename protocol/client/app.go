package client

import (
	"context"
	"net/url"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// Formula reads everything that a score depends on: models, suites, recipes,
// challenges, and a page of collections.
func (c *Client) Formula(ctx context.Context, f protocol.CollectionFilter, page protocol.Page) (Answer[api.Formula], error) {
	return ask[api.Formula](ctx, c, "formula", filtered(f, page), nil)
}

// AppMeta reads what the submissions pages need to know of the arena itself.
func (c *Client) AppMeta(ctx context.Context) (Answer[api.AppMeta], error) {
	return ask[api.AppMeta](ctx, c, "appMeta", nil, nil)
}

// AppSubmissions lists collections with what became of their runs, newest first.
func (c *Client) AppSubmissions(ctx context.Context, f protocol.CollectionFilter, page protocol.Page) (Answer[api.Submissions], error) {
	return ask[api.Submissions](ctx, c, "appSubmissions", filtered(f, page), nil)
}

// AppSubmission reads everything about one collection.
func (c *Client) AppSubmission(ctx context.Context, id string) (Answer[api.SubmissionPage], error) {
	return ask[api.SubmissionPage](ctx, c, "appSubmission", nil, nil, id)
}

// AppRun reads everything that everybody may know about one run.
func (c *Client) AppRun(ctx context.Context, run string) (Answer[api.AppRun], error) {
	return ask[api.AppRun](ctx, c, "appRun", nil, nil, run)
}

// RunMetrics reads what the runs of a challenge add up to; an empty id means
// every challenge.
func (c *Client) RunMetrics(ctx context.Context, challenge string) (Answer[api.RunMetrics], error) {
	q := url.Values{}
	set(q, "challenge", challenge)
	return ask[api.RunMetrics](ctx, c, "runMetrics", q, nil)
}

// filtered is the query of a filtered list of collections.
func filtered(f protocol.CollectionFilter, page protocol.Page) url.Values {
	q := paged(page)
	set(q, "challenge", f.Challenge)
	set(q, "track", f.Track)
	set(q, "author", f.Author)
	return q
}
