package artifacts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/posttrainarena/arena/protocol"
)

// The bounds of what is shown of one attempt.
const (
	maxTranscript = 16 << 20 // bytes of a transcript file
	maxEvents     = 20_000
	maxStdout     = 1 << 20 // bytes of the verifier's output; the end is kept
)

// Event is one event of an attempt's transcript.
type Event struct {
	// Type is user_message, agent_message, agent_thought, tool_call,
	// agent_timeout, oracle, or whatever the harness wrote.
	Type string `json:"type"`
	// Text is what was said, a tool call's output, or an unknown event as JSON.
	Text   string `json:"text"`
	Tool   string `json:"tool,omitempty"`   // title of a tool call, such as bash
	Kind   string `json:"kind,omitempty"`   // kind of a tool call, such as execute
	Status string `json:"status,omitempty"` // status of a tool call, such as completed
}

// Detail is everything that is shown of one attempt.
type Detail struct {
	Attempt   Attempt   `json:"attempt"`
	Events    []Event   `json:"events"`
	Checks    Checks    `json:"checks"`
	Stdout    string    `json:"verifier_stdout"`
	StdoutCut bool      `json:"verifier_stdout_cut"` // only its end is here
	Problems  []Problem `json:"problems"`
}

// Open reads one attempt of the list that Attempts returned for the same tree.
// It refuses, with protocol.ErrNoAttempt, anything that is not an attempt at a
// training task.
func Open(fsys fs.FS, a Attempt) (Detail, error) {
	if !strings.HasPrefix(a.Path, gateDir+"/") && !strings.HasPrefix(a.Path, trainDir+"/") || !fs.ValidPath(a.Path) {
		return Detail{}, protocol.ErrNoAttempt
	}
	d := Detail{Attempt: a, Events: []Event{}, Problems: []Problem{}}
	for _, p := range a.problems {
		d.Problems = append(d.Problems, Problem{a.Path, p})
	}
	events, bad := transcript(fsys, a.Path)
	if bad != "" {
		d.Problems = append(d.Problems, Problem{a.Path, bad})
	}
	d.Events = append(d.Events, events...)
	stdout, isCut, err := tail(fsys, path.Join(a.Path, "verifier/test-stdout.txt"), maxStdout)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.Problems = append(d.Problems, Problem{a.Path, fmt.Sprintf("The verifier's output cannot be read: %v.", err)})
	}
	d.Stdout, d.StdoutCut = stdout, isCut
	checks, bad := readChecks(fsys, a.Path, stdout)
	if bad != "" {
		d.Problems = append(d.Problems, Problem{a.Path, bad})
	}
	d.Checks = checks
	return d, nil
}

// transcript reads an attempt's events. Lines that are not events are left out
// and counted in problem. A missing transcript has no events.
func transcript(fsys fs.FS, dir string) (events []Event, problem string) {
	data, err := read(fsys, path.Join(dir, "trajectory/acp_trajectory.jsonl"), maxTranscript)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ""
	}
	if err != nil {
		return nil, fmt.Sprintf("The transcript cannot be read: %v.", err)
	}
	bad := 0
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if len(events) == maxEvents {
			return events, fmt.Sprintf("The transcript has more than %d events; the others were not read.", maxEvents)
		}
		e, ok := event(line)
		if !ok {
			bad++
			continue
		}
		events = append(events, e)
	}
	if bad > 0 {
		return events, fmt.Sprintf("%d line(s) of the transcript cannot be read and were left out.", bad)
	}
	return events, ""
}

// event reads one line of a transcript.
func event(line []byte) (Event, bool) {
	o, err := decode(line)
	if err != nil {
		return Event{}, false
	}
	e := Event{Type: o.text("type", 100)}
	switch e.Type {
	case "":
		return Event{}, false
	case "user_message", "agent_message", "agent_thought":
		e.Text = o.text("text", maxTranscript)
	case "tool_call":
		e.Tool, e.Kind, e.Status = o.text("title", 500), o.text("kind", 100), o.text("status", 100)
		e.Text = content(o["content"])
	case "agent_timeout":
		e.Text = o.text("reason", maxError)
	case "oracle":
		e.Tool = o.text("command", maxError)
		e.Text = o.text("stdout", maxTranscript)
		if code := o.number("return_code"); code != nil {
			e.Status = fmt.Sprintf("exit %v", *code)
		}
	default:
		e.Text = string(line)
	}
	return e, true
}

// content joins the blocks of a tool call's content: text as it is, anything else
// as JSON.
func content(raw json.RawMessage) string {
	var blocks []json.RawMessage
	if json.Unmarshal(raw, &blocks) != nil {
		return ""
	}
	var texts []string
	for _, b := range blocks {
		o, err := decode(b)
		if err != nil {
			continue
		}
		if inner := o.object("content"); o.text("type", 20) == "content" && inner.text("type", 20) == "text" {
			texts = append(texts, inner.text("text", maxTranscript))
		} else {
			texts = append(texts, string(b))
		}
	}
	return strings.Join(texts, "\n")
}

// tail returns the last bytes of a file as text, and whether some are missing.
func tail(fsys fs.FS, name string, limit int) (string, bool, error) {
	f, err := open(fsys, name)
	if err != nil {
		return "", false, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	// Bounded twice: what is kept, and how much is read to find the end.
	const maxRead = 256 << 20
	var kept []byte
	buf := make([]byte, 64<<10)
	for total := 0; total < maxRead; {
		n, err := f.Read(buf)
		kept = append(kept, buf[:n]...)
		total += n
		if len(kept) > 2*limit {
			kept = kept[:copy(kept, kept[len(kept)-limit:])]
		}
		if errors.Is(err, io.EOF) {
			isCut := total > limit
			if len(kept) > limit {
				kept = kept[len(kept)-limit:]
			}
			return strings.ToValidUTF8(string(kept), "\ufffd"), isCut, nil
		}
		if err != nil {
			return "", false, fmt.Errorf("read %s: %w", path.Base(name), err)
		}
	}
	return "", false, fmt.Errorf("%w: it has more than %d bytes", errTooLarge, maxRead)
}
