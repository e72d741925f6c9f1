package arena

import "sync"

// signal wakes everybody who waits on it. It carries no data: whoever wakes
// reads the store, so a lost or doubled wake-up is harmless.
type signal struct {
	mu sync.Mutex
	ch chan struct{}
}

// wait returns a channel that is closed at the next wake. Take it before
// reading the store, so that a change in between is not missed.
func (s *signal) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

func (s *signal) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}

// EventsChanged returns a channel that is closed when the next event is
// written. Take it before reading Events.
func (s *Service) EventsChanged() <-chan struct{} { return s.events.wait() }

// LogChanged returns a channel that is closed when a run's log grows or ends; one
// run is active at a time. Take it before reading Log.
func (s *Service) LogChanged() <-chan struct{} { return s.logs.wait() }
