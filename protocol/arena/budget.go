package arena

import (
	"context"
	"fmt"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/jobs"
)

// Budget is the ledger with the configured cap: the one figure that preflight,
// health and the launch guard use.
func (s *Service) Budget(ctx context.Context) (protocol.Ledger, error) {
	l, err := s.Sums(ctx)
	l.Cap, l.Prior = s.Cap, s.Prior
	return l, err
}

// price asks the challenge's provider what an hour of its flavor costs. The
// sentence says why no price is known; it is empty when one is.
func (s *Service) price(ctx context.Context, c protocol.Challenge) (protocol.Micros, string) {
	provider, ok := s.Providers[c.Compute.Provider]
	if !ok {
		return 0, fmt.Sprintf("the arena is not set up for provider %s", c.Compute.Provider)
	}
	ctx, cancel := context.WithTimeout(ctx, s.Timing.ProviderCall)
	defer cancel()
	flavors, err := provider.Hardware(ctx)
	if err != nil {
		s.Logger.Warn("reading hardware prices failed", "provider", provider.Name(), "error", err)
		return 0, fmt.Sprintf("provider %s does not answer right now", provider.Name())
	}
	return priceOf(flavors, c)
}

func priceOf(flavors []jobs.Flavor, c protocol.Challenge) (protocol.Micros, string) {
	for _, f := range flavors {
		if f.Name == c.Compute.Flavor {
			return f.PricePerHour, ""
		}
	}
	return 0, fmt.Sprintf("provider %s has no flavor %s", c.Compute.Provider, c.Compute.Flavor)
}
