package arena

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/compose"
	"github.com/posttrainarena/arena/protocol/jobs"
)

// far reports whether jobs of a provider run on machines that cannot be dialled, so
// that their models need the relay: those that share nothing with the arena, and those
// of a cluster, which share its storage alone.
func (s *Service) far(provider string) bool {
	return s.JobURL != "" && (s.mirrors(provider) || provider == compose.ProviderKubernetes)
}

// mirrors reports whether jobs of a provider read collections from a place of its own.
func (s *Service) mirrors(provider string) bool {
	_, ok := s.Providers[provider].(jobs.Mirror)
	return ok
}

// bootstrap renders what a run's job executes on another machine; false when it
// executes nothing there.
func (s *Service) bootstrap(run protocol.Run) (compose.Bootstrap, bool, error) {
	switch {
	case run.Provider == compose.ProviderKubernetes:
		return compose.ClusterJob(s.Configs, run.ID, s.JobURL), true, nil
	case s.far(run.Provider):
		job, err := compose.JobBootstrap(s.Configs, run.Challenge, run.ID, s.JobURL)
		return job, err == nil, err
	default:
		return compose.Bootstrap{}, false, nil
	}
}

// relaySecrets makes the secrets of a run that is about to get its job, by the
// names under which the job finds them. The arena keeps their hashes alone, so a
// job that turns up late, after another was asked for, has none that work.
func (s *Service) relaySecrets(ctx context.Context, by protocol.Actor, run protocol.Run) (map[string]string, error) {
	if !s.far(run.Provider) {
		return nil, nil
	}
	job, model := rand.Text()+rand.Text(), rand.Text()+rand.Text()
	if err := s.Store.OpenRelay(ctx, by, run.ID, sha256.Sum256([]byte(job)), sha256.Sum256([]byte(model))); err != nil {
		return nil, fmt.Errorf("make the secrets of %s: %w", run.ID, err)
	}
	return map[string]string{compose.SecretRelayJob: job, compose.SecretRelayModel: model}, nil
}
