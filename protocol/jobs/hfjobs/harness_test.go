package hfjobs_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/posttrainarena/arena/protocol/hub/blobcache"
	"github.com/posttrainarena/arena/protocol/hub/hubtest"
	"github.com/posttrainarena/arena/protocol/jobs"
	"github.com/posttrainarena/arena/protocol/jobs/hfjobs"
	"github.com/posttrainarena/arena/protocol/jobs/jobstest"
	"github.com/posttrainarena/arena/protocol/outbound"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	namespace   = "benchflow"
	runsDataset = "benchflow/runs"
	token       = "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12"
)

// place is a fake hub with jobs, and the clock that it shares with providers.
type place struct {
	t     testing.TB
	hub   *hubtest.HuggingFace
	jobs  *hubtest.Jobs
	ahead atomic.Int64
	cache *blobcache.Cache
}

func (p *place) now() time.Time { return time.Now().Add(time.Duration(p.ahead.Load())) }

func newPlace(t testing.TB) *place {
	t.Helper()
	p := &place{t: t, hub: hubtest.NewHuggingFace(t)}
	p.hub.Now = p.now
	p.hub.Issue(token, hubtest.Token{Account: hubtest.Account{Name: "arena-bot"}, Kind: "write", Grants: runsDataset})
	d := p.hub.Dataset(runsDataset)
	d.Private = true
	d.Commit([]hubtest.File{{Path: "README.md", Text: "Runs.\n"}}, "main")
	p.jobs = hubtest.NewJobs(p.hub, namespace)
	p.jobs.Play = p.play
	var err error
	if p.cache, err = blobcache.Open(t.TempDir(), 1<<30, time.Now); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cache.Close() })
	return p
}

// play is what jobs do: those whose command ends with short print, upload and
// complete, all others go on after their first line.
func (p *place) play(job *hubtest.Job) {
	command := job.Spec.Command
	job.Print("pipeline ref main at 0123456")
	if command[len(command)-1] != "short" {
		return
	}
	job.Print("vllm up", "bridge up\n", "two lines\nin one event\n", "half a ", "line\n", "TRAINER_EXIT=0")
	p.upload(job.Spec.Labels["arena-run"])
	job.End("COMPLETED", "", 90*time.Second)
}

// upload leaves what a job leaves.
func (p *place) upload(run string) {
	d := p.hub.Dataset(runsDataset)
	files, _, _ := d.At("main")
	files = append(files[:len(files):len(files)],
		hubtest.File{Path: "runs/" + run + "/reports/score.json", Text: `{"score": 1}`},
		hubtest.File{Path: "runs/" + run + "/jobs/grpo-gate/big.bin", Text: strings.Repeat("\x00big", 100), LFS: true},
		hubtest.File{Path: "runs/" + run + "x/of-another.txt", Text: "no"})
	d.Commit(files, "main")
}

// open makes a provider. Settle has passed, as in an arena that runs for a while.
func (p *place) open(change ...func(*hfjobs.Options)) *hfjobs.Provider {
	transport := outbound.NewTransport(4)
	p.t.Cleanup(transport.CloseIdleConnections)
	o := hfjobs.Options{
		URL: p.hub.URL, Namespace: namespace, RunsDataset: runsDataset, Token: token, Secrets: map[string]string{"HF_TOKEN": "hf_forJobsCANARY"}, Transport: transport,
		UserAgent: "test/1", Cache: p.cache, Now: p.now, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		Quiet: 50 * time.Millisecond, Last: 3 * time.Second, Timeout: 10 * time.Second,
	}
	for _, f := range change {
		f(&o)
	}
	provider := hfjobs.New(o)
	p.ahead.Add(int64(3 * time.Minute))
	return provider
}

func spec(run, what string) jobs.Spec {
	return jobs.Spec{
		Run: run, Flavor: "a100x8", Timeout: 8 * time.Hour, Config: []byte("[model]\n"), Files: map[string][]byte{"task-lists/eval_dataset.txt": []byte("sealed-task\n")},
		Image: "example/pipeline:1", Command: []string{"bash", "-c", "true", what}, Env: map[string]string{"ARENA_RUN_ID": run}, Secrets: map[string]string{"ARENA_RELAY_SECRET": "relayCANARY"},
	}
}

func TestConformance(t *testing.T) {
	places := map[jobs.Provider]*place{}
	open := func(t testing.TB) *place { return newPlace(t) }
	jobstest.Run(t, jobstest.Harness{
		New: func(t testing.TB) jobs.Provider {
			p := open(t)
			provider := p.open()
			places[provider] = p
			return provider
		},
		Short:   func(run string) jobs.Spec { return spec(run, "short") },
		Uploads: []string{"reports/score.json", "jobs/grpo-gate/big.bin"},
		Long:    func(run string) jobs.Spec { return spec(run, "long") },
		Bad: func(run string) jobs.Spec {
			s := spec(run, "long")
			s.Flavor = "z9000"
			return s
		},
		Reopen: func(_ testing.TB, old jobs.Provider) jobs.Provider { return places[old].open() },
		Lost: func(t testing.TB) jobs.Provider {
			p := open(t)
			p.hub.Fail("POST /api/jobs/", 1, hubtest.Lost())
			return p.open()
		},
		Away: func(t testing.TB) jobs.Provider {
			p := open(t)
			p.hub.Down(true)
			return p.open()
		},
	})
}
