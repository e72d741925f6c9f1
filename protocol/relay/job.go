package relay

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"mime"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/coder/websocket"
)

// Job is the job's end of the tunnel.
type Job struct {
	Arena     string // base URL of the arena
	Run       string
	Secret    string // opens the tunnel
	JobID     string // the provider's name for the job; may be empty
	To        string // where the model listens, such as http://127.0.0.1:8000
	Key       string // bearer token that the model wants; may be empty
	UserAgent string
	Log       *slog.Logger
	// Sleep waits between tries; nil for the real clock.
	Sleep func(ctx context.Context, d time.Duration) error
	Ping  time.Duration // silence after which the arena is asked whether it lives; 0: 15 s
	Dead  time.Duration // how long it may take to say so; 0: 10 s
}

// ErrOver says that the arena does not want this job, now or ever.
var ErrOver = errors.New("the arena does not take this job's connection")

const (
	firstPause = 100 * time.Millisecond
	lastPause  = 15 * time.Second
	// settled is how long a connection must hold to count as a good one.
	settled = 10 * time.Second
	// streams is how many calls the job takes at a time: more than the arena's
	// own limit, so that the arena's is the one that is met.
	streams = 512
)

// Serve connects, and connects again whenever the connection breaks, until ctx
// ends or the arena says that the run is over.
func (j Job) Serve(ctx context.Context) error {
	arena, err := url.Parse(j.Arena)
	if err != nil || arena.Host == "" {
		return fmt.Errorf("the arena's address %q is not a URL", j.Arena)
	}
	to, err := url.Parse(j.To)
	if err != nil || to.Scheme != "http" && to.Scheme != "https" || to.Host == "" {
		return fmt.Errorf("%q is no address of a model; name one such as http://127.0.0.1:8000", j.To)
	}
	handler, closeIdle := j.proxy(to)
	defer closeIdle()
	at := arena.JoinPath("relay", j.Run, "connect").String()
	pause := firstPause
	for {
		held, err := j.once(ctx, at, handler)
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, ErrOver) {
			return err
		}
		if held >= settled {
			pause = firstPause
		}
		wait := rand.N(pause) + time.Millisecond // full jitter: jobs that were cut together come back apart
		j.Log.Warn("not connected to the arena", "run", j.Run, "error", err, "retry_in", wait)
		if err := j.sleep(ctx, wait); err != nil {
			return nil
		}
		pause = min(2*pause, lastPause)
	}
}

func (j Job) sleep(ctx context.Context, d time.Duration) error {
	if j.Sleep != nil {
		return j.Sleep(ctx, d)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// once connects and serves the connection until it breaks. It returns how long
// that took.
func (j Job) once(ctx context.Context, at string, handler http.Handler) (time.Duration, error) {
	header := http.Header{"Authorization": {"Bearer " + j.Secret}, "User-Agent": {cmp.Or(j.UserAgent, "arena-relay")}}
	if j.JobID != "" {
		header.Set(jobHeader, j.JobID)
	}
	dialing, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	socket, resp, err := websocket.Dial(dialing, at, &websocket.DialOptions{
		HTTPClient:   &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		HTTPHeader:   header,
		Subprotocols: []string{subprotocol}, CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		if resp != nil {
			switch resp.StatusCode {
			case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusGone:
				if arenaSays(resp) {
					return 0, fmt.Errorf("%w: it answers %s", ErrOver, resp.Status)
				}
			}
			return 0, fmt.Errorf("the arena, or what stands before it, answers %s", resp.Status)
		}
		return 0, fmt.Errorf("dial the arena: %w", err)
	}
	// The connection must outlive the dialing, and end with ctx.
	life, end := context.WithCancel(ctx)
	defer end()
	conn := &watchedConn{Conn: websocket.NetConn(life, socket, websocket.MessageBinary), closed: make(chan struct{})}
	defer conn.Close()
	began := time.Now()
	j.Log.Info("connected to the arena", "run", j.Run)
	server := &http.Server{
		Handler: handler, Protocols: onlyHTTP2(), ReadHeaderTimeout: time.Minute, ErrorLog: slog.NewLogLogger(j.Log.Handler(), slog.LevelDebug),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: streams, MaxReceiveBufferPerStream: 1 << 20, MaxReceiveBufferPerConnection: 4<<20 - 1,
			SendPingTimeout: cmp.Or(j.Ping, 15*time.Second), PingTimeout: cmp.Or(j.Dead, 10*time.Second),
		},
	}
	err = server.Serve(&single{conn: conn})
	_ = server.Close()
	return time.Since(began), fmt.Errorf("the connection ended: %w", err)
}

// arenaSays reports whether a refusal is the arena's own: a problem, or the form in
// which its relay refuses. A proxy has words of its own while the arena is away. Of
// the body there is no more than the first KiB, which holds all of the relay's.
func arenaSays(resp *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	var body struct {
		Error struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	return kind == "application/problem+json" || json.NewDecoder(resp.Body).Decode(&body) == nil && body.Error.Code != ""
}

// single is a listener for one connection; it ends when that does.
type single struct {
	conn *watchedConn
	mu   sync.Mutex
	done bool
}

func (s *single) Accept() (net.Conn, error) {
	s.mu.Lock()
	first := !s.done
	s.done = true
	s.mu.Unlock()
	if first {
		return s.conn, nil
	}
	<-s.conn.closed
	return nil, net.ErrClosed
}

func (s *single) Close() error   { return s.conn.Close() }
func (s *single) Addr() net.Addr { return s.conn.LocalAddr() }

// proxy hands calls on to the model, once each. Connections to it are not kept:
// the standard transport repeats a GET whose kept connection turns out to be dead.
func (j Job) proxy(to *url.URL) (http.Handler, func()) {
	transport := &http.Transport{
		DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext, DisableKeepAlives: true, DisableCompression: true,
	}
	proxy := &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1, ErrorLog: slog.NewLogLogger(j.Log.Handler(), slog.LevelDebug),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = to.Host
			r.Out.Header.Del("Authorization")
			if j.Key != "" {
				r.Out.Header.Set("Authorization", "Bearer "+j.Key)
			}
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() != nil {
				panic(http.ErrAbortHandler)
			}
			j.Log.Warn("the model does not answer", "error", strings.ReplaceAll(err.Error(), j.To, "the model"))
			refuse(w, http.StatusBadGateway, "no-model", "The model in the job does not answer.", errors.Is(err, syscall.ECONNREFUSED), 0)
		},
	}
	return proxy, transport.CloseIdleConnections
}
