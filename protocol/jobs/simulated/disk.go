package simulated

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/posttrainarena/arena/protocol/jobs"
)

// record is what one call of Start left behind. The number of the call is the
// file's name.
type record struct {
	ID        string // empty when the call made no job
	Faults    faults
	Seed      uint64
	Speed     float64
	CreatedAt time.Time
	Spec      jobs.Spec // what is played of it: no config, command or environment

	number     int
	canceledAt time.Time // zero unless somebody canceled it
}

// maxRecord bounds the size of a file that is read back, in bytes.
const maxRecord = 64 << 20

var (
	recordName = regexp.MustCompile(`^start-(\d{6,})\.json$`)
	cancelName = regexp.MustCompile(`^([0-9a-f]{24})\.cancel$`)
)

// disk is the directory of a provider and what has been read of it. Files are
// created whole and never change, so each is read once.
type disk struct {
	dir     string
	last    int                  // number of the last Start
	starts  map[int]*record      // by number
	jobs    map[string]*record   // by id
	cancels map[string]time.Time // by job id
}

// openDisk prepares a directory and removes what a killed process left behind.
func openDisk(dir string) (*disk, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), unfinished) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	d := &disk{dir: dir, starts: map[int]*record{}, jobs: map[string]*record{}, cancels: map[string]time.Time{}}
	return d, d.refresh()
}

// refresh reads the files that appeared since the last time.
func (d *disk) refresh() error {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if match := recordName.FindStringSubmatch(entry.Name()); match != nil {
			err = d.readRecord(entry.Name(), match[1])
		} else if match := cancelName.FindStringSubmatch(entry.Name()); match != nil {
			err = d.readCancel(entry.Name(), match[1])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readRecord reads the file of one Start, unless it is known.
func (d *disk) readRecord(name, digits string) error {
	number, err := strconv.Atoi(digits)
	if err != nil {
		return fmt.Errorf("file %s: %w", name, err)
	}
	if d.starts[number] != nil {
		return nil
	}
	data, err := d.read(name)
	if err != nil {
		return err
	}
	r := &record{number: number}
	if err := json.Unmarshal(data, r); err != nil {
		return fmt.Errorf("file %s of the simulated provider is damaged: %w; remove it to forget the job", name, err)
	}
	d.starts[number] = r
	d.last = max(d.last, number)
	if r.ID != "" {
		r.canceledAt = d.cancels[r.ID]
		d.jobs[r.ID] = r
	}
	return nil
}

// readCancel reads the mark of one Cancel, unless it is known.
func (d *disk) readCancel(name, id string) error {
	if !d.cancels[id].IsZero() {
		return nil
	}
	data, err := d.read(name)
	if err != nil {
		return err
	}
	at, err := time.Parse(time.RFC3339Nano, string(data))
	if err != nil {
		return fmt.Errorf("file %s of the simulated provider is damaged: %w", name, err)
	}
	d.cancels[id] = at
	if r := d.jobs[id]; r != nil {
		r.canceledAt = at
	}
	return nil
}

// read returns the content of a file, which must not be larger than maxRecord.
func (d *disk) read(name string) ([]byte, error) {
	f, err := os.Open(filepath.Join(d.dir, name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxRecord+1))
	if err == nil && len(data) > maxRecord {
		err = fmt.Errorf("file %s is larger than %d bytes", name, maxRecord)
	}
	return data, err
}

// add stores the record of the next Start. It returns fs.ErrExist when another
// process took the number.
func (d *disk) add(r *record) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("start-%06d.json", r.number)
	if err := d.create(name, data); err != nil {
		return err
	}
	return d.readRecord(name, strconv.Itoa(r.number))
}

// cancel marks a job as canceled. The first mark holds.
func (d *disk) cancel(id string, at time.Time) error {
	name := id + ".cancel"
	err := d.create(name, []byte(at.Format(time.RFC3339Nano)))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return d.readCancel(name, id)
}

// unfinished is how the names of files begin that are being written.
const unfinished = ".unfinished-"

// create makes a file that is either there with its whole content, also after a
// power cut, or not there at all. It returns fs.ErrExist when the name is taken.
func (d *disk) create(name string, data []byte) (err error) {
	f, err := os.CreateTemp(d.dir, unfinished+"*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), filepath.Join(d.dir, name)); err != nil {
		return err
	}
	return syncDir(d.dir)
}

// syncDir makes the names in a directory survive a power cut.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
