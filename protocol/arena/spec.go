package arena

import (
	"context"
	"fmt"
	"io/fs"
	"slices"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/compose"
	"github.com/posttrainarena/arena/protocol/jobs"
)

// trainingTasks are the names of a collection's eligible tasks, sorted.
func trainingTasks(col protocol.Collection) []string {
	var names []string
	for name := range col.Static.TaskIdentity {
		if _, excluded := col.Static.Excluded[name]; !excluded {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// spec renders what the run's job executes.
func (s *Service) spec(ctx context.Context, run protocol.Run) (jobs.Spec, error) {
	c, err := s.Challenge(run.Challenge)
	if err != nil {
		return jobs.Spec{}, err
	}
	col, err := s.Collection(ctx, run.Collection)
	if err != nil {
		return jobs.Spec{}, err
	}
	train := trainingTasks(col)
	sealed := map[string][]string{}
	for _, suite := range c.Suites {
		sealed[suite.ID] = s.Sealed[suite.ID].Evaluated()
	}
	config, err := compose.RunConfig(s.Configs, c.ID, compose.Run{ID: run.ID, Collection: col.ID, Source: col.Source})
	if err != nil {
		return jobs.Spec{}, fmt.Errorf("render the pipeline config of %s: %w", run.ID, err)
	}
	lists, err := compose.TaskLists(s.Configs, c.ID, train, sealed)
	if err != nil {
		return jobs.Spec{}, fmt.Errorf("render the task lists of %s: %w", run.ID, err)
	}
	uploaded, err := s.uploaded(ctx, col.Source)
	if err != nil {
		return jobs.Spec{}, fmt.Errorf("open the collection of %s: %w", run.ID, err)
	}
	return jobs.Spec{
		Run: run.ID, Flavor: run.Flavor, Timeout: run.Timeout, Config: config, Files: lists, Collection: uploaded,
		Simulation: jobs.Simulation{
			Challenge: c, Revision: run.Revision, Source: snapshotSource(run), Train: train, Sealed: sealed,
		},
	}, nil
}

// uploaded opens a collection that nobody but the arena has; nil for one that a
// code host keeps.
func (s *Service) uploaded(ctx context.Context, source protocol.Source) (fs.FS, error) {
	if source.RepoType != protocol.RepoBundle {
		return nil, nil
	}
	files, _, err := s.Bundle(ctx, source.Revision)
	return files, err
}

// snapshotSource is where a job finds the pinned collection.
func snapshotSource(run protocol.Run) string {
	return "bundle/submissions/" + run.Collection + "/" + run.Revision
}
