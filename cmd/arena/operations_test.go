package main

import (
	"bufio"
	"context"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/client"
	"github.com/posttrainarena/arena/store"
)

// served is a real server process with an editor's token.
type served struct {
	t      *testing.T
	cmd    *exec.Cmd
	dir    string
	url    string
	token  string
	exited chan struct{}
	log    strings.Builder
}

// startServer starts a server on a new directory. TestMain has put this test
// binary on the path as arena.
func startServer(t *testing.T, args ...string) *served {
	t.Helper()
	s := &served{t: t, dir: filepath.Join(t.TempDir(), "data"), exited: make(chan struct{})}
	st, err := store.Open(t.Context(), store.Options{Dir: s.dir, Now: time.Now})
	if err == nil {
		s.token, err = issueToken(t.Context(), st, time.Now(), "olga", true)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	s.cmd = exec.Command("arena", append([]string{"serve", "--data", s.dir, "--listen", "127.0.0.1:0"}, args...)...)
	s.cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	out, err := s.cmd.StderrPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan string, 1)
	go func() {
		defer close(s.exited)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			s.log.WriteString(lines.Text() + "\n")
			if m := servingAt.FindStringSubmatch(lines.Text()); m != nil {
				started <- m[1]
			}
		}
		_ = s.cmd.Wait()
	}()
	t.Cleanup(func() { _ = s.cmd.Process.Kill(); <-s.exited })
	select {
	case s.url = <-started:
	case <-s.exited:
		t.Fatalf("the server does not start:\n%s", s.log.String())
	}
	return s
}

// editor is a client with the editor's token.
func (s *served) editor() *client.Client { return s.client(s.token) }

// client is a client with a token.
func (s *served) client(secret string) *client.Client {
	s.t.Helper()
	token, err := client.NewToken(secret)
	if err != nil {
		s.t.Fatal(err)
	}
	c, err := client.New(client.Options{BaseURL: s.url, Token: token, Sleep: sleep})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// raw opens a connection and sends the beginning of a request.
func (s *served) raw(head string) net.Conn {
	s.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err == nil {
		_, err = io.WriteString(c, strings.ReplaceAll(head, "\n", "\r\n"))
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	return c
}

// TestShutdownDoesNotWaitForWhatNeverEnds asks a server to stop while 50 clients
// follow its events, 20 uploads trickle in and 20 connections say nothing. It must end in order, long before
// it would cut connections by force; the uploads are told to come again, and the
// streams go on at the next server where they were.
func TestShutdownDoesNotWaitForWhatNeverEnds(t *testing.T) {
	s := startServer(t)
	var streams []*bufio.Reader
	for range 50 {
		r := bufio.NewReader(s.raw("GET /api/events HTTP/1.1\nHost: arena\n\n"))
		if line, err := r.ReadString('\n'); err != nil || !strings.Contains(line, "200") {
			t.Fatalf("a stream: %q, %v", line, err)
		}
		streams = append(streams, r)
	}
	const part = "--b\nContent-Disposition: form-data; name=\"request\"\n\n" +
		`{"challenge_id":"tb2-9b","repo_type":"bundle","repo_id":"pack"}` + "\n--b\nContent-Disposition: form-data; name=\"bundle\"; filename=\"b.tar\"\n\n"
	var uploads []net.Conn
	for range 20 {
		uploads = append(uploads, s.raw("POST /api/environments HTTP/1.1\nHost: arena\nAuthorization: Bearer "+s.token+
			"\nContent-Type: multipart/form-data; boundary=b\nContent-Length: 100000000\n\n"+part+"the beginning of a tar stream"))
	}
	waitFor(t, "20 uploads", func() bool {
		files, err := os.ReadDir(filepath.Join(s.dir, "uploads"))
		return err == nil && len(files) == 20
	})

	uploads = append(uploads, s.raw("POST /api/board/messages HTTP/1.1\nHost: arena\nAuthorization: Bearer "+s.token+
		"\nContent-Type: application/json\nContent-Length: 1000\n\n{"))
	for range 20 {
		s.raw("GET /never/")
	}

	asked := time.Now()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for _, c := range uploads {
		a, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatalf("an upload gets no answer: %v", err)
		}
		body, _ := io.ReadAll(a.Body)
		a.Body.Close()
		if a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" || !strings.Contains(string(body), "shutting down") {
			t.Errorf("an upload is told %s: %s", a.Status, body)
		}
	}
	for _, r := range streams {
		if _, err := io.Copy(io.Discard, r); err != nil {
			t.Errorf("a stream ends with %v", err)
		}
	}
	<-s.exited
	took := time.Since(asked)
	t.Logf("exited %s after SIGTERM", took.Round(time.Millisecond))
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d\n%s", code, s.log.String())
	}
	if took >= 5*time.Second { // what net/http gives one that is silent: ten times of what it needs
		t.Errorf("it waited for its clients: %s", took)
	}
	if info, err := os.Stat(filepath.Join(s.dir, store.DatabaseName+"-wal")); err == nil && info.Size() > 0 {
		t.Error("the database was not checkpointed")
	}
}

// waitFor polls a condition of another process.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 3000 {
		if ok() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("there are never %s", what)
}

// TestDoctorFromInside is the doctor as an editor's client sees it.
func TestDoctorFromInside(t *testing.T) {
	s := startServer(t)
	d, err := s.editor().Doctor(t.Context())
	if err != nil || !d.Value.OK {
		t.Fatalf("%+v, %v", d.Value, err)
	}
	names := map[string]bool{}
	for _, c := range d.Value.Checks {
		if names[c.Check] || c.Detail == "" || c.Status == "" {
			t.Errorf("twice, or empty: %+v", c)
		}
		names[c.Check] = true
	}
	if len(names) < 25 {
		t.Errorf("only %d checks", len(names))
	}
}

// TestGrafanaKnowsTheMetrics requires that every metric on the dashboard is one
// that a server reports, and the other way round for the arena's own.
func TestGrafanaKnowsTheMetrics(t *testing.T) {
	dashboard, err := os.ReadFile("../../configs/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	s := startServer(t)
	if _, err := s.editor().Whoami(t.Context()); err != nil {
		t.Fatal(err)
	}
	metrics := s.get("/metrics")
	absent := []string{"arena_backup_age_seconds", "arena_provider_errors_total"} // until there is a backup, and an error
	shown := regexp.MustCompile(`\b(?:arena|process)_[a-z_]+`).FindAllString(string(dashboard), -1)
	for _, name := range shown {
		if !strings.Contains(metrics, name) && !slices.Contains(absent, name) {
			t.Errorf("the dashboard shows %s, which the server does not report", name)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (arena_[a-z_]+)`).FindAllStringSubmatch(metrics, -1) {
		if !slices.ContainsFunc(shown, func(name string) bool { return strings.HasPrefix(name, m[1]) }) {
			t.Errorf("the dashboard does not show %s", m[1])
		}
	}
}

func (s *served) get(path string) string {
	s.t.Helper()
	res, err := http.Get(s.url + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		s.t.Fatalf("%s: %s, %v", path, res.Status, err)
	}
	return string(body)
}

// TestPredeployWaitsForALiveJob asks before and after a run.
func TestPredeployWaitsForALiveJob(t *testing.T) {
	s := startServer(t, "--speed", "1")
	predeploy := func() (string, int) {
		out, err := exec.Command("arena", "predeploy", "--data", s.dir).Output()
		code := 0
		if e, ok := err.(*exec.ExitError); ok {
			code = e.ExitCode()
		}
		return string(out), code
	}
	if out, code := predeploy(); code != 0 {
		t.Errorf("with nothing live: exit %d, %s", code, out)
	}
	c := s.editor()
	files, err := smallCollection()
	if err != nil {
		t.Fatal(err)
	}
	run, err := launchOne(t.Context(), c, files)
	if err != nil {
		t.Fatal(err)
	}
	if out, code := predeploy(); code != 1 || !strings.Contains(out, run) {
		t.Errorf("with a live job: exit %d, %s", code, out)
	}
	if _, err := c.Cancel(t.Context(), crashChallenge, run); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "no live run", func() bool {
		r, err := c.GetRun(t.Context(), crashChallenge, run)
		return err == nil && r.Value.State == protocol.RunCanceled
	})
	if out, code := predeploy(); code != 0 {
		t.Errorf("afterwards: exit %d, %s", code, out)
	}
}

// launchOne submits a collection and launches a run of it.
func launchOne(ctx context.Context, c *client.Client, files fs.FS) (string, error) {
	bundle, err := client.NewBundle(files, "")
	if err != nil {
		return "", err
	}
	env, err := c.Submit(ctx, api.EnvironmentRequest{ChallengeID: crashChallenge, RepoType: protocol.RepoBundle, RepoID: "pack"}, bundle)
	if err != nil {
		return "", err
	}
	run, err := c.Launch(ctx, crashChallenge, api.LaunchRequest{RequestID: "request-0001", EnvironmentID: env.Value.ID})
	return run.Value.RunID, err
}
