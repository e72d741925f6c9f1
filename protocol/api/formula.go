package api

import "github.com/posttrainarena/arena/protocol"

// Formula is everything that a score of this arena depends on: the registries
// behind challenges, the challenges, and the collections that run on them.
type Formula struct {
	Models      []FormulaModel  `json:"models"`
	Suites      []FormulaSuite  `json:"suites"`
	Recipes     []FormulaRecipe `json:"recipes"`
	Challenges  []Challenge     `json:"challenges"`
	Collections []Submission    `json:"collections" doc:"Newest first"`
	Total       int             `json:"collections_total"`
	Next        *string         `json:"next_cursor" doc:"Of the collections"`
}

// FormulaModel is a base model of the registry.
type FormulaModel struct {
	ID string `json:"id"`
	protocol.BaseModel
	Flavor         string   `json:"flavor"`
	ServingGPUs    string   `json:"serving_gpus"`
	TrainerGPUs    string   `json:"trainer_gpus"`
	TensorParallel int      `json:"tensor_parallel"`
	Challenges     []string `json:"challenges" doc:"That bind it"`
	Basis          *string  `json:"basis" doc:"What about it is invented"`
}

// FormulaSuite is a sealed suite of the registry as everybody may see it.
type FormulaSuite struct {
	protocol.Suite
	Challenges []string `json:"challenges"`
	Basis      *string  `json:"basis"`
}

// FormulaRecipe is a recipe of the registry.
type FormulaRecipe struct {
	ID                    string   `json:"id"`
	Algorithm             string   `json:"algorithm"`
	Note                  string   `json:"note"`
	MaxSteps              int      `json:"max_steps"`
	NumGenerations        int      `json:"num_generations"`
	RolloutAttempts       int      `json:"rollout_attempts"`
	GateTaskCount         int      `json:"gate_task_count"`
	LearningRate          float64  `json:"learning_rate"`
	LoraRank              int      `json:"lora_r"`
	TrainContext          int      `json:"train_context"`
	EvalContext           int      `json:"eval_context"`
	Concurrency           int      `json:"concurrency"`
	AgentTimeoutSecs      int      `json:"agent_timeout_sec"`
	RequireRewardVariance bool     `json:"require_variance"`
	Challenges            []string `json:"challenges"`
	Basis                 *string  `json:"basis"`
}

// RunMetrics is what runs add up to.
type RunMetrics struct {
	ChallengeID *string `json:"challenge_id" doc:"Null: of every challenge"`
	protocol.Metrics
	Simulated bool `json:"simulated"`
}
