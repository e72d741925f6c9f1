package arena_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/posttrainarena/arena/gates/dynamic"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/arena"
)

// trialsOf are trials of a plan whose tasks deserve to be accepted.
func trialsOf(p dynamic.Plan) dynamic.Results {
	r, _ := dynamic.Collect(p, func(string) ([]dynamic.Trial, error) { return nil, nil })
	for _, t := range p.Tasks {
		for _, s := range t.Steps {
			reward, digest, agent := 1.0, t.Digest, "oracle"
			switch s.Gate {
			case dynamic.Noop:
				reward, digest = 0, t.NoopDigest
			case dynamic.Band:
				reward, agent = float64(s.Number%2), p.Harness.Agent
			}
			r.Trials = append(r.Trials, dynamic.Trial{Task: t.Name, Gate: s.Gate, Number: s.Number, Started: true, Reward: &reward, TaskDigest: digest, Agent: agent})
		}
	}
	return r
}

// TestGatesFromPlanToVerdict walks a plan through attach: who may do what, what is
// refused, and what is kept.
func TestGatesFromPlanToVerdict(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	col := w.submit(ada, "sample")
	plan := func(who protocol.Identity, o arena.PlanOptions) (dynamic.Plan, error) {
		return w.PlanGates(t.Context(), who, challenge, col.ID, o)
	}
	attach := func(who protocol.Identity, r dynamic.Results, dry bool) (protocol.Verdict, error) {
		return w.Attach(t.Context(), who, by(who), challenge, col.ID, r, dry)
	}
	versions := func() int { return len(must(w.VerdictHistory(t.Context(), col.ID, challenge))(t)) }

	_, err := plan(eve, arena.PlanOptions{})
	wantError(t, err, protocol.ErrNotAuthor)
	_, err = plan(ada, arena.PlanOptions{BandAttempts: 1})
	wantError(t, err, protocol.ErrInvalid)
	_, err = w.PlanGates(t.Context(), ada, "none", col.ID, arena.PlanOptions{})
	wantError(t, err, protocol.ErrNoChallenge)
	_, err = w.PlanGates(t.Context(), ada, challenge, "env-000000000000", arena.PlanOptions{})
	wantError(t, err, protocol.ErrNoCollection)

	p := must(plan(ada, arena.PlanOptions{}))(t)
	again := must(plan(editor, arena.PlanOptions{}))(t)
	if p.Digest != again.Digest || !p.Intact() || len(p.Tasks) != 8 || p.Steps() != 8*20 || p.Revision != col.Source.Revision || p.Harness.Model != "vllm/Qwen/Qwen3.5-9B" {
		t.Fatalf("plan %+v, again %s", p.Target, again.Digest)
	}
	for _, task := range p.Tasks {
		if task.ContentHash != col.Static.TaskIdentity[task.Name].ContentHash || task.Digest == "" || task.NoopDigest == task.Digest || !task.Oracle {
			t.Errorf("%+v", task.Task)
		}
	}

	r := trialsOf(p)
	_, err = attach(ada, r, false)
	wantError(t, err, protocol.ErrEditorOnly)
	for name, c := range map[string]struct {
		change func(*dynamic.Results)
		want   *protocol.Error
		says   string
	}{
		"another commit":   {func(r *dynamic.Results) { r.PlanDigest, r.Revision = "sha256:x", "main" }, protocol.ErrPlanChanged, `of the commit "main"`},
		"other gates":      {func(r *dynamic.Results) { r.PlanDigest, r.GateSet = "sha256:x", "gates-v1" }, protocol.ErrPlanChanged, `the gates "gates-v1"`},
		"another policy":   {func(r *dynamic.Results) { r.PlanDigest, r.PolicyDigest = "sha256:x", "" }, protocol.ErrPlanChanged, "policy"},
		"other tasks":      {func(r *dynamic.Results) { r.PlanDigest = "sha256:x" }, protocol.ErrPlanChanged, "The tasks"},
		"other options":    {func(r *dynamic.Results) { r.Options.ControlsReruns = 7 }, protocol.ErrPlanChanged, ""},
		"no options":       {func(r *dynamic.Results) { r.Options = dynamic.Options{} }, protocol.ErrInvalid, "controls_reruns"},
		"a ninth rerun":    {func(r *dynamic.Results) { r.Trials[0].Number = 9 }, protocol.ErrInvalid, "trials[0] is not a step"},
		"a trial too many": {func(r *dynamic.Results) { r.Trials = append(r.Trials, r.Trials[0]) }, protocol.ErrInvalid, "trials[160] is a second trial"},
	} {
		t.Run(name, func(t *testing.T) {
			bad := r
			bad.Trials = slices.Clone(r.Trials)
			c.change(&bad)
			_, err := attach(editor, bad, false)
			if e := wantError(t, err, c.want); !strings.Contains(e.Detail, c.says) {
				t.Errorf("%s; want %q", e.Detail, c.says)
			}
		})
	}
	if n := versions(); n != 0 {
		t.Fatalf("refused results made %d versions", n)
	}

	dry := must(attach(editor, r, true))(t)
	if n := protocol.CountDecisions(dry.Tasks); n[protocol.TaskAccepted] != 8 || dry.Version != 1 || versions() != 0 {
		t.Fatalf("dry run: %v, version %d, %d stored", n, dry.Version, versions())
	}
	last := must(w.LastEvent(t.Context()))(t)

	// Two tasks lost runs; the second results hold only one of them.
	open := r
	open.Trials = slices.DeleteFunc(slices.Clone(r.Trials), func(tr dynamic.Trial) bool {
		return (tr.Task == "contact-merge" || tr.Task == "template-filler") && tr.Gate == dynamic.Oracle && tr.Number == 8
	})
	first := must(attach(editor, open, false))(t)
	if n := protocol.CountDecisions(first.Tasks); n[protocol.TaskInconclusive] != 2 || n[protocol.TaskAccepted] != 6 {
		t.Errorf("first: %v", n)
	}
	if e := must(w.Events(t.Context(), last, 10))(t); len(e) != 1 || e[0].Kind != protocol.EventVerdict || e[0].Collection != col.ID {
		t.Errorf("events %+v", e)
	}
	audit, _, err := w.Audit(t.Context(), protocol.Page{Limit: 1})
	if err != nil || audit[0].Action != "attach" || audit[0].Actor != "olga" {
		t.Errorf("audit %+v, %v", audit, err)
	}
	part := r
	part.Trials = slices.DeleteFunc(slices.Clone(r.Trials), func(tr dynamic.Trial) bool { return tr.Task != "contact-merge" })
	second := must(attach(editor, part, false))(t)
	if n := protocol.CountDecisions(second.Tasks); second.Version != 2 || n[protocol.TaskInconclusive] != 1 || n[protocol.TaskAccepted] != 7 {
		t.Errorf("second: version %d, %v", second.Version, n)
	}
	if second.Revision != col.Source.Revision || second.GateSet != p.GateSet || second.PolicyDigest != p.PolicyDigest || second.Options.ControlsReruns != 8 {
		t.Errorf("the verdict is bound to %+v", second)
	}

	// What was decided for another plan is not carried over.
	short := must(plan(editor, arena.PlanOptions{ControlsReruns: 1}))(t)
	third := trialsOf(short)
	third.Trials = nil
	if v := must(attach(editor, third, false))(t); v.Version != 3 || protocol.CountDecisions(v.Tasks)[protocol.TaskInconclusive] != 8 {
		t.Errorf("third: version %d, %v", v.Version, protocol.CountDecisions(v.Tasks))
	}
	history := must(w.VerdictHistory(t.Context(), col.ID, challenge))(t)
	if len(history) != 3 || history[0].Version != 3 || history[2].Version != 1 || protocol.CountDecisions(history[2].Tasks)[protocol.TaskAccepted] != 6 {
		t.Errorf("history %+v", history)
	}
}

// TestTwoEditorsAttachAtOnce has several editors attach one task each at the same
// time. Each result is carried on by those after it, whatever their order.
func TestTwoEditorsAttachAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	col := w.submit(ada, "sample")
	p := must(w.PlanGates(t.Context(), editor, challenge, col.ID, arena.PlanOptions{ControlsReruns: 1}))(t)
	r := trialsOf(p)
	var editors sync.WaitGroup
	for _, task := range p.Tasks {
		part := r
		part.Trials = slices.DeleteFunc(slices.Clone(r.Trials), func(tr dynamic.Trial) bool { return tr.Task != task.Name })
		editors.Go(func() {
			if _, err := w.Attach(t.Context(), editor, by(editor), challenge, col.ID, part, false); err != nil {
				t.Error(err)
			}
		})
	}
	editors.Wait()
	history := must(w.VerdictHistory(t.Context(), col.ID, challenge))(t)
	if len(history) != len(p.Tasks) {
		t.Fatalf("%d versions", len(history))
	}
	for i, v := range history {
		if n := protocol.CountDecisions(v.Tasks)[protocol.TaskAccepted]; v.Version != len(history)-i || n != v.Version {
			t.Errorf("version %d has %d accepted tasks", v.Version, n)
		}
	}
}
