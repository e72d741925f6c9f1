package controls

import (
	"context"
	"errors"
	"io"
)

// Engine is what running controls needs of a container engine. Except for what is named below, an error means that the
// engine or the machine failed, and the task is not to blame.
type Engine interface {
	// Build builds an image of a build context and returns its id. A *BuildError is the task's own fault.
	Build(ctx context.Context, spec BuildSpec) (string, error)
	// Start starts a container of an image and returns its id. Its command does nothing until the container is removed.
	Start(ctx context.Context, spec ContainerSpec) (string, error)
	// Restart ends every process of a container and starts it again with the files that it has.
	Restart(ctx context.Context, id string) error
	// Exec runs a command as a user and waits for it. When ctx ends it returns, and the command may go on.
	Exec(ctx context.Context, id string, c Command) (Output, error)
	// CopyTo unpacks a tar below a directory of a container.
	CopyTo(ctx context.Context, id, dir string, tar io.Reader) error
	// CopyFrom reads a path of a container as a tar of at most limit bytes. A path that is not there is ErrMissing.
	CopyFrom(ctx context.Context, id, path string, limit int64) (io.ReadCloser, error)
	// Remove removes a container with all its processes.
	Remove(ctx context.Context, id string) error
	// Clean removes every container and image with a label, "key=value".
	Clean(ctx context.Context, label string) error
}

// ErrMissing is how CopyFrom says that a path is not there.
var ErrMissing = errors.New("not there")

// BuildError is an image that does not build.
type BuildError struct {
	Message string
	Log     string // the end of the build's log
}

// Error says what the builder said.
func (e *BuildError) Error() string { return e.Message }

// BuildSpec says how to build an image.
type BuildSpec struct {
	Context   io.Reader // a tar with a Dockerfile at its root
	Labels    map[string]string
	NoNetwork bool // the build's steps have no network
	Limits
}

// ContainerSpec says what container to start. It has no network.
type ContainerSpec struct {
	Image  string
	Labels map[string]string
	Env    []string // NAME=VALUE
	Limits
}

// Limits bound a build or a container.
type Limits struct {
	Memory int64   // bytes
	CPUs   float64 // processors
}

// Command is a process in a container.
type Command struct {
	Args []string
	User string // "0" is root
	Env  []string
}

// Output is what a process left: its exit code and the beginning of each stream.
type Output struct {
	Code           int
	Stdout, Stderr []byte
}
