package webhooks_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/webhooks"
	"github.com/posttrainarena/arena/store"
	"github.com/posttrainarena/arena/store/storetest"
)

// secret is what signs in these tests. It must be found nowhere.
const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func keys(t *testing.T) [][]byte {
	t.Helper()
	k, err := webhooks.Keys(secret)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// bench is a store with a sender and a receiver.
type bench struct {
	t        *testing.T
	store    *store.Store
	clock    *storetest.Clock
	log      *lockedBuffer
	changed  chan struct{} // never closes; tests post before they send, or wake
	received chan received
	stop     func()
}

type received struct {
	id, body string
	at       time.Time
	header   http.Header
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func newBench(t *testing.T) *bench {
	t.Helper()
	s, clock := storetest.Open(t)
	return &bench{t: t, store: s, clock: clock, log: &lockedBuffer{}, changed: make(chan struct{}), received: make(chan received, 100)}
}

// post makes n events of board messages.
func (b *bench) post(from, n int) {
	b.t.Helper()
	for i := range n {
		m := protocol.Message{RequestID: fmt.Sprintf("message-%03d", from+i), Author: "ada", Body: "hello"}
		if _, _, err := b.store.PostMessage(b.t.Context(), protocol.Actor{Name: "ada"}, m); err != nil {
			b.t.Fatal(err)
		}
	}
}

// know lets the store meet a hook, so that it gets what happens from now on.
func (b *bench) know(name string) {
	b.t.Helper()
	if _, err := b.store.QueueDeliveries(b.t.Context(), name, nil); err != nil {
		b.t.Fatal(err)
	}
}

// serve starts a receiver that answers the first tries as odd says and takes the
// others, once they were verified.
func (b *bench) serve(odd ...http.HandlerFunc) *httptest.Server {
	var n atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			b.t.Error(err)
		}
		unix, _ := strconv.ParseInt(r.Header.Get("webhook-timestamp"), 10, 64)
		got := received{id: r.Header.Get("webhook-id"), body: string(body), at: time.Unix(unix, 0), header: r.Header}
		key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if want := webhooks.Sign([][]byte{key}, got.id, got.at, body); r.Header.Get("webhook-signature") != want {
			b.t.Errorf("signature %q, want %q", r.Header.Get("webhook-signature"), want)
		}
		if i := int(n.Add(1)) - 1; i < len(odd) {
			odd[i](w, r)
			return
		}
		w.WriteHeader(http.StatusNoContent)
		b.received <- got
	}))
	b.t.Cleanup(srv.Close)
	return srv
}

// run starts a sender whose waits move the clock instead of taking time.
func (b *bench) run(hooks ...webhooks.Hook) *webhooks.Sender {
	ctx, cancel := context.WithCancel(context.Background())
	s := webhooks.New(webhooks.Options{
		Records: b.store, Hooks: hooks, Now: b.clock.Now, UserAgent: "posttrain-arena/test", Timeout: 200 * time.Millisecond,
		Log:     slog.New(slog.NewTextHandler(b.log, nil)),
		Changed: func() <-chan struct{} { return b.changed },
		After: func(d time.Duration) <-chan time.Time {
			now := make(chan time.Time, 1)
			now <- b.clock.Advance(d)
			return now
		},
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx)
	}()
	b.stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	b.t.Cleanup(b.stop)
	return s
}

func (b *bench) hook(url string) webhooks.Hook {
	return webhooks.Hook{Name: "ci", URL: url, Keys: keys(b.t), AllowPrivate: true}
}

// settled waits until the delivery of an event is not tried any more.
func (b *bench) settled(event int64) protocol.Delivery {
	b.t.Helper()
	for {
		all, _, err := b.store.Deliveries(b.t.Context(), "ci", protocol.Page{})
		if err != nil {
			b.t.Fatal(err)
		}
		for _, d := range all {
			if d.Event.Seq == event && d.State != protocol.DeliveryPending {
				return d
			}
		}
		select {
		case <-b.t.Context().Done():
			b.t.Fatalf("the delivery of event %d never settled: %+v", event, all)
		case <-time.After(time.Millisecond):
		}
	}
}

func status(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
	}
}

func cut(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		conn.Close()
	}
}

func silence(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// TestFailuresAreTriedAgain sends to receivers that fail once in each way, and then
// take the event.
func TestFailuresAreTriedAgain(t *testing.T) {
	trap := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer trap.Close()
	for _, c := range []struct {
		about string
		first http.HandlerFunc
		said  string // in the log
		least time.Duration
	}{
		{"500", status(500), "it answered 500", 5 * time.Second},
		{"404", status(404), "it answered 404", 5 * time.Second},
		{"a request to wait", status(503, "Retry-After", "100"), "it answered 503", 100 * time.Second},
		{"a redirect", status(307, "Location", trap.URL), "redirects are not followed", 5 * time.Second},
		{"a cut", cut, "the connection broke", 5 * time.Second},
		{"silence", silence, "it took longer than 200ms", 5 * time.Second},
		{"an endless head", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Long", strings.Repeat("x", 1<<20))
		}, "the connection broke", 5 * time.Second},
	} {
		t.Run(c.about, func(t *testing.T) {
			b := newBench(t)
			b.know("ci")
			b.post(0, 1)
			start := b.clock.Now()
			b.run(b.hook(b.serve(c.first).URL))
			d := b.settled(1)
			if d.State != protocol.DeliveryDelivered || d.Tries != 2 || d.Status != 204 || d.Problem != "" {
				t.Errorf("%+v", d)
			}
			if waited := d.UpdatedAt.Sub(start); waited < c.least {
				t.Errorf("tried again after %s, want at least %s", waited, c.least)
			}
			if !strings.Contains(b.log.String(), c.said) {
				t.Errorf("the log does not say %q:\n%s", c.said, b.log)
			}
		})
	}
}

// TestAnEndlessAnswerIsNotRead: the status has said everything.
func TestAnEndlessAnswerIsNotRead(t *testing.T) {
	b := newBench(t)
	b.know("ci")
	b.post(0, 1)
	b.run(b.hook(b.serve(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	}).URL))
	if d := b.settled(1); d.State != protocol.DeliveryDelivered || d.Tries != 1 {
		t.Errorf("%+v", d)
	}
}

// TestSentAsEventsShowsIt: each wanted event once, in order, as /api/events has it.
func TestSentAsEventsShowsIt(t *testing.T) {
	b := newBench(t)
	b.post(0, 1) // before the hook was known
	b.know("ci")
	b.know("results")
	b.post(1, 3)
	events, err := b.store.Events(t.Context(), 1, 10)
	if err != nil {
		t.Fatal(err)
	}
	srv := b.serve()
	other := b.hook(srv.URL)
	other.Name, other.Kinds = "results", []protocol.EventKind{protocol.EventResult}
	b.run(b.hook(srv.URL), other)
	for _, e := range events {
		got := <-b.received
		want, err := json.Marshal(api.EventFrom(e))
		if err != nil {
			t.Fatal(err)
		}
		if got.id != protocol.DeliveryID("ci", e) || got.body != string(want) || got.header.Get("Content-Type") != "application/json" {
			t.Errorf("received %+v, want event %d:\n%s", got, e.Seq, want)
		}
	}
	b.stop()
	select {
	case more := <-b.received:
		t.Errorf("one more was received: %+v", more)
	default:
	}
}

// TestRestart stops the arena while the third of five events is at the receiver.
// The next process sends that one again, and the two others.
func TestRestart(t *testing.T) {
	clock := storetest.NewClock()
	dir := filepath.Join(t.TempDir(), "data")
	first, err := store.Open(t.Context(), store.Options{Dir: dir, Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, store: first, clock: clock, log: &lockedBuffer{}, changed: make(chan struct{}), received: make(chan received, 100)}
	b.know("ci")
	b.post(0, 5)
	arrived := make(chan struct{})
	ok := status(200)
	srv := b.serve(ok, ok, func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
	})
	hook := b.hook(srv.URL)
	// The third must not time out before the stop.
	ctx, cancel := context.WithCancel(t.Context())
	s := webhooks.New(webhooks.Options{Records: first, Hooks: []webhooks.Hook{hook}, Now: clock.Now, Log: slog.New(slog.DiscardHandler), Changed: func() <-chan struct{} { return b.changed }})
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx)
	}()
	<-arrived
	cancel()
	<-done
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	b.store = storetest.OpenDir(t, dir, clock)
	b.run(hook)
	b.settled(5)
	b.stop()
	close(b.received)
	var got []string
	for r := range b.received {
		got = append(got, r.id)
	}
	var want []string
	for event := range int64(3) {
		want = append(want, b.settled(event+3).ID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("after the restart %q were sent, want %q", got, want)
	}
}

// TestPrivateAddressesAreRefused: neither an address nor a name that leads to one
// is connected to.
func TestPrivateAddressesAreRefused(t *testing.T) {
	var connections atomic.Int64
	srv := httptest.NewUnstartedServer(status(200))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	srv.Start()
	defer srv.Close()
	_, port, err := net.SplitHostPort(srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"} {
		b := newBench(t)
		b.know("ci")
		b.post(0, 1)
		hook := b.hook("http://" + host + ":" + port)
		hook.AllowPrivate = false
		b.run(hook)
		d := b.settled(1)
		if d.State != protocol.DeliveryFailed || d.Tries != 8 || !strings.Contains(d.Problem, "not public") {
			t.Errorf("%s: %+v", host, d)
		}
		b.stop()
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

func TestPublic(t *testing.T) {
	for address, want := range map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "172.32.0.1": true, "2606:4700:4700::1111": true, "::ffff:8.8.8.8": true,
		"127.0.0.1": false, "127.8.8.8": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.0.1": false, "169.254.169.254": false, "100.64.0.1": false,
		"0.0.0.0": false, "0.1.2.3": false, "255.255.255.255": false, "224.0.0.1": false, "240.0.0.1": false, "198.18.0.1": false,
		"::": false, "::1": false, "fe80::1": false, "fe80::1%eth0": false, "fc00::1": false, "fd00:ec2::254": false, "ff02::1": false, "::ffff:10.0.0.1": false,
		"64:ff9b::a00:1": false, "2002:7f00:1::": false, "2001:db8::1": false, "2001:0:1::": false, "::7f00:1": false, "2606::1%eth0": false,
	} {
		if got := webhooks.Public(netip.MustParseAddr(address)); got != want {
			t.Errorf("Public(%s) = %v, want %v", address, got, want)
		}
	}
}

// TestRedelivery: what failed for good is sent again when an editor asks, under the
// same id; what is still tried is left alone.
func TestRedelivery(t *testing.T) {
	b := newBench(t)
	b.know("ci")
	b.post(0, 1)
	srv := b.serve(slices.Repeat([]http.HandlerFunc{status(500)}, 8)...)
	s := b.run(b.hook(srv.URL))
	failed := b.settled(1)
	if failed.State != protocol.DeliveryFailed || failed.Tries != 8 || failed.Status != 500 {
		t.Fatalf("%+v", failed)
	}
	for range 2 { // the second time it had been delivered
		if d, err := s.Redeliver(t.Context(), protocol.Actor{Name: "eve"}, failed.ID); err != nil || d.State != protocol.DeliveryPending || d.Tries != 0 {
			t.Fatalf("%+v, %v", d, err)
		}
		if got := <-b.received; got.id != failed.ID {
			t.Errorf("received %+v", got)
		}
		b.settled(1)
	}
	if _, err := s.Redeliver(t.Context(), protocol.Actor{Name: "eve"}, "ci-9"); err == nil || !strings.Contains(err.Error(), "ci-9") {
		t.Errorf("redelivering what is not there: %v", err)
	}
}

// TestNothingSecretIsLeft: neither the secret nor the address, which may hold one of
// the receiver's, is in the log, in a problem or in the data directory.
func TestNothingSecretIsLeft(t *testing.T) {
	b := newBench(t)
	b.know("ci")
	b.post(0, 1)
	srv := b.serve(status(500), cut, silence, status(302, "Location", "/elsewhere"))
	hook := b.hook(srv.URL + "/canary-in-the-path?token=canary-in-the-query")
	gone := b.hook("https://canary-host.invalid/canary-in-the-path")
	gone.Name = "gone"
	b.know("gone")
	s := b.run(hook, gone)
	b.settled(1)
	b.stop()
	words := []string{secret, strings.TrimPrefix(secret, "whsec_"), "canary", string(hook.Keys[0])}
	look := func(where string, text []byte) {
		t.Helper()
		for _, w := range words {
			if bytes.Contains(text, []byte(w)) {
				t.Errorf("%s holds %q", where, w)
			}
		}
	}
	if !strings.Contains(b.log.String(), "did not take") {
		t.Error("the log says nothing: this test would not notice a leak")
	}
	look("the log", []byte(b.log.String()))
	if got := s.Webhooks()[0].Host; got != strings.TrimPrefix(srv.URL, "http://") {
		t.Errorf("the hook is shown as %q", got)
	}
	err := fs.WalkDir(os.DirFS(b.store.Dir()), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(b.store.Dir(), name))
		look(name, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", "whsec_short", "canary", secret + secret, secret + " x"} {
		if _, err := webhooks.Keys(bad); err == nil {
			t.Errorf("Keys(%q) is taken", bad)
		} else {
			look("the error", []byte(err.Error()))
		}
	}
}

// TestSign compares with a signature that openssl made, and signs with two secrets.
func TestSign(t *testing.T) {
	two, err := webhooks.Keys(secret + "\nwhsec_" + base64.StdEncoding.EncodeToString(make([]byte, 32)))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Fields(webhooks.Sign(two, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`)))
	if len(got) != 2 || got[0] != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" || got[0] == got[1] {
		t.Errorf("signed %q", got)
	}
}
