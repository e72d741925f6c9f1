package compose

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/posttrainarena/arena/configs"
	"github.com/posttrainarena/arena/protocol"
)

// The names of the providers (PROTOCOL §8).
const (
	ProviderHuggingFace = "huggingface"
	ProviderKubernetes  = "kubernetes"
	ProviderLocal       = "local"
	ProviderSimulated   = "simulated"
)

// simulatedBasis is what every challenge that only plays its runs says about
// itself.
const simulatedBasis = "Runs are simulated: no model is trained, and every outcome is drawn from a seed."

// Challenges composes every challenge of a configuration, in the order of every
// list. The error is of type configs.Problems and names everything that keeps a
// challenge from being composed. A serving layout that cannot work is not among
// it: it is in the row's LayoutProblem.
func Challenges(cfg configs.Config) ([]protocol.Challenge, error) {
	rows, problems, _ := composeAll(cfg)
	if len(problems) > 0 {
		return nil, problems.Err()
	}
	return rows, nil
}

// Check composes every challenge and reports everything that is wrong with a
// configuration, layouts included, as configs.Problems.
func Check(cfg configs.Config) error {
	_, problems, layouts := composeAll(cfg)
	return append(problems, layouts...).Err()
}

func composeAll(cfg configs.Config) (rows []protocol.Challenge, problems, layouts configs.Problems) {
	problems = append(problems, checkArena(cfg.Arena)...)
	problems = append(problems, checkIssues(cfg.KnownIssues)...)
	for _, id := range slices.Sorted(maps.Keys(cfg.Methods)) {
		problems = append(problems, checkMethod(cfg.Methods[id])...)
	}
	for _, id := range slices.Sorted(maps.Keys(cfg.Models)) {
		problems = append(problems, checkModel(cfg.Models[id])...)
	}
	for _, id := range slices.Sorted(maps.Keys(cfg.Suites)) {
		problems = append(problems, checkSuite(cfg, cfg.Suites[id])...)
	}
	for _, id := range slices.Sorted(maps.Keys(cfg.Challenges)) {
		problems = append(problems, checkChallenge(cfg.Challenges[id])...)
		row, layout := challenge(cfg, cfg.Challenges[id])
		rows = append(rows, row)
		layouts = append(layouts, layout...)
	}
	protocol.SortChallenges(rows)
	return rows, problems, layouts
}

// challenge composes one row. Its fragments exist: configs.Load saw to that.
func challenge(cfg configs.Config, c configs.Challenge) (protocol.Challenge, configs.Problems) {
	model, method := cfg.Models[c.Binding.Model], cfg.Methods[c.Binding.Method]
	serving, problems := layout(model, method, cfg.Arena.Flavors)
	row := protocol.Challenge{
		ID:          c.ID,
		Title:       c.Title,
		Role:        c.Role,
		Status:      protocol.ChallengeStatus(c.Status),
		StatusNote:  c.StatusNote,
		RunsPaused:  c.RunsPaused,
		Description: unwrap(c.Description),
		Track:       c.Track,
		BaseModel: protocol.BaseModel{
			RepoID: model.Model.ID, Revision: model.Model.Revision,
			MaxContext: model.Model.MaxContext, License: model.Model.License,
		},
		Recipe: recipe(c, method, serving),
		Metric: protocol.Metric{Name: "delta_pp", Description: c.Metric.Description, TrialsPerRun: c.Metric.TrialsPerRun},
		Compute: protocol.Compute{
			Provider: provider(cfg, c), Flavor: serving.Flavor, TimeoutSeconds: c.Compute.TimeoutSeconds,
			ConcurrentRuns: c.Compute.ConcurrentRuns, RunsPerDay: c.Compute.RunsPerDay,
		},
		Basis: basis(cfg, c),
	}
	if d := c.Opens; d.Year != 0 {
		row.Opens = time.Date(d.Year, time.Month(d.Month), d.Day, 0, 0, 0, 0, time.UTC)
	}
	for _, id := range c.Binding.Suites {
		row.Suites = append(row.Suites, suite(cfg, cfg.Suites[id]))
	}
	if b := c.Baseline; b != nil {
		row.Baseline = &protocol.Baseline{PassRate: b.PassRate, StderrPP: b.StderrPP, Trials: b.Trials, Note: b.Note, Source: b.Source}
	}
	var reasons []string
	for _, p := range problems {
		reasons = append(reasons, p.Message)
	}
	row.LayoutProblem = strings.Join(reasons, "; ")
	return row, problems
}

func recipe(c configs.Challenge, m configs.Method, s configs.Serving) protocol.Recipe {
	note := m.Meta.Note
	if c.Recipe.Note != "" {
		note += " " + c.Recipe.Note
	}
	return protocol.Recipe{
		ID:                    m.ID,
		Note:                  note,
		Algorithm:             m.Meta.Algorithm,
		MaxSteps:              m.GRPO.MaxSteps,
		NumGenerations:        m.Runtime.NumGenerations,
		RolloutAttempts:       m.GRPO.RolloutAttempts,
		GateTaskCount:         m.GRPO.GateTaskCount,
		LearningRate:          m.GRPO.LearningRate,
		LoraRank:              m.GRPO.LoraR,
		TrainContext:          s.TrainContext,
		EvalContext:           s.EvalContext,
		RequireRewardVariance: m.GRPO.RequireRewardVariance,
		MaxErrorFraction:      m.Harness.MaxInfraErrorFraction,
		Sandbox:               m.Runtime.Sandbox,
		Harness:               protocol.Harness{Agent: m.Harness.Agent, Concurrency: m.Harness.Concurrency, AgentTimeoutSecs: m.Harness.AgentTimeoutSec},
		Pipeline:              protocol.Pipeline{Repo: c.Pipeline.Repo, Ref: c.Pipeline.Ref},
		ServingNote:           c.Recipe.ServingNote,
		ServingGPUs:           s.ServingGPUs,
		TrainerGPUs:           s.TrainerGPUs,
		TensorParallel:        s.TensorParallel,
	}
}

func suite(cfg configs.Config, s configs.Suite) protocol.Suite {
	from := SuiteSource(cfg, s.ID)
	return protocol.Suite{
		ID: s.ID, Title: s.Title, RepoID: from.RepoID, Revision: from.Revision,
		TaskCount: s.TaskCount, Invented: from.From == configs.FromFixture,
	}
}

// SuiteSource says where the sealed tasks of a suite are read from: where
// arena.toml says, else where the suite's own file says. The repository and
// revision are filled in for every kind of source, since they also name the
// suite in public.
func SuiteSource(cfg configs.Config, id string) configs.SealedSource {
	own := cfg.Suites[id]
	from, ok := cfg.Arena.Suites[id]
	if !ok {
		from = own.Sealed
	}
	if from.RepoID == "" {
		from.RepoID = own.RepoID
	}
	if from.Revision == "" {
		from.Revision = own.Revision
	}
	if from.Path == "" && from.From == configs.FromDataset {
		from.Path = own.Path
	}
	return from
}

// provider is who runs a challenge's jobs.
func provider(cfg configs.Config, c configs.Challenge) string {
	if c.Compute.Provider != "" {
		return c.Compute.Provider
	}
	return cfg.Arena.Providers.Default
}

// basis lists what about a challenge is invented, without repeating itself.
func basis(cfg configs.Config, c configs.Challenge) []string {
	var all []string
	if provider(cfg, c) == ProviderSimulated {
		all = append(all, simulatedBasis)
	}
	all = append(all, c.Basis...)
	all = append(all, cfg.Models[c.Binding.Model].Basis, cfg.Methods[c.Binding.Method].Meta.Basis)
	for _, id := range c.Binding.Suites {
		if SuiteSource(cfg, id).From == configs.FromFixture {
			all = append(all, cfg.Suites[id].Basis)
		}
	}
	var sentences []string
	for _, s := range all {
		if s != "" && !slices.Contains(sentences, s) {
			sentences = append(sentences, s)
		}
	}
	return sentences
}

// unwrap joins the lines of a paragraph: TOML texts are wrapped for the file's
// reader, not for whoever shows them.
func unwrap(text string) string { return strings.Join(strings.Fields(text), " ") }
