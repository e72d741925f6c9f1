package store_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/store"
	"github.com/posttrainarena/arena/store/storetest"
)

// TestARehearsalDoesNotSayThatItMigrated: whoever reads its log must not think that
// the database was changed.
func TestARehearsalDoesNotSayThatItMigrated(t *testing.T) {
	names := must(filepath.Glob(filepath.Join(released, "schema-*.db.zst")))(t)
	dir := t.TempDir()
	unpack := must(zstd.NewReader(bytes.NewReader(must(os.ReadFile(names[0]))(t))))(t)
	body := must(io.ReadAll(unpack))(t)
	unpack.Close()
	if err := os.WriteFile(filepath.Join(dir, store.DatabaseName), body, 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	r := must(store.Rehearse(t.Context(), store.Options{Dir: dir, Now: time.Now, Logger: slog.New(slog.NewTextHandler(&log, nil))}))(t)
	if len(r.Pending) == 0 || log.Len() > 0 {
		t.Errorf("%d migrations were rehearsed, and the log says: %s", len(r.Pending), log.String())
	}
}

// released is where a database of each released schema is kept. They are never
// made again: they are what an arena of that day wrote, bugs included, and a
// database that a later program makes would only prove that it agrees with itself.
const released = "testdata/released"

// TestReleaseKeepsADatabase is run once for a release, with ARENA_RELEASE=1: it
// writes a database of the newest schema, with a row in every table, and never
// over one that is there.
func TestReleaseKeepsADatabase(t *testing.T) {
	if os.Getenv("ARENA_RELEASE") == "" {
		t.Skip("only for a release: ARENA_RELEASE=1 keeps a database of this schema")
	}
	schema := must(store.SchemaVersion())(t)
	name := filepath.Join(released, fmt.Sprintf("schema-%04d.db.zst", schema))
	if _, err := os.Stat(name); err == nil {
		t.Fatalf("%s is there, and is never made again", name)
	}
	s := furnished(t)
	file := filepath.Join(t.TempDir(), "arena.db")
	if _, err := s.Backup(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	for table, rows := range dump(t, file) {
		if len(rows) == 0 {
			t.Errorf("the table %s has no row: furnish it", table)
		}
	}
	body := must(os.ReadFile(file))(t)
	pack := must(zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression)))(t)
	if t.Failed() {
		return
	}
	if err := errors.Join(os.MkdirAll(released, 0o755), os.WriteFile(name, pack.EncodeAll(body, nil), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// furnished is a store in which everything has happened that leaves a row.
func furnished(t *testing.T) *store.Store {
	t.Helper()
	ctx := context.Background()
	s, clock, run := scored(t)
	must0 := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	tick := func() { clock.Advance(time.Minute) }
	open := func(path string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(strings.Repeat(path+" ", 1000))), nil
	}
	files := []protocol.TreeFile{{Path: "a.txt", Kind: protocol.FileRegular, Size: 6000}, {Path: "link", Kind: protocol.FileSymlink, Size: 5, Blob: strings.Repeat("1", 40)}}
	must0(s.SaveBundle(ctx, strings.Repeat("0b", 20), files, open))
	agent, _, err := s.RegisterAgent(ctx, ada(), protocol.Agent{ID: "scout", Owner: "ada", Description: "Looks about.", Model: "m", Harness: "h"})
	must0(err)
	for i := range 3 {
		tick()
		_, _, err = s.PostMessage(ctx, ada(), protocol.Message{RequestID: fmt.Sprintf("message-%03d", i), Author: "ada", AgentID: agent.ID, Body: "Grüße, " + strings.Repeat("x", i*500)})
		must0(err)
	}
	for i, name := range []string{"ada", "olga", "eve"} {
		must0(s.CreateToken(ctx, arena(), protocol.Token{ID: "tok-" + name, Name: name, Editor: name == "olga", CreatedAt: clock.Now()}, [32]byte{byte(i + 1)}))
	}
	_, err = s.RevokeToken(ctx, arena(), "eve")
	must0(err)
	must0(s.OpenSession(ctx, ada(), protocol.Session{Who: protocol.Identity{Name: "ada", Orgs: []string{"lab"}}, ExpiresAt: clock.Now().Add(time.Hour)}, [32]byte{9}))
	tick()
	_, _, err = s.SaveResult(ctx, ada(), result(run))
	must0(err)
	_, err = s.Claim(ctx, eve(), run.ID, false)
	must0(err)
	tick()
	_, err = s.Review(ctx, eve(), run.ID, protocol.Review{Accepted: true, Note: note})
	must0(err)
	_, err = s.QueueDeliveries(ctx, "desk", []protocol.EventKind{protocol.EventVerdict}) // from here on
	must0(err)
	rate := 0.5
	_, err = s.AttachVerdict(ctx, eve(), protocol.Verdict{Collection: run.Collection, Challenge: "tb2-9b", Version: 1, PlanDigest: "sha256:01", Tasks: []protocol.TaskVerdict{{Task: "a", Decision: protocol.TaskAccepted, BandPassRate: &rate}}})
	must0(err)
	_, err = s.QueueDeliveries(ctx, "desk", []protocol.EventKind{protocol.EventVerdict})
	must0(err)
	clock.Advance(25 * time.Hour)
	live, _, err := s.Reserve(ctx, ada(), storetest.Reservation(protocol.Collection{ID: run.Collection, Author: run.Author}, "request-live"))
	must0(err)
	must0(s.OpenRelay(ctx, arena(), live.ID, [32]byte{1}, [32]byte{2}))
	_, err = s.JobStarted(ctx, arena(), live.ID, protocol.Job{ID: "job-live", Status: "RUNNING", StartedAt: clock.Now()})
	must0(err)
	_, err = s.AppendLog(ctx, live.ID, protocol.LogBatch{Lines: []protocol.LogLine{{At: clock.Now(), Text: "vllm up"}, {At: clock.Now(), Text: "\x1b[1m\xff odd bytes"}}, Position: 2, Fold: []byte("f"), Stage: protocol.StageSetup, Status: "RUNNING"})
	must0(err)
	must0(s.SaveArtifacts(ctx, live.ID, files[:1], open))
	return s
}

// row is one row of a table, by column, as text that tells types apart.
type row = map[string]string

// dump reads every table of a database file.
func dump(t *testing.T, file string) map[string][]row {
	t.Helper()
	db := must(sql.Open("sqlite", "file:"+file+"?mode=ro"))(t)
	defer db.Close()
	names := query(t, db, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
	tables := map[string][]row{}
	for _, n := range names {
		name := strings.TrimPrefix(n["name"], "string ")
		tables[name] = query(t, db, "SELECT * FROM "+name)
		slices.SortFunc(tables[name], func(a, b row) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	return tables
}

func query(t *testing.T, db *sql.DB, text string) (all []row) {
	t.Helper()
	rows := must(db.Query(text))(t)
	defer rows.Close()
	columns := must(rows.Columns())(t)
	for rows.Next() {
		values := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		r := row{}
		for i, c := range columns {
			r[c] = fmt.Sprintf("%T %v", values[i], values[i])
		}
		all = append(all, r)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestReleasedDatabasesUpgrade opens a database of each released schema with this
// program. Every row of every table is there afterwards, with every column that it
// had; the schema is that of a new database, what the program reads of it is
// whole, and what it was is kept beside it.
func TestReleasedDatabasesUpgrade(t *testing.T) {
	names := must(filepath.Glob(filepath.Join(released, "schema-*.db.zst")))(t)
	if len(names) == 0 {
		t.Fatal("no released database is kept; see TestReleaseKeepsADatabase")
	}
	fresh, _ := storetest.Open(t)
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			file := filepath.Join(dir, store.DatabaseName)
			unpack := must(zstd.NewReader(bytes.NewReader(must(os.ReadFile(name))(t))))(t)
			body := must(io.ReadAll(unpack))(t)
			unpack.Close()
			if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(file, body, 0o600)); err != nil {
				t.Fatal(err)
			}
			before := dump(t, file)
			clock := storetest.NewClock()
			s := storetest.OpenDir(t, dir, clock)
			if err := errors.Join(s.Integrity(t.Context()), s.VerifyAudit(t.Context())); err != nil {
				t.Error(err)
			}
			agreed(t, s)
			if diff := cmp.Diff(schemaText(t, fresh.Dir()), schemaText(t, dir)); diff != "" {
				t.Errorf("the schema differs from a new database's (-new +upgraded):\n%s", diff)
			}
			after := dump(t, file)
			for table, rows := range before {
				if table == "migrations" {
					continue
				}
				kept := after[table]
				for i := range kept { // what a migration added is not compared
					for column := range kept[i] {
						if len(rows) > 0 {
							if _, had := rows[0][column]; !had {
								delete(kept[i], column)
							}
						}
					}
				}
				slices.SortFunc(kept, func(a, b row) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
				if diff := cmp.Diff(rows, kept); diff != "" {
					t.Errorf("rows of %s (-before +after):\n%s", table, diff)
				}
			}
			e := must(s.Examine(t.Context()))(t)
			if e.Ledger != e.Recount || len(e.LogGaps)+len(e.BrokenTrees)+len(e.BadBlobs)+len(e.BadBills) > 0 || e.Ledger.Live == 0 || e.Ledger.Settled == 0 {
				t.Errorf("it does not fit together: %+v", e)
			}
			if n := must(store.SchemaVersion())(t); len(before["migrations"]) < n {
				if _, err := os.Stat(filepath.Join(dir, fmt.Sprintf("arena-before-%04d.db", len(before["migrations"])+1))); errors.Is(err, fs.ErrNotExist) {
					t.Error("no copy from before the migration is kept")
				}
			}
		})
	}
}

// schemaText is the schema of a directory's database, sorted.
func schemaText(t *testing.T, dir string) string {
	t.Helper()
	db := must(sql.Open("sqlite", "file:"+filepath.Join(dir, store.DatabaseName)+"?mode=ro"))(t)
	defer db.Close()
	var lines []string
	for _, r := range query(t, db, "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'") {
		lines = append(lines, r["type"]+" "+r["name"]+" "+r["sql"])
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
