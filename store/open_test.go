package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol"
)

func TestOpenMakesAPrivateDirectory(t *testing.T) {
	s := openTest(t)
	for name, want := range map[string]os.FileMode{".": 0o700, DatabaseName: 0o600, DatabaseName + "-wal": 0o600, lockName: 0o600} {
		info, err := os.Stat(filepath.Join(s.Dir(), name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", name, got, want)
		}
	}
}

func TestOpenTightensOnlyADirectoryThatIsTheArenas(t *testing.T) {
	for _, c := range []struct {
		about string
		file  string // what is in the directory before
		want  os.FileMode
	}{
		{"empty", "", 0o700},
		{"of the arena", DatabaseName, 0o700},
		{"of somebody else", "thesis.tex", 0o755},
	} {
		t.Run(c.about, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if c.file != "" {
				if err := os.WriteFile(filepath.Join(dir, c.file), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			openTest(t, func(o *Options) { o.Dir = dir })
			info, err := os.Stat(dir)
			if err != nil {
				t.Fatal(err)
			}
			if got := info.Mode().Perm(); got != c.want {
				t.Errorf("mode %o, want %o", got, c.want)
			}
		})
	}
}

func TestOpenUnderstandsAnyPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b%20c?x=1#y;ü")
	openTest(t, func(o *Options) { o.Dir = dir })
	if _, err := os.Stat(filepath.Join(dir, DatabaseName+"-wal")); err != nil {
		t.Errorf("the database is not where it was asked for: %v", err)
	}
}

func TestOpenNeedsDirectoryAndClock(t *testing.T) {
	for _, o := range []Options{{}, {Dir: t.TempDir()}, {Now: noon}} {
		if _, err := Open(context.Background(), o); err == nil {
			t.Errorf("Open(%+v) succeeded", o)
		}
	}
}

func TestASecondOpenFailsAndNamesTheHolder(t *testing.T) {
	s := openTest(t)
	_, err := Open(context.Background(), Options{Dir: s.Dir(), Now: noon})
	if !errors.Is(err, ErrLocked) {
		t.Fatalf("second Open = %v, want ErrLocked", err)
	}
	want := fmt.Sprintf("pid %d, running since 2026-03-02T12:00:00Z", os.Getpid())
	if !strings.Contains(err.Error(), want) {
		t.Errorf("%q does not say %q", err, want)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	openTest(t, func(o *Options) { o.Dir = s.Dir() })
}

func TestCloseEmptiesTheLogAndCanBeRepeated(t *testing.T) {
	s := openTest(t)
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(filepath.Join(s.Dir(), DatabaseName+"-wal")); err == nil && info.Size() > 0 {
		t.Errorf("the write-ahead log still holds %d bytes", info.Size())
	}
	if _, err := s.Sums(context.Background()); err == nil {
		t.Error("a closed store answers")
	}
}

func TestEveryConnectionHasItsSettings(t *testing.T) {
	ctx := context.Background()
	s := openTest(t)
	scratch, err := Open(ctx, Options{Dir: t.TempDir(), Now: noon, Scratch: true})
	if err != nil {
		t.Fatal(err)
	}
	defer scratch.Close()
	for _, c := range []struct {
		about string
		db    *sql.DB
		n     int
		role  role
	}{{"writer", s.writer, 1, roleWriter}, {"writer of a scratch store", scratch.writer, 1, roleScratch}, {"reader", s.reader, DefaultReaders, roleReader}} {
		var held []*sql.Conn // all at once, so that every connection of the pool is asked
		for range c.n {
			conn, err := c.db.Conn(ctx)
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, conn)
			for _, p := range c.role.pragmas() {
				var got string
				if err := conn.QueryRowContext(ctx, "PRAGMA "+p.name).Scan(&got); err != nil || got != p.want {
					t.Errorf("%s: %s = %q, %v; want %s", c.about, p.name, got, err, p.want)
				}
			}
		}
		for _, conn := range held {
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestAConnectionWhoseSettingsDidNotTakeIsRefused(t *testing.T) {
	// The connection is opened as a reader and checked as a writer, whose cache
	// and permission to write differ.
	path := filepath.Join(openTest(t).Dir(), DatabaseName)
	reader, err := openHandle(path, roleReader, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	db := sql.OpenDB(checkedConnector{mustConnector(t, roleReader.dsn(path)), roleWriter})
	defer db.Close()
	if err := db.Ping(); err == nil || !strings.Contains(err.Error(), "cache_size") {
		t.Errorf("Ping = %v, want a complaint about cache_size", err)
	}
	if err := reader.Ping(); err != nil {
		t.Errorf("a reader checked as a reader: %v", err)
	}
}

func TestReadersCannotWrite(t *testing.T) {
	s := openTest(t)
	_, err := s.reader.Exec("INSERT INTO requests VALUES ('launch', 'request-1', 'a', zeroblob(32), 'x', 0)")
	if err == nil {
		t.Error("a reader wrote")
	}
}

func TestSQLiteIsNewEnough(t *testing.T) {
	if !atLeast(SQLiteVersion(), oldestSQLite) {
		t.Errorf("built with SQLite %s, want %s or newer", SQLiteVersion(), oldestSQLite)
	}
	var running string
	if err := openTest(t).reader.QueryRow("SELECT sqlite_version()").Scan(&running); err != nil || running != SQLiteVersion() {
		t.Errorf("running SQLite %s (%v), but SQLiteVersion says %s", running, err, SQLiteVersion())
	}
	for _, c := range []struct {
		have, want string
		ok         bool
	}{
		{"3.51.3", "3.51.3", true},
		{"3.54.1", "3.51.3", true},
		{"4.0", "3.51.3", true},
		{"3.51.2", "3.51.3", false},
		{"3.9.9", "3.51.3", false},
		{"3.51", "3.51.3", false},
		{"", "3.51.3", false},
	} {
		if got := atLeast(c.have, c.want); got != c.ok {
			t.Errorf("atLeast(%q, %q) = %t", c.have, c.want, got)
		}
	}
}

func TestALongTransactionIsLoggedWithItsOwner(t *testing.T) {
	var logged bytes.Buffer
	now := noon()
	s := openTest(t, func(o *Options) {
		o.Logger = slog.New(slog.NewTextHandler(&logged, nil))
		o.Now = func() time.Time { return now }
	})
	for _, open := range []time.Duration{999 * time.Millisecond, 1500 * time.Millisecond} {
		err := s.update(context.Background(), fmt.Sprintf("dawdle for %s", open), func(*tx) error {
			now = now.Add(open)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := logged.String(); !strings.Contains(got, `doing="dawdle for 1.5s" seconds=1.5`) || strings.Contains(got, "999ms") {
		t.Errorf("logged %q", got)
	}
}

func TestBelowTheDiskFloorOnlyNewWorkIsRefused(t *testing.T) {
	ctx := context.Background()
	free := DefaultDiskFloor
	s := openTest(t, func(o *Options) { o.FreeSpace = func(string) (int64, error) { return free, nil } })
	post := func(id string) (bool, error) {
		_, existing, err := s.PostMessage(ctx, protocol.Actor{Name: "ada"}, protocol.Message{RequestID: id, Author: "ada", Body: "hello"})
		return existing, err
	}
	if _, err := post("message-1"); err != nil {
		t.Fatal(err)
	}
	free--
	if _, err := post("message-2"); !errors.Is(err, protocol.ErrDiskFull) {
		t.Errorf("a new message: %v, want ErrDiskFull", err)
	}
	if existing, err := post("message-1"); err != nil || !existing {
		t.Errorf("a repeated message: existing %t, %v", existing, err)
	}
	if err := s.Ready(ctx); !errors.Is(err, protocol.ErrDiskFull) {
		t.Errorf("Ready = %v, want ErrDiskFull", err)
	}
	if _, _, err := s.Messages(ctx, protocol.Page{}); err != nil {
		t.Errorf("reading: %v", err)
	}
	free = DefaultDiskFloor
	if err := s.Ready(ctx); err != nil {
		t.Errorf("Ready = %v", err)
	}
}

func TestAFullDiskIsTheProtocolsErrorAndLosesNothing(t *testing.T) {
	ctx := context.Background()
	s := openTest(t)
	post := func(id string, size int) error {
		_, _, err := s.PostMessage(ctx, protocol.Actor{Name: "ada"}, protocol.Message{RequestID: id, Author: "ada", Body: strings.Repeat("x", size)})
		return err
	}
	if err := post("message-1", 100); err != nil {
		t.Fatal(err)
	}
	// SQLite says the same when a database may not grow as when a disk is full.
	if _, err := s.writer.Exec("PRAGMA max_page_count = 1"); err != nil {
		t.Fatal(err)
	}
	if err := post("message-2", 500_000); !errors.Is(err, protocol.ErrDiskFull) {
		t.Errorf("post = %v, want ErrDiskFull", err)
	}
	if _, err := s.writer.Exec("PRAGMA max_page_count = 1000000"); err != nil {
		t.Fatal(err)
	}
	if err := post("message-2", 500_000); err != nil {
		t.Errorf("the same post with room: %v", err)
	}
	if err := s.Integrity(ctx); err != nil {
		t.Error(err)
	}
}

func TestAFailedTransactionLeavesNothing(t *testing.T) {
	ctx := context.Background()
	s := openTest(t)
	boom := errors.New("boom")
	err := s.update(ctx, "try something", func(t *tx) error {
		return errors.Join(t.emit(ctx, protocol.Event{Kind: protocol.EventMessage}), boom)
	})
	if !errors.Is(err, boom) || !strings.HasPrefix(err.Error(), "try something: ") {
		t.Errorf("update = %v, want boom with what was being done", err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = s.update(ctx, "panic", func(t *tx) error {
			if err := t.emit(ctx, protocol.Event{Kind: protocol.EventMessage}); err != nil {
				return err
			}
			panic("in a transaction")
		})
	}()
	if n, err := s.LastEvent(ctx); n != 0 || err != nil {
		t.Errorf("LastEvent = %d, %v; want nothing", n, err)
	}
}
