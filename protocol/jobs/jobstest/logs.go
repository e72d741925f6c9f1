package jobstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/posttrainarena/arena/protocol/jobs"
)

// read follows a job's log after a position until it ends.
func read(ctx context.Context, p jobs.Provider, id string, after int64) ([]jobs.Line, error) {
	return readUpTo(ctx, p, id, after, 0)
}

// readUpTo reads at most limit lines of a job's log after a position; a limit
// of 0 is none. It returns an error for a log that breaks the interface's
// promises.
func readUpTo(ctx context.Context, p jobs.Provider, id string, after int64, limit int) ([]jobs.Line, error) {
	var lines []jobs.Line
	var failed error
	last := after
	for line, err := range p.Logs(ctx, id, after) {
		switch {
		case failed != nil:
			return lines, fmt.Errorf("the log goes on after the error %w", failed)
		case err != nil:
			failed = err
			continue
		case line.Position <= last:
			return lines, fmt.Errorf("position %d follows %d in a log read after %d", line.Position, last, after)
		case line.At.IsZero() || strings.ContainsRune(line.Text, '\n'):
			return lines, fmt.Errorf("a line has no time or is several lines: %+v", line)
		}
		last = line.Position
		lines = append(lines, line)
		if len(lines) == limit {
			break
		}
	}
	return lines, failed
}

// first returns the first line of a job.
func first(ctx context.Context, p jobs.Provider, id string) (jobs.Line, error) {
	lines, err := readUpTo(ctx, p, id, 0, 1)
	if err != nil {
		return jobs.Line{}, err
	}
	if len(lines) == 0 {
		return jobs.Line{}, errors.New("the log ended before its first line")
	}
	return lines[0], nil
}

// equal returns an error unless two parts of a log are the same.
func equal(what string, got, want []jobs.Line) error {
	if slices.EqualFunc(got, want, func(a, b jobs.Line) bool {
		return a.Position == b.Position && a.Text == b.Text && a.At.Equal(b.At)
	}) {
		return nil
	}
	return fmt.Errorf("%s has other lines than the whole log:\ngot  %+v\nwant %+v", what, got, want)
}

func checkLog(ctx context.Context, t testing.TB, h Harness) error {
	p := h.New(t)
	job, err := completed(ctx, p, h)
	if err != nil {
		return err
	}
	if job.StartedAt.Before(job.CreatedAt) || job.EndedAt.Before(job.StartedAt) || job.Billed <= 0 {
		return fmt.Errorf("the times of a completed job are not in order, or it costs nothing: %+v", job)
	}
	again, err := p.Inspect(ctx, job.ID)
	if err != nil || again.Billed != job.Billed || !again.EndedAt.Equal(job.EndedAt) {
		return fmt.Errorf("a completed job changed: %+v, %v; it was %+v", again, err, job)
	}
	lines, err := read(ctx, p, job.ID, 0)
	if err != nil {
		return err
	}
	if len(lines) < MinLines {
		return fmt.Errorf("a short job printed %d lines; want at least %d", len(lines), MinLines)
	}
	for i, line := range lines {
		if i > 0 && line.At.Before(lines[i-1].At) {
			return fmt.Errorf("line %+v is older than the one before it", line)
		}
	}
	return nil
}

func checkResume(ctx context.Context, t testing.TB, h Harness) error {
	p := h.New(t)
	job, err := completed(ctx, p, h)
	if err != nil {
		return err
	}
	whole, err := read(ctx, p, job.ID, 0)
	if err != nil {
		return err
	}
	for i, line := range whole {
		rest, err := read(ctx, p, job.ID, line.Position)
		if err != nil {
			return err
		}
		if err := equal(fmt.Sprintf("the log after position %d", line.Position), rest, whole[i+1:]); err != nil {
			return err
		}
	}
	beyond, err := read(ctx, p, job.ID, whole[len(whole)-1].Position+1000)
	if err != nil || len(beyond) != 0 {
		return fmt.Errorf("beyond the last position: %+v, %v; want nothing", beyond, err)
	}
	return nil
}

func checkLeave(ctx context.Context, t testing.TB, h Harness) error {
	p := h.New(t)
	return leaveAndResume(ctx, h, p, func() jobs.Provider { return p })
}

func checkReopen(ctx context.Context, t testing.TB, h Harness) error {
	p := h.New(t)
	return leaveAndResume(ctx, h, p, func() jobs.Provider { return h.Reopen(t, p) })
}

// leaveAndResume reads the log of a job that is running in two parts, each
// with a provider of its own.
func leaveAndResume(ctx context.Context, h Harness, p jobs.Provider, next func() jobs.Provider) error {
	job, err := p.Start(ctx, h.Short(run))
	if err != nil {
		return err
	}
	head, err := readUpTo(ctx, p, job.ID, 0, 2)
	if err != nil || len(head) != 2 {
		return fmt.Errorf("the first two lines: %+v, %v", head, err)
	}
	p = next()
	found, err := p.Find(ctx, run)
	if err != nil || len(found) != 1 {
		return fmt.Errorf("found: %+v, %v; want one job", found, err)
	}
	if err := same(job, found[0]); err != nil {
		return err
	}
	tail, err := read(ctx, p, job.ID, head[1].Position)
	if err != nil {
		return err
	}
	whole, err := read(ctx, p, job.ID, 0)
	if err != nil {
		return err
	}
	return equal("a log read in two parts", append(head, tail...), whole)
}

func checkContext(ctx context.Context, t testing.TB, h Harness) error {
	p := h.New(t)
	job, err := p.Start(ctx, h.Long(run))
	if err != nil {
		return err
	}
	defer cleanup(ctx, p, job.ID)
	short, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, err := range p.Logs(short, job.ID, 0) {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		cancel()
	}
	if short.Err() == nil {
		return errors.New("the log of a long job ended before its first line")
	}
	if now, err := p.Inspect(ctx, job.ID); err != nil || now.Status.Ended() {
		return fmt.Errorf("the log went on to the end of its job although its context was done: %+v, %v", now, err)
	}
	return nil
}
