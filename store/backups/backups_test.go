package backups_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posttrainarena/arena/protocol/leaktest"
	"github.com/posttrainarena/arena/store"
	"github.com/posttrainarena/arena/store/backups"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }

func open(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Dir: filepath.Join(t.TempDir(), "data"), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestBackupsComeByThemselves lives through ten days with a backup a day of
// which three stay.
func TestBackupsComeByThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		defer s.Close()
		dir := filepath.Join(s.Dir(), "backups")
		k := &backups.Keeper{Store: s, Dir: dir, Every: 24 * time.Hour, Keep: 3, Drill: true, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { k.Run(ctx); close(done) }()
		started := time.Now()
		time.Sleep(2 * time.Hour)
		if st := k.State(); st.Err != nil || st.Count != 1 || !st.Newest.Equal(started.Add(time.Hour)) || st.Drilled.IsZero() {
			t.Errorf("after two hours: %+v", st)
		}
		theirs := filepath.Join(dir, "arena-before-the-move.db")
		if err := os.WriteFile(theirs, []byte("kept"), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * 24 * time.Hour)
		all, err := backups.List(dir)
		if err != nil || len(all) != 3 || all[0].Made.Sub(all[2].Made) != 48*time.Hour {
			t.Errorf("after ten days: %+v, %v", all, err)
		}
		if _, err := os.Stat(theirs); err != nil {
			t.Errorf("a file of somebody else: %v", err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "drill-*")); len(left) != 0 {
			t.Errorf("drills left %q", left)
		}
		stop()
		<-done
	})
}

// TestABackupThatCannotBeRestoredIsNoticed damages one and drills it.
func TestABackupThatCannotBeRestoredIsNoticed(t *testing.T) {
	s := open(t)
	defer s.Close()
	k := &backups.Keeper{Store: s, Dir: t.TempDir(), Every: time.Hour, Keep: 2, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	made, err := k.Once(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := backups.Drill(t.Context(), made.Path, k.Dir, time.Now); err != nil {
		t.Fatalf("a good one: %v", err)
	}
	body, err := os.ReadFile(made.Path)
	if err != nil {
		t.Fatal(err)
	}
	body[len(body)-1]++ // in a page that no check of the structure would look at
	if err := os.WriteFile(made.Path, body, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := backups.Drill(t.Context(), made.Path, k.Dir, time.Now); err == nil || !strings.Contains(err.Error(), "restore "+made.Path) {
		t.Errorf("a changed byte: %v", err)
	}
}

// TestWhatWasCutOffIsSwept: what a killed backup and a killed drill left goes, and
// what is somebody else's stays.
func TestWhatWasCutOffIsSwept(t *testing.T) {
	dir := t.TempDir()
	kept := []string{"arena-20261130T000000Z.db", "arena-20261130T000000Z.db.manifest.json", "theirs.db.partial"}
	for _, name := range append([]string{"arena-20261130T000000Z.db.123.partial", "arena-20261130T000000Z.db.123.partial-journal", "drill-1"}, kept...) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := backups.Sweep(dir); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if !slices.Equal(left, kept) {
		t.Errorf("left: %q, want %q", left, kept)
	}
}

// TestAFailureIsKeptAndTriedAgain: a directory that cannot be made fails, and
// the next try after it can succeeds.
func TestAFailureIsKeptAndTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		defer s.Close()
		dir := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(dir, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		k := &backups.Keeper{Store: s, Dir: dir, Every: 6 * time.Hour, Keep: 2, Drill: true, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { k.Run(ctx); close(done) }()
		time.Sleep(65 * time.Minute)
		if k.State().Err == nil {
			t.Error("no failure is on record")
		}
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Minute)
		if st := k.State(); st.Err != nil || st.Count != 1 {
			t.Errorf("afterwards: %+v", st)
		}
		stop()
		<-done
	})
}
