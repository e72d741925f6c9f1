package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

var (
	// ErrAbsent means that no engine answers at the socket.
	ErrAbsent = errors.New("no container engine")
	// ErrMissing means that the engine answers and knows no such container, image
	// or file.
	ErrMissing = errors.New("not there")
)

// absent is ErrAbsent with its sentence: where nobody answered, why, and what to
// do about it.
type absent struct {
	socket string
	err    error
}

func (e *absent) Error() string {
	why, remedy := e.err.Error(), "start it (systemctl start docker) and try again"
	switch {
	case errors.Is(e.err, fs.ErrNotExist):
		why = "there is no such socket"
		remedy = "install and start one (Debian: apt-get install docker.io), or name its socket in DOCKER_HOST as unix:///path"
	case errors.Is(e.err, fs.ErrPermission):
		why = "this user may not open the socket"
		remedy = "add the user to the group that owns it (usually docker) and sign in again"
	}
	return fmt.Sprintf("no container engine answers at %s: %s; %s", e.socket, why, remedy)
}

func (e *absent) Unwrap() error        { return e.err }
func (e *absent) Is(target error) bool { return target == ErrAbsent }

// Fault is a failure of the engine or of the machine below it.
type Fault struct {
	Doing string // what was being done, with what: "start container ab12…"
	Err   error
}

// Error says what was being done and what went wrong.
func (f *Fault) Error() string { return f.Doing + ": " + f.Err.Error() }

// Unwrap gives the cause.
func (f *Fault) Unwrap() error { return f.Err }

// BuildError is a Dockerfile that does not build.
type BuildError struct {
	Message  string // the builder's own sentence, one line
	Code     int    // exit code of the RUN that failed; 0 when none did
	TimedOut bool   // the build's own time limit ended it
	Log      string // the end of the build's log, at most 64 KiB
}

// Error is the builder's sentence; the log is for whoever asks for it.
func (e *BuildError) Error() string { return "the image does not build: " + e.Message }

// fail turns what the client reported into one of this package's errors. A
// context that ended is reported as itself.
func (e *Engine) fail(ctx context.Context, err error, doing string, args ...any) error {
	if err == nil {
		return nil
	}
	what := fmt.Sprintf(doing, args...)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", what, context.Cause(ctx))
	case client.IsErrConnectionFailed(err):
		return &absent{socket: e.socket, err: err}
	case errdefs.IsNotFound(err):
		return &Fault{Doing: what, Err: fmt.Errorf("%w: %w", ErrMissing, err)}
	}
	return &Fault{Doing: what, Err: err}
}

// buildFailure judges what ended a build. The engine has one form for all of it:
// a RUN that failed carries its exit code, everything else only a sentence. The
// sentences of a network, a registry or a disk that failed are known; the rest is
// what the Dockerfile asked for and could not have.
func buildFailure(message string, code int, log string) error {
	message = strings.TrimSpace(message)
	if code == 0 {
		for _, sign := range []string{
			"no space left on device", "dial tcp", "i/o timeout", "TLS handshake", "Client.Timeout", "connection reset", "toomanyrequests",
			"server misbehaving", "unexpected EOF", "cannot allocate memory", "input/output error", "error creating overlay mount", "OCI runtime",
			// Somebody removed an image that this build found in the cache.
			"failed to get digest", "layer does not exist", "unknown parent image",
		} {
			if strings.Contains(message, sign) {
				return &Fault{Doing: "build image", Err: errors.New(message)}
			}
		}
	}
	return &BuildError{Message: message, Code: code, Log: log}
}
