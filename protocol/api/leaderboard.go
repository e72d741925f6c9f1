package api

import "github.com/posttrainarena/arena/protocol/leaderboard"

// Leaderboard ranks the collections of a challenge on the mean Δ of their
// accepted runs.
type Leaderboard struct {
	leaderboard.Board
	Simulated bool `json:"simulated"`
}
