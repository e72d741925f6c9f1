package hfjobs_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/hub/hubtest"
	"github.com/posttrainarena/arena/protocol/jobs"
	"github.com/posttrainarena/arena/protocol/jobs/hfjobs"
)

const run = "challenge-0123456789ab"

// class is the class of an error as the arena reads it; a short name for tables.
func class(err error) string {
	for name, target := range map[string]error{"refused": jobs.ErrRefused, "unknown": jobs.ErrUnknown, "unreachable": jobs.ErrUnreachable, "no job": jobs.ErrNoJob} {
		if errors.Is(err, target) {
			return name
		}
	}
	return fmt.Sprint(err)
}

// TestFailures is the table of what every call makes of every failure. The first
// column is the creation of a job, where it decides whether a reservation is
// released (refused), kept (unknown), or kept and known to be unused (unreachable).
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		about                                          string
		fault                                          hubtest.Fault
		create, prepare, inspect, find, hardware, logs string
		say                                            string // part of what creating says
	}{
		{"401", hubtest.Status(401), "refused", "refused", "unreachable", "unreachable", "unreachable", "unreachable", "answered 401"},
		{"402, no credit", hubtest.Status(402), "refused", "refused", "unreachable", "unreachable", "unreachable", "unreachable", "answered 402"},
		{"403, no right", hubtest.Status(403), "refused", "refused", "unreachable", "unreachable", "unreachable", "unreachable", "answered 403"},
		{"404", hubtest.Status(404), "refused", "refused", "no job", "unreachable", "unreachable", "no job", "answered 404"},
		{"409", hubtest.Status(409), "refused", "refused", "unreachable", "unreachable", "unreachable", "unreachable", "answered 409"},
		{"413", hubtest.Status(413), "refused", "refused", "unreachable", "unreachable", "unreachable", "unreachable", "answered 413"},
		{"422", hubtest.Status(422), "refused", "refused", "unreachable", "unreachable", "unreachable", "unreachable", "answered 422"},
		{"429 with a wait", hubtest.Status(429, "Retry-After", "30"), "unreachable", "unreachable", "unreachable", "unreachable", "unreachable", "unreachable", "answered 429"},
		{"429 of another clock", hubtest.Skewed(10*time.Minute, hubtest.Status(429, "Retry-After", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))), "unreachable", "unreachable", "unreachable", "unreachable", "unreachable", "unreachable", "answered 429"},
		{"408", hubtest.Status(408), "unknown", "unreachable", "unreachable", "unreachable", "unreachable", "unreachable", "answered 408"},
		{"500", hubtest.Status(500), "unknown", "unreachable", "unreachable", "unreachable", "unreachable", "unreachable", "answered 500"},
		{"502 of a proxy", hubtest.Page(502), "unknown", "unreachable", "unreachable", "unreachable", "unreachable", "unreachable", "an HTML page"},
		{"503", hubtest.Status(503, "Retry-After", "86400"), "unknown", "unreachable", "unreachable", "unreachable", "unreachable", "unreachable", "answered 503"},
		{"504", hubtest.Page(504), "unknown", "unreachable", "unreachable", "unreachable", "unreachable", "unreachable", "answered 504"},
		{"200 of a login wall", hubtest.Page(200), "unknown", "unreachable", "unreachable", "unreachable", "unreachable", "unreachable", "instead of JSON"},
		{"a wrong content type", hubtest.WrongType("text/plain"), "unknown", "unreachable", "unreachable", "unreachable", "unreachable", "unreachable", "instead of JSON"},
		{"null", hubtest.Text("application/json", "null"), "unknown", "unreachable", "unreachable", "unreachable", "", "unreachable", "describes no job"},
		{"another thing", hubtest.Text("application/json", `{"id":"../../x","createdAt":"2026-01-01T00:00:00Z"}`), "unknown", "unreachable", "unreachable", "unreachable", "unreachable", "unreachable", "describes no job"},
		{"nothing", hubtest.Text("application/json", ""), "unknown", "unreachable", "unreachable", "unreachable", "unreachable", "unreachable", "cannot be read"},
		{"a slow body", hubtest.Stall(1), "unknown", "unreachable", "unreachable", "unreachable", "unreachable", "unreachable", "took longer than"},
		{"a cut body", hubtest.Cut(3), "unknown", "unreachable", "unreachable", "unreachable", "unreachable", "unreachable", "breaks off"},
		{"a lost answer", hubtest.Lost(), "unknown", "unreachable", "unreachable", "unreachable", "unreachable", "unreachable", "did not answer"},
		{"a reset", hubtest.Reset(), "unknown", "unreachable", "unreachable", "unreachable", "unreachable", "unreachable", "did not answer"},
		{"a loop of redirects", hubtest.Loop(), "unknown", "unreachable", "unreachable", "unreachable", "unreachable", "unreachable", "redirects"},
		{"a redirect away", hubtest.Redirect(307, "https://elsewhere.invalid/"), "unknown", "unreachable", "unreachable", "unreachable", "unreachable", "unreachable", "redirects"},
	} {
		t.Run(c.about, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			provider := p.open(func(o *hfjobs.Options) {
				if c.about == "a slow body" {
					o.Timeout = time.Second
				}
			})
			p.hub.Fail("POST /api/jobs/benchflow", 0, c.fault)
			_, err := provider.Start(t.Context(), spec(run, "long"))
			if class(err) != c.create || !strings.Contains(err.Error(), c.say) || strings.Contains(err.Error(), "CANARY") || strings.Contains(err.Error(), "<p>") || strings.Contains(err.Error(), "\n") {
				t.Errorf("creating a job is %s (%v); want %s, saying %q", class(err), err, c.create, c.say)
			}
			if n := p.hub.Calls("POST /api/jobs/benchflow"); n != 1 {
				t.Errorf("the job was asked for %d times", n)
			}
			p.hub.Heal()
			p.hub.Fail("POST /api/datasets/", 0, c.fault)
			if _, err = provider.Start(t.Context(), spec(run+"c", "long")); class(err) != c.prepare {
				t.Errorf("with no way to store the run's files, starting is %s (%v); want %s", class(err), err, c.prepare)
			}
			if n := p.hub.Calls("POST /api/jobs/benchflow"); n != 1 {
				t.Error("a job was asked for without its files")
			}
			p.hub.Heal()
			job, err := provider.Start(t.Context(), spec(run+"d", "long"))
			if err != nil {
				t.Fatal(err)
			}
			p.hub.Fail("GET /api/jobs/", 0, c.fault)
			_, inspect := provider.Inspect(t.Context(), job.ID)
			_, find := provider.Find(t.Context(), run+"d")
			_, hardware := provider.Hardware(t.Context())
			var logs error
			for _, logs = range provider.Logs(t.Context(), job.ID, 0) {
			}
			for _, call := range []struct {
				name, want string
				err        error
			}{{"Inspect", c.inspect, inspect}, {"Find", c.find, find}, {"Hardware", c.hardware, hardware}, {"Logs", c.logs, logs}} {
				got := class(call.err)
				if call.want == "" && (call.err == nil || got == "unreachable") { // an empty list is one
					continue
				}
				if got != call.want {
					t.Errorf("%s is %s (%v); want %s", call.name, got, call.err, call.want)
				}
			}
		})
	}
}

// TestRefusedByWhatItSays: the hub's own refusals, with its words for the log.
func TestRefusedByWhatItSays(t *testing.T) {
	p := newPlace(t)
	provider := p.open()
	p.jobs.NoCredit = true
	_, err := provider.Start(t.Context(), spec(run, "long"))
	if class(err) != "refused" || !strings.Contains(err.Error(), "credit balance is insufficient") {
		t.Error(err)
	}
	p.jobs.NoCredit = false
	p.hub.Issue(token, hubtest.Token{Account: hubtest.Account{Name: "arena-bot"}, Kind: "write", Grants: "benchflow/other"})
	if _, err = provider.Start(t.Context(), spec(run, "long")); class(err) != "refused" {
		t.Errorf("without a right to the runs dataset: %v", err)
	}
	p.hub.Issue(token, hubtest.Token{Account: hubtest.Account{Name: "arena-bot"}, Kind: "write", Grants: runsDataset})
	p.hub.Dataset(runsDataset).Private = false
	if _, err = provider.Start(t.Context(), spec(run, "long")); class(err) != "refused" || !strings.Contains(err.Error(), "make it private") {
		t.Errorf("with a public runs dataset: %v", err)
	}
	if n := len(p.jobs.All()); n != 0 {
		t.Errorf("%d jobs were started", n)
	}
}

// TestAnUnseenJobIsNotAbsent: a job whose answer was lost, and which the listing
// does not show for a while (J10), is not declared absent.
func TestAnUnseenJobIsNotAbsent(t *testing.T) {
	p := newPlace(t)
	provider := p.open()
	p.jobs.Hidden = 3
	p.hub.Fail("POST /api/jobs/", 1, hubtest.Lost())
	if _, err := provider.Start(t.Context(), spec(run, "long")); class(err) != "unknown" {
		t.Fatal(err)
	}
	for range 3 {
		if found, err := provider.Find(t.Context(), run); class(err) != "unreachable" || len(found) != 0 {
			t.Fatalf("%v %v: an empty list so soon proves nothing", found, err)
		}
		p.ahead.Add(int64(20 * time.Second))
	}
	if found, err := provider.Find(t.Context(), run); err != nil || len(found) != 1 {
		t.Fatalf("%v %v", found, err)
	}
	// A process that was started a moment ago knows less still.
	p.ahead.Add(-int64(3 * time.Minute)) // which open adds
	fresh := p.open()
	p.ahead.Add(-int64(3 * time.Minute))
	if _, err := fresh.Find(t.Context(), "challenge-000000000000"); class(err) != "unreachable" {
		t.Error(err)
	}
	p.ahead.Add(int64(6 * time.Minute))
	if found, err := fresh.Find(t.Context(), "challenge-000000000000"); err != nil || len(found) != 0 {
		t.Errorf("after two minutes it is proof: %v %v", found, err)
	}
}

// TestPages: more jobs than a page holds, and ten times more than anybody expects.
func TestPages(t *testing.T) {
	p := newPlace(t)
	provider := p.open()
	p.hub.Page = 3
	var first string
	for range 10 {
		job, err := provider.Start(t.Context(), spec(run, "long"))
		if err != nil {
			t.Fatal(err)
		}
		first = max(first, job.ID)
		p.ahead.Add(int64(time.Second))
	}
	found, err := provider.Find(t.Context(), run)
	if err != nil || len(found) != 10 || !slices.IsSortedFunc(found, func(a, b jobs.Job) int { return a.CreatedAt.Compare(b.CreatedAt) }) {
		t.Errorf("%d jobs, %v; want ten, oldest first", len(found), err)
	}
	p.hub.Fail("GET /api/jobs/benchflow", 0, func(s *hubtest.Server, w http.ResponseWriter, r *http.Request, next http.Handler) {
		w.Header().Set("Link", `<`+s.URL+`/api/jobs/benchflow?cursor=`+fmt.Sprint(time.Now().UnixNano())+`>; rel="next"`)
		hubtest.Text("application/json", "[]")(s, w, r, next)
	})
	if _, err := provider.Find(t.Context(), run); class(err) != "unreachable" || !strings.Contains(err.Error(), "does not end") {
		t.Errorf("a list without end: %v", err)
	}
	p.hub.Heal()
	p.hub.Fail("GET /api/jobs/benchflow", 0, func(s *hubtest.Server, w http.ResponseWriter, r *http.Request, next http.Handler) {
		w.Header().Set("Link", `<https://elsewhere.invalid/>; rel="next"`)
		hubtest.Text("application/json", "[]")(s, w, r, next)
	})
	if _, err := provider.Find(t.Context(), run); class(err) != "unreachable" || !strings.Contains(err.Error(), "another server") {
		t.Errorf("a list that leads away: %v", err)
	}
}

// TestBilling: what a job costs, from what the hub says of it (J23).
func TestBilling(t *testing.T) {
	for _, c := range []struct {
		about, change string // of the job's JSON
		status        jobs.Status
		billed        time.Duration
	}{
		{"by durations, in whole minutes", `"durations":{"runningSecs":61}`, jobs.Completed, 2 * time.Minute},
		{"by its times, without durations", `"durations":null`, jobs.Completed, 2 * time.Minute},
		{"a limit that was reached", `"status":{"stage":"ERROR","message":"Job timeout"},"timeout":90`, jobs.TimedOut, 2 * time.Minute},
		{"an error before the limit", `"status":{"stage":"ERROR","message":"exit code 1"},"timeout":91`, jobs.Failed, 2 * time.Minute},
		{"two Ls", `"status":{"stage":"CANCELLED"}`, jobs.Canceled, 2 * time.Minute},
		{"a word that nobody knows", `"status":{"stage":"PAUSED"}`, jobs.Running, 2 * time.Minute},
		{"out of credit", `"status":{"stage":"CANCELED","cancelReason":"NO_CREDITS"}`, jobs.Canceled, 2 * time.Minute},
		{"canceled before it ran", `"status":{"stage":"CANCELED"},"startedAt":null,"finishedAt":null,"durations":null`, jobs.Canceled, 0},
	} {
		t.Run(c.about, func(t *testing.T) {
			p := newPlace(t)
			provider := p.open()
			job, err := provider.Start(t.Context(), spec(run, "short"))
			if err != nil {
				t.Fatal(err)
			}
			p.hub.Fail("GET /api/jobs/", 0, hubtest.Changed(func(body string) string {
				return strings.TrimSuffix(strings.TrimSpace(body), "}") + "," + c.change + "}"
			}))
			got, err := provider.Inspect(t.Context(), job.ID)
			if err != nil || got.Status != c.status || got.Billed != c.billed || got.Status.Ended() && got.EndedAt.IsZero() {
				t.Errorf("%+v %v; want %s and %s", got, err, c.status, c.billed)
			}
		})
	}
	p := newPlace(t)
	flavors, err := p.open().Hardware(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range flavors {
		if f.Name == "a100x8" && protocol.Cost(f.PricePerHour, 8*time.Hour) != 159_999_840 {
			t.Errorf("eight hours of a100x8 cost %s; the seeds say 159.9998", protocol.Cost(f.PricePerHour, 8*time.Hour))
		}
	}
	p.hub.Fail("GET /api/jobs/hardware", 0, hubtest.Text("application/json", `[{"name":"a","unitCostMicroUSD":0.5,"unitLabel":"minute"},{"name":"b","unitCostMicroUSD":9,"unitLabel":"hour"},{"name":"c","unitLabel":"minute"},{"name":"a","unitCostMicroUSD":3,"unitLabel":"minute"}]`))
	if flavors, err = p.open().Hardware(t.Context()); err != nil || len(flavors) != 1 || flavors[0].PricePerHour != 60 {
		t.Errorf("%v %v; want the one that has a price by the minute", flavors, err)
	}
	p.hub.Heal()
	p.hub.Fail("GET /api/jobs/hardware", 0, hubtest.Text("application/json", "["+strings.Repeat(`{"name":"a"},`, 2000)+`{"name":"b"}]`))
	if _, err = p.open().Hardware(t.Context()); class(err) != "unreachable" {
		t.Errorf("a list of 2,001: %v", err)
	}
}

// TestMirror copies a collection, through everything that can happen to a commit.
func TestMirror(t *testing.T) {
	source := protocol.Source{RepoType: protocol.RepoGitHub, RepoID: "ada/tasks", Revision: strings.Repeat("a", 40), EntryPath: "pack"}
	files := fstest.MapFS{
		"pack/submission.yaml": {Data: []byte("team_name: x\n")}, "pack/envs/a/instruction.md": {Data: []byte("do\n")}, "pack/envs/a/run.log": {Data: []byte("log\n")},
		"pack/envs/a/data.bin": {Data: []byte(strings.Repeat("\x00\x01", 5000))}, "pack/empty": {}, "elsewhere.txt": {Data: []byte("no")},
	}
	var paths []string
	for name := range files {
		paths = append(paths, name)
	}
	const dir = "submissions/env-0123456789ab/" + "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	for _, c := range []struct {
		about   string
		fault   hubtest.Fault
		n       int
		want    string // class of the error; empty for none
		commits int    // asked for
	}{
		{"at once", nil, 0, "", 1},
		{"committed, and the answer lost", hubtest.Lost(), 1, "", 1},
		{"500, not committed", hubtest.Status(500), 1, "", 2},
		{"500 after the commit", func(s *hubtest.Server, w http.ResponseWriter, r *http.Request, next http.Handler) {
			hubtest.Changed(func(string) string { return "" })(s, discard{w.Header()}, r, next)
			hubtest.Status(500)(s, w, r, next)
		}, 1, "", 1},
		{"somebody else committed", hubtest.Status(412), 1, "", 2},
		{"and goes on doing so", hubtest.Status(412), 0, "unreachable", 5},
		{"the hourly quota", hubtest.Status(429), 0, "unreachable", 1},
		{"no right", hubtest.Status(403), 0, "refused", 1},
		{"an outage", hubtest.Page(504), 0, "unreachable", 5},
	} {
		t.Run(c.about, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			provider := p.open()
			if c.fault != nil {
				p.hub.Fail("POST /api/datasets/benchflow/runs/commit/", c.n, c.fault)
			}
			copied, err := provider.Mirror(t.Context(), "env-0123456789ab", source, paths, files)
			if n := p.hub.Calls("POST /api/datasets/benchflow/runs/commit/"); n != c.commits {
				t.Errorf("%d commits were asked for, want %d", n, c.commits)
			}
			if c.want != "" {
				if class(err) != c.want {
					t.Errorf("%v; want %s", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if want := (protocol.Source{RepoType: protocol.RepoDataset, RepoID: runsDataset, Revision: copied.Revision, EntryPath: dir}); copied != want {
				t.Errorf("%+v", copied)
			}
			have, _, ok := p.hub.Dataset(runsDataset).At(copied.Revision)
			found := map[string]string{}
			for _, f := range have {
				if name, below := strings.CutPrefix(f.Path, dir+"/"); below {
					found["pack/"+name] = f.Text
				}
			}
			if !ok || len(found) != 5 {
				t.Errorf("the copy holds %d files", len(found))
			}
			for name, text := range found {
				if string(files[name].Data) != text {
					t.Errorf("%s differs", name)
				}
			}
			again, err := provider.Mirror(t.Context(), "env-0123456789ab", source, paths, files)
			if n := p.hub.Calls("POST /api/datasets/benchflow/runs/commit/"); err != nil || again != copied || n != c.commits {
				t.Errorf("once more: %+v %v, %d commits", again, err, n)
			}
		})
	}
}

// discard is an answer that nobody gets.
type discard struct{ header http.Header }

func (d discard) Header() http.Header       { return d.header }
func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) WriteHeader(int)             {}

// TestTheRequestForAJob holds what is sent against the facts: secrets are secrets,
// everything else may be read by others (J3).
func TestTheRequestForAJob(t *testing.T) {
	p := newPlace(t)
	if _, err := p.open().Start(t.Context(), spec(run, "long")); err != nil {
		t.Fatal(err)
	}
	got := p.jobs.All()[0].Spec
	if got.Flavor != "a100x8" || got.TimeoutSeconds != 28800 || got.Attempts != 1 || got.Labels["arena-run"] != run || got.DockerImage != "example/pipeline:1" {
		t.Errorf("%+v", got)
	}
	if got.Secrets["ARENA_RELAY_SECRET"] != "relayCANARY" || got.Secrets["HF_TOKEN"] != "hf_forJobsCANARY" || len(got.Secrets) != 2 {
		t.Errorf("secrets: %v", got.Secrets)
	}
	if s := fmt.Sprint(got.Environment, got.Command, got.Labels); strings.Contains(s, "CANARY") || strings.Contains(s, "sealed-task") {
		t.Errorf("what everybody may read holds a secret: %s", s)
	}
	if got.Environment["ARENA_TIMEOUT_SECONDS"] != "28800" {
		t.Errorf("the job is told that it may take %q seconds", got.Environment["ARENA_TIMEOUT_SECONDS"])
	}
	commit := got.Environment["ARENA_BUNDLE_REVISION"]
	files, _, ok := p.hub.Dataset(runsDataset).At(commit)
	var names []string
	for _, f := range files {
		if name, below := strings.CutPrefix(f.Path, got.Environment["ARENA_BUNDLE_PATH"]+"/"); below {
			names = append(names, name)
		}
	}
	if want := []string{"config.toml", "job.json", "task-lists/eval_dataset.txt"}; !ok || !slices.Equal(names, want) {
		t.Errorf("at %s the job finds %q, want %q", commit, names, want)
	}
	for _, r := range p.hub.Requests("") {
		if strings.Contains(r.Path+r.Query, "CANARY") {
			t.Errorf("a secret in an address: %s?%s", r.Path, r.Query)
		}
	}
}
