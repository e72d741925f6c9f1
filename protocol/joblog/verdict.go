package joblog

import (
	"bytes"

	"github.com/posttrainarena/arena/protocol"
)

// timeLimit is how the harness begins the note of an attempt that ran into its
// time limit (reference/pipeline.md §2.5).
const timeLimit = "Agent prompt exceeded wall-clock budget"

// outcome is the outcome that a verdict line stands for: its word (PASS, FAIL or
// ERR) and whether its note says that time ran out. The harness grades an attempt
// that ran into its time limit and may print PASS for it; pass@1 counts it as a
// failure, so it is a timeout here. Without a reward (ERR) there is nothing to
// fail, whatever the note says.
func outcome(word string, late bool) protocol.Outcome {
	switch {
	case word == "ERR":
		return protocol.OutcomeError
	case late:
		return protocol.OutcomeTimeout
	case word == "PASS":
		return protocol.OutcomePass
	default:
		return protocol.OutcomeFail
	}
}

// verdict is one parsed verdict line.
type verdict struct {
	outcome protocol.Outcome
	raw     bool   // the word was PASS, whatever the note says
	name    []byte // into the line
	note    []byte // into the line; may be incomplete
}

// parseVerdict reads a verdict line of either generation:
//
//	[PASS] sort-ledger (tools=7)
//	[FAIL] sort-ledger (reward=0.30, tools=7) (Agent prompt exceeded …)
//	[ERR] sort-ledger: unexpected exception: KeyError('x')
//
// The note is cut by the harness and may lack its closing parenthesis. A line
// that ends before the counters are complete is not a verdict.
func parseVerdict(line []byte) (v verdict, ok bool) {
	word, rest, ok := bracketed(line)
	if !ok {
		return v, false
	}
	space := bytes.IndexByte(rest, ' ')
	if space <= 0 {
		return v, false
	}
	v.name, rest = rest[:space], rest[space+1:]
	closed := true
	if n := len(v.name) - 1; word == "ERR" && v.name[n] == ':' {
		v.name, v.note = v.name[:n], rest
	} else if v.note, closed, ok = counters(rest); !ok {
		return v, false
	}
	v.raw = word == "PASS"
	v.outcome = outcome(word, late(v.note, closed))
	return v, len(v.name) > 0
}

// late reports whether a note says that the attempt ran into its time limit. Other
// texts that speak of time, such as of an agent that did not start in time, do not.
// The end of a job may have cut the note off, and a pass needs proof that it did not.
func late(note []byte, closed bool) bool {
	n := min(len(note), len(timeLimit))
	return string(note[:n]) == timeLimit[:n] && (n == len(timeLimit) || !closed)
}

// bracketed splits "[WORD] rest" for the three verdict words.
func bracketed(line []byte) (word string, rest []byte, ok bool) {
	for _, w := range [...]string{"PASS", "FAIL", "ERR"} {
		if n := len(w); len(line) > n+3 && string(line[1:n+1]) == w && line[n+1] == ']' && line[n+2] == ' ' {
			return w, line[n+3:], true
		}
	}
	return "", nil, false
}

// counters reads "(tools=7)" or "(reward=0.30, tools=7)" and the note after it.
// closed is false when a note is opened and not closed.
func counters(b []byte) (note []byte, closed, ok bool) {
	b, ok = bytes.CutPrefix(b, []byte("("))
	if !ok {
		return nil, false, false
	}
	if rest, found := bytes.CutPrefix(b, []byte("reward=")); found {
		comma := bytes.Index(rest, []byte(", "))
		if comma < 0 {
			return nil, false, false
		}
		b = rest[comma+2:]
	}
	if b, ok = bytes.CutPrefix(b, []byte("tools=")); !ok {
		return nil, false, false
	}
	digits, _ := leadingInt(b)
	if b = b[digits:]; digits == 0 || len(b) == 0 || b[0] != ')' {
		return nil, false, false
	}
	b = bytes.TrimSpace(b[1:])
	if len(b) == 0 {
		return nil, true, true
	}
	if b[0] != '(' {
		return nil, false, false
	}
	b = b[1:]
	if n := len(b); n > 0 && b[n-1] == ')' {
		return b[:n-1], true, true
	}
	return b, false, true
}

// leadingInt reads the decimal digits at the start of b. Values beyond a
// billion stay at a billion.
func leadingInt(b []byte) (digits, value int) {
	for digits < len(b) && b[digits] >= '0' && b[digits] <= '9' {
		value = min(value*10+int(b[digits]-'0'), 1_000_000_000)
		digits++
	}
	return digits, value
}
