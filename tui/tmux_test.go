package tui_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tmux is a session of a tmux server of its own.
type tmux struct {
	t      *testing.T
	socket string
}

func (m tmux) run(args ...string) string {
	m.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-S", m.socket, "-f", "/dev/null"}, args...)...)
	cmd.Env = terminalEnv(filepath.Dir(m.socket))
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.t.Fatalf("tmux %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// capture is what the pane shows.
func (m tmux) capture() string {
	m.t.Helper()
	return m.run("capture-pane", "-p", "-t", "arena")
}

// await waits until the pane shows every text, and returns what it shows then. tmux
// tells nobody when a pane changes, so it is asked.
func (m tmux) await(texts ...string) string {
	m.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		shown := m.capture()
		if shows(shown, texts) {
			return shown
		}
		if time.Now().After(end) {
			m.t.Fatalf("the pane never shows %q, but\n%s", texts, shown)
		}
	}
}

// TestTmuxSixKeys plays arena up --mock in tmux, from the start to an accepted
// review in at most six keys, and checks what tmux captured of the leaderboard for
// the row that the review made. The capture is logged.
func TestTmuxSixKeys(t *testing.T) {
	if os.Getenv("ARENA_PTY") == "" {
		t.Skip("builds the binary and plays it in tmux; ARENA_PTY=1 runs it")
	}
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	dir, err := os.MkdirTemp("", "tmux") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	arena := filepath.Join(dir, "arena")
	if out, err := exec.Command("go", "build", "-o", arena, "../cmd/arena").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	m := tmux{t, filepath.Join(dir, "tmux.sock")}
	m.run("new-session", "-d", "-s", "arena", "-x", "120", "-y", "40", fmt.Sprintf("%s up --mock --listen %s --speed 1; sleep 1000", arena, freeAddress(t)))
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", m.socket, "kill-server").Run() })
	m.await("Needs you", "◆ review", "● live")
	keys := []struct{ key, shows string }{
		{"Enter", "coverage"}, {"a", "what does the evidence show"}, {"C-s", "Accept this result?"}, {"Tab", "▸ Accept ◂"}, {"Enter", "z takes it back"},
	}
	if len(keys) > 6 {
		t.Fatalf("%d keys", len(keys))
	}
	for _, k := range keys {
		m.run("send-keys", "-t", "arena", k.key)
		m.await(k.shows)
	}
	m.await("is accepted.")
	m.run("send-keys", "-t", "arena", "5")
	board := m.await("Leaderboard skillsbench-9b", "Night-shift logs")
	for _, row := range strings.Split(board, "\n") {
		if strings.Contains(row, "Night-shift logs") && !strings.Contains(row, "+") {
			t.Errorf("the row has no measured change: %q", row)
		}
	}
	t.Logf("captured:\n%s", board)
	m.run("send-keys", "-t", "arena", "q")
	m.await("The arena on this machine stops with the dashboard.")
	m.run("send-keys", "-t", "arena", "Tab", "Enter")
	modes := ""
	for end := time.Now().Add(patience); time.Now().Before(end) && modes != "0 1 0"; time.Sleep(50 * time.Millisecond) {
		modes = strings.TrimSpace(m.run("display-message", "-p", "-t", "arena", "#{alternate_on} #{cursor_flag} #{mouse_any_flag}"))
	}
	if modes != "0 1 0" {
		t.Errorf("alternate screen, cursor and mouse are left %s, want 0 1 0", modes)
	}
}
