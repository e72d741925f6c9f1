package controls

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/posttrainarena/arena/gates"
	"github.com/posttrainarena/arena/gates/adversary"
	"github.com/posttrainarena/arena/gates/dynamic"
	"github.com/posttrainarena/arena/gates/task"
	"github.com/posttrainarena/arena/protocol/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }

// fakeEngine keeps containers as maps of files. Its shell knows the words that the test's scripts are made of, one a
// line: "solve" does the task, "hang" never ends, "check" grades, "reward X" writes X, "nothing" writes no reward;
// "yields NAME" and "lenient" are weak.
type fakeEngine struct {
	mu         sync.Mutex
	images     map[string]map[string]string // labels by id
	containers map[string]*box
	next       int
	fail       func(what string) error // nil to do what is asked
	execs      int
}

type box struct {
	labels map[string]string
	files  map[string]string
	solved bool
	reward string
	attack string // the script that the agent's user ran
}

func newFake() *fakeEngine {
	return &fakeEngine{images: map[string]map[string]string{}, containers: map[string]*box{}}
}

func (f *fakeEngine) asked(what string) error {
	if f.fail == nil {
		return nil
	}
	return f.fail(what)
}

func unpack(r io.Reader) map[string]string {
	files := map[string]string{}
	for t := tar.NewReader(r); ; {
		h, err := t.Next()
		if err != nil {
			return files
		}
		b, _ := io.ReadAll(t)
		files[h.Name] = string(b)
	}
}

func (f *fakeEngine) Build(_ context.Context, s BuildSpec) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.asked("build"); err != nil {
		return "", err
	}
	if strings.Contains(unpack(s.Context)["Dockerfile"], "RUN false") {
		return "", &BuildError{Message: "RUN false returned a non-zero code: 1", Log: "the log"}
	}
	f.next++
	id := fmt.Sprint("image-", f.next)
	f.images[id] = s.Labels
	return id, nil
}

func (f *fakeEngine) Start(_ context.Context, s ContainerSpec) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.asked("start"); err != nil {
		return "", err
	}
	if f.images[s.Image] == nil {
		return "", errors.New("no such image")
	}
	f.next++
	id := fmt.Sprint("container-", f.next)
	f.containers[id] = &box{labels: s.Labels, files: map[string]string{}}
	return id, nil
}

func (f *fakeEngine) Restart(context.Context, string) error { return nil }

func (f *fakeEngine) Exec(ctx context.Context, id string, c Command) (Output, error) {
	f.mu.Lock()
	f.execs++
	if err := f.asked("exec"); err != nil {
		f.mu.Unlock()
		return Output{}, err
	}
	b := f.containers[id]
	script := c.Args[len(c.Args)-1]
	if c.User == agentUser {
		b.attack = script
	}
	for line := range strings.Lines(b.files[strings.TrimPrefix(script, "/")]) {
		switch word, arg, _ := strings.Cut(strings.TrimSpace(line), " "); word {
		case "solve":
			b.solved = true
		case "hang":
			f.mu.Unlock()
			<-ctx.Done()
			return Output{}, ctx.Err()
		case "check":
			b.reward = "0"
			if b.solved {
				b.reward = "1"
			}
		case "reward":
			b.reward = arg
		case "yields": // to the attack of that name
			if a, ok := adversary.Find(arg); ok && strings.HasSuffix(b.attack, "\n"+a.Do+"\n") {
				b.reward = "1"
			}
		case "lenient": // to whatever a solution does
			b.reward = "0"
			if _, ok := b.files["solution/solve.sh"]; ok {
				b.reward = "1"
			}
		}
	}
	f.mu.Unlock()
	return Output{Stdout: []byte("said\n")}, nil
}

func (f *fakeEngine) CopyTo(_ context.Context, id, _ string, files io.Reader) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, text := range unpack(files) {
		f.containers[id].files[name] = text
	}
	return f.asked("copy to")
}

func (f *fakeEngine) CopyFrom(_ context.Context, id, from string, _ int64) (io.ReadCloser, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	reward := f.containers[id].reward
	if reward == "" {
		return nil, ErrMissing
	}
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: path.Base(from) + "/reward.json", Linkname: "/app/mine"})
	_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: path.Base(from) + "/reward.txt", Size: int64(len(reward))})
	_, _ = io.WriteString(w, reward)
	_ = w.Close()
	return io.NopCloser(&buf), nil
}

func (f *fakeEngine) Remove(_ context.Context, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.containers, id)
	return nil
}

func (f *fakeEngine) Clean(_ context.Context, label string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	key, value, _ := strings.Cut(label, "=")
	for id, b := range f.containers {
		if b.labels[key] == value {
			delete(f.containers, id)
		}
	}
	for id, labels := range f.images {
		if labels[key] == value {
			delete(f.images, id)
		}
	}
	return nil
}

// pack is a task of the test: its Dockerfile, its script and its test.sh.
type pack struct{ docker, solve, test string }

// tasks makes packages and a plan of two reruns.
func tasks(t *testing.T, packs map[string]pack) (dynamic.Plan, []task.Package) {
	t.Helper()
	files := fstest.MapFS{}
	for name, p := range packs {
		dir := "envs/" + name + "/"
		files[dir+"task.md"] = &fstest.MapFile{Data: []byte("---\nschema_version: '1.3'\ntask: {name: own/x}\nagent: {timeout_sec: 0.05}\nverifier: {timeout_sec: 0.05}\nsandbox: {memory: 1G, cpus: 2}\n---\n## prompt\n\nDo it.\n")}
		files[dir+"environment/Dockerfile"] = &fstest.MapFile{Data: []byte("FROM x\n" + p.docker)}
		files[dir+"verifier/test.sh"] = &fstest.MapFile{Data: []byte(p.test)}
		if p.solve != "" {
			files[dir+"solution/solve.sh"] = &fstest.MapFile{Data: []byte(p.solve)}
		}
	}
	tree, err := task.ReadTree(files, task.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	col, _ := task.ReadPackages(tree, "", task.DefaultLimits())
	rep := gates.Report(col.Packages, nil, gates.Options{})
	clear(rep.Excluded)
	list, err := dynamic.Tasks(rep, col.Packages)
	if err != nil {
		t.Fatal(err)
	}
	return dynamic.New(dynamic.Target{}, dynamic.Options{ControlsReruns: 2}, dynamic.Harness{}, list), col.Packages
}

// config is a run on a fake engine in a directory.
func config(f *fakeEngine, dir string, events *[]Event) Config {
	return Config{
		Engine: f, Jobs: dir, Parallel: 3, Now: time.Now,
		ID: func() string {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.next++
			return fmt.Sprintf("%08x", f.next)
		},
		Progress: func(e Event) { *events = append(*events, e) },
	}
}

func count(events []Event, what string) int {
	n := 0
	for _, e := range events {
		if e.What == what {
			n++
		}
	}
	return n
}

// results reads what a run left of each task.
func results(t *testing.T, dir string, p dynamic.Plan) map[string][]result {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	all := map[string][]result{}
	for _, planned := range p.Tasks {
		for _, s := range planned.Steps {
			found, err := filepath.Glob(filepath.Join(dir, s.JobsDir, "*", "*", "result.json"))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range found {
				rel, _ := filepath.Rel(dir, name)
				r, ok := readResult(root, rel)
				if !ok {
					t.Errorf("%s cannot be read", rel)
				}
				all[planned.Name+" "+string(s.Gate)] = append(all[planned.Name+" "+string(s.Gate)], r)
			}
		}
	}
	return all
}

// says is a result in a few words.
func says(r result) string {
	switch {
	case r.Rewards != nil && r.AgentTimeout != nil:
		return fmt.Sprintf("late %v", r.Rewards["reward"])
	case r.Rewards != nil:
		return fmt.Sprint(r.Rewards["reward"])
	case r.VerifierError != nil:
		return *r.VerifierKind + ": " + *r.VerifierError
	default:
		return *r.Category + ": " + *r.Error
	}
}

func TestEveryKindOfTrial(t *testing.T) { synctest.Test(t, everyKindOfTrial) }

func everyKindOfTrial(t *testing.T) {
	packs := map[string]pack{
		"good":       {solve: "solve\n", test: "check\n"},
		"broken":     {solve: "wrong\n", test: "check\n"},
		"passes":     {solve: "solve\n", test: "reward 1\n"},
		"slow":       {solve: "hang\n", test: "check\n"},
		"stuck":      {solve: "solve\n", test: "hang\n"},
		"silent":     {solve: "solve\n", test: "nothing\n"},
		"odd":        {solve: "solve\n", test: "reward many\n"},
		"outside":    {solve: "solve\n", test: "reward 2\n"},
		"unbuilt":    {docker: "RUN false\n", solve: "solve\n", test: "check\n"},
		"unsolvable": {test: "check\n"},
	}
	p, pkgs := tasks(t, packs)
	f, dir := newFake(), filepath.Join(t.TempDir(), "jobs")
	var events []Event
	if err := Run(t.Context(), config(f, dir, &events), p, pkgs); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"good oracle": "1", "good noop": "0", "broken oracle": "0", "broken noop": "0", "passes oracle": "1", "passes noop": "1",
		"slow oracle": "late 0", "slow noop": "0", "unsolvable noop": "0",
		"stuck oracle": "verifier_timeout: verifier timed out after 0.05s", "stuck noop": "verifier_timeout: verifier timed out after 0.05s",
		"silent oracle":  "verifier_failure: verifier crashed: it left no reward file (test.sh ended with exit 0)",
		"odd oracle":     `verifier_failure: verifier crashed: reward.txt holds "many", which is no number (test.sh ended with exit 0)`,
		"outside oracle": "verifier_failure: verifier crashed: the reward 2 is not from 0 to 1 (test.sh ended with exit 0)",
		"unbuilt oracle": "sandbox_setup: Image build failed: RUN false returned a non-zero code: 1",
		"unbuilt noop":   "sandbox_setup: Image build failed: RUN false returned a non-zero code: 1",
	}
	got := results(t, dir, p)
	for name, say := range want {
		if len(got[name]) != 2 || says(got[name][0]) != say || says(got[name][1]) != say {
			t.Errorf("%s: %d trials; want 2 that say %s: %+v", name, len(got[name]), say, got[name])
		}
	}
	if len(f.containers) != 0 || len(f.images) != 0 {
		t.Errorf("left: %v, %v", f.containers, f.images)
	}
	if last := events[len(events)-1]; last.Done != p.Steps() || last.Steps != p.Steps() {
		t.Errorf("the last event is %+v of %d steps", last, p.Steps())
	}

	// Nothing is left to do, and nothing is built for it.
	execs := f.execs
	events = nil
	if err := Run(t.Context(), config(f, dir, &events), p, pkgs); err != nil || f.execs != execs || count(events, Kept) != p.Steps() || len(events) != p.Steps() {
		t.Errorf("again: %v, %d more commands, %d events", err, f.execs-execs, len(events))
	}

	// Other files make other trials.
	packs["good"] = pack{solve: "solve\n#\n", test: "check\n"}
	p2, pkgs2 := tasks(t, packs)
	events = nil
	if err := Run(t.Context(), config(f, dir, &events), p2, pkgs2); err != nil || count(events, Passed) != 2 {
		t.Errorf("changed: %v, %+v", err, events)
	}
	if err := Run(t.Context(), config(f, dir, &events), p, pkgs2); err == nil || !strings.Contains(err.Error(), "the task good has other files") {
		t.Errorf("files of another plan: %v", err)
	}
}

// TestFaultsOfTheEngineAreRunAgain fails each kind of request once in a while. Trials that it spoils stay open, and
// further runs complete them; what was complete is not run again.
func TestFaultsOfTheEngineAreRunAgain(t *testing.T) {
	for _, what := range []string{"build", "start", "exec", "copy to"} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, pkgs := tasks(t, map[string]pack{"a": {solve: "solve\n", test: "check\n"}, "b": {solve: "solve\n", test: "check\n"}})
				f, dir := newFake(), t.TempDir()
				broken, asked := true, 0
				f.fail = func(w string) error {
					if w != what || !broken {
						return nil
					}
					if asked++; what != "build" && asked%3 != 0 {
						return nil
					}
					return errors.New("the disk is gone")
				}
				var events []Event
				if err := Run(t.Context(), config(f, dir, &events), p, pkgs); err != nil {
					t.Fatal(err)
				}
				lost := count(events, Lost)
				if lost == 0 || count(events, Failed)+count(events, Unbuilt) > 0 {
					t.Fatalf("events %+v", events)
				}
				broken, events = false, nil
				if err := Run(t.Context(), config(f, dir, &events), p, pkgs); err != nil || count(events, Lost)+count(events, Failed) > 0 {
					t.Fatalf("again: %v, %+v", err, events)
				}
				healthy := map[string]int{}
				for name, all := range results(t, dir, p) {
					for _, r := range all {
						if r.Rewards != nil {
							healthy[name]++
						} else if !strings.Contains(says(r), "infra_failure: Sandbox failed") {
							t.Errorf("%s: %s", name, says(r))
						}
					}
				}
				for _, name := range []string{"a oracle", "a noop", "b oracle", "b noop"} {
					if healthy[name] != 2 {
						t.Errorf("%s has %d good trials: %v", name, healthy[name], healthy)
					}
				}
				if len(f.containers)+len(f.images) != 0 {
					t.Errorf("left: %v, %v", f.containers, f.images)
				}
			})
		})
	}
}

// TestAnInterruptLeavesNothingHalf cancels a run at each of its first commands.
func TestAnInterruptLeavesNothingHalf(t *testing.T) { synctest.Test(t, anInterruptLeavesNothingHalf) }

func anInterruptLeavesNothingHalf(t *testing.T) {
	p, pkgs := tasks(t, map[string]pack{"a": {solve: "solve\n", test: "check\n"}})
	f, dir := newFake(), t.TempDir()
	f.images["image-of-somebody-else"] = map[string]string{"theirs": "yes"}
	// What a killed run left: a container with our label and a trial that was being written.
	f.containers["left"] = &box{labels: map[string]string{Label: LabelOf(dir)}}
	if err := os.MkdirAll(filepath.Join(dir, "oracle/a/rerun-01/2026-01-01__00-00-00/.partial-a__1"), 0o755); err != nil {
		t.Fatal(err)
	}
	for at := 1; at < 8; at++ {
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("enough")
		n := 0
		f.fail = func(string) error {
			if n++; n == at {
				cancel(stop)
				return ctx.Err()
			}
			return nil
		}
		var events []Event
		cfg := config(f, dir, &events)
		cfg.Parallel = 1
		if err := Run(ctx, cfg, p, pkgs); err != nil && !errors.Is(err, stop) {
			t.Fatal(err)
		}
		cancel(nil)
		if len(f.containers) != 0 || len(f.images) != 1 {
			t.Fatalf("after an interrupt at %d: %v, %v", at, f.containers, f.images)
		}
	}
	f.fail = nil
	var events []Event
	if err := Run(t.Context(), config(f, dir, &events), p, pkgs); err != nil {
		t.Fatal(err)
	}
	for name, all := range results(t, dir, p) {
		if len(all) != 2 {
			t.Errorf("%s has %d trials", name, len(all))
		}
		for _, r := range all {
			if r.Rewards == nil {
				t.Errorf("%s: %s", name, says(r))
			}
		}
	}
	if half, _ := filepath.Glob(filepath.Join(dir, "*/*/*/*/.partial*")); len(half) > 0 {
		t.Errorf("half a trial: %v", half)
	}
}

func TestOneRunADirectory(t *testing.T) { synctest.Test(t, oneRunADirectory) }

func oneRunADirectory(t *testing.T) {
	p, pkgs := tasks(t, map[string]pack{"a": {solve: "solve\n", test: "check\n"}})
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	unlock, err := lock(root)
	if err != nil {
		t.Fatal(err)
	}
	var events []Event
	if err := Run(t.Context(), config(newFake(), dir, &events), p, pkgs); err == nil || !strings.Contains(err.Error(), "another run works on") {
		t.Errorf("a second run: %v", err)
	}
	unlock()
	if err := Run(t.Context(), config(newFake(), dir, &events), p, pkgs); err != nil {
		t.Error(err)
	}
}

func TestTerms(t *testing.T) {
	for _, c := range []struct {
		front string
		want  terms
	}{
		{"{}", terms{build: 600 * time.Second, agent: 7 * time.Second, verifier: 600 * time.Second, high: 1, user: "2000", limits: Limits{2048 << 20, 1}}},
		{"environment: {memory: 512M, cpus: 0.5, build_timeout_sec: 5}\nagent: {timeout_sec: 1.5}\nverifier: {timeout_sec: '9', env: {B: 2, A: x}}\noracle: {env: {K: v}}\n", terms{
			build: 5 * time.Second, agent: 1500 * time.Millisecond, verifier: 9 * time.Second, high: 1, user: "2000", limits: Limits{512 << 20, 0.5}, checks: []string{"A=x", "B=2"}, oracle: []string{"K=v"},
		}},
		{"sandbox: {memory_mb: 1e12, cpus: 1e12, build_timeout_sec: 1e12}\nagent: {timeout_sec: -1, user: agent}\nverifier: {reward_range: [-1, 2]}\n", terms{
			build: 2 * time.Hour, agent: 7 * time.Second, verifier: 600 * time.Second, low: -1, high: 2, user: "agent", limits: Limits{64 << 30, 64},
		}},
		{"agent: {user: 'a; b'}\nverifier: {reward_range: [0.5, 2]}\nsandbox: {memory: muchG}\n", terms{build: 600 * time.Second, agent: 7 * time.Second, verifier: 600 * time.Second, high: 1, user: "2000", limits: Limits{2048 << 20, 1}}},
	} {
		tree, err := task.ReadTree(fstest.MapFS{"x/task.md": {Data: []byte("---\n" + c.front + "\n---\n## prompt\nx\n")}}, task.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		col, _ := task.ReadPackages(tree, "", task.DefaultLimits())
		got := termsOf(&col.Packages[0], 7*time.Second)
		if got.build != c.want.build || got.agent != c.want.agent || got.verifier != c.want.verifier || got.limits != c.want.limits || got.low != c.want.low || got.high != c.want.high || got.user != c.want.user ||
			!slices.Equal(got.checks, c.want.checks) || !slices.Equal(got.oracle, c.want.oracle) {
			t.Errorf("%s\ngives %+v\nwant  %+v", c.front, got, c.want)
		}
	}
}

// TestBuildContext sends what a build may see: not what .dockerignore names, and nothing beside environment/.
func TestBuildContext(t *testing.T) {
	files := fstest.MapFS{
		"x/task.md": {Data: []byte("---\n{}\n---\n## prompt\nx\n")}, "x/environment/Dockerfile": {Data: []byte("FROM x\n")},
		"x/environment/.dockerignore": {Data: []byte("*.log\nsecret\n!secret/keep\n")}, "x/environment/a.log": {}, "x/environment/secret/b": {}, "x/environment/secret/keep": {},
		"x/environment/run.sh": {Mode: 0o755, Data: []byte("hi")}, "x/oracle/solve.sh": {Data: []byte("solve\n")},
	}
	tree, err := task.ReadTree(files, task.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	col, _ := task.ReadPackages(tree, "", task.DefaultLimits())
	r, err := buildContext(&col.Packages[0])
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for files := tar.NewReader(r); ; {
		h, err := files.Next()
		if err != nil {
			break
		}
		names = append(names, fmt.Sprintf("%s %o", h.Name, h.Mode))
	}
	want := []string{".dockerignore 644", "Dockerfile 644", "run.sh 755", "secret/ 755", "secret/keep 644"}
	if !slices.Equal(names, want) {
		t.Errorf("sent %v, want %v", names, want)
	}
}
