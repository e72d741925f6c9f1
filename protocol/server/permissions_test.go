package server_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/posttrainarena/arena/gates/dynamic"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// TestPermissionMatrix calls every route of the table as every kind of caller.
// The table's role alone says who must be let in, so a route that is added to it
// is covered without a change here, and a handler that decides otherwise fails.
func TestPermissionMatrix(t *testing.T) {
	t.Parallel()
	s := newSite(t, fast)
	env, run := s.scored()
	s.want(201, "POST", runsPath+"/"+run.RunID+"/collect", author, nil)
	for _, route := range api.Routes() {
		for _, who := range []string{nobody, stranger, author, other, editor} {
			t.Run(route.Name+"/"+who, func(t *testing.T) {
				method, path, body := example(route, env, run)
				s := s.in(t)
				a := s.glance(who, s.request(method, path, who, body))
				status, code := admitted(route, who)
				if status != 0 {
					if a.StatusCode != status || a.code() != code {
						t.Errorf("%s %s: %s %s, want %d %s", method, path, a.Status, a.code(), status, code)
					}
				} else if a.StatusCode == http.StatusUnauthorized || a.StatusCode == http.StatusForbidden || a.StatusCode >= 500 {
					t.Errorf("%s %s: %s, want to be let in: %s", method, path, a.Status, a.body)
				}
			})
		}
	}
}

// admitted is the refusal that a caller must get on a route about ada's things: a
// status and a code, or zero when they must be let in.
func admitted(route api.Route, who string) (int, string) {
	switch {
	case who == stranger: // a wrong token is an error even where none is needed
		return http.StatusUnauthorized, protocol.ErrBadToken.Code
	case route.Role == protocol.RolePublic:
		return 0, ""
	case who == nobody:
		return http.StatusUnauthorized, protocol.ErrSignedOut.Code
	case route.Role == protocol.RoleEditor && who != editor:
		return http.StatusForbidden, protocol.ErrEditorOnly.Code
	case route.Role == protocol.RoleAuthor && who == other && route.Name != "preflight": // which says it in its checks
		return http.StatusForbidden, protocol.ErrNotAuthor.Code
	default:
		return 0, ""
	}
}

// example is a request to a route about a collection of ada's and its run.
func example(route api.Route, env api.Environment, run api.Run) (method, path string, body any) {
	path = strings.NewReplacer("{run}", run.RunID, "{env}", env.ID, "{n}", "1", "{os}", "linux", "{arch}", "amd64", "{name}", "arena.css").Replace(route.Path)
	if strings.HasPrefix(path, "/api/environments/") {
		path = strings.Replace(path, "{id}", env.ID, 1)
	}
	path = strings.Replace(path, "{id}", challenge, 1)
	for _, q := range route.Query {
		if q.Required {
			path += "?" + q.Name + "=" + env.ID
		}
	}
	bodies := map[string]any{
		"registerAgent": api.RegisterAgent{AgentID: "somebodys-agent"},
		"postMessage":   api.PostMessage{RequestID: "message-001", Body: "Hello."},
		"validate":      api.EnvironmentRequest{ChallengeID: challenge, RepoType: protocol.RepoBundle, RepoID: "sample", Revision: env.Revision},
		"submit":        api.EnvironmentRequest{ChallengeID: challenge, RepoType: protocol.RepoBundle, RepoID: "sample", Revision: env.Revision},
		"launch":        api.LaunchRequest{RequestID: "request-002", EnvironmentID: env.ID},
		"claim":         api.ClaimRequest{},
		"review":        goodReview(),
		"planGates":     api.GatePlanRequest{},
		"attachGates":   api.AttachGates{Results: dynamic.Results{Options: dynamic.Options{ControlsReruns: 8, BandAttempts: 4}, Trials: []dynamic.Trial{}}},
	}
	if body = bodies[route.Name]; body == nil && route.Request != nil {
		panic("the route " + route.Name + " reads a body and has no example here")
	}
	return route.Method, path, body
}

// glance makes a request and reads its answer, of a stream only the head.
func (s *site) glance(who string, r *http.Request) answer {
	s.t.Helper()
	if !strings.HasPrefix(r.URL.Path, "/api/events") {
		return s.send(who, r)
	}
	res, err := s.Client().Do(r)
	if err != nil {
		s.t.Fatalf("%s %s: %v", r.Method, r.URL, err)
	}
	defer res.Body.Close()
	a := answer{Response: res}
	if res.StatusCode >= 400 {
		a.body = must(io.ReadAll(res.Body))(s.t)
	}
	s.look(who, a)
	return a
}

// TestOtherPeoplesThings is the part of the matrix that needs an object: what is
// refused to another author, and that refusing it changes nothing.
func TestOtherPeoplesThings(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	env := s.submit(author, "sample")
	run := s.started(author, "request-001", env.ID)

	// A run of ada's collection is hers to stop, whoever asks.
	s.wantProblem(403, "not-author", "POST", runsPath+"/"+run.RunID+"/cancel", other, nil)
	if r := s.run(nobody, run.RunID); r.CancelRequested != nil {
		t.Error("a refused cancel is on record")
	}
	s.wantProblem(409, "request-id-reused", "POST", runsPath, other, api.LaunchRequest{RequestID: "request-001", EnvironmentID: env.ID})

	// An agent belongs to who registered it.
	s.want(201, "POST", "/api/agents", author, api.RegisterAgent{AgentID: "adas-agent"})
	s.want(200, "POST", "/api/agents", author, api.RegisterAgent{AgentID: "adas-agent"})
	s.wantProblem(409, "agent-immutable", "POST", "/api/agents", author, api.RegisterAgent{AgentID: "adas-agent", Description: "Now with words."})
	p := s.wantProblem(409, "agent-taken", "POST", "/api/agents", other, api.RegisterAgent{AgentID: "adas-agent"})
	if !strings.Contains(p.Detail, "already registered by another HF user") {
		t.Errorf("it says %q", p.Detail)
	}
	s.wantProblem(422, "invalid", "POST", "/api/agents", other, api.RegisterAgent{AgentID: "human-eve"})
	agent := "adas-agent"
	s.wantProblem(403, "foreign-agent", "POST", "/api/board/messages", other, api.PostMessage{RequestID: "message-001", AgentID: &agent, Body: "Hello."})
	submission := bundled("eves")
	submission.AgentID = &agent
	if a := s.upload("/api/environments", other, submission, oneTask(t)); a.StatusCode != 403 || a.code() != "foreign-agent" {
		t.Errorf("a submission as somebody's agent: %s: %s", a.Status, a.body)
	}
	eves := s.submit(other, "eves")
	s.wantProblem(403, "foreign-agent", "POST", runsPath, other, api.LaunchRequest{RequestID: "request-002", EnvironmentID: eves.ID, AgentID: &agent})
}

// TestRevokedToken works until it is revoked, and from then on not at all.
func TestRevokedToken(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.want(200, "GET", "/api/whoami", author, nil)
	n := must(s.store.RevokeToken(t.Context(), protocol.Actor{Name: protocol.ActorArena}, author))(t)
	if n != 1 {
		t.Fatalf("%d tokens were revoked", n)
	}
	for _, path := range []string{"/api/whoami", "/api/challenges", "/healthz"} {
		s.wantProblem(401, "bad-token", "GET", path, author, nil)
	}
	a := s.do("GET", "/api/whoami", author, nil)
	if got := a.Header.Get("WWW-Authenticate"); !strings.HasPrefix(got, "Bearer ") {
		t.Errorf("WWW-Authenticate: %q", got)
	}
}

// TestAuthorizationHeader has a row for each form that a client may send it in.
func TestAuthorizationHeader(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	token := s.tokens[author]
	for header, status := range map[string]int{
		"Bearer " + token:                      200,
		"bearer " + token:                      200,
		"Bearer  " + token + " ":               200,
		"Bearer " + token + "x":                401,
		"Bearer":                               401,
		"Bearer ":                              401,
		token:                                  401,
		"Basic " + token:                       401,
		"Bearer hf_" + strings.Repeat("x", 34): 401,
		"Bearer arena_" + strings.Repeat("y", 9999): 401,
	} {
		s.want(status, "GET", "/api/whoami", nobody, nil, "Authorization", header)
	}
}
