package joblog

import "github.com/posttrainarena/arena/protocol"

// Progress returns the timeline: every stage that began, with its counts, and
// the training curve. The counts of the training stage are of attempts at
// rollouts. Tasks that a resumed job had done before are counted as done, and as
// passed or failed once the evaluation's closing line told which.
func (s *State) Progress() protocol.Progress {
	p := protocol.Progress{Stages: []protocol.StageProgress{}, Training: s.steps.all(), Unrecognised: s.unknown}
	for i := range s.stages {
		if st := &s.stages[i]; st.seen {
			p.Stages = append(p.Stages, st.progress(stageID(i), s.total(stageID(i))))
		}
	}
	return p
}

func (st *stage) progress(id stageID, total int) protocol.StageProgress {
	resumed := min(st.resumed, max(0, total-st.Done()))
	passed := min(st.resumedPassed, resumed)
	failed := 0
	if passed > 0 || !st.ended.IsZero() {
		failed = resumed - passed
	}
	return protocol.StageProgress{
		Stage:     id.name(),
		StartedAt: timeRef(st.started),
		EndedAt:   timeRef(st.ended),
		Total:     total,
		Done:      st.Done() + resumed,
		Passed:    st.Passed + passed,
		Failed:    st.Failed + st.Timeouts + failed,
		Errors:    st.Errors,
		Timeouts:  st.Timeouts,
	}
}
