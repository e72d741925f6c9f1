package arena

import (
	"context"
	"slices"
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// Standing is a challenge with what holds at this moment.
type Standing struct {
	Challenge   protocol.Challenge
	Price       protocol.Micros // of its flavor, per hour; 0 when not known
	Priced      bool            // a price is known
	Reservation protocol.Micros // of one run; 0 when no price is known
	Health      *Health         // nil unless the challenge is open
}

// Health says whether an open challenge would take a run now, and how it does.
type Health struct {
	Refusal        string // why no run would be accepted; empty when one would
	ActiveRun      string
	Runs           map[protocol.RunState]int // launched runs by state
	Remaining      protocol.Micros
	OldestQueued   *time.Time    // since when the longest waiting run is queued; nil when none is
	QueuedFor      time.Duration // how long that is
	LastLaunched   *time.Time    // when the provider last took a job
	LastCollected  *time.Time
	PendingReviews int
}

// Standings lists every challenge with its standing, in the order of lists.
func (s *Service) Standings(ctx context.Context) ([]Standing, error) {
	all := make([]Standing, 0, len(s.Challenges))
	for _, c := range s.Challenges {
		st, err := s.standing(ctx, c)
		if err != nil {
			return nil, err
		}
		all = append(all, st)
	}
	return all, nil
}

// Standing returns one challenge with its standing.
func (s *Service) Standing(ctx context.Context, id string) (Standing, error) {
	c, err := s.Challenge(id)
	if err != nil {
		return Standing{}, err
	}
	return s.standing(ctx, c)
}

func (s *Service) standing(ctx context.Context, c protocol.Challenge) (Standing, error) {
	st := Standing{Challenge: c}
	if c.Status != protocol.StatusOpen {
		return st, nil
	}
	var priceError error
	st.Price, priceError = s.price(ctx, c)
	st.Priced = priceError == nil
	facts := protocol.LaunchFacts{Challenge: c, Price: st.Price, PriceError: priceError}
	st.Reservation = facts.Reservation()
	tally, err := s.tallies.get(ctx, s, c.ID, func() (protocol.RunTally, error) { return s.Tally(ctx, c.ID) })
	if err != nil {
		return st, err
	}
	if facts.Ledger, err = s.Budget(ctx); err != nil {
		return st, err
	}
	facts.ActiveRun = tally.ActiveRun
	st.Health = &Health{
		ActiveRun: tally.ActiveRun, Runs: tally.Runs, Remaining: facts.Ledger.Remaining(), LastLaunched: tally.LastLaunched,
		LastCollected: tally.LastCollected, PendingReviews: tally.PendingReviews,
	}
	if at := tally.OldestQueued; at != nil {
		st.Health.OldestQueued, st.Health.QueuedFor = at, s.now().Sub(*at)
	}
	if err := protocol.CheckOpenings(facts); err != nil {
		st.Health.Refusal = protocol.AsError(err).Detail
	}
	return st, nil
}

// Track is a place where collections are stored.
type Track struct {
	ID          string
	Challenges  []string // that store their collections here
	Collections int
}

// Tracks lists the tracks of all challenges by id.
func (s *Service) Tracks(ctx context.Context) ([]Track, error) {
	var tracks []Track
	for _, id := range s.trackIDs() {
		t := Track{ID: id, Challenges: []string{}}
		for _, c := range s.Challenges {
			if c.Track == id {
				t.Challenges = append(t.Challenges, c.ID)
			}
		}
		n, err := s.CountCollections(ctx, protocol.CollectionFilter{Track: id})
		if err != nil {
			return nil, err
		}
		t.Collections = n
		tracks = append(tracks, t)
	}
	return tracks, nil
}

func (s *Service) trackIDs() []string {
	ids := append([]string{}, s.ExtraTracks...)
	for _, c := range s.Challenges {
		ids = append(ids, c.Track)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
