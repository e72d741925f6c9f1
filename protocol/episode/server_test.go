package episode_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"

	"github.com/posttrainarena/arena/protocol/episode"
	"github.com/posttrainarena/arena/protocol/episode/check"
	"github.com/posttrainarena/arena/protocol/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }

// paper is a world without a container: it remembers what was asked of it. The
// command "solve" solves the task, "hang" waits to be given up.
type paper struct {
	solved  bool
	hanging chan struct{}
	quiets  atomic.Int32
}

func (*paper) Task() (id, instruction string) { return "paper-task", "Solve it." }

func (p *paper) Reset(context.Context) error { p.solved = false; return nil }

func (p *paper) Shell(ctx context.Context, command string) (episode.Result, error) {
	switch command {
	case "solve":
		p.solved = true
	case "hang":
		close(p.hanging)
		<-ctx.Done()
		return episode.Result{}, ctx.Err()
	case "break":
		return episode.Result{}, errors.New("the world is broken")
	}
	return episode.Result{ExitCode: len(command) % 2, Output: "<" + command + ">"}, nil
}

func (p *paper) Grade(context.Context) (float64, error) {
	if p.solved {
		return 1, nil
	}
	return 0, nil
}

func (p *paper) Quiet() error { p.quiets.Add(1); return nil }

func serve(t *testing.T) (*paper, *httptest.Server) {
	t.Helper()
	p := &paper{hanging: make(chan struct{})}
	s := httptest.NewServer(episode.NewServer(p, nil))
	t.Cleanup(s.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return p, s
}

func dial(t *testing.T, s *httptest.Server) *websocket.Conn {
	t.Helper()
	c, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(s.URL, "http")+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	c.SetReadLimit(1 << 20)
	t.Cleanup(func() { _ = c.CloseNow() })
	return c
}

func ask(t *testing.T, c *websocket.Conn, message string) string {
	t.Helper()
	if err := c.Write(t.Context(), websocket.MessageText, []byte(message)); err != nil {
		t.Fatal(err)
	}
	_, answer, err := c.Read(t.Context())
	if err != nil {
		t.Fatalf("%s: %v", message, err)
	}
	return string(answer)
}

// One session from its first message to its last; each row goes on where the one
// before stopped. An answer must hold every part that is wanted.
func TestSession(t *testing.T) {
	p, s := serve(t)
	c := dial(t, s)
	for _, tt := range []struct{ message, want string }{
		{`{"type":"state"}`, `"episode_id":null,"step_count":0`},
		{`{"type":"step","data":{"operation":"shell","command":"ls"}}`, `"code":"EXECUTION_ERROR" reset first`},
		{`{"type":"reset","data":{"task_id":"another"}}`, `"code":"EXECUTION_ERROR" no task`},
		{`{"type":"reset"}`, `"type":"observation" "task_id":"paper-task" "instruction":"Solve it." "reward":null "done":false`},
		{`{"type":"reset","data":{"task_id":"paper-task","seed":7,"episode_id":"mine"}}`, `"type":"observation" "done":false`},
		{`{"type":"state"}`, `"type":"state" "episode_id":"mine" "step_count":0 "done":false`},
		{`{"type":"step","data":{"operation":"shell","command":"ls"}}`, `"exit_code":0 ls "reward":null "done":false`},
		{`{"type":"step","data":{"operation":"shell","command":"odd","metadata":{"a":1}}}`, `"exit_code":1`},
		{`{"type":"state"}`, `"step_count":2`},
		{`{"type":"step","data":{"operation":"shell","command":"break"}}`, `"code":"EXECUTION_ERROR" is broken`},

		{`{"type":"step"`, `"code":"INVALID_JSON"`},
		{`{"type":"step"} {}`, `"code":"INVALID_JSON"`},
		{`{"type":"dance"}`, `"code":"UNKNOWN_TYPE" dance`},
		{`{"type":7}`, `"code":"UNKNOWN_TYPE"`},
		{`{}`, `"code":"UNKNOWN_TYPE"`},
		{`{"type":"step"}`, `"code":"VALIDATION_ERROR" "loc":["data"]`},
		{`{"type":"step","data":[]}`, `"code":"VALIDATION_ERROR"`},
		{`{"type":"step","data":{"operation":"jump"}}`, `"code":"VALIDATION_ERROR" "operation"`},
		{`{"type":"step","data":{"operation":"shell"}}`, `"code":"VALIDATION_ERROR" "command"`},
		{`{"type":"step","data":{"operation":"shell","command":5}}`, `"code":"VALIDATION_ERROR"`},
		{`{"type":"step","data":{"operation":"shell","command":"a\u0000b"}}`, `"code":"VALIDATION_ERROR" NUL`},
		{`{"type":"step","data":{"operation":"finish","more":1}}`, `"code":"VALIDATION_ERROR" "more"`},
		{`{"type":"close","data":{}}`, `"code":"VALIDATION_ERROR" "loc":["data"]`},
		{`{"type":"reset","data":{"task_id":5}}`, `"code":"VALIDATION_ERROR" "task_id"`},
		{`{"type":"mcp","data":{"jsonrpc":"2.0","id":3,"method":"tools/list"}}`, `"type":"mcp" -32603 "id":3`},

		{`{"type":"step","data":{"operation":"finish"}}`, `"reward":0 "done":true`},
		{`{"type":"step","data":{"operation":"finish"}}`, `"reward":0 "done":true`},
		{`{"type":"step","data":{"operation":"shell","command":"ls"}}`, `"code":"EXECUTION_ERROR" over`},
		{`{"type":"state"}`, `"done":true`},
		{`{"type":"reset"}`, `"done":false`},
		{`{"type":"step","data":{"operation":"shell","command":"solve"}}`, `"done":false`},
		{`{"type":"step","data":{"operation":"finish"}}`, `"reward":1 "done":true`},
	} {
		answer := ask(t, c, tt.message)
		for part := range strings.SplitSeq(strings.ReplaceAll(tt.want, "no task", "no\x00task"), " ") {
			if part = strings.ReplaceAll(part, "\x00", " "); !strings.Contains(answer, part) {
				t.Errorf("%s\n got %s\nwant %s", tt.message, answer, part)
			}
		}
	}
	if err := c.Write(t.Context(), websocket.MessageText, []byte(`{"type":"close"}`)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Errorf("after close: %v", err)
	}
	p.quiet(t, s)
}

// quiet waits until the place is free again: then the processes are dead.
func (p *paper) quiet(t *testing.T, s *httptest.Server) {
	t.Helper()
	for {
		c := dial(t, s)
		answer := ask(t, c, `{"type":"reset"}`)
		_ = c.CloseNow()
		if strings.Contains(answer, `"observation"`) {
			break
		}
	}
	if p.quiets.Load() == 0 {
		t.Error("the session's processes were left alone")
	}
}

// What is no message ends the session.
func TestSessionEnds(t *testing.T) {
	for name, frame := range map[string]struct {
		kind websocket.MessageType
		text string
	}{
		"no object": {websocket.MessageText, "[]"}, "a number": {websocket.MessageText, "5"}, "binary": {websocket.MessageBinary, `{"type":"state"}`},
	} {
		t.Run(name, func(t *testing.T) {
			_, s := serve(t)
			c := dial(t, s)
			if err := c.Write(t.Context(), frame.kind, []byte(frame.text)); err != nil {
				t.Fatal(err)
			}
			_, answer, err := c.Read(t.Context())
			if err != nil || !strings.Contains(string(answer), "SESSION_ERROR") {
				t.Errorf("answer %s, %v", answer, err)
			}
			if _, _, err := c.Read(t.Context()); err == nil {
				t.Error("the session goes on")
			}
		})
	}
}

// One session at a time: a second is told so, and gets the place when the first
// has gone, even in the middle of a step.
func TestOneSessionAtATime(t *testing.T) {
	p, s := serve(t)
	first := dial(t, s)
	ask(t, first, `{"type":"reset"}`)
	second := dial(t, s)
	_, answer, err := second.Read(t.Context())
	if err != nil || !strings.Contains(string(answer), `"CAPACITY_REACHED"`) || !strings.Contains(string(answer), "1/1 sessions active") {
		t.Errorf("the second: %s, %v", answer, err)
	}
	if _, _, err := second.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Errorf("the second is closed with %v", err)
	}
	if status, body := post(t, s, "/reset", "{}"); status != http.StatusServiceUnavailable || !strings.Contains(body, "capacity") {
		t.Errorf("an HTTP reset meanwhile: %d %s", status, body)
	}
	if err := first.Write(t.Context(), websocket.MessageText, []byte(`{"type":"step","data":{"operation":"shell","command":"hang"}}`)); err != nil {
		t.Fatal(err)
	}
	<-p.hanging
	_ = first.CloseNow()
	p.quiet(t, s)
}

func post(t *testing.T, s *httptest.Server, path, body string) (int, string) {
	t.Helper()
	r, err := http.Post(s.URL+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

// Each HTTP step is an environment of its own.
func TestHTTP(t *testing.T) {
	_, s := serve(t)
	for _, tt := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/reset", `{"seed":3,"anything":true}`, 200, `"task_id":"paper-task"`},
		{"/reset", ``, 200, `"done":false`},
		{"/reset", `{"task_id":7}`, 422, `"task_id"`},
		{"/reset", `{`, 422, `"json_invalid"`},
		{"/step", `{}`, 422, `"loc":["body","action"]`},
		{"/step", `{"action":{"operation":"none"}}`, 422, `"literal_error"`},
		{"/step", `{"action":{"operation":"shell","command":"solve"},"timeout_s":5}`, 200, `"exit_code":1`},
		{"/step", `{"action":{"operation":"finish"}}`, 200, `"reward":0,"done":true`},
		{"/step", `{"action":{"operation":"shell","command":"break"}}`, 500, `broken`},
		{"/mcp", `{}`, 200, `-32600`},
		{"/mcp", `{`, 200, `-32700`},
		{"/mcp", `{"jsonrpc":"2.0","id":1,"method":"x"}`, 200, `-32601`},
		{"/nowhere", `{}`, 404, `"detail":"Not Found"`},
	} {
		if status, body := post(t, s, tt.path, tt.body); status != tt.status || !strings.Contains(body, tt.want) {
			t.Errorf("%s %s: %d %s", tt.path, tt.body, status, body)
		}
	}
}

// The server passes the criteria of the original validator, and says so when its
// world is broken.
func TestValidation(t *testing.T) {
	p := &paper{}
	server := episode.NewServer(p, nil)
	s := httptest.NewServer(server)
	defer s.Close()
	client := s.Client()
	if v := check.Validate(t.Context(), client, s.URL); !v.Passed || v.Mode != "simulation" || v.Summary.PassedCount != 6 || v.Profile != "openenv-http/1.x" {
		b, _ := json.MarshalIndent(v, "", " ")
		t.Errorf("%s", b)
	}
	server.Fail(errors.New("no git"))
	if v := check.Validate(t.Context(), client, s.URL); v.Passed || strings.Join(v.Summary.FailedCriteria, " ") != "health_endpoint" {
		t.Errorf("a broken world: %+v", v)
	}
	if status, body := post(t, s, "/reset", "{}"); status != 500 || !strings.Contains(body, "no git") {
		t.Errorf("a reset of a broken world: %d %s", status, body)
	}
	client.CloseIdleConnections()
	http.DefaultClient.CloseIdleConnections()
}
