package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posttrainarena/arena/configs"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/arena"
	"github.com/posttrainarena/arena/protocol/hub/hubtest"
	"github.com/posttrainarena/arena/protocol/jobs"
	"github.com/posttrainarena/arena/protocol/jobs/simulated"
)

// What the arena and its jobs show the hub when runs are GPU jobs there.
const (
	runsToken    = "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12"
	sandboxToken = "sandbox-CANARY-key"
	runsDataset  = "benchflow/runs"
)

// hubJobs is the configuration that has runs be jobs of the hub. Runs are found
// within a second, so that what a listing proves does not take minutes.
const hubJobs = `
[server]
base_url = "ARENA_URL"
[providers]
default = "huggingface"
[providers.huggingface]
image = "example.org/pipeline:1"
namespace = "benchflow"
runs_dataset = "benchflow/runs"
token_env = "RUNS_TOKEN"
secrets = ["SANDBOX_KEY"]
settle_seconds = 1
`

// jobTown is a town whose arena runs jobs on the hub.
type jobTown struct {
	*town
	jobs *hubtest.Jobs
	env  string // the collection
}

func newJobTown(t *testing.T) *jobTown {
	t.Helper()
	w := &jobTown{town: newTown(t, hubtest.NewHuggingFace(t), hubJobs)}
	w.hub.Issue(runsToken, hubtest.Token{Account: hubtest.Account{Name: "arena-bot"}, Kind: "write", Grants: runsDataset})
	d := w.hub.Dataset(runsDataset)
	d.Private = true
	d.Commit([]hubtest.File{{Path: "README.md", Text: "Runs.\n"}}, "main")
	w.jobs = hubtest.NewJobs(w.hub, "benchflow")
	w.hub.Dataset("ada/tasks").Commit(sampleFiles(t, "pack"), "main")
	_, raw := w.want(201, "env-", "POST", "/api/environments", personsToken, map[string]any{
		"challenge_id": "tb2-9b", "repo_type": "dataset", "repo_id": "ada/tasks", "revision": "main", "entry_path": "pack", "title": "Sample",
	})
	var env api.Environment
	if err := json.Unmarshal([]byte(raw), &env); err != nil {
		t.Fatal(err)
	}
	w.env = env.ID
	return w
}

// play has a job do what the pipeline does: it reads its files from the runs
// dataset at the commit that it was told, prints the pipeline's lines, and uploads
// what it leaves. What it measures is the simulated provider's.
func (w *jobTown) play(job *hubtest.Job) {
	w.t.Helper()
	env := job.Spec.Environment
	files, _, ok := w.hub.Dataset(runsDataset).At(env["ARENA_BUNDLE_REVISION"])
	lists, config := map[string][]string{}, ""
	for _, f := range files {
		switch name, _ := strings.CutPrefix(f.Path, env["ARENA_BUNDLE_PATH"]+"/"); name {
		case "config.toml":
			config = f.Text
		case "task-lists/train_dataset.txt", "task-lists/eval_dataset.txt":
			lists[name] = strings.Fields(f.Text)
		}
	}
	run := job.Spec.Labels["arena-run"]
	dir := "submissions/" + w.env + "/"
	if !ok || len(lists) != 2 || !strings.Contains(config, `repo_id = "benchflow/runs"`) && !strings.Contains(config, `repo_id = 'benchflow/runs'`) || !strings.Contains(config, dir) {
		w.t.Errorf("the job of %s finds %d task lists and the config\n%s", run, len(lists), config)
		return
	}
	tree, err := measure(w.t.TempDir(), run, config, lists, job.Print)
	if err != nil {
		w.t.Error(err)
		return
	}
	d := w.hub.Dataset(runsDataset)
	all, _, _ := d.At("main")
	all = append([]hubtest.File{}, all...)
	if err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasPrefix(name, "reports/") {
			return err
		}
		text, err := fs.ReadFile(tree, name)
		all = append(all, hubtest.File{Path: env["ARENA_OUTPUT_PATH"] + "/" + name, Text: string(text)})
		return err
	}); err != nil {
		w.t.Error(err)
		return
	}
	d.Commit(all, "main")
	job.End("COMPLETED", "", 90*time.Second)
}

// measure makes up what a run of tb2-9b measures: the lines that the pipeline prints,
// and what it leaves.
func measure(dir, run, config string, lists map[string][]string, line func(...string)) (fs.FS, error) {
	cfg, err := configs.Default()
	if err != nil {
		return nil, err
	}
	parts, err := arena.Configure(cfg)
	if err != nil {
		return nil, err
	}
	var challenge protocol.Challenge
	for _, c := range parts.Challenges {
		if c.ID == "tb2-9b" {
			challenge = c
		}
	}
	player, err := simulated.Open(simulated.Options{Dir: dir, Now: time.Now, PricePerHour: map[string]protocol.Micros{challenge.Compute.Flavor: 1}, Speed: 1e9, Seed: 7})
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	played, err := player.Start(ctx, jobs.Spec{
		Run: run, Flavor: challenge.Compute.Flavor, Timeout: 8 * time.Hour, Config: []byte(config), Command: []string{"true"},
		Simulation: jobs.Simulation{
			Challenge: challenge, Revision: strings.Repeat("a", 40), Source: "bundle", Train: lists["task-lists/train_dataset.txt"],
			Sealed: map[string][]string{challenge.Suites[0].ID: lists["task-lists/eval_dataset.txt"]},
		},
	})
	if err != nil {
		return nil, err
	}
	for l, err := range player.Logs(ctx, played.ID, 0) {
		if err != nil {
			return nil, err
		}
		line(l.Text)
	}
	return player.Artifacts(ctx, played.ID)
}

// launch asks for a run once; the error is that of a connection that broke.
func (w *jobTown) launch(request string) (status int, run api.Run, err error) {
	body := fmt.Sprintf(`{"request_id":%q,"environment_id":%q}`, request, w.env)
	r, err := http.NewRequestWithContext(w.t.Context(), "POST", w.url+"/api/challenges/tb2-9b/runs", strings.NewReader(body))
	if err != nil {
		return 0, run, err
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + personsToken}}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		return 0, run, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 == 2 {
		err = json.Unmarshal(raw, &run)
	}
	return resp.StatusCode, run, err
}

// run reads a run as an editor.
func (w *jobTown) run(id string) (r api.Run) {
	w.t.Helper()
	_, raw := w.want(200, id, "GET", "/api/challenges/tb2-9b/runs/"+id, personsToken, nil)
	if err := json.Unmarshal([]byte(raw), &r); err != nil {
		w.t.Fatal(err)
	}
	return r
}

// until waits for what processes do in their own time.
func (w *jobTown) until(what string, holds func() bool) {
	w.t.Helper()
	for range 1200 {
		if holds() {
			return
		}
		time.Sleep(25 * time.Millisecond)
	}
	w.t.Fatalf("it never came about that %s\n%s", what, w.log.String())
}

// TestHubJobs takes a collection of a dataset through a GPU job of the hub to a
// result, with the job's model called through the relay on the way, and then looks
// for every secret in what the arena has left.
func TestHubJobs(t *testing.T) {
	w := newJobTown(t)
	created := make(chan *hubtest.Job, 1)
	w.jobs.Play = func(job *hubtest.Job) { created <- job }
	status, run, err := w.launch("launch-hub-1")
	if err != nil || status != 201 {
		t.Fatalf("%d %v\n%s", status, err, w.log.String())
	}
	job := <-created
	if again, same, err := w.launch("launch-hub-1"); err != nil || again != 200 || same.RunID != run.RunID {
		t.Errorf("once more: %d %v %v", again, same.RunID, err)
	}
	for name, value := range map[string]string{"ARENA_URL": w.url, "ARENA_RUN_ID": run.RunID, "ARENA_RELAY_URL": w.url + "/relay/" + run.RunID + "/v1", "ARENA_SERVING_GPUS": "4", "ARENA_TRAINER_GPUS": "0,1,2,3"} {
		if got := job.Spec.Environment[name]; got != value {
			t.Errorf("the job is told %s=%s, want %s", name, got, value)
		}
	}
	secrets := job.Spec.Secrets
	if secrets["SANDBOX_KEY"] != sandboxToken || secrets["ARENA_RELAY_SECRET"] == "" || secrets["ARENA_RELAY_KEY"] == "" || secrets["ARENA_RELAY_KEY"] == secrets["ARENA_RELAY_SECRET"] {
		t.Error("the job lacks secrets")
	}

	if w.run(run.RunID).Image == nil || *w.run(run.RunID).Image != job.Spec.DockerImage {
		t.Errorf("the run's record does not name the image %s", job.Spec.DockerImage)
	}
	w.plan(run.RunID, job)

	// The job's side of the tunnel, as the job runs it.
	model := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer bridge-CANARY" {
			rw.WriteHeader(401)
			return
		}
		fmt.Fprintf(rw, `{"object":"list","path":%q}`, r.URL.Path)
	}))
	defer model.Close()
	path := "/relay/" + run.RunID + "/v1/models"
	w.want(503, "no-job", "GET", path, secrets["ARENA_RELAY_KEY"], nil)
	tunnel := exec.Command("arena", "relay", "connect", "--run", run.RunID, "--to", model.URL)
	tunnel.Env = append(os.Environ(), "ARENA_URL="+w.url, "ARENA_RELAY_SECRET="+secrets["ARENA_RELAY_SECRET"], "ARENA_MODEL_KEY=bridge-CANARY", "JOB_ID="+job.ID)
	var tunnelLog lockedBuffer
	tunnel.Stdout, tunnel.Stderr = &tunnelLog, &tunnelLog
	if err := tunnel.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- tunnel.Wait() }()
	defer func() { _ = tunnel.Process.Kill() }()
	w.until("the relay is connected", func() bool { r := w.run(run.RunID); return r.Relay != nil && r.Relay.State == protocol.RelayConnected })
	w.want(200, `"path":"/v1/models"`, "GET", path, secrets["ARENA_RELAY_KEY"], nil)
	w.want(401, "bad-key", "GET", path, personsToken, nil)
	w.want(200, `"ok":true`, "GET", "/relay/"+run.RunID+"/health", "", nil)
	w.want(404, "no-run", "GET", "/relay/challenge-000000000000/v1/models", secrets["ARENA_RELAY_KEY"], nil)
	if _, raw := w.want(200, run.RunID, "GET", "/api/challenges/tb2-9b/runs/"+run.RunID, readersToken, nil); strings.Contains(raw, `"relay"`) {
		t.Error("people who are no editors see the relay")
	}
	w.play(job)
	w.until("the run is scored", func() bool { return w.run(run.RunID).State == protocol.RunScored })
	w.want(201, `"delta_pp"`, "POST", "/api/challenges/tb2-9b/runs/"+run.RunID+"/collect", personsToken, nil)
	w.until("the relay is closed", func() bool { r := w.run(run.RunID); return r.Relay != nil && r.Relay.State == protocol.RelayClosed })
	if r := w.run(run.RunID).Relay; r.Succeeded != 1 || r.Connections != 1 {
		t.Errorf("counted: %+v", r)
	}
	w.want(410, "run-ended", "GET", path, secrets["ARENA_RELAY_KEY"], nil)
	w.until("the job's side has given up", func() bool {
		select {
		case err := <-ended:
			if err == nil {
				t.Error("the end of the run is no error of the tunnel")
			}
			return true
		default:
			return false
		}
	})
	live := w.bytes()
	w.stop()
	for what, text := range map[string]string{"the arena's log": w.log.String(), "the tunnel's log": tunnelLog.String(), "the answers": w.said.String(), "the data directory": w.bytes(), "a live data directory": live} {
		for _, secret := range []string{secretWord, secrets["ARENA_RELAY_KEY"], secrets["ARENA_RELAY_SECRET"]} {
			if strings.Contains(text, secret) {
				t.Errorf("%s hold a secret", what)
			}
		}
	}
}

// plan reads with the command line what the job executes: what the hub was asked for,
// without a secret and without a sealed task.
func (w *jobTown) plan(run string, job *hubtest.Job) {
	w.t.Helper()
	cli := exec.Command("arena", "run", "plan", run)
	cli.Env = append(os.Environ(), "ARENA_URL="+w.url, "ARENA_TOKEN="+personsToken)
	out, err := cli.Output()
	var plan api.RunPlan
	if err != nil || json.Unmarshal(out, &plan) != nil || plan.Job == nil {
		w.t.Fatalf("arena run plan: %v\n%s", err, out)
	}
	if plan.Job.Image != job.Spec.DockerImage || strings.Join(plan.Job.Command, "\n") != strings.Join(job.Spec.Command, "\n") || plan.Job.Env["ARENA_RELAY_URL"] != job.Spec.Environment["ARENA_RELAY_URL"] {
		w.t.Errorf("the plan differs from what the hub was asked for:\n%s", out)
	}
	for _, name := range plan.Job.Secrets {
		if value := job.Spec.Secrets[name]; value == "" || strings.Contains(string(out), value) {
			w.t.Errorf("the plan names the secret %s, which the job lacks, or shows it", name)
		}
	}
	if len(plan.Job.Secrets) != len(job.Spec.Secrets) || plan.TaskLists["task-lists/eval_dataset.txt"] != 32 || !strings.Contains(plan.Config, "[train_dataset]") {
		w.t.Errorf("the plan is\n%s", out)
	}
	files, _, _ := w.hub.Dataset(runsDataset).At(job.Spec.Environment["ARENA_BUNDLE_REVISION"])
	for _, f := range files {
		if strings.HasSuffix(f.Path, "task-lists/eval_dataset.txt") {
			for name := range strings.FieldsSeq(f.Text) {
				if strings.Contains(string(out), name) {
					w.t.Errorf("the plan names the sealed task %s", name)
				}
			}
		}
	}
	w.want(403, "not-author", "GET", "/api/challenges/tb2-9b/runs/"+run+"/plan", readersToken, nil)
	if bash, err := exec.LookPath("bash"); err == nil {
		if out, err := exec.Command(bash, "-n", "-c", plan.Job.Command[2]).CombinedOutput(); err != nil {
			w.t.Errorf("the script is no script: %v\n%s", err, out)
		}
	}
}

// TestHubJobsCanceled: the provider stops the job, and the ledger holds what it ran.
func TestHubJobsCanceled(t *testing.T) {
	w := newJobTown(t)
	w.jobs.Play = func(job *hubtest.Job) { job.Print("pipeline ref main at 0123456") }
	_, run, err := w.launch("launch-hub-1")
	if err != nil {
		t.Fatal(err)
	}
	w.want(200, run.RunID, "POST", "/api/challenges/tb2-9b/runs/"+run.RunID+"/cancel", personsToken, nil)
	w.until("the run is canceled", func() bool { return w.run(run.RunID).State == protocol.RunCanceled })
	if got := w.run(run.RunID); got.SettledUSD == nil || *got.SettledUSD > 333_333 || w.jobs.All()[0].Stage() != "CANCELED" {
		t.Errorf("it cost %v", got.SettledUSD)
	}
}

// TestHubJobsCrash kills the arena at each call that a run makes to the hub: before
// the hub gets it, when the hub has done it and not answered, and right after its
// answer. Whatever happens, there is one job in the end, its run is scored, and the
// ledger holds what it cost.
func TestHubJobsCrash(t *testing.T) {
	if testing.Short() {
		t.Skip("kills a server for every call that a run makes")
	}
	calls := crashAt(t, 0, "never")
	if calls < 10 {
		t.Fatalf("a run makes %d calls; too few to be one", calls)
	}
	all := os.Getenv("ARENA_CRASH_ALL") != ""
	for n := 1; n <= calls; n++ {
		for i, mode := range []string{"before", "during", "after"} {
			if all || n%3 == i {
				t.Run(fmt.Sprintf("%s-%d", mode, n), func(t *testing.T) {
					t.Parallel()
					crashAt(t, n, mode)
				})
			}
		}
	}
	for _, mode := range []string{"before", "during", "after"} { // the call that decides, in every way
		t.Run("creating-"+mode, func(t *testing.T) {
			t.Parallel()
			crashAt(t, -1, mode)
		})
	}
}

// crashAt makes a run and kills the arena at its n-th call to the hub, or for -1 at
// the creation of the job. It returns how many calls there were.
func crashAt(t *testing.T, n int, mode string) int {
	w := newJobTown(t)
	w.jobs.Play = w.play
	var seen atomic.Int64
	var once sync.Once
	killed := make(chan struct{})
	kill := func() {
		once.Do(func() {
			_ = w.command.Process.Kill()
			close(killed)
		})
	}
	w.hub.Fail("", 0, func(s *hubtest.Server, rw http.ResponseWriter, r *http.Request, next http.Handler) {
		at := int(seen.Add(1))
		hit := at == n || n == -1 && r.Method == "POST" && strings.HasPrefix(r.URL.Path, "/api/jobs/")
		select {
		case <-killed:
			hit = false
		default:
		}
		switch {
		case hit && mode == "before":
			kill()
			hubtest.Reset()(s, rw, r, next)
		case hit && mode == "during":
			hubtest.Lost()(s, rw, r, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { next.ServeHTTP(rw, r); kill() }))
		case hit:
			next.ServeHTTP(rw, r)
			_ = http.NewResponseController(rw).Flush()
			kill()
		default:
			next.ServeHTTP(rw, r)
		}
	})
	request, id, scored := 1, "", false
	restarts := 0
	for deadline := time.Now().Add(2 * time.Minute); !scored; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no run is scored\n%s", w.log.String())
		}
		select {
		case <-killed:
			if restarts == 0 {
				restarts++
				_ = w.command.Wait()
				w.start()
			}
		default:
		}
		if id == "" {
			status, run, err := w.launch(fmt.Sprintf("launch-crash-%d", request))
			switch {
			case err != nil: // the arena died
			case status/100 == 2:
				id = run.RunID
			case status == 503 || status == 409: // open, or the first try is still being looked into
			default:
				t.Fatalf("the launch answers %d\n%s", status, w.log.String())
			}
			continue
		}
		resp, err := http.Get(w.url + "/api/challenges/tb2-9b/runs/" + id)
		if err != nil {
			continue
		}
		var run api.Run
		err = json.NewDecoder(resp.Body).Decode(&run)
		_ = resp.Body.Close()
		switch {
		case err != nil:
		case run.State == protocol.RunScored:
			scored = true
		case run.State == protocol.RunFailed && run.JobID == nil: // proved to have no job, and released
			request++
			id = ""
		case run.State == protocol.RunFailed || run.State == protocol.RunCanceled:
			t.Fatalf("the run is %s: %v\n%s", run.State, run.Reason, w.log.String())
		}
	}
	if n != 0 && restarts == 0 { // killed at the very end, or the call was not made this time
		select {
		case <-killed:
			restarts++
			_ = w.command.Wait()
			w.start()
		default:
		}
	}
	if n == -1 && restarts == 0 {
		t.Error("the arena was not killed")
	}
	started := w.jobs.All()
	if len(started) != 1 || started[0].Spec.Labels["arena-run"] != id {
		t.Errorf("%d jobs were started", len(started))
	}
	var budget api.Budget
	_, raw := w.want(200, "", "GET", "/api/arena/budget", "", nil)
	if err := json.Unmarshal([]byte(raw), &budget); err != nil || budget.CommittedUSD != 2*333_333 {
		t.Errorf("two minutes were billed: %v %s", err, raw)
	}
	if problems := w.doctor(); problems != "" {
		t.Error(problems)
	}
	return int(seen.Load())
}

// doctor stops the arena and says what is wrong with what it has left.
func (w *jobTown) doctor() string {
	w.stop()
	out, err := exec.Command("arena", "predeploy", "--data", w.data).CombinedOutput()
	if err != nil {
		return fmt.Sprintf("predeploy: %v\n%s", err, out)
	}
	return ""
}
