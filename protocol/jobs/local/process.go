package local

import (
	"errors"
	"fmt"
	"syscall"
)

// alive reports whether the process of a record still runs; without a record
// none does.
func (p *process) alive() (bool, error) {
	if p == nil || p.Born == "" {
		return false, nil
	}
	born, err := birth(p.PID)
	if err != nil {
		return false, fmt.Errorf("look for process %d: %w", p.PID, err)
	}
	return born == p.Born, nil
}

// signalGroup sends a signal to every process of the group that a process leads.
// A group that is gone needs none.
func signalGroup(leader int, signal syscall.Signal) error {
	err := syscall.Kill(-leader, signal)
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}
