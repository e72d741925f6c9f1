package tui_test

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/posttrainarena/arena/protocol/client"
	"github.com/posttrainarena/arena/tui"
)

// How a soak is judged. At rest means on the overview, after a collection of
// garbage, with nothing open.
const (
	soakRound      = 20 * time.Second
	mostGoroutines = 8       // more than at the first rest: connections that idle
	mostGrowth     = 8 << 20 // of the heap, from its first quarter's most to its last's
)

// TestSoak drives the dashboard through every screen, with keys, text and resizes
// in an order that a seed decides, against a mocked arena in which a run goes on.
// It asserts that at rest neither goroutines nor memory grow. ARENA_SOAK says for
// how long; ARENA_SOAK_SEED repeats an order.
func TestSoak(t *testing.T) {
	wanted := os.Getenv("ARENA_SOAK")
	if wanted == "" {
		t.Skip("drives the dashboard for as long as ARENA_SOAK says, such as 30m")
	}
	length, err := time.ParseDuration(wanted)
	if err != nil {
		t.Fatalf("ARENA_SOAK: %v", err)
	}
	seed, err := strconv.ParseUint(os.Getenv("ARENA_SOAK_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("ARENA_SOAK_SEED=%d", seed)
	url, token := soakArena(t)
	c, err := client.New(client.Options{BaseURL: url, Token: token, SignReads: true})
	if err != nil {
		t.Fatal(err)
	}
	s := soak{t: t, random: rand.New(rand.NewPCG(seed, 0)), ended: make(chan error, 1)}
	s.open(tui.Options{
		Client: c, BaseURL: c.BaseURL(), Now: time.Now, Create: tui.CreateIn(t.TempDir()), Memory: tui.MemoryIn(filepath.Join(t.TempDir(), "dashboard.json")),
		Getenv: func(name string) string { return map[string]string{"TERM": "xterm-256color", "LANG": "C.UTF-8"}[name] },
	})
	var heaps []uint64
	least := 0
	for end := time.Now().Add(length); time.Now().Before(end); {
		s.drive(min(soakRound, time.Until(end)))
		s.rest()
		heap, goroutines := atRest()
		heaps = append(heaps, heap)
		if least == 0 {
			least = goroutines
		}
		t.Logf("after %d keys and %d MB drawn: heap %.1f MB, %d goroutines, resident %d MB", s.keys, s.drawn.Load()>>20, float64(heap)/(1<<20), goroutines, resident(t)>>20)
		if goroutines > least+mostGoroutines {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines at rest, %d at the first; they are:\n%s", goroutines, least, stacks[:runtime.Stack(stacks, true)])
		}
		if r := resident(t); r > mostMemory {
			t.Fatalf("the process takes %d MB", r>>20)
		}
	}
	quarter := max(len(heaps)/4, 1)
	if first, last := slices.Max(heaps[:quarter]), slices.Max(heaps[len(heaps)-quarter:]); last > first+mostGrowth {
		t.Errorf("the heap grows from %d KB to %d KB", first>>10, last>>10)
	}
	s.press("\x03")
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
}

// soakArena serves a mocked arena, and returns where and the organizer's token.
func soakArena(t *testing.T) (string, client.Token) {
	t.Helper()
	arena, data := filepath.Join(t.TempDir(), "arena"), filepath.Join(t.TempDir(), "data")
	for _, cmd := range []*exec.Cmd{exec.Command("go", "build", "-o", arena, "../cmd/arena"), exec.Command(arena, "mock", "--data", data)} {
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	address := freeAddress(t)
	server := exec.Command(arena, "serve", "--data", data, "--listen", address, "--speed", "60")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Signal(syscall.SIGTERM); _ = server.Wait() })
	raw, err := os.ReadFile(filepath.Join(data, "organizer.token"))
	if err != nil {
		t.Fatal(err)
	}
	token, err := client.NewToken(strings.TrimSpace(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	return "http://" + address, token
}

// soak is a dashboard of this process on a pseudo-terminal whose other end only
// counts what is drawn.
type soak struct {
	t      *testing.T
	master *os.File
	random *rand.Rand
	drawn  atomic.Int64
	keys   int
	ended  chan error
}

func (s *soak) open(o tui.Options) {
	s.t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		s.t.Skipf("no pseudo-terminal here: %v", err)
	}
	s.master = master
	s.resize(120, 40)
	go func() {
		buf := make([]byte, 64<<10)
		for {
			n, err := master.Read(buf)
			s.drawn.Add(int64(n))
			if err != nil {
				return
			}
		}
	}()
	o.In, o.Out = slave, slave
	ctx, stop := context.WithCancel(s.t.Context())
	s.t.Cleanup(func() { stop(); _ = slave.Close(); _ = master.Close() })
	go func() { s.ended <- tui.Run(ctx, o) }()
}

// resize changes the size, and says so to this process as the kernel says it to
// the one that a terminal belongs to.
func (s *soak) resize(width, height int) {
	if err := pty.Setsize(s.master, &pty.Winsize{Rows: uint16(height), Cols: uint16(width)}); err != nil {
		s.t.Fatal(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
		s.t.Fatal(err)
	}
}

// press types, and fails the test when nobody is there any more.
func (s *soak) press(keys ...string) {
	s.t.Helper()
	for _, k := range keys {
		select {
		case err := <-s.ended:
			s.t.Fatalf("the dashboard ended: %v", err)
		default:
		}
		if _, err := s.master.WriteString(k); err != nil {
			s.t.Fatal(err)
		}
		s.keys++
		time.Sleep(5 * time.Millisecond) // an escape that a letter follows would be another key
	}
}

// trips are what an organizer does, each from a tab on and back to it. None of
// them changes the arena.
func trips() [][]string {
	return [][]string{
		{"1", "j", "k", "\t", "j", "\r", "\x1b"},
		{"2", "j", "\r", "j", "\x1b", "G", "g"},
		{"2", "g", "l", "\x1b[5~", "e", "w", "t", "f", "\x1b"},
		{"2", "/", "f", "a", "i", "l", "\r", "j", "\x1b"},
		{"2", "/", "!", "s", "c", "o", "r", "e", "d", "\x7f", "\x1b"},
		{"2", "g", "j", "t", "j", "\r", "\t", "\x1b", "\x1b"},
		{"3", "g", "\r", "\t", "j", "j", "f", "f", "\t", "\x1b"},
		{"4", "j", "\r", "\t", "\t", "\t", "\x1b"},
		{"5", ".", "j", "."},
		{"6", "j", "\r", "j", "\x1b"},
		{"7", "G", "g", "/", "a", "\x1b"},
		{"8", "j", "j", "r"},
		{"?", "j", "\x1b", ":", "r", "u", "n", "\x1b"},
		{"1", ">", "<", "Z", "Z", "=", "m", "m"},
		{"2", "y", "Y", "C"},
	}
}

// drive makes trips for a while.
func (s *soak) drive(d time.Duration) {
	s.t.Helper()
	all := trips()
	for end := time.Now().Add(d); time.Now().Before(end); {
		s.press(all[s.random.IntN(len(all))]...)
		time.Sleep(time.Duration(s.random.IntN(100)) * time.Millisecond)
		if s.random.IntN(8) == 0 {
			s.resize(1+s.random.IntN(500), 1+s.random.IntN(200))
			s.press("j")
			s.resize(80+s.random.IntN(120), 24+s.random.IntN(36))
		}
	}
}

// rest goes back to the overview and waits until what is under way has ended.
func (s *soak) rest() {
	s.t.Helper()
	s.resize(120, 40)
	for range 4 {
		s.press("\x1b")
		time.Sleep(50 * time.Millisecond) // alone, it is the escape key
	}
	s.press("1")
	time.Sleep(2 * time.Second)
}

// atRest is the live heap and the number of goroutines.
func atRest() (uint64, int) {
	runtime.GC()
	runtime.GC() // what finalizers held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, runtime.NumGoroutine()
}
