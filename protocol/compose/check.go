package compose

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/posttrainarena/arena/configs"
	"github.com/posttrainarena/arena/protocol"
)

// secretKey is a secret by its name, which is a DNS subdomain, and a key in it.
var secretKey = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/[A-Za-z0-9._-]{1,253}$`)

// checker gathers the problems of one file.
type checker struct {
	origin configs.Origin
	found  configs.Problems
}

// need reports a key whose value does not hold.
func (c *checker) need(ok bool, key, format string, args ...any) {
	if !ok {
		c.found = append(c.found, c.origin.Problem(key, format, args...))
	}
}

// oneOf reports a word that is not one of those that are known.
func (c *checker) oneOf(key, word string, known ...string) {
	c.need(slices.Contains(known, word), key, "must be one of %s, not %q", strings.Join(known, ", "), word)
}

func (c *checker) amount(key string, d configs.Dollars) {
	_, err := protocol.ParseMicros(string(d))
	c.need(err == nil, key, "%v", err)
}

func (c *checker) commit(key, ref string) {
	c.need(protocol.IsCommit(ref), key, "must be a full commit of 40 hex digits, not %q", ref)
}

func (c *checker) positive(key string, n int64) {
	c.need(n >= 1, key, "must be 1 or more, not %d", n)
}

func (c *checker) share(key string, f float64) {
	c.need(f >= 0 && f <= 1, key, "must be from 0 to 1, not %v", f)
}

// maxPatience is the longest time after which a run can count as stalled, in
// minutes: a month.
const maxPatience = 31 * 24 * 60

func checkArena(a configs.Arena) configs.Problems {
	c := checker{origin: a.Origin}
	colon := strings.LastIndexByte(a.Server.Listen, ':')
	_, err := strconv.ParseUint(a.Server.Listen[colon+1:], 10, 16)
	c.need(colon >= 0 && err == nil, "server.listen", "must be HOST:PORT, such as 127.0.0.1:7860, not %q", a.Server.Listen)
	base := a.Server.BaseURL
	c.need(base == "" || strings.HasPrefix(base, "http://") || strings.HasPrefix(base, "https://"), "server.base_url", "must start with http:// or https://, not %q", base)
	c.need(!strings.HasSuffix(base, "/"), "server.base_url", "must not end with a slash: %q", base)
	c.positive("limits.json_body_bytes", a.Limits.JSONBodyBytes)
	c.positive("limits.bundle_bytes", a.Limits.BundleBytes)
	c.positive("limits.validations_per_hour", int64(a.Limits.ValidationsPerHour))
	c.positive("limits.messages_per_hour", int64(a.Limits.MessagesPerHour))
	for _, wait := range []struct {
		key     string
		minutes int
	}{
		{"no_job", a.Stalled.NoJobMinutes},
		{"no_output", a.Stalled.NoOutputMinutes},
		{"silence", a.Stalled.SilenceMinutes},
		{"cancel", a.Stalled.CancelMinutes},
		{"unreachable", a.Stalled.UnreachableMinutes},
	} {
		c.need(wait.minutes >= 0 && wait.minutes <= maxPatience, "stalled."+wait.key+"_minutes", "must be from 0 to %d, not %d", maxPatience, wait.minutes)
	}
	c.amount("budget.cap", a.Budget.Cap)
	c.amount("budget.prior_allowance", a.Budget.PriorAllowance)
	c.oneOf("identity.mode", a.Identity.Mode, "local", "hub")
	if a.Identity.Mode == "hub" {
		c.need(private(a.Identity.HubURL), "identity.hub_url", "must start with https://, because tokens are sent to it")
		c.need(a.Identity.EditorOrganization != "", "identity.editor_organization", "names nobody; without it nobody on the hub is an editor")
		c.positive("identity.whoami_cache_seconds", int64(a.Identity.WhoamiCacheSeconds))
	}
	c.oneOf("providers.default", a.Providers.Default, ProviderHuggingFace, ProviderKubernetes, ProviderLocal, ProviderSimulated)
	c.need(a.Providers.Simulated.Speed > 0, "providers.simulated.speed", "must be above 0, not %v", a.Providers.Simulated.Speed)
	c.share("providers.simulated.fault_rate", a.Providers.Simulated.FaultRate)
	local := a.Providers.Local
	c.need(len(local.Command) > 0 && local.Command[0] != "", "providers.local.command", "names no program")
	c.need(local.Directory != "", "providers.local.directory", "is empty")
	c.need(local.GraceSeconds >= 1 && local.GraceSeconds <= 3600, "providers.local.grace_seconds", "must be from 1 to 3600, not %d", local.GraceSeconds)
	c.need(local.KeepDays >= 0 && local.KeepDays <= 36500, "providers.local.keep_days", "must be from 0, which means for ever, to 36500, not %d", local.KeepDays)
	c.amount("providers.local.price_per_hour", local.PricePerHour)
	for _, name := range local.Environment {
		// What is wrong may be a secret, so it is not repeated.
		c.need(configs.IsVariable(name), "providers.local.environment", "holds something other than names of variables; values do not belong here")
	}
	c.kubernetes(a.Providers.Kubernetes, a.Flavors)
	for _, name := range slices.Sorted(maps.Keys(a.Flavors)) {
		f, key := a.Flavors[name], "flavors."+name
		c.need(f.GPUs >= 1 && f.GPUs <= maxDevices, key+".gpus", "must be from 1 to %d, not %d", maxDevices, f.GPUs)
		c.amount(key+".price_per_hour", f.PricePerHour)
	}
	for _, id := range slices.Sorted(maps.Keys(a.Suites)) {
		c.source("suites."+id, a.Suites[id], false)
	}
	return c.found
}

// kubernetes checks what needs no cluster to be seen wrong. What is only missing is
// no problem as long as no challenge uses the provider.
func (c *checker) kubernetes(k configs.KubernetesProvider, flavors map[string]configs.Flavor) {
	const key = "providers.kubernetes."
	c.need(k.Namespace != "", key+"namespace", "is empty")
	c.need(len(k.Command) > 0 && k.Command[0] != "", key+"command", "names no program")
	c.need(k.GPUResource != "", key+"gpu_resource", "is empty")
	c.need(k.QueueMinutes >= 0 && k.QueueMinutes <= maxPatience, key+"queue_minutes", "must be from 0 to %d, not %d", maxPatience, k.QueueMinutes)
	c.need(k.GraceSeconds >= 1 && k.GraceSeconds <= 3600, key+"grace_seconds", "must be from 1 to 3600, not %d", k.GraceSeconds)
	c.need(k.KeepDays >= 0 && k.KeepDays <= 10000, key+"keep_days", "must be from 0, which means for ever, to 10000, not %d", k.KeepDays)
	for _, name := range slices.Sorted(maps.Keys(k.Environment)) {
		c.need(configs.IsVariable(name), key+"environment", "has a name that is not one of a variable")
	}
	for _, name := range slices.Sorted(maps.Keys(k.Secrets)) {
		// What is wrong may be a secret, so it is not repeated.
		c.need(configs.IsVariable(name), key+"secrets", "has a name that is not one of a variable")
		c.need(secretKey.MatchString(k.Secrets[name]), key+"secrets", "must name for each variable a secret and a key in it, as name-of-the-secret/key; values do not belong here")
	}
	for _, name := range slices.Sorted(maps.Keys(k.Flavors)) {
		_, known := flavors[name]
		c.need(known, key+"flavors."+name, "is no flavor; [flavors.%s] says what it is and costs", name)
	}
}

// source checks where a suite's tasks come from. A suite's own file has its
// repository beside the source; arena.toml may leave it to that.
func (c *checker) source(key string, s configs.SealedSource, own bool) {
	c.oneOf(key+".from", s.From, configs.FromFixture, configs.FromDirectory, configs.FromDataset)
	c.need(s.From != configs.FromDirectory || s.Path != "", key+".path", "is missing: it names the directory")
	if s.Revision != "" {
		c.commit(key+".revision", s.Revision)
	}
	if !own && s.From == configs.FromDataset {
		c.need(s.RepoID != "" && s.Revision != "", key+".repo_id", "a dataset needs a repo_id and a revision, since the suite's own stand for its default tasks")
	}
	if s.From == configs.FromDataset {
		c.need((s.TokenEnv == "") != (s.TokenFile == ""), key+".token_env", "a private dataset needs a token that may read it: name the environment variable (token_env) or the file (token_file) that holds it, one of both")
	} else {
		c.need(s.TokenEnv == "" && s.TokenFile == "", key+".token_env", "a %s needs no token; it is for from = %q", s.From, configs.FromDataset)
	}
	// What is wrong may be a secret, so it is not repeated.
	c.need(s.TokenEnv == "" || configs.IsVariable(s.TokenEnv), key+".token_env", "is not the name of an environment variable; the token itself does not belong here")
}

func checkModel(m configs.Model) configs.Problems {
	c := checker{origin: m.Origin}
	c.need(m.Model.ID != "", "model.id", "is empty")
	c.commit("model.revision", m.Model.Revision)
	c.positive("model.max_context", int64(m.Model.MaxContext))
	c.positive("model.attention_heads", int64(m.Model.AttentionHeads))
	c.positive("model.kv_heads", int64(m.Model.KVHeads))
	return c.found
}

func checkSuite(cfg configs.Config, s configs.Suite) configs.Problems {
	c := checker{origin: s.Origin}
	c.positive("task_count", int64(s.TaskCount))
	c.need(s.RepoID != "", "repo_id", "is empty")
	c.commit("revision", s.Revision)
	if _, replaced := cfg.Arena.Suites[s.ID]; !replaced {
		c.source("sealed", s.Sealed, true)
	}
	return c.found
}

// checkMethod reports recipes that the pipeline would refuse or the arena
// cannot read (reference/pipeline.md §4.7).
func checkMethod(m configs.Method) configs.Problems {
	c := checker{origin: m.Origin}
	c.oneOf("meta.algorithm", m.Meta.Algorithm, "grpo")
	c.oneOf("runtime.sandbox", m.Runtime.Sandbox, "daytona", "docker")
	c.positive("runtime.max_completion_length", int64(m.Runtime.MaxCompletionLength))
	c.need(m.Runtime.NumGenerations >= 2, "runtime.num_generations", "must be 2 or more, since rollouts are compared with each other, not %d", m.Runtime.NumGenerations)
	c.oneOf("harness.agent", m.Harness.Agent, "opencode")
	c.oneOf("harness.skill_mode", m.Harness.SkillMode, "no-skill", "with-skill")
	c.oneOf("harness.usage_tracking", m.Harness.UsageTracking, "required")
	c.positive("harness.concurrency", int64(m.Harness.Concurrency))
	c.positive("harness.sandbox_setup_timeout_sec", int64(m.Harness.SandboxSetupTimeoutSec))
	c.positive("harness.agent_idle_timeout_sec", int64(m.Harness.AgentIdleTimeoutSec))
	c.positive("harness.agent_timeout_sec", int64(m.Harness.AgentTimeoutSec))
	c.share("harness.max_infra_error_fraction", m.Harness.MaxInfraErrorFraction)
	c.need(!m.Teacher.Enabled, "teacher.enabled", "must be false: runs of the arena have no teacher stage")
	c.need(!m.SFT.Enabled, "sft.enabled", "must be false: runs of the arena have no SFT stage")
	c.need(m.GRPO.Enabled, "grpo.enabled", "must be true: a run without training measures nothing")
	c.oneOf("grpo.run_policy", m.GRPO.RunPolicy, "always", "on_reward")
	c.share("grpo.threshold", m.GRPO.Threshold)
	c.positive("grpo.gate_task_count", int64(m.GRPO.GateTaskCount))
	c.positive("grpo.max_steps", int64(m.GRPO.MaxSteps))
	c.positive("grpo.gradient_accumulation_steps", int64(m.GRPO.GradientAccumulationSteps))
	c.positive("grpo.rollout_attempts", int64(m.GRPO.RolloutAttempts))
	c.positive("grpo.lora_r", int64(m.GRPO.LoraR))
	c.need(m.GRPO.LearningRate > 0, "grpo.learning_rate", "must be above 0, not %v", m.GRPO.LearningRate)
	batch, group := m.GRPO.GenerationBatchSize, m.Runtime.NumGenerations
	c.need(batch >= 1 && group >= 1 && batch%group == 0, "grpo.generation_batch_size", "must be a multiple of runtime.num_generations (%d), not %d", group, batch)
	return c.found
}

func checkChallenge(ch configs.Challenge) configs.Problems {
	c := checker{origin: ch.Origin}
	c.need(ch.Title != "", "title", "is empty")
	c.oneOf("status", ch.Status, string(protocol.StatusOpen), string(protocol.StatusPlanned), string(protocol.StatusClosed))
	c.need(ch.Pipeline.Repo != "", "pipeline.repo", "is empty")
	c.commit("pipeline.ref", ch.Pipeline.Ref)
	c.positive("metric.trials_per_run", int64(ch.Metric.TrialsPerRun))
	if ch.Compute.Provider != "" {
		c.oneOf("compute.provider", ch.Compute.Provider, ProviderHuggingFace, ProviderKubernetes, ProviderLocal, ProviderSimulated)
	}
	c.positive("compute.timeout_seconds", ch.Compute.TimeoutSeconds)
	c.need(ch.Compute.ConcurrentRuns == 1, "compute.concurrent_runs", "must be 1: one run is active across the whole arena, not %d", ch.Compute.ConcurrentRuns)
	c.positive("compute.runs_per_submission_per_day", int64(ch.Compute.RunsPerDay))
	if b := ch.Baseline; b != nil {
		c.share("baseline.pass_rate", b.PassRate)
		c.need(b.StderrPP >= 0, "baseline.stderr_pp", "must not be negative, but is %v", b.StderrPP)
		c.positive("baseline.trials", int64(b.Trials))
	}
	return c.found
}

// private reports whether what is sent to an address cannot be read on the way:
// it is encrypted, or does not leave this machine.
func private(address string) bool {
	for _, prefix := range []string{"https://", "http://127.0.0.1", "http://localhost", "http://[::1]"} {
		if strings.HasPrefix(address, prefix) {
			return true
		}
	}
	return false
}

// checkIssues reports known issues whose class or stage is not the protocol's.
func checkIssues(issues []configs.KnownIssue) configs.Problems {
	var found configs.Problems
	for _, k := range issues {
		c := checker{origin: k.Origin}
		c.oneOf("class", k.Class, string(protocol.FaultPlatform), string(protocol.FaultCollection), string(protocol.FaultLimit))
		for _, stage := range k.Stages {
			c.need(protocol.Stage(stage).Index() >= 0, "stages", "there is no stage %q", stage)
		}
		c.need(k.Sentence != "", "sentence", "must say what happened")
		c.need(k.Advice != "", "advice", "must say what to do")
		found = append(found, c.found...)
	}
	return found
}
