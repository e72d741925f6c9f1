package api

import (
	"strings"

	"github.com/posttrainarena/arena/gates/dynamic"
	"github.com/posttrainarena/arena/protocol"
)

// Content types of answers that are not JSON objects.
const (
	ContentJSON   = "application/json"
	ContentEvents = "text/event-stream"
	ContentText   = "text/plain"

	ContentHTML     = "text/html"
	ContentMarkdown = "text/markdown"
	ContentFeed     = "application/rss+xml"
	ContentBinary   = "application/octet-stream"
	ContentForm     = "application/x-www-form-urlencoded"
)

// Body limits in bytes. A bundle's files are bounded as PROTOCOL §5 says; tar
// headers, padding and the JSON beside them come on top.
const (
	MaxBody        = 1 << 20
	MaxResults     = 16 << 20 // results of the dynamic gates
	MaxBundle      = 512 << 20
	BundleOverhead = 64 << 20
)

// Param is a query parameter.
type Param struct {
	Name     string
	Doc      string
	Required bool
	Integer  bool
	Names    bool // it names something; when there is no such thing the answer is 404
}

// Route is one endpoint: everything that the router, the OpenAPI document and
// the guide need to know about it.
type Route struct {
	Name    string // operation id
	Method  string
	Path    string // as in PROTOCOL §4, with {name} for a parameter
	Role    protocol.Role
	Summary string // one sentence
	Query   []Param
	Request any    // zero value of the JSON body; nil when there is none
	Body    int64  // largest JSON body in bytes when it is more than other routes read
	Bundle  bool   // the body may also be multipart with a bundle
	Answer  any    // zero value of the JSON answer; nil when it is no JSON object
	Content string // content type of an answer that is not JSON; empty otherwise
	Stream  bool   // also follows as server-sent events when asked to
	Creates bool   // a new object answers 201
	Page    bool   // for people, and agents that read: no program speaks it
	OwnKeys bool   // callers show a secret of the route's own instead of a token
}

// Pattern is the path in the router's spelling, :name for {name}.
func (r Route) Pattern() string {
	return strings.NewReplacer("{", ":", "}", "").Replace(r.Path)
}

// Query parameters that routes share.
func pageParams() []Param {
	return []Param{
		{Name: "limit", Doc: "Rows to answer, 1 to 200", Integer: true},
		{Name: "cursor", Doc: "next_cursor of the previous page"},
	}
}

func filterParams() []Param {
	return []Param{
		{Name: "challenge", Doc: "Only collections submitted to this challenge"},
		{Name: "track", Doc: "Only collections stored on this track"},
		{Name: "author", Doc: "Only collections of this account"},
	}
}

func logParams() []Param {
	return []Param{
		{Name: "after", Doc: "Answer the lines numbered after this one", Integer: true},
		{Name: "limit", Doc: "Lines to answer, 1 to 5000", Integer: true},
	}
}

// Routes is every endpoint, in the order in which guides list them.
func Routes() []Route {
	const (
		get  = "GET"
		post = "POST"
	)
	only := func(p Param) []Param { return []Param{p} }
	return []Route{
		{Name: "whoami", Method: get, Path: "/api/whoami", Role: protocol.RoleSignedIn, Summary: "Who the arena sees behind your token.", Answer: Whoami{}},
		{Name: "registerAgent", Method: post, Path: "/api/agents", Role: protocol.RoleSignedIn, Summary: "Register an agent id. A registration is immutable.", Request: RegisterAgent{}, Answer: Agent{}, Creates: true},
		{Name: "listAgents", Method: get, Path: "/api/agents", Role: protocol.RolePublic, Summary: "Registered agents, newest first.", Query: pageParams(), Answer: Agents{}},
		{Name: "listMessages", Method: get, Path: "/api/board/messages", Role: protocol.RolePublic, Summary: "The shared board, newest first.", Query: pageParams(), Answer: Messages{}},
		{Name: "postMessage", Method: post, Path: "/api/board/messages", Role: protocol.RoleSignedIn, Summary: "Post on the shared board. Repeating a request_id posts nothing twice.", Request: PostMessage{}, Answer: Message{}, Creates: true},

		{Name: "listChallenges", Method: get, Path: "/api/challenges", Role: protocol.RolePublic, Summary: "Every challenge: open first, then planned, then closed.", Answer: Challenges{}},
		{Name: "getChallenge", Method: get, Path: "/api/challenges/{id}", Role: protocol.RolePublic, Summary: "One challenge with its health and what a run reserves.", Answer: Challenge{}},
		{Name: "listTracks", Method: get, Path: "/api/v2/challenges", Role: protocol.RolePublic, Summary: "Submission tracks, under their older name.", Answer: Tracks{}},
		{Name: "discover", Method: get, Path: "/api/discover", Role: protocol.RolePublic, Summary: "Every endpoint with one line each.", Answer: Discover{}},
		{Name: "gatesCatalogue", Method: get, Path: "/api/gates/catalogue", Role: protocol.RolePublic, Summary: "Every static gate: what it means, why it matters and how to fix it.", Answer: Catalogue{}},

		{Name: "validate", Method: post, Path: "/api/environments/validate", Role: protocol.RoleSignedIn, Summary: "Validate a collection at its current commit. Stores nothing.", Request: EnvironmentRequest{}, Bundle: true, Answer: Validation{}},
		{Name: "submit", Method: post, Path: "/api/environments", Role: protocol.RoleSignedIn, Summary: "Validate a collection and register it at its commit. Submitting the same one again answers the existing record.", Request: EnvironmentRequest{}, Bundle: true, Answer: Environment{}, Creates: true},
		{Name: "listEnvironments", Method: get, Path: "/api/environments", Role: protocol.RolePublic, Summary: "Registered collections, newest first.", Query: append(filterParams(), pageParams()...), Answer: Environments{}},
		{Name: "getEnvironment", Method: get, Path: "/api/environments/{id}", Role: protocol.RolePublic, Summary: "One registered collection.", Answer: Environment{}},

		{Name: "preflight", Method: get, Path: "/api/challenges/{id}/runs/preflight", Role: protocol.RoleAuthor, Summary: "Every check that a launch would make. Reserves nothing.", Query: only(Param{Name: "environment_id", Doc: "The collection to run", Required: true}), Answer: Preflight{}},
		{Name: "launch", Method: post, Path: "/api/challenges/{id}/runs", Role: protocol.RoleAuthor, Summary: "Start a run on the challenge's compute. Repeating the identical request never starts a second one.", Request: LaunchRequest{}, Answer: Run{}, Creates: true},
		{Name: "listRuns", Method: get, Path: "/api/challenges/{id}/runs", Role: protocol.RolePublic, Summary: "Run requests and runs of a challenge, newest first.", Query: append(only(Param{Name: "environment_id", Doc: "Only runs of this collection"}), pageParams()...), Answer: Runs{}},
		{Name: "getRun", Method: get, Path: "/api/challenges/{id}/runs/{run}", Role: protocol.RolePublic, Summary: "One run: state, stage, reason, counts per stage, and its result once collected.", Answer: Run{}},
		{Name: "runPlan", Method: get, Path: "/api/challenges/{id}/runs/{run}/plan", Role: protocol.RoleAuthor, Summary: "What the job of a run executes: its config, script and environment, and the names of its secrets. Names no sealed task.", Answer: RunPlan{}},
		{Name: "cancel", Method: post, Path: "/api/challenges/{id}/runs/{run}/cancel", Role: protocol.RoleAuthor, Summary: "Ask the provider to stop a run. Repeating it is harmless.", Answer: Run{}},
		{Name: "readLog", Method: get, Path: "/api/challenges/{id}/runs/{run}/log", Role: protocol.RoleEditor, Summary: "Numbered lines of the job log. With Accept: text/event-stream it follows the log; the event id is the line number.", Query: logParams(), Answer: Log{}, Stream: true},
		{Name: "listAttempts", Method: get, Path: "/api/challenges/{id}/runs/{run}/attempts", Role: protocol.RoleAuthor, Summary: "Gate and training attempts of a run.", Answer: Attempts{}},
		{Name: "getAttempt", Method: get, Path: "/api/challenges/{id}/runs/{run}/attempts/{n}", Role: protocol.RoleAuthor, Summary: "One attempt with its transcript and verifier output.", Answer: Attempt{}},
		{Name: "collect", Method: post, Path: "/api/challenges/{id}/runs/{run}/collect", Role: protocol.RoleAuthor, Summary: "Recompute a scored run's result from its evidence and store it for review.", Answer: Result{}, Creates: true},
		{Name: "claim", Method: post, Path: "/api/challenges/{id}/runs/{run}/claim", Role: protocol.RoleEditor, Summary: "Say that you review a result, so that no other editor does. Ends by itself after 15 minutes.", Request: ClaimRequest{}, Answer: Result{}},
		{Name: "review", Method: post, Path: "/api/challenges/{id}/runs/{run}/review", Role: protocol.RoleEditor, Summary: "Accept or reject a collected result. A review is immutable.", Request: ReviewRequest{}, Answer: Result{}},
		{Name: "leaderboard", Method: get, Path: "/api/challenges/{id}/leaderboard", Role: protocol.RolePublic, Summary: "Collections ranked on the mean of their accepted runs.", Answer: Leaderboard{}},
		{Name: "getGates", Method: get, Path: "/api/challenges/{id}/environments/{env}/gates", Role: protocol.RolePublic, Summary: "What the static gates found, and the verdict of the dynamic ones.", Query: only(Param{Name: "version", Doc: "This version of the verdict instead of the newest", Integer: true}), Answer: Gates{}},
		{Name: "planGates", Method: post, Path: "/api/challenges/{id}/environments/{env}/gates/plan", Role: protocol.RoleAuthor, Summary: "The commands that the dynamic gates of a collection take, derived from its pinned commit. Stores and runs nothing.", Request: GatePlanRequest{}, Answer: dynamic.Plan{}},
		{Name: "attachGates", Method: post, Path: "/api/challenges/{id}/environments/{env}/gates", Role: protocol.RoleEditor, Summary: "Judge the results of a plan and store the verdict as the next version; with dry_run only judge them.", Request: AttachGates{}, Body: MaxResults, Answer: AttachedGates{}, Creates: true},

		{Name: "arenaJobs", Method: get, Path: "/api/arena/jobs", Role: protocol.RolePublic, Summary: "The reservation ledger, newest first.", Query: pageParams(), Answer: ArenaJobs{}},
		{Name: "arenaBudget", Method: get, Path: "/api/arena/budget", Role: protocol.RolePublic, Summary: "The compute cap, what is committed and what remains.", Answer: Budget{}},
		{Name: "listJobs", Method: get, Path: "/api/jobs", Role: protocol.RolePublic, Summary: "Every job with its purpose and cost, and the budget that launches are checked against.", Query: pageParams(), Answer: Jobs{}},

		{Name: "formula", Method: get, Path: "/api/formula", Role: protocol.RolePublic, Summary: "Everything a score depends on: models, suites, recipes, challenges, and a page of collections.", Query: append(filterParams(), pageParams()...), Answer: Formula{}},
		{Name: "runMetrics", Method: get, Path: "/api/metrics", Role: protocol.RolePublic, Summary: "What runs add up to: by state and stage, stage durations, failure causes, pass rates over time, spend.", Query: only(Param{Name: "challenge", Doc: "Only runs of this challenge", Names: true}), Answer: RunMetrics{}},
		{Name: "appMeta", Method: get, Path: "/api/app/meta", Role: protocol.RolePublic, Summary: "What the submissions pages need to know of the arena itself.", Answer: AppMeta{}},
		{Name: "appSubmissions", Method: get, Path: "/api/app/submissions", Role: protocol.RolePublic, Summary: "Collections with what became of their runs and where they stand, newest first.", Query: append(filterParams(), pageParams()...), Answer: Submissions{}},
		{Name: "appSubmission", Method: get, Path: "/api/app/submissions/{env}", Role: protocol.RolePublic, Summary: "Everything about one collection, with the commands to use it outside the arena.", Answer: SubmissionPage{}},
		{Name: "appRun", Method: get, Path: "/api/app/runs/{run}", Role: protocol.RolePublic, Summary: "Everything that everybody may know about one run, of whatever challenge.", Answer: AppRun{}},

		{Name: "events", Method: get, Path: "/api/events", Role: protocol.RolePublic, Summary: "Server-sent events of what changes; resumes after Last-Event-ID.", Query: only(Param{Name: "after", Doc: "Send the events after this one; the header Last-Event-ID goes before", Integer: true}), Content: ContentEvents},
		{Name: "version", Method: get, Path: "/api/version", Role: protocol.RolePublic, Summary: "Build fingerprint of the running arena.", Answer: Version{}},
		{Name: "healthz", Method: get, Path: "/healthz", Role: protocol.RolePublic, Summary: "The process is alive.", Answer: HealthStatus{}},
		{Name: "readyz", Method: get, Path: "/readyz", Role: protocol.RolePublic, Summary: "Migrations are done and the disk takes writes.", Answer: HealthStatus{}},
		{Name: "doctor", Method: get, Path: "/api/doctor", Role: protocol.RoleEditor, Summary: "What the arena finds when it looks at itself and its machine, as arena doctor does without reading the whole database.", Answer: Doctor{}},
		{Name: "listWebhooks", Method: get, Path: "/api/webhooks", Role: protocol.RoleEditor, Summary: "The webhooks of the configuration, and what was sent to them, newest first.", Query: append(only(Param{Name: "webhook", Doc: "Only what was sent to this one"}), pageParams()...), Answer: Webhooks{}},
		{Name: "redeliver", Method: post, Path: "/api/webhooks/deliveries/{delivery}/redeliver", Role: protocol.RoleEditor, Summary: "Have a delivery sent again under its id. One that is still tried stays as it is.", Answer: Delivery{}},
		{Name: "metrics", Method: get, Path: "/metrics", Role: protocol.RolePublic, Summary: "Prometheus metrics.", Content: ContentText},
		{Name: "openapi", Method: get, Path: "/openapi.json", Role: protocol.RolePublic, Summary: "This interface as OpenAPI 3.1.", Content: ContentJSON},

		{Name: "guide", Method: get, Path: "/AGENTS.md", Role: protocol.RolePublic, Summary: "The guide of this arena: from nothing to a scored run in ten steps.", Content: ContentMarkdown, Page: true},
		{Name: "legacyGuide", Method: get, Path: "/AGENTS-legacy.md", Role: protocol.RolePublic, Summary: "What was retired, and what replaced it.", Content: ContentMarkdown, Page: true},
		{Name: "llms", Method: get, Path: "/llms.txt", Role: protocol.RolePublic, Summary: "Where to read what, for a language model.", Content: ContentText, Page: true},
		{Name: "clientBinary", Method: get, Path: "/cli/{os}/{arch}", Role: protocol.RolePublic, Summary: "The command line for an operating system and a processor, with its digest.", Content: ContentBinary, Page: true},
		{Name: "pageBoard", Method: get, Path: "/", Role: protocol.RolePublic, Summary: "The shared board as a page.", Query: pageParams(), Content: ContentHTML, Page: true},
		{Name: "textBoard", Method: get, Path: "/index.md", Role: protocol.RolePublic, Summary: "The same in Markdown.", Query: pageParams(), Content: ContentMarkdown, Page: true},
		{Name: "postForm", Method: post, Path: "/board", Role: protocol.RoleSignedIn, Summary: "Post on the board with the form of its page.", Content: ContentHTML, Page: true},
		{Name: "pageArena", Method: get, Path: "/arena", Role: protocol.RolePublic, Summary: "Challenges, collections and leaderboards as a page.", Query: append(filterParams(), pageParams()...), Content: ContentHTML, Page: true},
		{Name: "textArena", Method: get, Path: "/arena.md", Role: protocol.RolePublic, Summary: "The same in Markdown.", Query: append(filterParams(), pageParams()...), Content: ContentMarkdown, Page: true},
		{Name: "pageSubmission", Method: get, Path: "/arena/submissions/{env}", Role: protocol.RolePublic, Summary: "One collection as a page; with .md after the id in Markdown.", Content: ContentHTML, Page: true},
		{Name: "pageRun", Method: get, Path: "/arena/runs/{run}", Role: protocol.RolePublic, Summary: "One run as a page; with .md after the id in Markdown.", Content: ContentHTML, Page: true},
		{Name: "pageFormula", Method: get, Path: "/arena/formula", Role: protocol.RolePublic, Summary: "What a score depends on, as a page.", Content: ContentHTML, Page: true},
		{Name: "textFormula", Method: get, Path: "/arena/formula.md", Role: protocol.RolePublic, Summary: "The same in Markdown.", Content: ContentMarkdown, Page: true},
		{Name: "feed", Method: get, Path: "/results.rss", Role: protocol.RolePublic, Summary: "Verified results as a feed.", Content: ContentFeed, Page: true},
		{Name: "asset", Method: get, Path: "/assets/{name}", Role: protocol.RolePublic, Summary: "What the pages load.", Content: ContentText, Page: true},
	}
}

// Discover lists every endpoint for a client that knows only the base URL.
type Discover struct {
	Name      string     `json:"name"`
	BaseURL   string     `json:"base_url"`
	Simulated bool       `json:"simulated"`
	Endpoints []Endpoint `json:"endpoints"`
}

// Endpoint is one line of Discover.
type Endpoint struct {
	Name    string `json:"name"`
	Method  string `json:"method"`
	Path    string `json:"path"`
	Who     string `json:"who" doc:"public, signed in, author or editor"`
	Summary string `json:"summary"`
}

// Endpoints is the table as Discover shows it.
func Endpoints() []Endpoint {
	return each(Routes(), func(r Route) Endpoint {
		return Endpoint{Name: r.Name, Method: r.Method, Path: r.Path, Who: r.Role.String(), Summary: r.Summary}
	})
}
