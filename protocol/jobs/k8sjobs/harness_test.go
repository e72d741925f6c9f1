package k8sjobs_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/jobs"
	"github.com/posttrainarena/arena/protocol/jobs/jobstest"
	"github.com/posttrainarena/arena/protocol/jobs/k8sjobs"
	"github.com/posttrainarena/arena/protocol/jobs/k8sjobs/k8stest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	run    = "challenge-0123456789ab"
	name   = "arena-" + run
	claim  = "arena-runs"
	canary = "canary-5up3r-s3cr3t-bearer"
)

// world is a cluster with a provider on it.
type world struct {
	*k8stest.Server
	provider *k8sjobs.Provider
	options  k8sjobs.Options
	dir      string // the volume
}

// program is what containers do: it reads its config as a little script.
//
//	line NAME    prints it
//	file PATH    writes a file into the output
//	wait         waits to be stopped
//	exit         fails
func program(ctx context.Context, c *k8stest.Container) int {
	script, err := os.ReadFile(c.Path(c.Getenv("ARENA_CONFIG")))
	if err != nil {
		c.Print(err.Error())
		return 2
	}
	for line := range strings.Lines(string(script)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "line":
			c.Print(rest)
		case "file":
			path := c.Path(c.Getenv("ARENA_RUN_DIR") + "/" + rest)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				c.Print(err.Error())
				return 2
			}
			if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
				c.Print(err.Error())
				return 2
			}
		case "wait":
			<-ctx.Done()
			return 143
		case "exit":
			return 1
		}
	}
	return 0
}

// begin makes a world; the options of both sides may be changed before.
func begin(t testing.TB, change ...func(*k8stest.Options, *k8sjobs.Options)) *world {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "volume")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	theirs := k8stest.Options{
		Now: time.Now, Token: canary, Namespace: "arena", Volumes: map[string]string{claim: dir}, Secrets: []string{"hub"}, GPUs: 8, Program: program,
	}
	ours := k8sjobs.Options{
		Namespace: "arena", Image: "registry.example.org/pipeline:1", Command: []string{"train", "--config"}, VolumeClaim: claim, Dir: dir,
		User: 1000, Group: 1000, GPUResource: "nvidia.com/gpu", Queue: time.Hour, Grace: 30 * time.Second, Keep: 24 * time.Hour,
		Glance: 5 * time.Millisecond, Now: time.Now,
		Flavors: []k8sjobs.Flavor{
			{Flavor: jobs.Flavor{Name: "small", PricePerHour: protocol.Dollar}, GPUs: 1},
			{Flavor: jobs.Flavor{Name: "a100x8", PricePerHour: 20 * protocol.Dollar}, GPUs: 8, CPU: "64", Memory: "512Gi", SharedMemory: "64Gi", NodeSelector: map[string]string{"nvidia.com/gpu.product": "A100"}},
			{Flavor: jobs.Flavor{Name: "huge"}, GPUs: 64},
		},
	}
	for _, f := range change {
		f(&theirs, &ours)
	}
	w := &world{Server: k8stest.Start(t, theirs), dir: dir}
	ours.Kubeconfig = w.Kubeconfig(t)
	w.options = ours
	w.provider = w.open(t)
	return w
}

// open opens another provider on the same cluster.
func (w *world) open(t testing.TB) *k8sjobs.Provider {
	t.Helper()
	p, err := k8sjobs.Open(w.options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// script is a job whose config is a program's script.
func script(run string, lines ...string) jobs.Spec {
	return jobs.Spec{Run: run, Flavor: "small", Timeout: time.Hour, Config: []byte(strings.Join(lines, "\n"))}
}

func short(run string) jobs.Spec {
	return script(run, "line one", "line two", "file reports/score.json", "line three")
}

func long(run string) jobs.Spec { return script(run, "line begun", "wait") }

// TestProviderSuite makes every check that all providers have to pass, against a
// cluster on a real socket.
func TestProviderSuite(t *testing.T) {
	worlds := map[jobs.Provider]*world{}
	fresh := func(t testing.TB) *world {
		w := begin(t)
		worlds[w.provider] = w
		return w
	}
	jobstest.Run(t, jobstest.Harness{
		New:     func(t testing.TB) jobs.Provider { return fresh(t).provider },
		Short:   short,
		Uploads: []string{"reports/score.json"},
		Long:    long,
		Bad: func(run string) jobs.Spec {
			spec := short(run)
			spec.Env = map[string]string{"not a name": "1"} // which the API server says
			return spec
		},
		Reopen: func(t testing.TB, old jobs.Provider) jobs.Provider {
			w := worlds[old]
			old.(*k8sjobs.Provider).Close()
			return w.open(t)
		},
		Lost: func(t testing.TB) jobs.Provider {
			w := fresh(t)
			w.Inject(k8stest.Fault{Verb: "create", Times: 1, Lost: true})
			return w.provider
		},
		Away: func(t testing.TB) jobs.Provider {
			w := fresh(t)
			w.Server.Close()
			return w.provider
		},
	})
}
