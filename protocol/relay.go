package protocol

import (
	"crypto/sha256"
	"time"
)

// RelayState is how the tunnel between a run's job and the arena stands.
type RelayState string

// The states of a tunnel (PROTOCOL §13).
const (
	RelayNever        RelayState = "never"        // the job has not connected yet
	RelayConnected    RelayState = "connected"    // requests go through
	RelayReconnecting RelayState = "reconnecting" // it broke less than the grace period ago
	RelayLost         RelayState = "lost"         // it broke longer ago
	RelayClosed       RelayState = "closed"       // the run has ended
)

// Live reports whether a restart of the arena would cut something.
func (s RelayState) Live() bool { return s == RelayConnected || s == RelayReconnecting }

// RelayCounters is what went through a run's tunnel so far.
type RelayCounters struct {
	Requests    int64 // that reached the relay with the right key
	Succeeded   int64 // answered 2xx by the job
	Rejected    int64 // answered otherwise below 500 by the job, or refused by the relay's limits
	Failed      int64 // answered 5xx, by the job or for want of it
	Aborted     int64 // broken off after the answer had begun, or left by whoever asked
	BytesIn     int64 // of request bodies
	BytesOut    int64 // of answers
	Connections int64 // how often the job connected

	ConnectedSince *time.Time // when the newest connection began; nil when there was none
	LastSeen       *time.Time // when the job was last known to be there
	LostAt         *time.Time // when the newest connection broke; nil while it holds, and before the first
	InFlight       int64      // calls under way
}

// State is how the tunnel of a run stands. open says that the run goes on, and
// grace is how long a tunnel that broke counts as reconnecting.
func (c RelayCounters) State(open bool, now time.Time, grace time.Duration) RelayState {
	switch {
	case !open:
		return RelayClosed
	case c.Connections == 0:
		return RelayNever
	case c.LostAt == nil:
		return RelayConnected
	case now.Sub(*c.LostAt) < grace:
		return RelayReconnecting
	default:
		return RelayLost
	}
}

// Cut is what is left of a tunnel when the process that held it has ended, however
// that came: it broke when it was last seen, and no call goes through it.
func (c RelayCounters) Cut() RelayCounters {
	if c.LostAt == nil {
		c.LostAt = c.LastSeen
	}
	c.InFlight = 0
	return c
}

// RelayAccess is what the relay has to know of a run: the hashes of its two
// secrets, whether it still goes on, and what was counted before.
type RelayAccess struct {
	Run      string
	JobID    string            // the provider's job; empty while it is not known
	Open     bool              // the run goes on
	Job      [sha256.Size]byte // SHA-256 of the secret that opens the tunnel
	Model    [sha256.Size]byte // SHA-256 of the key by which sandboxes call the model
	Counters RelayCounters
}

// Relay is a run's tunnel as editors see it.
type Relay struct {
	State RelayState
	RelayCounters
}
