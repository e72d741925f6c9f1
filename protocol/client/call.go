package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// call is one request, ready to be sent as often as it must be.
type call struct {
	route  api.Route
	url    string
	body   []byte  // JSON; nil when there is none
	bundle *Bundle // sent beside the body; nil when there is none
	accept string
	lastID string // Last-Event-ID of a resumed stream
}

// what names the call in failures. A query is left out: it explains nothing.
func (c call) what() string {
	address, _, _ := strings.Cut(c.url, "?")
	return c.route.Method + " " + address
}

// prepare fills a route's path and query. A segment that a server would read as
// another path is refused, so that an id can never address something else.
func (c *Client) prepare(route string, query url.Values, segments ...string) (call, error) {
	r, ok := c.routes[route]
	if !ok {
		return call{}, fmt.Errorf("call %s: there is no such route", route)
	}
	path := r.Path
	for _, s := range segments {
		if s == "" || s == "." || s == ".." || len(s) > 400 {
			return call{}, ErrName.Detailf("%.40q is not the name of anything in an arena.", s)
		}
		open, end := strings.IndexByte(path, '{'), strings.IndexByte(path, '}')
		path = path[:open] + url.PathEscape(s) + path[end+1:]
	}
	address := c.base + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	return call{route: r, url: address, accept: api.ContentJSON}, nil
}

// ask sends a request without a bundle and reads its JSON answer.
func ask[T any](ctx context.Context, c *Client, route string, query url.Values, body any, segments ...string) (Answer[T], error) {
	k, err := c.prepare(route, query, segments...)
	if err != nil {
		return Answer[T]{}, err
	}
	if body != nil {
		if k.body, err = json.Marshal(body); err != nil {
			return Answer[T]{}, fmt.Errorf("%s: encode the request: %w", k.what(), err)
		}
	}
	return finish[T](ctx, c, k)
}

// finish sends a prepared call and decodes its answer.
func finish[T any](ctx context.Context, c *Client, k call) (Answer[T], error) {
	got, err := c.do(ctx, k)
	if err != nil {
		return Answer[T]{}, err
	}
	a := Answer[T]{Raw: got.raw, Status: got.status, RequestID: got.requestID}
	if err := json.Unmarshal(got.raw, &a.Value); err != nil {
		return a, ErrNotArena.Detailf("%s: the answer does not have the expected form. Is the arena of another version than this client?", k.what()).Because(err)
	}
	return a, nil
}

// answer is a successful answer before its JSON is decoded.
type answer struct {
	raw       []byte
	status    int
	requestID string
}

// do sends the call, again where the rules say so.
func (c *Client) do(ctx context.Context, k call) (answer, error) {
	for try := 1; ; try++ {
		got, err := c.try(ctx, k)
		if err == nil {
			return got, nil
		}
		wait, again := pause(k.route.Name, k.route.Method, try, err)
		if !again {
			return answer{}, c.final(k, try, err)
		}
		c.opts.Log("%s; trying again in %s (retry %d of %d)", symptom(err), wait, try, len(pauses()))
		if err := c.opts.Sleep(ctx, wait); err != nil {
			return answer{}, fmt.Errorf("%s: wait to try again: %w", k.what(), err)
		}
	}
}

// symptom names a passing failure in a few words.
func symptom(err error) string {
	answer, answered := errors.AsType[*AnswerError](err)
	switch {
	case answered:
		return fmt.Sprintf("the arena answered %d %s", answer.Status, answer.Problem.Code)
	case errors.Is(err, ErrProxy):
		return "a proxy in front of the arena does not reach it"
	default:
		return "the connection to the arena failed"
	}
}

// final is what the caller learns when no further try is made.
func (c *Client) final(k call, tries int, err error) error {
	if tries <= len(pauses()) {
		return err
	}
	_, answered := errors.AsType[*AnswerError](err)
	switch {
	case errors.Is(err, ErrProxy):
		return ErrProxy.Detailf("The arena at %s is briefly unavailable: a proxy in front of it answered each of %d tries. Try again in a few minutes.", c.base, tries).Because(err)
	case answered && k.route.Name == "launch":
		return &PersistentError{Tries: tries, Err: err}
	default:
		return err
	}
}

// try sends the call once.
func (c *Client) try(ctx context.Context, k call) (answer, error) {
	res, w, err := c.send(ctx, k)
	if err != nil {
		return answer{}, err
	}
	defer w.end()
	defer res.Body.Close()
	if err := refuseOther(k, res); err != nil {
		return answer{}, err
	}
	if res.StatusCode >= 400 {
		return answer{}, c.failure(ctx, k, res, w)
	}
	if !isJSON(res) {
		return answer{}, notArena(k, res)
	}
	raw, err := readAll(res.Body, MaxAnswer)
	if err != nil {
		return answer{}, c.broken(ctx, k, w, err)
	}
	if !json.Valid(raw) {
		return answer{}, ErrNotArena.Detailf("%s: the answer says that it is JSON but is not.", k.what())
	}
	return answer{raw: bytes.TrimSpace(raw), status: res.StatusCode, requestID: res.Header.Get("X-Request-Id")}, nil
}

// send sends the call and returns the answer's head. The caller ends the watch
// once it is done with the body.
func (c *Client) send(ctx context.Context, k call) (*http.Response, *watch, error) {
	w := newWatch(ctx)
	req, upload, err := c.request(w.ctx, k, w)
	if err != nil {
		w.end()
		return nil, nil, fmt.Errorf("%s: make the request: %w", k.what(), err)
	}
	res, err := c.opts.HTTP.RoundTrip(req)
	if err != nil {
		if failed := upload.failure(); failed != nil {
			err = ErrBundleRead.Detailf("The directory could not be sent: %v.", failed).Because(failed)
		} else {
			err = c.broken(ctx, k, w, err)
		}
		w.end()
		return nil, nil, err
	}
	w.progress()
	res.Body = w.watched(res.Body)
	return res, w, nil
}

// request builds one try's request.
func (c *Client) request(ctx context.Context, k call, w *watch) (*http.Request, *upload, error) {
	var body io.Reader
	var up *upload
	contentType := api.ContentJSON
	switch {
	case k.bundle != nil:
		up = k.bundle.upload(k.body)
		body, contentType = w.watched(up), up.contentType
	case k.body != nil:
		body = bytes.NewReader(k.body)
	}
	req, err := http.NewRequestWithContext(ctx, k.route.Method, k.url, body)
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Accept", k.accept)
	req.Header.Set("User-Agent", c.opts.UserAgent)
	if body != nil {
		req.Header.Set("Content-Type", contentType)
	}
	if up != nil {
		// A refusal, such as an unknown token, then comes before the upload.
		req.Header.Set("Expect", "100-continue")
	}
	if k.lastID != "" {
		req.Header.Set("Last-Event-ID", k.lastID)
	}
	if !c.opts.Token.IsZero() && (k.route.Role != protocol.RolePublic || c.opts.SignReads) {
		req.Header.Set("Authorization", c.opts.Token.header())
	}
	return req, up, nil
}

// broken is the failure of a connection: the caller's own end, or the network.
func (c *Client) broken(ctx context.Context, k call, w *watch, err error) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", k.what(), context.Cause(ctx))
	case errors.Is(err, ErrAnswerSize):
		return err
	case w.stalled():
		return ErrNetwork.Detailf("%s: the arena sent nothing for %s.", k.what(), stallAfter).Because(err)
	default:
		return ErrNetwork.Detailf("%s: the connection failed (%v). Is the arena running there, and is ARENA_URL right?", k.what(), err).Because(err)
	}
}
