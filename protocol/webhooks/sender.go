package webhooks

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// Records is where events come from and what came of sending them is kept. The
// store implements it.
type Records interface {
	// QueueDeliveries makes a delivery of each new event that a hook wants, each once
	// for ever, and reports whether there may be more.
	QueueDeliveries(ctx context.Context, hook string, kinds []protocol.EventKind) (more bool, err error)
	// NextDelivery is the pending delivery to be tried first, due or not.
	NextDelivery(ctx context.Context, hook string) (d protocol.Delivery, ok bool, err error)
	// DeliveryTried stores a delivery after a try.
	DeliveryTried(ctx context.Context, d protocol.Delivery) error
	// Deliveries lists them, newest first; an empty hook means every hook's.
	Deliveries(ctx context.Context, hook string, page protocol.Page) (rows []protocol.Delivery, next string, err error)
	// Redeliver has one sent again.
	Redeliver(ctx context.Context, by protocol.Actor, id string) (protocol.Delivery, error)
}

// Hook is one receiver.
type Hook struct {
	Name         string // names its deliveries, so it must not change
	URL          string
	Kinds        []protocol.EventKind // empty: all
	Keys         [][]byte             // each signs; see Keys
	AllowPrivate bool                 // connections into this machine's own networks too
}

// Options is what a sender is made of.
type Options struct {
	Records   Records
	Hooks     []Hook
	Now       func() time.Time
	Log       *slog.Logger
	UserAgent string
	// Changed returns a channel that closes when events may have happened.
	Changed func() <-chan struct{}
	// After is a channel that speaks after a time; nil for the real clock.
	After   func(d time.Duration) <-chan time.Time
	Timeout time.Duration // of one request; 0 means DefaultTimeout
}

// Sender sends events to hooks. It is safe for concurrent use.
type Sender struct {
	Options
	hooks []*hook
}

type hook struct {
	Hook
	client *http.Client
	wake   chan struct{} // has one element when something was made due from outside
}

// New returns a sender, which sends while Run runs.
func New(o Options) *Sender {
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	if o.After == nil {
		o.After = time.After
	}
	s := &Sender{Options: o}
	for _, h := range o.Hooks {
		s.hooks = append(s.hooks, &hook{Hook: h, client: newClient(h.AllowPrivate, o.Timeout), wake: make(chan struct{}, 1)})
	}
	return s
}

// Begin makes the records meet the hooks that are new, so that those get everything
// that happens from now on, however late Run begins.
func (s *Sender) Begin(ctx context.Context) error {
	for _, h := range s.hooks {
		if _, err := s.Records.QueueDeliveries(ctx, h.Name, h.Kinds); err != nil {
			return err
		}
	}
	return nil
}

// Run sends until ctx ends. Each hook has a goroutine, so that a slow receiver
// keeps nobody else waiting; to one receiver one event is sent at a time.
func (s *Sender) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, h := range s.hooks {
		all.Go(func() {
			defer h.client.CloseIdleConnections()
			s.follow(ctx, h)
		})
	}
	all.Wait()
}

// troubleWait is how long a sender waits when the store fails.
const troubleWait = 5 * time.Second

// follow sends what one hook gets.
func (s *Sender) follow(ctx context.Context, h *hook) {
	for ctx.Err() == nil {
		changed := s.Changed() // before reading, so that nothing between is missed
		wait, err := s.step(ctx, h)
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			s.Log.Error("a webhook cannot go on", "hook", h.Name, "error", err.Error())
			wait = troubleWait
		}
		var timer <-chan time.Time
		switch {
		case wait == 0:
			continue
		case wait > 0:
			timer = s.After(wait)
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-h.wake:
		case <-timer:
		}
	}
}

// step queues what is new and tries one delivery when one is due. It returns how
// long there is nothing to do; negative when nothing is known to come.
func (s *Sender) step(ctx context.Context, h *hook) (time.Duration, error) {
	for more := true; more; {
		var err error
		if more, err = s.Records.QueueDeliveries(ctx, h.Name, h.Kinds); err != nil {
			return 0, err
		}
	}
	d, ok, err := s.Records.NextDelivery(ctx, h.Name)
	if err != nil {
		return 0, err
	}
	if !ok {
		return -1, nil
	}
	if wait := d.NextAt.Sub(s.Now()); wait > 0 {
		return wait, nil
	}
	try, err := s.send(ctx, h, d)
	if err != nil {
		return 0, err
	}
	d = d.Tried(try, s.Now())
	if d.Problem != "" {
		s.Log.Warn("a webhook did not take an event", "delivery", d.ID, "hook", h.Name, "try", d.Tries, "state", string(d.State), "problem", d.Problem)
	}
	// An answer that came is recorded even when the arena stops just now.
	return 0, s.Records.DeliveryTried(context.WithoutCancel(ctx), d)
}

// Webhooks lists the hooks of the configuration.
func (s *Sender) Webhooks() []protocol.Webhook {
	var all []protocol.Webhook
	for _, h := range s.hooks {
		host := ""
		if u, err := url.Parse(h.URL); err == nil {
			host = u.Host
		}
		all = append(all, protocol.Webhook{Name: h.Name, Host: host, Kinds: h.Kinds, AllowPrivate: h.AllowPrivate})
	}
	return all
}

// Deliveries lists deliveries, newest first; an empty hook means every hook's.
func (s *Sender) Deliveries(ctx context.Context, hook string, page protocol.Page) ([]protocol.Delivery, string, error) {
	return s.Records.Deliveries(ctx, hook, page)
}

// Redeliver has a delivery sent again, at once.
func (s *Sender) Redeliver(ctx context.Context, by protocol.Actor, id string) (protocol.Delivery, error) {
	d, err := s.Records.Redeliver(ctx, by, id)
	if err != nil {
		return d, err
	}
	for _, h := range s.hooks {
		if h.Name == d.Hook {
			select {
			case h.wake <- struct{}{}:
			default: // it will look anyway
			}
		}
	}
	return d, nil
}
