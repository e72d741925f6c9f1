package protocol_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/protocol"
)

// patience has another deadline for each thing that a run can wait for.
func patience() protocol.Patience {
	return protocol.Patience{NoJob: 5 * time.Minute, NoOutput: time.Hour, Silence: 45 * time.Minute, Cancel: 10 * time.Minute, Unreachable: 15 * time.Minute}
}

// TestWaiting goes through everything that a run can wait for. A second before
// its deadline the run only waits; at the deadline it is stalled, and the cause
// says since when.
func TestWaiting(t *testing.T) {
	asked, away, heard, started := noon.Add(20*time.Minute), noon.Add(30*time.Minute), noon.Add(10*time.Minute), noon.Add(time.Minute)
	queued := protocol.Run{State: protocol.RunQueued, Since: noon, CreatedAt: noon, Provider: "huggingface"}
	begun := queued
	begun.JobID, begun.JobStatus, begun.StartedAt = "job-1", "SCHEDULING", &started
	running := begun
	running.State, running.JobStatus, running.Stage = protocol.RunRunning, "RUNNING", protocol.StageGate
	running.Progress = protocol.Progress{LastLineAt: &heard, Stages: []protocol.StageProgress{{Stage: protocol.StageGate, Total: 8, Done: 3}}}
	canceled := running
	canceled.CancelAsked, canceled.CancelAskedBy = &asked, "ada"
	taken := canceled
	taken.CancelTaken = &away
	cut := canceled
	cut.UnreachableFrom = &away
	for name, c := range map[string]struct {
		run             protocol.Run
		since           time.Time
		waits           time.Duration
		blocked, reason string
		cause           string
	}{
		"a launch that is not confirmed": {
			queued, noon, 5 * time.Minute, "the provider has not confirmed a job",
			"The launch is not confirmed.", "The provider huggingface has not confirmed a job for more than 5m0s, since 2026-10-19 12:00:00 UTC.",
		},
		"a job in the queue": {
			begun, started, time.Hour, "the job has not printed anything",
			"The provider huggingface has the job (SCHEDULING)", "The job (SCHEDULING) has not printed anything for more than 1h0m0s, since 2026-10-19 12:01:00 UTC.",
		},
		"a job that works": {
			running, heard, 45 * time.Minute, "the job",
			"The job is in the stage gate, 3 of 8 done.", "The job (RUNNING) has not printed anything for more than 45m0s, since 2026-10-19 12:10:00 UTC.",
		},
		"a job that is to stop": {
			canceled, asked, 10 * time.Minute, "the provider stops the job",
			"ada asked at 2026-10-19 12:20:00 UTC for it to be canceled. The provider huggingface has not taken the request", "The job has gone on after it was to be canceled for more than 10m0s, since 2026-10-19 12:20:00 UTC.",
		},
		"a job whose provider takes its time to stop it": {
			taken, asked, 10 * time.Minute, "the provider stops the job",
			"ada asked at 2026-10-19 12:20:00 UTC for it to be canceled. The provider huggingface took the request at 2026-10-19 12:30:00 UTC",
			"The job has gone on after it was to be canceled for more than 10m0s, since 2026-10-19 12:20:00 UTC.",
		},
		"a provider that is away": {
			cut, away, 15 * time.Minute, "the provider does not answer",
			"The provider huggingface has not answered since 2026-10-19 12:30:00 UTC. Nothing is canceled or started because of that; the arena goes on asking. ada asked at", "The provider huggingface has not answered for more than 15m0s, since 2026-10-19 12:30:00 UTC.",
		},
	} {
		due := c.since.Add(c.waits)
		early, late := c.run.Waiting(patience(), due.Add(-time.Second)), c.run.Waiting(patience(), due)
		if early.Stalled || early.Cause != "" || !early.Due.Equal(due) || !early.Since.Equal(c.since) {
			t.Errorf("%s: before its deadline: %+v", name, early)
		}
		if early.BlockedBy != c.blocked || !strings.HasPrefix(early.Reason, c.reason) {
			t.Errorf("%s: waits for %q (%s), want %q (%s)", name, early.BlockedBy, early.Reason, c.blocked, c.reason)
		}
		if !late.Stalled || late.Cause != c.cause {
			t.Errorf("%s: at its deadline: stalled %v: %s\nwant %s", name, late.Stalled, late.Cause, c.cause)
		}
		if never := c.run.Waiting(protocol.Patience{}, noon.AddDate(1, 0, 0)); never.Stalled || never.Due != nil {
			t.Errorf("%s: without a deadline: %+v", name, never)
		}
	}
}

// TestEveryRunExplainsItself holds for any run: one that has not ended says what
// happens, what it waits for and until when that is fine; one that has ended
// waits for nothing.
func TestEveryRunExplainsItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		moments := rapid.Custom(func(t *rapid.T) time.Time {
			return noon.Add(time.Duration(rapid.IntRange(0, 1_000_000).Draw(t, "seconds")) * time.Second)
		})
		maybe := rapid.Ptr(moments, true)
		r := protocol.Run{
			State: rapid.SampledFrom(protocol.RunStates()).Draw(t, "state"), Stage: rapid.SampledFrom(protocol.Stages()).Draw(t, "stage"),
			JobID: rapid.SampledFrom([]string{"", "job-1"}).Draw(t, "job"), Since: moments.Draw(t, "since"), CreatedAt: moments.Draw(t, "created"),
			StartedAt: maybe.Draw(t, "started"), CancelAsked: maybe.Draw(t, "canceled"), UnreachableFrom: maybe.Draw(t, "away"),
			Progress: protocol.Progress{LastLineAt: maybe.Draw(t, "heard")},
		}
		now := moments.Draw(t, "now")
		w := r.Waiting(patience(), now)
		if (w == nil) != r.State.Ended() {
			t.Fatalf("%s: %+v", r.State, w)
		}
		if w == nil {
			return
		}
		if w.Reason == "" || w.BlockedBy == "" || w.Since.IsZero() || w.Due == nil || w.Stalled != !now.Before(*w.Due) || w.Stalled != (w.Cause != "") {
			t.Fatalf("%+v", w)
		}
	})
}
