package protocol_test

import (
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// TestDeliveryTries fails every try: the waits grow, a receiver can ask for longer
// ones, and it ends after a day.
func TestDeliveryTries(t *testing.T) {
	start := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	now, last := start, time.Duration(0)
	d := protocol.Delivery{State: protocol.DeliveryPending}
	for d.State == protocol.DeliveryPending {
		if d.Tries > 20 {
			t.Fatal("it never ends")
		}
		before := d.Tries
		d = d.Tried(protocol.DeliveryTry{Status: 500, Problem: "it answered 500"}, now)
		if d.Tries != before+1 || d.Status != 500 || !d.UpdatedAt.Equal(now) {
			t.Errorf("%+v", d)
		}
		if d.State == protocol.DeliveryPending {
			if wait := d.NextAt.Sub(now); wait <= last {
				t.Errorf("try %d waits %s after a wait of %s", d.Tries, wait, last)
			} else {
				last = wait
			}
			now = d.NextAt
		}
	}
	if d.State != protocol.DeliveryFailed || now.Sub(start) < 12*time.Hour || now.Sub(start) > 48*time.Hour {
		t.Errorf("%s after %s", d.State, now.Sub(start))
	}
	fresh := protocol.Delivery{State: protocol.DeliveryPending}
	for asked, want := range map[time.Duration]time.Duration{time.Second: 5 * time.Second, time.Hour: time.Hour, 1000 * time.Hour: protocol.MaxDeliveryWait} {
		if got := fresh.Tried(protocol.DeliveryTry{Problem: "x", Wait: asked}, now).NextAt.Sub(now); got != want {
			t.Errorf("asked for %s, waits %s, want %s", asked, got, want)
		}
	}
	if got := fresh.Tried(protocol.DeliveryTry{Status: 204}, now); got.State != protocol.DeliveryDelivered {
		t.Errorf("%+v", got)
	}
}

// TestHookFails tells a receiver that restarts from one that has to be mended.
func TestHookFails(t *testing.T) {
	const refused = "it answered 500"
	for name, tc := range map[string]struct {
		tries int // of the pending one that was tried most
		last  protocol.Delivery
		want  bool
	}{
		"nothing was tried":         {0, protocol.Delivery{}, false},
		"taken":                     {0, protocol.Delivery{State: protocol.DeliveryDelivered, Tries: 5}, false},
		"failed twice":              {2, protocol.Delivery{State: protocol.DeliveryPending, Tries: 2, Problem: refused}, false},
		"failed again and again":    {3, protocol.Delivery{State: protocol.DeliveryPending, Tries: 3, Problem: refused}, true},
		"as a new event found":      {5, protocol.Delivery{State: protocol.DeliveryPending, Tries: 1, Problem: refused}, true},
		"mended, others still wait": {5, protocol.Delivery{State: protocol.DeliveryDelivered, Tries: 1}, false},
		"given up":                  {0, protocol.Delivery{State: protocol.DeliveryFailed, Tries: 8, Problem: refused}, true},
	} {
		if got := (protocol.HookHealth{Name: "ci", Tries: tc.tries, Last: tc.last}).Failing(); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
