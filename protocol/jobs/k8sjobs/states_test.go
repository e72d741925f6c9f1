package k8sjobs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/posttrainarena/arena/protocol/jobs"
	"github.com/posttrainarena/arena/protocol/jobs/k8sjobs"
	"github.com/posttrainarena/arena/protocol/jobs/k8sjobs/k8stest"
)

// TestManifest compares what the cluster is asked for with a golden file. It has the
// secret's name and not its value, and no sealed task.
func TestManifest(t *testing.T) {
	w := begin(t, func(_ *k8stest.Options, o *k8sjobs.Options) {
		o.Environment = map[string]string{"HF_HOME": "/arena/run/cache", "HF_TOKEN": "never this one", "PRICE": "$(not a variable)"}
		o.Secrets = map[string]k8sjobs.SecretKey{"HF_TOKEN": {Secret: "hub", Key: "token"}}
	})
	spec := jobs.Spec{
		Run: run, Flavor: "a100x8", Timeout: 8 * time.Hour, Config: []byte("config"),
		Files:      map[string][]byte{"task-lists/eval_dataset.txt": []byte("sealed-001\n")},
		Collection: fstest.MapFS{"envs/tidy-001/task.md": {Data: []byte("# Tidy")}},
		Env:        map[string]string{"RELAY": "wss://relay.example.org"},
		Secrets:    map[string]string{"RELAY_KEY": "key-of-this-run"},
	}
	if _, err := w.provider.Start(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	var sent string
	for _, r := range w.Requests() {
		if r.Method == "POST" {
			sent = r.Body
		}
	}
	var manifest map[string]any
	if err := json.Unmarshal([]byte(sent), &manifest); err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(manifest, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	const golden = "testdata/job.golden.json"
	if os.Getenv("ARENA_UPDATE") != "" {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("the Job differs from %s; ARENA_UPDATE=1 rewrites it (-want +got):\n%s", golden, diff)
	}
	for _, secret := range []string{"sealed-001", "never this one", "key-of-this-run", canary} {
		if strings.Contains(sent, secret) {
			t.Errorf("the manifest holds %q", secret)
		}
	}
	for path, mode := range map[string]os.FileMode{"": os.ModeDir | 0o700, "run": os.ModeDir | 0o700, "run/task-lists/eval_dataset.txt": 0o600, "run/config.toml": 0o600, "run/collection/envs/tidy-001/task.md": 0o600, "output": os.ModeDir | 0o700, "record.json": 0o600, "secrets": os.ModeDir | 0o700, "secrets/RELAY_KEY": 0o600} {
		info, err := os.Stat(filepath.Join(w.dir, name, path))
		if err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v; want mode %v", path, info, err, mode)
		}
	}
}

// TestNames: whatever a run is called, its Job has a name and a label that a cluster
// takes, and is found by the run's own id.
func TestNames(t *testing.T) {
	w := begin(t)
	long := strings.Repeat("a-very-long-challenge.", 3) + "-0123456789ab"
	ids := map[string]bool{}
	for _, id := range []string{run, long, long + "c", "qwen3.5-9b-0123456789ab", "qwen3-5-9b-0123456789ab", "UPPER-0123456789ab", "-", strings.Repeat("x", 57), strings.Repeat("x", 58), "größe-0123456789ab"} {
		job, err := w.provider.Start(t.Context(), short(id))
		if err != nil {
			t.Errorf("%q: %v", id, err)
			continue
		}
		found, err := w.provider.Find(t.Context(), id)
		if err != nil || len(found) != 1 || found[0].Run != id || found[0].ID != job.ID || ids[job.ID] {
			t.Errorf("%q: found %+v, %v", id, found, err)
		}
		ids[job.ID] = true
	}
}

// at is a moment after the job began, by the second.
func at(seconds int) meta.Time {
	return meta.NewTime(time.Date(2026, 11, 29, 12, 0, seconds, 0, time.UTC))
}

// ran is a container that ran from second 10 to 70 on a pod that was on its node
// from second 5 on.
func ran(pod *core.Pod, reason string, code int32) {
	pod.Status.StartTime = new(at(5))
	pod.Status.Phase = core.PodFailed
	pod.Status.ContainerStatuses = []core.ContainerStatus{{Name: "run", State: core.ContainerState{Terminated: &core.ContainerStateTerminated{
		Reason: reason, ExitCode: code, StartedAt: at(10), FinishedAt: at(70),
	}}}}
}

// fails is the condition of a Job that has failed.
func fails(job *batch.Job, reason, message string) {
	job.Status.Conditions = []batch.JobCondition{
		{Type: batch.JobFailureTarget, Status: core.ConditionTrue, Reason: reason, Message: message, LastTransitionTime: at(70)},
		{Type: batch.JobFailed, Status: core.ConditionTrue, Reason: reason, Message: message, LastTransitionTime: at(72)},
	}
}

// waits is a container that has not started.
func waits(pod *core.Pod, reason, message string) {
	pod.Status.StartTime = new(at(5))
	pod.Status.ContainerStatuses = []core.ContainerStatus{{Name: "run", State: core.ContainerState{Waiting: &core.ContainerStateWaiting{Reason: reason, Message: message}}}}
}

// TestStates shows what the provider says about a job in every state that a cluster
// brings it into.
func TestStates(t *testing.T) {
	const backoff = "Job has reached the specified backoff limit"
	tests := []struct {
		what    string
		edit    func(job *batch.Job, pod *core.Pod)
		status  jobs.Status
		message string
		billed  time.Duration
	}{
		{"new", func(*batch.Job, *core.Pod) {}, jobs.Scheduling, "", 0},
		{"no node has the GPUs", func(_ *batch.Job, pod *core.Pod) {
			pod.Status.StartTime, pod.Status.ContainerStatuses = nil, nil
			pod.Status.Conditions = []core.PodCondition{{Type: core.PodScheduled, Status: core.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available:\n3 Insufficient nvidia.com/gpu."}}
		}, jobs.Scheduling, "Unschedulable: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu.", 0},
		{"the image cannot be pulled", func(_ *batch.Job, pod *core.Pod) {
			waits(pod, "ImagePullBackOff", `Back-off pulling image "registry.example.org/pipeline:1"`)
		}, jobs.Scheduling, `ImagePullBackOff: Back-off pulling image "registry.example.org/pipeline:1"`, 115 * time.Second},
		{"held back", func(job *batch.Job, pod *core.Pod) {
			pod.Status.StartTime = nil
			job.Status.Conditions = []batch.JobCondition{{Type: batch.JobSuspended, Status: core.ConditionTrue}}
		}, jobs.Scheduling, "Suspended: the cluster holds the job back", 0},
		{"running", func(_ *batch.Job, pod *core.Pod) {
			pod.Status.StartTime = new(at(5))
			pod.Status.ContainerStatuses = []core.ContainerStatus{{Name: "run", State: core.ContainerState{Running: &core.ContainerStateRunning{StartedAt: at(10)}}}}
		}, jobs.Running, "", 115 * time.Second},
		{"the container has ended, the Job not yet", func(_ *batch.Job, pod *core.Pod) { ran(pod, "Completed", 0) }, jobs.Running, "", 65 * time.Second},
		{"completed", func(job *batch.Job, pod *core.Pod) {
			ran(pod, "Completed", 0)
			job.Status.Conditions = []batch.JobCondition{{Type: batch.JobComplete, Status: core.ConditionTrue, LastTransitionTime: at(72)}}
		}, jobs.Completed, "", 65 * time.Second},
		{"about to be complete", func(job *batch.Job, pod *core.Pod) {
			ran(pod, "Completed", 0)
			job.Status.Conditions = []batch.JobCondition{{Type: batch.JobSuccessCriteriaMet, Status: core.ConditionTrue, LastTransitionTime: at(72)}}
		}, jobs.Running, "", 65 * time.Second},
		{"the command failed", func(job *batch.Job, pod *core.Pod) {
			ran(pod, "Error", 3)
			fails(job, batch.JobReasonBackoffLimitExceeded, backoff)
		}, jobs.Failed, "Error: the command exited with code 3", 65 * time.Second},
		{"out of memory", func(job *batch.Job, pod *core.Pod) {
			ran(pod, "OOMKilled", 137)
			fails(job, batch.JobReasonBackoffLimitExceeded, backoff)
		}, jobs.Failed, "OOMKilled: the command used more memory than its container may have (exit code 137)", 65 * time.Second},
		{"killed", func(job *batch.Job, pod *core.Pod) {
			ran(pod, "Error", 137)
			fails(job, batch.JobReasonBackoffLimitExceeded, backoff)
		}, jobs.Failed, "Killed: the command was killed from outside (exit code 137)", 65 * time.Second},
		{"no such program", func(job *batch.Job, pod *core.Pod) {
			ran(pod, "StartError", 128)
			pod.Status.ContainerStatuses[0].State.Terminated.Message = `exec: "train": executable file not found in $PATH`
			fails(job, batch.JobReasonBackoffLimitExceeded, backoff)
		}, jobs.Failed, `StartError: exec: "train": executable file not found in $PATH (exit code 128)`, 65 * time.Second},
		{"evicted", func(job *batch.Job, pod *core.Pod) {
			ran(pod, "Error", 137)
			pod.Status.Reason, pod.Status.Message = "Evicted", "The node was low on resource: ephemeral-storage. "
			fails(job, batch.JobReasonBackoffLimitExceeded, backoff)
		}, jobs.Failed, "Evicted: The node was low on resource: ephemeral-storage.", 65 * time.Second},
		{"preempted", func(job *batch.Job, pod *core.Pod) {
			ran(pod, "Error", 143)
			pod.Status.Conditions = []core.PodCondition{{Type: core.DisruptionTarget, Status: core.ConditionTrue, Reason: "PreemptionByScheduler", Message: "default-scheduler: preempting to accommodate a higher priority pod"}}
			fails(job, batch.JobReasonBackoffLimitExceeded, backoff)
		}, jobs.Failed, "PreemptionByScheduler: default-scheduler: preempting to accommodate a higher priority pod", 65 * time.Second},
		{"the pod is gone", func(job *batch.Job, pod *core.Pod) {
			pod.OwnerReferences = nil
			fails(job, batch.JobReasonBackoffLimitExceeded, backoff)
		}, jobs.Failed, "BackoffLimitExceeded: " + backoff, 0},
		{"its time is over", func(job *batch.Job, pod *core.Pod) {
			ran(pod, "Error", 143)
			pod.Status.Reason, pod.Status.Message = "DeadlineExceeded", "Pod was active on the node longer than the specified deadline"
			fails(job, batch.JobReasonBackoffLimitExceeded, backoff)
		}, jobs.TimedOut, "DeadlineExceeded: Pod was active on the node longer than the specified deadline", 65 * time.Second},
		{"it never ran", func(job *batch.Job, pod *core.Pod) {
			waits(pod, "ImagePullBackOff", "Back-off pulling image")
			pod.Status.StartTime = nil
			fails(job, batch.JobReasonDeadlineExceeded, "Job was active longer than specified deadline")
		}, jobs.Failed, "DeadlineExceeded: the job never ran, because its pod waited for too long (ImagePullBackOff: Back-off pulling image)", 0},
		{"billed beyond the limit", func(job *batch.Job, pod *core.Pod) {
			ran(pod, "Completed", 0)
			pod.Status.ContainerStatuses[0].State.Terminated.FinishedAt = at(10_000)
			job.Status.Conditions = []batch.JobCondition{{Type: batch.JobComplete, Status: core.ConditionTrue, LastTransitionTime: at(10_000)}}
		}, jobs.Completed, "", time.Hour},
		{"over within a second", func(job *batch.Job, pod *core.Pod) {
			ran(pod, "Completed", 0)
			pod.Status.StartTime = new(at(70))
			job.Status.Conditions = []batch.JobCondition{{Type: batch.JobComplete, Status: core.ConditionTrue, LastTransitionTime: at(70)}}
		}, jobs.Completed, "", time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			now := func() time.Time { return at(120).Time }
			w := begin(t, func(theirs *k8stest.Options, ours *k8sjobs.Options) {
				theirs.Program, theirs.Now, ours.Now = nil, func() time.Time { return at(0).Time }, now
			})
			if _, err := w.provider.Start(t.Context(), short(run)); err != nil {
				t.Fatal(err)
			}
			w.Edit(name, func(_ *batch.Job, pod *core.Pod) { pod.Status.StartTime = nil })
			w.Edit(name, tt.edit)
			got, err := w.provider.Inspect(t.Context(), name)
			if err != nil || got.Status != tt.status || got.Message != tt.message || got.Billed != tt.billed {
				t.Errorf("it is %+v, %v; want %s, %q, billed %s", got, err, tt.status, tt.message, tt.billed)
			}
			if !got.Status.Ended() {
				return
			}
			// What is known of an ended job does not depend on the cluster any more.
			w.Forget(name)
			again, err := w.provider.Inspect(t.Context(), name)
			if err != nil || again != got {
				t.Errorf("once the cluster has forgotten it, it is %+v, %v; it was %+v", again, err, got)
			}
			for line, err := range w.provider.Logs(t.Context(), name, 0) {
				t.Errorf("the log of a forgotten job: %v, %v", line, err)
			}
		})
	}
}

// TestDeadlineOfTheJob: a node that no longer answers keeps the pod from ending, so
// the Job's own deadline does, and takes the pod along. What it ran is remembered.
func TestDeadlineOfTheJob(t *testing.T) {
	now := at(0).Time
	w := begin(t, func(theirs *k8stest.Options, ours *k8sjobs.Options) {
		theirs.Program, theirs.Now, ours.Now = nil, func() time.Time { return at(0).Time }, func() time.Time { return now }
	})
	if _, err := w.provider.Start(t.Context(), short(run)); err != nil {
		t.Fatal(err)
	}
	w.Edit(name, func(_ *batch.Job, pod *core.Pod) {
		pod.Status.StartTime = new(at(5))
		pod.Status.ContainerStatuses = []core.ContainerStatus{{Name: "run", State: core.ContainerState{Running: &core.ContainerStateRunning{StartedAt: at(10)}}}}
	})
	if _, err := w.provider.Inspect(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	w.Edit(name, func(job *batch.Job, pod *core.Pod) {
		pod.OwnerReferences = nil // deleted
		fails(job, batch.JobReasonDeadlineExceeded, "Job was active longer than specified deadline")
	})
	got, err := w.provider.Inspect(t.Context(), name)
	if err != nil || got.Status != jobs.TimedOut || got.Billed != 67*time.Second || !got.StartedAt.Equal(at(10).Time) {
		t.Errorf("it is %+v, %v", got, err)
	}
}

// TestForgotten shows whom the arena remembers when the cluster has nobody.
func TestForgotten(t *testing.T) {
	t.Run("deleted by somebody else", func(t *testing.T) {
		w := begin(t)
		if _, err := w.provider.Start(t.Context(), long(run)); err != nil {
			t.Fatal(err)
		}
		w.Forget(name)
		_, err := w.provider.Inspect(t.Context(), name)
		found, findErr := w.provider.Find(t.Context(), run)
		if !errors.Is(err, jobs.ErrNoJob) || findErr != nil || len(found) != 0 {
			t.Errorf("Inspect: %v; Find: %v, %v", err, found, findErr)
		}
	})
	t.Run("canceled", func(t *testing.T) {
		w := begin(t)
		if _, err := w.provider.Start(t.Context(), long(run)); err != nil {
			t.Fatal(err)
		}
		if err := w.provider.Cancel(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		ended := w.ended(t)
		for _, p := range []*k8sjobs.Provider{w.provider, w.open(t)} { // and after a restart
			found, err := p.Find(t.Context(), run)
			if err != nil || len(found) != 1 || found[0] != ended || ended.Status != jobs.Canceled {
				t.Errorf("Find: %+v, %v; want %+v", found, err, ended)
			}
			again, err := p.Start(t.Context(), long(run))
			if err != nil || again != ended {
				t.Errorf("the same launch again: %+v, %v", again, err)
			}
			if err := p.Cancel(t.Context(), name); err != nil {
				t.Errorf("Cancel: %v", err)
			}
		}
		if n := len(w.Jobs()); n != 0 {
			t.Errorf("%d Jobs exist", n)
		}
	})
	t.Run("the directory is not mounted", func(t *testing.T) {
		w := begin(t)
		if _, err := w.provider.Start(t.Context(), long(run)); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(w.dir, w.dir+"-away"); err != nil {
			t.Fatal(err)
		}
		_, err := w.provider.Find(t.Context(), run)
		_, artifacts := w.provider.Artifacts(t.Context(), name)
		if !errors.Is(err, jobs.ErrUnreachable) || !errors.Is(artifacts, jobs.ErrUnreachable) {
			t.Errorf("Find: %v; Artifacts: %v", err, artifacts)
		}
		if err := os.Rename(w.dir+"-away", w.dir); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("its directory is gone", func(t *testing.T) {
		w := begin(t)
		if _, err := w.provider.Start(t.Context(), long(run)); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(w.dir, name)); err != nil {
			t.Fatal(err)
		}
		job, err := w.provider.Inspect(t.Context(), name)
		_, artifacts := w.provider.Artifacts(t.Context(), name)
		if err != nil || job.Status != jobs.Running || job.Run != run || !errors.Is(artifacts, jobs.ErrUnreachable) {
			t.Errorf("%+v, %v; Artifacts: %v", job, err, artifacts)
		}
	})
}

// TestSomebodyElsesJob: a Job that the arena has not made is not looked at, not
// adopted and not deleted.
func TestSomebodyElsesJob(t *testing.T) {
	w := begin(t)
	if _, err := w.provider.Start(t.Context(), long(run)); err != nil {
		t.Fatal(err)
	}
	w.Edit(name, func(job *batch.Job, _ *core.Pod) { job.Annotations = nil })
	_, inspect := w.provider.Inspect(t.Context(), name)
	cancel := w.provider.Cancel(t.Context(), name)
	if !errors.Is(inspect, jobs.ErrNoJob) || !errors.Is(cancel, jobs.ErrNoJob) {
		t.Errorf("Inspect: %v; Cancel: %v", inspect, cancel)
	}
	if _, err := w.provider.Start(t.Context(), long(run)); !errors.Is(err, jobs.ErrUnreachable) || !strings.Contains(err.Error(), "taken by a Job that is not the arena's") {
		t.Errorf("Start: %v", err)
	}
	w.Edit(name, func(job *batch.Job, _ *core.Pod) {
		job.Annotations = map[string]string{"posttrainarena/run": "another-run"}
	})
	if _, err := w.provider.Start(t.Context(), long(run)); !errors.Is(err, jobs.ErrRefused) || !strings.Contains(err.Error(), `belongs to "another-run"`) {
		t.Errorf("Start: %v", err)
	}
	if got := w.Jobs(); len(got) != 1 || got[0].DeletionTimestamp != nil {
		t.Errorf("it was touched: %+v", got)
	}
}

// TestWaits: a job that cannot run says why, and a secret that is not there is one
// such reason.
func TestWaits(t *testing.T) {
	w := begin(t, func(_ *k8stest.Options, o *k8sjobs.Options) {
		o.Secrets = map[string]k8sjobs.SecretKey{"HF_TOKEN": {Secret: "forgotten", Key: "token"}}
	})
	for flavor, says := range map[string]string{"huge": "Unschedulable: 0/1 nodes", "small": `CreateContainerConfigError: secret "forgotten" not found`} {
		spec := short("run-" + flavor)
		spec.Flavor = flavor
		job, err := w.provider.Start(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		if job, err = w.provider.Inspect(t.Context(), job.ID); err != nil || job.Status != jobs.Scheduling || !strings.HasPrefix(job.Message, says) {
			t.Errorf("%s: %+v, %v", flavor, job, err)
		}
		if err := w.provider.Cancel(t.Context(), job.ID); err != nil {
			t.Error(err)
		}
	}
}

// TestKeep: directories of jobs go when their time is over, and only those.
func TestKeep(t *testing.T) {
	now := time.Now()
	w := begin(t, func(_ *k8stest.Options, o *k8sjobs.Options) { o.Now = func() time.Time { return now } })
	if _, err := w.provider.Start(t.Context(), short(run)); err != nil {
		t.Fatal(err)
	}
	w.ended(t)
	if err := os.Mkdir(filepath.Join(w.dir, "not-a-job"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		run   string
		later time.Duration
		there bool
	}{{"second", 23 * time.Hour, true}, {"third", 2 * time.Hour, false}} {
		now = now.Add(step.later)
		if _, err := w.provider.Start(t.Context(), long(step.run)); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(w.dir, name)); err == nil != step.there {
			t.Errorf("before %s: %v", step.run, err)
		}
	}
	for _, stays := range []string{"not-a-job", "arena-second", "arena-third"} {
		if _, err := os.Stat(filepath.Join(w.dir, stays)); err != nil {
			t.Error(err)
		}
	}
}

// TestSecretsOfARun follows them from the launch to the end of the job: they are files
// of the job alone, those of the newest launch where the Job turns out to be there, in
// nothing that the cluster is told, and gone when the job has ended.
func TestSecretsOfARun(t *testing.T) {
	goOn := make(chan struct{})
	found := make(chan string, 1)
	w := begin(t, func(theirs *k8stest.Options, _ *k8sjobs.Options) {
		theirs.Program = func(_ context.Context, c *k8stest.Container) int {
			<-goOn
			secret, err := os.ReadFile(c.Path(c.Getenv("RELAY_KEY_FILE")))
			found <- fmt.Sprint(string(secret), err)
			return 0
		}
	})
	launch := func(secret string) error {
		spec := short(run)
		spec.Secrets = map[string]string{"RELAY_KEY": secret}
		_, err := w.provider.Start(t.Context(), spec)
		return err
	}
	w.Inject(k8stest.Fault{Verb: "create", Times: 1, Lost: true})
	if err := launch("canary-first"); !errors.Is(err, jobs.ErrUnknown) {
		t.Fatal(err)
	}
	if err := launch("canary-second"); err != nil || w.Created() != 1 {
		t.Fatalf("%d jobs, %v", w.Created(), err)
	}
	close(goOn)
	if got := <-found; got != "canary-second<nil>" {
		t.Errorf("the command reads %s", got)
	}
	if job := w.ended(t); job.Status != jobs.Completed {
		t.Errorf("%+v", job)
	}
	if _, err := os.Stat(filepath.Join(w.dir, name, "secrets")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the secrets outlive the job: %v", err)
	}
	if err := launch("canary-third"); err != nil { // an ended job is the job, and gets none
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(w.dir, name, "secrets")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an ended job gets secrets: %v", err)
	}
	for _, r := range w.Requests() {
		if strings.Contains(r.URL+r.Body, "canary-first") || strings.Contains(r.URL+r.Body, "canary-second") {
			t.Errorf("the cluster is told a secret: %s %s", r.Method, r.URL)
		}
	}
}
