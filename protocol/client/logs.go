package client

import (
	"context"
	"iter"
	"net/url"
	"strconv"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// ReadLog reads the lines of a run's log that are numbered after a position, at
// most limit of them; 0 leaves the number to the arena. Editors only.
func (c *Client) ReadLog(ctx context.Context, challenge, run string, after int64, limit int) (Answer[api.Log], error) {
	q := url.Values{"after": {strconv.FormatInt(after, 10)}}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	return ask[api.Log](ctx, c, "readLog", q, nil, challenge, run)
}

// FollowLog yields a run's log lines that are numbered after a position, as they
// come, until the run has ended and its last line was read. Broken connections
// are taken up again where they broke: no line comes twice and none is lost. The
// sequence ends with an error when the failure is definite, when ten connections
// in a row bring nothing, or when ctx ends.
func (c *Client) FollowLog(ctx context.Context, challenge, run string, after int64) iter.Seq2[protocol.LogLine, error] {
	return values[protocol.LogLine](ctx, &stream{
		c: c, route: "readLog", segments: []string{challenge, run}, after: after, resume: true,
		ended: func(ctx context.Context, after int64) (bool, error) {
			log, err := c.ReadLog(ctx, challenge, run, after, 1)
			return log.Value.Ended && len(log.Value.Lines) == 0, err
		},
	})
}
