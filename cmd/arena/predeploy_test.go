package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/hub/hubtest"
)

// deploying is what predeploy prints.
type deploying struct {
	OK   bool      `json:"ok"`
	Live []liveRun `json:"live"`
}

// predeploy asks whether the arena may be restarted; something is live.
func (w *jobTown) predeploy() (r liveRelay, text string) {
	w.t.Helper()
	cli := exec.Command("arena", "predeploy", "--data", w.data, "--configs", w.overlay)
	var said strings.Builder
	cli.Stderr = &said
	out, err := cli.Output()
	var answer deploying
	if e, ok := err.(*exec.ExitError); !ok || e.ExitCode() != exitError || json.Unmarshal(out, &answer) != nil || answer.OK || len(answer.Live) != 1 || answer.Live[0].Relay == nil {
		w.t.Fatalf("predeploy: %v\n%s%s", err, out, said.String())
	}
	return *answer.Live[0].Relay, said.String()
}

// TestPredeployShowsTheRelay follows a run's tunnel with nothing but the data
// directory: before its job connects, with a call under way, after the arena was
// killed and could record nothing, and after it is back.
func TestPredeployShowsTheRelay(t *testing.T) {
	w := newJobTown(t)
	created := make(chan *hubtest.Job, 1)
	w.jobs.Play = func(job *hubtest.Job) { created <- job }
	status, run, err := w.launch("launch-deploy-1")
	if err != nil || status != 201 {
		t.Fatalf("%d %v\n%s", status, err, w.log.String())
	}
	job := <-created
	if r, text := w.predeploy(); r.State != protocol.RelayNever || r.Grace != 120 || !strings.Contains(text, "has not connected yet") {
		t.Errorf("%+v\n%s", r, text)
	}

	model := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer model.Close()
	tunnel := exec.Command("arena", "relay", "connect", "--run", run.RunID, "--to", model.URL)
	tunnel.Env = append(os.Environ(), "ARENA_URL="+w.url, "ARENA_RELAY_SECRET="+job.Spec.Secrets["ARENA_RELAY_SECRET"])
	if err := tunnel.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tunnel.Process.Kill(); _ = tunnel.Wait() }()
	w.until("the relay is connected", func() bool { r, _ := w.predeploy(); return r.State == protocol.RelayConnected })
	if r, text := w.predeploy(); r.InFlight != 0 || !strings.Contains(text, "No call is under way: the job connects again by itself, so a restart that takes less than 2m0s is harmless.") {
		t.Errorf("%+v\n%s", r, text)
	}
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		r, err := http.NewRequestWithContext(t.Context(), "GET", fmt.Sprintf("%s/relay/%s/v1/models", w.url, run.RunID), nil)
		if err != nil {
			t.Error(err)
			return
		}
		r.Header.Set("Authorization", "Bearer "+job.Spec.Secrets["ARENA_RELAY_KEY"])
		if resp, err := http.DefaultClient.Do(r); err == nil { // the arena is killed before it answers
			_ = resp.Body.Close()
			t.Errorf("it is answered with %s", resp.Status)
		}
	}()
	w.until("a call is under way", func() bool {
		r, text := w.predeploy()
		return r.InFlight == 1 && strings.Contains(text, "A restart cuts those of 1 call under way")
	})

	if err := w.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = w.command.Wait()
	<-asked
	if err := tunnel.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	gone := func(when string) {
		t.Helper()
		r, text := w.predeploy()
		if r.State != protocol.RelayReconnecting || r.InFlight != 0 || r.LostAt == nil || r.GraceLeft == nil || *r.GraceLeft > 120 || !strings.Contains(text, "of 2m0s are left to reconnect") {
			t.Errorf("%s: %+v\n%s", when, r, text)
		}
	}
	gone("no arena")
	w.start()
	gone("a new arena")
}

// TestRelayNow says of each state what a restart does.
func TestRelayNow(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	lost := now.Add(-50 * time.Second)
	for _, tc := range []struct {
		relay protocol.Relay
		left  int64
		say   string
	}{
		{protocol.Relay{State: protocol.RelayNever}, -1, "has not connected yet"},
		{protocol.Relay{State: protocol.RelayConnected, RelayCounters: protocol.RelayCounters{InFlight: 4}}, -1, "A restart cuts those of 4 calls under way that do not end within 8s; otherwise the job"},
		{protocol.Relay{State: protocol.RelayReconnecting, RelayCounters: protocol.RelayCounters{LostAt: &lost}}, 70, "1m10s of 2m0s are left"},
		{protocol.Relay{State: protocol.RelayLost, RelayCounters: protocol.RelayCounters{LostAt: &lost}}, -1, "cuts nothing more"},
	} {
		r := relayNow(tc.relay, now, 2*time.Minute)
		if !strings.Contains(r.Restart, tc.say) || (r.GraceLeft == nil) != (tc.left < 0) || r.GraceLeft != nil && *r.GraceLeft != tc.left {
			t.Errorf("%s: %+v, want %q", tc.relay.State, r, tc.say)
		}
	}
}
