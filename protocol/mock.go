package protocol

import "time"

// Mock says what a mocked arena was made from. An arena that has one was made by
// the mock world: its records are invented, and it never reaches a real provider.
type Mock struct {
	Seed      uint64    `json:"seed"`         // decides every collection and every outcome
	Now       time.Time `json:"now"`          // the moment that it shows when it is first started
	Challenge string    `json:"challenge_id"` // the challenge whose history is played
	Scale     int       `json:"scale"`        // 1 is two weeks with 16 collections
}
