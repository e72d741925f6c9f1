package gates

import (
	"fmt"

	"github.com/posttrainarena/arena/gates/report"
	"github.com/posttrainarena/arena/gates/shell"
)

// constantReward fires when test.sh cannot write any reward but 1.
func constantReward(_ *batch, s *subject) []report.Finding {
	facts := s.verifierFacts()
	if facts == nil || !facts.AlwaysOne && !facts.NeverZero {
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
		for _, d := range facts.Downloads {
			if !d.Probe {
				found = append(found, s.finding("verifier-downloads", s.verifierScript(), d.Line, fmt.Sprintf("%s needs the network, and the task has none", what(d))))
			}
		}
	}
	for _, t := range s.testFiles() {
		for _, use := range t.facts.Network {
			if !use.Local {
				found = append(found, s.finding("verifier-downloads", t.path, use.Line, fmt.Sprintf("%s needs the network, and the task has none", use.Via)))
			}
		}
	}
	return found
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
