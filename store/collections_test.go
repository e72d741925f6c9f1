package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/store/storetest"
)

func TestSubmit(t *testing.T) {
	ctx := context.Background()
	s, clock := storetest.Open(t)
	if _, _, err := s.RegisterAgent(ctx, ada(), protocol.Agent{ID: "scout", Owner: "ada"}); err != nil {
		t.Fatal(err)
	}
	asked := storetest.Collection("ada", "tools")
	asked.AgentID, asked.Notes, asked.TeamName, asked.Warnings = "scout", "first notes", "Lovelace", []string{"no license"}
	first, existing, err := s.Submit(ctx, ada(), asked)
	if err != nil || existing {
		t.Fatalf("submit: existing %t, %v", existing, err)
	}
	if want := protocol.NewCollectionID("ada", asked.Track, asked.Source); first.ID != want || !first.CreatedAt.Equal(clock.Now()) {
		t.Errorf("submitted %+v, want id %s", first, want)
	}
	if diff := cmp.Diff(first, must(s.Collection(ctx, first.ID))(t)); diff != "" {
		t.Errorf("read back (-submitted +read):\n%s", diff)
	}

	clock.Advance(time.Hour)
	nothing(t, s, func() {
		again := asked
		again.Title, again.Notes, again.AgentID, again.TargetChallenge = "another title", "other notes", "", "skillsbench-9b"
		kept, existing, err := s.Submit(ctx, ada(), again)
		if err != nil || !existing {
			t.Fatalf("the same again: existing %t, %v", existing, err)
		}
		if diff := cmp.Diff(first, kept); diff != "" {
			t.Errorf("the first record did not stay (-first +kept):\n%s", diff)
		}
		foreign := storetest.Collection("eve", "tools")
		foreign.AgentID = "scout"
		_, _, err = s.Submit(ctx, eve(), foreign)
		wantError(t, err, protocol.ErrForeignAgent)
		_, err = s.Collection(ctx, "env-000000000000")
		wantError(t, err, protocol.ErrNoCollection)
	})
}

func TestCollectionsAreFiltered(t *testing.T) {
	ctx := context.Background()
	s, clock := storetest.Open(t)
	for _, name := range []string{"a", "bb", "ccc"} {
		clock.Advance(time.Second)
		c := storetest.Collection("ada", name)
		if name == "bb" {
			c.Author, c.Track, c.TargetChallenge = "eve", "terminal", ""
		}
		if _, _, err := s.Submit(ctx, ada(), c); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		filter protocol.CollectionFilter
		want   []string
	}{
		{protocol.CollectionFilter{}, []string{"ccc", "bb", "a"}},
		{protocol.CollectionFilter{Author: "ada"}, []string{"ccc", "a"}},
		{protocol.CollectionFilter{Track: "terminal"}, []string{"bb"}},
		{protocol.CollectionFilter{Challenge: "tb2-9b", Author: "ada"}, []string{"ccc", "a"}},
		{protocol.CollectionFilter{Challenge: "tb2-9b", Author: "eve"}, nil},
	} {
		rows, next, err := s.Collections(ctx, c.filter, protocol.Page{})
		if err != nil || next != "" {
			t.Fatalf("%+v: next %q, %v", c.filter, next, err)
		}
		var titles []string
		for _, r := range rows {
			titles = append(titles, r.Title)
		}
		if diff := cmp.Diff(c.want, titles); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.filter, diff)
		}
		if n := must(s.CountCollections(ctx, c.filter))(t); n != len(c.want) {
			t.Errorf("%+v: counted %d, want %d", c.filter, n, len(c.want))
		}
	}
}
