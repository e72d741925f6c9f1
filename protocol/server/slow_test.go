package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// Clients that are slow, or gone. In these tests the network is a pipe without
// buffers and time is that of a synctest bubble, so that a client that stops
// reading blocks the server at once and the server's patience costs nothing.

// pipes is a listener whose connections are in-memory pipes.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

// pipeSite is a site on a network of pipes, inside a bubble.
type pipeSite struct {
	*site
	pipes *pipes
}

func newPipeSite(t *testing.T, change ...func(*options)) pipeSite {
	t.Helper()
	s := pipeSite{openSite(t, change...), &pipes{conns: make(chan net.Conn), done: make(chan struct{})}}
	web := &http.Server{Handler: s.server.Beside("/beside", 1000, http.NotFoundHandler())}
	served := make(chan error, 1)
	go func() { served <- web.Serve(s.pipes) }()
	t.Cleanup(func() {
		s.server.CloseStreams()
		_ = web.Close()
		<-served
	})
	return s
}

// dial connects and sends the beginning of a request.
func (s pipeSite) dial(head string) net.Conn {
	s.t.Helper()
	client, server := net.Pipe()
	s.pipes.conns <- server
	s.t.Cleanup(func() { client.Close() })
	if _, err := io.WriteString(client, strings.ReplaceAll(head, "\n", "\r\n")); err != nil {
		s.t.Fatal(err)
	}
	return client
}

// response reads what came back on a connection.
func response(t *testing.T, c net.Conn) answer {
	t.Helper()
	res := must(http.ReadResponse(bufio.NewReader(c), nil))(t)
	defer res.Body.Close()
	res.Request = must(http.NewRequest("GET", "/", nil))(t)
	return answer{res, must(io.ReadAll(res.Body))(t)}
}

// TestReaderThatStopsIsDropped opens streams and never reads a byte. The server
// writes, waits its ten seconds, and lets go.
func TestReaderThatStopsIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPipeSite(t)
		for range 20 {
			s.dial("GET /api/events HTTP/1.1\nHost: arena.example.org\n\n")
		}
		synctest.Wait()
		if n := s.streams(); n != 20 {
			t.Errorf("%v streams are open", n)
		}
		time.Sleep(time.Minute)
		if n := s.streams(); n != 0 {
			t.Errorf("a minute later %v streams are open", n)
		}
	})
}

// TestReaderThatFollowsIsKept reads an idle stream for an hour: only heartbeats
// come, and the connection stays.
func TestReaderThatFollowsIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPipeSite(t)
		c := s.dial("GET /api/events HTTP/1.1\nHost: arena.example.org\n\n")
		read := make(chan int64, 1)
		go func() {
			n, _ := io.Copy(io.Discard, c)
			read <- n
		}()
		time.Sleep(time.Hour)
		if n := s.streams(); n != 1 {
			t.Errorf("%v streams are open", n)
		}
		c.Close()
		time.Sleep(time.Minute)
		if n := s.streams(); n != 0 {
			t.Errorf("after the client hung up %v streams are open", n)
		}
		if n := <-read; n < 3600/15*int64(len(": alive\n\n")) {
			t.Errorf("%d bytes of heartbeats came in an hour", n)
		}
	})
}

// TestBodyThatStopsIsRefused sends half of a body and waits.
func TestBodyThatStopsIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPipeSite(t)
		c := s.dial(fmt.Sprintf("POST /api/board/messages HTTP/1.1\nHost: arena.example.org\nAuthorization: Bearer %s\nContent-Type: %s\nContent-Length: 100\n\n{", s.tokens[author], api.ContentJSON))
		start := time.Now()
		a := response(t, c)
		if a.StatusCode != 400 || a.code() != "malformed" {
			t.Errorf("%s: %s", a.Status, a.body)
		}
		if waited := time.Since(start); waited > time.Minute {
			t.Errorf("the server waited %s for the rest", waited)
		}
	})
}

// TestSlowWorkIsNotCut lets the work on a request take an hour. Only the transfer
// of its body has a limit; the work must not be cut off while the client waits.
func TestSlowWorkIsNotCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hour := make(chan struct{})
		s := newPipeSite(t, func(o *options) {
			o.service.Now = func() time.Time { // asked when the body has been read
				select {
				case <-hour:
					time.Sleep(time.Hour)
				default:
				}
				return time.Now()
			}
		})
		close(hour)
		body := `{"challenge_id":"tb2-9b","repo_type":"bundle","repo_id":"sample","revision":"` + strings.Repeat("a", 40) + `"}`
		c := s.dial(fmt.Sprintf("POST /api/environments/validate HTTP/1.1\nHost: arena.example.org\nAuthorization: Bearer %s\nContent-Type: %s\nContent-Length: %d\n\n%s", s.tokens[author], api.ContentJSON, len(body), body))
		if a := response(t, c); a.code() != protocol.ErrInvalidSource.Code { // the store was asked, and has no such bundle
			t.Errorf("%s: %s", a.Status, a.body)
		}
	})
}
