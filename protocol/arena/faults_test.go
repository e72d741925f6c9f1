package arena_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/jobs/simulated"
)

// outcome is how a run must end that one fault happens to.
type outcome struct {
	launch  error // of the first try; nil when the job starts
	state   protocol.RunState
	stage   protocol.Stage // the last one reached
	class   protocol.FaultClass
	reason  string // part of it
	collect error  // nil when the evidence holds
}

// outcomes has one row for each fault that the simulated provider can play, and
// one for none.
func outcomes() map[simulated.Fault]outcome {
	const (
		scored   = protocol.RunScored
		failed   = protocol.RunFailed
		platform = protocol.FaultPlatform
		heldout  = protocol.StageHeldout
	)
	notScored := protocol.ErrNotScored
	return map[simulated.Fault]outcome{
		simulated.FaultNone: {state: scored, stage: heldout},

		// The call that starts the job.
		simulated.FaultRefuse:        {launch: protocol.ErrRefused, state: failed, class: platform, reason: "refused the job; nothing was started and nothing was spent", collect: notScored},
		simulated.FaultLostReply:     {launch: protocol.ErrUnknownLaunch, state: scored, stage: heldout},
		simulated.FaultTimeoutBefore: {launch: protocol.ErrUnknownLaunch, state: failed, class: platform, reason: "interrupted before a job existed; nothing was spent", collect: notScored},
		simulated.FaultKillBefore:    {launch: protocol.ErrUnknownLaunch, state: failed, class: platform, reason: "interrupted before a job existed; nothing was spent", collect: notScored},
		simulated.FaultKillAfter:     {launch: protocol.ErrUnknownLaunch, state: scored, stage: heldout},

		// The pipeline, stage by stage.
		simulated.FaultSetup:        {state: failed, stage: protocol.StageSetup, class: platform, reason: "VLLM_FAILED. The model server did not start.", collect: notScored},
		simulated.FaultSnapshot:     {state: failed, stage: protocol.StageSnapshot, class: platform, reason: "tasks could not be read from where they are stored", collect: notScored},
		simulated.FaultBaseline:     {state: failed, stage: protocol.StageBaseline, class: platform, reason: "LiteLLM proxy failed to start", collect: notScored},
		simulated.FaultGate:         {state: failed, stage: protocol.StageGate, class: platform, reason: "ACP initialize timed out", collect: notScored},
		simulated.FaultRollout:      {state: failed, stage: protocol.StageTraining, class: protocol.FaultLimit, reason: "One training attempt failed on every try", collect: notScored},
		simulated.FaultHeldout:      {state: failed, stage: heldout, class: platform, reason: "LiteLLM proxy failed to start", collect: notScored},
		simulated.FaultZeroVariance: {state: failed, stage: protocol.StageTraining, class: protocol.FaultCollection, reason: "scored the same", collect: notScored},

		// What the job leaves behind.
		simulated.FaultNoReport:        {state: failed, stage: heldout, class: platform, reason: "left no readable score report", collect: notScored},
		simulated.FaultWrongReport:     {state: scored, stage: heldout, collect: protocol.ErrEvidence},
		simulated.FaultNoOutcomes:      {state: scored, stage: heldout, collect: protocol.ErrEvidence},
		simulated.FaultMissingOutcomes: {state: scored, stage: heldout, collect: protocol.ErrEvidence},

		// The job as a whole, and the service around it.
		simulated.FaultJobTimeout:   {state: failed, stage: heldout, class: protocol.FaultLimit, reason: "reached its limit of 8h0m0s in the stage heldout", collect: notScored},
		simulated.FaultDeleted:      {state: failed, stage: protocol.StageTraining, class: platform, reason: "no longer has the job", collect: notScored},
		simulated.FaultGone:         {state: failed, stage: protocol.StageTraining, class: platform, reason: "no longer has the job", collect: notScored},
		simulated.FaultUnreachable:  {state: scored, stage: heldout},
		simulated.FaultDuplicateLog: {state: scored, stage: heldout},
		simulated.FaultReorderLog:   {state: scored, stage: heldout},
	}
}

// TestEveryFaultEndsAsItMust plays a run for each fault of PROTOCOL §8 from
// launch to collect: its state, stage, whose fault it was and why, what it cost,
// and whether its evidence holds.
func TestEveryFaultEndsAsItMust(t *testing.T) {
	t.Parallel()
	want := outcomes()
	for _, f := range append(simulated.Faults(), simulated.FaultNone) {
		o, ok := want[f]
		if !ok {
			t.Errorf("the fault %q has no row in outcomes", f)
			continue
		}
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, fault(string(f)))
				w.watch()
				w.play(o)
			})
		})
	}
}

// play launches a run and checks how it ends.
func (w *world) play(o outcome) {
	w.t.Helper()
	run, _, err := w.launch(ada, "request-001", w.submit(ada, "sample"))
	if o.launch == nil && err != nil {
		w.t.Fatalf("launch: %v", err)
	} else if o.launch != nil {
		wantError(w.t, err, o.launch)
	}
	w.checkLedger()
	run = w.ended(run.ID)
	if run.State != o.state || run.Stage != o.stage || run.Fault != o.class || !strings.Contains(run.Reason, o.reason) || (o.reason == "") != (run.Reason == "") {
		w.t.Errorf("ended %s in stage %q, fault %q: %q\nwant  %s in stage %q, fault %q: %q",
			run.State, run.Stage, run.Fault, run.Reason, o.state, o.stage, o.class, o.reason)
	}
	w.checkBill(run)
	w.checkLedger()

	result, existing, err := w.Collect(w.t.Context(), ada, by(ada), challenge, run.ID)
	if o.collect != nil {
		wantError(w.t, err, o.collect)
	} else if err != nil || existing || result.Score.ReportAgrees == "" {
		w.t.Errorf("collect: existing %v, score %+v, %v", existing, result.Score, err)
	}
}

// checkBill requires that a run cost what its job did: the provider's time times
// the price, nothing without a job, and of a job that the provider has forgotten
// the time until that was noticed.
func (w *world) checkBill(run protocol.Run) {
	w.t.Helper()
	if n := len(w.jobs(run.ID)); n > 1 {
		w.t.Errorf("the provider has %d jobs for one run", n)
	}
	want := protocol.Micros(0)
	if run.JobID != "" {
		job, err := w.provider.Inspect(context.Background(), run.JobID)
		if err != nil {
			job.Billed = run.EndedAt.Sub(*run.StartedAt)
		}
		want = protocol.Cost(run.Price, job.Billed)
	}
	if run.Settled == nil || *run.Settled != want || *run.Settled > run.Reserved {
		w.t.Errorf("the run is settled with %v, want %s of the %s reserved", run.Settled, want, run.Reserved)
	}
	if (want > 0) != (run.JobID != "") {
		w.t.Errorf("a run with job %q costs %s", run.JobID, want)
	}
}

// TestCanceledRunCostsItsTimeUntilTheLastLine follows PROTOCOL §8: a canceled job
// is billed up to its last log line, and the rest of its reservation is free.
func TestCanceledRunCostsItsTimeUntilTheLastLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.watch()
		run := w.started("request-001")
		w.until(run.ID, "is in its baseline", func(r protocol.Run) bool { return r.Stage == protocol.StageBaseline })
		time.Sleep(5 * time.Second)
		asked, err := w.Cancel(t.Context(), ada, by(ada), challenge, run.ID)
		if err != nil || asked.CancelAsked == nil || asked.State.Ended() {
			t.Fatalf("cancel: %+v, %v", asked, err)
		}
		run = w.ended(run.ID)
		if run.State != protocol.RunCanceled || run.Fault != protocol.FaultCanceled || run.Reason != "Canceled by ada." {
			t.Errorf("ended %s, fault %q: %q", run.State, run.Fault, run.Reason)
		}
		w.checkBill(run)
		w.checkLedger()
		again, err := w.Cancel(t.Context(), ada, by(ada), challenge, run.ID)
		if err != nil || again.State != protocol.RunCanceled || *again.Settled != *run.Settled {
			t.Errorf("cancel again: %+v, %v", again, err)
		}
	})
}
