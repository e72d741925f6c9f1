package protocol

import "time"

// Decision is what the dynamic gates say about one task.
type Decision string

// The decisions on a task (PROTOCOL §7).
const (
	TaskAccepted     Decision = "accepted"
	TaskRejected     Decision = "rejected"
	TaskInconclusive Decision = "inconclusive" // an infrastructure error or a missing attempt: run it again
)

// TaskVerdict is the decision on one task with its grounds.
type TaskVerdict struct {
	Task         string   `json:"task"`
	Decision     Decision `json:"decision"`
	Reasons      []string `json:"reasons"`
	BandPassRate *float64 `json:"band_pass_rate"` // nil when the band was not run
}

// Verdict is what an editor attached to a collection after its dynamic gates
// were run. Attaching again is a new version; the history is kept.
type Verdict struct {
	Collection string
	Challenge  string
	Version    int
	PlanDigest string
	Tasks      []TaskVerdict
	AttachedBy string
	AttachedAt time.Time
}
