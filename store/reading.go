package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/posttrainarena/arena/migrations"
)

// OpenReading opens a data directory to look at it, whether or not a server runs
// on it: it takes no lock, migrates nothing, sweeps nothing, and its connections
// refuse to write. Backup works on it. A directory without a database is
// fs.ErrNotExist, and one whose schema is not the one that this program knows is
// refused as Open and OpenBeside refuse it.
func OpenReading(ctx context.Context, o Options) (*Store, error) {
	s, applied, all, err := openAsItIs(ctx, o)
	if err != nil {
		return nil, err
	}
	if len(applied) != len(all) {
		err := fmt.Errorf("the database is at schema %04d and this program works with %04d; arena migrate brings it there", len(applied), len(all))
		return nil, errors.Join(err, s.Close())
	}
	s.schema = len(all)
	return s, nil
}

// openAsItIs opens a database of any schema that this program has known, and
// says what it went through and what this program knows.
func openAsItIs(ctx context.Context, o Options) (*Store, []step, []migrations.Migration, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, nil, nil, err
	}
	path := filepath.Join(o.Dir, DatabaseName)
	if info, err := os.Stat(path); err != nil {
		return nil, nil, nil, fmt.Errorf("look at the database: %w", err)
	} else if info.Size() == 0 {
		return nil, nil, nil, fmt.Errorf("look at the database: %s is empty: %w", path, fs.ErrNotExist)
	}
	s := newStore(o, nil)
	applied, all, err := s.look(ctx, o, path)
	if err != nil {
		return nil, nil, nil, errors.Join(advise(o.Dir, err), s.Close())
	}
	return s, applied, all, nil
}

func (s *Store) look(ctx context.Context, o Options, path string) (applied []step, all []migrations.Migration, err error) {
	if err := s.codecs(o); err != nil {
		return nil, nil, err
	}
	if s.reader, err = openHandle(path, roleReader, o.Readers); err != nil {
		return nil, nil, err
	}
	if err := checkVersion(ctx, s.reader); err != nil {
		return nil, nil, err
	}
	if all, err = migrations.All(); err != nil {
		return nil, nil, err
	}
	if applied, err = appliedTo(ctx, s.reader); err != nil {
		return nil, nil, err
	}
	return applied, all, checkApplied(s.dir, applied, all)
}

// Rehearsal says what a migration would do, or did, to a copy of a database.
type Rehearsal struct {
	From    int      `json:"from"`    // number of the newest migration that was applied
	To      int      `json:"to"`      // number of this program's newest
	Pending []string `json:"pending"` // names of the migrations in between, in order
}

// Rehearse applies the pending migrations to a copy of a directory's database
// and checks the result whole: structure, references and audit trail. The
// database itself is only read, and the copy is gone when Rehearse returns. It
// refuses what Open would refuse.
func Rehearse(ctx context.Context, o Options) (r Rehearsal, err error) {
	s, applied, all, err := openAsItIs(ctx, o)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r = Rehearsal{From: len(applied), To: len(all), Pending: []string{}}
	for _, m := range all[len(applied):] {
		r.Pending = append(r.Pending, m.Name)
	}
	if len(r.Pending) == 0 {
		return r, nil
	}
	scratch, err := os.MkdirTemp(s.dir, rehearsalPrefix)
	if err != nil {
		return r, fmt.Errorf("make room for a rehearsal: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	if err := s.copyTo(ctx, filepath.Join(scratch, DatabaseName)); err != nil {
		return r, err
	}
	return r, prove(ctx, Options{Dir: scratch, Now: s.now}) // without a log: nothing that lasts is migrated
}

// rehearsalPrefix is how directories of rehearsals begin.
const rehearsalPrefix = "rehearsal-"

// prove opens a database that nobody needs, which migrates it, and checks all of
// it.
func prove(ctx context.Context, o Options) error {
	o.Scratch, o.DiskFloor = true, -1
	s, err := Open(ctx, o)
	if err != nil {
		return err
	}
	return errors.Join(s.Integrity(ctx), s.VerifyAudit(ctx), s.Close())
}
