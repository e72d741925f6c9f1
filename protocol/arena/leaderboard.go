package arena

import (
	"context"
	"sync"

	"github.com/posttrainarena/arena/protocol/leaderboard"
)

// Leaderboard ranks a challenge's collections. The bootstrap behind its
// intervals is not free, so a board is kept until a result of its challenge is
// collected or reviewed.
func (s *Service) Leaderboard(ctx context.Context, challenge string) (leaderboard.Board, error) {
	if _, err := s.Challenge(challenge); err != nil {
		return leaderboard.Board{}, err
	}
	return s.boards.get(challenge, func() (leaderboard.Board, error) {
		results, err := s.Results(ctx, challenge)
		if err != nil {
			return leaderboard.Board{}, err
		}
		board := leaderboard.Rank(challenge, results, leaderboard.Options{})
		for i := range board.Rows {
			col, err := s.Collection(ctx, board.Rows[i].Collection)
			if err != nil {
				return board, err
			}
			board.Rows[i].Title = col.Title
		}
		return board, nil
	})
}

// boardCache keeps computed leaderboards. A board that was being computed when
// its challenge was forgotten is not kept.
type boardCache struct {
	mu      sync.Mutex
	boards  map[string]leaderboard.Board
	changes map[string]int // by challenge: how often it was forgotten
}

func (b *boardCache) get(challenge string, compute func() (leaderboard.Board, error)) (leaderboard.Board, error) {
	b.mu.Lock()
	board, ok := b.boards[challenge]
	seen := b.changes[challenge]
	b.mu.Unlock()
	if ok {
		return board, nil
	}
	board, err := compute()
	if err != nil {
		return board, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changes[challenge] == seen {
		if b.boards == nil {
			b.boards = map[string]leaderboard.Board{}
		}
		b.boards[challenge] = board
	}
	return board, nil
}

func (b *boardCache) forget(challenge string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.boards, challenge)
	if b.changes == nil {
		b.changes = map[string]int{}
	}
	b.changes[challenge]++
}
