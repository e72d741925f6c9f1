package store

import (
	"context"
	"crypto/sha256"

	"github.com/posttrainarena/arena/protocol"
)

const relayCounters = "v.requests, v.succeeded, v.rejected, v.failed, v.aborted, v.bytes_in, v.bytes_out, v.connections, v.connected_since, v.last_seen, v.lost_at, v.in_flight"

func scanRelay(row scanner) (a protocol.RelayAccess, err error) {
	var state protocol.RunState
	var job, model []byte
	c := &a.Counters
	err = row.Scan(&a.Run, &a.JobID, &state, &job, &model, &c.Requests, &c.Succeeded, &c.Rejected, &c.Failed, &c.Aborted,
		&c.BytesIn, &c.BytesOut, &c.Connections, maybeInstant{&c.ConnectedSince}, maybeInstant{&c.LastSeen}, maybeInstant{&c.LostAt}, &c.InFlight)
	copy(a.Job[:], job)
	copy(a.Model[:], model)
	a.Open = !state.Ended()
	return a, err
}

// RelayAccess returns what the relay has to know of a run, or ErrNoRun when the
// run has none.
func (s *Store) RelayAccess(ctx context.Context, run string) (a protocol.RelayAccess, err error) {
	err = s.view(ctx, "read the relay of run "+run, func(t *tx) error {
		a, err = one(t.QueryRowContext(ctx, "SELECT r.id, coalesce(j.id, ''), r.state, v.job_sha256, v.model_sha256, "+relayCounters+
			" FROM relays v JOIN runs r ON r.id = v.run LEFT JOIN jobs j ON j.run = r.id WHERE v.run = ?", run), scanRelay,
			protocol.ErrNoRun.Detailf("There is no run %q with a relay.", run))
		return err
	})
	return a, err
}

// OpenRelay gives a run the hashes of two new secrets; those that it had are good
// for nothing any more. A run that has ended or has its job keeps what it has:
// ErrIllegalMove.
func (s *Store) OpenRelay(ctx context.Context, by protocol.Actor, run string, job, model [sha256.Size]byte) error {
	return s.update(ctx, "open the relay of run "+run, func(t *tx) error {
		r, err := t.run(ctx, run)
		if err != nil {
			return err
		}
		if r.State.Ended() || r.JobID != "" {
			return protocol.ErrIllegalMove.Detailf("Run %s has its job or has ended; its secrets stay as they are.", run)
		}
		if _, err := t.ExecContext(ctx, `INSERT INTO relays (run, job_sha256, model_sha256) VALUES (?, ?, ?)
  ON CONFLICT (run) DO UPDATE SET job_sha256 = excluded.job_sha256, model_sha256 = excluded.model_sha256`, run, job[:], model[:]); err != nil {
			return err
		}
		return t.audit(ctx, change{by: by, action: "relay-secrets", object: "run:" + run})
	})
}

// RelayCounted replaces the counters of a run's relay.
func (s *Store) RelayCounted(ctx context.Context, run string, c protocol.RelayCounters) error {
	return s.update(ctx, "count the relay of run "+run, func(t *tx) error {
		res, err := t.ExecContext(ctx, `UPDATE relays SET requests = ?, succeeded = ?, rejected = ?, failed = ?, aborted = ?, bytes_in = ?, bytes_out = ?,
  connections = ?, connected_since = ?, last_seen = ?, lost_at = ?, in_flight = ? WHERE run = ?`,
			c.Requests, c.Succeeded, c.Rejected, c.Failed, c.Aborted, c.BytesIn, c.BytesOut, c.Connections, microsOrNull(c.ConnectedSince), microsOrNull(c.LastSeen), microsOrNull(c.LostAt), c.InFlight, run)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 1 {
			return err
		}
		return protocol.ErrNoRun.Detailf("There is no run %q with a relay.", run)
	})
}

// RelaysCut records that no tunnel holds, as a process does that has just begun: one
// that was killed could not. See protocol.RelayCounters.Cut.
func (s *Store) RelaysCut(ctx context.Context) error {
	return s.update(ctx, "record that no relay is connected", func(t *tx) error {
		_, err := t.ExecContext(ctx, "UPDATE relays SET lost_at = coalesce(lost_at, last_seen), in_flight = 0 WHERE in_flight > 0 OR lost_at IS NULL AND last_seen IS NOT NULL")
		return err
	})
}
