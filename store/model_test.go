package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/store"
	"github.com/posttrainarena/arena/store/storetest"
)

// modelRun is all that the model knows of a run.
type modelRun struct {
	id, collection string
	state          protocol.RunState
	created        time.Time
	job            bool
	lines          int64
	settled        protocol.Micros
	verification   protocol.Verification // empty until collected
}

// model is the arena in memory: what the store must agree with after any
// sequence of calls, retries and crashes.
type model struct {
	now  time.Time
	cap  protocol.Micros
	runs map[string]*modelRun // by request id
	last *modelRun            // the newest, which is the only one that can be active
}

const reservation = 10 * protocol.Dollar

func (m *model) committed() (sum protocol.Micros) {
	for _, r := range m.runs {
		if r.state.Ended() {
			sum += r.settled
		} else {
			sum += reservation
		}
	}
	return sum
}

// launch is what a launch must answer: nil for a new run.
func (m *model) launch(collection, id string) error {
	if first, ok := m.runs[id]; ok {
		if first.collection != collection {
			return protocol.ErrRequestReused
		}
		return nil
	}
	for _, r := range m.runs {
		if r.collection == collection && r.state != protocol.RunFailed && r.state != protocol.RunCanceled && m.now.Sub(r.created) < 24*time.Hour {
			return protocol.ErrDailyLimit
		}
	}
	switch {
	case m.last != nil && !m.last.state.Ended():
		return protocol.ErrJobActive
	case m.committed()+reservation > m.cap:
		return protocol.ErrCap
	}
	m.last = &modelRun{id: protocol.NewRunID(id), collection: collection, state: protocol.RunQueued, created: m.now}
	m.runs[id] = m.last
	return nil
}

// machine drives a store and the model side by side.
type machine struct {
	t           *testing.T
	store       *store.Store
	clock       *storetest.Clock
	collections []string
	crashes     int
	model       model
}

// agree checks that the store answered as the model says.
func agree(t *rapid.T, got, want error) {
	t.Helper()
	if (want == nil) != (got == nil) || want != nil && !errors.Is(got, want) {
		t.Fatalf("the store says %v, the model says %v", got, want)
	}
}

func (m *machine) launch(t *rapid.T) {
	collection := rapid.SampledFrom(m.collections).Draw(t, "collection")
	id := fmt.Sprintf("request-%d", rapid.IntRange(1, 9).Draw(t, "request"))
	_, repeated := m.model.runs[id]
	r := storetest.Reservation(protocol.Collection{ID: collection, Author: "ada"}, id)
	r.Cap = m.model.cap
	run, existing, err := m.store.Reserve(context.Background(), ada(), r)
	want := m.model.launch(collection, id)
	agree(t, err, want)
	if err == nil && (run.ID != protocol.NewRunID(id) || existing != repeated) {
		t.Fatalf("run %s, existing %t; want %s, %t", run.ID, existing, protocol.NewRunID(id), repeated)
	}
}

// active is the newest run; it skips the step when there is none.
func (m *machine) active(t *rapid.T) *modelRun {
	if m.model.last == nil {
		t.Skip("nothing was launched")
	}
	return m.model.last
}

func (m *machine) startJob(t *rapid.T) {
	r := m.active(t)
	_, err := m.store.JobStarted(context.Background(), arena(), r.id, protocol.Job{ID: "job-of-" + r.id})
	if r.job || r.state == protocol.RunQueued {
		r.job = true
		agree(t, err, nil)
		return
	}
	agree(t, err, protocol.ErrIllegalMove)
}

func (m *machine) refuse(t *rapid.T) {
	r := m.active(t)
	_, err := m.store.LaunchRefused(context.Background(), arena(), r.id, "no machines", protocol.FaultPlatform)
	if r.job || r.state != protocol.RunQueued && r.state != protocol.RunFailed {
		agree(t, err, protocol.ErrIllegalMove)
		return
	}
	agree(t, err, nil)
	r.state = protocol.RunFailed
}

func (m *machine) log(t *rapid.T) {
	r := m.active(t)
	position := r.lines + rapid.Int64Range(-1, 1).Draw(t, "ahead") // a resend, or news
	_, err := m.store.AppendLog(context.Background(), r.id, protocol.LogBatch{Lines: []protocol.LogLine{{Text: "x"}}, Position: position})
	switch {
	case position <= r.lines:
		agree(t, err, nil)
	case r.state.Ended():
		agree(t, err, protocol.ErrIllegalMove)
	default:
		agree(t, err, nil)
		r.lines, r.state = r.lines+1, protocol.RunRunning
	}
}

func (m *machine) cancel(t *rapid.T) {
	r := m.active(t)
	_, err := m.store.CancelAsked(context.Background(), ada(), r.id)
	if r.state.Ended() {
		agree(t, err, protocol.ErrIllegalMove)
	} else {
		agree(t, err, nil)
	}
}

func (m *machine) finish(t *rapid.T) {
	r := m.active(t)
	moves := map[protocol.RunMove]protocol.RunState{protocol.MoveScored: protocol.RunScored, protocol.MoveFailed: protocol.RunFailed, protocol.MoveCanceled: protocol.RunCanceled}
	move := rapid.SampledFrom([]protocol.RunMove{protocol.MoveScored, protocol.MoveFailed, protocol.MoveCanceled}).Draw(t, "move")
	billed := protocol.Micros(rapid.Int64Range(0, int64(reservation)).Draw(t, "billed"))
	_, err := m.store.Finish(context.Background(), arena(), r.id, protocol.Ending{Move: move, Billed: billed})
	switch {
	case !r.state.Ended():
		agree(t, err, nil)
		r.state, r.settled = moves[move], billed
	case r.state == moves[move]:
		agree(t, err, nil) // a repeat keeps the first bill
	default:
		agree(t, err, protocol.ErrIllegalMove)
	}
}

func (m *machine) collect(t *rapid.T) {
	r := m.active(t)
	_, existing, err := m.store.SaveResult(context.Background(), ada(), protocol.Result{Run: r.id})
	if r.state != protocol.RunScored {
		agree(t, err, protocol.ErrNotScored)
		return
	}
	agree(t, err, nil)
	if existing != (r.verification != "") {
		t.Fatalf("existing %t although the result is %q", existing, r.verification)
	}
	if !existing {
		r.verification = protocol.Pending
	}
}

func (m *machine) review(t *rapid.T) {
	r := m.active(t)
	accepted := rapid.Bool().Draw(t, "accepted")
	_, err := m.store.Review(context.Background(), eve(), r.id, protocol.Review{Accepted: accepted, Note: note})
	switch r.verification {
	case "":
		agree(t, err, protocol.ErrNoResult)
	case protocol.Pending:
		agree(t, err, nil)
		r.verification = protocol.Rejected
		if accepted {
			r.verification = protocol.Valid
		}
	default:
		agree(t, err, protocol.ErrReviewed)
	}
}

func (m *machine) moveCap(t *rapid.T) {
	m.model.cap = protocol.Micros(rapid.Int64Range(0, 60).Draw(t, "cap")) * protocol.Dollar
}

func (m *machine) wait(t *rapid.T) {
	m.model.now = m.clock.Advance(time.Duration(rapid.IntRange(1, 26).Draw(t, "hours")) * time.Hour)
}

func (m *machine) crash(t *rapid.T) {
	if m.crashes++; m.crashes > 2 {
		t.Skip("two crashes are enough for one arena")
	}
	killed := m.store
	m.store = storetest.Kill(m.t, killed, filepath.Join(m.t.TempDir(), "after"), m.clock)
	if err := killed.Close(); err != nil {
		t.Fatal(err)
	}
	m.checkAll(t)
}

// checkLedger compares what is promised and spent; it runs after every step.
func (m *machine) checkLedger(t *rapid.T) {
	want := protocol.Ledger{}
	for _, r := range m.model.runs {
		switch {
		case !r.state.Ended():
			want.Live += reservation
		case r.job:
			want.Recorded += r.settled
			fallthrough
		default:
			want.Settled += r.settled
		}
	}
	got, err := m.store.Sums(context.Background())
	if err != nil || got != want || got.Committed() != m.model.committed() {
		t.Fatalf("the ledger is %+v (%v), the model has %+v and committed $%s", got, err, want, m.model.committed())
	}
}

// checkAll compares everything that the model knows with what the store says.
func (m *machine) checkAll(t *rapid.T) {
	ctx := context.Background()
	rows, _, err := m.store.Runs(ctx, protocol.RunFilter{}, protocol.Page{})
	if err != nil || len(rows) != len(m.model.runs) {
		t.Fatalf("%d runs (%v), the model has %d", len(rows), err, len(m.model.runs))
	}
	results, err := m.store.Results(ctx, storetest.Challenge().ID)
	if err != nil {
		t.Fatal(err)
	}
	verification := map[string]protocol.Verification{}
	for _, r := range results {
		verification[r.Run] = r.Verification
	}
	for _, run := range rows {
		r := m.model.runs[run.RequestID]
		if run.ID != r.id || run.State != r.state || run.LogLines != r.lines || (run.JobID != "") != r.job || verification[run.ID] != r.verification {
			t.Fatalf("run %s is %s with %d lines, job %q and result %q; the model has %+v", run.ID, run.State, run.LogLines, run.JobID, verification[run.ID], *r)
		}
	}
	if err := errors.Join(m.store.VerifyAudit(ctx), m.store.Integrity(ctx)); err != nil {
		t.Fatal(err)
	}
	if differ, err := m.store.VerifyRecords(ctx); err != nil || len(differ) > 0 {
		t.Fatalf("records that the trail does not have so: %q, %v", differ, err)
	}
}

// Whatever happens in whatever order, with repeats and crashes between any two
// steps, the store agrees with the model: about every answer, every run and
// every micro-dollar.
func TestTheStoreAgreesWithTheModel(t *testing.T) {
	// Every arena starts as a copy of one with collections in it.
	template, clock := storetest.Open(t)
	var collections []string
	for _, name := range []string{"a", "bb", "ccc"} {
		collections = append(collections, storetest.Submit(t, template, "ada", name).ID)
	}
	if err := template.Close(); err != nil {
		t.Fatal(err)
	}
	start := clock.Now()
	rapid.Check(t, func(rt *rapid.T) {
		dir := filepath.Join(t.TempDir(), "data")
		if err := os.CopyFS(dir, os.DirFS(template.Dir())); err != nil {
			rt.Fatal(err)
		}
		clock := storetest.NewClock()
		m := &machine{t: t, clock: clock, store: storetest.OpenDir(t, dir, clock), collections: collections}
		m.model = model{now: start, cap: 40 * protocol.Dollar, runs: map[string]*modelRun{}}
		defer func() { _ = m.store.Close() }()
		rt.Repeat(map[string]func(*rapid.T){
			"launch": m.launch, "launch too": m.launch, "start the job": m.startJob, "refuse": m.refuse, "log": m.log, "cancel": m.cancel,
			"finish": m.finish, "collect": m.collect, "review": m.review, "move the cap": m.moveCap, "wait": m.wait, "crash": m.crash,
			"": m.checkLedger,
		})
		m.checkAll(rt)
	})
}
