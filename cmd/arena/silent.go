package main

import (
	"net"
	"net/http"
	"sync"
)

// silent are the connections on which nobody has asked for anything yet. A browser
// opens some in advance, and net/http waits five seconds for each when it stops.
type silent struct {
	mu    sync.Mutex
	conns map[net.Conn]bool
}

// note is an http.Server's ConnState.
func (s *silent) note(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state != http.StateNew {
		delete(s.conns, c)
		return
	}
	if s.conns == nil {
		s.conns = map[net.Conn]bool{}
	}
	s.conns[c] = true
}

// close ends them, once nothing new is accepted.
func (s *silent) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.Close() // whoever reads from it notices and gives it back
	}
}
