package arena

import (
	"bytes"
	"context"
	"fmt"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/compose"
)

// RunPlan is what the job of a run executes, for somebody to look at.
type RunPlan struct {
	Run       protocol.Run
	Config    []byte
	TaskLists map[string]int     // how many tasks each list names; sealed ones are named nowhere here
	Job       *compose.Bootstrap // nil where the pipeline is not started on another machine
}

// Plan renders what the job of a run executes, as a launch does it. It asks nobody
// and makes no secret.
func (s *Service) Plan(ctx context.Context, who protocol.Identity, challenge, runID string) (RunPlan, error) {
	run, err := s.RunOn(ctx, challenge, runID)
	if err != nil {
		return RunPlan{}, err
	}
	if !who.MayAct(run.Author) {
		return RunPlan{}, protocol.ErrNotAuthor
	}
	col, err := s.Collection(ctx, run.Collection)
	if err != nil {
		return RunPlan{}, err
	}
	plan := RunPlan{Run: run, TaskLists: map[string]int{}}
	if plan.Config, err = compose.RunConfig(s.Configs, challenge, compose.Run{ID: run.ID, Collection: col.ID, Source: col.Source}); err != nil {
		return plan, fmt.Errorf("render the pipeline config of %s: %w", run.ID, err)
	}
	c, err := s.Challenge(challenge)
	if err != nil {
		return plan, err
	}
	sealed := map[string][]string{}
	for _, suite := range c.Suites {
		sealed[suite.ID] = s.Sealed[suite.ID].Evaluated()
	}
	lists, err := compose.TaskLists(s.Configs, challenge, trainingTasks(col), sealed)
	if err != nil {
		return plan, fmt.Errorf("render the task lists of %s: %w", run.ID, err)
	}
	for name, list := range lists {
		plan.TaskLists[name] = bytes.Count(list, []byte("\n"))
	}
	job, elsewhere, err := s.bootstrap(run)
	if err != nil {
		return plan, err
	}
	if elsewhere {
		plan.Job = &job
	}
	return plan, nil
}
