package store_test

import (
	"context"
	"errors"
	"testing"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/store"
)

// The people of these tests: ada has collections, eve is an editor, and the
// arena acts by itself.
func ada() protocol.Actor   { return protocol.Actor{Name: "ada", RequestID: "http-1"} }
func eve() protocol.Actor   { return protocol.Actor{Name: "eve", RequestID: "http-2"} }
func arena() protocol.Actor { return protocol.Actor{Name: protocol.ActorArena} }

// must returns v, or ends the test.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// wantError checks that err is a certain answer of the protocol.
func wantError(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error = %v, want %v", err, want)
	}
}

// effects counts what changes leave behind: events and audit rows.
func effects(t testing.TB, s *store.Store) (events, audits int64) {
	t.Helper()
	ctx := context.Background()
	events = must(s.LastEvent(ctx))(t)
	audits, _, err := s.AuditHead(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return events, audits
}

// nothing checks that f leaves no events and no audit rows behind.
func nothing(t testing.TB, s *store.Store, f func()) {
	t.Helper()
	e, a := effects(t, s)
	f()
	if e2, a2 := effects(t, s); e2 != e || a2 != a {
		t.Errorf("wrote %d events and %d audit rows, want none", e2-e, a2-a)
	}
}

// newest returns the newest events, the oldest of them first.
func newest(t testing.TB, s *store.Store, n int64) []protocol.Event {
	t.Helper()
	last := must(s.LastEvent(context.Background()))(t)
	return must(s.Events(context.Background(), last-n, int(n)))(t)
}
