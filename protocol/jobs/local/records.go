package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/posttrainarena/arena/protocol/jobs"
)

// The names of a job's records; doc.go says what they hold, and jobdir names the
// rest of its files.
const (
	jobFile        = "job.json"
	logFile        = "log"
	supervisorFile = "supervisor.json"
	commandFile    = "command.json"
	cancelFile     = "cancel.json"
	exitFile       = "exit.json"
	supervisorLog  = "supervisor.log"
)

// formVersion is the version of the records. A supervisor may be of another
// build than the arena that finds its job.
const formVersion = 1

// order is job.json: what a job is.
type order struct {
	Version   int               `json:"version"`
	ID        string            `json:"id"`
	Run       string            `json:"run"`
	Flavor    string            `json:"flavor"`
	Command   []string          `json:"command"` // with an absolute path
	Env       map[string]string `json:"env"`     // no secrets: those go by name
	Timeout   time.Duration     `json:"timeout"` // in nanoseconds, like every duration here
	Grace     time.Duration     `json:"grace"`   // between TERM and KILL
	CreatedAt time.Time         `json:"created_at"`
}

// process is supervisor.json and command.json: which process, and since when.
type process struct {
	PID       int       `json:"pid"`
	Born      string    `json:"born"` // see birth
	StartedAt time.Time `json:"started_at"`
}

// cancellation is cancel.json.
type cancellation struct {
	AskedAt time.Time `json:"asked_at"`
}

// ending is exit.json: how a job ended.
type ending struct {
	Status  jobs.Status   `json:"status"`
	Message string        `json:"message,omitempty"`
	EndedAt time.Time     `json:"ended_at"`
	Billed  time.Duration `json:"billed"`
}

// maxRecord bounds a record, in bytes.
const maxRecord = 1 << 20

// readRecord reads a record of a job. A record that is not there is no error:
// the boolean tells.
func readRecord(dir, name string, into any) (bool, error) {
	f, err := os.Open(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	data, err := io.ReadAll(io.LimitReader(f, maxRecord))
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return false, fmt.Errorf("read %s: %w", filepath.Join(dir, name), err)
	}
	return true, nil
}

// writeOnce writes a record that must not change: whole or not at all, and only
// if nobody has written it before. The boolean says that this call did.
func writeOnce(dir, name string, record any) (bool, error) {
	data, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return false, err
	}
	f, err := os.CreateTemp(dir, "."+name+"-*") // mode 0600
	if err != nil {
		return false, err
	}
	defer func() { _ = os.Remove(f.Name()) }() // its content has the other name by then
	_, err = f.Write(append(data, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return false, err
	}
	err = os.Link(f.Name(), filepath.Join(dir, name))
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

// view is what a job's directory says at one moment.
type view struct {
	order
	dir        string
	supervisor *process
	command    *process
	canceled   *cancellation
	end        *ending
}

// readView reads a job's directory. One without job.json is fs.ErrNotExist.
func readView(dir string) (view, error) {
	v := view{dir: dir}
	// exit.json is read first: whatever is read after it is at least as old.
	if err := optional(dir, exitFile, &v.end); err != nil {
		return v, err
	}
	found, err := readRecord(dir, jobFile, &v.order)
	switch {
	case err != nil:
		return v, err
	case !found:
		return v, fs.ErrNotExist
	case v.Version != formVersion:
		return v, fmt.Errorf("%s is of form %d and this arena reads form %d; let the arena that made it end the job", filepath.Join(dir, jobFile), v.Version, formVersion)
	}
	return v, errors.Join(
		optional(dir, supervisorFile, &v.supervisor),
		optional(dir, commandFile, &v.command),
		optional(dir, cancelFile, &v.canceled),
	)
}

// optional reads a record into a pointer, which stays nil without it.
func optional[T any](dir, name string, into **T) error {
	var record T
	found, err := readRecord(dir, name, &record)
	if found {
		*into = &record
	}
	return err
}

// job returns what the provider says about the job as of now.
func (v view) job(now time.Time) jobs.Job {
	j := jobs.Job{ID: v.ID, Run: v.Run, Status: jobs.Scheduling, CreatedAt: v.CreatedAt}
	if v.supervisor != nil {
		j.Status, j.StartedAt = jobs.Running, v.supervisor.StartedAt
		j.Billed = billable(now.Sub(j.StartedAt), v.Timeout)
	}
	if v.end != nil {
		j.Status, j.Message, j.EndedAt, j.Billed = v.end.Status, v.end.Message, v.end.EndedAt, v.end.Billed
	}
	return j
}

// billable is the part of a job's time that costs money: never more than was
// reserved for it.
func billable(wall, timeout time.Duration) time.Duration { return min(max(0, wall), timeout) }

// isID reports whether a name is that of a job's directory: 24 hex digits.
func isID(name string) bool {
	return len(name) == 24 && strings.Trim(name, "0123456789abcdef") == ""
}
