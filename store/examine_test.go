package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/posttrainarena/arena/protocol"
)

// TestExamine plants one fault after the other in a sound database, as somebody
// with a SQL shell could, and expects exactly that one to be named.
func TestExamine(t *testing.T) {
	ctx := context.Background()
	s := openTest(t)
	files := []protocol.TreeFile{{Path: "a", Kind: protocol.FileRegular, Size: 5}}
	if err := s.SaveBundle(ctx, strings.Repeat("0a", 20), files, func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("hello")), nil
	}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.RegisterAgent(ctx, protocol.Actor{Name: "ada"}, protocol.Agent{ID: "one", Owner: "ada"}); err != nil {
		t.Fatal(err)
	}
	exec := func(query string) {
		t.Helper()
		if _, err := s.writer.Exec(query); err != nil {
			t.Fatal(err)
		}
	}
	exec(`INSERT INTO collections (id, author, track, challenge, repo_type, repo_id, revision, entry_path, title, notes, team, tasks, warnings, static, created)
  VALUES ('env-1', 'ada', 't', 'c', 'bundle', 'x', 'r', '', '', '', '', 1, '[]', '{}', 0)`)
	exec(`INSERT INTO runs (id, request_id, challenge, collection, revision, author, launched_by, state, stage, reason, fault, since, provider, flavor, price, timeout, recipe, train_tasks, excluded_tasks, eval_tasks, reserved, settled, created, ended, settled_at, log_lines, progress)
  VALUES ('run-1', 'req-1', 'c', 'env-1', 'r', 'ada', 'ada', 'scored', '', '', '', 0, 'simulated', 'f', 1, 1, '', 1, 0, 1, 9, 7, 0, 1, 1, 3, '{}')`)
	exec(`INSERT INTO jobs (run, provider, id, status, url, started, ended, billed) VALUES ('run-1', 'simulated', 'j', 'COMPLETED', '', 0, 1, 7)`)
	exec(`INSERT INTO log_chunks (run, first_line, first_byte, lines, bytes, body) VALUES ('run-1', 1, 0, 2, 10, x''), ('run-1', 3, 10, 1, 4, x'')`)

	e, err := s.Examine(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if e.Ledger != e.Recount || e.Ledger.Settled != 7 || len(e.BadBills)+len(e.OpenBills)+len(e.LogGaps)+len(e.BrokenTrees)+len(e.BadBlobs)+e.LooseBlobs != 0 ||
		e.AuditHole || e.EventHole || e.SampledBlobs != 1 || e.JournalMode != "wal" || e.Uncollected != 1 || e.Pages == 0 || e.Schema == 0 {
		t.Fatalf("a sound database: %+v", e)
	}
	for _, fault := range []struct {
		about, harm, mend string
		found             func(Examination) bool
	}{
		{"a bill that differs", "DROP TRIGGER jobs_billed; UPDATE jobs SET billed = 8", "UPDATE jobs SET billed = 7", func(e Examination) bool { return slices.Equal(e.BadBills, []string{"run-1"}) }},
		{"a job without an end", "UPDATE jobs SET ended = NULL, billed = NULL", "UPDATE jobs SET ended = 1, billed = 7", func(e Examination) bool { return slices.Equal(e.OpenBills, []string{"run-1"}) }},
		{"a hole in a log", "UPDATE log_chunks SET first_line = 4 WHERE first_line = 3", "UPDATE log_chunks SET first_line = 3 WHERE first_line = 4", func(e Examination) bool { return slices.Equal(e.LogGaps, []string{"run-1"}) }},
		{"a log that is too short", "UPDATE runs SET log_lines = 4", "UPDATE runs SET log_lines = 3", func(e Examination) bool { return slices.Equal(e.LogGaps, []string{"run-1"}) }},
		{"a body that is not its hash's", "UPDATE blobs SET sha256 = zeroblob(32)", "", func(e Examination) bool { return len(e.BadBlobs) == 1 }},
		{"a tree that is incomplete", "UPDATE trees SET files = 2", "UPDATE trees SET files = 1", func(e Examination) bool { return len(e.BrokenTrees) == 1 }},
		{"a loose body", "INSERT INTO blobs (sha256, size) VALUES (NULL, 1)", "DELETE FROM blobs WHERE sha256 IS NULL", func(e Examination) bool { return e.LooseBlobs == 1 }},
		{"an audit row that is gone", "DROP TRIGGER audit_stay; INSERT INTO audit (seq, at, actor, action, object, request_id, state_before, state_after, hash) VALUES (9, 0, 'a', 'b', 'c', '', '', '', zeroblob(32))", "", func(e Examination) bool { return e.AuditHole }},
	} {
		exec(fault.harm)
		if e, err := s.Examine(ctx); err != nil || !fault.found(e) {
			t.Errorf("%s: %+v, %v", fault.about, e, err)
		}
		if fault.mend != "" {
			exec(fault.mend)
		}
	}
}

// TestLookingChangesNothing: a stopped arena's directory is looked at, backed up
// and rehearsed without a new file or another schema in it.
func TestLookingChangesNothing(t *testing.T) {
	ctx := context.Background()
	o := Options{Dir: filepath.Join(t.TempDir(), "data"), Now: noon}
	if _, err := OpenReading(ctx, Options{Dir: t.TempDir(), Now: noon}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty directory: %v", err)
	}
	last := len(plus(t))
	makeOld(t, o, last-1)
	before := names(t, o.Dir)
	if _, err := OpenReading(ctx, o); err == nil || !strings.Contains(err.Error(), "arena migrate") {
		t.Errorf("an older schema: %v", err)
	}
	r, err := Rehearse(ctx, o)
	if err != nil || r.From != last-1 || r.To != last || len(r.Pending) != 1 {
		t.Errorf("rehearsal: %+v, %v", r, err)
	}
	if after := names(t, o.Dir); !slices.Equal(before, after) {
		t.Errorf("the directory had %q and has %q", before, after)
	}
	again := openTest(t, func(c *Options) { c.Dir = o.Dir })
	if r, err := Rehearse(ctx, o); err != nil || len(r.Pending) != 0 {
		t.Errorf("beside the owner, after the migration: %+v, %v", r, err)
	}
	look, err := OpenReading(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	defer look.Close()
	file := filepath.Join(t.TempDir(), "copy")
	made, err := look.Backup(ctx, file)
	if err != nil || made.Schema != last {
		t.Errorf("a backup beside the owner: %+v, %v", made, err)
	}
	if err := again.Ready(ctx); err != nil {
		t.Error(err)
	}
}

// makeOld leaves a directory as an arena with only the first n migrations leaves
// it.
func makeOld(t *testing.T, o Options, n int) {
	t.Helper()
	o, err := o.withDefaults()
	if err == nil {
		err = prepareDir(o)
	}
	if err != nil {
		t.Fatal(err)
	}
	lock, err := takeLock(o.Dir, o.Now())
	if err != nil {
		t.Fatal(err)
	}
	old := newStore(o, lock)
	if err := prepareDatabase(o.Dir); err != nil {
		t.Fatal(err)
	}
	if old.writer, err = openHandle(filepath.Join(o.Dir, DatabaseName), roleWriter, 1); err == nil {
		err = old.migrate(context.Background(), plus(t)[:n])
	}
	if err := errors.Join(err, old.Close()); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}
