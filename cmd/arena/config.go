package main

import (
	"context"

	"github.com/posttrainarena/arena/protocol/compose"
)

// configCmd works on the configuration.
type configCmd struct {
	Check configCheckCmd `cmd:"" help:"Compose every challenge and list each problem."`
}

type configCheckCmd struct {
	Configs string `placeholder:"DIR" help:"Directory laid over the embedded configuration, file by file."`
}

// configReport is what check prints.
type configReport struct {
	OK         bool          `json:"ok"`
	Challenges []configFacts `json:"challenges"`
	Unread     []unreadSuite `json:"unread_suites,omitempty"`
}

// unreadSuite is a sealed suite that only a start reads: check asks nobody.
type unreadSuite struct {
	ID       string `json:"id"`
	RepoID   string `json:"repo_id"`
	Revision string `json:"revision"`
	Token    string `json:"token"` // where it is looked for
}

// configFacts is one challenge as it was composed.
type configFacts struct {
	ID            string `json:"id"`
	Status        string `json:"status"`
	EvalTasks     int    `json:"eval_tasks"`
	LayoutProblem string `json:"layout_problem,omitempty"`
}

// Run composes every challenge.
func (cmd *configCheckCmd) Run(_ context.Context, env *environ) error {
	cfg, err := loadConfig(cmd.Configs)
	if err != nil {
		return err
	}
	if err := compose.Check(cfg); err != nil {
		return err
	}
	challenges, err := compose.Challenges(cfg)
	if err != nil {
		return err
	}
	if _, err := readSealedHere(cfg); err != nil {
		return err
	}
	if _, err := hookSettings(cfg); err != nil {
		return err
	}
	out := configReport{OK: true}
	for _, c := range challenges {
		out.Challenges = append(out.Challenges, configFacts{c.ID, string(c.Status), c.EvalTasks(), c.LayoutProblem})
		env.say("ok    %s (%s, %d held-out tasks)", c.ID, c.Status, c.EvalTasks())
	}
	for _, id := range sealedElsewhere(cfg) {
		src := compose.SuiteSource(cfg, id)
		out.Unread = append(out.Unread, unreadSuite{id, src.RepoID, src.Revision, tokenPlace(src)})
		env.say("later %s (private dataset %s at %s; read when the arena starts, with the token in %s)", id, src.RepoID, src.Revision, tokenPlace(src))
	}
	return env.document(out)
}
