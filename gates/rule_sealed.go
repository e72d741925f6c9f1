package gates

import (
	"strings"

	"github.com/posttrainarena/arena/gates/overlap"
	"github.com/posttrainarena/arena/gates/report"
)

// nearCopy is the containment from which a prompt counts as a copy (PROTOCOL §6).
const nearCopy = 0.5

// sealedHits is all that is kept of a comparison with the sealed suites. That it cannot say which sealed task
// matched, or how much, is deliberate: nothing after this point could leak it.
type sealedHits struct {
	copies      bool // near-copy of an evaluated prompt
	shares      bool // a gram in common with an evaluated prompt
	unevaluated bool // a gram in common with one outside the evaluated subset
}

func sealedOverlaps(sealed *overlap.Index, prompts []string) []sealedHits {
	hits := make([]sealedHits, len(prompts))
	sealed.Compare(prompts, func(p int, m overlap.Match) {
		switch h := &hits[p]; {
		case !m.Evaluated:
			h.unevaluated = true
		case m.Containment >= nearCopy:
			h.copies = true
		default:
			h.shares = true
		}
	})
	return hits
}

// sealedName compares the directory's name and the last part of task.name with the evaluated sealed tasks.
func sealedName(b *batch, s *subject) []report.Finding {
	const message = "the name is that of a task in an evaluated sealed suite"
	if b.sealed.HasName(s.Name) {
		return s.one("sealed-name", "", 0, message)
	}
	declared, line := s.TaskName()
	if last := declared[strings.LastIndex(declared, "/")+1:]; last != "" && b.sealed.HasName(last) {
		return s.one("sealed-name", s.PromptPath, line, message)
	}
	return nil
}

// sealedText reports the strongest kind of shared text with evaluated prompts, and separately the one with others.
// The place is the prompt as a whole: the line of the shared words would tell what is sealed.
func sealedText(b *batch, s *subject) []report.Finding {
	var found []report.Finding
	hits := b.hits[s.index]
	switch {
	case hits.copies:
		found = s.one("sealed-near-copy", s.PromptPath, s.PromptLine, "the prompt is a near-copy of a task in an evaluated sealed suite")
	case hits.shares:
		found = s.one("sealed-overlap", s.PromptPath, s.PromptLine, "the prompt shares a sequence of 13 words with a task in an evaluated sealed suite")
	}
	if hits.unevaluated {
		found = append(found, s.finding("sealed-overlap-unevaluated", s.PromptPath, s.PromptLine, "the prompt shares a sequence of 13 words with a sealed task that is not evaluated at present"))
	}
	return found
}
