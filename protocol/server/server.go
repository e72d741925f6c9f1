package server

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/julienschmidt/httprouter"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/arena"
	"github.com/posttrainarena/arena/protocol/hub"
	"github.com/posttrainarena/arena/protocol/relay"
	"github.com/posttrainarena/arena/protocol/server/pages"
)

// Options is what a server is made of.
type Options struct {
	Service *arena.Service
	Version api.Version
	BaseURL string // how clients reach the arena; stands in guides and documents
	Log     *slog.Logger
	Now     func() time.Time
	// FrameAncestors are the origins of other sites that may show pages in a frame.
	FrameAncestors []string
	// Receive reads an uploaded bundle, a tar stream, into a snapshot.
	Receive func(ctx context.Context, tar io.Reader) (*hub.Snapshot, error)
	// SignIn is how people sign in with a browser; nil when they cannot.
	SignIn SignIn
	// Relay carries calls to the models of jobs; nil when no job needs it.
	Relay *relay.Hub
	// Webhooks sends events to programs elsewhere; nil when nothing does.
	Webhooks  Webhooks
	MaxJSON   int64 // largest JSON body, in bytes; 0 means api.MaxBody
	MaxBundle int64 // largest bundle, in bytes of its files; 0 means the bound of PROTOCOL §5
	// Examine is what the arena finds when it looks at itself; nil finds nothing.
	Examine func(ctx context.Context) []protocol.Diagnosis
	Rates   Rates
	// Heartbeat is how often an idle event stream says that it is alive.
	Heartbeat time.Duration
	// Client opens the command line for a platform in Go's words. It fails with
	// protocol.ErrNotFound for one that is not there; nil serves none.
	Client func(goos, arch string) (Binary, error)
}

// Server answers the arena's HTTP interface.
type Server struct {
	Options
	schemas *api.Schemas
	openapi []byte
	metrics *metrics
	logins  logins
	reads   *limiter // buckets of requests
	writes  *limiter
	failed  *limiter // of tokens that are not known, or not yet
	seats   seats    // of event streams
	answers answers  // to those who are not signed in
	handler http.Handler
	pages   *pages.Renderer
	routes  map[string]api.Route // by name
	table   map[string]handler   // likewise
	closing context.Context      // ends when event streams must close
	close   context.CancelFunc
}

// New builds the server from the route table. Every route must have a handler
// and the other way round; a difference is a bug, reported here.
func New(opts Options) (*Server, error) {
	if opts.Heartbeat <= 0 {
		opts.Heartbeat = 15 * time.Second
	}
	opts.MaxJSON = cmp.Or(opts.MaxJSON, api.MaxBody)
	opts.MaxBundle = cmp.Or(opts.MaxBundle, api.MaxBundle)
	s := &Server{Options: opts, schemas: api.NewSchemas(), metrics: newMetrics(opts.Service)}
	s.reads, s.writes = newLimiter("reads", opts.Rates.Reads, opts.Now), newLimiter("writes", opts.Rates.Writes, opts.Now)
	s.failed = newLimiter("failed sign-ins", opts.Rates.Failed, opts.Now)
	s.seats = seats{most: opts.Rates.Streams, taken: map[string]int{}}
	s.closing, s.close = context.WithCancel(context.Background())
	var err error
	if s.pages, err = pages.New(); err != nil {
		return nil, err
	}
	if s.openapi, err = s.schemas.Document(opts.BaseURL, opts.Version.Version).MarshalJSON(); err != nil {
		return nil, err
	}
	router := httprouter.New()
	router.RedirectTrailingSlash, router.RedirectFixedPath = false, false
	if err := s.register(router); err != nil {
		return nil, err
	}
	s.browser(router)
	router.NotFound = s.always(s.unmatched)
	router.MethodNotAllowed = s.always(func(*call) error { return protocol.ErrMethod })
	s.relayed(router)
	s.handler = s.wrap(router)
	return s, nil
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// CloseStreams ends every event stream, so that a graceful shutdown does not
// wait for clients that would follow for ever. Clients resume where they were.
func (s *Server) CloseStreams() { s.close() }

// Registry is where the server's metrics are registered.
func (s *Server) Registry() *prometheus.Registry { return s.metrics.registry }

// always answers requests that no route takes.
func (s *Server) always(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.serve(w, r, api.Route{Name: "unmatched", Content: api.ContentJSON}, nil, h)
	})
}

// register walks the route table. The router cannot hold runs/preflight beside
// runs/:run, so preflight is a reserved run id of getRun.
func (s *Server) register(router *httprouter.Router) error {
	handlers := s.handlers()
	routes := map[string]api.Route{}
	for _, r := range api.Routes() {
		routes[r.Name] = r
		if handlers[r.Name] == nil {
			return errors.New("no handler for route " + r.Name)
		}
	}
	if len(routes) != len(handlers) {
		return errors.New("a handler has no route")
	}
	s.routes, s.table = routes, handlers
	for _, route := range api.Routes() {
		if route.Name == "preflight" {
			continue
		}
		handle := func(w http.ResponseWriter, r *http.Request, ps httprouter.Params) {
			route := route
			if route.Name == "getRun" && ps.ByName("run") == reservedRun {
				route = routes["preflight"]
			}
			s.serve(w, r, route, ps, handlers[route.Name])
		}
		router.Handle(route.Method, route.Pattern(), handle)
		if route.Method == http.MethodGet { // HEAD is GET without its body (RFC 9110, 9.3.2)
			router.Handle(http.MethodHead, route.Pattern(), handle)
		}
	}
	return nil
}

// reservedRun is the run id that means preflight.
const reservedRun = "preflight"

// handlers binds every route of the table, by name.
func (s *Server) handlers() map[string]handler {
	return map[string]handler{
		"whoami":           s.whoami,
		"registerAgent":    s.registerAgent,
		"listAgents":       s.listAgents,
		"listMessages":     s.listMessages,
		"postMessage":      s.postMessage,
		"listChallenges":   s.listChallenges,
		"getChallenge":     s.getChallenge,
		"listTracks":       s.listTracks,
		"discover":         s.discover,
		"gatesCatalogue":   s.gatesCatalogue,
		"validate":         s.validate,
		"submit":           s.submit,
		"listEnvironments": s.listEnvironments,
		"getEnvironment":   s.getEnvironment,
		"preflight":        s.preflight,
		"launch":           s.launch,
		"listRuns":         s.listRuns,
		"getRun":           s.getRun,
		"cancel":           s.cancel,
		"runPlan":          s.runPlan,
		"readLog":          s.readLog,
		"listAttempts":     s.listAttempts,
		"getAttempt":       s.getAttempt,
		"collect":          s.collect,
		"claim":            s.claim,
		"review":           s.review,
		"leaderboard":      s.leaderboard,
		"getGates":         s.getGates,
		"planGates":        s.planGates,
		"attachGates":      s.attachGates,
		"arenaJobs":        s.arenaJobs,
		"arenaBudget":      s.arenaBudget,
		"listJobs":         s.listJobs,
		"formula":          s.formula,
		"runMetrics":       s.runMetrics,
		"appMeta":          s.appMeta,
		"appSubmissions":   s.appSubmissions,
		"appSubmission":    s.appSubmission,
		"appRun":           s.appRun,
		"events":           s.streamEvents,
		"listWebhooks":     s.listWebhooks,
		"redeliver":        s.redeliver,
		"version":          s.version,
		"healthz":          s.healthz,
		"readyz":           s.readyz,
		"doctor":           s.doctor,
		"metrics":          s.serveMetrics,
		"openapi":          s.serveOpenAPI,
		"guide":            s.guide,
		"legacyGuide":      s.legacyGuide,
		"llms":             s.llms,
		"clientBinary":     s.clientBinary,
		"pageBoard":        s.pageBoard,
		"textBoard":        s.textBoard,
		"postForm":         s.postForm,
		"pageArena":        s.pageArena,
		"textArena":        s.textArena,
		"pageSubmission":   s.pageSubmission,
		"pageRun":          s.pageRun,
		"pageFormula":      s.pageFormula,
		"textFormula":      s.textFormula,
		"feed":             s.feed,
		"asset":            s.asset,
	}
}
