package gates

import (
	"fmt"
	"slices"

	"github.com/posttrainarena/arena/gates/pysyntax/pyfacts"
	"github.com/posttrainarena/arena/gates/report"
	"github.com/posttrainarena/arena/gates/shell"
)

// constantReward fires when test.sh cannot write any reward but 1. A script that a failing check ends before it writes
// anything gives two different verdicts, and is the business of rewardAbort.
func constantReward(_ *batch, s *subject) []report.Finding {
	facts := s.verifierFacts()
	if facts == nil || !facts.AlwaysOne && (!facts.NeverZero || facts.AbortsBeforeReward) {
		return nil
	}
	line := 1
	for _, w := range facts.Rewards {
		if w.Value == shell.RewardOne {
			line = w.Line
			break
		}
	}
	message := "whatever the tests say, the reward is 1"
	if !facts.AlwaysOne {
		message = "the script can write reward 1 and no other"
	}
	return s.one("always-reward", s.verifierScript(), line, message)
}

// rewardAbort fires when a failing check ends test.sh before anything writes a reward.
func rewardAbort(_ *batch, s *subject) []report.Finding {
	facts := s.verifierFacts()
	if facts == nil || !facts.AbortsBeforeReward {
		return nil
	}
	for _, end := range facts.WithoutReward {
		if end.Cause == shell.CauseAbort {
			return s.one("reward-abort", s.verifierScript(), end.Line, fmt.Sprintf("when %s fails, set -e ends the script before a reward is written", end.Command))
		}
	}
	return s.one("reward-abort", s.verifierScript(), 1, "set -e can end the script before a reward is written")
}

// verifierDownloads fires when grading needs the network although the task says that it has none. A download that
// only happens when a tool is missing is no need.
func verifierDownloads(_ *batch, s *subject) []report.Finding {
	if !s.offline() {
		return nil
	}
	var found []report.Finding
	if facts := s.verifierFacts(); facts != nil {
		needed := slices.DeleteFunc(slices.Clone(facts.Downloads), func(d shell.Download) bool { return d.Probe })
		if len(needed) > 0 {
			found = append(found, s.finding("verifier-downloads", s.verifierScript(), needed[0].Line, needs(what(needed[0]), len(needed))))
		}
	}
	for _, t := range s.testFiles() {
		needed := slices.DeleteFunc(slices.Clone(t.facts.Network), func(use pyfacts.NetworkUse) bool { return use.Local })
		if len(needed) > 0 {
			found = append(found, s.finding("verifier-downloads", t.path, needed[0].Line, needs(needed[0].Via, len(needed))))
		}
	}
	return found
}

// needs says that something, and others of its kind, needs the network.
func needs(first string, n int) string {
	if n > 1 {
		first += fmt.Sprintf(" (and %d more)", n-1)
	}
	return first + " needs the network, and the task has none"
}

// what names a download.
func what(d shell.Download) string {
	if d.URL == "" {
		return d.Tool
	}
	return fmt.Sprintf("%s %.80s", d.Tool, d.URL)
}

// agentWritable fires when files that the agent can change take part in the verdict.
func agentWritable(_ *batch, s *subject) []report.Finding {
	facts := s.verifierFacts()
	if facts == nil {
		return nil
	}
	var found []report.Finding
	for _, p := range facts.Plants {
		s.leaked[p.Path] = true
		found = append(found, s.finding("verifier-agent-writable", s.verifierScript(), p.Line, fmt.Sprintf("%s, which the agent can write, %s", p.Path, role(p.Kind))))
	}
	return found
}

// role says how an agent's files get into the verdict.
func role(k shell.PlantKind) string {
	switch k {
	case shell.PlantImport:
		return "is on the import path of the tests"
	case shell.PlantPlugin:
		return "can provide a plug-in that the test runner loads"
	case shell.PlantConfig:
		return "configures the test runner"
	case shell.PlantTests:
		return "holds the tests that are run"
	case shell.PlantInterpreter:
		return "is the interpreter or runner of the tests"
	default:
		return "decides or does the checking"
	}
}
