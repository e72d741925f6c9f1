package store

import (
	"context"

	"github.com/posttrainarena/arena/protocol"
)

const verdictColumns = "collection, challenge, version, plan_digest, revision, gate_set, policy_digest, options, tasks, attached_by, attached"

func scanVerdict(r scanner) (v protocol.Verdict, err error) {
	return v, r.Scan(&v.Collection, &v.Challenge, &v.Version, &v.PlanDigest, &v.Revision, &v.GateSet, &v.PolicyDigest, asJSON{&v.Options}, asJSON{&v.Tasks}, &v.AttachedBy, instant{&v.AttachedAt})
}

// Verdict returns the newest verdict of the dynamic gates on a collection for a
// challenge, or ErrNotFound when none was attached.
func (s *Store) Verdict(ctx context.Context, collection, challenge string) (v protocol.Verdict, err error) {
	err = s.view(ctx, "read the verdict on "+collection, func(t *tx) error {
		v, err = one(t.QueryRowContext(ctx, "SELECT "+verdictColumns+" FROM verdicts WHERE collection = ? AND challenge = ? ORDER BY version DESC LIMIT 1", collection, challenge),
			scanVerdict, protocol.ErrNotFound.Detailf("No gate results are attached to %s for %s.", collection, challenge))
		return err
	})
	return v, err
}

// maxVersions bounds the versions that are read of one verdict.
const maxVersions = 100

// VerdictHistory returns every version of the verdict on a collection for a challenge,
// the newest first and at most a hundred.
func (s *Store) VerdictHistory(ctx context.Context, collection, challenge string) (all []protocol.Verdict, err error) {
	err = s.view(ctx, "read the verdicts on "+collection, func(t *tx) error {
		rows, err := t.QueryContext(ctx, "SELECT "+verdictColumns+" FROM verdicts WHERE collection = ? AND challenge = ? ORDER BY version DESC LIMIT ?", collection, challenge, maxVersions)
		all, err = many(rows, err, scanVerdict)
		return err
	})
	return all, err
}

// AttachVerdict adds a verdict as the collection's next version for its
// challenge. Earlier versions are kept. The verdict was made from the newest one
// that its maker knew, and says so: its version must be the one after. When
// somebody attached another in between, it is refused with ErrVerdictMoved.
func (s *Store) AttachVerdict(ctx context.Context, by protocol.Actor, v protocol.Verdict) (protocol.Verdict, error) {
	err := s.update(ctx, "attach a verdict to "+v.Collection, func(t *tx) error {
		if _, err := t.collection(ctx, v.Collection); err != nil {
			return err
		}
		var next int
		err := t.QueryRowContext(ctx, "SELECT coalesce(max(version), 0) + 1 FROM verdicts WHERE collection = ? AND challenge = ?", v.Collection, v.Challenge).Scan(&next)
		if err != nil {
			return err
		}
		if v.Version != next {
			return protocol.ErrVerdictMoved.Detailf("The verdict on %s was judged as version %d, and the next one is %d now: somebody attached results meanwhile. Attach again.", v.Collection, v.Version, next)
		}
		v.AttachedBy, v.AttachedAt = by.Name, t.now
		v.Tasks = present(v.Tasks)
		_, err = t.ExecContext(ctx, "INSERT INTO verdicts ("+verdictColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			v.Collection, v.Challenge, v.Version, v.PlanDigest, v.Revision, v.GateSet, v.PolicyDigest, asJSON{v.Options}, asJSON{v.Tasks}, v.AttachedBy, micros(v.AttachedAt))
		if err != nil {
			return err
		}
		if err := t.audit(ctx, change{by: by, action: "attach", object: "verdict:" + v.Collection + "/" + v.Challenge, after: v}); err != nil {
			return err
		}
		return t.emit(ctx, protocol.Event{Kind: protocol.EventVerdict, Challenge: v.Challenge, Collection: v.Collection})
	})
	if err != nil {
		return protocol.Verdict{}, err
	}
	return v, nil
}
