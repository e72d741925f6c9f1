package relay

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/posttrainarena/arena/protocol"
)

// subprotocol names what is spoken on the WebSocket: HTTP/2 without TLS, the job
// being the server.
const subprotocol = "arena-relay.v1"

// jobHeader tells the arena which of the provider's jobs dials.
const jobHeader = "X-Arena-Job"

// Records is where the hub learns about runs and keeps what it counts.
type Records interface {
	// RelayAccess returns what the relay has to know of a run, or ErrNoRun when
	// the run has no relay.
	RelayAccess(ctx context.Context, run string) (protocol.RelayAccess, error)
	// RelayCounted replaces the counters of a run.
	RelayCounted(ctx context.Context, run string, c protocol.RelayCounters) error
}

// Options is what a hub is made of. Durations and limits that are 0 get a
// default.
type Options struct {
	Records Records
	Now     func() time.Time
	Log     *slog.Logger

	Grace    time.Duration // how long a broken tunnel counts as reconnecting; 2 minutes
	Hold     time.Duration // how long a call waits for a tunnel that reconnects; 10 s
	Ping     time.Duration // silence after which a tunnel is asked whether it lives; 15 s
	Dead     time.Duration // how long it may take to say so; 10 s
	Flush    time.Duration // how often counters are stored; 1 s
	Longest  time.Duration // one call, with its answer; 30 minutes
	InFlight int           // calls of a run at a time; 128
	Request  int64         // bytes of a request body; 16 MiB
	Answer   int64         // bytes of an answer; 64 MiB
	Buffered int64         // bytes of request bodies in memory, of all runs; 128 MiB
}

func (o Options) withDefaults() Options {
	o.Grace = cmp.Or(o.Grace, 2*time.Minute)
	o.Hold = cmp.Or(o.Hold, 10*time.Second)
	o.Ping = cmp.Or(o.Ping, 15*time.Second)
	o.Dead = cmp.Or(o.Dead, 10*time.Second)
	o.Flush = cmp.Or(o.Flush, time.Second)
	o.Longest = cmp.Or(o.Longest, 30*time.Minute)
	o.InFlight = cmp.Or(o.InFlight, 128)
	o.Request = cmp.Or(o.Request, 16<<20)
	o.Answer = cmp.Or(o.Answer, 64<<20)
	o.Buffered = cmp.Or(o.Buffered, 128<<20)
	return o
}

// Hub is the arena's end of every tunnel. It is safe for concurrent use.
type Hub struct {
	Options

	mu       sync.Mutex
	lines    map[string]*line
	stopping bool
	buffered int64
	tunnels  sync.WaitGroup
}

// New makes a hub. Run stores what it counts.
func New(o Options) *Hub { return &Hub{Options: o.withDefaults(), lines: map[string]*line{}} }

// line is what the hub knows of one run. Its fields belong to mu.
type line struct {
	run string

	mu      sync.Mutex
	access  protocol.RelayAccess
	asked   time.Time // when access was read
	tunnel  *tunnel   // nil while the job is not connected
	arrived chan struct{}
	count   protocol.RelayCounters
	dirty   bool
}

// fresh is how long what the records say of a run is believed.
const fresh = 5 * time.Second

// line returns what is known of a run, asking the records when that is old.
func (h *Hub) line(ctx context.Context, run string) (*line, error) {
	h.mu.Lock()
	l := h.lines[run]
	h.mu.Unlock()
	now := h.Now()
	if l != nil {
		l.mu.Lock()
		old := now.Sub(l.asked) >= fresh || now.Before(l.asked)
		l.mu.Unlock()
		if !old {
			return l, nil
		}
	}
	access, err := h.Records.RelayAccess(ctx, run)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if l = h.lines[run]; l == nil {
		l = &line{run: run, arrived: make(chan struct{}), count: access.Counters.Cut()}
		if access.Open { // ended runs are asked about for ever, and never remembered
			h.lines[run] = l
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.access, l.asked = access, now
	return l, nil
}

// state is how the run's tunnel stands. The caller holds mu.
func (l *line) state(now time.Time, grace time.Duration) protocol.RelayState {
	return l.count.State(l.access.Open, now, grace)
}

// Relay says how a run's tunnel stands and what went through it. The error is
// that of the records.
func (h *Hub) Relay(ctx context.Context, run string) (protocol.Relay, error) {
	l, err := h.line(ctx, run)
	if err != nil {
		return protocol.Relay{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return protocol.Relay{State: l.state(h.Now(), h.Grace), RelayCounters: l.count}, nil
}

// tunnel is one connection of a job.
type tunnel struct {
	calls     *http.ClientConn
	transport *http.Transport
	socket    *watchedConn
}

func (t *tunnel) close() {
	_ = t.calls.Close()
	_ = t.socket.Close()
	t.transport.CloseIdleConnections()
}

// watchedConn says when it was closed, whoever did it.
type watchedConn struct {
	net.Conn
	once   sync.Once
	closed chan struct{}
}

func (c *watchedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { close(c.closed) })
	return err
}

// Connect takes a job's end of a tunnel and keeps it until it breaks, a newer one
// replaces it, or the run ends.
func (h *Hub) Connect(w http.ResponseWriter, r *http.Request, run string) {
	l, err := h.line(r.Context(), run)
	if err != nil {
		h.refuseUnknown(w, err)
		return
	}
	l.mu.Lock()
	access := l.access
	l.mu.Unlock()
	job := r.Header.Get(jobHeader)
	switch {
	case !holds(r, access.Job):
		refuse(w, http.StatusUnauthorized, "bad-secret", "This is not the secret by which the run's job connects.", false, 0)
		return
	case !access.Open:
		refuse(w, http.StatusGone, "run-ended", "The run has ended.", false, 0)
		return
	case job != "" && access.JobID != "" && job != access.JobID:
		refuse(w, http.StatusForbidden, "another-job", "The run belongs to another job.", false, 0)
		return
	}
	h.mu.Lock()
	stopping := h.stopping
	if !stopping {
		h.tunnels.Add(1)
	}
	h.mu.Unlock()
	if stopping {
		refuse(w, http.StatusServiceUnavailable, "stopping", "The arena is being restarted.", false, 2*time.Second)
		return
	}
	defer h.tunnels.Done()
	socket, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{subprotocol}, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return // it has answered
	}
	if socket.Subprotocol() != subprotocol {
		_ = socket.Close(websocket.StatusPolicyViolation, "speak "+subprotocol)
		return
	}
	h.carry(context.WithoutCancel(r.Context()), l, socket)
}

// carry uses a connection until it is over.
func (h *Hub) carry(ctx context.Context, l *line, socket *websocket.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	conn := &watchedConn{Conn: websocket.NetConn(ctx, socket, websocket.MessageBinary), closed: make(chan struct{})}
	defer conn.Close()
	first := conn.Conn
	transport := &http.Transport{
		Protocols: onlyHTTP2(), DisableCompression: true, MaxResponseHeaderBytes: 256 << 10,
		HTTP2: &http.HTTP2Config{SendPingTimeout: h.Ping, PingTimeout: h.Dead, MaxReceiveBufferPerStream: 256 << 10, MaxReceiveBufferPerConnection: 4<<20 - 1},
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			if first == nil {
				return nil, errors.New("the tunnel is one connection")
			}
			first = nil
			return conn, nil
		},
	}
	calls, err := transport.NewClientConn(ctx, "http", "job.invalid:80")
	if err != nil {
		h.Log.Warn("a job connected and does not speak the relay's protocol", "run", l.run, "error", err)
		return
	}
	t := &tunnel{calls: calls, transport: transport, socket: conn}
	defer t.close()
	l.arrive(t, h.Now())
	h.Log.Info("a job connected to the relay", "run", l.run)
	if h.stops() { // Close may have looked for tunnels before this one was there
		t.close()
	}
	<-conn.closed
	if l.leave(t, h.Now()) {
		h.Log.Info("a job's connection to the relay broke", "run", l.run)
	}
}

func onlyHTTP2() *http.Protocols {
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	return p
}

// arrive makes a tunnel the run's own; an older one gives way, because the job may
// know of a break before the arena does.
func (l *line) arrive(t *tunnel, now time.Time) {
	l.mu.Lock()
	old := l.tunnel
	l.tunnel = t
	l.count.Connections++
	l.count.ConnectedSince, l.count.LastSeen, l.count.LostAt = &now, &now, nil
	l.dirty = true
	close(l.arrived)
	l.arrived = make(chan struct{})
	l.mu.Unlock()
	if old != nil {
		old.close()
	}
}

// leave forgets a tunnel that broke; false when a newer one has replaced it.
func (l *line) leave(t *tunnel, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tunnel != t {
		return false
	}
	l.tunnel = nil
	l.count.LastSeen, l.count.LostAt, l.dirty = &now, &now, true
	return true
}

// holds reports whether a request carries the secret with a hash.
func holds(r *http.Request, hash [sha256.Size]byte) bool {
	scheme, secret, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	got := sha256.Sum256([]byte(strings.TrimSpace(secret)))
	return ok && strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(got[:], hash[:]) == 1
}

// Run stores counters and closes the tunnels of runs that have ended, until ctx
// does.
func (h *Hub) Run(ctx context.Context) {
	tick := time.NewTicker(h.Flush)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			h.flush(context.WithoutCancel(ctx))
			return
		case <-tick.C:
			h.flush(ctx)
		}
	}
}

// flush stores what was counted since the last time.
func (h *Hub) flush(ctx context.Context) {
	h.mu.Lock()
	all := make([]*line, 0, len(h.lines))
	for _, l := range h.lines {
		all = append(all, l)
	}
	h.mu.Unlock()
	for _, l := range all {
		if _, err := h.line(ctx, l.run); err != nil {
			h.Log.Warn("the relay cannot find out how a run stands", "run", l.run, "error", err)
			continue
		}
		h.store(ctx, l)
	}
}

// store keeps one run's counters, and lets go of a run that has ended.
func (h *Hub) store(ctx context.Context, l *line) {
	now := h.Now()
	l.mu.Lock()
	if l.tunnel != nil && now.Sub(*l.count.LastSeen) >= h.Ping {
		l.count.LastSeen, l.dirty = &now, true // it answers pings
	}
	t, open, count, dirty, busy := l.tunnel, l.access.Open, l.count, l.dirty, l.count.InFlight > 0
	l.dirty = false
	l.mu.Unlock()
	if dirty {
		if err := h.Records.RelayCounted(ctx, l.run, count); err != nil {
			h.Log.Warn("could not store the relay's counters", "run", l.run, "error", err)
			l.mu.Lock()
			l.dirty = true
			l.mu.Unlock()
			return
		}
	}
	if open {
		return
	}
	if t != nil {
		t.close()
	} else if !busy {
		h.mu.Lock()
		delete(h.lines, l.run)
		h.mu.Unlock()
	}
}

func (h *Hub) stops() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stopping
}

// Stop refuses what is new; what goes on may finish.
func (h *Hub) Stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopping = true
}

// Close cuts every tunnel and waits for them to be gone.
func (h *Hub) Close() {
	h.Stop()
	h.mu.Lock()
	var all []*tunnel
	for _, l := range h.lines {
		l.mu.Lock()
		if l.tunnel != nil {
			all = append(all, l.tunnel)
		}
		l.mu.Unlock()
	}
	h.mu.Unlock()
	for _, t := range all {
		t.close()
	}
	h.tunnels.Wait()
}
