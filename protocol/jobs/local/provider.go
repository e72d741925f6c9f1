package local

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/posttrainarena/arena/protocol/jobs"
	"github.com/posttrainarena/arena/protocol/jobs/jobdir"
)

// Name is the provider's name in configuration and records (PROTOCOL §8).
const Name = "local"

// DefaultGrace is how long a command has between TERM and KILL.
const DefaultGrace = 20 * time.Second

// Options configures a Provider.
type Options struct {
	// Dir holds the jobs, each in a directory of its own. One arena uses it.
	Dir string
	// Supervisor is the command that runs Supervise on the directory appended to
	// it: this binary with a hidden verb.
	Supervisor []string
	// Command is what a job runs; the path of its config file is appended. Its
	// first word is a path or a name to look for on PATH.
	Command []string
	// Flavors is what jobs may ask for. The machine is what it is: a flavor is
	// only a name and a price.
	Flavors []jobs.Flavor
	// Environment names the variables that a command gets beside the harmless
	// ones, such as one that holds a token.
	Environment []string
	// Getenv reads the environment of this process.
	Getenv func(name string) string
	// Grace is how long a command has between TERM and KILL; 0 means
	// DefaultGrace.
	Grace time.Duration
	// Keep is how long the directory of a job stays after its end; 0 means for
	// ever. It is removed when the next job starts, because by then the arena, which
	// runs one at a time, has copied what it keeps.
	Keep time.Duration
	// Now is the clock. Jobs take real time, so it is the system's.
	Now func() time.Time
}

// Provider runs jobs on this machine. Open makes one. It is safe for concurrent
// use.
type Provider struct {
	options Options
	dir     string   // absolute
	command []string // with an absolute path; see Options.Command

	mu sync.Mutex
	// launched holds the jobs whose supervisor this process has started, and
	// whether that still runs.
	launched map[string]bool
}

var _ jobs.Provider = (*Provider)(nil)

// Open returns the provider whose jobs are in a directory, which it creates when
// there is none. Jobs that an earlier process left behind are found as they are.
func Open(o Options) (*Provider, error) {
	o.Grace = cmp.Or(o.Grace, DefaultGrace)
	fail := func(format string, args ...any) (*Provider, error) {
		return nil, fmt.Errorf("open local provider: "+format, args...)
	}
	switch {
	case o.Now == nil || o.Getenv == nil || len(o.Supervisor) == 0:
		return fail("it needs a clock, an environment and a supervisor")
	case len(o.Command) == 0 || o.Command[0] == "":
		return fail("no command is configured (providers.local.command)")
	}
	if _, err := birth(os.Getpid()); err != nil {
		return fail("this system does not tell when a process started, so a job could not be told from another process: %w", err)
	}
	command, err := locate(o.Command)
	if err != nil {
		return fail("the pipeline's command (providers.local.command) cannot be run: %w", err)
	}
	dir, err := filepath.Abs(o.Dir)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return fail("make the directory of its jobs: %w", err)
	}
	p := &Provider{options: o, dir: dir, command: command, launched: map[string]bool{}}
	if err := p.sweep(); err != nil {
		return fail("%w", err)
	}
	return p, nil
}

// locate returns a command with the absolute path of its program.
func locate(command []string) ([]string, error) {
	program, err := exec.LookPath(command[0])
	if err == nil {
		program, err = filepath.Abs(program)
	}
	return append([]string{program}, command[1:]...), err
}

// unfinished starts the names of directories that are not jobs yet, or no longer.
const unfinished = ".new-"

// sweep removes what a Start left behind that did not come to making its job, or
// to removing an old one.
func (p *Provider) sweep() error {
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), unfinished) {
			if err := os.RemoveAll(filepath.Join(p.dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// clean removes the directories of jobs that ended longer than Keep ago. What
// cannot be read or removed stays until the next time: no job is refused for it.
func (p *Provider) clean() {
	if p.options.Keep <= 0 {
		return
	}
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		var end ending
		dir := filepath.Join(p.dir, e.Name())
		if !isID(e.Name()) {
			continue
		}
		if found, err := readRecord(dir, exitFile, &end); err != nil || !found || p.options.Now().Sub(end.EndedAt) < p.options.Keep {
			continue
		}
		// Its name goes first, so that no half of it is ever taken for a job.
		if hidden := filepath.Join(p.dir, unfinished+e.Name()); os.Rename(dir, hidden) == nil {
			_ = os.RemoveAll(hidden)
		}
	}
}

// Name is the provider's name in configuration and records.
func (p *Provider) Name() string { return Name }

// Hardware lists the flavors by name.
func (p *Provider) Hardware(ctx context.Context) ([]jobs.Flavor, error) {
	if err := p.reach(ctx); err != nil {
		return nil, fmt.Errorf("list hardware: %w", err)
	}
	return slices.SortedFunc(slices.Values(p.options.Flavors), func(a, b jobs.Flavor) int { return cmp.Compare(a.Name, b.Name) }), nil
}

// Start makes a job and starts its supervisor. The job exists from the moment
// its directory does; when the supervisor cannot be started, it is taken back.
func (p *Provider) Start(ctx context.Context, spec jobs.Spec) (jobs.Job, error) {
	job, err := p.start(ctx, spec)
	if err != nil {
		return jobs.Job{}, fmt.Errorf("start a job for run %s: %w", spec.Run, err)
	}
	return job, nil
}

func (p *Provider) start(ctx context.Context, spec jobs.Spec) (jobs.Job, error) {
	if err := p.reach(ctx); err != nil {
		return jobs.Job{}, err
	}
	o, err := p.order(spec)
	if err != nil {
		return jobs.Job{}, fmt.Errorf("%w the job: %w", jobs.ErrRefused, err)
	}
	p.clean()
	dir, err := p.prepare(o, spec)
	if err != nil {
		return jobs.Job{}, fmt.Errorf("%w: %w", jobs.ErrUnreachable, err)
	}
	v := view{order: o, dir: dir}
	if err := p.launch(v); err != nil {
		if undone := os.RemoveAll(dir); undone != nil {
			return jobs.Job{}, fmt.Errorf("%w: %w, and the job cannot be taken back: %w", jobs.ErrUnknown, err, undone)
		}
		return jobs.Job{}, fmt.Errorf("%w the job: %w", jobs.ErrRefused, err)
	}
	return v.job(p.options.Now()), nil
}

// order checks a spec and makes the job's record of it.
func (p *Provider) order(spec jobs.Spec) (order, error) {
	known := slices.ContainsFunc(p.options.Flavors, func(f jobs.Flavor) bool { return f.Name == spec.Flavor })
	switch {
	case spec.Run == "":
		return order{}, errors.New("it has no run as its label")
	case !known:
		return order{}, fmt.Errorf("it wants the flavor %q, which is not on offer", spec.Flavor)
	case spec.Timeout <= 0:
		return order{}, errors.New("it has no time limit")
	}
	id := make([]byte, 12)
	_, _ = rand.Read(id) // never fails
	o := order{
		Version: formVersion, ID: hex.EncodeToString(id), Run: spec.Run, Flavor: spec.Flavor, Command: p.command, Env: spec.Env,
		Timeout: spec.Timeout, Grace: p.options.Grace, CreatedAt: p.options.Now().UTC().Round(0),
	}
	if len(spec.Command) == 0 {
		o.Command = append(slices.Clone(p.command), filepath.Join(p.dir, o.ID, jobdir.Work, jobdir.Config))
		return o, nil
	}
	var err error
	o.Command, err = locate(spec.Command)
	return o, err
}

// prepare makes a job's directory, out of sight until it is complete, and
// returns its path.
func (p *Provider) prepare(o order, spec jobs.Spec) (string, error) {
	dir := filepath.Join(p.dir, o.ID)
	hidden, err := os.MkdirTemp(p.dir, unfinished) // mode 0700
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(hidden) }() // nothing is there once it has its name
	if err := jobdir.Fill(hidden, spec); err != nil {
		return "", fmt.Errorf("write the files of the job: %w", err)
	}
	if _, err := writeOnce(hidden, jobFile, o); err != nil {
		return "", fmt.Errorf("write the record of the job: %w", err)
	}
	if err := os.Rename(hidden, dir); err != nil {
		return "", err
	}
	return dir, nil
}

// Inspect returns the state of a job.
func (p *Provider) Inspect(ctx context.Context, id string) (jobs.Job, error) {
	v, err := p.look(ctx, id)
	if err != nil {
		return jobs.Job{}, fmt.Errorf("inspect job %s: %w", id, err)
	}
	return v.job(p.options.Now()), nil
}

// Find lists the jobs of a run in the order of their creation.
func (p *Provider) Find(ctx context.Context, run string) ([]jobs.Job, error) {
	found, err := p.find(ctx, run)
	if err != nil {
		return nil, fmt.Errorf("find the jobs of run %s: %w", run, err)
	}
	return found, nil
}

func (p *Provider) find(ctx context.Context, run string) ([]jobs.Job, error) {
	if err := p.reach(ctx); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", jobs.ErrUnreachable, err)
	}
	var found []jobs.Job
	for _, e := range entries {
		if !isID(e.Name()) {
			continue
		}
		var o order
		// A directory that cannot be read might be the run's job, so "none" would
		// be no proof.
		if _, err := readRecord(filepath.Join(p.dir, e.Name()), jobFile, &o); err != nil {
			return nil, fmt.Errorf("%w: %w", jobs.ErrUnreachable, err)
		}
		if o.Run != run {
			continue
		}
		v, err := p.look(ctx, o.ID)
		if errors.Is(err, jobs.ErrNoJob) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, v.job(p.options.Now()))
	}
	slices.SortFunc(found, func(a, b jobs.Job) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return found, nil
}

// Cancel asks for a job to stop. Its supervisor sees the request in a moment.
func (p *Provider) Cancel(ctx context.Context, id string) error {
	v, err := p.look(ctx, id)
	if err == nil && v.end == nil {
		if _, err = writeOnce(v.dir, cancelFile, cancellation{p.options.Now().UTC()}); err != nil {
			err = fmt.Errorf("%w: %w", jobs.ErrUnknown, err)
		}
	}
	if err != nil {
		return fmt.Errorf("cancel job %s: %w", id, err)
	}
	return nil
}

// Artifacts opens what a job has left so far. Nothing outside of its output
// directory can be reached through it, whatever links the job made.
func (p *Provider) Artifacts(ctx context.Context, id string) (fs.FS, error) {
	v, err := p.look(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("open the artifacts of job %s: %w", id, err)
	}
	root, err := os.OpenRoot(filepath.Join(v.dir, jobdir.Output))
	if err != nil {
		return nil, fmt.Errorf("open the artifacts of job %s: %w: %w", id, jobs.ErrUnreachable, err)
	}
	return root.FS(), nil // the directory is closed when nobody holds it any more
}

// reach returns ErrUnreachable when ctx is done or the directory of the jobs is
// not there: what is not seen then is no proof of anything.
func (p *Provider) reach(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", jobs.ErrUnreachable, err)
	}
	info, err := os.Stat(p.dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", p.dir)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", jobs.ErrUnreachable, err)
	}
	return nil
}

// look returns the state of a job, or ErrNoJob.
func (p *Provider) look(ctx context.Context, id string) (view, error) {
	if err := p.reach(ctx); err != nil {
		return view{}, err
	}
	if !isID(id) {
		return view{}, jobs.ErrNoJob
	}
	dir := filepath.Join(p.dir, id)
	v, err := readView(dir)
	if err == nil && v.end == nil {
		v, err = p.revive(v)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return v, jobs.ErrNoJob
	case err != nil:
		return v, fmt.Errorf("%w: %w", jobs.ErrUnreachable, err)
	default:
		return v, nil
	}
}
