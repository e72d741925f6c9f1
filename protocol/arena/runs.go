package arena

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/posttrainarena/arena/gates/overlap"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/compose"
	"github.com/posttrainarena/arena/protocol/jobs"
)

// Preflight makes every check that a launch would make, on the same facts and
// by the same rule. It reserves nothing.
func (s *Service) Preflight(ctx context.Context, who protocol.Identity, challenge, collection string) (protocol.Preflight, error) {
	r, err := s.reservation(ctx, who, challenge, collection)
	if err != nil {
		return protocol.Preflight{}, err
	}
	facts, err := s.LaunchFacts(ctx, r)
	if err != nil {
		return protocol.Preflight{}, err
	}
	p := protocol.CheckLaunch(facts, who, s.now())
	p.Limits.PerHour = s.HourLimits(who)
	return p, nil
}

// reservation gathers what a launch needs to know from outside the store.
func (s *Service) reservation(ctx context.Context, who protocol.Identity, challenge, collection string) (protocol.Reservation, error) {
	c, err := s.Challenge(challenge)
	if err != nil {
		return protocol.Reservation{}, err
	}
	col, err := s.Collection(ctx, collection)
	if err != nil {
		return protocol.Reservation{}, err
	}
	price, priceError := s.price(ctx, c)
	return protocol.Reservation{
		Who: who, Collection: collection, Challenge: c, Provider: c.Compute.Provider, Image: compose.Image(s.Configs, c.Compute.Provider), Price: price, PriceError: priceError,
		SealedNames: s.sealedNames(c, col), Cap: s.Cap, Prior: s.Prior,
	}, nil
}

// sealedNames counts the collection's tasks that have the name of a task the
// challenge evaluates. Validation refuses such a collection, but a suite may
// have changed since.
func (s *Service) sealedNames(c protocol.Challenge, col protocol.Collection) int {
	sealed := map[string]bool{}
	for _, suite := range c.Suites {
		for _, name := range s.Sealed[suite.ID].Evaluated() {
			sealed[overlap.FoldName(name)] = true
		}
	}
	n := 0
	for name := range col.Static.TaskIdentity {
		if sealed[overlap.FoldName(name)] {
			n++
		}
	}
	return n
}

// LaunchRequest asks for a run.
type LaunchRequest struct {
	RequestID  string
	Collection string
	AgentID    string // empty when the person launches it
}

// Launch reserves a run and starts its job. The boolean says that the request
// was made before: the run is then the one of its first use, found or started
// again if the first try was lost. A *protocol.Error says in Launched whether
// anything was started.
func (s *Service) Launch(ctx context.Context, who protocol.Identity, by protocol.Actor, challenge string, req LaunchRequest) (protocol.Run, bool, error) {
	// A client that hangs up must not cut a launch in half.
	ctx = context.WithoutCancel(ctx)
	if err := protocol.CheckRequestID(req.RequestID); err != nil {
		return protocol.Run{}, false, refusedLaunch(err)
	}
	r, err := s.reservation(ctx, who, challenge, req.Collection)
	if err != nil {
		return protocol.Run{}, false, refusedLaunch(err)
	}
	r.RequestID, r.AgentID = req.RequestID, req.AgentID
	run, existing, err := s.Store.Reserve(ctx, by, r)
	if err != nil {
		return run, existing, refusedLaunch(err)
	}
	if !existing {
		s.events.wake()
		s.Logger.Info("run reserved", "run", run.ID, "collection", run.Collection, "challenge", run.Challenge, "usd", run.Reserved)
	}
	if run.JobID == "" && !run.State.Ended() {
		run, err = s.ensureJob(ctx, by, run.ID, !existing)
	}
	return run, existing, err
}

// refusedLaunch marks the failure of a launch that started nothing.
func refusedLaunch(err error) error {
	e := protocol.AsError(err)
	if e.Kind == protocol.KindInternal {
		return err
	}
	return e.Launch(protocol.LaunchedNo)
}

// ensureJob makes sure that a reserved run has its job, and never two: calls
// for one run share one conversation with the provider, and unless the
// reservation is fresh the provider is asked for the run's jobs first.
func (s *Service) ensureJob(ctx context.Context, by protocol.Actor, runID string, fresh bool) (protocol.Run, error) {
	v, err, _ := s.launches.Do(runID, func() (any, error) {
		run, err := s.Run(ctx, runID)
		if err != nil || run.JobID != "" || run.State.Ended() {
			return run, err
		}
		provider := s.Providers[run.Provider]
		if provider == nil {
			return run, protocol.ErrUnknownLaunch.Launch(protocol.LaunchedUnknown).Because(fmt.Errorf("provider %s is not set up", run.Provider))
		}
		if !fresh {
			adopted, found, err := s.adopt(ctx, by, run, provider)
			if err != nil || found {
				return adopted, err
			}
		}
		if run.CancelAsked != nil {
			return s.Store.LaunchRefused(ctx, by, run.ID, canceledUnstarted, protocol.FaultCanceled)
		}
		return s.startJob(ctx, by, run, provider)
	})
	run, _ := v.(protocol.Run)
	return run, err
}

// startJob asks the provider for the run's job and records the answer. An
// answer that leaves the outcome open keeps the reservation.
func (s *Service) startJob(ctx context.Context, by protocol.Actor, run protocol.Run, provider jobs.Provider) (protocol.Run, error) {
	job, err := s.askForJob(ctx, by, run, provider)
	switch {
	case err == nil:
		return s.recordJob(ctx, by, run, job)
	case errors.Is(err, jobs.ErrRefused):
		s.Logger.Warn("the provider refused a job", "run", run.ID, "provider", provider.Name(), "error", err)
		answer, reason, fault := protocol.ErrRefused, "The provider refused the job; nothing was started and nothing was spent.", protocol.FaultPlatform
		if e, ok := errors.AsType[*protocol.Error](err); ok { // the collection's own place did, before anybody was asked for a job
			answer, reason = e.Detailf("%s Nothing was started and the reservation was released.", e.Detail), e.Detail+" Nothing was started and nothing was spent."
			if e.Kind == protocol.KindInvalid {
				fault = protocol.FaultCollection
			}
		}
		run, storeErr := s.Store.LaunchRefused(ctx, by, run.ID, reason, fault)
		if storeErr != nil {
			return run, storeErr
		}
		s.events.wake()
		return run, answer.Launch(protocol.LaunchedNo).Because(err)
	case errors.Is(err, errNotAsked):
		return run, err
	case errors.Is(err, jobs.ErrUnreachable) && !errors.Is(err, jobs.ErrUnknown):
		s.Logger.Warn("a launch could not start its job yet", "run", run.ID, "provider", provider.Name(), "error", err)
		return s.notYet(ctx, by, run, err)
	default:
		s.Logger.Warn("the provider left a launch open", "run", run.ID, "provider", provider.Name(), "error", err)
		return run, protocol.ErrUnknownLaunch.Launch(protocol.LaunchedUnknown).After(5 * time.Second).Because(err)
	}
}

// longestHold is how long after its reservation a run without a job may keep
// everybody else out, because its provider asks to wait.
const longestHold = 15 * time.Minute

// notYet answers a launch that failed before its provider could have started
// anything. The run keeps its place until the identical request can go on; when that
// would be too long, it ends here.
func (s *Service) notYet(ctx context.Context, by protocol.Actor, run protocol.Run, cause error) (protocol.Run, error) {
	answer, why := protocol.ErrProviderAway.After(5*time.Second), "The compute provider cannot be reached, so no job was started yet."
	if e, ok := errors.AsType[*protocol.Error](cause); ok && e.Kind == protocol.KindUnavailable { // it, or the collection's own place, says why and until when
		answer, why = e, "No job was started yet. "+e.Detail
	}
	answer = answer.Launch(protocol.LaunchedNo).Because(cause)
	again := s.now().Add(answer.RetryAfter)
	if again.Sub(run.CreatedAt) <= longestHold {
		s.held.keep(run.ID, again)
		return run, answer.Detailf("%s The reservation is kept: repeat the identical request.", why)
	}
	run, err := s.Store.LaunchRefused(ctx, by, run.ID, why+" Nothing was spent. Start again with a new request_id.", protocol.FaultPlatform)
	if err != nil {
		return run, err
	}
	s.events.wake()
	answer.RetrySame = false
	return run, answer.Detailf("%s That is too long to keep everybody else waiting, so the reservation was released: launch again then, with a new request_id.", why)
}

// held is until when a run without a job waits for its request to be repeated. One
// run is active at a time, so one is all there is to know.
type held struct {
	mu    sync.Mutex
	run   string
	until time.Time
}

func (h *held) keep(run string, until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.run, h.until = run, until
}

// since is the moment from which a run without a job may be looked into, once a
// launch in progress has had its time.
func (h *held) since(run protocol.Run) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.run == run.ID && h.until.After(run.CreatedAt) {
		return h.until
	}
	return run.CreatedAt
}

// errNotAsked is a failure of the arena itself: no provider was asked for anything.
var errNotAsked = errors.New("no job was asked for")

// askForJob prepares a run's job and asks for it. Its errors are the provider's, or
// errNotAsked.
func (s *Service) askForJob(ctx context.Context, by protocol.Actor, run protocol.Run, provider jobs.Provider) (jobs.Job, error) {
	spec, err := s.spec(ctx, run)
	if err != nil {
		if errors.Is(err, jobs.ErrRefused) || errors.Is(err, jobs.ErrUnreachable) {
			return jobs.Job{}, err
		}
		return jobs.Job{}, errors.Join(errNotAsked, err)
	}
	if spec.Secrets, err = s.relaySecrets(ctx, by, run); err != nil {
		return jobs.Job{}, errors.Join(errNotAsked, err)
	}
	call, cancel := context.WithTimeout(ctx, s.Timing.ProviderCall)
	defer cancel()
	return provider.Start(call, spec)
}

// adopt looks for a job that an earlier, unconfirmed launch left with the
// provider. The boolean says that there is one, now recorded as the run's. Not
// found with a nil error is proof that there is none.
func (s *Service) adopt(ctx context.Context, by protocol.Actor, run protocol.Run, provider jobs.Provider) (protocol.Run, bool, error) {
	call, cancel := context.WithTimeout(ctx, s.Timing.ProviderCall)
	defer cancel()
	found, err := provider.Find(call, run.ID)
	if err != nil {
		return run, false, protocol.ErrUnknownLaunch.Launch(protocol.LaunchedUnknown).After(5 * time.Second).Because(err)
	}
	if len(found) == 0 {
		return run, false, nil
	}
	if len(found) > 1 {
		s.Logger.Error("the provider has several jobs for one run; adopting the first and canceling the others", "run", run.ID, "jobs", len(found))
		for _, other := range found[1:] {
			if err := provider.Cancel(call, other.ID); err != nil {
				s.Logger.Error("a second job of a run could not be canceled", "run", run.ID, "job", other.ID, "error", err)
			}
		}
	}
	run, err = s.recordJob(ctx, by, run, found[0])
	return run, err == nil, err
}

// recordJob stores that a run has its job and begins to follow it.
func (s *Service) recordJob(ctx context.Context, by protocol.Actor, run protocol.Run, job jobs.Job) (protocol.Run, error) {
	started := job.StartedAt
	if started.IsZero() {
		started = job.CreatedAt
	}
	recorded, err := s.Store.JobStarted(ctx, by, run.ID, protocol.Job{ID: job.ID, Status: string(job.Status), URL: job.URL, StartedAt: started})
	if err != nil {
		s.Logger.Error("a started job could not be recorded; the reconciler will adopt it", "run", run.ID, "job", job.ID, "error", err)
		return run, protocol.ErrUnknownLaunch.Launch(protocol.LaunchedUnknown).After(5 * time.Second).Because(err)
	}
	s.events.wake()
	s.Logger.Info("job started", "run", run.ID, "job", job.ID, "provider", run.Provider)
	s.follow(recorded)
	return recorded, nil
}

// RunOn returns a run of a challenge, or ErrNoRun.
func (s *Service) RunOn(ctx context.Context, challenge, runID string) (protocol.Run, error) {
	if _, err := s.Challenge(challenge); err != nil {
		return protocol.Run{}, err
	}
	run, err := s.Run(ctx, runID)
	if err == nil && run.Challenge != challenge {
		err = protocol.ErrNoRun
	}
	return run, err
}

// Cancel asks the provider to stop a run. It is idempotent: an ended run is
// returned as it is. The run becomes canceled when the provider confirms it.
func (s *Service) Cancel(ctx context.Context, who protocol.Identity, by protocol.Actor, challenge, runID string) (protocol.Run, error) {
	ctx = context.WithoutCancel(ctx) // as in Launch
	run, err := s.RunOn(ctx, challenge, runID)
	if err != nil {
		return run, err
	}
	if !who.MayAct(run.Author) {
		return run, protocol.ErrNotAuthor
	}
	if run.State.Ended() {
		return run, nil
	}
	run, err = s.Store.CancelAsked(ctx, by, run.ID)
	if err != nil {
		return run, err
	}
	s.events.wake()
	if run.JobID == "" {
		return s.cancelUnstarted(ctx, by, run)
	}
	return s.stopJob(ctx, run), nil
}

// stopJob passes a cancel on to the provider and records that it took it. The
// request is on record, so one that the provider did not hear is repeated by
// Watch until the job has ended. It returns the run as it is then.
func (s *Service) stopJob(ctx context.Context, run protocol.Run) protocol.Run {
	provider := s.Providers[run.Provider]
	if provider == nil {
		s.Logger.Warn("a cancel waits for its provider to be set up", "run", run.ID, "provider", run.Provider)
		return run
	}
	call, cancel := context.WithTimeout(ctx, s.Timing.ProviderCall)
	defer cancel()
	if err := provider.Cancel(call, run.JobID); err != nil && !errors.Is(err, jobs.ErrNoJob) {
		s.Logger.Warn("the provider did not take a cancel", "run", run.ID, "error", err)
		return run
	}
	if run.CancelTaken != nil {
		return run
	}
	taken, err := s.Store.CancelTaken(ctx, run.ID)
	if err != nil {
		s.Logger.Warn("could not record that the provider took a cancel", "run", run.ID, "error", err)
		return run
	}
	s.events.wake()
	return taken
}

// canceledUnstarted is the reason of a run that was canceled before its job
// existed.
const canceledUnstarted = "Canceled before a job was started; nothing was spent."

// cancelUnstarted cancels a run whose job was never confirmed: proved absent,
// its reservation is released; found, the job is adopted and stopped.
func (s *Service) cancelUnstarted(ctx context.Context, by protocol.Actor, run protocol.Run) (protocol.Run, error) {
	var out protocol.Run
	var err error
	mine := false
	// A launch that is under way answers for itself: what it left open is still to
	// be canceled.
	for !mine && out.JobID == "" && !out.State.Ended() {
		var v any
		v, err, _ = s.launches.Do(run.ID, func() (any, error) {
			mine = true
			run, err := s.Store.Run(ctx, run.ID) // it may have ended meanwhile
			if err != nil || run.JobID != "" || run.State.Ended() {
				return run, err
			}
			provider := s.Providers[run.Provider]
			away := protocol.ErrProviderAway.Detailf("The compute provider cannot be reached right now. The cancel is on record and is passed on as soon as it can be.")
			if provider == nil {
				return run, away
			}
			adopted, found, err := s.adopt(ctx, by, run, provider)
			if err != nil {
				return run, away.Because(err)
			}
			if found {
				return adopted, nil
			}
			return s.Store.LaunchRefused(ctx, by, run.ID, canceledUnstarted, protocol.FaultCanceled)
		})
		out, _ = v.(protocol.Run)
	}
	if !mine {
		err = nil
	}
	s.events.wake()
	if err == nil && out.JobID != "" && !out.State.Ended() {
		out = s.stopJob(ctx, out)
	}
	return out, err
}
