package gates

import "github.com/posttrainarena/arena/gates/report"

// rule looks at one package of a batch and returns what it finds, without order.
type rule func(*batch, *subject) []report.Finding

// rules is the ordered table of all rules. unparsed comes last, because it reports the files that the rules before it
// could not parse.
func rules() []rule {
	return []rule{
		sealedName,
		sealedText,
		noOracle,
		stubOracle,
		duplicateTask,
		secret,
		unparsed,
	}
}
