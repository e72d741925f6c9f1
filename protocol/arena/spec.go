package arena

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"time"

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
	source, uploaded := col.Source, fs.FS(nil)
	if mirror, ok := s.Providers[run.Provider].(jobs.Mirror); ok {
		source, err = s.mirror(ctx, mirror, col)
	} else {
		uploaded, err = s.uploaded(ctx, col.Source)
	}
	if err != nil {
		return jobs.Spec{}, fmt.Errorf("open the collection of %s: %w", run.ID, err)
	}
	config, err := compose.RunConfig(s.Configs, c.ID, compose.Run{ID: run.ID, Collection: col.ID, Source: source})
	if err != nil {
		return jobs.Spec{}, fmt.Errorf("render the pipeline config of %s: %w", run.ID, err)
	}
	lists, err := compose.TaskLists(s.Configs, c.ID, train, sealed)
	if err != nil {
		return jobs.Spec{}, fmt.Errorf("render the task lists of %s: %w", run.ID, err)
	}
	boot, _, err := s.bootstrap(run)
	if err != nil {
		return jobs.Spec{}, err
	}
	return jobs.Spec{
		Image: boot.Image, Command: boot.Command, Env: boot.Env,
		Run: run.ID, Flavor: run.Flavor, Timeout: run.Timeout, Config: config, Files: lists, Collection: uploaded,
		Simulation: jobs.Simulation{
			Challenge: c, Revision: run.Revision, Source: snapshotSource(run), Train: train, Sealed: sealed,
		},
	}, nil
}

// mirror copies a collection to where a provider's jobs read it. Nothing was started
// when it fails: what the collection's own place refuses ends the launch, everything
// else is worth another try.
func (s *Service) mirror(ctx context.Context, to jobs.Mirror, col protocol.Collection) (protocol.Source, error) {
	ctx, cancel := context.WithTimeout(ctx, mirrorTime)
	defer cancel()
	files, paths, release, err := s.files(ctx, col.Source)
	if err != nil {
		kind := protocol.AsError(err).Kind
		if kind == protocol.KindInvalid || kind == protocol.KindBadGateway {
			return protocol.Source{}, fmt.Errorf("%w: %w", jobs.ErrRefused, err)
		}
		return protocol.Source{}, fmt.Errorf("%w: %w", jobs.ErrUnreachable, err)
	}
	defer release()
	source, err := to.Mirror(ctx, col.ID, col.Source, paths, files)
	if err != nil {
		return source, fmt.Errorf("copy it for the job: %w", err)
	}
	return source, nil
}

// mirrorTime bounds how long a collection may take to be copied for a job.
const mirrorTime = 10 * time.Minute

// files opens a collection wherever it lives, with the paths of its files, links left out.
func (s *Service) files(ctx context.Context, source protocol.Source) (fs.FS, []string, func(), error) {
	var entries []protocol.TreeFile
	var files fs.FS
	release := func() {}
	if source.RepoType == protocol.RepoBundle {
		bundle, all, err := s.Bundle(ctx, source.Revision)
		if err != nil {
			return nil, nil, nil, err
		}
		files, entries = bundle, all
	} else {
		host := s.Hosts[source.RepoType]
		if host == nil {
			return nil, nil, nil, protocol.ErrUnavailable.Detailf("This arena cannot read collections of the kind %q.", source.RepoType)
		}
		snapshot, err := host.Open(ctx, source)
		if err != nil {
			return nil, nil, nil, err
		}
		files, entries = snapshot.Files, snapshot.Entries
		release = func() { _ = snapshot.Release() }
	}
	var paths []string
	for _, e := range entries {
		if e.Kind == protocol.FileRegular || e.Kind == protocol.FileExecutable {
			paths = append(paths, e.Path)
		}
	}
	return files, paths, release, nil
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
