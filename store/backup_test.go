package store_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/store"
	"github.com/posttrainarena/arena/store/storetest"
)

func TestBackupWhileTheArenaWorks(t *testing.T) {
	ctx := context.Background()
	s, clock := storetest.Open(t)
	before := storetest.Submit(t, s, "ada", "tools")
	var wg sync.WaitGroup
	wg.Go(func() { // a writer that never rests
		for i := range 50 {
			if _, _, err := s.PostMessage(ctx, ada(), protocol.Message{RequestID: fmt.Sprintf("message-%03d", i), Author: "ada", Body: "x"}); err != nil {
				t.Error(err)
			}
		}
	})
	file := filepath.Join(t.TempDir(), "arena.backup")
	made, err := s.Backup(ctx, file)
	wg.Wait()
	if err != nil {
		t.Fatal(err)
	}
	body, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if made.Path != file || made.Bytes != int64(len(body)) || made.SHA256 != sha256.Sum256(body) || made.Schema < 9 {
		t.Errorf("described as %+v", made)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the backup: %v, %v", info.Mode(), err)
	}
	if rest, err := filepath.Glob(file + "*"); err != nil || len(rest) != 2 || rest[1] != store.ManifestName(file) {
		t.Errorf("left behind: %q, %v", rest, err)
	}
	if _, err := s.Backup(ctx, file); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("over an existing file: %v", err)
	}

	dir := filepath.Join(t.TempDir(), "restored")
	kept, err := store.Restore(ctx, store.Options{Dir: dir, Now: clock.Now}, file)
	if err != nil || kept.Kept != "" {
		t.Fatalf("restore: kept %q, %v", kept.Kept, err)
	}
	restored := storetest.OpenDir(t, dir, clock)
	if _, err := restored.Collection(ctx, before.ID); err != nil {
		t.Error(err)
	}
	if err := errors.Join(restored.Integrity(ctx), restored.VerifyAudit(ctx)); err != nil {
		t.Error(err)
	}
}

func TestRestoreKeepsWhatItReplaces(t *testing.T) {
	ctx := context.Background()
	s, clock := storetest.Open(t)
	old := storetest.Submit(t, s, "ada", "old")
	file := filepath.Join(t.TempDir(), "arena.backup")
	if _, err := s.Backup(ctx, file); err != nil {
		t.Fatal(err)
	}
	late := storetest.Submit(t, s, "ada", "later")
	o := store.Options{Dir: s.Dir(), Now: clock.Now}
	if _, err := store.Restore(ctx, o, file); !errors.Is(err, store.ErrLocked) {
		t.Fatalf("restoring under a running arena: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// Pretend that the old arena was killed: its write-ahead log is still there.
	if err := os.WriteFile(filepath.Join(s.Dir(), store.DatabaseName+"-wal"), []byte("old log"), 0o600); err != nil {
		t.Fatal(err)
	}
	done, err := store.Restore(ctx, o, file)
	if err != nil {
		t.Fatal(err)
	}
	kept := done.Kept
	if log, err := os.ReadFile(kept + "-wal"); err != nil || string(log) != "old log" {
		t.Errorf("the old log is %q, %v", log, err)
	}
	if err := os.Remove(kept + "-wal"); err != nil {
		t.Fatal(err)
	}
	has := func(s *store.Store, id string) bool {
		_, err := s.Collection(ctx, id)
		return err == nil
	}
	restored := storetest.OpenDir(t, s.Dir(), clock)
	if !has(restored, old.ID) || has(restored, late.ID) {
		t.Error("the restored database is not the one of the backup")
	}
	if err := restored.Close(); err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Second)
	if _, err := store.Restore(ctx, o, kept); err != nil {
		t.Fatal(err)
	}
	if !has(storetest.OpenDir(t, s.Dir(), clock), late.ID) {
		t.Error("what was kept is not the database from before")
	}
}

func TestRestoreRefusesWhatIsNoSoundArenaDatabase(t *testing.T) {
	ctx := context.Background()
	s, clock := storetest.Open(t)
	storetest.Submit(t, s, "ada", "tools")
	good := filepath.Join(t.TempDir(), "good")
	if _, err := s.Backup(ctx, good); err != nil {
		t.Fatal(err)
	}
	body, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(body)
	copy(damaged[len(damaged)/2:], bytes.Repeat([]byte{0xa5}, 8192))
	for about, content := range map[string][]byte{"text": []byte("hello, this is no database at all"), "empty": nil, "cut off": body[:len(body)/2], "damaged": damaged} {
		t.Run(about, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "bad")
			if err := os.WriteFile(file, content, 0o600); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(t.TempDir(), "data")
			_, err := store.Restore(ctx, store.Options{Dir: dir, Now: clock.Now}, file)
			if err == nil {
				t.Fatal("restored")
			}
			if _, err := os.Stat(filepath.Join(dir, store.DatabaseName)); err == nil {
				t.Error("and put in place")
			}
		})
	}
}

// TestBackupsToOneName starts several at once. One gets the name, with a manifest
// that is its own, and the others say that it is taken.
func TestBackupsToOneName(t *testing.T) {
	s, clock := storetest.Open(t)
	storetest.Submit(t, s, "ada", "tools")
	file := filepath.Join(t.TempDir(), "copy.db")
	errs := make([]error, 6)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { _, errs[i] = s.Backup(t.Context(), file) })
	}
	wg.Wait()
	made := 0
	for _, err := range errs {
		if err == nil {
			made++
		} else if !strings.Contains(err.Error(), "it exists; choose a new name") {
			t.Errorf("the name is taken: %v", err)
		}
	}
	if rest, err := filepath.Glob(file + "*"); made != 1 || err != nil || len(rest) != 2 {
		t.Errorf("%d were made, and there is %q, %v", made, rest, err)
	}
	if _, err := store.Restore(t.Context(), store.Options{Dir: filepath.Join(t.TempDir(), "data"), Now: clock.Now}, file); err != nil {
		t.Error(err)
	}
}

// TestABackupSaysWhereItCannotGo names the directory that is missing.
func TestABackupSaysWhereItCannotGo(t *testing.T) {
	s, _ := storetest.Open(t)
	dir := filepath.Join(t.TempDir(), "missing")
	if _, err := s.Backup(t.Context(), filepath.Join(dir, "copy.db")); err == nil || !strings.Contains(err.Error(), "there is no directory "+dir+"; make it first") {
		t.Errorf("into a missing directory: %v", err)
	}
}

// TestRestoreRefusesAnotherBuild: what Open would refuse is not put in place.
func TestRestoreRefusesAnotherBuild(t *testing.T) {
	s, clock := storetest.Open(t)
	for change, want := range map[string]string{
		"UPDATE migrations SET sha256 = '00' WHERE number = 3":         "was edited",
		"UPDATE migrations SET name = '0003_other' WHERE number = 3":   "another build",
		"INSERT INTO migrations VALUES (9999, '9999_future', '00', 1)": "run the newer arena",
	} {
		file := filepath.Join(t.TempDir(), "copy.db")
		must(s.Backup(t.Context(), file))(t)
		db := must(sql.Open("sqlite", "file:"+file))(t)
		must(db.Exec(change))(t)
		if err := errors.Join(db.Close(), os.Remove(store.ManifestName(file))); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "data")
		if _, err := store.Restore(t.Context(), store.Options{Dir: dir, Now: clock.Now}, file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", change, err, want)
		}
		if _, err := os.Stat(filepath.Join(dir, store.DatabaseName)); err == nil {
			t.Errorf("%s: it is in place", change)
		}
	}
}

// TestADamagedDatabaseSaysWhatToDo opens what is no database.
func TestADamagedDatabaseSaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, store.DatabaseName), bytes.Repeat([]byte("no database"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := store.Open(t.Context(), store.Options{Dir: dir, Now: time.Now})
	if err == nil || !strings.Contains(err.Error(), "arena restore") || strings.Contains(err.Error(), "checkpoint") {
		t.Errorf("a damaged database: %v", err)
	}
}
