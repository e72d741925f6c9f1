package simulated_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/jobs"
	"github.com/posttrainarena/arena/protocol/jobs/jobstest"
	"github.com/posttrainarena/arena/protocol/jobs/simulated"
)

func TestTheSuite(t *testing.T) {
	var dir string // of the provider that the running check uses
	fresh := func(t testing.TB, plan string) jobs.Provider {
		dir = t.TempDir()
		return open(t, dir, func(o *simulated.Options) { o.Fault = parse(t, plan) })
	}
	job := func(run string) jobs.Spec { return spec(run, size{train: 3, sealed: 4}) }
	jobstest.Run(t, jobstest.Harness{
		New:     func(t testing.TB) jobs.Provider { return fresh(t, "") },
		Short:   job,
		Long:    job,
		Uploads: []string{"reports/score.json", "reports/eval_task_outcomes.json"},
		Bad: func(run string) jobs.Spec {
			s := job(run)
			s.Flavor = "abacus"
			return s
		},
		Around: synctest.Test,
		Reopen: func(t testing.TB, _ jobs.Provider) jobs.Provider { return open(t, dir, nil) },
		Lost:   func(t testing.TB) jobs.Provider { return fresh(t, "lost-reply") },
		Away: func(t testing.TB) jobs.Provider {
			p := fresh(t, "unreachable")
			started, err := p.Start(t.Context(), job("challenge-ffffffffffff"))
			if err != nil {
				t.Fatal(err)
			}
			await(t, p, started.ID, "Job: 4 tasks")
			time.Sleep(30 * time.Minute / simulated.DefaultSpeed)
			return p
		},
	})
}

// parse reads a fault plan.
func parse(t testing.TB, text string) simulated.Plan {
	t.Helper()
	plan, err := simulated.ParsePlan(text)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// await follows a job's log until a line begins with a text and returns the
// lines so far.
func await(t testing.TB, p jobs.Provider, id, start string) []jobs.Line {
	t.Helper()
	var lines []jobs.Line
	for line, err := range p.Logs(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
		if len(line.Text) >= len(start) && line.Text[:len(start)] == start {
			return lines
		}
	}
	t.Fatalf("the log of job %s ended without a line that begins with %q", id, start)
	return nil
}

// follow reads a job's log after a position to its end.
func follow(t testing.TB, p jobs.Provider, id string, after int64) []jobs.Line {
	t.Helper()
	var lines []jobs.Line
	for line, err := range p.Logs(t.Context(), id, after) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return lines
}

// start starts a job of a small run.
func start(t testing.TB, p jobs.Provider) jobs.Job {
	t.Helper()
	job, err := p.Start(t.Context(), spec(testRun, size{train: 12, sealed: 16}))
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// inspect returns the state of a job.
func inspect(t testing.TB, p jobs.Provider, id string) jobs.Job {
	t.Helper()
	job, err := p.Inspect(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

func TestAJobIsPlayedLiveAtItsSpeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, t.TempDir(), func(o *simulated.Options) { o.Speed = 100 })
		began := time.Now()
		job := start(t, p)
		script := simulated.Play(spec(testRun, size{train: 12, sealed: 16}), testSeed, began, simulated.FaultNone)

		if job.Status != jobs.Scheduling || job.Billed != 0 {
			t.Errorf("a new job is %+v; want it in the queue and free", job)
		}
		i := 0
		for line, err := range p.Logs(t.Context(), job.ID, 0) {
			if err != nil {
				t.Fatal(err)
			}
			due := began.Add(script.Lines[i].Offset / 100)
			if line.Text != script.Lines[i].Text || !line.At.Equal(due) || time.Now().Before(due) {
				t.Fatalf("line %d is %+v at %v; want %q due at %v", i, line, time.Now(), script.Lines[i].Text, due)
			}
			if now := inspect(t, p, job.ID); now.Status != jobs.Running {
				t.Fatalf("a job that prints is %+v", now)
			}
			i++
		}
		ended := inspect(t, p, job.ID)
		if i != len(script.Lines) || ended.Status != jobs.Completed || ended.Billed != script.Ends-script.Begins {
			t.Errorf("after %d of %d lines the job is %+v; want it completed and billed %v", i, len(script.Lines), ended, script.Ends-script.Begins)
		}
	})
}

func TestAJobGoesOnWithoutItsProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		whole, dir := t.TempDir(), t.TempDir()
		undisturbed := open(t, whole, nil)
		want := follow(t, undisturbed, start(t, undisturbed).ID, 0)

		p := open(t, dir, nil)
		job := start(t, p)
		head := await(t, p, job.ID, "[posttrainarena] grpo_gate_eval")
		// Another seed, speed and plan are those of later jobs only.
		p = open(t, dir, func(o *simulated.Options) {
			o.Seed, o.Speed, o.Fault = 7, 1, parse(t, "stage=heldout")
		})
		time.Sleep(5 * time.Second)
		tail := follow(t, p, job.ID, head[len(head)-1].Position)

		got := append(head, tail...)
		shift := got[0].At.Sub(want[0].At)
		for i := range want {
			want[i].At = want[i].At.Add(shift)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the log differs from that of a job that was never left (-want +got):\n%s", diff)
		}
		if ended := inspect(t, p, job.ID); ended.Status != jobs.Completed {
			t.Errorf("the job ended as %+v", ended)
		}
	})
}

func TestACanceledJobIsBilledUpToItsLastLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		p := open(t, dir, nil)
		job := start(t, p)
		lines := await(t, p, job.ID, "[PASS]")
		time.Sleep(time.Millisecond) // 0.6 s of the job, in which it prints nothing
		if err := p.Cancel(t.Context(), job.ID); err != nil {
			t.Fatal(err)
		}
		ended := inspect(t, open(t, dir, nil), job.ID)
		last := lines[len(lines)-1]
		want := last.At.Sub(ended.StartedAt) * simulated.DefaultSpeed
		if off := ended.Billed - want; off.Abs() > time.Millisecond || ended.Status != jobs.Canceled {
			t.Errorf("the canceled job is %+v; want it billed %v, up to %+v", ended, want, last)
		}
		if got := follow(t, p, job.ID, 0); len(got) != len(lines) {
			t.Errorf("the job printed %d lines after it was canceled", len(got)-len(lines))
		}
		tree, err := p.Artifacts(t.Context(), job.ID)
		if err != nil {
			t.Fatal(err)
		}
		if entries, err := fs.ReadDir(tree, "."); err != nil || len(entries) > 0 {
			t.Errorf("a canceled job uploaded %v, %v", entries, err)
		}
	})
}

func TestAJobCanceledInTheQueueCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, t.TempDir(), nil)
		job := start(t, p)
		if err := p.Cancel(t.Context(), job.ID); err != nil {
			t.Fatal(err)
		}
		ended := inspect(t, p, job.ID)
		if ended.Status != jobs.Canceled || ended.Billed != 0 || !ended.StartedAt.IsZero() {
			t.Errorf("the job is %+v; want it canceled, never started and free", ended)
		}
	})
}

func TestEveryStartMakesAJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, t.TempDir(), nil)
		a, b := start(t, p), start(t, p)
		found, err := p.Find(t.Context(), testRun)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) != 2 || found[0].ID != a.ID || found[1].ID != b.ID || a.ID == b.ID {
			t.Errorf("two Starts for one run: jobs %s and %s, found %+v", a.ID, b.ID, found)
		}
	})
}

func TestTwoArenasWithOneSeedPlayTheSameRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, other := open(t, t.TempDir(), nil), open(t, t.TempDir(), nil)
		a, b := start(t, one), start(t, other)
		if a.ID != b.ID {
			t.Errorf("the jobs are %s and %s", a.ID, b.ID)
		}
		if diff := cmp.Diff(follow(t, one, a.ID, 0), follow(t, other, b.ID, 0)); diff != "" {
			t.Errorf("the logs differ (-one +other):\n%s", diff)
		}
	})
}

func TestOneFileAJobAndOneACancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(dir+"/.unfinished-17", []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		p := open(t, dir, nil)
		job := start(t, p)
		for range 2 {
			if err := p.Cancel(t.Context(), job.ID); err != nil {
				t.Fatal(err)
			}
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if diff := cmp.Diff([]string{job.ID + ".cancel", "start-000001.json"}, names); diff != "" {
			t.Errorf("the directory has other files (-want +got):\n%s", diff)
		}
	})
}

func TestADamagedDirectoryIsNamedAndLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		p := open(t, dir, nil)
		start(t, p)
		if err := os.WriteFile(dir+"/start-000002.json", []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Find(t.Context(), testRun); !errors.Is(err, jobs.ErrUnreachable) {
			t.Errorf("Find with a damaged file: %v; want ErrUnreachable, because nothing is proved", err)
		}
		if err := os.Remove(dir + "/start-000002.json"); err != nil {
			t.Fatal(err)
		}
		if found, err := p.Find(t.Context(), testRun); err != nil || len(found) != 1 {
			t.Errorf("Find after the repair: %v, %v", found, err)
		}
	})
}

func TestASpecWithoutAnythingToPlayIsRefused(t *testing.T) {
	for name, spoil := range map[string]func(*jobs.Spec){
		"no label":          func(s *jobs.Spec) { s.Run = "" },
		"no limit":          func(s *jobs.Spec) { s.Timeout = 0 },
		"unknown flavor":    func(s *jobs.Spec) { s.Flavor = "abacus" },
		"no training tasks": func(s *jobs.Spec) { s.Simulation.Train = nil },
		"no sealed tasks":   func(s *jobs.Spec) { s.Simulation.Sealed = map[string][]string{"vault-1": nil} },
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t, t.TempDir(), nil)
			s := spec(testRun, size{train: 1, sealed: 1})
			spoil(&s)
			if _, err := p.Start(context.Background(), s); !errors.Is(err, jobs.ErrRefused) {
				t.Errorf("Start: %v; want ErrRefused", err)
			}
		})
	}
}

func TestOpenSaysWhatIsMissing(t *testing.T) {
	for name, spoil := range map[string]func(*simulated.Options){
		"no directory":   func(o *simulated.Options) { o.Dir = "" },
		"no clock":       func(o *simulated.Options) { o.Now = nil },
		"no prices":      func(o *simulated.Options) { o.PricePerHour = nil },
		"negative speed": func(o *simulated.Options) { o.Speed = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			o := simulated.Options{Dir: t.TempDir(), Now: time.Now, PricePerHour: map[string]protocol.Micros{flavor: protocol.Dollar}}
			spoil(&o)
			if _, err := simulated.Open(o); err == nil {
				t.Error("Open succeeded")
			}
		})
	}
}

// childDir tells the child of TestAJobSurvivesTheDeathOfItsProcess where its
// jobs are.
const childDir = "SIMULATED_TEST_DIR"

// TestAJobSurvivesTheDeathOfItsProcess kills a real process right after it
// started a job.
func TestAJobSurvivesTheDeathOfItsProcess(t *testing.T) {
	fast := func(o *simulated.Options) {
		o.Speed = 1e6
		o.Fault = simulated.Plan{{Fault: simulated.FaultKillAfter}}
		o.Kill = func() {
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Kill()
			}
			t.Fatalf("still alive after the kill: %v", err)
		}
	}
	if dir := os.Getenv(childDir); dir != "" {
		start(t, open(t, dir, fast))
		return
	}
	dir := t.TempDir()
	child := exec.Command(os.Args[0], "-test.run=^TestAJobSurvivesTheDeathOfItsProcess$")
	child.Env = append(os.Environ(), childDir+"="+dir)
	if out, err := child.CombinedOutput(); err == nil || len(out) > 0 {
		t.Fatalf("the child was not killed: %v\n%s", err, out)
	}

	p := open(t, dir, nil)
	found, err := p.Find(t.Context(), testRun)
	if err != nil || len(found) != 1 {
		t.Fatalf("after the kill there are the jobs %+v, %v; want one", found, err)
	}
	follow(t, p, found[0].ID, 0)
	if ended := inspect(t, p, found[0].ID); ended.Status != jobs.Completed {
		t.Errorf("the job ended as %+v", ended)
	}
}

// TestTheFaultRate: about that share of jobs stops on a platform issue, always
// the same ones for one seed, and none without a rate.
func TestTheFaultRate(t *testing.T) {
	stopped := func(rate float64) (n int) {
		p, err := simulated.Open(simulated.Options{
			Dir: t.TempDir(), Now: time.Now, PricePerHour: map[string]protocol.Micros{flavor: protocol.Dollar}, Speed: 1e9, Seed: 7, FaultRate: rate,
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 200 {
			job, err := p.Start(t.Context(), spec(fmt.Sprintf("run-%d", i), size{train: 2, sealed: 2}))
			if err != nil {
				t.Fatal(err)
			}
			for job.Status == jobs.Running || job.Status == jobs.Scheduling {
				if job, err = p.Inspect(t.Context(), job.ID); err != nil {
					t.Fatal(err)
				}
			}
			if job.Status == jobs.Failed {
				n++
			}
		}
		return n
	}
	if n := stopped(0); n != 0 {
		t.Errorf("without a rate %d of 200 jobs stopped", n)
	}
	n := stopped(0.3)
	if n < 40 || n > 80 {
		t.Errorf("at 0.3, %d of 200 jobs stopped", n)
	}
	if again := stopped(0.3); again != n {
		t.Errorf("one seed stopped %d jobs, then %d", n, again)
	}
}
