package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/client"
	"github.com/posttrainarena/arena/protocol/jobs/k8sjobs/k8stest"
	"github.com/posttrainarena/arena/store"
)

// clusterToken is the bearer token of the arena at the fake cluster.
const clusterToken = "cluster-CANARY-token"

// clustered is an arena whose jobs run on a cluster, and which may be killed.
type clustered struct {
	t       *testing.T
	cluster *k8stest.Server
	dir     string
	configs string
	token   string
	goOn    chan struct{} // closed when jobs may end
	address string        // where it listens, when jobs reach it there; empty: anywhere
	begun   func(ctx context.Context, box *k8stest.Container)

	mu     sync.Mutex // guards cmd and exited: calls to the cluster kill the arena
	cmd    *exec.Cmd
	exited chan struct{}
	client *client.Client
	said   strings.Builder
}

// pipeline is a pipeline that scores: three of the held-out tasks before, five
// after.
func (c *clustered) pipeline(ctx context.Context, box *k8stest.Container) int {
	lists, err := os.ReadFile(filepath.Join(box.Path("/arena/run"), "task-lists", "eval_dataset.txt"))
	if err != nil {
		box.Print(err.Error())
		return 2
	}
	tasks := strings.Fields(string(lists))
	outcomes := map[string]map[string][]string{}
	evaluate := func(stage, side string, passes int) {
		box.Print("[posttrainarena] " + stage + ": bench eval run")
		box.Print(fmt.Sprintf("Job: %d tasks, 0 done, %d to run (concurrency=1)", len(tasks), len(tasks)))
		outcomes[side] = map[string][]string{}
		for i, task := range tasks {
			word, tag := "pass", "PASS"
			if i >= passes {
				word, tag = "fail", "FAIL"
			}
			box.Print(fmt.Sprintf("[%s] %s (tools=%d)", tag, task, i+1))
			outcomes[side][task] = []string{word}
		}
		box.Print(fmt.Sprintf("Job complete: %d/%d (%.1f%%), errors=0, idle_timeouts=0, time=0.1min", passes, len(tasks), 100*float64(passes)/float64(len(tasks))))
	}
	if c.begun != nil {
		c.begun(ctx, box)
	}
	evaluate("baseline_eval", "baseline", 3)
	box.Print("[posttrainarena] conditional_grpo: train")
	select {
	case <-c.goOn:
	case <-ctx.Done():
		return 143
	}
	box.Print("{'loss': 0.25, 'reward': 0.5}")
	evaluate("posttrain_eval", "posttrain", 5)
	box.Print("TRAINER_EXIT=0")
	n := float64(len(tasks))
	for name, value := range map[string]any{
		"eval_task_outcomes.json": map[string]any{"schema_version": 1, "suites": map[string]any{"": outcomes}},
		"score.json":              map[string]any{"schema_version": 1, "baseline_score": 3 / n, "score_after_posttrain": 5 / n, "delta_score": 2 / n, "grpo_ran": true},
	} {
		path := filepath.Join(box.Path(box.Getenv("ARENA_RUN_DIR")), "reports", name)
		data, err := json.Marshal(value)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o700)
		}
		if err == nil {
			err = os.WriteFile(path, data, 0o600)
		}
		if err != nil {
			box.Print(err.Error())
			return 2
		}
	}
	return 0
}

func newClustered(t *testing.T, change ...func(*clustered)) *clustered {
	t.Helper()
	c := &clustered{t: t, dir: filepath.Join(t.TempDir(), "data"), configs: t.TempDir(), goOn: make(chan struct{})}
	for _, f := range change {
		f(c)
	}
	volume := t.TempDir()
	c.cluster = k8stest.Start(t, k8stest.Options{
		Now: time.Now, Token: clusterToken, Namespace: "arena", Volumes: map[string]string{"runs": volume}, Secrets: []string{"hub"}, GPUs: 8, Program: c.pipeline,
	})
	text := fmt.Sprintf("[providers]\ndefault = \"kubernetes\"\n[providers.kubernetes]\nkubeconfig = %q\nimage = \"pipeline\"\nvolume_claim = \"runs\"\ndirectory = %q\n", c.cluster.Kubeconfig(t), volume)
	if c.address != "" {
		text = fmt.Sprintf("[server]\nbase_url = %q\n%s[providers.kubernetes.environment]\nHF_HOME = \"/arena/run/cache\"\n[providers.kubernetes.secrets]\nHF_TOKEN = \"hub/token\"\n", "http://"+c.address, text)
	}
	c.must(os.WriteFile(filepath.Join(c.configs, "arena.toml"), []byte(text), 0o600))
	st, err := store.Open(t.Context(), store.Options{Dir: c.dir, Now: time.Now})
	c.must(err)
	c.token, err = issueToken(t.Context(), st, time.Now(), "olga", true)
	c.must(err)
	c.must(st.Close())
	c.start()
	return c
}

func (c *clustered) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// start starts the arena and waits until it listens.
func (c *clustered) start() {
	c.t.Helper()
	cmd, exited := exec.Command("arena", "serve", "--data", c.dir, "--configs", c.configs, "--listen", cmp.Or(c.address, "127.0.0.1:0")), make(chan struct{})
	out, err := cmd.StderrPipe()
	c.must(err)
	c.must(cmd.Start())
	c.mu.Lock()
	c.cmd, c.exited = cmd, exited
	c.mu.Unlock()
	lines := bufio.NewScanner(out)
	c.t.Cleanup(func() { _ = cmd.Process.Kill(); <-exited })
	url := ""
	for url == "" && lines.Scan() {
		c.said.WriteString(lines.Text() + "\n")
		if m := servingAt.FindStringSubmatch(lines.Text()); m != nil {
			url = m[1]
		}
	}
	go func() {
		defer close(exited)
		for lines.Scan() {
			c.said.WriteString(lines.Text() + "\n")
		}
		_ = cmd.Wait()
	}()
	if url == "" {
		<-exited
		c.t.Fatalf("the arena does not start:\n%s", c.said.String())
	}
	token, err := client.NewToken(c.token)
	c.must(err)
	c.client, err = client.New(client.Options{BaseURL: url, Token: token, Sleep: func(ctx context.Context, d time.Duration) error {
		select {
		case <-exited:
			return fmt.Errorf("the arena is dead")
		default:
			return sleep(ctx, min(d, 100*time.Millisecond))
		}
	}})
	c.must(err)
}

// kill ends the arena as a power cut would.
func (c *clustered) kill() {
	c.mu.Lock()
	cmd, exited := c.cmd, c.exited
	c.mu.Unlock()
	_ = cmd.Process.Kill()
	<-exited
}

// submit submits the sample collection.
func (c *clustered) submit() string {
	c.t.Helper()
	sample, err := filepath.Abs("../../fixture/collections/sample")
	c.must(err)
	submit := exec.Command("arena", "submit", "--dir", sample, "--challenge", "tb2-9b")
	submit.Env = append(os.Environ(), "ARENA_URL="+c.client.BaseURL(), "ARENA_TOKEN="+c.token, "HOME="+c.t.TempDir())
	submit.Dir = c.t.TempDir()
	out, err := submit.Output()
	var answer struct{ ID string }
	if err == nil {
		err = json.Unmarshal(out, &answer)
	}
	c.must(err)
	return answer.ID
}

// launch asks for the run, again and again with the same request id, until it is
// known to have its job or the arena is dead. A run that the arena has proved to have
// no job is released, and asked for anew.
func (c *clustered) launch(collection string) (api.Run, error) {
	for id := 1; ; {
		ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
		answer, err := c.client.Launch(ctx, "tb2-9b", api.LaunchRequest{EnvironmentID: collection, RequestID: fmt.Sprintf("request-%04d", id)})
		cancel()
		switch {
		case err == nil && answer.Value.JobID != nil:
			return answer.Value, nil
		case err == nil && answer.Value.State.Ended(): // proved to have no job, and released
			id++
		}
		select {
		case <-c.exited:
			return api.Run{}, fmt.Errorf("the arena is dead")
		case <-c.t.Context().Done():
			return api.Run{}, err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// ended waits until the run has ended.
func (c *clustered) ended(run string) api.Run {
	c.t.Helper()
	for range 600 {
		answer, err := c.client.GetRun(c.t.Context(), "tb2-9b", run)
		c.must(err)
		if answer.Value.State.Ended() {
			return answer.Value
		}
		c.must(sleep(c.t.Context(), 100*time.Millisecond))
	}
	c.t.Fatalf("the run does not end:\n%s", c.said.String())
	panic("unreachable")
}

// TestClusterRelay takes a run through a cluster whose pod opens the tunnel with what
// the arena gave it, calls the model in it from outside, and looks for the secrets of
// the run in everything that the cluster and people can see.
func TestClusterRelay(t *testing.T) {
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, `{"path":%q}`, r.URL.Path) }))
	defer model.Close()
	type pod struct{ url, key, secret string }
	connected := make(chan pod, 1)
	var tunnel lockedBuffer
	c := newClustered(t, func(c *clustered) {
		c.address = freeAddress(t)
		c.begun = func(ctx context.Context, box *k8stest.Container) {
			read := func(name string) (file, text string) {
				file = box.Path(box.Getenv(name + "_FILE"))
				raw, err := os.ReadFile(file)
				if err != nil {
					t.Error(err)
				}
				return file, string(raw)
			}
			file, secret := read("ARENA_RELAY_SECRET")
			_, key := read("ARENA_RELAY_KEY")
			connect := exec.CommandContext(ctx, "arena", "relay", "connect", "--run", box.Getenv("ARENA_RUN_ID"), "--to", model.URL)
			connect.Env = append(os.Environ(), "ARENA_URL="+box.Getenv("ARENA_URL"), "ARENA_RELAY_SECRET_FILE="+file)
			connect.Stdout, connect.Stderr = &tunnel, &tunnel
			if err := connect.Start(); err != nil {
				t.Error(err)
			}
			t.Cleanup(func() { _ = connect.Process.Kill(); _ = connect.Wait() })
			connected <- pod{box.Getenv("ARENA_RELAY_URL"), key, secret}
		}
	})
	run, err := c.launch(c.submit())
	c.must(err)
	in := <-connected
	waitFor(t, "a relay that is connected", func() bool {
		r, err := http.Get(strings.TrimSuffix(in.url, "/v1") + "/health")
		return err == nil && r.Body.Close() == nil && r.StatusCode == http.StatusOK
	})
	ask, err := http.NewRequestWithContext(t.Context(), "GET", in.url+"/models", nil)
	c.must(err)
	ask.Header.Set("Authorization", "Bearer "+in.key)
	answer, err := http.DefaultClient.Do(ask)
	c.must(err)
	body, err := io.ReadAll(answer.Body)
	c.must(errors.Join(err, answer.Body.Close()))
	if string(body) != `{"path":"/v1/models"}` {
		t.Errorf("the model is asked at %s and answers %s", in.url, body)
	}

	// What the pod runs, as its author sees it.
	plan := exec.Command("arena", "run", "plan", run.RunID)
	plan.Env = append(os.Environ(), "ARENA_URL="+c.client.BaseURL(), "ARENA_TOKEN="+c.token)
	out, err := plan.Output()
	c.must(err)
	var p api.RunPlan
	c.must(json.Unmarshal(out, &p))
	made := c.cluster.Jobs()[0].Spec.Template.Spec.Containers[0]
	env, secrets := map[string]string{}, []string{"ARENA_RELAY_KEY", "ARENA_RELAY_SECRET"}
	for _, e := range made.Env {
		if env[e.Name] = e.Value; e.ValueFrom != nil {
			secrets = append(secrets, e.Name)
		}
	}
	if p.Job == nil || p.Job.Image != made.Image || !slices.Equal(p.Job.Command, made.Command) || !slices.Equal(p.Job.Secrets, secrets) || p.Job.Env["HF_HOME"] == "" || p.Job.Env["ARENA_RELAY_URL"] != in.url {
		t.Fatalf("the pod is %+v and its plan\n%s", made, out)
	}
	for name, value := range p.Job.Env {
		if env[name] != value {
			t.Errorf("the pod has %s=%s and its plan says %s", name, env[name], value)
		}
	}

	seen := string(out)
	for _, r := range c.cluster.Requests() {
		seen += r.URL + r.Body
	}
	close(c.goOn)
	if end := c.ended(run.RunID); end.State != protocol.RunScored {
		t.Errorf("it ended as %s (%v):\n%s", end.State, end.Reason, c.said.String())
	}
	c.kill()
	for _, secret := range []string{in.key, in.secret} {
		if secret == "" || strings.Contains(seen+c.said.String()+tunnel.String(), secret) {
			t.Error("a secret of the run is empty, or shown")
		}
		for _, leak := range grep(t, c.dir, secret) {
			t.Errorf("%s holds a secret of the run", leak)
		}
	}
}

// TestClusterSurvivesDeaths kills the arena at every call that it makes to a
// cluster: before the call has arrived, while it is answered, and when it has taken
// effect and its answer is lost. There is never a second job and never a lost one:
// the launch, made again, ends with a result, and the ledger is exact.
func TestClusterSurvivesDeaths(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills servers")
	}
	for _, verb := range []string{"create", "get", "list", "log", "delete"} {
		for _, moment := range []string{"before", "during", "after"} {
			if verb == "log" && moment == "after" {
				continue // the answer lasts as long as the job
			}
			t.Run(verb+" "+moment, func(t *testing.T) {
				t.Parallel()
				c := newClustered(t)
				collection := c.submit()
				fault := k8stest.Fault{Verb: verb, Times: 1}
				switch moment {
				case "before":
					fault.Answer = func(http.ResponseWriter, *http.Request) { c.kill(); panic(http.ErrAbortHandler) }
				case "during":
					fault.Before = c.kill
				case "after":
					fault.After = c.kill
				}
				cancels := verb == "delete"
				if !cancels {
					c.cluster.Inject(fault)
				}
				run, err := c.launch(collection)
				if cancels {
					c.must(err)
					c.cluster.Inject(fault)
					_, _ = c.client.Cancel(t.Context(), "tb2-9b", run.RunID) // the arena dies of it
				}
				select {
				case <-c.exited:
				case <-time.After(time.Minute):
					t.Fatalf("nothing killed the arena (launch: %v):\n%s", err, c.said.String())
				}
				c.start()
				if run, err = c.launch(collection); err != nil {
					t.Fatal(err)
				}
				close(c.goOn)
				end := c.ended(run.RunID)
				want := protocol.RunScored
				if cancels {
					want = protocol.RunCanceled
				}
				if end.State != want || c.cluster.Created() != 1 {
					t.Fatalf("it ended as %s (%v) with %d jobs:\n%s", end.State, end.Reason, c.cluster.Created(), c.said.String())
				}
				budget, err := c.client.ArenaBudget(t.Context())
				c.must(err)
				if b := budget.Value; end.SettledUSD == nil || *end.SettledUSD <= 0 || b.SettledUSD != *end.SettledUSD || b.ReservedUSD != 0 {
					t.Errorf("it settled as %v and the budget is %+v", end.SettledUSD, b)
				}
				c.kill()
				if strings.Contains(c.said.String(), clusterToken) {
					t.Error("the log holds the cluster's token")
				}
				for _, leak := range grep(t, c.dir, clusterToken) {
					t.Errorf("%s holds the cluster's token", leak)
				}
			})
		}
	}
}

// grep lists the files below a directory that hold a text.
func grep(t *testing.T, dir, text string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), text) {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
