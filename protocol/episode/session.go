package episode

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/coder/websocket"
)

// maxWaiting is how many messages a client may send ahead of their answers.
const maxWaiting = 64

// ws plays one session over a WebSocket.
func (s *Server) ws(w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		return // Accept has answered
	}
	defer c.CloseNow()
	c.SetReadLimit(maxMessage)
	if !s.take() {
		_ = send(r.Context(), c, typeError, map[string]any{"message": full, "code": codeCapacity, "active_sessions": 1, "max_sessions": 1})
		_ = c.Close(websocket.StatusNormalClosure, "at capacity")
		return
	}
	defer s.leave()
	ctx, end := context.WithCancelCause(r.Context())
	defer end(nil)

	// One goroutine reads all the time: only a running read answers the client's
	// pings, and only it notices that the client has gone while a step is running.
	frames := make(chan []byte, maxWaiting)
	done := make(chan struct{}, 2)
	go func() {
		defer func() { done <- struct{}{} }()
		read(ctx, end, c, frames)
	}()
	go func() {
		defer func() { done <- struct{}{} }()
		ping(ctx, end, c)
	}()
	s.play(ctx, c, frames)
	end(errors.New("the session is over"))
	_ = c.CloseNow()
	<-done
	<-done
}

// errBinary is a frame that is no text.
var errBinary = errors.New("a binary frame")

// read hands on the client's frames until the connection ends.
func read(ctx context.Context, end context.CancelCauseFunc, c *websocket.Conn, frames chan<- []byte) {
	defer close(frames)
	for {
		kind, frame, err := c.Read(ctx)
		if err != nil {
			end(err)
			return
		}
		if kind != websocket.MessageText {
			frame = nil // play refuses it in its turn
		}
		select {
		case frames <- frame:
		default:
			end(errors.New("the client sends without reading"))
			return
		}
	}
}

// ping ends a session whose client has silently gone.
func ping(ctx context.Context, end context.CancelCauseFunc, c *websocket.Conn) {
	t := time.NewTicker(pingEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			waiting, cancel := context.WithTimeout(ctx, pingWait)
			err := c.Ping(waiting)
			cancel()
			if err != nil {
				end(err)
				return
			}
		}
	}
}

// play answers one frame after the other until the session ends.
func (s *Server) play(ctx context.Context, c *websocket.Conn, frames <-chan []byte) {
	e := &episode{server: s}
	for frame := range frames {
		var r request
		wrong := &refusal{code: codeSession, message: errBinary.Error() + "; messages are JSON text", fatal: true}
		if frame != nil {
			r, wrong = parse(frame)
		}
		if wrong == nil && r.kind == typeClose {
			_ = c.Close(websocket.StatusNormalClosure, "")
			return
		}
		kind, data := typeError, any(nil)
		if wrong == nil {
			kind, data, wrong = e.do(ctx, r)
		}
		if ctx.Err() != nil {
			return
		}
		if wrong != nil {
			m := map[string]any{"message": wrong.message, "code": wrong.code}
			if wrong.errors != nil {
				m["errors"] = wrong.errors
			}
			kind, data = typeError, m
			s.log.Info("refused", "code", wrong.code, "message", wrong.message)
		}
		if send(ctx, c, kind, data) != nil {
			return
		}
		if wrong != nil && wrong.fatal {
			_ = c.Close(websocket.StatusInternalError, "")
			return
		}
	}
}

// do carries out a request: the kind and data of its answer, or why there is none.
func (e *episode) do(ctx context.Context, r request) (string, any, *refusal) {
	var step Step
	var err error
	switch r.kind {
	case typeState:
		return typeState, e.state(), nil
	case typeMCP:
		return typeMCP, rpc(r.data), nil
	case typeReset:
		step, err = e.reset(ctx, r)
	default:
		step, err = e.step(ctx, r.action)
	}
	if err != nil {
		return "", nil, &refusal{code: codeExecution, message: err.Error()}
	}
	return typeObservation, step, nil
}

func send(ctx context.Context, c *websocket.Conn, kind string, data any) error {
	b, err := json.Marshal(map[string]any{"type": kind, "data": data})
	if err != nil {
		return err
	}
	return c.Write(ctx, websocket.MessageText, b)
}
