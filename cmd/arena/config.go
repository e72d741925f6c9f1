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
	if _, err := readSealed(cfg); err != nil {
		return err
	}
	out := configReport{OK: true}
	for _, c := range challenges {
		out.Challenges = append(out.Challenges, configFacts{c.ID, string(c.Status), c.EvalTasks(), c.LayoutProblem})
		env.say("ok    %s (%s, %d held-out tasks)", c.ID, c.Status, c.EvalTasks())
	}
	return env.document(out)
}
