package api

import (
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// Event says that something changed. Read the object again to see what.
type Event struct {
	ID            int64              `json:"id"`
	Kind          protocol.EventKind `json:"kind"`
	At            time.Time          `json:"at"`
	ChallengeID   *string            `json:"challenge_id"`
	RunID         *string            `json:"run_id"`
	EnvironmentID *string            `json:"environment_id"`
	Message       *string            `json:"message" doc:"Filename of a board message"`
	State         *string            `json:"state"`
	Stage         *string            `json:"stage"`
}

// EventFrom maps an event to the wire.
func EventFrom(e protocol.Event) Event {
	return Event{
		ID: e.Seq, Kind: e.Kind, At: e.At, ChallengeID: Optional(e.Challenge), RunID: Optional(e.Run), EnvironmentID: Optional(e.Collection),
		Message: Optional(e.Message), State: Optional(e.State), Stage: Optional(e.Stage),
	}
}

// Version is the build fingerprint of the running arena.
type Version struct {
	Name      string `json:"name"`
	Version   string `json:"version"`
	Commit    string `json:"commit"`
	Go        string `json:"go"`
	SQLite    string `json:"sqlite"`
	Schema    int    `json:"schema" doc:"Number of the newest migration"`
	GateSet   string `json:"gate_set"`
	Provider  string `json:"provider"`
	Simulated bool   `json:"simulated" doc:"Runs are played by the arena, not trained"`
	Mock      bool   `json:"mock" doc:"The arena is mocked: everything in it is invented"`
	// MockWorld is what a mocked arena was made from.
	MockWorld *protocol.Mock `json:"mock_world" doc:"What a mocked arena was made from; null for a real one"`
}

// HealthStatus is the answer of /healthz and /readyz.
type HealthStatus struct {
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// Doctor is what the arena finds when it looks at itself.
type Doctor struct {
	OK     bool                 `json:"ok" doc:"Nothing failed; warnings may be there"`
	Checks []protocol.Diagnosis `json:"checks"`
}
