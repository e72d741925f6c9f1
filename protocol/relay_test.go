package protocol_test

import (
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// TestRelayState tells the states of a tunnel apart, before and after the process
// that held it is gone.
func TestRelayState(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) *time.Time { at := now.Add(-d); return &at }
	const grace = 2 * time.Minute
	for name, tc := range map[string]struct {
		counters  protocol.RelayCounters
		open      bool
		want, cut protocol.RelayState // cut: once its process has ended
	}{
		"never there":          {protocol.RelayCounters{}, true, protocol.RelayNever, protocol.RelayNever},
		"there":                {protocol.RelayCounters{Connections: 1, LastSeen: ago(time.Minute), InFlight: 3}, true, protocol.RelayConnected, protocol.RelayReconnecting},
		"there, seen long ago": {protocol.RelayCounters{Connections: 1, LastSeen: ago(time.Hour)}, true, protocol.RelayConnected, protocol.RelayLost},
		"just broke":           {protocol.RelayCounters{Connections: 2, LastSeen: ago(time.Second), LostAt: ago(time.Second)}, true, protocol.RelayReconnecting, protocol.RelayReconnecting},
		"at the grace":         {protocol.RelayCounters{Connections: 2, LastSeen: ago(grace), LostAt: ago(grace)}, true, protocol.RelayLost, protocol.RelayLost},
		"ended":                {protocol.RelayCounters{Connections: 1, LastSeen: ago(time.Second)}, false, protocol.RelayClosed, protocol.RelayClosed},
	} {
		if got := tc.counters.State(tc.open, now, grace); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
		cut := tc.counters.Cut()
		if got := cut.State(tc.open, now, grace); got != tc.cut || cut.InFlight != 0 {
			t.Errorf("%s, cut: %s with %d calls, want %s", name, got, cut.InFlight, tc.cut)
		}
	}
}
