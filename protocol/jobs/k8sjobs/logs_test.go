package k8sjobs_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/protocol/jobs"
	"github.com/posttrainarena/arena/protocol/jobs/k8sjobs"
	"github.com/posttrainarena/arena/protocol/jobs/k8sjobs/k8stest"
)

// read reads a job's log after a position.
func read(t testing.TB, p jobs.Provider, after int64) []jobs.Line {
	t.Helper()
	var lines []jobs.Line
	for line, err := range p.Logs(t.Context(), name, after) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return lines
}

func texts(lines []jobs.Line) []string {
	var out []string
	for _, l := range lines {
		out = append(out, l.Text)
	}
	return out
}

// TestCutStreams cuts the stream of a log after every number of bytes, while the job
// runs: the log is whole all the same, with nothing twice, and no half line is taken
// for a line.
func TestCutStreams(t *testing.T) {
	const lines = 5
	want := []string{"line 0", "line 1", "line 2", "line 3", "line 4"}
	for cut := 0; cut < lines*40; cut += 3 {
		more := make(chan struct{})
		w := begin(t, func(theirs *k8stest.Options, _ *k8sjobs.Options) {
			theirs.Program = func(ctx context.Context, c *k8stest.Container) int {
				for i := range lines {
					c.Print(fmt.Sprintf("line %d", i))
				}
				select { // the job goes on while its log is cut
				case <-more:
				case <-ctx.Done():
				}
				return 0
			}
		})
		if _, err := w.provider.Start(t.Context(), short(run)); err != nil {
			t.Fatal(err)
		}
		w.Inject(k8stest.Fault{Verb: "log", Times: 2, Cut: cut})
		var got []string
		for line, err := range w.provider.Logs(t.Context(), name, 0) {
			if err != nil {
				t.Fatalf("cut after %d bytes: %v", cut, err)
			}
			if got = append(got, line.Text); len(got) == lines {
				close(more)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("cut after %d bytes: %q", cut, got)
		}
		w.provider.Close()
		w.Server.Close()
	}
}

// TestStreamsThatBringNothing: a stream that breaks every time before it has brought
// anything is a provider out of reach, not a loop.
func TestStreamsThatBringNothing(t *testing.T) {
	w := begin(t)
	if _, err := w.provider.Start(t.Context(), long(run)); err != nil {
		t.Fatal(err)
	}
	w.Inject(k8stest.Fault{Verb: "log", Cut: 3})
	var failed error
	for line, err := range w.provider.Logs(t.Context(), name, 0) {
		if failed = err; err == nil {
			t.Errorf("a line came: %+v", line)
		}
	}
	if !errors.Is(failed, jobs.ErrUnreachable) || !strings.Contains(failed.Error(), "ends early every time") {
		t.Errorf("%v", failed)
	}
}

// TestLostLog: the log of a job that has ended long ago on a node that is gone counts
// as lost, so that the run can end; of one that has just ended it is waited for.
func TestLostLog(t *testing.T) {
	now := time.Now()
	w := begin(t, func(_ *k8stest.Options, o *k8sjobs.Options) { o.Now = func() time.Time { return now } })
	if _, err := w.provider.Start(t.Context(), short(run)); err != nil {
		t.Fatal(err)
	}
	w.ended(t)
	w.Inject(k8stest.Fault{Verb: "log", Answer: k8stest.Refuse(500, "InternalError", "Get \"https://10.0.0.7:10250/containerLogs\": dial tcp 10.0.0.7:10250: i/o timeout")})
	for _, step := range []struct {
		later time.Duration
		class error
	}{{0, jobs.ErrUnreachable}, {time.Hour, nil}} {
		now = now.Add(step.later)
		var failed error
		for _, err := range w.provider.Logs(t.Context(), name, 0) {
			failed = err
		}
		if !errors.Is(failed, step.class) {
			t.Errorf("%s later: %v; want %v", step.later, failed, step.class)
		}
	}
}

// TestLinesOfEveryKind: what a command may print, and what a node says instead.
func TestLinesOfEveryKind(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	w := begin(t, func(theirs *k8stest.Options, _ *k8sjobs.Options) {
		theirs.Program = func(_ context.Context, c *k8stest.Container) int {
			for _, text := range []string{"", " indented", "\ttab", "progress\rprogress", "caf\xe9", "2026-11-29T12:00:00Z not the stamp", long, "last"} {
				c.Print(text)
			}
			return 0
		}
	})
	if _, err := w.provider.Start(t.Context(), short(run)); err != nil {
		t.Fatal(err)
	}
	w.ended(t)
	got := read(t, w.provider, 0)
	want := []string{"", " indented", "\ttab", "progress\rprogress", "caf\xe9", "2026-11-29T12:00:00Z not the stamp", "", "last"}
	for i, line := range got {
		if len(got) != len(want) || i != 6 && line.Text != want[i] {
			t.Fatalf("%d lines; line %d is %.80q", len(got), i, line.Text)
		}
	}
	if cut := got[6].Text; len(cut) > 1<<20 || len(cut) < 1<<20-100 || strings.Trim(cut, "x") != "" {
		t.Errorf("the long line is %d bytes", len(cut))
	}
	w.Inject(k8stest.Fault{Verb: "log", Times: 1, Answer: k8stest.JSON("unable to retrieve container logs for containerd://abc\n2026-11-29T12:00:00.5Z half a li")})
	got = read(t, w.provider, 0)
	if len(got) != 1 || got[0].Text != "half a li" {
		t.Errorf("what a node says came as %+v", got)
	}
}

// TestNotStartedYet: a log is waited for while its container is made.
func TestNotStartedYet(t *testing.T) {
	w := begin(t, func(theirs *k8stest.Options, _ *k8sjobs.Options) { theirs.Program = nil })
	if _, err := w.provider.Start(t.Context(), short(run)); err != nil {
		t.Fatal(err)
	}
	w.Edit(name, func(_ *batch.Job, pod *core.Pod) { // as the node says, a moment too early
		pod.Status.ContainerStatuses[0].State = core.ContainerState{Running: &core.ContainerStateRunning{StartedAt: at(10)}}
	})
	refuse, asked := k8stest.Refuse(400, "BadRequest", `container "run" in pod "x" is waiting to start: ContainerCreating`), make(chan struct{})
	w.Inject(k8stest.Fault{Verb: "log", Times: 1, Answer: func(rw http.ResponseWriter, r *http.Request) {
		refuse(rw, r)
		close(asked)
	}})
	done := make(chan []string)
	go func() { done <- texts(read(t, w.provider, 0)) }()
	<-asked
	w.Edit(name, func(_ *batch.Job, pod *core.Pod) {
		ran(pod, "Completed", 0)
		pod.Status.Phase = core.PodSucceeded
	})
	w.Edit(name, func(job *batch.Job, _ *core.Pod) {
		job.Status.Conditions = []batch.JobCondition{{Type: batch.JobComplete, Status: core.ConditionTrue, LastTransitionTime: at(72)}}
	})
	if got := <-done; len(got) != 0 {
		t.Errorf("it printed %q", got)
	}
}

// TestAnyStampsResume: whatever the stamps of lines are, as long as they are out of
// order by less than the slack, a log that is read on after any of its lines has
// exactly the rest.
func TestAnyStampsResume(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		base := at(0).Time
		steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) time.Duration {
			return rapid.OneOf(
				rapid.Just(time.Duration(0)),
				rapid.Custom(func(t *rapid.T) time.Duration { return time.Duration(rapid.IntRange(-3, 3).Draw(t, "ns")) }),
				rapid.Custom(func(t *rapid.T) time.Duration {
					return time.Duration(rapid.IntRange(-800, 4000).Draw(t, "ms")) * time.Millisecond
				}),
			).Draw(t, "step")
		}), 1, 30).Draw(rt, "steps")
		var stamps []time.Time
		newest := base
		for _, step := range steps {
			stamp := newest.Add(step)
			stamps = append(stamps, stamp)
			if stamp.After(newest) {
				newest = stamp
			}
		}
		w := begin(t, func(theirs *k8stest.Options, _ *k8sjobs.Options) {
			theirs.Program = func(_ context.Context, c *k8stest.Container) int {
				for i, stamp := range stamps {
					c.PrintAt(stamp, fmt.Sprint(i))
				}
				return 0
			}
		})
		defer w.Server.Close()
		defer w.provider.Close()
		if _, err := w.provider.Start(t.Context(), short(run)); err != nil {
			rt.Fatal(err)
		}
		whole := read(t, w.provider, 0)
		if len(whole) != len(stamps) {
			rt.Fatalf("%d of %d lines", len(whole), len(stamps))
		}
		for i, line := range whole {
			if rest := read(t, w.provider, line.Position); !slices.Equal(rest, whole[i+1:]) {
				rt.Fatalf("after line %d at %s: %q; want %q", i, line.At, texts(rest), texts(whole[i+1:]))
			}
		}
	})
}
