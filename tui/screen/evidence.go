package screen

import (
	"fmt"
	"math"
	"strings"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/tui/look"
)

// verdictOf is what a machine says about one piece of evidence.
type verdictOf int

const (
	holds   verdictOf = iota
	doubt             // a person should look
	breaks            // the result should not stand on this
	unknown           // cannot be told from here
)

// evidence is one checked statement about a result.
type evidence struct {
	verdict verdictOf
	name    string
	detail  string
}

// mark is the verdict as a shape and a word.
func (e evidence) mark(t look.Theme) mark {
	switch e.verdict {
	case holds:
		return mark{t.Done, "holds", look.Good}
	case doubt:
		return mark{t.Alarm, "look", look.Warn}
	case breaks:
		return mark{t.Failed, "fails", look.Bad}
	default:
		return mark{t.Absent, "open", look.Dim}
	}
}

// judge is a verdict of two.
func judge(ok bool, otherwise verdictOf) verdictOf {
	if ok {
		return holds
	}
	return otherwise
}

// evidenceOf checks everything about a result that a machine can, from what the
// arena answers about it: the result itself, the run's own log, the challenge,
// and the static gates of its collection.
func evidenceOf(d *Data, r api.Run, res api.Result) []evidence {
	list := []evidence{coverage(res), recomputed(res), effective(res), isolated(r), logAgrees(r, res)}
	list = append(list, infraErrors(d, r, res), timeouts(res))
	for _, note := range res.Notes {
		list = append(list, evidence{doubt, "oddity", note})
	}
	if e, ok := baseAgrees(d, res); ok {
		list = append(list, e)
	}
	list = append(list, gatesOf(d, r))
	if e, ok := useful(d, r); ok {
		list = append(list, e)
	}
	return list
}

func coverage(res api.Result) evidence {
	cells := res.PairedCells + res.ExcludedCells
	want := res.NTasks * max(res.Trials, 1)
	return evidence{
		judge(cells == want && want > 0, breaks), "coverage",
		fmt.Sprintf("%s of %s in %s, before and after", counted(cells, "cell"), fmt.Sprint(want), counted(max(res.Trials, 1), "trial")),
	}
}

func recomputed(res api.Result) evidence {
	if res.ReportAgrees == "" {
		return evidence{doubt, "recomputation", "the arena did not say how the pipeline's report counts"}
	}
	return evidence{holds, "recomputation", "the pipeline's report agrees with the per-task outcomes, counted as " + wayOf(res.ReportAgrees)}
}

// wayOf explains how the pipeline's report counts.
func wayOf(agrees string) string {
	switch agrees {
	case "all-tasks":
		return "passes of all tasks"
	case "without-errors":
		return "passes of the tasks without an infrastructure error, as older pipelines do"
	case "score_v2":
		return "passes cell by cell, suite for suite"
	default:
		return agrees
	}
}

func effective(res api.Result) evidence {
	switch {
	case !res.GRPORan:
		return evidence{breaks, "training", "GRPO did not run, so the change is noise"}
	case !res.GRPOEffectiveUpdate:
		return evidence{breaks, "training", "GRPO ran without an effective update, so the change is noise"}
	default:
		return evidence{holds, "training", "GRPO ran and made an effective update"}
	}
}

// isolated reads the stage order: the pipeline compares training with held-out
// tasks at the end of the snapshot, and goes on only when they are apart.
func isolated(r api.Run) evidence {
	passed := false
	for _, s := range r.Stages {
		if s.Stage.Index() > protocol.StageSnapshot.Index() {
			passed = true
		}
	}
	if !passed {
		return evidence{unknown, "isolation", "the log does not show that training and held-out tasks were compared"}
	}
	return evidence{holds, "isolation", "training and held-out tasks were compared before the first measurement"}
}

// logAgrees compares the passes that the log counted with the result's.
func logAgrees(r api.Run, res api.Result) evidence {
	var passes []string
	for _, side := range []struct {
		stage protocol.Stage
		rate  float64
		name  string
	}{{protocol.StageBaseline, res.BaselinePassRate, "before"}, {protocol.StageHeldout, res.AfterPassRate, "after"}} {
		p, ok := stageOf(r, side.stage)
		if !ok || p.Done == 0 || p.Done != res.NTasks*max(res.Trials, 1) {
			return evidence{unknown, "log and files", "the log does not count every held-out task, so there is nothing to compare"}
		}
		if want := side.rate * float64(p.Done); math.Abs(want-float64(p.Passed)) > 0.5 && res.ExcludedCells == 0 {
			return evidence{doubt, "log and files", fmt.Sprintf("%s: the log counts %d passes, the files %.0f", side.name, p.Passed, want)}
		}
		passes = append(passes, fmt.Sprintf("%d passes %s", p.Passed, side.name))
	}
	return evidence{holds, "log and files", strings.Join(passes, " and ") + ", in the log as in the uploaded outcomes"}
}

func stageOf(r api.Run, stage protocol.Stage) (protocol.StageProgress, bool) {
	for _, s := range r.Stages {
		if s.Stage == stage {
			return s, true
		}
	}
	return protocol.StageProgress{}, false
}

func infraErrors(d *Data, r api.Run, res api.Result) evidence {
	n := res.NTasks * max(res.Trials, 1)
	detail := fmt.Sprintf("errors: %d before and %d after of %d; %d left out of the comparison", res.Errors.Baseline, res.Errors.Posttrain, n, res.ExcludedCells)
	tolerated := n
	for _, c := range challenges(d) {
		if c.ID == r.ChallengeID {
			tolerated = protocol.Tolerated(c.Recipe.MaxErrorFraction, n)
			detail += fmt.Sprintf("; %d are tolerated", tolerated)
		}
	}
	worst := max(res.Errors.Baseline, res.Errors.Posttrain)
	if worst > tolerated {
		return evidence{breaks, "infrastructure", detail}
	}
	return evidence{judge(worst == 0, doubt), "infrastructure", detail}
}

// timeouts are failures of the model, but many more on one side are often the
// platform's.
func timeouts(res api.Result) evidence {
	n := res.NTasks * max(res.Trials, 1)
	diff := max(res.Timeouts.Baseline-res.Timeouts.Posttrain, res.Timeouts.Posttrain-res.Timeouts.Baseline)
	return evidence{
		judge(diff*4 <= max(n, 1), doubt), "timeouts",
		fmt.Sprintf("%d before, %d after of %d; they are failures, and a difference of more than %d is often the platform's", res.Timeouts.Baseline, res.Timeouts.Posttrain, n, n/4),
	}
}

// baseAgrees compares the run's own measurement of the base model with the
// organizers'.
func baseAgrees(d *Data, res api.Result) (evidence, bool) {
	for _, c := range challenges(d) {
		if c.ID != res.ChallengeID || c.Baseline == nil || res.NTasks == 0 {
			continue
		}
		own := 100 * math.Sqrt(res.BaselinePassRate*(1-res.BaselinePassRate)/float64(res.NTasks*max(res.Trials, 1)))
		gap := 100 * (res.BaselinePassRate - c.Baseline.PassRate)
		limit := 2 * math.Hypot(own, c.Baseline.StderrPP)
		return evidence{
			judge(math.Abs(gap) <= max(limit, 1), doubt), "base model",
			fmt.Sprintf("%s here, %s measured by the organizers; %.1f pp apart, %.1f is within noise", percent(res.BaselinePassRate), percent(c.Baseline.PassRate), math.Abs(gap), limit),
		}, true
	}
	return evidence{}, false
}

func gatesOf(d *Data, r api.Run) evidence {
	g, ok := Read(d, GatesQuery(r.ChallengeID, r.EnvironmentID))
	if !ok {
		return evidence{unknown, "gates", "not read yet"}
	}
	s := g.Static.Summary
	detail := fmt.Sprintf("%d of %s eligible, %d for a person to look at", s.Eligible, counted(s.Tasks, "task"), s.Review)
	switch {
	case s.Blocked > 0:
		return evidence{breaks, "gates", fmt.Sprintf("%s blocked as copies of sealed tasks", counted(s.Blocked, "task"))}
	case g.Verdict == nil && s.NeedsControls > 0:
		need := "need"
		if s.NeedsControls == 1 {
			need = "needs"
		}
		return evidence{doubt, "gates", fmt.Sprintf("%s; %d %s controls, and no gate results are attached", detail, s.NeedsControls, need)}
	case g.Verdict == nil:
		return evidence{holds, "gates", detail + "; no gate results are attached"}
	default:
		n := map[protocol.Decision]int{}
		for _, v := range g.Verdict.Tasks {
			n[v.Decision]++
		}
		return evidence{
			judge(n[protocol.TaskRejected] == 0, doubt), "gates",
			fmt.Sprintf("%s; attached: %d accepted, %d rejected, %d inconclusive", detail, n[protocol.TaskAccepted], n[protocol.TaskRejected], n[protocol.TaskInconclusive]),
		}
	}
}

// useful is how much the training could have taught.
func useful(d *Data, r api.Run) (evidence, bool) {
	a, ok := Read(d, AttemptsQuery(r.ChallengeID, r.RunID))
	if !ok || a.Forecast == nil || len(a.Forecast.Tasks) == 0 {
		return evidence{}, false
	}
	f := a.Forecast
	return evidence{
		judge(f.Useful >= 0.1, doubt), "forecast",
		fmt.Sprintf("%s of groups of %d can be expected to carry a gradient, on %.1f of %s", percent(f.Useful), f.Group, f.UsefulTasks, counted(len(f.Tasks), "task")),
	}, true
}

// draftNote is a factual note for a decision, from what was checked. A person
// edits it, or confirms it as it stands. It is empty for a rejection that nothing
// in the evidence speaks for: its reason is known to that person only.
func draftNote(list []evidence, res api.Result, accept bool) string {
	var good, bad []string
	for _, e := range list {
		switch e.verdict {
		case holds:
			good = append(good, e.name)
		case doubt, breaks:
			bad = append(bad, e.name+": "+e.detail)
		}
	}
	note := fmt.Sprintf("Change %+.2f pp over %s, recomputed from per-task outcomes.", res.DeltaPP, counted(res.NTasks, "task"))
	switch {
	case accept && len(bad) == 0:
		return note + " Checked and holding: " + strings.Join(good, ", ") + "."
	case accept:
		return note + " Checked and holding: " + strings.Join(good, ", ") + ". Looked at: " + strings.Join(bad, "; ") + "."
	case len(bad) == 0:
		return ""
	default:
		return note + " Not accepted because of " + strings.Join(bad, "; ") + "."
	}
}
