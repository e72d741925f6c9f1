package api

import (
	"time"

	"github.com/posttrainarena/arena/gates/dynamic"
	"github.com/posttrainarena/arena/gates/report"
	"github.com/posttrainarena/arena/protocol"
)

// Gates is what the gates say about one collection.
type Gates struct {
	EnvironmentID string           `json:"environment_id"`
	ChallengeID   string           `json:"challenge_id"`
	Static        report.Report    `json:"static"`
	Verdict       *Verdict         `json:"verdict" doc:"Null until an editor attached gate results"`
	History       []VerdictVersion `json:"history" doc:"Every version of the verdict, the newest first"`
}

// Verdict is the judgement of the dynamic gates.
type Verdict struct {
	Version      int                    `json:"version"`
	PlanDigest   string                 `json:"plan_digest"`
	Revision     string                 `json:"revision" doc:"The commit that was judged"`
	GateSet      string                 `json:"gate_set"`
	PolicyDigest string                 `json:"policy_digest"`
	Options      protocol.GateOptions   `json:"options"`
	Tasks        []protocol.TaskVerdict `json:"tasks"`
	AttachedBy   string                 `json:"attached_by"`
	AttachedAt   time.Time              `json:"attached_at"`
}

// VerdictFrom maps a verdict to the wire.
func VerdictFrom(v protocol.Verdict) *Verdict {
	return &Verdict{
		Version: v.Version, PlanDigest: v.PlanDigest, Revision: v.Revision, GateSet: v.GateSet, PolicyDigest: v.PolicyDigest, Options: v.Options,
		Tasks: append([]protocol.TaskVerdict{}, v.Tasks...), AttachedBy: v.AttachedBy, AttachedAt: v.AttachedAt,
	}
}

// VerdictVersion is one version of a verdict in short.
type VerdictVersion struct {
	Version    int       `json:"version"`
	PlanDigest string    `json:"plan_digest"`
	AttachedBy string    `json:"attached_by"`
	AttachedAt time.Time `json:"attached_at"`
	Decisions
}

// Decisions counts the tasks of each decision.
type Decisions struct {
	Accepted     int `json:"accepted"`
	Rejected     int `json:"rejected"`
	Inconclusive int `json:"inconclusive"`
}

func decisionsFrom(tasks []protocol.TaskVerdict) Decisions {
	n := protocol.CountDecisions(tasks)
	return Decisions{Accepted: n[protocol.TaskAccepted], Rejected: n[protocol.TaskRejected], Inconclusive: n[protocol.TaskInconclusive]}
}

// VerdictVersionFrom maps a verdict to its line in the history.
func VerdictVersionFrom(v protocol.Verdict) VerdictVersion {
	return VerdictVersion{Version: v.Version, PlanDigest: v.PlanDigest, AttachedBy: v.AttachedBy, AttachedAt: v.AttachedAt, Decisions: decisionsFrom(v.Tasks)}
}

// GatePlanRequest says how a plan of the dynamic gates differs from the usual one.
type GatePlanRequest struct {
	ControlsReruns int   `json:"controls_reruns,omitempty" doc:"Runs of each control; 8 when left out"`
	BandAttempts   int   `json:"band_attempts,omitempty" doc:"Attempts of the base model; 4 when left out"`
	RequireOracle  *bool `json:"require_oracle,omitempty" doc:"Leave out tasks without a working reference solution; the arena's policy when left out"`
}

// AttachGates are the results of a plan.
type AttachGates struct {
	dynamic.Results
	DryRun bool `json:"dry_run,omitempty" doc:"Judge them and store nothing"`
}

// AttachedGates is the verdict that attaching results gave, or would give.
type AttachedGates struct {
	EnvironmentID string `json:"environment_id"`
	ChallengeID   string `json:"challenge_id"`
	DryRun        bool   `json:"dry_run" doc:"Nothing was stored"`
	Decisions
	Verdict Verdict `json:"verdict"`
}

// AttachedFrom maps a verdict to the answer of attaching it.
func AttachedFrom(v protocol.Verdict, dryRun bool) AttachedGates {
	return AttachedGates{EnvironmentID: v.Collection, ChallengeID: v.Challenge, DryRun: dryRun, Decisions: decisionsFrom(v.Tasks), Verdict: *VerdictFrom(v)}
}
