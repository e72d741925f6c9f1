package protocol

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Kind is the class of a failure. The list is closed: each kind maps to exactly
// one HTTP status, and adding one means deciding what a client should do with it.
type Kind int

// The kinds of failure an answer can carry, with the HTTP status of each.
const (
	KindInternal    Kind = iota // 500: a bug or a broken disk; logged once with the request id
	KindMalformed               // 400: the request could not be read
	KindSignedOut               // 401: no token, or one that is not known
	KindForbidden               // 403: known, but not allowed
	KindNotFound                // 404
	KindMethod                  // 405
	KindNotAccepted             // 406
	KindConflict                // 409: the state of something else stands in the way
	KindGone                    // 410: retired, with a pointer to what replaced it
	KindTooLarge                // 413
	KindMediaType               // 415
	KindInvalid                 // 422: readable, but cannot be done as asked
	KindRateLimited             // 429: carries RetryAfter
	KindBadGateway              // 502: a service behind the arena refused
	KindUnavailable             // 503: try again; carries RetryAfter
)

// statuses are the HTTP statuses of the kinds, in their order.
func statuses() []int {
	return []int{500, 400, 401, 403, 404, 405, 406, 409, 410, 413, 415, 422, 429, 502, 503}
}

// Status returns the HTTP status of the kind.
func (k Kind) Status() int {
	if all := statuses(); k >= 0 && int(k) < len(all) {
		return all[k]
	}
	return 500
}

// KindOf returns the kind whose HTTP status is status. Statuses that no kind
// has are read by their class: other 4xx are malformed, other 5xx internal.
func KindOf(status int) Kind {
	if k := slices.Index(statuses(), status); k >= 0 {
		return Kind(k)
	}
	if status >= 400 && status < 500 {
		return KindMalformed
	}
	return KindInternal
}

// Launched says whether a refused or failed launch started a job (PROTOCOL §3).
type Launched string

// The three answers to "did anything start?", as the wire spells them. The wire
// form of the first two is a JSON boolean.
const (
	LaunchedNo      Launched = "false"
	LaunchedYes     Launched = "true"
	LaunchedUnknown Launched = "unknown"
)

// FieldError names one part of a request that is wrong.
type FieldError struct {
	Field   string `json:"field"`   // path of the field, such as refs[2]
	Message string `json:"message"` // what is wrong and what would be right
}

// Error is a failure that an answer describes: its kind decides the status, its
// code is the stable word a program may branch on, its detail is the sentence a
// person can act on. Two errors are the same to errors.Is when their codes are.
type Error struct {
	Kind       Kind
	Code       string
	Detail     string
	Fields     []FieldError
	Launched   Launched      // empty when the request was not a launch
	RetrySame  bool          // repeating the identical request is safe and useful
	RetryAfter time.Duration // 0 when no wait is known
	RequestID  string        // request id of the answer; set by the client for errors off the wire
	Err        error         // the cause, for the log only: never shown to a client
}

// Error returns the detail and, when there is one, the cause.
func (e *Error) Error() string {
	if e.Err != nil {
		return e.Detail + ": " + e.Err.Error()
	}
	return e.Detail
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is an *Error with the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// Detailf returns a copy of the error with another sentence.
func (e *Error) Detailf(format string, args ...any) *Error {
	c := *e
	c.Detail = fmt.Sprintf(format, args...)
	return &c
}

// Because returns a copy of the error with a cause that only the log sees.
func (e *Error) Because(cause error) *Error {
	c := *e
	c.Err = cause
	return &c
}

// After returns a copy of the error that asks the client to wait.
func (e *Error) After(wait time.Duration) *Error {
	c := *e
	c.RetryAfter = wait
	return &c
}

// WithFields returns a copy of the error that names the wrong fields.
func (e *Error) WithFields(fields ...FieldError) *Error {
	c := *e
	c.Fields = fields
	return &c
}

// Launch returns a copy of the error that says whether a job was started. What
// passes by itself is worth the identical request: nothing was decided about it.
func (e *Error) Launch(l Launched) *Error {
	c := *e
	c.Launched = l
	c.RetrySame = l == LaunchedUnknown || l == LaunchedNo && e.Kind == KindUnavailable
	return &c
}

// AsError returns err as an *Error. Anything that is not one becomes
// ErrInternal with err as its cause, so that an unexpected failure never leaks
// its text to a client.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return ErrInternal.Because(err)
}

// The catalogue: every failure the protocol can answer with, one line each.
// The sentence is the default; the place that knows more replaces it.
var (
	ErrInternal      = &Error{Kind: KindInternal, Code: "internal", Detail: "The arena failed to answer. The failure is logged under this request id; tell an organizer if it persists."}
	ErrMalformed     = &Error{Kind: KindMalformed, Code: "malformed", Detail: "The request body is not valid JSON."}
	ErrTokenPlace    = &Error{Kind: KindMalformed, Code: "token-in-url", Detail: "A token must never be part of a URL or a body. Send it as the header Authorization: Bearer TOKEN, and revoke the one you just exposed."}
	ErrBadRequestID  = &Error{Kind: KindInvalid, Code: "request-id", Detail: "request_id must be 8 to 120 characters of A-Z a-z 0-9 . _ -"}
	ErrCursor        = &Error{Kind: KindMalformed, Code: "cursor", Detail: "The cursor is not one that this arena gave out. Start again without it."}
	ErrSignedOut     = &Error{Kind: KindSignedOut, Code: "signed-out", Detail: "This needs an identity. Send Authorization: Bearer TOKEN with a token of this arena."}
	ErrBadToken      = &Error{Kind: KindSignedOut, Code: "bad-token", Detail: "The token is not known here, or was revoked. Ask an organizer for a new one."}
	ErrForbidden     = &Error{Kind: KindForbidden, Code: "forbidden", Detail: "You may not do this."}
	ErrNotAuthor     = &Error{Kind: KindForbidden, Code: "not-author", Detail: "Only the collection's author or an editor may do this."}
	ErrEditorOnly    = &Error{Kind: KindForbidden, Code: "editor-only", Detail: "Only an editor may do this."}
	ErrForeignAgent  = &Error{Kind: KindForbidden, Code: "foreign-agent", Detail: "That agent is registered to somebody else. Use one of your own (see whoami) or agent_id null."}
	ErrSignIn        = &Error{Kind: KindForbidden, Code: "sign-in", Detail: "The sign-in was not completed. Start again from the arena's own page."}
	ErrCrossOrigin   = &Error{Kind: KindForbidden, Code: "cross-origin", Detail: "A browser session may only write from the arena's own pages."}
	ErrNotFound      = &Error{Kind: KindNotFound, Code: "not-found", Detail: "There is nothing at this address. GET /api/discover lists every endpoint."}
	ErrNoChallenge   = &Error{Kind: KindNotFound, Code: "no-challenge", Detail: "There is no such challenge. GET /api/challenges lists them."}
	ErrNoCollection  = &Error{Kind: KindNotFound, Code: "no-environment", Detail: "There is no such environment. GET /api/environments lists them."}
	ErrNoRun         = &Error{Kind: KindNotFound, Code: "no-run", Detail: "This challenge has no such run."}
	ErrNoAttempt     = &Error{Kind: KindNotFound, Code: "no-attempt", Detail: "This run has no such attempt."}
	ErrNoResult      = &Error{Kind: KindNotFound, Code: "no-result", Detail: "This run has no collected result. Collect it first."}
	ErrGone          = &Error{Kind: KindGone, Code: "gone", Detail: "This address is retired. GET /AGENTS-legacy.md says what replaced it."}
	ErrMethod        = &Error{Kind: KindMethod, Code: "method", Detail: "This address does not take that method."}
	ErrTooLarge      = &Error{Kind: KindTooLarge, Code: "too-large", Detail: "The request body is larger than this endpoint reads."}
	ErrMediaType     = &Error{Kind: KindMediaType, Code: "media-type", Detail: "Send the body as application/json."}
	ErrInvalid       = &Error{Kind: KindInvalid, Code: "invalid", Detail: "The request cannot be done as it stands."}
	ErrInvalidSource = &Error{Kind: KindInvalid, Code: "invalid-source", Detail: "The collection could not be read from its source."}
	ErrNotValid      = &Error{Kind: KindInvalid, Code: "not-valid", Detail: "The collection does not pass validation. Run validate to see every finding with its fix."}
	ErrNoEligible    = &Error{Kind: KindInvalid, Code: "no-eligible-task", Detail: "The static gates exclude every task of this collection, so there is nothing to train on."}
	ErrSealedName    = &Error{Kind: KindInvalid, Code: "sealed-name", Detail: "A training task has the name of a sealed task."}
	ErrJobLayout     = &Error{Kind: KindInvalid, Code: "job-layout", Detail: "The challenge's job layout cannot work."}
	ErrClosed        = &Error{Kind: KindConflict, Code: "challenge-closed", Detail: "The challenge does not take runs."}
	ErrPaused        = &Error{Kind: KindConflict, Code: "runs-paused", Detail: "Runs are paused on this challenge."}
	ErrJobActive     = &Error{Kind: KindConflict, Code: "job-active", Detail: "Another run is active. One runs at a time across the arena; try again when it has ended."}
	ErrCap           = &Error{Kind: KindConflict, Code: "cap", Detail: "The compute cap does not cover another run. Only the organizers can raise it."}
	ErrRequestReused = &Error{Kind: KindConflict, Code: "request-id-reused", Detail: "This request_id was used before with another body or by somebody else. Use the identical request to repeat it, or a new id for a new one."}
	ErrAgentTaken    = &Error{Kind: KindConflict, Code: "agent-taken", Detail: "This agent_id is already registered by another HF user. Choose another id."}
	ErrAgentChanged  = &Error{Kind: KindConflict, Code: "agent-immutable", Detail: "You registered this agent_id before with other fields, and a registration cannot be changed. Choose another id."}
	ErrNotScored     = &Error{Kind: KindConflict, Code: "not-scored", Detail: "The run is not scored, so there is nothing to collect."}
	ErrEvidence      = &Error{Kind: KindInvalid, Code: "evidence", Detail: "The run's evidence does not support its report."}
	ErrReviewed      = &Error{Kind: KindConflict, Code: "already-reviewed", Detail: "This result has been reviewed. Reviews are immutable."}
	ErrClaimed       = &Error{Kind: KindConflict, Code: "claimed", Detail: "Another editor is reviewing this result. The claim ends by itself; try again then."}
	ErrPlanChanged   = &Error{Kind: KindConflict, Code: "plan-changed", Detail: "The results were made for another plan. Plan again and rerun what differs."}
	ErrVerdictMoved  = &Error{Kind: KindConflict, Code: "verdict-moved", Detail: "Somebody attached results to this collection meanwhile. Attach again."}
	ErrIllegalMove   = &Error{Kind: KindConflict, Code: "illegal-move", Detail: "The run's state does not allow this."}
	ErrDailyLimit    = &Error{Kind: KindRateLimited, Code: "daily-limit", Detail: "This collection has a counted run on this challenge in the last 24 hours."}
	ErrRateLimited   = &Error{Kind: KindRateLimited, Code: "rate-limited", Detail: "Too many requests. Wait and try again."}
	ErrRefused       = &Error{Kind: KindBadGateway, Code: "provider-refused", Detail: "The compute provider refused the job. Nothing was started and the reservation was released."}
	ErrSourceRefused = &Error{Kind: KindBadGateway, Code: "source-refused", Detail: "The place that the collection lives in does not deliver it. Nothing was changed."}
	ErrUnknownLaunch = &Error{Kind: KindUnavailable, Code: "launch-unknown", Detail: "The provider did not answer, so the job may or may not have started. Repeat the identical request: it finds the job or starts it, never twice."}
	ErrUnavailable   = &Error{Kind: KindUnavailable, Code: "unavailable", Detail: "The arena cannot answer this right now. Try again shortly."}
	ErrProviderAway  = &Error{Kind: KindUnavailable, Code: "provider-unreachable", Detail: "The compute provider cannot be reached right now. Nothing was changed."}
	ErrDiskFull      = &Error{Kind: KindUnavailable, Code: "disk-full", Detail: "The arena's disk is almost full, so it takes nothing new. Reads still work."}
)

// Catalogue lists every failure that the protocol can answer with, in its order.
func Catalogue() []*Error {
	return []*Error{
		ErrInternal, ErrMalformed, ErrTokenPlace, ErrBadRequestID, ErrCursor, ErrSignedOut, ErrBadToken, ErrForbidden, ErrNotAuthor, ErrEditorOnly,
		ErrForeignAgent, ErrSignIn, ErrCrossOrigin, ErrNotFound, ErrNoChallenge, ErrNoCollection, ErrNoRun, ErrNoAttempt, ErrNoResult, ErrGone, ErrMethod,
		ErrTooLarge, ErrMediaType, ErrInvalid, ErrInvalidSource, ErrNotValid, ErrNoEligible, ErrSealedName, ErrJobLayout, ErrClosed, ErrPaused, ErrJobActive,
		ErrCap, ErrRequestReused, ErrAgentTaken, ErrAgentChanged, ErrNotScored, ErrEvidence, ErrReviewed, ErrClaimed, ErrPlanChanged, ErrVerdictMoved, ErrIllegalMove, ErrDailyLimit,
		ErrRateLimited, ErrRefused, ErrSourceRefused, ErrUnknownLaunch, ErrUnavailable, ErrProviderAway, ErrDiskFull,
	}
}
