package client_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol/client"
)

// arena is a scripted arena: the n-th request is answered by the n-th handler,
// every further one by the last. It keeps what it was asked.
type arena struct {
	*httptest.Server
	client *client.Client

	mu       sync.Mutex
	handlers []http.HandlerFunc
	asked    []asked
	slept    []time.Duration
	logged   []string
}

// asked is one request as the arena saw it.
type asked struct {
	method, uri, auth, contentType, lastID string
	body                                   string
}

// newArena starts a scripted arena and a client that has the canary as its
// token and does not really wait.
func newArena(t *testing.T, handlers ...http.HandlerFunc) *arena {
	t.Helper()
	a := &arena{handlers: handlers}
	a.Server = httptest.NewServer(http.HandlerFunc(a.serve))
	t.Cleanup(a.Close)
	a.client = a.connect(t, client.Options{})
	return a
}

func (a *arena) connect(t *testing.T, o client.Options) *client.Client {
	t.Helper()
	token, err := client.NewToken(canary)
	if err != nil {
		t.Fatal(err)
	}
	o.BaseURL, o.Token, o.HTTP = a.URL, token, a.Client().Transport
	o.Sleep = func(ctx context.Context, d time.Duration) error {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.slept = append(a.slept, d)
		return ctx.Err()
	}
	o.Log = func(format string, args ...any) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.logged = append(a.logged, fmt.Sprintf(format, args...))
	}
	c, err := client.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (a *arena) serve(w http.ResponseWriter, r *http.Request) {
	var body strings.Builder
	if r.ContentLength != 0 {
		buf := make([]byte, 32<<10)
		for {
			n, err := r.Body.Read(buf)
			body.Write(buf[:n])
			if err != nil {
				break
			}
		}
	}
	a.mu.Lock()
	n := len(a.asked)
	a.asked = append(a.asked, asked{
		r.Method, r.RequestURI, r.Header.Get("Authorization"), r.Header.Get("Content-Type"), r.Header.Get("Last-Event-ID"), body.String(),
	})
	h := a.handlers[min(n, len(a.handlers)-1)]
	a.mu.Unlock()
	h(w, r)
}

func (a *arena) requests() []asked {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.asked)
}

func (a *arena) waits() []time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.slept)
}

// said is everything the client logged.
func (a *arena) said() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Join(a.logged, "\n")
}

// answers makes a handler of a status, a content type and a body. Further
// arguments are header names and values.
func answers(status int, contentType, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("X-Request-Id", "req-12345678")
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// problem makes a handler that answers with a problem.
func problem(status int, code, more string, header ...string) http.HandlerFunc {
	body := fmt.Sprintf(`{"type":"about:blank","title":"T","status":%d,"detail":"What is wrong.","code":%q,"request_id":"req-12345678","retryable":false%s}`, status, code, more)
	return answers(status, "application/problem+json", body, header...)
}

const page = "<html><body>Bad gateway</body></html>"

// proxyError is a proxy's own error page.
func proxyError(status int, header ...string) http.HandlerFunc {
	return answers(status, "text/html; charset=utf-8", page, header...)
}

func seconds(n ...int) []time.Duration {
	var d []time.Duration
	for _, s := range n {
		d = append(d, time.Duration(s)*time.Second)
	}
	return d
}
