package protocol

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// ChallengeStatus says whether a challenge takes runs.
type ChallengeStatus string

// The statuses of a challenge, in the order in which lists show them.
const (
	StatusOpen    ChallengeStatus = "open"    // takes runs, unless they are paused
	StatusPlanned ChallengeStatus = "planned" // listed with its binding; refuses runs
	StatusClosed  ChallengeStatus = "closed"  // listed with its results; refuses runs
)

// statusOrder lists the statuses in the order of lists.
func statusOrder() []ChallengeStatus {
	return []ChallengeStatus{StatusOpen, StatusPlanned, StatusClosed}
}

// Challenge is what participants compete on: a base model, a recipe, sealed
// suites and a compute allocation, as composed from the configuration.
type Challenge struct {
	ID          string
	Title       string
	Role        string // what the challenge is for, such as "smoke test"; empty for a real one
	Status      ChallengeStatus
	StatusNote  string // what organizers say about its state; empty when nothing
	RunsPaused  string // why no run may start; empty when runs may start
	Description string
	Track       string    // where collections submitted to it are stored
	Opens       time.Time // zero when not announced
	BaseModel   BaseModel
	Recipe      Recipe
	Suites      []Suite // in the order in which they are evaluated
	Metric      Metric
	Compute     Compute
	Baseline    *Baseline // nil when the base model was not measured
	// LayoutProblem says why the job layout cannot work; empty when it can.
	LayoutProblem string
	// Basis lists what about this challenge is invented, in sentences for people.
	Basis []string
}

// BaseModel is the model that every run starts from, pinned to one commit.
type BaseModel struct {
	RepoID     string `json:"repo_id"`
	Revision   string `json:"revision"`    // 40 hex digits
	MaxContext int    `json:"max_context"` // tokens the model was built for
	License    string `json:"license"`
}

// Recipe is how a run trains. The numbers are those of the pipeline's config
// tables of the same names (reference/pipeline.md §4.7).
type Recipe struct {
	ID                    string   `json:"id"`
	Note                  string   `json:"note"`
	Algorithm             string   `json:"algorithm"` // grpo
	MaxSteps              int      `json:"max_steps"`
	NumGenerations        int      `json:"num_generations"`  // rollouts in one group
	RolloutAttempts       int      `json:"rollout_attempts"` // tries for one rollout before the run stops
	GateTaskCount         int      `json:"gate_task_count"`  // training tasks measured before training
	LearningRate          float64  `json:"learning_rate"`    //
	LoraRank              int      `json:"lora_r"`           //
	TrainContext          int      `json:"train_context"`    // tokens in one training attempt
	EvalContext           int      `json:"eval_context"`     // tokens in one evaluation attempt
	RequireRewardVariance bool     `json:"require_variance"` // a group whose rewards are all equal stops the run
	MaxErrorFraction      float64  `json:"max_infra_errors"` // errored tasks an evaluation tolerates, as a share of its tasks
	Sandbox               string   `json:"sandbox"`          //
	Harness               Harness  `json:"harness"`          //
	Pipeline              Pipeline `json:"pipeline"`         //
	ServingNote           string   `json:"serving_note"`     // how the model is served, for people
	ServingGPUs           string   `json:"serving_gpus"`     // devices of the model server, such as "4-7"
	TrainerGPUs           string   `json:"trainer_gpus"`     // devices of the trainer, such as "0-3"
	TensorParallel        int      `json:"tensor_parallel"`  //
}

// Harness is the agent that attempts tasks, and its limits.
type Harness struct {
	Agent            string `json:"agent"`
	Concurrency      int    `json:"concurrency"`       // attempts at a time
	AgentTimeoutSecs int    `json:"agent_timeout_sec"` // an attempt that hits it counts as a failure
}

// Pipeline pins the code that a job runs.
type Pipeline struct {
	Repo string `json:"repo"`
	Ref  string `json:"ref"` // 40 hex digits
}

// Suite is one held-out suite as everybody may see it: never a task of it.
type Suite struct {
	ID        string `json:"id"`
	Title     string `json:"title"`
	RepoID    string `json:"repo_id"`
	Revision  string `json:"revision"`
	TaskCount int    `json:"task_count"` // tasks evaluated in every run
	Invented  bool   `json:"invented"`   // the tasks are made up and ship with the arena
}

// Metric says what a run's number is.
type Metric struct {
	Name         string `json:"name"`           // delta_pp
	Description  string `json:"description"`    //
	TrialsPerRun int    `json:"trials_per_run"` // attempts per held-out task and side
}

// Compute is what one run may use.
type Compute struct {
	Provider       string `json:"provider"` // huggingface, local, simulated
	Flavor         string `json:"flavor"`
	TimeoutSeconds int64  `json:"timeout_seconds"`
	ConcurrentRuns int    `json:"concurrent_runs"`
	RunsPerDay     int    `json:"runs_per_submission_per_day"` // counted runs of one collection in 24 hours
}

// Timeout is the hard limit of one job.
func (c Compute) Timeout() time.Duration { return time.Duration(c.TimeoutSeconds) * time.Second }

// Baseline is the organizers' separate measurement of the base model. It is
// context only: Δ always uses the run's own measurement.
type Baseline struct {
	PassRate float64 `json:"pass_rate"`
	StderrPP float64 `json:"stderr_pp"`
	Trials   int     `json:"trials"`
	Note     string  `json:"note"`
	Source   string  `json:"source,omitempty"` // a private link; editors only
}

// EvalTasks is the number of sealed tasks that one trial of a run evaluates on
// each side, over all suites.
func (c Challenge) EvalTasks() int {
	n := 0
	for _, s := range c.Suites {
		n += s.TaskCount
	}
	return n
}

// AcceptsRuns returns nil when the challenge is open and not paused, else the
// error that says why it refuses runs.
func (c Challenge) AcceptsRuns() error {
	switch {
	case c.Status != StatusOpen:
		return ErrClosed.Detailf("The challenge %s is %s and does not take runs.", c.ID, c.Status)
	case c.RunsPaused != "":
		return ErrPaused.Detailf("Runs on %s are paused: %s", c.ID, c.RunsPaused)
	default:
		return nil
	}
}

// SortChallenges orders challenges as every list shows them: open, planned,
// closed, and inside a status by opening date and id.
func SortChallenges(all []Challenge) {
	order := statusOrder()
	slices.SortStableFunc(all, func(a, b Challenge) int {
		if d := slices.Index(order, a.Status) - slices.Index(order, b.Status); d != 0 {
			return d
		}
		if d := a.Opens.Compare(b.Opens); d != 0 {
			return d
		}
		return strings.Compare(a.ID, b.ID)
	})
}

// Tolerated is the number of errored tasks that an evaluation of n tasks
// survives: ceil(fraction·n), computed in thousandths so that a share such as
// 0.1 does not depend on binary rounding (seed 000, tolerated).
func Tolerated(fraction float64, n int) int {
	permille := int(fraction*1000 + 0.5)
	return (n*permille + 999) / 1000
}

// SealedTask is one held-out task. Its name and prompt are secrets of the
// organizers: they are compared with, never shown.
type SealedTask struct {
	Name      string
	Prompt    string
	Evaluated bool // part of the subset that runs are measured on
}

// SealedSuite is the content behind a Suite, read at start and kept in memory.
type SealedSuite struct {
	ID    string
	Tasks []SealedTask
}

// Evaluated returns the names of the tasks that a run is measured on, sorted.
func (s SealedSuite) Evaluated() []string {
	var names []string
	for _, t := range s.Tasks {
		if t.Evaluated {
			names = append(names, t.Name)
		}
	}
	slices.Sort(names)
	return names
}

// CheckSuites returns an error unless every suite of the challenge has its
// sealed tasks at hand, as many as the configuration promises.
func CheckSuites(c Challenge, sealed map[string]SealedSuite) error {
	for _, s := range c.Suites {
		have, ok := sealed[s.ID]
		if !ok {
			return fmt.Errorf("challenge %s: the sealed tasks of suite %s were not loaded", c.ID, s.ID)
		}
		if n := len(have.Evaluated()); n != s.TaskCount {
			return fmt.Errorf("challenge %s: suite %s evaluates %d tasks but its file says task_count = %d", c.ID, s.ID, n, s.TaskCount)
		}
	}
	return nil
}
