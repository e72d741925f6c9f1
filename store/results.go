package store

import (
	"context"
	"errors"
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// What a result measured belongs to its run, so those names come from there.
const (
	resultColumns = "s.run, r.challenge, r.collection, r.revision, r.author, s.agent, s.score, s.cells, s.grpo_ran, s.grpo_effective_update, " +
		"s.evidence_digest, s.report_url, s.job_url, s.verification, s.verification_note, s.collected_by, s.collected, s.reviewed_by, s.reviewed, coalesce(c.claimed_by, ''), c.claimed, c.expires"
	resultTables = "results s JOIN runs r ON r.id = s.run LEFT JOIN claims c ON c.run = s.run"
)

func scanResult(row scanner) (r protocol.Result, err error) {
	var c protocol.Claim
	var at, expires *time.Time
	err = row.Scan(&r.Run, &r.Challenge, &r.Collection, &r.Revision, &r.Author, maybeText{&r.AgentID}, asJSON{&r.Score}, asJSON{&r.Cells}, &r.GRPORan, &r.GRPOEffectiveUpdate,
		&r.EvidenceDigest, &r.ReportURL, &r.JobURL, &r.Verification, &r.VerificationNote, &r.CollectedBy, instant{&r.CollectedAt}, &r.ReviewedBy, maybeInstant{&r.ReviewedAt}, &c.By, maybeInstant{&at}, maybeInstant{&expires})
	if err == nil && at != nil && expires != nil {
		c.At, c.ExpiresAt = *at, *expires
		r.Claim = &c
	}
	return r, err
}

// Result returns the collected result of a run, or ErrNoResult.
func (s *Store) Result(ctx context.Context, run string) (r protocol.Result, err error) {
	err = s.view(ctx, "read the result of run "+run, func(t *tx) error {
		r, err = t.result(ctx, run)
		return err
	})
	return r, err
}

// Results returns every result of a challenge, in the order of collection.
func (s *Store) Results(ctx context.Context, challenge string) (all []protocol.Result, err error) {
	err = s.view(ctx, "list the results of "+challenge, func(t *tx) error {
		rows, err := t.QueryContext(ctx, "SELECT "+resultColumns+" FROM "+resultTables+" WHERE r.challenge = ? ORDER BY s.collected, s.run", challenge)
		all, err = many(rows, err, scanResult)
		return err
	})
	return all, err
}

// SaveResult stores what was recomputed from a scored run, pending review, and
// moves the run to the stage collect. A run has one result: saving again
// returns the first and true. A run that is not scored is ErrNotScored.
func (s *Store) SaveResult(ctx context.Context, by protocol.Actor, r protocol.Result) (out protocol.Result, existing bool, err error) {
	err = s.update(ctx, "save the result of run "+r.Run, func(t *tx) error {
		out, err = t.result(ctx, r.Run)
		if existing = err == nil; existing || !errors.Is(err, protocol.ErrNoResult) {
			return err
		}
		run, err := t.run(ctx, r.Run)
		if err != nil {
			return err
		}
		if run.State != protocol.RunScored {
			return protocol.ErrNotScored.Detailf("Run %s is %s. Only a scored run has a result to collect.", run.ID, run.State)
		}
		if r.CollectedBy == "" {
			r.CollectedBy = by.Name
		}
		if err := t.insertResult(ctx, r); err != nil {
			return err
		}
		if out, err = t.result(ctx, r.Run); err != nil {
			return err
		}
		after := run
		after.Stage = protocol.StageCollect
		if err := t.writeRun(ctx, after); err != nil {
			return err
		}
		if err := t.emit(ctx, runEvent(protocol.EventRunStage, after)); err != nil {
			return err
		}
		return t.tellResult(ctx, by, "collect", nil, out)
	})
	return out, existing, err
}

func (t *tx) insertResult(ctx context.Context, r protocol.Result) error {
	_, err := t.ExecContext(ctx, `INSERT INTO results (run, agent, score, cells, grpo_ran, grpo_effective_update, evidence_digest, report_url, job_url,
  verification, verification_note, collected_by, collected) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.Run, textOrNull(r.AgentID), asJSON{r.Score}, asJSON{r.Cells}, r.GRPORan, r.GRPOEffectiveUpdate, r.EvidenceDigest, r.ReportURL, r.JobURL,
		protocol.Pending, protocol.PendingNote, r.CollectedBy, micros(t.now))
	return err
}

// Review applies an organizer's decision to a pending result, by the rule of
// protocol.Result.Review. A second review is ErrReviewed.
func (s *Store) Review(ctx context.Context, by protocol.Actor, run string, d protocol.Review) (out protocol.Result, err error) {
	err = s.update(ctx, "review run "+run, func(t *tx) error {
		before, err := t.result(ctx, run)
		if err != nil {
			return err
		}
		if out, err = before.Review(d, by.Name, t.now); err != nil {
			return err
		}
		_, err = t.ExecContext(ctx, "UPDATE results SET verification = ?, verification_note = ?, reviewed_by = ?, reviewed = ? WHERE run = ?",
			out.Verification, out.VerificationNote, out.ReviewedBy, microsOrNull(out.ReviewedAt), run)
		if code(err) == constraintTrigger {
			return protocol.ErrReviewed // the database's own guard of "once"
		}
		if err != nil {
			return err
		}
		return t.tellResult(ctx, by, "review", briefResult(before), out)
	})
	if err != nil {
		return protocol.Result{}, err
	}
	return out, nil
}

// Claim says that an editor reviews a pending result, by the rule of
// protocol.Result.ClaimBy, or gives the claim up.
func (s *Store) Claim(ctx context.Context, by protocol.Actor, run string, release bool) (out protocol.Result, err error) {
	err = s.update(ctx, "claim the result of run "+run, func(t *tx) error {
		before, err := t.result(ctx, run)
		if err != nil {
			return err
		}
		if out, err = before.ClaimBy(by.Name, release, t.now); err != nil {
			return err
		}
		_, err = t.ExecContext(ctx, "INSERT INTO claims (run, claimed_by, claimed, expires) VALUES (?, ?, ?, ?) "+
			"ON CONFLICT (run) DO UPDATE SET claimed_by = excluded.claimed_by, claimed = excluded.claimed, expires = excluded.expires",
			run, out.Claim.By, micros(out.Claim.At), micros(out.Claim.ExpiresAt))
		if err != nil {
			return err
		}
		action := "claim"
		if release {
			action = "release"
		}
		return t.tellResult(ctx, by, action, before.Claim, out)
	})
	if err != nil {
		return protocol.Result{}, err
	}
	return out, nil
}

// tellResult writes the audit row and the event of a change of a result.
func (t *tx) tellResult(ctx context.Context, by protocol.Actor, action string, before any, after protocol.Result) error {
	if err := t.audit(ctx, change{by: by, action: action, object: "result:" + after.Run, before: before, after: briefResult(after)}); err != nil {
		return err
	}
	return t.emit(ctx, protocol.Event{Kind: protocol.EventResult, Challenge: after.Challenge, Run: after.Run, Collection: after.Collection, State: string(after.Verification)})
}

// briefResult is a result as the audit trail keeps it: without its cells, which
// name sealed tasks.
func briefResult(r protocol.Result) protocol.Result {
	r.Cells = nil
	return r
}

func (t *tx) result(ctx context.Context, run string) (protocol.Result, error) {
	return one(t.QueryRowContext(ctx, "SELECT "+resultColumns+" FROM "+resultTables+" WHERE s.run = ?", run), scanResult,
		protocol.ErrNoResult.Detailf("Run %s has no collected result. Collect it first.", run))
}
