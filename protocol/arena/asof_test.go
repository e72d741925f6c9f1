package arena

import (
	"context"
	"errors"
	"testing"
)

// eventful is a reader whose last event the test decides.
type eventful struct {
	Reader
	last int64
	err  error
}

func (e *eventful) LastEvent(context.Context) (int64, error) { return e.last, e.err }

// TestKeptUntilSomethingHappens: a value is read once for each key, and again
// after every event; a failure is never kept.
func TestKeptUntilSomethingHappens(t *testing.T) {
	events := &eventful{last: 1}
	s := &Service{Reader: events}
	var kept asOf[string]
	reads := 0
	get := func(key, value string, failure error) (string, error) {
		return kept.get(t.Context(), s, key, func() (string, error) { reads++; return value, failure })
	}
	broken := errors.New("broken")
	for i, step := range []struct {
		event      int64
		key, value string
		failure    error
		want       string
		reads      int
	}{
		{1, "a", "first", nil, "first", 1},
		{1, "a", "not read", nil, "first", 1},
		{1, "b", "other", nil, "other", 2},
		{2, "a", "", broken, "", 3},
		{2, "a", "second", nil, "second", 4},
		{2, "b", "newer", nil, "newer", 5},
		{2, "a", "not read", nil, "second", 5},
	} {
		events.last = step.event
		got, err := get(step.key, step.value, step.failure)
		if got != step.want || !errors.Is(err, step.failure) || reads != step.reads {
			t.Errorf("step %d: %q, %v after %d reads; want %q, %v after %d", i+1, got, err, reads, step.want, step.failure, step.reads)
		}
	}
	events.err = broken
	if _, err := get("a", "not read", nil); !errors.Is(err, broken) {
		t.Errorf("an unreadable event is %v", err)
	}
}
