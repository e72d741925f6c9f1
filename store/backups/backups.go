// Package backups makes the backups of a running arena by itself: at intervals,
// keeping the newest few, and restoring each into a scratch directory at once, so
// that a backup that cannot be restored is noticed on the day it was made.
package backups

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/posttrainarena/arena/store"
)

// Keeper makes backups of a store into a directory of its own.
type Keeper struct {
	Store *store.Store
	Dir   string        // made with mode 0700 when missing
	Every time.Duration // between two backups
	Keep  int           // how many stay; at least 1
	Drill bool          // restore each into a scratch directory
	Now   func() time.Time
	Log   *slog.Logger

	mu    sync.Mutex
	state State
}

// State is how backups stand.
type State struct {
	Newest  time.Time // when the newest backup was made; zero when there is none
	Count   int
	Drilled time.Time // when one was last restored for practice; zero when never by this process
	Err     error     // why the last attempt, or its drill, failed
}

// Limits of waiting: how long a new arena works before its first backup, and how
// long a failed one waits before it is tried again.
const (
	firstAfter = time.Hour
	retryAfter = 10 * time.Minute
)

// Files that a keeper made are named prefix, moment, suffix; nothing else in its
// directory is ever removed.
const (
	prefix = "arena-"
	suffix = ".db"
	moment = "20060102T150405Z"
	drills = "drill-"
)

// Found is a backup in a directory, with what its manifest says.
type Found struct {
	Path string
	store.Manifest
}

// List finds the backups of a keeper in a directory, newest first. One whose
// manifest is missing or cannot be read is left out: it is not a backup yet. A
// directory that is not there has none.
func List(dir string) ([]Found, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list backups: %w", err)
	}
	var all []Found
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !named(e.Name()) {
			continue
		}
		if m, err := store.ReadManifest(path); err == nil {
			all = append(all, Found{path, m})
		}
	}
	slices.SortFunc(all, func(a, b Found) int { return cmp.Or(b.Made.Compare(a.Made), strings.Compare(b.Path, a.Path)) })
	return all, nil
}

// named reports whether a file has the name of a keeper's backup.
func named(file string) bool {
	text, ok := strings.CutPrefix(file, prefix)
	text, end := strings.CutSuffix(text, suffix)
	_, err := time.Parse(moment, text)
	return ok && end && err == nil
}

// Run makes backups until ctx ends. It never fails: what went wrong is in State
// and in the log, and is tried again.
func (k *Keeper) Run(ctx context.Context) {
	started := k.Now()
	for {
		t := time.NewTimer(k.wait(started))
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		}
		if made, err := k.Once(ctx); err == nil {
			k.Log.Info("backed up", "file", made.Path, "bytes", made.Bytes, "sha256", made.SHA256, "audit_seq", made.AuditSeq)
		} else if ctx.Err() == nil {
			k.Log.Error("the scheduled backup failed", "error", err)
		}
	}
}

// wait is how long it is until the next backup is due. A clock that was set back
// does not put it off for longer than between two backups.
func (k *Keeper) wait(started time.Time) time.Duration {
	st := k.State()
	now := k.Now()
	due := started.Add(min(firstAfter, k.Every))
	if !st.Newest.IsZero() {
		due = st.Newest.Add(k.Every)
	}
	if st.Err != nil {
		due = now.Add(min(retryAfter, k.Every))
	}
	return max(0, min(due.Sub(now), k.Every))
}

// State says how backups stand.
func (k *Keeper) State() State {
	k.mu.Lock()
	st := k.state
	k.mu.Unlock()
	all, err := List(k.Dir)
	if st.Count = len(all); len(all) > 0 {
		st.Newest = all[0].Made
	}
	st.Err = errors.Join(st.Err, err)
	return st
}

// Once makes a backup now, drills its restore and removes what is beyond Keep.
func (k *Keeper) Once(ctx context.Context) (made Found, err error) {
	drilled := false
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.state.Err = err; drilled {
			k.state.Drilled = k.Now()
		}
	}()
	if err := os.MkdirAll(k.Dir, 0o700); err != nil {
		return made, fmt.Errorf("make the directory of backups: %w", err)
	}
	made.Path = filepath.Join(k.Dir, prefix+k.Now().UTC().Format(moment)+suffix)
	if _, err := k.Store.Backup(ctx, made.Path); err != nil {
		return made, err
	}
	if made.Manifest, err = store.ReadManifest(made.Path); err != nil {
		return made, err
	}
	if k.Drill {
		if err := Drill(ctx, made.Path, k.Dir, k.Now); err != nil {
			return made, fmt.Errorf("the backup %s cannot be restored: %w", made.Path, err)
		}
		drilled = true
	}
	return made, k.prune()
}

// prune removes what is older than the newest Keep backups. It runs only after a
// backup and its drill went well, so the last good one always stays.
func (k *Keeper) prune() error {
	all, err := List(k.Dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, old := range all[min(max(k.Keep, 1), len(all)):] {
		errs = append(errs, os.Remove(old.Path), os.Remove(store.ManifestName(old.Path)))
	}
	return errors.Join(errs...)
}

// Drill restores a backup into a scratch directory below dir, opens it as an
// arena would, migrations included, and checks its structure, its references, its
// audit trail and that this ends where the manifest says.
func Drill(ctx context.Context, file, dir string, now func() time.Time) (err error) {
	scratch, err := os.MkdirTemp(dir, drills)
	if err != nil {
		return fmt.Errorf("make room for a restore drill: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	o := store.Options{Dir: scratch, Now: now, Scratch: true, DiskFloor: -1}
	done, err := store.Restore(ctx, o, file)
	if err != nil {
		return err
	}
	m, err := store.ReadManifest(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && (m.AuditSeq != done.AuditSeq || m.AuditHash != hex.EncodeToString(done.AuditHash[:])) {
		return fmt.Errorf("its audit trail ends at %d, and its manifest says %d or another hash", done.AuditSeq, m.AuditSeq)
	}
	s, err := store.Open(ctx, o)
	if err != nil {
		return err
	}
	return errors.Join(s.Integrity(ctx), s.VerifyAudit(ctx), s.Close())
}

// Unfinished lists what backups and drills left in a directory that were cut off,
// while no keeper works in it.
func Unfinished(dir string) (names []string) {
	for _, pattern := range []string{drills + "*", prefix + "*.partial", prefix + "*.partial-journal"} {
		found, _ := filepath.Glob(filepath.Join(dir, pattern)) // the patterns are good
		names = append(names, found...)
	}
	return names
}

// Sweep removes what is unfinished.
func Sweep(dir string) (err error) {
	for _, name := range Unfinished(dir) {
		err = errors.Join(err, os.RemoveAll(name))
	}
	return err
}
