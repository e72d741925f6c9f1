package store_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/store"
	"github.com/posttrainarena/arena/store/storetest"
)

// agreed requires that every record is what the audit trail says that it became.
func agreed(t testing.TB, s *store.Store) {
	t.Helper()
	if differ := must(s.VerifyRecords(t.Context()))(t); len(differ) > 0 {
		t.Errorf("records that the trail does not have so: %q", differ)
	}
}

// judged is an arena with a reviewed run, a gate verdict and a token.
func judged(t *testing.T) (*store.Store, protocol.Run) {
	t.Helper()
	s, _, run := scored(t)
	if _, _, err := s.SaveResult(t.Context(), ada(), result(run)); err != nil {
		t.Fatal(err)
	}
	must(s.Claim(t.Context(), eve(), run.ID, false))(t)
	must(s.Review(t.Context(), eve(), run.ID, protocol.Review{Accepted: false, Note: note}))(t)
	must(s.AttachVerdict(t.Context(), eve(), protocol.Verdict{Collection: run.Collection, Challenge: run.Challenge, Version: 1, PlanDigest: "sha256:01"}))(t)
	if err := s.CreateToken(t.Context(), arena(), protocol.Token{ID: "tok-1", Name: "ada"}, [32]byte{1}); err != nil {
		t.Fatal(err)
	}
	return s, run
}

// TestARecordThatSomebodyChangedShows changes rows with a SQL shell, past the
// triggers. Every hash of the trail still fits, and the trail says something else.
func TestARecordThatSomebodyChangedShows(t *testing.T) {
	s, run := judged(t)
	agreed(t, s)
	db := must(sql.Open("sqlite", "file:"+filepath.Join(s.Dir(), store.DatabaseName)))(t)
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, c := range []struct{ triggers, do, undo, want string }{
		{"results_reviewed", "UPDATE results SET verification = 'valid'", "UPDATE results SET verification = 'rejected'", "result:" + run.ID + " has another Verification"},
		{"results_keep", "UPDATE results SET score = json_set(score, '$.delta_pp', 99)", "UPDATE results SET score = json_set(score, '$.delta_pp', 12.5)", "result:" + run.ID + " has another Score"},
		{"runs_settled", "UPDATE runs SET settled = 1", "UPDATE runs SET settled = 6000000", "run:" + run.ID + " has another LateBill, LateEnd, Settled"},
		{"runs_keep", "UPDATE runs SET author = 'mallory'", "UPDATE runs SET author = 'ada'", "run:" + run.ID + " has another Author"},
		{"tokens_keep", "UPDATE tokens SET editor = 1", "UPDATE tokens SET editor = 0", "token:tok-1 has another Editor"},
		{"", "INSERT INTO tokens (id, name, editor, sha256, created) VALUES ('tok-2', 'mallory', 1, zeroblob(32), 1)", "", "token:tok-2 is not in the trail"},
		{"collections_keep", "UPDATE collections SET author = 'mallory'", "UPDATE collections SET author = 'ada'", "environment:" + run.Collection + " has another Author"},
		{"verdicts_keep", "UPDATE verdicts SET tasks = '[{}]'", "", "verdict:" + run.Collection + "/" + run.Challenge + " has another Tasks"},
		{"verdicts_stay", "DELETE FROM verdicts", "", "verdict:" + run.Collection + "/" + run.Challenge + " is gone"},
	} {
		for _, trigger := range strings.Fields(c.triggers) {
			must(db.Exec("DROP TRIGGER IF EXISTS " + trigger))(t)
		}
		if _, err := db.Exec(c.do); err != nil {
			t.Fatalf("%s: %v", c.do, err)
		}
		if err := s.VerifyAudit(t.Context()); err != nil {
			t.Errorf("%s: the trail itself: %v", c.do, err)
		}
		differ := must(s.VerifyRecords(t.Context()))(t)
		if text := strings.Join(differ, "\n"); !strings.Contains(text, c.want) {
			t.Errorf("%s: %q, want %q", c.do, differ, c.want)
		}
		if c.undo != "" {
			must(db.Exec(c.undo))(t)
		}
	}
}

// TestATrailThatIsCutOffShows removes the newest audit rows.
func TestATrailThatIsCutOffShows(t *testing.T) {
	s, _ := judged(t)
	db := must(sql.Open("sqlite", "file:"+filepath.Join(s.Dir(), store.DatabaseName)))(t)
	defer db.Close()
	for _, q := range []string{"DROP TRIGGER audit_stay", "DELETE FROM audit WHERE seq > (SELECT max(seq) - 2 FROM audit)"} {
		must(db.Exec(q))(t)
	}
	if err := s.VerifyAudit(t.Context()); err == nil || !strings.Contains(err.Error(), "its end was cut off") {
		t.Errorf("the end is missing: %v", err)
	}
	if e := must(s.Examine(t.Context()))(t); !e.AuditHole {
		t.Error("an examination sees no hole")
	}
	must(db.Exec("UPDATE sqlite_sequence SET seq = (SELECT max(seq) FROM audit) WHERE name = 'audit'"))(t)
	if err := s.VerifyAudit(t.Context()); err != nil {
		t.Errorf("the trail hides it: %v", err)
	}
	if differ := must(s.VerifyRecords(t.Context()))(t); len(differ) == 0 {
		t.Error("and the records do not show it")
	}
}

// TestBackupsKeepWhatTheTrailSays: a copy agrees with its trail as the arena did.
func TestBackupsKeepWhatTheTrailSays(t *testing.T) {
	s, _ := judged(t)
	file := filepath.Join(t.TempDir(), "copy.db")
	must(s.Backup(t.Context(), file))(t)
	dir := filepath.Join(t.TempDir(), "data")
	must(store.Restore(t.Context(), store.Options{Dir: dir, Now: storetest.NewClock().Now}, file))(t)
	restored := storetest.OpenDir(t, dir, storetest.NewClock())
	agreed(t, restored)
	if err := restored.VerifyAudit(t.Context()); err != nil {
		t.Error(err)
	}
}
