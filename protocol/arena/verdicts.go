package arena

import (
	"context"
	"errors"
	"fmt"

	"github.com/posttrainarena/arena/gates"
	"github.com/posttrainarena/arena/gates/dynamic"
	"github.com/posttrainarena/arena/gates/task"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/hub"
)

// PlanOptions are what somebody asks of a plan. Zero counts and nil mean the
// arena's own.
type PlanOptions struct {
	ControlsReruns int
	BandAttempts   int
	RequireOracle  *bool
}

// PlanGates derives the plan of a collection's dynamic gates for a challenge from
// the files at its pinned commit. It stores nothing and runs nothing: the same
// collection, options and challenge always give the same plan.
func (s *Service) PlanGates(ctx context.Context, who protocol.Identity, challenge, collection string, o PlanOptions) (dynamic.Plan, error) {
	c, col, err := s.gatesOf(ctx, challenge, collection)
	if err != nil {
		return dynamic.Plan{}, err
	}
	if !who.MayAct(col.Author) {
		return dynamic.Plan{}, protocol.ErrNotAuthor
	}
	options := dynamic.Options{ControlsReruns: dynamic.DefaultReruns, BandAttempts: dynamic.DefaultAttempts, RequireOracle: s.Gates.RequireOracle}
	if o.ControlsReruns != 0 {
		options.ControlsReruns = o.ControlsReruns
	}
	if o.BandAttempts != 0 {
		options.BandAttempts = o.BandAttempts
	}
	if o.RequireOracle != nil {
		options.RequireOracle = *o.RequireOracle
	}
	return s.plan(ctx, c, col, options)
}

// gatesOf finds a challenge and a collection that can be judged for it.
func (s *Service) gatesOf(ctx context.Context, challenge, collection string) (protocol.Challenge, protocol.Collection, error) {
	c, err := s.Challenge(challenge)
	if err != nil {
		return c, protocol.Collection{}, err
	}
	col, err := s.Collection(ctx, collection)
	return c, col, err
}

// plan reads the collection at its commit, runs the static gates on it as they
// are now, and plans what they leave eligible.
func (s *Service) plan(ctx context.Context, c protocol.Challenge, col protocol.Collection, o dynamic.Options) (dynamic.Plan, error) {
	if bad := protocol.CheckGateOptions(protocol.GateOptions(o)); len(bad) > 0 {
		return dynamic.Plan{}, protocol.ErrInvalid.Detailf("The gates cannot be planned so: %s %s.", bad[0].Field, bad[0].Message).WithFields(bad...)
	}
	snapshot, err := s.open(ctx, Submission{Source: col.Source})
	if err != nil {
		return dynamic.Plan{}, err
	}
	p, err := s.planFiles(snapshot, c, col, o)
	return p, errors.Join(err, snapshot.Release())
}

func (s *Service) planFiles(snapshot *hub.Snapshot, c protocol.Challenge, col protocol.Collection, o dynamic.Options) (dynamic.Plan, error) {
	tree, err := task.NewTree(snapshot.Files, taskEntries(snapshot.Entries), s.Limits)
	if err != nil {
		return dynamic.Plan{}, protocol.ErrInvalidSource.Detailf("The files of %s are refused now: %s.", col.ID, err)
	}
	packages, _ := task.ReadCollection(tree, col.Source.EntryPath, s.Limits)
	opts := s.Gates
	opts.Defaults, opts.RequireOracle = packages.Submission.Defaults, o.RequireOracle
	rep := gates.Against(packages.Packages, s.sealedIndex, opts)
	tasks, err := dynamic.Tasks(rep, packages.Packages)
	if err != nil {
		return dynamic.Plan{}, fmt.Errorf("plan the gates of %s: %w", col.ID, err)
	}
	if len(tasks) == 0 {
		return dynamic.Plan{}, protocol.ErrNoEligible.Detailf("The static gates leave no task of %s to plan for.", col.ID)
	}
	return dynamic.New(dynamic.Target{
		EnvironmentID: col.ID, ChallengeID: c.ID, RepoType: string(col.Source.RepoType), RepoID: col.Source.RepoID, Revision: col.Source.Revision,
		EntryPath: col.Source.EntryPath, GateSet: rep.GateSet, GateVersion: rep.Version, PolicyDigest: rep.PolicyDigest, Sandbox: c.Recipe.Sandbox,
	}, o, harness(c), tasks), nil
}

// harness is how the challenge's base model attempts tasks before training.
func harness(c protocol.Challenge) dynamic.Harness {
	return dynamic.Harness{
		Agent: c.Recipe.Harness.Agent, Model: "vllm/" + c.BaseModel.RepoID, ModelRevision: c.BaseModel.Revision,
		MaxContext: c.Recipe.TrainContext, AgentTimeoutSecs: c.Recipe.Harness.AgentTimeoutSecs,
	}
}

// Attach judges the results of a collection's dynamic gates and stores the
// verdict as its next version. The plan is derived again from the pinned commit:
// results of another plan are refused with protocol.ErrPlanChanged, naming what
// differs. Tasks without a trial in the results keep what the version before
// decided for the same plan, so that a rerun may hold only the open part. With
// dryRun the same judgement is made and nothing is stored.
func (s *Service) Attach(ctx context.Context, who protocol.Identity, by protocol.Actor, challenge, collection string, r dynamic.Results, dryRun bool) (protocol.Verdict, error) {
	c, col, err := s.gatesOf(ctx, challenge, collection)
	if err != nil {
		return protocol.Verdict{}, err
	}
	if !who.Editor {
		return protocol.Verdict{}, protocol.ErrEditorOnly
	}
	p, err := s.plan(ctx, c, col, r.Options)
	if err != nil {
		return protocol.Verdict{}, err
	}
	if err := samePlan(p, r); err != nil {
		return protocol.Verdict{}, err
	}
	if bad := strayTrials(p, r.Trials); len(bad) > 0 {
		return protocol.Verdict{}, protocol.ErrInvalid.Detailf("The results cannot be judged: %s %s.", bad[0].Field, bad[0].Message).WithFields(bad...)
	}
	judged, tried := taskVerdicts(dynamic.Judge(p, r.Trials)), map[string]bool{}
	for _, t := range r.Trials {
		tried[t.Task] = true
	}
	v := protocol.Verdict{
		Collection: col.ID, Challenge: c.ID, PlanDigest: p.Digest, Revision: p.Revision, GateSet: p.GateSet, PolicyDigest: p.PolicyDigest,
		Options: protocol.GateOptions(p.Options),
	}
	for try := 1; ; try++ {
		before, err := s.Verdict(ctx, collection, challenge)
		earlier := &before
		switch {
		case errors.Is(err, protocol.ErrNotFound):
			earlier = nil
		case err != nil:
			return protocol.Verdict{}, err
		}
		v.Version, v.Tasks = before.Version+1, protocol.CarryVerdicts(judged, tried, p.Digest, earlier)
		if dryRun {
			v.AttachedBy, v.AttachedAt = who.Name, s.now()
			return v, nil
		}
		stored, err := s.Store.AttachVerdict(ctx, by, v)
		switch {
		case err == nil:
			s.attached(stored)
			return stored, nil
		case !errors.Is(err, protocol.ErrVerdictMoved) || try == attachTries:
			return protocol.Verdict{}, err
		}
	}
}

// attachTries is how often a verdict is judged on top of the newest one, when
// others are being attached at the same time.
const attachTries = 10

// attached lets it be known that a verdict was stored.
func (s *Service) attached(v protocol.Verdict) {
	s.events.wake()
	n := protocol.CountDecisions(v.Tasks)
	s.Logger.Info("gate results attached", "collection", v.Collection, "challenge", v.Challenge, "version", v.Version,
		"accepted", n[protocol.TaskAccepted], "rejected", n[protocol.TaskRejected], "inconclusive", n[protocol.TaskInconclusive])
}

// samePlan refuses results that were made for another plan than the one that the
// collection has now, and says what differs.
func samePlan(p dynamic.Plan, r dynamic.Results) error {
	if r.PlanDigest == p.Digest {
		return nil
	}
	why := "The tasks, the challenge or the plan's form differ."
	switch {
	case r.Revision != p.Revision:
		why = fmt.Sprintf("They are of the commit %q, and the collection is pinned to %s.", cut(r.Revision), p.Revision)
	case r.GateSet != p.GateSet || r.GateVersion != p.GateVersion:
		why = fmt.Sprintf("They were planned with the gates %q %q, and this arena has %s %s.", cut(r.GateSet), cut(r.GateVersion), p.GateSet, p.GateVersion)
	case r.PolicyDigest != p.PolicyDigest:
		why = "The policy of the static gates has changed since."
	}
	return protocol.ErrPlanChanged.Detailf("The results were made for the plan %q, but the plan is %s now. %s Plan again and run what differs.", cut(r.PlanDigest), p.Digest, why)
}

// cut bounds what an error repeats of a request.
func cut(s string) string {
	if r := []rune(s); len(r) > 80 {
		return string(r[:80]) + "…"
	}
	return s
}

// strayTrials finds trials that the plan does not ask for, or that are there twice.
func strayTrials(p dynamic.Plan, trials []dynamic.Trial) []protocol.FieldError {
	type key struct {
		task string
		gate dynamic.Gate
		n    int
	}
	left := map[key]int{}
	for _, t := range p.Tasks {
		for _, s := range t.Steps {
			left[key{t.Name, s.Gate, s.Number}] = 1
		}
	}
	var bad []protocol.FieldError
	for i, t := range trials {
		k := key{t.Task, t.Gate, t.Number}
		switch n, planned := left[k]; {
		case !planned:
			bad = append(bad, protocol.FieldError{Field: fmt.Sprintf("trials[%d]", i), Message: "is not a step of the plan"})
		case n == 0:
			bad = append(bad, protocol.FieldError{Field: fmt.Sprintf("trials[%d]", i), Message: "is a second trial of one step"})
		default:
			left[k] = 0
		}
		if len(bad) == maxWarnings {
			break
		}
	}
	return bad
}

// taskVerdicts are the gates' verdicts as the arena keeps them.
func taskVerdicts(all []dynamic.Verdict) []protocol.TaskVerdict {
	out := make([]protocol.TaskVerdict, len(all))
	for i, v := range all {
		out[i] = protocol.TaskVerdict{Task: v.Task, Decision: protocol.Decision(v.Decision), Reasons: v.Reasons, BandPassRate: v.PassRate}
		for _, g := range v.Gates {
			out[i].Gates = append(out[i].Gates, protocol.GateOutcome{
				Gate: string(g.Gate), Decision: protocol.Decision(g.Decision), Planned: g.Planned, Passed: g.Passed, Failed: g.Failed, Open: g.Open, Reason: g.Reason,
			})
		}
	}
	return out
}
