package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/client"
	"github.com/posttrainarena/arena/store"
)

// Words that stand in a private suite and nowhere else.
const (
	canaryName   = "qzvault"     // in each name
	canaryPrompt = "Qzwhispered" // in each prompt
)

// writeCanarySuite makes a private suite of 32 tasks and a configuration that
// takes it.
func writeCanarySuite(t *testing.T) (configs string) {
	t.Helper()
	dir := t.TempDir()
	var suite bytes.Buffer
	for i := range 32 {
		line, err := json.Marshal(map[string]any{
			"name": fmt.Sprintf("%s-%02d-task", canaryName, i), "evaluated": true,
			"prompt": fmt.Sprintf("%s number %d: move the %d blue crates beside the lighthouse keeper before the tide of evening number %d comes in.", canaryPrompt, i, i*7+3, i+1),
		})
		if err != nil {
			t.Fatal(err)
		}
		suite.Write(append(line, '\n'))
	}
	config := fmt.Sprintf("[suites.tb2-sealed-32]\nfrom = \"directory\"\npath = %q\n", filepath.Join(dir, "suite"))
	for name, content := range map[string]string{"suite/suite.jsonl": suite.String(), "configs/arena.toml": config} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "configs")
}

// leak is a place where a canary was found.
func leak(t *testing.T, where string, text []byte, words ...string) {
	t.Helper()
	low := bytes.ToLower(text)
	for _, w := range words {
		if i := bytes.Index(low, []byte(strings.ToLower(w))); i >= 0 {
			t.Errorf("%s shows %q: …%s…", where, w, text[max(0, i-80):min(len(text), i+80)])
		}
	}
}

// TestCanaries lives with a private suite: a run that scores, one whose report
// lies and one that fails, collected and reviewed. Then it reads everything that
// an arena says to anybody but editors, and everything that it leaves for
// operators: answers, refusals, pages, streams, log, metrics, doctor, predeploy
// and a backup. No name and no prompt of the suite, and no token, is in any of it.
func TestCanaries(t *testing.T) {
	s := startServer(t, "--configs", writeCanarySuite(t), "--speed", "100000", "--fault", "wrong-report@2,stage=heldout@3", "--verbose")
	ada := s.account("ada")
	files, err := smallCollection()
	if err != nil {
		t.Fatal(err)
	}
	author, editor := s.client(ada), s.editor()
	bundle, err := client.NewBundle(files, "")
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for i := range 3 {
		env, err := author.Submit(t.Context(), api.EnvironmentRequest{ChallengeID: crashChallenge, RepoType: protocol.RepoBundle, RepoID: fmt.Sprintf("pack-%d", i)}, bundle)
		if err != nil {
			t.Fatal(err)
		}
		run, err := author.Launch(t.Context(), crashChallenge, api.LaunchRequest{RequestID: fmt.Sprintf("request-%04d", i), EnvironmentID: env.Value.ID})
		if err != nil {
			t.Fatal(err)
		}
		var ended api.Run
		waitFor(t, "an ended run", func() bool {
			r, err := author.GetRun(t.Context(), crashChallenge, run.Value.RunID)
			ended = r.Value
			return err == nil && ended.State.Ended()
		})
		if want := []protocol.RunState{protocol.RunScored, protocol.RunScored, protocol.RunFailed}[i]; ended.State != want {
			t.Fatalf("run %d is %s, want %s", i, ended.State, want)
		}
		if _, err := author.Collect(t.Context(), crashChallenge, ended.RunID); (err == nil) != (i == 0) {
			t.Errorf("collecting run %d: %v", i, err)
		}
		paths = append(paths, routesOf(t, env.Value.ID, ended.RunID)...)
	}
	if _, err := editor.Review(t.Context(), crashChallenge, protocol.NewRunID("request-0000"), api.ReviewRequest{Accepted: true, Note: "The evidence supports the report."}); err != nil {
		t.Error(err)
	}
	seen := false
	for _, path := range paths {
		for _, token := range []string{"", ada} {
			leak(t, "GET "+path+" as an author or nobody", s.ask("GET", path, token), canaryName, canaryPrompt, s.token, ada)
		}
		body := s.ask("GET", path, s.token)
		seen = seen || bytes.Contains(body, []byte(canaryName))
		leak(t, "GET "+path+" as an editor", body, canaryPrompt, s.token, ada)
	}
	if !seen {
		t.Error("not even an editor sees a name of the suite: this test would not notice a leak")
	}
	for _, path := range []string{"/api/challenges/" + crashChallenge + "/runs/" + protocol.NewRunID("request-0001") + "/collect", "/api/environments", "/api/agents", "/nowhere"} {
		leak(t, "POST "+path, s.ask("POST", path, ada), canaryName, canaryPrompt, s.token, ada)
	}
	for _, verb := range [][]string{{"doctor"}, {"doctor", "--json"}, {"predeploy"}, {"audit", "verify"}, {"token", "list"}} {
		out, _ := exec.Command("arena", append(verb, "--data", s.dir)...).CombinedOutput() // an exit code is no leak
		leak(t, "arena "+strings.Join(verb, " "), out, canaryName, canaryPrompt, s.token, ada)
	}
	s.checkBackup(ada)
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.exited
	if !strings.Contains(s.log.String(), "msg=request") {
		t.Error("the log has no requests in it")
	}
	leak(t, "the log", []byte(s.log.String()), canaryName, canaryPrompt, s.token, ada)
}

// checkBackup requires that a backup holds no token and no prompt in clear.
// Names of sealed tasks are evidence, which is why a backup is confidential.
func (s *served) checkBackup(token string) {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "copy.db")
	if out, err := exec.Command("arena", "backup", "--data", s.dir, file).CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{file, store.ManifestName(file)} {
		body, err := os.ReadFile(name)
		if err != nil {
			s.t.Fatal(err)
		}
		leak(s.t, filepath.Base(name), body, canaryPrompt, s.token, token)
	}
}

// routesOf are the addresses of everything that can be read about a run and its
// collection.
func routesOf(t *testing.T, env, run string) (paths []string) {
	t.Helper()
	for _, r := range api.Routes() {
		if r.Method != http.MethodGet {
			continue
		}
		path := r.Path
		if strings.HasPrefix(path, "/api/environments/") {
			path = strings.Replace(path, "{id}", env, 1)
		}
		path = strings.NewReplacer("{id}", crashChallenge, "{env}", env, "{run}", run, "{n}", "1").Replace(path)
		for _, q := range r.Query {
			if q.Required {
				path += "?" + q.Name + "=" + env
			}
		}
		if strings.Contains(path, "{") {
			continue // an address about something else, such as a binary
		}
		paths = append(paths, path)
	}
	return append(paths, "/", "/arena", "/arena/submissions/"+env, "/arena/runs/"+run, "/api/challenges/nowhere", "/api/environments?cursor=x", "/api/events?after=0")
}

// account makes a token of somebody who is no editor.
func (s *served) account(name string) string {
	s.t.Helper()
	st, err := store.OpenBeside(s.t.Context(), store.Options{Dir: s.dir, Now: time.Now})
	if err != nil {
		s.t.Fatal(err)
	}
	defer st.Close()
	secret, err := issueToken(s.t.Context(), st, time.Now(), name, false)
	if err != nil {
		s.t.Fatal(err)
	}
	return secret
}

// ask makes a request and returns the head and the body of its answer, of a
// stream what comes within a moment.
func (s *served) ask(method, path, token string) []byte {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	var out bytes.Buffer
	_ = res.Header.Write(&out) // to memory
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		time.AfterFunc(300*time.Millisecond, cancel)
	}
	_, _ = io.Copy(&out, res.Body) // which the end of a stream cuts off
	if res.StatusCode >= 500 {
		s.t.Errorf("%s %s: %s", method, path, res.Status)
	}
	return out.Bytes()
}
