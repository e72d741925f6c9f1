package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/posttrainarena/arena/configs"
	"github.com/posttrainarena/arena/fixture"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/hub/hubtest"
)

// The secrets of the tests below. Each holds the word by which they are looked for;
// the tokens that the fake hub gives to browsers hold it too.
const (
	secretWord   = "CANARY"
	personsToken = "hf_personCANARYpersonCANARYpersonCANARY1"
	readersToken = "hf_readerCANARYreaderCANARYreaderCANARY1"
	hubsToken    = "hf_arenaCANARYarenaCANARYarenaCANARYare1"
	gitHubsToken = "ghp_arenaCANARYarenaCANARYarenaCANARYar1"
	appSecret    = "oauth-app-CANARY-secret"
	sealedsToken = "hf_sealedCANARYsealedCANARYsealedCANARY1"
)

// town is a real arena, in a process of its own, and the fakes of the services
// that it is connected to.
type town struct {
	t       testing.TB
	hub     *hubtest.HuggingFace
	git     *hubtest.GitHub
	url     string
	data    string
	overlay string
	command *exec.Cmd
	log     lockedBuffer
	said    bytes.Buffer // every answer, headers and all
}

// lockedBuffer takes what a process prints.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// sampleFiles is the sample collection below a directory, as a code host has it.
func sampleFiles(t testing.TB, dir string) []hubtest.File {
	t.Helper()
	sample, err := fixture.Collection("sample")
	if err != nil {
		t.Fatal(err)
	}
	var files []hubtest.File
	if err := fs.WalkDir(sample, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(sample, name)
		files = append(files, hubtest.File{Path: dir + "/" + name, Text: string(text)})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return files
}

// freeAddress is where an arena can listen. It is below the ports that the system
// itself gives out, so that no fake of another test takes it before the arena does, or
// while it is killed.
func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 15_000+rand.N(15_000)))
	for err != nil {
		listener, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 15_000+rand.N(15_000)))
	}
	defer listener.Close()
	return listener.Addr().String()
}

// newTown starts both. The settings are added to its arena.toml.
func newTown(t testing.TB, hub *hubtest.HuggingFace, settings string) *town {
	t.Helper()
	w := &town{t: t, hub: hub, git: hubtest.NewGitHub(t), data: filepath.Join(t.TempDir(), "data")}
	w.url = "http://" + freeAddress(t)

	org := func(role string) []hubtest.Org { return []hubtest.Org{{Name: "benchflow", Role: role}} }
	w.hub.Issue(personsToken, hubtest.Token{Account: hubtest.Account{Name: "ada", Orgs: org("write")}})
	w.hub.Issue(readersToken, hubtest.Token{Account: hubtest.Account{Name: "rudi", Orgs: org("read")}})
	w.hub.Issue(hubsToken, hubtest.Token{Account: hubtest.Account{Name: "arena-bot"}})
	w.hub.App = hubtest.App{ID: "app", Secret: appSecret, Redirect: w.url + "/auth/callback", Person: hubtest.Account{Name: "bea", Orgs: org("admin")}}
	w.git.Token = gitHubsToken

	w.overlay = t.TempDir()
	text := fmt.Sprintf(`
[identity]
mode = "hub"
hub_url = %q
[identity.oauth]
client_id = "app"
client_secret_env = "APP_SECRET"
[sources.dataset]
enabled = true
token_env = "HUB_TOKEN"
[sources.github]
enabled = true
token_env = "GIT_TOKEN"
api_url = %q
archive_url = %q
raw_url = %q
%s`, w.hub.URL, w.git.URL, w.git.Archives.URL, w.git.Raw.URL, strings.ReplaceAll(settings, "ARENA_URL", w.url))
	if err := os.WriteFile(filepath.Join(w.overlay, "arena.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w.start()
	t.Cleanup(func() { _ = w.command.Process.Kill(); _ = w.command.Wait() })
	return w
}

// start starts the arena, for the first time or again.
func (w *town) start() {
	t := w.t
	t.Helper()
	w.command = exec.Command("arena", "serve", "--verbose", "--data", w.data, "--configs", w.overlay, "--listen", strings.TrimPrefix(w.url, "http://"))
	w.command.Env = append(os.Environ(), "APP_SECRET="+appSecret, "HUB_TOKEN="+hubsToken, "GIT_TOKEN="+gitHubsToken, "SEALED_TOKEN="+sealedsToken, "RUNS_TOKEN="+runsToken, "SANDBOX_KEY="+sandboxToken)
	w.command.Stdout, w.command.Stderr = &w.log, &w.log
	if err := w.command.Start(); err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		resp, err := http.Get(w.url + "/healthz")
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Fatalf("somebody else answers at %s: %s", w.url, resp.Status)
			}
			return
		}
		if n == 600 {
			t.Fatalf("the arena does not answer: %v\n%s", err, w.log.String())
		}
		time.Sleep(50 * time.Millisecond) // a real process starts in real time
	}
}

// ask sends one request, following nothing, and keeps what came back.
func (w *town) ask(method, address, token string, body any, header ...string) (*http.Response, string) {
	w.t.Helper()
	var raw []byte
	if body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			w.t.Fatal(err)
		}
	}
	if strings.HasPrefix(address, "/") {
		address = w.url + address
	}
	r, err := http.NewRequestWithContext(w.t.Context(), method, address, bytes.NewReader(raw))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("User-Agent", "test/1")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	if strings.HasPrefix(address, w.url) {
		fmt.Fprintf(&w.said, "%s %s\n%v\n%s\n", method, r.URL.Path, resp.Header, answer)
	}
	return resp, string(answer)
}

// want asks and requires a status and a part of the answer.
func (w *town) want(status int, say, method, path, token string, body any, header ...string) (*http.Response, string) {
	w.t.Helper()
	resp, answer := w.ask(method, path, token, body, header...)
	if resp.StatusCode != status || !strings.Contains(answer, say) {
		w.t.Errorf("%s %s: %s %.600s; want %d %q", method, path, resp.Status, answer, status, say)
	}
	return resp, answer
}

func (w *town) stop() {
	w.t.Helper()
	if err := w.command.Process.Signal(syscall.SIGTERM); err != nil {
		w.t.Fatal(err)
	}
	if err := w.command.Wait(); err != nil {
		w.t.Fatalf("the arena ends with %v\n%s", err, w.log.String())
	}
}

// TestALeakIsSeenWhereverItLives: a solution that a task's image copies is found in a
// dataset and in a repository as in a directory.
func TestALeakIsSeenWhereverItLives(t *testing.T) {
	w := newTown(t, hubtest.NewHuggingFace(t), "")
	files := sampleFiles(t, "pack")
	i := slices.IndexFunc(files, func(f hubtest.File) bool { return f.Path == "pack/envs/contact-merge/oracle/solve.sh" })
	if i < 0 {
		t.Fatal("the sample has another solution")
	}
	files = append(files, hubtest.File{Path: "pack/envs/contact-merge/environment/data/helper.sh", Text: files[i].Text})
	w.hub.Dataset("ada/leaky").Commit(files, "main")
	w.git.Repository("ada/leaky").Commit(files, "main")
	for _, kind := range []string{"dataset", "github"} {
		_, raw := w.want(200, "oracle-in-image", "POST", "/api/environments/validate", personsToken, map[string]any{
			"challenge_id": "tb2-9b", "repo_type": kind, "repo_id": "ada/leaky", "revision": "main", "entry_path": "pack",
		})
		var v api.Validation
		if err := json.Unmarshal([]byte(raw), &v); err != nil || v.TaskCount != 8 || v.EligibleTasks != 7 {
			t.Errorf("%s: %v, %d tasks, %d eligible", kind, err, v.TaskCount, v.EligibleTasks)
		}
	}
}

// TestOutside takes collections from a dataset and from a repository through a
// real arena, with tokens and browsers of the hub, through outages and limits; and
// then looks for the secrets of all that in everything that the arena has left.
func TestOutside(t *testing.T) {
	w := newTown(t, hubtest.NewHuggingFace(t), "")
	dataset := w.hub.Dataset("ada/tasks").Commit(sampleFiles(t, "pack"), "main")
	repository := w.git.Repository("ada/tasks").Commit(sampleFiles(t, "pack"), "main")
	w.hub.Dataset("ada/gated").Gated = "auto"
	w.hub.Dataset("ada/gated").Commit(sampleFiles(t, "pack"), "main")
	request := func(kind, repo, rev string) map[string]any {
		return map[string]any{"challenge_id": "tb2-9b", "repo_type": kind, "repo_id": repo, "revision": rev, "entry_path": "pack", "title": "Sample"}
	}

	// The whole way, of both.
	identities := map[string]string{}
	for _, place := range []struct{ kind, commit string }{{"dataset", dataset}, {"github", repository}} {
		kind, commit := place.kind, place.commit
		_, raw := w.want(200, `"valid":true`, "POST", "/api/environments/validate", personsToken, request(kind, "ada/tasks", "main"))
		var v api.Validation
		if err := json.Unmarshal([]byte(raw), &v); err != nil || v.Revision != commit || v.TaskCount != 8 || v.EligibleTasks != 8 {
			t.Errorf("%s: %v %s, %d tasks, %d eligible", kind, err, v.Revision, v.TaskCount, v.EligibleTasks)
		}
		identity, err := json.Marshal(v.QualityGates.Static.TaskIdentity)
		if err != nil || len(identity) < 100 {
			t.Fatalf("%s: identity %s, %v", kind, identity, err)
		}
		identities[string(identity)] = kind
		w.want(201, commit, "POST", "/api/environments", personsToken, request(kind, "ada/tasks", "main"))
		w.want(200, `"existing":true`, "POST", "/api/environments", personsToken, request(kind, "ada/tasks", commit))
		w.want(200, v.EnvironmentID, "GET", "/api/environments/"+v.EnvironmentID, "", nil)
	}
	if len(identities) != 1 {
		t.Errorf("the same tasks have %d identities: it must not depend on where they live", len(identities))
	}
	if n, m := w.git.Calls(""), w.git.Archives.Calls(""); n != 6 || m != 0 {
		t.Errorf("three validations took %d API calls and %d tarballs; the files were there from the dataset", n, m)
	}

	// What cannot be read is said, and when to come back.
	w.want(422, "gated", "POST", "/api/environments/validate", personsToken, request("dataset", "ada/gated", "main"))
	w.want(422, "not public", "POST", "/api/environments/validate", personsToken, request("github", "ada/none", "main"))
	w.git.Fail("GET /repos/", 0, hubtest.Status(403, "X-Ratelimit-Limit", "5000", "X-Ratelimit-Remaining", "0", "Retry-After", "900"))
	resp, _ := w.want(503, "limit of 5000 requests an hour", "POST", "/api/environments/validate", personsToken, request("github", "ada/tasks", "main"))
	if resp.Header.Get("Retry-After") != "900" {
		t.Errorf("Retry-After is %q", resp.Header.Get("Retry-After"))
	}

	// People: editors and others, tokens that are wrong or in the wrong place, and
	// the command line.
	w.want(200, `"editor":true`, "GET", "/api/whoami", personsToken, nil)
	w.want(200, `"editor":false`, "GET", "/api/whoami", readersToken, nil)
	w.want(401, "bad-token", "GET", "/api/whoami", "hf_wrongCANARYwrongCANARYwrongCANARY1", nil)
	w.want(400, "token-in-url", "GET", "/api/challenges?token="+personsToken, "", nil)
	w.want(400, "token-in-url", "POST", "/api/board/messages", personsToken, map[string]any{"request_id": "message-1", "body": "my token is " + personsToken})
	cli := exec.Command("arena", "whoami")
	cli.Env = append(os.Environ(), "ARENA_URL="+w.url, "HF_TOKEN="+personsToken, "ARENA_TOKEN=")
	out, err := cli.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "ada") {
		t.Errorf("arena whoami: %v\n%s", err, out)
	}
	w.said.Write(out)

	// A browser signs in, writes, and reads the pages of a signed-in person.
	session := w.signIn()
	w.want(200, `"name":"bea"`, "GET", "/api/whoami", "", nil, "Cookie", session)
	w.want(201, "Hello", "POST", "/api/board/messages", "", map[string]any{"request_id": "message-2", "body": "Hello."}, "Cookie", session, "Origin", w.url)
	w.want(403, "cross-origin", "POST", "/api/board/messages", "", map[string]any{"request_id": "message-3", "body": "Hello."}, "Cookie", session, "Origin", "https://evil.example")

	// The hub goes away: what is known stays known, what is not is never let in.
	w.hub.Down(true)
	w.want(200, "ada", "GET", "/api/whoami", personsToken, nil)
	w.want(503, "cannot be reached", "GET", "/api/whoami", "hf_otherCANARYotherCANARYotherCANARYothe1", nil)
	w.want(503, "cannot be reached", "POST", "/api/environments/validate", personsToken, request("dataset", "ada/tasks", "main"))
	w.want(200, "", "GET", "/readyz", "", nil)
	w.want(200, "arena_http_requests_total", "GET", "/metrics", "", nil)

	arguments, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", w.command.Process.Pid))
	if err != nil {
		t.Logf("arguments of the process are not looked at: %v", err)
	}
	// Its memory holds them, so a crash must not write it to a file.
	if limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", w.command.Process.Pid)); err != nil {
		t.Logf("limits of the process are not looked at: %v", err)
	} else if !regexp.MustCompile(`Max core file size +0 `).Match(limits) {
		t.Errorf("a crash leaves a core file:\n%s", limits)
	}
	live := w.bytes() // with the write-ahead log as it is while the arena runs
	w.stop()
	_, cookie, _ := strings.Cut(session, "=")
	for what, text := range map[string]string{
		"the log": w.log.String(), "the answers": w.said.String(), "the data directory": w.bytes(), "the data directory of a live arena": live, "the arguments": string(arguments),
	} {
		if i := strings.Index(text, secretWord); i >= 0 {
			t.Errorf("%s hold a secret: …%q…", what, text[max(0, i-80):min(len(text), i+40)])
		}
		if what != "the answers" && strings.Contains(text, cookie) {
			t.Errorf("%s hold the session", what)
		}
	}
	// The search itself finds what is there.
	if !strings.Contains(live+w.bytes(), "Sample Desk") || !strings.Contains(w.log.String(), "who=ada") || !strings.Contains(w.said.String(), "Sample Desk") {
		t.Error("the search does not see what the arena keeps")
	}
}

// signIn goes to the hub and back and returns the session's cookie.
func (w *town) signIn() string {
	w.t.Helper()
	login, _ := w.want(303, "", "GET", "/auth/login?next=/api/whoami", "", nil)
	bound, _, _ := strings.Cut(login.Header.Get("Set-Cookie"), ";")
	consent, _ := w.ask("GET", login.Header.Get("Location"), "", nil)
	back, err := url.Parse(consent.Header.Get("Location"))
	if err != nil {
		w.t.Fatal(err)
	}
	done, _ := w.want(303, "", "GET", back.RequestURI(), "", nil, "Cookie", bound)
	for _, k := range done.Cookies() {
		if k.Name == "arena_session" {
			return k.Name + "=" + k.Value
		}
	}
	w.t.Fatalf("no session: %v", done.Header)
	return ""
}

// bytes is everything in the data directory.
func (w *town) bytes() string {
	w.t.Helper()
	var all strings.Builder
	if err := filepath.WalkDir(w.data, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(name)
		all.WriteString(name + "\n")
		all.Write(raw)
		return err
	}); err != nil {
		w.t.Fatal(err)
	}
	return all.String()
}

// TestOutsideIsRefusedEarly: an arena does not start on settings that would only
// fail later, and says which line is wrong.
func TestOutsideIsRefusedEarly(t *testing.T) {
	for text, say := range map[string]string{
		"[identity]\nmode = \"github\"":                                                                    `arena.toml:2:1: identity.mode: must be "local" or "hub"`,
		"[identity]\nmode = \"hub\"\nhub_url = \"http://hub.example\"":                                     "must begin with https://",
		"[identity]\nmode = \"hub\"\nhub_url = \"hub\"":                                                    "must be an address",
		"[identity]\nmode = \"hub\"\n[identity.oauth]\nclient_id = \"x\"\nclient_secret_env = \"NOT_SET\"": "names the environment variable NOT_SET, which is not set",
		"[sources]\ncache_mib = 0\n[sources.dataset]\nenabled = true":                                      "must be at least 1",
		"[sources.github]\nenabled = true\napi_url = \"ftp://x\"":                                          "must begin with https://",
		"[sources.github]\nenabled = true\ntoken_env = \"TWO_WORDS\"":                                      "is no token",
	} {
		cfg, err := configs.Load(os.DirFS(overlay(t, text)))
		if err != nil {
			t.Fatal(err)
		}
		o := nodeOptions{Data: t.TempDir(), Now: time.Now, Getenv: func(name string) string { return map[string]string{"TWO_WORDS": "not a token"}[name] }}
		out, err := openOutside(cfg, o)
		if err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%s\nsays %v, not %q", text, err, say)
		}
		_ = out.close()
	}
}

func overlay(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "arena.toml"), []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestDefaultStaysInside: the embedded configuration reaches nobody, and neither
// does a mocked arena or a rehearsal whatever the configuration says.
func TestDefaultStaysInside(t *testing.T) {
	cfg, err := configs.Default()
	if err != nil {
		t.Fatal(err)
	}
	out, err := openOutside(cfg, nodeOptions{Data: t.TempDir(), Now: time.Now})
	if err != nil || len(out.hosts) != 0 || out.people != nil || out.app != nil || out.cache != nil || len(out.streams) != 0 {
		t.Errorf("%+v, %v", out, err)
	}
	cfg.Arena.Identity.Mode, cfg.Arena.Sources.Dataset.Enabled, cfg.Arena.Sources.GitHub.Enabled = configs.IdentityHub, true, true
	if out, err := openOutside(private(cfg, "tb2-9b", false), nodeOptions{Data: t.TempDir(), Now: time.Now}); err != nil || len(out.hosts) != 0 || out.people != nil {
		t.Errorf("a rehearsal reaches outside: %+v, %v", out, err)
	}
	data := filepath.Join(t.TempDir(), "data")
	if _, err := buildMock(context.Background(), data, "", mockFlags{Seed: 1, Challenge: "skillsbench-9b", Scale: 1}.mock(time.Now()), 0); err != nil {
		t.Fatal(err)
	}
	n, err := openNode(t.Context(), nodeOptions{
		Data: data, Listen: "127.0.0.1:0", Log: quiet(), Now: time.Now, Getenv: func(string) string { return "" },
		Configs: overlay(t, "[identity]\nmode = \"hub\"\n[sources.dataset]\nenabled = true"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if n.service.People != nil || n.outside.cache != nil {
		t.Error("a mocked arena reaches outside")
	}
	if err := n.close(); err != nil {
		t.Error(err)
	}
}
