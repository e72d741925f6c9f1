package webhooks

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

const (
	// DefaultTimeout bounds one request with its answer.
	DefaultTimeout = 15 * time.Second
	// maxAnswer is how much of an answer is read, so that the connection can serve
	// again; nothing in it matters.
	maxAnswer = 4 << 10
	// maxHeader bounds the head of an answer.
	maxHeader = 16 << 10
)

// newClient returns a client that goes to one place: no proxy of the environment,
// which would resolve names where no guard looks, and no redirect.
func newClient(allowPrivate bool, timeout time.Duration) *http.Client {
	dialer := &net.Dialer{Timeout: timeout}
	if !allowPrivate {
		dialer.Control = refusePrivate
	}
	return &http.Client{
		Timeout: timeout,
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSHandshakeTimeout: timeout, ForceAttemptHTTP2: true,
			MaxIdleConnsPerHost: 1, MaxConnsPerHost: 2, IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: maxHeader, DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// send makes one request and says what came of it. Only the end of ctx is an error.
func (s *Sender) send(ctx context.Context, h *hook, d protocol.Delivery) (protocol.DeliveryTry, error) {
	body, err := json.Marshal(api.EventFrom(d.Event))
	if err != nil {
		return protocol.DeliveryTry{Problem: "the event cannot be written as JSON"}, nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(body))
	if err != nil {
		return protocol.DeliveryTry{Problem: "the address of the hook is not a URL"}, nil
	}
	now := s.Now()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", s.UserAgent)
	req.Header.Set(HeaderID, d.ID)
	req.Header.Set(HeaderTimestamp, strconv.FormatInt(now.Unix(), 10))
	req.Header.Set(HeaderSignature, Sign(h.Keys, d.ID, now, body))
	resp, err := h.client.Do(req)
	if ctx.Err() != nil {
		if err == nil {
			resp.Body.Close()
		}
		return protocol.DeliveryTry{}, context.Cause(ctx)
	}
	if err != nil {
		return protocol.DeliveryTry{Problem: s.reason(err)}, nil
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer)) // the status has said everything
	try := protocol.DeliveryTry{Status: resp.StatusCode}
	switch class := resp.StatusCode / 100; class {
	case 2:
	case 3:
		try.Problem = fmt.Sprintf("it answered %d: redirects are not followed, so the hook needs the final address", resp.StatusCode)
	default:
		try.Problem = fmt.Sprintf("it answered %d", resp.StatusCode)
		if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && n > 0 {
			try.Wait = time.Duration(min(n, int(protocol.MaxDeliveryWait/time.Second))) * time.Second
		}
	}
	return try, nil
}

// reason says why there was no answer in words that hold nothing of the address:
// some services put a secret into it.
func (s *Sender) reason(err error) string {
	_, name := errors.AsType[*net.DNSError](err)
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	timeout, _ := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, errPrivate):
		return errPrivate.Error() + "; allow_private = true allows that"
	case name:
		return "its name cannot be resolved"
	case certificate:
		return "its certificate is not accepted"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "it takes no connections"
	case timeout != nil && timeout.Timeout():
		return fmt.Sprintf("it took longer than %s", s.Timeout)
	default:
		return "the connection broke before it answered"
	}
}
