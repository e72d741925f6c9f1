package protocol

import (
	"fmt"
	"slices"
	"time"
)

// EventKinds is every kind of event, in the order in which they first happen.
func EventKinds() []EventKind {
	return []EventKind{EventCollection, EventRunState, EventRunStage, EventResult, EventMessage, EventVerdict}
}

// DeliveryState is how one event for one webhook stands.
type DeliveryState string

// The states of a delivery.
const (
	DeliveryPending   DeliveryState = "pending"   // it is tried, again when it failed
	DeliveryDelivered DeliveryState = "delivered" // the receiver answered 2xx
	DeliveryFailed    DeliveryState = "failed"    // every try failed; an editor may have it sent again
)

// Delivery is one event on its way to one webhook. Its id is made of both, so that
// there is one however often it is sent, and the receiver knows a repetition.
type Delivery struct {
	ID        string // DeliveryID of Hook and Event
	Hook      string // name in the configuration
	Event     Event
	State     DeliveryState
	Tries     int       // since it was made, or sent again
	NextAt    time.Time // when it is tried next; says nothing once it is not pending
	Status    int       // HTTP status of the newest answer; 0 when there was none
	Problem   string    // what is wrong with the newest try, in words of the arena's own; empty when nothing is
	CreatedAt time.Time
	UpdatedAt time.Time
}

// DeliveryID names the delivery of an event to a hook. The number of an event is not
// enough: an arena that was restored from an older backup gives the same numbers to
// other events, which receivers would take for repetitions. When it happened, in
// microseconds, tells them apart, and an event that was in the backup keeps its name.
// There is no full stop in it, which signatures use as their separator.
func DeliveryID(hook string, e Event) string {
	return fmt.Sprintf("%s-%d-%d", hook, e.Seq, e.At.UnixMicro())
}

// HookWants reports whether a hook that asks for kinds gets an event; one that
// names none gets all.
func HookWants(kinds []EventKind, e Event) bool {
	return len(kinds) == 0 || slices.Contains(kinds, e.Kind)
}

// DeliveryTry is what came of sending a delivery once.
type DeliveryTry struct {
	Status  int           // HTTP status of the answer; 0 when there was none
	Problem string        // empty: it was taken
	Wait    time.Duration // how long the receiver asked to wait; 0 when it did not
}

// MaxDeliveryWait bounds how long a receiver can put a delivery off at a time.
const MaxDeliveryWait = 24 * time.Hour

// deliveryPauses are the waits after the first, second, … failed try: quick while a
// receiver restarts, slow while somebody has to mend it, and a day in all.
func deliveryPauses() []time.Duration {
	return []time.Duration{
		5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour, 4 * time.Hour, 18 * time.Hour,
	}
}

// Tried returns the delivery after one more try at the time now.
func (d Delivery) Tried(try DeliveryTry, now time.Time) Delivery {
	d.Tries++
	d.Status, d.Problem, d.UpdatedAt = try.Status, try.Problem, now
	pauses := deliveryPauses()
	switch {
	case try.Problem == "":
		d.State = DeliveryDelivered
	case d.Tries > len(pauses):
		d.State = DeliveryFailed
	default:
		d.NextAt = now.Add(max(pauses[d.Tries-1], min(try.Wait, MaxDeliveryWait)))
	}
	return d
}

// Webhook is a hook as editors see it: nothing of its address but the host, because
// addresses of hooks hold secrets at some services.
type Webhook struct {
	Name         string
	Host         string
	Kinds        []EventKind // empty: all
	AllowPrivate bool
}

// HookHealth is how the deliveries to one webhook stand, those that are kept.
type HookHealth struct {
	Name      string
	Pending   int
	Delivered int
	Failed    int
	Oldest    time.Time // when the oldest pending one was made; zero when there is none
	Tries     int       // of the pending one that was tried most
	Last      Delivery  // the one that was tried last; its ID is empty when none was
}

// failingTries is after how many failed tries a receiver does not merely restart: the
// next comes ten minutes later.
const failingTries = 3

// Failing reports whether the receiver has not taken what was sent for a while. What was
// tried last may be a new event that failed once, so the others count too.
func (h HookHealth) Failing() bool {
	return h.Last.Problem != "" && (h.Last.State == DeliveryFailed || h.Tries >= failingTries)
}
