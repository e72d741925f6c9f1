package k8stest

import (
	"encoding/json"
	"net/http"
	"strconv"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fault is something that goes wrong with requests. At most one of the ways Answer,
// Cut, Lost and Hang is set.
type Fault struct {
	// Verb is create, get, list, delete or log; empty: any.
	Verb string
	// Times is how many requests it happens to; 0 means all.
	Times int
	// Answer answers instead of the server, which does not act.
	Answer http.HandlerFunc
	// Cut lets the server act and breaks the connection after so many bytes of its
	// answer; Lost before the first of them.
	Cut  int
	Lost bool
	// Hang lets nothing happen until the client gives up.
	Hang bool
	// Before is called when the request has arrived and After when the server has
	// acted on it, before it answers: moments at which a test can kill the client.
	Before, After func()
}

// Refuse answers with a status of the API server.
func Refuse(code int, reason meta.StatusReason, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		writeStatus(w, meta.Status{Code: int32(code), Reason: reason, Message: message})
	}
}

// Throttle answers 429 and asks to wait for some seconds.
func Throttle(seconds int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
		writeStatus(w, meta.Status{
			Code: http.StatusTooManyRequests, Reason: meta.StatusReasonTooManyRequests, Message: "too many requests, please try again later",
			Details: &meta.StatusDetails{RetryAfterSeconds: int32(seconds)},
		})
	}
}

// Page answers as a proxy that is not the API server, and repeats the request's
// headers as the worst of them do.
func Page(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(code)
		_, _ = w.Write([]byte("<html><body>You sent " + r.Header.Get("Authorization") + "</body></html>"))
	}
}

// JSON answers 200 with a text that claims to be JSON.
func JSON(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(text))
	}
}

// Redirect answers 307.
func Redirect(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusTemporaryRedirect) }
}

// Endless answers 200 and sends more than anybody should read.
func Endless() http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		block := make([]byte, 1<<20)
		for i := range block {
			block[i] = ' '
		}
		for range 64 {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}
}

func writeStatus(w http.ResponseWriter, s meta.Status) {
	s.TypeMeta, s.Status = meta.TypeMeta{APIVersion: "v1", Kind: "Status"}, meta.StatusFailure
	writeJSON(w, int(s.Code), s)
}

func writeJSON(w http.ResponseWriter, code int, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // the API's own types
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(data)
}

// cutWriter breaks the connection once so many bytes were written.
type cutWriter struct {
	http.ResponseWriter
	left int
}

// Write writes what is still let through.
func (c *cutWriter) Write(p []byte) (int, error) {
	n := min(len(p), c.left)
	_, _ = c.ResponseWriter.Write(p[:n])
	c.left -= n
	if n < len(p) {
		c.Flush()
		panic(http.ErrAbortHandler)
	}
	return n, nil
}

// Flush sends what was written.
func (c *cutWriter) Flush() { _ = http.NewResponseController(c.ResponseWriter).Flush() }

// Unwrap returns the writer behind.
func (c *cutWriter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// mute takes an answer that nobody gets.
type mute struct{ header http.Header }

// Header returns headers that nobody gets.
func (m mute) Header() http.Header { return m.header }

// Write pretends to write.
func (m mute) Write(p []byte) (int, error) { return len(p), nil }

// WriteHeader does nothing.
func (m mute) WriteHeader(int) {}
