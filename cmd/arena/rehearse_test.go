package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/fixture"
	"github.com/posttrainarena/arena/gates/report"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/client"
	"github.com/posttrainarena/arena/protocol/compose"
)

// TestARehearsalGivesTheServersVerdicts takes collections with planted defects
// through a rehearsal, and step by step through a server that knows nothing of
// it: both refuse the same, in the same words.
func TestARehearsalGivesTheServersVerdicts(t *testing.T) {
	n, err := openNode(t.Context(), nodeOptions{
		Data: t.TempDir(), Listen: "127.0.0.1:0", Speed: rehearsalSpeed, Log: quiet(), Now: time.Now, Getenv: func(string) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- n.run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	for _, c := range []struct {
		name      string
		challenge string
		plant     func(p defective)
		refused   []string // steps
	}{
		{"sound", "tb2-9b", func(defective) {}, nil},
		{"sound, for a challenge whose runs are paused", "skillsbench-9b", func(p defective) { p.only("contact-merge", "tide-table-gaps") }, []string{"preflight"}},
		{"for a challenge that takes nothing yet", "terminal-35b", func(p defective) { p.only("invoice-reconcile") }, []string{"validate", "preflight"}},
		{"nobody to write to", "tb2-9b", func(p defective) { p.write("submission.yaml", "team_name: somebody\ntrack: environments\n") }, []string{"validate", "submit"}},
		{"a task without its text", "tb2-9b", func(p defective) { p.remove("envs/template-filler/task.md") }, []string{"validate", "submit"}},
		{"a Dockerfile that is none", "tb2-9b", func(p defective) { p.write("envs/contact-merge/environment/Dockerfile", "FRUM debian\n") }, []string{"validate", "submit"}},
		{"a solution that travels into the image of one task", "tb2-9b", func(p defective) { p.leak("contact-merge") }, nil},
		{"nothing that is eligible", "tb2-9b", func(p defective) { p.only("contact-merge"); p.leak("contact-merge") }, []string{"preflight"}},
		{"no solution", "tb2-9b", func(p defective) { p.remove("envs/roster-shift-overlap/oracle") }, nil},
		{"a task of the sealed suite", "tb2-9b", func(p defective) { p.rename("log-severity-hours", p.sealed()) }, []string{"validate", "submit"}},
		{"a test that pays always", "tb2-9b", func(p defective) {
			p.write("envs/contact-merge/verifier/test.sh", "#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n")
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := defective{t, t.TempDir()}
			files, err := fixture.Collection("sample")
			if err == nil {
				err = os.CopyFS(p.dir, files)
			}
			if err != nil {
				t.Fatal(err)
			}
			c.plant(p)
			got := rehearsed(t, p.dir, c.challenge)
			var refused []string
			for _, s := range got {
				if len(s.Refusals) > 0 {
					refused = append(refused, s.Step)
				}
			}
			if diff := cmp.Diff(c.refused, refused); diff != "" {
				t.Errorf("refused steps (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(atTheServer(t, n, p.dir, c.challenge), got); diff != "" {
				t.Errorf("the rehearsal differs from the server (-server +rehearsal):\n%s", diff)
			}
		})
	}
}

// said is what a step said: what it refused and what it remarked, by code and
// words.
type said struct {
	Step              string
	Refusals, Remarks []string
}

// rehearsed is what a rehearsal says up to the launch.
func rehearsed(t *testing.T, dir, challenge string) []said {
	t.Helper()
	env, _, stdout, stderr := testEnviron(t, "", nil)
	env.Now, env.Sleep = time.Now, sleep
	run(t.Context(), []string{"rehearse", dir, "--challenge", challenge, "--json"}, env)
	var out rehearsal
	if err := json.Unmarshal(stdout.Bytes(), &out); err != nil {
		t.Fatalf("%v\n%s\n%s", err, stdout, stderr)
	}
	var all []said
	for _, s := range out.Steps {
		if s.Step == "run" {
			break
		}
		one := said{Step: s.Step}
		for _, m := range s.Refusals {
			one.Refusals = append(one.Refusals, m.Code+": "+m.Detail)
		}
		for _, m := range s.Remarks {
			if m.Code != "credit" {
				one.Remarks = append(one.Remarks, m.Code+" "+m.Place)
			}
		}
		all = append(all, one)
	}
	return all
}

// atTheServer is what a server answers the same person step by step, up to the
// launch. A challenge that takes nothing at all is asked for no more than that:
// there the rehearsal goes on as if it did.
func atTheServer(t *testing.T, n *node, dir, challenge string) []said {
	t.Helper()
	env, _, _, _ := testEnviron(t, "", nil)
	author, err := env.join(t.Context(), n, "ann", false)
	if err != nil {
		t.Fatal(err)
	}
	source, err := sourceFlags{Dir: dir, Challenge: challenge}.read(env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = source.close() })
	v, err := author.Validate(t.Context(), source.req, source.bundle)
	if err != nil {
		closed := rehearsed(t, dir, challenge)
		if want := refusal(t, err); len(closed) == 0 || !slices.Equal(closed[0].Refusals, want) {
			t.Errorf("the server refuses %q", want)
		}
		return closed
	}
	one := said{Step: "validate"}
	for _, e := range v.Value.Errors {
		one.Refusals = append(one.Refusals, "invalid: "+e)
	}
	for _, f := range v.Value.QualityGates.Static.Findings {
		if f.Severity != report.Block {
			one.Remarks = append(one.Remarks, f.Code+" "+placeOf(f))
		}
	}
	all := []said{one}

	e, err := author.Submit(t.Context(), source.req, source.bundle)
	if err != nil {
		return append(all, said{Step: "submit", Refusals: refusal(t, err)})
	}
	all = append(all, said{Step: "submit"})

	p, err := author.Preflight(t.Context(), challenge, e.Value.ID)
	if err != nil {
		t.Fatal(err)
	}
	one = said{Step: "preflight"}
	for _, c := range p.Value.Checks {
		if c.OK != nil && !*c.OK {
			one.Refusals = append(one.Refusals, c.Name+": "+c.Detail)
		}
	}
	_, err = author.Launch(t.Context(), challenge, api.LaunchRequest{RequestID: "ann-" + e.Value.ID, EnvironmentID: e.Value.ID})
	if (err == nil) != (len(one.Refusals) == 0) || (err == nil) != p.Value.Allowed {
		t.Errorf("the preflight refuses %q, the launch answers %v", one.Refusals, err)
	}
	if err == nil {
		runEnded(t, author, challenge, e.Value.ID)
	}
	return append(all, one)
}

// runEnded waits until the only run of a collection has ended and scored, so that
// the next may start.
func runEnded(t *testing.T, c *client.Client, challenge, collection string) {
	t.Helper()
	for range 600 {
		runs, err := c.ListRuns(t.Context(), challenge, collection, protocol.Page{})
		if err != nil {
			t.Fatal(err)
		}
		if r := runs.Value.Runs[0]; r.State.Ended() {
			if r.State != protocol.RunScored {
				t.Errorf("the run at the server is %s: %s", r.State, deref(r.Reason))
			}
			return
		}
		if err := sleep(t.Context(), rehearsalPoll); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the run at the server does not end")
}

// refusal is what an answer of a server refuses.
func refusal(t *testing.T, err error) []string {
	t.Helper()
	answer, ok := errors.AsType[*client.AnswerError](err)
	if !ok {
		t.Fatal(err)
	}
	return []string{answer.Problem.Code + ": " + answer.Problem.Detail}
}

// defective is a copy of the sample collection in which defects are planted.
type defective struct {
	t   *testing.T
	dir string
}

func (p defective) path(name string) string { return filepath.Join(p.dir, filepath.FromSlash(name)) }

func (p defective) check(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p defective) write(name, text string) { p.check(os.WriteFile(p.path(name), []byte(text), 0o644)) }
func (p defective) remove(name string)      { p.check(os.RemoveAll(p.path(name))) }
func (p defective) rename(task, name string) {
	p.check(os.Rename(p.path("envs/"+task), p.path("envs/"+name)))
}

// only leaves no other tasks.
func (p defective) only(tasks ...string) {
	all, err := os.ReadDir(p.path("envs"))
	p.check(err)
	for _, d := range all {
		if !slices.Contains(tasks, d.Name()) {
			p.remove("envs/" + d.Name())
		}
	}
}

// leak copies a task's solution to where its image takes data from.
func (p defective) leak(task string) {
	solution, err := os.ReadFile(p.path("envs/" + task + "/oracle/solve.sh"))
	p.check(err)
	p.write("envs/"+task+"/environment/data/helper.sh", string(solution))
}

// sealed is the name of a task of the sealed suite of tb2-9b.
func (p defective) sealed() string {
	files, err := fixture.Suite("tb2-sealed-32")
	p.check(err)
	suite, err := compose.ReadSealedSuite("tb2-sealed-32", files)
	p.check(err)
	if len(suite.Tasks) == 0 {
		p.check(fs.ErrNotExist)
	}
	return suite.Tasks[0].Name
}
