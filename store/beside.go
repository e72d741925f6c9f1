package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/posttrainarena/arena/migrations"
)

// OpenBeside opens a data directory for a short errand, such as making a token,
// whether or not a server runs on it. Without a server it is Open. With one it
// works beside the owner: it takes no lock, migrates nothing and sweeps nothing,
// and SQLite's own locks order its changes among the owner's. It refuses a
// database whose schema is not the one that this program knows.
func OpenBeside(ctx context.Context, o Options) (*Store, error) {
	s, err := Open(ctx, o)
	if !errors.Is(err, ErrLocked) {
		return s, err
	}
	o, err = o.withDefaults()
	if err != nil {
		return nil, err
	}
	s = newStore(o, nil)
	if err := s.attach(ctx, o); err != nil {
		return nil, errors.Join(fmt.Errorf("work beside the running arena: %w", err), s.Close())
	}
	return s, nil
}

func (s *Store) attach(ctx context.Context, o Options) error {
	if err := s.codecs(o); err != nil {
		return err
	}
	path := filepath.Join(s.dir, DatabaseName)
	var err error
	if s.writer, err = openHandle(path, roleWriter, 1); err != nil {
		return err
	}
	all, err := migrations.All()
	if err != nil {
		return err
	}
	applied, err := appliedTo(ctx, s.writer)
	if err != nil {
		return err
	}
	if err := checkApplied(s.dir, applied, all); err != nil {
		return err
	}
	if len(applied) != len(all) {
		return fmt.Errorf("the database is at schema %d instead of %d: restart the arena with this version first", len(applied), len(all))
	}
	s.schema = len(all)
	s.reader, err = openHandle(path, roleReader, o.Readers)
	return err
}

// SchemaVersion is the number of the newest migration of this program.
func SchemaVersion() (int, error) {
	all, err := migrations.All()
	return len(all), err
}
