package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/gates/report"
	"github.com/posttrainarena/arena/migrations"
	"github.com/posttrainarena/arena/protocol"
)

// plus is the arena's migrations and further ones.
func plus(t *testing.T, sql ...string) []migrations.Migration {
	t.Helper()
	all, err := migrations.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sql {
		n := len(all) + 1
		all = append(all, migrations.Migration{Number: n, Name: fmt.Sprintf("%04d_more", n), SQL: s, Checksum: sha256.Sum256([]byte(s))})
	}
	return all
}

func TestMigratingAnOldDatabaseKeepsItsRowsAndACopy(t *testing.T) {
	ctx := context.Background()
	s := openTest(t)
	if _, err := s.writer.Exec("INSERT INTO agents VALUES ('scout', 'ada', '', '', '', 0)"); err != nil {
		t.Fatal(err)
	}
	next := plus(t, "ALTER TABLE agents ADD COLUMN motto TEXT NOT NULL DEFAULT 'onward'")
	if err := s.migrate(ctx, next); err != nil {
		t.Fatal(err)
	}
	var motto string
	if err := s.writer.QueryRow("SELECT motto FROM agents").Scan(&motto); err != nil || motto != "onward" {
		t.Errorf("motto = %q, %v", motto, err)
	}
	snapshot := filepath.Join(s.Dir(), snapshotName(len(next)))
	if made, err := inspect(ctx, snapshot); err != nil || made.Schema != len(next)-1 {
		t.Errorf("the copy from before: %+v, %v; want schema %d", made, err, len(next)-1)
	}
	if err := s.migrate(ctx, next); err != nil {
		t.Errorf("migrating again: %v", err)
	}
}

func TestAFailingMigrationChangesNothing(t *testing.T) {
	ctx := context.Background()
	s := openTest(t)
	before := schemaOf(t, s)
	err := s.migrate(ctx, plus(t, "CREATE TABLE half (id INTEGER PRIMARY KEY) STRICT; INSERT INTO nowhere VALUES (1)"))
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("apply migration %04d_more", s.schema+1)) {
		t.Fatalf("migrate = %v, want an error that names the migration", err)
	}
	if diff := cmp.Diff(before, schemaOf(t, s)); diff != "" {
		t.Errorf("the schema changed:\n%s", diff)
	}
	if err := s.migrate(ctx, plus(t)); err != nil {
		t.Errorf("going on without it: %v", err)
	}
}

func TestANewerDatabaseIsRefusedWithBothVersions(t *testing.T) {
	ctx := context.Background()
	s := openTest(t)
	if err := s.migrate(ctx, plus(t, "CREATE TABLE later (id INTEGER PRIMARY KEY) STRICT")); err != nil {
		t.Fatal(err)
	}
	if err := s.Ready(ctx); err != nil {
		t.Errorf("Ready after migrating = %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := Open(ctx, Options{Dir: s.Dir(), Now: noon})
	if !errors.Is(err, ErrNewerSchema) {
		t.Fatalf("Open = %v, want ErrNewerSchema", err)
	}
	ours, schemaErr := SchemaVersion()
	if schemaErr != nil {
		t.Fatal(schemaErr)
	}
	for _, want := range []string{
		fmt.Sprintf("%04d (%04d_more)", ours+1, ours+1), fmt.Sprintf("up to %04d", ours), "restore " + filepath.Join(s.Dir(), snapshotName(ours+1)),
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}

func TestAnEditedMigrationIsRefusedByName(t *testing.T) {
	for _, c := range []struct {
		about string
		edit  func(m *migrations.Migration)
		want  string
	}{
		{"edited", func(m *migrations.Migration) { m.Checksum[0]++ }, "0003_board was edited"},
		{"renamed", func(m *migrations.Migration) { m.Name = "0003_forum" }, "calls it 0003_forum"},
	} {
		t.Run(c.about, func(t *testing.T) {
			s := openTest(t)
			all := plus(t)
			c.edit(&all[2])
			if err := s.migrate(context.Background(), all); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("migrate = %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestReadyNoticesAForeignMigration(t *testing.T) {
	s := openTest(t)
	if _, err := s.writer.Exec("INSERT INTO migrations VALUES (?, 'more', '', 0)", s.schema+1); err != nil {
		t.Fatal(err)
	}
	if err := s.Ready(context.Background()); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("schema %d instead of %d", s.schema+1, s.schema)) {
		t.Errorf("Ready = %v", err)
	}
}

// schemaOf is the schema of a database as text, in the order of creation.
func schemaOf(t *testing.T, s *Store) string {
	t.Helper()
	rows, err := s.writer.Query("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid")
	all, err := many(rows, err, func(r scanner) (sql string, err error) { return sql, r.Scan(&sql) })
	if err != nil {
		t.Fatal(err)
	}
	return "-- The schema that the migrations lead to. Generated; see store/migrate_test.go.\n\n" + strings.Join(all, ";\n\n") + ";\n"
}

func TestSchemaPictureIsCurrent(t *testing.T) {
	const path = "../migrations/schema.sql"
	got := schemaOf(t, openTest(t))
	if os.Getenv("ARENA_UPDATE") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("migrations/schema.sql is out of date; run ARENA_UPDATE=1 go test ./store\n%s", diff)
	}
}

// TestOldCollectionsGetTheirBrief: what the migration makes of a record that was
// there before lists needed it is what registering one writes.
func TestOldCollectionsGetTheirBrief(t *testing.T) {
	ctx := context.Background()
	s := openTest(t)
	static := report.Report{
		GateSet: "gates-v2", TaskIdentity: map[string]report.Identity{"a": {ContentHash: "sha256:0"}},
		Findings: []report.Finding{{Code: "no-oracle", Severity: report.Controls, Task: "a"}},
		Problems: []report.Finding{{Code: "name", Severity: report.Warning, Task: "a"}},
	}
	static.Tally()
	if _, _, err := s.Submit(ctx, protocol.Actor{Name: "ada"}, protocol.Collection{
		Author: "ada", Track: "skillsbench", Source: protocol.Source{RepoType: protocol.RepoBundle, RepoID: "one", Revision: strings.Repeat("0", 40)}, TaskCount: 1, Static: static,
	}); err != nil {
		t.Fatal(err)
	}
	briefs := func() []string {
		rows, err := s.writer.Query("SELECT collection || static FROM collection_briefs")
		all, err := many(rows, err, func(r scanner) (b string, err error) { return b, r.Scan(&b) })
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	want := briefs()
	if _, err := s.writer.Exec("DROP TABLE collection_briefs"); err != nil {
		t.Fatal(err)
	}
	for _, m := range plus(t) {
		if strings.HasSuffix(m.Name, "_collection_briefs") {
			if _, err := s.writer.Exec(m.SQL); err != nil {
				t.Fatal(err)
			}
		}
	}
	if diff := cmp.Diff(want, briefs()); diff != "" || len(want) != 1 || !strings.Contains(want[0], `"no-oracle":1`) || strings.Contains(want[0], "sha256:0") {
		t.Errorf("the migration makes something else (-submit +migration):\n%s", diff)
	}
}
