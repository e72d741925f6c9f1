package server

import (
	"net/http"
	"strings"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// Lines of log that one JSON answer holds.
const (
	defaultLogLines = 1000
	maxLogLines     = 5000 // what one read of the store gives
)

func (s *Server) readLog(c *call) error {
	run, err := s.Service.RunOn(c.ctx(), c.param("id"), c.param("run"))
	if err != nil {
		return err
	}
	if strings.Contains(c.r.Header.Get("Accept"), api.ContentEvents) {
		return s.followLog(c, run)
	}
	after, err := c.integer("after", 0, 0, 1<<53)
	if err != nil {
		return err
	}
	limit, err := c.integer("limit", defaultLogLines, 1, maxLogLines)
	if err != nil {
		return err
	}
	lines, err := s.Service.Log(c.ctx(), run.ID, after, int(limit))
	if err != nil {
		return err
	}
	out := api.Log{RunID: run.ID, Lines: append([]protocol.LogLine{}, lines...), Next: after, Total: run.LogLines, Ended: run.State.Ended()}
	if n := len(lines); n > 0 {
		out.Next = lines[n-1].N
	}
	return c.answer(http.StatusOK, out)
}
