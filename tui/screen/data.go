package screen

import (
	"context"
	"errors"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/client"
)

// Key names one request to the arena whose answer is kept. What it shows is
// named once, in sources.go, by how it is asked for, how old it may get and
// which events say that it changed.
type Key struct {
	kind      kind
	Challenge string
	ID        string
	N         int
}

// Query is a Key with the type of its answer.
type Query[T any] struct{ Key Key }

// Loaded brings the answer to a request, or why there is none.
type Loaded struct {
	Key    Key
	Serial int64
	Value  any
	Err    error
	At     time.Time
}

// Request is a request to be made now. Its serial number tells its answer from
// that of an earlier one.
type Request struct {
	Key    Key
	Serial int64
	before any // the present value, for sources that add to it
	source source
}

// fetchTimeout bounds one request, retries of the client included.
const fetchTimeout = 30 * time.Second

// Command makes the request and brings its answer.
func (r Request) Command(do func(func(context.Context, API) tea.Msg) tea.Cmd, now func() time.Time) tea.Cmd {
	return do(func(ctx context.Context, a API) tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
		defer cancel()
		value, err := r.source.fetch(ctx, a, r.Key, r.before)
		return Loaded{Key: r.Key, Serial: r.Serial, Value: value, Err: err, At: now()}
	})
}

// entry is what is known about one key.
type entry struct {
	value   any
	version int64     // grows with every new value
	at      time.Time // when the value came
	err     error     // of the last answer; nil when it was good
	tried   time.Time // when the last answer came, good or not
	asking  int64     // serial of the request that is under way; 0 for none
	stale   bool      // an event or a person said that it changed
}

// Data keeps the last good answer to every request, and decides what to ask for
// again. It belongs to the root; screens read it. Reading never asks: a screen
// names what it shows, and the root asks for that.
type Data struct {
	sources map[kind]source
	entries map[Key]*entry
	serial  int64
	link    Link
	changes int64        // grows with every answer that is taken in, good or not
	values  [kinds]int64 // by kind, grows with every new value
	made    map[string]made
	now     time.Time     // of this machine, whatever clock the arena has
	skew    time.Duration // of a mocked arena's clock
}

// Link is how the connection to the arena is.
type Link struct {
	Up        bool      // the last answer came from the arena
	Since     time.Time // since when it is up or down; zero before the first answer
	Err       error     // why it is down
	Streaming bool      // events are being followed
}

// NewData makes an empty store.
func NewData() *Data {
	return &Data{sources: sources(), entries: map[Key]*entry{}, made: map[string]made{}}
}

// Read returns the last good answer, and false when there was none yet.
func Read[T any](d *Data, q Query[T]) (T, bool) {
	if e := d.entries[q.Key]; e != nil && e.value != nil {
		v, ok := e.value.(T)
		return v, ok
	}
	var zero T
	return zero, false
}

// Age says how the kept answer stands.
type Age int

// The ages of an answer.
const (
	Missing Age = iota // none yet
	Fresh              // as new as it is meant to be
	Stale              // older than it is meant to be, and being asked for
	Denied             // the arena refuses to answer
	Lost               // the arena does not answer
)

// Standing describes one answer for a person.
type Standing struct {
	Age Age
	At  time.Time // when the last good answer came; zero when there is none
	Err error     // of Denied and Lost
}

// Tick tells the time. Ages of answers count on this machine's clock.
func (d *Data) Tick(now time.Time) { d.now = now }

// Standing says how the answer to a key stands.
func (d *Data) Standing(k Key) Standing {
	e := d.entries[k]
	switch {
	case e == nil:
		return Standing{}
	case e.err != nil && linkFailure(e.err):
		return Standing{Age: Lost, At: e.at, Err: e.err}
	case e.err != nil:
		return Standing{Age: Denied, At: e.at, Err: e.err}
	case e.value == nil:
		return Standing{}
	case e.stale || d.older(k, e, 3):
		return Standing{Age: Stale, At: e.at}
	default:
		return Standing{Age: Fresh, At: e.at}
	}
}

// Behind reports whether any kept answer could not be kept new: the arena refuses
// to answer again, does not answer, or is late. Then it says when the oldest of
// those came.
func (d *Data) Behind(keys []Key) (oldest time.Time, behind bool) {
	for _, k := range keys {
		e := d.entries[k]
		if e == nil || e.value == nil || e.err == nil && !d.older(k, e, 3) {
			continue
		}
		if !behind || e.at.Before(oldest) {
			oldest, behind = e.at, true
		}
	}
	return oldest, behind
}

// Version grows whenever the answer to a key changes hands, so that what was
// made from it can be kept until then.
func (d *Data) Version(k Key) int64 {
	if e := d.entries[k]; e != nil {
		return e.version
	}
	return 0
}

// versionOf grows with every new value of some kinds.
func (d *Data) versionOf(of ...kind) int64 {
	sum := int64(0)
	for _, k := range of {
		sum += d.values[k]
	}
	return sum
}

// made is something that was made from the answers, and from which.
type made struct {
	version int64
	value   any
}

// memo keeps what is made from the answers of some kinds until one of those
// changes: a poll of the budget leaves an index of ten thousand runs alone.
func memo[T any](d *Data, name string, of []kind, build func() T) T {
	now := d.versionOf(of...)
	if m, ok := d.made[name]; ok && m.version == now {
		return m.value.(T)
	}
	v := build()
	d.made[name] = made{now, v}
	return v
}

// Link is how the connection is.
func (d *Data) Link() Link { return d.link }

// Streaming records whether events are being followed.
func (d *Data) Streaming(on bool) {
	if d.link.Streaming != on {
		d.changes++
	}
	d.link.Streaming = on
}

// retryAfter is how long a failed request is left alone.
const retryAfter = 5 * time.Second

// Due returns the requests to make now for what is shown: what is missing, what
// changed, and what has become older than it may.
func (d *Data) Due(shown []Key) []Request {
	var due []Request
	for _, k := range shown {
		e := d.entries[k]
		if e == nil {
			e = &entry{}
			d.entries[k] = e
		}
		if e.asking != 0 || !d.wants(k, e) {
			continue
		}
		d.serial++
		e.asking, e.stale = d.serial, false
		due = append(due, Request{Key: k, Serial: d.serial, before: e.value, source: d.sources[k.kind]})
	}
	return due
}

func (d *Data) wants(k Key, e *entry) bool {
	switch {
	case e.err != nil && !e.stale:
		return d.now.Sub(e.tried) >= retryAfter
	case e.value == nil, e.stale:
		return true
	default:
		return d.older(k, e, 1) || d.sources[k.kind].partial(e.value)
	}
}

// older reports whether a value is older than so many of its periods.
func (d *Data) older(k Key, e *entry, periods time.Duration) bool {
	every := d.sources[k.kind].every(e.value)
	return every > 0 && d.now.Sub(e.at) >= every*periods
}

// Accept takes an answer in. It returns false for one that came too late: a
// newer request has been made meanwhile, or nobody asked.
func (d *Data) Accept(m Loaded) bool {
	e := d.entries[m.Key]
	if e == nil || e.asking == 0 || e.asking != m.Serial {
		return false
	}
	e.asking, e.tried, e.err = 0, m.At, m.Err
	d.heard(m.Err, m.At)
	d.changes++
	if m.Key == WhoamiQuery().Key && protocol.AsError(m.Err).Kind == protocol.KindSignedOut {
		e.value = nil // who is signed out has no rights left over
		d.gained(e, m.Key)
	}
	if m.Err == nil {
		e.value, e.at = m.Value, m.At
		d.gained(e, m.Key)
		d.learnSkew(m.Value)
		if v, ok := m.Value.(api.Version); ok && v.Mock {
			for _, other := range d.entries {
				d.learnSkew(other.value)
			}
		}
	}
	return true
}

// Put keeps an answer that came by another way, such as a run that a cancel
// answered. A request under way is older than it and will be dropped.
func Put[T any](d *Data, q Query[T], value T) {
	e := d.entries[q.Key]
	if e == nil {
		e = &entry{}
		d.entries[q.Key] = e
	}
	e.value, e.at, e.tried, e.err, e.asking, e.stale = value, d.now, d.now, nil, 0, false
	d.gained(e, q.Key)
	d.changes++
}

// gained notes that an entry has another value.
func (d *Data) gained(e *entry, k Key) {
	e.version++
	d.values[k.kind]++
}

// heard notes whether the arena answered.
func (d *Data) heard(err error, at time.Time) {
	up := err == nil || !linkFailure(err)
	if up != d.link.Up || d.link.Since.IsZero() {
		d.link.Up, d.link.Since = up, at
	}
	d.link.Err = nil
	if !up {
		d.link.Err = err
	}
}

// Touch marks what an event says has changed.
func (d *Data) Touch(ev api.Event) {
	for k, e := range d.entries {
		if d.sources[k.kind].touched(k, ev) {
			e.stale = true
		}
	}
}

// Refresh marks keys as changed, because a person wants them anew.
func (d *Data) Refresh(keys []Key) {
	for _, k := range keys {
		if e := d.entries[k]; e != nil {
			e.stale = true
		}
	}
}

// Asking reports whether any request for the keys is under way without a value
// to show meanwhile.
func (d *Data) Asking(keys ...Key) bool {
	for _, k := range keys {
		if e := d.entries[k]; e != nil && e.asking != 0 && e.value == nil {
			return true
		}
	}
	return false
}

// Partly reports whether an answer to any of the keys has never come, neither good
// nor bad, or came in part.
func (d *Data) Partly(keys []Key) bool {
	for _, k := range keys {
		e := d.entries[k]
		if e == nil || e.tried.IsZero() || e.value != nil && d.sources[k.kind].partial(e.value) {
			return true
		}
	}
	return false
}

// linkFailure reports whether an error says that the arena cannot be reached,
// rather than what it answered.
func linkFailure(err error) bool {
	for _, e := range []error{client.ErrNetwork, client.ErrProxy, client.ErrNotArena, client.ErrRedirect} {
		if errors.Is(err, e) {
			return true
		}
	}
	return protocol.AsError(err).Kind == protocol.KindUnavailable
}
