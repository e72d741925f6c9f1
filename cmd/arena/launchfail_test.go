package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/hub/hubtest"
	"github.com/posttrainarena/arena/protocol/jobs/k8sjobs/k8stest"
)

// outpost is a whole arena in this process, as arena serve opens it, that talks to
// the outside through real sockets. Its clock stands still until a test moves it,
// and it looks after unconfirmed launches without pause, so that what it does is
// decided by that clock alone.
type outpost struct {
	t     *testing.T
	node  *node
	token string
	env   string
	ahead atomic.Int64 // of start, by the arena's clock and those of the services
	start time.Time
	bill  protocol.Micros // what all runs so far have cost
	late  protocol.Micros // what jobs of launches that were given up have cost
	asked int             // launches so far

	patience time.Duration // for one try of a call
}

// now is the clock of everything in these tests.
func (o *outpost) now() time.Time { return o.start.Add(time.Duration(o.ahead.Load())) }

// pass moves the clock.
func (o *outpost) pass(d time.Duration) { o.ahead.Add(int64(d)) }

// patience is how long the arena of a table waits for an answer that does not come.
const patience = 500 * time.Millisecond

func newOutpost(t *testing.T) *outpost {
	return &outpost{t: t, start: time.Now().UTC(), patience: patience}
}

// open opens the arena and begins to serve.
func (o *outpost) open(settings string, secrets map[string]string, change func(*node)) {
	o.t.Helper()
	n, err := openNode(o.t.Context(), nodeOptions{
		Data: o.t.TempDir(), Configs: overlay(o.t, settings), Listen: "127.0.0.1:0", BaseURL: "https://arena.example", Log: quiet(), Now: o.now,
		Getenv:  func(name string) string { return secrets[name] },
		Sleep:   func(ctx context.Context, d time.Duration) error { return sleep(ctx, min(d, time.Millisecond)) },
		Timeout: o.patience,
	})
	if err != nil {
		o.t.Fatal(err)
	}
	o.node = n
	timing := &n.service.Timing
	timing.LogFlush, timing.Retry, timing.Reconcile = time.Millisecond, 5*time.Millisecond, 20*time.Millisecond
	if change != nil {
		change(n)
	}
	if o.token, err = issueToken(o.t.Context(), n.store, o.now(), "olga", true); err != nil {
		o.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.run(ctx) }()
	o.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			o.t.Errorf("the arena ends with %v", err)
		}
	})
}

// ask sends a request to the arena.
func (o *outpost) ask(method, path string, body any) (status int, header http.Header, answer []byte) {
	o.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		o.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(o.t.Context(), method, "http://"+o.node.listener.Addr().String()+path, bytes.NewReader(raw))
	if err != nil {
		o.t.Fatal(err)
	}
	r.Header = http.Header{"Authorization": {"Bearer " + o.token}, "Content-Type": {"application/json"}, "User-Agent": {"test/1"}}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		o.t.Fatal(err)
	}
	defer resp.Body.Close()
	if answer, err = io.ReadAll(resp.Body); err != nil {
		o.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, answer
}

// get reads an answer that must be one.
func get[T any](o *outpost, path string) (value T) {
	o.t.Helper()
	status, _, raw := o.ask("GET", path, nil)
	if err := json.Unmarshal(raw, &value); err != nil || status != http.StatusOK {
		o.t.Fatalf("GET %s: %d %s %v", path, status, raw, err)
	}
	return value
}

// launch asks for a run.
func (o *outpost) launch(id string) (status int, header http.Header, answer []byte) {
	o.t.Helper()
	return o.ask("POST", "/api/challenges/tb2-9b/runs", map[string]string{"request_id": id, "environment_id": o.env})
}

// run is the run that a request made; its id is empty when it made none.
func (o *outpost) run(id string) api.Run {
	o.t.Helper()
	for _, r := range get[api.Runs](o, "/api/challenges/tb2-9b/runs").Runs {
		if r.RequestKey == id {
			return r
		}
	}
	return api.Run{}
}

// until waits for what the arena does by itself.
func (o *outpost) until(id, what string, holds func(api.Run) bool) api.Run {
	o.t.Helper()
	for range 3000 {
		if r := o.run(id); holds(r) {
			return r
		}
		if err := sleep(o.t.Context(), 5*time.Millisecond); err != nil {
			o.t.Fatal(err)
		}
	}
	r := o.run(id)
	raw, _ := json.Marshal(r)
	o.t.Fatalf("it never came about that %s: %s", what, raw)
	return r
}

// owes requires what the ledger says: nothing is reserved but what is held, and
// every job that ran is settled, to the micro-dollar.
func (o *outpost) owes(held protocol.Micros) {
	o.t.Helper()
	b := get[api.Budget](o, "/api/arena/budget")
	if b.ReservedUSD != held || b.SettledUSD != o.bill || b.RecordedUSD != o.bill+o.late || b.CommittedUSD != o.bill+o.late+held {
		o.t.Errorf("the ledger has $%s reserved, $%s settled, $%s recorded and $%s committed; want $%s, $%s and $%s more for late jobs", b.ReservedUSD, b.SettledUSD, b.RecordedUSD, b.CommittedUSD, held, o.bill, o.late)
	}
}

// reply is what a launch answers, and what it means.
type reply struct {
	status   int
	code     string
	launched protocol.Launched
	retry    bool // retry_with_same_request_id
	held     bool // the reservation
	sentence string
	wait     string // Retry-After; empty where any will do
}

// The answers of a launch whose provider fails. A launch that got its job answers
// 201, and one that is repeated 200.
var (
	refused = reply{
		502, "provider-refused", protocol.LaunchedNo, false, false,
		"The compute provider refused the job. Nothing was started and the reservation was released.", "",
	}
	unknown = reply{
		503, "launch-unknown", protocol.LaunchedUnknown, true, true,
		"The provider did not answer, so the job may or may not have started. Repeat the identical request: it finds the job or starts it, never twice.", "",
	}
	notYet = reply{
		503, "provider-unreachable", protocol.LaunchedNo, true, true,
		"The compute provider cannot be reached, so no job was started yet. The reservation is kept: repeat the identical request.", "5",
	}
	started = reply{status: 201}
)

// limited is the answer while a limit of the provider's holds.
func limited(says, wait string) reply {
	return reply{503, "provider-unreachable", protocol.LaunchedNo, true, true, "No job was started yet. " + says + " The reservation is kept: repeat the identical request.", wait}
}

// tooLong is the answer when it holds for so long that the reservation is given up.
func tooLong(says, wait string) reply {
	return reply{
		503, "provider-unreachable", protocol.LaunchedNo, false, false,
		"No job was started yet. " + says + " That is too long to keep everybody else waiting, so the reservation was released: launch again then, with a new request_id.", wait,
	}
}

// answers launches and requires what the arena says.
func (o *outpost) answers(id string, want reply) {
	o.t.Helper()
	status, header, raw := o.launch(id)
	if want == started {
		if status != 201 && status != 200 {
			o.t.Errorf("it answers %d %s; want the run", status, raw)
		}
		return
	}
	var p api.Problem
	if err := json.Unmarshal(raw, &p); err != nil || p.Launched == nil || p.RetrySame == nil {
		o.t.Fatalf("it answers %d %s, which says nothing of a launch: %v", status, raw, err)
	}
	got := reply{status, p.Code, protocol.Launched(*p.Launched), *p.RetrySame, want.held, p.Detail, header.Get("Retry-After")}
	if want.wait == "" {
		got.wait = ""
	}
	if got != want || header.Get("Content-Type") != api.ProblemType || (status == 503) != (header.Get("Retry-After") != "") {
		o.t.Errorf("it answers\n%+v, Retry-After %q; want\n%+v", got, header.Get("Retry-After"), want)
	}
	if text := string(raw); strings.Contains(text, "CANARY") || strings.Contains(text, "<p>") || strings.Contains(text, "127.0.0.1") {
		o.t.Errorf("it shows what is nobody's business: %s", text)
	}
}

// next names the next launch, a day after the one before.
func (o *outpost) next() string {
	o.pass(25 * time.Hour)
	o.asked++
	return fmt.Sprintf("launch-%04d", o.asked)
}

// provider is the other side of a table: what jobs there are at the fake.
type provider struct {
	lose    func(there bool) // the answer to the next call that creates a job, which is there or not
	jobs    func() int       // that were ever made
	heal    func()
	end     func(run string) // ends a run's only job
	costs   protocol.Micros  // what that costs
	settles time.Duration    // after so long an empty listing is proof
}

// looked waits until the reconciler has been by, for two seconds of the clock.
func (o *outpost) looked(id string) {
	o.t.Helper()
	for range 2 { // it says when it is next due, and then looks
		o.pass(time.Second)
		o.until(id, "the reconciler looks", func(r api.Run) bool {
			return r.NextCheckAt != nil && !r.NextCheckAt.Before(o.now().Truncate(time.Second))
		})
	}
}

// fails is one row of a table: a launch meets a failure, and then either nobody
// does anything (the reconciler finds out), or the identical request is repeated.
// made says that the provider has a job in spite of the failure.
func (o *outpost) fails(p provider, want reply, made, repeat bool) {
	o.t.Helper()
	id, before := o.next(), p.jobs()
	exist := func(n int) {
		o.t.Helper()
		if got := p.jobs() - before; got != n {
			o.t.Errorf("the provider has made %d jobs; want %d", got, n)
		}
	}
	o.answers(id, want)
	n := 0
	if made || want == started {
		n = 1
	}
	exist(n)
	switch run := o.run(id); {
	case want == started:
		o.owes(run.MaxComputeUSD)
	case want.held:
		if run.State != protocol.RunQueued || run.JobID != nil || run.SettledUSD != nil {
			o.t.Errorf("the run is %s with job %v, settled with %v; want one that waits", run.State, run.JobID, run.SettledUSD)
		}
		o.owes(run.MaxComputeUSD)
	default:
		if run.State != protocol.RunFailed || run.Status != protocol.NotLaunched || run.SettledUSD == nil || *run.SettledUSD != 0 {
			o.t.Errorf("the run is %s (%s), settled with %v; want it over and free", run.State, run.Status, run.SettledUSD)
		}
		o.owes(0)
	}
	p.heal()
	switch {
	case want == started:
	case !want.held:
		// It is over: the identical request says so again, and starts nothing.
		status, _, raw := o.launch(id)
		if status != 200 || !strings.Contains(string(raw), `"state":"failed"`) || !strings.Contains(string(raw), protocol.NotLaunched) {
			o.t.Errorf("the identical request answers %d %s", status, raw)
		}
		o.pass(10 * time.Minute)
		exist(0)
		o.owes(0)
		if !repeat {
			return
		}
		id = o.next() // and the money is there for another
		o.answers(id, started)
		exist(1)
	case repeat:
		if wait, err := time.ParseDuration(want.wait + "s"); err == nil {
			o.pass(wait - 2*time.Second)
			o.looked(id) // and the run keeps its place for as long as it was told to wait
		} else {
			o.pass(p.settles)
		}
		o.answers(id, started)
		exist(1)
	default:
		o.pass(10 * time.Minute)
		run := o.until(id, "the launch is looked into", func(r api.Run) bool { return r.JobID != nil || r.State.Ended() })
		exist(n)
		if !made {
			if run.State != protocol.RunFailed || run.Reason == nil || *run.Reason != "The launch was interrupted before a job existed; nothing was spent. Start again with a new request_id." {
				o.t.Errorf("the run is %s: %v", run.State, run.Reason)
			}
			o.owes(0)
			return
		}
	}
	o.ends(p, id)
	exist(1)
}

// ends has the job of a run end, and requires that the ledger holds what it cost.
func (o *outpost) ends(p provider, id string) {
	o.t.Helper()
	run := o.until(id, "the run has its job", func(r api.Run) bool { return r.JobID != nil })
	p.end(run.RunID)
	o.until(id, "the run ends", func(r api.Run) bool { return r.State.Ended() })
	o.bill += p.costs
	o.owes(0)
}

// launchFailure is a row of the table below.
type launchFailure struct {
	about string
	fault hubtest.Fault
	// creating is the answer when it happens to the call that creates the job, and
	// made says that there is a job then.
	creating reply
	made     bool
	// preparing is the answer when it happens to the commits of what the job reads:
	// to every one, or to the first alone where that is said.
	preparing reply
	once      bool
}

// commit is which commit it happens to; 0 for all.
func (f launchFailure) commit() int {
	if f.once {
		return 1
	}
	return 0
}

// tenTimes is a body that is larger than any answer of its kind.
const tenTimes = "ten times more than a job's description"

// hubFailures is how the hub fails.
func hubFailures() []launchFailure {
	status := hubtest.Status
	const used = "At Hugging Face a limit is used up and resets in "
	minutes, moment, day := limited(used+"5m0s.", "300"), limited(used+"30s.", "30"), tooLong(used+"24h0m0s.", "86400")
	ahead := limited(used+"1m30s.", "90")
	api := limited("At Hugging Face the limit on api is used up and resets in 2m0s.", "120")
	return []launchFailure{
		{"401", status(401), refused, false, refused, false},
		{"402, no credit", status(402), refused, false, refused, false},
		{"403, no right", status(403), refused, false, refused, false},
		{"403 of a gate", status(403, "X-Error-Code", "GatedRepo"), refused, false, refused, false},
		{"404", status(404), refused, false, refused, false},
		{"409", status(409), refused, false, refused, false},
		{"413", status(413), refused, false, refused, false},
		{"422", status(422), refused, false, refused, false},
		{"429 with a wait", status(429, "Retry-After", "300"), minutes, false, minutes, false},
		{"429 that says nothing", status(429), moment, false, moment, false},
		{"429 by the hub's own headers", status(429, "RateLimit", `"api";r=0;t=119`), api, false, api, false},
		{"429 of a clock that is an hour ahead", hubtest.Skewed(time.Hour, func(s *hubtest.Server, w http.ResponseWriter, r *http.Request, next http.Handler) {
			status(429, "Retry-After", s.Now().Add(time.Hour+90*time.Second).UTC().Format(http.TimeFormat))(s, w, r, next)
		}), ahead, false, ahead, false},
		{"429 for a day", status(429, "Retry-After", "86400"), day, false, day, false},
		{"408", status(408), unknown, false, notYet, false},
		{"500", status(500), unknown, false, notYet, false},
		{"502, a page", hubtest.Page(502), unknown, false, notYet, false},
		{"503 for a day", status(503, "Retry-After", "86400"), unknown, false, notYet, false},
		{"504, a page", hubtest.Page(504), unknown, false, notYet, false},
		{"200, the page of a login wall", hubtest.Page(200), unknown, false, notYet, false},
		{"a wrong content type", hubtest.WrongType("text/plain"), unknown, true, started, false},
		{"null", hubtest.Text("application/json", "null"), unknown, false, notYet, false},
		{"another thing", hubtest.Text("application/json", `{"id":"../../x","createdAt":"2026-01-01T00:00:00Z"}`), unknown, false, notYet, false},
		{"nothing", hubtest.Text("application/json", ""), unknown, false, notYet, false},
		{tenTimes, hubtest.Changed(func(body string) string { return strings.Repeat(" ", 2<<20) + body }), unknown, true, started, false},
		{"a slow body", hubtest.Stall(1), unknown, true, started, false},
		{"no answer", hubtest.Silent(), unknown, false, started, true},
		{"a cut body", hubtest.Cut(3), unknown, true, started, false},
		{"a lost answer", hubtest.Lost(), unknown, true, started, false},
		{"a reset", hubtest.Reset(), unknown, false, notYet, false},
		{"a loop of redirects", hubtest.Loop(), unknown, false, notYet, false},
		{"a redirect away", hubtest.Redirect(307, "https://elsewhere.invalid/"), unknown, false, notYet, false},
		{"a clock that is an hour ahead", hubtest.Skewed(time.Hour, func(_ *hubtest.Server, w http.ResponseWriter, r *http.Request, next http.Handler) {
			next.ServeHTTP(w, r)
		}), started, true, started, false},
	}
}

// hubOutpost is an arena whose jobs run on the fake hub.
type hubOutpost struct {
	*outpost
	hub  *hubtest.HuggingFace
	jobs *hubtest.Jobs
}

// The calls that fail.
const (
	createsJob = "POST /api/jobs/benchflow"
	commits    = "POST /api/datasets/benchflow/runs/commit/"
	asksForJob = "GET /api/jobs/benchflow" // the listing, a job, its log
)

func newHubOutpost(t *testing.T) *hubOutpost {
	t.Helper()
	w := &hubOutpost{outpost: newOutpost(t), hub: hubtest.NewHuggingFace(t)}
	w.hub.Now = w.now
	w.jobs = hubtest.NewJobs(w.hub, "benchflow")
	w.hub.Issue(runsToken, hubtest.Token{Account: hubtest.Account{Name: "arena-bot"}, Kind: "write", Grants: runsDataset})
	w.hub.Dataset(runsDataset).Private = true
	w.forget()
	w.hub.Dataset("ada/tasks").Commit(sampleFiles(t, "pack"), "main")
	w.open(fmt.Sprintf("[identity]\nhub_url = %q\n[sources.dataset]\nenabled = true\n%s", w.hub.URL, strings.ReplaceAll(hubJobs, "ARENA_URL", "https://arena.example")), map[string]string{"RUNS_TOKEN": runsToken, "SANDBOX_KEY": sandboxToken}, nil)
	w.submit("dataset")
	return w
}

// submit registers the sample collection from a place.
func (o *outpost) submit(kind string) {
	o.t.Helper()
	status, _, raw := o.ask("POST", "/api/environments", map[string]string{
		"challenge_id": "tb2-9b", "repo_type": kind, "repo_id": "ada/tasks", "revision": "main", "entry_path": "pack", "title": "Sample",
	})
	var env api.Environment
	if err := json.Unmarshal(raw, &env); err != nil || status != 201 {
		o.t.Fatalf("submit: %d %s %v", status, raw, err)
	}
	o.env = env.ID
}

// forget empties the runs dataset, so that the collection is copied there again.
func (w *hubOutpost) forget() {
	w.hub.Dataset(runsDataset).Commit([]hubtest.File{{Path: "README.md", Text: fmt.Sprintf("Runs of %s.\n", w.now())}}, "main")
}

func (w *hubOutpost) provider() provider {
	return provider{
		lose: func(there bool) {
			if there {
				w.hub.Fail(createsJob, 1, hubtest.Lost())
			} else {
				w.hub.Fail(createsJob, 1, hubtest.Reset())
			}
		},
		jobs: func() int { return len(w.jobs.All()) }, heal: w.hub.Heal, costs: 2 * 333_333, settles: 2 * time.Second,
		end: func(run string) {
			w.t.Helper()
			of := slices.DeleteFunc(w.jobs.All(), func(j *hubtest.Job) bool { return j.Spec.Labels["arena-run"] != run || j.Stage() != "SCHEDULING" })
			if len(of) != 1 {
				w.t.Fatalf("%d jobs of the run go on", len(of))
			}
			of[0].End("ERROR", "exit code 1", 90*time.Second) // two minutes are billed
		},
	}
}

// TestLaunchFailuresOfTheHub is the table of what a launch answers for every way in
// which the hub fails, at each call that matters, and of what becomes of the
// reservation and of the job: there is one or there is none, and the ledger holds
// what it cost.
func TestLaunchFailuresOfTheHub(t *testing.T) {
	for _, then := range []string{"and nobody asks again", "and the request is repeated"} {
		repeat := then == "and the request is repeated"
		t.Run("at the call that creates the job, "+then, func(t *testing.T) {
			t.Parallel()
			w := newHubOutpost(t)
			for _, f := range hubFailures() {
				w.row(t, f.about, func() {
					w.hub.Fail(createsJob, 0, f.fault)
					w.fails(w.provider(), f.creating, f.made, repeat)
				})
			}
		})
	}
	t.Run("at the commit of the collection's copy, and the request is repeated", func(t *testing.T) {
		t.Parallel()
		w := newHubOutpost(t)
		for _, f := range hubFailures() {
			w.row(t, f.about, func() {
				w.forget()
				w.hub.Fail(commits, f.commit(), f.fault)
				w.fails(w.provider(), f.preparing, false, true)
			})
		}
	})
	t.Run("at the commit of the run's files, and nobody asks again", func(t *testing.T) {
		t.Parallel()
		w := newHubOutpost(t)
		w.fails(w.provider(), started, true, false) // which leaves the collection's copy
		for _, f := range hubFailures() {
			w.row(t, f.about, func() {
				w.hub.Fail(commits, f.commit(), f.fault)
				w.fails(w.provider(), f.preparing, false, false)
			})
		}
	})
	for _, there := range []bool{true, false} {
		t.Run(fmt.Sprintf("at the listing that tells what became of a launch, with a job there: %v", there), func(t *testing.T) {
			t.Parallel()
			w := newHubOutpost(t)
			for _, f := range hubFailures() {
				if f.creating == started || f.about == tenTimes {
					continue // a listing may well be so large
				}
				w.row(t, f.about, func() {
					w.listingFails(w.provider(), func() { w.hub.Fail(asksForJob, 0, f.fault) }, there)
				})
			}
			for about, fault := range map[string]hubtest.Fault{
				"a listing of ten times as many pages": func(s *hubtest.Server, rw http.ResponseWriter, r *http.Request, _ http.Handler) {
					rw.Header().Set("Link", fmt.Sprintf(`<%s%s?label=%s&n=%d>; rel="next"`, s.URL, r.URL.Path, r.URL.Query().Get("label"), s.Calls(asksForJob)))
					hubtest.Text("application/json", "[]")(s, rw, r, nil)
				},
				"a listing on another server": func(s *hubtest.Server, rw http.ResponseWriter, r *http.Request, _ http.Handler) {
					rw.Header().Set("Link", `<https://elsewhere.invalid/>; rel="next"`)
					hubtest.Text("application/json", "[]")(s, rw, r, nil)
				},
				"a job that cannot be one": func(s *hubtest.Server, rw http.ResponseWriter, r *http.Request, _ http.Handler) {
					_, run, _ := strings.Cut(r.URL.Query().Get("label"), "=")
					hubtest.Text("application/json", fmt.Sprintf(`[{"id":"../../x","labels":{"arena-run":%q}}]`, run))(s, rw, r, nil)
				},
			} {
				w.row(t, about, func() {
					w.listingFails(w.provider(), func() { w.hub.Fail(asksForJob, 0, fault) }, there)
				})
			}
		})
	}
}

// row is a subtest that shares the arena of its table.
func (o *outpost) row(t *testing.T, about string, f func()) {
	t.Run(about, func(t *testing.T) {
		o.t = t
		f()
	})
	o.t = t
}

// listingFails has a launch end without an answer, and then every question about it.
// As long as they fail nothing is concluded: the reservation is held and no second
// job is asked for.
func (o *outpost) listingFails(p provider, fail func(), there bool) {
	o.t.Helper()
	id, before, n := o.next(), p.jobs(), 0
	if there {
		n = 1
	}
	p.lose(there)
	o.answers(id, unknown)
	fail()
	o.pass(10 * time.Minute)
	o.answers(id, unknown)
	run := o.until(id, "the reconciler has looked", func(r api.Run) bool { return r.UnreachableSince != nil })
	if run.State != protocol.RunQueued || run.JobID != nil || p.jobs() != before+n {
		o.t.Errorf("while nothing can be known the run is %s with job %v, and there are %d jobs", run.State, run.JobID, p.jobs()-before)
	}
	o.owes(run.MaxComputeUSD)
	p.heal()
	run = o.until(id, "the launch is looked into", func(r api.Run) bool { return r.JobID != nil || r.State.Ended() })
	if there {
		o.ends(p, id)
	} else if run.State != protocol.RunFailed || run.Status != protocol.NotLaunched {
		o.t.Errorf("without a job the run is %s", run.State)
	}
	if p.jobs() != before+n {
		o.t.Errorf("there are %d jobs", p.jobs()-before)
	}
	o.owes(0)
}

// TestLaunchMeetsTenJobs: whatever has made ten jobs of one run, one goes on, the
// others are canceled, and the ledger knows of one.
func TestLaunchMeetsTenJobs(t *testing.T) {
	w := newHubOutpost(t)
	id, p := w.next(), w.provider()
	w.hub.Fail(createsJob, 1, func(s *hubtest.Server, rw http.ResponseWriter, r *http.Request, next http.Handler) {
		body, _ := io.ReadAll(r.Body)
		for range 10 {
			r.Body = io.NopCloser(bytes.NewReader(body))
			next.ServeHTTP(httptest.NewRecorder(), r)
		}
		hubtest.Reset()(s, rw, r, next)
	})
	w.answers(id, unknown)
	w.answers(id, started)
	if n := len(w.jobs.All()); n != 10 {
		t.Fatalf("there are %d jobs", n)
	}
	w.ends(p, id) // which requires that one alone goes on
}

// TestLaunchFindsALateJob: a request that arrives when its run has been given up
// starts a job that nobody waits for. It is stopped, and the ledger holds what it cost.
func TestLaunchFindsALateJob(t *testing.T) {
	w := newHubOutpost(t)
	id := w.next()
	arrive := make(chan struct{})
	late := make(chan struct{})
	w.hub.Fail(createsJob, 1, func(s *hubtest.Server, rw http.ResponseWriter, r *http.Request, next http.Handler) {
		go func() {
			defer close(late)
			<-arrive
			next.ServeHTTP(httptest.NewRecorder(), r.WithContext(context.Background()))
		}()
		hubtest.Reset()(s, rw, r, next)
	})
	w.answers(id, unknown)
	w.pass(10 * time.Minute)
	w.until(id, "the launch is given up", func(r api.Run) bool { return r.State.Ended() })
	w.owes(0)
	w.hub.Fail(asksForJob, 0, hubtest.Status(500)) // so that it runs for a while
	close(arrive)
	<-late
	job := w.jobs.All()[0]
	job.Run()
	w.pass(90 * time.Second) // two minutes are billed
	w.hub.Heal()
	run := w.until(id, "the late job is on record", func(r api.Run) bool { return r.JobID != nil })
	w.late = 2 * 333_333
	if job.Stage() != "CANCELED" || run.State != protocol.RunFailed || *run.SettledUSD != 0 || run.Reason == nil || !strings.HasSuffix(*run.Reason, "it cost $0.666666.") {
		t.Errorf("the job is %s, the run %+v: %v", job.Stage(), run, *run.Reason)
	}
	w.owes(0)
	listed := get[api.Jobs](w.outpost, "/api/jobs").Jobs[0]
	if listed.CostUSD == nil || *listed.CostUSD != w.late || listed.Stage != "CANCELED" || listed.FinishedAt.Before(*listed.StartedAt) {
		t.Errorf("the list of jobs has %+v", listed)
	}
	id = w.next() // the arena goes on
	w.answers(id, started)
	w.ends(w.provider(), id)
}

// clusterFailure is a row of the table of the cluster's failures.
type clusterFailure struct {
	about    string
	fault    k8stest.Fault
	creating reply
	made     bool // the Job exists in spite of it
}

// clusterFailures is how a cluster fails.
func clusterFailures() []clusterFailure {
	says := func(code int, reason meta.StatusReason) k8stest.Fault {
		return k8stest.Fault{Answer: k8stest.Refuse(code, reason, "the cluster says so")}
	}
	page := func(code int) k8stest.Fault { return k8stest.Fault{Answer: k8stest.Page(code)} }
	return []clusterFailure{
		{"400", says(400, "BadRequest"), refused, false},
		{"401", says(401, "Unauthorized"), refused, false},
		{"403", says(403, "Forbidden"), refused, false},
		{"404, no such namespace", says(404, "NotFound"), refused, false},
		{"413", says(413, "RequestEntityTooLarge"), refused, false},
		{"422", says(422, "Invalid"), refused, false},
		{"409", says(409, "Conflict"), notYet, false},
		{"429 with a wait", k8stest.Fault{Answer: k8stest.Throttle(7)}, limited("The cluster is busy and asks to wait 7s.", "7"), false},
		{"408", says(408, "Timeout"), unknown, false},
		{"500", says(500, "InternalError"), unknown, false},
		{"503", says(503, "ServiceUnavailable"), unknown, false},
		{"504", says(504, "Timeout"), unknown, false},
		{"403, a page", page(403), unknown, false},
		{"404, a page", page(404), unknown, false},
		{"502, a page", page(502), unknown, false},
		{"200, a page", page(200), unknown, false},
		{"an empty object", k8stest.Fault{Answer: k8stest.JSON(`{}`)}, unknown, false},
		{"another thing", k8stest.Fault{Answer: k8stest.JSON(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x","uid":"y"}}`)}, unknown, false},
		{"ten times more than an answer has", k8stest.Fault{Answer: k8stest.Endless()}, unknown, false},
		{"deep nesting", k8stest.Fault{Answer: k8stest.JSON(strings.Repeat("[", 1<<20))}, unknown, false},
		{"a redirect away", k8stest.Fault{Answer: k8stest.Redirect("https://elsewhere.invalid/")}, unknown, false},
		{"a loop of redirects", k8stest.Fault{Answer: k8stest.Redirect("")}, unknown, false},
		{"a cut body", k8stest.Fault{Cut: 40}, unknown, true},
		{"a lost answer", k8stest.Fault{Lost: true}, unknown, true},
		{"no answer", k8stest.Fault{Hang: true}, unknown, false},
	}
}

// clusterOutpost is an arena whose jobs run on the fake cluster.
type clusterOutpost struct {
	*outpost
	cluster *k8stest.Server
	finish  chan struct{} // each value ends one job
	price   protocol.Micros
}

func newClusterOutpost(t *testing.T) *clusterOutpost {
	t.Helper()
	w := &clusterOutpost{outpost: newOutpost(t), finish: make(chan struct{})}
	hub, volume := hubtest.NewHuggingFace(t), t.TempDir()
	hub.Dataset("ada/tasks").Commit(sampleFiles(t, "pack"), "main")
	w.start = w.start.Truncate(time.Second) // as a cluster tells time
	w.cluster = k8stest.Start(t, k8stest.Options{
		Now: w.now, Token: clusterToken, Namespace: "arena", Volumes: map[string]string{"runs": volume}, GPUs: 8,
		Program: func(ctx context.Context, _ *k8stest.Container) int {
			select {
			case <-w.finish:
			case <-ctx.Done():
			}
			return 1
		},
	})
	w.open(fmt.Sprintf(`
[identity]
hub_url = %q
[sources.dataset]
enabled = true
[providers]
default = "kubernetes"
[providers.kubernetes]
kubeconfig = %q
image = "pipeline"
volume_claim = "runs"
directory = %q
`, hub.URL, w.cluster.Kubeconfig(t), volume), nil, func(n *node) { n.service.Timing.ProviderCall = 2 * patience })
	w.submit("dataset")
	var err error
	if w.price, err = protocol.ParseMicros(string(w.node.config.Arena.Flavors["a100x8"].PricePerHour)); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *clusterOutpost) provider() provider {
	const ran = 90 * time.Second
	return provider{
		lose: func(there bool) {
			fault := k8stest.Fault{Verb: "create", Times: 1, Lost: there}
			if !there {
				fault.Answer = func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
			}
			w.cluster.Inject(fault)
		},
		jobs: w.cluster.Created, heal: w.cluster.Heal, costs: protocol.Cost(w.price, ran), settles: time.Second,
		end: func(run string) {
			w.t.Helper()
			job := w.run(w.requestOf(run))
			w.pass(job.StartedAt.Add(ran).Sub(w.now()))
			w.finish <- struct{}{}
		},
	}
}

// requestOf is the request that made a run.
func (o *outpost) requestOf(run string) string {
	return get[api.Run](o, "/api/challenges/tb2-9b/runs/"+run).RequestKey
}

// TestLaunchFailuresOfACluster is the same table for jobs on a cluster.
func TestLaunchFailuresOfACluster(t *testing.T) {
	for _, repeat := range []bool{false, true} {
		t.Run(fmt.Sprintf("at the call that creates the job, repeated: %v", repeat), func(t *testing.T) {
			t.Parallel()
			w := newClusterOutpost(t)
			for _, f := range clusterFailures() {
				w.row(t, f.about, func() {
					f.fault.Verb = "create"
					w.cluster.Inject(f.fault)
					w.fails(w.provider(), f.creating, f.made, repeat)
				})
			}
		})
	}
	for _, there := range []bool{true, false} {
		t.Run(fmt.Sprintf("at the questions that tell what became of a launch, with a job there: %v", there), func(t *testing.T) {
			t.Parallel()
			w := newClusterOutpost(t)
			for _, f := range clusterFailures() {
				w.row(t, f.about, func() {
					w.listingFails(w.provider(), func() {
						for _, verb := range []string{"list", "get"} {
							f.fault.Verb = verb
							w.cluster.Inject(f.fault)
						}
					}, there)
				})
			}
		})
	}
}

// TestLaunchFindsALateJobOfACluster is the same for a cluster, which may act on a
// request long after the arena has stopped to wait for it.
func TestLaunchFindsALateJobOfACluster(t *testing.T) {
	w := newClusterOutpost(t)
	id, arrive := w.next(), make(chan struct{})
	w.cluster.Inject(k8stest.Fault{Verb: "create", Times: 1, Before: func() { <-arrive }})
	w.answers(id, unknown)
	w.pass(10 * time.Minute)
	w.until(id, "the launch is given up", func(r api.Run) bool { return r.State.Ended() })
	close(arrive)
	w.until(id, "the late job is made and stopped", func(api.Run) bool { return w.cluster.Created() == 1 && len(w.cluster.Jobs()) == 0 })
	w.owes(0)
}
