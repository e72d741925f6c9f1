package outbound

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
)

// MaxWait bounds the waits that are believed.
const MaxWait = 24 * time.Hour

// Error is a request that did not get what it asked for.
type Error struct {
	Doing     string
	Host      string        // host and port of whoever answered last, or did not
	Status    int           // of the answer; 0 when there was none
	Code      string        // the hub's X-Error-Code; empty elsewhere
	Message   string        // what the answer says, in one line; for people, never to branch on
	RequestID string        // the service's own, for its support
	Header    http.Header   // of the answer
	Body      []byte        // of a refusal, at most 1 MiB
	Wait      time.Duration // how long the service asked to wait; 0 when it did not say
	Limit     string        // which of its limits refused, in its words; set by Client.Judge
	Sent      bool          // the request may have reached the service
	Err       error         // why there was no answer, or what is wrong with it

	answered time.Time
}

// Error says in one line what was being done and why it failed. It holds no URL,
// header or token.
func (e *Error) Error() string {
	s := e.Doing + ": " + e.Host
	switch {
	case e.Status == 0 && e.Err != nil:
		return fmt.Sprintf("%s did not answer: %v", s, e.Err)
	case e.Err != nil:
		s = fmt.Sprintf("%s answered %d, but %v", s, e.Status, e.Err)
	default:
		s = fmt.Sprintf("%s answered %d", s, e.Status)
		if e.Message != "" {
			s += " (" + e.Message + ")"
		}
	}
	if e.RequestID != "" {
		s += ", request " + e.RequestID
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Temporary reports whether the same request may succeed later: there was no
// answer, a broken one, a limit, or a service in trouble.
func (e *Error) Temporary() bool {
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	default:
		return e.Err != nil || e.Limit != ""
	}
}

// Because ends a clause that says that a service could not be asked, such as
// " because its name cannot be resolved"; empty when there is nothing to add.
func (e *Error) Because() string {
	if why := e.reason(); why != "" {
		return " because " + why
	}
	return ""
}

func (e *Error) reason() string {
	if slow, ok := errors.AsType[*slowError](e.Err); ok {
		return slow.Error()
	}
	if _, ok := errors.AsType[*net.DNSError](e.Err); ok {
		return "its name cannot be resolved"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](e.Err); ok {
		return "its certificate is not accepted"
	}
	_, alert := errors.AsType[tls.AlertError](e.Err)
	_, record := errors.AsType[tls.RecordHeaderError](e.Err)
	switch {
	case alert, record:
		return "no encrypted connection comes about"
	case errors.Is(e.Err, syscall.ECONNREFUSED):
		return "it takes no connections"
	case e.Status >= http.StatusInternalServerError && e.Err == nil:
		return fmt.Sprintf("it answers %d", e.Status)
	default:
		return ""
	}
}

// Until is how long to wait for a moment that the service named as seconds since
// 1970 by its own clock, between nothing and MaxWait.
func (e *Error) Until(unix int64) time.Duration {
	return min(max(0, time.Unix(unix, 0).Sub(e.answered)), MaxWait)
}

// finalError is one that no further try can mend.
type finalError struct{ error }

// Final marks an error of a function that reads an answer as one that ends the
// call: what came is whole, and refused.
func Final(err error) error { return &finalError{err} }

// Unwrap returns the error itself.
func (e *finalError) Unwrap() error { return e.error }

// slowError is a try that was given up, whatever it was doing when its time ended.
type slowError struct {
	after time.Duration
	err   error
}

// Error says what happened in words that are not the machine's.
func (e *slowError) Error() string { return fmt.Sprintf("it took longer than %s", e.after) }

// Unwrap returns what the end of the time interrupted.
func (e *slowError) Unwrap() error { return e.err }

// JSON reads an answer of at most limit bytes that must be JSON. Members that
// into does not know are ignored: services grow.
func JSON(resp *http.Response, limit int64, into any) error {
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		return fmt.Errorf("it is %s instead of JSON", describe(resp.Header.Get("Content-Type")))
	}
	raw, err := All(resp, limit)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return errors.New("it cannot be read as the JSON that belongs there")
	}
	return nil
}

// All reads an answer of at most limit bytes.
func All(resp *http.Response, limit int64) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, fmt.Errorf("the answer breaks off: %w", err)
	}
	if int64(len(raw)) > limit {
		return nil, fmt.Errorf("it is longer than %d bytes", limit)
	}
	return raw, nil
}

func describe(contentType string) string {
	if contentType == "" {
		return "of no stated type"
	}
	return oneLine(contentType)
}

// message is the sentence in a refusal. The hub has five shapes of bodies and
// GitHub another; what is none of them is not shown but named.
func message(h http.Header, body []byte) string {
	if m := h.Get("X-Error-Message"); m != "" {
		return oneLine(m)
	}
	text := strings.TrimSpace(string(body))
	switch {
	case text == "":
		return ""
	case strings.HasPrefix(text, "<") || strings.HasPrefix(h.Get("Content-Type"), "text/html"):
		return "an HTML page"
	}
	var shape struct {
		Error       any    `json:"error"`
		Description string `json:"error_description"`
		Message     string `json:"message"`
		Errors      []struct {
			Message string `json:"message"`
		} `json:"errors"`
	}
	if json.Unmarshal(body, &shape) != nil {
		return oneLine(text)
	}
	parts := []string{shape.Message, shape.Description}
	switch e := shape.Error.(type) {
	case string:
		parts = append(parts, e)
	case []any:
		for _, v := range e {
			parts = append(parts, fmt.Sprint(v))
		}
	}
	for _, e := range shape.Errors {
		parts = append(parts, e.Message)
	}
	for _, p := range parts {
		if p != "" {
			return oneLine(p)
		}
	}
	return ""
}

// oneLine makes text from outside fit for one line of a log or a sentence.
func oneLine(s string) string {
	const most = 200
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "?"), func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return s
}

func requestID(h http.Header) string {
	for _, name := range []string{"X-Request-Id", "X-Amzn-Trace-Id", "X-Amz-Cf-Id", "X-Github-Request-Id"} {
		if id := h.Get(name); id != "" {
			return oneLine(id)
		}
	}
	return ""
}

// retryAfter reads a Retry-After header: seconds, or a date by the clock of who
// sent it. What cannot be read, or is over, is no wait.
func retryAfter(header string, now time.Time) time.Duration {
	if header == "" {
		return 0
	}
	if n, err := strconv.ParseInt(header, 10, 64); err == nil {
		return time.Duration(min(max(0, n), int64(MaxWait/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return min(max(0, at.Sub(now)), MaxWait)
	}
	return 0
}
