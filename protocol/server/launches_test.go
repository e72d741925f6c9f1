package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/jobs"
)

// crowd is how many clients launch at the same time.
const crowd = 64

// atOnce makes a request for each of a crowd, all at the same time.
func (s *site) atOnce(request func(i int) *http.Request) []answer {
	s.t.Helper()
	answers := make([]answer, crowd)
	var ready, done sync.WaitGroup
	ready.Add(crowd)
	for i := range crowd {
		r := request(i)
		done.Go(func() {
			ready.Done()
			ready.Wait()
			answers[i] = s.send(author, r)
		})
	}
	done.Wait()
	return answers
}

// jobs is the provider's own list of a run's jobs.
func (s *site) jobs(run string) []jobs.Job {
	s.t.Helper()
	return must(s.provider.Find(s.t.Context(), run))(s.t)
}

// TestOneRunsAtATime launches 64 collections at once: one run starts, and the
// other 63 are told why they cannot.
func TestOneRunsAtATime(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var envs []api.Environment
	for i := range crowd {
		envs = append(envs, s.submit(author, fmt.Sprintf("collection-%02d", i)))
	}
	answers := s.atOnce(func(i int) *http.Request {
		return s.request("POST", runsPath, author, api.LaunchRequest{RequestID: fmt.Sprintf("request-%03d", i), EnvironmentID: envs[i].ID})
	})
	started, active := 0, 0
	for _, a := range answers {
		if a.StatusCode == http.StatusCreated {
			started++
			run := decode[api.Run](t, a)
			if n := len(s.jobs(run.RunID)); n != 1 || run.JobID == nil {
				t.Errorf("the run %s has the job %v and the provider %d", run.RunID, run.JobID, n)
			}
			continue
		}
		p := a.problem(t)
		if a.StatusCode != http.StatusConflict || p.Code != protocol.ErrJobActive.Code || *p.Launched != api.Launched(protocol.LaunchedNo) || *p.RetrySame {
			t.Errorf("%s: %s", a.Status, a.body)
			continue
		}
		active++
	}
	if started != 1 || active != crowd-1 {
		t.Errorf("%d runs started and %d were refused, want 1 and %d", started, active, crowd-1)
	}
	s.checkLedger(1)
}

// TestOneRequestStartsOneRun sends one launch 64 times at once: one run, its id 64
// times, one job.
func TestOneRequestStartsOneRun(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	env := s.submit(author, "sample")
	answers := s.atOnce(func(int) *http.Request {
		return s.request("POST", runsPath, author, api.LaunchRequest{RequestID: "request-001", EnvironmentID: env.ID})
	})
	want := protocol.NewRunID("request-001")
	created := 0
	for _, a := range answers {
		run := decode[api.Run](t, a)
		if run.RunID != want || run.JobID == nil || run.Existing != (a.StatusCode == http.StatusOK) {
			t.Errorf("%s: %s", a.Status, a.body)
		}
		if a.StatusCode == http.StatusCreated {
			created++
		}
	}
	if n := len(s.jobs(want)); created != 1 || n != 1 {
		t.Errorf("%d answers say that the run is new, and the provider has %d jobs", created, n)
	}
	s.checkLedger(1)
}

// checkLedger requires that exactly so many runs reserve what they cost at most.
func (s *site) checkLedger(live int) {
	s.t.Helper()
	b := decode[api.Budget](s.t, s.want(200, "GET", "/api/arena/budget", nobody, nil))
	jobs := decode[api.Jobs](s.t, s.want(200, "GET", "/api/jobs", nobody, nil))
	const reservation = 159_999_800
	if want := protocol.Micros(live * reservation); b.ReservedUSD != want || b.CommittedUSD != b.SettledUSD+want || b.RemainingUSD != b.CapUSD-b.CommittedUSD || jobs.Budget != b {
		s.t.Errorf("with %d live runs the budget is %+v; jobs say %+v", live, b, jobs.Budget)
	}
}

// TestLostLaunches follows PROTOCOL §8's table over HTTP: what a client learns
// when the provider refuses, stays silent, or starts the job and cannot say so,
// and what the identical request gives it then.
func TestLostLaunches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault    string
		status   int
		launched protocol.Launched
		live     int // reservations after the first try
		again    int
		state    protocol.RunState // after the second
		jobs     int
	}{
		{"refuse@1", 502, protocol.LaunchedNo, 0, 200, protocol.RunFailed, 0},
		{"timeout-before@1", 503, protocol.LaunchedUnknown, 1, 200, protocol.RunQueued, 1},
		{"lost-reply@1", 503, protocol.LaunchedUnknown, 1, 200, protocol.RunQueued, 1},
	} {
		t.Run(c.fault, func(t *testing.T) {
			s := newSite(t, fault(c.fault))
			env := s.submit(author, "sample")
			a := s.launch(author, "request-001", env.ID)
			p := a.problem(t)
			unknown := c.launched == protocol.LaunchedUnknown
			if a.StatusCode != c.status || protocol.Launched(*p.Launched) != c.launched || *p.RetrySame != unknown || (a.Header.Get("Retry-After") != "") != unknown {
				t.Errorf("%s, Retry-After %q: %s", a.Status, a.Header.Get("Retry-After"), a.body)
			}
			s.checkLedger(c.live)
			id := protocol.NewRunID("request-001")
			if r := s.run(nobody, id); r.Status != protocol.NotLaunched || r.JobID != nil {
				t.Errorf("between the tries: %+v", r)
			}

			again := s.launch(author, "request-001", env.ID)
			run := decode[api.Run](t, again)
			if again.StatusCode != c.again || !run.Existing || run.RunID != id || run.State != c.state || len(s.jobs(id)) != c.jobs {
				t.Errorf("the identical request: %s, %d jobs: %s", again.Status, len(s.jobs(id)), again.body)
			}
			s.checkLedger(c.jobs)
		})
	}
}

// TestARefusedLaunchSaysThatNothingStarted: whatever turned a launch away, however
// early, the answer says that there is no job, and that the same request would be
// turned away again.
func TestARefusedLaunchSaysThatNothingStarted(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(o *options) { o.server.MaxJSON = 2000 })
	env := s.submit(author, "sample")
	body := func(member string, value any) map[string]any {
		b := map[string]any{"request_id": "request-001", "environment_id": env.ID}
		b[member] = value
		return b
	}
	for about, c := range map[string]struct {
		status  int
		code    string
		who     string
		body    any
		headers []string
	}{
		"nobody":              {401, "signed-out", nobody, body("agent_id", nil), nil},
		"an unknown token":    {401, "bad-token", stranger, body("agent_id", nil), nil},
		"somebody else":       {403, "not-author", other, body("agent_id", nil), nil},
		"no JSON":             {400, "malformed", author, "hello", nil},
		"a form":              {415, "media-type", author, "a=b", []string{"Content-Type", "application/x-www-form-urlencoded"}},
		"a large body":        {413, "too-large", author, `"` + strings.Repeat("x", 3000) + `"`, nil},
		"a number as id":      {422, "invalid", author, body("request_id", 12345678), nil},
		"a short id":          {422, "request-id", author, body("request_id", "short"), nil},
		"an id with a space":  {422, "request-id", author, body("request_id", "request 001"), nil},
		"an unknown member":   {422, "invalid", author, body("priority", 1), nil},
		"no such collection":  {404, "no-environment", author, body("environment_id", "env-000000000000"), nil},
		"no registered agent": {422, "invalid", author, body("agent_id", "nobodys"), nil},
		"a token in the body": {400, "token-in-url", author, body("request_id", "arena_"+strings.Repeat("x", 43)), nil},
	} {
		t.Run(about, func(t *testing.T) {
			a := s.in(t).do("POST", runsPath, c.who, c.body, c.headers...)
			p := a.problem(t)
			if a.StatusCode != c.status || p.Code != c.code || p.Launched == nil || protocol.Launched(*p.Launched) != protocol.LaunchedNo || *p.RetrySame {
				t.Errorf("%s: %s; want %d %s, nothing launched", a.Status, a.body, c.status, c.code)
			}
		})
	}
	if runs := decode[api.Runs](t, s.want(200, "GET", runsPath, nobody, nil)); len(runs.Runs) != 0 {
		t.Errorf("%d runs are there", len(runs.Runs))
	}
	if p := s.wantProblem(404, "no-run", "GET", runsPath+"/none", nobody, nil); p.Launched != nil {
		t.Errorf("what launches nothing speaks of a launch: %+v", p)
	}
}

// TestRequestIDsOfMessages posts one message twice, and two under one id.
func TestRequestIDsOfMessages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const board = "/api/board/messages"
	message := api.PostMessage{RequestID: "message-001", Body: "Hello."}
	first := decode[api.Message](t, s.want(201, "POST", board, author, message))
	again := decode[api.Message](t, s.want(200, "POST", board, author, message))
	if again.Filename != first.Filename || !again.Existing {
		t.Errorf("again: %+v", again)
	}
	changed := message
	changed.Body = "Hello?"
	s.wantProblem(409, "request-id-reused", "POST", board, author, changed)
	s.wantProblem(409, "request-id-reused", "POST", board, other, message)
	reply := api.PostMessage{RequestID: "message-002", Body: "Hello to you.", Refs: []string{first.Filename}}
	s.want(201, "POST", board, other, reply)
	reply.RequestID, reply.Refs = "message-003", []string{"20260302T090000Z-human-nobody-xxxx.md"}
	s.wantProblem(422, "invalid", "POST", board, other, reply)
	s.wantProblem(422, "request-id", "POST", board, other, api.PostMessage{RequestID: "short", Body: "Hello."})
	s.wantProblem(422, "invalid", "POST", board, other, api.PostMessage{RequestID: "message-004", Body: "All!", Broadcast: true})
	if all := decode[api.Messages](t, s.want(200, "GET", board, nobody, nil)); len(all.Messages) != 2 {
		t.Errorf("%d messages are on the board", len(all.Messages))
	}
}

// TestCancel stops a run, twice: the second time nothing is left to do, and a
// scored run is not canceled afterwards.
func TestCancel(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	env := s.submit(author, "sample")
	run := s.started(author, "request-001", env.ID)
	path := runsPath + "/" + run.RunID + "/cancel"
	asked := decode[api.Run](t, s.want(200, "POST", path, author, nil))
	if asked.CancelRequested == nil || asked.CancelAcknowledged == nil {
		t.Errorf("cancel: %+v", asked)
	}
	run = s.ended(run.RunID)
	if run.State != protocol.RunCanceled || *run.Fault != protocol.FaultCanceled || run.PlatformFault || run.CancelAcknowledged == nil {
		t.Errorf("the run ended %s, fault %v", run.State, *run.Fault)
	}
	again := decode[api.Run](t, s.want(200, "POST", path, editor, nil))
	if again.State != protocol.RunCanceled || !again.EndedAt.Equal(*run.EndedAt) || *again.SettledUSD != *run.SettledUSD {
		t.Errorf("cancel again: %+v", again)
	}
	s.wantProblem(409, "not-scored", "POST", runsPath+"/"+run.RunID+"/collect", author, nil)
	s.checkLedger(0)
	// A canceled run does not use up the day.
	s.started(author, "request-002", env.ID)
}
