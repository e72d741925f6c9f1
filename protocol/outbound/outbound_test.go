package outbound_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol/leaktest"
	"github.com/posttrainarena/arena/protocol/outbound"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }

const canary = "hf_outboundCANARYoutboundCANARYoutbound"

func client(t *testing.T, waits *[]time.Duration) *outbound.Client {
	t.Helper()
	transport := outbound.NewTransport(4)
	t.Cleanup(transport.CloseIdleConnections)
	return &outbound.Client{
		Transport: transport, UserAgent: "arena/test", Now: time.Now, Pauses: []time.Duration{time.Second, 3 * time.Second}, MaxWait: 5 * time.Second,
		Sleep: func(ctx context.Context, d time.Duration) error {
			if waits != nil {
				*waits = append(*waits, d)
			}
			return ctx.Err()
		},
	}
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func nothing(*http.Response) error { return nil }

// TestTokenStaysAtItsOrigin follows redirects to every kind of place. The standard
// client would carry the token to a subdomain.
func TestTokenStaysAtItsOrigin(t *testing.T) {
	seen := map[string]string{}
	transport := outbound.NewTransport(1)
	t.Cleanup(transport.CloseIdleConnections)
	var to string
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen[r.Host] = r.Header.Get("Authorization")
		if r.URL.Path == "/start" {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		}
	})
	// Every name leads to the one server.
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, strings.TrimPrefix(address, "http://"))
	}
	c := client(t, nil)
	c.Transport = transport
	for target, kept := range map[string]bool{
		"http://hub.test/end": true, "/end": true, "http://cdn.hub.test/end": false, "http://hub.test:81/end": false, "http://other.test/end": false,
	} {
		clear(seen)
		to = target
		if err := c.Do(t.Context(), outbound.Call{Doing: "look", URL: "http://hub.test/start", Token: canary}, nothing); err != nil {
			t.Errorf("%s: %v", target, err)
		}
		host := "hub.test"
		if strings.HasPrefix(target, "http") {
			host = strings.Split(target, "/")[2]
		}
		if got := seen[host] != ""; got != kept {
			t.Errorf("%s: the token arrived: %v; want %v", target, got, kept)
		}
	}
	for target, say := range map[string]string{
		"http://127.0.0.1/x": "private address", "http://10.1.2.3/x": "private address", "http://[::1]/x": "private address", "http://localhost/x": "private address",
		"http://169.254.169.254/x": "private address", "ftp://hub.test/x": "plain http", "http://a:b@hub.test/x": "plain http", "": "where to",
	} {
		to = target
		err := c.Do(t.Context(), outbound.Call{Doing: "look", URL: "http://hub.test/start", Token: canary}, nothing)
		if err == nil || !strings.Contains(err.Error(), say) || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %v", target, err)
		}
	}
}

// TestTries: what can pass is tried again after the wait that is asked for; what
// cannot, what must not be repeated, and waits that are too long end at once.
func TestTries(t *testing.T) {
	for name, tc := range map[string]struct {
		call   outbound.Call
		status []int // of the answers, the last for ever
		wait   string
		want   []time.Duration // between tries
		ok     bool
	}{
		"passes":           {status: []int{500, 200}, want: []time.Duration{time.Second}, ok: true},
		"never passes":     {status: []int{502}, want: []time.Duration{time.Second, 3 * time.Second}},
		"asks to wait":     {status: []int{429, 200}, wait: "4", want: []time.Duration{4 * time.Second}, ok: true},
		"asks too much":    {status: []int{429}, wait: "6"},
		"is refused":       {status: []int{404}},
		"must not repeat":  {status: []int{503}, call: outbound.Call{Once: true, Method: "POST"}},
		"redirects a POST": {status: []int{307}, call: outbound.Call{Once: true, Method: "POST"}},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			tc.call.Doing, tc.call.URL = "try", serve(t, func(w http.ResponseWriter, _ *http.Request) {
				status := tc.status[min(n, len(tc.status)-1)]
				n++
				w.Header().Set("Retry-After", tc.wait)
				w.WriteHeader(status)
			})
			var waits []time.Duration
			err := client(t, &waits).Do(t.Context(), tc.call, nothing)
			if (err == nil) != tc.ok || fmt.Sprint(waits) != fmt.Sprint(tc.want) || n != len(tc.want)+1 {
				t.Errorf("%d tries with waits %v, %v; want %v", n, waits, err, tc.want)
			}
		})
	}
}

// TestSent: an error says whether the request may have had an effect.
func TestSent(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + listener.Addr().String()
	_ = listener.Close()
	breaks := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		conn, _, _ := http.NewResponseController(w).Hijack()
		_ = conn.Close()
	})
	refuses := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(402) })
	for address, want := range map[string]bool{nobody: false, "http://[::1": false, breaks: true, refuses: true} {
		err := client(t, nil).Do(t.Context(), outbound.Call{Doing: "start", Method: "POST", URL: address, Body: []byte("{}"), Once: true}, nothing)
		e, ok := errors.AsType[*outbound.Error](err)
		if !ok || e.Sent != want {
			t.Errorf("%s: sent %v, %v", address, e.Sent, err)
		}
	}
}

// TestWhatErrorsSay: one line from every shape of refusal, without markup, control
// characters or the token, however large.
func TestWhatErrorsSay(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":"no such thing"}`:                               "answered 400 (no such thing)",
		`{"error":["one","two"]}`:                                 "answered 400 (one)",
		`{"error":"invalid_grant","error_description":"is used"}`: "answered 400 (is used)",
		`{"errors":[{"message":"bad file"}]}`:                     "answered 400 (bad file)",
		`{"message":"Not Found"}`:                                 "answered 400 (Not Found)",
		`<html><script>alert(1)</script>`:                         "answered 400 (an HTML page)",
		"plain\n\x1b[31mwords\x00":                                "answered 400 (plain [31mwords)",
		``:                                                        "answered 400",
		strings.Repeat("x", 3<<20):                                strings.Repeat("x", 200) + "…",
		`{"error":"you sent ` + canary + `"}`:                     "you sent [token]",
	} {
		address := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Request-Id", "req-1")
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(400)
			_, _ = w.Write([]byte(body))
		})
		err := client(t, nil).Do(t.Context(), outbound.Call{Doing: "ask", URL: address + "/path?q=secret", Token: canary}, nothing)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "request req-1") {
			t.Errorf("%.60q: %.300v", body, err)
		}
		for _, bad := range []string{canary, "secret", "\n", "\x1b", "script"} {
			if strings.Contains(err.Error(), bad) {
				t.Errorf("%.60q: the error holds %q: %v", body, bad, err)
			}
		}
		if e, _ := errors.AsType[*outbound.Error](err); len(e.Body) > 1<<20+100 {
			t.Errorf("%d bytes of a refusal were read", len(e.Body))
		}
	}
}

// TestContext: an ended context ends the call, in a wait as in an exchange.
func TestContext(t *testing.T) {
	address := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	ctx, cancel := context.WithCancel(t.Context())
	c := client(t, nil)
	c.Sleep = func(ctx context.Context, _ time.Duration) error { cancel(); return ctx.Err() }
	if err := c.Do(ctx, outbound.Call{Doing: "ask", URL: address}, nothing); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
