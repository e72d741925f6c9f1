package api_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// TestEvidenceIsForEditors maps objects that hold links and per-task outcomes to
// what each caller may see. To anybody but an editor nothing of that is on the
// wire, under any name.
func TestEvidenceIsForEditors(t *testing.T) {
	const secret = "https://private.example.org/evidence"
	cell := protocol.Cell{Suite: "tb2", Task: "sealed-task-name", Before: protocol.OutcomeFail, After: protocol.OutcomePass}
	result := protocol.Result{Run: "challenge-0123456789ab", JobURL: secret, ReportURL: secret, Cells: []protocol.Cell{cell}, Author: "ada"}
	run := protocol.Run{ID: "challenge-0123456789ab", Author: "ada", JobID: "job-1", JobStatus: "RUNNING", JobURL: secret}
	challenge := protocol.Challenge{ID: "tb2-9b", Baseline: &protocol.Baseline{PassRate: 0.1, Source: secret}}
	views := map[string]func(who protocol.Identity) any{
		"run":    func(who protocol.Identity) any { return api.RunFrom(run, nil, who) },
		"job":    func(who protocol.Identity) any { return api.JobFrom(run, who) },
		"result": func(who protocol.Identity) any { return api.ResultFrom(result, who, false) },
		"challenge": func(who protocol.Identity) any {
			return api.ChallengeFrom(api.ChallengeFacts{Challenge: challenge}, who)
		},
	}
	for name, view := range views {
		for _, who := range []protocol.Identity{{}, {Name: "ada"}, {Name: "eve"}, {Name: "olga", Editor: true}} {
			raw, err := json.Marshal(view(who))
			if err != nil {
				t.Fatal(err)
			}
			if shown := strings.Contains(string(raw), secret) || strings.Contains(string(raw), cell.Task); shown != who.Editor {
				t.Errorf("%q sees the evidence of a %s: %v: %s", who.Name, name, shown, raw)
			}
		}
	}
	if challenge.Baseline.Source != secret {
		t.Error("hiding the source changed the challenge")
	}
}

// TestNothingIsNull maps empty objects: where the wire has nothing it says null,
// and a list is never null but empty.
func TestNothingIsNull(t *testing.T) {
	for name, c := range map[string]struct {
		view  any
		nulls []string
		lists []string
	}{
		"run":         {api.RunFrom(protocol.Run{}, nil, protocol.Identity{}), []string{"stage", "reason", "fault", "job_id", "job_status", "settled_usd", "image", "started_at", "ended_at", "result"}, []string{"stages", "training"}},
		"environment": {api.EnvironmentFrom(protocol.Collection{}), []string{"agent_id", "target_challenge_id", "source_url"}, []string{"warnings"}},
		"message":     {api.MessageFrom(protocol.Message{}), []string{"agent_id"}, []string{"refs"}},
		"agent":       {api.AgentFrom(protocol.Agent{}), []string{"model", "harness"}, nil},
		"challenge":   {api.ChallengeFrom(api.ChallengeFacts{}, protocol.Identity{}), []string{"role", "runs_paused", "opens", "eval_suite", "baseline", "health", "per_run_allocation"}, []string{"eval_suites", "basis"}},
		"job":         {api.JobFrom(protocol.Run{}, protocol.Identity{}), []string{"id", "started_at", "finished_at", "cost_usd"}, nil},
		"event":       {api.EventFrom(protocol.Event{}), []string{"challenge_id", "run_id", "environment_id", "message", "state", "stage"}, nil},
	} {
		raw, err := json.Marshal(c.view)
		if err != nil {
			t.Fatal(err)
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(raw, &members); err != nil {
			t.Fatal(err)
		}
		for _, member := range c.nulls {
			if got := string(members[member]); got != "null" {
				t.Errorf("%s: %s is %s, want null", name, member, got)
			}
		}
		for _, member := range c.lists {
			if got := string(members[member]); got != "[]" {
				t.Errorf("%s: %s is %s, want []", name, member, got)
			}
		}
	}
	if status := api.RunFrom(protocol.Run{}, nil, protocol.Identity{}).Status; status != protocol.NotLaunched {
		t.Errorf("a run without a job reads %q", status)
	}
}
