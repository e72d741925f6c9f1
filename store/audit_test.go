package store

import (
	"context"
	"strings"
	"testing"

	"github.com/posttrainarena/arena/protocol"
)

func TestTheAuditTrailIsAChain(t *testing.T) {
	ctx := context.Background()
	s := openTest(t)
	by := protocol.Actor{Name: "ada", RequestID: "http-1"}
	for _, id := range []string{"one", "two", "three"} {
		if _, _, err := s.RegisterAgent(ctx, by, protocol.Agent{ID: id, Owner: "ada"}); err != nil {
			t.Fatal(err)
		}
	}
	rows, _, err := s.Audit(ctx, protocol.Page{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	a := rows[0]
	if a.Seq != 3 || a.Actor != "ada" || a.Action != "register-agent" || a.Object != "agent:three" || a.RequestID != "http-1" || a.Before != "" || !strings.Contains(a.After, `"three"`) || !a.At.Equal(noon()) {
		t.Errorf("audit row %+v", a)
	}
	if err := s.VerifyAudit(ctx); err != nil {
		t.Errorf("an untouched trail: %v", err)
	}

	// Somebody with a SQL shell who drops the triggers first.
	tamper := func(query string) {
		t.Helper()
		for _, q := range []string{"DROP TRIGGER IF EXISTS audit_keep", "DROP TRIGGER IF EXISTS audit_stay", query} {
			if _, err := s.writer.Exec(q); err != nil {
				t.Fatal(err)
			}
		}
	}
	tamper("UPDATE audit SET actor = 'eve' WHERE seq = 2")
	if err := s.VerifyAudit(ctx); err == nil || !strings.Contains(err.Error(), "audit row 2 ") {
		t.Errorf("an edited row: %v", err)
	}
	tamper("UPDATE audit SET actor = 'ada' WHERE seq = 2")
	tamper("DELETE FROM audit WHERE seq = 2")
	if err := s.VerifyAudit(ctx); err == nil || !strings.Contains(err.Error(), "audit row 2 is missing") {
		t.Errorf("a deleted row: %v", err)
	}
}

// TestOverlapSeen: an answer about a sealed suite leaves who got it and how much
// it said, and nothing of the suite.
func TestOverlapSeen(t *testing.T) {
	s := openTest(t)
	source := protocol.Source{RepoType: protocol.RepoBundle, RepoID: "pack", Revision: strings.Repeat("0a", 20)}
	by := protocol.Actor{Name: "eve", RequestID: "req-00001"}
	if err := s.OverlapSeen(t.Context(), by, source, map[string]int{"sealed-overlap": 2}); err != nil {
		t.Fatal(err)
	}
	rows, _, err := s.Audit(t.Context(), protocol.Page{})
	if err != nil || len(rows) != 1 {
		t.Fatalf("audit rows: %v, %v", rows, err)
	}
	if r := rows[0]; r.Actor != "eve" || r.Action != "overlap-answer" || r.RequestID != "req-00001" || r.After != `{"sealed-overlap":2}` {
		t.Errorf("the row says %+v", r)
	}
}
