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

// signalMap is one signal per key, kept only while somebody waits.
type signalMap struct {
	mu sync.Mutex
	m  map[string]chan struct{}
}

func (s *signalMap) wait(key string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil {
		s.m = map[string]chan struct{}{}
	}
	ch, ok := s.m[key]
	if !ok {
		ch = make(chan struct{})
		s.m[key] = ch
	}
	return ch
}

func (s *signalMap) wake(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ch, ok := s.m[key]; ok {
		close(ch)
		delete(s.m, key)
	}
}

// EventsChanged returns a channel that is closed when the next event is
// written. Take it before reading Events.
func (s *Service) EventsChanged() <-chan struct{} { return s.events.wait() }

// LogChanged returns a channel that is closed when the run's log grows or ends.
// Take it before reading Log.
func (s *Service) LogChanged(run string) <-chan struct{} { return s.logs.wait(run) }
