package k8sjobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"

	"github.com/posttrainarena/arena/protocol/jobs"
	"github.com/posttrainarena/arena/protocol/jobs/jobdir"
)

// Name is the provider's name in configuration and records (PROTOCOL §8).
const Name = "kubernetes"

// DefaultGlance is how often a job is looked at that has no log to follow.
const DefaultGlance = 2 * time.Second

// Options configures a Provider.
type Options struct {
	// Kubeconfig is the path of a kubeconfig file; empty: the service account of the
	// pod that the arena runs in.
	Kubeconfig string
	// Context is the kubeconfig's context; empty: its current one.
	Context string
	// Namespace is where jobs are created. It exists, and is the arena's for as long
	// as runs go on: in another one their jobs would not be found.
	Namespace string
	// Image is the container image of the pipeline.
	Image string
	// Command is what a job runs in it; the path of its config file is appended.
	Command []string
	// Environment are variables that the command gets; none is a secret.
	Environment map[string]string
	// Secrets are variables whose values the cluster takes from a secret.
	Secrets map[string]SecretKey
	// ServiceAccount is the pod's; empty: the namespace's default. No token of it is
	// mounted.
	ServiceAccount string
	// VolumeClaim is the name of the claim that holds the jobs' files, and Dir the
	// directory of this machine that is the same storage.
	VolumeClaim string
	Dir         string
	// User and Group are who the command runs as: whoever can read what this process
	// writes below Dir, so its own.
	User, Group int64
	// GPUResource is the name by which the cluster's nodes offer GPUs.
	GPUResource string
	// Flavors is what jobs may ask for.
	Flavors []Flavor
	// Queue is how long a pod may wait for hardware.
	Queue time.Duration
	// Grace is how long a command has between TERM and KILL, at least a second.
	Grace time.Duration
	// Keep is how long a job and its directory stay after its end; 0 means for ever.
	Keep time.Duration
	// Glance is how often a job is looked at that has no log to follow; 0 means
	// DefaultGlance.
	Glance time.Duration
	// Now is the clock.
	Now func() time.Time
}

// SecretKey names a value in a secret of the namespace.
type SecretKey struct{ Secret, Key string }

// Flavor is a kind of hardware as the cluster is asked for it. Amounts are
// Kubernetes quantities such as "64" or "512Gi"; an empty one asks for nothing.
type Flavor struct {
	jobs.Flavor
	GPUs         int
	CPU          string
	Memory       string
	SharedMemory string // of /dev/shm, which counts as memory; empty: the node's default of 64 MiB
	NodeSelector map[string]string
}

// Provider runs jobs on a cluster. Open makes one. It is safe for concurrent use.
type Provider struct {
	options Options
	cluster *cluster
	flavors map[string]hardware

	mu sync.Mutex // held between reading a record and writing it
}

var _ jobs.Provider = (*Provider)(nil)

// Open returns the provider of a namespace. It reads the kubeconfig and looks at
// the directory, and asks the cluster nothing: one that is away must not keep the
// arena from starting.
func Open(o Options) (*Provider, error) {
	o.Glance = cmp.Or(o.Glance, DefaultGlance)
	p := &Provider{options: o, flavors: map[string]hardware{}}
	fail := func(err error) (*Provider, error) { return nil, fmt.Errorf("open kubernetes provider: %w", err) }
	if err := o.check(); err != nil {
		return fail(err)
	}
	for _, f := range o.Flavors {
		h, err := ask(f, o.GPUResource)
		if err != nil {
			return fail(fmt.Errorf("the flavor %s: %w", f.Name, err))
		}
		p.flavors[f.Name] = h
	}
	var err error
	if p.options.Dir, err = filepath.Abs(o.Dir); err != nil {
		return fail(err)
	}
	if info, err := os.Stat(p.options.Dir); err != nil || !info.IsDir() {
		return fail(fmt.Errorf("providers.kubernetes.directory must be a directory that exists, %s: it is the storage of the claim %s as this machine sees it", o.Dir, o.VolumeClaim))
	}
	if p.cluster, err = connect(o); err != nil {
		return fail(err)
	}
	return p, nil
}

// check reports what is missing or cannot work.
func (o Options) check() error {
	for _, need := range []struct{ key, value string }{
		{"namespace", o.Namespace},
		{"image", o.Image},
		{"volume_claim", o.VolumeClaim},
		{"directory", o.Dir},
		{"gpu_resource", o.GPUResource},
	} {
		if need.value == "" {
			return fmt.Errorf("nothing is configured as providers.kubernetes.%s", need.key)
		}
	}
	switch {
	case len(o.Command) == 0 || o.Command[0] == "":
		return errors.New("no command is configured (providers.kubernetes.command)")
	case o.User < 0 || o.Group < 0:
		return errors.New("this system has no user ids, so a job could not be made to read the files that this process writes")
	case o.Grace < time.Second || o.Queue < 0 || o.Keep < 0 || o.Now == nil:
		return errors.New("it needs a clock, a grace of at least a second, and no negative times")
	}
	return nil
}

// Close lets go of the connections that nobody uses. The provider still works.
func (p *Provider) Close() { p.cluster.idle() }

// Name is the provider's name in configuration and records.
func (p *Provider) Name() string { return Name }

// Hardware lists the flavors by name, with the prices of the configuration, once
// the cluster has answered.
func (p *Provider) Hardware(ctx context.Context) ([]jobs.Flavor, error) {
	if _, err := p.cluster.listJobs(ctx, "", 1); err != nil {
		return nil, fmt.Errorf("list hardware: %w", err)
	}
	var flavors []jobs.Flavor
	for _, f := range p.options.Flavors {
		flavors = append(flavors, f.Flavor)
	}
	slices.SortFunc(flavors, func(a, b jobs.Flavor) int { return cmp.Compare(a.Name, b.Name) })
	return flavors, nil
}

// Start writes the job's files and creates its Job. One that is there already, from
// an answer that was lost, is the job.
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
	if err := p.admit(spec); err != nil {
		return jobs.Job{}, fmt.Errorf("%w the job: %w", jobs.ErrRefused, err)
	}
	name := nameOf(spec.Run)
	if job, err := p.join(ctx, name, spec); !errors.Is(err, jobs.ErrNoJob) {
		return job, err
	}
	p.clean()
	if err := p.prepare(name, spec); err != nil {
		return jobs.Job{}, fmt.Errorf("%w: write the files of the job: %w", jobs.ErrUnreachable, err)
	}
	created, err := p.cluster.create(ctx, p.manifest(name, spec))
	switch {
	case alreadyExists(err):
		job, err := p.join(ctx, name, spec)
		switch {
		case errors.Is(err, jobs.ErrNoJob): // on its way out, or somebody else's
			err = fmt.Errorf("%w: the name %s is taken by a Job that is not the arena's or is being deleted; if it stays, delete it", jobs.ErrUnreachable, name)
		case errors.Is(err, jobs.ErrUnreachable):
			err = fmt.Errorf("%w: the Job %s exists and cannot be looked at: %v", jobs.ErrUnknown, name, err)
		}
		return job, err
	case errors.Is(err, jobs.ErrRefused):
		return jobs.Job{}, errors.Join(err, os.RemoveAll(filepath.Join(p.options.Dir, name)))
	case err != nil:
		return jobs.Job{}, err
	}
	v := view{name: name, job: created, record: newRecord(spec, p.options.Grace)}
	v.learn()
	if err := p.write(name, v.record); err != nil {
		return jobs.Job{}, fmt.Errorf("%w: the job exists and cannot be put on record: %w", jobs.ErrUnknown, err)
	}
	return v.answer(p.options.Now()), nil
}

// join returns the job of a run that is there already, or ErrNoJob. It gets the
// secrets of this launch, because those of the one that made it are good for nothing
// any more; its command may not have read them yet.
func (p *Provider) join(ctx context.Context, name string, spec jobs.Spec) (jobs.Job, error) {
	v, err := p.look(ctx, name)
	if err != nil {
		return jobs.Job{}, err
	}
	if v.Run != spec.Run {
		return jobs.Job{}, fmt.Errorf("%w the job: the Job %s belongs to %q", jobs.ErrRefused, name, v.Run)
	}
	if len(spec.Secrets) > 0 && v.End == nil {
		if err := jobdir.WriteSecrets(filepath.Join(p.options.Dir, name), spec.Secrets); err != nil {
			return jobs.Job{}, fmt.Errorf("%w: the Job %s exists and its secrets cannot be written: %w", jobs.ErrUnknown, name, err)
		}
	}
	return v.answer(p.options.Now()), nil
}

// admit reports what no cluster could run.
func (p *Provider) admit(spec jobs.Spec) error {
	_, known := p.flavors[spec.Flavor]
	switch {
	case spec.Run == "":
		return errors.New("it has no run as its label")
	case !known:
		return fmt.Errorf("it wants the flavor %q, which is not on offer", spec.Flavor)
	case spec.Timeout < time.Second:
		return errors.New("it has no time limit")
	}
	return nil
}

// unfinished starts the names of directories that are not jobs yet, or no longer.
const unfinished = ".new-"

// prepare makes a job's directory, out of sight until it is complete. One that an
// earlier try has left is replaced: no Job has it.
func (p *Provider) prepare(name string, spec jobs.Spec) error {
	dir := filepath.Join(p.options.Dir, name)
	hidden, err := os.MkdirTemp(p.options.Dir, unfinished) // mode 0700
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(hidden) }() // nothing is there once it has its name
	if err := jobdir.Fill(hidden, spec); err != nil {
		return err
	}
	if len(spec.Secrets) > 0 {
		if err := jobdir.WriteSecrets(hidden, spec.Secrets); err != nil {
			return err
		}
	}
	if err := writeRecord(hidden, newRecord(spec, p.options.Grace)); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(hidden, dir)
}

// clean removes what an interrupted Start has left, and the directories of jobs
// that ended longer than Keep ago. What cannot be read or removed stays until the
// next time: no job is refused for it.
func (p *Provider) clean() {
	entries, err := os.ReadDir(p.options.Dir)
	if err != nil {
		return
	}
	now := p.options.Now()
	for _, e := range entries {
		path := filepath.Join(p.options.Dir, e.Name())
		if info, err := e.Info(); err == nil && isUnfinished(e.Name()) && now.Sub(info.ModTime()) > time.Hour {
			_ = os.RemoveAll(path)
		}
		rec, found, err := p.read(e.Name())
		if p.options.Keep <= 0 || err != nil || !found || rec.End == nil || now.Sub(rec.End.EndedAt) < p.options.Keep {
			continue
		}
		// Its name goes first, so that no half of it is ever taken for a job.
		if hidden := filepath.Join(p.options.Dir, unfinished+e.Name()); os.Rename(path, hidden) == nil {
			_ = os.RemoveAll(hidden)
		}
	}
}

// Inspect returns the state of a job.
func (p *Provider) Inspect(ctx context.Context, id string) (jobs.Job, error) {
	v, err := p.look(ctx, id)
	if err != nil {
		return jobs.Job{}, fmt.Errorf("inspect job %s: %w", id, err)
	}
	return v.answer(p.options.Now()), nil
}

// Find lists the jobs of a run, the canceled one that the cluster has forgotten
// among them.
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
	listed, err := p.cluster.listJobs(ctx, labelRun+"="+labelOf(run), maxListed)
	if err != nil {
		return nil, err
	}
	names := []string{nameOf(run)}
	for _, job := range listed {
		if runOf(&job) == run && !slices.Contains(names, job.Name) {
			names = append(names, job.Name)
		}
	}
	var found []jobs.Job
	for _, name := range names {
		v, err := p.look(ctx, name)
		switch {
		case errors.Is(err, jobs.ErrNoJob):
		case err != nil:
			return nil, err
		case v.Run == run:
			found = append(found, v.answer(p.options.Now()))
		}
	}
	slices.SortFunc(found, func(a, b jobs.Job) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return found, nil
}

// Cancel deletes a job that has not ended. That it was asked for is on record
// before, because afterwards the cluster knows nothing of the job.
func (p *Provider) Cancel(ctx context.Context, id string) error {
	v, err := p.look(ctx, id)
	if err == nil && v.End == nil {
		if v.CanceledAt.IsZero() {
			v.CanceledAt = p.options.Now().UTC()
			if err := p.write(id, v.record); err != nil {
				return fmt.Errorf("cancel job %s: %w: %w", id, jobs.ErrUnreachable, err)
			}
		}
		if v.job.DeletionTimestamp == nil {
			err = p.cluster.remove(ctx, v.job)
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
	if _, err := p.look(ctx, id); err != nil {
		return nil, fmt.Errorf("open the artifacts of job %s: %w", id, err)
	}
	root, err := os.OpenRoot(filepath.Join(p.options.Dir, id, jobdir.Output))
	if err != nil {
		return nil, fmt.Errorf("open the artifacts of job %s: %w: %w", id, jobs.ErrUnreachable, err)
	}
	return root.FS(), nil // the directory is closed when nobody holds it any more
}

// reach returns ErrUnreachable when the jobs' directory is not there: what is not
// seen then is no proof of anything.
func (p *Provider) reach(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		var info fs.FileInfo
		if info, err = os.Stat(p.options.Dir); err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is not a directory", p.options.Dir)
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %w", jobs.ErrUnreachable, err)
	}
	return nil
}

// look returns what the cluster and the record say about a job, or ErrNoJob. What
// the cluster will forget is put on record.
func (p *Provider) look(ctx context.Context, name string) (view, error) {
	if err := p.reach(ctx); err != nil {
		return view{}, err
	}
	if !isName(name) {
		return view{}, jobs.ErrNoJob
	}
	job, err := p.cluster.job(ctx, name)
	if err != nil {
		return view{}, err
	}
	var pod *core.Pod
	if job != nil {
		if runOf(job) == "" {
			return view{}, jobs.ErrNoJob // somebody else's
		}
		if pod, err = p.cluster.pod(ctx, job); err != nil {
			return view{}, err
		}
	}
	return p.remember(name, job, pod)
}

// remember brings a job's record up to date with what the cluster has said.
func (p *Provider) remember(name string, job *batch.Job, pod *core.Pod) (view, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	rec, found, err := p.read(name)
	if err != nil {
		return view{}, fmt.Errorf("%w: %w", jobs.ErrUnreachable, err)
	}
	v := view{name: name, job: job, pod: pod, record: rec}
	switch {
	case job == nil && rec.End == nil && rec.CanceledAt.IsZero():
		return v, jobs.ErrNoJob
	case job == nil && rec.End == nil:
		v.End = v.canceled(p.options.Now())
	case job != nil && (!found || rec.Run != runOf(job) || rec.UID != "" && rec.UID != string(job.UID)):
		v.record = recordOf(job) // its directory was removed, or is that of another
		found = false
	}
	v.learn()
	if found && v.changed(rec) {
		dir := filepath.Join(p.options.Dir, name)
		if v.End != nil { // nobody needs them any more
			if err := os.RemoveAll(filepath.Join(dir, jobdir.Secrets)); err != nil {
				return v, fmt.Errorf("%w: remove the secrets of a job that has ended: %w", jobs.ErrUnreachable, err)
			}
		}
		if err := writeRecord(dir, v.record); err != nil {
			return v, fmt.Errorf("%w: %w", jobs.ErrUnreachable, err)
		}
	}
	return v, nil
}

func (p *Provider) read(name string) (record, bool, error) {
	return readRecord(filepath.Join(p.options.Dir, name))
}

func (p *Provider) write(name string, r record) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return writeRecord(filepath.Join(p.options.Dir, name), r)
}
