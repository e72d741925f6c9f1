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

// catalogue explains the codes that the sample's findings have.
func catalogue() api.Catalogue {
	var c api.Catalogue
	if err := json.Unmarshal(catalogueJSON, &c); err != nil {
		panic(err) // the file is part of the program
	}
	return c
}
