package local

import (
	"fmt"
	"io"
	"time"

	"github.com/posttrainarena/arena/protocol/joblog"
)

// stampForm is the time before each line of a log: always of the same length.
const (
	stampForm = "2006-01-02T15:04:05.000000000Z"
	stampSize = len(stampForm)
)

// maxLog is how much of a job's output is kept, in bytes: far beyond any honest
// log, far below what would fill a disk.
const maxLog = 8 << 30

// stamper writes what a job prints to its log, each line behind the time at
// which it came. It never fails: a job must not stop because a disk is full.
type stamper struct {
	log  io.Writer
	now  func() time.Time
	room int64 // bytes that may still be written

	split   joblog.Splitter
	last    time.Time // of the latest line; times never go back
	batch   []byte
	dropped int64 // lines without room: from the first one on, all
	failed  int   // batches that could not be written
}

// Write takes the next piece of output.
func (s *stamper) Write(chunk []byte) (int, error) {
	s.split.Write(chunk, s.line)
	s.flush()
	return len(chunk), nil
}

// close writes a last line that has no end, and what is missing from the log.
func (s *stamper) close() {
	s.split.Flush(s.line)
	s.flush()
	if n := s.dropped; n > 0 {
		s.dropped, s.room = 0, 1<<10
		s.line(fmt.Appendf(nil, "[%d more lines: the log was full]", n))
		s.flush()
	}
}

// line adds a line to the batch.
func (s *stamper) line(text []byte) {
	size := int64(stampSize + 1 + len(text) + 1)
	if s.dropped > 0 || size > s.room {
		s.dropped++
		return
	}
	if now := s.now().UTC(); now.After(s.last) {
		s.last = now
	}
	s.room -= size
	s.batch = s.last.AppendFormat(s.batch, stampForm)
	s.batch = append(s.batch, ' ')
	s.batch = append(append(s.batch, text...), '\n')
}

// flush writes the batch in one call, so that a reader rarely sees half a line.
func (s *stamper) flush() {
	if len(s.batch) == 0 {
		return
	}
	if _, err := s.log.Write(s.batch); err != nil {
		s.failed++
	}
	s.batch = s.batch[:0]
}

// parseStamped takes a line of a log apart.
func parseStamped(line []byte) (at time.Time, text string, ok bool) {
	if len(line) < stampSize+1 || line[stampSize] != ' ' {
		return time.Time{}, "", false
	}
	at, err := time.Parse(stampForm, string(line[:stampSize]))
	return at, string(line[stampSize+1:]), err == nil
}
