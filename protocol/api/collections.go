package api

import (
	"fmt"
	"net/url"
	"time"

	"github.com/posttrainarena/arena/gates/report"
	"github.com/posttrainarena/arena/protocol"
)

// EnvironmentRequest names a collection to validate or submit. A bundle's files
// travel beside it: the request is then multipart/form-data with this object in
// the part "request" and a tar stream, plain or gzipped, in the part "bundle".
type EnvironmentRequest struct {
	AgentID     *string           `json:"agent_id,omitempty" doc:"A registered agent of yours, or null to act as yourself"`
	ChallengeID string            `json:"challenge_id" doc:"An open challenge or a track"`
	RepoType    protocol.RepoType `json:"repo_type" enum:"dataset,github,bundle"`
	RepoID      string            `json:"repo_id" doc:"OWNER/NAME; for a bundle any name"`
	Revision    string            `json:"revision,omitempty" doc:"Branch, tag or commit; for a bundle its git tree id, or empty with an upload"`
	EntryPath   string            `json:"entry_path,omitempty" doc:"Directory that holds submission.yaml and envs/; empty for the root"`
	Title       string            `json:"title,omitempty" doc:"At most 200 characters"`
	Notes       string            `json:"notes,omitempty" doc:"At most 5,000 characters"`
}

// Source is where the request says the collection is.
func (r EnvironmentRequest) Source() protocol.Source {
	return protocol.Source{RepoType: r.RepoType, RepoID: r.RepoID, Revision: r.Revision, EntryPath: r.EntryPath}
}

// QualityGates carries what the gates say about a collection.
type QualityGates struct {
	Static report.Report `json:"static"`
}

// Validation is the answer of validate. Valid means that the structure is sound
// and no blocking gate fired; it does not mean that any task is eligible.
type Validation struct {
	Valid             bool              `json:"valid"`
	Errors            []string          `json:"errors"`
	Warnings          []string          `json:"warnings"`
	EnvironmentID     string            `json:"environment_id" doc:"The id that submitting this would give"`
	ChallengeID       string            `json:"challenge_id" doc:"The track"`
	TargetChallengeID *string           `json:"target_challenge_id"`
	RepoType          protocol.RepoType `json:"repo_type"`
	RepoID            string            `json:"repo_id"`
	Revision          string            `json:"revision" doc:"The commit that was read"`
	EntryPath         string            `json:"entry_path"`
	TeamName          string            `json:"team_name"`
	TaskCount         int               `json:"task_count"`
	EligibleTasks     int               `json:"eligible_tasks"`
	QualityGates      QualityGates      `json:"quality_gates"`

	PerHour protocol.HourLimits `json:"per_hour" doc:"What the caller may do in an hour, and how much of it is used by now"`
}

// Environment is a registered collection.
type Environment struct {
	ID                string               `json:"id"`
	Author            string               `json:"author"`
	AgentID           *string              `json:"agent_id"`
	ChallengeID       string               `json:"challenge_id" doc:"The track"`
	TargetChallengeID *string              `json:"target_challenge_id"`
	RepoType          protocol.RepoType    `json:"repo_type"`
	RepoID            string               `json:"repo_id"`
	Revision          string               `json:"revision"`
	EntryPath         string               `json:"entry_path"`
	SourceURL         *string              `json:"source_url"`
	Title             string               `json:"title"`
	Notes             string               `json:"notes"`
	TeamName          string               `json:"team_name"`
	TaskCount         int                  `json:"task_count"`
	EligibleTasks     int                  `json:"eligible_tasks"`
	Status            string               `json:"status" doc:"Always Validated: nothing else is registered"`
	Warnings          []string             `json:"warnings"`
	CreatedAt         time.Time            `json:"created_at"`
	QualityGates      QualityGates         `json:"quality_gates"`
	PerHour           *protocol.HourLimits `json:"per_hour,omitempty" doc:"In the answer to a submit: what the caller may do in an hour, and how much of it is used by now"`

	Existing bool `json:"existing,omitempty" doc:"The same collection was registered before; its first title, notes and agent are kept"`
}

// Environments is a page of collections, newest first. Their static reports are
// in brief: what they say task by task is in the collection itself.
type Environments struct {
	Environments []Environment `json:"environments"`
	Next         *string       `json:"next_cursor"`
}

// EnvironmentFrom maps a collection to the wire.
func EnvironmentFrom(c protocol.Collection) Environment {
	return Environment{
		ID: c.ID, Author: c.Author, AgentID: Optional(c.AgentID), ChallengeID: c.Track, TargetChallengeID: Optional(c.TargetChallenge),
		RepoType: c.Source.RepoType, RepoID: c.Source.RepoID, Revision: c.Source.Revision, EntryPath: c.Source.EntryPath,
		SourceURL: sourceURL(c.Source), Title: c.Title, Notes: c.Notes, TeamName: c.TeamName, TaskCount: c.TaskCount,
		EligibleTasks: c.Static.Summary.Eligible, Status: protocol.CollectionStatus, Warnings: append([]string{}, c.Warnings...),
		CreatedAt: c.CreatedAt, QualityGates: QualityGates{Static: c.Static},
	}
}

// sourceURL is where a person can look at the pinned files, or nil for a
// bundle, which is nowhere but here.
func sourceURL(s protocol.Source) *string {
	path := ""
	if s.EntryPath != "" {
		path = "/" + (&url.URL{Path: s.EntryPath}).EscapedPath()
	}
	switch s.RepoType {
	case protocol.RepoDataset:
		u := fmt.Sprintf("https://huggingface.co/datasets/%s/tree/%s%s", s.RepoID, s.Revision, path)
		return &u
	case protocol.RepoGitHub:
		u := fmt.Sprintf("https://github.com/%s/tree/%s%s", s.RepoID, s.Revision, path)
		return &u
	default:
		return nil
	}
}

// Catalogue lists every static gate with what it means and how to fix it.
type Catalogue struct {
	GateSet string        `json:"gate_set"`
	Rules   []report.Rule `json:"rules"`
}
