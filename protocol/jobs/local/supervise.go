package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/posttrainarena/arena/protocol/jobs"
	"github.com/posttrainarena/arena/protocol/jobs/jobdir"
)

const (
	// cancelGlance is how often a supervisor looks whether somebody canceled.
	cancelGlance = 200 * time.Millisecond
	// orphanGlance is how often a supervisor looks for adopted processes that have
	// ended.
	orphanGlance = 30 * time.Second
	// drainLimit is how long output is awaited once the command's processes are
	// gone: only one that nobody could kill can still hold the pipe.
	drainLimit = 2 * time.Second
)

// Supervise runs the command of the job in a directory to its end, and is what
// the provider's Supervisor command does. env is the environment of this
// process, which the command inherits; when ctx ends, because this process was
// told to stop, the command is stopped too. This process must have no children of
// its own: on Linux it adopts what the command leaves behind, and kills every child
// that it has once the command has ended.
//
// It returns nil without doing anything when another process has the job
// already. What becomes of the command is no error: it is in the job's record.
func Supervise(ctx context.Context, dir string, env []string, now func() time.Time) error {
	v, err := readView(dir)
	if err != nil {
		return fmt.Errorf("supervise the job in %s: %w", dir, err)
	}
	born, err := birth(os.Getpid())
	if err != nil {
		return fmt.Errorf("supervise the job in %s: %w", dir, err)
	}
	self := process{PID: os.Getpid(), Born: born, StartedAt: now().UTC().Round(0)}
	if mine, err := writeOnce(dir, supervisorFile, self); err != nil || !mine {
		return err
	}
	s := supervisor{order: v.order, dir: dir, env: env, now: now, started: self.StartedAt}
	end := s.run(ctx)
	if _, err := writeOnce(dir, exitFile, end); err != nil {
		return fmt.Errorf("record how the job in %s ended: %w", dir, err)
	}
	return nil
}

// supervisor looks after one command.
type supervisor struct {
	order
	dir     string
	env     []string
	now     func() time.Time
	started time.Time

	exited chan error // receives the result of waiting for the command
}

// run runs the command and returns how the job ended.
func (s *supervisor) run(ctx context.Context) ending {
	if s.cancelAsked() {
		return s.ended(jobs.Canceled, "Canceled before the command was started.", time.Time{})
	}
	log, err := os.OpenFile(filepath.Join(s.dir, logFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return s.ended(jobs.Failed, fmt.Sprintf("The log of the job cannot be written: %v.", err), time.Time{})
	}
	out := &stamper{log: log, now: s.now, room: maxLog}
	if err := adoptOrphans(); err != nil {
		return s.ended(jobs.Failed, fmt.Sprintf("The command's processes cannot be kept together: %v.", err), time.Time{})
	}
	cmd, drained, err := s.start(out)
	if err != nil {
		return s.ended(jobs.Failed, fmt.Sprintf("The command cannot be started: %v.", err), time.Time{})
	}
	status, message := s.await(ctx, cmd)
	// What the command left running ends with its job: first its group, then those
	// that left the group.
	_ = signalGroup(cmd.Process.Pid, syscall.SIGKILL)
	killOrphans()
	<-drained()
	out.close()
	if err := errors.Join(log.Sync(), log.Close()); err != nil || out.failed > 0 {
		message += " Part of the log could not be written."
	}
	return s.ended(status, message, out.last)
}

// start starts the command in a process group of its own, with both its output
// streams in one pipe so that their order is kept. drained returns a channel
// that is closed when the output has been read, which it soon has.
func (s *supervisor) start(out io.Writer) (cmd *exec.Cmd, drained func() <-chan struct{}, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	cmd = exec.Command(s.Command[0], s.Command[1:]...)
	cmd.Dir, cmd.Env = filepath.Join(s.dir, jobdir.Work), s.env
	cmd.Stdout, cmd.Stderr = w, w
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = cmd.Start()
	_ = w.Close() // the command has its own
	if err != nil {
		_ = r.Close()
		return nil, nil, err
	}
	born, recordErr := birth(cmd.Process.Pid)
	if recordErr == nil {
		_, recordErr = writeOnce(s.dir, commandFile, process{PID: cmd.Process.Pid, Born: born, StartedAt: s.now().UTC()})
	}

	done := make(chan struct{})
	go func() {
		defer close(done)
		if recordErr != nil {
			_, _ = fmt.Fprintf(out, "The command's process could not be recorded: %v\n", recordErr)
		}
		_, _ = io.Copy(out, r) // ends with the last writer, or with the deadline below
		_ = r.Close()
	}()
	s.exited = make(chan error, 1)
	go func() { s.exited <- cmd.Wait() }()
	return cmd, func() <-chan struct{} {
		_ = r.SetReadDeadline(s.now().Add(drainLimit))
		return done
	}, nil
}

// await waits for the command to end by itself or for a reason to end it.
func (s *supervisor) await(ctx context.Context, cmd *exec.Cmd) (jobs.Status, string) {
	limit := time.NewTimer(s.Timeout)
	defer limit.Stop()
	glance := time.NewTicker(cancelGlance)
	defer glance.Stop()
	orphans := time.NewTicker(orphanGlance)
	defer orphans.Stop()
	for {
		select {
		case err := <-s.exited:
			return outcome(err)
		case <-orphans.C:
			buryOrphans(cmd.Process.Pid)
		case <-limit.C:
			s.stop(cmd)
			return jobs.TimedOut, fmt.Sprintf("The command was stopped at its limit of %s.", s.Timeout)
		case <-ctx.Done():
			s.stop(cmd)
			return jobs.Failed, "The machine told the job to stop."
		case <-glance.C:
			if s.cancelAsked() {
				s.stop(cmd)
				return jobs.Canceled, "Somebody canceled the job."
			}
		}
	}
}

// stop ends the command: it is asked to, and after the grace it is made to.
func (s *supervisor) stop(cmd *exec.Cmd) {
	grace := time.NewTimer(s.Grace)
	defer grace.Stop()
	_ = signalGroup(cmd.Process.Pid, syscall.SIGTERM)
	select {
	case <-s.exited:
		return
	case <-grace.C:
	}
	_ = signalGroup(cmd.Process.Pid, syscall.SIGKILL)
	<-s.exited
}

// outcome says how a command ended that nobody stopped.
func outcome(err error) (jobs.Status, string) {
	if err == nil {
		return jobs.Completed, ""
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return jobs.Failed, fmt.Sprintf("The command's end could not be observed: %v.", err)
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return jobs.Failed, fmt.Sprintf("The command was ended by a signal (%s).", status.Signal())
	}
	return jobs.Failed, fmt.Sprintf("The command ended with exit code %d.", exit.ExitCode())
}

// cancelAsked reports whether somebody asked for the job to stop. A record that
// cannot be read is looked at again.
func (s *supervisor) cancelAsked() bool {
	_, err := os.Lstat(filepath.Join(s.dir, cancelFile))
	return err == nil
}

// ended makes the record of the job's end. lastLine is when it last printed.
func (s *supervisor) ended(status jobs.Status, message string, lastLine time.Time) ending {
	at := s.now().UTC()
	return ending{Status: status, Message: message, EndedAt: at, Billed: billedUntil(status, s.started, lastLine, at, s.Timeout)}
}

// billedUntil is the time of an ended job that costs money: all of it, of a
// canceled one up to its last line (PROTOCOL §8).
func billedUntil(status jobs.Status, started, lastLine, ended time.Time, timeout time.Duration) time.Duration {
	if status != jobs.Canceled {
		return billable(ended.Sub(started), timeout)
	}
	if lastLine.IsZero() {
		return 0
	}
	return billable(lastLine.Sub(started), timeout)
}
