package store

import (
	"context"

	"github.com/posttrainarena/arena/protocol"
)

// Sums returns what the arena has promised and spent: Settled, Live and
// Recorded of the ledger. Cap and Prior are configuration and stay zero.
func (s *Store) Sums(ctx context.Context) (l protocol.Ledger, err error) {
	err = s.view(ctx, "sum the ledger", func(t *tx) error {
		l, err = t.sums(ctx)
		return err
	})
	return l, err
}

func (t *tx) sums(ctx context.Context) (l protocol.Ledger, err error) {
	err = t.QueryRowContext(ctx, `SELECT
  (SELECT coalesce(sum(settled), 0) FROM runs),
  (SELECT coalesce(sum(reserved), 0) FROM runs WHERE settled IS NULL),
  (SELECT coalesce(sum(billed), 0) FROM jobs)`).Scan(&l.Settled, &l.Live, &l.Recorded)
	return l, err
}
