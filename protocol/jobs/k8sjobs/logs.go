package k8sjobs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"time"

	"github.com/posttrainarena/arena/protocol/jobs"
)

const (
	// logSlack is how much earlier than the last line a log is read on: two streams
	// of a command are stamped by two hands, so a line may lie behind a later one.
	logSlack = 5 * time.Second
	// maxLine bounds one line of a log, in bytes; the rest of a longer one is left
	// out.
	maxLine = 1 << 20
	// maxCuts is how often in a row a stream may end early and bring nothing new.
	maxCuts = 5
	// logPatience is how long after a job's end its log may be out of reach before
	// it counts as lost: a node that is gone takes the log along.
	logPatience = 30 * time.Minute
)

// Logs yields the lines after a position as the container prints them. It ends
// without an error when the job has ended or ctx is done.
func (p *Provider) Logs(ctx context.Context, id string, after int64) iter.Seq2[jobs.Line, error] {
	return func(yield func(jobs.Line, error) bool) {
		r := &logReader{after: max(0, after), yield: func(l jobs.Line) bool { return ctx.Err() == nil && yield(l, nil) }}
		if err := p.follow(ctx, id, r); err != nil && ctx.Err() == nil {
			yield(jobs.Line{}, fmt.Errorf("read the log of job %s: %w", id, err))
		}
	}
}

// follow reads a job's log until the job has ended and its log is whole, or nobody
// wants more.
func (p *Provider) follow(ctx context.Context, id string, r *logReader) error {
	for cuts := 0; ctx.Err() == nil; {
		v, err := p.look(ctx, id)
		if err != nil {
			return err
		}
		before := r.after
		// What was printed before the end is in a log that is asked for after it.
		whole, err := p.readLog(ctx, &v, r)
		switch {
		case r.enough:
			return nil
		case err != nil && v.End != nil && p.options.Now().Sub(v.End.EndedAt) > logPatience:
			return nil
		case err != nil:
			return err
		case whole && v.End != nil:
			return nil
		case whole || r.after > before:
			cuts = 0
		default:
			if cuts++; cuts >= maxCuts {
				return fmt.Errorf("%w: the stream ends early every time", jobs.ErrUnreachable)
			}
		}
		pause(ctx, p.options.Glance)
	}
	return nil
}

// readLog reads the log of a job's pod as far as it goes. The boolean says that the
// stream ended in order, or that there is no log to read.
func (p *Provider) readLog(ctx context.Context, v *view, r *logReader) (whole bool, err error) {
	if began(v.pod).IsZero() {
		return true, nil
	}
	var since time.Time
	if r.after > 0 {
		since = time.Unix(0, r.after).Add(-logSlack)
	}
	stream, err := p.cluster.log(ctx, v.pod.Name, since, v.End == nil)
	if notFound(err, v.pod.Name) {
		return true, nil // the next look says what became of the job
	}
	if s, genuine := statusOf(err); genuine && s.Code == http.StatusBadRequest && v.End == nil {
		return true, nil // its container does not run yet, or no longer
	}
	if err != nil {
		return false, outcome(reads, true, err)
	}
	defer func() { _ = stream.Close() }() // nothing was written
	return r.read(stream, v.End != nil), nil
}

// logReader turns a stream of stamped lines into lines with positions.
type logReader struct {
	after  int64 // the position of the last line that was yielded
	yield  func(jobs.Line) bool
	enough bool // yield wants no more
}

// read reads a stream from its beginning, which may lie before r.after, and reports
// whether it ended in order. A line without its end is one only when the job has
// ended: nothing more of it can come.
func (r *logReader) read(stream io.Reader, ended bool) bool {
	in := bufio.NewReaderSize(stream, 64<<10)
	last := int64(0) // in this stream
	for {
		line, err := readLine(in)
		if err == nil || ended && errors.Is(err, io.EOF) && len(line) > 0 {
			if !r.take(line, &last) {
				r.enough = true
				return false
			}
		}
		if err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

// take yields a stamped line unless it was yielded before. What is not stamped is
// not the command's: the node says so that it cannot read the log.
func (r *logReader) take(line []byte, last *int64) bool {
	stamp, text, ok := bytes.Cut(line, []byte(" "))
	if !ok {
		stamp, text = line, nil
	}
	at, err := time.Parse(time.RFC3339Nano, string(stamp))
	if err != nil {
		return true
	}
	*last = max(at.UnixNano(), *last+1)
	if *last <= r.after {
		return true
	}
	r.after = *last
	return r.yield(jobs.Line{Position: *last, At: at.UTC(), Text: string(text)})
}

// readLine reads a line without its end. With an error it is what came of one.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if room := maxLine - len(line); room > 0 {
			line = append(line, part[:min(len(part), room)]...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return bytes.TrimSuffix(line, []byte("\n")), err
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
