package outbound

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// maxHops is how many redirects a request follows.
	maxHops = 5
	// maxErrorBody is how much of a refusal is read, in bytes.
	maxErrorBody = 1 << 20
)

// Client sends requests to one service. It is safe for concurrent use.
type Client struct {
	Transport http.RoundTripper // such as NewTransport
	UserAgent string            // product/version; some services refuse requests without
	Now       func() time.Time
	// Sleep waits between tries; nil for the real clock.
	Sleep func(ctx context.Context, d time.Duration) error
	// Pauses are the waits before the second, third, … try.
	Pauses []time.Duration
	// MaxWait is the longest wait that a service may ask for within a call; when
	// it asks for more the call ends and the error carries the wait.
	MaxWait time.Duration
	// Judge completes an error from the headers of an answer that was a refusal:
	// Wait and Limit, where the service says them in its own way. May be nil.
	Judge func(*Error)
}

// NewTransport returns a transport for many small requests to few hosts at once.
func NewTransport(perHost int) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 2*perHost, perHost
	t.ResponseHeaderTimeout = time.Minute
	return t
}

// Call is one request.
type Call struct {
	Doing   string // what it is for, as the start of an error: "list the files of a/b"
	Method  string // empty: GET
	URL     string
	Header  http.Header // without Authorization
	Body    []byte
	Token   string        // bearer token; sent to the origin of URL and nowhere else
	Timeout time.Duration // of one try with its redirects and its body; 0: half a minute
	Once    bool          // repeating it would not be harmless
}

// Do sends a request and gives an answer of the 2xx kind to read, once for each
// try; a body that breaks off is a failed try. The error is an [*Error], or the
// context's when that has ended, or one that read marked as [Final].
func (c *Client) Do(ctx context.Context, call Call, read func(*http.Response) error) error {
	for try := 0; ; try++ {
		e := c.once(ctx, call, read)
		if e == nil {
			return nil
		}
		if err := context.Cause(ctx); err != nil {
			return fmt.Errorf("%s: %w", call.Doing, err)
		}
		if final, ok := errors.AsType[*finalError](e.Err); ok {
			return final.error
		}
		if call.Once || try >= len(c.Pauses) || !e.Temporary() || e.Wait > c.MaxWait {
			return e
		}
		if err := c.sleep(ctx, max(c.Pauses[try], e.Wait)); err != nil {
			return fmt.Errorf("%s: %w", call.Doing, err)
		}
	}
}

func (c *Client) sleep(ctx context.Context, d time.Duration) error {
	if c.Sleep != nil {
		return c.Sleep(ctx, d)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// once makes one try, redirects and body included.
func (c *Client) once(ctx context.Context, call Call, read func(*http.Response) error) *Error {
	timeout := call.Timeout
	if timeout <= 0 {
		timeout = 30 * time.Second
	}
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	first, err := url.Parse(call.URL)
	if err != nil {
		return &Error{Doing: call.Doing, Err: errors.New("its address is not a URL")}
	}
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	fail := func(at *url.URL, err error) *Error {
		if ctx.Err() != nil && outer.Err() == nil {
			err = &slowError{timeout, err}
		}
		return &Error{Doing: call.Doing, Host: at.Host, Sent: sent.Load(), Err: err}
	}
	at := first
	for hop := 0; ; hop++ {
		resp, err := c.send(ctx, call, first, at)
		if err != nil {
			return fail(at, err)
		}
		next, err := redirect(resp, first, at)
		if err == nil && next != nil && hop == maxHops {
			err = fmt.Errorf("it redirects more than %d times", maxHops)
		}
		if err != nil {
			resp.Body.Close()
			e := fail(at, err)
			e.Status = resp.StatusCode
			return e
		}
		if next != nil {
			_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 4<<10)) // so that the connection can serve again
			resp.Body.Close()
			at = next
			continue
		}
		defer resp.Body.Close()
		if resp.StatusCode/100 != 2 {
			return c.refusal(call, at, resp)
		}
		if err := read(resp); err != nil {
			e := fail(at, err)
			e.Status, e.Header, e.RequestID = resp.StatusCode, resp.Header, requestID(resp.Header)
			return e
		}
		return nil
	}
}

// send makes one exchange. The token goes to the first origin only: the standard
// client would carry it to subdomains too.
func (c *Client) send(ctx context.Context, call Call, first, at *url.URL) (*http.Response, error) {
	method := call.Method
	if method == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(ctx, method, at.String(), bytes.NewReader(call.Body))
	if err != nil {
		return nil, errors.New("the request cannot be built")
	}
	if call.Body == nil {
		req.Body, req.GetBody, req.ContentLength = nil, nil, 0
	}
	for name, values := range call.Header {
		req.Header[name] = values
	}
	req.Header.Set("User-Agent", c.UserAgent)
	if call.Token != "" && sameOrigin(first, at) {
		req.Header.Set("Authorization", "Bearer "+call.Token)
	}
	return c.Transport.RoundTrip(req)
}

// redirect returns where an answer sends the request, nil when it does not.
func redirect(resp *http.Response, first, at *url.URL) (*url.URL, error) {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	if m := resp.Request.Method; m != http.MethodGet && m != http.MethodHead {
		return nil, errors.New("it redirects a request that changes something")
	}
	location := resp.Header.Get("Location")
	if location == "" {
		return nil, errors.New("it redirects without saying where to")
	}
	next, err := at.Parse(location)
	if err != nil {
		return nil, errors.New("it redirects to an address that is not a URL")
	}
	switch {
	case next.Scheme != "http" && next.Scheme != "https", next.Host == "", next.User != nil:
		return nil, errors.New("it redirects to an address that is not plain http or https")
	case at.Scheme == "https" && next.Scheme != "https":
		return nil, errors.New("it redirects from https to http")
	case inside(next) && !inside(first):
		return nil, fmt.Errorf("it redirects to the private address %s", next.Hostname())
	}
	return next, nil
}

// sameOrigin reports whether two URLs have the same scheme, host and port.
func sameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && strings.EqualFold(a.Host, b.Host) }

// inside reports whether a URL names an address of this machine or its network.
func inside(u *url.URL) bool {
	host := u.Hostname()
	if strings.EqualFold(host, "localhost") || strings.HasSuffix(strings.ToLower(host), ".localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && (a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsUnspecified())
}

// refusal reads an answer that is not of the 2xx kind.
func (c *Client) refusal(call Call, at *url.URL, resp *http.Response) *Error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // a broken body does not change the status
	e := &Error{
		Doing: call.Doing, Host: at.Host, Status: resp.StatusCode, Code: resp.Header.Get("X-Error-Code"), RequestID: requestID(resp.Header),
		Header: resp.Header, Body: body, Sent: true,
	}
	e.Message = message(resp.Header, body)
	if call.Token != "" {
		e.Message = strings.ReplaceAll(e.Message, call.Token, "[token]")
		e.Body = bytes.ReplaceAll(e.Body, []byte(call.Token), []byte("[token]"))
	}
	e.answered = c.Now()
	if d, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		e.answered = d // a service's times are told by its own clock
	}
	e.Wait = retryAfter(resp.Header.Get("Retry-After"), e.answered)
	if c.Judge != nil {
		c.Judge(e)
	}
	return e
}
