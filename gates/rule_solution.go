package gates

import (
	"fmt"

	"github.com/posttrainarena/arena/gates/report"
)

// oracleDownloads fires when the reference solution fetches something from elsewhere.
func oracleDownloads(_ *batch, s *subject) []report.Finding {
	facts := s.solutionFacts()
	if facts == nil {
		return nil
	}
	var found []report.Finding
	for _, d := range facts.Downloads {
		if !d.Probe {
			found = append(found, s.finding("oracle-downloads", s.OraclePath, d.Line, fmt.Sprintf("%s fetches from the network", what(d))))
		}
	}
	return found
}

// oracleReadsVerifier fires when the reference solution takes something from the verifier.
func oracleReadsVerifier(_ *batch, s *subject) []report.Finding {
	facts := s.solutionFacts()
	if facts == nil {
		return nil
	}
	var found []report.Finding
	for _, r := range facts.ReadsVerifier {
		found = append(found, s.finding("oracle-reads-verifier", s.OraclePath, r.Line, fmt.Sprintf("the solution reads %s, which belongs to the verifier", r.Path)))
	}
	return found
}
