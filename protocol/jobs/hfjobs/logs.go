package hfjobs

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/posttrainarena/arena/protocol/jobs"
)

const (
	// maxEvent bounds one event of a log as it is on the wire, in bytes.
	maxEvent = 16 << 20
	// perEvent is how many lines an event may have: positions are the event's
	// number times this, plus the line's.
	perEvent = 1 << 20
	// held is how many events of a log that has changed are looked at for the place
	// where reading stopped.
	held = 10_000
	// deaf is how long a stream may be without even a sign of life (J17).
	deaf = 120 * time.Second
	// firstPause and lastPause are the pauses between connections.
	firstPause = time.Second
	lastPause  = 10 * time.Second
)

// entry is one event of a log (J14).
type entry struct {
	Timestamp time.Time `json:"timestamp"`
	Data      string    `json:"data"`
}

func (e entry) sum() [sha256.Size]byte {
	return sha256.Sum256([]byte(e.Timestamp.UTC().Format(time.RFC3339Nano) + "\x00" + e.Data))
}

// Logs implements jobs.Provider. Each connection replays the log from its first
// event (J15), so a line's position comes from where it stands in the whole log,
// and what was read before is passed over.
func (p *Provider) Logs(ctx context.Context, id string, after int64) iter.Seq2[jobs.Line, error] {
	return func(yield func(jobs.Line, error) bool) {
		f := &following{provider: p, id: id, after: after, yield: yield}
		if err := f.follow(ctx); err != nil && !f.left {
			yield(jobs.Line{}, err)
		}
	}
}

// following is one reading of a log, over as many connections as it takes.
type following struct {
	provider *Provider
	id       string
	after    int64 // the last position that was yielded, or asked to be passed over
	yield    func(jobs.Line, error) bool
	left     bool // whoever reads has had enough

	// What was seen of the log on earlier connections.
	count int                 // events
	sum   [sha256.Size]byte   // over all of them, in order
	first [sha256.Size]byte   // of the first
	last  [][sha256.Size]byte // of the last three

	// Where the events of a log that has changed begin to count.
	base int
}

// errLeft ends a reading that nobody listens to any more.
var errLeft = errors.New("the reader has left")

// follow reads until the job has ended and its log with it.
func (f *following) follow(ctx context.Context) error {
	pause := firstPause
	for {
		before := f.count
		over, err := f.connect(ctx)
		switch {
		case f.left || errors.Is(err, errLeft):
			f.left = true
			return nil
		case err != nil && ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case over:
			return nil
		}
		if f.count > before {
			pause = firstPause
		}
		if err := f.provider.sleep(ctx, pause); err != nil {
			return err
		}
		pause = min(2*pause, lastPause)
	}
}

func (p *Provider) sleep(ctx context.Context, d time.Duration) error {
	if p.options.Sleep != nil {
		return p.options.Sleep(ctx, d)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// connect reads one connection to its end. It returns true when the job has ended
// and everything was read; false to connect again.
func (f *following) connect(ctx context.Context) (over bool, err error) {
	p := f.provider
	// Whether the job had ended before the connection began decides whether its end
	// is the log's.
	now, err := p.Inspect(ctx, f.id)
	if err != nil {
		return false, err
	}
	call := p.call("read the log of job "+f.id, http.MethodGet, p.jobsURL(f.id, "logs"), nil)
	call.Header.Set("Accept", "text/event-stream")
	call.Once, call.Timeout = true, 24*time.Hour
	ended := now.Status.Ended()
	var failed error // of our side: not to be mistaken for a broken stream
	err = p.client.Do(ctx, call, func(r *http.Response) error {
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "text/event-stream" {
			return errors.New("it is no stream of events")
		}
		over, failed = f.read(ctx, r.Body, ended)
		return nil
	})
	if failed != nil {
		return false, failed
	}
	if err != nil {
		return false, reading(err)
	}
	return over, nil
}

// read takes events from a stream until it ends, breaks, or says nothing more of a
// job that has ended.
func (f *following) read(ctx context.Context, body io.ReadCloser, ended bool) (over bool, err error) {
	events, gone := make(chan *entry), make(chan error, 1)
	stop := make(chan struct{})
	go func() { gone <- scan(body, events, stop) }()
	defer func() { // the goroutine ends before the connection is given back
		close(stop)
		_ = body.Close()
		<-gone
	}()
	p := f.provider
	replay := &replaying{following: f}
	quiet := time.NewTimer(p.options.Quiet)
	defer quiet.Stop()
	silence := time.Duration(0)
	for {
		wait := p.options.Quiet
		if ended {
			wait = p.options.Last
		}
		quiet.Reset(wait)
		select {
		case e := <-events:
			silence = 0
			if e == nil { // a sign of life
				continue
			}
			if err := replay.take(*e); err != nil {
				return false, err
			}
		case broken := <-gone:
			gone <- nil
			if broken != nil || !ended {
				return false, nil
			}
			return true, replay.finish()
		case <-quiet.C:
			if ended {
				return true, replay.finish()
			}
			silence += wait
			now, err := p.Inspect(ctx, f.id)
			if err != nil {
				return false, err
			}
			ended = now.Status.Ended()
			if silence >= deaf {
				return false, nil
			}
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// scan reads events off a stream; nil for each sign of life that is none. It
// returns nil when the stream ended as a stream does.
func scan(body io.Reader, events chan<- *entry, stop <-chan struct{}) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 64<<10), maxEvent)
	var data [][]byte
	for lines.Scan() {
		line := bytes.TrimSuffix(lines.Bytes(), []byte("\r"))
		var e *entry
		switch rest, ok := bytes.CutPrefix(line, []byte("data:")); {
		case ok:
			data = append(data, bytes.Clone(bytes.TrimPrefix(rest, []byte(" "))))
			continue
		case len(line) == 0 && len(data) > 0:
			e = &entry{}
			raw := bytes.Join(data, []byte("\n"))
			data = nil
			if json.Unmarshal(raw, e) != nil { // what cannot be read is kept as it is
				e = &entry{Data: string(raw)}
			}
		case len(line) == 0:
			continue
		}
		select {
		case events <- e:
		case <-stop:
			return nil
		}
	}
	return lines.Err()
}

// replaying takes the events of one connection, beginning with those that are known.
type replaying struct {
	*following
	seen    int               // events on this connection
	sumHere [sha256.Size]byte // over them
	changed bool              // this is not the log that was read before
	kept    []entry           // of a changed log, until the old place is found
	half    string            // of a line that an event has begun
	raw     bool              // events end their lines themselves, so one that does not has half a line
	at      time.Time         // of the newest line: times of a log do not go back
}

// take passes an event over or yields its lines.
func (r *replaying) take(e entry) error {
	sum := e.sum()
	if r.seen == 0 && r.count > 0 && sum != r.first {
		r.changed = true // the head is gone (Z5)
	}
	if r.changed {
		return r.find(e)
	}
	r.seen++
	r.sumHere = sha256.Sum256(append(r.sumHere[:], sum[:]...))
	if r.seen == r.count && r.sumHere != r.sum {
		if err := r.gap(); err != nil {
			return err
		}
	}
	if r.seen > r.count {
		r.note(sum)
	}
	return r.lines(r.base+r.seen, e)
}

// note remembers an event that is new.
func (r *replaying) note(sum [sha256.Size]byte) {
	if r.count == 0 {
		r.first = sum
	}
	r.count++
	r.sum = sha256.Sum256(append(r.sum[:], sum[:]...))
	r.last = append(r.last, sum)
	r.last = r.last[max(0, len(r.last)-3):]
}

// find looks for the last known events in a log that lost its head. What follows
// them is new; if they are not there, all of it is, after a line that says so.
func (r *replaying) find(e entry) error {
	r.kept = append(r.kept, e)
	n := len(r.last)
	if len(r.kept) >= n && slices.EqualFunc(r.kept[len(r.kept)-n:], r.last, func(e entry, sum [sha256.Size]byte) bool { return e.sum() == sum }) {
		known := r.kept
		r.kept = nil
		r.restart(known)
		return nil
	}
	if len(r.kept) >= held {
		return r.finish()
	}
	return nil
}

// restart makes what was just seen the head of the log from here on.
func (r *replaying) restart(known []entry) {
	r.base += r.count - len(known)
	r.count, r.seen, r.changed, r.last = 0, 0, false, nil
	r.sum, r.sumHere = [sha256.Size]byte{}, [sha256.Size]byte{}
	for _, e := range known {
		sum := e.sum()
		r.note(sum)
		r.seen++
		r.sumHere = r.sum
	}
}

// finish yields what was kept of a changed log in which the old place is not found.
func (r *replaying) finish() error {
	if !r.changed {
		return r.rest()
	}
	kept := r.kept
	r.kept = nil
	if err := r.gap(); err != nil {
		return err
	}
	r.base += r.count
	r.count, r.seen, r.changed, r.last = 0, 0, false, nil
	r.sum, r.sumHere = [sha256.Size]byte{}, [sha256.Size]byte{}
	for _, e := range kept {
		if err := r.take(e); err != nil {
			return err
		}
	}
	return r.rest()
}

// gap says in the log that it is not whole.
func (r *replaying) gap() error {
	r.base++
	at := r.at
	if at.IsZero() {
		at = r.provider.options.Now().UTC()
	}
	return r.emit(int64(r.base+r.count)*perEvent, at, "[arena] the provider's log has changed: lines may be missing or repeated here")
}

// rest yields the half line with which a log ends.
func (r *replaying) rest() error {
	if r.half == "" {
		return nil
	}
	text := r.half
	r.half = ""
	return r.emit(int64(r.base+r.seen)*perEvent+perEvent-1, r.at, text)
}

// marker reports whether an event is one that the service itself puts first and last
// (J16).
func marker(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasSuffix(text, " =====") && (strings.HasPrefix(text, "===== Job started at ") || strings.HasPrefix(text, "===== Job finished: "))
}

// lines yields the lines of the n-th event. An event is a line, or several, or with
// some programs a piece that ends anywhere (J18): those end whole lines with a line
// feed.
func (r *replaying) lines(n int, e entry) error {
	if marker(e.Data) {
		return nil
	}
	if r.at = later(r.at, e.Timestamp.UTC()); r.at.IsZero() {
		r.at = time.Unix(0, 0).UTC()
	}
	text := r.half + e.Data
	r.half = ""
	whole, ends := strings.CutSuffix(text, "\n")
	r.raw = r.raw || ends
	parts := strings.Split(whole, "\n")
	if r.raw && !ends {
		r.half = parts[len(parts)-1]
		parts = parts[:len(parts)-1]
	}
	for i, line := range parts {
		at := int64(n)*perEvent + int64(min(i, perEvent-2))
		if err := r.emit(at, r.at, strings.TrimSuffix(line, "\r")); err != nil {
			return err
		}
	}
	return nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// emit yields a line unless it was read before.
func (r *replaying) emit(position int64, at time.Time, text string) error {
	if position <= r.after {
		return nil
	}
	r.after = position
	if !r.yield(jobs.Line{Position: position, At: at, Text: text}, nil) {
		return errLeft
	}
	return nil
}
