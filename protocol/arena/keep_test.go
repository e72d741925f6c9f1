package arena_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/artifacts"
	"github.com/posttrainarena/arena/protocol/jobs"
)

// changed stands between the service and a provider and changes what jobs leave.
type changed struct {
	jobs.Provider
	change func(files fstest.MapFS)
}

func (c changed) Artifacts(ctx context.Context, id string) (fs.FS, error) {
	left, err := c.Provider.Artifacts(ctx, id)
	if err != nil {
		return nil, err
	}
	files := fstest.MapFS{}
	err = fs.WalkDir(left, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(left, name)
		files[name] = &fstest.MapFile{Data: body, Mode: 0o644}
		return err
	})
	c.change(files)
	return files, err
}

func changing(change func(files fstest.MapFS)) func(*options) {
	return func(o *options) {
		o.wrap = func(p jobs.Provider) jobs.Provider { return changed{p, change} }
	}
}

// TestOutputThatCannotBeKept has jobs leave what no tree may hold. The run ends,
// and frees the arena for the next one; its numbers count; and what is missing is
// said where people look for it.
func TestOutputThatCannotBeKept(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(files fstest.MapFS){
		"a control character in a name": func(f fstest.MapFS) { f["jobs/grpo-gate/bad\nname"] = &fstest.MapFile{Mode: 0o644} },
		"a pipe":                        func(f fstest.MapFS) { f["jobs/grpo-gate/pipe"] = &fstest.MapFile{Mode: fs.ModeNamedPipe | 0o644} },
		"a socket beside the reports":   func(f fstest.MapFS) { f["reports/socket"] = &fstest.MapFile{Mode: fs.ModeSocket | 0o644} },
		"a path that is too deep": func(f fstest.MapFS) {
			f["jobs/grpo-train/"+strings.Repeat("a/", 40)+"b"] = &fstest.MapFile{Mode: 0o644}
		},
		"names that differ in case": func(f fstest.MapFS) { f["reports/SCORE.json"] = &fstest.MapFile{Mode: 0o644} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, changing(change))
				run := w.scored("request-001")
				if _, _, err := w.Collect(t.Context(), ada, by(ada), challenge, run.ID); err != nil {
					t.Errorf("collect: %v", err)
				}
				all := must(w.Attempts(t.Context(), ada, challenge, run.ID))(t)
				if strings.Contains(name, "report") || strings.Contains(name, "case") {
					if len(all.Problems) != 0 || len(all.List) == 0 {
						t.Errorf("%d attempts, problems %v", len(all.List), all.Problems)
					}
					return
				}
				if len(all.Problems) != 1 || !strings.HasPrefix(all.Problems[0].Detail, "What the job left in jobs/grpo-") {
					t.Errorf("%d attempts, problems %v; want one about what is not kept", len(all.List), all.Problems)
				}
			})
		})
	}
}

// TestOutcomesOfAnOlderPipelineAreKept has a job upload the attempts at sealed
// tasks instead of their outcomes, as the public pipeline does. The attempts are
// not kept; what they say is, and a reviewer learns what was ambiguous.
func TestOutcomesOfAnOlderPipelineAreKept(t *testing.T) {
	t.Parallel()
	older := func(files fstest.MapFS) {
		var outcomes struct {
			Suites artifacts.Outcomes `json:"suites"`
		}
		if err := json.Unmarshal(files[artifacts.OutcomesFile].Data, &outcomes); err != nil {
			panic(err)
		}
		delete(files, artifacts.OutcomesFile)
		again := true
		for _, sides := range outcomes.Suites {
			for side, tasks := range sides {
				for task, trials := range tasks {
					result := `{"rewards":{"reward":0}}`
					switch trials[0] {
					case protocol.OutcomePass:
						result = `{"rewards":{"reward":1}}`
					case protocol.OutcomeTimeout:
						result = `{"rewards":{"reward":1},"error":"Agent prompt exceeded wall-clock budget 900s"}`
					case protocol.OutcomeError:
						result = `{"rewards":null,"error":"ACP initialize timed out"}`
					}
					files[fmt.Sprintf("jobs/%s/2026-03-01__08-00-00/%s__1a2b3c4d/result.json", side, task)] = &fstest.MapFile{Data: []byte(result), Mode: 0o644}
					if again { // a retry that errored does not count beside a healthy attempt
						files[fmt.Sprintf("jobs/%s/2026-03-01__09-00-00/%s__5e6f7a8b/result.json", side, task)] = &fstest.MapFile{Data: []byte(`{"rewards":null}`), Mode: 0o644}
						again = false
					}
				}
			}
		}
	}
	collect := func(options ...func(*options)) (result protocol.Result) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, options...)
			run := w.scored("request-001")
			var err error
			if result, _, err = w.Collect(t.Context(), ada, by(ada), challenge, run.ID); err != nil {
				t.Fatal(err)
			}
			_, kept, err := w.Artifacts(t.Context(), run.ID)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range kept {
				if strings.HasPrefix(f.Path, "jobs/baseline") || strings.HasPrefix(f.Path, "jobs/posttrain") {
					t.Errorf("%s of a sealed stage is kept", f.Path)
				}
			}
		})
		return result
	}
	want := collect()
	got := collect(changing(older))
	if got.Score.DeltaPP != want.Score.DeltaPP || got.Score.StderrPP != want.Score.StderrPP || got.Score.Timeouts != want.Score.Timeouts || len(got.Cells) != len(want.Cells) {
		t.Errorf("from attempts %+v\nfrom outcomes %+v", got.Score, want.Score)
	}
	if len(got.Score.Notes) != 1 || !strings.HasPrefix(got.Score.Notes[0], "1 sealed task(s) had several attempts") {
		t.Errorf("notes %q", got.Score.Notes)
	}
}
