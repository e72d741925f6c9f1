package store

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// logChunk is a piece of a log: consecutive lines, each as its time, the length
// of its text and the text. Lengths instead of separators keep any byte that a
// job may print.
type logChunk struct {
	firstLine int64
	firstByte int64 // where it starts in the log as text, lines ended by LF
	lines     int64
	bytes     int64 // of text, LFs included
	raw       []byte
}

// add appends a line.
func (c *logChunk) add(line protocol.LogLine) {
	c.raw = binary.AppendVarint(c.raw, micros(line.At))
	c.raw = binary.AppendUvarint(c.raw, uint64(len(line.Text)))
	c.raw = append(c.raw, line.Text...)
	c.lines++
	c.bytes += int64(len(line.Text)) + 1
}

// next is the empty chunk that follows.
func (c *logChunk) next() logChunk {
	return logChunk{firstLine: c.firstLine + c.lines, firstByte: c.firstByte + c.bytes}
}

// appendTo appends the chunk's lines that are numbered after+1 and on to a
// list, up to limit lines in all.
func (c *logChunk) appendTo(list []protocol.LogLine, after int64, limit int) ([]protocol.LogLine, error) {
	rest := c.raw
	for n := c.firstLine; n < c.firstLine+c.lines && len(list) < limit; n++ {
		at, i := binary.Varint(rest)
		if i <= 0 {
			return nil, fmt.Errorf("line %d cannot be decoded", n)
		}
		size, j := binary.Uvarint(rest[i:])
		if j <= 0 || size > uint64(len(rest)-i-j) {
			return nil, fmt.Errorf("line %d cannot be decoded", n)
		}
		text := rest[i+j : i+j+int(size)]
		rest = rest[i+j+int(size):]
		if n > after {
			list = append(list, protocol.LogLine{N: n, At: time.UnixMicro(at).UTC(), Text: string(text)})
		}
	}
	return list, nil
}
