package jobstest_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/jobs"
	"github.com/posttrainarena/arena/protocol/jobs/jobstest"
	"github.com/posttrainarena/arena/protocol/jobs/simulated"
)

// liar is a provider that keeps its promises but for the calls that a test
// replaces.
type liar struct {
	jobs.Provider
	hardware  func(jobs.Provider) ([]jobs.Flavor, error)
	start     func(context.Context, jobs.Provider, jobs.Spec) (jobs.Job, error)
	inspect   func(context.Context, jobs.Provider, string) (jobs.Job, error)
	find      func(context.Context, jobs.Provider, string) ([]jobs.Job, error)
	cancel    func(context.Context, jobs.Provider, string) error
	logs      func(context.Context, jobs.Provider, string, int64) iter.Seq2[jobs.Line, error]
	artifacts func(context.Context, jobs.Provider, string) (fs.FS, error)
}

func (l *liar) Hardware(ctx context.Context) ([]jobs.Flavor, error) {
	if l.hardware != nil {
		return l.hardware(l.Provider)
	}
	return l.Provider.Hardware(ctx)
}

func (l *liar) Start(ctx context.Context, spec jobs.Spec) (jobs.Job, error) {
	if l.start != nil {
		return l.start(ctx, l.Provider, spec)
	}
	return l.Provider.Start(ctx, spec)
}

func (l *liar) Inspect(ctx context.Context, id string) (jobs.Job, error) {
	if l.inspect != nil {
		return l.inspect(ctx, l.Provider, id)
	}
	return l.Provider.Inspect(ctx, id)
}

func (l *liar) Find(ctx context.Context, run string) ([]jobs.Job, error) {
	if l.find != nil {
		return l.find(ctx, l.Provider, run)
	}
	return l.Provider.Find(ctx, run)
}

func (l *liar) Cancel(ctx context.Context, id string) error {
	if l.cancel != nil {
		return l.cancel(ctx, l.Provider, id)
	}
	return l.Provider.Cancel(ctx, id)
}

func (l *liar) Logs(ctx context.Context, id string, after int64) iter.Seq2[jobs.Line, error] {
	if l.logs != nil {
		return l.logs(ctx, l.Provider, id, after)
	}
	return l.Provider.Logs(ctx, id, after)
}

func (l *liar) Artifacts(ctx context.Context, id string) (fs.FS, error) {
	if l.artifacts != nil {
		return l.artifacts(ctx, l.Provider, id)
	}
	return l.Provider.Artifacts(ctx, id)
}

// lies returns broken providers by the name of the check that must notice.
func lies() map[string][]liar {
	return map[string][]liar{
		"it has a name and prices": {
			{hardware: func(jobs.Provider) ([]jobs.Flavor, error) { return nil, nil }},
			{hardware: func(p jobs.Provider) ([]jobs.Flavor, error) {
				return []jobs.Flavor{{Name: "a100x8"}, {Name: "a100x8"}}, nil
			}},
		},
		"a started job is found by id and by label": {
			{find: func(context.Context, jobs.Provider, string) ([]jobs.Job, error) { return nil, nil }},
			{start: func(ctx context.Context, p jobs.Provider, spec jobs.Spec) (jobs.Job, error) {
				job, err := p.Start(ctx, spec)
				job.ID = "another"
				return job, err
			}},
		},
		"jobs of different runs do not mix": {
			{find: func(ctx context.Context, p jobs.Provider, run string) ([]jobs.Job, error) {
				longer, err := p.Find(ctx, run+"c")
				same, _ := p.Find(ctx, run)
				return append(longer, same...), err
			}},
		},
		"an unknown job is ErrNoJob": {
			{inspect: func(context.Context, jobs.Provider, string) (jobs.Job, error) { return jobs.Job{}, jobs.ErrUnreachable }},
			{cancel: func(context.Context, jobs.Provider, string) error { return nil }},
			{logs: func(context.Context, jobs.Provider, string, int64) iter.Seq2[jobs.Line, error] {
				return func(func(jobs.Line, error) bool) {}
			}},
		},
		"a refused job does not exist": {
			{start: func(context.Context, jobs.Provider, jobs.Spec) (jobs.Job, error) {
				return jobs.Job{}, fmt.Errorf("%w: %w", jobs.ErrUnknown, jobs.ErrRefused)
			}},
			{start: func(ctx context.Context, p jobs.Provider, spec jobs.Spec) (jobs.Job, error) {
				_, _ = p.Start(ctx, small(spec.Run))
				return jobs.Job{}, jobs.ErrRefused
			}},
		},
		"a log is whole and ends with its job": {
			{logs: edit(func(_ int64, i int, line jobs.Line) []jobs.Line { return []jobs.Line{line, line} })},
			{logs: edit(func(_ int64, i int, line jobs.Line) []jobs.Line { line.Text += "\n"; return []jobs.Line{line} })},
			{logs: func(ctx context.Context, p jobs.Provider, id string, after int64) iter.Seq2[jobs.Line, error] {
				return func(yield func(jobs.Line, error) bool) {
					for line, err := range p.Logs(ctx, id, after) {
						yield(line, err)
						return // although the job goes on
					}
				}
			}},
		},
		"a log resumes strictly after any position": {
			{logs: edit(func(after int64, i int, line jobs.Line) []jobs.Line {
				if after == 7 && i == 3 {
					return nil // a gap
				}
				return []jobs.Line{line}
			})},
			{logs: func(ctx context.Context, p jobs.Provider, id string, after int64) iter.Seq2[jobs.Line, error] {
				return p.Logs(ctx, id, max(0, after-1)) // from the position, not after it
			}},
		},
		"a log that was left while the job runs resumes without a gap": {
			{logs: edit(func(after int64, i int, line jobs.Line) []jobs.Line {
				if after > 0 && i == 0 {
					return nil
				}
				return []jobs.Line{line}
			})},
		},
		"a log ends with its context": {
			{logs: func(_ context.Context, p jobs.Provider, id string, after int64) iter.Seq2[jobs.Line, error] {
				return p.Logs(context.Background(), id, after)
			}},
		},
		"canceling stops a job and may be repeated": {
			{cancel: func(context.Context, jobs.Provider, string) error { return nil }},
			{cancel: func(ctx context.Context, p jobs.Provider, id string) error {
				if job, err := p.Inspect(ctx, id); err == nil && job.Status.Ended() {
					return errors.New("the job has ended")
				}
				return p.Cancel(ctx, id)
			}},
		},
		"canceling an ended job does nothing": {
			{inspect: func() func(context.Context, jobs.Provider, string) (jobs.Job, error) {
				calls := 0
				return func(ctx context.Context, p jobs.Provider, id string) (jobs.Job, error) {
					job, err := p.Inspect(ctx, id)
					if calls++; calls > 1 {
						job.Status = jobs.Canceled
					}
					return job, err
				}
			}()},
		},
		"a job that uploaded nothing has an empty tree": {
			{artifacts: func(context.Context, jobs.Provider, string) (fs.FS, error) { return nil, jobs.ErrNoJob }},
		},
		"a completed job has its uploads": {
			{artifacts: func(ctx context.Context, p jobs.Provider, id string) (fs.FS, error) {
				tree, err := p.Artifacts(ctx, id)
				if err != nil {
					return nil, err
				}
				return fs.Sub(tree, "jobs")
			}},
		},
		"a call whose context is done does not say refused": {
			{start: func(context.Context, jobs.Provider, jobs.Spec) (jobs.Job, error) { return jobs.Job{}, jobs.ErrRefused }},
		},
		"jobs and logs outlive the provider": {
			{find: func(context.Context, jobs.Provider, string) ([]jobs.Job, error) { return nil, nil }},
		},
		"a lost answer is ErrUnknown and the job is found": {
			{find: func(context.Context, jobs.Provider, string) ([]jobs.Job, error) { return nil, nil }},
			{start: func(context.Context, jobs.Provider, jobs.Spec) (jobs.Job, error) { return jobs.Job{}, jobs.ErrUnknown }},
		},
		"a service out of reach is ErrUnreachable": {
			{find: func(context.Context, jobs.Provider, string) ([]jobs.Job, error) { return nil, nil }},
			{inspect: func(context.Context, jobs.Provider, string) (jobs.Job, error) { return jobs.Job{}, jobs.ErrNoJob }},
		},
	}
}

// edit returns Logs that replaces the ith line after a position by others.
func edit(replace func(after int64, i int, line jobs.Line) []jobs.Line) func(context.Context, jobs.Provider, string, int64) iter.Seq2[jobs.Line, error] {
	return func(ctx context.Context, p jobs.Provider, id string, after int64) iter.Seq2[jobs.Line, error] {
		return func(yield func(jobs.Line, error) bool) {
			i := 0
			for line, err := range p.Logs(ctx, id, after) {
				if err != nil {
					yield(line, err)
					return
				}
				for _, shown := range replace(after, i, line) {
					if !yield(shown, nil) {
						return
					}
				}
				i++
			}
		}
	}
}

// small returns the spec of a run that is over soon.
func small(run string) jobs.Spec {
	return jobs.Spec{
		Run: run, Flavor: "a100x8", Timeout: 8 * time.Hour,
		Simulation: jobs.Simulation{
			Revision: strings.Repeat("a", 40), Train: []string{"tidy-001", "tidy-002"},
			Sealed: map[string][]string{"vault": {"sealed-001", "sealed-002"}},
		},
	}
}

// harness returns a harness whose providers tell a lie.
func harness(lie liar) jobstest.Harness {
	var dir string
	open := func(t testing.TB, plan simulated.Plan) jobs.Provider {
		p, err := simulated.Open(simulated.Options{
			Dir: dir, Now: time.Now, Fault: plan, PricePerHour: map[string]protocol.Micros{"a100x8": protocol.Dollar},
		})
		if err != nil {
			t.Fatal(err)
		}
		lie := lie
		lie.Provider = p
		return &lie
	}
	fresh := func(plan simulated.Plan) func(t testing.TB) jobs.Provider {
		return func(t testing.TB) jobs.Provider {
			dir = t.TempDir()
			return open(t, plan)
		}
	}
	return jobstest.Harness{
		New:     fresh(nil),
		Short:   small,
		Long:    small,
		Uploads: []string{"reports/score.json"},
		Bad: func(run string) jobs.Spec {
			spec := small(run)
			spec.Timeout = 0
			return spec
		},
		Around: synctest.Test,
		Reopen: func(t testing.TB, _ jobs.Provider) jobs.Provider { return open(t, nil) },
		Lost:   fresh(simulated.Plan{{Fault: simulated.FaultLostReply}}),
		Away: func(t testing.TB) jobs.Provider {
			p := fresh(simulated.Plan{{Fault: simulated.FaultUnreachable}})(t)
			if _, err := p.Start(t.Context(), small("challenge-ffffffffffff")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(40 * time.Minute / simulated.DefaultSpeed)
			return p
		},
	}
}

func TestAnHonestProviderPasses(t *testing.T) { jobstest.Run(t, harness(liar{})) }

// TestEveryCheckNoticesItsLies shows that no check passes whatever the provider
// does.
func TestEveryCheckNoticesItsLies(t *testing.T) {
	all := lies()
	for _, check := range jobstest.Checks() {
		told := all[check.Name]
		if len(told) == 0 {
			t.Errorf("no lie is told to the check %q", check.Name)
		}
		for i, lie := range told {
			t.Run(fmt.Sprintf("%s/%d", check.Name, i), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					if err := check.Run(t.Context(), t, harness(lie)); err == nil {
						t.Error("the check did not notice")
					}
				})
			})
		}
	}
}
