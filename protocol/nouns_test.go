package protocol_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol"
)

func TestAgents(t *testing.T) {
	for id, ok := range map[string]bool{
		"ada-agent": true, "0a": true, "a": false, "A-agent": false, "-agent": false, "human-ada": false, "humane": true,
		strings.Repeat("a", 48): true, strings.Repeat("a", 49): false, "ada agent": false, "ada\nagent": false, "": false,
	} {
		if bad := protocol.CheckAgent(protocol.Agent{ID: id}); (len(bad) == 0) != ok {
			t.Errorf("agent id %q: %v", id, bad)
		}
	}
}

func TestActsAs(t *testing.T) {
	ada := protocol.Identity{Name: "ada"}
	if err := protocol.ActsAs(ada, "", nil); err != nil {
		t.Errorf("acting as oneself: %v", err)
	}
	if err := protocol.ActsAs(ada, "bot", nil); !errors.Is(err, protocol.ErrInvalid) {
		t.Errorf("an unregistered agent: %v", err)
	}
	if err := protocol.ActsAs(ada, "bot", &protocol.Agent{ID: "bot", Owner: "eve"}); !errors.Is(err, protocol.ErrForeignAgent) {
		t.Errorf("somebody else's agent: %v", err)
	}
	if err := protocol.ActsAs(ada, "bot", &protocol.Agent{ID: "bot", Owner: "ada"}); err != nil {
		t.Errorf("one's own agent: %v", err)
	}
}

func TestMessages(t *testing.T) {
	for name, tc := range map[string]struct {
		m    protocol.Message
		want string // the field that is wrong
	}{
		"plain":            {protocol.Message{Body: "hello"}, ""},
		"10,000 letters":   {protocol.Message{Body: strings.Repeat("é", 10_000)}, ""},
		"one more":         {protocol.Message{Body: strings.Repeat("é", 10_001)}, "body"},
		"nothing":          {protocol.Message{}, "body"},
		"only blanks":      {protocol.Message{Body: " \n\t"}, "body"},
		"not UTF-8":        {protocol.Message{Body: "\xff"}, "body"},
		"a path as ref":    {protocol.Message{Body: "x", Refs: []string{"a.md", "../b"}}, "refs[1]"},
		"too many refs":    {protocol.Message{Body: "x", Refs: make([]string, 21)}, "refs"},
		"a reply":          {protocol.Message{Body: "x", Refs: []string{"20261019T120000Z-ada-0a.md"}}, ""},
		"a ref with blank": {protocol.Message{Body: "x", Refs: []string{"a b"}}, "refs[0]"},
	} {
		bad := protocol.CheckMessage(tc.m)
		if (len(bad) > 0) != (tc.want != "") || len(bad) > 0 && bad[0].Field != tc.want {
			t.Errorf("%s: %v, want %q", name, bad, tc.want)
		}
	}
}

func TestRequestIDs(t *testing.T) {
	for id, ok := range map[string]bool{
		"ada-run-001": true, "12345678": true, "1234567": false, strings.Repeat("a", 120): true, strings.Repeat("a", 121): false,
		"ada run 001": false, "ada/run/001": false, "": false, "ada-run-001\n": false,
	} {
		if err := protocol.CheckRequestID(id); (err == nil) != ok {
			t.Errorf("request id %q: %v", id, err)
		}
	}
}

func TestSources(t *testing.T) {
	commit := strings.Repeat("0a", 20)
	for name, tc := range map[string]struct {
		s    protocol.Source
		want string
	}{
		"dataset":               {protocol.Source{RepoType: "dataset", RepoID: "ada/pack", Revision: "main"}, ""},
		"without an owner":      {protocol.Source{RepoType: "dataset", RepoID: "pack", Revision: "main"}, "repo_id"},
		"without a revision":    {protocol.Source{RepoType: "github", RepoID: "ada/pack"}, "revision"},
		"bundle":                {protocol.Source{RepoType: "bundle", RepoID: "pack"}, ""},
		"bundle pinned":         {protocol.Source{RepoType: "bundle", RepoID: "pack", Revision: commit}, ""},
		"bundle at a branch":    {protocol.Source{RepoType: "bundle", RepoID: "pack", Revision: "main"}, "revision"},
		"unknown type":          {protocol.Source{RepoType: "svn", RepoID: "ada/pack", Revision: "main"}, "repo_type"},
		"a directory":           {protocol.Source{RepoType: "dataset", RepoID: "ada/pack", Revision: "main", EntryPath: "a/b"}, ""},
		"a path upwards":        {protocol.Source{RepoType: "dataset", RepoID: "ada/pack", Revision: "main", EntryPath: "a/../b"}, "entry_path"},
		"an absolute path":      {protocol.Source{RepoType: "dataset", RepoID: "ada/pack", Revision: "main", EntryPath: "/a"}, "entry_path"},
		"a path with backslash": {protocol.Source{RepoType: "dataset", RepoID: "ada/pack", Revision: "main", EntryPath: `a\b`}, "entry_path"},
	} {
		bad := protocol.CheckSource(tc.s)
		if (len(bad) > 0) != (tc.want != "") || len(bad) > 0 && bad[0].Field != tc.want {
			t.Errorf("%s: %v, want %q", name, bad, tc.want)
		}
	}
}

// TestCollectionID: every part of the natural key counts, and parts cannot be
// shifted into each other.
func TestCollectionID(t *testing.T) {
	base := protocol.Source{RepoType: "dataset", RepoID: "a/b", Revision: "c", EntryPath: "d"}
	seen := map[string]string{protocol.NewCollectionID("ada", "t", base): "base"}
	for name, id := range map[string]string{
		"author":   protocol.NewCollectionID("eve", "t", base),
		"track":    protocol.NewCollectionID("ada", "u", base),
		"type":     protocol.NewCollectionID("ada", "t", protocol.Source{RepoType: "github", RepoID: "a/b", Revision: "c", EntryPath: "d"}),
		"repo":     protocol.NewCollectionID("ada", "t", protocol.Source{RepoType: "dataset", RepoID: "a/c", Revision: "c", EntryPath: "d"}),
		"revision": protocol.NewCollectionID("ada", "t", protocol.Source{RepoType: "dataset", RepoID: "a/b", Revision: "e", EntryPath: "d"}),
		"entry":    protocol.NewCollectionID("ada", "t", protocol.Source{RepoType: "dataset", RepoID: "a/b", Revision: "c"}),
		"shifted":  protocol.NewCollectionID("adat", "", base),
	} {
		if before, twice := seen[id]; twice || !strings.HasPrefix(id, "env-") || len(id) != 16 {
			t.Errorf("%s: %s (also of %q)", name, id, before)
		}
		seen[id] = name
	}
}

func TestReview(t *testing.T) {
	pending := protocol.Result{Verification: protocol.Pending, VerificationNote: protocol.PendingNote}
	good := protocol.Review{Accepted: true, Note: "Coverage and recomputation agree."}
	got, err := pending.Review(good, "org", noon)
	if err != nil || got.Verification != protocol.Valid || got.ReviewedBy != "org" || !got.ReviewedAt.Equal(noon) {
		t.Fatalf("accepted: %+v, %v", got, err)
	}
	if again, err := got.Review(protocol.Review{Note: "I changed my mind about this one."}, "org", noon); !errors.Is(err, protocol.ErrReviewed) || again.Verification != protocol.Valid {
		t.Errorf("a second review: %+v, %v", again, err)
	}
	if _, err := pending.Review(protocol.Review{Accepted: true, Note: "   fine           " + strings.Repeat(" ", 40)}, "org", noon); !errors.Is(err, protocol.ErrInvalid) {
		t.Errorf("a note of blanks: %v", err)
	}
	if got, _ := pending.Review(protocol.Review{Note: "The log shows a tampered report."}, "org", noon); got.Verification != protocol.Rejected {
		t.Errorf("rejected: %+v", got)
	}
}

func TestTolerated(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1: 1, 10: 1, 11: 2, 32: 4, 87: 9} {
		if got := protocol.Tolerated(0.1, n); got != want {
			t.Errorf("of %d tasks %d errors are tolerated, want %d", n, got, want)
		}
	}
}

func TestChallengeOrder(t *testing.T) {
	day := func(d int) time.Time { return noon.AddDate(0, 0, d) }
	all := []protocol.Challenge{
		{ID: "old", Status: protocol.StatusClosed},
		{ID: "b", Status: protocol.StatusOpen, Opens: day(1)},
		{ID: "next", Status: protocol.StatusPlanned},
		{ID: "c", Status: protocol.StatusOpen, Opens: day(0)},
		{ID: "a", Status: protocol.StatusOpen, Opens: day(1)},
	}
	protocol.SortChallenges(all)
	var ids []string
	for _, c := range all {
		ids = append(ids, c.ID)
	}
	if got := strings.Join(ids, " "); got != "c a b next old" {
		t.Errorf("order: %s", got)
	}
}

// TestErrorsKeepTheirIdentity: a refusal with details is still the refusal, and
// a cause never reaches the sentence that clients see.
func TestErrorsKeepTheirIdentity(t *testing.T) {
	err := protocol.ErrCap.Detailf("only $%s remain", protocol.Micros(5)).Because(errors.New("secret cause")).Launch(protocol.LaunchedNo)
	if !errors.Is(err, protocol.ErrCap) || errors.Is(err, protocol.ErrJobActive) {
		t.Error("the error lost its code")
	}
	if strings.Contains(err.Detail, "secret") {
		t.Error("the cause is in the detail")
	}
	if e := protocol.AsError(errors.New("disk on fire")); e.Kind.Status() != 500 || strings.Contains(e.Detail, "fire") {
		t.Errorf("an unexpected error answers %d %q", e.Kind.Status(), e.Detail)
	}
	for status := 400; status < 600; status++ {
		if got := protocol.KindOf(status).Status(); status == got {
			continue
		} else if got/100 != status/100 {
			t.Errorf("status %d is read as %d", status, got)
		}
	}
}
