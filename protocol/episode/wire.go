package episode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Observation is the inner part of an answer. Which fields are set depends on
// what was done: exit code and output after a shell command, the instruction
// after a reset.
type Observation struct {
	TaskID      string  `json:"task_id"`
	Instruction string  `json:"instruction,omitempty"`
	ExitCode    *int    `json:"exit_code,omitempty"`
	Output      *string `json:"output,omitempty"`
}

// Step is the answer to a reset or a step. The reward is null until the episode
// has ended.
type Step struct {
	Observation Observation `json:"observation"`
	Reward      *float64    `json:"reward"`
	Done        bool        `json:"done"`
}

// State is the answer to a question for the state.
type State struct {
	EpisodeID *string `json:"episode_id"` // null before the first reset
	StepCount int     `json:"step_count"` // since the reset
	TaskID    string  `json:"task_id"`
	Done      bool    `json:"done"`
}

// The kinds of messages and the codes of errors (src: OpenEnv 0.3.2 types.py).
const (
	typeReset, typeStep, typeState, typeMCP, typeClose = "reset", "step", "state", "mcp", "close"
	typeObservation, typeError                         = "observation", "error"

	codeJSON       = "INVALID_JSON"
	codeType       = "UNKNOWN_TYPE"
	codeValidation = "VALIDATION_ERROR"
	codeExecution  = "EXECUTION_ERROR"
	codeCapacity   = "CAPACITY_REACHED"
	codeSession    = "SESSION_ERROR"
)

// maxMessage bounds a message from a client: what the stock server takes too.
const maxMessage = 16 << 20

// action is what a step asks for.
type action struct {
	operation string // "shell" or "finish"
	command   string
}

// request is a message that was understood.
type request struct {
	kind      string
	taskID    string // of a reset; empty when it names none
	episodeID string // of a reset; empty when it names none
	action    action // of a step
	data      json.RawMessage
}

// flaw is one thing that is wrong with a message, in the form of the stock
// server's validator.
type flaw struct {
	Type  string   `json:"type"`
	Loc   []string `json:"loc"`
	Msg   string   `json:"msg"`
	Input any      `json:"input"`
}

// refusal is a message that was not understood. fatal ends the session.
type refusal struct {
	code, message string
	errors        []flaw
	fatal         bool
}

func (r *refusal) Error() string { return r.message }

func invalid(flaws ...flaw) *refusal {
	return &refusal{code: codeValidation, message: "Invalid message", errors: flaws}
}

// fields decodes a JSON object strictly: one value, an object, no duplicate keys
// matter because the last wins as in the stock server.
func fields(data []byte) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	var value json.RawMessage
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something follows the JSON value")
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(value, &m); err != nil || m == nil {
		return nil, errNoObject
	}
	return m, nil
}

var errNoObject = errors.New("the JSON value is no object")

// parse reads a message of the WebSocket.
func parse(frame []byte) (request, *refusal) {
	m, err := fields(frame)
	if errors.Is(err, errNoObject) {
		return request{}, &refusal{code: codeSession, message: "a message is a JSON object", fatal: true}
	}
	if err != nil {
		return request{}, &refusal{code: codeJSON, message: "Invalid JSON: " + err.Error()}
	}
	var kind string
	_ = json.Unmarshal(m["type"], &kind) // absent or no string: unknown
	if !strings.Contains(" reset step state mcp close ", " "+kind+" ") || kind == "" {
		return request{}, &refusal{code: codeType, message: fmt.Sprintf("Unknown message type: %s", orNull(m["type"]))}
	}
	r := request{kind: kind, data: m["data"]}
	for key := range m {
		if key != "type" && (key != "data" || kind == typeState || kind == typeClose) {
			return request{}, invalid(flaw{Type: "extra_forbidden", Loc: []string{key}, Msg: "Extra inputs are not permitted", Input: m[key]})
		}
	}
	switch kind {
	case typeReset:
		return r, r.reset(m["data"])
	case typeStep:
		if m["data"] == nil {
			return request{}, invalid(flaw{Type: "missing", Loc: []string{"data"}, Msg: "Field required", Input: m})
		}
		a, wrong := parseAction(m["data"], "data")
		r.action = a
		return r, wrong
	}
	return r, nil
}

func orNull(raw json.RawMessage) string {
	if raw == nil {
		return "null"
	}
	return string(raw[:min(len(raw), 100)])
}

// reset reads the parameters of a reset. Unknown ones are dropped, as the stock
// server does.
func (r *request) reset(data json.RawMessage) *refusal {
	if len(data) == 0 || string(data) == "null" {
		return nil
	}
	m, err := fields(data)
	if err != nil {
		return invalid(flaw{Type: "dict_type", Loc: []string{"data"}, Msg: "Input should be a valid dictionary", Input: data})
	}
	for key, into := range map[string]*string{"task_id": &r.taskID, "episode_id": &r.episodeID} {
		if raw := m[key]; raw != nil && string(raw) != "null" {
			if json.Unmarshal(raw, into) != nil || len(*into) > 255 {
				return invalid(flaw{Type: "string_type", Loc: []string{"data", key}, Msg: "Input should be a string of at most 255 characters", Input: raw})
			}
		}
	}
	return nil
}

// parseAction reads the action of a step. at says where it stands.
func parseAction(data json.RawMessage, at string) (action, *refusal) {
	m, err := fields(data)
	if err != nil {
		return action{}, invalid(flaw{Type: "dict_type", Loc: []string{at}, Msg: "Input should be a valid dictionary", Input: data})
	}
	var a action
	for key, raw := range m {
		var wrong error
		switch key {
		case "operation":
			wrong = json.Unmarshal(raw, &a.operation)
		case "command":
			if string(raw) != "null" {
				wrong = json.Unmarshal(raw, &a.command)
			}
		case "metadata":
			var free map[string]any
			wrong = json.Unmarshal(raw, &free)
		default:
			return action{}, invalid(flaw{Type: "extra_forbidden", Loc: []string{at, key}, Msg: "Extra inputs are not permitted", Input: raw})
		}
		if wrong != nil {
			return action{}, invalid(flaw{Type: "type_error", Loc: []string{at, key}, Msg: "Input has the wrong type", Input: raw})
		}
	}
	switch {
	case a.operation != "shell" && a.operation != "finish":
		return action{}, invalid(flaw{Type: "literal_error", Loc: []string{at, "operation"}, Msg: "Input should be 'shell' or 'finish'", Input: a.operation})
	case a.operation == "shell" && strings.TrimSpace(a.command) == "":
		return action{}, invalid(flaw{Type: "missing", Loc: []string{at, "command"}, Msg: "A shell step needs a command", Input: a.command})
	case strings.ContainsRune(a.command, 0):
		return action{}, invalid(flaw{Type: "value_error", Loc: []string{at, "command"}, Msg: "A command cannot hold a NUL byte", Input: nil})
	}
	return a, nil
}

// object is a JSON Schema of an object in the stock server's form.
func object(title string, required []string, properties map[string]any) map[string]any {
	o := map[string]any{"title": title, "type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		o["required"] = required
	}
	return o
}

// schemas are the three JSON Schemas of /schema.
func schemas() map[string]any {
	text := func(title string) map[string]any { return map[string]any{"title": title, "type": "string"} }
	nullable := func(title, kind string) map[string]any {
		return map[string]any{"title": title, "anyOf": []any{map[string]any{"type": kind}, map[string]any{"type": "null"}}, "default": nil}
	}
	metadata := map[string]any{"title": "Metadata", "type": "object", "additionalProperties": true}
	state := object("EpisodeState", nil, map[string]any{
		"episode_id": nullable("Episode Id", "string"),
		"step_count": map[string]any{"title": "Step Count", "type": "integer", "minimum": 0, "default": 0},
		"task_id":    text("Task Id"),
		"done":       map[string]any{"title": "Done", "type": "boolean", "default": false},
	})
	state["additionalProperties"] = true
	return map[string]any{
		"action": object("EpisodeAction", []string{"operation"}, map[string]any{
			"operation": map[string]any{"title": "Operation", "type": "string", "enum": []string{"shell", "finish"}},
			"command":   nullable("Command", "string"),
			"metadata":  metadata,
		}),
		"observation": object("EpisodeObservation", []string{"task_id"}, map[string]any{
			"task_id":     text("Task Id"),
			"instruction": nullable("Instruction", "string"),
			"exit_code":   nullable("Exit Code", "integer"),
			"output":      nullable("Output", "string"),
			"done":        map[string]any{"title": "Done", "type": "boolean", "default": false},
			"reward":      nullable("Reward", "number"),
			"metadata":    metadata,
		}),
		"state": state,
	}
}
