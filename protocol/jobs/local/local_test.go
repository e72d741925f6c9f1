package local_test

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/posttrainarena/arena/protocol/jobs"
	"github.com/posttrainarena/arena/protocol/jobs/local"
)

// TestJobOutlivesItsArena kills the process that started a job while the job
// prints. The job goes on, and another process reads its log without a gap,
// learns how it ended and has what it left.
func TestJobOutlivesItsArena(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs")
	first := exec.Command(options(dir).Supervisor[0], verbArena, dir)
	first.Stderr = os.Stderr
	said, err := first.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	id, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	id = strings.TrimSpace(id)
	p := open(t, dir)
	seen := upTo(t, p, id, "line 3")
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // killed

	found, err := p.Find(t.Context(), run)
	if err != nil || len(found) != 1 || found[0].ID != id || found[0].Status != jobs.Running {
		t.Fatalf("after the kill: %+v, %v; want job %s running", found, err, id)
	}
	texts := []string{"line 1", "line 2", "line 3"}
	for l, err := range p.Logs(t.Context(), id, seen.Position) {
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, l.Text)
		if len(texts) == 40 { // the job has gone on for a while without its arena
			if err := os.WriteFile(path(dir, found[0], "run/enough"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	job, err := p.Inspect(t.Context(), id)
	if err != nil || job.Status != jobs.Completed || job.Billed <= 0 {
		t.Errorf("ended as %+v, %v", job, err)
	}
	last := len(texts) - 1
	for i, text := range texts[:last] {
		if text != fmt.Sprintf("line %d", i+1) {
			t.Fatalf("line %d of the log is %q", i+1, text)
		}
	}
	if count := strings.TrimSpace(content(t, dir, job, "output/count")); texts[last] != "done" || count != strconv.Itoa(last) {
		t.Errorf("the job printed %s lines and the log has %d and %q", count, last, texts[last])
	}
}

// TestSupervisorDies kills the supervisor itself. Nobody can read the command's
// output any more, so it is killed too and the job has failed, for good.
func TestSupervisorDies(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs")
	p := open(t, dir)
	job := start(t, p, script("echo $$ >pid\necho begun\nexec sleep 600"))
	upTo(t, p, job.ID, "begun")
	var supervisor int
	if _, err := fmt.Sscanf(content(t, dir, job, "supervisor.json"), "{\n \"pid\": %d", &supervisor); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(supervisor, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	lines, job := ended(t, p, job.ID)
	if job.Status != jobs.Failed || !strings.Contains(job.Message, "supervisor died") || !slices.Equal(lines, []string{"begun"}) {
		t.Errorf("ended as %+v with the log %q", job, lines)
	}
	again, err := p.Inspect(t.Context(), job.ID)
	if err != nil || again != job {
		t.Errorf("a second look says %+v, %v", again, err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(content(t, dir, job, "run/pid")))
	if err != nil {
		t.Fatal(err)
	}
	gone(t, pid)
}

// gone waits until a process is no more, but for what its parent has not waited
// for.
func gone(t *testing.T, pid int) {
	t.Helper()
	for range 500 {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) || strings.Contains(string(stat), ") Z ") || syscall.Kill(pid, 0) != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d still runs", pid)
}

// TestEndings runs commands that end in all kinds of ways, each with what it
// left running.
func TestEndings(t *testing.T) {
	const limit = 2 * time.Second
	for name, c := range map[string]struct {
		script  string
		timeout time.Duration // 0: an hour
		status  jobs.Status
		message string
		lines   []string
	}{
		"well":            {"echo hello", 0, jobs.Completed, "", []string{"hello"}},
		"with an error":   {"echo oh no >&2; exit 3", 0, jobs.Failed, "The command ended with exit code 3.", []string{"oh no"}},
		"by a signal":     {"kill -KILL $$", 0, jobs.Failed, "The command was ended by a signal (killed).", nil},
		"at its limit":    {"echo begun; exec sleep 600", limit, jobs.TimedOut, "The command was stopped at its limit of 2s.", []string{"begun"}},
		"deaf to TERM":    {"trap '' TERM; echo begun; while :; do sleep 0.1; done", limit, jobs.TimedOut, "The command was stopped at its limit of 2s.", []string{"begun"}},
		"tidying up":      {"trap 'echo saved; exit 0' TERM; echo begun; while :; do sleep 0.05; done", limit, jobs.TimedOut, "The command was stopped at its limit of 2s.", []string{"begun", "saved"}},
		"leaving a child": {"sleep 600 & echo $! >child; echo bye", 0, jobs.Completed, "", []string{"bye"}},
		// A daemon has a session of its own and no parent that would end it.
		"leaving a daemon": {"(setsid sleep 600 >/dev/null 2>&1 & echo $! >child); echo bye", 0, jobs.Completed, "", []string{"bye"}},
		"in mid-line":      {"printf 'no newline'", 0, jobs.Completed, "", []string{"no newline"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "jobs")
			p := open(t, dir, func(o *local.Options) {
				if name == "deaf to TERM" {
					o.Grace = 100 * time.Millisecond
				}
			})
			spec := script(c.script)
			if c.timeout > 0 {
				spec.Timeout = c.timeout
			}
			lines, job := ended(t, p, start(t, p, spec).ID)
			// Some shells say what happened to their children.
			lines = slices.DeleteFunc(lines, func(l string) bool { return l == "Terminated" })
			if job.Status != c.status || job.Message != c.message || !slices.Equal(lines, c.lines) {
				t.Errorf("ended as %s (%s) with the log %q\nwant %s (%s) with %q", job.Status, job.Message, lines, c.status, c.message, c.lines)
			}
			if job.Billed <= 0 || job.Billed > spec.Timeout {
				t.Errorf("billed %s of at most %s", job.Billed, spec.Timeout)
			}
			if child, err := os.ReadFile(path(dir, job, "run/child")); err == nil {
				pid, err := strconv.Atoi(strings.TrimSpace(string(child)))
				if err != nil {
					t.Fatal(err)
				}
				if name == "leaving a daemon" && runtime.GOOS != "linux" {
					_ = syscall.Kill(pid, syscall.SIGKILL) // only Linux finds it again
				}
				gone(t, pid)
			}
		})
	}
}

// TestCancelIsBilledToTheLastLine follows PROTOCOL §8.
func TestCancelIsBilledToTheLastLine(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs")
	p := open(t, dir)
	job := start(t, p, script("echo begun\nexec sleep 600"))
	line := upTo(t, p, job.ID, "begun")
	if err := p.Cancel(t.Context(), job.ID); err != nil {
		t.Fatal(err)
	}
	_, job = ended(t, p, job.ID)
	if want := line.At.Sub(job.StartedAt); job.Status != jobs.Canceled || job.Billed != want {
		t.Errorf("ended as %+v; want it canceled and billed for %s", job, want)
	}
}

// TestEnvironment gives the arena's process secrets. The command gets the one
// that is named, and none is written down.
func TestEnvironment(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs")
	vars := map[string]string{"PATH": os.Getenv("PATH"), "HOME": "/home/ada", "NAMED": "canary-named", "UNNAMED": "canary-unnamed", "ARENA_TOKEN": "canary-token"}
	p := open(t, dir, func(o *local.Options) {
		o.Getenv = func(name string) string { return vars[name] }
		o.Environment = []string{"NAMED", "NOT_SET"}
	})
	spec := script(`set >"$HOME_FOR_TEST/seen"; pwd; cat task-lists/eval_dataset.txt; cd "$ARENA_COLLECTION/envs/sort"; cat task.md; echo *; [ -x run.sh ] && echo executable`)
	out := t.TempDir()
	spec.Env = map[string]string{"HOME_FOR_TEST": out}
	spec.Files = map[string][]byte{"task-lists/eval_dataset.txt": []byte("secret-task\n")}
	spec.Collection = fstest.MapFS{
		"envs/sort/task.md": {Data: []byte("Sort it.\n")}, "envs/sort/run.sh": {Mode: 0o755}, "envs/sort/host": {Mode: fs.ModeSymlink, Data: []byte("/etc/hostname")},
	}
	lines, job := ended(t, p, start(t, p, spec).ID)
	if want := []string{path(dir, job, "run"), "secret-task", "Sort it.", "run.sh task.md", "executable"}; !slices.Equal(lines, want) {
		t.Errorf("printed %q, want %q", lines, want)
	}
	seen, err := os.ReadFile(filepath.Join(out, "seen"))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"canary-named": true, "/home/ada": true, "canary-unnamed": false, "canary-token": false, "NOT_SET": false,
		"ARENA_RUN_ID='" + run + "'": true, "ARENA_RUN_DIR='" + path(dir, job, "output") + "'": true, "ARENA_CONFIG='" + path(dir, job, "run/config.toml") + "'": true,
	} {
		if strings.Contains(string(seen), text) != want {
			t.Errorf("the command sees %s: %v, want %v\n%s", text, !want, want, seen)
		}
	}
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %s, %v", name, info.Mode(), err)
		}
		if d.IsDir() {
			return nil
		}
		data, err := os.ReadFile(name)
		if strings.Contains(string(data), "canary") {
			t.Errorf("%s holds the value of a variable", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestArtifactsStayInTheirDirectory lets a job link to what is not its own.
func TestArtifactsStayInTheirDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs")
	p := open(t, dir)
	_, job := ended(t, p, start(t, p, script(`cd "$ARENA_RUN_DIR"; mkdir reports; ln -s ../../log reports/log; ln -s /etc etc; echo '{}' >reports/score.json`)).ID)
	files, err := p.Artifacts(t.Context(), job.ID)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := fs.ReadFile(files, "reports/score.json"); err != nil || string(data) != "{}\n" {
		t.Errorf("its own file: %q, %v", data, err)
	}
	for _, name := range []string{"reports/log", "etc/hostname", "../job.json"} {
		if data, err := fs.ReadFile(files, name); err == nil {
			t.Errorf("%s can be read: %q", name, data)
		}
	}
	if info, err := fs.Lstat(files, "etc"); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("a link shows as %v, %v", info, err)
	}
}

// TestLogIsCleanAndResumesAnywhere prints what programs print, and reads on
// after positions that nobody gave out.
func TestLogIsCleanAndResumesAnywhere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs")
	p := open(t, dir)
	_, job := ended(t, p, start(t, p, script(`printf '\033[31mred\033[0m\n'
printf '\n  1%%|#  | 1/2 [00:01]\r100%%|## | 2/2 [00:02]\r{"loss": 1}\n'
printf '\377 not UTF-8\n'
head -c 200000 /dev/zero | tr '\0' x; echo
echo last`)).ID)
	var whole []jobs.Line
	for l, err := range p.Logs(t.Context(), job.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		whole = append(whole, l)
	}
	if len(whole) != 5 || whole[0].Text != "red" || whole[1].Text != `{"loss": 1}` || whole[2].Text != "\ufffd not UTF-8" ||
		!strings.HasSuffix(whole[3].Text, "more bytes]") || whole[4].Text != "last" {
		t.Fatalf("the log is %.300q", fmt.Sprint(whole))
	}
	for after := int64(0); after < whole[2].Position+50; after++ {
		i := slices.IndexFunc(whole, func(l jobs.Line) bool { return l.Position > after })
		if after > 0 && (i == 0 || after > whole[i-1].Position) {
			i++ // inside a line
		}
		for l, err := range p.Logs(t.Context(), job.ID, after) {
			if err != nil || l != whole[i] {
				t.Fatalf("after %d comes %+v, %v; want %+v", after, l, err, whole[i])
			}
			break
		}
	}
}

// TestOnlyOneSupervisor starts several for one job. One runs the command, the
// others leave without a word.
func TestOnlyOneSupervisor(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs")
	p := open(t, dir)
	job := start(t, p, script("echo once\nuntil [ -e enough ]; do sleep 0.02; done"))
	upTo(t, p, job.ID, "once")
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if err := local.Supervise(t.Context(), path(dir, job, ""), nil, time.Now); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if err := os.WriteFile(path(dir, job, "run/enough"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if lines, job := ended(t, p, job.ID); !slices.Equal(lines, []string{"once"}) || job.Status != jobs.Completed {
		t.Errorf("ended as %+v with %q", job, lines)
	}
}

// TestOldJobsAreRemoved keeps the directory of an ended job for a while, and that
// of one that runs for as long as it does.
func TestOldJobsAreRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs")
	var late atomic.Int64 // how far the clock is ahead
	p := open(t, dir, func(o *local.Options) {
		o.Keep = 24 * time.Hour
		o.Now = func() time.Time { return time.Now().Add(time.Duration(late.Load())) }
	})
	old := start(t, p, script("echo old"))
	ended(t, p, old.ID)
	runs := start(t, p, script("echo begun; exec sleep 600"))
	there := func(job jobs.Job) bool {
		_, err := os.Stat(path(dir, job, ""))
		return err == nil
	}
	if !there(old) {
		t.Error("a job that has just ended is removed")
	}
	late.Store(int64(48 * time.Hour))
	start(t, p, script("echo new"))
	if there(old) || !there(runs) {
		t.Errorf("after two days the ended job is there: %v, the one that runs: %v", there(old), there(runs))
	}
	if _, err := p.Inspect(t.Context(), old.ID); !errors.Is(err, jobs.ErrNoJob) {
		t.Errorf("the removed job: %v", err)
	}
}

// TestStartRefuses makes no job of a spec that cannot be one.
func TestStartRefuses(t *testing.T) {
	for name, change := range map[string]func(*jobs.Spec){
		"no label":          func(s *jobs.Spec) { s.Run = "" },
		"no limit":          func(s *jobs.Spec) { s.Timeout = 0 },
		"an unknown flavor": func(s *jobs.Spec) { s.Flavor = "x" },
		"no such program":   func(s *jobs.Spec) { s.Command = []string{"no-such-program-anywhere"} },
	} {
		dir := filepath.Join(t.TempDir(), "jobs")
		p := open(t, dir)
		spec := script("true")
		change(&spec)
		if _, err := p.Start(t.Context(), spec); !errors.Is(err, jobs.ErrRefused) {
			t.Errorf("%s: %v, want it refused", name, err)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
			t.Errorf("%s: left %v, %v", name, entries, err)
		}
	}
	dir := filepath.Join(t.TempDir(), "jobs")
	p := open(t, dir, func(o *local.Options) { o.Supervisor = []string{"/no/such/supervisor"} })
	if _, err := p.Start(t.Context(), script("true")); !errors.Is(err, jobs.ErrRefused) {
		t.Errorf("no supervisor: %v, want it refused", err)
	}
	escaping := script("true")
	escaping.Files = map[string][]byte{"../../elsewhere": nil}
	if _, err := open(t, dir).Start(t.Context(), escaping); err == nil || errors.Is(err, jobs.ErrRefused) {
		t.Errorf("a file outside: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("failed starts left %v, %v", entries, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	for name, change := range map[string]func(*local.Options){
		"no command is configured": func(o *local.Options) { o.Command = nil },
		"providers.local.command":  func(o *local.Options) { o.Command = []string{"no-such-program-anywhere"} },
		"needs a clock":            func(o *local.Options) { o.Now = nil },
		"directory of its jobs":    func(o *local.Options) { o.Dir = "/dev/null/jobs" },
	} {
		o := options(filepath.Join(t.TempDir(), "jobs"))
		change(&o)
		if _, err := local.Open(o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %q in it", err, name)
		}
	}
}
