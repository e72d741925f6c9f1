package logview

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/posttrainarena/arena/tui/widget/celltext"
)

// entry is a line as it is held: clean, and cut to what can be seen.
type entry struct {
	at   time.Time
	text string
	size int // bytes of the line as it came; more than the text when it was cut
	kind Kind
	cut  bool
}

// entryBytes is about what an entry takes besides its text.
const entryBytes = 64

// read makes an entry of a line. Of a line of any length only the part that can be
// seen is looked at, and copied, so that the rest can be freed.
func (m *Model) read(l Line) entry {
	text, cut := clip(l.Text, m.maxVisible)
	if cut {
		text = strings.Clone(text)
	}
	clean, again := clip(celltext.Clean(text), m.maxVisible) // tabs and symbols make text longer
	return entry{at: l.At, text: clean, size: len(l.Text), kind: min(m.classify(clean), kinds-1), cut: cut || again}
}

// clip cuts text to at most limit bytes, between characters.
func clip(s string, limit int) (string, bool) {
	if len(s) <= limit {
		return s, false
	}
	n := limit
	for n > limit-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n], true
}

// window is a run of consecutive lines of the log.
type window struct {
	first int64 // number of the first line
	lines []entry
	bytes int
}

func (w *window) empty() bool { return len(w.lines) == 0 }

// last is the number of the last line; first-1 when the window is empty.
func (w *window) last() int64 { return w.first + int64(len(w.lines)) - 1 }

func (w *window) has(n int64) bool { return n >= w.first && n <= w.last() }

// at returns line n, which must be in the window.
func (w *window) at(n int64) *entry { return &w.lines[n-w.first] }

// joins reports whether lines from first to last lie in or beside the window, so
// that together they are without a gap.
func (w *window) joins(first, last int64) bool {
	return !w.empty() && first <= w.last()+1 && last >= w.first-1
}

// set replaces the window.
func (w *window) set(first int64, lines []entry) {
	*w = window{first: first, lines: lines, bytes: weigh(lines)}
}

// append adds lines behind the last.
func (w *window) append(lines []entry) {
	w.lines = append(w.lines, lines...)
	w.bytes += weigh(lines)
}

// prepend adds lines before the first.
func (w *window) prepend(lines []entry) {
	w.lines = append(lines[:len(lines):len(lines)], w.lines...)
	w.first -= int64(len(lines))
	w.bytes += weigh(lines)
}

// trim drops lines at the end that is farther from line near, until the window is
// within its bounds. The lines that are at most keep away from near stay.
func (w *window) trim(near, keep int64, maxLines, maxBytes int) {
	front, back, bytes := 0, len(w.lines), w.bytes
	for back-front > maxLines || bytes > maxBytes {
		above, below := near-(w.first+int64(front)), w.first+int64(back)-1-near
		if max(above, below) <= keep {
			break
		}
		if above >= below {
			bytes -= weigh(w.lines[front : front+1])
			front++
		} else {
			back--
			bytes -= weigh(w.lines[back : back+1])
		}
	}
	// What is cut off must not keep its text alive.
	clear(w.lines[:front])
	clear(w.lines[back:])
	w.lines = w.lines[front:back]
	w.first += int64(front)
	w.bytes = bytes
}

// weigh is what lines count against the bound on bytes.
func weigh(lines []entry) (n int) {
	for i := range lines {
		n += len(lines[i].text) + entryBytes
	}
	return n
}
