package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/store/storetest"
)

func TestReserveWritesTheRunAndItsReservation(t *testing.T) {
	ctx := context.Background()
	s, clock := storetest.Open(t)
	c := storetest.Submit(t, s, "ada", "tools")
	run, existing, err := s.Reserve(ctx, ada(), storetest.Reservation(c, "launch-001"))
	if err != nil || existing {
		t.Fatalf("reserve: existing %t, %v", existing, err)
	}
	want := protocol.Run{
		ID: protocol.NewRunID("launch-001"), RequestID: "launch-001", Challenge: "tb2-9b", Collection: c.ID, Revision: c.Source.Revision,
		Author: "ada", LaunchedBy: "ada", State: protocol.RunQueued, Since: clock.Now(),
		Provider: "simulated", Flavor: "a100x8", Price: 10 * protocol.Dollar, Timeout: time.Hour, RecipeID: "grpo-lora",
		Image: "registry.example.org/pipeline:1", TrainTasks: 7, ExcludedTasks: 1, EvalTasks: 32, Reserved: 10 * protocol.Dollar, CreatedAt: clock.Now(),
	}
	if diff := cmp.Diff(want, run); diff != "" {
		t.Errorf("reserved (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, must(s.Run(ctx, run.ID))(t)); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	if l := must(s.Sums(ctx))(t); l != (protocol.Ledger{Live: 10 * protocol.Dollar}) {
		t.Errorf("sums = %+v", l)
	}
	if got := run.Status(); got != protocol.NotLaunched {
		t.Errorf("status %q", got)
	}
}

func TestReserveIsRefusedByTheFirstCheckThatFails(t *testing.T) {
	ctx := context.Background()
	s, _ := storetest.Open(t)
	if _, _, err := s.RegisterAgent(ctx, ada(), protocol.Agent{ID: "scout", Owner: "ada"}); err != nil {
		t.Fatal(err)
	}
	c := storetest.Submit(t, s, "ada", "tools")
	for _, tc := range []struct {
		about  string
		change func(*protocol.Reservation)
		want   error
	}{
		{"a closed challenge", func(r *protocol.Reservation) { r.Challenge.Status = protocol.StatusClosed }, protocol.ErrClosed},
		{"paused runs", func(r *protocol.Reservation) { r.Challenge.RunsPaused = "maintenance" }, protocol.ErrPaused},
		{"nobody signed in", func(r *protocol.Reservation) { r.Who = protocol.Identity{} }, protocol.ErrSignedOut},
		{"somebody else's collection", func(r *protocol.Reservation) { r.Who.Name = "eve" }, protocol.ErrNotAuthor},
		{"a layout that cannot work", func(r *protocol.Reservation) { r.Challenge.LayoutProblem = "9 GPUs of 8" }, protocol.ErrJobLayout},
		{"no price", func(r *protocol.Reservation) { r.PriceError = protocol.ErrJobLayout }, protocol.ErrJobLayout},
		{"a cap that does not cover it", func(r *protocol.Reservation) { r.Cap = 10*protocol.Dollar - 1 }, protocol.ErrCap},
		{"a prior allowance that uses it up", func(r *protocol.Reservation) { r.Prior = 990*protocol.Dollar + 1 }, protocol.ErrCap},
		{"a sealed name", func(r *protocol.Reservation) { r.SealedNames = 1 }, protocol.ErrSealedName},
		{"an agent of somebody else", func(r *protocol.Reservation) {
			r.AgentID, r.Who = "scout", protocol.Identity{Name: "eve", Editor: true}
		}, protocol.ErrForeignAgent},
		{"an unregistered agent", func(r *protocol.Reservation) { r.AgentID = "ghost" }, protocol.ErrInvalid},
		{"no such collection", func(r *protocol.Reservation) { r.Collection = "env-000000000000" }, protocol.ErrNoCollection},
		{"a bad request id", func(r *protocol.Reservation) { r.RequestID = "short" }, protocol.ErrBadRequestID},
	} {
		t.Run(tc.about, func(t *testing.T) {
			r := storetest.Reservation(c, "launch-refused")
			tc.change(&r)
			nothing(t, s, func() {
				_, _, err := s.Reserve(ctx, ada(), r)
				wantError(t, err, tc.want)
			})
			facts, err := s.LaunchFacts(ctx, r)
			if r.RequestID == "short" {
				return // the facts do not need one
			}
			if err == nil {
				err = protocol.CheckLaunch(facts, r.Who, facts.Collection.CreatedAt).Refusal()
			}
			if !errors.Is(err, tc.want) {
				t.Errorf("preflight says %v, launch says %v", err, tc.want)
			}
		})
	}
	if l := must(s.Sums(ctx))(t); l != (protocol.Ledger{}) {
		t.Errorf("refusals cost %+v", l)
	}
}

func TestTheSameLaunchAgainIsTheSameRun(t *testing.T) {
	ctx := context.Background()
	s, clock := storetest.Open(t)
	c := storetest.Submit(t, s, "ada", "tools")
	other := storetest.Submit(t, s, "ada", "others")
	ask := storetest.Reservation(c, "launch-001")
	first, _, err := s.Reserve(ctx, ada(), ask)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.LaunchRefused(ctx, arena(), first.ID, "no machines", protocol.FaultPlatform); err != nil {
		t.Fatal(err)
	}
	clock.Advance(48 * time.Hour)
	nothing(t, s, func() {
		repeat := ask
		repeat.Price, repeat.Cap, repeat.Challenge.RunsPaused = 99*protocol.Dollar, 0, "by now" // what changed since decides nothing
		run, existing, err := s.Reserve(ctx, ada(), repeat)
		if err != nil || !existing || run.ID != first.ID || run.State != protocol.RunFailed {
			t.Errorf("repeated: %s %s, existing %t, %v", run.ID, run.State, existing, err)
		}
		for about, change := range map[string]func(*protocol.Reservation){
			"another collection": func(r *protocol.Reservation) { r.Collection = other.ID },
			"another challenge":  func(r *protocol.Reservation) { r.Challenge.ID = "skillsbench-9b" },
			"another owner":      func(r *protocol.Reservation) { r.Who = protocol.Identity{Name: "eve", Editor: true} },
			"an agent":           func(r *protocol.Reservation) { r.AgentID = "scout" },
		} {
			reused := ask
			change(&reused)
			run, existing, err := s.Reserve(ctx, ada(), reused)
			if !errors.Is(err, protocol.ErrRequestReused) || existing || run.ID != "" {
				t.Errorf("%s: run %q, existing %t, %v; want ErrRequestReused and nothing else", about, run.ID, existing, err)
			}
		}
	})
}

func TestTheDailyLimitCountsWhatDidNotFail(t *testing.T) {
	ctx := context.Background()
	s, clock := storetest.Open(t)
	c := storetest.Submit(t, s, "ada", "tools")
	launch := func(n int) (protocol.Run, error) {
		run, _, err := s.Reserve(ctx, ada(), storetest.Reservation(c, fmt.Sprintf("launch-%03d", n)))
		return run, err
	}
	failed := must(launch(1))(t)
	if _, err := s.LaunchRefused(ctx, arena(), failed.ID, "no machines", protocol.FaultPlatform); err != nil {
		t.Fatal(err)
	}
	scored := must(launch(2))(t)
	if _, err := s.Finish(ctx, arena(), scored.ID, protocol.Ending{Move: protocol.MoveScored}); err != nil {
		t.Fatal(err)
	}
	clock.Advance(protocol.DailyWindow - time.Minute)
	_, err := launch(3)
	wantError(t, err, protocol.ErrDailyLimit)
	if wait := protocol.AsError(err).RetryAfter; wait != time.Minute {
		t.Errorf("retry after %s, want a minute", wait)
	}
	clock.Advance(time.Minute)
	if _, err := launch(3); err != nil {
		t.Errorf("a day later: %v", err)
	}
}

func Test64LaunchesAtOnceMakeOneRun(t *testing.T) {
	const n = 64
	for _, c := range []struct {
		about string
		id    func(i int) string
		check func(t *testing.T, runs map[string]int, refused int)
	}{
		{"distinct request ids", func(i int) string { return fmt.Sprintf("launch-%03d", i) }, func(t *testing.T, runs map[string]int, refused int) {
			if len(runs) != 1 || refused != n-1 {
				t.Errorf("%d runs, %d refused with job-active; want 1 and %d", len(runs), refused, n-1)
			}
		}},
		{"one request id", func(int) string { return "launch-one" }, func(t *testing.T, runs map[string]int, refused int) {
			if runs[protocol.NewRunID("launch-one")] != n || refused != 0 {
				t.Errorf("runs %v, %d refused; want one run %d times", runs, refused, n)
			}
		}},
	} {
		t.Run(c.about, func(t *testing.T) {
			ctx := context.Background()
			s, _ := storetest.Open(t)
			var collections []protocol.Collection
			for i := range n {
				collections = append(collections, storetest.Submit(t, s, "ada", fmt.Sprintf("c%0*d", i+1, i)))
			}
			var mu sync.Mutex
			var wg sync.WaitGroup
			runs, refused, fresh := map[string]int{}, 0, 0
			for i := range n {
				wg.Go(func() {
					target := collections[i]
					if c.id(0) == c.id(1) {
						target = collections[0]
					}
					run, existing, err := s.Reserve(ctx, ada(), storetest.Reservation(target, c.id(i)))
					mu.Lock()
					defer mu.Unlock()
					switch {
					case errors.Is(err, protocol.ErrJobActive):
						refused++
					case err != nil:
						t.Error(err)
					default:
						runs[run.ID]++
						if !existing {
							fresh++
						}
					}
				})
			}
			wg.Wait()
			if fresh != 1 {
				t.Errorf("%d launches say that they made the run, want 1", fresh)
			}
			c.check(t, runs, refused)
			rows, _, err := s.Runs(ctx, protocol.RunFilter{}, protocol.Page{})
			if err != nil || len(rows) != 1 {
				t.Errorf("%d runs are stored, want 1 (%v)", len(rows), err)
			}
			if l := must(s.Sums(ctx))(t); l.Live != 10*protocol.Dollar {
				t.Errorf("reserved $%s, want $10", l.Live)
			}
		})
	}
}
