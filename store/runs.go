package store

import (
	"context"
	"fmt"
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// A run's columns are those of the run and of its job, which has none of them
// until a provider named one.
const (
	runColumns = "r.id, r.request_id, r.challenge, r.collection, r.revision, r.author, r.launched_by, r.agent, " +
		"r.state, r.stage, r.reason, r.fault, r.since, r.provider, r.flavor, r.price, r.timeout, " +
		"coalesce(j.id, ''), coalesce(j.status, ''), coalesce(j.url, ''), r.recipe, " +
		"r.train_tasks, r.excluded_tasks, r.eval_tasks, r.reserved, r.settled, r.created, j.started, r.ended, r.settled_at, " +
		"r.cancel_asked, r.cancel_asked_by, r.cancel_taken, r.unreachable_from, r.log_lines, r.progress, r.image, " +
		"CASE WHEN j.billed <> r.settled THEN j.billed END, CASE WHEN j.billed <> r.settled THEN j.ended END"
	runTables = "runs r LEFT JOIN jobs j ON j.run = r.id"
)

func scanRun(row scanner) (r protocol.Run, err error) {
	var timeout int64
	err = row.Scan(&r.ID, &r.RequestID, &r.Challenge, &r.Collection, &r.Revision, &r.Author, &r.LaunchedBy, maybeText{&r.AgentID},
		&r.State, &r.Stage, &r.Reason, &r.Fault, instant{&r.Since}, &r.Provider, &r.Flavor, &r.Price, &timeout,
		&r.JobID, &r.JobStatus, &r.JobURL, &r.RecipeID,
		&r.TrainTasks, &r.ExcludedTasks, &r.EvalTasks, &r.Reserved, &r.Settled, instant{&r.CreatedAt}, maybeInstant{&r.StartedAt}, maybeInstant{&r.EndedAt}, maybeInstant{&r.SettledAt},
		maybeInstant{&r.CancelAsked}, &r.CancelAskedBy, maybeInstant{&r.CancelTaken}, maybeInstant{&r.UnreachableFrom}, &r.LogLines, asJSON{&r.Progress}, &r.Image,
		&r.LateBill, maybeInstant{&r.LateEnd})
	r.Timeout = time.Duration(timeout) * time.Microsecond
	return r, err
}

// Run returns a run, or ErrNoRun.
func (s *Store) Run(ctx context.Context, id string) (r protocol.Run, err error) {
	err = s.view(ctx, "read run "+id, func(t *tx) error {
		r, err = t.run(ctx, id)
		return err
	})
	return r, err
}

// Runs lists the runs that a filter selects, newest first.
func (s *Store) Runs(ctx context.Context, want protocol.RunFilter, page protocol.Page) (rows []protocol.Run, next string, err error) {
	var f filter
	f.equal("r.challenge", want.Challenge)
	f.equal("r.collection", want.Collection)
	f.equal("r.author", want.Author)
	if want.Live {
		f.conditions = append(f.conditions, "r.id = "+liveRun)
	}
	err = s.view(ctx, "list runs", func(t *tx) error {
		rows, next, err = list(ctx, t, page, listQuery[protocol.Run]{
			name: "runs", columns: runColumns, from: runTables, at: "r.created", id: "r.id", where: f, scan: scanRun,
			key: func(r protocol.Run) (int64, string) { return micros(r.CreatedAt), r.ID },
		})
		return err
	})
	return rows, next, err
}

// liveRun is the run that has not ended, in the words of the index that allows
// one of them. The index is named because SQLite would rather look through every
// run there ever was.
const liveRun = "(SELECT id FROM runs INDEXED BY one_active_run WHERE state IN ('queued', 'running'))"

func (t *tx) run(ctx context.Context, id string) (protocol.Run, error) {
	return one(t.QueryRowContext(ctx, "SELECT "+runColumns+" FROM "+runTables+" WHERE r.id = ?", id), scanRun,
		protocol.ErrNoRun.Detailf("There is no run %q.", id))
}

// Tally counts the runs of a challenge that got a job, by state, and says when
// the last of them was launched, when the last result was collected and how many
// results wait for review. The active run is the arena's, of any challenge.
func (s *Store) Tally(ctx context.Context, challenge string) (sum protocol.RunTally, err error) {
	err = s.view(ctx, "tally the runs of "+challenge, func(t *tx) error {
		sum.Runs = map[protocol.RunState]int{}
		rows, err := t.QueryContext(ctx, "SELECT r.state, count(*), max(j.started) FROM runs r JOIN jobs j ON j.run = r.id WHERE r.challenge = ? GROUP BY r.state", challenge)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var state protocol.RunState
			var n int
			var last time.Time
			if err := rows.Scan(&state, &n, instant{&last}); err != nil {
				return err
			}
			sum.Runs[state] = n
			if sum.LastLaunched == nil || last.After(*sum.LastLaunched) {
				sum.LastLaunched = &last
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
		err = t.QueryRowContext(ctx, "SELECT max(s.collected), count(*) FILTER (WHERE s.verification = 'pending') FROM "+resultTables+" WHERE r.challenge = ?", challenge).
			Scan(maybeInstant{&sum.LastCollected}, &sum.PendingReviews)
		if err != nil {
			return err
		}
		err = t.QueryRowContext(ctx, "SELECT min(since) FROM runs WHERE challenge = ? AND state = 'queued'", challenge).Scan(maybeInstant{&sum.OldestQueued})
		if err != nil {
			return err
		}
		sum.ActiveRun, err = t.activeRun(ctx)
		return err
	})
	return sum, err
}

// activeRun is the id of the run that is active in the arena; empty when none.
func (t *tx) activeRun(ctx context.Context) (id string, err error) {
	err = t.QueryRowContext(ctx, "SELECT coalesce("+liveRun+", '')").Scan(&id)
	return id, err
}

// JobStarted records the job that a provider has for a run. Repeating it with
// the same job changes nothing; a second job for one run is ErrIllegalMove.
func (s *Store) JobStarted(ctx context.Context, by protocol.Actor, run string, job protocol.Job) (protocol.Run, error) {
	return s.changeRun(ctx, by, run, "job-started", func(r *protocol.Run, now time.Time) (bool, error) {
		switch {
		case r.JobID == job.ID && job.ID != "":
			return false, nil
		case r.JobID != "":
			return false, protocol.ErrIllegalMove.Detailf("Run %s has job %s, so job %s cannot be its own. Cancel that one at the provider.", run, r.JobID, job.ID)
		}
		started := momentOr(job.StartedAt, now)
		r.JobID, r.JobStatus, r.JobURL, r.StartedAt = job.ID, job.Status, job.URL, &started
		return true, move(r, protocol.MoveStarted, now)
	})
}

// LaunchRefused ends a run that never got a job and releases its reservation: it
// failed, or with FaultCanceled it was canceled. Repeating it changes nothing. A
// run whose job is known is ended by Finish.
func (s *Store) LaunchRefused(ctx context.Context, by protocol.Actor, run, reason string, fault protocol.FaultClass) (protocol.Run, error) {
	return s.changeRun(ctx, by, run, "launch-refused", func(r *protocol.Run, now time.Time) (bool, error) {
		if r.JobID != "" {
			return false, protocol.ErrIllegalMove.Detailf("Run %s has job %s; it ends when that job does.", run, r.JobID)
		}
		how := protocol.MoveRefused
		if fault == protocol.FaultCanceled {
			how = protocol.MoveCanceled
		}
		if want, err := protocol.RunQueued.Next(how); err != nil || r.State == want {
			return false, err
		}
		settle(r, 0, now, now)
		r.Reason, r.Fault = reason, fault
		return true, move(r, how, now)
	})
}

// LateJob records a job that turned up, and has ended, after its launch was given
// up. The run stays settled as it was; the bill counts with the providers' records
// (protocol.Ledger). A run that has a job is not changed.
func (s *Store) LateJob(ctx context.Context, by protocol.Actor, run string, job protocol.Job, reason string, billed protocol.Micros, ended time.Time) error {
	return s.update(ctx, "record a late job of run "+run, func(t *tx) error {
		before, err := t.run(ctx, run)
		if err != nil || before.JobID != "" {
			return err
		}
		if !before.State.Ended() {
			return protocol.ErrIllegalMove.Detailf("Run %s waits for its job, so job %s is not late.", run, job.ID)
		}
		if _, err := t.ExecContext(ctx, "UPDATE runs SET reason = ? WHERE id = ?", reason, run); err != nil {
			return err
		}
		if err := t.insertJob(ctx, before, job, &billed, &ended); err != nil {
			return err
		}
		after, err := t.run(ctx, run)
		if err != nil {
			return err
		}
		return t.tellRun(ctx, by, "late-job", before, after)
	})
}

// CancelAsked records that somebody wants a run to stop. Asking again changes
// nothing; a run that has ended is ErrIllegalMove.
func (s *Store) CancelAsked(ctx context.Context, by protocol.Actor, run string) (protocol.Run, error) {
	return s.changeRun(ctx, by, run, "cancel", func(r *protocol.Run, now time.Time) (bool, error) {
		if r.State.Ended() {
			return false, protocol.ErrIllegalMove.Detailf("Run %s is %s, so there is nothing to cancel.", run, r.State)
		}
		if r.CancelAsked != nil {
			return false, nil
		}
		r.CancelAsked, r.CancelAskedBy = &now, by.Name
		return true, nil
	})
}

// CancelTaken records that the provider took the cancel of a run. The first time
// stands; a run that nobody canceled or that has ended is not changed.
func (s *Store) CancelTaken(ctx context.Context, run string) (protocol.Run, error) {
	return s.changeRun(ctx, protocol.Actor{Name: protocol.ActorArena}, run, "cancel-taken", func(r *protocol.Run, now time.Time) (bool, error) {
		if r.CancelAsked == nil || r.CancelTaken != nil || r.State.Ended() {
			return false, nil
		}
		r.CancelTaken = &now
		return true, nil
	})
}

// Unreachable records since when the provider does not answer for a run; nil
// says that it does again. It changes nothing about a run that has ended.
func (s *Store) Unreachable(ctx context.Context, run string, since *time.Time) error {
	action := "reachable"
	if since != nil {
		action = "unreachable"
		t := momentOr(*since, *since)
		since = &t
	}
	_, err := s.changeRun(ctx, protocol.Actor{Name: protocol.ActorArena}, run, action, func(r *protocol.Run, _ time.Time) (bool, error) {
		same := since == r.UnreachableFrom || since != nil && r.UnreachableFrom != nil && since.Equal(*r.UnreachableFrom)
		if same || r.State.Ended() {
			return false, nil
		}
		r.UnreachableFrom = since
		return true, nil
	})
	return err
}

// Finish ends a run: its state, why it ended, and what it cost in the place of
// its reservation. Repeating the same move changes nothing and returns the run
// as it ended; another move is ErrIllegalMove.
func (s *Store) Finish(ctx context.Context, by protocol.Actor, run string, end protocol.Ending) (protocol.Run, error) {
	want, err := protocol.RunRunning.Next(end.Move)
	if err != nil || !want.Ended() {
		return protocol.Run{}, protocol.ErrIllegalMove.Detailf("The move %s does not end a run.", end.Move)
	}
	if end.Billed < 0 {
		return protocol.Run{}, fmt.Errorf("finish run %s: a bill of $%s is below zero", run, end.Billed)
	}
	return s.changeRun(ctx, by, run, "settle", func(r *protocol.Run, now time.Time) (bool, error) {
		if r.State == want {
			return false, nil
		}
		if err := move(r, end.Move, now); err != nil {
			return false, err
		}
		settle(r, end.Billed, momentOr(end.EndedAt, now), now)
		r.Reason, r.Fault, r.Progress = end.Reason, end.Fault, end.Progress
		r.UnreachableFrom = nil
		if end.Move == protocol.MoveCanceled && r.CancelAsked != nil && r.CancelTaken == nil {
			r.CancelTaken = &now // its call was not answered, but the job was stopped
		}
		if end.Stage != "" {
			r.Stage = end.Stage
		}
		if r.JobID != "" && end.Status != "" {
			r.JobStatus = end.Status
		}
		return true, nil
	})
}

// move takes a run to the state after a move.
func move(r *protocol.Run, m protocol.RunMove, now time.Time) error {
	next, err := r.State.Next(m)
	if err == nil && next != r.State {
		r.State, r.Since = next, now
	}
	return err
}

// settle replaces a run's reservation by what it cost.
func settle(r *protocol.Run, billed protocol.Micros, ended, now time.Time) {
	r.Settled, r.SettledAt, r.EndedAt = &billed, &now, &ended
}

// momentOr is t as a column keeps it, or other when t is not known.
func momentOr(t, other time.Time) time.Time {
	if t.IsZero() {
		t = other
	}
	return t.UTC().Truncate(time.Microsecond)
}

// changeRun is the form of every change of a run: read it, let f decide and
// change it, and write the run, the audit row and the events unless f says that
// nothing changed.
func (s *Store) changeRun(ctx context.Context, by protocol.Actor, id, action string, f func(r *protocol.Run, now time.Time) (changed bool, err error)) (protocol.Run, error) {
	var out protocol.Run
	err := s.update(ctx, action+" of run "+id, func(t *tx) error {
		before, err := t.run(ctx, id)
		if err != nil {
			return err
		}
		out = before
		changed, err := f(&out, t.now)
		if err != nil || !changed {
			return err
		}
		if err := t.writeRun(ctx, out); err != nil {
			return err
		}
		return t.tellRun(ctx, by, action, before, out)
	})
	if err != nil {
		return protocol.Run{}, err
	}
	return out, nil
}

// writeRun writes the parts of a run that can change, and its job's record. The
// bill of a job is what its run was settled with, unless it came late (LateJob).
func (t *tx) writeRun(ctx context.Context, r protocol.Run) error {
	_, err := t.ExecContext(ctx, `UPDATE runs SET state = ?, stage = ?, reason = ?, fault = ?, since = ?, settled = ?, ended = ?, settled_at = ?,
  cancel_asked = ?, cancel_asked_by = ?, cancel_taken = ?, unreachable_from = ?, log_lines = ?, progress = ? WHERE id = ?`,
		r.State, r.Stage, r.Reason, r.Fault, micros(r.Since), r.Settled, microsOrNull(r.EndedAt), microsOrNull(r.SettledAt),
		microsOrNull(r.CancelAsked), r.CancelAskedBy, microsOrNull(r.CancelTaken), microsOrNull(r.UnreachableFrom), r.LogLines, asJSON{r.Progress}, r.ID)
	if err != nil || r.JobID == "" {
		return err
	}
	return t.insertJob(ctx, r, protocol.Job{ID: r.JobID, Status: r.JobStatus, URL: r.JobURL, StartedAt: *r.StartedAt}, r.Settled, r.EndedAt)
}

// insertJob writes the record of a run's job, which keeps its name.
func (t *tx) insertJob(ctx context.Context, r protocol.Run, job protocol.Job, billed *protocol.Micros, ended *time.Time) error {
	_, err := t.ExecContext(ctx, `INSERT INTO jobs (run, provider, id, status, url, started, ended, billed) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (run) DO UPDATE SET status = excluded.status, ended = excluded.ended, billed = excluded.billed`,
		r.ID, r.Provider, job.ID, job.Status, job.URL, micros(momentOr(job.StartedAt, t.now)), microsOrNull(ended), billed)
	if code(err) == constraintUnique {
		return protocol.ErrIllegalMove.Detailf("Job %s of %s belongs to another run already.", job.ID, r.Provider)
	}
	return err
}

// tellRun writes the audit row and the events of a change of a run.
func (t *tx) tellRun(ctx context.Context, by protocol.Actor, action string, before, after protocol.Run) error {
	if err := t.audit(ctx, change{by: by, action: action, object: "run:" + after.ID, before: briefRun(before), after: briefRun(after)}); err != nil {
		return err
	}
	if after.Stage != before.Stage {
		if err := t.emit(ctx, runEvent(protocol.EventRunStage, after)); err != nil {
			return err
		}
		if action == actionStage {
			return nil
		}
	}
	return t.emit(ctx, runEvent(protocol.EventRunState, after))
}

// actionStage is the change of a run whose log only reached another stage.
const actionStage = "stage"

// runEvent is the event that tells of a run as it is now.
func runEvent(kind protocol.EventKind, r protocol.Run) protocol.Event {
	return protocol.Event{Kind: kind, Challenge: r.Challenge, Run: r.ID, Collection: r.Collection, State: string(r.State), Stage: string(r.Stage)}
}

// briefRun is a run as the audit trail keeps it: without the progress, which
// its log repeats.
func briefRun(r protocol.Run) protocol.Run {
	r.Progress = protocol.Progress{}
	return r
}
