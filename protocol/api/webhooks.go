package api

import (
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// Webhooks is every hook of the configuration, and a page of what was sent.
type Webhooks struct {
	Webhooks   []Webhook  `json:"webhooks"`
	Deliveries []Delivery `json:"deliveries"`
	Next       *string    `json:"next_cursor" doc:"Cursor of the next page; null at the end"`
}

// Webhook is a program elsewhere that is told what happens.
type Webhook struct {
	Name         string               `json:"name"`
	Host         string               `json:"host" doc:"Host of its address; the rest may hold a secret"`
	Events       []protocol.EventKind `json:"events" doc:"Kinds that it gets; empty: all"`
	AllowPrivate bool                 `json:"allow_private" doc:"It may be in a network that is not public"`
}

// Delivery is one event on its way to one webhook.
type Delivery struct {
	ID        string                 `json:"id" doc:"The header webhook-id of its requests"`
	Webhook   string                 `json:"webhook"`
	EventID   int64                  `json:"event_id"`
	EventKind protocol.EventKind     `json:"event_kind"`
	State     protocol.DeliveryState `json:"state" doc:"pending, delivered or failed"`
	Tries     int                    `json:"tries"`
	NextAt    *time.Time             `json:"next_at" doc:"When it is tried next; null unless pending"`
	Status    *int                   `json:"status" doc:"HTTP status of the newest answer; null when there was none"`
	Problem   *string                `json:"problem" doc:"What is wrong with the newest try"`
	CreatedAt time.Time              `json:"created_at"`
	UpdatedAt time.Time              `json:"updated_at"`
}

// WebhookFrom maps a hook to the wire.
func WebhookFrom(h protocol.Webhook) Webhook {
	return Webhook{Name: h.Name, Host: h.Host, Events: append([]protocol.EventKind{}, h.Kinds...), AllowPrivate: h.AllowPrivate}
}

// DeliveryFrom maps a delivery to the wire.
func DeliveryFrom(d protocol.Delivery) Delivery {
	out := Delivery{
		ID: d.ID, Webhook: d.Hook, EventID: d.Event.Seq, EventKind: d.Event.Kind, State: d.State, Tries: d.Tries,
		Problem: Optional(d.Problem), CreatedAt: d.CreatedAt, UpdatedAt: d.UpdatedAt,
	}
	if d.State == protocol.DeliveryPending {
		out.NextAt = &d.NextAt
	}
	if d.Status != 0 {
		out.Status = &d.Status
	}
	return out
}
