package protocol

import "time"

// EventKind names what happened. The kinds are the names of the server-sent
// events on /api/events.
type EventKind string

// Every kind of event.
const (
	EventCollection EventKind = "submission" // a collection was registered
	EventRunState   EventKind = "run-state"  // a run's state changed
	EventRunStage   EventKind = "run-stage"  // a run reached another stage
	EventResult     EventKind = "result"     // a result was collected or reviewed
	EventMessage    EventKind = "message"    // a board message was posted
	EventVerdict    EventKind = "verdict"    // gate results were attached
)

// Event says that something changed, so that a reader knows what to read again.
// It carries names and the new state, never data that exists nowhere else, and
// never anything that is not public.
type Event struct {
	Seq        int64 // strictly increasing; the id of the server-sent event
	Kind       EventKind
	At         time.Time
	Challenge  string // empty where it does not apply
	Run        string
	Collection string
	Message    string // filename of a board message
	State      string // new state or verification
	Stage      string
}

// Audit is one line of the append-only record of who changed what.
type Audit struct {
	Seq       int64
	At        time.Time
	Actor     string // account name, or arena for the server itself
	Action    string // launch, review, post, …
	Object    string // kind:id of what was changed
	RequestID string // X-Request-Id of the request, or empty for the server's own
	Before    string // JSON of what was there, or empty
	After     string // JSON of what is there now, or empty
}
