package tui_test

import (
	"bytes"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
)

// console is a terminal of which a test holds the other end: it types, and it
// knows what shows and which modes are on.
type console struct {
	t      *testing.T
	master *os.File
	slave  *os.File
	before *term.State // of the line discipline

	mu    sync.Mutex
	vt    vt10x.Terminal
	raw   bytes.Buffer
	moved chan struct{} // closed and replaced with every write
}

func openConsole(t *testing.T, width, height int) *console {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	c := &console{t: t, master: master, slave: slave, vt: vt10x.New(vt10x.WithSize(width, height)), moved: make(chan struct{})}
	if c.before, err = term.GetState(slave.Fd()); err != nil {
		t.Fatal(err)
	}
	c.resize(width, height)
	go c.read()
	t.Cleanup(func() { _ = slave.Close(); _ = master.Close() })
	return c
}

// read takes what is written to the terminal.
func (c *console) read() {
	buf := make([]byte, 64<<10)
	for {
		n, err := c.master.Read(buf)
		c.mu.Lock()
		c.raw.Write(buf[:n])
		_, _ = c.vt.Write(buf[:n])
		close(c.moved)
		c.moved = make(chan struct{})
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (c *console) resize(width, height int) {
	c.mu.Lock()
	c.vt.Resize(width, height)
	c.mu.Unlock()
	if err := pty.Setsize(c.master, &pty.Winsize{Rows: uint16(height), Cols: uint16(width)}); err != nil {
		c.t.Fatal(err)
	}
}

// start runs a program on the terminal, as the leader of a session of its own.
func (c *console) start(env []string, name string, args ...string) *exec.Cmd {
	c.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.Dir = env, c.t.TempDir()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.slave, c.slave, c.slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// press sends keys as a terminal does.
func (c *console) press(keys ...string) {
	c.t.Helper()
	for _, k := range keys {
		if _, err := c.master.WriteString(k); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *console) screen() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.vt.String()
}

func (c *console) bytes() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.raw.String()
}

// patience is how long a test waits for something that must come. It is long: only
// a failure uses it up.
const patience = 60 * time.Second

// await waits until the screen shows every text.
func (c *console) await(texts ...string) {
	c.t.Helper()
	c.until(strings.Join(texts, ", "), func() bool { return shows(c.vt.String(), texts) })
}

// insist presses a key until the screen shows every text. It is for keys that do
// the same again: what a program draws before it has read a new size takes no keys.
func (c *console) insist(key string, texts ...string) {
	c.t.Helper()
	for end := time.Now().Add(patience); ; {
		c.press(key)
		if c.within(5*time.Second, texts...) {
			return
		}
		if time.Now().After(end) {
			c.t.Fatalf("however often %q is pressed, the terminal never shows %q, but\n%s", key, texts, c.screen())
		}
	}
}

// within reports whether the screen shows every text in a while.
func (c *console) within(d time.Duration, texts ...string) bool {
	return c.wait(d, func() bool { return shows(c.vt.String(), texts) })
}

func shows(screen string, texts []string) bool {
	for _, text := range texts {
		if !strings.Contains(screen, text) {
			return false
		}
	}
	return true
}

// ends waits until a program has ended, and fails the test when it did so with an
// error or not at all.
func (c *console) ends(cmd *exec.Cmd) {
	c.t.Helper()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			c.t.Errorf("%v\n%s", err, c.screen())
		}
	case <-time.After(patience):
		c.t.Fatalf("the program does not end, but shows\n%s", c.screen())
	}
}

// until waits until something holds of what was written.
func (c *console) until(what string, holds func() bool) {
	c.t.Helper()
	if !c.wait(patience, holds) {
		c.t.Fatalf("the terminal never shows %s, but\n%s", what, c.screen())
	}
}

// wait waits for a while until something holds of what was written.
func (c *console) wait(d time.Duration, holds func() bool) bool {
	deadline := time.NewTimer(d)
	defer deadline.Stop()
	for {
		c.mu.Lock()
		ok, moved := holds(), c.moved
		c.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-moved:
		case <-deadline.C:
			return false
		}
	}
}

// mode is a switch of a private mode, such as the one of the alternate screen.
var mode = regexp.MustCompile(`\x1b\[\?([0-9;]+)([hl])`)

// restored fails the test unless the terminal is as it was found: every mode that
// was switched on is off, the cursor shows, and keys are read as before.
func (c *console) restored() {
	c.t.Helper()
	var left []string
	if !c.wait(patience, func() bool { left = leftOn(c.raw.String()); return len(left) == 0 }) {
		c.t.Errorf("modes are left otherwise than they were found: %s", strings.Join(left, ", "))
	}
	after, err := term.GetState(c.slave.Fd())
	if err != nil {
		c.t.Fatal(err)
	}
	if !reflect.DeepEqual(c.before, after) {
		c.t.Error("the terminal reads keys in another way than before")
	}
}

// leftOn are the private modes that a program leaves otherwise than it found them:
// all of them were off, but for the cursor's.
func leftOn(written string) (modes []string) {
	on := map[string]bool{"25": true}
	for _, m := range mode.FindAllStringSubmatch(written, -1) {
		for _, n := range strings.Split(m[1], ";") {
			on[n] = m[2] == "h"
		}
	}
	for n, is := range on {
		if is != (n == "25") {
			modes = append(modes, n)
		}
	}
	return modes
}

// quiet waits until nothing was written for a while, and returns how much was
// written in all.
func (c *console) quiet(d time.Duration) int {
	for {
		c.mu.Lock()
		n, moved := c.raw.Len(), c.moved
		c.mu.Unlock()
		still := time.NewTimer(d)
		select {
		case <-moved:
			still.Stop()
		case <-still.C:
			return n
		}
	}
}
