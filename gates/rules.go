package gates

import "github.com/posttrainarena/arena/gates/report"

// rule looks at one package of a batch and returns what it finds, without order.
type rule func(*batch, *subject) []report.Finding

// rules is the ordered table of all rules. A file of the image is marked by the first of leaks, gradingData, agentWritable
// and suspiciousNames that knows something about it. unparsed comes last, because it reports the files that the rules before it could not parse.
func rules() []rule {
	return []rule{
		sealedName,
		sealedText,
		noOracle,
		stubOracle,
		leaks,
		gradingData,
		agentWritable,
		suspiciousNames,
		litter,
		remoteAdd,
		oracleDownloads,
		oracleReadsVerifier,
		constantReward,
		rewardAbort,
		verifierDownloads,
		weakTests,
		chanceVerdict,
		duplicateTask,
		secret,
		unparsed,
	}
}
