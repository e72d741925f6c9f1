package tui

import (
	"context"
	"errors"
	"iter"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/tui/screen"
)

// retryEvents is how long the dashboard waits before it follows the events again
// after that failed. Meanwhile what shows is polled.
const retryEvents = 10 * time.Second

// eventsMsg is a batch of events, or the end of the stream.
type eventsMsg struct {
	follower *screen.Follower[api.Event]
	events   []api.Event
	open     bool
	err      error
}

// eventsRetry asks for the stream again.
type eventsRetry struct{}

// followEvents opens the stream after the last event that is known.
func (m *Model) followEvents() tea.Cmd {
	m.data.Streaming(true)
	after := m.lastEvent
	return m.do(func(ctx context.Context, a screen.API) tea.Msg {
		return nextEvents(screen.Follow(ctx, func(ctx context.Context) iter.Seq2[api.Event, error] { return a.Events(ctx, after) }))()
	})
}

// nextEvents waits for the next batch.
func nextEvents(f *screen.Follower[api.Event]) tea.Cmd {
	return func() tea.Msg {
		events, open, err := f.Next()
		return eventsMsg{f, events, open, err}
	}
}

// happened marks what the events touch, which has it asked for again.
func (m *Model) happened(msg eventsMsg) tea.Cmd {
	m.data.Streaming(msg.open)
	if crash, ok := errors.AsType[screen.Crash](msg.err); ok {
		m.fail(crash)
		return tea.Quit
	}
	if !msg.open {
		return tea.Batch(m.synced(), m.after(retryEvents, func(time.Time) tea.Msg { return eventsRetry{} }))
	}
	for _, ev := range msg.events {
		m.lastEvent = max(m.lastEvent, ev.ID)
		m.data.Touch(ev)
	}
	return tea.Batch(nextEvents(msg.follower), m.synced())
}
