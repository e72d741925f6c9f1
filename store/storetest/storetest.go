// Package storetest opens real stores for tests: on a temporary directory, with
// a clock that moves only when it is told to. SQLite is fast enough that nobody
// needs a fake.
package storetest

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posttrainarena/arena/gates/report"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/store"
)

// Clock is a clock that stands still between calls of Advance.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock at 09:00 UTC on 2 March 2026.
func NewClock() *Clock { return &Clock{now: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)} }

// Now returns the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock forward and returns its time.
func (c *Clock) Advance(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return c.now
}

// Open opens a store on an empty directory. The test closes it when it ends.
func Open(t testing.TB) (*store.Store, *Clock) {
	t.Helper()
	clock := NewClock()
	return OpenDir(t, filepath.Join(t.TempDir(), "data"), clock), clock
}

// OpenDir opens a store on a directory. The test closes it when it ends.
func OpenDir(t testing.TB, dir string, clock *Clock) *store.Store {
	t.Helper()
	s, err := store.Open(context.Background(), store.Options{Dir: dir, Now: clock.Now})
	if err != nil {
		t.Fatalf("open the store: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return s
}

// Kill opens a second store on what a killed process would leave behind of the
// first: its files as they are now, without the checkpoint that closing makes.
// Nothing may write to the first meanwhile.
func Kill(t testing.TB, s *store.Store, dir string, clock *Clock) *store.Store {
	t.Helper()
	err := os.CopyFS(dir, leftovers{os.DirFS(s.Dir())})
	if err != nil {
		t.Fatalf("copy the store's files: %v", err)
	}
	return OpenDir(t, dir, clock)
}

// leftovers hides the file that every open rebuilds from the others.
type leftovers struct{ fs.FS }

// ReadDir implements fs.ReadDirFS.
func (l leftovers) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(l.FS, name)
	var kept []fs.DirEntry
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), "-shm") {
			kept = append(kept, e)
		}
	}
	return kept, err
}

// Challenge is an open challenge whose runs reserve $10: an hour at $10 an hour
// on the simulated provider.
func Challenge() protocol.Challenge {
	return protocol.Challenge{
		ID: "tb2-9b", Title: "Terminal tasks, 9B", Status: protocol.StatusOpen, Track: "skillsbench",
		Recipe:  protocol.Recipe{ID: "grpo-lora"},
		Suites:  []protocol.Suite{{ID: "tb2", TaskCount: 32}},
		Compute: protocol.Compute{Provider: "simulated", Flavor: "a100x8", TimeoutSeconds: 3600, ConcurrentRuns: 1, RunsPerDay: 1},
	}
}

// Collection is a valid collection of an author, with 8 tasks of which 7 are
// eligible. Its name tells it apart from the author's others.
func Collection(author, name string) protocol.Collection {
	return protocol.Collection{
		Author: author, Track: "skillsbench", TargetChallenge: "tb2-9b", Title: name, TaskCount: 8,
		Source: protocol.Source{RepoType: protocol.RepoGitHub, RepoID: author + "/" + name, Revision: fmt.Sprintf("%040x", len(name))},
		Static: report.Report{GateSet: "gates-v2", Summary: report.Summary{Tasks: 8, Rejected: 1, Eligible: 7, Clean: 7}},
	}
}

// Submit registers Collection(author, name) and returns its record.
func Submit(t testing.TB, s *store.Store, author, name string) protocol.Collection {
	t.Helper()
	c, _, err := s.Submit(context.Background(), protocol.Actor{Name: author, RequestID: "req-submit-" + name}, Collection(author, name))
	if err != nil {
		t.Fatalf("submit %s: %v", name, err)
	}
	return c
}

// Reservation is a launch of a collection by its author on Challenge, under a
// cap of $1,000.
func Reservation(c protocol.Collection, requestID string) protocol.Reservation {
	return protocol.Reservation{
		RequestID: requestID, Who: protocol.Identity{Name: c.Author}, Collection: c.ID, Challenge: Challenge(),
		Provider: "simulated", Image: "registry.example.org/pipeline:1", Price: 10 * protocol.Dollar, Cap: 1000 * protocol.Dollar,
	}
}
