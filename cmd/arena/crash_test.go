package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/client"
	"github.com/posttrainarena/arena/protocol/jobs/simulated"
	"github.com/posttrainarena/arena/store"
)

// The crash test kills the real server with SIGKILL while clients work with it:
// before and after a job is started, and at seeded moments of submits, launches,
// log appends and collects. After each kill the server is started again and must
// have everything that it ever acknowledged, exactly one job for each request,
// and a ledger within the cap.
//
// It runs in lives: a life is one data directory whose server is killed several
// times. What a life does follows from the seed and its number, as far as the
// machine's timing lets it; the failure of a life says how to run it again.
//
// ARENA_CRASH_KILLS asks for more deaths than the fifty of every test run, and
// ARENA_CRASH_SEED for others.
const (
	crashLives = 10
	crashKills = 5 // in each life
	crashSpeed = 200_000
)

// crashCap lets a few dozen runs happen in a life and then binds.
const crashCap = 1200 * protocol.Dollar

func TestCrash(t *testing.T) {
	if testing.Short() {
		t.Skip("kills a server fifty times, which takes a minute")
	}
	seed := uint64(1)
	if text := os.Getenv("ARENA_CRASH_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("ARENA_CRASH_SEED: %v", err)
		}
	}
	binary := filepath.Join(t.TempDir(), "arena")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("build the arena: %v\n%s", err, out)
	}
	lives := crashLives
	if text := os.Getenv("ARENA_CRASH_KILLS"); text != "" {
		kills, err := strconv.Atoi(text)
		if err != nil || kills < crashKills {
			t.Fatalf("ARENA_CRASH_KILLS=%s is no number of deaths of at least %d", text, crashKills)
		}
		lives = kills / crashKills
	}
	for n := range lives {
		t.Run(fmt.Sprintf("life-%d", n), func(t *testing.T) {
			t.Parallel()
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("run this life again with: ARENA_CRASH_SEED=%d go test ./cmd/arena -run '%s$'", seed, t.Name())
				}
			})
			l := newLife(t, binary, rand.New(rand.NewPCG(seed, uint64(n))))
			for range crashKills {
				l.dieOnce()
			}
			l.settle()
		})
	}
}

// life is one data directory and what its servers have acknowledged.
type life struct {
	t       *testing.T
	random  *rand.Rand
	binary  string
	dir     string
	author  string // tokens
	editor  string
	deaths  []death
	history *history
}

func newLife(t *testing.T, binary string, random *rand.Rand) *life {
	t.Helper()
	l := &life{t: t, random: random, binary: binary, dir: t.TempDir(), history: newHistory()}
	config := fmt.Sprintf("[budget]\ncap = %q\n\n[limits]\nmessages_per_hour = 100000\n", crashCap)
	l.must(os.Mkdir(filepath.Join(l.dir, "configs"), 0o700))
	l.must(os.WriteFile(filepath.Join(l.dir, "configs", "arena.toml"), []byte(config), 0o600))
	st := l.beside()
	defer st.Close()
	for name, token := range map[string]*string{"ada": &l.author, "olga": &l.editor} {
		var err error
		*token, err = issueToken(t.Context(), st, time.Now(), name, name == "olga")
		l.must(err)
	}
	return l
}

func (l *life) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

func (l *life) data() string { return filepath.Join(l.dir, "data") }

// beside opens the store of the data directory, beside its server if one runs.
func (l *life) beside() *store.Store {
	l.t.Helper()
	st, err := store.OpenBeside(l.t.Context(), store.Options{Dir: l.data(), Now: time.Now})
	l.must(err)
	return st
}

// death is one way to kill the server.
type death struct {
	fault string        // plan of the provider, which kills the process; or
	at    occasion      // the occasion after which
	after time.Duration // so long later it is killed
}

func (d death) String() string {
	if d.fault != "" {
		return d.fault
	}
	return fmt.Sprintf("%s+%s", d.at, d.after)
}

// draw chooses the next death.
func (l *life) draw() death {
	next := l.starts() + 1 + l.random.IntN(2)
	switch l.random.IntN(4) {
	case 0:
		return death{fault: fmt.Sprintf("%s@%d", simulated.FaultKillBefore, next)}
	case 1:
		return death{fault: fmt.Sprintf("%s@%d", simulated.FaultKillAfter, next)}
	default:
		at := occasions()[l.random.IntN(len(occasions()))]
		return death{at: at, after: time.Duration(l.random.IntN(20_000)) * time.Microsecond}
	}
}

// dieOnce starts a server, works with it until it is dead, and checks what the
// next one finds.
func (l *life) dieOnce() {
	d := l.draw()
	l.deaths = append(l.deaths, d)
	p := l.start(d.fault)
	ctx, stop := context.WithCancel(l.t.Context())
	working := l.work(ctx, p)
	if d.fault == "" {
		select {
		case <-working.reached[d.at]:
		case <-time.After(5 * time.Second):
		}
		time.Sleep(d.after)
	} else {
		select { // the provider kills the process, unless the cap lets nothing start any more
		case <-p.exited:
		case <-time.After(5 * time.Second):
		}
	}
	p.kill()
	stop()
	working.wait()

	p = l.start("")
	l.check(p)
	p.kill()
}

// process is a running server.
type process struct {
	cmd    *exec.Cmd
	url    string
	exited chan struct{}
}

var servingAt = regexp.MustCompile(`url=(http://\S+)`)

// start starts a server and waits until it listens.
func (l *life) start(fault string) *process {
	l.t.Helper()
	p := &process{exited: make(chan struct{})}
	p.cmd = exec.Command(l.binary, "serve", "--data", l.data(), "--configs", filepath.Join(l.dir, "configs"),
		"--listen", "127.0.0.1:0", "--speed", strconv.Itoa(crashSpeed), "--fault", fault)
	out, err := p.cmd.StderrPipe()
	l.must(err)
	l.must(p.cmd.Start())
	l.t.Cleanup(p.kill)
	lines := bufio.NewReader(out)
	var said bytes.Buffer
	for p.url == "" {
		line, err := lines.ReadString('\n')
		said.WriteString(line)
		if m := servingAt.FindStringSubmatch(line); m != nil {
			p.url = m[1]
		} else if err != nil {
			_ = p.cmd.Wait()
			close(p.exited)
			l.t.Fatalf("the server does not start: %v\n%s", err, said.Bytes())
		}
	}
	go func() {
		_, _ = io.Copy(io.Discard, lines)
		_ = p.cmd.Wait()
		close(p.exited)
	}()
	return p
}

// kill ends the process as a power cut would, and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.exited
}

// connect returns a client of a process. It does not wait between tries: a server
// that is dead stays dead.
func (l *life) connect(p *process, token string) *client.Client {
	l.t.Helper()
	secret, err := client.NewToken(token)
	l.must(err)
	c, err := client.New(client.Options{BaseURL: p.url, Token: secret, Sleep: func(ctx context.Context, _ time.Duration) error {
		select {
		case <-ctx.Done():
		case <-p.exited:
			return errors.New("the server is dead")
		case <-time.After(time.Millisecond):
		}
		return ctx.Err()
	}})
	l.must(err)
	return c
}

// starts is how often the provider was asked for a job.
func (l *life) starts() int {
	l.t.Helper()
	files, err := filepath.Glob(filepath.Join(l.data(), "simulated", "start-*.json"))
	l.must(err)
	return len(files)
}

// check requires that a server that was just started has everything that was
// acknowledged, and that nothing happened twice.
func (l *life) check(p *process) {
	l.checkHistory(p)
	l.checkJobs()
	l.checkDatabase()
	l.checkBackups()
	st := l.beside()
	defer st.Close()
	sums, err := st.Sums(l.t.Context())
	l.must(err)
	if sums.Cap = crashCap; sums.Committed() > crashCap {
		l.t.Errorf("$%s are committed, the cap is $%s", sums.Committed(), crashCap)
	}
}

// checkJobs requires that the provider was never asked for a second job of a run,
// and returns the job of each run.
func (l *life) checkJobs() map[string]string {
	l.t.Helper()
	files, err := filepath.Glob(filepath.Join(l.data(), "simulated", "start-*.json"))
	l.must(err)
	jobs := map[string]string{}
	for _, name := range files {
		raw, err := os.ReadFile(name)
		l.must(err)
		var start struct {
			ID   string // empty when the call made no job
			Spec struct{ Run string }
		}
		l.must(json.Unmarshal(raw, &start))
		switch run := start.Spec.Run; {
		case start.ID == "":
		case jobs[run] != "":
			l.t.Errorf("the provider has two jobs for %s", run)
		default:
			jobs[run] = start.ID
		}
	}
	return jobs
}

// checkDatabase lets SQLite look at its own file.
func (l *life) checkDatabase() {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(l.data(), store.DatabaseName)+"?mode=ro")
	l.must(err)
	defer db.Close()
	var verdict string
	l.must(db.QueryRow("PRAGMA integrity_check").Scan(&verdict))
	if verdict != "ok" {
		l.t.Errorf("integrity_check: %s", verdict)
	}
	rows, err := db.Query("PRAGMA foreign_key_check")
	l.must(err)
	defer rows.Close()
	if rows.Next() {
		l.t.Error("foreign_key_check finds a row without its parent")
	}
	l.must(rows.Err())
}

// settle lets the last server finish what is going on and start what was asked
// for and never happened, stops it in order, and closes the books.
func (l *life) settle() {
	p := l.start("")
	c := l.connect(p, l.author)
	for before := -1; before != l.history.started(); {
		before = l.history.started()
		l.idle(c) // then the next launch that was never answered can start
		l.check(p)
	}
	l.collectAll(c)
	l.check(p)
	l.must(p.cmd.Process.Signal(syscall.SIGTERM))
	<-p.exited
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		l.t.Errorf("after SIGTERM the server exits with %d", code)
	}
	l.checkBooks()
}

// idle waits until no run is live.
func (l *life) idle(c *client.Client) {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		budget, err := c.ArenaBudget(l.t.Context())
		l.must(err)
		if budget.Value.ReservedUSD == 0 {
			return
		}
		if time.Now().After(deadline) {
			l.t.Fatal("a run does not end")
		}
	}
}

// checkBooks compares what each run cost with what the provider bills for it, to
// the micro-dollar.
func (l *life) checkBooks() {
	st := l.beside()
	defer st.Close()
	provider, err := simulated.Open(simulated.Options{Dir: filepath.Join(l.data(), "simulated"), Now: time.Now, PricePerHour: map[string]protocol.Micros{"a100x8": 1}})
	l.must(err)
	runs, _, err := st.Runs(l.t.Context(), protocol.RunFilter{}, protocol.Page{Limit: protocol.MaxPage})
	l.must(err)
	var settled protocol.Micros
	states := map[protocol.RunState]int{}
	jobs := l.checkJobs()
	for _, r := range runs {
		states[r.State]++
		if r.JobID != jobs[r.ID] {
			l.t.Errorf("run %s (%s) has the job %q, the provider has %q for it", r.ID, r.State, r.JobID, jobs[r.ID])
		}
		want := protocol.Micros(0)
		if r.JobID != "" {
			job, err := provider.Inspect(l.t.Context(), r.JobID)
			l.must(err)
			want = protocol.Cost(r.Price, job.Billed)
		}
		if r.Settled == nil || *r.Settled != want {
			l.t.Errorf("run %s (%s) is settled with %v; the provider bills $%s", r.ID, r.State, r.Settled, want)
			continue
		}
		settled += want
	}
	sums, err := st.Sums(l.t.Context())
	l.must(err)
	if sums.Settled != settled || sums.Live != 0 || sums.Recorded != settled {
		l.t.Errorf("the ledger is %+v; the runs add up to $%s", sums, settled)
	}
	l.t.Logf("died at %v; %s; runs: %v; $%s", l.deaths, l.history, states, settled)
}
