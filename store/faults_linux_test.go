package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	lib "modernc.org/sqlite/lib"

	"github.com/posttrainarena/arena/gates/report"
	"github.com/posttrainarena/arena/protocol"
)

// work is what an arena does to its store in the tests of faults: a sequence of
// facts, each of which is remembered when it was acknowledged.
type work struct {
	t       *testing.T
	s       *Store
	now     time.Time
	acked   map[string]func(*Store) error // what must be found again
	backups int
	failed  map[string]error
	live    string // the run that has not ended
}

func (w *work) clock() time.Time { return w.now }

// step does one thing. What succeeds must be there for ever.
func (w *work) step(name string, do func() error, found func(*Store) error) {
	w.now = w.now.Add(time.Second)
	if err := do(); err != nil {
		w.failed[name] = err
		return
	}
	w.acked[name] = found
}

// play does a bit of everything, once for each number.
func (w *work) play(n int) {
	ctx := context.Background()
	s := w.s
	ada := protocol.Actor{Name: "ada", RequestID: fmt.Sprintf("http-%d", n)}
	agent := fmt.Sprintf("agent-%d", n)
	w.step(agent, func() error {
		_, _, err := s.RegisterAgent(ctx, ada, protocol.Agent{ID: agent, Owner: "ada"})
		return err
	}, func(s *Store) error { _, err := s.Agent(ctx, agent); return err })
	body := strings.Repeat(fmt.Sprintf("Line %d of a long message. ", n), 300)
	var message protocol.Message
	w.step(fmt.Sprintf("message-%d", n), func() (err error) {
		message, _, err = s.PostMessage(ctx, ada, protocol.Message{RequestID: fmt.Sprintf("message-%04d", n), Author: "ada", Body: body})
		return err
	}, func(s *Store) error {
		m, err := s.Message(ctx, message.Filename)
		if err == nil && m.Body != body {
			err = errors.New("its body is another")
		}
		return err
	})
	content := strings.Repeat(fmt.Sprintf("%d uploaded ", n), 20_000)
	tree := fmt.Sprintf("%040x", n+1)
	w.step("bundle "+tree, func() error {
		files := []protocol.TreeFile{{Path: "a", Kind: protocol.FileRegular, Size: int64(len(content))}}
		return s.SaveBundle(ctx, tree, files, func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil })
	}, func(s *Store) error {
		fsys, _, err := s.Bundle(ctx, tree)
		if err != nil {
			return err
		}
		f, err := fsys.Open("a")
		if err != nil {
			return err
		}
		defer f.Close()
		got, err := io.ReadAll(f)
		if err == nil && string(got) != content {
			err = errors.New("its content is another")
		}
		return err
	})
	w.run(n)
	w.backups++
	file := filepath.Join(w.t.TempDir(), fmt.Sprintf("copy-%d.db", w.backups))
	if _, err := s.Backup(ctx, file); err != nil {
		if _, err := os.Stat(file); err == nil {
			w.t.Errorf("a backup that failed has its name: %s", file)
		}
		return
	}
	if err := w.restored(file); err != nil {
		w.t.Errorf("a backup that was acknowledged: %v", err)
	}
}

// run launches a run, follows it and settles it.
func (w *work) run(n int) {
	ctx := context.Background()
	s := w.s
	w.end()
	by := protocol.Actor{Name: "ada", RequestID: fmt.Sprintf("http-run-%d", n)}
	var col protocol.Collection
	w.step(fmt.Sprintf("collection-%d", n), func() (err error) {
		col, _, err = s.Submit(ctx, by, protocol.Collection{
			Author: "ada", Track: "skillsbench", TaskCount: 2, Static: report.Report{Summary: report.Summary{Tasks: 2, Eligible: 2}},
			Source: protocol.Source{RepoType: protocol.RepoGitHub, RepoID: "ada/tasks", Revision: fmt.Sprintf("%040x", n)},
		})
		return err
	}, func(s *Store) error { _, err := s.Collection(ctx, col.ID); return err })
	if w.acked[fmt.Sprintf("collection-%d", n)] == nil {
		return
	}
	var run protocol.Run
	w.step(fmt.Sprintf("run-%d", n), func() (err error) {
		run, _, err = s.Reserve(ctx, by, protocol.Reservation{
			RequestID: fmt.Sprintf("request-%04d", n), Who: protocol.Identity{Name: "ada"}, Collection: col.ID, Provider: "simulated", Price: protocol.Dollar, Cap: 1000 * protocol.Dollar,
			Challenge: protocol.Challenge{
				ID: "tb2-9b", Status: protocol.StatusOpen, Track: "skillsbench", Suites: []protocol.Suite{{ID: "tb2", TaskCount: 32}},
				Compute: protocol.Compute{Provider: "simulated", Flavor: "a100x8", TimeoutSeconds: 3600, ConcurrentRuns: 1, RunsPerDay: 1000},
			},
		})
		return err
	}, func(s *Store) error { _, err := s.Run(ctx, run.ID); return err })
	if w.acked[fmt.Sprintf("run-%d", n)] == nil {
		return
	}
	w.live = run.ID
	job := protocol.Job{ID: fmt.Sprintf("job-%d", n), Status: "RUNNING", StartedAt: w.now}
	w.step(fmt.Sprintf("job-%d", n), func() error { _, err := s.JobStarted(ctx, by, run.ID, job); return err }, func(s *Store) error {
		r, err := s.Run(ctx, run.ID)
		if err == nil && r.JobID != job.ID {
			err = fmt.Errorf("it has the job %q", r.JobID)
		}
		return err
	})
	var lines []protocol.LogLine
	for i := range 40 {
		lines = append(lines, protocol.LogLine{At: w.now, Text: strings.Repeat(fmt.Sprintf("%d ", i), 40)})
	}
	w.step(fmt.Sprintf("log-%d", n), func() error {
		_, err := s.AppendLog(ctx, run.ID, protocol.LogBatch{Lines: lines, Position: 40})
		return err
	}, func(s *Store) error {
		got, err := s.Log(ctx, run.ID, 0, 100)
		if err == nil && len(got) != 40 {
			err = fmt.Errorf("%d lines", len(got))
		}
		return err
	})
	w.end()
}

// end ends the run that is live. Until it does nothing else can be launched, so
// an end that failed is tried again, as the arena's watcher does.
func (w *work) end() {
	by := protocol.Actor{Name: protocol.ActorArena}
	if w.live == "" {
		return
	}
	if _, err := w.s.Finish(context.Background(), by, w.live, protocol.Ending{Move: protocol.MoveFailed, Reason: "enough", Billed: protocol.Dollar / 2, EndedAt: w.now}); err == nil {
		w.live = ""
	}
}

// sound requires that a store has everything that was acknowledged and fits
// together.
func (w *work) sound(s *Store) error {
	ctx := context.Background()
	var errs []error
	for name, found := range w.acked {
		if err := found(s); err != nil {
			errs = append(errs, fmt.Errorf("%s was acknowledged: %w", name, err))
		}
	}
	e, err := s.Examine(ctx)
	if e.Ledger != e.Recount || len(e.LogGaps)+len(e.BrokenTrees)+len(e.BadBlobs)+len(e.BadBills) > 0 || e.AuditHole || e.EventHole {
		errs = append(errs, fmt.Errorf("it does not fit together: %+v", e))
	}
	return errors.Join(append(errs, err, s.Integrity(ctx), s.VerifyAudit(ctx))...)
}

func (w *work) restored(file string) (err error) {
	dir := filepath.Join(w.t.TempDir(), "restored")
	if _, err := Restore(context.Background(), Options{Dir: dir, Now: w.clock}, file); err != nil {
		return err
	}
	s, err := Open(context.Background(), Options{Dir: dir, Now: w.clock})
	if err != nil {
		return err
	}
	return errors.Join(w.sound(s), s.Close())
}

// TestADiskThatFails has a row for each way in which a disk fails, at many
// moments: one write or all of them, of the database or of its log, refused,
// torn, or not flushed. Whatever was acknowledged survives, a backup that was
// acknowledged is sound, and the store works again when the disk does.
func TestADiskThatFails(t *testing.T) {
	d := failingDisk(t)
	moments := []int{0, 2, 8, 34}
	if testing.Short() {
		moments = []int{8}
	}
	struck := 0
	for _, c := range []struct {
		about string
		f     fault
	}{
		{"the disk is full", fault{op: "write", code: lib.SQLITE_FULL}},
		{"one write finds it full", fault{op: "write", code: lib.SQLITE_FULL, once: true}},
		{"EIO on a write", fault{op: "write", code: lib.SQLITE_IOERR_WRITE, once: true}},
		{"EIO on every write of the log", fault{op: "write", code: lib.SQLITE_IOERR_WRITE, file: "-wal"}},
		{"a short write", fault{op: "short", code: lib.SQLITE_IOERR_WRITE, once: true}},
		{"short writes on a full disk", fault{op: "short", code: lib.SQLITE_FULL}},
		{"fsync fails once", fault{op: "sync", code: lib.SQLITE_IOERR_FSYNC, once: true}},
		{"fsync fails", fault{op: "sync", code: lib.SQLITE_IOERR_FSYNC}},
		{"EIO on a read", fault{op: "read", code: lib.SQLITE_IOERR_READ, once: true}},
	} {
		for _, after := range moments {
			t.Run(fmt.Sprintf("%s after %d", c.about, after), func(t *testing.T) {
				w := &work{t: t, now: noon(), acked: map[string]func(*Store) error{}, failed: map[string]error{}}
				w.s = openTest(t, func(o *Options) { o.Now = w.clock })
				w.play(0)
				if len(w.failed) > 0 {
					t.Fatalf("on a sound disk: %v", w.failed)
				}
				f := c.f
				f.after = after
				d.set(w.s.Dir(), &f)
				w.play(1)
				w.play(2)
				hits := d.set("", nil)
				struck += min(hits, 1)
				for name, err := range w.failed {
					if hits == 0 {
						t.Errorf("%s fails although the disk did not: %v", name, err)
					}
					if f.code == lib.SQLITE_FULL && !errors.Is(err, protocol.ErrDiskFull) && !errors.Is(err, protocol.ErrJobActive) {
						t.Errorf("%s on a full disk: %v", name, err)
					}
				}
				if err := w.sound(w.s); err != nil {
					t.Errorf("the store that is open: %v", err)
				}
				killed := filepath.Join(t.TempDir(), "killed")
				copyDir(t, w.s.Dir(), killed)
				s, err := Open(context.Background(), Options{Dir: killed, Now: w.clock})
				if err == nil {
					err = errors.Join(w.sound(s), s.Close())
				}
				if err != nil {
					t.Errorf("what a killed process leaves: %v", err)
				}
				w.failed = map[string]error{}
				w.play(3)
				if len(w.failed) > 0 {
					t.Errorf("the disk is sound again: %v", w.failed)
				}
				if err := w.sound(w.s); err != nil {
					t.Errorf("afterwards: %v", err)
				}
			})
		}
	}
	if struck < 2*len(moments) {
		t.Errorf("only %d faults struck", struck)
	}
	t.Logf("%d faults struck", struck)
}

// TestACommitThatFails fails every change that shared it: none is on the disk, and
// nobody was told that theirs is. The next group is none the worse.
func TestACommitThatFails(t *testing.T) {
	d := failingDisk(t)
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		defer c.s.Close()
		hold := make(chan struct{})
		c.enter(t.Context(), "first", func(*tx) error { <-hold; return nil })
		c.enter(t.Context(), "refused", func(*tx) error { return protocol.ErrForbidden })
		c.enter(t.Context(), "second", done)
		d.set(c.s.Dir(), &fault{op: "write", code: lib.SQLITE_FULL, file: "-wal"})
		close(hold)
		synctest.Wait()
		if d.set("", nil) == 0 {
			t.Fatal("the fault did not strike")
		}
		for name, want := range map[string]error{"first": protocol.ErrDiskFull, "refused": protocol.ErrForbidden, "second": protocol.ErrDiskFull} {
			if !errors.Is(c.got[name], want) {
				t.Errorf("%s: %v, want %v", name, c.got[name], want)
			}
		}
		c.enter(t.Context(), "third", done)
		if got := c.agents(); c.got["third"] != nil || len(got) != 1 || got[0] != "third" {
			t.Errorf("on the disk: %q; third: %v", got, c.got["third"])
		}
	})
}

// copyDir copies what a killed process leaves: without the file that every open
// rebuilds.
func copyDir(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(to, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{DatabaseName, DatabaseName + "-wal"} {
		if err := copyFile(filepath.Join(from, name), filepath.Join(to, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

// TestAClockThatJumps works while the clock goes back a day, forward a year and
// back again. Nothing is lost, the trail and the events keep their order, and a
// backup of each moment is sound.
func TestAClockThatJumps(t *testing.T) {
	w := &work{t: t, now: noon(), acked: map[string]func(*Store) error{}, failed: map[string]error{}}
	w.s = openTest(t, func(o *Options) { o.Now = w.clock })
	for n, jump := range []time.Duration{0, -24 * time.Hour, 366 * 24 * time.Hour, -366 * 24 * time.Hour, -time.Minute} {
		w.now = w.now.Add(jump)
		w.play(n)
	}
	if len(w.failed) > 0 {
		t.Errorf("refused: %v", w.failed)
	}
	if err := w.sound(w.s); err != nil {
		t.Error(err)
	}
	e, err := w.s.Examine(context.Background())
	if err != nil || !e.Newest.After(w.now) {
		t.Errorf("the newest record is from %s, the clock says %s; the doctor would not notice: %v", e.Newest, w.now, err)
	}
}

// TestABackupToAFullDisk: the disk that is full is the copy's and not the arena's,
// so nobody is told that the arena takes nothing new.
func TestABackupToAFullDisk(t *testing.T) {
	d := failingDisk(t)
	s := openTest(t)
	dir := t.TempDir()
	d.set(dir, &fault{op: "write", code: lib.SQLITE_FULL})
	_, err := s.Backup(t.Context(), filepath.Join(dir, "copy.db"))
	d.set("", nil)
	if err == nil || errors.Is(err, protocol.ErrDiskFull) || !strings.Contains(err.Error(), "has no room for it") {
		t.Errorf("a backup to a full disk: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("it leaves %v, %v", left, err)
	}
}
