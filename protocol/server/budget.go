package server

import (
	"net/http"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

func (s *Server) arenaBudget(c *call) error {
	ledger, err := s.Service.Budget(c.ctx())
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, api.BudgetFrom(ledger, s.Version.Simulated))
}

func (s *Server) arenaJobs(c *call) error {
	runs, next, err := s.runPage(c)
	if err != nil {
		return err
	}
	out := api.ArenaJobs{PriorUSD: s.Service.Prior, Runs: []api.LedgerRow{}, Next: next}
	for _, r := range runs {
		out.Runs = append(out.Runs, api.LedgerRowFrom(r))
	}
	return c.answer(http.StatusOK, out)
}

func (s *Server) listJobs(c *call) error {
	runs, next, err := s.runPage(c)
	if err != nil {
		return err
	}
	ledger, err := s.Service.Budget(c.ctx())
	if err != nil {
		return err
	}
	out := api.Jobs{Jobs: []api.Job{}, Budget: api.BudgetFrom(ledger, s.Version.Simulated), Next: next}
	for _, r := range runs {
		out.Jobs = append(out.Jobs, api.JobFrom(r, c.who))
	}
	return c.answer(http.StatusOK, out)
}

// runPage reads one page of the runs of every challenge.
func (s *Server) runPage(c *call) ([]protocol.Run, *string, error) {
	page, err := c.page()
	if err != nil {
		return nil, nil, err
	}
	runs, next, err := s.Service.Runs(c.ctx(), protocol.RunFilter{}, page)
	return runs, c.next(next), err
}
