package local_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/jobs"
	"github.com/posttrainarena/arena/protocol/jobs/jobstest"
	"github.com/posttrainarena/arena/protocol/jobs/local"
	"github.com/posttrainarena/arena/protocol/leaktest"
)

// The verbs with which this test binary plays other processes.
const (
	verbSupervise = "__job"   // what arena __job does
	verbArena     = "__arena" // opens a provider, starts a job, says its id, waits to be killed
)

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == verbSupervise {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		if err := local.Supervise(ctx, os.Args[2], os.Environ(), time.Now); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) == 3 && os.Args[1] == verbArena {
		os.Exit(playArena(os.Args[2]))
	}
	os.Exit(leaktest.Run(m))
}

// run is the run that most tests start a job for.
const run = "challenge-0123456789ab"

// options configures a provider that runs scripts; see script.
func options(dir string) local.Options {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return local.Options{
		Dir: dir, Supervisor: []string{self, verbSupervise}, Command: []string{"/bin/sh"}, Getenv: os.Getenv, Now: time.Now,
		Flavors: []jobs.Flavor{{Name: "this-machine", PricePerHour: 0}, {Name: "big", PricePerHour: protocol.Dollar}},
		Grace:   time.Minute,
	}
}

// open opens a provider on a directory whose jobs end with the test.
func open(t testing.TB, dir string, change ...func(*local.Options)) *local.Provider {
	t.Helper()
	o := options(dir)
	for _, f := range change {
		f(&o)
	}
	p, err := local.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { endAll(t, p, dir) })
	return p
}

// endAll cancels every job of a directory and waits until it has ended.
func endAll(t testing.TB, p *local.Provider, dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		ctx := context.Background()
		_ = p.Cancel(ctx, e.Name())
		for _, err := range p.Logs(ctx, e.Name(), 1<<40) {
			if err != nil {
				t.Logf("wait for job %s: %v", e.Name(), err)
			}
		}
	}
}

// script is a job whose config file is a shell script: the configured command is
// a shell.
func script(text string) jobs.Spec {
	return jobs.Spec{Run: run, Flavor: "this-machine", Timeout: time.Hour, Config: []byte(text)}
}

// start starts a job that must start.
func start(t testing.TB, p *local.Provider, spec jobs.Spec) jobs.Job {
	t.Helper()
	job, err := p.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// ended reads a job's log to its end and returns its lines and how it ended.
func ended(t testing.TB, p *local.Provider, id string) ([]string, jobs.Job) {
	t.Helper()
	var lines []string
	for l, err := range p.Logs(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l.Text)
	}
	job, err := p.Inspect(t.Context(), id)
	if err != nil || !job.Status.Ended() {
		t.Fatalf("a job whose log has ended is %+v, %v", job, err)
	}
	return lines, job
}

// upTo follows a job's log until it prints a line.
func upTo(t testing.TB, p jobs.Provider, id, line string) jobs.Line {
	t.Helper()
	for l, err := range p.Logs(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if l.Text == line {
			return l
		}
	}
	t.Fatalf("the log ended without the line %q", line)
	panic("unreachable")
}

// path is a file of a job.
func path(dir string, job jobs.Job, name string) string { return filepath.Join(dir, job.ID, name) }

// content reads a file of a job.
func content(t testing.TB, dir string, job jobs.Job, name string) string {
	t.Helper()
	data, err := os.ReadFile(path(dir, job, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestProviderSuite makes every check that all providers have to pass.
func TestProviderSuite(t *testing.T) {
	dirs := map[jobs.Provider]string{}
	fresh := func(t testing.TB) jobs.Provider {
		dir := filepath.Join(t.TempDir(), "jobs")
		p := open(t, dir)
		dirs[p] = dir
		return p
	}
	labelled := func(spec jobs.Spec, label string) jobs.Spec {
		spec.Run = label
		return spec
	}
	jobstest.Run(t, jobstest.Harness{
		New: fresh,
		Short: func(label string) jobs.Spec {
			return labelled(script(`echo one
echo two >&2
mkdir -p "$ARENA_RUN_DIR/reports"
echo '{}' >"$ARENA_RUN_DIR/reports/score.json"
echo three`), label)
		},
		Uploads: []string{"reports/score.json"},
		Long:    func(label string) jobs.Spec { return labelled(script("echo begun\nexec sleep 600"), label) },
		Bad: func(label string) jobs.Spec {
			spec := labelled(script("true"), label)
			spec.Flavor = "a-machine-that-nobody-has"
			return spec
		},
		Reopen: func(t testing.TB, old jobs.Provider) jobs.Provider { return open(t, dirs[old]) },
		Away: func(t testing.TB) jobs.Provider {
			p := fresh(t)
			if err := os.Rename(dirs[p], dirs[p]+"-unmounted"); err != nil {
				t.Fatal(err)
			}
			return p
		},
	})
}

// playArena is the process that TestJobOutlivesItsArena kills.
func playArena(dir string) int {
	p, err := local.Open(options(dir))
	if err == nil {
		var job jobs.Job
		job, err = p.Start(context.Background(), script(counting))
		fmt.Println(job.ID)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	select {}
}

// counting prints numbers until the file "enough" appears in its directory, and
// then the last one again as its result.
const counting = `
n=0
until [ -e enough ]; do n=$((n+1)); echo "line $n"; sleep 0.01; done
echo "$n" >"$ARENA_RUN_DIR/count"
echo done`
