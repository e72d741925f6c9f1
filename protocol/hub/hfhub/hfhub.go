// Package hfhub speaks to the Hugging Face hub: who somebody is, how they sign in
// with a browser, and what a dataset holds at a commit.
//
// The facts it relies on are those of reference/hub-apis.md, by their ids.
package hfhub

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/outbound"
)

// Options is what the package needs of its surroundings.
type Options struct {
	URL       string            // base address of the hub, without a slash at the end
	Transport http.RoundTripper // nil for one of its own
	UserAgent string            // product/version
	Now       func() time.Time
	// Sleep waits between tries; nil for the real clock.
	Sleep func(ctx context.Context, d time.Duration) error
	// Timeout bounds one try of a request; 0 for a default of each kind.
	Timeout time.Duration
}

// atOnce is how many requests a validation has in flight. Over HTTP/2 they share
// one connection, which usually carries this many.
const atOnce = 100

// client is a client of the hub that repeats what is harmless to repeat.
func (o Options) client() *outbound.Client {
	transport := o.Transport
	if transport == nil {
		transport = outbound.NewTransport(atOnce)
	}
	return &outbound.Client{
		Transport: transport, UserAgent: o.UserAgent, Now: o.Now, Sleep: o.Sleep,
		Pauses: []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}, MaxWait: 5 * time.Second, Judge: outbound.JudgeRateLimit,
	}
}

// without is how long to wait when the hub does not say.
const without = 30 * time.Second

// away is the arena's answer while the hub cannot say what it was asked.
func away(what string, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	e, ok := errors.AsType[*outbound.Error](err)
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return protocol.ErrDiskFull.Because(err)
	case ok && e.Limit != "":
		wait := e.Wait
		if wait == 0 {
			wait = without
		}
		return protocol.ErrUnavailable.Detailf("The hub's rate limit stops the arena from %s: %s is used up and resets in %s. Try again then; what was read so far is kept.", what, e.Limit, wait).After(wait).Because(err)
	case ok && e.Status/100 == 2:
		return protocol.ErrUnavailable.Detailf("The hub's answer is of no use for %s: %s. Try again; if it persists, tell an organizer.", what, e.Err).After(without).Because(err)
	case ok:
		wait := e.Wait
		if wait == 0 {
			wait = without
		}
		return protocol.ErrUnavailable.Detailf("The hub cannot be reached for %s right now%s. Nothing was changed; try again in %s.", what, e.Because(), wait).After(wait).Because(err)
	case errors.Is(err, context.DeadlineExceeded):
		return protocol.ErrUnavailable.Detailf("The hub takes too long for %s. What was read so far is kept; try again.", what).After(5 * time.Second).Because(err)
	default:
		return err
	}
}

// at builds a URL below the hub's address from segments, each escaped as one: a
// slash in a revision is part of it (H11).
func (o Options) at(segments ...string) string {
	var b strings.Builder
	b.WriteString(strings.TrimSuffix(o.URL, "/"))
	for _, s := range segments {
		b.WriteByte('/')
		b.WriteString(escape(s))
	}
	return b.String()
}

// escape escapes a segment so that no server or proxy reads it as another path.
func escape(segment string) string {
	if segment == "." || segment == ".." {
		return strings.ReplaceAll(segment, ".", "%2E")
	}
	return url.PathEscape(segment)
}

// accept is the header of a call that wants JSON.
func accept() http.Header { return http.Header{"Accept": {"application/json"}} }

// validSlug reports whether a name from the hub can be the name of an account.
func validSlug(name string) error {
	if err := protocol.CheckAccountName(name); err != nil {
		return fmt.Errorf("the account's name is not one: %w", err)
	}
	return nil
}
