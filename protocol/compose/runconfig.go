package compose

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/posttrainarena/arena/configs"
	"github.com/posttrainarena/arena/protocol"
)

// Run is what one run adds to its challenge.
type Run struct {
	ID         string // the run's id
	Collection string // the collection's id
	// Source is where the job finds the collection: a dataset that it was mirrored
	// to, or its own place. The revision is a commit.
	Source protocol.Source
}

// The task lists lie beside the config in a job's bundle, one task a line
// (reference/pipeline.md §4.8).
const (
	trainList = "task-lists/train_dataset.txt"
	evalList  = "task-lists/eval_dataset.txt" // of the only suite in a single trial
)

// suiteList is the task list of one of several suites or trials.
func suiteList(suite string) string { return "task-lists/" + suite + ".txt" }

// single reports whether a challenge measures one suite in one trial, which every
// version of the pipeline can.
func single(c configs.Challenge) bool {
	return len(c.Binding.Suites) == 1 && c.Metric.TrialsPerRun == 1
}

// TaskLists renders the files that RunConfig's config names, by their paths
// beside it: the training tasks and, for each suite by id, the sealed tasks that
// are evaluated. They name sealed tasks, so they are for the job alone.
func TaskLists(cfg configs.Config, challenge string, train []string, sealed map[string][]string) (map[string][]byte, error) {
	c, ok := cfg.Challenges[challenge]
	if !ok {
		return nil, fmt.Errorf("render task lists: there is no challenge %q", challenge)
	}
	files := map[string][]byte{trainList: taskList(train)}
	for _, id := range c.Binding.Suites {
		name := suiteList(id)
		if single(c) {
			name = evalList
		}
		files[name] = taskList(sealed[id])
	}
	return files, nil
}

// taskList writes one name a line, sorted.
func taskList(names []string) []byte {
	var out bytes.Buffer
	for _, name := range slices.Sorted(slices.Values(names)) {
		out.WriteString(name + "\n")
	}
	return out.Bytes()
}

// pipelineConfig is the training pipeline's config file, with its own table
// names (reference/pipeline.md §4.7). A single suite in a single trial is
// [eval_dataset], which every version of the pipeline knows; several suites or
// trials need the second recipe's [[eval_suites]] and evaluation.trials.
type pipelineConfig struct {
	Model struct {
		ID       string `toml:"id"`
		Revision string `toml:"revision"`
	} `toml:"model"`
	TrainDataset dataset         `toml:"train_dataset"`
	EvalDataset  *dataset        `toml:"eval_dataset,omitempty"`
	EvalSuites   []dataset       `toml:"eval_suites,omitempty"`
	Runtime      configs.Runtime `toml:"runtime"`
	Harness      configs.Harness `toml:"harness"`
	Evaluation   struct {
		SyncBaseToVLLM bool `toml:"sync_base_to_vllm"`
		Trials         int  `toml:"trials,omitempty"`
	} `toml:"evaluation"`
	Teacher  configs.Switch   `toml:"teacher"`
	SFT      configs.Switch   `toml:"sft"`
	GRPO     configs.GRPO     `toml:"grpo"`
	Tracking configs.Tracking `toml:"tracking"`
	Output   struct {
		Root string `toml:"root"`
	} `toml:"output"`
}

// dataset is a pinned directory of task packages and the list of those to use.
type dataset struct {
	Name     string `toml:"name,omitempty"`
	RepoID   string `toml:"repo_id"`
	Revision string `toml:"revision"`
	Path     string `toml:"path"`
	TaskList string `toml:"task_list"`
}

// RunConfig renders the pipeline's config of one run of a challenge. It holds no
// secret and no sealed task: task lists are files beside it. The same arguments
// always give the same bytes.
func RunConfig(cfg configs.Config, challenge string, run Run) ([]byte, error) {
	c, ok := cfg.Challenges[challenge]
	if !ok {
		return nil, fmt.Errorf("render the config of run %s: there is no challenge %q", run.ID, challenge)
	}
	if !protocol.IsCommit(run.Source.Revision) {
		return nil, fmt.Errorf("render the config of run %s: its collection is at %q, which is not a commit", run.ID, run.Source.Revision)
	}
	model, method := cfg.Models[c.Binding.Model], cfg.Methods[c.Binding.Method]
	var p pipelineConfig
	p.Model.ID, p.Model.Revision = model.Model.ID, model.Model.Revision
	p.TrainDataset = dataset{
		RepoID: run.Source.RepoID, Revision: run.Source.Revision,
		Path: path.Join(run.Source.EntryPath, "envs"), TaskList: trainList,
	}
	p.evaluate(cfg, c)
	p.Runtime, p.Harness, p.GRPO, p.Tracking = method.Runtime, method.Harness, method.GRPO, method.Tracking
	p.Teacher, p.SFT = method.Teacher, method.SFT
	p.Evaluation.SyncBaseToVLLM = method.Evaluation.SyncBaseToVLLM
	p.Output.Root = "runs"

	var out bytes.Buffer
	fmt.Fprintf(&out, "# Run %s of collection %s on challenge %s.\n# Pipeline %s at %s.\n\n",
		comment(run.ID), comment(run.Collection), comment(challenge), comment(c.Pipeline.Repo), comment(c.Pipeline.Ref))
	if err := toml.NewEncoder(&out).Encode(p); err != nil {
		return nil, fmt.Errorf("render the config of run %s: %w", run.ID, err)
	}
	return out.Bytes(), nil
}

// evaluate fills in what the run is measured on.
func (p *pipelineConfig) evaluate(cfg configs.Config, c configs.Challenge) {
	var suites []dataset
	for _, id := range c.Binding.Suites {
		from := SuiteSource(cfg, id)
		d := dataset{Name: id, RepoID: from.RepoID, Revision: from.Revision, TaskList: suiteList(id)}
		if from.From == configs.FromDataset { // a directory on this machine means nothing to a job
			d.Path = from.Path
		} else {
			d.Path = cfg.Suites[id].Path
		}
		suites = append(suites, d)
	}
	if single(c) {
		suites[0].Name, suites[0].TaskList = "", evalList
		p.EvalDataset = &suites[0]
		return
	}
	p.EvalSuites, p.Evaluation.Trials = suites, c.Metric.TrialsPerRun
}

// comment makes a word safe inside a TOML comment, which ends with its line.
func comment(word string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, word)
}
