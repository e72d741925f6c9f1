package protocol_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/protocol"
)

func TestLimits(t *testing.T) {
	f := facts()
	f.Challenge.Compute.RunsPerDay = 2
	f.Counted = []time.Time{noon.Add(-time.Hour), noon.Add(-25 * time.Hour)}
	f.Ledger.Settled = 100 * protocol.Dollar
	l := f.Limits(noon)
	if l.RunsPerDay.Used != 1 || l.RunsPerDay.Remaining != 1 || !l.RunsPerDay.ResetsAt.Equal(noon.Add(23*time.Hour)) || l.Binding != nil || l.ResetsAt != nil {
		t.Errorf("one of two used: %+v", l)
	}
	if l.Compute.Used != 100*protocol.Dollar || l.Compute.Remaining != 700*protocol.Dollar || *l.Compute.Needed != 160*protocol.Dollar {
		t.Errorf("compute: %+v", l.Compute)
	}
	f.Counted = append(f.Counted, noon.Add(-2*time.Hour), noon.Add(-3*time.Hour)) // one too many, since the limit was lowered
	if l = f.Limits(noon); l.RunsPerDay.Used != 3 || l.RunsPerDay.Remaining != 0 || !l.ResetsAt.Equal(noon.Add(22*time.Hour)) {
		t.Errorf("three of two used: %+v", l)
	}
	f.PriceError, f.Ledger.Settled = protocol.ErrJobLayout, 900*protocol.Dollar
	if l = f.Limits(noon); l.Compute.Needed != nil || l.Compute.Remaining != 0 {
		t.Errorf("without a price and over the cap: %+v", l.Compute)
	}
}

// TestLimitsAgreeWithPreflight holds for any facts: the limits say that a check
// binds exactly when preflight refuses because of it, as the first of the three,
// and when a time is given the check holds from then on.
func TestLimitsAgreeWithPreflight(t *testing.T) {
	bounding := []string{protocol.CheckDailyLimit, protocol.CheckNoActiveJob, protocol.CheckCap}
	rapid.Check(t, func(t *rapid.T) {
		f := facts()
		f.Challenge.Compute.RunsPerDay = rapid.IntRange(0, 3).Draw(t, "limit")
		for range rapid.IntRange(0, 5).Draw(t, "runs") {
			f.Counted = append(f.Counted, noon.Add(-time.Duration(rapid.IntRange(0, 30*3600).Draw(t, "ago"))*time.Second))
		}
		f.ActiveRun = rapid.SampledFrom([]string{"", "challenge-0"}).Draw(t, "active")
		f.Ledger.Settled = protocol.Micros(rapid.IntRange(600, 700).Draw(t, "settled")) * protocol.Dollar
		refusing := func(now time.Time) string {
			for _, c := range protocol.CheckLaunch(f, protocol.Identity{Name: "ada"}, now).Checks {
				if slices.Contains(bounding, c.Name) && !*c.OK {
					return c.Name
				}
			}
			return ""
		}
		l := f.Limits(noon)
		binding := ""
		if l.Binding != nil {
			binding = *l.Binding
		}
		if want := refusing(noon); binding != want {
			t.Fatalf("binding is %q, preflight refuses by %q", binding, want)
		}
		if binding == protocol.CheckDailyLimit && (refusing(*l.ResetsAt) == binding || refusing(l.ResetsAt.Add(-time.Nanosecond)) != binding) {
			t.Fatalf("the daily limit resets at another time than %s", l.ResetsAt)
		}
		if l.RunsPerDay.Used+l.RunsPerDay.Remaining < l.RunsPerDay.Limit || l.Compute.Remaining < 0 || l.ActiveRuns.Used+l.ActiveRuns.Remaining != 1 {
			t.Fatalf("the numbers do not add up: %+v", l)
		}
	})
}

// TestFaultInStage: who is to blame when nothing is known follows from whose code
// ran.
func TestFaultInStage(t *testing.T) {
	for _, stage := range append(protocol.Stages(), "") {
		want := protocol.FaultPlatform
		if stage == protocol.StageGate || stage == protocol.StageTraining {
			want = protocol.FaultCollection
		}
		if got := protocol.FaultIn(stage); got != want {
			t.Errorf("in %q it is %s, want %s", stage, got, want)
		}
	}
}
