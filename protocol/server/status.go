package server

import (
	"net/http"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

func (s *Server) version(c *call) error { return c.answer(http.StatusOK, s.Version) }

func (s *Server) healthz(c *call) error {
	return c.answer(http.StatusOK, api.HealthStatus{OK: true, Detail: "alive"})
}

// readyz says whether the arena can take writes. It turns to no before a
// shutdown begins.
func (s *Server) readyz(c *call) error {
	if s.closing.Err() != nil {
		return protocol.ErrUnavailable.Detailf("The arena is shutting down.")
	}
	if err := s.Service.Ready(c.ctx()); err != nil {
		return protocol.ErrUnavailable.Detailf("The arena is not ready: its database does not take writes.").Because(err)
	}
	return c.answer(http.StatusOK, api.HealthStatus{OK: true, Detail: "ready"})
}

func (s *Server) serveOpenAPI(c *call) error {
	return c.bytes(http.StatusOK, api.ContentJSON, s.openapi)
}

// doctor looks at the arena itself.
func (s *Server) doctor(c *call) error {
	out := api.Doctor{OK: true, Checks: []protocol.Diagnosis{}}
	if s.Examine != nil {
		out.Checks = append(out.Checks, s.Examine(c.ctx())...)
	}
	for _, d := range out.Checks {
		out.OK = out.OK && d.Status != protocol.DiagnosisFail
	}
	return c.answer(http.StatusOK, out)
}
