package arena

import (
	"context"
	"sync"

	"golang.org/x/sync/singleflight"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/artifacts"
)

// forecastRuns is how many of a collection's newest runs a forecast counts.
const forecastRuns = 20

// Forecast says how much of a collection can teach the challenge's base model,
// from the attempts of the collection's earlier runs there; nil when there are
// none. The collection is pinned, so they were attempts at the same tasks. Which
// task is how hard is for its author and editors; everybody else gets the sums.
func (s *Service) Forecast(ctx context.Context, who protocol.Identity, challenge, collection string) (*artifacts.Forecast, error) {
	c, ok := s.byChallenge[challenge]
	if !ok {
		return nil, nil
	}
	runs, _, err := s.Runs(ctx, protocol.RunFilter{Challenge: challenge, Collection: collection}, protocol.Page{Limit: forecastRuns})
	if err != nil {
		return nil, err
	}
	return s.forecast(ctx, who, c, runs)
}

// RunForecast is Forecast from the attempts of one run.
func (s *Service) RunForecast(ctx context.Context, who protocol.Identity, run protocol.Run) (*artifacts.Forecast, error) {
	c, ok := s.byChallenge[run.Challenge]
	if !ok {
		return nil, nil
	}
	return s.forecast(ctx, who, c, []protocol.Run{run})
}

// forecast adds up the attempts of runs of one collection.
func (s *Service) forecast(ctx context.Context, who protocol.Identity, c protocol.Challenge, runs []protocol.Run) (*artifacts.Forecast, error) {
	sum := map[string]artifacts.Tries{}
	for _, run := range runs {
		tries, err := s.triesOf(ctx, run)
		if err != nil {
			return nil, err
		}
		for task, t := range tries {
			sum[task] = artifacts.Tries{Passed: sum[task].Passed + t.Passed, Tried: sum[task].Tried + t.Tried}
		}
	}
	if len(sum) == 0 {
		return nil, nil
	}
	f := artifacts.NewForecast(sum, c.Recipe.NumGenerations)
	if !who.MayAct(runs[0].Author) {
		f.Tasks = []artifacts.TaskForecast{}
	}
	return &f, nil
}

// triesOf counts the attempts of an ended run at the collection's own tasks. Many
// look at a run when it ends, and to count takes hundreds of files: it is done once
// for all of them.
func (s *Service) triesOf(ctx context.Context, run protocol.Run) (map[string]artifacts.Tries, error) {
	if !run.State.Ended() || run.JobID == "" {
		return nil, nil
	}
	if tries, ok := s.tries.get(run.ID); ok {
		return tries, nil
	}
	tries, err, _ := s.tries.counting.Do(run.ID, func() (any, error) {
		return s.countTries(context.WithoutCancel(ctx), run)
	})
	if err != nil {
		return nil, err
	}
	return tries.(map[string]artifacts.Tries), nil
}

func (s *Service) countTries(ctx context.Context, run protocol.Run) (map[string]artifacts.Tries, error) {
	files, _, err := s.Artifacts(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	col, err := s.Collection(ctx, run.Collection)
	if err != nil {
		return nil, err
	}
	list, _ := artifacts.Attempts(files)
	tries := artifacts.CountTries(list)
	for task := range tries {
		if _, own := col.Static.TaskIdentity[task]; !own {
			delete(tries, task)
		}
	}
	s.tries.put(run.ID, tries)
	return tries, nil
}

// keptTries is how many runs' attempts are kept counted.
const keptTries = 500

// triesCache keeps the counted attempts of ended runs, which never change.
type triesCache struct {
	mu    sync.Mutex
	byRun map[string]map[string]artifacts.Tries

	counting singleflight.Group // by run
}

func (c *triesCache) get(run string) (map[string]artifacts.Tries, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	tries, ok := c.byRun[run]
	return tries, ok
}

func (c *triesCache) put(run string, tries map[string]artifacts.Tries) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byRun == nil || len(c.byRun) >= keptTries {
		c.byRun = map[string]map[string]artifacts.Tries{}
	}
	c.byRun[run] = tries
}
