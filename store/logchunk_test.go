package store

import (
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// What a chunk's bytes say comes from a file on disk: reading a damaged one is
// an error, never a panic or a line that is longer than the chunk.
func FuzzLogChunk(f *testing.F) {
	c := logChunk{firstLine: 1}
	c.add(protocol.LogLine{At: time.UnixMicro(5), Text: "vllm up"})
	c.add(protocol.LogLine{Text: ""})
	f.Add(c.raw, int64(2))
	f.Add(c.raw[:4], int64(2))
	f.Add([]byte{0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, int64(1))
	f.Fuzz(func(t *testing.T, raw []byte, lines int64) {
		c := logChunk{firstLine: 1, lines: lines, raw: raw}
		got, err := c.appendTo(nil, 0, 100)
		total := 0
		for _, l := range got {
			total += len(l.Text)
		}
		if total > len(raw) || err == nil && int64(len(got)) != min(max(lines, 0), 100) {
			t.Errorf("%d bytes in %d lines, %v; from %d bytes that claim %d lines", total, len(got), err, len(raw), lines)
		}
	})
}

func TestAChunkKnowsWhereItIsInTheLogAsText(t *testing.T) {
	c := logChunk{firstLine: 10, firstByte: 100}
	c.add(protocol.LogLine{Text: "four"})
	c.add(protocol.LogLine{Text: ""})
	if next := c.next(); next.firstLine != 12 || next.firstByte != 106 || next.lines != 0 {
		t.Errorf("the next chunk starts at line %d, byte %d", next.firstLine, next.firstByte)
	}
}
