package tuitest

import (
	_ "embed"
	"encoding/json"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

//go:embed gates.json
var gatesJSON []byte

//go:embed catalogue.json
var catalogueJSON []byte

// gates are what the gates say about two of the collections: one with a finding
// of every severity, one with a verdict.
func gates() map[string]api.Gates {
	all := map[string]api.Gates{}
	if err := json.Unmarshal(gatesJSON, &all); err != nil {
		panic(err) // the file is part of the program
	}
	aurora := all[ColAurora]
	aurora.Verdict = &api.Verdict{Version: 2, PlanDigest: "sha256:77aa", AttachedBy: "mira", AttachedAt: time.Date(1999, 12, 25, 10, 0, 0, 0, time.UTC), Tasks: []protocol.TaskVerdict{
		{Task: "make-cache", Decision: protocol.TaskAccepted, Reasons: []string{"8 of 8 solution reruns passed"}, BandPassRate: ptr(0.5)},
		{Task: "linker-order", Decision: protocol.TaskRejected, Reasons: []string{"2 of 8 solution reruns failed", "the base model solved it 4 of 4 times"}, BandPassRate: ptr(1.0)},
		{Task: "cross-compile", Decision: protocol.TaskInconclusive, Reasons: []string{"the sandbox did not start in 1 of 4 band attempts"}},
	}}
	all[ColAurora] = aurora
	return all
}

// judged is a judgement of every kind, with what each gate counted.
func judged() api.Verdict {
	gate := func(name string, d protocol.Decision, planned, passed, failed, open int, reason string) protocol.GateOutcome {
		return protocol.GateOutcome{Gate: name, Decision: d, Planned: planned, Passed: passed, Failed: failed, Open: open, Reason: reason}
	}
	return api.Verdict{Tasks: []protocol.TaskVerdict{
		{Task: "pack-files", Decision: protocol.TaskAccepted, Reasons: []string{"8 of 8 solution reruns passed", "the base model solved it 1 of 4 times"}, BandPassRate: ptr(0.25), Gates: []protocol.GateOutcome{
			gate("oracle", protocol.TaskAccepted, 8, 8, 0, 0, ""), gate("noop", protocol.TaskAccepted, 8, 8, 0, 0, ""), gate("band", protocol.TaskAccepted, 4, 1, 3, 0, ""),
		}},
		{Task: "rename-all", Decision: protocol.TaskRejected, Reasons: []string{"doing nothing passed 1 of 8 times"}, Gates: []protocol.GateOutcome{
			gate("oracle", protocol.TaskAccepted, 8, 8, 0, 0, ""), gate("noop", protocol.TaskRejected, 8, 7, 1, 0, "doing nothing passed"),
		}},
		{Task: "split-logs", Decision: protocol.TaskInconclusive, Reasons: []string{"run 2 of the solution ended in an error: sandbox lost"}, Gates: []protocol.GateOutcome{
			gate("oracle", protocol.TaskInconclusive, 8, 7, 0, 1, "sandbox lost"),
		}},
	}}
}

// Results is a file of results, as the sample's arena judges them.
const Results = `{"schema_version":1,"plan_digest":"sha256:0123456789abcdef","revision":"0a0a0a0a0a01","gate_set":"static-1","gate_version":"1","policy_digest":"sha256:ff",` +
	`"options":{"controls_reruns":8,"band_attempts":4,"require_oracle":true},"trials":[]}`

// catalogue explains the codes that the sample's findings have.
func catalogue() api.Catalogue {
	var c api.Catalogue
	if err := json.Unmarshal(catalogueJSON, &c); err != nil {
		panic(err) // the file is part of the program
	}
	return c
}
