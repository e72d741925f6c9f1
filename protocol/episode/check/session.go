package check

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// The limits of the seed's own client.
const (
	messageTime = 1850 * time.Second
	openTime    = 30 * time.Second
	maxFrame    = 1 << 20
)

// session is the one connection that a replay plays on.
type session struct {
	conn    *websocket.Conn
	now     func() time.Time
	timings *[]Timing
}

func dial(ctx context.Context, c *http.Client, url string) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(url, "http")+"/ws", &websocket.DialOptions{HTTPClient: c})
	if err != nil {
		return nil, fmt.Errorf("open the WebSocket: %w", err)
	}
	conn.SetReadLimit(maxFrame)
	return conn, nil
}

// observed is an answer: as it came, and what a check asks of it.
type observed struct {
	raw  json.RawMessage
	data struct {
		Observation struct {
			TaskID   string `json:"task_id"`
			ExitCode *int   `json:"exit_code"`
			Output   string `json:"output"`
		} `json:"observation"`
		Reward any  `json:"reward"`
		Done   bool `json:"done"`
	}
}

// earned reports whether the episode is over with this reward. true and false
// count as 1 and 0, as they do for the seed.
func (o observed) earned(reward float64) bool {
	is, ok := o.data.Reward.(float64)
	if b, isBool := o.data.Reward.(bool); isBool {
		is, ok = 0, true
		if b {
			is = 1
		}
	}
	return ok && o.data.Done && is == reward
}

// exited reports whether a shell command ended with this code.
func (o observed) exited(code int) bool {
	return o.data.Observation.ExitCode != nil && *o.data.Observation.ExitCode == code
}

// same compares two answers as JSON values.
func (o observed) same(other observed) bool {
	var a, b any
	return json.Unmarshal(o.raw, &a) == nil && json.Unmarshal(other.raw, &b) == nil && reflect.DeepEqual(a, b)
}

// String is the answer, short enough for a sentence.
func (o observed) String() string {
	if len(o.raw) > 600 {
		return string(o.raw[:400]) + " … " + string(o.raw[len(o.raw)-200:])
	}
	return string(o.raw)
}

// call sends one message and reads the one frame that answers it.
func (s *session) call(ctx context.Context, kind string, data map[string]any) (observed, error) {
	var o observed
	operation, ok := data["operation"].(string)
	if !ok {
		operation = kind
	}
	ctx, cancel := context.WithTimeout(ctx, messageTime)
	defer cancel()
	message, err := json.Marshal(map[string]any{"type": kind, "data": data})
	if err != nil {
		return o, err
	}
	began := s.now()
	if err := s.conn.Write(ctx, websocket.MessageText, message); err != nil {
		return o, fmt.Errorf("send %s: %w", operation, err)
	}
	frame, raw, err := s.conn.Read(ctx)
	if err != nil {
		return o, fmt.Errorf("%s: no answer: %w", operation, err)
	}
	var answer struct {
		Type string          `json:"type"`
		Data json.RawMessage `json:"data"`
	}
	o.raw = raw
	if frame != websocket.MessageText || json.Unmarshal(raw, &answer) != nil || answer.Type != "observation" {
		return o, fmt.Errorf("%s: the answer is no observation: %s", operation, o)
	}
	if o.raw = answer.Data; json.Unmarshal(answer.Data, &o.data) != nil {
		return o, fmt.Errorf("%s: the observation has another form: %s", operation, o)
	}
	*s.timings = append(*s.timings, Timing{Operation: operation, Seconds: seconds(s.now().Sub(began))})
	return o, nil
}

// seconds rounds to milliseconds.
func seconds(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 }
