package arena_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/arena"
)

// people is a hub that answers from a table and counts.
type people struct {
	mu    sync.Mutex
	asked int
	who   map[string]protocol.Identity
	fails error
	slow  time.Duration
}

func (p *people) Whoami(_ context.Context, token string) (protocol.Identity, error) {
	time.Sleep(p.slow) // inside a bubble of synctest
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	if p.fails != nil {
		return protocol.Identity{}, p.fails
	}
	who, ok := p.who[token]
	if !ok {
		return who, protocol.ErrBadToken
	}
	return who, nil
}

// TestTokensOfTheHub: what the hub said holds for five minutes, a refusal for half
// a minute, an outage not at all.
func TestTokensOfTheHub(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := &people{who: map[string]protocol.Identity{"hf_ada": {Name: "ada", Orgs: []string{"x"}, EditorNote: "no"}}}
	now := time.Now()
	w.Now = func() time.Time { return now }
	w.People, w.PeopleCache = p, 5*time.Minute
	look := func(token string, want error, asked int) {
		t.Helper()
		who, err := w.Identify(t.Context(), token, nil)
		if !errors.Is(err, want) || (err == nil) != (who.Name == "ada") || p.asked != asked {
			t.Errorf("%s: %+v, %v after %d questions; want %v after %d", token, who, err, p.asked, want, asked)
		}
	}
	look("hf_ada", nil, 1)
	look("hf_ada", nil, 1)
	look("hf_bad", protocol.ErrBadToken, 2)
	look("hf_bad", protocol.ErrBadToken, 2)
	p.fails = protocol.ErrUnavailable
	now = now.Add(5*time.Minute - time.Second)
	look("hf_ada", nil, 2)                     // the hub is down and the answer is warm
	look("hf_bad", protocol.ErrUnavailable, 3) // cold: never "allowed"
	look("hf_new", protocol.ErrUnavailable, 4) // and not remembered
	look("hf_new", protocol.ErrUnavailable, 5)
	look("arena_unknown", protocol.ErrBadToken, 5) // the arena's own need no hub
	now = now.Add(time.Second)
	look("hf_ada", protocol.ErrUnavailable, 6)
	p.fails = nil
	delete(p.who, "hf_ada") // revoked meanwhile
	look("hf_ada", protocol.ErrBadToken, 7)
}

// TestOneQuestionForManyRequests: a hundred requests with one token are one
// question, and the first to leave does not take the answer along.
func TestOneQuestionForManyRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &people{who: map[string]protocol.Identity{"hf_ada": {Name: "ada"}}, slow: time.Second}
		s := &arena.Service{Config: arena.Config{People: p, PeopleCache: time.Minute, Now: time.Now}}
		leaving, leave := context.WithCancel(t.Context())
		var group sync.WaitGroup
		for i := range 100 {
			group.Go(func() {
				ctx := t.Context()
				if i%10 == 0 {
					ctx = leaving
				}
				who, err := s.Identify(ctx, "hf_ada", nil)
				if i%10 == 0 && !errors.Is(err, context.Canceled) || i%10 != 0 && (err != nil || who.Name != "ada") {
					t.Errorf("%d: %+v, %v", i, who, err)
				}
			})
		}
		synctest.Wait()
		leave()
		group.Wait()
		if p.asked != 1 {
			t.Errorf("the hub was asked %d times", p.asked)
		}
	})
}

// TestAFloodOfTokensIsBounded: more tokens than are remembered do not grow memory,
// and refused ones go first.
func TestAFloodOfTokensIsBounded(t *testing.T) {
	t.Parallel()
	p := &people{who: map[string]protocol.Identity{"hf_ada": {Name: "ada"}}}
	now := time.Now()
	s := &arena.Service{Config: arena.Config{People: p, PeopleCache: time.Minute, Now: func() time.Time { return now }}}
	for i := range 25_000 {
		if i == 9_000 {
			_, _ = s.Identify(t.Context(), "hf_ada", nil)
		}
		if _, err := s.Identify(t.Context(), fmt.Sprintf("hf_%d", i), nil); !errors.Is(err, protocol.ErrBadToken) {
			t.Fatal(err)
		}
	}
	before := p.asked
	if who, err := s.Identify(t.Context(), "hf_ada", nil); err != nil || who.Name != "ada" || p.asked != before {
		t.Errorf("%+v, %v, asked again: %v", who, err, p.asked != before)
	}
}
