package episode

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Agent is the user that plays: uid and gid.
const Agent = 2000

const (
	agentHome   = "/home/agent"
	testsPath   = "/tests"
	logsPath    = "/logs/verifier"
	rewardFile  = logsPath + "/reward.txt"
	gitTime     = 2 * time.Minute
	prepareTime = 10 * time.Minute
)

// Sandbox is the world inside a task's container. It needs to be root there, and
// it changes the machine that it runs on: never make one outside a container.
type Sandbox struct {
	dir      string // /opt/arena
	instance Instance
	env      []string
	log      *slog.Logger

	ready    chan struct{} // closed when prepared
	pristine *pristine
	broken   error // why it could not be prepared; read after ready

	mu       sync.Mutex
	children map[int]bool // processes that this server waits for itself
}

// OpenSandbox reads the instance file in dir, closes dir to everybody else and
// begins to prepare the world in the background, until ctx ends. env is what the
// image sets for its processes, NAME=VALUE.
func OpenSandbox(ctx context.Context, dir string, env []string, log *slog.Logger) (*Sandbox, error) {
	data, err := os.ReadFile(filepath.Join(dir, "instance.json"))
	if err != nil {
		return nil, fmt.Errorf("this is no task's image: %w; an image for episodes holds the instance file of its task there", err)
	}
	i, err := ParseInstance(data)
	if err != nil {
		return nil, err
	}
	if os.Geteuid() != 0 {
		return nil, errors.New("the episode server starts as root, so that it can be somebody else than the agent; remove USER from the end of the Dockerfile")
	}
	if !contained() {
		return nil, errors.New("this is no container: the episode server kills processes and restores files of the whole machine, so it runs nowhere else")
	}
	if err := protect(dir); err != nil {
		return nil, fmt.Errorf("protect %s: %w", dir, err)
	}
	// From here on no program gains rights by being setuid.
	if _, _, errno := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); errno != 0 {
		return nil, fmt.Errorf("give up new privileges: %w", errno)
	}
	s := &Sandbox{dir: dir, instance: i, env: env, log: log, ready: make(chan struct{}), children: map[int]bool{}}
	go func() {
		defer close(s.ready)
		ctx, cancel := context.WithTimeout(ctx, prepareTime)
		defer cancel()
		s.broken = s.prepare(ctx)
	}()
	return s, nil
}

// Prepared waits until the world is prepared and reports whether it can be played
// in.
func (s *Sandbox) Prepared(ctx context.Context) error {
	select {
	case <-s.ready:
		return s.broken
	case <-ctx.Done():
		return fmt.Errorf("the world is being prepared: %w", ctx.Err())
	}
}

// contained reports whether this process is in a container: it is the first one
// of its own process world, or an engine left its mark.
func contained() bool {
	for _, mark := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Lstat(mark); err == nil {
			return true
		}
	}
	return false
}

// protect makes dir and all files in it root's alone.
func protect(dir string) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if s, ok := info.Sys().(*syscall.Stat_t); ok && (s.Uid != 0 || s.Gid != 0) {
			if err := os.Lchown(name, 0, 0); err != nil {
				return err
			}
		}
		if info.Mode().Perm()&0o077 != 0 {
			return os.Chmod(name, info.Mode().Perm()&0o700)
		}
		return nil
	})
}

// prepare makes the image's tree the agent's, hides the future of its repository
// and copies every place that the agent can write to.
func (s *Sandbox) prepare(ctx context.Context) error {
	if err := s.hideTests(); err != nil {
		return err
	}
	if err := os.MkdirAll(agentHome, 0o755); err != nil {
		return err
	}
	for _, root := range []string{agentHome, s.instance.Workdir} {
		if err := give(root); err != nil {
			return fmt.Errorf("give %s to the agent: %w", root, err)
		}
	}
	if s.instance.DatasetType == OpenSourceCode {
		if err := s.forgetFuture(ctx); err != nil {
			return fmt.Errorf("hide the repository's future: %w", err)
		}
	}
	mine := []string{s.instance.Workdir, agentHome}
	for _, shared := range []string{"/dev/shm", "/dev/mqueue"} {
		if _, err := os.Lstat(shared); err == nil {
			mine = append(mine, shared)
		}
	}
	roots, err := writable(ctx, "/", Agent, mine, []string{"/proc", "/sys", "/dev", s.dir})
	if err != nil {
		return err
	}
	s.pristine, err = snapshot(ctx, roots, filepath.Join(s.dir, "pristine"))
	if err == nil {
		s.log.Info("prepared", "task", s.instance.TaskID, "places", len(roots), "files", len(s.pristine.order))
	}
	return err
}

// give makes a tree the agent's own. Ownership is only changed where it differs,
// so an image that has it right costs nothing.
func give(root string) error {
	return filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		e, ok, err := stat(name)
		if err != nil || !ok || e.uid == Agent && e.gid == Agent {
			return err
		}
		if err := os.Lchown(name, Agent, Agent); err != nil || e.mode&fs.ModeSymlink != 0 {
			return err
		}
		return os.Chmod(name, e.mode) // a new owner clears setuid bits
	})
}

// forgetFuture removes every ref that HEAD does not reach, with its objects. It
// runs before the agent, on the repository as the image has it.
func (s *Sandbox) forgetFuture(ctx context.Context) error {
	refs, err := s.git(ctx, "for-each-ref", "--format=%(refname)")
	if err != nil {
		return err
	}
	future := false
	for _, ref := range strings.Fields(refs) {
		ahead, err := s.git(ctx, "rev-list", "--max-count=1", ref, "--not", "HEAD", "--")
		if err == nil && strings.TrimSpace(ahead) == "" {
			continue
		}
		future = true
		if _, err := s.git(ctx, "update-ref", "-d", ref); err != nil {
			return err
		}
	}
	if past, err := s.git(ctx, "rev-list", "--max-count=1", "--reflog", "--not", "HEAD", "--"); err != nil || strings.TrimSpace(past) != "" {
		future = true
	}
	if !future {
		return nil
	}
	if _, err := s.git(ctx, "reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all"); err != nil {
		return err
	}
	for _, name := range []string{"FETCH_HEAD", "ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD"} {
		if err := os.Remove(filepath.Join(s.instance.Workdir, ".git", name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	_, err = s.git(ctx, "-c", "gc.pruneExpire=now", "gc", "--quiet", "--prune=now")
	return err
}

// git runs git in the workdir as the agent's user, with the repository's own
// configuration, and returns its standard output.
func (s *Sandbox) git(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	code, out, err := s.run(ctx, append([]string{"git"}, args...), nil, s.graderEnv())
	if err != nil {
		return "", err
	}
	if code != 0 {
		return "", fmt.Errorf("git %s: exit code %d: %s", strings.Join(args, " "), code, strings.TrimSpace(out))
	}
	return out, nil
}

// Task is the instance's.
func (s *Sandbox) Task() (id, instruction string) {
	return s.instance.TaskID, s.instance.Instruction
}

// Reset kills what the agent has running and restores every place that it can
// write to.
func (s *Sandbox) Reset(ctx context.Context) error {
	if err := s.Prepared(ctx); err != nil {
		return err
	}
	if err := errors.Join(s.Quiet(), s.hideTests()); err != nil {
		return err
	}
	return s.pristine.restore(ctx)
}

// Shell runs a command in the workdir with bash, or sh where there is none.
func (s *Sandbox) Shell(ctx context.Context, command string) (Result, error) {
	// The shell reads the command from a file in memory: an argument may not be
	// longer than 128 KiB, and standard input is the command's own.
	fd, err := unix.MemfdCreate("command", 0)
	if err != nil {
		return Result{}, err
	}
	script := os.NewFile(uintptr(fd), "command")
	defer script.Close()
	if _, err := script.WriteString(command + "\n"); err != nil {
		return Result{}, err
	}
	shell := "/bin/sh"
	if _, err := os.Stat("/bin/bash"); err == nil {
		shell = "/bin/bash"
	}
	limited, cancel := context.WithTimeout(ctx, s.instance.shellTime())
	defer cancel()
	code, out, err := s.run(limited, []string{shell, "/dev/fd/3"}, script, s.agentEnv())
	if ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded) {
		return Result{ExitCode: 124, Output: out + fmt.Sprintf("\n[the command was ended after %s]\n", s.instance.shellTime())}, nil
	}
	return Result{ExitCode: code, Output: out}, err
}

// run runs a program in the workdir as the agent's user, in a session of its own,
// and returns its exit code and output. When ctx ends its process group is
// killed. What it leaves running goes on.
func (s *Sandbox) run(ctx context.Context, args []string, third *os.File, env []string) (int, string, error) {
	path, err := lookPath(args[0], env)
	if err != nil {
		return 0, "", err
	}
	var out clip
	cmd := &exec.Cmd{Path: path, Args: args, Dir: s.instance.Workdir, Env: env, Stdout: &out, Stderr: &out, WaitDelay: time.Second}
	if third != nil {
		cmd.ExtraFiles = []*os.File{third}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: Agent, Gid: Agent, Groups: []uint32{Agent}}}
	s.mu.Lock()
	err = cmd.Start()
	if err == nil {
		s.children[cmd.Process.Pid] = true
	}
	s.mu.Unlock()
	if err != nil {
		// The agent may have removed its workdir, or taken its own rights to it.
		return 126, fmt.Sprintf("%s: %v\n", args[0], err), nil
	}
	stop := context.AfterFunc(ctx, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	// An exit code that is not 0 is an answer, and so are pipes that something in
	// the background holds open.
	err = cmd.Wait()
	stop()
	s.mu.Lock()
	delete(s.children, cmd.Process.Pid)
	s.mu.Unlock()
	if cmd.ProcessState == nil {
		return 0, out.String(), err
	}
	code := cmd.ProcessState.ExitCode()
	if w, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		code = 128 + int(w.Signal())
	}
	return code, out.String(), ctx.Err()
}

// lookPath finds a program on the PATH of env, in directories that are not the
// agent's: os/exec would look at the server's own PATH.
func lookPath(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, dir := range filepath.SplitList(value(env, "PATH")) {
		full := filepath.Join(dir, name)
		if info, err := os.Stat(full); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && filepath.IsAbs(dir) {
			return full, nil
		}
	}
	return "", fmt.Errorf("the image holds no program %q on its PATH", name)
}

func value(env []string, name string) string {
	for _, e := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// agentEnv is the environment of the agent's shell: the image's, with a home of
// its own.
func (s *Sandbox) agentEnv() []string {
	env := append([]string{"PATH=" + systemPath, "LANG=C.UTF-8", "TERM=dumb"}, s.env...)
	return append(env, "HOME="+agentHome, "USER=agent", "LOGNAME=agent", "PWD="+s.instance.Workdir)
}

// graderEnv is the verifier's: the image's without what the agent could have put
// in the way.
func (s *Sandbox) graderEnv() []string {
	image := slices.DeleteFunc(slices.Clone(s.env), func(e string) bool { return strings.HasPrefix(e, "LD_") })
	return append(append([]string{"PATH=" + systemPath, "LANG=C.UTF-8"}, image...),
		"HOME=/nonexistent", "PYTHONNOUSERSITE=1", "PYTHONDONTWRITEBYTECODE=1", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "PWD="+s.instance.Workdir)
}

// Quiet kills every process of the agent's user: all are stopped before any is
// killed, so that none can make another meanwhile.
func (s *Sandbox) Quiet() error {
	for range 100 {
		alive, err := s.sweep(syscall.SIGSTOP)
		if err != nil {
			return err
		}
		if alive == 0 {
			return nil
		}
		if _, err := s.sweep(syscall.SIGKILL); err != nil {
			return err
		}
		time.Sleep(2 * time.Millisecond) // the kernel needs a moment to take them away
	}
	return errors.New("processes of the agent do not die")
}

// sweep sends a signal to every living process of the agent and buries the dead
// ones that this server has inherited.
func (s *Sandbox) sweep(sig syscall.Signal) (alive int, err error) {
	all, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range all {
		pid, err := strconv.Atoi(d.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		status, err := os.ReadFile("/proc/" + d.Name() + "/status")
		if err != nil {
			continue // it has ended
		}
		p := parseStatus(string(status))
		switch {
		case p.state == "Z" && p.parent == os.Getpid() && !s.children[pid]:
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil) // nobody else waits for it
		case p.state == "Z" || p.state == "X" || !slices.Contains(p.uids, strconv.Itoa(Agent)):
		default:
			alive++
			_ = syscall.Kill(pid, sig) // it may have ended
		}
	}
	return alive, nil
}

// process is what matters of /proc/PID/status.
type process struct {
	state  string // "R", "S", "Z", …
	parent int
	uids   []string // real, effective, saved, file system
}

func parseStatus(status string) process {
	var p process
	for line := range strings.Lines(status) {
		name, rest, _ := strings.Cut(line, ":")
		words := strings.Fields(rest)
		switch {
		case len(words) == 0:
		case name == "State":
			p.state = words[0]
		case name == "PPid":
			p.parent, _ = strconv.Atoi(words[0])
		case name == "Uid":
			p.uids = words
		}
	}
	return p
}

// hideTests takes away what exists only while grading.
func (s *Sandbox) hideTests() error {
	err := os.RemoveAll(testsPath)
	if info, lerr := os.Lstat(filepath.Dir(logsPath)); lerr == nil && info.IsDir() {
		return errors.Join(err, os.RemoveAll(logsPath))
	}
	return err
}

// showTests copies the hidden tests to /tests and makes the folder for the
// verifier's word. Both are made anew, in places that are root's.
func (s *Sandbox) showTests() error {
	if err := s.hideTests(); err != nil {
		return err
	}
	from := filepath.Join(s.dir, "tests")
	err := filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		to := filepath.Join(testsPath, rel)
		switch info, err := d.Info(); {
		case err != nil:
			return err
		case d.IsDir():
			return mkdir(to, 0, 0o755)
		case !d.Type().IsRegular():
			return fmt.Errorf("%s is neither a file nor a directory", name)
		default:
			mode := fs.FileMode(0o644)
			if info.Mode()&0o100 != 0 {
				mode = 0o755
			}
			return errors.Join(copyFile(name, to), os.Chmod(to, mode))
		}
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(logsPath)
	if info, err := os.Lstat(parent); err == nil {
		if e, _, err := stat(parent); !info.IsDir() || err != nil || e.uid != 0 || e.mode&0o022 != 0 {
			if err := os.RemoveAll(parent); err != nil {
				return err
			}
		}
	}
	if err := mkdir(parent, 0, 0o755); err != nil {
		return err
	}
	return mkdir(logsPath, Agent, 0o700)
}

// mkdir makes a directory, or finds it, with the owner and mode that are asked
// for whatever the umask is.
func mkdir(name string, owner int, mode fs.FileMode) error {
	if err := os.Mkdir(name, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return errors.Join(os.Lchown(name, owner, owner), os.Chmod(name, mode))
}

// Grade ends the episode. See the package comment for its order.
func (s *Sandbox) Grade(ctx context.Context) (reward float64, err error) {
	if err := s.Quiet(); err != nil {
		return 0, err
	}
	if s.instance.DatasetType == OpenSourceCode {
		// What changed, as the repository's own configuration has it seen: hooks and
		// all, with the agent's rights. It is a note for the log, nothing is judged
		// by it, and an agent that breaks its repository only loses the note. A hook
		// is the agent's last chance to change a file or to leave a process.
		status, err := s.git(ctx, "status", "--porcelain")
		s.log.Info("changes", "paths", strings.Count(status, "\n"), "err", err)
		if err := s.Quiet(); err != nil {
			return 0, err
		}
	}
	tampered, err := s.pristine.changed(s.instance.guards)
	if err != nil {
		return 0, fmt.Errorf("look at guarded files: %w", err)
	}
	if len(tampered) > 0 {
		s.log.Info("guarded files were changed", "first", tampered[0], "count", len(tampered))
		return 0, ctx.Err()
	}
	if err := s.showTests(); err != nil {
		return 0, fmt.Errorf("show the tests: %w", err)
	}
	defer func() { err = errors.Join(err, s.hideTests()) }()
	limited, cancel := context.WithTimeout(ctx, s.instance.verifyTime())
	defer cancel()
	code, out, err := s.run(limited, s.instance.Verifier, nil, s.graderEnv())
	if quiet := s.Quiet(); quiet != nil {
		return 0, quiet
	}
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	s.log.Info("verified", "exit", code, "err", err, "output", lastLine(out))
	if err != nil && limited.Err() == nil {
		return 0, err
	}
	switch {
	case code != 0 || limited.Err() != nil:
		return 0, nil
	case s.instance.Reward == "exit":
		return 1, nil
	}
	return readReward(rewardFile), nil
}

// readReward reads the verifier's number. A file that is none, or no number from
// 0 to 1, is no reward.
func readReward(name string) float64 {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return 0
	}
	defer f.Close()
	text := make([]byte, 64)
	n, err := f.Read(text)
	if err != nil {
		return 0
	}
	reward, err := strconv.ParseFloat(strings.TrimSpace(string(text[:n])), 64)
	if err != nil || math.IsNaN(reward) || reward < 0 || reward > 1 {
		return 0
	}
	return reward
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:][:min(200, len(s)-strings.LastIndexByte(s, '\n')-1)]
}

var _ World = (*Sandbox)(nil)
