package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/hub/hubtest"
)

// newSourceOutpost opens an arena that reads collections from both places.
func newSourceOutpost(t *testing.T, patience time.Duration) (*outpost, *hubtest.HuggingFace, *hubtest.GitHub) {
	t.Helper()
	o, hub, git := newOutpost(t), hubtest.NewHuggingFace(t), hubtest.NewGitHub(t)
	hub.Now, git.Now, o.patience = o.now, o.now, patience
	hub.Dataset("ada/tasks").Commit(sampleFiles(t, "pack"), "main")
	git.Repository("ada/tasks").Commit(sampleFiles(t, "pack"), "main")
	o.open(fmt.Sprintf("[identity]\nhub_url = %q\n[sources.dataset]\nenabled = true\n[sources.github]\nenabled = true\napi_url = %q\narchive_url = %q\nraw_url = %q\n",
		hub.URL, git.URL, git.Archives.URL, git.Raw.URL), nil, nil)
	return o, hub, git
}

// TestValidateFailures is the table of what validating and submitting answer when
// the place of a collection fails to list its files: the same for both calls, and
// nothing is registered.
func TestValidateFailures(t *testing.T) {
	const (
		invalid, refuses, away = "invalid-source", "source-refused", "unavailable"
		dataset                = "The dataset ada/tasks cannot be read: "
		repository             = "The repository ada/tasks cannot be read: "
		hubAway                = "The hub cannot be reached for reading the dataset ada/tasks right now"
		gitAway                = "GitHub cannot be reached for reading the repository ada/tasks right now"
		noUse                  = "'s answer is of no use for reading the "
		tenTimesMore           = "ten times more files than may be"
		again                  = "Nothing was changed; try again in 30s."
	)
	status := hubtest.Status
	type answer struct {
		status int
		code   string
		say    string
		wait   string // Retry-After
	}
	for _, f := range []struct {
		about   string
		fault   hubtest.Fault
		dataset answer
		github  answer
	}{
		{"401", status(401), answer{422, invalid, dataset + "there is no such dataset, or it is not public.", ""}, answer{503, away, "GitHub does not accept the arena's own token, so repositories cannot be read. An organizer has to renew it.", "300"}},
		{"403 of a gate", status(403, "X-Error-Code", "GatedRepo"), answer{422, invalid, "gated", ""}, answer{502, refuses, "GitHub refuses to deliver the repository ada/tasks: it answers 403.", ""}},
		{"403", status(403), answer{422, invalid, dataset + "access to it is disabled on the hub.", ""}, answer{502, refuses, "GitHub refuses to deliver the repository ada/tasks: it answers 403.", ""}},
		{"404", status(404), answer{422, invalid, dataset, ""}, answer{422, invalid, repository + "there is no such repository, or it is not public.", ""}},
		{"409", status(409), answer{502, refuses, "The hub refuses to deliver the dataset ada/tasks: it answers 409.", ""}, answer{422, invalid, repository + "it has no commits.", ""}},
		{"429 with a wait", status(429, "Retry-After", "77"), answer{503, away, "The hub's rate limit stops the arena from reading the dataset ada/tasks: a limit is used up and resets in 1m17s.", "77"}, answer{503, away, "GitHub's limit on bursts of requests stops the arena from reading the repository ada/tasks. It resets in 1m17s", "77"}},
		{"429 of a clock that is an hour ahead", hubtest.Skewed(time.Hour, func(s *hubtest.Server, w http.ResponseWriter, r *http.Request, next http.Handler) {
			w.Header().Set("Retry-After", s.Now().Add(time.Hour+90*time.Second).UTC().Format(http.TimeFormat))
			status(429)(s, w, r, next)
		}), answer{503, away, "resets in 1m30s", "90"}, answer{503, away, "It resets in 1m30s", "90"}},
		{"500", status(500), answer{503, away, hubAway + " because it answers 500. " + again, "30"}, answer{503, away, gitAway + " because it answers 500. " + again, "30"}},
		{"502, a page", hubtest.Page(502), answer{503, away, hubAway + " because it answers 502. " + again, "30"}, answer{503, away, gitAway + " because it answers 502. " + again, "30"}},
		{"200, a page", hubtest.Page(200), answer{503, away, noUse + "dataset ada/tasks: it is text/html; charset=utf-8 instead of JSON.", "30"}, answer{503, away, noUse + "repository ada/tasks: it is text/html; charset=utf-8 instead of JSON.", "30"}},
		{"a wrong content type", hubtest.WrongType("text/plain"), answer{503, away, "it is text/plain instead of JSON.", "30"}, answer{503, away, "it is text/plain instead of JSON.", "30"}},
		{"a slow body", hubtest.Stall(20), answer{503, away, "it took longer than 500ms", "30"}, answer{503, away, "it took longer than 500ms", "30"}},
		{"no answer", hubtest.Silent(), answer{503, away, hubAway + " because it took longer than 500ms. " + again, "30"}, answer{503, away, gitAway + " because it took longer than 500ms. " + again, "30"}},
		{"a cut body", hubtest.Cut(20), answer{503, away, noUse + "dataset ada/tasks: the answer breaks off", "30"}, answer{503, away, noUse + "repository ada/tasks: the answer breaks off", "30"}},
		{"a reset", hubtest.Reset(), answer{503, away, hubAway + ". " + again, "30"}, answer{503, away, gitAway + ". " + again, "30"}},
		{"a loop of redirects", hubtest.Loop(), answer{503, away, hubAway, "30"}, answer{503, away, gitAway, "30"}},
		{tenTimesMore, func(s *hubtest.Server, w http.ResponseWriter, r *http.Request, next http.Handler) {
			hubtest.Text("application/json", tenTimesTheFiles(strings.HasPrefix(r.URL.Path, "/repos/")))(s, w, r, next)
		}, answer{422, invalid, "The dataset ada/tasks is refused: it has more than 20000 files.", ""}, answer{422, invalid, "The repository ada/tasks is refused: it has more than 20000 files.", ""}},
	} {
		t.Run(f.about, func(t *testing.T) {
			t.Parallel()
			wait := patience
			if f.about == tenTimesMore {
				wait = time.Minute // so many megabytes take their time
			}
			o, hub, git := newSourceOutpost(t, wait)
			hub.Fail("GET /api/datasets/ada/tasks/tree/", 0, f.fault)
			git.Fail("GET /repos/ada/tasks/git/trees/", 0, f.fault)
			for kind, want := range map[string]answer{"dataset": f.dataset, "github": f.github} {
				for _, path := range []string{"/api/environments/validate", "/api/environments"} {
					code, header, raw := o.ask("POST", path, map[string]string{
						"challenge_id": "tb2-9b", "repo_type": kind, "repo_id": "ada/tasks", "revision": "main", "entry_path": "pack", "title": "Sample",
					})
					var p api.Problem
					if err := json.Unmarshal(raw, &p); err != nil || code != want.status || p.Code != want.code || !strings.Contains(p.Detail, want.say) || header.Get("Retry-After") != want.wait || p.Launched != nil {
						t.Errorf("%s of a %s answers %d, Retry-After %q: %s; want %+v", path, kind, code, header.Get("Retry-After"), raw, want)
					}
				}
			}
			if all := get[api.Environments](o, "/api/environments").Environments; len(all) != 0 {
				t.Errorf("%d collections are registered", len(all))
			}
		})
	}
}

// TestListingsAreRefusedBeforeFiles: what no collection may be is refused, in the words
// for it, before one file of it was asked for.
func TestListingsAreRefusedBeforeFiles(t *testing.T) {
	o, hub, git := newSourceOutpost(t, patience)
	list := func(path func(i int) string, n, size int) (ofHub, ofGit string) {
		var rows []string
		for i := range n {
			rows = append(rows, fmt.Sprintf(`{"type":"file","path":%q,"mode":"100644","size":%d,"oid":"%040x","sha":"%040[3]x"}`, path(i), size, i))
		}
		all := strings.Join(rows, ",")
		return "[" + all + "]", `{"truncated":false,"tree":[` + all + "]}"
	}
	always := func(path string) func(int) string { return func(int) string { return path } }
	for about, c := range map[string]struct {
		path    func(i int) string
		n, size int
		say     string
	}{
		"more than 512 MiB": {func(i int) string { return fmt.Sprintf("pack/f%d", i) }, 513, 1 << 20, "all files together may have 512 MiB"},
		"twins":             {func(i int) string { return []string{"pack/Read", "pack/read"}[i] }, 2, 1, `"pack/Read" and "pack/read"`},
		"twice":             {always("pack/a"), 2, 1, "pack/a"},
		"escapes":           {always("pack/../../a"), 1, 1, "pack/../../a"},
		"too deep":          {always("pack/" + strings.Repeat("a/", 20) + "b"), 1, 1, "22 components, at most 20"},
		"a line break":      {always("pack/a\nb"), 1, 1, "control"},
	} {
		ofHub, ofGit := list(c.path, c.n, c.size)
		hub.Heal()
		git.Heal()
		hub.Fail("GET /api/datasets/ada/tasks/tree/", 0, hubtest.Text("application/json", ofHub))
		git.Fail("GET /repos/ada/tasks/git/trees/", 0, hubtest.Text("application/json", ofGit))
		hub.Forget()
		for _, kind := range []string{"dataset", "github"} {
			code, _, raw := o.ask("POST", "/api/environments/validate", map[string]string{
				"challenge_id": "tb2-9b", "repo_type": kind, "repo_id": "ada/tasks", "revision": "main", "entry_path": "pack",
			})
			var p api.Problem
			if err := json.Unmarshal(raw, &p); err != nil || code != 422 || p.Code != "invalid-source" || !strings.Contains(p.Detail, c.say) {
				t.Errorf("%s, %s: %d %s", about, kind, code, raw)
			}
		}
		if n := hub.Calls("GET /api/resolve-cache/") + hub.Calls("GET /datasets/") + git.Archives.Calls("") + git.Raw.Calls(""); n != 0 {
			t.Errorf("%s: %d files were asked for", about, n)
		}
	}
}

// tenTimesTheFiles lists ten times as many files as a collection may have, in the
// words of GitHub or of the hub.
func tenTimesTheFiles(github bool) string {
	var b strings.Builder
	for i := range 200_001 {
		fmt.Fprintf(&b, `,{"type":"file","path":"pack/f%d","mode":"100644","size":0,"oid":"%[2]s","sha":"%[2]s"}`, i, "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")
	}
	if rows := b.String()[1:]; github {
		return `{"truncated":false,"tree":[` + rows + "]}"
	} else {
		return "[" + rows + "]"
	}
}

// TestLaunchFailuresOfTheSource: what a launch answers when the place that its
// collection is copied from has changed its mind, or is away.
func TestLaunchFailuresOfTheSource(t *testing.T) {
	const released, kept = " Nothing was started and the reservation was released.", " The reservation is kept: repeat the identical request."
	w := newHubOutpost(t)
	source := "GET /api/datasets/ada/tasks/"
	for about, row := range map[string]struct {
		fault hubtest.Fault
		want  reply
	}{
		"gone": {hubtest.Status(401), reply{422, "invalid-source", protocol.LaunchedNo, false, false, "The dataset ada/tasks cannot be read: there is no such dataset, or it is not public." + released, ""}},
		"409":  {hubtest.Status(409), reply{502, "source-refused", protocol.LaunchedNo, false, false, "The hub refuses to deliver the dataset ada/tasks: it answers 409." + released, ""}},
		"a limit": {hubtest.Status(429, "Retry-After", "77"), reply{
			503, "unavailable", protocol.LaunchedNo, true, true,
			"No job was started yet. The hub's rate limit stops the arena from reading the dataset ada/tasks: a limit is used up and resets in 1m17s. Try again then; what was read so far is kept." + kept, "77",
		}},
		"500": {hubtest.Status(500), reply{
			503, "unavailable", protocol.LaunchedNo, true, true,
			"No job was started yet. The hub cannot be reached for reading the dataset ada/tasks right now because it answers 500. Nothing was changed; try again in 30s." + kept, "30",
		}},
	} {
		w.row(t, about, func() {
			w.forget()
			w.hub.Fail(source, 0, row.fault)
			w.fails(w.provider(), row.want, false, true)
		})
	}
}

// TestLaunchWithoutAPrice: while the provider does not say what a run costs, nothing
// is reserved, and nothing is wrong with the request.
func TestLaunchWithoutAPrice(t *testing.T) {
	w := newHubOutpost(t)
	id := w.next()
	w.hub.Fail("GET /api/jobs/hardware", 0, hubtest.Page(502))
	w.answers(id, reply{503, "provider-unreachable", protocol.LaunchedNo, true, false, "No price is known for a100x8: provider huggingface does not answer right now. Nothing was reserved; try again in 30s.", "30"})
	if r := w.run(id); r.RunID != "" {
		t.Errorf("there is a run %s", r.RunID)
	}
	w.owes(0)
	w.hub.Heal()
	w.answers(id, started)
	w.ends(w.provider(), id)
}
