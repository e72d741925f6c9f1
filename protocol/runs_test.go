package protocol_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/gates/report"
	"github.com/posttrainarena/arena/protocol"
)

// TestTransitions walks the whole table: what is not listed here is refused.
func TestTransitions(t *testing.T) {
	legal := map[protocol.RunState]map[protocol.RunMove]protocol.RunState{
		protocol.RunQueued: {
			protocol.MoveStarted: protocol.RunQueued, protocol.MoveRefused: protocol.RunFailed, protocol.MoveRunning: protocol.RunRunning,
			protocol.MoveScored: protocol.RunScored, protocol.MoveFailed: protocol.RunFailed, protocol.MoveCanceled: protocol.RunCanceled,
		},
		protocol.RunRunning: {
			protocol.MoveRunning: protocol.RunRunning, protocol.MoveScored: protocol.RunScored, protocol.MoveFailed: protocol.RunFailed,
			protocol.MoveCanceled: protocol.RunCanceled,
		},
	}
	moves := []protocol.RunMove{
		protocol.MoveStarted, protocol.MoveRefused, protocol.MoveRunning, protocol.MoveScored, protocol.MoveFailed, protocol.MoveCanceled,
	}
	for _, from := range protocol.RunStates() {
		for _, move := range moves {
			got, err := from.Next(move)
			want, ok := legal[from][move]
			switch {
			case ok && (err != nil || got != want):
				t.Errorf("%s + %s = %s, %v; want %s", from, move, got, err, want)
			case !ok && !errors.Is(err, protocol.ErrIllegalMove):
				t.Errorf("%s + %s = %s, %v; want a refusal", from, move, got, err)
			case !ok && got != from:
				t.Errorf("%s + %s was refused but changed the state to %s", from, move, got)
			}
		}
	}
}

// TestNothingLeavesTheEnd holds for any history: once a run has ended its state
// never changes again.
func TestNothingLeavesTheEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		state, ended := protocol.RunQueued, false
		for range rapid.IntRange(1, 30).Draw(t, "moves") {
			move := rapid.SampledFrom([]protocol.RunMove{
				protocol.MoveStarted, protocol.MoveRefused, protocol.MoveRunning, protocol.MoveScored, protocol.MoveFailed, protocol.MoveCanceled,
			}).Draw(t, "move")
			next, err := state.Next(move)
			if ended && (err == nil || next != state) {
				t.Fatalf("%s took the move %s after its end", state, move)
			}
			state, ended = next, next.Ended()
		}
	})
}

var noon = time.Date(2026, 10, 19, 12, 0, 0, 0, time.UTC)

// facts are those of a launch that every check allows.
func facts() protocol.LaunchFacts {
	return protocol.LaunchFacts{
		Challenge: protocol.Challenge{
			ID: "c", Status: protocol.StatusOpen,
			Compute: protocol.Compute{Flavor: "a100x8", TimeoutSeconds: 8 * 3600, RunsPerDay: 1},
		},
		Collection: protocol.Collection{ID: "env-1", Author: "ada", Static: report.Report{Summary: report.Summary{Tasks: 8, Eligible: 8}}},
		Ledger:     protocol.Ledger{Cap: 800 * protocol.Dollar},
		Price:      20 * protocol.Dollar,
	}
}

// TestPreflight breaks one thing at a time: the named check fails, every check
// before it holds, and a launch gets the error of exactly that check.
func TestPreflight(t *testing.T) {
	ada := protocol.Identity{Name: "ada"}
	for _, tc := range []struct {
		name   string
		who    protocol.Identity
		change func(*protocol.LaunchFacts)
		check  string
		want   error
		moot   []string
	}{
		{name: "allowed", who: ada, change: func(*protocol.LaunchFacts) {}},
		{name: "an editor may launch for others", who: protocol.Identity{Name: "org", Editor: true}, change: func(*protocol.LaunchFacts) {}},
		{name: "planned", who: ada, change: func(f *protocol.LaunchFacts) { f.Challenge.Status = protocol.StatusPlanned }, check: protocol.CheckChallengeOpen, want: protocol.ErrClosed},
		{name: "paused", who: ada, change: func(f *protocol.LaunchFacts) { f.Challenge.RunsPaused = "we fix the harness" }, check: protocol.CheckChallengeOpen, want: protocol.ErrPaused},
		{name: "signed out", change: func(*protocol.LaunchFacts) {}, check: protocol.CheckSignedIn, want: protocol.ErrSignedOut, moot: []string{protocol.CheckAuthorOrEditor}},
		{name: "a stranger", who: protocol.Identity{Name: "eve"}, change: func(*protocol.LaunchFacts) {}, check: protocol.CheckAuthorOrEditor, want: protocol.ErrNotAuthor},
		{name: "ran an hour ago", who: ada, change: func(f *protocol.LaunchFacts) { f.Counted = []time.Time{noon.Add(-time.Hour)} }, check: protocol.CheckDailyLimit, want: protocol.ErrDailyLimit},
		{name: "ran exactly a day ago", who: ada, change: func(f *protocol.LaunchFacts) { f.Counted = []time.Time{noon.Add(-24 * time.Hour)} }},
		{name: "two a day are allowed", who: ada, change: func(f *protocol.LaunchFacts) {
			f.Challenge.Compute.RunsPerDay = 2
			f.Counted = []time.Time{noon.Add(-time.Hour)}
		}},
		{name: "layout", who: ada, change: func(f *protocol.LaunchFacts) { f.Challenge.LayoutProblem = "five GPUs of four" }, check: protocol.CheckJobLayout, want: protocol.ErrJobLayout, moot: []string{protocol.CheckCap}},
		{name: "no price", who: ada, change: func(f *protocol.LaunchFacts) {
			f.Price, f.PriceError = 0, protocol.ErrJobLayout.Detailf("no such flavor")
		}, check: protocol.CheckJobLayout, want: protocol.ErrJobLayout, moot: []string{protocol.CheckCap}},
		{name: "another run", who: ada, change: func(f *protocol.LaunchFacts) { f.ActiveRun = "challenge-0" }, check: protocol.CheckNoActiveJob, want: protocol.ErrJobActive},
		{name: "the cap to the micro-dollar", who: ada, change: func(f *protocol.LaunchFacts) { f.Ledger.Settled = 640 * protocol.Dollar }},
		{name: "a micro-dollar over the cap", who: ada, change: func(f *protocol.LaunchFacts) { f.Ledger.Settled = 640*protocol.Dollar + 1 }, check: protocol.CheckCap, want: protocol.ErrCap},
		{name: "nothing eligible", who: ada, change: func(f *protocol.LaunchFacts) { f.Collection.Static.Summary.Eligible = 0 }, check: protocol.CheckEligibleTask, want: protocol.ErrNoEligible},
		{name: "a sealed name", who: ada, change: func(f *protocol.LaunchFacts) { f.SealedNames = 1 }, check: protocol.CheckNoSealedName, want: protocol.ErrSealedName},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := facts()
			tc.change(&f)
			p := protocol.CheckLaunch(f, tc.who, noon)
			if p.Allowed() != (tc.want == nil) {
				t.Fatalf("allowed = %v, checks %+v", p.Allowed(), p.Checks)
			}
			if !errors.Is(p.Refusal(), tc.want) {
				t.Fatalf("refusal = %v, want %v", p.Refusal(), tc.want)
			}
			if len(p.Checks) != 9 {
				t.Fatalf("%d checks, want 9", len(p.Checks))
			}
			for _, c := range p.Checks {
				switch {
				case slices.Contains(tc.moot, c.Name):
					if c.OK != nil {
						t.Errorf("%s = %v, want moot", c.Name, *c.OK)
					}
				case c.OK == nil || *c.OK != (c.Name != tc.check):
					t.Errorf("%s: ok %v, %s", c.Name, c.OK, c.Detail)
				}
				if c.Detail == "" {
					t.Errorf("%s says nothing", c.Name)
				}
			}
		})
	}
}

// TestDailyWait: the limit says when the next slot is free, and it is.
func TestDailyWait(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := facts()
		f.Challenge.Compute.RunsPerDay = rapid.IntRange(1, 4).Draw(t, "per day")
		for range rapid.IntRange(0, 8).Draw(t, "runs") {
			f.Counted = append(f.Counted, noon.Add(-time.Duration(rapid.IntRange(0, 48*3600).Draw(t, "ago"))*time.Second))
		}
		p := protocol.CheckLaunch(f, protocol.Identity{Name: "ada"}, noon)
		wait := p.DailyWait()
		if p.Allowed() != (wait == 0) {
			t.Fatalf("allowed %v with a wait of %s", p.Allowed(), wait)
		}
		if wait > 0 {
			if !protocol.CheckLaunch(f, protocol.Identity{Name: "ada"}, noon.Add(wait)).Allowed() {
				t.Fatalf("still refused after waiting %s", wait)
			}
			if protocol.CheckLaunch(f, protocol.Identity{Name: "ada"}, noon.Add(wait-time.Second)).Allowed() {
				t.Fatalf("allowed a second before the wait of %s was over", wait)
			}
		}
	})
}

func TestRunIDIsAFunctionOfTheRequest(t *testing.T) {
	a, b := protocol.NewRunID("ada-run-001"), protocol.NewRunID("ada-run-002")
	if a == b || a != protocol.NewRunID("ada-run-001") || len(a) != len("challenge-")+12 {
		t.Fatalf("%s and %s", a, b)
	}
}
