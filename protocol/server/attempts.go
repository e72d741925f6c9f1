package server

import (
	"net/http"
	"strconv"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/artifacts"
)

func (s *Server) listAttempts(c *call) error {
	a, err := s.Service.Attempts(c.ctx(), c.who, c.param("id"), c.param("run"))
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, api.Attempts{
		RunID: c.param("run"), Attempts: append([]artifacts.Attempt{}, a.List...), Problems: append([]artifacts.Problem{}, a.Problems...), Forecast: a.Forecast,
	})
}

func (s *Server) getAttempt(c *call) error {
	n, err := strconv.Atoi(c.param("n"))
	if err != nil {
		return protocol.ErrNoAttempt
	}
	d, err := s.Service.Attempt(c.ctx(), c.who, c.param("id"), c.param("run"), n)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, api.Attempt{RunID: c.param("run"), Detail: d})
}
