package simulated

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/jobs"
)

// Name is the provider's name in configuration and records (PROTOCOL §8).
const Name = "simulated"

// DefaultSpeed is how many seconds of a job pass in one second (PROTOCOL §14).
const DefaultSpeed = 600

// Options configures a Provider.
type Options struct {
	// Dir holds the provider's jobs. It outlives the process; one provider at a
	// time uses it.
	Dir string
	// Now is the clock. It must advance together with the runtime's timers, as
	// time.Now does, also inside a synctest bubble.
	Now func() time.Time
	// PricePerHour is the price of every flavor on offer.
	PricePerHour map[string]protocol.Micros
	// Speed is how many seconds of a job pass in one second; 0 means
	// DefaultSpeed. A job keeps the speed and the seed it was started with.
	Speed float64
	// Seed decides everything that a job does.
	Seed uint64
	// Fault says what goes wrong.
	Fault Plan
	// FaultRate is the chance that a job stops on one of the platform issues of
	// the pipeline, from 0 to 1. The seed and the run decide which jobs do; a
	// planned fault of the job goes before.
	FaultRate float64
	// Kill ends the process for FaultKillBefore and FaultKillAfter, without a
	// chance to clean up. When it is nil or returns, Start answers ErrUnknown.
	Kill func()
}

// Provider plays jobs. Open makes one. Unlike a careful service it does not
// look at the label of a job that is started: a second Start for a run makes a
// second job, so that it is the arena that must never do it.
type Provider struct {
	options Options

	mu      sync.Mutex
	disk    *disk
	scripts map[string]Script // of jobs that were looked at lately, by id
}

var _ jobs.Provider = (*Provider)(nil)

// Open returns the provider whose jobs are in the directory, which it creates
// when there is none.
func Open(o Options) (*Provider, error) {
	o.Speed = cmp.Or(o.Speed, DefaultSpeed)
	switch {
	case o.Dir == "":
		return nil, errors.New("open simulated provider: no directory given for its jobs")
	case o.Now == nil:
		return nil, errors.New("open simulated provider: no clock given")
	case len(o.PricePerHour) == 0:
		return nil, errors.New("open simulated provider: no flavor has a price; name at least one")
	case !(o.Speed > 0) || math.IsInf(o.Speed, 0):
		return nil, fmt.Errorf("open simulated provider: speed %v is not a positive number", o.Speed)
	}
	if !(o.FaultRate >= 0 && o.FaultRate <= 1) {
		return nil, fmt.Errorf("open simulated provider: fault rate %v is not between 0 and 1", o.FaultRate)
	}
	d, err := openDisk(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("open simulated provider: %w", err)
	}
	return &Provider{options: o, disk: d, scripts: map[string]Script{}}, nil
}

// Name is the provider's name in configuration and records.
func (p *Provider) Name() string { return Name }

// Hardware lists the flavors by name.
func (p *Provider) Hardware(ctx context.Context) ([]jobs.Flavor, error) {
	if err := p.enter(ctx); err != nil {
		return nil, fmt.Errorf("list hardware: %w", err)
	}
	defer p.mu.Unlock()
	var all []jobs.Flavor
	for _, name := range slices.Sorted(maps.Keys(p.options.PricePerHour)) {
		all = append(all, jobs.Flavor{Name: name, Description: "simulated " + name, PricePerHour: p.options.PricePerHour[name]})
	}
	return all, nil
}

// Start makes a job, unless a fault says otherwise. It refuses a spec without
// anything to play.
func (p *Provider) Start(ctx context.Context, spec jobs.Spec) (jobs.Job, error) {
	job, err := p.start(ctx, spec)
	if err != nil {
		return jobs.Job{}, fmt.Errorf("start a job for run %s: %w", spec.Run, err)
	}
	return job, nil
}

func (p *Provider) start(ctx context.Context, spec jobs.Spec) (jobs.Job, error) {
	if err := p.enter(ctx); err != nil {
		return jobs.Job{}, err
	}
	r, err := p.create(spec)
	var job jobs.Job
	if err == nil && r.ID != "" {
		job = p.view(r).job()
	}
	p.mu.Unlock()

	if err != nil {
		return jobs.Job{}, err
	}
	switch r.Faults.first(scopeCall) {
	case FaultRefuse:
		return jobs.Job{}, fmt.Errorf("%w the job, as its fault plan asks", jobs.ErrRefused)
	case FaultTimeoutBefore, FaultLostReply:
		return jobs.Job{}, fmt.Errorf("%w the job in time", jobs.ErrUnknown)
	case FaultKillBefore, FaultKillAfter:
		if p.options.Kill != nil {
			p.options.Kill()
		}
		return jobs.Job{}, fmt.Errorf("%w the job in time", jobs.ErrUnknown)
	}
	return job, nil
}

// create stores what the next Start does.
func (p *Provider) create(spec jobs.Spec) (*record, error) {
	if err := p.check(spec); err != nil {
		return nil, err
	}
	for {
		r := p.next(spec)
		err := p.disk.add(r)
		if errors.Is(err, fs.ErrExist) { // another process took the number
			if err = p.disk.refresh(); err == nil {
				continue
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", jobs.ErrUnknown, err)
		}
		return p.disk.starts[r.number], nil
	}
}

// check returns ErrRefused for a spec that cannot be played.
func (p *Provider) check(spec jobs.Spec) error {
	why := ""
	switch _, known := p.options.PricePerHour[spec.Flavor]; {
	case spec.Run == "":
		why = "has no run as its label"
	case !known:
		why = fmt.Sprintf("wants the flavor %q, which is not on offer", spec.Flavor)
	case spec.Timeout <= 0:
		why = "has no time limit"
	case len(spec.Simulation.Train) == 0:
		why = "has no training task to play"
	case len(suites(spec.Simulation)) == 0:
		why = "has no sealed task to play"
	default:
		return nil
	}
	return fmt.Errorf("%w: the job %s", jobs.ErrRefused, why)
}

// next returns the record of the next Start.
func (p *Provider) next(spec jobs.Spec) *record {
	spec.Config, spec.Command, spec.Env = nil, nil, nil
	number := p.disk.last + 1
	r := &record{
		number: number, Faults: p.options.Fault.at(number), Seed: p.options.Seed, Speed: p.options.Speed,
		CreatedAt: p.options.Now().UTC().Round(0), Spec: spec,
	}
	switch r.Faults.first(scopeCall) {
	case FaultRefuse, FaultTimeoutBefore, FaultKillBefore:
		r.Spec = jobs.Spec{Run: spec.Run}
	default:
		r.ID = JobID(r.Seed, spec.Run, len(p.labelled(spec.Run))+1)
		if r.Faults.first(scopePlay) == FaultNone {
			r.Faults = append(r.Faults, p.mishap(spec.Run)...)
		}
	}
	return r
}

// mishap is the platform issue that a job stops on by chance, if any.
func (p *Provider) mishap(run string) faults {
	c := newChance(p.options.Seed, "mishap", run)
	if !c.hits(p.options.FaultRate) {
		return nil
	}
	platform := []Fault{FaultSetup, FaultSnapshot, FaultBaseline, FaultGate}
	return faults{platform[c.IntN(len(platform))]}
}

// labelled returns the jobs of a run in the order of their creation.
func (p *Provider) labelled(run string) []*record {
	var found []*record
	for _, r := range p.disk.jobs {
		if r.Spec.Run == run {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b *record) int { return cmp.Compare(a.number, b.number) })
	return found
}

// Inspect returns the state of a job.
func (p *Provider) Inspect(ctx context.Context, id string) (jobs.Job, error) {
	v, err := p.look(ctx, id)
	if err != nil {
		return jobs.Job{}, fmt.Errorf("inspect job %s: %w", id, err)
	}
	return v.job(), nil
}

// Find lists the jobs of a run in the order of their creation.
func (p *Provider) Find(ctx context.Context, run string) ([]jobs.Job, error) {
	if err := p.enter(ctx); err != nil {
		return nil, fmt.Errorf("find the jobs of run %s: %w", run, err)
	}
	defer p.mu.Unlock()
	var found []jobs.Job
	for _, r := range p.labelled(run) {
		if v := p.view(r); !v.gone() {
			found = append(found, v.job())
		}
	}
	return found, nil
}

// Cancel stops a job that has not ended.
func (p *Provider) Cancel(ctx context.Context, id string) error {
	if err := p.cancel(ctx, id); err != nil {
		return fmt.Errorf("cancel job %s: %w", id, err)
	}
	return nil
}

func (p *Provider) cancel(ctx context.Context, id string) error {
	if err := p.enter(ctx); err != nil {
		return err
	}
	defer p.mu.Unlock()
	v, err := p.known(id)
	if err != nil || v.ended() {
		return err
	}
	if err := p.disk.cancel(id, v.now); err != nil {
		return fmt.Errorf("%w: %w", jobs.ErrUnknown, err)
	}
	return nil
}

// Artifacts returns what a job uploaded when it ended.
func (p *Provider) Artifacts(ctx context.Context, id string) (fs.FS, error) {
	v, err := p.look(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("open the artifacts of job %s: %w", id, err)
	}
	if !v.ended() || v.canceled() {
		return tree(nil)
	}
	return tree(v.script.Files())
}

// look returns the state of a job as of now.
func (p *Provider) look(ctx context.Context, id string) (view, error) {
	if err := p.enter(ctx); err != nil {
		return view{}, err
	}
	defer p.mu.Unlock()
	return p.known(id)
}

// known returns the state of a job, or ErrNoJob.
func (p *Provider) known(id string) (view, error) {
	r := p.disk.jobs[id]
	if r == nil {
		return view{}, jobs.ErrNoJob
	}
	v := p.view(r)
	if v.gone() {
		return view{}, jobs.ErrNoJob
	}
	return v, nil
}

// enter begins a call: it locks, unless the service cannot be reached, and
// catches up with the directory.
func (p *Provider) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", jobs.ErrUnreachable, err)
	}
	p.mu.Lock()
	if err := p.reach(); err != nil {
		p.mu.Unlock()
		return err
	}
	return nil
}

// reach returns ErrUnreachable while a job's fault takes the service away, or
// when the directory cannot be read.
func (p *Provider) reach() error {
	if err := p.disk.refresh(); err != nil {
		return fmt.Errorf("%w: %w", jobs.ErrUnreachable, err)
	}
	for _, r := range p.disk.jobs {
		if r.Faults.has(FaultUnreachable) && p.view(r).away() {
			return fmt.Errorf("%w, as its fault plan asks", jobs.ErrUnreachable)
		}
	}
	return nil
}

// view returns the state of a record as of now. It has a copy of the record, so
// that it can be looked at after the lock is given back, when somebody may cancel
// the job.
func (p *Provider) view(r *record) view {
	copied := *r
	return view{record: &copied, script: p.script(r), now: p.options.Now().UTC().Round(0)}
}

// keptScripts is how many scripts are kept. One run is active at a time; the
// others are looked at when a reconciler goes through the past.
const keptScripts = 16

// script returns what a job does.
func (p *Provider) script(r *record) Script {
	if s, ok := p.scripts[r.ID]; ok {
		return s
	}
	if len(p.scripts) >= keptScripts {
		clear(p.scripts)
	}
	fault := r.Faults.first(scopePlay)
	s := Play(r.Spec, r.Seed, r.CreatedAt, fault)
	p.scripts[r.ID] = s
	return s
}
