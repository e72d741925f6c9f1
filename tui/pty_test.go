package tui_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/tui"
	"github.com/posttrainarena/arena/tui/nav"
	"github.com/posttrainarena/arena/tui/screen"
	"github.com/posttrainarena/arena/tui/tuitest"
)

// terminalEnv is the environment of programs on a console.
func terminalEnv(home string, more ...string) []string {
	return append([]string{"TERM=xterm-256color", "LANG=C.UTF-8", "HOME=" + home, "PATH=" + os.Getenv("PATH")}, more...)
}

// freeAddress is an address on which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// The real binary on a terminal, against a real arena.
func TestBinaryOnATerminal(t *testing.T) {
	if os.Getenv("ARENA_PTY") == "" {
		t.Skip("plays the real binary on a pseudo-terminal for minutes, waiting for what it shows; ARENA_PTY=1 runs it")
	}
	if testing.Short() {
		t.Skip("builds the binary and makes a mocked arena")
	}
	arena := filepath.Join(t.TempDir(), "arena")
	if out, err := exec.Command("go", "build", "-o", arena, "../cmd/arena").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	data := filepath.Join(t.TempDir(), "data")
	if out, err := exec.Command(arena, "mock", "--data", data).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Run("asks the terminal nothing", func(t *testing.T) { asksNothing(t, arena) })
	t.Run("up: six keys to an accepted result", func(t *testing.T) { sixKeys(t, arena, data) })
	t.Run("a log that grows", func(t *testing.T) { growingLog(t, arena) })
	t.Run("against a server", func(t *testing.T) { againstServer(t, arena, data) })
}

// asksNothing runs a verb on a terminal that answers no question.
func asksNothing(t *testing.T, arena string) {
	c := openConsole(t, 80, 24)
	cmd := c.start(terminalEnv(t.TempDir()), arena, "version")
	c.await(`"name":"arena"`)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if strings.Contains(c.bytes(), "\x1b") {
		t.Errorf("the terminal was written %q", c.bytes())
	}
}

func sixKeys(t *testing.T, arena, data string) {
	c := openConsole(t, 100, 30)
	cmd := c.start(terminalEnv(t.TempDir()), arena, "up", "--data", data, "--listen", freeAddress(t), "--speed", "1")
	c.await("Needs you", "▌ ◆ review", "● live")
	keys := []string{"\r", "a", "\x13", "\t", "\r"}
	for i, wait := range []string{"coverage", "what does the evidence show", "Accept this result?", "▸ Accept ◂", "z takes it back"} {
		c.press(keys[i])
		c.await(wait)
	}
	c.await("is accepted.")
	c.press("5")
	c.await("Leaderboard skillsbench-9b", "95% over tasks", "Night-shift logs") // a row that the review made
	c.press("q")
	c.await("The arena on this machine stops with the dashboard.")
	c.press("\t", "\r")
	c.ends(cmd)
	c.restored()
}

func againstServer(t *testing.T, arena, data string) {
	address := freeAddress(t)
	server := exec.Command(arena, "serve", "--data", data, "--listen", address, "--speed", "1")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Signal(syscall.SIGTERM); _ = server.Wait() })
	token, err := os.ReadFile(filepath.Join(data, "organizer.token"))
	if err != nil {
		t.Fatal(err)
	}
	env := terminalEnv(t.TempDir(), "ARENA_URL=http://"+address, "ARENA_TOKEN="+strings.TrimSpace(string(token)))
	start := func(t *testing.T) (*console, *exec.Cmd) {
		c := openConsole(t, 100, 30)
		cmd := c.start(env, arena, "tui")
		c.await("Needs you", "● live", "organizer, editor")
		return c, cmd
	}
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			c, cmd := start(t)
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			c.restored()
		})
	}
	t.Run("resize storm", func(t *testing.T) {
		c, cmd := start(t)
		for _, size := range [][2]int{{1, 1}, {500, 200}, {60, 16}, {59, 16}, {200, 60}, {3, 90}, {100, 30}} {
			c.resize(size[0], size[1])
		}
		c.insist("2", "17 runs", "● live") // what shows may be of the size before, at which keys are not taken
		c.press("q")
		c.ends(cmd)
		c.restored()
	})
	t.Run("paste and suspend", func(t *testing.T) {
		c, cmd := start(t)
		c.press("6", "w")
		c.await("New message")
		c.press("\x1b[200~two\nlines :q\x1b[201~")
		c.await("two", "lines :q")
		c.press("\x1b")
		c.await("messages")
		c.press("\x1a")
		c.await("There is no shell here")
		c.press("\x03")
		c.ends(cmd)
		c.restored()
	})
	t.Run("every screen", func(t *testing.T) {
		c, cmd := start(t)
		walkScreens(c)
		c.press("\x03")
		c.ends(cmd)
		c.restored()
	})
	t.Run("attach gates", func(t *testing.T) {
		c, cmd := start(t)
		attachGates(t, c, arena, env)
		c.press("\x03")
		c.ends(cmd)
		c.restored()
	})
	t.Run("idle", func(t *testing.T) {
		c, _ := start(t)
		c.press("4") // nothing goes on among collections
		c.await("16 collections")
		before := c.quiet(2 * time.Second)
		time.Sleep(10 * time.Second)
		if after := len(c.bytes()); after != before {
			t.Errorf("%d bytes were written while nothing changed: %q", after-before, c.bytes()[before:])
		}
	})
}

// Whatever panics, the terminal is restored, the crash is written down, and Run
// says where.
func TestCrashRestoresTheTerminal(t *testing.T) {
	for name, arm := range map[string]func(*tuitest.Arena){
		"in a command": func(a *tuitest.Arena) { a.LogLine = func(int64) protocol.LogLine { panic("boom") } },
		"in a stream":  func(a *tuitest.Arena) { a.Explode = "boom" },
	} {
		t.Run(name, func(t *testing.T) {
			c := openConsole(t, 100, 30)
			a := tuitest.Sample(time.Now())
			arm(a)
			dir := t.TempDir()
			done := make(chan error, 1)
			go func() { done <- tui.Run(t.Context(), onConsole(c, a, dir)) }()
			c.openLog()
			err := <-done
			var crash screen.Crash
			if !errors.As(err, &crash) || crash.Value != "boom" {
				t.Errorf("Run returns %v", err)
			}
			file := filepath.Join(dir, "arena-tui-crash.txt")
			if raw, readErr := os.ReadFile(file); readErr != nil || !strings.Contains(string(raw), "boom") || !strings.Contains(err.Error(), file) {
				t.Errorf("%v: the crash file holds %q, %v", err, raw, readErr)
			}
			c.restored()
		})
	}
}

// brokenScreen is a health screen with a fault in it.
type brokenScreen struct {
	screen.Screen
	inView, inNeeds, inUpdate bool
}

func (s brokenScreen) View(w screen.World) string {
	if s.inView {
		panic("boom")
	}
	return s.Screen.View(w)
}

func (s brokenScreen) Needs(w screen.World) []screen.Key {
	if s.inNeeds {
		panic("boom")
	}
	return s.Screen.Needs(w)
}

func (s brokenScreen) Update(w screen.World, msg tea.Msg) tea.Cmd {
	if s.inUpdate {
		panic("boom")
	}
	return s.Screen.Update(w, msg)
}

// A screen that panics while it takes a message, while it is asked what it shows,
// or while it draws ends the dashboard: with the terminal restored, and in words
// that say what happened, where the details are and where to report them.
func TestCrashOfAScreenRestoresTheTerminal(t *testing.T) {
	for name, broken := range map[string]brokenScreen{
		"in Update": {inUpdate: true}, "in Needs": {inNeeds: true}, "in View": {inView: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := openConsole(t, 100, 30)
			dir := t.TempDir()
			done := make(chan error, 1)
			go func() {
				done <- tui.RunWith(t.Context(), onConsole(c, tuitest.Sample(time.Now()), dir), nav.Health, func(s screen.Screen) screen.Screen {
					broken.Screen = s
					return broken
				})
			}()
			c.await("Needs you")
			c.press("8")
			err := <-done
			var crash screen.Crash
			if !errors.As(err, &crash) || crash.Value != "boom" {
				t.Fatalf("Run returns %v", err)
			}
			file := filepath.Join(dir, "arena-tui-crash.txt")
			if !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "https://") {
				t.Errorf("Run says %q", err)
			}
			if raw, err := os.ReadFile(file); err != nil || !strings.Contains(string(raw), "brokenScreen") || !strings.Contains(string(raw), "health at 100x30") {
				t.Errorf("the crash file holds %q, %v", raw, err)
			}
			c.restored()
		})
	}
}

// openLog opens the log of the sample's active run, waiting for what each key
// needs to act on.
func (c *console) openLog() {
	c.t.Helper()
	c.await("Needs you")
	c.press("2")
	c.await("15 runs")
	c.press("j")
	c.await("▌ ▸ running")
	c.press("l")
}

// onConsole are options for a dashboard of this process on a console.
func onConsole(c *console, a *tuitest.Arena, dir string) tui.Options {
	o := tuitest.Options(a)
	o.In, o.Out, o.Now, o.Create = c.slave, c.slave, time.Now, tui.CreateIn(dir)
	return o
}

// The end of the context ends the dashboard in order.
func TestRunEndsWithItsContext(t *testing.T) {
	c := openConsole(t, 100, 30)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- tui.Run(ctx, onConsole(c, tuitest.Sample(time.Now()), t.TempDir())) }()
	c.await("Needs you")
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	c.restored()
}

// Frames are written in one piece, and shown at once by terminals that can.
func TestFramesAreAtomic(t *testing.T) {
	for _, on := range []bool{true, false} {
		c := openConsole(t, 100, 30)
		ctx, stop := context.WithCancel(t.Context())
		o := onConsole(c, tuitest.Sample(time.Now()), t.TempDir())
		if !on {
			setenv("ARENA_TUI_SYNC", "0")(&o)
		}
		done := make(chan error, 1)
		go func() { done <- tui.Run(ctx, o) }()
		c.await("▌ ◆ review   Δ +6.2", "Needs you 6")
		c.press("y")
		c.await("Copied run " + tuitest.RunPending)
		c.until("a clipboard sequence", func() bool { return strings.Contains(c.raw.String(), "\x1b]52;c;Y2hhbGxlbmdlLWIwMDAwMDAwMDAwMQ==") })
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		begin, end := strings.Count(c.bytes(), "\x1b[?2026h"), strings.Count(c.bytes(), "\x1b[?2026l")
		if begin != end || (begin > 0) != on {
			t.Errorf("switched %t: %d frames begin and %d end", on, begin, end)
		}
	}
}

// A log is saved whole, never over a file that is there.
func TestSaveLog(t *testing.T) {
	c := openConsole(t, 100, 30)
	a := tuitest.Sample(time.Now())
	a.LogLength, a.LogEnded = 12_345, true
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- tui.Run(ctx, onConsole(c, a, dir)) }()
	c.openLog()
	c.await("12,345")
	for n, name := range []string{tuitest.RunActive + ".log", tuitest.RunActive + "-2.log"} {
		c.press("s")
		c.await("Saved to " + filepath.Join(dir, name)[:40])
		c.until(fmt.Sprintf("file %d", n+1), func() bool {
			raw, err := os.ReadFile(filepath.Join(dir, name))
			return err == nil && strings.Count(string(raw), "\n") == 12_345
		})
	}
	stop()
	<-done
}
