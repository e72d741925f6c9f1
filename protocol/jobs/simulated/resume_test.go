package simulated_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol/jobs"
	"github.com/posttrainarena/arena/protocol/jobs/simulated"
)

// TestResume: a job that somebody else has played up to a moment goes on from
// there with the same lines and ends in the same way.
func TestResume(t *testing.T) {
	const elapsed = 90 * time.Minute
	want := simulated.Play(spec(testRun, size{train: 12, sealed: 16}), testSeed, testStart(), simulated.FaultHeldout)
	now := testStart()
	p := open(t, t.TempDir(), func(o *simulated.Options) { o.Now, o.Speed = func() time.Time { return now }, 60 })
	job, err := p.Resume(t.Context(), spec(testRun, size{train: 12, sealed: 16}), elapsed, simulated.FaultHeldout)
	if err != nil {
		t.Fatal(err)
	}
	if job.ID != simulated.JobID(testSeed, testRun, 1) || job.Status != jobs.Running || job.Run != testRun {
		t.Fatalf("the resumed job is %+v", job)
	}
	printed := 0
	for _, l := range want.Lines {
		if l.Offset <= elapsed {
			printed++
		}
	}
	if got := visible(t, p, job.ID); len(got) != printed || printed == 0 {
		t.Errorf("%d lines are printed, want %d", len(got), printed)
	}
	now = now.Add(want.Ends) // 60 times as much of the job's time
	lines := visible(t, p, job.ID)
	if len(lines) != len(want.Lines) {
		t.Fatalf("%d lines in the end, want %d", len(lines), len(want.Lines))
	}
	for i, l := range lines {
		if l.Text != want.Lines[i].Text || l.Position != int64(i)+1 {
			t.Fatalf("line %d is %q at %d, want %q", i, l.Text, l.Position, want.Lines[i].Text)
		}
	}
	if job, err = p.Inspect(t.Context(), job.ID); err != nil || job.Status != want.Status || job.Billed != want.Ends-want.Begins {
		t.Errorf("the job ends as %s billed for %s, want %s and %s (%v)", job.Status, job.Billed, want.Status, want.Ends-want.Begins, err)
	}
}

// visible reads the lines that a job has printed so far: all of them are
// delivered before the log waits and notices that nobody reads on.
func visible(t *testing.T, p *simulated.Provider, id string) []jobs.Line {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var lines []jobs.Line
	for line, err := range p.Logs(ctx, id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
		cancel()
	}
	return lines
}

func TestResumeRefuses(t *testing.T) {
	p := open(t, t.TempDir(), nil)
	whole := spec(testRun, size{train: 3, sealed: 3})
	if _, err := p.Resume(t.Context(), whole, time.Minute, simulated.FaultNone); err != nil {
		t.Fatal(err)
	}
	unplayable := spec("challenge-ba9876543210", size{train: 3, sealed: 3})
	unplayable.Simulation.Train = nil
	for name, try := range map[string]func() error{
		"a run that has a job": func() error {
			_, err := p.Resume(t.Context(), whole, time.Minute, simulated.FaultNone)
			return err
		},
		"a job of the future": func() error {
			_, err := p.Resume(t.Context(), spec("challenge-0123456789cd", size{train: 3, sealed: 3}), -time.Minute, simulated.FaultNone)
			return err
		},
		"nothing to play": func() error {
			_, err := p.Resume(t.Context(), unplayable, time.Minute, simulated.FaultNone)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := try(); !errors.Is(err, jobs.ErrRefused) {
				t.Errorf("error %v, want a refusal", err)
			}
		})
	}
}
