package check

import (
	"encoding/json"
)

// Report is what a replay found, in the seed's form. It is written whatever
// happened.
type Report struct {
	Image       string   `json:"image,omitempty"`
	URL         string   `json:"url,omitempty"` // when a running server was checked
	TaskID      string   `json:"task_id"`
	DatasetType string   `json:"dataset_type"`
	Checks      []string `json:"checks"` // the labels of those that hold, in order
	Timings     []Timing `json:"episode_timings"`

	ReadySeconds float64         `json:"ready_seconds"`
	Schema       json.RawMessage `json:"schema,omitempty"`
	Validation   string          `json:"openenv_validation,omitempty"` // the validator's report, as the text that it prints

	Unsolved    json.RawMessage `json:"unsolved_result,omitempty"`
	SyntaxError json.RawMessage `json:"syntax_error_result,omitempty"`
	Action      json.RawMessage `json:"reference_action,omitempty"`
	Reference   json.RawMessage `json:"reference_result,omitempty"`

	PeakWritableBytes int64  `json:"peak_observed_writable_bytes,omitempty"`
	PeakMemoryBytes   int64  `json:"peak_memory_bytes,omitempty"` // where the kernel counts it
	ContainerLogs     string `json:"container_logs"`

	Skipped []Skip   `json:"skipped,omitempty"` // what a URL cannot show
	Failed  *Failure `json:"failed,omitempty"`
	Passed  bool     `json:"passed,omitempty"` // absent unless every check holds
}

// Timing is how long one message took.
type Timing struct {
	Operation string  `json:"operation"` // "reset", "shell" or "finish"
	Seconds   float64 `json:"seconds"`
}

// Skip is a check that could not be made.
type Skip struct {
	Check  string `json:"check"`
	Reason string `json:"reason"`
}

// Failure is the check that does not hold.
type Failure struct {
	Check  string `json:"check"`
	Reason string `json:"reason"`
}

// The labels of the checks (seed 001), in the order in which they are made.
const (
	Health           = "health_within_120_seconds"
	Validation       = "openenv_endpoint_validation"
	Identity         = "reset_task_identity"
	Unprivileged     = "unprivileged_agent_and_protected_verifier"
	NoFuture         = "no_future_git_history"
	TestsAbsent      = "terminal_tests_absent_during_rollout" // terminal_bench
	UnsolvedZero     = "unsolved_terminal_reward_zero"
	Stable           = "terminal_reward_is_stable"
	ResetRemoves     = "reset_removes_previous_edits"
	HooksUnprivd     = "verifier_git_hooks_are_unprivileged" // opensource-code
	SyntaxApplied    = "syntax_error_probe_applied"          // terminal_bench
	SyntaxZero       = "agent_syntax_error_is_reward_zero"   // terminal_bench
	RepairApplied    = "reference_repair_applied_through_action"
	ReferenceOne     = "reference_terminal_reward_one"
	TestsRemoved     = "terminal_tests_removed_after_grading"      // terminal_bench
	RepairReapplied  = "reference_repair_reapplied"                // terminal_bench
	TamperRejected   = "original_terminal_guard_rejects_tampering" // terminal_bench
	RestoresUnsolved = "reset_restores_unsolved_task"
)
