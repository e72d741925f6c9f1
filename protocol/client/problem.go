package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// The failures that no arena answered with. Compare with errors.Is.
var (
	ErrBaseURL     = &protocol.Error{Kind: protocol.KindMalformed, Code: "arena-url", Detail: "The arena's address cannot be used."}
	ErrName        = &protocol.Error{Kind: protocol.KindMalformed, Code: "bad-name", Detail: "That is not the name of anything."}
	ErrNetwork     = &protocol.Error{Kind: protocol.KindUnavailable, Code: "network", Detail: "The arena cannot be reached."}
	ErrProxy       = &protocol.Error{Kind: protocol.KindUnavailable, Code: "arena-unavailable", Detail: "The arena is briefly unavailable."}
	ErrRedirect    = &protocol.Error{Kind: protocol.KindBadGateway, Code: "redirected", Detail: "The address answers with a redirect, which is never followed."}
	ErrNotArena    = &protocol.Error{Kind: protocol.KindBadGateway, Code: "not-an-arena", Detail: "What answers at this address is not an arena."}
	ErrAnswerSize  = &protocol.Error{Kind: protocol.KindBadGateway, Code: "answer-too-large", Detail: "The answer is larger than this client reads."}
	ErrBundleRead  = &protocol.Error{Kind: protocol.KindInvalid, Code: "bundle", Detail: "The directory could not be read while it was sent."}
	ErrStreamEvent = &protocol.Error{Kind: protocol.KindBadGateway, Code: "bad-event", Detail: "The stream holds an event that cannot be read."}
)

// AnswerError is a problem that the arena answered with.
type AnswerError struct {
	Problem *protocol.Error
	Raw     json.RawMessage // the problem's JSON, as it came
	Status  int
}

// Error is the problem's sentence.
func (e *AnswerError) Error() string { return e.Problem.Error() }

// Unwrap returns the problem, so that errors.Is and errors.As find it.
func (e *AnswerError) Unwrap() error { return e.Problem }

// PersistentError is a launch that the arena could not decide on in any of
// several tries. Trying further does not help: it is for an organizer.
type PersistentError struct {
	Tries int
	Err   error // the last answer
}

// Error says how often it was tried and what came back.
func (e *PersistentError) Error() string {
	return fmt.Sprintf("%d tries of the identical launch gave the same kind of answer, so stop and ask an organizer: %v", e.Tries, e.Err)
}

// Unwrap returns the last answer.
func (e *PersistentError) Unwrap() error { return e.Err }

// problemFrom reads an error answer. It reports false when the body is not a
// problem, as that of a proxy is not.
func problemFrom(res *http.Response, raw []byte) (*AnswerError, bool) {
	var p api.Problem
	if err := json.Unmarshal(raw, &p); err != nil || p.Detail == "" || p.Code == "" {
		return nil, false
	}
	if p.Status != res.StatusCode {
		p.Status = res.StatusCode
	}
	if p.RequestID == "" {
		p.RequestID = res.Header.Get("X-Request-Id")
	}
	return &AnswerError{Problem: p.Err(retryAfter(res.Header)), Raw: raw, Status: res.StatusCode}, true
}

// retryAfter reads the Retry-After header in either of its forms; the date is
// taken relative to the answer's own Date, so that clocks need not agree. It is
// 0 when there is none.
func retryAfter(h http.Header) time.Duration {
	raw := strings.TrimSpace(h.Get("Retry-After"))
	if n, err := strconv.ParseUint(raw, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	at, err := http.ParseTime(raw)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0
	}
	return max(0, at.Sub(now))
}
