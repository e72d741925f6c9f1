package server

import (
	"net/http"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

func (s *Server) collect(c *call) error {
	result, existing, err := s.Service.Collect(c.ctx(), c.who, c.by(), c.param("id"), c.param("run"))
	if err != nil {
		return err
	}
	out := api.ResultFrom(result, c.who, s.simulated(c.param("id")))
	out.Existing = existing
	return c.created(existing, out)
}

func (s *Server) claim(c *call) error {
	var req api.ClaimRequest
	if err := c.body(&req); err != nil {
		return err
	}
	result, err := s.Service.Claim(c.ctx(), c.who, c.by(), c.param("id"), c.param("run"), req.Release)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, api.ResultFrom(result, c.who, s.simulated(c.param("id"))))
}

func (s *Server) review(c *call) error {
	var req api.ReviewRequest
	if err := c.body(&req); err != nil {
		return err
	}
	result, err := s.Service.Review(c.ctx(), c.who, c.by(), c.param("id"), c.param("run"), protocol.Review{Accepted: req.Accepted, Note: req.Note})
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, api.ResultFrom(result, c.who, s.simulated(c.param("id"))))
}

func (s *Server) leaderboard(c *call) error {
	board, err := s.Service.Leaderboard(c.ctx(), c.param("id"))
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, api.Leaderboard{Board: board, Simulated: s.simulated(c.param("id"))})
}

// simulated reports whether a challenge's runs are played, not trained.
func (s *Server) simulated(challenge string) bool {
	c, err := s.Service.Challenge(challenge)
	return err == nil && c.Compute.Provider == api.SimulatedProvider
}
