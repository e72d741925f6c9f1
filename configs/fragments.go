package configs

// Model is models/<id>.toml: a base model and how it is served.
type Model struct {
	Origin Origin    `toml:"-"`
	ID     string    `toml:"-"`     // the file's name
	Basis  string    `toml:"basis"` // what is invented, or empty
	Model  ModelInfo `toml:"model"`
	Meta   struct {
		Serving Serving `toml:"serving"`
	} `toml:"meta"`
}

// ModelInfo is the model itself, pinned to one commit.
type ModelInfo struct {
	ID             string `toml:"id"`       // repository on the hub
	Revision       string `toml:"revision"` // 40 hex digits
	License        string `toml:"license"`
	MaxContext     int    `toml:"max_context"` // tokens
	AttentionHeads int    `toml:"attention_heads"`
	KVHeads        int    `toml:"kv_heads"`
}

// Serving is how a job's GPUs are used. A value that a method sets replaces the
// model's; both together have to be complete.
type Serving struct {
	Flavor         string `toml:"flavor" optional:"true"`
	ServingGPUs    string `toml:"serving_gpus" optional:"true"` // devices of the model server, such as 4-7
	TrainerGPUs    string `toml:"trainer_gpus" optional:"true"` // devices of the trainer
	TensorParallel int    `toml:"tensor_parallel" optional:"true"`
	TrainContext   int    `toml:"train_context" optional:"true"` // tokens of one attempt
	EvalContext    int    `toml:"eval_context" optional:"true"`  // tokens of one attempt
}

// Suite is suites/<id>.toml: what everybody may know about a sealed suite, and
// where its tasks are.
type Suite struct {
	Origin    Origin       `toml:"-"`
	ID        string       `toml:"-"` // the file's name
	Title     string       `toml:"title"`
	TaskCount int          `toml:"task_count"` // tasks evaluated in every run
	RepoID    string       `toml:"repo_id"`
	Revision  string       `toml:"revision"` // 40 hex digits
	Path      string       `toml:"path"`     // of the tasks inside the dataset
	Basis     string       `toml:"basis"`    // said while the tasks come from the fixture
	Sealed    SealedSource `toml:"sealed"`
}

// Method is methods/<id>.toml: a recipe. The tables other than Meta are the
// training pipeline's (reference/pipeline.md §4.7) and are copied into every
// run's config under their own names; a key that is left out keeps the
// pipeline's default.
type Method struct {
	Origin     Origin     `toml:"-"`
	ID         string     `toml:"-"` // the file's name
	Meta       MethodMeta `toml:"meta"`
	Runtime    Runtime    `toml:"runtime"`
	Harness    Harness    `toml:"harness"`
	Evaluation Evaluation `toml:"evaluation"`
	Teacher    Switch     `toml:"teacher"`
	SFT        Switch     `toml:"sft"`
	GRPO       GRPO       `toml:"grpo"`
	Tracking   Tracking   `toml:"tracking"`
}

// MethodMeta is what the arena, not the pipeline, wants to know of a recipe.
type MethodMeta struct {
	Algorithm string  `toml:"algorithm"`
	Note      string  `toml:"note"`
	Basis     string  `toml:"basis"` // what is invented or provisional, or empty
	Serving   Serving `toml:"serving"`
}

// Runtime is the pipeline's [runtime].
type Runtime struct {
	Sandbox             string `toml:"sandbox"`
	SandboxUser         string `toml:"sandbox_user"`
	MaxCompletionLength int    `toml:"max_completion_length"` // tokens of one rollout
	NumGenerations      int    `toml:"num_generations"`       // rollouts in one group
}

// Harness is the pipeline's [harness].
type Harness struct {
	Agent                  string  `toml:"agent"`
	SkillMode              string  `toml:"skill_mode"`
	UsageTracking          string  `toml:"usage_tracking"`
	Concurrency            int     `toml:"concurrency"` // attempts at a time
	SandboxSetupTimeoutSec int     `toml:"sandbox_setup_timeout_sec"`
	AgentIdleTimeoutSec    int     `toml:"agent_idle_timeout_sec"`
	AgentTimeoutSec        int     `toml:"agent_timeout_sec"`
	MaxInfraErrorFraction  float64 `toml:"max_infra_error_fraction"` // of an evaluation's tasks
}

// Evaluation is the pipeline's [evaluation]. The number of trials is missing
// here because the challenge says it.
type Evaluation struct {
	SyncBaseToVLLM bool `toml:"sync_base_to_vllm"`
}

// Switch is a pipeline table of which the arena only uses the switch.
type Switch struct {
	Enabled bool `toml:"enabled"`
}

// GRPO is the pipeline's [grpo].
type GRPO struct {
	Enabled                   bool    `toml:"enabled"`
	RunPolicy                 string  `toml:"run_policy"` // always or on_reward
	Threshold                 float64 `toml:"threshold"`
	GateTaskCount             int     `toml:"gate_task_count"`
	NumTrainEpochs            float64 `toml:"num_train_epochs"`
	MaxSteps                  int     `toml:"max_steps"`
	LearningRate              float64 `toml:"learning_rate"`
	GenerationBatchSize       int     `toml:"generation_batch_size"`
	GradientAccumulationSteps int     `toml:"gradient_accumulation_steps"`
	GradientCheckpointing     bool    `toml:"gradient_checkpointing"`
	LoraR                     int     `toml:"lora_r"`
	LoraAlpha                 int     `toml:"lora_alpha"`
	LoraDropout               float64 `toml:"lora_dropout"`
	LogCompletions            bool    `toml:"log_completions"`
	RolloutAttempts           int     `toml:"rollout_attempts"`
	RequireRewardVariance     bool    `toml:"require_reward_variance"`

	// The keys of the second recipe; left out of a config when not set.
	Seed                     int     `toml:"seed,omitempty" optional:"true"`
	TaskSampler              string  `toml:"task_sampler,omitempty" optional:"true"`
	RequireFullCoverage      bool    `toml:"require_full_coverage,omitempty" optional:"true"`
	RolloutFailurePolicy     string  `toml:"rollout_failure_policy,omitempty" optional:"true"`
	MaxMaskedRolloutFraction float64 `toml:"max_masked_rollout_fraction,omitempty" optional:"true"`
}

// Tracking is the pipeline's [tracking].
type Tracking struct {
	ReportTo string `toml:"report_to"`
	Project  string `toml:"project"`
}
