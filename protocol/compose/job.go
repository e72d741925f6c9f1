package compose

import (
	_ "embed" // the script that jobs execute
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/posttrainarena/arena/configs"
)

// The names under which a job finds the secrets that the arena made for its run:
// the one that opens its tunnel, and the key by which its sandboxes call the model.
const (
	SecretRelayJob   = "ARENA_RELAY_SECRET"
	SecretRelayModel = "ARENA_RELAY_KEY"
)

// podConfig is where a pod has the run's config file. protocol/jobs/jobdir, which puts
// it there, may not be imported here; a test of the cluster compares both.
const podConfig = "/arena/run/config.toml"

//go:embed bootstrap.sh
var bootstrap string

// Bootstrap is what a job on another machine executes, and what it is told. It
// holds no secret, only their names.
type Bootstrap struct {
	Image   string            `json:"image"`
	Command []string          `json:"command"`
	Env     map[string]string `json:"env"`
	Secrets []string          `json:"secrets" doc:"Names; the values are the job's alone"`
}

// relayPlace tells a job where the arena and its relay are.
func relayPlace(run, arenaURL string) map[string]string {
	arenaURL = strings.TrimSuffix(arenaURL, "/")
	return map[string]string{"ARENA_URL": arenaURL, "ARENA_RUN_ID": run, "ARENA_RELAY_URL": arenaURL + "/relay/" + run + "/v1"}
}

// ClusterJob renders what the pod of a run executes on a cluster: the configured
// command, which finds the run's files on the storage that the cluster shares with the
// arena. arenaURL is where the pod reaches the arena, whose relay it may use; empty
// when there is none. The provider adds where files and secrets are.
func ClusterJob(cfg configs.Config, run, arenaURL string) Bootstrap {
	provider := cfg.Arena.Providers.Kubernetes
	job := Bootstrap{
		Image:   provider.Image,
		Command: append(slices.Clone(provider.Command), podConfig),
		Env:     maps.Clone(provider.Environment),
		Secrets: slices.Collect(maps.Keys(provider.Secrets)),
	}
	if job.Env == nil {
		job.Env = map[string]string{}
	}
	if arenaURL != "" {
		maps.Copy(job.Env, relayPlace(run, arenaURL))
		job.Secrets = append(job.Secrets, SecretRelayJob, SecretRelayModel)
	}
	for _, name := range job.Secrets {
		delete(job.Env, name)
	}
	slices.Sort(job.Secrets)
	job.Secrets = slices.Compact(job.Secrets)
	return job
}

// JobBootstrap renders what the job of a run of a challenge executes on a provider
// elsewhere. arenaURL is where the job reaches the arena: its relay, and the binary
// for it. The provider adds where the run's files are and how long the job may take. The
// same arguments always give the same answer.
func JobBootstrap(cfg configs.Config, challenge, run, arenaURL string) (Bootstrap, error) {
	c, ok := cfg.Challenges[challenge]
	if !ok {
		return Bootstrap{}, fmt.Errorf("render the job of run %s: there is no challenge %q", run, challenge)
	}
	model := cfg.Models[c.Binding.Model]
	serving, problems := layout(model, cfg.Methods[c.Binding.Method], cfg.Arena.Flavors)
	if err := problems.Err(); err != nil {
		return Bootstrap{}, fmt.Errorf("render the job of run %s: %w", run, err)
	}
	servers, err := parseDevices(serving.ServingGPUs)
	if err != nil {
		return Bootstrap{}, fmt.Errorf("render the job of run %s: the devices of the model server are %w", run, err)
	}
	trainers, err := parseDevices(serving.TrainerGPUs)
	if err != nil {
		return Bootstrap{}, fmt.Errorf("render the job of run %s: the devices of the trainer are %w", run, err)
	}
	provider := cfg.Arena.Providers.HuggingFace
	secrets := append([]string{SecretRelayJob, SecretRelayModel}, provider.Secrets...)
	slices.Sort(secrets)
	env := relayPlace(run, arenaURL)
	maps.Copy(env, map[string]string{
		"ARENA_PIPELINE_REPO": c.Pipeline.Repo, "ARENA_PIPELINE_REF": c.Pipeline.Ref,
		"ARENA_MODEL": model.Model.ID, "ARENA_MODEL_REVISION": model.Model.Revision,
		"ARENA_SERVING_GPUS": devices(servers), "ARENA_TRAINER_GPUS": devices(trainers),
		"ARENA_TENSOR_PARALLEL": strconv.Itoa(serving.TensorParallel), "ARENA_DATA_PARALLEL": strconv.Itoa(len(servers) / serving.TensorParallel),
		"ARENA_TRAIN_CONTEXT": strconv.Itoa(serving.TrainContext), "ARENA_EVAL_CONTEXT": strconv.Itoa(serving.EvalContext),
		"ARENA_CONTEXT": strconv.Itoa(max(serving.TrainContext, serving.EvalContext)),
	})
	return Bootstrap{Image: provider.Image, Command: []string{"bash", "-c", bootstrap}, Env: env, Secrets: slices.Compact(secrets)}, nil
}

// devices writes GPUs out, as the driver reads them.
func devices(numbers []int) string {
	var words []string
	for _, n := range numbers {
		words = append(words, strconv.Itoa(n))
	}
	return strings.Join(words, ",")
}

// Image is the container image that a provider's jobs run in; empty for a provider
// that runs them without one.
func Image(cfg configs.Config, provider string) string {
	switch provider {
	case ProviderHuggingFace:
		return cfg.Arena.Providers.HuggingFace.Image
	case ProviderKubernetes:
		return cfg.Arena.Providers.Kubernetes.Image
	}
	return ""
}

// exactTag is a tag that names one version: three numbers, whatever else it says.
var exactTag = regexp.MustCompile(`(^|[^0-9])[0-9]+\.[0-9]+\.[0-9]+`)

// PinnedImage says how firmly an image's name says what is in it: by its content, by
// an exact version, which whoever owns the name can put other content under, or not
// at all.
func PinnedImage(image string) (digest, version bool) {
	name, sum, found := strings.Cut(image, "@sha256:")
	if found {
		return len(sum) == 64 && strings.Trim(sum, "0123456789abcdef") == "", false
	}
	_, tag, _ := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], ":")
	return false, exactTag.MatchString(tag)
}
