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

func TestRegisterAgent(t *testing.T) {
	ctx := context.Background()
	s, clock := storetest.Open(t)
	scout := protocol.Agent{ID: "scout-1", Owner: "ada", Description: "looks around", Model: "m", Harness: "h"}

	first, existing, err := s.RegisterAgent(ctx, ada(), scout)
	if err != nil || existing {
		t.Fatalf("first registration: existing %t, %v", existing, err)
	}
	scout.CreatedAt = clock.Now()
	if diff := cmp.Diff(scout, first); diff != "" {
		t.Errorf("registered (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(scout, must(s.Agent(ctx, "scout-1"))(t)); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}

	clock.Advance(time.Hour)
	other, changed := scout, scout
	other.Owner, changed.Model = "eve", "another"
	nothing(t, s, func() {
		again, existing, err := s.RegisterAgent(ctx, ada(), scout)
		if err != nil || !existing || !again.CreatedAt.Equal(first.CreatedAt) {
			t.Errorf("the same again: %+v, existing %t, %v", again, existing, err)
		}
		_, _, err = s.RegisterAgent(ctx, eve(), other)
		wantError(t, err, protocol.ErrAgentTaken)
		_, _, err = s.RegisterAgent(ctx, ada(), changed)
		wantError(t, err, protocol.ErrAgentChanged)
		_, err = s.Agent(ctx, "nobody")
		wantError(t, err, protocol.ErrNotFound)
	})

	if _, _, err := s.RegisterAgent(ctx, eve(), protocol.Agent{ID: "raven", Owner: "eve"}); err != nil {
		t.Fatal(err)
	}
	for owner, want := range map[string][]string{"": {"raven", "scout-1"}, "ada": {"scout-1"}, "zoe": nil} {
		rows, next, err := s.Agents(ctx, owner, protocol.Page{})
		var ids []string
		for _, a := range rows {
			ids = append(ids, a.ID)
		}
		if diff := cmp.Diff(want, ids); diff != "" || next != "" || err != nil {
			t.Errorf("agents of %q: next %q, %v (-want +got):\n%s", owner, next, err, diff)
		}
	}
}

func TestTokensAreKnownByHashUntilRevoked(t *testing.T) {
	ctx := context.Background()
	s, clock := storetest.Open(t)
	hash := func(secret string) [32]byte { return sha256.Sum256([]byte(secret)) }
	create := func(id, name, secret string, editor bool) {
		t.Helper()
		if err := s.CreateToken(ctx, ada(), protocol.Token{ID: id, Name: name, Editor: editor}, hash(secret)); err != nil {
			t.Fatal(err)
		}
	}
	create("t1", "ada", "secret-1", true)
	create("t2", "ada", "secret-2", false)
	create("t3", "eve", "secret-3", false)

	want := protocol.Token{ID: "t1", Name: "ada", Editor: true, CreatedAt: clock.Now()}
	if diff := cmp.Diff(want, must(s.TokenByHash(ctx, hash("secret-1")))(t)); diff != "" {
		t.Errorf("token (-want +got):\n%s", diff)
	}
	_, err := s.TokenByHash(ctx, hash("a guess"))
	wantError(t, err, protocol.ErrBadToken)
	if err := s.CreateToken(ctx, ada(), protocol.Token{ID: "t4", Name: "ada"}, hash("secret-1")); err == nil {
		t.Error("two tokens with one secret")
	}

	clock.Advance(time.Minute)
	for _, c := range []struct {
		revoke string
		want   int
	}{{"t1", 1}, {"t1", 0}, {"ada", 1}, {"nobody", 0}} {
		if n := must(s.RevokeToken(ctx, eve(), c.revoke))(t); n != c.want {
			t.Errorf("revoking %s revoked %d tokens, want %d", c.revoke, n, c.want)
		}
	}
	for secret, revoked := range map[string]bool{"secret-1": true, "secret-2": true, "secret-3": false} {
		if _, err := s.TokenByHash(ctx, hash(secret)); (err != nil) != revoked {
			t.Errorf("%s: %v, revoked should be %t", secret, err, revoked)
		}
	}
	all := must(s.Tokens(ctx))(t)
	if len(all) != 3 || all[0].RevokedAt == nil || !all[0].RevokedAt.Equal(clock.Now()) || all[2].RevokedAt != nil {
		t.Errorf("tokens = %+v", all)
	}
}
