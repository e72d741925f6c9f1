package local

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/posttrainarena/arena/protocol/jobs"
	"github.com/posttrainarena/arena/protocol/jobs/jobdir"
)

// launch starts the supervisor of a job, in a session of its own so that nothing
// that happens to this process or its terminal reaches it. It does so once.
func (p *Provider) launch(v view) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, before := p.launched[v.ID]; before {
		return nil
	}
	said, err := os.OpenFile(filepath.Join(v.dir, supervisorLog), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = said.Close() }() // the supervisor has its own
	words := append(slices.Clone(p.options.Supervisor), v.dir)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir, cmd.Env = v.dir, p.environment(v)
	cmd.Stdout, cmd.Stderr = said, said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the job's supervisor: %w", err)
	}
	p.launched[v.ID] = true
	go func() {
		_ = cmd.Wait() // how it ended is in the job's records, or missing there
		p.mu.Lock()
		defer p.mu.Unlock()
		p.launched[v.ID] = false
	}()
	return nil
}

// harmless names the variables that every command gets.
func harmless() []string {
	return []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"}
}

// environment is what a job's command gets from this process's environment and
// about itself.
func (p *Provider) environment(v view) []string {
	values := map[string]string{}
	for _, name := range slices.Concat(harmless(), p.options.Environment) {
		if value := p.options.Getenv(name); value != "" {
			values[name] = value
		}
	}
	maps.Copy(values, v.Env)
	work := filepath.Join(v.dir, jobdir.Work)
	values[jobdir.EnvRun] = v.Run
	values[jobdir.EnvOutput] = filepath.Join(v.dir, jobdir.Output)
	values[jobdir.EnvConfig] = filepath.Join(work, jobdir.Config)
	if collection := filepath.Join(work, jobdir.Collection); isDir(collection) {
		values[jobdir.EnvCollection] = collection
	}
	var env []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		env = append(env, name+"="+values[name])
	}
	return env
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// revive sees to a job that has not ended and whose supervisor is not at work.
// One that never had a supervisor, because the arena was killed between the two,
// gets it now. One whose supervisor is dead has failed: what is left of it is
// killed, and how it ended is recorded.
func (p *Provider) revive(v view) (view, error) {
	p.mu.Lock()
	starting, launched := p.launched[v.ID]
	p.mu.Unlock()
	alive, err := v.supervisor.alive()
	if err != nil || alive || v.supervisor == nil && starting {
		return v, err
	}
	// Its last act may have been to record the end, or its first to claim the job.
	now, err := readView(v.dir)
	if err != nil || now.end != nil || (now.supervisor == nil) != (v.supervisor == nil) {
		return now, err
	}
	if v = now; v.supervisor == nil {
		if launched {
			return p.bury(v, "The job's supervisor ended before it could start the command; supervisor.log in the job's directory may say why.")
		}
		if err := p.launch(v); err != nil {
			return p.bury(v, fmt.Sprintf("The job's supervisor could not be started: %v.", err))
		}
		return v, nil
	}
	left, err := v.command.alive()
	if err == nil && left {
		err = signalGroup(v.command.PID, syscall.SIGKILL)
	}
	if err != nil {
		return v, fmt.Errorf("kill what is left of job %s: %w", v.ID, err)
	}
	return p.bury(v, "The job's supervisor died, so its command was killed.")
}

// bury records the end of a job that has nobody else to do so. Its log's last
// change is the last that is known of it.
func (p *Provider) bury(v view, message string) (view, error) {
	end := ending{Status: jobs.Failed, Message: message, EndedAt: p.options.Now().UTC()}
	if v.canceled != nil {
		end.Status, end.Message = jobs.Canceled, "Somebody canceled the job."
	}
	if v.supervisor != nil {
		last := v.supervisor.StartedAt
		if info, err := os.Stat(filepath.Join(v.dir, logFile)); err == nil && info.ModTime().After(last) {
			last = info.ModTime().UTC()
		}
		end.Billed = billedUntil(end.Status, v.supervisor.StartedAt, last, last, v.Timeout)
	}
	if _, err := writeOnce(v.dir, exitFile, end); err != nil {
		return v, err
	}
	return readView(v.dir)
}
