package gates

import "github.com/posttrainarena/arena/gates/report"

// unparsed reports every file that the package reader or an earlier rule could not parse, each once: several parsers
// may have refused one file.
func unparsed(_ *batch, s *subject) []report.Finding {
	var found []report.Finding
	seen := map[string]bool{}
	for _, u := range s.Unread {
		if !seen[u.Path] {
			seen[u.Path] = true
			found = append(found, s.finding("unparsed", u.Path, u.Line, u.Message))
		}
	}
	for _, f := range s.refused {
		if !seen[f.Path] {
			seen[f.Path] = true
			found = append(found, f)
		}
	}
	return found
}
