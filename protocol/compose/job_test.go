package compose_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/protocol/compose"
)

// TestClusterJob renders a pod with and without an arena that it can reach. Secrets
// are there by name alone, also those that the configuration has a value for.
func TestClusterJob(t *testing.T) {
	cfg := defaults(t)
	k := &cfg.Arena.Providers.Kubernetes
	k.Image, k.Command = "registry.example.org/pipeline:1", []string{"train", "--config"}
	k.Environment = map[string]string{"HF_HOME": "/arena/run/cache", "HF_TOKEN": "canary"}
	k.Secrets = map[string]string{"HF_TOKEN": "hub/token"}
	want := compose.Bootstrap{
		Image: k.Image, Command: []string{"train", "--config", "/arena/run/config.toml"},
		Env: map[string]string{"HF_HOME": "/arena/run/cache"}, Secrets: []string{"HF_TOKEN"},
	}
	if diff := cmp.Diff(want, compose.ClusterJob(cfg, "challenge-1", "")); diff != "" {
		t.Errorf("without an address (-want +got):\n%s", diff)
	}
	want.Env = map[string]string{
		"HF_HOME": "/arena/run/cache", "ARENA_URL": "https://arena.example.org", "ARENA_RUN_ID": "challenge-1",
		"ARENA_RELAY_URL": "https://arena.example.org/relay/challenge-1/v1",
	}
	want.Secrets = []string{compose.SecretRelayModel, compose.SecretRelayJob, "HF_TOKEN"}
	for range 2 { // what it is made from stays as it is
		if diff := cmp.Diff(want, compose.ClusterJob(cfg, "challenge-1", "https://arena.example.org/")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
