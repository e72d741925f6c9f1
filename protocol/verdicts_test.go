package protocol_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/protocol"
)

func TestCarryVerdicts(t *testing.T) {
	v := func(task string, d protocol.Decision) protocol.TaskVerdict {
		return protocol.TaskVerdict{Task: task, Decision: d}
	}
	before := &protocol.Verdict{PlanDigest: "p", Tasks: []protocol.TaskVerdict{
		v("a", protocol.TaskAccepted), v("b", protocol.TaskRejected), v("c", protocol.TaskInconclusive), v("gone", protocol.TaskAccepted),
	}}
	judged := []protocol.TaskVerdict{v("a", protocol.TaskInconclusive), v("b", protocol.TaskInconclusive), v("c", protocol.TaskInconclusive)}
	for name, c := range map[string]struct {
		tried  map[string]bool
		plan   string
		before *protocol.Verdict
		want   []protocol.TaskVerdict
	}{
		"nothing before":    {nil, "p", nil, judged},
		"another plan":      {nil, "q", before, judged},
		"nothing was rerun": {nil, "p", before, []protocol.TaskVerdict{before.Tasks[0], before.Tasks[1], judged[2]}},
		"rerun and lost":    {map[string]bool{"a": true}, "p", before, []protocol.TaskVerdict{judged[0], before.Tasks[1], judged[2]}},
	} {
		if diff := cmp.Diff(c.want, protocol.CarryVerdicts(judged, c.tried, c.plan, c.before)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

func TestCheckGateOptions(t *testing.T) {
	for _, c := range []struct {
		o   protocol.GateOptions
		bad int
	}{
		{protocol.GateOptions{ControlsReruns: 8, BandAttempts: 4}, 0},
		{protocol.GateOptions{ControlsReruns: 1, BandAttempts: 2, RequireOracle: true}, 0},
		{protocol.GateOptions{ControlsReruns: 50, BandAttempts: 50}, 0},
		{protocol.GateOptions{ControlsReruns: 0, BandAttempts: 1}, 2},
		{protocol.GateOptions{ControlsReruns: 51, BandAttempts: 51}, 2},
		{protocol.GateOptions{ControlsReruns: -1, BandAttempts: 4}, 1},
	} {
		if got := protocol.CheckGateOptions(c.o); len(got) != c.bad {
			t.Errorf("%+v: %v", c.o, got)
		}
	}
}
