package arena

import (
	"context"
	"sync"
)

// asOf keeps what was read from the store until something happens in the arena:
// everything that changes what a reader sees writes an event.
type asOf[T any] struct {
	mu   sync.Mutex
	kept map[string]dated[T]
}

// dated is a value with the last event before it was read.
type dated[T any] struct {
	event int64
	value T
}

// get returns what is kept under a key, or reads it.
func (a *asOf[T]) get(ctx context.Context, s *Service, key string, read func() (T, error)) (T, error) {
	event, err := s.LastEvent(ctx) // first: what happens while reading is read again next time
	if err != nil {
		var none T
		return none, err
	}
	a.mu.Lock()
	k, ok := a.kept[key]
	a.mu.Unlock()
	if ok && k.event == event {
		return k.value, nil
	}
	value, err := read()
	if err != nil {
		return value, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.kept == nil {
		a.kept = map[string]dated[T]{}
	}
	if a.kept[key].event <= event {
		a.kept[key] = dated[T]{event, value}
	}
	return value, nil
}
