package joblog

import (
	"bytes"
	"strconv"
)

// Splitter turns a job's output, as it comes in chunks of any size, into lines
// that are fit to store, fold and show: valid UTF-8 without control characters.
// Where a chunk ends makes no difference to the lines. The zero Splitter is ready
// to use.
//
// A carriage return overwrites a line on a terminal. It ends a line here too, so
// that a trainer's record that shares a physical line with a progress bar is
// found, but a progress bar that is overwritten is dropped: only its last state
// stays. Empty lines are dropped.
type Splitter struct {
	raw     []byte // the unfinished line, at most MaxLine of it
	cut     int    // bytes of the unfinished line beyond MaxLine
	cr      bool   // the unfinished line is followed by a carriage return
	scratch []byte
}

// Write takes the next chunk and calls emit for each line that it completes. The
// bytes are valid during the call only.
func (s *Splitter) Write(chunk []byte, emit func(line []byte)) {
	for len(chunk) > 0 {
		if s.cr { // CR LF is one line end; CR alone overwrites
			s.cr = false
			s.end(chunk[0] != '\n', emit)
			if chunk[0] == '\n' {
				chunk = chunk[1:]
				continue
			}
		}
		i := bytes.IndexAny(chunk, "\n\r")
		if i < 0 {
			s.hold(chunk)
			return
		}
		s.hold(chunk[:i])
		if s.cr = chunk[i] == '\r'; !s.cr {
			s.end(false, emit)
		}
		chunk = chunk[i+1:]
	}
}

// Flush emits a last line that has no end, as a killed job leaves one.
func (s *Splitter) Flush(emit func(line []byte)) {
	s.cr = false
	s.end(false, emit)
}

// hold adds a piece to the unfinished line.
func (s *Splitter) hold(piece []byte) {
	n := min(len(piece), MaxLine-len(s.raw))
	s.raw = append(s.raw, piece[:n]...)
	s.cut += len(piece) - n
}

// end finishes the held line. overwritten says that a carriage return did it.
func (s *Splitter) end(overwritten bool, emit func(line []byte)) {
	s.scratch = Clean(s.scratch[:0], s.raw)
	if s.cut > 0 {
		s.scratch = append(s.scratch, " … ["...)
		s.scratch = strconv.AppendInt(s.scratch, int64(s.cut), 10)
		s.scratch = append(s.scratch, " more bytes]"...)
	}
	s.raw, s.cut = s.raw[:0], 0
	line := bytes.TrimRight(s.scratch, " \t")
	if len(line) > 0 && !(overwritten && progressBar(line)) {
		emit(line)
	}
}

// progressBar reports whether a line is nothing but a progress bar in the form
// "  50%|█████     | 1/2 [00:01<00:01]". Text or a record after the bar's closing
// bracket makes it more than that.
func progressBar(line []byte) bool {
	return bytes.Contains(line, []byte("%|")) && line[len(line)-1] == ']'
}
