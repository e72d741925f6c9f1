package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/posttrainarena/arena/gates/controls"
	"github.com/posttrainarena/arena/protocol/engine"
)

// localEngine is the container engine of this machine as controls want it.
type localEngine struct{ e *engine.Engine }

var _ controls.Engine = localEngine{}

// maxProcesses bounds the processes of one container, so that a task cannot take the machine's.
const maxProcesses = 2048

// Build builds an image.
func (l localEngine) Build(ctx context.Context, s controls.BuildSpec) (string, error) {
	id, err := l.e.Build(ctx, engine.BuildSpec{
		Context: s.Context, Labels: s.Labels, NoNetwork: s.NoNetwork, Memory: s.Memory, CPUs: s.CPUs,
	})
	if own, ok := errors.AsType[*engine.BuildError](err); ok {
		return "", &controls.BuildError{Message: own.Message, Log: own.Log}
	}
	return id, err
}

// Start starts a container that waits.
func (l localEngine) Start(ctx context.Context, s controls.ContainerSpec) (string, error) {
	id, err := l.e.Create(ctx, engine.Spec{
		Image: s.Image, Labels: s.Labels, Env: s.Env, Memory: s.Memory, CPUs: s.CPUs, Pids: maxProcesses, Init: true, User: "0",
		Entrypoint: []string{"sh", "-c", "while :; do sleep 3600; done"}, Command: []string{},
	})
	if err != nil {
		return "", err
	}
	return id, l.e.Start(ctx, id)
}

// Restart ends every process of a container and starts it again.
func (l localEngine) Restart(ctx context.Context, id string) error {
	return errors.Join(l.e.Stop(ctx, id, 0), l.e.Start(ctx, id))
}

// Exec runs a command.
func (l localEngine) Exec(ctx context.Context, id string, c controls.Command) (controls.Output, error) {
	code, out, err := l.e.Exec(ctx, id, engine.Command{Args: c.Args, User: c.User, Env: c.Env})
	return controls.Output{Code: code, Stdout: out.Stdout, Stderr: out.Stderr}, err
}

// CopyTo unpacks a tar in a container.
func (l localEngine) CopyTo(ctx context.Context, id, dir string, tar io.Reader) error {
	return l.e.CopyTo(ctx, id, dir, tar)
}

// CopyFrom reads a path of a container.
func (l localEngine) CopyFrom(ctx context.Context, id, path string, limit int64) (io.ReadCloser, error) {
	r, err := l.e.CopyFrom(ctx, id, path, limit)
	if errors.Is(err, engine.ErrMissing) {
		return nil, fmt.Errorf("%w: %w", controls.ErrMissing, err)
	}
	return r, err
}

// Remove removes a container.
func (l localEngine) Remove(ctx context.Context, id string) error { return l.e.Remove(ctx, id) }

// Clean removes what carries a label.
func (l localEngine) Clean(ctx context.Context, label string) error { return l.e.Clean(ctx, label) }
