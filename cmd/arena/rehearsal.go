package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/posttrainarena/arena/gates/report"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/client"
)

// rehearsal is what a rehearsal found, step by step.
type rehearsal struct {
	ChallengeID   string          `json:"challenge_id"`
	EnvironmentID string          `json:"environment_id"`
	OK            bool            `json:"ok"` // nothing was refused
	Steps         []rehearsalStep `json:"steps"`
}

// rehearsalStep is one step: what the arena answered, what it refused, and what
// it took with a remark.
type rehearsalStep struct {
	Step     string   `json:"step"`
	OK       bool     `json:"ok"`
	Detail   string   `json:"detail"`
	Refusals []remark `json:"refusals"`
	Remarks  []remark `json:"remarks"`
}

// remark is one thing that the arena says, and what to do about it.
type remark struct {
	Code   string `json:"code"`
	Place  string `json:"place"` // in the collection or the request; empty when it has none
	Detail string `json:"detail"`
	Fix    string `json:"fix"`
}

// add appends a step.
func (r *rehearser) add(s rehearsalStep) {
	s.OK = len(s.Refusals) == 0
	if s.Refusals == nil {
		s.Refusals = []remark{}
	}
	if s.Remarks == nil {
		s.Remarks = []remark{}
	}
	r.out.Steps = append(r.out.Steps, s)
}

// refused appends a step that the arena refused. Anything that is no answer of
// the arena is an error.
func (r *rehearser) refused(step string, err error) error {
	answer, ok := errors.AsType[*client.AnswerError](err)
	if !ok {
		return err
	}
	p, fields := answer.Problem, answer.Problem.Fields
	s := rehearsalStep{Step: step, Detail: "refused", Refusals: []remark{{Code: p.Code, Detail: p.Detail, Fix: fixOf(p.Code)}}}
	if p.Code == protocol.ErrNotValid.Code {
		fields = nil // validate has said them all
	}
	for _, f := range fields {
		s.Refusals = append(s.Refusals, remark{Code: p.Code, Place: f.Field, Detail: f.Message})
	}
	r.add(s)
	return nil
}

// fixOf is what to do about a refusal, by its code or the name of the check.
func fixOf(code string) string {
	switch code {
	case "challenge-closed", "runs-paused", protocol.CheckChallengeOpen:
		return "Wait until the organizers open it; collections can be improved meanwhile."
	case "daily-limit", protocol.CheckDailyLimit:
		return "Start it again when the time that is named has come."
	case protocol.CheckCap: // the code of the launch too
		return "Only the organizers can raise the cap."
	case "no-eligible-task", protocol.CheckEligibleTask:
		return "Mend the tasks that validate excludes; one eligible task is enough to start."
	case "sealed-name", protocol.CheckNoSealedName:
		return "Rename the task and submit again."
	case "job-layout", protocol.CheckJobLayout:
		return "Tell an organizer: the challenge's configuration cannot work."
	case "job-active", protocol.CheckNoActiveJob:
		return "Start it again when the other run has ended."
	default:
		return ""
	}
}

func (r *rehearser) validate(ctx context.Context) (bool, error) {
	a, err := r.author.Validate(ctx, r.source.req, r.source.bundle)
	if e, ok := errors.AsType[*client.AnswerError](err); ok && e.Problem.Code == protocol.ErrClosed.Code {
		// A challenge that takes nothing at all: say so, and go on as if it did.
		if err := r.refused("validate", err); err != nil {
			return false, err
		}
		if err := r.open(ctx, true); err != nil {
			return false, err
		}
		a, err = r.author.Validate(ctx, r.source.req, r.source.bundle)
	}
	if err != nil {
		return false, r.refused("validate", err)
	}
	v := a.Value
	r.out.EnvironmentID = v.EnvironmentID
	s := rehearsalStep{Step: "validate", Detail: fmt.Sprintf("%s, %d eligible", counted(v.TaskCount, "task"), v.EligibleTasks)}
	for _, e := range v.Errors {
		s.Refusals = append(s.Refusals, remark{Code: "invalid", Detail: e})
	}
	for _, f := range v.QualityGates.Static.Findings {
		if f.Severity != report.Block { // those are among the errors
			s.Remarks = append(s.Remarks, remark{Code: f.Code, Place: placeOf(f), Detail: effect(f) + ": " + f.Message, Fix: f.Fix})
		}
	}
	for _, c := range v.QualityGates.Static.CreditWarnings {
		s.Remarks = append(s.Remarks, remark{Code: "credit", Place: c.Field, Detail: c.Message})
	}
	r.add(s)
	return true, nil
}

// placeOf is where in the collection a finding stands.
func placeOf(f report.Finding) string {
	where := report.TaskPath(f)
	if f.Line > 0 {
		where = fmt.Sprintf("%s:%d", where, f.Line)
	}
	return where
}

// effect is what a finding does to its task, in a few words.
func effect(f report.Finding) string {
	switch f.Severity {
	case report.Reject:
		return "the task is excluded"
	case report.Controls:
		return "the task counts only with passing controls"
	default:
		return "for review"
	}
}

func (r *rehearser) submit(ctx context.Context) (bool, error) {
	a, err := r.author.Submit(ctx, r.source.req, r.source.bundle)
	if err != nil {
		return false, r.refused("submit", err)
	}
	r.out.EnvironmentID = a.Value.ID
	r.add(rehearsalStep{Step: "submit", Detail: fmt.Sprintf("%s pinned at %.12s", a.Value.ID, a.Value.Revision)})
	return true, nil
}

func (r *rehearser) preflight(ctx context.Context) (bool, error) {
	a, err := r.author.Preflight(ctx, r.cmd.Challenge, r.out.EnvironmentID)
	if err != nil {
		return false, r.refused("preflight", err)
	}
	s, closed, goOn := rehearsalStep{Step: "preflight", Detail: fmt.Sprintf("%d checks", len(a.Value.Checks))}, false, true
	for _, c := range a.Value.Checks {
		if c.OK == nil || *c.OK {
			continue
		}
		s.Refusals = append(s.Refusals, remark{Code: c.Name, Detail: c.Detail, Fix: fixOf(c.Name)})
		closed = closed || c.Name == protocol.CheckChallengeOpen
		goOn = goOn && c.Name == protocol.CheckChallengeOpen
	}
	r.add(s)
	if closed && goOn {
		return true, r.open(ctx, true)
	}
	return goOn, nil
}

// rehearsalPoll is how often the rehearsal looks at its run.
const rehearsalPoll = 50 * time.Millisecond

func (r *rehearser) run(ctx context.Context) (bool, error) {
	a, err := r.author.Launch(ctx, r.cmd.Challenge, api.LaunchRequest{RequestID: "rehearsal-" + r.out.EnvironmentID, EnvironmentID: r.out.EnvironmentID})
	if err != nil {
		return false, r.refused("run", err)
	}
	for !a.Value.State.Ended() {
		if err := r.env.Sleep(ctx, rehearsalPoll); err != nil {
			return false, err
		}
		if a, err = r.author.GetRun(ctx, r.cmd.Challenge, a.Value.RunID); err != nil {
			return false, err
		}
	}
	run := a.Value
	s := rehearsalStep{Step: "run", Detail: fmt.Sprintf("played; it would reserve $%s", run.MaxComputeUSD)}
	if run.State != protocol.RunScored {
		s.Refusals = append(s.Refusals, remark{Code: string(run.State), Detail: deref(run.Reason)})
	}
	if again, err := r.author.Preflight(ctx, r.cmd.Challenge, r.out.EnvironmentID); err == nil {
		for _, c := range again.Value.Checks {
			if c.Name == protocol.CheckDailyLimit && c.OK != nil && !*c.OK {
				s.Remarks = append(s.Remarks, remark{Code: c.Name, Detail: "the next one: " + c.Detail, Fix: fixOf(c.Name)})
			}
		}
	}
	r.add(s)
	r.runID = run.RunID
	return len(s.Refusals) == 0, nil
}

func (r *rehearser) collect(ctx context.Context) (bool, error) {
	a, err := r.author.Collect(ctx, r.cmd.Challenge, r.runID)
	if err != nil {
		return false, r.refused("collect", err)
	}
	r.add(rehearsalStep{Step: "collect", Detail: fmt.Sprintf("recomputed from %d held-out tasks: %+.2f ± %.2f pp (played, so the number means nothing)", a.Value.NTasks, a.Value.DeltaPP, a.Value.StderrPP)})
	return true, nil
}

func (r *rehearser) review(ctx context.Context) (bool, error) {
	_, err := r.organizer.Review(ctx, r.cmd.Challenge, r.runID, api.ReviewRequest{Accepted: true, Note: "Rehearsal: coverage is complete and the numbers agree with the report."})
	if err != nil {
		return false, r.refused("review", err)
	}
	r.add(rehearsalStep{Step: "review", Detail: "accepted; an organizer looks at the evidence and may reject it"})
	board, err := r.author.Leaderboard(ctx, r.cmd.Challenge)
	if err != nil {
		return false, r.refused("leaderboard", err)
	}
	s := rehearsalStep{Step: "leaderboard", Refusals: []remark{{Code: "no-row", Detail: "the collection has no row"}}}
	for _, row := range board.Value.Rows {
		if row.Collection == r.out.EnvironmentID {
			s.Detail, s.Refusals = fmt.Sprintf("a row with rank %d of %s", row.Rank, counted(len(board.Value.Rows), "collection")), nil
		}
	}
	r.add(s)
	return true, nil
}

// print writes what was found.
func (r *rehearser) print() error {
	r.out.OK = !slices.ContainsFunc(r.out.Steps, func(s rehearsalStep) bool { return !s.OK })
	if r.cmd.JSON {
		if err := r.env.document(r.out); err != nil {
			return err
		}
	} else if _, err := fmt.Fprintln(r.env.Stdout, strings.Join(rehearsalLines(r.out), "\n")); err != nil {
		return fmt.Errorf("write the rehearsal: %w", err)
	}
	if !r.out.OK {
		return &verdict{exitError, "the arena would refuse this collection"}
	}
	r.env.say("%s", next("validate", "--dir", r.cmd.Dir, "--challenge", r.cmd.Challenge))
	return nil
}

// maxRemarks is how many remarks of a step the text shows.
const maxRemarks = 30

// rehearsalLines is a rehearsal as text: every refusal in the order in which the
// arena gives it, with what to do about it.
func rehearsalLines(out rehearsal) []string {
	var lines []string
	for _, s := range out.Steps {
		word := "ok"
		if !s.OK {
			word = "NO"
		}
		lines = append(lines, visible(fmt.Sprintf("%-2s  %-11s %s", word, s.Step, s.Detail)))
		for _, m := range s.Refusals {
			lines = append(lines, remarkLines("refused", m)...)
		}
		for i, m := range s.Remarks {
			if i == maxRemarks {
				lines = append(lines, fmt.Sprintf("      … and %d more; see --json", len(s.Remarks)-maxRemarks))
				break
			}
			lines = append(lines, remarkLines("note", m)...)
		}
	}
	if out.OK {
		return append(lines, "", "Nothing would be refused.")
	}
	return append(lines, "", "The arena would refuse what is marked NO.")
}

func remarkLines(kind string, m remark) []string {
	where := m.Code
	if m.Place != "" {
		where += " " + m.Place
	}
	lines := []string{visible(fmt.Sprintf("      %s %s: %s", kind, where, m.Detail))}
	if m.Fix != "" {
		lines = append(lines, visible("          fix: "+m.Fix))
	}
	return lines
}
