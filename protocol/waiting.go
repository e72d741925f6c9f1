package protocol

import (
	"fmt"
	"time"
)

// Patience is how long a run may wait for one thing before it counts as
// stalled. 0 means for ever.
type Patience struct {
	NoJob       time.Duration // reserved, and no job is confirmed
	NoOutput    time.Duration // it has a job that has printed nothing
	Silence     time.Duration // it runs and its log does not grow
	Cancel      time.Duration // somebody asked to cancel it and it goes on
	Unreachable time.Duration // its provider does not answer
}

// Waiting explains a run that has not ended: what it waits for, and whether it
// has waited too long. Stalled is a remark, not a state: nothing is canceled,
// failed or started again because of it.
type Waiting struct {
	Reason    string     // what happens at the moment, a sentence
	BlockedBy string     // what it waits for, in a few words
	Since     time.Time  // since when it waits for that
	Due       *time.Time // when it counts as stalled; nil when never
	Stalled   bool
	Cause     string     // why it is stalled, a sentence; empty while it is not
	NextCheck *time.Time // when the arena looks at it next by itself; nil when not known
}

// Waiting explains the run as of now; nil once it has ended.
func (r Run) Waiting(p Patience, now time.Time) *Waiting {
	if r.State.Ended() {
		return nil
	}
	w, patience, overdue := r.waitsFor(p)
	if patience <= 0 {
		return &w
	}
	due := w.Since.Add(patience)
	w.Due = &due
	if w.Stalled = !now.Before(due); w.Stalled {
		w.Cause = fmt.Sprintf("%s for more than %s, since %s.", overdue, patience, moment(w.Since))
	}
	return &w
}

// waitsFor finds what a live run waits for, how long that may take, and how to
// say that it took longer. What keeps the arena from knowing goes before what it
// knows.
func (r Run) waitsFor(p Patience) (w Waiting, patience time.Duration, overdue string) {
	switch {
	case r.UnreachableFrom != nil:
		reason := fmt.Sprintf("The provider %s has not answered since %s. Nothing is canceled or started because of that; the arena goes on asking.", r.Provider, moment(*r.UnreachableFrom))
		if r.CancelAsked != nil {
			reason += " " + r.cancelSaid()
		}
		return Waiting{
			Reason:    reason,
			BlockedBy: "the provider does not answer", Since: *r.UnreachableFrom,
		}, p.Unreachable, fmt.Sprintf("The provider %s has not answered", r.Provider)
	case r.CancelAsked != nil:
		return Waiting{
			Reason:    r.cancelSaid(),
			BlockedBy: "the provider stops the job", Since: *r.CancelAsked,
		}, p.Cancel, "The job has gone on after it was to be canceled"
	case r.JobID == "":
		return Waiting{
			Reason:    fmt.Sprintf("The launch is not confirmed. The provider %s is asked whether it has a job for the run: if so, the run goes on with it, else the reservation is released.", r.Provider),
			BlockedBy: "the provider has not confirmed a job", Since: r.CreatedAt,
		}, p.NoJob, fmt.Sprintf("The provider %s has not confirmed a job", r.Provider)
	case r.State == RunQueued:
		w := Waiting{
			Reason:    fmt.Sprintf("The provider %s has the job (%s), which has not printed anything yet.", r.Provider, r.JobStatus),
			BlockedBy: "the job has not printed anything", Since: r.Since,
		}
		if r.StartedAt != nil {
			w.Since = *r.StartedAt
		}
		return w, p.NoOutput, fmt.Sprintf("The job (%s) has not printed anything", r.JobStatus)
	default:
		w := Waiting{Reason: r.underway(), BlockedBy: "the job", Since: r.Since}
		if at := r.Progress.LastLineAt; at != nil {
			w.Since = *at
		}
		return w, p.Silence, fmt.Sprintf("The job (%s) has not printed anything", r.JobStatus)
	}
}

// cancelSaid says what became of a cancel so far.
func (r Run) cancelSaid() string {
	asked := fmt.Sprintf("%s asked at %s for it to be canceled. ", r.CancelAskedBy, moment(*r.CancelAsked))
	if r.CancelTaken == nil {
		return asked + fmt.Sprintf("The provider %s has not taken the request so far; it is told again and again.", r.Provider)
	}
	return asked + fmt.Sprintf("The provider %s took the request at %s; the job has not ended yet.", r.Provider, moment(*r.CancelTaken))
}

// underway says what a running job does.
func (r Run) underway() string {
	for _, s := range r.Progress.Stages {
		if s.Stage == r.Stage && s.Total > 0 {
			return fmt.Sprintf("The job is in the stage %s, %d of %d done.", r.Stage, s.Done, s.Total)
		}
	}
	return fmt.Sprintf("The job is in the stage %s.", r.Stage)
}

// moment is a time in a sentence.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
