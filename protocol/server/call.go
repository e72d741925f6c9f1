package server

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/julienschmidt/httprouter"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// handler answers one call, or returns why it cannot.
type handler func(*call) error

// call is one request with what the server found out about it.
type call struct {
	server    *Server
	w         http.ResponseWriter
	r         *http.Request
	params    httprouter.Params
	route     api.Route
	who       protocol.Identity
	requestID string
	cut       bool // nobody waits for the rest of the body

	key   string // under which the answer is kept; empty when it is not
	state int64  // of the store before the answer was made
	began time.Time
	// environment is the collection that a body names, for what a refusal teaches.
	environment string
}

func (c *call) ctx() context.Context     { return c.r.Context() }
func (c *call) param(name string) string { return c.params.ByName(name) }
func (c *call) query(name string) string { return c.r.URL.Query().Get(name) }
func (c *call) by() protocol.Actor       { return protocol.Actor{Name: c.who.Name, RequestID: c.requestID} }

// readWithin bounds how long a body may take. net/http lifts the limit once the
// body was read to its end, so it does not end the work that follows.
func (c *call) readWithin(d time.Duration) {
	_ = http.NewResponseController(c.w).SetReadDeadline(time.Now().Add(d))
}

// bound limits how long the client may take to read an answer, and to send what
// is left of a body that nobody wants to read.
func (c *call) bound() {
	control := http.NewResponseController(c.w)
	_ = control.SetWriteDeadline(time.Now().Add(writeJSON))
	rest := readRest
	if c.cut {
		rest = 0
	}
	_ = control.SetReadDeadline(time.Now().Add(rest))
}

// Time limits of one request's parts. They bound slow clients, not slow work.
const (
	readBody   = 30 * time.Second
	readBundle = 15 * time.Minute
	readRest   = 5 * time.Second // none of an upload that is cut off
	writeJSON  = 60 * time.Second
)

// body reads the route's JSON body, checked against its schema.
func (c *call) body(into any) error {
	if err := c.wantType(api.ContentJSON); err != nil {
		return err
	}
	limit := max(c.server.MaxJSON, c.route.Body)
	raw, err := c.whole(limit)
	if err != nil {
		return err
	}
	return c.decode(raw, into)
}

// whole reads a body that fits into memory.
func (c *call) whole(limit int64) (raw []byte, err error) {
	err = c.receive(readBody, func() error {
		if raw, err = io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, limit)); err != nil {
			return bodyError(err, limit)
		}
		return nil
	})
	return raw, err
}

// receive runs f, which reads the body, and bounds how long that may take. A body
// that a shutdown meets is not waited for: its sender is told to come again.
func (c *call) receive(within time.Duration, f func() error) error {
	c.readWithin(within)
	release := context.AfterFunc(c.server.closing, func() { c.readWithin(0) })
	defer release()
	err := f()
	if err != nil && c.server.closing.Err() != nil && protocol.AsError(err).Kind == protocol.KindMalformed {
		c.cut = true
		c.w.Header().Set("Connection", "close")
		return protocol.ErrUnavailable.Detailf("The arena is shutting down. Nothing was stored; send it again.").Because(err)
	}
	return err
}

// decode checks and decodes a JSON body. Secrets are refused before anything
// could repeat or store them.
func (c *call) decode(raw []byte, into any) error {
	if err := refuseSecrets(string(raw)); err != nil {
		return err
	}
	if err := c.server.schemas.Decode(c.route, raw, into); err != nil {
		return err
	}
	// A token that was spelled with escapes shows only now.
	plain, err := json.Marshal(into)
	if err != nil {
		return err
	}
	return refuseSecrets(string(plain))
}

func (c *call) wantType(want string) error {
	got := c.r.Header.Get("Content-Type")
	if base, _, err := mime.ParseMediaType(got); err != nil || base != want {
		return protocol.ErrMediaType.Detailf("This endpoint reads %s, not %q. Set the Content-Type header.", want, got)
	}
	return nil
}

// bodyError explains why a body could not be read.
func bodyError(err error, limit int64) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return protocol.ErrTooLarge.Detailf("The request body is larger than the %d bytes this endpoint reads.", limit)
	}
	return protocol.ErrMalformed.Detailf("The request body could not be read to its end.").Because(err)
}

// page reads limit and cursor.
func (c *call) page() (protocol.Page, error) {
	limit, err := c.integer("limit", protocol.DefaultPage, 1, protocol.MaxPage)
	return protocol.Page{Limit: int(limit), Cursor: c.query("cursor")}, err
}

// integer reads a query parameter between bounds.
func (c *call) integer(name string, missing, low, high int64) (int64, error) {
	raw := c.query(name)
	if raw == "" {
		return missing, nil
	}
	n, err := strconv.ParseInt(raw, 10, 64)
	if err != nil || n < low || n > high {
		return 0, protocol.ErrInvalid.Detailf("The query parameter %s must be a whole number from %d to %d.", name, low, high).
			WithFields(protocol.FieldError{Field: "query." + name, Message: fmt.Sprintf("must be a whole number from %d to %d", low, high)})
	}
	return n, nil
}

// answer writes a JSON answer. Reads carry an ETag and answer 304 to a client
// that has the same bytes.
func (c *call) answer(status int, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode answer of %s: %w", c.route.Name, err)
	}
	raw = append(raw, '\n')
	return c.bytes(status, api.ContentJSON, raw)
}

// bytes writes an answer of known content.
func (c *call) bytes(status int, contentType string, raw []byte) error {
	tag := ""
	if c.r.Method != http.MethodPost {
		sum := sha256.Sum256(raw)
		tag = `"` + base64.RawURLEncoding.EncodeToString(sum[:15]) + `"`
	}
	if c.key != "" && status == http.StatusOK {
		c.server.answers.put(c.key, kept{state: c.state, at: c.began, kind: contentType, link: c.w.Header().Get("Link"), tag: tag, body: raw})
	}
	c.deliver(status, contentType, tag, raw)
	return nil
}

// deliver writes an answer. One with a tag is 304 for a client that has it.
func (c *call) deliver(status int, contentType, tag string, raw []byte) {
	h := c.w.Header()
	c.bound()
	if tag != "" {
		h.Set("ETag", tag)
		if c.who.SignedIn() {
			h.Set("Cache-Control", "private, no-cache")
		} else {
			h.Set("Cache-Control", "no-cache")
		}
		if matches(c.r.Header.Get("If-None-Match"), tag) {
			c.w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(raw)))
	c.w.WriteHeader(status)
	_, _ = c.w.Write(raw) // the client is gone; there is nobody to tell
}

// matches reports whether an If-None-Match header names the tag.
func matches(header, tag string) bool {
	for candidate := range strings.SplitSeq(header, ",") {
		candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
		if candidate == tag || candidate == "*" {
			return true
		}
	}
	return false
}

// created answers 201 for a new object and 200 for one that existed.
func (c *call) created(existing bool, v any) error {
	if existing {
		return c.answer(http.StatusOK, v)
	}
	return c.answer(http.StatusCreated, v)
}

// next announces the following page in the Link header and returns its cursor
// for the body, nil at the end.
func (c *call) next(cursor string) *string {
	if cursor == "" {
		return nil
	}
	q := c.r.URL.Query()
	q.Set("cursor", cursor)
	link := url.URL{Path: c.r.URL.Path, RawQuery: q.Encode()}
	c.w.Header().Set("Link", fmt.Sprintf("<%s>; rel=%q", link.String(), "next"))
	return &cursor
}
