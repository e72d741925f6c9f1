package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/posttrainarena/arena/protocol/jobs"
)

const (
	// logGlance is how often a log that is followed is looked at.
	logGlance = 200 * time.Millisecond
	// readSize is how much of a log is read at a time, in bytes.
	readSize = 256 << 10
	// maxStamped bounds one line of a log; a supervisor writes none that is
	// longer.
	maxStamped = 1 << 20
)

// Logs yields the lines after a position as the supervisor writes them. The
// position of a line is where it ends in the log file, in bytes, so reading on
// costs the same wherever it is. It ends without an error when the job has ended
// or ctx is done.
func (p *Provider) Logs(ctx context.Context, id string, after int64) iter.Seq2[jobs.Line, error] {
	return func(yield func(jobs.Line, error) bool) {
		err := p.follow(ctx, id, max(0, after), func(l jobs.Line) bool { return ctx.Err() == nil && yield(l, nil) })
		if err != nil && ctx.Err() == nil {
			yield(jobs.Line{}, fmt.Errorf("read the log of job %s: %w", id, err))
		}
	}
}

// follow calls yield for each line, until it returns false.
func (p *Provider) follow(ctx context.Context, id string, after int64, yield func(jobs.Line) bool) error {
	r := logReader{at: after}
	defer r.close()
	for ctx.Err() == nil {
		// What the job printed before it ended is in the file when its end is.
		v, err := p.look(ctx, id)
		if err != nil {
			return err
		}
		more, err := r.read(filepath.Join(v.dir, logFile), yield)
		if err != nil {
			return fmt.Errorf("%w: %w", jobs.ErrUnreachable, err)
		}
		if !more || v.end != nil {
			return nil
		}
		pause(ctx, logGlance)
	}
	return nil
}

// logReader reads the lines of a log file from a position.
type logReader struct {
	at   int64 // of the first byte in held
	held []byte
	skip bool // the first line in held does not count
	file *os.File
}

// read yields the whole lines that the file has by now. The boolean is false
// when yield wants no more. A file that is not there yet has none.
func (r *logReader) read(path string, yield func(jobs.Line) bool) (bool, error) {
	if r.file == nil {
		if err := r.open(path); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
			return true, err
		}
	}
	buf := make([]byte, readSize)
	for {
		n, err := r.file.Read(buf)
		r.held = append(r.held, buf[:n]...)
		if !r.lines(yield) {
			return false, nil
		}
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return true, err
		}
	}
}

// open opens the file at the reader's position. A position inside a line, which
// only somebody else can have made up, is moved to the line's end.
func (r *logReader) open(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	if r.at > 0 {
		r.at, r.skip = r.at-1, true // from the line end before it
		if _, err := f.Seek(r.at, io.SeekStart); err != nil {
			_ = f.Close()
			return err
		}
	}
	r.file = f
	return nil
}

// lines yields the whole lines that are held.
func (r *logReader) lines(yield func(jobs.Line) bool) bool {
	for {
		end := bytes.IndexByte(r.held, '\n')
		if end < 0 {
			break
		}
		line := r.held[:end]
		r.held, r.at = r.held[end+1:], r.at+int64(end)+1
		if r.skip {
			r.skip = false
			continue
		}
		if at, text, ok := parseStamped(line); ok && !yield(jobs.Line{Position: r.at, At: at, Text: text}) {
			return false
		}
	}
	if len(r.held) > maxStamped { // not a supervisor's work
		r.at, r.held = r.at+int64(len(r.held)), nil
	}
	return true
}

func (r *logReader) close() {
	if r.file != nil {
		_ = r.file.Close() // nothing was written
	}
}

// pause waits for some time or until ctx is done.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
