package simulated

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
)

// event is one line of trajectory/acp_trajectory.jsonl
// (reference/pipeline.md §3.5).
type event struct {
	Type    string    `json:"type"`
	Text    *string   `json:"text,omitempty"`
	CallID  string    `json:"tool_call_id,omitempty"`
	Kind    string    `json:"kind,omitempty"`
	Title   string    `json:"title,omitempty"`
	Status  string    `json:"status,omitempty"`
	Content []content `json:"content,omitempty"`
}

// content is one block of a tool call's result.
type content struct {
	Type    string `json:"type"`
	Content struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
}

// message is an event that carries text.
func message(kind, text string) event { return event{Type: kind, Text: &text} }

// transcript returns what the agent said and did, with a thought before every
// other tool call.
func (p *player) transcript(c chance, a attempt, end ending) []byte {
	events := []event{message("user_message", cmp.Or(p.sim.Prompts[a.task], a.task))}
	for k := range a.tools {
		if k%2 == 0 {
			events = append(events, message("agent_message", c.pick(thoughts())+"\n</think>"))
		}
		events = append(events, toolCall(k, c.pick(commands())))
	}
	events = append(events, lastEvent(end))

	var out bytes.Buffer
	lines := json.NewEncoder(&out)
	lines.SetEscapeHTML(false)
	for _, e := range events {
		_ = lines.Encode(e) // strings into a buffer cannot fail
	}
	return out.Bytes()
}

// toolCall is the kth command of an attempt with its output.
func toolCall(k int, shell string) event {
	var block content
	block.Type, block.Content.Type, block.Content.Text = "content", "text", shell
	return event{
		Type: "tool_call", CallID: fmt.Sprintf("call_%04d", k), Kind: "execute", Title: "bash", Status: "completed",
		Content: []content{block},
	}
}

// lastEvent returns the event that an attempt with this ending stops at. The
// unfinished markup is what the bridge leaves of a reply that the context had
// no room for.
func lastEvent(end ending) event {
	switch end {
	case cutOff:
		return message("agent_message", "I will write the corrected program.\n</think>\n\n<tool_call>\n<function=write>\n<parameter=content>\nimport csv\n\nwith open(\"/app/data/records.csv\") as source:\n    for row in ")
	case malformed:
		return message("agent_message", "Look at the result once more.\n</think>\n\n<tool_call>\n<function=bash>\n<parameter=command>\ncat /app/output/result.txt\n</parameter>\n</function>\n</function>\n</tool_call>")
	case timedOut:
		return event{Type: "agent_timeout"}
	case errored:
		return message("agent_message", "")
	default:
		return message("agent_message", "The result is in /app/output, and what I could check by hand agrees with the task.")
	}
}

// thoughts are what the agent says between commands (invented).
func thoughts() []string {
	return []string{
		"First see which files there are.",
		"The records look regular, so a short script will do.",
		"The folder for the result is not there yet.",
		"Compare the counts before and after.",
		"That failed on the header row; skip it.",
	}
}

// commands are what the agent runs, each with its output (invented).
func commands() []string {
	return []string{
		"$ ls /app\ndata\nnotes.txt\ntools",
		"$ head -3 /app/data/records.csv\nid,name,total\n17,north,4.25\n18,south,3.75",
		"$ python3 tools/merge.py data/records.csv\nTraceback (most recent call last):\n  File \"tools/merge.py\", line 9, in <module>\nValueError: could not convert string to float: 'total'",
		"$ mkdir -p /app/output\n",
		"$ python3 tools/merge.py --skip-header data/records.csv > output/result.txt\n",
		"$ wc -l output/result.txt\n212 output/result.txt",
		"$ diff <(cut -d, -f1 data/records.csv) <(cut -f1 output/result.txt) | head -2\n1d0\n< id",
	}
}
