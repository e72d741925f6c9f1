package episode

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// pingEvery is how often a client is asked whether it is still there, and
// pingWait how long it may take to answer.
const (
	pingEvery = 20 * time.Second
	pingWait  = 20 * time.Second
)

// Server speaks the OpenEnv protocol for one world. It is an http.Handler.
type Server struct {
	world World
	log   *slog.Logger
	mux   *http.ServeMux

	place chan struct{} // holds one token: whoever has it plays
	mu    sync.Mutex
	sick  error // why no episode can be played
}

// NewServer makes a server. log gets a line for each session; it may be nil.
func NewServer(w World, log *slog.Logger) *Server {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Server{world: w, log: log, mux: http.NewServeMux(), place: make(chan struct{}, 1)}
	s.place <- struct{}{}
	s.mux.HandleFunc("GET /health", s.health)
	s.mux.HandleFunc("GET /metadata", s.metadata)
	s.mux.HandleFunc("GET /schema", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, schemas()) })
	s.mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, openAPI()) })
	s.mux.HandleFunc("GET /state", func(w http.ResponseWriter, _ *http.Request) {
		id, _ := s.world.Task()
		answer(w, http.StatusOK, State{TaskID: id})
	})
	s.mux.HandleFunc("POST /reset", s.httpReset)
	s.mux.HandleFunc("POST /step", s.httpStep)
	s.mux.HandleFunc("POST /mcp", s.mcp)
	s.mux.HandleFunc("GET /ws", s.ws)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { detail(w, http.StatusNotFound, "Not Found") })
	return s
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Fail says that the world cannot be played in. /health reports it, and so does
// every reset.
func (s *Server) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sick = err
}

func (s *Server) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sick
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

func detail(w http.ResponseWriter, status int, v any) {
	answer(w, status, map[string]any{"detail": v})
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	if err := s.failed(); err != nil {
		answer(w, http.StatusServiceUnavailable, map[string]string{"status": "unhealthy", "reason": err.Error()})
		return
	}
	answer(w, http.StatusOK, map[string]string{"status": "healthy"})
}

func (s *Server) metadata(w http.ResponseWriter, _ *http.Request) {
	id, _ := s.world.Task()
	answer(w, http.StatusOK, map[string]any{
		"name": id, "description": "An episode of the task " + id + ": a shell in a container, and a verifier at the end.",
		"readme_content": nil, "version": "1.0.0", "author": nil, "documentation_url": nil,
	})
}

// openAPI names the routes; a validator reads from it that episodes can be
// simulated.
func openAPI() map[string]any {
	paths := map[string]any{}
	for _, p := range []struct{ path, method, what string }{
		{"/health", "get", "Whether an episode can be played."},
		{"/metadata", "get", "What this environment is."},
		{"/schema", "get", "The schemas of action, observation and state."},
		{"/state", "get", "The state of a fresh environment."},
		{"/reset", "post", "Reset a fresh environment and end it."},
		{"/step", "post", "One step in a fresh environment, and its end."},
		{"/mcp", "post", "JSON-RPC; this environment has no tools."},
	} {
		paths[p.path] = map[string]any{p.method: map[string]any{
			"summary": p.what, "responses": map[string]any{"200": map[string]any{"description": "Successful Response"}},
		}}
	}
	return map[string]any{
		"openapi": "3.1.0", "info": map[string]any{"title": "PostTrain Arena episode", "version": "1.0.0"},
		"paths": paths, "components": map[string]any{"schemas": schemas()},
	}
}

// mcp answers JSON-RPC; there are no tools here, and every answer is a 200.
func (s *Server) mcp(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		body = nil
	}
	answer(w, http.StatusOK, rpc(body))
}

// rpc is the answer to a JSON-RPC request.
func rpc(body []byte) map[string]any {
	refuse := func(id json.RawMessage, code int, message string) map[string]any {
		if id == nil {
			id = json.RawMessage("null")
		}
		return map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": message, "data": nil}}
	}
	m, err := fields(body)
	switch {
	case errors.Is(err, errNoObject):
		return refuse(nil, -32600, "Invalid Request")
	case err != nil:
		return refuse(nil, -32700, "Parse error")
	}
	var version, method string
	_, _ = json.Unmarshal(m["jsonrpc"], &version), json.Unmarshal(m["method"], &method) // absent ones stay empty
	switch {
	case version != "2.0" || method == "":
		return refuse(m["id"], -32600, "Invalid Request")
	case method == "tools/list" || method == "tools/call":
		return refuse(m["id"], -32603, "Environment does not support MCP")
	}
	return refuse(m["id"], -32601, "Method not found")
}

// take takes the place, or reports that somebody has it.
func (s *Server) take() bool {
	select {
	case <-s.place:
		return true
	default:
		return false
	}
}

// leave ends whatever runs and frees the place.
func (s *Server) leave() {
	if err := s.world.Quiet(); err != nil {
		s.log.Error("processes of the last session live on", "err", err)
	}
	s.place <- struct{}{}
}

const full = "Server at capacity: 1/1 sessions active. Cannot accept new connections."

// httpBody reads the object of a POST.
func httpBody(w http.ResponseWriter, r *http.Request) (map[string]json.RawMessage, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	if err != nil {
		detail(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes, or broke off", maxMessage))
		return nil, false
	}
	if len(body) == 0 {
		body = []byte("{}")
	}
	m, err := fields(body)
	if err != nil {
		detail(w, http.StatusUnprocessableEntity, []flaw{{Type: "json_invalid", Loc: []string{"body"}, Msg: "JSON decode error: " + err.Error()}})
		return nil, false
	}
	return m, true
}

// fresh runs one request in an environment of its own.
func (s *Server) fresh(w http.ResponseWriter, r *http.Request, kind request, play func(context.Context, *episode) (Step, error)) {
	if !s.take() {
		detail(w, http.StatusServiceUnavailable, full)
		return
	}
	defer s.leave()
	e := &episode{server: s}
	step, err := e.reset(r.Context(), kind)
	if err == nil && play != nil {
		step, err = play(r.Context(), e)
	}
	if err != nil {
		detail(w, http.StatusInternalServerError, err.Error())
		return
	}
	answer(w, http.StatusOK, step)
}

func (s *Server) httpReset(w http.ResponseWriter, r *http.Request) {
	m, ok := httpBody(w, r)
	if !ok {
		return
	}
	kind := request{kind: typeReset}
	raw, _ := json.Marshal(m) // it was JSON before
	if wrong := kind.reset(raw); wrong != nil {
		detail(w, http.StatusUnprocessableEntity, wrong.errors)
		return
	}
	s.fresh(w, r, kind, nil)
}

func (s *Server) httpStep(w http.ResponseWriter, r *http.Request) {
	m, ok := httpBody(w, r)
	if !ok {
		return
	}
	if m["action"] == nil {
		detail(w, http.StatusUnprocessableEntity, []flaw{{Type: "missing", Loc: []string{"body", "action"}, Msg: "Field required", Input: m}})
		return
	}
	a, wrong := parseAction(m["action"], "action")
	if wrong != nil {
		detail(w, http.StatusUnprocessableEntity, wrong.errors)
		return
	}
	s.fresh(w, r, request{kind: typeReset}, func(ctx context.Context, e *episode) (Step, error) { return e.step(ctx, a) })
}

// episode is one environment: what a session knows between its messages.
type episode struct {
	server *Server
	id     string // empty before the first reset
	steps  int
	over   *Step // the terminal answer, once there is one
}

func (e *episode) state() State {
	task, _ := e.server.world.Task()
	s := State{StepCount: e.steps, TaskID: task, Done: e.over != nil}
	if e.id != "" {
		s.EpisodeID = &e.id
	}
	return s
}

func (e *episode) reset(ctx context.Context, r request) (Step, error) {
	if err := e.server.failed(); err != nil {
		return Step{}, err
	}
	task, instruction := e.server.world.Task()
	if r.taskID != "" && r.taskID != task {
		return Step{}, fmt.Errorf("there is no task %q here; this container plays %q", r.taskID, task)
	}
	// Until the world is restored there is no episode to go on with.
	e.id, e.steps, e.over = "", 0, nil
	if err := e.server.world.Reset(ctx); err != nil {
		return Step{}, fmt.Errorf("reset: %w", err)
	}
	if e.id = r.episodeID; e.id == "" {
		e.id = newID()
	}
	return Step{Observation: Observation{TaskID: task, Instruction: instruction}}, nil
}

func (e *episode) step(ctx context.Context, a action) (Step, error) {
	task, _ := e.server.world.Task()
	switch {
	case e.id == "":
		return Step{}, errors.New("no episode has begun: reset first")
	case a.operation == "finish" && e.over != nil:
		return *e.over, nil
	case e.over != nil:
		return Step{}, errors.New("the episode is over: reset to play again")
	case a.operation == "finish":
		reward, err := e.server.world.Grade(ctx)
		if err != nil {
			return Step{}, fmt.Errorf("grade: %w", err)
		}
		e.steps++
		e.over = &Step{Observation: Observation{TaskID: task}, Reward: &reward, Done: true}
		return *e.over, nil
	}
	r, err := e.server.world.Shell(ctx, a.command)
	if err != nil {
		return Step{}, fmt.Errorf("shell: %w", err)
	}
	e.steps++
	return Step{Observation: Observation{TaskID: task, ExitCode: &r.ExitCode, Output: &r.Output}}, nil
}

// newID is a random UUID, version 4.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
