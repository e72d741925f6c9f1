//go:build !linux

package episode

import (
	"context"
	"errors"
	"log/slog"
)

// Sandbox exists on Linux only: it is the inside of a container.
type Sandbox struct{ World }

// OpenSandbox refuses: see Sandbox.
func OpenSandbox(context.Context, string, []string, *slog.Logger) (*Sandbox, error) {
	return nil, errors.New("the episode server runs inside a Linux container; build this binary for linux and copy it into the task's image")
}

// Prepared never comes to be called.
func (*Sandbox) Prepared(context.Context) error { return errors.ErrUnsupported }
