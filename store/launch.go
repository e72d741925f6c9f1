package store

import (
	"context"

	"github.com/posttrainarena/arena/protocol"
)

// LaunchFacts reads the facts that Reserve decides on, with the same code,
// without reserving.
func (s *Store) LaunchFacts(ctx context.Context, r protocol.Reservation) (facts protocol.LaunchFacts, err error) {
	err = s.view(ctx, "read the facts for a launch of "+r.Collection, func(t *tx) error {
		facts, err = t.launchFacts(ctx, r)
		return err
	})
	return facts, err
}

// Reserve launches a run as far as the arena is concerned: it evaluates the
// checks of protocol.CheckLaunch on what is true now and, when all hold, writes
// the run with its reservation and its request id. A refusal writes nothing.
// The same request id with the same launch returns its run and true, however
// that run has fared; with another launch it is ErrRequestReused.
func (s *Store) Reserve(ctx context.Context, by protocol.Actor, r protocol.Reservation) (out protocol.Run, existing bool, err error) {
	if err := protocol.CheckRequestID(r.RequestID); err != nil {
		return out, false, err
	}
	full := s.room()
	err = s.update(ctx, "reserve a run for request "+r.RequestID, func(t *tx) error {
		first, found, err := t.request(ctx, requestLaunch, r.RequestID)
		if err != nil {
			return err
		}
		if found {
			existing = true
			out, err = t.sameLaunch(ctx, first, r)
			return err
		}
		if full != nil {
			return full
		}
		facts, err := t.launchFacts(ctx, r)
		if err != nil {
			return err
		}
		if err := protocol.CheckLaunch(facts, r.Who, t.now).Refusal(); err != nil {
			return err
		}
		out = newRun(r, facts, t)
		return t.insertRun(ctx, by, out, r)
	})
	if err != nil {
		return protocol.Run{}, false, err
	}
	return out, existing, nil
}

// sameLaunch returns the run that a request id made, if it is asked for again.
func (t *tx) sameLaunch(ctx context.Context, first request, r protocol.Reservation) (protocol.Run, error) {
	run, err := t.run(ctx, first.object)
	if err == nil && !r.SameLaunch(run) {
		err = protocol.ErrRequestReused
	}
	return run, err
}

func (t *tx) launchFacts(ctx context.Context, r protocol.Reservation) (f protocol.LaunchFacts, err error) {
	f = protocol.LaunchFacts{Challenge: r.Challenge, SealedNames: r.SealedNames, Price: r.Price, PriceError: r.PriceError}
	if f.Collection, err = t.listedCollection(ctx, r.Collection); err != nil {
		return f, err
	}
	if err := t.actsAs(ctx, r.Who, r.AgentID); err != nil {
		return f, err
	}
	rows, err := t.QueryContext(ctx, "SELECT state, created FROM runs WHERE collection = ? AND challenge = ? AND created > ?",
		r.Collection, r.Challenge.ID, micros(t.now.Add(-protocol.DailyWindow)))
	recent, err := many(rows, err, func(row scanner) (run protocol.Run, err error) {
		return run, row.Scan(&run.State, instant{&run.CreatedAt})
	})
	if err != nil {
		return f, err
	}
	for _, run := range recent {
		if run.Counts() {
			f.Counted = append(f.Counted, run.CreatedAt)
		}
	}
	if f.ActiveRun, err = t.activeRun(ctx); err != nil {
		return f, err
	}
	f.Ledger, err = t.sums(ctx)
	f.Ledger.Cap, f.Ledger.Prior = r.Cap, r.Prior
	return f, err
}

// newRun is the run that a launch makes.
func newRun(r protocol.Reservation, f protocol.LaunchFacts, t *tx) protocol.Run {
	tasks := f.Collection.Static.Summary
	return protocol.Run{
		ID: protocol.NewRunID(r.RequestID), RequestID: r.RequestID,
		Challenge: r.Challenge.ID, Collection: f.Collection.ID, Revision: f.Collection.Source.Revision, Author: f.Collection.Author,
		LaunchedBy: r.Who.Name, AgentID: r.AgentID,
		State: protocol.RunQueued, Since: t.now, CreatedAt: t.now,
		Provider: r.Provider, Image: r.Image, Flavor: r.Challenge.Compute.Flavor, Price: r.Price, Timeout: r.Challenge.Compute.Timeout(), RecipeID: r.Challenge.Recipe.ID,
		TrainTasks: tasks.Eligible, ExcludedTasks: tasks.Tasks - tasks.Eligible, EvalTasks: r.Challenge.EvalTasks(),
		Reserved: f.Reservation(),
	}
}

func (t *tx) insertRun(ctx context.Context, by protocol.Actor, run protocol.Run, r protocol.Reservation) error {
	_, err := t.ExecContext(ctx, `INSERT INTO runs (id, request_id, challenge, collection, revision, author, launched_by, agent,
  state, stage, reason, fault, since, provider, flavor, price, timeout, recipe,
  train_tasks, excluded_tasks, eval_tasks, reserved, created, progress, image)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		run.ID, run.RequestID, run.Challenge, run.Collection, run.Revision, run.Author, run.LaunchedBy, textOrNull(run.AgentID),
		run.State, run.Stage, run.Reason, run.Fault, micros(run.Since), run.Provider, run.Flavor, run.Price, run.Timeout.Microseconds(), run.RecipeID,
		run.TrainTasks, run.ExcludedTasks, run.EvalTasks, run.Reserved, micros(run.CreatedAt), asJSON{run.Progress}, run.Image)
	if code(err) == constraintUnique {
		return protocol.ErrJobActive // the database's own guard of "one at a time"
	}
	if err != nil {
		return err
	}
	first := request{owner: run.LaunchedBy, body: bodyHash(run.Challenge, run.Collection, run.AgentID), object: run.ID}
	if err := t.remember(ctx, requestLaunch, r.RequestID, first); err != nil {
		return err
	}
	if err := t.audit(ctx, change{by: by, action: "launch", object: "run:" + run.ID, after: briefRun(run)}); err != nil {
		return err
	}
	return t.emit(ctx, runEvent(protocol.EventRunState, run))
}
