// Package engine is the conversation with the container engine of this machine,
// over its unix socket (the Docker Engine API, 1.40 or newer, which Podman's
// service speaks too).
//
// It is small on purpose: build an image from a tar, run a container of it, look
// into it, take it away. What it makes carries labels, so that what a crash left
// can be found and removed by Clean. Nothing is ever pulled by name, and a
// container has no network unless its Spec says so.
//
// Three kinds of failure are told apart, because they mean different things to
// whoever judges a task:
//
//	ErrAbsent    no engine answers here; the sentence says what is missing
//	*BuildError  the Dockerfile does not build: the task's own fault, with the
//	             end of the build's log
//	*Fault       anything else that the engine could not do; the task is not to
//	             blame, and trying again may help
//
// A container or image that is not there is ErrMissing inside a *Fault.
package engine
