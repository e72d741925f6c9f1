package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol/api"
)

// standIn is a scripted agent that knows no more than what it is told: it runs
// the command of its task, then the one that the last answer names behind Next:
// or Help:, writing the files that the answer says to write, until its goal is in
// sight. It reads nothing but what was printed.
type standIn struct {
	t   *testing.T
	dir string
	env map[string]string

	calls  int
	bytes  int
	trail  []string
	notes  string // everything that was said to people
	stdout string
	stderr string
}

var (
	nextLine  = regexp.MustCompile(`(?m)(?:Next: |Help: )(arena [^\n]*)$`)
	writeFile = regexp.MustCompile(`(?m)[Ww]rite (\S+\.json)\b.*?, such as (\{.*\})`)
	trailing  = regexp.MustCompile(`   \(.*\)$`)
)

// run runs one command line as a shell would.
func (s *standIn) run(command string) {
	s.t.Helper()
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = s.dir
	for name, value := range s.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if _, ended := errors.AsType[*exec.ExitError](err); !ended {
			s.t.Fatalf("%s: %v", command, err)
		}
	}
	s.stdout, s.stderr = stdout.String(), stderr.String()
	s.notes += s.stderr
	s.calls++
	s.bytes += stdout.Len() + stderr.Len()
	s.trail = append(s.trail, command)
}

// next is the command that the last answer names, empty when it names none. What
// it says to write is written.
func (s *standIn) next() string {
	for _, m := range writeFile.FindAllStringSubmatch(s.stderr, -1) {
		text := strings.NewReplacer("NAME", "newcomer", "…", "Builds tasks").Replace(m[2])
		if err := os.WriteFile(filepath.Join(s.dir, m[1]), []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	all := nextLine.FindAllStringSubmatch(s.stderr, -1)
	if len(all) == 0 {
		return ""
	}
	return trailing.ReplaceAllString(all[len(all)-1][1], "")
}

// try works on a task and reports whether it reached the goal.
func (s *standIn) try(begin string, goal *regexp.Regexp, most int) bool {
	s.t.Helper()
	waited := time.Duration(0)
	for command := begin; command != "" && s.calls < most; command = s.next() {
		s.run(command)
		if goal.MatchString(s.stdout + s.stderr) {
			return true
		}
		for strings.Contains(s.stderr, "FAIL  no_active_job") && waited < time.Minute {
			// It says to try again when the other run has ended. Waiting costs no call.
			time.Sleep(100 * time.Millisecond)
			waited += 100 * time.Millisecond
			calls, size := s.calls, s.bytes
			s.run(command)
			s.calls, s.bytes, s.trail = calls, size, s.trail[:len(s.trail)-1]
		}
		if goal.MatchString(s.stdout + s.stderr) {
			return true
		}
	}
	return false
}

// ergonomicTask is a task of the bench.
type ergonomicTask struct {
	name  string
	begin string // the one command that the task's wording gives away
	goal  string // what must have been printed in the end
	calls int    // budget
	bytes int    // budget of everything that was printed
	env   map[string]string
}

// TestErgonomics is a release gate: twenty things that an agent has to manage
// here, done by a stand-in that follows printed text alone. Each has a budget of
// calls and of output.
func TestErgonomics(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("the stand-in needs sh, which is not here")
	}
	url, data := startUp(t, "--speed", "60000")
	lossy, lossyData := startUp(t, "--speed", "60000", "--fault", "lost-reply")
	token := func(dir, name string) string {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(raw))
	}
	newcomer := token(data, "newcomer.token")
	var board api.Leaderboard
	var runs api.Runs
	for path, into := range map[string]any{"/leaderboard": &board, "/runs": &runs} {
		if err := json.Unmarshal([]byte(fetch(t, url+"/api/challenges/skillsbench-9b"+path)), into); err != nil {
			t.Fatal(err)
		}
	}
	failed := ""
	for _, r := range runs.Runs {
		if r.PlatformFault {
			failed = r.RunID
		}
	}
	dir := t.TempDir()
	shared := map[string]string{"HOME": dir, "PATH": os.Getenv("PATH"), "ARENA_URL": url, "ARENA_TOKEN": newcomer}
	passed, calls, size := 0, 0, 0
	do := func(task ergonomicTask) *standIn {
		s := &standIn{t: t, dir: dir, env: map[string]string{}}
		for _, more := range []map[string]string{shared, task.env} {
			for name, value := range more {
				s.env[name] = value
			}
		}
		ok := s.try(task.begin, regexp.MustCompile(task.goal), task.calls+2)
		word := "done"
		switch {
		case !ok:
			word = "NOT DONE"
			t.Errorf("%s: not done after\n  %s\nand the last answer\n%s%s", task.name, strings.Join(s.trail, "\n  "), s.stdout, s.stderr)
		case s.calls > task.calls || s.bytes > task.bytes:
			word = "over budget"
			t.Errorf("%s takes %d calls and %d bytes; the budget is %d and %d", task.name, s.calls, s.bytes, task.calls, task.bytes)
		default:
			passed++
		}
		calls, size = calls+s.calls, size+s.bytes
		t.Logf("%-46s %-11s %2d of %2d calls, %6d of %6d bytes", task.name, word, s.calls, task.calls, s.bytes, task.bytes)
		return s
	}

	do(ergonomicTask{name: "find out who I am and become an agent", begin: "arena whoami", goal: "is registered to newcomer", calls: 2, bytes: 1500})
	do(ergonomicTask{name: "introduce myself", begin: "arena register-agent --file agent2.json", goal: "Posted as", calls: 2, bytes: 1500, env: writing(t, dir, "agent2.json", `{"agent_id":"newcomer-two"}`)})
	do(ergonomicTask{name: "from nothing to a scored run", begin: "arena new work --team newcomer --email newcomer@example.org", goal: `"state":"scored"`, calls: 8, bytes: 25000})
	var ours api.Runs
	if err := json.Unmarshal([]byte(fetch(t, url+"/api/challenges/tb2-9b/runs")), &ours); err != nil || len(ours.Runs) == 0 {
		t.Fatalf("no run was started: %v", err)
	}
	run, env := ours.Runs[0].RunID, ours.Runs[0].EnvironmentID
	again := "arena run --challenge tb2-9b --id " + env
	do(ergonomicTask{name: "get the result into review", begin: "arena runs --run-id " + run, goal: `"verification":"pending"`, calls: 2, bytes: 10000})
	do(ergonomicTask{name: "which tasks to fix first", begin: "arena attempts --challenge tb2-9b --run-id " + run, goal: `"forecast":.*"tasks":\[\{"task":"`, calls: 1, bytes: 12000})
	do(ergonomicTask{name: "repeat a launch whose answer was lost", begin: again + " --file run.json --execute", goal: "No second one was started", calls: 1, bytes: 6000})
	do(ergonomicTask{name: "know when I may run again", begin: again, goal: "The daily limit frees a run at 20", calls: 1, bytes: 5000})
	recovered := do(ergonomicTask{name: "recover from a lost reply of the provider", begin: "arena submit --dir work --challenge tb2-9b", goal: `"state":"scored"`, calls: 5, bytes: 18000, env: map[string]string{"ARENA_URL": lossy, "ARENA_TOKEN": token(lossyData, "newcomer.token")}})
	if !strings.Contains(recovered.notes, "launch-unknown; trying again") {
		t.Errorf("no reply was lost:\n%s", recovered.notes)
	}
	do(ergonomicTask{name: "explain a refusal: somebody else's collection", begin: "arena run --challenge skillsbench-9b --id " + board.Rows[0].Collection + " --request-id newcomer-x-001 --execute", goal: `^\{"id":"` + board.Rows[0].Collection + `","author":"` + board.Rows[0].Author, calls: 2, bytes: 60000})
	do(ergonomicTask{name: "explain a refusal: a request id used before", begin: "arena run --challenge tb2-9b --id " + board.Rows[0].Collection + " --file run.json --execute", goal: "(?s)request-id-reused.*Fix: Repeat the identical request", calls: 1, bytes: 3000})
	do(ergonomicTask{name: "explain a refusal: an agent id that is taken", begin: "arena register-agent --file taken.json", goal: `(?s)"agents":\[`, calls: 2, bytes: 20000, env: writing(t, dir, "taken.json", `{"agent_id":"quiet-harbor-agent"}`)})
	do(ergonomicTask{name: "explain a refusal: a wrong token", begin: "arena whoami", goal: "(?s)Fix: See which token is sent, and ask an organizer", calls: 1, bytes: 2000, env: map[string]string{"ARENA_TOKEN": "arena_" + strings.Repeat("x", 40)}})
	do(ergonomicTask{name: "explain a refusal: no token", begin: "arena validate --dir work --challenge tb2-9b", goal: "(?s)Fix: Set ARENA_TOKEN", calls: 1, bytes: 3000, env: map[string]string{"ARENA_TOKEN": ""}})
	do(ergonomicTask{name: "find the right challenge", begin: "arena leaderboard --challenge terminal", goal: `"id":"tb2-9b"`, calls: 2, bytes: 20000})
	do(ergonomicTask{name: "find the right collection", begin: "arena environments get env-000000000000", goal: `"environments":\[\{`, calls: 2, bytes: 60000})
	do(ergonomicTask{name: "find the right run", begin: "arena runs --challenge tb2-9b --run-id challenge-000000000000", goal: `"run_id":"` + run, calls: 2, bytes: 20000})
	do(ergonomicTask{name: "understand why a run failed, and what to do", begin: "arena runs --run-id " + failed, goal: "(?s)It failed on the arena's side.*Next: arena run ", calls: 1, bytes: 10000})
	plantLeak(t, filepath.Join(dir, "work"))
	do(ergonomicTask{name: "understand a finding of the gates", begin: "arena gates static work", goal: "(?s)Why it matters:.*Fix:", calls: 2, bytes: 6000})
	do(ergonomicTask{name: "find out how a verb is used", begin: "arena run --id x", goal: "(?s)Usage: arena run .*--execute", calls: 2, bytes: 6000})
	do(ergonomicTask{name: "know whether my binary is the arena's", begin: "arena version --check", goal: `"same":true`, calls: 1, bytes: 2000})

	t.Logf("%d of 20 done in budget: %d calls, %d bytes", passed, calls, size)
	if passed != 20 {
		t.Errorf("%d of 20 tasks", passed)
	}
}

// writing puts a file in place that a task begins with.
func writing(t *testing.T, dir, name, text string) map[string]string {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return nil
}

// plantLeak puts the reference solution of a task into its image.
func plantLeak(t *testing.T, collection string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(collection, "envs", "*", "oracle", "solve.sh"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no reference solution in %s: %v", collection, err)
	}
	solution, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	environment := filepath.Join(filepath.Dir(filepath.Dir(found[0])), "environment")
	dockerfile := filepath.Join(environment, "Dockerfile")
	text, err := os.ReadFile(dockerfile)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{filepath.Join(environment, "helper.sh"): string(solution), dockerfile: string(text) + "\nCOPY helper.sh /app/helper.sh\n"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(fmt.Errorf("plant a leak: %w", err))
		}
	}
}
