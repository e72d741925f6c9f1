package protocol

import (
	"fmt"
	"time"
)

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
	Task         string        `json:"task"`
	Decision     Decision      `json:"decision"`
	Reasons      []string      `json:"reasons"`
	BandPassRate *float64      `json:"band_pass_rate"` // nil when the band was not run
	Gates        []GateOutcome `json:"gates,omitempty"`
}

// GateOutcome is what one dynamic gate says about one task. Its counts are of
// trials.
type GateOutcome struct {
	Gate     string   `json:"gate"` // build, oracle, noop or band
	Decision Decision `json:"decision"`
	Planned  int      `json:"planned"`
	Passed   int      `json:"passed"` // as the gate wants them; of the band, solved
	Failed   int      `json:"failed"`
	Open     int      `json:"open"` // missing, or lost to infrastructure
	Reason   string   `json:"reason"`
}

// Verdict is what an editor attached to a collection after its dynamic gates
// were run. Attaching again is a new version; the history is kept.
type Verdict struct {
	Collection   string
	Challenge    string
	Version      int
	PlanDigest   string
	Revision     string // the commit whose files the plan was made of
	GateSet      string
	PolicyDigest string
	Options      GateOptions
	Tasks        []TaskVerdict
	AttachedBy   string
	AttachedAt   time.Time
}

// GateOptions are what a plan of the dynamic gates can be asked for.
type GateOptions struct {
	ControlsReruns int  `json:"controls_reruns"`
	BandAttempts   int  `json:"band_attempts"`
	RequireOracle  bool `json:"require_oracle"` // leave out tasks without a working reference solution
}

// The bounds of a plan's counts. One attempt of the base model cannot be both
// solved and not, so a band needs two.
const (
	MaxControlsReruns = 50
	MinBandAttempts   = 2
	MaxBandAttempts   = 50
)

// CheckGateOptions returns what is wrong with the options of a plan.
func CheckGateOptions(o GateOptions) []FieldError {
	var bad []FieldError
	if o.ControlsReruns < 1 || o.ControlsReruns > MaxControlsReruns {
		bad = append(bad, FieldError{"options.controls_reruns", fmt.Sprintf("must be from 1 to %d", MaxControlsReruns)})
	}
	if o.BandAttempts < MinBandAttempts || o.BandAttempts > MaxBandAttempts {
		bad = append(bad, FieldError{"options.band_attempts", fmt.Sprintf("must be from %d to %d", MinBandAttempts, MaxBandAttempts)})
	}
	return bad
}

// CarryVerdicts completes a judgement with what was decided before: results of a
// rerun need hold only the part that was run again. A task without any trial in
// them keeps the decision of the version before, if that was made for the same
// plan and decided it.
func CarryVerdicts(judged []TaskVerdict, tried map[string]bool, planDigest string, before *Verdict) []TaskVerdict {
	if before == nil || before.PlanDigest != planDigest {
		return judged
	}
	decided := map[string]TaskVerdict{}
	for _, t := range before.Tasks {
		if t.Decision != TaskInconclusive {
			decided[t.Task] = t
		}
	}
	out := make([]TaskVerdict, len(judged))
	for i, t := range judged {
		if earlier, ok := decided[t.Task]; ok && !tried[t.Task] {
			t = earlier
		}
		out[i] = t
	}
	return out
}

// CountDecisions counts the tasks of each decision.
func CountDecisions(tasks []TaskVerdict) map[Decision]int {
	n := map[Decision]int{TaskAccepted: 0, TaskRejected: 0, TaskInconclusive: 0}
	for _, t := range tasks {
		n[t.Decision]++
	}
	return n
}
