package client

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/posttrainarena/arena/protocol/api"
)

// DefaultURL is where an arena on this machine listens.
const DefaultURL = "http://127.0.0.1:7860"

// Options says which arena to call, as whom, and what the client may use of the
// world. Only BaseURL is required.
type Options struct {
	BaseURL string // https://HOST, or http:// to this machine; a path is a prefix of every route
	Token   Token  // who calls; sent where a route needs an identity
	// SignReads sends the token on public reads too. Editors see evidence links
	// and per-task outcomes that way; an unknown token fails reads that would
	// have worked without one.
	SignReads bool
	HTTP      http.RoundTripper                                // nil: http.DefaultTransport
	UserAgent string                                           // empty: arena
	Sleep     func(ctx context.Context, d time.Duration) error // waits between tries; nil: a timer
	Log       func(format string, args ...any)                 // told about each retry, one line without a newline; nil: nobody
}

// Client calls one arena. It is safe for concurrent use.
type Client struct {
	base   string // without a final slash
	opts   Options
	routes map[string]api.Route
}

// New makes a client. It fails with ErrBaseURL when the address cannot be used,
// which it says without calling anything.
func New(o Options) (*Client, error) {
	base, err := checkBase(o.BaseURL)
	if err != nil {
		return nil, err
	}
	if o.HTTP == nil {
		o.HTTP = http.DefaultTransport
	}
	if o.UserAgent == "" {
		o.UserAgent = "arena"
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	routes := map[string]api.Route{}
	for _, r := range api.Routes() {
		routes[r.Name] = r
	}
	return &Client{base: base, opts: o, routes: routes}, nil
}

// BaseURL is the arena's address, without a final slash.
func (c *Client) BaseURL() string { return c.base }

// checkBase returns the address in the form that routes are appended to.
func checkBase(raw string) (string, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "":
		return "", ErrBaseURL.Detailf("The arena's address must be a URL such as https://arena.example.org or %s.", DefaultURL)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		// Not repeated: what is there may be a password or a token.
		return "", ErrBaseURL.Detailf("The arena's address must not hold a user, a query or a fragment. A token goes into ARENA_TOKEN.")
	case u.Scheme == "https", u.Scheme == "http" && isLoopback(u.Hostname()):
		return strings.TrimRight(u.Scheme+"://"+u.Host+u.EscapedPath(), "/"), nil
	case u.Scheme == "http":
		return "", ErrBaseURL.Detailf("Plain http to %s would show your token to the network. Use https; http is for 127.0.0.1, localhost and ::1 only.", u.Host)
	default:
		return "", ErrBaseURL.Detailf("The arena's address must begin with https:// (or http:// for this machine), not %s://.", u.Scheme)
	}
}

// isLoopback reports whether host is one of the three names of this machine
// that plain http may go to (PROTOCOL §16).
func isLoopback(host string) bool {
	return host == "localhost" || host == "127.0.0.1" || net.ParseIP(host).Equal(net.IPv6loopback)
}

// Answer is what the arena said: the value, and the bytes it came from.
type Answer[T any] struct {
	Value     T
	Raw       json.RawMessage // the server's JSON, as it came
	Status    int             // 200 or 201
	RequestID string          // X-Request-Id
}

// sleep waits for d or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
