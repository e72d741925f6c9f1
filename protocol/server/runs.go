package server

import (
	"errors"
	"net/http"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/arena"
)

func (s *Server) preflight(c *call) error {
	env := c.query("environment_id")
	if env == "" {
		return protocol.ErrInvalid.Detailf("Name the collection in the query: environment_id=env-…").
			WithFields(protocol.FieldError{Field: "query.environment_id", Message: "is required"})
	}
	p, err := s.Service.Preflight(c.ctx(), c.who, c.param("id"), env)
	if err != nil {
		return err
	}
	out := api.PreflightFrom(c.param("id"), env, p, s.Now())
	if out.Forecast, err = s.Service.Forecast(c.ctx(), c.who, c.param("id"), env); err != nil {
		return err
	}
	return c.answer(http.StatusOK, out)
}

func (s *Server) launch(c *call) error {
	var req api.LaunchRequest
	if err := c.body(&req); err != nil {
		return err
	}
	c.environment = req.EnvironmentID
	in := arena.LaunchRequest{RequestID: req.RequestID, Collection: req.EnvironmentID}
	if req.AgentID != nil {
		in.AgentID = *req.AgentID
	}
	run, existing, err := s.Service.Launch(c.ctx(), c.who, c.by(), c.param("id"), in)
	if err != nil {
		return err
	}
	out := s.run(run, c.who)
	out.Existing = existing
	return c.created(existing, out)
}

func (s *Server) listRuns(c *call) error {
	page, err := c.page()
	if err != nil {
		return err
	}
	if _, err := s.Service.Challenge(c.param("id")); err != nil {
		return err
	}
	runs, next, err := s.Service.Runs(c.ctx(), protocol.RunFilter{Challenge: c.param("id"), Collection: c.query("environment_id")}, page)
	if err != nil {
		return err
	}
	out := api.Runs{Runs: []api.Run{}, Next: c.next(next)}
	for _, r := range runs {
		out.Runs = append(out.Runs, s.run(r, c.who))
	}
	return c.answer(http.StatusOK, out)
}

// run maps a run to what a caller may see, with what it waits for.
func (s *Server) run(r protocol.Run, who protocol.Identity) api.Run {
	return api.RunFrom(r, s.Service.Waiting(r), who)
}

func (s *Server) getRun(c *call) error {
	run, err := s.Service.RunOn(c.ctx(), c.param("id"), c.param("run"))
	if err != nil {
		return err
	}
	out := s.run(run, c.who)
	if out.LastLines, err = s.Service.LastLines(c.ctx(), c.who, run); err != nil {
		return err
	}
	if out.Forecast, err = s.Service.RunForecast(c.ctx(), c.who, run); err != nil {
		return err
	}
	if c.who.Editor && s.Relay != nil {
		relay, err := s.Relay.Relay(c.ctx(), run.ID)
		if err == nil {
			out.Relay = api.RelayFrom(relay)
		} else if !errors.Is(err, protocol.ErrNoRun) {
			return err
		}
	}
	result, err := s.Service.Result(c.ctx(), run.ID)
	switch {
	case err == nil:
		r := api.ResultFrom(result, c.who, out.Simulated)
		out.Result = &r
	case !errors.Is(err, protocol.ErrNoResult):
		return err
	}
	return c.answer(http.StatusOK, out)
}

func (s *Server) runPlan(c *call) error {
	p, err := s.Service.Plan(c.ctx(), c.who, c.param("id"), c.param("run"))
	if err != nil {
		return err
	}
	out := api.RunPlan{
		RunID: p.Run.ID, Provider: p.Run.Provider, Flavor: p.Run.Flavor, Timeout: int64(p.Run.Timeout / time.Second),
		Config: string(p.Config), TaskLists: p.TaskLists,
	}
	if p.Job != nil {
		out.Job = &api.RunPlanJob{Image: p.Job.Image, Command: p.Job.Command, Env: p.Job.Env, Secrets: p.Job.Secrets}
	}
	return c.answer(http.StatusOK, out)
}

func (s *Server) cancel(c *call) error {
	run, err := s.Service.Cancel(c.ctx(), c.who, c.by(), c.param("id"), c.param("run"))
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, s.run(run, c.who))
}
