package local

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol/jobs"
)

// interrupted returns a provider whose directory holds a job that came to exist
// just before its arena was killed, and the job's id. Its supervisor would be a
// program of the test's choice.
func interrupted(t *testing.T, supervisor ...string) (*Provider, string) {
	t.Helper()
	o := Options{
		Dir: t.TempDir(), Supervisor: supervisor, Command: []string{"/bin/sh"}, Getenv: os.Getenv, Now: time.Now,
		Flavors: []jobs.Flavor{{Name: "this-machine"}},
	}
	p, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	spec := jobs.Spec{Run: "challenge-0123456789ab", Flavor: "this-machine", Timeout: time.Hour}
	rec, err := p.order(spec)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.prepare(rec, spec); err != nil {
		t.Fatal(err)
	}
	p, err = Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return p, rec.ID
}

// TestJobWithoutSupervisor looks at a job whose arena was killed between making
// it and starting its supervisor. It gets one when it is looked at, and only one;
// a supervisor that ends without a trace ends the job.
func TestJobWithoutSupervisor(t *testing.T) {
	witness := filepath.Join(t.TempDir(), "started")
	p, id := interrupted(t, "/bin/sh", "-c", "echo started >>"+witness)
	found, err := p.Find(t.Context(), "challenge-0123456789ab")
	if err != nil || len(found) != 1 || found[0].Status != jobs.Scheduling {
		t.Fatalf("found %+v, %v; want the job, scheduling", found, err)
	}
	for _, err := range p.Logs(t.Context(), id, 0) {
		t.Fatalf("the log has a line or fails: %v", err)
	}
	job, err := p.Inspect(t.Context(), id)
	if err != nil || job.Status != jobs.Failed || !strings.Contains(job.Message, "supervisor ended before") || job.Billed != 0 {
		t.Errorf("ended as %+v, %v", job, err)
	}
	if data, err := os.ReadFile(witness); err != nil || string(data) != "started\n" {
		t.Errorf("the supervisor was started: %q, %v; want once", data, err)
	}

	p, id = interrupted(t, "/no/such/supervisor")
	job, err = p.Inspect(t.Context(), id)
	if err != nil || job.Status != jobs.Failed || !strings.Contains(job.Message, "could not be started") {
		t.Errorf("without a supervisor to start: %+v, %v", job, err)
	}
}

// TestCanceledBeforeItBegan cancels such a job: its command never runs.
func TestCanceledBeforeItBegan(t *testing.T) {
	p, id := interrupted(t, "/bin/false")
	dir := filepath.Join(p.dir, id)
	if _, err := writeOnce(dir, cancelFile, cancellation{time.Now()}); err != nil {
		t.Fatal(err)
	}
	if err := Supervise(t.Context(), dir, nil, time.Now); err != nil {
		t.Fatal(err)
	}
	job, err := p.Inspect(t.Context(), id)
	if err != nil || job.Status != jobs.Canceled || job.Billed != 0 {
		t.Errorf("ended as %+v, %v", job, err)
	}
	if _, err := os.Stat(filepath.Join(dir, commandFile)); err == nil {
		t.Error("its command was started")
	}
}

// TestUnreadableRecordIsNoProof breaks a job's record: whether it is the run's
// job cannot be told, so "none" must not be the answer.
func TestUnreadableRecordIsNoProof(t *testing.T) {
	p, id := interrupted(t, "/bin/false")
	if err := os.WriteFile(filepath.Join(p.dir, id, jobFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if found, err := p.Find(t.Context(), "challenge-0123456789ab"); err == nil {
		t.Errorf("found %+v", found)
	}
}

// TestPidIsNotEnough takes a process that lives but was born at another time for
// what it is: another one.
func TestPidIsNotEnough(t *testing.T) {
	born, err := birth(os.Getpid())
	if err != nil || born == "" {
		t.Fatalf("born %q, %v", born, err)
	}
	for _, c := range []struct {
		p    *process
		want bool
	}{
		{&process{PID: os.Getpid(), Born: born}, true},
		{&process{PID: os.Getpid(), Born: born + "1"}, false},
		{&process{PID: os.Getpid()}, false},
		{&process{PID: 1 << 30, Born: born}, false},
		{nil, false},
	} {
		if alive, err := c.p.alive(); alive != c.want || err != nil {
			t.Errorf("%+v is alive: %v, %v; want %v", c.p, alive, err, c.want)
		}
	}
}

// TestFullLog stops keeping lines when there is no room, and says how many are
// missing. Times never go back, even when the clock does.
func TestFullLog(t *testing.T) {
	var log bytes.Buffer
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	s := stamper{log: &log, room: 100, now: func() time.Time { now = now.Add(-time.Second); return now }}
	for range 5 {
		if _, err := s.Write([]byte("a line of the log\n")); err != nil {
			t.Fatal(err)
		}
	}
	s.close()
	const want = `2026-03-02T08:59:59.000000000Z a line of the log
2026-03-02T08:59:59.000000000Z a line of the log
2026-03-02T08:59:59.000000000Z [3 more lines: the log was full]
`
	if log.String() != want {
		t.Errorf("the log is\n%swant\n%s", log.String(), want)
	}
}
