package server

import (
	"net/http"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

func (s *Server) whoami(c *call) error {
	agents, _, err := s.Service.Agents(c.ctx(), c.who.Name, protocol.Page{Limit: protocol.MaxPage})
	if err != nil {
		return err
	}
	out := api.Whoami{Name: c.who.Name, Orgs: append([]string{}, c.who.Orgs...), Editor: c.who.Editor, Agents: []api.Agent{}, PerHour: s.Service.HourLimits(c.who)}
	for _, a := range agents {
		out.Agents = append(out.Agents, api.AgentFrom(a))
	}
	return c.answer(http.StatusOK, out)
}

func (s *Server) registerAgent(c *call) error {
	var req api.RegisterAgent
	if err := c.body(&req); err != nil {
		return err
	}
	a, existing, err := s.Service.RegisterAgent(c.ctx(), c.who, c.by(), req.Agent())
	if err != nil {
		return err
	}
	out := api.AgentFrom(a)
	out.Existing = existing
	return c.created(existing, out)
}

func (s *Server) listAgents(c *call) error {
	page, err := c.page()
	if err != nil {
		return err
	}
	agents, next, err := s.Service.Agents(c.ctx(), "", page)
	if err != nil {
		return err
	}
	out := api.Agents{Agents: []api.Agent{}, Next: c.next(next)}
	for _, a := range agents {
		out.Agents = append(out.Agents, api.AgentFrom(a))
	}
	return c.answer(http.StatusOK, out)
}
