package arena

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// Budget is the ledger with the configured cap: the one figure that preflight,
// health and the launch guard use.
func (s *Service) Budget(ctx context.Context) (protocol.Ledger, error) {
	l, err := s.Sums(ctx)
	l.Cap, l.Prior = s.Cap, s.Prior
	return l, err
}

// price asks the challenge's provider what an hour of its flavor costs. The
// error is the answer of a launch that would need it.
func (s *Service) price(ctx context.Context, c protocol.Challenge) (protocol.Micros, error) {
	unknown := protocol.ErrJobLayout
	because := func(format string, args ...any) (protocol.Micros, error) {
		return 0, unknown.Detailf("No price is known for %s: %s", c.Compute.Flavor, fmt.Sprintf(format, args...))
	}
	provider, ok := s.Providers[c.Compute.Provider]
	if !ok {
		return because("the arena is not set up for provider %s", c.Compute.Provider)
	}
	ctx, cancel := context.WithTimeout(ctx, s.Timing.ProviderCall)
	defer cancel()
	flavors, err := provider.Hardware(ctx)
	if err != nil {
		s.Logger.Warn("reading hardware prices failed", "provider", provider.Name(), "error", err)
		unknown = protocol.ErrProviderAway.After(30 * time.Second) // which passes, so nothing is wrong with the request
		if e, ok := errors.AsType[*protocol.Error](err); ok && e.RetryAfter > 0 {
			unknown = unknown.After(e.RetryAfter)
		}
		return because("provider %s does not answer right now. Nothing was reserved; try again in %s.", provider.Name(), unknown.RetryAfter)
	}
	for _, f := range flavors {
		if f.Name == c.Compute.Flavor {
			return f.PricePerHour, nil
		}
	}
	return because("provider %s has no flavor %s", c.Compute.Provider, c.Compute.Flavor)
}
