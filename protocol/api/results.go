package api

import (
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// Result is a collected run.
type Result struct {
	RunID               string  `json:"run_id"`
	ChallengeID         string  `json:"challenge_id"`
	EnvironmentID       string  `json:"environment_id"`
	EnvironmentRevision string  `json:"environment_revision"`
	Author              string  `json:"author"`
	AgentID             *string `json:"agent_id"`
	protocol.Score
	GRPORan             bool                  `json:"grpo_ran"`
	GRPOEffectiveUpdate bool                  `json:"grpo_effective_update"`
	EvidenceDigest      string                `json:"evidence_digest"`
	Verification        protocol.Verification `json:"verification" enum:"pending,valid,rejected"`
	VerificationNote    string                `json:"verification_note"`
	CollectedBy         string                `json:"collected_by"`
	CollectedAt         time.Time             `json:"collected_at"`
	ReviewedBy          *string               `json:"reviewed_by"`
	ReviewedAt          *time.Time            `json:"reviewed_at"`
	ReportURL           *string               `json:"report_url" doc:"Editors only; null for everybody else"`
	JobURL              *string               `json:"job_url" doc:"Editors only; null for everybody else"`
	Cells               []protocol.Cell       `json:"cells,omitempty" doc:"Per-task outcomes; editors only, because they name sealed tasks"`
	Simulated           bool                  `json:"simulated"`
	Claim               *Claim                `json:"claim" doc:"Who is reviewing it; editors only, and null when nobody said so or the review is done"`
	Existing            bool                  `json:"existing,omitempty" doc:"The result was collected before"`
}

// Claim says that an editor reviews a result. It holds until expires_at.
type Claim struct {
	By        string    `json:"claimed_by"`
	At        time.Time `json:"claimed_at"`
	ExpiresAt time.Time `json:"expires_at" doc:"Equal to claimed_at when it was given up"`
}

// ClaimRequest claims a result, renews the claim, or gives it up.
type ClaimRequest struct {
	Release bool `json:"release" doc:"Give the claim up"`
}

// ReviewRequest is an organizer's decision.
type ReviewRequest struct {
	Accepted bool   `json:"accepted"`
	Note     string `json:"note" doc:"What the evidence shows, 20 to 5,000 characters"`
}

// ResultFrom maps a result to what a caller may see: evidence links, per-task
// outcomes and notes on the evidence are for editors.
func ResultFrom(r protocol.Result, who protocol.Identity, simulated bool) Result {
	out := Result{
		RunID: r.Run, ChallengeID: r.Challenge, EnvironmentID: r.Collection, EnvironmentRevision: r.Revision, Author: r.Author,
		AgentID: Optional(r.AgentID), Score: r.Score, GRPORan: r.GRPORan, GRPOEffectiveUpdate: r.GRPOEffectiveUpdate,
		EvidenceDigest: r.EvidenceDigest, Verification: r.Verification, VerificationNote: r.VerificationNote, CollectedBy: r.CollectedBy,
		CollectedAt: r.CollectedAt, ReviewedBy: Optional(r.ReviewedBy), ReviewedAt: r.ReviewedAt, Simulated: simulated,
	}
	if !who.Editor {
		out.Notes = nil // they may quote what a job wrote
	} else {
		out.ReportURL, out.JobURL, out.Cells = Optional(r.ReportURL), Optional(r.JobURL), r.Cells
		if c := r.Claim; c != nil && r.Verification == protocol.Pending {
			out.Claim = &Claim{By: c.By, At: c.At, ExpiresAt: c.ExpiresAt}
		}
	}
	return out
}
