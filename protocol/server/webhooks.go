package server

import (
	"context"
	"net/http"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// Webhooks is what sends events to programs elsewhere.
type Webhooks interface {
	Webhooks() []protocol.Webhook
	// Deliveries lists deliveries, newest first; an empty hook means every hook's.
	Deliveries(ctx context.Context, hook string, page protocol.Page) ([]protocol.Delivery, string, error)
	// Redeliver has one sent again; protocol.ErrNotFound when there is none.
	Redeliver(ctx context.Context, by protocol.Actor, id string) (protocol.Delivery, error)
}

func (s *Server) listWebhooks(c *call) error {
	page, err := c.page()
	if err != nil {
		return err
	}
	out := api.Webhooks{Webhooks: []api.Webhook{}, Deliveries: []api.Delivery{}}
	if s.Webhooks == nil {
		return c.answer(http.StatusOK, out)
	}
	for _, h := range s.Webhooks.Webhooks() {
		out.Webhooks = append(out.Webhooks, api.WebhookFrom(h))
	}
	rows, next, err := s.Webhooks.Deliveries(c.ctx(), c.query("webhook"), page)
	if err != nil {
		return err
	}
	for _, d := range rows {
		out.Deliveries = append(out.Deliveries, api.DeliveryFrom(d))
	}
	out.Next = c.next(next)
	return c.answer(http.StatusOK, out)
}

func (s *Server) redeliver(c *call) error {
	if s.Webhooks == nil {
		return protocol.ErrNotFound.Detailf("This arena has no webhooks.")
	}
	d, err := s.Webhooks.Redeliver(c.ctx(), c.by(), c.param("delivery"))
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, api.DeliveryFrom(d))
}
