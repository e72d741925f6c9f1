package client

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
)

// MaxEvent is the most bytes that one server-sent event may have. A log line of
// a mebibyte is six in JSON at worst.
const MaxEvent = 8 << 20

// event is one server-sent event.
type event struct {
	id   string // empty when the event has none
	kind string // message when the stream names none
	data string
}

// eventReader reads server-sent events as the HTML standard parses them: lines
// end in CR, LF or both, data lines are joined, comments and unknown fields are
// skipped, and an event that the stream's end cuts off is dropped.
type eventReader struct {
	r     *bufio.Reader
	begun bool // the byte order mark, if any, is behind
	cr    bool // the last line ended in CR, so an LF may still belong to it
}

func newEventReader(r io.Reader) *eventReader { return &eventReader{r: bufio.NewReaderSize(r, 16<<10)} }

// next returns the next event that has data, or io.EOF at the end.
func (e *eventReader) next() (event, error) {
	ev := event{kind: "message"}
	var data []string
	size := 0
	for {
		line, err := e.line(MaxEvent - size)
		if err != nil {
			return event{}, err
		}
		if size += len(line); line == "" {
			if data == nil {
				ev = event{kind: "message"}
				size = 0
				continue
			}
			ev.data = strings.Join(data, "\n")
			return ev, nil
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "data":
			data = append(data, value)
			size++
		case "event":
			ev.kind = value
		case "id":
			if !strings.Contains(value, "\x00") {
				ev.id = value
			}
		}
	}
}

// line reads one line without its ending, of at most limit bytes. A line that
// the end of the stream cuts off is io.EOF.
func (e *eventReader) line(limit int) (string, error) {
	var line []byte
	for {
		b, err := e.r.ReadByte()
		if err != nil {
			return "", err
		}
		switch {
		case b == '\n' && e.cr && line == nil:
			e.cr = false
			continue
		case b == '\n' || b == '\r':
			e.cr = b == '\r'
			if !e.begun {
				e.begun = true
				line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
			}
			return string(line), nil
		}
		e.cr = false
		if line = append(line, b); len(line) > limit {
			return "", errLongEvent
		}
	}
}

var errLongEvent = errors.New("an event is longer than 8 MiB")
