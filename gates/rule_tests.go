package gates

import (
	"fmt"
	"slices"

	"github.com/posttrainarena/arena/gates/pysyntax/pyfacts"
	"github.com/posttrainarena/arena/gates/report"
)

// weakTests judges all Python tests of the verifier together: one file that checks contents makes up for another that
// only looks whether it is there. An assertion whose failure a handler swallows is none.
func weakTests(_ *batch, s *subject) []report.Finding {
	var tests, exists, literal, strong int
	var first testFile
	files := s.testFiles()
	if slices.ContainsFunc(s.refused, func(f report.Finding) bool { return s.isTest(f.Path) }) {
		return nil // what cannot be read may check everything
	}
	for _, t := range files {
		tests += len(t.facts.Tests)
		if first.facts == nil && len(t.facts.Tests) > 0 {
			first = t
		}
		for _, test := range t.facts.Tests {
			if len(test.Unresolved) > 0 && !skipped(t.facts, test.Place) {
				strong++ // it may assert through a function that cannot be seen
			}
		}
		for _, a := range t.facts.Assertions {
			switch {
			case a.Swallowed, skipped(t.facts, a.Place):
			case a.Kind == pyfacts.Exists:
				exists++
			case a.Kind == pyfacts.Literal:
				literal++
			default:
				strong++
			}
		}
	}
	switch {
	case tests == 0 || strong > 0:
		return nil
	case exists > 0:
		return s.one("existence-only", first.path, first.facts.Tests[0].Line, assertions(exists+literal, "asks only whether a path exists", "ask only whether paths exist"))
	case literal > 0:
		return s.one("literal-only", first.path, first.facts.Tests[0].Line, assertions(literal, "compares constants with constants", "compare constants with constants"))
	default:
		return s.one("no-assertions", first.path, first.facts.Tests[0].Line, fmt.Sprintf("none of %s can fail on purpose", plural(tests, "test")))
	}
}

// assertions says of all assertions what each does.
func assertions(n int, one, many string) string {
	if n == 1 {
		return "the only assertion " + one
	}
	return fmt.Sprintf("all %d assertions %s", n, many)
}

// skipped reports whether a test is left before a place in it is reached, whatever happens.
func skipped(facts *pyfacts.Facts, at pyfacts.Place) bool {
	return at.In != "" && slices.ContainsFunc(facts.Skips, func(s pyfacts.Skip) bool {
		return s.Kind == "skip" && !s.Conditional && s.In == at.In && s.Line <= at.Line
	})
}

// chanceVerdict fires when an assertion depends on the current time or on unseeded random numbers. How long something
// takes is left alone: measuring speed is what some tasks are about.
func chanceVerdict(_ *batch, s *subject) []report.Finding {
	var found []report.Finding
	for _, t := range s.testFiles() {
		for _, use := range t.facts.Chance {
			if use.Judged && use.Kind != pyfacts.Timer {
				found = append(found, s.finding("clock-dependent", t.path, use.Line, fmt.Sprintf("an assertion depends on %s (%s)", use.Via, use.Kind)))
			}
		}
	}
	return found
}
