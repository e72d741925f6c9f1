package api

import "github.com/posttrainarena/arena/protocol/artifacts"

// Attempts lists the gate and training attempts of a run. Sealed stages are
// never among them.
type Attempts struct {
	RunID    string              `json:"run_id"`
	Attempts []artifacts.Attempt `json:"attempts"`
	Problems []artifacts.Problem `json:"problems" doc:"Files of the evidence that could not be read"`
	Forecast *artifacts.Forecast `json:"forecast" doc:"How much groups of rollouts can be expected to teach; null without attempts"`
}

// Attempt is one attempt with its transcript and what its verifier said.
type Attempt struct {
	RunID string `json:"run_id"`
	artifacts.Detail
}
