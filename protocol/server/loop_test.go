package server_test

import (
	"strconv"
	"testing"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// TestLoop walks the main loop through HTTP, from an upload to a ranked result.
// Every answer on the way is checked against the published schemas, and every
// answer to anybody but the editor for names of sealed tasks.
func TestLoop(t *testing.T) {
	t.Parallel()
	s := newSite(t, fast)
	who := decode[api.Whoami](t, s.want(200, "GET", "/api/whoami", author, nil))
	if who.Name != author || who.Editor || len(who.Agents) != 0 {
		t.Errorf("whoami: %+v", who)
	}
	s.want(201, "POST", "/api/agents", author, api.RegisterAgent{AgentID: "adas-agent", Description: "Sorts."})

	valid := decode[api.Validation](t, s.upload("/api/environments/validate", author, bundled("sample"), sample(t)))
	if !valid.Valid || valid.TaskCount != 8 || valid.EligibleTasks == 0 {
		t.Errorf("validate: %+v", valid)
	}
	agent := "adas-agent"
	req := bundled("sample")
	req.AgentID, req.Title, req.Notes = &agent, "Sample", "Eight small tasks."
	a := s.upload("/api/environments", author, req, sample(t))
	env := decode[api.Environment](t, a)
	if a.StatusCode != 201 || env.ID != valid.EnvironmentID || env.Revision != valid.Revision || *env.AgentID != agent {
		t.Errorf("submit: %s %+v; validate said %s at %s", a.Status, env, valid.EnvironmentID, valid.Revision)
	}
	if a := s.upload("/api/environments", author, req, sample(t)); a.StatusCode != 200 || !decode[api.Environment](t, a).Existing {
		t.Errorf("submit again: %s: %s", a.Status, a.body)
	}

	pre := decode[api.Preflight](t, s.want(200, "GET", runsPath+"/preflight?environment_id="+env.ID, author, nil))
	if !pre.Allowed || pre.MaxComputeUSD.String() != "159.9998" || pre.EligibleTasks != env.EligibleTasks {
		t.Errorf("preflight: %+v", pre)
	}
	run := s.started(author, "request-001", env.ID)
	if again := s.launch(author, "request-001", env.ID); again.StatusCode != 200 || decode[api.Run](t, again).RunID != run.RunID || !decode[api.Run](t, again).Existing {
		t.Errorf("launch again: %s: %s", again.Status, again.body)
	}
	run = s.ended(run.RunID)
	if run.State != protocol.RunScored || run.SettledUSD == nil || run.Result != nil || !run.Simulated || len(run.Stages) == 0 {
		t.Fatalf("the run: %+v", run)
	}
	s.judge(env, run)
	s.readEverything(env, run)
	s.readEvidence(run)
}

// TestFailedRunsShowNothingSealed lets runs stop in the sealed stages, and their
// evidence not hold: what then says why must not say at which task. The site
// looks for names in every answer to anybody but the editor.
func TestFailedRunsShowNothingSealed(t *testing.T) {
	t.Parallel()
	for _, plan := range []string{"stage=baseline", "stage=heldout", "job-timeout", "deleted", "wrong-report", "no-outcomes", "missing-outcomes"} {
		t.Run(plan, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, fast, fault(plan))
			env := s.submit(author, "sample")
			run := s.ended(s.started(author, "request-001", env.ID).RunID)
			if a := s.do("POST", runsPath+"/"+run.RunID+"/collect", author, nil); a.code() == "" {
				t.Errorf("collect: %s: %s", a.Status, a.body)
			}
			s.readEverything(env, run)
		})
	}
}

// judge collects and reviews a run and looks at the leaderboard.
func (s *site) judge(env api.Environment, run api.Run) {
	t := s.t
	t.Helper()
	path := runsPath + "/" + run.RunID
	result := decode[api.Result](t, s.want(201, "POST", path+"/collect", author, nil))
	if result.Verification != protocol.Pending || len(result.Cells) != 0 || result.ReportURL != nil {
		t.Errorf("the author's result: %+v", result)
	}
	seen := decode[api.Result](t, s.want(200, "POST", path+"/collect", editor, nil))
	if !seen.Existing || len(seen.Cells) != 32 {
		t.Errorf("the editor's result has %d cells, existing %v", len(seen.Cells), seen.Existing)
	}
	s.wantProblem(403, "editor-only", "POST", path+"/review", author, goodReview())
	s.wantProblem(422, "invalid", "POST", path+"/review", editor, api.ReviewRequest{Accepted: true, Note: "fine"})
	if judged := decode[api.Result](t, s.want(200, "POST", path+"/review", editor, goodReview())); judged.Verification != protocol.Valid {
		t.Errorf("the review: %+v", judged)
	}
	s.wantProblem(409, "already-reviewed", "POST", path+"/review", editor, goodReview())
	board := decode[api.Leaderboard](t, s.want(200, "GET", "/api/challenges/"+challenge+"/leaderboard", nobody, nil))
	if len(board.Rows) != 1 || board.Rows[0].Collection != env.ID || board.Rows[0].VerifiedRuns != 1 || !board.Simulated {
		t.Errorf("the leaderboard: %+v", board)
	}
}

// readEverything reads what each caller may read once something is there.
func (s *site) readEverything(env api.Environment, run api.Run) {
	s.t.Helper()
	for _, route := range api.Routes() {
		if route.Role != protocol.RolePublic || route.Method != "GET" || route.Content == api.ContentEvents {
			continue
		}
		_, path, _ := example(route, env, run)
		for _, who := range []string{nobody, author, other, editor} {
			s.want(200, "GET", path, who, nil)
		}
	}
	s.want(200, "GET", "/api/challenges/terminal-35b", nobody, nil)
}

// readEvidence reads what only the author and editors may, and the log.
func (s *site) readEvidence(run api.Run) {
	s.t.Helper()
	run1 := runsPath + "/" + run.RunID
	for _, who := range []string{author, editor} {
		attempts := decode[api.Attempts](s.t, s.want(200, "GET", run1+"/attempts", who, nil))
		if len(attempts.Attempts) == 0 || attempts.Forecast == nil {
			s.t.Errorf("%d attempts, forecast %v", len(attempts.Attempts), attempts.Forecast)
		}
		for n := range attempts.Attempts {
			s.want(200, "GET", run1+"/attempts/"+strconv.Itoa(n+1), who, nil)
		}
		s.wantProblem(404, "no-attempt", "GET", run1+"/attempts/"+strconv.Itoa(len(attempts.Attempts)+1), who, nil)
	}
	log := decode[api.Log](s.t, s.want(200, "GET", run1+"/log", editor, nil))
	if int64(len(log.Lines)) != run.LogLines || !log.Ended || log.Next != run.LogLines {
		s.t.Errorf("%d of %d lines, next %d, ended %v", len(log.Lines), run.LogLines, log.Next, log.Ended)
	}
}
