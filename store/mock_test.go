package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/store/storetest"
)

func TestAnArenaIsMockedFromItsFirstActOnOrNever(t *testing.T) {
	ctx := context.Background()
	mock := protocol.Mock{Seed: 1<<63 + 5, Now: time.Date(2026, 10, 19, 0, 0, 0, 0, time.UTC), Challenge: "tb2-9b", Scale: 3}
	by := protocol.Actor{Name: protocol.ActorArena}

	s, _ := storetest.Open(t)
	if m, err := s.Mock(ctx); err != nil || m != nil {
		t.Fatalf("a new arena is mocked: %+v, %v", m, err)
	}
	if err := s.MarkMock(ctx, by, mock); err != nil {
		t.Fatal(err)
	}
	storetest.Submit(t, s, "ada", "later")
	m, err := s.Mock(ctx)
	if err != nil || m == nil {
		t.Fatalf("a marked arena is not mocked: %v", err)
	}
	if diff := cmp.Diff(mock, *m); diff != "" {
		t.Errorf("the mark reads back differently (-want +got):\n%s", diff)
	}
	if err := s.MarkMock(ctx, by, mock); err == nil {
		t.Error("an arena can be marked twice")
	}

	used, _ := storetest.Open(t)
	storetest.Submit(t, used, "ada", "first")
	if err := used.MarkMock(ctx, by, mock); err == nil {
		t.Error("an arena with a history can be marked")
	}
	if m, err := used.Mock(ctx); err != nil || m != nil {
		t.Errorf("a refused mark stays: %+v, %v", m, err)
	}
}
