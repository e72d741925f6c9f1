package hubtest_test

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol/hub/hubtest"
)

// The tests below show each fact of reference/hub-apis.md that a fake keeps, by
// its id. TestEveryFactIsShown holds the lists in the fakes' comments against
// them, so that neither claims what the other does not show.

type fact struct {
	id    string
	about string
	check func(*world)
}

// world is both fakes with something in them, and a client that follows nothing.
type world struct {
	*testing.T
	hub *hubtest.HuggingFace
	git *hubtest.GitHub
	sha map[string]string // commits, by repository

	jobs *hubtest.Jobs // of the account ada
}

const (
	secret = "hf_factsCANARYfactsCANARYfactsCANARY"
	writer = "hf_writerCANARYwriterCANARYwriterCAN" // may write to ada/runs and start jobs
	aJob   = `{"dockerImage":"i","command":["x"],"arguments":[],"environment":{},"secrets":{"S":"hidden"},"flavor":"cpu-basic","timeoutSeconds":60,"attempts":1,"labels":{"arena-run":"r-1"}}`
)

func newWorld(t *testing.T) *world {
	w := &world{T: t, hub: hubtest.NewHuggingFace(t), git: hubtest.NewGitHub(t), sha: map[string]string{}}
	files := []hubtest.File{
		{Path: "README.md", Text: "read me\n"},
		{Path: "envs/a/b.txt", Text: "b\n"},
		{Path: "envs/run.sh", Text: "true\n", Mode: "100755"},
		{Path: "envs/link", Text: "run.sh", Mode: "120000"},
		{Path: "envs/sub", Mode: "160000"},
	}
	for _, name := range []string{"ada/tasks", "ada/private", "ada/gated", "ada/disabled"} {
		r := w.hub.Dataset(name)
		r.Private, r.Disabled = name == "ada/private", name == "ada/disabled"
		if name == "ada/gated" {
			r.Gated = "manual"
		}
		w.sha[name] = r.Commit(append(files, hubtest.File{Path: "lfs.bin", Text: "large", LFS: true}, hubtest.File{Path: "xet.bin", Text: "larger", Xet: true}), "main", "refs/pr/1")
	}
	w.sha["git"] = w.git.Repository("ada/tasks").Commit(append(files, hubtest.File{Path: "gone.txt", Text: "gone\n", ExportIgnore: true}, hubtest.File{Path: "subst.txt", Text: "$Format$\n", ExportSubst: true}), "main", "a/b")
	w.hub.Issue(secret, hubtest.Token{Account: hubtest.Account{Name: "ada", Orgs: []hubtest.Org{{Name: "benchflow", Fullname: "Bench Flow", Role: "write", Restrictions: []string{"sso"}}}}})
	w.hub.Dataset("ada/runs").Private = true
	w.sha["ada/runs"] = w.hub.Dataset("ada/runs").Commit(nil, "main")
	w.hub.Issue(writer, hubtest.Token{Account: hubtest.Account{Name: "ada"}, Kind: "write", Grants: "ada/runs"})
	w.jobs = hubtest.NewJobs(w.hub, "ada")
	return w
}

// post sends a body to the hub as somebody who may write.
func (w *world) post(path, body string, header ...string) answer {
	return w.do("POST", w.hub.URL+path, body, append(w.as(writer), header...)...)
}

// commit commits lines to ada/runs.
func (w *world) commit(header string, lines ...string) answer {
	return w.post("/api/datasets/ada/runs/commit/main", strings.Join(append([]string{`{"key":"header","value":` + header + `}`}, lines...), "\n"), "Content-Type", "application/x-ndjson")
}

// start starts a job and returns its id.
func (w *world) start() string {
	w.want(w.post("/api/jobs/ada", aJob), 200)
	all := w.jobs.All()
	return all[len(all)-1].ID
}

// finished starts a job that prints and completes.
func (w *world) finished(texts ...string) string {
	w.jobs.Play = func(j *hubtest.Job) { j.Print(texts...); j.End("COMPLETED", "", 61*time.Second) }
	return w.start()
}

// log is the log of a job that prints and completes.
func (w *world) log(texts ...string) answer {
	return w.get(w.hub.URL+"/api/jobs/ada/"+w.finished(texts...)+"/logs", append(w.as(writer), "Accept", "text/event-stream")...)
}

type answer struct {
	*http.Response
	body string
}

// get asks without following redirects. Headers come as name, value, ….
func (w *world) get(address string, header ...string) answer {
	return w.do("GET", address, "", header...)
}

func (w *world) do(method, address, body string, header ...string) answer {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), method, address, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	r.Header.Set("User-Agent", "facts/1")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		w.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		w.Fatal(err)
	}
	return answer{resp, string(raw)}
}

func (w *world) as(token string) []string { return []string{"Authorization", "Bearer " + token} }

// want requires a status and parts of the body or of a header, "Name: part".
func (w *world) want(a answer, status int, parts ...string) {
	w.Helper()
	if a.StatusCode != status {
		w.Errorf("%s answers %d: %.200s; want %d", a.Request.URL, a.StatusCode, a.body, status)
	}
	for _, p := range parts {
		text := a.body
		if name, rest, ok := strings.Cut(p, ": "); ok && a.Header.Get(name) != "" {
			text, p = a.Header.Get(name), rest
		}
		if !strings.Contains(text, p) {
			w.Errorf("%s says %.300q without %q", a.Request.URL, text, p)
		}
	}
}

func (w *world) dataset(rest string) string { return w.hub.URL + "/api/datasets/" + rest }

// sign plays a sign-in up to the code; scope as on the wire.
func (w *world) sign(scope string) url.Values {
	w.hub.App = hubtest.App{ID: "app", Secret: "s3cret", Redirect: "http://arena.test/auth/callback", Person: hubtest.Account{Name: "ada", Orgs: []hubtest.Org{{Name: "benchflow", Fullname: "Evil", Role: "admin"}}}}
	// The challenge is that of the verifier "verifier".
	q := url.Values{
		"client_id": {"app"}, "redirect_uri": {w.hub.App.Redirect}, "response_type": {"code"}, "scope": {scope}, "state": {"st"},
		"code_challenge": {"iMnq5o6zALKXGivsnlom_0F5_WYda32GHkxlV7mq7hQ"}, "code_challenge_method": {"S256"},
	}
	a := w.get(w.hub.URL + "/oauth/authorize?" + q.Encode())
	back, err := url.Parse(a.Header.Get("Location"))
	if err != nil || a.StatusCode != http.StatusSeeOther {
		w.Fatalf("%d %s %v", a.StatusCode, a.body, err)
	}
	return back.Query()
}

func (w *world) exchange(code, verifier string) answer {
	form := url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {w.hub.App.Redirect}, "code_verifier": {verifier}}
	return w.do("POST", w.hub.URL+"/oauth/token", form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Authorization", "Basic YXBwOnMzY3JldA==")
}

func (w *world) signedIn(scope string) string {
	var got struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.Unmarshal([]byte(w.exchange(w.sign(scope).Get("code"), "verifier").body), &got); err != nil || got.AccessToken == "" {
		w.Fatalf("no token: %v", err)
	}
	return got.AccessToken
}

func facts() []fact {
	const sha = "application/vnd.github.sha"
	return []fact{
		{"H1", "a bearer token and JSON", func(w *world) {
			w.want(w.get(w.hub.URL+"/api/whoami-v2", w.as(secret)...), 200, `"name":"ada"`, "Content-Type: application/json")
		}},
		{"H2", "an error is an object with error", func(w *world) { w.want(w.get(w.dataset("ada/none/revision/main"), w.as(secret)...), 404, `{"error":"`) }},
		{"H3", "error code, message and request id are headers", func(w *world) {
			w.want(w.get(w.dataset("ada/tasks/revision/none")), 404, "X-Error-Code: RevisionNotFound", "X-Error-Message: Invalid rev id", "X-Request-Id: Root=")
		}},
		{"H5", "three buckets run out one by one", func(w *world) {
			w.hub.Quota["api"] = 1
			w.want(w.get(w.dataset("ada/tasks/revision/main")), 200)
			w.want(w.get(w.dataset("ada/tasks/revision/main")), 429, "RateLimit: \"api\";r=0;t=")
			w.want(w.get(w.hub.URL+"/datasets/ada/tasks/resolve/main/README.md"), 307)
		}},
		{"H6", "every answer says what remains", func(w *world) {
			w.want(w.get(w.dataset("ada/tasks/revision/main")), 200, "RateLimit: \"api\";r=2999", "RateLimit-Policy: \"fixed window\";\"api\";q=3000;w=300")
			w.want(w.get(w.hub.URL+"/datasets/ada/none/resolve/main/x"), 401, "RateLimit: \"resolvers\"")
		}},
		{"H8", "pages follow by Link, with every parameter and a cursor", func(w *world) {
			w.hub.Page = 3
			a := w.get(w.dataset("ada/tasks/tree/main") + "?recursive=true&expand=false")
			w.want(a, 200, "Link: <"+w.hub.URL+"/api/datasets/ada/tasks/tree/main?", "Link: recursive=true", "Link: expand=false", "Link: cursor=", `Link: rel="next"`)
		}},
		{"H9", "a renamed repository redirects on the same host, content to another one", func(w *world) {
			w.hub.Rename("ada/tasks", "ada/new")
			w.want(w.get(w.dataset("ada/tasks/revision/main")), 307, "Location: /api/datasets/ada/new/revision/main")
			w.want(w.get(w.hub.URL+"/datasets/ada/new/resolve/main/lfs.bin"), 302, "Location: "+w.hub.CDN.URL)
		}},
		{"H11", "a revision is one segment", func(w *world) { w.want(w.get(w.dataset("ada/tasks/revision/refs%2Fpr%2F1")), 200, w.sha["ada/tasks"]) }},
		{"A1", "who a token belongs to", func(w *world) { w.want(w.get(w.hub.URL+"/api/whoami-v2", w.as(secret)...), 200, `"type":"user"`) }},
		{"A2", "an id, organizations with role and restrictions, what kind of token", func(w *world) {
			w.want(w.get(w.hub.URL+"/api/whoami-v2", w.as(secret)...), 200, `"id":"`, `"name":"benchflow"`, `"fullname":"Bench Flow"`, `"roleInOrg":"write"`, `"securityRestrictions":["sso"]`, `"auth":{"accessToken":{`, `"role":"read"`)
		}},
		{"A3", "other principals have a type of their own", func(w *world) {
			w.hub.Issue("hf_app", hubtest.Token{Account: hubtest.Account{Type: "app", Name: "bot"}})
			w.want(w.get(w.hub.URL+"/api/whoami-v2", w.as("hf_app")...), 200, `"type":"app"`)
		}},
		{"A6", "a role need not be shown", func(w *world) {
			w.hub.Issue("hf_fine", hubtest.Token{Kind: "fineGrained", NoRoles: true, Account: hubtest.Account{Name: "ada", Orgs: []hubtest.Org{{Name: "benchflow", Role: "admin"}}}})
			if a := w.get(w.hub.URL+"/api/whoami-v2", w.as("hf_fine")...); strings.Contains(a.body, "roleInOrg") || !strings.Contains(a.body, "benchflow") {
				w.Error(a.body)
			}
		}},
		{"A9a", "a wrong, revoked or expired token is 401", func(w *world) {
			w.hub.Issue("hf_old", hubtest.Token{Expired: time.Unix(1, 0)})
			w.hub.Issue("hf_gone", hubtest.Token{})
			w.hub.Revoke("hf_gone")
			for _, token := range []string{"hf_none", "hf_old", "hf_gone"} {
				w.want(w.get(w.hub.URL+"/api/whoami-v2", w.as(token)...), 401, "Invalid credentials in Authorization header")
			}
		}},
		{"A9b", "no token is 401", func(w *world) { w.want(w.get(w.hub.URL+"/api/whoami-v2"), 401, "Invalid username or password.") }},
		{"A10", "discovery", func(w *world) {
			w.want(w.get(w.hub.URL+"/.well-known/openid-configuration"), 200, "/oauth/authorize", "/oauth/token", "/oauth/userinfo")
		}},
		{"A11", "authorize returns to exactly the registered address, with the state", func(w *world) {
			if q := w.sign("openid"); q.Get("code") == "" || q.Get("state") != "st" || q.Get("iss") != w.hub.URL {
				w.Errorf("%v", q)
			}
			w.want(w.get(w.hub.URL+"/oauth/authorize?client_id=app&response_type=code&redirect_uri=http%3A%2F%2Farena.test%2Fother"), 400)
			w.hub.App.Denies = true
			a := w.get(w.hub.URL + "/oauth/authorize?client_id=app&response_type=code&state=s&code_challenge=c&code_challenge_method=S256&redirect_uri=" + url.QueryEscape(w.hub.App.Redirect))
			w.want(a, 303, "Location: error=access_denied")
		}},
		{"A12", "roles and organizations need read-memberships", func(w *world) {
			for scope, shown := range map[string]bool{"openid profile": false, "openid profile read-memberships": true} {
				if a := w.get(w.hub.URL+"/oauth/userinfo", w.as(w.signedIn(scope))...); strings.Contains(a.body, "roleInOrg") != shown {
					w.Errorf("%s: %s", scope, a.body)
				}
			}
		}},
		{"A13", "a code works once, in time, with its verifier and its client", func(w *world) {
			code := w.sign("openid").Get("code")
			w.want(w.exchange(code, "verifier"), 200, `"access_token":"hf_oauth_`, `"token_type":"bearer"`, `"expires_in":28800`)
			w.want(w.exchange(code, "verifier"), 400, "invalid_grant")
			w.want(w.exchange(w.sign("openid").Get("code"), "another"), 400, "invalid_grant")
			code = w.sign("openid").Get("code")
			w.hub.App.Secret = "other"
			w.want(w.exchange(code, "verifier"), 401, "invalid_client")
		}},
		{"A14", "in userinfo the slug is preferred_username", func(w *world) {
			token := w.signedIn("openid profile read-memberships")
			w.want(w.get(w.hub.URL+"/oauth/userinfo", w.as(token)...), 200, `"preferred_username":"benchflow"`, `"name":"Evil"`, `"sub":"`)
			w.want(w.get(w.hub.URL+"/oauth/userinfo", w.as(secret)...), 401)
		}},
		{"A15", "an OAuth token asks whoami too", func(w *world) {
			w.want(w.get(w.hub.URL+"/api/whoami-v2", w.as(w.signedIn("openid profile read-memberships"))...), 200, `"name":"ada"`, `"roleInOrg":"admin"`)
		}},
		{"A16", "a device waits until its person has typed a code", func(w *world) {
			w.sign("openid")
			form := func(path string, v url.Values) answer {
				v.Set("client_id", "app")
				return w.do("POST", w.hub.URL+path, v.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Authorization", "Basic YXBwOnMzY3JldA==")
			}
			a := form("/oauth/device", url.Values{"scope": {"openid profile"}})
			var got map[string]any
			if w.want(a, 200, `"verification_uri"`, `"expires_in":900`); json.Unmarshal([]byte(a.body), &got) != nil || got["interval"] != nil {
				w.Fatal(a.body)
			}
			poll := url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "device_code": {fmt.Sprint(got["device_code"])}}
			w.want(form("/oauth/token", poll), 400, "authorization_pending")
			w.hub.Approve(fmt.Sprint(got["user_code"]))
			w.want(form("/oauth/token", poll), 200, `"access_token":"hf_oauth_`)
			w.want(form("/oauth/token", poll), 400, "invalid_grant")
		}},
		{"A17", "a client id may be the address of a document of the application's own", func(w *world) {
			w.sign("openid")
			w.git.Handle("GET /app.json", func(rw http.ResponseWriter, _ *http.Request) {
				fmt.Fprintf(rw, `{"client_id":%q,"redirect_uris":["http://arena.test/auth/callback"]}`, w.git.URL+"/app.json")
			})
			w.hub.App.ID = w.git.URL + "/app.json"
			ask := w.hub.URL + "/oauth/authorize?response_type=code&state=s&code_challenge=c&code_challenge_method=S256&client_id=" + url.QueryEscape(w.hub.App.ID) + "&redirect_uri="
			w.want(w.get(ask+url.QueryEscape("http://arena.test/auth/callback")), 303, "Location: code=")
			w.want(w.get(ask+url.QueryEscape("http://evil.example/")), 400)
		}},
		{"D1", "a revision's commit, and whether the dataset is open", func(w *world) {
			w.want(w.get(w.dataset("ada/tasks/revision/main")), 200, `"sha":"`+w.sha["ada/tasks"], `"private":false`, `"gated":false`, `"rfilename":"README.md"`)
		}},
		{"D2", "a commit is one of this repository; its beginning is enough by git's habit", func(w *world) {
			w.want(w.get(w.dataset("ada/tasks/revision/"+w.sha["ada/tasks"])), 200, `"sha":"`+w.sha["ada/tasks"])
			w.want(w.get(w.dataset("ada/tasks/revision/"+w.sha["ada/gated"])), 404, "X-Error-Code: RevisionNotFound")
			w.want(w.get(w.dataset("ada/tasks/revision/"+w.sha["ada/tasks"][:8])), 200, `"sha":"`+w.sha["ada/tasks"])
		}},
		{"D4", "refs, commits, the size of a folder, rows of single files", func(w *world) {
			w.want(w.get(w.dataset("ada/tasks/refs")), 200, `"name":"main"`, `"targetCommit":"`+w.sha["ada/tasks"])
			if a := w.get(w.dataset("ada/tasks/refs")); strings.Contains(a.body, "refs/pr/1") {
				w.Error(a.body)
			}
			w.want(w.get(w.dataset("ada/tasks/refs")+"?include_prs=1"), 200, "refs/pr/1")
			w.want(w.get(w.dataset("ada/tasks/commits/main")), 200, `"id":"`+w.sha["ada/tasks"], "X-Total-Count: 1")
			w.want(w.get(w.dataset("ada/tasks/treesize/main/envs/a")), 200, `"path":"envs/a","size":2`)
			a := w.do("POST", w.dataset("ada/tasks/paths-info/main"), `{"paths":["README.md","none"],"expand":false}`, "Content-Type", "application/json")
			if w.want(a, 200, `"path":"README.md"`); strings.Contains(a.body, "none") {
				w.Error(a.body)
			}
		}},
		{"D3", "everybody sees the list of a gated dataset", func(w *world) {
			w.want(w.get(w.dataset("ada/gated/revision/main")), 200, `"gated":"manual"`)
			w.want(w.get(w.dataset("ada/gated/tree/main")+"?recursive=true"), 200, "README.md")
		}},
		{"D5", "rows have a type, a full path, git's id and a size", func(w *world) {
			a := w.get(w.dataset("ada/tasks/tree/main/envs") + "?recursive=true")
			w.want(a, 200, `"type":"directory"`, `"path":"envs/a/b.txt"`, `"type":"unknown"`)
			a = w.get(w.dataset("ada/tasks/tree/main") + "?recursive=true")
			f := hubtest.File{Text: "large", LFS: true}
			w.want(a, 200, `"oid":"`+f.Blob(), `"lfs":{"oid":"`+f.SHA256()+`","pointerSize":`, `"xetHash"`)
		}},
		{"D6", "rows have no mode", func(w *world) {
			if a := w.get(w.dataset("ada/tasks/tree/main") + "?recursive=true"); strings.Contains(a.body, "mode") || strings.Contains(a.body, "100755") {
				w.Error(a.body)
			}
		}},
		{"D7", "a folder that is not there is EntryNotFound", func(w *world) {
			w.want(w.get(w.dataset("ada/tasks/tree/main/nope")+"?recursive=true"), 404, "X-Error-Code: EntryNotFound")
		}},
		{"D9", "plain files redirect within the hub, others away from it; conditions hold", func(w *world) {
			a := w.get(w.hub.URL + "/datasets/ada/tasks/resolve/" + w.sha["ada/tasks"] + "/README.md")
			w.want(a, 307, "Location: /api/resolve-cache/datasets/ada/tasks/"+w.sha["ada/tasks"]+"/README.md?")
			f := hubtest.File{Text: "read me\n"}
			w.want(w.get(w.hub.URL+a.Header.Get("Location")), 200, "read me\n", `Etag: "`+f.Blob())
			w.want(w.get(w.hub.URL+a.Header.Get("Location"), "If-None-Match", `"`+f.Blob()+`"`), 304)
			a = w.get(w.hub.URL + "/datasets/ada/tasks/resolve/main/xet.bin")
			w.want(a, 302)
			w.want(w.get(a.Header.Get("Location")), 200, "larger")
			w.want(w.get(a.Header.Get("Location")), 403) // signed for one use
		}},
		{"D10", "only the redirect says what the file is", func(w *world) {
			f := hubtest.File{Text: "large", LFS: true}
			a := w.get(w.hub.URL + "/datasets/ada/tasks/resolve/main/lfs.bin")
			w.want(a, 302, "X-Repo-Commit: "+w.sha["ada/tasks"], "X-Linked-Size: 5", "X-Linked-Etag: "+f.SHA256())
			if a := w.get(a.Header.Get("Location")); strings.Contains(a.Header.Get("Etag"), f.SHA256()) || a.Header.Get("X-Repo-Commit") != "" {
				w.Errorf("the content network says %v", a.Header)
			}
		}},
		{"D11", "a Xet file says where its parts are to who asks for that", func(w *world) {
			f := hubtest.File{Text: "larger", Xet: true}
			w.want(w.get(w.hub.URL+"/datasets/ada/tasks/resolve/main/xet.bin", "Accept", "application/vnd.xet-fileinfo+json"), 200, `"hash":"`+f.SHA256(), `"size":6`)
		}},
		{"D13", "parts of a file, and none beyond its end", func(w *world) {
			plain := w.hub.URL + "/api/resolve-cache/datasets/ada/tasks/" + w.sha["ada/tasks"] + "/README.md"
			if a := w.get(plain, "Range", "bytes=5-"); a.StatusCode != 206 || a.body != "me\n" {
				w.Errorf("%d %q", a.StatusCode, a.body)
			}
			w.want(w.get(plain, "Range", "bytes=99-"), 416, "Content-Range: bytes */8")
			away := w.get(w.hub.URL + "/datasets/ada/tasks/resolve/main/lfs.bin").Header.Get("Location")
			w.want(w.get(away, "Range", "bytes=0-1"), 206, "la")
		}},
		{"D24", "a private dataset is read with a grant for it, and writing needs its own", func(w *world) {
			w.hub.Issue("hf_granted", hubtest.Token{Kind: "fineGrained", Grants: "ada/private"})
			w.hub.Issue("hf_else", hubtest.Token{Kind: "fineGrained", Grants: "ada/other"})
			w.want(w.get(w.dataset("ada/private/revision/main"), w.as("hf_granted")...), 200, `"private":true`)
			w.want(w.get(w.dataset("ada/private/revision/main"), w.as("hf_else")...), 404, "X-Error-Code: RepoNotFound")
			w.want(w.do("POST", w.dataset("ada/tasks/commit/main"), "{}", append(w.as(secret), "Content-Type", "application/x-ndjson")...), 403, "repo.write")
		}},
		{"D14a", "without a token a missing or private dataset is 401", func(w *world) {
			for _, name := range []string{"ada/none", "ada/private"} {
				w.want(w.get(w.dataset(name+"/revision/main")), 401, "Invalid username or password.")
			}
		}},
		{"D14b", "with one it is 404", func(w *world) {
			w.want(w.get(w.dataset("ada/private/revision/main"), w.as(secret)...), 404, "X-Error-Code: RepoNotFound", "Repository not found")
		}},
		{"D14c", "a bad token is 401 without a code", func(w *world) {
			if a := w.get(w.dataset("ada/tasks/revision/main"), w.as("hf_bad")...); a.StatusCode != 401 || a.Header.Get("X-Error-Code") != "" {
				w.Errorf("%d %v", a.StatusCode, a.Header)
			}
		}},
		{"D15a", "bytes of a gated dataset: 401 without a token", func(w *world) {
			w.want(w.get(w.hub.URL+"/datasets/ada/gated/resolve/main/README.md"), 401, "X-Error-Code: GatedRepo", "is restricted")
		}},
		{"D15b", "and 403 with one that is not on the list", func(w *world) {
			w.want(w.get(w.hub.URL+"/datasets/ada/gated/resolve/main/README.md", w.as(secret)...), 403, "X-Error-Code: GatedRepo", "authorized list")
		}},
		{"D15c", "taken down", func(w *world) {
			w.want(w.get(w.hub.URL+"/datasets/ada/disabled/resolve/main/README.md"), 403, "Access to this resource is disabled.")
		}},
		{"D16", "an unknown revision", func(w *world) {
			w.want(w.get(w.dataset("ada/tasks/revision/x")), 404, "X-Error-Code: RevisionNotFound", "Invalid rev id: x")
		}},
		{"D17", "an unknown path still names the commit", func(w *world) {
			w.want(w.get(w.hub.URL+"/datasets/ada/tasks/resolve/main/x"), 404, "X-Error-Code: EntryNotFound", "X-Repo-Commit: "+w.sha["ada/tasks"])
		}},
		{"D19", "what must not go into git, and that a dataset ignores files unless told otherwise", func(w *world) {
			a := w.post("/api/datasets/ada/runs/preupload/main", `{"files":[{"path":"a.log","size":1,"sample":"YQ=="},{"path":"b","size":1,"sample":"AA=="}]}`)
			w.want(a, 200, `"shouldIgnore":true`, `"uploadMode":"regular"`, `"uploadMode":"lfs"`)
			w.want(w.post("/api/datasets/ada/runs/preupload/main", `{"files":[{"path":"a.log","size":1,"sample":"YQ=="}],"gitIgnore":""}`), 200, `"shouldIgnore":false`)
			w.want(w.post("/api/datasets/ada/runs/preupload/main", `{"files":[]}`), 422)
		}},
		{"D20", "a commit is lines, the header first; on top of another it is 412", func(w *world) {
			const file = `{"key":"file","value":{"path":"x","content":"aGk=","encoding":"base64"}}`
			w.want(w.commit(`{"summary":"s"}`, file), 200, `"commitOid":"`)
			w.want(w.get(w.hub.URL+"/datasets/ada/runs/resolve/main/x", w.as(writer)...), 307)
			w.want(w.commit(`{"summary":"s","parentCommit":"`+w.sha["ada/runs"]+`"}`, file), 412, "A commit has happened since")
			w.want(w.post("/api/datasets/ada/runs/commit/main", file, "Content-Type", "application/x-ndjson"), 422)
		}},
		{"D21", "a large file that was never uploaded cannot be committed", func(w *world) {
			w.want(w.commit(`{"summary":"s"}`, `{"key":"lfsFile","value":{"path":"x","algo":"sha256","oid":"00","size":2}}`), 422)
		}},
		{"D22", "large files go elsewhere, without the token, and are confirmed", func(w *world) {
			const oid = "8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4" // of "hi"
			batch := `{"operation":"upload","transfers":["basic"],"objects":[{"oid":"` + oid + `","size":2}]}`
			a := w.post("/datasets/ada/runs.git/info/lfs/objects/batch", batch, "Content-Type", "application/vnd.git-lfs+json")
			w.want(a, 200, w.hub.CDN.URL+"/"+oid, "/info/lfs/objects/verify")
			w.want(w.do("PUT", w.hub.CDN.URL+"/"+oid, "ho"), 400)
			w.want(w.post("/datasets/ada/runs.git/info/lfs/objects/verify", `{"oid":"`+oid+`"}`), 404)
			w.want(w.do("PUT", w.hub.CDN.URL+"/"+oid, "hi"), 200)
			w.want(w.post("/datasets/ada/runs.git/info/lfs/objects/verify", `{"oid":"`+oid+`"}`), 200)
			if a := w.post("/datasets/ada/runs.git/info/lfs/objects/batch", batch, "Content-Type", "application/vnd.git-lfs+json"); strings.Contains(a.body, "actions") {
				w.Errorf("what is there is wanted again: %s", a.body)
			}
			w.want(w.commit(`{"summary":"s"}`, `{"key":"lfsFile","value":{"path":"x","algo":"sha256","oid":"`+oid+`","size":2}}`), 200)
		}},
		{"J1", "hardware with prices by the minute, for everybody", func(w *world) {
			w.want(w.get(w.hub.URL+"/api/jobs/hardware"), 200, `"name":"a100x8"`, `"unitCostMicroUSD":333333`, `"unitLabel":"minute"`)
		}},
		{"J3", "a job has an image, a command and a flavor that exists", func(w *world) {
			w.want(w.post("/api/jobs/ada", strings.Replace(aJob, "cpu-basic", "z9", 1)), 400, "Invalid flavor")
			w.want(w.post("/api/jobs/ada", strings.Replace(aJob, `"r-1"`, `"r 1"`, 1)), 400, "Invalid label")
			w.want(w.post("/api/jobs/ada", strings.Replace(aJob, `["x"]`, `[]`, 1)), 422)
		}},
		{"J4", "the same request starts a second job", func(w *world) {
			w.want(w.post("/api/jobs/ada", aJob), 200)
			w.want(w.post("/api/jobs/ada", aJob), 200)
			if n := len(w.jobs.All()); n != 2 {
				w.Errorf("%d jobs", n)
			}
		}},
		{"J6", "a new job is being scheduled", func(w *world) { w.want(w.post("/api/jobs/ada", aJob), 200, `"stage":"SCHEDULING"`) }},
		{"J7", "a job shows the names of its secrets and no value", func(w *world) {
			a := w.post("/api/jobs/ada", aJob)
			w.want(a, 200, `"secrets":["S"]`, `"owner":{`, `"labels":{"arena-run":"r-1"}`, `"timeout":60`, `"createdAt":"`)
			if strings.Contains(a.body, "hidden") {
				w.Error(a.body)
			}
		}},
		{"J9", "refusals: no token, no right, no credit, no such account", func(w *world) {
			w.want(w.do("POST", w.hub.URL+"/api/jobs/ada", aJob), 401)
			w.want(w.do("POST", w.hub.URL+"/api/jobs/ada", aJob, w.as(secret)...), 403, "missing permissions: job.write")
			w.want(w.post("/api/jobs/eve", aJob), 404)
			w.jobs.NoCredit = true
			w.want(w.post("/api/jobs/ada", aJob), 402, "Pre-paid credit balance is insufficient")
		}},
		{"J10", "a new job may not be listed yet", func(w *world) {
			w.jobs.Hidden = 1
			w.post("/api/jobs/ada", aJob)
			list := w.hub.URL + "/api/jobs/ada?label=arena-run%3Dr-1"
			w.want(w.get(list, w.as(writer)...), 200, "[]")
			w.want(w.get(list, w.as(writer)...), 200, `"id":"`)
		}},
		{"J12", "stages and their message", func(w *world) {
			w.jobs.Play = func(j *hubtest.Job) { j.End("ERROR", "Job failed with exit code: 1", time.Minute) }
			w.want(w.get(w.hub.URL+"/api/jobs/ada/"+w.start(), w.as(writer)...), 200, `"stage":"ERROR"`, "exit code: 1")
		}},
		{"J13", "jobs are found by label, in pages, and canceled", func(w *world) {
			w.hub.Page = 1
			id := w.start()
			w.start()
			w.want(w.get(w.hub.URL+"/api/jobs/ada?label=arena-run%3Dr-1", w.as(writer)...), 200, `Link: rel="next"`)
			w.want(w.get(w.hub.URL+"/api/jobs/ada?label=arena-run%3Dother", w.as(writer)...), 200, "[]")
			w.want(w.post("/api/jobs/ada/"+id+"/cancel", ""), 200, `"stage":"CANCELED"`)
			w.want(w.post("/api/jobs/ada/"+id+"/cancel", ""), 409)
			w.want(w.get(w.hub.URL+"/api/jobs/ada/none", w.as(writer)...), 404, "Job not found")
		}},
		{"J14", "a log is a stream of events without ids", func(w *world) {
			a := w.log("one")
			w.want(a, 200, "Content-Type: text/event-stream", `data: {"data":"one","timestamp":"`)
			if strings.Contains(a.body, "id:") || strings.Contains(a.body, "event:") {
				w.Error(a.body)
			}
		}},
		{"J15", "each connection replays all of it", func(w *world) {
			a := w.log("one", "two")
			if b := w.get(a.Request.URL.String(), append(w.as(writer), "Accept", "text/event-stream")...); a.body != b.body {
				w.Errorf("%s\n%s", a.body, b.body)
			}
		}},
		{"J16", "the first and the last event are the service's own", func(w *world) {
			w.want(w.log("one"), 200, "===== Job started at ", "===== Job finished: status=COMPLETED =====")
		}},
		{"J17", "a stream may break", func(w *world) {
			w.jobs.BreakEvery = 1
			r, _ := http.NewRequestWithContext(w.Context(), "GET", w.hub.URL+"/api/jobs/ada/"+w.finished("one")+"/logs", nil)
			r.Header = http.Header{"User-Agent": {"facts/1"}, "Accept": {"text/event-stream"}, "Authorization": {"Bearer " + writer}}
			resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
			if err != nil {
				w.Fatal(err)
			}
			defer resp.Body.Close()
			if _, err := io.ReadAll(resp.Body); err == nil {
				w.Error("it ends as if it were whole")
			}
		}},
		{"J18", "an event may be several lines", func(w *world) { w.want(w.log("one\ntwo"), 200, `"data":"one\ntwo"`) }},
		{"J23", "an ended job says how long it ran", func(w *world) {
			w.want(w.get(w.hub.URL+"/api/jobs/ada/"+w.finished(), w.as(writer)...), 200, `"runningSecs":61`)
		}},
		{"G1", "no trailing slash, a known version", func(w *world) {
			w.want(w.get(w.git.URL+"/repos/ada/tasks/commits/main/", "Accept", sha), 404)
			w.want(w.get(w.git.URL+"/repos/ada/tasks/commits/main", "Accept", sha, "X-GitHub-Api-Version", "1999-01-01"), 400)
		}},
		{"G2", "a commit as 40 digits of plain text; slashes escaped; conditions hold", func(w *world) {
			w.want(w.get(w.git.URL+"/repos/ada/tasks/commits/a%2Fb", "Accept", sha), 200, w.sha["git"])
			w.want(w.get(w.git.URL+"/repos/ada/tasks/commits/main", "Accept", sha, "If-None-Match", `"`+w.sha["git"]+`"`), 304)
		}},
		{"G3", "a tree of a commit", func(w *world) {
			w.want(w.get(w.git.URL+"/repos/ada/tasks/git/trees/"+w.sha["git"]+"?recursive=1"), 200, `"truncated":false`, `"path":"envs/a/b.txt"`)
		}},
		{"G4", "modes tell executables, links and submodules", func(w *world) {
			w.want(w.get(w.git.URL+"/repos/ada/tasks/git/trees/main?recursive=1"), 200, `"mode":"100755"`, `"mode":"120000"`, `"mode":"160000","path":"envs/sub","sha":`, `"type":"commit"`, `"mode":"040000"`)
		}},
		{"G5", "any value of recursive switches it on", func(w *world) {
			w.want(w.get(w.git.URL+"/repos/ada/tasks/git/trees/main?recursive=0"), 200, "envs/a/b.txt")
			if a := w.get(w.git.URL + "/repos/ada/tasks/git/trees/main"); strings.Contains(a.body, "envs/a/b.txt") {
				w.Error(a.body)
			}
		}},
		{"G6", "a listing that is cut is 200 and says so", func(w *world) {
			w.git.Truncate = true
			w.want(w.get(w.git.URL+"/repos/ada/tasks/git/trees/main?recursive=1"), 200, `"truncated":true`)
		}},
		{"G8", "a blob as bytes, or as base64 in lines", func(w *world) {
			f := hubtest.File{Text: "read me\n"}
			blob := w.git.URL + "/repos/ada/tasks/git/blobs/" + f.Blob()
			w.want(w.get(blob, "Accept", "application/vnd.github.raw"), 200, "read me\n")
			w.want(w.get(blob), 200, `"content":"cmVhZCBtZQo=\n"`, `"encoding":"base64"`, `"size":8`, "X-Ratelimit-Remaining: 58")
			w.want(w.get(w.git.URL+"/repos/ada/tasks/git/blobs/"+strings.Repeat("0", 40)), 404)
		}},
		{"G9", "whether a repository is private", func(w *world) {
			w.want(w.get(w.git.URL+"/repos/ada/tasks"), 200, `"private":false`, `"visibility":"public"`, `"default_branch":"main"`)
		}},
		{"G10", "a renamed repository is 301", func(w *world) {
			w.git.Rename("ada/tasks", "ada/new")
			a := w.get(w.git.URL+"/repos/ada/tasks/commits/main", "Accept", sha)
			w.want(a, 301, "Location: /repositories/")
			w.want(w.get(a.Header.Get("Location"), "Accept", sha), 200, w.sha["git"])
		}},
		{"G11", "the raw host has an ETag of its own, and limits by address", func(w *world) {
			raw := w.git.Raw.URL + "/ada/tasks/" + w.sha["git"]
			w.want(w.get(raw+"/README.md"), 200, "read me\n", `Etag: "not-the-blob-id"`)
			w.want(w.get(raw+"/none"), 404, "404: Not Found")
			for range 58 {
				w.get(raw + "/README.md")
			}
			w.want(w.get(raw+"/README.md"), 429)
		}},
		{"G13", "a tarball has one top directory and the commit in a global header", func(w *world) {
			names, comment := w.tarball()
			if comment != w.sha["git"] {
				w.Errorf("comment %s", comment)
			}
			for name := range names {
				if !strings.HasPrefix(name, "tasks-"+w.sha["git"]+"/") {
					w.Errorf("entry %s", name)
				}
			}
		}},
		{"G14", "it obeys .gitattributes", func(w *world) {
			names, _ := w.tarball()
			top := "tasks-" + w.sha["git"] + "/"
			if _, there := names[top+"gone.txt"]; there || names[top+"subst.txt"] == "$Format$\n" || names[top+"README.md"] != "read me\n" {
				w.Errorf("%q", names)
			}
		}},
		{"G16", "API answers say what remains of the hour, /rate_limit for free", func(w *world) {
			w.want(w.get(w.git.URL+"/rate_limit"), 200, `"remaining":60`)
			w.want(w.get(w.git.URL+"/repos/ada/tasks/commits/main", "Accept", sha), 200, "X-Ratelimit-Limit: 60", "X-Ratelimit-Remaining: 59", "X-Ratelimit-Reset: ", "X-Ratelimit-Resource: core")
			w.git.Token = "ghp_x"
			w.want(w.get(w.git.URL+"/repos/ada/tasks/commits/main", "Accept", sha, "Authorization", "Bearer ghp_x"), 200, "X-Ratelimit-Limit: 5000")
		}},
		{"G17", "a used up hour is 403 with nothing remaining", func(w *world) {
			w.git.Limit = 0
			w.want(w.get(w.git.URL+"/repos/ada/tasks/commits/main", "Accept", sha), 403, "X-Ratelimit-Remaining: 0", "API rate limit exceeded")
		}},
		{"G18", "an error has a message and a documentation_url", func(w *world) {
			w.want(w.get(w.git.URL+"/repos/ada/none/commits/main", "Accept", sha), 404, `"message":"Not Found"`, `"documentation_url"`, `"status":"404"`)
		}},
		{"G19a", "a bad token", func(w *world) {
			w.want(w.get(w.git.URL+"/repos/ada/tasks/commits/main", "Accept", sha, "Authorization", "Bearer ghp_bad"), 401, "Bad credentials")
		}},
		{"G19d", "missing and private look the same", func(w *world) {
			w.git.Repository("ada/private").Private = true
			a, b := w.get(w.git.URL+"/repos/ada/none/commits/main", "Accept", sha), w.get(w.git.URL+"/repos/ada/private/commits/main", "Accept", sha)
			if a.StatusCode != 404 || b.StatusCode != 404 || a.body != b.body {
				w.Errorf("%s and %s", a.body, b.body)
			}
		}},
		{"G19e", "an empty repository", func(w *world) {
			w.git.Repository("ada/empty")
			w.want(w.get(w.git.URL+"/repos/ada/empty/commits/main", "Accept", sha), 409, "Git Repository is empty.")
		}},
		{"G19g", "a repository that was taken down", func(w *world) {
			w.git.Repository("ada/tasks").TakenDown = "dmca"
			w.want(w.get(w.git.URL+"/repos/ada/tasks/commits/main", "Accept", sha), 451, `"block":{`, `"reason":"dmca"`)
		}},
		{"G19f", "an unknown revision", func(w *world) {
			w.want(w.get(w.git.URL+"/repos/ada/tasks/commits/x", "Accept", sha), 422, "No commit found for SHA: x")
		}},
	}
}

// tarball reads the fake's tarball: texts by name, and the comment.
func (w *world) tarball() (names map[string]string, comment string) {
	w.Helper()
	a := w.get(w.git.Archives.URL + "/ada/tasks/tar.gz/" + w.sha["git"])
	z, err := gzip.NewReader(strings.NewReader(a.body))
	if err != nil {
		w.Fatal(err)
	}
	names = map[string]string{}
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if err == io.EOF {
			return names, comment
		}
		if err != nil {
			w.Fatal(err)
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			comment = h.PAXRecords["comment"]
			continue
		}
		text, _ := io.ReadAll(t)
		names[h.Name] = string(text)
	}
}

func TestFacts(t *testing.T) {
	for _, f := range facts() {
		t.Run(f.id+" "+f.about, func(t *testing.T) { f.check(newWorld(t)) })
	}
}

// TestEveryFactIsShown compares the facts that the fakes' comments name with those
// that TestFacts shows.
func TestEveryFactIsShown(t *testing.T) {
	claimed := map[string]bool{}
	for _, file := range []string{"huggingface.go", "github.go", "jobs.go"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		doc := regexp.MustCompile(`(?s)It keeps ([^.]*)\.`).FindSubmatch([]byte(strings.ReplaceAll(string(text), "\n//", "")))
		if doc == nil {
			t.Fatalf("%s names no facts", file)
		}
		for _, id := range regexp.MustCompile(`\b[A-Z][0-9]+[a-z]?\b`).FindAllString(string(doc[1]), -1) {
			claimed[id] = true
		}
	}
	shown := map[string]bool{}
	for _, f := range facts() {
		if shown[f.id] {
			t.Errorf("%s is shown twice", f.id)
		}
		shown[f.id] = true
	}
	if a, b := fmt.Sprint(slices.Sorted(maps.Keys(claimed))), fmt.Sprint(slices.Sorted(maps.Keys(shown))); a != b {
		t.Errorf("the comments name %s\nthe tests show %s", a, b)
	}
}
