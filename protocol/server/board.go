package server

import (
	"net/http"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

func (s *Server) listMessages(c *call) error {
	page, err := c.page()
	if err != nil {
		return err
	}
	messages, next, err := s.Service.Messages(c.ctx(), page)
	if err != nil {
		return err
	}
	out := api.Messages{Messages: []api.Message{}, Next: c.next(next)}
	for _, m := range messages {
		out.Messages = append(out.Messages, api.MessageFrom(m))
	}
	return c.answer(http.StatusOK, out)
}

func (s *Server) postMessage(c *call) error {
	var req api.PostMessage
	if err := c.body(&req); err != nil {
		return err
	}
	if req.Broadcast {
		return protocol.ErrInvalid.Detailf("broadcast accepts false only.").WithFields(protocol.FieldError{Field: "broadcast", Message: "must be false"})
	}
	m, existing, err := s.Service.PostMessage(c.ctx(), c.who, c.by(), req.Message(c.who.Name))
	if err != nil {
		return err
	}
	out := api.MessageFrom(m)
	out.Existing = existing
	return c.created(existing, out)
}
