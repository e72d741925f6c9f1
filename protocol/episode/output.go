package episode

import (
	"fmt"
	"strings"
	"sync"
)

// maxOutput bounds what is kept of a command's output. A client may refuse
// messages over 1 MiB, and JSON writes a control byte as six.
const maxOutput = 128 << 10

// clip keeps the beginning and the end of what is written to it.
type clip struct {
	mu         sync.Mutex
	head, tail []byte
	lost       int64
}

func (c *clip) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	const half = maxOutput / 2
	n := min(len(p), half-len(c.head))
	c.head = append(c.head, p[:n]...)
	c.tail = append(c.tail, p[n:]...)
	if len(c.tail) > 2*half { // cutting late copies each byte at most twice
		c.cut(half)
	}
	return len(p), nil
}

func (c *clip) cut(size int) {
	if over := len(c.tail) - size; over > 0 {
		c.lost += int64(over)
		c.tail = append(c.tail[:0], c.tail[over:]...)
	}
}

// String is valid UTF-8; a note stands where bytes are missing.
func (c *clip) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut(maxOutput / 2)
	s := string(c.head)
	if c.lost > 0 {
		s += fmt.Sprintf("\n[… %d bytes are left out here …]\n", c.lost)
	}
	return strings.ToValidUTF8(s+string(c.tail), "\uFFFD")
}
