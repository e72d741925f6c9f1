package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
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

	"github.com/posttrainarena/arena/protocol/api"
)

// startUp starts the real binary as a mocked arena with a history, and returns
// its address and its data directory.
func startUp(t testing.TB, args ...string) (url, data string) {
	t.Helper()
	data = filepath.Join(t.TempDir(), "data")
	program, err := exec.LookPath("arena") // testscript.Main put it there
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, append([]string{"up", "--mock", "--no-tui", "--listen", "127.0.0.1:0", "--data", data}, args...)...)
	cmd.Env = []string{"HOME=" + t.TempDir()}
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address, done := make(chan string, 1), make(chan struct{})
	var said strings.Builder
	go func() {
		defer close(done)
		for lines := bufio.NewScanner(log); lines.Scan(); {
			said.WriteString(lines.Text() + "\n")
			if _, at, ok := strings.Cut(lines.Text(), "PostTrain Arena is up at "); ok {
				address <- strings.Fields(at)[0]
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-done
		if err := cmd.Wait(); err != nil {
			t.Errorf("arena up ends with %v and said:\n%s", err, said.String())
		}
	})
	select {
	case url = <-address:
	case <-done:
		t.Fatalf("arena up said:\n%s", said.String())
	}
	return url, data
}

// fetch reads a page.
func fetch(t testing.TB, url string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s, %v: %s", url, res.Status, err, body)
	}
	return string(body)
}

// block is a fenced block of a guide.
type block struct {
	info string // what stands behind the fence
	text string
	line int
}

func blocksOf(guide string) []block {
	var all []block
	var open *block
	for i, l := range strings.Split(guide, "\n") {
		switch info, fence := strings.CutPrefix(l, "```"); {
		case fence && open == nil:
			open = &block{info: info, line: i + 1}
		case fence:
			all, open = append(all, *open), nil
		case open != nil:
			open.text += l + "\n"
		}
	}
	return all
}

// reader works through a guide as somebody who does exactly what it says.
type guideReader struct {
	t      *testing.T
	dir    string
	tokens map[string]string // by what stands behind sh
	names  map[string]string // what the words in capitals stand for
}

// play runs one block and returns what it printed. A preflight that says no is
// asked again, as the guide says.
func (g *guideReader) play(b block) (stdout, stderr string) {
	g.t.Helper()
	text := b.text
	for word, name := range g.names {
		text = regexp.MustCompile(`\b`+word+`\b`).ReplaceAllLiteralString(text, name)
	}
	if left := regexp.MustCompile(`\b(AGENT_ID|ENVIRONMENT_ID|RUN_ID)\b`).FindString(text); left != "" {
		g.t.Fatalf("line %d: nothing before it says what %s is", b.line, left)
	}
	// What a block exports holds for the next ones, as in one shell.
	script := "if [ -f .exported ]; then . ./.exported; fi\nARENA_TOKEN=$GUIDE_TOKEN; export ARENA_TOKEN; unset GUIDE_TOKEN\nset -e\n" + text + "unset ARENA_TOKEN\nexport -p > .exported\n"
	for range 600 {
		cmd := exec.Command("sh", "-c", script)
		cmd.Dir = g.dir
		cmd.Env = []string{"HOME=" + g.dir, "PATH=" + os.Getenv("PATH"), "GUIDE_TOKEN=" + g.tokens[b.info]}
		var out, notes bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &notes
		err := cmd.Run()
		failed, _ := errors.AsType[*exec.ExitError](err)
		if failed != nil && failed.ExitCode() == exitNotAllowed && strings.Contains(notes.String(), "FAIL  no_active_job") {
			time.Sleep(100 * time.Millisecond) // the run of the history is still going on
			continue
		}
		if err != nil {
			g.t.Fatalf("line %d ends with %v:\n%s\n%s%s", b.line, err, text, out.String(), notes.String())
		}
		return out.String(), notes.String()
	}
	g.t.Fatalf("line %d: another run never ends", b.line)
	return "", ""
}

// learn remembers what a receipt says a word stands for.
func (g *guideReader) learn(word, file, member string) {
	raw, err := os.ReadFile(filepath.Join(g.dir, file))
	if err != nil {
		return // not written yet
	}
	var receipt map[string]any
	if err := json.Unmarshal(raw, &receipt); err != nil {
		g.t.Fatalf("%s: %v", file, err)
	}
	g.names[word], _ = receipt[member].(string)
}

// TestGuide runs every block of the served guide in its order, with nothing but
// a shell, curl and a token, against a fresh mocked arena.
func TestGuide(t *testing.T) {
	for _, tool := range []string{"sh", "curl", "uname"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("the guide's commands need %s, which is not here", tool)
		}
	}
	url, data := startUp(t, "--speed", "60000")
	guide := fetch(t, url+"/AGENTS.md")
	g := &guideReader{t: t, dir: t.TempDir(), tokens: map[string]string{}, names: map[string]string{"AGENT_ID": "newcomer-agent"}}
	for info, file := range map[string]string{"sh": "newcomer.token", "sh organizer": organizerFile} {
		secret, err := os.ReadFile(filepath.Join(data, file))
		if err != nil {
			t.Fatal(err)
		}
		g.tokens[info] = strings.TrimSpace(string(secret))
	}
	// What must be seen of the commands, by a part of the block that prints it, or
	// with ^ by how that begins.
	type sight struct{ of, stdout, stderr string }
	sights := []sight{
		{"version --check", `"same":true.*"by":"digest"`, "arena's own"},
		{"whoami", `"name":"newcomer"`, "You are newcomer at "},
		{"register-agent", `"agent_id":"newcomer-agent"`, "is registered to newcomer"},
		{"board list\n./arena env", `"body":"Hello, I am newcomer-agent\.`, ""},
		{"new my-collection", `"dir":"my-collection"`, "8 worked examples"},
		{"gates static", `8 tasks`, ""},
		{"rehearse", `(?i)leaderboard`, ""},
		{"validate --dir", `"valid":true`, "Valid: 8 tasks, 8 eligible"},
		{"--title", "", "Registered as env-"},
		{"run --challenge tb2-9b --id ENVIRONMENT_ID\n", `"allowed":true`, "ok    author_or_editor"},
		{"> run-receipt.json", "", "Run challenge-"},
		{"--wait", `"state":"scored"(?s).*"verification":"pending"`, "Next: arena result collect"},
		{"capabilities", `"endpoints":(?s).*"exit_codes"`, ""},
		{"budget", `"cap_usd"`, ""},
		{"pinned.json", `"existing":true`, ""},
		{"gates explain", `(?s)Fix: .*"static"`, ""},
		{"--execute\n./arena runs", `"existing":true`, "No second one was started"},
		{"attempts --challenge", `"forecast"`, ""},
		{"^./arena result collect", `"existing":true`, "was collected before"},
		{"leaderboard --challenge tb2-9b\n", `"rows"`, ""},
		{"--limit 5", `"messages"`, "nothing was posted twice"},
		{"result review", `"verification":"valid"(?s).*"author":"newcomer"`, "Accepted by"},
	}
	seen := make([]bool, len(sights))
	played := 0
	for _, b := range blocksOf(guide) {
		switch b.info {
		case "json":
			var req api.EnvironmentRequest
			d := json.NewDecoder(strings.NewReader(b.text))
			d.DisallowUnknownFields()
			if err := d.Decode(&req); err != nil {
				t.Errorf("line %d: %v", b.line, err)
			}
			continue
		case "sh", "sh organizer":
		default:
			t.Errorf("line %d: a block of %q is neither run nor read", b.line, b.info)
			continue
		}
		stdout, stderr := g.play(b)
		played++
		g.learn("ENVIRONMENT_ID", "submission.json", "id")
		g.learn("RUN_ID", "run-receipt.json", "run_id")
		found := false
		for i, s := range sights {
			if start, ok := strings.CutPrefix(s.of, "^"); ok && strings.HasPrefix(b.text, start) || strings.Contains(b.text, s.of) {
				found = true
				if !regexp.MustCompile(s.stdout).MatchString(stdout) || !regexp.MustCompile(s.stderr).MatchString(stderr) {
					t.Errorf("line %d: %q does not print %q and %q:\n%s%s", b.line, s.of, s.stdout, s.stderr, stdout, stderr)
				}
				seen[i] = true
			}
		}
		if !found {
			t.Errorf("line %d: nothing is expected of the block\n%s", b.line, b.text)
		}
	}
	for i, s := range sights {
		if !seen[i] {
			t.Errorf("no block holds %q", s.of)
		}
	}
	// Each command stands in a block that ran, or is one for the arena's machine.
	for _, m := range regexp.MustCompile("`arena ([a-z]+)[^`]*`").FindAllStringSubmatch(guide, -1) {
		if !slices.Contains([]string{"token", "tui", "config"}, m[1]) && !strings.Contains(guide, "./arena "+m[1]) {
			t.Errorf("the guide speaks of %s and never runs it", m[0])
		}
	}
	t.Logf("%d blocks ran", played)
	if played < 20 {
		t.Errorf("only %d blocks were found", played)
	}
	checkOtherTexts(t, url, guide)
}

// checkOtherTexts follows every address of this arena that the texts name, and
// asks for what is retired.
func checkOtherTexts(t *testing.T, url, guide string) {
	t.Helper()
	legacy, llms := fetch(t, url+"/AGENTS-legacy.md"), fetch(t, url+"/llms.txt")
	addresses := regexp.MustCompile(regexp.QuoteMeta(url)+`(/[A-Za-z0-9_./-]*)?`).FindAllString(guide+legacy+llms, -1)
	slices.Sort(addresses)
	for _, a := range slices.Compact(addresses) {
		a = strings.TrimRight(a, ".")
		switch path := strings.TrimPrefix(a, url); {
		case strings.Contains(path, "ENVIRONMENT_ID"), strings.HasPrefix(path, "/cli"), path == "/mcp", path == "/api/events",
			strings.HasSuffix(path, "/submissions/"), strings.HasSuffix(path, "/runs/"):
		default:
			fetch(t, a)
		}
	}
	retired := 0
	for _, m := range regexp.MustCompile("(?m)^\\| `(/[^`]+)`").FindAllStringSubmatch(legacy, -1) {
		res, err := http.Get(url + m[1])
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		var p api.Problem
		if err := json.Unmarshal(body, &p); err != nil || res.StatusCode != http.StatusGone || p.Code != "gone" || !strings.Contains(p.Detail, url+"/AGENTS-legacy.md") {
			t.Errorf("GET %s: %s: %s", m[1], res.Status, body)
		}
		retired++
	}
	if retired < 5 {
		t.Errorf("only %d addresses are retired:\n%s", retired, legacy)
	}
}
