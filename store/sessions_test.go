package store_test

import (
	"context"
	"crypto/sha256"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/store/storetest"
)

// TestSessions opens sessions, ends one and lets the other expire.
func TestSessions(t *testing.T) {
	ctx := context.Background()
	s, clock := storetest.Open(t)
	hash := func(text string) [sha256.Size]byte { return sha256.Sum256([]byte(text)) }
	who := protocol.Identity{Name: "ada", Orgs: []string{"benchflow", "other"}, Editor: true}
	plain := protocol.Identity{Name: "eve", EditorNote: "Your role is read."}
	for secret, id := range map[string]protocol.Identity{"one": who, "two": plain} {
		session := protocol.Session{Who: id, ExpiresAt: clock.Now().Add(8 * time.Hour)}
		if err := s.OpenSession(ctx, protocol.Actor{Name: id.Name}, session, hash(secret)); err != nil {
			t.Fatal(err)
		}
	}
	got := must(s.SessionByHash(ctx, hash("one")))(t)
	if diff := cmp.Diff(protocol.Session{Who: who, CreatedAt: clock.Now(), ExpiresAt: clock.Now().Add(8 * time.Hour)}, got); diff != "" {
		t.Errorf("read back (-opened +read):\n%s", diff)
	}
	if got := must(s.SessionByHash(ctx, hash("two")))(t); got.Who.EditorNote != plain.EditorNote || got.Who.Editor || len(got.Who.Orgs) != 0 {
		t.Errorf("%+v", got)
	}
	_, err := s.SessionByHash(ctx, hash("three"))
	wantError(t, err, protocol.ErrSignedOut)

	if err := s.CloseSession(ctx, protocol.Actor{Name: "ada"}, hash("one")); err != nil {
		t.Fatal(err)
	}
	_, err = s.SessionByHash(ctx, hash("one"))
	wantError(t, err, protocol.ErrSignedOut)
	nothing(t, s, func() {
		if err := s.CloseSession(ctx, protocol.Actor{Name: "ada"}, hash("one")); err != nil {
			t.Error(err)
		}
	})

	clock.Advance(8*time.Hour - time.Microsecond)
	must(s.SessionByHash(ctx, hash("two")))(t)
	clock.Advance(time.Microsecond)
	_, err = s.SessionByHash(ctx, hash("two"))
	wantError(t, err, protocol.ErrSignedOut)
}
