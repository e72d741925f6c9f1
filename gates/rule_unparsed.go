package gates

import "github.com/posttrainarena/arena/gates/report"

// unparsed reports every file that the package reader or an earlier rule could not parse.
func unparsed(_ *batch, s *subject) []report.Finding {
	found := s.refused
	for _, u := range s.Unread {
		found = append(found, s.finding("unparsed", u.Path, u.Line, u.Message))
	}
	// Several parsers may have refused one file for one reason.
	seen := map[report.Finding]bool{}
	var distinct []report.Finding
	for _, f := range found {
		if !seen[f] {
			seen[f] = true
			distinct = append(distinct, f)
		}
	}
	return distinct
}
