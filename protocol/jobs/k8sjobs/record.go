package k8sjobs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	batch "k8s.io/api/batch/v1"

	"github.com/posttrainarena/arena/protocol/jobs"
)

// recordFile is the name of a job's record in its directory.
const recordFile = "record.json"

// formVersion is the version of the record.
const formVersion = 1

// maxRecord bounds a record, in bytes.
const maxRecord = 64 << 10

// record is what the arena remembers of a job. Times that are not known are zero.
type record struct {
	Version int           `json:"version"`
	Run     string        `json:"run"`
	Timeout time.Duration `json:"timeout"` // in nanoseconds
	Grace   time.Duration `json:"grace"`   // between TERM and KILL
	// UID is the Job's; empty until the cluster has confirmed it.
	UID       string    `json:"uid,omitempty"`
	CreatedAt time.Time `json:"created_at,omitzero"`
	// BilledFrom is when the pod was on a node, and StartedAt when its command ran.
	BilledFrom time.Time `json:"billed_from,omitzero"`
	StartedAt  time.Time `json:"started_at,omitzero"`
	// Waiting is why it did not run when it was last looked at.
	Waiting    string    `json:"waiting,omitempty"`
	CanceledAt time.Time `json:"canceled_at,omitzero"`
	// End is how it ended, for good.
	End *ending `json:"end,omitempty"`
}

// ending is how a job ended.
type ending struct {
	Status  jobs.Status   `json:"status"`
	Message string        `json:"message,omitempty"`
	EndedAt time.Time     `json:"ended_at"`
	Billed  time.Duration `json:"billed"`
}

func newRecord(spec jobs.Spec, grace time.Duration) record {
	return record{Version: formVersion, Run: spec.Run, Timeout: wholeSeconds(spec.Timeout), Grace: grace}
}

// recordOf is what a Job says about itself when its directory does not.
func recordOf(job *batch.Job) record {
	r := record{Version: formVersion, Run: runOf(job)}
	pod := job.Spec.Template.Spec
	if s := pod.ActiveDeadlineSeconds; s != nil {
		r.Timeout = time.Duration(*s) * time.Second
	}
	if s := pod.TerminationGracePeriodSeconds; s != nil {
		r.Grace = time.Duration(*s) * time.Second
	}
	return r
}

// readRecord reads the record in a job's directory. One that is not there is no
// error: the boolean tells.
func readRecord(dir string) (record, bool, error) {
	path := filepath.Join(dir, recordFile)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, false, nil
	}
	if err != nil {
		return record{}, false, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	data, err := io.ReadAll(io.LimitReader(f, maxRecord))
	var r record
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err == nil && r.Version != formVersion {
		err = fmt.Errorf("it is of form %d and this arena reads form %d; let the arena that made it end the job", r.Version, formVersion)
	}
	if err != nil {
		return record{}, false, fmt.Errorf("read %s: %w", path, err)
	}
	return r, true, nil
}

// writeRecord writes the record in a job's directory, as a whole or not at all.
func writeRecord(dir string, r record) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "."+recordFile+"-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // its content has the other name by then
	_, err = f.Write(append(data, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(dir, recordFile))
}
