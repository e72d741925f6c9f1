package simulated

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/posttrainarena/arena/protocol/jobs"
)

// JobID is the id of the nth job of a run, counted from 1, under a seed.
func JobID(seed uint64, run string, n int) string {
	sum := hash(seed, "job", run, strconv.Itoa(n))
	return hex.EncodeToString(sum[:12])
}

// Resume makes the first job of a run in the state in which it is when some of
// its time has passed already, without anything that could go wrong with a
// Start. What the job does from then on is what Play says about the same spec,
// seed and fault, so a run that somebody else has played up to here goes on as
// if nothing had happened.
func (p *Provider) Resume(ctx context.Context, spec jobs.Spec, elapsed time.Duration, fault Fault) (jobs.Job, error) {
	if err := p.enter(ctx); err != nil {
		return jobs.Job{}, fmt.Errorf("resume the job of run %s: %w", spec.Run, err)
	}
	defer p.mu.Unlock()
	r, err := p.resumed(spec, elapsed, fault)
	if err != nil {
		return jobs.Job{}, fmt.Errorf("resume the job of run %s: %w", spec.Run, err)
	}
	return p.view(r).job(), nil
}

func (p *Provider) resumed(spec jobs.Spec, elapsed time.Duration, fault Fault) (*record, error) {
	if err := p.check(spec); err != nil {
		return nil, err
	}
	if elapsed < 0 {
		return nil, fmt.Errorf("%w the job: it began %s from now", jobs.ErrRefused, -elapsed)
	}
	if len(p.labelled(spec.Run)) > 0 {
		return nil, fmt.Errorf("%w the job: the run has one already", jobs.ErrRefused)
	}
	spec.Config, spec.Command, spec.Env = nil, nil, nil
	passed := time.Duration(float64(elapsed) / p.options.Speed)
	r := &record{
		number: p.disk.last + 1, ID: JobID(p.options.Seed, spec.Run, 1), Seed: p.options.Seed, Speed: p.options.Speed,
		CreatedAt: p.options.Now().UTC().Round(0).Add(-passed), Spec: spec,
	}
	if fault != FaultNone {
		r.Faults = faults{fault}
	}
	if err := p.disk.add(r); errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%w: another process uses the provider's directory", jobs.ErrUnreachable)
	} else if err != nil {
		return nil, fmt.Errorf("%w: %w", jobs.ErrUnreachable, err)
	}
	return p.disk.starts[r.number], nil
}
