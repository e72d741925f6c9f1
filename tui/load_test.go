package tui_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/tui"
	"github.com/posttrainarena/arena/tui/tuitest"
)

// What the dashboard may take of the machine while a log of ten million lines is
// open and grows by 5,000 lines a second.
const (
	loadLines   = 10_000_000
	loadRate    = 5_000
	loadSeconds = 10
	mostBehind  = 500 * time.Millisecond
	mostMemory  = 150 << 20
)

// TestLogUnderLoad prints lines into the log that is open on a pseudo-terminal, and
// measures how far behind the screen is and how much memory the process takes. It
// measures the machine too, so it is asked for: ARENA_LOAD=1.
func TestLogUnderLoad(t *testing.T) {
	if os.Getenv("ARENA_LOAD") == "" {
		t.Skip("measures for ten seconds; ARENA_LOAD=1 runs it")
	}
	c := openConsole(t, 200, 60)
	a := tuitest.Sample(time.Now())
	a.LogLength = loadLines
	a.LogLine = func(n int64) protocol.LogLine {
		return protocol.LogLine{N: n, At: time.Unix(n/loadRate, 0), Text: fmt.Sprintf("{'loss': 0.0123, 'reward': 0.375} line %d of many, with a text as long as a log's usually is", n)}
	}
	for i := range a.Runs {
		a.Runs[i].LogLines = loadLines
	}
	done := make(chan error, 1)
	go func() { done <- tui.Run(t.Context(), onConsole(c, a, t.TempDir())) }()
	c.openLog()
	c.await("following", "of 10,000,000")

	stop := make(chan struct{})
	printed := make(chan int64, 1)
	go func() { // a burst every 10 ms, as a stream brings them
		n := int64(loadLines)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				printed <- n
				return
			case <-tick.C:
				a.Pour(loadRate / 100)
				n += loadRate / 100
			}
		}
	}()
	worst := time.Duration(0)
	for end := time.Now().Add(loadSeconds * time.Second); time.Now().Before(end); {
		length, began := a.Length(), time.Now()
		c.until(fmt.Sprintf("line %d", length), func() bool { return shownTotal(c) >= length })
		worst = max(worst, time.Since(began))
	}
	close(stop)
	n := <-printed
	began := time.Now()
	c.until("the last line", func() bool { return shownTotal(c) >= n })
	t.Logf("%d lines at %d lines/s; at most %v behind, the end %v after the last", n-loadLines, loadRate, worst.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	if worst > mostBehind {
		t.Errorf("the screen is %v behind, more than %v", worst, mostBehind)
	}
	if rss := resident(t); rss > 0 {
		t.Logf("resident at most: %d MB", rss>>20)
		if rss > mostMemory {
			t.Errorf("the process takes %d MB, more than %d MB", rss>>20, mostMemory>>20)
		}
	}
	c.press("q", "q")
	if err := <-done; err != nil {
		t.Error(err)
	}
	c.restored()
}

// shownTotal is how many lines the screen says that the log has. The console is
// locked by the caller.
func shownTotal(c *console) int64 {
	m := ofTotal.FindStringSubmatch(c.vt.String())
	if m == nil {
		return 0
	}
	n, _ := strconv.ParseInt(strings.ReplaceAll(m[1], ",", ""), 10, 64)
	return n
}

// resident is the most memory that the process ever took, its own part of the test
// included; 0 where the system does not say.
func resident(t *testing.T) int64 {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
			kb, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	return 0
}

// TestIdleWritesNothing leaves the dashboard alone for ten seconds on a screen on
// which nothing happens.
func TestIdleWritesNothing(t *testing.T) {
	if os.Getenv("ARENA_LOAD") == "" {
		t.Skip("waits for ten seconds; ARENA_LOAD=1 runs it")
	}
	c := openConsole(t, 200, 60)
	done := make(chan error, 1)
	go func() { done <- tui.Run(t.Context(), onConsole(c, tuitest.Sample(time.Now()), t.TempDir())) }()
	c.await("Needs you")
	c.press("4")
	c.await("6 collections")
	before := c.quiet(2 * time.Second)
	time.Sleep(10 * time.Second)
	if after := len(c.bytes()); after != before {
		t.Errorf("%d bytes were written while nothing changed: %q", after-before, c.bytes()[before:])
	}
	c.press("q")
	if err := <-done; err != nil {
		t.Error(err)
	}
}
