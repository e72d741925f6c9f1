package client

import (
	"context"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/posttrainarena/arena/protocol/api"
)

// The most bytes that are read of one answer.
const (
	MaxAnswer  = 64 << 20
	MaxProblem = 1 << 20
)

// readAll reads a body up to a bound, beyond which it is ErrAnswerSize.
func readAll(r io.Reader, bound int64) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, bound+1))
	if err != nil {
		return nil, err
	}
	if int64(len(raw)) > bound {
		return nil, ErrAnswerSize.Detailf("The answer is larger than the %d MiB that this client reads. Ask for fewer rows with limit.", bound>>20)
	}
	return raw, nil
}

// refuseOther refuses answers that are neither success nor failure. A redirect
// is named by its host only: the rest may hold anything.
func refuseOther(k call, res *http.Response) error {
	switch {
	case res.StatusCode >= 300 && res.StatusCode < 400:
		host := "an address that cannot be read"
		if from, err := url.Parse(k.url); err == nil {
			if to, err := from.Parse(res.Header.Get("Location")); err == nil {
				host = to.Scheme + "://" + to.Host
			}
		}
		return ErrRedirect.Detailf("%s answers with a redirect to %s. Redirects are never followed, so that a token cannot go with them; set ARENA_URL to the arena's own address.", k.what(), host)
	case res.StatusCode < 200:
		return notArena(k, res)
	default:
		return nil
	}
}

// failure reads an error answer.
func (c *Client) failure(ctx context.Context, k call, res *http.Response, w *watch) error {
	var raw []byte
	if isJSON(res) {
		var err error
		if raw, err = readAll(res.Body, MaxProblem); err != nil {
			return c.broken(ctx, k, w, err)
		}
	}
	if e, ok := problemFrom(res, raw); ok {
		return e
	}
	switch res.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return ErrProxy.Detailf("The arena at %s is briefly unavailable: a proxy in front of it answered %d.", c.base, res.StatusCode).After(retryAfter(res.Header))
	default:
		return notArena(k, res)
	}
}

// notArena is an answer that no arena gives.
func notArena(k call, res *http.Response) error {
	kind := mediaType(res)
	if kind == "" {
		kind = "no content type"
	}
	return ErrNotArena.Detailf("%s answers %d with %.60s, which is not what an arena says. Is ARENA_URL right?", k.what(), res.StatusCode, kind)
}

func mediaType(res *http.Response) string {
	kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

// isJSON reports whether an answer says that it is JSON, a problem included.
func isJSON(res *http.Response) bool {
	kind := mediaType(res)
	return kind == api.ContentJSON || kind == api.ProblemType || strings.HasSuffix(kind, "+json")
}
