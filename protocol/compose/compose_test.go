package compose_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"

	"github.com/posttrainarena/arena/configs"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/compose"
)

func defaults(t *testing.T) configs.Config {
	t.Helper()
	cfg, err := configs.Default()
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func challenges(t *testing.T, cfg configs.Config) map[string]protocol.Challenge {
	t.Helper()
	rows, err := compose.Challenges(cfg)
	if err != nil {
		t.Fatal(err)
	}
	byID := map[string]protocol.Challenge{}
	for _, c := range rows {
		byID[c.ID] = c
	}
	return byID
}

// golden compares text with a file under testdata, or writes it there when
// ARENA_UPDATE is set.
func golden(t *testing.T, name string, text []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if os.Getenv("ARENA_UPDATE") != "" {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(text)); diff != "" {
		t.Errorf("%s (-want +got; ARENA_UPDATE=1 accepts):\n%s", file, diff)
	}
}

func TestDefaultComposesWithoutAProblem(t *testing.T) {
	if err := compose.Check(defaults(t)); err != nil {
		t.Error(err)
	}
}

func TestChallenges(t *testing.T) {
	rows, err := compose.Challenges(defaults(t))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(rows, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "challenges.json", append(text, '\n'))
}

// TestSeedFacts holds the default challenges to the facts that the agent guide
// states about them.
func TestSeedFacts(t *testing.T) {
	cfg := defaults(t)
	all := challenges(t, cfg)

	tb2 := all["tb2-9b"]
	price, err := protocol.ParseMicros(string(cfg.Arena.Flavors[tb2.Compute.Flavor].PricePerHour))
	if err != nil {
		t.Fatal(err)
	}
	if got := protocol.Cost(price, tb2.Compute.Timeout()).String(); got != "159.9998" {
		t.Errorf("a run of tb2-9b reserves $%s, want 159.9998", got)
	}
	type facts struct {
		Model, Recipe, Flavor          string
		Lora, Steps, Group, Tries      int
		Gate, Trials, Tasks            int
		AttemptSecs, AtATime           int
		TrainContext, EvalContext      int
		NeedsVariance                  bool
		Tolerated                      int
		Timeout                        time.Duration
		TrainerDevices, ServingDevices string
	}
	got := facts{
		tb2.BaseModel.RepoID, tb2.Recipe.ID, tb2.Compute.Flavor,
		tb2.Recipe.LoraRank, tb2.Recipe.MaxSteps, tb2.Recipe.NumGenerations, tb2.Recipe.RolloutAttempts,
		tb2.Recipe.GateTaskCount, tb2.Metric.TrialsPerRun, tb2.EvalTasks(),
		tb2.Recipe.Harness.AgentTimeoutSecs, tb2.Recipe.Harness.Concurrency,
		tb2.Recipe.TrainContext, tb2.Recipe.EvalContext,
		tb2.Recipe.RequireRewardVariance,
		protocol.Tolerated(tb2.Recipe.MaxErrorFraction, tb2.EvalTasks()),
		tb2.Compute.Timeout(),
		tb2.Recipe.TrainerGPUs, tb2.Recipe.ServingGPUs,
	}
	want := facts{"Qwen/Qwen3.5-9B", "grpo-v1", "a100x8", 32, 2, 8, 2, 32, 1, 32, 900, 8, 16384, 24576, true, 4, 8 * time.Hour, "0-3", "4"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tb2-9b (-want +got):\n%s", diff)
	}
	if err := tb2.AcceptsRuns(); err != nil {
		t.Error(err)
	}

	large := all["terminal-35b"]
	if large.BaseModel.RepoID != "Qwen/Qwen3.5-35B-A3B" || large.Recipe.ID != "grpo-v2" || large.EvalTasks() != 86+38 || large.Compute.Flavor != "h200x8" {
		t.Errorf("terminal-35b is %s with %s on %d tasks and %s", large.BaseModel.RepoID, large.Recipe.ID, large.EvalTasks(), large.Compute.Flavor)
	}
	if err := large.AcceptsRuns(); !errors.Is(err, protocol.ErrClosed) {
		t.Errorf("terminal-35b accepts runs: %v", err)
	}

	skills := all["skillsbench-9b"]
	if skills.EvalTasks() != 87 || skills.Opens.Format(time.DateOnly) != "2026-10-05" || skills.Baseline != nil {
		t.Errorf("skillsbench-9b has %d tasks, opens %s, baseline %v", skills.EvalTasks(), skills.Opens, skills.Baseline)
	}
	if err := skills.AcceptsRuns(); !errors.Is(err, protocol.ErrPaused) {
		t.Errorf("skillsbench-9b accepts runs: %v", err)
	}
}

// TestBasisFollowsTheConfiguration: what is said to be invented depends on where
// tasks come from and on who runs jobs.
func TestBasisFollowsTheConfiguration(t *testing.T) {
	cfg := defaults(t)
	before := challenges(t, cfg)["tb2-9b"]
	if !before.Suites[0].Invented || !strings.Contains(before.Basis[0], "simulated") {
		t.Errorf("the default does not say that it is simulated and invented: %v", before.Basis)
	}

	cfg.Arena.Providers.Default = compose.ProviderHuggingFace
	cfg.Arena.Suites = map[string]configs.SealedSource{"tb2-sealed-32": {
		From: configs.FromDataset, RepoID: "example-org/tb2", Revision: strings.Repeat("ab", 20), TokenEnv: "ARENA_SEALED_TOKEN",
	}}
	after := challenges(t, cfg)["tb2-9b"]
	want := protocol.Suite{
		ID: "tb2-sealed-32", Title: "Terminal-Bench 2.0, sealed subset",
		RepoID: "example-org/tb2", Revision: strings.Repeat("ab", 20), TaskCount: 32,
	}
	if diff := cmp.Diff(want, after.Suites[0]); diff != "" {
		t.Errorf("a private suite (-want +got):\n%s", diff)
	}
	for _, s := range after.Basis {
		if strings.Contains(s, "simulated") || strings.Contains(s, "32 held-out") {
			t.Errorf("a real arena still says: %s", s)
		}
	}
	if got := challenges(t, cfg)["terminal-35b"].Suites[0]; !got.Invented {
		t.Error("a suite that stayed with the fixture is no longer called invented")
	}
}

// TestJobBootstrap: the layout of a challenge as its job is told it, where every
// replica of the model server has its own devices.
func TestJobBootstrap(t *testing.T) {
	boot, err := compose.JobBootstrap(defaults(t), "terminal-35b", "challenge-0123456789ab", "https://arena.example.org/")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"ARENA_SERVING_GPUS": "4,5,6,7", "ARENA_TRAINER_GPUS": "0,1,2,3", "ARENA_TENSOR_PARALLEL": "2", "ARENA_DATA_PARALLEL": "2",
		"ARENA_TRAIN_CONTEXT": "65536", "ARENA_EVAL_CONTEXT": "65536", "ARENA_CONTEXT": "65536", "ARENA_RELAY_URL": "https://arena.example.org/relay/challenge-0123456789ab/v1",
	} {
		if got := boot.Env[name]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestRunConfig(t *testing.T) {
	run := compose.Run{
		ID: "challenge-0123456789ab", Collection: "env-0123456789ab",
		Source: protocol.Source{
			RepoType: protocol.RepoDataset, RepoID: "example-org/runs", Revision: strings.Repeat("0a", 20),
			EntryPath: "bundle/submissions/env-0123456789ab",
		},
	}
	cfg := defaults(t)
	for id := range cfg.Challenges {
		text, err := compose.RunConfig(cfg, id, run)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, id+".toml", text)
		var parsed map[string]any
		if err := toml.Unmarshal(text, &parsed); err != nil {
			t.Errorf("%s: what was rendered is not TOML: %v", id, err)
		}
		again, err := compose.RunConfig(defaults(t), id, run)
		if err != nil || string(again) != string(text) {
			t.Errorf("%s: rendered twice, the config differs (%v)", id, err)
		}
	}
}

// TestRunConfigQuotesWhatItIsGiven: a collection's names come from outside.
func TestRunConfigQuotesWhatItIsGiven(t *testing.T) {
	const hostile = "x\"\n[harness]\nagent = \"evil"
	text, err := compose.RunConfig(defaults(t), "tb2-9b", compose.Run{
		ID: hostile, Collection: hostile,
		Source: protocol.Source{RepoID: hostile, EntryPath: hostile, Revision: strings.Repeat("0a", 20)},
	})
	if err != nil {
		t.Fatal(err)
	}
	var parsed struct {
		Train struct {
			RepoID string `toml:"repo_id"`
		} `toml:"train_dataset"`
		Harness struct{ Agent string } `toml:"harness"`
	}
	if err := toml.Unmarshal(text, &parsed); err != nil {
		t.Fatal(err)
	}
	if parsed.Harness.Agent != "opencode" || parsed.Train.RepoID != hostile {
		t.Errorf("agent %q, repository %q", parsed.Harness.Agent, parsed.Train.RepoID)
	}
}

// TestTaskListsAreWhatTheConfigNames renders every challenge with its lists.
func TestTaskListsAreWhatTheConfigNames(t *testing.T) {
	cfg := defaults(t)
	sealed := map[string][]string{}
	for id := range cfg.Suites {
		sealed[id] = []string{id + "-two", id + "-one"}
	}
	for id, c := range cfg.Challenges {
		at := protocol.Source{RepoID: "example-org/x", Revision: strings.Repeat("0a", 20)}
		text, err := compose.RunConfig(cfg, id, compose.Run{ID: "r", Source: at})
		if err != nil {
			t.Fatal(err)
		}
		lists, err := compose.TaskLists(cfg, id, []string{"sort", "merge"}, sealed)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), "task_list"); len(lists) != n || n != 1+len(c.Binding.Suites) {
			t.Errorf("%s: the config names %d lists, there are %d", id, n, len(lists))
		}
		all := ""
		for name, list := range lists {
			if !strings.Contains(string(text), "task_list = '"+name+"'") {
				t.Errorf("%s: the config does not name %s", id, name)
			}
			all += string(list)
		}
		want := "merge\nsort\n"
		for _, suite := range c.Binding.Suites {
			want += suite + "-one\n" + suite + "-two\n"
		}
		if len(all) != len(want) || !strings.Contains(all, "merge\nsort\n") {
			t.Errorf("%s: the lists hold\n%s", id, all)
		}
		if strings.Contains(string(text), "-two") {
			t.Errorf("%s: the config itself names a sealed task", id)
		}
	}
	if _, err := compose.TaskLists(cfg, "no-such", nil, nil); err == nil {
		t.Error("the lists of a challenge that does not exist were rendered")
	}
}

func TestRunConfigRefuses(t *testing.T) {
	at := protocol.Source{RepoID: "example-org/x", Revision: strings.Repeat("0a", 20)}
	if _, err := compose.RunConfig(defaults(t), "no-such", compose.Run{ID: "r", Source: at}); err == nil {
		t.Error("a challenge that does not exist was rendered")
	}
	at.Revision = "main"
	if _, err := compose.RunConfig(defaults(t), "tb2-9b", compose.Run{ID: "r", Source: at}); err == nil {
		t.Error("a collection that is not pinned was rendered")
	}
}

func TestCheckFindsWhatCannotWork(t *testing.T) {
	method := func(change func(*configs.Method)) func(*configs.Config) {
		return func(c *configs.Config) {
			m := c.Methods["grpo-v1"]
			change(&m)
			c.Methods["grpo-v1"] = m
		}
	}
	sealed := func(from configs.SealedSource) func(*configs.Config) {
		return func(c *configs.Config) {
			if from.From == configs.FromDataset {
				from.RepoID = "a/b"
				if from.Revision == "" {
					from.Revision = strings.Repeat("ab", 20)
				}
			}
			c.Arena.Suites = map[string]configs.SealedSource{"tb2-86": from}
		}
	}
	challenge := func(change func(*configs.Challenge)) func(*configs.Config) {
		return func(c *configs.Config) {
			ch := c.Challenges["tb2-9b"]
			change(&ch)
			c.Challenges["tb2-9b"] = ch
		}
	}
	tests := []struct {
		change func(*configs.Config)
		want   string // part of the only problem
	}{
		{func(c *configs.Config) { c.Arena.Budget.Cap = "1e3" }, `budget.cap: amount "1e3"`},
		{func(c *configs.Config) { c.Arena.Budget.PriorAllowance = "-1" }, `budget.prior_allowance: amount "-1"`},
		{func(c *configs.Config) { c.Arena.Server.Listen = "7860" }, "server.listen: must be HOST:PORT"},
		{func(c *configs.Config) { c.Arena.Server.Listen = "h:70000" }, "server.listen: must be HOST:PORT"},
		{func(c *configs.Config) { c.Arena.Server.BaseURL = "arena.example.org" }, "server.base_url: must start with http"},
		{func(c *configs.Config) { c.Arena.Server.BaseURL = "https://arena.example.org/" }, "must not end with a slash"},
		{func(c *configs.Config) { c.Arena.Limits.BundleBytes = 0 }, "limits.bundle_bytes: must be 1 or more"},
		{func(c *configs.Config) { c.Arena.Identity.Mode = "ldap" }, `identity.mode: must be one of local, hub, not "ldap"`},
		{func(c *configs.Config) {
			c.Arena.Identity.Mode, c.Arena.Identity.HubURL = "hub", "http://hub.example.org"
		}, "identity.hub_url: must start with https"},
		{func(c *configs.Config) { c.Arena.Providers.Default = "aws" }, `providers.default: must be one of`},
		{func(c *configs.Config) { c.Arena.Providers.Simulated.FaultRate = 1.5 }, "fault_rate: must be from 0 to 1"},
		{func(c *configs.Config) { c.Arena.Providers.Local.Command = nil }, "providers.local.command: names no program"},
		{func(c *configs.Config) { c.Arena.Providers.Local.Directory = "" }, "providers.local.directory: is empty"},
		{func(c *configs.Config) { c.Arena.Providers.Local.KeepDays = -1 }, "providers.local.keep_days: must be from 0, which means for ever, to 36500"},
		{func(c *configs.Config) { c.Arena.Providers.Local.GraceSeconds = 0 }, "providers.local.grace_seconds: must be from 1 to 3600"},
		{func(c *configs.Config) { c.Arena.Providers.Local.PricePerHour = "free" }, `providers.local.price_per_hour: amount "free"`},
		{func(c *configs.Config) { c.Arena.Providers.Local.Environment = []string{"HF_TOKEN=abc"} }, "providers.local.environment: holds something other than names"},
		{func(c *configs.Config) { c.Arena.Suites = map[string]configs.SealedSource{"tb2-86": {From: "disk"}} }, "suites.tb2-86.from: must be one of fixture"},
		{func(c *configs.Config) {
			c.Arena.Suites = map[string]configs.SealedSource{"tb2-86": {From: configs.FromDirectory}}
		}, "suites.tb2-86.path: is missing"},
		{func(c *configs.Config) {
			c.Arena.Suites = map[string]configs.SealedSource{"tb2-86": {From: configs.FromDataset, RepoID: "a/b"}}
		}, "needs a repo_id and a revision"},
		{sealed(configs.SealedSource{From: configs.FromDataset}), "suites.tb2-86.token_env: a private dataset needs a token"},
		{sealed(configs.SealedSource{From: configs.FromDataset, TokenEnv: "A", TokenFile: "/b"}), "one of both"},
		{sealed(configs.SealedSource{From: configs.FromDataset, TokenEnv: "not a name"}), "is not the name of an environment variable"},
		{sealed(configs.SealedSource{From: configs.FromDataset, TokenEnv: "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH"}), "is not the name of an environment variable"},
		{sealed(configs.SealedSource{From: configs.FromDirectory, Path: "/x", TokenFile: "/b"}), "a directory needs no token"},
		{sealed(configs.SealedSource{From: configs.FromDataset, TokenEnv: "A", Revision: "main"}), "suites.tb2-86.revision: must be a full commit"},
		{func(c *configs.Config) { c.KnownIssues[0].Class = "nobody" }, "known_issues.toml:"},
		{func(c *configs.Config) { c.KnownIssues[0].Stages = []string{"lunch"} }, `there is no stage "lunch"`},
		{method(func(m *configs.Method) { m.Runtime.NumGenerations = 1 }), "runtime.num_generations: must be 2 or more"},
		{method(func(m *configs.Method) { m.GRPO.GenerationBatchSize = 12 }), "grpo.generation_batch_size: must be a multiple"},
		{method(func(m *configs.Method) { m.SFT.Enabled = true }), "sft.enabled: must be false"},
		{method(func(m *configs.Method) { m.GRPO.RunPolicy = "never" }), "grpo.run_policy: must be one of"},
		{method(func(m *configs.Method) { m.Harness.MaxInfraErrorFraction = -0.1 }), "max_infra_error_fraction: must be from 0 to 1"},
		{challenge(func(c *configs.Challenge) { c.Status = "opened" }), `status: must be one of open, planned, closed, not "opened"`},
		{challenge(func(c *configs.Challenge) { c.Pipeline.Ref = "main" }), "pipeline.ref: must be a full commit"},
		{challenge(func(c *configs.Challenge) { c.Compute.ConcurrentRuns = 2 }), "compute.concurrent_runs: must be 1"},
		{challenge(func(c *configs.Challenge) { c.Compute.Provider = "gcp" }), "compute.provider: must be one of"},
	}
	for _, tt := range tests {
		cfg := defaults(t)
		tt.change(&cfg)
		var problems configs.Problems
		if !errors.As(compose.Check(cfg), &problems) || len(problems) == 0 {
			t.Errorf("no problem found, want %q", tt.want)
			continue
		}
		found := slices.ContainsFunc(problems, func(p configs.Problem) bool { return strings.Contains(p.String(), tt.want) })
		if !found {
			t.Errorf("problems:\n%v\nwant one with %q", problems, tt.want)
		}
		if rows, err := compose.Challenges(cfg); err == nil || rows != nil {
			t.Errorf("%q did not keep the challenges from being composed", tt.want)
		}
	}
}

// TestProblemsPointIntoTheFile: values that TOML cannot judge are reported at
// their place all the same.
func TestProblemsPointIntoTheFile(t *testing.T) {
	cfg := defaults(t)
	cfg.KnownIssues[1].Class = "nobody"
	err := compose.Check(cfg)
	var problems configs.Problems
	if !errors.As(err, &problems) {
		t.Fatalf("Check: %v", err)
	}
	if p := problems[0]; p.File != "known_issues.toml" || p.Line == 0 || p.Key != "issue[1].class" {
		t.Errorf("the problem is placed at %+v", p)
	}
}

func TestPinnedImage(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	for image, want := range map[string][2]bool{
		"huggingface/trl":                                  {},
		"huggingface/trl:latest":                           {},
		"huggingface/trl:1.8":                              {},
		"registry.example.org:5000/pipeline":               {},
		"10.0.0.1:5000/pipeline":                           {},
		"registry.example.org:5000/pipeline:main":          {},
		"huggingface/trl:1.8.0":                            {false, true},
		"pytorch/pytorch:2.8.0-cuda12.8-devel":             {false, true},
		"registry.example.org:5000/pipeline:v1.2.3":        {false, true},
		"huggingface/trl@sha256:" + sum:                    {true, false},
		"registry.example.org:5000/x:latest@sha256:" + sum: {true, false},
		"huggingface/trl:1.8.0@sha256:abc":                 {},
	} {
		if digest, version := compose.PinnedImage(image); digest != want[0] || version != want[1] {
			t.Errorf("%s: digest %t, version %t; want %v", image, digest, version, want)
		}
	}
}
