package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	lib "modernc.org/sqlite/lib"

	"github.com/posttrainarena/arena/migrations"
)

// Copy describes a finished backup.
type Copy struct {
	Path   string
	Bytes  int64
	SHA256 [sha256.Size]byte
	Schema int // number of its newest migration
	// AuditSeq and AuditHash are the head of its audit trail: whoever keeps them
	// elsewhere can prove later that nothing up to there was rewritten.
	AuditSeq  int64
	AuditHash [sha256.Size]byte

	steps []step // the migrations that it went through
}

// Backup writes a consistent copy of the database to a new file while the arena
// keeps working. The copy holds everything up to one moment, is checked before
// it gets its name, and is durable when Backup returns. It never replaces a
// file.
func (s *Store) Backup(ctx context.Context, file string) (made Copy, err error) {
	defer func() {
		if err != nil {
			made, err = Copy{}, fmt.Errorf("back up to %s: %w", file, err)
		}
	}()
	if _, err := os.Lstat(file); err == nil {
		return made, errTaken
	} else if !errors.Is(err, fs.ErrNotExist) {
		return made, err
	}
	// Two backups to one name write two files, the first to be finished gets it.
	f, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*"+partialSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return made, fmt.Errorf("there is no directory %s; make it first", filepath.Dir(file))
	}
	if err != nil {
		return made, err
	}
	partial := f.Name()
	defer os.Remove(partial) // nothing is left of a copy that failed; a finished one has another name
	defer os.Remove(partial + "-journal")
	if err := errors.Join(f.Close(), s.copyTo(ctx, partial)); err != nil {
		return made, err
	}
	if made, err = inspect(ctx, partial); err != nil {
		return made, fmt.Errorf("check the copy: %w", err)
	}
	made.Path = file
	if err := publish(partial, file, made.manifest(s.now())); err != nil {
		return made, fmt.Errorf("name the copy: %w", err)
	}
	return made, nil
}

var errTaken = errors.New("it exists; choose a new name")

// partialSuffix ends the names of files that are being written.
const partialSuffix = ".partial"

// publish gives a finished copy its name and writes its manifest beside it. A
// file that has the name already stays what it is.
func publish(partial, file string, m Manifest) error {
	if err := syncPath(partial); err != nil {
		return err
	}
	err := os.Link(partial, file)
	if errors.Is(err, fs.ErrExist) {
		return errTaken
	}
	if err != nil { // a file system without links, such as a stick's
		err = os.Rename(partial, file)
	}
	if err == nil {
		err = writeManifest(file, m)
		if err != nil {
			err = errors.Join(fmt.Errorf("write its manifest: %w", err), os.Remove(file))
		}
	}
	return err
}

// copyTo writes the database into an empty file, on a connection of its own:
// readers refuse to write even elsewhere, and the writer must not wait.
func (s *Store) copyTo(ctx context.Context, path string) error {
	db, err := openHandle(filepath.Join(s.dir, DatabaseName), roleCopier, 1)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", path)
	if code(err)&0xff == lib.SQLITE_FULL {
		err = fmt.Errorf("the disk that it would be on has no room for it; make some, or name another place: %w", err)
	} else {
		err = explain("copy the database", err)
	}
	return errors.Join(err, db.Close())
}

// inspect checks a database file that nobody else has open, without changing
// it, and describes it.
func inspect(ctx context.Context, path string) (Copy, error) {
	made := Copy{Path: path}
	db, err := openHandle(path, roleCheck, 1)
	if err != nil {
		return made, err
	}
	err = checkIntegrity(ctx, db)
	if err == nil {
		made.steps, err = appliedTo(ctx, db)
		made.Schema = len(made.steps)
	}
	if err == nil {
		made.AuditSeq, made.AuditHash, err = auditHead(db.QueryRowContext(ctx, auditHeadQuery))
	}
	if err := errors.Join(err, db.Close()); err != nil {
		return made, fmt.Errorf("it is not a sound arena database: %w", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return made, err
	}
	defer f.Close()
	h := sha256.New()
	made.Bytes, err = io.Copy(h, f)
	h.Sum(made.SHA256[:0])
	return made, err
}

// Integrity checks the structure of the whole database, its indexes and its
// references. It reads every page, so it is for a person who asks, not for a
// health check.
func (s *Store) Integrity(ctx context.Context) error { return checkIntegrity(ctx, s.reader) }

func checkIntegrity(ctx context.Context, db *sql.DB) error {
	var verdict string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&verdict); err != nil {
		return fmt.Errorf("check the integrity of the database: %w", err)
	}
	if verdict != "ok" {
		return fmt.Errorf("the database is damaged: %s; restore a backup", verdict)
	}
	var table string
	err := db.QueryRowContext(ctx, `SELECT "table" FROM pragma_foreign_key_check LIMIT 1`).Scan(&table)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("check the references of the database: %w", err)
	default:
		return fmt.Errorf("the database is damaged: a row of %s refers to one that is not there; restore a backup", table)
	}
}

// Restored describes a restore.
type Restored struct {
	Copy        // what is in place now
	Kept string // where what was there before is kept; empty when nothing was
	// Newer is how many audit rows the database from before has beyond the
	// backup's, that is changes which are not in place any more; -1 when it could
	// not be read.
	Newer int64
}

// Restore puts a backup in the place of a data directory's database. It refuses
// a directory that is in use, a file that is damaged or that its manifest says
// was another, and one that this program would not open: of a newer arena
// (ErrNewerSchema), or of another build. What was there before is kept beside it.
func Restore(ctx context.Context, o Options, file string) (out Restored, err error) {
	o, err = o.withDefaults()
	if err != nil {
		return out, err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return out, fmt.Errorf("restore: %w", err)
	}
	lock, err := takeLock(o.Dir, o.Now())
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, giveBack(lock)) }()

	fresh := filepath.Join(o.Dir, DatabaseName+".restoring")
	defer os.Remove(fresh)
	if err := copyFile(file, fresh); err != nil {
		return out, fmt.Errorf("restore %s: %w", file, err)
	}
	out.Copy, err = inspect(ctx, fresh)
	if err == nil {
		err = checkManifest(file, out.Copy)
	}
	if err != nil {
		return out, fmt.Errorf("restore %s: %w; nothing was changed, restore another backup", file, err)
	}
	all, err := migrations.All()
	if err == nil {
		err = checkApplied(o.Dir, out.steps, all)
	}
	if err != nil {
		return out, fmt.Errorf("restore %s: %w; nothing was changed", file, err)
	}
	out.Path = filepath.Join(o.Dir, DatabaseName)
	out.Newer = newerRows(ctx, out.Path, out.AuditSeq)
	out.Kept, err = swap(o.Dir, fresh, o.Now())
	return out, err
}

// newerRows counts the audit rows of a database beyond a number; -1 when it
// cannot be read. The file is only looked at. When a killed arena left a
// write-ahead log beside it, a copy of both is, because reading would play the
// log into the database.
func newerRows(ctx context.Context, path string, seq int64) (n int64) {
	if _, err := os.Stat(path); err != nil {
		return 0
	}
	r := roleCheck
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		scratch, err := os.MkdirTemp(filepath.Dir(path), rehearsalPrefix)
		if err != nil {
			return -1
		}
		defer os.RemoveAll(scratch)
		look := filepath.Join(scratch, DatabaseName)
		if errors.Join(copyFile(path, look), copyFile(path+"-wal", look+"-wal")) != nil {
			return -1
		}
		path, r = look, roleReader
	}
	db, err := openHandle(path, r, 1)
	if err != nil {
		return -1
	}
	last, _, err := auditHead(db.QueryRowContext(ctx, auditHeadQuery))
	if errors.Join(err, db.Close()) != nil {
		return -1
	}
	return max(0, last-seq)
}

// swap gives a checked file the database's name. The old database gets a second
// name first, so that at every moment one of them has the name. Its write-ahead
// log must go with it: SQLite would play it into the new one.
func swap(dir, fresh string, now time.Time) (kept string, err error) {
	database := filepath.Join(dir, DatabaseName)
	kept = filepath.Join(dir, "arena-replaced-"+now.UTC().Format("20060102T150405.000Z")+".db")
	switch err := os.Link(database, kept); {
	case errors.Is(err, fs.ErrNotExist):
		kept = ""
	case err != nil:
		return "", fmt.Errorf("keep the old database: %w", err)
	default:
		err := os.Rename(database+"-wal", kept+"-wal")
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return kept, fmt.Errorf("keep the old database: %w", err)
		}
	}
	if err := os.Remove(database + "-shm"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return kept, err
	}
	if err := rename(fresh, database); err != nil {
		return kept, fmt.Errorf("name the restored database: %w", err)
	}
	return kept, nil
}

// copyFile copies a file into a new private one.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// rename makes a file durable, then gives it its name, then makes that durable.
func rename(from, to string) error {
	if err := syncPath(from); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return syncPath(filepath.Dir(to))
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
