package gates

import (
	"fmt"

	"github.com/posttrainarena/arena/gates/overlap"
	"github.com/posttrainarena/arena/gates/report"
)

// Two prompts of one collection are near-copies from this containment, if they share at least so many grams: tasks of
// one author often share a frame of instructions, and a short prompt may differ in the one word that matters.
const (
	twinContainment = 0.8
	twinShared      = 30
)

// twin says which earlier task of the collection a task repeats, and how.
type twin struct {
	first int
	how   string
}

// findTwins compares the packages with each other. Subjects are sorted by name, so the first of several duplicates is
// the one that stays unmarked.
func findTwins(subjects []*subject, prompts []string) []*twin {
	twins := make([]*twin, len(subjects))
	for _, p := range overlap.Pairs(prompts, twinContainment, twinShared) {
		how := "the prompt is nearly that of"
		if p.Same {
			how = "the prompt has the same words as that of"
		}
		twins[p.Second] = &twin{p.First, how}
	}
	seen := map[string]int{}
	for i, s := range subjects {
		if first, ok := seen[s.hash]; ok {
			twins[i] = &twin{first, "all files are the same as those of"}
		} else {
			seen[s.hash] = i
		}
	}
	return twins
}

// duplicateTask marks every duplicate but the first. Names of the author's own tasks are no secret.
func duplicateTask(b *batch, s *subject) []report.Finding {
	t := b.twins[s.index]
	if t == nil {
		return nil
	}
	return s.one("duplicate-task", s.PromptPath, s.PromptLine, fmt.Sprintf("%s task %s", t.how, b.subjects[t.first].Name))
}
