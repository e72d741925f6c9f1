package server_test

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/jobs"
)

// script is what a job of the scripted provider does: it prints lines, ends, and
// leaves files.
type script struct {
	lines   []string
	status  jobs.Status
	message string
	files   fstest.MapFS
}

// scripted is a provider whose jobs do at once what the test wrote.
type scripted struct {
	mu   sync.Mutex
	next script
	jobs map[string]script // by id
}

func (p *scripted) Name() string { return "simulated" }

func (p *scripted) Hardware(context.Context) ([]jobs.Flavor, error) {
	return []jobs.Flavor{{Name: "a100x8", PricePerHour: 1}}, nil
}

func (p *scripted) Start(_ context.Context, spec jobs.Spec) (jobs.Job, error) {
	p.mu.Lock()
	p.jobs["job-"+spec.Run] = p.next
	p.mu.Unlock()
	return p.Inspect(context.Background(), "job-"+spec.Run)
}

func (p *scripted) Inspect(_ context.Context, id string) (jobs.Job, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	return jobs.Job{
		ID: id, Run: strings.TrimPrefix(id, "job-"), Status: p.jobs[id].status, Message: p.jobs[id].message, CreatedAt: now, StartedAt: now, EndedAt: now, Billed: time.Second,
	}, nil
}

func (p *scripted) Find(context.Context, string) ([]jobs.Job, error) { return nil, nil }

func (p *scripted) Cancel(context.Context, string) error { return nil }

func (p *scripted) Logs(_ context.Context, id string, after int64) iter.Seq2[jobs.Line, error] {
	p.mu.Lock()
	lines := p.jobs[id].lines
	p.mu.Unlock()
	return func(yield func(jobs.Line, error) bool) {
		for i, text := range lines {
			if int64(i) >= after && !yield(jobs.Line{Position: int64(i) + 1, At: time.Now(), Text: text}, nil) {
				return
			}
		}
	}
}

func (p *scripted) Artifacts(_ context.Context, id string) (fs.FS, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.jobs[id].files, nil
}

// secrets is what must not be told: the names and prompts of sealed tasks.
type secrets struct {
	names, prompts []string
	own            []string // the collection's tasks, which are no secret
}

// name draws a sealed name as somebody may have spelled it.
func (s secrets) name(t *rapid.T) string {
	name := rapid.SampledFrom(s.names).Draw(t, "name")
	return rapid.SampledFrom([]string{name, strings.ToUpper(name), strings.ReplaceAll(name, "-", "_"), "x" + name + "y", name + "__a1B2", "/" + name + "/"}).Draw(t, "spelled")
}

// text draws a sentence that names a sealed task, or another.
func (s secrets) text(t *rapid.T) string {
	word := s.name(t)
	if rapid.Bool().Draw(t, "harmless") {
		word = rapid.SampledFrom(s.own).Draw(t, "own")
	}
	return rapid.SampledFrom([]string{"", "cannot read ", "é…", "Task "}).Draw(t, "before") + word + rapid.SampledFrom([]string{"", ": no", "\x1b[0m", ", \r"}).Draw(t, "after")
}

// log draws what a job may print: stages in any order, as a job that is started
// again prints them, and in each what its tasks and their attempts say. Sealed
// prompts are printed in sealed stages, and once the held-out stage has been,
// anywhere.
func (s secrets) log(t *rapid.T) []string {
	lines := []string{"pipeline ref " + s.name(t) + " at 2c37dc0"}
	sealed, heldout := false, false
	for range rapid.IntRange(1, 60).Draw(t, "lines") {
		kind := rapid.IntRange(0, 8).Draw(t, "kind")
		switch kind {
		case 0:
			marker := rapid.SampledFrom([]string{"snapshot_eval_tasks", "baseline_eval", "grpo_gate_eval", "conditional_grpo", "grpo_rollout_000000_000001", "posttrain_eval"}).Draw(t, "marker")
			sealed = marker == "baseline_eval" || marker == "posttrain_eval"
			heldout = heldout || marker == "posttrain_eval"
			lines = append(lines, "[posttrainarena] "+marker+": bench eval run --include "+s.text(t))
		case 1:
			lines = append(lines, "Job: 32 tasks, 0 done, 32 to run (concurrency=4) "+rapid.SampledFrom([]string{"", s.name(t)}).Draw(t, "rider"))
		case 2:
			tag := rapid.SampledFrom([]string{"PASS", "FAIL", "ERR"}).Draw(t, "tag")
			lines = append(lines, fmt.Sprintf("[%s] %s (tools=3) (%s)", tag, rapid.SampledFrom(append(slices.Clone(s.own), s.names...)).Draw(t, "task"), s.text(t)))
		case 3:
			lines = append(lines, fmt.Sprintf("{'loss': 0.1, 'reward/%s': 0.5, 'reward': nan}", s.name(t)))
		case 4:
			lines = append(lines, "Traceback (most recent call last):", "  File \"/tasks/"+s.name(t)+"/run.py\", line 1, in main", "RuntimeError: "+s.text(t))
		case 5:
			lines = append(lines, "RuntimeError: OpenCode evaluation contains agent or verifier errors (5 > 4 tolerated)")
		case 6:
			if sealed || heldout {
				lines = append(lines, rapid.SampledFrom(s.prompts).Draw(t, "prompt"))
			}
		default:
			lines = append(lines, s.text(t))
		}
	}
	return lines
}

// files draws what a job may leave, with sealed names wherever a name can stand.
func (s secrets) files(t *rapid.T) fstest.MapFS {
	file := func(format string, args ...any) *fstest.MapFile {
		return &fstest.MapFile{Data: fmt.Appendf(nil, format, args...)}
	}
	files := fstest.MapFS{
		"reports/score.json": file(`{"schema_version": 1, "run_name": %q, "baseline_score": 0.5, "score_after_posttrain": %q, "delta_score": 0, "eval_task_ids": [%q], "score_v2": {"suites": {%q: {}}}}`,
			s.name(t), s.name(t), s.name(t), s.name(t)),
		"reports/eval_task_outcomes.json": file(`{"schema_version": 1, "suites": {%q: {%q: {%q: ["pass"]}}}}`, s.name(t), s.name(t), s.name(t)),
	}
	for range rapid.IntRange(0, 4).Draw(t, "attempts") {
		task := rapid.SampledFrom(append(slices.Clone(s.own), s.names[:3]...)).Draw(t, "attempted")
		dir := rapid.SampledFrom([]string{"jobs/grpo-gate/stamp/", "jobs/grpo-train/step-000001/rank-00/rollout-000001/attempt-01/jobs/stamp/"}).Draw(t, "place") + task + "__a1/"
		files[dir+"result.json"] = file(`{"task_name": %q, "rewards": {"reward": 1}, "error": %q, "verifier_error": %q}`, task, s.text(t), s.name(t))
		files[dir+"trajectory/acp_trajectory.jsonl"] = file("{\"type\": \"agent_message\", \"text\": %q}\n{\"type\": \"tool_call\", \"title\": %q, \"content\": []}\n{\"type\": \"odd\", \"x\": %q}\n", s.text(t), s.name(t), s.name(t))
		files[dir+"verifier/test-stdout.txt"] = file("%s\nFAILED test_outputs.py::%s - %s\n", s.text(t), s.name(t), s.text(t))
		files[dir+"verifier/ctrf.json"] = file(`{"results": {"tests": [{"name": %q, "status": "failed", "message": %q}]}}`, s.name(t), s.text(t))
	}
	return files
}

// TestNoSealedNameLeaves runs jobs that print and leave sealed names and prompts
// in every way and place, and then asks everything that anybody but an editor may
// ask. No answer holds one, in any spelling; site.look sees to that, and here the
// spellings are checked that it does not know.
func TestNoSealedNameLeaves(t *testing.T) {
	provider := &scripted{jobs: map[string]script{}}
	s := newSite(t, func(o *options) {
		o.provider = provider
		for i := range o.service.Challenges {
			o.service.Challenges[i].Compute.RunsPerDay = 1_000_000
		}
	})
	env := s.submit(author, "collection")
	known := secrets{}
	for name := range env.QualityGates.Static.TaskIdentity {
		known.own = append(known.own, name)
	}
	slices.Sort(known.own)
	for _, suite := range s.service.Sealed {
		for _, task := range suite.Tasks {
			known.names, known.prompts = append(known.names, task.Name), append(known.prompts, strings.SplitN(task.Prompt, "\n", 2)[0])
		}
	}
	slices.Sort(known.names)
	slices.Sort(known.prompts)
	fold := strings.NewReplacer("_", "-")
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		runs++
		provider.mu.Lock()
		provider.next = script{
			lines: known.log(rt), files: known.files(rt), message: known.text(rt),
			status: rapid.SampledFrom([]jobs.Status{jobs.Completed, jobs.Failed, jobs.Deleted, jobs.TimedOut, jobs.Canceled}).Draw(rt, "status"),
		}
		log := provider.next.lines
		provider.mu.Unlock()
		run := s.started(author, fmt.Sprintf("request-%06d", runs), env.ID)
		run = s.ended(run.RunID)
		if run.State == protocol.RunFailed && (run.Fault == nil || run.Reason == nil) {
			rt.Fatalf("a failed run has no class or reason: %+v", run)
		}
		who := rapid.SampledFrom([]string{nobody, author, author, other}).Draw(rt, "who")
		for _, path := range []string{
			runsPath + "/" + run.RunID, runsPath + "?limit=3", runsPath + "/" + run.RunID + "/attempts", runsPath + "/" + run.RunID + "/attempts/1", runsPath + "/" + run.RunID + "/attempts/2",
			runsPath + "/preflight?environment_id=" + env.ID, "/api/app/runs/" + run.RunID, "/api/arena/jobs?limit=3", "/api/metrics", runsPath + "/" + run.RunID + "/log",
		} {
			s.quietly(rt, fold, known, log, s.do("GET", path, who, nil))
		}
		s.quietly(rt, fold, known, log, s.do("POST", runsPath+"/"+run.RunID+"/collect", who, nil))
	})
	for _, path := range []string{"/api/app/submissions/" + env.ID, "/api/app/submissions", "/api/jobs?limit=200", "/api/challenges/" + challenge, "/api/challenges/" + challenge + "/leaderboard"} {
		s.do("GET", path, author, nil)
	}
}

// quietly checks one answer for every spelling of every sealed name, and for
// what was printed of prompts.
func (s *site) quietly(t *rapid.T, fold *strings.Replacer, known secrets, log []string, a answer) {
	text := fold.Replace(strings.ToLower(string(a.body)))
	for _, name := range known.names {
		if strings.Contains(text, fold.Replace(strings.ToLower(name))) {
			t.Fatalf("%s %s shows %s\n%s\nlog:\n%s", a.Request.Method, a.Request.URL.Path, name, a.body, strings.Join(log, "\n"))
		}
	}
	for _, prompt := range known.prompts {
		if strings.Contains(text, fold.Replace(strings.ToLower(prompt[:min(len(prompt), 40)]))) {
			t.Fatalf("%s %s shows the prompt %q\n%s\nlog:\n%s", a.Request.Method, a.Request.URL.Path, prompt, a.body, strings.Join(log, "\n"))
		}
	}
}

// TestAuthorSeesTheEndOfAFailedRun: the last 200 lines are for the collection's
// author and editors, and of sealed stages only their shape is left.
func TestAuthorSeesTheEndOfAFailedRun(t *testing.T) {
	provider := &scripted{jobs: map[string]script{}}
	s := newSite(t, func(o *options) { o.provider = provider })
	env := s.submit(author, "collection")
	sealed := s.service.Sealed["tb2-sealed-32"].Evaluated()
	lines := []string{"vllm up", "[posttrainarena] baseline_eval: bench eval run", "Job: 32 tasks, 0 done, 32 to run (concurrency=4)"}
	for _, name := range sealed {
		lines = append(lines, "Prompt 1/1: do it", "[FAIL] "+name+" (tools=3)")
	}
	lines = append(lines, "Job complete: 0/32 (0.0%), errors=0, idle_timeouts=0, time=3.0min", "[posttrainarena] grpo_gate_eval: bench eval run")
	for i := range 500 {
		lines = append(lines, fmt.Sprintf("step %d", i))
	}
	provider.next = script{lines: append(lines, "ValueError: it looks like "+sealed[0]), status: jobs.Failed, files: fstest.MapFS{}}
	run := s.ended(s.started(author, "request-001", env.ID).RunID)
	unknown := regexp.MustCompile(`^ValueError: it looks like sealed-\d+$`)
	for who, want := range map[string]int{nobody: 0, other: 0, author: 200, editor: 200} {
		got := decode[api.Run](t, s.want(200, "GET", runsPath+"/"+run.RunID, who, nil)).LastLines
		if len(got) != want || want > 0 && (got[0] != "step 301" || !unknown.MatchString(got[199])) {
			t.Errorf("%s sees %d lines, want %d: %.300q", who, len(got), want, got)
		}
	}
	if run.Fault == nil || *run.Fault != protocol.FaultCollection || !unknown.MatchString(*run.Reason) {
		t.Errorf("in the gate, for an unknown reason, it is the fault of %s: %s", *run.Fault, *run.Reason)
	}

	provider.next = script{lines: lines[:60], status: jobs.Failed, message: "out of memory", files: fstest.MapFS{}}
	run = s.ended(s.started(author, "request-002", env.ID).RunID)
	got := decode[api.Run](t, s.want(200, "GET", runsPath+"/"+run.RunID, author, nil)).LastLines
	want := []string{"vllm up", "[posttrainarena] baseline_eval", "Job: 32 tasks, 0 done, 32 to run (concurrency=4)", "[57 lines of a sealed stage]"}
	if !slices.Equal(got, want) {
		t.Errorf("of a baseline the author sees %q, want %q", got, want)
	}
	if *run.Fault != protocol.FaultPlatform || *run.Reason != "The job ended as ERROR: out of memory" {
		t.Errorf("in the baseline it is the fault of %s: %s", *run.Fault, *run.Reason)
	}
}
