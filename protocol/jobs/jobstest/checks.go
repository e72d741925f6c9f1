package jobstest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/posttrainarena/arena/protocol/jobs"
)

// The run that most checks start a job for.
const run = "challenge-0123456789ab"

// classify returns an error unless err, which must not be nil, is of one of the
// wanted classes. A provider wraps at most one class, and none means
// ErrUnreachable.
func classify(call string, err error, wanted ...error) error {
	var classes []error
	for _, class := range []error{jobs.ErrRefused, jobs.ErrUnknown, jobs.ErrUnreachable, jobs.ErrNoJob} {
		if errors.Is(err, class) {
			classes = append(classes, class)
		}
	}
	switch {
	case err == nil:
		return fmt.Errorf("%s did not fail; want %v", call, wanted)
	case len(classes) > 1:
		return fmt.Errorf("%s: the error %q is of several classes: %v", call, err, classes)
	case len(classes) == 0:
		classes = append(classes, jobs.ErrUnreachable)
	}
	if !slices.Contains(wanted, classes[0]) {
		return fmt.Errorf("%s: the error %q is of class %q; want %v", call, err, classes[0], wanted)
	}
	return nil
}

// same returns an error unless two answers about one job agree on what never
// changes.
func same(a, b jobs.Job) error {
	if a.ID != b.ID || a.Run != b.Run || !a.CreatedAt.Equal(b.CreatedAt) {
		return fmt.Errorf("two answers about one job differ in id, run or creation:\n%+v\n%+v", a, b)
	}
	return nil
}

func checkHardware(ctx context.Context, t testing.TB, h Harness) error {
	p := h.New(t)
	if p.Name() == "" {
		return errors.New("the provider has no name")
	}
	flavors, err := p.Hardware(ctx)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, f := range flavors {
		if f.Name == "" || f.PricePerHour < 0 || seen[f.Name] {
			return fmt.Errorf("a flavor has no name, a negative price or a name twice: %+v", f)
		}
		seen[f.Name] = true
	}
	if flavor := h.Short(run).Flavor; !seen[flavor] {
		return fmt.Errorf("the flavor %q of a job is not among %v", flavor, flavors)
	}
	return nil
}

func checkStart(ctx context.Context, t testing.TB, h Harness) error {
	p := h.New(t)
	if found, err := p.Find(ctx, run); err != nil || len(found) != 0 {
		return fmt.Errorf("found before Start: %v, %v; want nothing", found, err)
	}
	started, err := p.Start(ctx, h.Long(run))
	if err != nil {
		return err
	}
	defer cleanup(ctx, p, started.ID)
	if started.ID == "" || started.Run != run || started.CreatedAt.IsZero() || started.Status.Ended() {
		return fmt.Errorf("the started job lacks id, run or creation, or has ended: %+v", started)
	}
	inspected, err := p.Inspect(ctx, started.ID)
	if err != nil {
		return err
	}
	found, err := p.Find(ctx, run)
	if err != nil || len(found) != 1 {
		return fmt.Errorf("found after Start: %v, %v; want one job", found, err)
	}
	return errors.Join(same(started, inspected), same(started, found[0]))
}

func checkLabels(ctx context.Context, t testing.TB, h Harness) error {
	p := h.New(t)
	const other = run + "c" // the label is a prefix of it
	a, err := p.Start(ctx, h.Long(run))
	if err != nil {
		return err
	}
	defer cleanup(ctx, p, a.ID)
	b, err := p.Start(ctx, h.Long(other))
	if err != nil {
		return err
	}
	defer cleanup(ctx, p, b.ID)
	for _, want := range []jobs.Job{a, b} {
		found, err := p.Find(ctx, want.Run)
		if err != nil || len(found) != 1 || found[0].ID != want.ID {
			return fmt.Errorf("found for %s: %+v, %v; want only job %s", want.Run, found, err, want.ID)
		}
	}
	if a.ID == b.ID {
		return fmt.Errorf("two jobs have the id %s", a.ID)
	}
	return nil
}

func checkUnknown(ctx context.Context, t testing.TB, h Harness) error {
	p := h.New(t)
	const id = "ffffffffffffffffffffffff"
	_, inspect := p.Inspect(ctx, id)
	_, artifacts := p.Artifacts(ctx, id)
	_, logs := read(ctx, p, id, 0)
	return errors.Join(
		classify("Inspect", inspect, jobs.ErrNoJob),
		classify("Cancel", p.Cancel(ctx, id), jobs.ErrNoJob),
		classify("Artifacts", artifacts, jobs.ErrNoJob),
		classify("Logs", logs, jobs.ErrNoJob),
	)
}

func checkRefused(ctx context.Context, t testing.TB, h Harness) error {
	p := h.New(t)
	_, err := p.Start(ctx, h.Bad(run))
	if err := classify("Start", err, jobs.ErrRefused); err != nil {
		return err
	}
	if found, err := p.Find(ctx, run); err != nil || len(found) != 0 {
		return fmt.Errorf("found after a refusal: %v, %v; want nothing", found, err)
	}
	return nil
}

func checkCancel(ctx context.Context, t testing.TB, h Harness) error {
	p := h.New(t)
	job, err := p.Start(ctx, h.Long(run))
	if err != nil {
		return err
	}
	if _, err := first(ctx, p, job.ID); err != nil {
		return err
	}
	for range 2 {
		if err := p.Cancel(ctx, job.ID); err != nil {
			return err
		}
	}
	if _, err := read(ctx, p, job.ID, 0); err != nil {
		return err
	}
	ended, err := p.Inspect(ctx, job.ID)
	if err != nil {
		return err
	}
	if ended.Status != jobs.Canceled || ended.EndedAt.IsZero() {
		return fmt.Errorf("a canceled job whose log has ended is %+v", ended)
	}
	return p.Cancel(ctx, job.ID)
}

func checkCancelEnded(ctx context.Context, t testing.TB, h Harness) error {
	p := h.New(t)
	before, err := completed(ctx, p, h)
	if err != nil {
		return err
	}
	if err := p.Cancel(ctx, before.ID); err != nil {
		return err
	}
	after, err := p.Inspect(ctx, before.ID)
	if err != nil {
		return err
	}
	if after.Status != before.Status || !after.EndedAt.Equal(before.EndedAt) || after.Billed != before.Billed {
		return fmt.Errorf("canceling an ended job changed it:\nbefore %+v\nafter  %+v", before, after)
	}
	return nil
}

func checkEmpty(ctx context.Context, t testing.TB, h Harness) error {
	p := h.New(t)
	job, err := p.Start(ctx, h.Long(run))
	if err != nil {
		return err
	}
	defer cleanup(ctx, p, job.ID)
	tree, err := p.Artifacts(ctx, job.ID)
	if err != nil {
		return err
	}
	entries, err := fs.ReadDir(tree, ".")
	if err != nil || len(entries) != 0 {
		return fmt.Errorf("the root of the tree: %v, %v; want it to be there and empty", entries, err)
	}
	return nil
}

func checkUploads(ctx context.Context, t testing.TB, h Harness) error {
	p := h.New(t)
	job, err := completed(ctx, p, h)
	if err != nil {
		return err
	}
	tree, err := p.Artifacts(ctx, job.ID)
	if err != nil {
		return err
	}
	return fstest.TestFS(tree, h.Uploads...)
}

func checkDone(ctx context.Context, t testing.TB, h Harness) error {
	p := h.New(t)
	done, cancel := context.WithCancel(ctx)
	cancel()
	_, err := p.Start(done, h.Long(run))
	if err := classify("Start", err, jobs.ErrUnknown, jobs.ErrUnreachable); err != nil {
		return err
	}
	_, err = p.Find(done, run)
	if err := classify("Find", err, jobs.ErrUnreachable); err != nil {
		return err
	}
	found, err := p.Find(ctx, run)
	for _, job := range found {
		defer cleanup(ctx, p, job.ID)
	}
	return err
}

func checkLost(ctx context.Context, t testing.TB, h Harness) error {
	p := h.Lost(t)
	_, err := p.Start(ctx, h.Long(run))
	if err := classify("Start", err, jobs.ErrUnknown); err != nil {
		return err
	}
	found, err := p.Find(ctx, run)
	if err != nil || len(found) != 1 {
		return fmt.Errorf("found after a lost answer: %v, %v; want one job", found, err)
	}
	return p.Cancel(ctx, found[0].ID)
}

func checkAway(ctx context.Context, t testing.TB, h Harness) error {
	p := h.Away(t)
	const id = "ffffffffffffffffffffffff"
	_, hardware := p.Hardware(ctx)
	_, start := p.Start(ctx, h.Long(run))
	_, inspect := p.Inspect(ctx, id)
	_, find := p.Find(ctx, run)
	_, logs := read(ctx, p, id, 0)
	_, artifacts := p.Artifacts(ctx, id)
	return errors.Join(
		classify("Hardware", hardware, jobs.ErrUnreachable),
		classify("Start", start, jobs.ErrUnknown, jobs.ErrUnreachable),
		classify("Inspect", inspect, jobs.ErrUnreachable),
		classify("Find", find, jobs.ErrUnreachable),
		classify("Cancel", p.Cancel(ctx, id), jobs.ErrUnknown, jobs.ErrUnreachable),
		classify("Logs", logs, jobs.ErrUnreachable),
		classify("Artifacts", artifacts, jobs.ErrUnreachable),
	)
}

// completed runs a Short job to its end.
func completed(ctx context.Context, p jobs.Provider, h Harness) (jobs.Job, error) {
	job, err := p.Start(ctx, h.Short(run))
	if err != nil {
		return jobs.Job{}, err
	}
	if _, err := read(ctx, p, job.ID, 0); err != nil {
		return jobs.Job{}, err
	}
	job, err = p.Inspect(ctx, job.ID)
	if err == nil && job.Status != jobs.Completed {
		err = fmt.Errorf("a short job whose log has ended is %+v; want it completed", job)
	}
	return job, err
}

// cleanup stops a job that a check started.
func cleanup(ctx context.Context, p jobs.Provider, id string) { _ = p.Cancel(ctx, id) }
