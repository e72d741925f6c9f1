package store

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/posttrainarena/arena/migrations"
)

// ErrNewerSchema says that a database was migrated by a newer arena. The error
// that wraps it names both versions and what to do.
var ErrNewerSchema = errors.New("the database belongs to a newer arena")

// snapshotName is the copy of the database from before migration number n.
func snapshotName(n int) string { return fmt.Sprintf("arena-before-%04d.db", n) }

// migrate brings the database to the newest of the given migrations, one
// transaction each, after it made sure that the applied ones are those that
// this program knows. Before it changes a database that has content it keeps a
// copy beside it: going back means restoring that.
func (s *Store) migrate(ctx context.Context, all []migrations.Migration) error {
	const table = `CREATE TABLE IF NOT EXISTS migrations (
  number  INTEGER PRIMARY KEY,
  name    TEXT    NOT NULL,
  sha256  TEXT    NOT NULL, -- of the file, so that an edited one is noticed
  applied INTEGER NOT NULL
) STRICT`
	if _, err := s.writer.ExecContext(ctx, table); err != nil {
		return explain("open the list of migrations", err)
	}
	applied, err := appliedTo(ctx, s.writer)
	if err != nil {
		return err
	}
	if err := checkApplied(s.dir, applied, all); err != nil {
		return err
	}
	if n := len(applied); n > 0 && n < len(all) {
		if err := s.snapshot(ctx, n+1); err != nil {
			return err
		}
	}
	for _, m := range all[len(applied):] {
		err := s.update(ctx, "apply migration "+m.Name, func(t *tx) error {
			if _, err := t.ExecContext(ctx, m.SQL); err != nil {
				return err
			}
			_, err := t.ExecContext(ctx, "INSERT INTO migrations (number, name, sha256, applied) VALUES (?, ?, ?, ?)",
				m.Number, m.Name, hex.EncodeToString(m.Checksum[:]), micros(t.now))
			return err
		})
		if err != nil {
			return err
		}
		s.log.InfoContext(ctx, "migrated the database", "migration", m.Name)
	}
	s.schema = len(all)
	return nil
}

// step is a migration as a database remembers it.
type step struct {
	number       int
	name, sha256 string
}

func scanStep(r scanner) (st step, err error) {
	return st, r.Scan(&st.number, &st.name, &st.sha256)
}

// appliedTo lists the migrations that a database went through.
func appliedTo(ctx context.Context, db *sql.DB) ([]step, error) {
	rows, err := db.QueryContext(ctx, "SELECT number, name, sha256 FROM migrations ORDER BY number")
	steps, err := many(rows, err, scanStep)
	if err != nil {
		return nil, explain("read the list of migrations", err)
	}
	return steps, nil
}

// checkApplied compares what a database went through with what this program
// would have done to it.
func checkApplied(dir string, applied []step, all []migrations.Migration) error {
	if n := len(applied); n > len(all) {
		return fmt.Errorf("%w: it is at schema %04d (%s) and this program knows up to %04d; run the newer arena%s",
			ErrNewerSchema, applied[n-1].number, applied[n-1].name, len(all), restoreHint(dir, len(all)+1))
	}
	for i, st := range applied {
		m := all[i]
		switch {
		case st.number != m.Number || st.name != m.Name:
			return fmt.Errorf("the database went through migration %04d as %s and this program calls it %s: it belongs to another build of the arena", st.number, st.name, m.Name)
		case st.sha256 != hex.EncodeToString(m.Checksum[:]):
			return fmt.Errorf("migration %s was edited after this database went through it; put the file back as it was and make the change in a new one", m.Name)
		}
	}
	return nil
}

// restoreHint names the snapshot that an older program can go back to, when
// there is one.
func restoreHint(dir string, next int) string {
	path := filepath.Join(dir, snapshotName(next))
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return ", or restore " + path + ", taken before it was migrated"
}

// snapshot keeps a copy of the database from before a migration. A copy that is
// already there is kept: it is from an attempt that failed, and not younger.
func (s *Store) snapshot(ctx context.Context, number int) error {
	path := filepath.Join(s.dir, snapshotName(number))
	if _, err := os.Stat(path); err == nil {
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, err := s.Backup(ctx, path)
	return err
}
