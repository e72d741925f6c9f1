package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/posttrainarena/arena/configs"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/arena"
	"github.com/posttrainarena/arena/protocol/compose"
	"github.com/posttrainarena/arena/protocol/jobs"
	"github.com/posttrainarena/arena/protocol/jobs/hfjobs"
	"github.com/posttrainarena/arena/protocol/jobs/k8sjobs"
	"github.com/posttrainarena/arena/protocol/jobs/local"
)

// openProviders opens the providers that challenges which take runs need, and
// those whose runs still go on. One that cannot be opened keeps the arena from
// starting: it would only refuse every launch later.
func openProviders(ctx context.Context, cfg configs.Config, runs arena.Reader, challenges []protocol.Challenge, o nodeOptions, out *neighbours) (map[string]jobs.Provider, error) {
	needed := map[string]string{} // name → by whom
	live, _, err := runs.Runs(ctx, protocol.RunFilter{Live: true}, protocol.Page{Limit: protocol.MaxPage})
	if err != nil {
		return nil, err
	}
	for _, run := range live {
		needed[run.Provider] = "the run " + run.ID + ", which goes on there,"
	}
	for _, c := range challenges {
		if c.AcceptsRuns() == nil {
			needed[c.Compute.Provider] = fmt.Sprintf("the challenge %s (compute.provider in challenges/%s.toml, else providers.default in arena.toml)", c.ID, c.ID)
		}
	}
	providers := map[string]jobs.Provider{}
	for _, name := range slices.Sorted(maps.Keys(needed)) {
		p, err := openProvider(cfg, name, o, out)
		if err != nil {
			return nil, fmt.Errorf("%s needs the provider %q: %w", needed[name], name, err)
		}
		providers[name] = counting(p, o.Errors)
	}
	return providers, nil
}

func openProvider(cfg configs.Config, name string, o nodeOptions, out *neighbours) (jobs.Provider, error) {
	switch name {
	case compose.ProviderSimulated:
		return newSimulated(cfg, o)
	case compose.ProviderLocal:
		return newLocal(cfg, o)
	case compose.ProviderKubernetes:
		return newKubernetes(cfg, o)
	case compose.ProviderHuggingFace:
		return newHubJobs(cfg, o, out)
	default:
		return nil, fmt.Errorf("this version cannot run jobs there; use %q, %q, %q or %q", compose.ProviderHuggingFace, compose.ProviderKubernetes, compose.ProviderLocal, compose.ProviderSimulated)
	}
}

// newHubJobs opens the provider of the hub's GPU jobs.
func newHubJobs(cfg configs.Config, o nodeOptions, out *neighbours) (*hfjobs.Provider, error) {
	settings := cfg.Arena.Providers.HuggingFace
	if cmp.Or(o.BaseURL, cfg.Arena.Server.BaseURL) == "" {
		return nil, misconfigured(cfg, "server.base_url", "must be the address by which jobs reach this arena")
	}
	if !runsDatasetPattern.MatchString(settings.RunsDataset) || settings.Namespace == "" || settings.Image == "" || settings.TokenEnv == "" || settings.SettleSeconds < 1 {
		return nil, misconfigured(cfg, "providers.huggingface", "needs a namespace, a runs_dataset as OWNER/NAME, an image, a token_env and settle_seconds of at least 1")
	}
	base, err := serviceURL(cfg, "identity.hub_url", cfg.Arena.Identity.HubURL)
	if err != nil {
		return nil, err
	}
	token, err := secretFrom(cfg, "providers.huggingface.token_env", settings.TokenEnv, o)
	if err != nil {
		return nil, err
	}
	secrets := map[string]string{}
	for _, name := range settings.Secrets {
		if secrets[name], err = secretFrom(cfg, "providers.huggingface.secrets", name, o); err != nil {
			return nil, err
		}
	}
	if err := out.openCache(cfg, o); err != nil {
		return nil, err
	}
	return hfjobs.New(hfjobs.Options{
		URL: base, Namespace: settings.Namespace, RunsDataset: settings.RunsDataset, Token: token, Secrets: secrets,
		Transport: out.transport(peopleConnections), UserAgent: userAgent(), Cache: out.cache, Now: o.Now, Sleep: o.Sleep, Timeout: o.Timeout,
		Settle: time.Duration(settings.SettleSeconds) * time.Second,
	}), nil
}

var runsDatasetPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}$`)

// newLocal opens the provider that runs the pipeline on this machine. Its jobs
// are supervised by this binary; see jobCmd.
func newLocal(cfg configs.Config, o nodeOptions) (*local.Provider, error) {
	settings := cfg.Arena.Providers.Local
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this binary, which supervises jobs: %w", err)
	}
	price, err := protocol.ParseMicros(string(settings.PricePerHour))
	if err != nil {
		return nil, fmt.Errorf("arena.toml: providers.local.price_per_hour: %w", err)
	}
	dir := settings.Directory
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(o.Data, dir)
	}
	var flavors []jobs.Flavor
	for name, f := range cfg.Arena.Flavors {
		flavors = append(flavors, jobs.Flavor{Name: name, Description: "this machine, as " + f.Description, PricePerHour: price})
	}
	return local.Open(local.Options{
		Dir: dir, Supervisor: []string{self, jobVerb}, Command: settings.Command, Flavors: flavors, Environment: settings.Environment,
		Getenv: o.Getenv, Grace: time.Duration(settings.GraceSeconds) * time.Second, Keep: time.Duration(settings.KeepDays) * 24 * time.Hour, Now: o.Now,
	})
}

// newKubernetes opens the provider that runs jobs on a cluster.
func newKubernetes(cfg configs.Config, o nodeOptions) (*k8sjobs.Provider, error) {
	settings := cfg.Arena.Providers.Kubernetes
	var flavors []k8sjobs.Flavor
	for name, f := range cfg.Arena.Flavors {
		price, err := protocol.ParseMicros(string(f.PricePerHour))
		if err != nil {
			return nil, fmt.Errorf("arena.toml: flavors.%s.price_per_hour: %w", name, err)
		}
		ask := settings.Flavors[name]
		flavors = append(flavors, k8sjobs.Flavor{
			Flavor: jobs.Flavor{Name: name, Description: f.Description, PricePerHour: price}, GPUs: f.GPUs,
			CPU: ask.CPU, Memory: ask.Memory, SharedMemory: ask.SharedMemory, NodeSelector: ask.NodeSelector,
		})
	}
	secrets := map[string]k8sjobs.SecretKey{}
	for variable, where := range settings.Secrets {
		secret, key, _ := strings.Cut(where, "/")
		secrets[variable] = k8sjobs.SecretKey{Secret: secret, Key: key}
	}
	return k8sjobs.Open(k8sjobs.Options{
		Kubeconfig: settings.Kubeconfig, Context: settings.Context, Namespace: settings.Namespace, Image: settings.Image, Command: settings.Command,
		Environment: settings.Environment, Secrets: secrets, ServiceAccount: settings.ServiceAccount, VolumeClaim: settings.VolumeClaim, Dir: settings.Directory,
		User: int64(os.Getuid()), Group: int64(os.Getgid()), GPUResource: settings.GPUResource, Flavors: flavors,
		Queue: time.Duration(settings.QueueMinutes) * time.Minute, Grace: time.Duration(settings.GraceSeconds) * time.Second,
		Keep: time.Duration(settings.KeepDays) * 24 * time.Hour, Now: o.Now,
	})
}

// jobVerb is the name of jobCmd.
const jobVerb = "__job"

// jobCmd looks after one job of the local provider, in a process of its own that
// outlives the arena. Nobody types it.
type jobCmd struct {
	Dir string `arg:"" help:"The job's directory."`
}

// Run supervises the job until it has ended.
func (cmd *jobCmd) Run(ctx context.Context, env *environ) error {
	return local.Supervise(ctx, cmd.Dir, env.Environ(), env.Now)
}
