package controls

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/posttrainarena/arena/gates/adversary"
	"github.com/posttrainarena/arena/gates/dynamic"
	"github.com/posttrainarena/arena/gates/task"
)

// Label is the key of the label that everything made by a run carries. Its value is the jobs directory's.
const Label = "org.posttrainarena.gates"

// Config says how to run controls.
type Config struct {
	Engine         Engine
	Jobs           string // the jobs root, as an absolute path; made when it is not there
	Parallel       int    // trials at a time; 1 when less
	NoBuildNetwork bool   // builds have no network either
	Now            func() time.Time
	ID             func() string      // 8 hex digits, different every time
	Progress       func(Event)        // one call at a time; may be nil
	Adversaries    *adversary.Options // what to try against the verifiers; nil tries nothing
	NoControls     bool               // run the adversaries alone
}

// Event is one thing that happened in a run.
type Event struct {
	Task   string
	Gate   dynamic.Gate // Build for the image, Adversary for one of those
	Number int
	Name   string // of an adversary's trial
	What   string // built, unbuilt, passed, failed, lost, or kept for a trial of an earlier run
	Detail string
	Took   time.Duration
	Done   int // steps that are done
	Steps  int
}

// What an Event can say.
const (
	Built   = "built"
	Unbuilt = "unbuilt" // the task's fault
	Passed  = "passed"  // what the gate wants
	Failed  = "failed"  // the task's fault
	Lost    = "lost"    // nobody's fault
	Kept    = "kept"
	Weak    = "weak" // a mutant of the solution passes
)

// Adversary stands in events for the trials that are no control.
const Adversary dynamic.Gate = "adversary"

// maxParallel bounds the trials at a time.
const maxParallel = 64

// Run runs the controls of a plan on packages that have its content, which Check says. Steps that the jobs directory
// has a trial for are not run again. The error is of a run that could not go on; what is wrong with single tasks is in
// their trials.
func Run(ctx context.Context, cfg Config, p dynamic.Plan, packages []task.Package) (err error) {
	if err := Check(p, packages); err != nil {
		return err
	}
	if err := os.MkdirAll(cfg.Jobs, 0o755); err != nil {
		return fmt.Errorf("make the jobs directory: %w", err)
	}
	jobs, err := os.OpenRoot(cfg.Jobs)
	if err != nil {
		return fmt.Errorf("open the jobs directory: %w", err)
	}
	defer jobs.Close()
	unlock, err := lock(jobs)
	if err != nil {
		return err
	}
	defer unlock()
	r := &run{cfg: cfg, jobs: jobs, label: LabelOf(cfg.Jobs), stamp: cfg.Now().Format(stamped)}
	if err := cfg.Engine.Clean(ctx, Label+"="+r.label); err != nil {
		return fmt.Errorf("remove what an earlier run left: %w", err)
	}
	defer func() {
		// However the run ends, nothing of it stays.
		cleaning, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		err = errors.Join(err, cfg.Engine.Clean(cleaning, Label+"="+r.label))
	}()
	if err := r.queue(p, packages); err != nil {
		return err
	}
	if err := r.work(ctx); err != nil || cfg.Adversaries == nil {
		return err
	}
	return keepSoundness(jobs, p, packages, *cfg.Adversaries)
}

// Check says why packages are not those of a plan.
func Check(p dynamic.Plan, packages []task.Package) error {
	have := map[string]string{}
	for i := range packages {
		have[packages[i].Name] = packages[i].ContentHash()
	}
	for _, t := range p.Tasks {
		switch hash, ok := have[t.Name]; {
		case !ok:
			return fmt.Errorf("the plan has the task %s, and the directory does not", t.Name)
		case hash != t.ContentHash:
			return fmt.Errorf("the task %s has other files than the plan was made for: check out the commit %s", t.Name, p.Revision)
		}
	}
	return nil
}

// LabelOf is the value of the label of a jobs directory, which is named by an absolute path.
func LabelOf(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:8])
}

// run is one run.
type run struct {
	cfg   Config
	jobs  *os.Root
	label string
	stamp string
	todo  []*job

	// images keeps builds and removals apart: an engine may be about to use, as its cache, what is being removed.
	images sync.RWMutex

	mu    sync.Mutex
	done  int
	steps int
}

// job is one step that has to be run.
type job struct {
	task *built
	step dynamic.Step     // of a control
	foe  *adversary.Trial // of an adversary; nil for a control
}

// event is what happened to the job.
func (j *job) event() Event {
	e := Event{Task: j.task.planned.Name, Gate: j.step.Gate, Number: j.step.Number}
	if j.foe != nil {
		e.Gate, e.Name = Adversary, j.foe.Name
	}
	return e
}

// built is a task with its image, which the first of its steps builds and the last one removes.
type built struct {
	planned dynamic.Planned
	pkg     *task.Package
	terms   terms
	left    int  // steps to run
	idle    bool // doing nothing is rewarded: no other trial would show anything

	once  sync.Once
	image string
	err   error // *BuildError, or a fault of the engine
}

// queue finds the steps that have to be run.
func (r *run) queue(p dynamic.Plan, packages []task.Package) error {
	byName := map[string]*task.Package{}
	for i := range packages {
		byName[packages[i].Name] = &packages[i]
	}
	for _, planned := range p.Tasks {
		b := &built{planned: planned, pkg: byName[planned.Name]}
		b.terms = termsOf(b.pkg, time.Duration(p.Harness.AgentTimeoutSecs)*time.Second)
		for _, s := range planned.Steps {
			if s.Gate == dynamic.Band || r.cfg.NoControls {
				continue
			}
			if err := r.add(&job{task: b, step: s}); err != nil {
				return err
			}
		}
		if r.cfg.Adversaries == nil {
			continue
		}
		for _, t := range adversary.Plan(b.pkg, *r.cfg.Adversaries) {
			if t.Moot != "" {
				continue
			}
			if err := r.add(&job{task: b, foe: &t}); err != nil {
				return err
			}
		}
	}
	return nil
}

// add puts a job into the queue, unless it has been done.
func (r *run) add(j *job) error {
	r.steps++
	dir, digest, agent := j.place()
	before, have, err := finished(r.jobs, j.task.planned.Name, dir, digest, agent)
	if err != nil {
		return err
	}
	if !have {
		j.task.left++
		r.todo = append(r.todo, j)
		return nil
	}
	r.done++
	if j.foe != nil && j.foe.Name == adversary.Idle && before.scored() {
		j.task.idle = true
	}
	e := j.event()
	e.What = Kept
	r.report(e)
	return nil
}

// place is where a job's trials are, and what theirs must be.
func (j *job) place() (dir, digest, agent string) {
	if j.foe != nil {
		return foeDir(j.task.planned.Name, j.foe.Name), j.foe.Digest, foeAgent
	}
	return j.step.JobsDir, digestOf(j.task.planned, j.step), "oracle"
}

func (r *run) report(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.Done, e.Steps = r.done, r.steps
	if r.cfg.Progress != nil {
		r.cfg.Progress(e)
	}
}

// work runs the queue.
func (r *run) work(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	next := make(chan *job)
	var workers sync.WaitGroup
	for range min(max(r.cfg.Parallel, 1), maxParallel) {
		workers.Go(func() {
			for j := range next {
				if err := r.one(ctx, j); err != nil {
					stop(err)
				}
			}
		})
	}
	for _, j := range r.todo {
		select {
		case next <- j:
		case <-ctx.Done():
		}
	}
	close(next)
	workers.Wait()
	return context.Cause(ctx)
}

// one runs one step and keeps its trial. Its error ends the run.
func (r *run) one(ctx context.Context, j *job) error {
	if ctx.Err() != nil {
		return nil
	}
	if j.foe != nil && j.foe.Name != adversary.Idle && r.rewardsNothing(j.task) {
		return r.ended(ctx, j, nil, 0)
	}
	began := r.cfg.Now()
	image, err := r.image(ctx, j.task)
	dir, digest, agent := j.place()
	t := trial{
		engine: r.cfg.Engine, pkg: j.task.pkg, terms: j.task.terms, task: j.task.planned, step: j.step, foe: j.foe, image: image,
		labels: r.labels(), now: r.cfg.Now, digest: digest, agent: agent,
	}
	var rec record
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		rec = record{result: t.blank(began)}
		rec.result.FinishedAt = harnessTime(r.cfg.Now())
		rec.result.unbuilt(err)
	default:
		if rec, err = t.run(ctx); err != nil {
			return nil // interrupted: the step stays open
		}
	}
	if err := rec.keep(r.jobs, dir, r.stamp, j.task.planned.Name+"__"+r.cfg.ID()); err != nil {
		return err
	}
	return r.ended(ctx, j, &rec.result, r.cfg.Now().Sub(began))
}

// rewardsNothing reports whether a task's verifier is known to reward doing nothing.
func (r *run) rewardsNothing(b *built) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return b.idle
}

// ended counts a job that is done, with what it gave; nil when it was not worth a trial.
func (r *run) ended(ctx context.Context, j *job, got *result, took time.Duration) error {
	r.mu.Lock()
	r.done++
	j.task.left--
	last := j.task.left == 0
	if got != nil && j.foe != nil && j.foe.Name == adversary.Idle && got.scored() {
		j.task.idle = true
	}
	r.mu.Unlock()
	if got != nil {
		e := j.event()
		e.Took = took
		if j.foe != nil {
			e.What, e.Detail = got.foeMeaning(j.foe.Kind)
		} else {
			e.What, e.Detail = got.meaning(j.step.Gate)
		}
		r.report(e)
	}
	if last && j.task.image != "" {
		r.images.Lock()
		defer r.images.Unlock()
		// One image less on the disk; a failure shows when all are cleaned.
		_ = r.cfg.Engine.Clean(context.WithoutCancel(ctx), Label+".task="+r.label+"-"+j.task.planned.Name)
	}
	return nil
}

func (r *run) labels() map[string]string { return map[string]string{Label: r.label} }

// image builds a task's image once.
func (r *run) image(ctx context.Context, b *built) (string, error) {
	b.once.Do(func() {
		began := r.cfg.Now()
		b.image, b.err = r.build(ctx, b)
		e := Event{Task: b.planned.Name, Gate: dynamic.Build, What: Built, Took: r.cfg.Now().Sub(began)}
		if _, own := errors.AsType[*BuildError](b.err); own {
			e.What, e.Detail = Unbuilt, b.err.Error()
		} else if b.err != nil {
			e.What, e.Detail = Lost, b.err.Error()
		}
		if ctx.Err() == nil {
			r.report(e)
		}
	})
	return b.image, b.err
}

func (r *run) build(ctx context.Context, b *built) (string, error) {
	for _, name := range []string{"docker-compose.yaml", "docker-compose.yml", "compose.yaml", "compose.yml"} {
		if _, ok := b.pkg.Lookup("environment/" + name); ok {
			return "", fmt.Errorf("environment/%s: several services are not run here; use the harness", name)
		}
	}
	r.images.RLock()
	defer r.images.RUnlock()
	for try := 1; ; try++ {
		id, err := r.buildOnce(ctx, b)
		if _, own := errors.AsType[*BuildError](err); err == nil || own || ctx.Err() != nil || try == buildTries {
			return id, err
		}
	}
}

// buildTries is how often an image is built when the engine fails: other programs use it too.
const buildTries = 3

func (r *run) buildOnce(ctx context.Context, b *built) (string, error) {
	files, err := buildContext(b.pkg)
	if err != nil {
		return "", err
	}
	limited, cancel := context.WithTimeout(ctx, b.terms.build)
	defer cancel()
	labels := r.labels()
	labels[Label+".task"] = r.label + "-" + b.planned.Name
	id, err := r.cfg.Engine.Build(limited, BuildSpec{Context: files, Labels: labels, NoNetwork: r.cfg.NoBuildNetwork, Limits: b.terms.limits})
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		return "", &BuildError{Message: fmt.Sprintf("it was not done within %s", b.terms.build)}
	}
	return id, err
}

// unbuilt notes that there is no image to try.
func (r *result) unbuilt(err error) {
	own, is := errors.AsType[*BuildError](err)
	if !is {
		r.fault(err)
		r.Startup = &startupInfo{Message: *r.Error}
		return
	}
	text, kind := dynamic.BuildFailed+": "+own.Message, "sandbox_setup"
	r.Error, r.Category, r.Startup = &text, &kind, &startupInfo{Message: text, Log: own.Log}
}

// meaning is what a trial's result says to somebody who watches.
func (r result) meaning(gate dynamic.Gate) (what, detail string) {
	switch {
	case r.Rewards != nil:
		reward := r.Rewards["reward"]
		want := 1.0
		if gate == dynamic.Noop {
			want = 0
		}
		if reward == want && (gate == dynamic.Noop || r.AgentTimeout == nil) {
			return Passed, fmt.Sprintf("reward %v", reward)
		}
		if r.AgentTimeout != nil {
			return Failed, *r.Error
		}
		return Failed, fmt.Sprintf("reward %v", reward)
	case r.VerifierError != nil:
		return Failed, *r.VerifierError
	case r.Startup != nil && r.Error != nil && *r.Category == "sandbox_setup":
		return Unbuilt, *r.Error
	case r.Error != nil:
		return Lost, *r.Error
	default:
		return Lost, "no reward"
	}
}
