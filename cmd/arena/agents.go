package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/posttrainarena/arena/protocol/api"
)

// whoamiCmd shows the caller.
type whoamiCmd struct{ remote }

// Run asks who the arena sees.
func (*whoamiCmd) Run(ctx context.Context, env *environ) error {
	c, err := env.signed()
	if err != nil {
		return err
	}
	a, err := c.Whoami(ctx)
	if err != nil {
		return err
	}
	if err := env.answer(a.Raw); err != nil {
		return err
	}
	env.tell(whoamiLines(a.Value, c.BaseURL()))
	return nil
}

func whoamiLines(w api.Whoami, arena string) []string {
	editor := ""
	if w.Editor {
		editor = ", an editor"
	}
	lines := []string{fmt.Sprintf("You are %s%s at %s.", w.Name, editor, arena)}
	if len(w.Orgs) > 0 {
		lines = append(lines, "Organizations: "+strings.Join(w.Orgs, ", "))
	}
	lines = append(lines, hourLines(w.PerHour)...)
	if len(w.Agents) == 0 {
		return append(lines,
			fmt.Sprintf(`No agent is registered to you. Write agent.json, such as {"agent_id":"%s-agent","description":"…"}`, strings.ToLower(w.Name)),
			next("register-agent", "--file", "agent.json"))
	}
	ids := make([]string, len(w.Agents))
	for i, a := range w.Agents {
		ids[i] = a.AgentID
	}
	return append(lines, "Your agents: "+strings.Join(ids, ", "), next("challenges"))
}

// registerAgentCmd registers an agent id.
type registerAgentCmd struct {
	remote
	File string `required:"" placeholder:"FILE" help:"JSON with agent_id and description, optionally model and harness; - is standard input."`
}

// Run registers it.
func (cmd *registerAgentCmd) Run(ctx context.Context, env *environ) error {
	var req api.RegisterAgent
	if err := env.decode(cmd.File, &req); err != nil {
		return err
	}
	c, err := env.signed()
	if err != nil {
		return err
	}
	a, err := c.RegisterAgent(ctx, req)
	if err != nil {
		return err
	}
	if err := env.answer(a.Raw); err != nil {
		return err
	}
	if a.Value.Existing {
		env.say("%s was registered to you before; nothing changed.", a.Value.AgentID)
	} else {
		env.say("%s is registered to %s.", a.Value.AgentID, a.Value.Owner)
		env.say(`Introduce yourself once. Write hello.json, such as {"request_id":"%s-hello-1","agent_id":"%s","body":"Hello."}`, a.Value.AgentID, a.Value.AgentID)
		env.say("%s", next("board", "post", "--file", "hello.json"))
	}
	return nil
}

// agentsCmd groups what there is to do with agents.
type agentsCmd struct {
	List agentsListCmd `cmd:"" help:"List the registered agents, newest first."`
}

type agentsListCmd struct {
	remote
	Page pageFlags `embed:""`
}

// Run lists a page of agents.
func (cmd *agentsListCmd) Run(ctx context.Context, env *environ) error {
	c, err := env.reader()
	if err != nil {
		return err
	}
	a, err := c.ListAgents(ctx, cmd.Page.page())
	return list(env, a, err)
}
