package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/posttrainarena/arena/protocol"
)

const (
	deliveryColumns = "d.id, d.hook, d.state, d.tries, d.next_at, d.status, d.problem, d.created, d.updated, e.seq, e.kind, e.at, e.challenge, e.run, e.collection, e.message, e.state, e.stage"
	deliveryTables  = "deliveries d JOIN events e ON e.seq = d.event"

	// keepDeliveries is how long a delivery that is not tried any more stays.
	keepDeliveries = 30 * 24 * time.Hour
)

func scanDelivery(r scanner) (d protocol.Delivery, err error) {
	e := &d.Event
	return d, r.Scan(&d.ID, &d.Hook, &d.State, &d.Tries, instant{&d.NextAt}, &d.Status, &d.Problem, instant{&d.CreatedAt}, instant{&d.UpdatedAt},
		&e.Seq, &e.Kind, instant{&e.At}, &e.Challenge, &e.Run, &e.Collection, &e.Message, &e.State, &e.Stage)
}

// QueueDeliveries makes a delivery of each event that a hook wants and has not got
// yet, and reports whether there may be more. A hook that was never seen before
// begins with what happens next. Deliveries that have long been done are dropped;
// they are not made again.
func (s *Store) QueueDeliveries(ctx context.Context, hook string, kinds []protocol.EventKind) (more bool, err error) {
	err = s.update(ctx, "queue events for webhook "+hook, func(t *tx) error {
		if _, err := t.ExecContext(ctx, "DELETE FROM deliveries WHERE state <> 'pending' AND updated < ?", micros(t.now.Add(-keepDeliveries))); err != nil {
			return err
		}
		var cursor int64
		err := t.QueryRowContext(ctx, "SELECT cursor FROM hooks WHERE name = ?", hook).Scan(&cursor)
		if errors.Is(err, sql.ErrNoRows) {
			_, err = t.ExecContext(ctx, "INSERT INTO hooks (name, cursor) SELECT ?, coalesce(max(seq), 0) FROM events", hook)
			return err
		}
		if err != nil {
			return err
		}
		rows, err := t.QueryContext(ctx, "SELECT "+eventColumns+" FROM events WHERE seq > ? ORDER BY seq LIMIT ?", cursor, maxEvents)
		events, err := many(rows, err, scanEvent)
		if err != nil || len(events) == 0 {
			return err
		}
		for _, e := range events {
			if !protocol.HookWants(kinds, e) {
				continue
			}
			if _, err := t.ExecContext(ctx, "INSERT INTO deliveries (id, hook, event, state, tries, next_at, status, problem, created, updated) VALUES (?, ?, ?, ?, 0, ?, 0, '', ?, ?)",
				protocol.DeliveryID(hook, e), hook, e.Seq, protocol.DeliveryPending, micros(t.now), micros(t.now), micros(t.now)); err != nil {
				return err
			}
		}
		more = len(events) == maxEvents
		_, err = t.ExecContext(ctx, "UPDATE hooks SET cursor = ? WHERE name = ?", events[len(events)-1].Seq, hook)
		return err
	})
	return more, err
}

// NextDelivery returns the pending delivery of a hook that is to be tried first,
// due or not; false when there is none.
func (s *Store) NextDelivery(ctx context.Context, hook string) (d protocol.Delivery, ok bool, err error) {
	err = s.view(ctx, "read what is due for webhook "+hook, func(t *tx) error {
		d, err = scanDelivery(t.QueryRowContext(ctx, "SELECT "+deliveryColumns+" FROM "+deliveryTables+
			" WHERE d.hook = ? AND d.state = 'pending' ORDER BY d.next_at, d.event LIMIT 1", hook))
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		ok = err == nil
		return err
	})
	return d, ok, err
}

// DeliveryTried stores what came of sending a pending delivery. Storing it a second
// time changes nothing.
func (s *Store) DeliveryTried(ctx context.Context, d protocol.Delivery) error {
	return s.update(ctx, "record a try of delivery "+d.ID, func(t *tx) error {
		_, err := t.ExecContext(ctx, "UPDATE deliveries SET state = ?, tries = ?, next_at = ?, status = ?, problem = ?, updated = ? WHERE id = ? AND state = 'pending' AND tries = ?",
			d.State, d.Tries, micros(d.NextAt), d.Status, d.Problem, micros(d.UpdatedAt), d.ID, d.Tries-1)
		return err
	})
}

// Deliveries lists deliveries, newest first; an empty hook means every hook's.
func (s *Store) Deliveries(ctx context.Context, hook string, page protocol.Page) (rows []protocol.Delivery, next string, err error) {
	var f filter
	f.equal("d.hook", hook)
	err = s.view(ctx, "list deliveries", func(t *tx) error {
		rows, next, err = list(ctx, t, page, listQuery[protocol.Delivery]{
			name: "deliveries", columns: deliveryColumns, from: deliveryTables, at: "d.created", id: "d.id", where: f, scan: scanDelivery,
			key: func(d protocol.Delivery) (int64, string) { return micros(d.CreatedAt), d.ID },
		})
		return err
	})
	return rows, next, err
}

// Redeliver has a delivery sent again, with all its tries. One that is pending stays
// as it is; one that is not there is ErrNotFound.
func (s *Store) Redeliver(ctx context.Context, by protocol.Actor, id string) (d protocol.Delivery, err error) {
	err = s.update(ctx, "send delivery "+id+" again", func(t *tx) error {
		read := func() (err error) {
			d, err = one(t.QueryRowContext(ctx, "SELECT "+deliveryColumns+" FROM "+deliveryTables+" WHERE d.id = ?", id), scanDelivery,
				protocol.ErrNotFound.Detailf("There is no delivery %q. Deliveries stay for 30 days after they were done.", id))
			return err
		}
		if err := read(); err != nil || d.State == protocol.DeliveryPending {
			return err
		}
		if _, err := t.ExecContext(ctx, "UPDATE deliveries SET state = 'pending', tries = 0, next_at = ?, updated = ? WHERE id = ?", micros(t.now), micros(t.now), id); err != nil {
			return err
		}
		if err := t.audit(ctx, change{by: by, action: "redeliver", object: "delivery:" + id, before: map[string]any{"state": d.State, "tries": d.Tries}}); err != nil {
			return err
		}
		return read()
	})
	if err != nil {
		return protocol.Delivery{}, err
	}
	return d, nil
}

// HookHealth says how the deliveries to each webhook stand that the arena ever had, by
// name. It looks at every delivery that is kept, in an index.
func (s *Store) HookHealth(ctx context.Context) (all []protocol.HookHealth, err error) {
	err = s.view(ctx, "see how webhooks stand", func(t *tx) error {
		rows, err := t.QueryContext(ctx, `SELECT h.name, coalesce(sum(d.state = 'pending'), 0), coalesce(sum(d.state = 'delivered'), 0), coalesce(sum(d.state = 'failed'), 0),
  min(CASE d.state WHEN 'pending' THEN d.created END), coalesce(max(CASE d.state WHEN 'pending' THEN d.tries END), 0) FROM hooks h LEFT JOIN deliveries d ON d.hook = h.name GROUP BY h.name ORDER BY h.name`)
		all, err = many(rows, err, func(row scanner) (h protocol.HookHealth, err error) {
			return h, row.Scan(&h.Name, &h.Pending, &h.Delivered, &h.Failed, maybeTime{&h.Oldest}, &h.Tries)
		})
		if err != nil {
			return err
		}
		for i, h := range all {
			last, err := scanDelivery(t.QueryRowContext(ctx, "SELECT "+deliveryColumns+" FROM "+deliveryTables+" WHERE d.hook = ? AND d.tries > 0 ORDER BY d.updated DESC, d.event DESC LIMIT 1", h.Name))
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				return err
			}
			all[i].Last = last
		}
		return nil
	})
	return all, err
}
