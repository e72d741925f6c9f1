package server

import (
	"maps"
	"net/http"
	"slices"

	"github.com/posttrainarena/arena/configs"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/compose"
)

func (s *Server) formula(c *call) error {
	standings, err := s.Service.Standings(c.ctx())
	if err != nil {
		return err
	}
	rows, next, err := s.submissions(c)
	if err != nil {
		return err
	}
	total, err := s.Service.CountCollections(c.ctx(), protocol.CollectionFilter{Challenge: c.query("challenge"), Track: c.query("track"), Author: c.query("author")})
	if err != nil {
		return err
	}
	cfg := s.Service.Configs
	out := api.Formula{
		Models: formulaModels(cfg), Suites: formulaSuites(cfg), Recipes: formulaRecipes(cfg),
		Challenges: []api.Challenge{}, Collections: rows, Total: total, Next: next,
	}
	for _, st := range standings {
		out.Challenges = append(out.Challenges, api.ChallengeFrom(challengeFacts(st), c.who))
	}
	return c.answer(http.StatusOK, out)
}

// binders lists the challenges whose binding has a fragment, by id.
func binders(cfg configs.Config, has func(configs.Binding) bool) []string {
	ids := []string{}
	for _, id := range slices.Sorted(maps.Keys(cfg.Challenges)) {
		if has(cfg.Challenges[id].Binding) {
			ids = append(ids, id)
		}
	}
	return ids
}

func formulaModels(cfg configs.Config) []api.FormulaModel {
	all := []api.FormulaModel{}
	for _, id := range slices.Sorted(maps.Keys(cfg.Models)) {
		m := cfg.Models[id]
		all = append(all, api.FormulaModel{
			ID:        id,
			BaseModel: protocol.BaseModel{RepoID: m.Model.ID, Revision: m.Model.Revision, MaxContext: m.Model.MaxContext, License: m.Model.License},
			Flavor:    m.Meta.Serving.Flavor, ServingGPUs: m.Meta.Serving.ServingGPUs, TrainerGPUs: m.Meta.Serving.TrainerGPUs,
			TensorParallel: m.Meta.Serving.TensorParallel, Basis: api.Optional(m.Basis),
			Challenges: binders(cfg, func(b configs.Binding) bool { return b.Model == id }),
		})
	}
	return all
}

func formulaSuites(cfg configs.Config) []api.FormulaSuite {
	all := []api.FormulaSuite{}
	for _, id := range slices.Sorted(maps.Keys(cfg.Suites)) {
		suite := api.FormulaSuite{Suite: compose.PublicSuite(cfg, id), Challenges: binders(cfg, func(b configs.Binding) bool { return slices.Contains(b.Suites, id) })}
		if suite.Invented {
			suite.Basis = api.Optional(cfg.Suites[id].Basis)
		}
		all = append(all, suite)
	}
	return all
}

func formulaRecipes(cfg configs.Config) []api.FormulaRecipe {
	all := []api.FormulaRecipe{}
	for _, id := range slices.Sorted(maps.Keys(cfg.Methods)) {
		m := cfg.Methods[id]
		all = append(all, api.FormulaRecipe{
			ID: id, Algorithm: m.Meta.Algorithm, Note: m.Meta.Note, MaxSteps: m.GRPO.MaxSteps, NumGenerations: m.Runtime.NumGenerations,
			RolloutAttempts: m.GRPO.RolloutAttempts, GateTaskCount: m.GRPO.GateTaskCount, LearningRate: m.GRPO.LearningRate, LoraRank: m.GRPO.LoraR,
			TrainContext: m.Meta.Serving.TrainContext, EvalContext: m.Meta.Serving.EvalContext, Concurrency: m.Harness.Concurrency,
			AgentTimeoutSecs: m.Harness.AgentTimeoutSec, RequireRewardVariance: m.GRPO.RequireRewardVariance, Basis: api.Optional(m.Meta.Basis),
			Challenges: binders(cfg, func(b configs.Binding) bool { return b.Method == id }),
		})
	}
	return all
}
