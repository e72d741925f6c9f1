package arena

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/posttrainarena/arena/configs"
	"github.com/posttrainarena/arena/gates"
	"github.com/posttrainarena/arena/gates/overlap"
	"github.com/posttrainarena/arena/gates/task"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/hub"
	"github.com/posttrainarena/arena/protocol/joblog"
	"github.com/posttrainarena/arena/protocol/jobs"
)

// Config is what a service is made of. Everything that it cannot decide by
// itself is passed in: the clock, the store, the outside world.
type Config struct {
	Store          Store
	Configs        configs.Config // what run configs are rendered from
	Challenges     []protocol.Challenge
	Sealed         map[string]protocol.SealedSuite // by suite id
	Providers      map[string]jobs.Provider        // by name
	Hosts          map[protocol.RepoType]hub.Host  // bundles need none
	People         hub.People                      // who vouches for tokens that are not the arena's own; nil when nobody does
	PeopleCache    time.Duration                   // how long its answers are remembered
	Issues         []joblog.KnownIssue
	Limits         task.Limits // of collections
	ArtifactLimits task.Limits // of what a job uploads, for each part of it
	Gates          gates.Options
	JobURL         string   // where jobs on other machines reach the arena; empty when they cannot
	ExtraTracks    []string // tracks that no challenge uses
	PerHour        PerHour
	Cap            protocol.Micros // what may be committed in all
	Prior          protocol.Micros // spent before the ledger began
	Now            func() time.Time
	Logger         *slog.Logger
	Timing         Timing
	Patience       protocol.Patience        // when a run that waits counts as stalled
	Judged         func(took time.Duration) // told how long the static gates took; nil when nobody wants to know
}

// PerHour bounds what one account may ask for in an hour; 0 means no bound.
type PerHour struct {
	Validations int
	Messages    int
}

// Timing is how patient the service is.
type Timing struct {
	ProviderCall time.Duration // limit of one call to a provider
	LogFlush     time.Duration // how long log lines may wait for company before they are stored
	Retry        time.Duration // pause after a failed call to a provider; doubles up to a minute
	Reconcile    time.Duration // how often launches without a confirmed job are looked for
}

// DefaultTiming is the timing of a real arena.
func DefaultTiming() Timing {
	return Timing{ProviderCall: 60 * time.Second, LogFlush: 250 * time.Millisecond, Retry: 2 * time.Second, Reconcile: 30 * time.Second}
}

// Service keeps the protocol's promises. It embeds the store's reader, so that
// plain reads need no method of their own. It is safe for concurrent use.
type Service struct {
	Reader
	Config

	byChallenge map[string]protocol.Challenge
	sealedIndex *overlap.Index // over every suite that a runnable challenge evaluates
	redactor    *joblog.Redactor

	launches singleflight.Group // by run id: at most one conversation with the provider about starting it
	held     held
	events   signal // woken when an event was written
	logs     signal // woken when lines or the end of a log were stored
	watchers watchers
	boards   boardCache
	metrics  asOf[protocol.Metrics]
	tallies  asOf[protocol.RunTally]
	tries    triesCache

	judging     chan struct{} // holds one for each collection that gates are at work on
	validations quota
	messages    quota
	vouched     vouched
	openings    openings
}

// New checks a configuration and makes the service. It starts nothing: Watch does.
func New(cfg Config) (*Service, error) {
	if cfg.Store == nil || cfg.Now == nil || cfg.Logger == nil {
		return nil, errors.New("arena service needs a store, a clock and a logger")
	}
	s := &Service{Reader: cfg.Store, Config: cfg, byChallenge: map[string]protocol.Challenge{}}
	protocol.SortChallenges(s.Challenges)
	var suites []overlap.Suite
	var sealedNames []string
	for _, c := range s.Challenges {
		if _, twice := s.byChallenge[c.ID]; twice {
			return nil, fmt.Errorf("challenge %s is configured twice", c.ID)
		}
		s.byChallenge[c.ID] = c
		if c.Status != protocol.StatusOpen {
			continue
		}
		if err := protocol.CheckSuites(c, cfg.Sealed); err != nil {
			return nil, err
		}
		if _, ok := cfg.Providers[c.Compute.Provider]; !ok && c.RunsPaused == "" {
			return nil, fmt.Errorf("challenge %s runs on provider %q, which arena.toml does not set up", c.ID, c.Compute.Provider)
		}
	}
	for id, suite := range cfg.Sealed {
		suites = append(suites, overlapSuite(id, suite))
		for _, t := range suite.Tasks {
			sealedNames = append(sealedNames, t.Name)
		}
	}
	s.sealedIndex = overlap.NewIndex(suites)
	s.redactor = joblog.NewRedactor(sealedNames)
	s.watchers.running, s.watchers.retries = map[string]bool{}, map[string]time.Time{}
	s.watchers.streams = map[string]chan struct{}{}
	// Gates compute for as long as they are let. Each collection gets one processor, and
	// one is left for everybody else, who would wait behind them.
	s.judging, s.Gates.Workers = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1)), 1
	s.validations = quota{what: "validations", perHour: cfg.PerHour.Validations}
	s.messages = quota{what: "messages", perHour: cfg.PerHour.Messages}
	return s, nil
}

func overlapSuite(id string, s protocol.SealedSuite) overlap.Suite {
	out := overlap.Suite{ID: id}
	for _, t := range s.Tasks {
		out.Tasks = append(out.Tasks, overlap.SealedTask{Name: t.Name, Prompt: t.Prompt, Evaluated: t.Evaluated})
	}
	return out
}

// Challenge returns the configuration of a challenge, or ErrNoChallenge.
func (s *Service) Challenge(id string) (protocol.Challenge, error) {
	c, ok := s.byChallenge[id]
	if !ok {
		return c, protocol.ErrNoChallenge.Detailf("There is no challenge %q. GET /api/challenges lists them.", id)
	}
	return c, nil
}

// Simulated reports whether every run of this arena is played, not trained.
func (s *Service) Simulated() bool {
	for name := range s.Providers {
		if name != simulatedProvider {
			return false
		}
	}
	return true
}

// simulatedProvider is the name of the provider that plays runs.
const simulatedProvider = "simulated"

// now is the service's time, in UTC.
func (s *Service) now() time.Time { return s.Now().UTC() }

// watchers knows which runs are being followed, so that none is followed twice.
type watchers struct {
	mu      sync.Mutex
	running map[string]bool
	wg      sync.WaitGroup
	ctx     context.Context          // of Watch; nil before it
	streams map[string]chan struct{} // logs that are being read, by run; closed to cut one off
	tick    time.Time                // when the reconciler looks at every live run again
	retries map[string]time.Time     // when watchers that could not reach a provider try again, by run
}

// start runs f for a run unless that run is followed already or Watch has not
// begun. The goroutine ends with the context of Watch.
func (w *watchers) start(run string, f func(context.Context)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx == nil || w.ctx.Err() != nil || w.running[run] {
		return
	}
	w.running[run] = true
	w.wg.Go(func() {
		defer func() {
			w.mu.Lock()
			delete(w.running, run)
			delete(w.retries, run)
			w.mu.Unlock()
		}()
		f(w.ctx)
	})
}
