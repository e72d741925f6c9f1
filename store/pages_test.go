package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/store/storetest"
)

// Walking a list while others write sees every row that was there at the start
// exactly once, newest first, wherever the pages end and although many rows
// have the same time.
func TestWalkingAListNeitherRepeatsNorSkips(t *testing.T) {
	ctx := context.Background()
	s, clock := storetest.Open(t)
	registered, walks := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		walks++
		owner := fmt.Sprintf("owner-%d", walks) // a list of its own, in one store
		register := func() string {
			registered++
			id := fmt.Sprintf("%x-%d", rapid.Byte().Draw(rt, "id"), registered)
			if _, _, err := s.RegisterAgent(ctx, ada(), protocol.Agent{ID: id, Owner: owner}); err != nil {
				rt.Fatal(err)
			}
			clock.Advance(time.Duration(rapid.IntRange(0, 1).Draw(rt, "tick")) * time.Millisecond)
			return id
		}
		var there []string
		for range rapid.IntRange(0, 12).Draw(rt, "rows") {
			there = append(there, register())
		}
		seen := map[string]bool{}
		var last *protocol.Agent
		for page := (protocol.Page{Limit: rapid.IntRange(1, 5).Draw(rt, "limit")}); ; {
			rows, next, err := s.Agents(ctx, owner, page)
			if err != nil || len(rows) > page.Limit {
				rt.Fatalf("%d rows, %v", len(rows), err)
			}
			for _, a := range rows {
				if seen[a.ID] {
					rt.Fatalf("%s twice", a.ID)
				}
				if last != nil && (a.CreatedAt.After(last.CreatedAt) || a.CreatedAt.Equal(last.CreatedAt) && a.ID > last.ID) {
					rt.Fatalf("%s after %s", a.ID, last.ID)
				}
				seen[a.ID], last = true, &a
			}
			if next == "" {
				break
			}
			page.Cursor = next
			clock.Advance(time.Millisecond)
			register()
		}
		for _, id := range there {
			if !seen[id] {
				rt.Fatalf("%s was skipped", id)
			}
		}
	})
}

func TestCursorsOfOtherListsAndInventedOnesAreRefused(t *testing.T) {
	ctx := context.Background()
	s, _ := storetest.Open(t)
	for i := range 2 {
		if _, _, err := s.PostMessage(ctx, ada(), protocol.Message{RequestID: fmt.Sprintf("message-%d", i), Author: "ada", Body: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	_, cursor, err := s.Messages(ctx, protocol.Page{Limit: 1})
	if err != nil || cursor == "" {
		t.Fatalf("cursor %q, %v", cursor, err)
	}
	for _, c := range []string{"x", "%%%", "bWVzc2FnZXM", cursor[:len(cursor)-1] + "!", string(make([]byte, 10_000))} {
		_, _, err := s.Messages(ctx, protocol.Page{Cursor: c})
		wantError(t, err, protocol.ErrCursor)
	}
	_, _, err = s.Runs(ctx, protocol.RunFilter{}, protocol.Page{Cursor: cursor})
	wantError(t, err, protocol.ErrCursor)
}

func TestTheAuditTrailIsPagedToo(t *testing.T) {
	ctx := context.Background()
	s, _ := storetest.Open(t)
	for i := range 5 {
		if _, _, err := s.RegisterAgent(ctx, ada(), protocol.Agent{ID: fmt.Sprintf("agent-%d", i), Owner: "ada"}); err != nil {
			t.Fatal(err)
		}
	}
	var seqs []int64
	for page := (protocol.Page{Limit: 2}); ; {
		rows, next, err := s.Audit(ctx, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range rows {
			seqs = append(seqs, a.Seq)
		}
		if page.Cursor = next; next == "" {
			break
		}
	}
	if diff := cmp.Diff([]int64{5, 4, 3, 2, 1}, seqs); diff != "" {
		t.Errorf("walked (-want +got):\n%s", diff)
	}
}
