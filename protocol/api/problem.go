package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// ProblemType is the media type of every error answer (RFC 9457).
const ProblemType = "application/problem+json"

// Problem is an error answer. A program may branch on code; detail is for
// people. Members beyond RFC 9457 are those of PROTOCOL §3.
type Problem struct {
	Type      string                `json:"type" doc:"Always about:blank: code tells problems apart"`
	Title     string                `json:"title" doc:"What the status means"`
	Status    int                   `json:"status"`
	Detail    string                `json:"detail" doc:"What is wrong and what to do, in a sentence"`
	Code      string                `json:"code" doc:"Stable word for this kind of problem"`
	Errors    []protocol.FieldError `json:"errors,omitempty" doc:"The fields that are wrong"`
	Cause     string                `json:"cause,omitempty" doc:"Why such a thing is refused"`
	Fix       string                `json:"fix,omitempty" doc:"What to do"`
	Command   string                `json:"command,omitempty" doc:"A command line that helps; words in capitals stand for names that only you know"`
	RequestID string                `json:"request_id" doc:"X-Request-Id of this answer"`
	Retryable bool                  `json:"retryable" doc:"The identical request may succeed later"`
	Launched  *Launched             `json:"launched,omitempty" doc:"Only on launches: whether a job was started"`
	RetrySame *bool                 `json:"retry_with_same_request_id,omitempty" doc:"Only on launches"`
}

// Launched is false, true or "unknown" on the wire.
type Launched protocol.Launched

// MarshalJSON writes the boolean or the word.
func (l Launched) MarshalJSON() ([]byte, error) {
	if protocol.Launched(l) == protocol.LaunchedUnknown {
		return []byte(`"unknown"`), nil
	}
	return []byte(l), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (l *Launched) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "true", "false":
		*l = Launched(b)
		return nil
	case `"unknown"`:
		*l = Launched(protocol.LaunchedUnknown)
		return nil
	default:
		return fmt.Errorf("launched is %s, not true, false or \"unknown\"", b)
	}
}

// ProblemFrom maps a failure to the wire. Its cause stays behind.
func ProblemFrom(err error, requestID string) Problem {
	e := protocol.AsError(err)
	p := Problem{
		Type: "about:blank", Title: http.StatusText(e.Kind.Status()), Status: e.Kind.Status(), Detail: e.Detail, Code: e.Code,
		Errors: e.Fields, RequestID: requestID, Retryable: e.Kind == protocol.KindUnavailable || e.Kind == protocol.KindRateLimited,
	}
	if r, ok := protocol.RemedyFor(e.Code); ok {
		p.Cause, p.Fix, p.Command = r.Cause, r.Fix, r.Command
	}
	if e.Launched != "" {
		l, same := Launched(e.Launched), e.RetrySame
		p.Launched, p.RetrySame = &l, &same
	}
	return p
}

// Err maps a problem off the wire back to the error it came from, so that
// errors.Is(err, protocol.ErrDailyLimit) holds on both sides.
func (p Problem) Err(retryAfter time.Duration) *protocol.Error {
	e := &protocol.Error{Kind: protocol.KindOf(p.Status), Code: p.Code, Detail: p.Detail, Fields: p.Errors, RetryAfter: retryAfter, RequestID: p.RequestID}
	if p.Launched != nil {
		e.Launched = protocol.Launched(*p.Launched)
	}
	if p.RetrySame != nil {
		e.RetrySame = *p.RetrySame
	}
	return e
}

var (
	_ json.Marshaler   = Launched("")
	_ json.Unmarshaler = (*Launched)(nil)
)
