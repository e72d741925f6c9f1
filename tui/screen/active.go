package screen

import (
	"fmt"
	"strings"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/tui/look"
	"github.com/posttrainarena/arena/tui/widget/gauge"
	"github.com/posttrainarena/arena/tui/widget/timeline"
)

// budgetHeight is the number of budgetRows.
const budgetHeight = 4

// budgetRows are the budget with a blank row below.
func budgetRows(w World, width int) []string {
	b, ok := Read(w.Data, BudgetQuery())
	var notes []cell
	if b.Simulated {
		notes = append(notes, cell{"simulated: nothing is spent", look.Note})
	}
	if other := b.CommittedUSD - b.ReservedUSD - b.SettledUSD; other > 0 {
		notes = append(notes, cell{strings.Repeat(" ", min(len(notes), 1)*2) + dollars(other) + " of it outside of runs", look.Dim})
	}
	rows := []string{heading(w.Theme, width, "Budget", notes...)}
	if !ok {
		return append(rows, emptyLine(w, []Key{BudgetQuery().Key}, false, ""), "", "")
	}
	// What is committed beyond live reservations is spent, whoever recorded it.
	g := gauge.New(gauge.WithASCII(w.Theme.ASCII()), gauge.WithStyles(gaugeStyles(w.Theme)), gauge.WithFormat(func(n int64) string { return dollars(protocol.Micros(n)) }))
	g.SetSize(width, 2)
	g.SetAmounts(gauge.Amounts{Settled: int64(b.CommittedUSD - b.ReservedUSD), Reserved: int64(b.ReservedUSD), Cap: int64(b.CapUSD)})
	return append(append(rows, strings.Split(g.View(), "\n")...), "")
}

func gaugeStyles(t look.Theme) gauge.Styles {
	return gauge.Styles{Settled: t.Style(look.Accent), Reserved: t.Style(look.Warn), Remaining: t.Style(look.Faint), Over: t.Style(look.Bad), Legend: t.Style(look.Plain)}
}

// activeHeight is the number of activeRows.
func activeHeight(w World, stages bool) int {
	switch _, active := activeRun(w.Data); {
	case !active:
		return 3
	case stages:
		return 3 + len(protocol.Stages())
	default:
		return 4
	}
}

// activeRows are the active run with a blank row below.
func activeRows(w World, width int, stages bool) []string {
	t := w.Theme
	r, ok := activeRun(w.Data)
	if !ok {
		return []string{heading(t, width, "Active run"), idleLine(w, width), ""}
	}
	who := team(collectionsByID(w.Data), r.EnvironmentID, r.Author)
	rows := []string{
		heading(t, width, "Active run", runMark(t, r).cell()),
		ends(t, width, []cell{{who, look.Strong}, {" on " + r.ChallengeID + " ", look.Plain}, {shortID(r.RunID), look.Dim}},
			[]cell{{"  " + elapsed(w, r) + " of at most " + span(time.Duration(r.TimeoutSeconds)*time.Second) + ", reserved " + dollars(r.MaxComputeUSD), look.Dim}}),
	}
	tl := stageTimeline(w, r)
	if stages {
		tl.SetSize(width, len(protocol.Stages()))
		return append(append(rows, strings.Split(tl.View(), "\n")...), "")
	}
	return append(rows, tl.Compact(width), "")
}

// idleLine says whether a run could start.
func idleLine(w World, width int) string {
	for _, c := range challenges(w.Data) {
		if c.Health != nil && c.Health.AcceptingRuns {
			return line(w.Theme, width, cell{"None. " + c.ID + " would take one.", look.Dim})
		}
	}
	return line(w.Theme, width, cell{"None.", look.Dim})
}

// elapsed is how long a run has been going.
func elapsed(w World, r api.Run) string {
	if r.StartedAt == nil {
		return "not begun"
	}
	return coarse(or1(r.EndedAt, w.Now).Sub(*r.StartedAt))
}

// stageTimeline is the stages of a run beside what they usually take.
func stageTimeline(w World, r api.Run) timeline.Model {
	t := w.Theme
	tl := timeline.New(timeline.WithASCII(t.ASCII()), timeline.WithStyles(timeline.Styles{
		Waiting: t.Style(look.Faint), Running: t.Style(look.Accent), Done: t.Style(look.Good), Failed: t.Style(look.Bad), Stopped: t.Style(look.Warn), Skipped: t.Style(look.Dim),
		Name: t.Style(look.Plain), Duration: t.Style(look.Plain), Reference: t.Style(look.Dim), Note: t.Style(look.Dim),
	}))
	tl.SetStages(stagesOf(w, r))
	return tl
}

// stagesOf is every stage of a run as far as it is.
func stagesOf(w World, r api.Run) []timeline.Stage {
	usual := medianStages(w.Data, r.ChallengeID)
	seen := map[protocol.Stage]protocol.StageProgress{}
	last := protocol.Stage("")
	for _, p := range r.Stages {
		seen[p.Stage] = p
		last = p.Stage
	}
	var all []timeline.Stage
	for _, stage := range protocol.Stages() {
		s := timeline.Stage{Name: string(stage), Reference: usual[stage]}
		p, begun := seen[stage]
		switch {
		case stage == protocol.StageCollect:
			s.State = collectState(r)
		case !begun && r.State.Ended():
			s.State = timeline.Skipped
		case !begun:
			s.State = timeline.Waiting
		case stage == last && r.State == protocol.RunFailed:
			s.State = timeline.Failed
		case stage == last && r.State == protocol.RunCanceled:
			s.State = timeline.Stopped
		case p.EndedAt == nil && !r.State.Ended():
			s.State = timeline.Running
		default:
			s.State = timeline.Done
		}
		if begun && p.StartedAt != nil {
			s.Took = stageTook(w, r, p)
			s.Note = stageCounts(w.Theme, p)
		}
		all = append(all, s)
	}
	return all
}

// stageTook is how long a stage took, until now while it runs, in whole minutes
// then, so that the screen moves once a minute.
func stageTook(w World, r api.Run, p protocol.StageProgress) time.Duration {
	if p.EndedAt != nil {
		return p.EndedAt.Sub(*p.StartedAt)
	}
	took := or1(r.EndedAt, w.Now).Sub(*p.StartedAt)
	if took > time.Minute && !r.State.Ended() {
		return took.Truncate(time.Minute)
	}
	return took
}

func collectState(r api.Run) timeline.State {
	switch {
	case collected(&r):
		return timeline.Done
	case r.State == protocol.RunFailed, r.State == protocol.RunCanceled:
		return timeline.Skipped
	default:
		return timeline.Waiting
	}
}

// stageCounts is what came of a stage's tasks.
func stageCounts(t look.Theme, p protocol.StageProgress) string {
	if p.Total == 0 {
		return ""
	}
	note := fmt.Sprintf("%d/%d  %s%d %s%d", p.Done, p.Total, t.Done, p.Passed, t.Failed, p.Failed)
	if p.Timeouts > 0 {
		note += fmt.Sprintf(" %s%d", t.TimedOut, p.Timeouts)
	}
	if p.Errors > 0 {
		note += fmt.Sprintf(" %s%d", t.Alarm, p.Errors)
	}
	return note
}
