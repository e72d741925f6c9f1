package store_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/store/storetest"
)

// TestState: however many ask at once, whoever asks after a commit is told another
// number than whoever asked before it, and the same as long as nothing happens.
func TestState(t *testing.T) {
	s, _ := storetest.Open(t)
	const crowd = 50
	ask := func() map[int64]bool {
		var mu sync.Mutex
		seen := map[int64]bool{}
		var wg sync.WaitGroup
		for range crowd {
			wg.Go(func() {
				n, err := s.State(t.Context())
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				seen[n] = true
			})
		}
		wg.Wait()
		return seen
	}
	all := map[int64]bool{}
	for i := range 20 {
		seen := ask()
		if len(seen) != 1 {
			t.Fatalf("%d numbers while nothing happened", len(seen))
		}
		for n := range seen {
			if all[n] {
				t.Fatalf("commit %d was not noticed", i)
			}
			all[n] = true
		}
		if _, _, err := s.PostMessage(t.Context(), ada(), protocol.Message{RequestID: fmt.Sprintf("message-%03d", i), Author: "ada", Body: "Hello."}); err != nil {
			t.Fatal(err)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.State(gone); err != nil && err != context.Canceled {
		t.Error(err)
	}
	if n, err := s.State(t.Context()); err != nil || all[n] {
		t.Errorf("after a caller has left: %d, %v", n, err)
	}
}
