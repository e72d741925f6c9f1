package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	lib "modernc.org/sqlite/lib"

	"github.com/posttrainarena/arena/migrations"
)

// DatabaseName is the name of the database inside a data directory.
const DatabaseName = "arena.db"

// Defaults of Options.
const (
	DefaultReaders         = 4
	DefaultDiskFloor int64 = 64 << 20
)

// slowTransaction is how long a transaction may be open before it is logged.
const slowTransaction = time.Second

// Options says which data directory to open, and how.
type Options struct {
	Dir    string           // made with mode 0700 when missing
	Now    func() time.Time // required: what stamps rows and measures transactions
	Logger *slog.Logger     // nil logs nothing

	Readers int // connections for reading; 0 means DefaultReaders
	// DiskFloor is how many bytes must be free on the disk for the arena to take
	// anything new; 0 means DefaultDiskFloor, negative means no floor. What
	// belongs to runs that were accepted is always written.
	DiskFloor int64
	// FreeSpace reports the free bytes of the disk under a directory; nil asks
	// the file system.
	FreeSpace func(dir string) (int64, error)
	// Scratch never waits for the disk: for what is thrown away or can be made
	// again, such as a simulation's store. It survives the end of the process,
	// but not that of the machine.
	Scratch bool
	// AllowNetworkDisk opens a directory on a network file system, whose locks
	// SQLite cannot trust.
	AllowNetworkDisk bool
}

// Store is an open arena database. It is safe for concurrent use: changes queue
// for the one writing connection, reads run beside them on their own.
type Store struct {
	dir       string
	now       func() time.Time
	log       *slog.Logger
	floor     int64
	freeSpace func(dir string) (int64, error)

	lock   *os.File
	writer *sql.DB
	group  groupCommit
	reader *sql.DB
	state  stateReader
	pack   *zstd.Encoder
	unpack *zstd.Decoder
	schema int // number of the newest migration

	close    sync.Once
	closeErr error
}

// Open opens the database of a data directory, creating and migrating it as
// needed, and makes this process its owner: a second Open of the same directory
// fails with ErrLocked and names the holder until Close. It refuses a SQLite
// that may lose writes, a database from a newer arena (ErrNewerSchema), an
// edited migration, and a connection whose settings did not take.
func Open(ctx context.Context, o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := prepareDir(o); err != nil {
		return nil, advise(o.Dir, fmt.Errorf("prepare the data directory %s: %w", o.Dir, err))
	}
	lock, err := takeLock(o.Dir, o.Now())
	if err != nil {
		return nil, advise(o.Dir, err)
	}
	s := newStore(o, lock)
	err = prepareDatabase(o.Dir)
	if err == nil {
		err = s.open(ctx, o)
	}
	if err != nil {
		return nil, errors.Join(advise(o.Dir, err), s.Close())
	}
	return s, nil
}

// advise adds what to do to why a data directory cannot be opened, where the
// system and SQLite only say what is wrong.
func advise(dir string, err error) error {
	primary := code(err) & 0xff
	switch {
	case errors.Is(err, fs.ErrPermission), primary == lib.SQLITE_READONLY, primary == lib.SQLITE_CANTOPEN:
		return fmt.Errorf("%w; give %s and all that is in it to the account that the arena runs under, with permission to write", err, dir)
	case primary == lib.SQLITE_NOTADB, primary == lib.SQLITE_CORRUPT:
		return fmt.Errorf("%w; %s is damaged: arena restore puts a backup in its place and keeps it", err, filepath.Join(dir, DatabaseName))
	default:
		return err
	}
}

// newStore is a store with nothing open but the lock; nil when it works beside
// the owner.
func newStore(o Options, lock *os.File) *Store {
	return &Store{
		dir: o.Dir, now: o.Now, log: o.Logger, floor: o.DiskFloor, freeSpace: o.FreeSpace, lock: lock,
		state: stateReader{turn: make(chan struct{}, 1)},
	}
}

func (o Options) withDefaults() (Options, error) {
	if o.Dir == "" || o.Now == nil {
		return o, errors.New("open the store: Options.Dir and Options.Now are required")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return o, fmt.Errorf("open the store: %w", err)
	}
	o.Dir = dir
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Readers <= 0 {
		o.Readers = DefaultReaders
	}
	if o.DiskFloor == 0 {
		o.DiskFloor = DefaultDiskFloor
	}
	if o.FreeSpace == nil {
		o.FreeSpace = func(dir string) (int64, error) {
			free, _, err := disk(dir)
			return free, err
		}
	}
	return o, nil
}

// prepareDir makes the directory. One that is already there is closed to others
// only when nothing but the arena lives in it.
func prepareDir(o Options) error {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return err
	}
	if _, network, err := disk(o.Dir); err != nil {
		return err
	} else if network != "" && !o.AllowNetworkDisk {
		return fmt.Errorf("it is on %s, whose locks can lose writes; use a local disk", network)
	}
	entries, err := os.ReadDir(o.Dir)
	if err != nil {
		return err
	}
	_, err = os.Stat(filepath.Join(o.Dir, DatabaseName))
	switch {
	case len(entries) == 0, err == nil:
		return os.Chmod(o.Dir, 0o700)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		return err
	}
}

// prepareDatabase makes an empty database file that others cannot read, unless
// there is one. It must not even open one that is there: when a process closes
// any descriptor of a file, the system drops the locks that SQLite holds on it.
func prepareDatabase(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, DatabaseName), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("make the database: %w", err)
	}
	return f.Close()
}

// codecs starts the compressor and the decompressor.
func (s *Store) codecs(o Options) error {
	var err error
	if s.pack, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1)); err != nil {
		return fmt.Errorf("start the compressor: %w", err)
	}
	if s.unpack, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(o.Readers), zstd.WithDecoderMaxMemory(maxChunk)); err != nil {
		return fmt.Errorf("start the decompressor: %w", err)
	}
	return nil
}

func (s *Store) open(ctx context.Context, o Options) error {
	if err := s.codecs(o); err != nil {
		return err
	}
	var err error
	path := filepath.Join(s.dir, DatabaseName)
	writer := roleWriter
	if o.Scratch {
		writer = roleScratch
	}
	if s.writer, err = openHandle(path, writer, 1); err != nil {
		return err
	}
	if err := checkVersion(ctx, s.writer); err != nil {
		return err
	}
	all, err := migrations.All()
	if err != nil {
		return err
	}
	if err := s.migrate(ctx, all); err != nil {
		return err
	}
	if s.reader, err = openHandle(path, roleReader, o.Readers+1); err != nil { // and the one of State
		return err
	}
	if err := s.reader.PingContext(ctx); err != nil {
		return fmt.Errorf("open %s for reading: %w", path, err)
	}
	return s.sweep(ctx)
}

// Dir is the data directory.
func (s *Store) Dir() string { return s.dir }

// Close writes the log of SQLite back into the database, closes it and gives
// the data directory back. A change that is under way finishes first; later
// calls fail. Closing twice is harmless.
func (s *Store) Close() error {
	s.close.Do(func() { s.closeErr = s.shut() })
	return s.closeErr
}

// shut closes readers first: a checkpoint can only empty the write-ahead log
// when nobody reads from it.
func (s *Store) shut() error {
	var errs []error
	errs = append(errs, s.state.close())
	if s.reader != nil {
		errs = append(errs, s.reader.Close())
	}
	if s.writer != nil {
		if s.lock != nil && s.schema > 0 { // only an owner that got this far may expect nobody to read
			if _, err := s.writer.Exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
				errs = append(errs, fmt.Errorf("checkpoint the database: %w", err))
			}
		}
		errs = append(errs, s.writer.Close())
	}
	if s.unpack != nil {
		s.unpack.Close()
	}
	if s.lock != nil {
		errs = append(errs, giveBack(s.lock))
	}
	return errors.Join(errs...)
}

// Ready returns nil when the store can take changes: the database is open and
// has the schema that this program knows, the disk is above its floor, and the
// writing connection can begin.
func (s *Store) Ready(ctx context.Context) error {
	if err := s.room(); err != nil {
		return err
	}
	return s.update(ctx, "check readiness", func(t *tx) error {
		var have int
		if err := t.QueryRowContext(ctx, "SELECT max(number) FROM migrations").Scan(&have); err != nil {
			return err
		}
		if have != s.schema {
			return fmt.Errorf("the database is at schema %d instead of %d; another program migrated it: restart the arena", have, s.schema)
		}
		return nil
	})
}

// NetworkDisk is the name of the network file system that a directory is on;
// empty when it is local, or when this system cannot tell.
func NetworkDisk(dir string) (string, error) {
	_, network, err := disk(dir)
	return network, err
}
