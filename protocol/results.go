package protocol

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Outcome is how one attempt at a sealed task ended.
type Outcome string

// The outcomes of an attempt. A timeout is a failure whatever the verifier said
// (pass@1, seed 003); an error is an infrastructure fault and not the model's.
const (
	OutcomePass    Outcome = "pass"
	OutcomeFail    Outcome = "fail"
	OutcomeTimeout Outcome = "timeout"
	OutcomeError   Outcome = "error"
)

// Passed reports whether the attempt counts as solved.
func (o Outcome) Passed() bool { return o == OutcomePass }

// Known reports whether o is one of the four outcomes.
func (o Outcome) Known() bool {
	return o == OutcomePass || o == OutcomeFail || o == OutcomeTimeout || o == OutcomeError
}

// Cell is one sealed task in one trial, before and after training. Cells name
// sealed tasks, so they are shown to editors only.
type Cell struct {
	Suite  string  `json:"suite"`
	Task   string  `json:"task"`
	Trial  int     `json:"trial"` // counted from 0
	Before Outcome `json:"before"`
	After  Outcome `json:"after"`
}

// Score is what one run measured. Pass rates are shares with 6 decimals,
// everything that ends in PP is in percentage points with 4.
type Score struct {
	BaselinePassRate float64               `json:"baseline_pass_rate"`
	AfterPassRate    float64               `json:"after_pass_rate"`
	DeltaPP          float64               `json:"delta_pp"`
	StderrPP         float64               `json:"stderr_pp"` // 100·sqrt(b(1−b)/n + a(1−a)/n) for one suite and trial, else paired over cells
	PairedDeltaPP    float64               `json:"paired_delta_pp"`
	PairedStderrPP   float64               `json:"paired_stderr_pp"`
	NTasks           int                   `json:"n_tasks"`
	Trials           int                   `json:"trials"`
	Errors           SideCounts            `json:"errors"`
	Timeouts         SideCounts            `json:"timeouts"`
	PairedCells      int                   `json:"paired_cells"`   // cells without an infrastructure error on either side
	ExcludedCells    int                   `json:"excluded_cells"` // the other ones
	Suites           map[string]SuiteScore `json:"suites,omitempty"`
	// ReportAgrees says which way of counting the pipeline's report agreed with:
	// all-tasks (passes ÷ n) or without-errors (passes ÷ (n − errors)).
	ReportAgrees string `json:"report_agrees"`
	// Notes say what was odd about the evidence, for whoever reviews it.
	Notes []string `json:"notes,omitempty" doc:"What was odd about the evidence; editors only"`
}

// SideCounts counts something before and after training.
type SideCounts struct {
	Baseline  int `json:"baseline"`
	Posttrain int `json:"posttrain"`
}

// SuiteScore is the part of a Score that one suite contributed.
type SuiteScore struct {
	BaselinePassRate float64 `json:"baseline_pass_rate"`
	AfterPassRate    float64 `json:"after_pass_rate"`
	DeltaPP          float64 `json:"delta_pp"`
	StderrPP         float64 `json:"stderr_pp"`
	NTasks           int     `json:"n_tasks"`
}

// Verification is where a result stands in review.
type Verification string

// The states of a result. A review moves it once, from pending.
const (
	Pending  Verification = "pending"
	Valid    Verification = "valid"
	Rejected Verification = "rejected"
)

// PendingNote is what a result says before an organizer looked at it.
const PendingNote = "Recomputed from per-task results; awaiting organizer evidence review."

// Result is a collected run: recomputed by the arena, judged by an editor.
type Result struct {
	Run                 string
	Challenge           string
	Collection          string
	Revision            string
	Author              string
	AgentID             string
	Score               Score
	Cells               []Cell // editors only
	GRPORan             bool
	GRPOEffectiveUpdate bool
	EvidenceDigest      string // sha256: over the artifacts that were read
	ReportURL           string // editors only
	JobURL              string // editors only
	Verification        Verification
	VerificationNote    string
	CollectedBy         string
	CollectedAt         time.Time
	ReviewedBy          string
	ReviewedAt          *time.Time
	Claim               *Claim // the newest; nil when nobody ever claimed it
}

// The length of a review note, in characters.
const (
	MinReviewNote = 20
	MaxReviewNote = 5000
)

// Review is an organizer's decision on a result.
type Review struct {
	Accepted bool
	Note     string
}

// Review returns the result with the decision applied. It refuses a note
// without substance and a result that was reviewed before.
func (r Result) Review(d Review, by string, at time.Time) (Result, error) {
	note := strings.TrimSpace(d.Note)
	if n := utf8.RuneCountInString(note); n < MinReviewNote || n > MaxReviewNote {
		return r, ErrInvalid.Detailf("The note has %d characters; a review needs a factual note of 20 to 5,000.", n).
			WithFields(FieldError{"note", "must be 20 to 5,000 characters"})
	}
	if r.Verification != Pending {
		return r, ErrReviewed.Detailf("%s reviewed this result before (%s). Reviews are immutable.", r.ReviewedBy, r.Verification)
	}
	if err := r.Claim.admits(by, at); err != nil {
		return r, err
	}
	r.Verification = Rejected
	if d.Accepted {
		r.Verification = Valid
	}
	r.VerificationNote, r.ReviewedBy, r.ReviewedAt = note, by, &at
	return r, nil
}

// ClaimFor is how long a claim holds unless it is renewed or given up.
const ClaimFor = 15 * time.Minute

// Claim says that an editor looks at a pending result, so that no other does at the
// same time. It ends by itself: an editor who walks away stops nobody for long.
type Claim struct {
	By        string
	At        time.Time
	ExpiresAt time.Time // equal to At when it was given up
}

// Holds reports whether somebody has the claim at a time. Nil never holds.
func (c *Claim) Holds(at time.Time) bool { return c != nil && at.Before(c.ExpiresAt) }

// admits refuses everybody but the claim's owner while it holds.
func (c *Claim) admits(by string, at time.Time) error {
	if !c.Holds(at) || c.By == by {
		return nil
	}
	return ErrClaimed.Detailf("%s is reviewing this result since %s. The claim ends by itself at %s; until then only %s can give it up.",
		c.By, c.At.UTC().Format(time.RFC3339), c.ExpiresAt.UTC().Format(time.RFC3339), c.By)
}

// ClaimBy returns the result with a claim for an editor, renewed when it was theirs
// before, or given up. It refuses a result that was reviewed, and one that somebody
// else has claimed.
func (r Result) ClaimBy(by string, release bool, at time.Time) (Result, error) {
	if r.Verification != Pending {
		return r, ErrReviewed.Detailf("%s reviewed this result (%s): there is nothing to claim.", r.ReviewedBy, r.Verification)
	}
	if err := r.Claim.admits(by, at); err != nil {
		return r, err
	}
	c := Claim{By: by, At: at, ExpiresAt: at.Add(ClaimFor)}
	if release {
		c.ExpiresAt = at
	}
	r.Claim = &c
	return r, nil
}
