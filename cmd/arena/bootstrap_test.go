package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/hub/hubtest"
)

// jobMachine is where the script of a job runs: a job that was created, and what its
// image brings.
type jobMachine struct {
	*jobTown
	job    *hubtest.Job
	tools  string // directories of programs, as PATH has them
	home   string // with a git that finds repositories here instead of at GitHub
	commit string // of the pipeline's repository
}

// script puts a program of a few lines into the first directory of the tools.
func (m *jobMachine) script(name, text string) {
	m.t.Helper()
	dir, _, _ := strings.Cut(m.tools, string(os.PathListSeparator))
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		m.t.Fatal(err)
	}
}

// newJobMachine launches a run and makes what the image of its job brings.
func newJobMachine(t *testing.T) *jobMachine {
	t.Helper()
	for _, name := range []string{"bash", "git", "curl", "timeout"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("the script of a job needs %s, which is not here", name)
		}
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("a job fetches the program for linux/amd64, and the arena of a test has that for its own system alone")
	}
	m := &jobMachine{jobTown: newJobTown(t), tools: t.TempDir(), home: t.TempDir()}
	m.tools += string(os.PathListSeparator) + os.Getenv("PATH")
	for _, name := range []string{"hf", "python3", "trl", "posttrainarena-train"} {
		m.script(name, "exec job-image "+name+` "$@"`)
	}
	pause, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	m.script("sleep", "exec "+pause+" 0.02") // the pauses of a real job are too long for a test

	repositories := t.TempDir()
	source := filepath.Join(repositories, "benchflow-ai", "posttrainarena")
	pipeline := filepath.Join(source, "pipelines", "benchflow-task-posttrain")
	if err := errors.Join(os.MkdirAll(pipeline, 0o700), os.WriteFile(filepath.Join(pipeline, "pyproject.toml"), []byte("[project]\n"), 0o600),
		os.WriteFile(filepath.Join(m.home, ".gitconfig"), fmt.Appendf(nil, "[url \"file://%s/\"]\n\tinsteadOf = https://github.com/\n[user]\n\tname = x\n\temail = x@example.org\n", repositories), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "."}, {"commit", "--quiet", "-m", "x"}, {"rev-parse", "HEAD"}} {
		git := exec.Command("git", append([]string{"-C", source}, args...)...)
		git.Env = []string{"HOME=" + m.home, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1"}
		out, err := git.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		m.commit = strings.TrimSpace(string(out))
	}

	created := make(chan *hubtest.Job, 1)
	m.jobs.Play = func(job *hubtest.Job) { created <- job }
	if status, _, err := m.launch("launch-boot-1"); err != nil || status != 201 {
		t.Fatalf("%d %v\n%s", status, err, m.log.String())
	}
	m.job = <-created
	return m
}

// attempt is one execution of the script.
type attempt struct {
	m       *jobMachine
	notes   string
	mark    string // in the environment of every process of it
	command *exec.Cmd
	out     lockedBuffer
}

// begin executes the script as the job does. Settings are variables that differ from
// what the arena told the job.
func (m *jobMachine) begin(t *testing.T, settings ...string) *attempt {
	t.Helper()
	a := &attempt{m: m, notes: t.TempDir()}
	a.mark = "STANDIN_DIR=" + a.notes
	command := m.job.Spec.Command
	a.command = exec.Command(command[0], command[1:]...)
	a.command.Env = []string{
		"PATH=" + m.tools, "HOME=" + m.home, "TMPDIR=" + t.TempDir(), a.mark, "GIT_CONFIG_NOSYSTEM=1",
		"HF_ENDPOINT=" + m.hub.URL, "HF_TOKEN=" + runsToken, "JOB_ID=" + m.job.ID,
	}
	for _, given := range []map[string]string{m.job.Spec.Environment, m.job.Spec.Secrets} {
		for name, value := range given {
			a.command.Env = append(a.command.Env, name+"="+value)
		}
	}
	a.command.Env = append(a.command.Env, "ARENA_PIPELINE_REF="+m.commit, "ARENA_VLLM_PORT="+freePort(t), "ARENA_BRIDGE_PORT="+freePort(t))
	a.command.Env = append(a.command.Env, settings...)
	a.command.Stdout, a.command.Stderr = &a.out, &a.out
	a.command.WaitDelay = 20 * time.Second // processes that are left have its output open
	if err := a.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, pid := range a.processes() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return a
}

// freePort is a port that nobody listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// processes are those that the execution has started and that still run.
func (a *attempt) processes() (all []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		env, err := os.ReadFile("/proc/" + e.Name() + "/environ")
		if err == nil && slices.Contains(strings.Split(string(env), "\x00"), a.mark) {
			all = append(all, pid)
		}
	}
	return all
}

// noted is a file of the notes; empty when there is none.
func (a *attempt) noted(name string) string {
	text, _ := os.ReadFile(filepath.Join(a.notes, name))
	return string(text)
}

// ended waits for the script and returns its exit code and what it printed. What it
// started has to end with it, and no secret may be printed or given to whom it is
// not for.
func (a *attempt) ended(t *testing.T) (code int, out string) {
	t.Helper()
	err := a.command.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatalf("the script ends with %v\n%s", err, a.out.String())
	}
	out = a.out.String()
	a.m.until("everything that the script started has ended", func() bool { return len(a.processes()) == 0 })
	if strings.Contains(out, "$") || strings.Contains(out, "Done") {
		t.Errorf("the shell itself speaks:\n%s", out)
	}
	secrets := a.m.job.Spec.Secrets
	for _, secret := range []string{secrets["ARENA_RELAY_SECRET"], secrets["ARENA_RELAY_KEY"], secretWord} {
		if strings.Contains(out, secret) {
			t.Errorf("a secret was printed:\n%s", out)
		}
	}
	for _, program := range []string{"python3", "hf", "trl", "posttrainarena-train"} {
		if strings.Contains(a.noted(program+".env"), secrets["ARENA_RELAY_SECRET"]) {
			t.Errorf("%s got the secret of the tunnel", program)
		}
	}
	return code, out
}

// inOrder reports whether lines that begin with the given words come in their order.
func inOrder(out string, words ...string) bool {
	for line := range strings.SplitSeq(out, "\n") {
		if len(words) > 0 && strings.HasPrefix(line, words[0]) {
			words = words[1:]
		}
	}
	return len(words) == 0
}

// uploaded are the files of the run's output in the runs dataset, by their paths in it.
func (m *jobMachine) uploaded() map[string]string {
	files, _, _ := m.hub.Dataset(runsDataset).At("main")
	found := map[string]string{}
	for _, f := range files {
		if name, ok := strings.CutPrefix(f.Path, m.job.Spec.Environment["ARENA_OUTPUT_PATH"]+"/"); ok {
			found[name] = f.Text
		}
	}
	return found
}

// TestBootstrap runs what a job executes, on a machine that has stand-ins for its
// image's programs, against an arena with its relay and a hub: each way in which it
// can stop, and then the whole way to a result.
func TestBootstrap(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a job's script a score of times")
	}
	m := newJobMachine(t)
	up := []string{"pipeline ref " + m.commit + " at " + m.commit[:7], "vllm up", "bridge up", "relay reachable via " + m.job.Spec.Environment["ARENA_RELAY_URL"]}
	for _, c := range []struct {
		about    string
		settings []string
		hub      string // route that is away
		reached  int    // how many of the lines above are printed
		says     []string
		code     int
		uploads  bool
		unsaid   string
	}{
		{about: "no such pipeline", settings: []string{"ARENA_PIPELINE_REPO=nobody/nothing"}, says: []string{"JobError: the pipeline nobody/nothing cannot be cloned"}, code: 1},
		{about: "no such commit", settings: []string{"ARENA_PIPELINE_REF=" + strings.Repeat("0", 40)}, says: []string{"JobError: the pipeline has no commit 0000"}, code: 1},
		{about: "pip fails", settings: []string{"STANDIN=pip"}, reached: 1, says: []string{"JobError: the pipeline cannot be installed"}, code: 1},
		{about: "no download", hub: "GET /datasets/benchflow/runs/resolve/", reached: 1, says: []string{"JobError: the run's files cannot be downloaded"}, code: 1},
		{about: "nothing to download", settings: []string{"ARENA_BUNDLE_PATH=submissions"}, reached: 1, says: []string{"JobError: the run's files have no config.toml"}, code: 1},
		{about: "the model server ends", settings: []string{"STANDIN=vllm"}, reached: 1, says: []string{"VLLM_FAILED", "JobError: the model server does not answer", "RuntimeError: CUDA out of memory"}, code: 1},
		{about: "the bridge ends", settings: []string{"STANDIN=bridge"}, reached: 2, says: []string{"JobError: the bridge in front of the model does not answer", "RuntimeError: no tokenizer"}, code: 1},
		{about: "the bridge never answers", settings: []string{"STANDIN=bridge-hangs"}, reached: 2, says: []string{"JobError: the bridge in front of the model does not answer"}, code: 1},
		{about: "no program", settings: []string{"ARENA_URL=" + m.url + "/nowhere"}, reached: 3, says: []string{"JobError: the arena does not give its program for this machine"}, code: 1},
		{about: "the relay refuses", settings: []string{"ARENA_RELAY_SECRET=of-another-run"}, reached: 3, says: []string{"arena: the arena does not take this job's connection", "JobError: the relay cannot be reached"}, code: 1},
		{about: "no time is left", settings: []string{"ARENA_TIMEOUT_SECONDS=0"}, reached: 4, says: []string{"JobError: the job's time is over before training began"}, code: 1},
		{about: "the trainer fails", settings: []string{"STANDIN=trainer"}, reached: 4, says: []string{"RuntimeError: GRPO produced zero", "TRAINER_EXIT=3"}, code: 3, uploads: true, unsaid: "Error: the"},
		{about: "the model server ends under the trainer", settings: []string{"STANDIN=vllm-ends"}, reached: 4, says: []string{"the model server ended before the trainer", "torch.AcceleratorError: CUDA error", "TRAINER_EXIT=1"}, code: 1, uploads: true},
		{about: "the trainer fails and nothing can be uploaded", settings: []string{"STANDIN=trainer"}, hub: "POST /api/datasets/benchflow/runs/commit/", reached: 4, says: []string{"RuntimeError: GRPO produced zero", "upload: ", "TRAINER_EXIT=3"}, code: 3, unsaid: "JobError"},
		{about: "nothing can be uploaded", hub: "POST /api/datasets/benchflow/runs/commit/", reached: 4, says: []string{"upload: ", "TRAINER_EXIT=0", "JobError: what the run left cannot be uploaded"}, code: 1},
	} {
		t.Run(strings.ReplaceAll(c.about, " ", "-"), func(t *testing.T) {
			d := m.hub.Dataset(runsDataset)
			_, before, _ := d.At("main")
			if c.hub != "" {
				m.hub.Fail(c.hub, 0, hubtest.Status(http.StatusBadGateway))
				defer m.hub.Heal()
			}
			a := m.begin(t, c.settings...)
			code, out := a.ended(t)
			if code != c.code || !inOrder(out, append(slices.Clone(up[:c.reached]), c.says...)...) {
				t.Errorf("it ends with %d, want %d and %q:\n%s", code, c.code, c.says, out)
			}
			if c.reached < len(up) && strings.Contains(out, up[c.reached]) || c.unsaid != "" && strings.Contains(out, c.unsaid) || strings.Contains(out, "TRAINER_EXIT=") != slices.ContainsFunc(c.says, func(s string) bool { return strings.HasPrefix(s, "TRAINER_EXIT=") }) {
				t.Errorf("it says too much or too little:\n%s", out)
			}
			_, after, _ := d.At("main")
			if (before != after) != c.uploads {
				t.Errorf("uploaded: %t, want %t", before != after, c.uploads)
			}
			if got := m.uploaded(); c.uploads && (got["partial.json"] == "" || got["reports/packages.txt"] != "trl==1.8.0\n" || len(got) != 2) {
				t.Errorf("it uploads %v", got)
			}
		})
	}

	t.Run("canceled while the model server starts", func(t *testing.T) {
		a := m.begin(t, "STANDIN=vllm-hangs")
		m.until("the model server was started", func() bool { return a.noted("vllm.args") != "" })
		if err := a.command.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if code, out := a.ended(t); code != 143 || strings.Contains(out, "VLLM_FAILED") {
			t.Errorf("%d\n%s", code, out)
		}
	})
	training := func(a *attempt) func() bool {
		return func() bool { _, err := os.Stat(filepath.Join(a.notes, "training")); return err == nil }
	}
	t.Run("canceled while it trains", func(t *testing.T) {
		_, before, _ := m.hub.Dataset(runsDataset).At("main")
		a := m.begin(t, "STANDIN=trainer-hangs")
		m.until("it trains", training(a))
		if err := a.command.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		code, out := a.ended(t)
		if _, after, _ := m.hub.Dataset(runsDataset).At("main"); code != 143 || !strings.HasSuffix(out, "TRAINER_EXIT=143\n") || strings.Contains(out, "JobError") || before == after {
			t.Errorf("%d, uploaded: %t\n%s", code, before != after, out)
		}
	})
	t.Run("out of time", func(t *testing.T) {
		// The time is over when the trainer is where it shall be ended.
		m.script("timeout", `[ "$1 $2" = "--kill-after 60" ] && [ "$3" -gt 27000 ] && [ "$3" -le 27900 ] || exit 2
shift 3; "$@" & until [ -e "$STANDIN_DIR/training" ]; do sleep 1; done; kill $!; wait $!; exit 124`)
		_, before, _ := m.hub.Dataset(runsDataset).At("main")
		code, out := m.begin(t, "STANDIN=trainer-hangs").ended(t)
		if _, after, _ := m.hub.Dataset(runsDataset).At("main"); code != 124 || before == after || !inOrder(out, "JobTimeLimitError: the trainer was ended 900 s before the job's limit of 28800 s", "TRAINER_EXIT=124") {
			t.Errorf("%d, uploaded: %t\n%s", code, before != after, out)
		}
		dir, _, _ := strings.Cut(m.tools, string(os.PathListSeparator))
		if err := os.Remove(filepath.Join(dir, "timeout")); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("to a result", func(t *testing.T) {
		a := m.begin(t)
		code, out := a.ended(t)
		if code != 0 || !inOrder(out, append(slices.Clone(up), "[posttrainarena] snapshot_train_tasks", "[posttrainarena] compare_eval_lift", "TRAINER_EXIT=0")...) || !strings.HasSuffix(out, "TRAINER_EXIT=0\n") {
			t.Fatalf("%d\n%s", code, out)
		}
		env := m.job.Spec.Environment
		if want := strings.Join([]string{env["ARENA_MODEL"], env["ARENA_MODEL_REVISION"], "1 1 24576 4"}, " ") + "\n"; a.noted("vllm.args") != want {
			t.Errorf("the model server is told %q, want %q", a.noted("vllm.args"), want)
		}
		if want := "POST /v1/chat/completions {\"model\":\"vllm/" + env["ARENA_MODEL"] + "\"}\nGET /v1/benchflow/logprobs/"; !strings.HasPrefix(a.noted("bridge.calls"), want) {
			t.Errorf("the bridge was asked %q", a.noted("bridge.calls"))
		}
		if !strings.Contains(a.noted("posttrainarena-train.env"), "\nCUDA_VISIBLE_DEVICES=0,1,2,3\n") {
			t.Error("the trainer has other devices than its own")
		}
		got := m.uploaded()
		if got["reports/score.json"] == "" {
			t.Errorf("uploaded: %v", got)
		}
		for name := range got {
			if strings.HasPrefix(name, "checkpoints/") || strings.HasPrefix(name, "data/") {
				t.Errorf("%s was uploaded", name)
			}
		}
		run := env["ARENA_RUN_ID"]
		if r := m.run(run).Relay; r == nil || r.Succeeded == 0 {
			t.Errorf("calls through the relay: %+v", r)
		}
		for line := range strings.Lines(out) {
			m.job.Print(line)
		}
		m.job.End("COMPLETED", "", 90*time.Second)
		m.until("the run is scored", func() bool { return m.run(run).State == protocol.RunScored })
		m.want(201, `"delta_pp"`, "POST", "/api/challenges/tb2-9b/runs/"+run+"/collect", personsToken, nil)
	})
}
