package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/moby/moby/client"
)

// DefaultSocket is where the engine listens when nothing else is said.
const DefaultSocket = "unix:///var/run/docker.sock"

// Engine is a connection to the container engine of this machine. It is safe for
// use by many goroutines. Close it.
type Engine struct {
	client *client.Client
	socket string
	layers layers
}

// Version is what an engine says of itself.
type Version struct {
	Engine string // "20.10.24+dfsg1"
	API    string // "1.41", the newest that it speaks
	OS     string // "linux"
	Arch   string // "amd64"
}

// Open connects to the engine at host: "unix:///path", or empty for
// DefaultSocket. It asks the engine for its version, so that an engine that is
// not there is noticed here, as ErrAbsent.
func Open(ctx context.Context, host string) (*Engine, error) {
	if host == "" {
		host = DefaultSocket
	}
	if !strings.HasPrefix(host, "unix:///") {
		return nil, fmt.Errorf("engine at %q: only the engine of this machine is used; write unix:///path/to/its.sock", host)
	}
	c, err := client.New(client.WithHost(host))
	if err != nil {
		return nil, fmt.Errorf("engine at %q: %w", host, err)
	}
	e := &Engine{client: c, socket: host}
	if _, err := e.Version(ctx); err != nil {
		_ = e.Close() // nothing was opened yet
		return nil, err
	}
	return e, nil
}

// Close ends idle connections. Containers go on.
func (e *Engine) Close() error { return e.client.Close() }

// Version asks the engine what it is.
func (e *Engine) Version(ctx context.Context) (Version, error) {
	v, err := e.client.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return Version{}, e.fail(ctx, err, "ask the engine at %s for its version", e.socket)
	}
	return Version{Engine: v.Version, API: v.APIVersion, OS: v.Os, Arch: v.Arch}, nil
}
