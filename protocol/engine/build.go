package engine

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/client"
)

// maxBuildLog bounds what is kept of a build's log: its end.
const maxBuildLog = 64 << 10

// maxBuildLine bounds one record of the builder's answer.
const maxBuildLine = 1 << 20

// BuildSpec says how to build one image.
type BuildSpec struct {
	Context    io.Reader         // a tar of the build context, as Tar writes it
	Dockerfile string            // its path in the context; "Dockerfile" when empty
	Target     string            // stage to stop at; the last when empty
	Tag        string            // name:tag of the result; none when empty
	Args       map[string]string // build arguments
	Labels     map[string]string // of the image; Clean finds it by them
	NoNetwork  bool              // RUN steps have no network
	NoCache    bool              // every step is run, whatever an earlier build left
	Memory     int64             // bytes that a step may use; 0 is no limit
	CPUs       float64           // of the machine; 0 is no limit
	Timeout    time.Duration     // of the whole build; 0 is no limit
	Progress   func(line string) // called with every line of the log, in order; may be nil
}

// Image is an image that the engine holds.
type Image struct {
	ID     string // "sha256:…"
	Tags   []string
	Labels map[string]string
	Size   int64    // bytes
	Env    []string // only from Inspect: what its containers start with
	Dir    string   // only from Inspect: its working directory; "" is "/"
	User   string   // only from Inspect: "" is root
}

// Build builds an image and returns its id. A Dockerfile that does not build is a
// *BuildError, also when the build takes longer than its own Timeout.
func (e *Engine) Build(ctx context.Context, spec BuildSpec) (string, error) {
	building := ctx
	if spec.Timeout > 0 {
		var cancel context.CancelFunc
		building, cancel = context.WithTimeout(ctx, spec.Timeout)
		defer cancel()
	}
	log := tail{limit: maxBuildLog}
	id, err := e.build(building, spec, &log)
	if err != nil && ctx.Err() == nil && errors.Is(building.Err(), context.DeadlineExceeded) {
		return "", &BuildError{Message: fmt.Sprintf("it was not done within %s", spec.Timeout), TimedOut: true, Log: log.String()}
	}
	return id, err
}

func (e *Engine) build(ctx context.Context, spec BuildSpec, log *tail) (string, error) {
	o := client.ImageBuildOptions{
		Dockerfile: spec.Dockerfile, Target: spec.Target, Labels: spec.Labels, NoCache: spec.NoCache,
		Remove: true, ForceRemove: true,
		Memory: spec.Memory, MemorySwap: spec.Memory,
	}
	if spec.Tag != "" {
		o.Tags = []string{spec.Tag}
	}
	if spec.NoNetwork {
		o.NetworkMode = "none"
	}
	if spec.CPUs > 0 {
		o.CPUPeriod, o.CPUQuota = 100_000, int64(spec.CPUs*100_000)
	}
	if len(spec.Args) > 0 {
		o.BuildArgs = map[string]*string{}
		for name, value := range maps.All(spec.Args) {
			o.BuildArgs[name] = &value
		}
	}
	answer, err := e.client.ImageBuild(ctx, spec.Context, o)
	if err != nil {
		// Some engines call a Dockerfile that is not there their own error.
		if ctx.Err() == nil && (errdefs.IsInvalidArgument(err) || strings.Contains(err.Error(), "ockerfile")) {
			return "", buildFailure(err.Error(), 0, "")
		}
		return "", e.fail(ctx, err, "build image")
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, maxBuildLine)
	id := ""
	var line strings.Builder // a line of the log may come in pieces
	var made steps
	whole := func(text string) {
		made.line(text)
		if spec.Progress != nil {
			spec.Progress(text)
		}
	}
	for lines.Scan() {
		var m jsonstream.Message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return "", &Fault{Doing: "build image", Err: fmt.Errorf("the engine's answer is no JSON: %w", err)}
		}
		if m.Error != nil {
			return "", buildFailure(m.Error.Message, m.Error.Code, log.String())
		}
		if m.Aux != nil {
			var made struct{ ID string }
			if json.Unmarshal(*m.Aux, &made) == nil && made.ID != "" {
				id = made.ID
			}
		}
		_, _ = log.Write([]byte(m.Stream)) // a tail takes everything
		report(&line, m.Stream, whole)
	}
	if err := lines.Err(); err != nil {
		return "", e.fail(ctx, err, "build image")
	}
	if id == "" {
		return "", e.fail(ctx, errors.New("the engine's answer ended without an image"), "build image")
	}
	e.layers.add(made.ids(), id)
	return id, nil
}

// report hands on the lines that text completes.
func report(line *strings.Builder, text string, progress func(string)) {
	for {
		head, rest, whole := strings.Cut(text, "\n")
		if line.Len() < maxBuildLog {
			line.WriteString(head)
		}
		if !whole {
			return
		}
		if s := strings.TrimRight(line.String(), "\r"); s != "" {
			progress(s)
		}
		line.Reset()
		text = rest
	}
}

// Inspect looks an image up by id or name.
func (e *Engine) Inspect(ctx context.Context, image string) (Image, error) {
	r, err := e.client.ImageInspect(ctx, image)
	if err != nil {
		return Image{}, e.fail(ctx, err, "look up image %s", image)
	}
	i := Image{ID: r.ID, Tags: r.RepoTags, Size: r.Size}
	if r.Config != nil {
		i.Labels, i.Env, i.Dir, i.User = r.Config.Labels, r.Config.Env, r.Config.WorkingDir, r.Config.User
	}
	return i, nil
}

// Images lists the images that carry a label: "key" or "key=value".
func (e *Engine) Images(ctx context.Context, label string) ([]Image, error) {
	r, err := e.client.ImageList(ctx, client.ImageListOptions{Filters: client.Filters{}.Add("label", label)})
	if err != nil {
		return nil, e.fail(ctx, err, "list images with label %s", label)
	}
	var all []Image
	for _, i := range r.Items {
		all = append(all, Image{ID: i.ID, Tags: i.RepoTags, Labels: i.Labels, Size: i.Size})
	}
	return all, nil
}

// RemoveImage removes an image with its names, and the nameless images below it
// that were steps of builds on this connection, unless something else stands on
// them. An image that somebody else made stays, named or not: the engine cannot
// tell a nameless base image from a step of a build, and so is not asked to. An
// image that is gone is no error.
func (e *Engine) RemoveImage(ctx context.Context, image string) error {
	below := e.below(ctx, image)
	_, err := e.client.ImageRemove(ctx, image, client.ImageRemoveOptions{Force: true})
	if err != nil && !errdefs.IsNotFound(err) {
		return e.fail(ctx, err, "remove image %s", image)
	}
	for _, step := range below {
		if !e.layers.has(step) {
			break
		}
		// A conflict: another image or a container stands on it.
		if _, err := e.client.ImageRemove(ctx, step, client.ImageRemoveOptions{}); err != nil {
			break
		}
		e.layers.drop(step)
	}
	return nil
}

// below lists the images that an image stands on, the nearest first, as far as
// the engine still has them.
func (e *Engine) below(ctx context.Context, image string) []string {
	r, err := e.client.ImageHistory(ctx, image)
	if err != nil {
		return nil // gone, or of an engine that will fail the removal too
	}
	var ids []string
	for _, step := range r.Items[min(1, len(r.Items)):] {
		ids = append(ids, step.ID)
	}
	return ids
}

// tail is a writer that keeps the end of what it is given.
type tail struct {
	limit int
	kept  []byte
	lost  int64
}

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	// Cutting only at twice the limit copies each byte at most twice.
	if len(t.kept) > 2*t.limit {
		t.cut()
	}
	return len(p), nil
}

func (t *tail) cut() {
	if over := len(t.kept) - t.limit; over > 0 {
		t.lost += int64(over)
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
}

func (t *tail) String() string {
	t.cut()
	return string(t.kept)
}
