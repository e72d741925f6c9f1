package arena

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/jobs"
)

// Reconcile finds out what a crash left behind: it adopts or releases every
// reservation without a confirmed job, and follows every live job again. Call
// it before the arena reports ready. A provider that does not answer is not an
// error: its runs keep their reservations and Watch looks again.
func (s *Service) Reconcile(ctx context.Context) error {
	return s.reconcile(ctx, 0)
}

// Watch follows live jobs, repeats cancels that the provider may not have heard,
// and looks after unconfirmed launches until ctx ends, then waits for its
// goroutines.
func (s *Service) Watch(ctx context.Context) error {
	s.watchers.mu.Lock()
	s.watchers.ctx = ctx
	s.watchers.mu.Unlock()
	defer s.watchers.wg.Wait()
	tick := time.NewTicker(s.Timing.Reconcile)
	defer tick.Stop()
	for {
		s.watchers.plan(s.now().Add(s.Timing.Reconcile))
		// A launch in progress has a moment to finish before it is looked into.
		if err := s.reconcile(ctx, 2*s.Timing.ProviderCall); err != nil && ctx.Err() == nil {
			s.Logger.Error("reconciling failed", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// reconcile looks into the live runs whose launch, or its repetition, is at least
// grace ago.
func (s *Service) reconcile(ctx context.Context, grace time.Duration) error {
	if grace > 0 { // a start does not wait for what can wait
		s.lookForLate(ctx)
	}
	live, _, err := s.Runs(ctx, protocol.RunFilter{Live: true}, protocol.Page{Limit: protocol.MaxPage})
	if err != nil {
		return err
	}
	for _, run := range live {
		switch {
		case run.JobID != "":
			s.follow(run)
			if run.CancelAsked != nil {
				s.stopJob(ctx, run)
			}
			s.probe(ctx, run)
		case run.CancelAsked != nil, s.now().Sub(s.held.since(run)) >= grace, s.now().Before(run.CreatedAt): // the clock may have been set back since
			s.settleUnconfirmed(ctx, run)
		}
	}
	return nil
}

// lateJobs is how long after its launch a run that was given up is looked after: a
// job of it that turns up so late is nobody's, and costs money.
const lateJobs = 24 * time.Hour

// lookForLate cancels jobs of runs that were given up because the provider listed
// none: the request for one may have been on its way for longer than anybody waits.
// What they cost is recorded once they have ended.
func (s *Service) lookForLate(ctx context.Context) {
	recent, _, err := s.Runs(ctx, protocol.RunFilter{}, protocol.Page{Limit: lateRuns})
	if err != nil {
		s.Logger.Error("could not look for late jobs", "error", err)
		return
	}
	for _, run := range recent {
		provider := s.Providers[run.Provider]
		if run.JobID != "" && run.LateBill == nil || !run.State.Ended() || provider == nil || s.now().Sub(run.CreatedAt) > lateJobs {
			continue
		}
		call, cancel := context.WithTimeout(ctx, s.Timing.ProviderCall)
		found, err := provider.Find(call, run.ID)
		over := 0
		for _, job := range found {
			if job.Status.Ended() {
				over++
				continue
			}
			err = errors.Join(err, provider.Cancel(call, job.ID))
			s.Logger.Error("canceled a job that turned up after its run was given up", "run", run.ID, "job", job.ID)
		}
		cancel()
		if over == len(found) {
			err = errors.Join(err, s.recordLate(ctx, run, found))
		}
		if err != nil && ctx.Err() == nil {
			s.Logger.Warn("could not look for late jobs of a run", "run", run.ID, "error", err)
		}
	}
}

// recordLate has the ledger know what the jobs cost that turned up after their run
// was given up: they are recorded once and as one, because a run has one job.
func (s *Service) recordLate(ctx context.Context, run protocol.Run, found []jobs.Job) error {
	var cost protocol.Micros
	var ended time.Time
	for _, job := range found {
		cost += protocol.Cost(run.Price, job.Billed)
		if job.EndedAt.After(ended) {
			ended = job.EndedAt
		}
	}
	if cost == 0 || run.LateBill != nil {
		return nil
	}
	if ended.IsZero() {
		ended = s.now()
	}
	job := protocol.Job{ID: found[0].ID, Status: string(found[0].Status), URL: found[0].URL, StartedAt: found[0].StartedAt}
	if job.StartedAt.IsZero() {
		job.StartedAt = found[0].CreatedAt
	}
	reason := fmt.Sprintf("The launch was given up because the provider had no job for it. A job turned up later and was stopped; it cost $%s.", cost)
	if err := s.Store.LateJob(ctx, protocol.Actor{Name: protocol.ActorArena}, run.ID, job, reason, cost, ended); err != nil {
		return err
	}
	s.events.wake()
	return nil
}

// lateRuns is how many of the newest runs are looked after.
const lateRuns = 20

// settleUnconfirmed adopts the job of a run whose launch was never confirmed,
// or releases its reservation when the provider proves that there is none.
func (s *Service) settleUnconfirmed(ctx context.Context, run protocol.Run) {
	by := protocol.Actor{Name: protocol.ActorArena}
	_, err, _ := s.launches.Do(run.ID, func() (any, error) {
		run, err := s.Run(ctx, run.ID)
		if err != nil || run.JobID != "" || run.State.Ended() {
			return run, err
		}
		provider := s.Providers[run.Provider]
		if provider == nil {
			return run, protocol.ErrProviderAway.Detailf("Provider %s is not set up, so the launch of %s stays open.", run.Provider, run.ID)
		}
		adopted, found, err := s.adopt(ctx, by, run, provider)
		if err != nil {
			now := s.now()
			if run.UnreachableFrom == nil {
				_ = s.Store.Unreachable(ctx, run.ID, &now)
			}
			return run, err
		}
		if found {
			s.Logger.Info("adopted the job of an unconfirmed launch", "run", run.ID)
			return adopted, nil // a launch that is repeated at this moment answers with it
		}
		if run.CancelAsked != nil {
			return s.Store.LaunchRefused(ctx, by, run.ID, canceledUnstarted, protocol.FaultCanceled)
		}
		s.Logger.Info("released an unconfirmed launch: the provider has no job for it", "run", run.ID)
		return s.Store.LaunchRefused(ctx, by, run.ID, "The launch was interrupted before a job existed; nothing was spent. Start again with a new request_id.", protocol.FaultPlatform)
	})
	s.events.wake()
	if err != nil {
		s.Logger.Warn("a launch stays open", "run", run.ID, "error", err)
	}
}
