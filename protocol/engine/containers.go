package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
)

// defaultCapture bounds what Exec and Logs keep of each stream.
const defaultCapture = 1 << 20

// maxStats bounds the engine's answer to Stats.
const maxStats = 1 << 20

// Spec says what container to create.
type Spec struct {
	Image      string
	Name       string            // made up by the engine when empty
	Entrypoint []string          // the image's when nil
	Command    []string          // the image's when nil
	Env        []string          // NAME=VALUE, beside the image's
	User       string            // the image's when empty
	Dir        string            // the image's when empty
	Labels     map[string]string // Containers and Clean find it by them
	Network    bool              // the engine's default network; none at all when false
	Ports      []uint16          // published on a free port of 127.0.0.1 each; needs Network
	Memory     int64             // bytes, swap included; 0 is no limit
	CPUs       float64           // 0 is no limit
	Pids       int64             // processes; 0 is no limit
	Init       bool              // a small init reaps what the command leaves
	Mounts     []Mount           // directories and files of this machine
}

// Mount shows a path of this machine inside a container.
type Mount struct {
	From, To string // absolute
	ReadOnly bool
}

// Container is a container that the engine holds.
type Container struct {
	ID     string
	Name   string
	Image  string
	State  string // "created", "running", "exited", …
	Labels map[string]string
}

// Create makes a container of an image that the engine holds and returns its id.
// An image that it does not hold is ErrMissing; nothing is pulled.
func (e *Engine) Create(ctx context.Context, s Spec) (string, error) {
	config := &container.Config{
		Image: s.Image, Entrypoint: s.Entrypoint, Cmd: s.Command, Env: s.Env, User: s.User, WorkingDir: s.Dir, Labels: s.Labels,
	}
	host := &container.HostConfig{NetworkMode: "none", Init: &s.Init}
	host.Memory, host.MemorySwap, host.NanoCPUs = s.Memory, s.Memory, int64(s.CPUs*1e9)
	if s.Pids > 0 {
		host.PidsLimit = &s.Pids
	}
	if s.Network {
		host.NetworkMode = "default"
	}
	for _, m := range s.Mounts {
		bind := m.From + ":" + m.To
		if m.ReadOnly {
			bind += ":ro"
		}
		host.Binds = append(host.Binds, bind)
	}
	for _, p := range s.Ports {
		port, _ := network.PortFrom(p, network.TCP) // TCP is always good
		if config.ExposedPorts == nil {
			config.ExposedPorts, host.PortBindings = network.PortSet{}, network.PortMap{}
		}
		config.ExposedPorts[port] = struct{}{}
		host.PortBindings[port] = []network.PortBinding{{HostIP: netip.AddrFrom4([4]byte{127, 0, 0, 1})}}
	}
	r, err := e.client.ContainerCreate(ctx, client.ContainerCreateOptions{Name: s.Name, Config: config, HostConfig: host})
	if err != nil {
		return "", e.fail(ctx, err, "create a container of %s", s.Image)
	}
	return r.ID, nil
}

// Start starts a container that was created.
func (e *Engine) Start(ctx context.Context, id string) error {
	_, err := e.client.ContainerStart(ctx, id, client.ContainerStartOptions{})
	return e.fail(ctx, err, "start container %.12s", id)
}

// Address is where a published port of a running container is reached:
// "127.0.0.1:49153".
func (e *Engine) Address(ctx context.Context, id string, port uint16) (string, error) {
	r, err := e.client.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if err != nil {
		return "", e.fail(ctx, err, "look up container %.12s", id)
	}
	p, _ := network.PortFrom(port, network.TCP)
	if n := r.Container.NetworkSettings; n != nil {
		for _, b := range n.Ports[p] {
			if b.HostIP.Is4() && b.HostPort != "" {
				return b.HostIP.String() + ":" + b.HostPort, nil
			}
		}
	}
	return "", &Fault{Doing: "look up container " + short(id), Err: fmt.Errorf("port %d is not published; the container may have ended", port)}
}

// Exit is how a container ended.
type Exit struct {
	Code      int
	OutOfMem  bool   // the kernel killed it for its memory limit
	Message   string // why it could not run at all; usually empty
	StartedAt time.Time
	EndedAt   time.Time
}

// Wait waits until a container has ended. One that never started does not end:
// call Start first.
func (e *Engine) Wait(ctx context.Context, id string) (Exit, error) {
	w := e.client.ContainerWait(ctx, id, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	select {
	case err := <-w.Error:
		return Exit{}, e.fail(ctx, err, "wait for container %.12s", id)
	case <-w.Result:
	}
	r, err := e.client.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if err != nil {
		return Exit{}, e.fail(ctx, err, "look up container %.12s", id)
	}
	s := r.Container.State
	if s == nil {
		return Exit{}, &Fault{Doing: "look up container " + short(id), Err: errors.New("the engine reports no state")}
	}
	exit := Exit{Code: s.ExitCode, OutOfMem: s.OOMKilled, Message: s.Error}
	// An engine that writes no readable time leaves the zero time.
	exit.StartedAt, _ = time.Parse(time.RFC3339Nano, s.StartedAt)
	exit.EndedAt, _ = time.Parse(time.RFC3339Nano, s.FinishedAt)
	return exit, nil
}

// Output is what a process wrote. Of each stream at most the asked number of
// bytes is kept: the beginning by Exec, the end by Logs.
type Output struct {
	Stdout, Stderr []byte
	Lost           int64 // bytes of both that were not kept
}

// Command is a process to run inside a container.
type Command struct {
	Args  []string
	Env   []string
	User  string    // the container's when empty
	Dir   string    // the container's when empty
	Stdin io.Reader // may be nil
	Limit int       // bytes kept of each stream; 1 MiB when 0
}

// Exec runs a command inside a running container, waits for it and returns its
// exit code with what it wrote. The engine has no way to end such a process: when
// ctx ends, Exec returns and the process goes on until its container is removed.
func (e *Engine) Exec(ctx context.Context, id string, c Command) (int, Output, error) {
	made, err := e.client.ExecCreate(ctx, id, client.ExecCreateOptions{
		Cmd: c.Args, Env: c.Env, User: c.User, WorkingDir: c.Dir, AttachStdin: c.Stdin != nil, AttachStdout: true, AttachStderr: true,
	})
	if err != nil {
		return 0, Output{}, e.fail(ctx, err, "run %q in container %.12s", c.Args, id)
	}
	at, err := e.client.ExecAttach(ctx, made.ID, client.ExecAttachOptions{})
	if err != nil {
		return 0, Output{}, e.fail(ctx, err, "run %q in container %.12s", c.Args, id)
	}
	stop := context.AfterFunc(ctx, func() { _ = at.Conn.Close() })
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		if c.Stdin != nil {
			// A command may end without having read everything; that is its right.
			_, _ = io.Copy(at.Conn, c.Stdin)
			_ = at.CloseWrite()
		}
	}()
	limit := c.Limit
	if limit <= 0 {
		limit = defaultCapture
	}
	stdout, stderr := head{limit: limit}, head{limit: limit}
	_, err = stdcopy.StdCopy(&stdout, &stderr, at.Reader)
	stop()
	at.Close()
	<-fed
	out := Output{Stdout: stdout.kept, Stderr: stderr.kept, Lost: stdout.lost + stderr.lost}
	if err != nil || ctx.Err() != nil {
		return 0, out, e.fail(ctx, errors.Join(err, ctx.Err()), "run %q in container %.12s", c.Args, id)
	}
	r, err := e.client.ExecInspect(ctx, made.ID, client.ExecInspectOptions{})
	if err != nil {
		return 0, out, e.fail(ctx, err, "run %q in container %.12s", c.Args, id)
	}
	return r.ExitCode, out, nil
}

// Logs reads the end of what a container's main process wrote: at most limit
// bytes of each stream (1 MiB when 0).
func (e *Engine) Logs(ctx context.Context, id string, limit int) (Output, error) {
	if limit <= 0 {
		limit = defaultCapture
	}
	r, err := e.client.ContainerLogs(ctx, id, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true})
	if err != nil {
		return Output{}, e.fail(ctx, err, "read the log of container %.12s", id)
	}
	defer r.Close()
	stdout, stderr := tail{limit: limit}, tail{limit: limit}
	if _, err := stdcopy.StdCopy(&stdout, &stderr, r); err != nil {
		return Output{}, e.fail(ctx, err, "read the log of container %.12s", id)
	}
	out := Output{Stdout: []byte(stdout.String()), Stderr: []byte(stderr.String())}
	out.Lost = stdout.lost + stderr.lost
	return out, nil
}

// CopyTo unpacks a tar below dir, which must exist, in a container that may be
// running or not.
func (e *Engine) CopyTo(ctx context.Context, id, dir string, tar io.Reader) error {
	_, err := e.client.CopyToContainer(ctx, id, client.CopyToContainerOptions{DestinationPath: dir, Content: tar})
	return e.fail(ctx, err, "copy to %s of container %.12s", dir, id)
}

// CopyFrom reads a file or directory of a container as a tar; its entries begin
// with the last part of path. Close it. Reading more than limit bytes fails. The
// entries are a stranger's: links, devices and names with ".." may be among them.
// A path that is not there is ErrMissing.
func (e *Engine) CopyFrom(ctx context.Context, id, path string, limit int64) (io.ReadCloser, error) {
	r, err := e.client.CopyFromContainer(ctx, id, client.CopyFromContainerOptions{SourcePath: path})
	if err != nil {
		return nil, e.fail(ctx, err, "copy %s from container %.12s", path, id)
	}
	return &limited{ReadCloser: r.Content, left: limit, path: path}, nil
}

// limited is a reader that fails beyond its limit instead of ending.
type limited struct {
	io.ReadCloser
	left int64
	path string
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, fmt.Errorf("copy %s: it is larger than allowed", l.path)
	}
	return n, err
}

// Stats is what a container uses.
type Stats struct {
	Memory        int64 // bytes now; 0 when it is not running
	PeakMemory    int64 // bytes since it started; 0 where the kernel does not say (control groups version 2)
	WritableBytes int64 // bytes that it changed or added to its image
}

// Stats reads what a container uses. The writable bytes are counted by walking
// its files, which may take seconds.
func (e *Engine) Stats(ctx context.Context, id string) (Stats, error) {
	var s Stats
	r, err := e.client.ContainerInspect(ctx, id, client.ContainerInspectOptions{Size: true})
	if err != nil {
		return s, e.fail(ctx, err, "measure container %.12s", id)
	}
	if r.Container.SizeRw != nil {
		s.WritableBytes = *r.Container.SizeRw
	}
	if r.Container.State == nil || !r.Container.State.Running {
		return s, nil
	}
	answer, err := e.client.ContainerStats(ctx, id, client.ContainerStatsOptions{})
	if err != nil {
		return s, e.fail(ctx, err, "measure container %.12s", id)
	}
	defer answer.Body.Close()
	var m container.StatsResponse
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxStats)).Decode(&m); err != nil {
		return s, e.fail(ctx, err, "measure container %.12s", id)
	}
	s.Memory, s.PeakMemory = int64(m.MemoryStats.Usage), int64(m.MemoryStats.MaxUsage)
	return s, nil
}

// Stop asks a container's main process to end and kills it after grace, in whole
// seconds.
func (e *Engine) Stop(ctx context.Context, id string, grace time.Duration) error {
	seconds := int(grace / time.Second)
	_, err := e.client.ContainerStop(ctx, id, client.ContainerStopOptions{Timeout: &seconds})
	return e.fail(ctx, err, "stop container %.12s", id)
}

// Remove kills a container and removes it with its volumes. One that is gone is
// no error.
func (e *Engine) Remove(ctx context.Context, id string) error {
	_, err := e.client.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	// A conflict means that somebody else is removing it at this moment.
	if errdefs.IsNotFound(err) || errdefs.IsConflict(err) {
		return nil
	}
	return e.fail(ctx, err, "remove container %.12s", id)
}

// Containers lists the containers, ended ones too, that carry a label: "key" or
// "key=value".
func (e *Engine) Containers(ctx context.Context, label string) ([]Container, error) {
	r, err := e.client.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("label", label)})
	if err != nil {
		return nil, e.fail(ctx, err, "list containers with label %s", label)
	}
	var all []Container
	for _, c := range r.Items {
		one := Container{ID: c.ID, Image: c.Image, State: string(c.State), Labels: c.Labels}
		if len(c.Names) > 0 {
			one.Name = c.Names[0][min(1, len(c.Names[0])):] // the engine writes "/name"
		}
		all = append(all, one)
	}
	return all, nil
}

// Clean removes every container, then every image, that carries a label: "key" or
// "key=value". It goes on after a failure and returns all of them.
func (e *Engine) Clean(ctx context.Context, label string) error {
	containers, err := e.Containers(ctx, label)
	all := []error{err}
	for _, c := range containers {
		all = append(all, e.Remove(ctx, c.ID))
	}
	// A nameless image is not listed while another one stands on it.
	for seen := map[string]bool{}; ; {
		images, err := e.Images(ctx, label)
		all = append(all, err)
		images = slices.DeleteFunc(images, func(i Image) bool { return seen[i.ID] })
		if len(images) == 0 {
			break
		}
		for _, i := range images {
			seen[i.ID] = true
			all = append(all, e.RemoveImage(ctx, i.ID))
		}
	}
	return errors.Join(slices.DeleteFunc(all, func(err error) bool { return err == nil })...)
}

func short(id string) string { return id[:min(12, len(id))] }

// head is a writer that keeps the beginning of what it is given.
type head struct {
	limit int
	kept  []byte
	lost  int64
}

func (h *head) Write(p []byte) (int, error) {
	n := min(len(p), h.limit-len(h.kept))
	h.kept = append(h.kept, p[:n]...)
	h.lost += int64(len(p) - n)
	return len(p), nil
}
