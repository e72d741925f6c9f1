package protocol

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// CommandBlock is how to use a collection outside the arena: the commands that
// fetch it at its commit, evaluate a model on it and improve one with it, in the
// words of PostTrain's command line (seed 003, "Improve a model on a collection
// with PostTrain"). MODEL, STRONGER and SMALLER stand for models of the reader's
// choice; what else a command needs is in the guide.
type CommandBlock struct {
	Name    string        `json:"name"`     // of the collection on the reader's machine
	Root    bool          `json:"root"`     // its evaluations run the agent as root, because no task has a reference solution
	HeldOut []string      `json:"held_out"` // every fourth task, to compare models on; empty for fewer than four
	Steps   []CommandStep `json:"steps"`
	Guide   string        `json:"guide"`
	Checked string        `json:"checked_with"` // the version that the commands are for
	Note    string        `json:"note"`
}

// CommandStep is one step of a CommandBlock.
type CommandStep struct {
	Title    string   `json:"title"`
	Note     string   `json:"note"` // empty when there is nothing to add
	Commands []string `json:"commands"`
}

// minHoldOut is the smallest collection of which every fourth task is held out.
const minHoldOut = 4

var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// PostTrain returns the commands for a collection.
func PostTrain(c Collection) CommandBlock {
	b := CommandBlock{
		Name: localName(c), Root: c.TaskCount > 0 && NoOracle(c) == c.TaskCount, HeldOut: []string{},
		Guide: "https://app.posttrain.com/docs/stages/agent-environments", Checked: "PostTrain 0.1.9",
		Note: "Evaluations and training of these steps are billed to your own accounts, not to the arena's budget, and their results are not arena results.",
	}
	tasks := slices.Sorted(maps.Keys(c.Static.TaskIdentity))
	if len(tasks) >= minHoldOut {
		for i := minHoldOut - 1; i < len(tasks); i += minHoldOut {
			b.HeldOut = append(b.HeldOut, tasks[i])
		}
	}
	suffix := ""
	if b.Root {
		suffix = " --set sandbox_user=root"
	}
	bench := "env:" + b.Name
	b.Steps = []CommandStep{
		fetch(c, b.Name),
		{Title: "Add it", Note: addNote(c), Commands: []string{"posttrain env add " + path.Join(b.Name, c.Source.EntryPath)}},
		{Title: "Evaluate a model on it", Commands: []string{"posttrain eval MODEL --bench " + bench + suffix}},
	}
	if len(b.HeldOut) > 0 {
		b.Steps = append(b.Steps,
			CommandStep{
				Title: "Make training data", Note: "Hold the tasks in held_out back, evaluate a stronger model on the others, and turn its verified attempts into data.",
				Commands: []string{"posttrain eval STRONGER --bench " + bench + suffix, "posttrain data from-rollouts"},
			},
			CommandStep{Title: "Train a smaller model on it", Commands: []string{"posttrain train sft"}},
			CommandStep{Title: "Compare it with its base on the tasks held back", Commands: []string{"posttrain evals compare"}})
	}
	return b
}

// NoOracle is the number of packages without a reference solution.
func NoOracle(c Collection) int {
	n := 0
	for _, f := range c.Static.Findings {
		if f.Code == "no-oracle" {
			n++
		}
	}
	return n
}

// localName is a directory name for a collection.
func localName(c Collection) string {
	_, name, found := strings.Cut(c.Source.RepoID, "/")
	if !found {
		name = c.Source.RepoID
	}
	if name = strings.Trim(notInName.ReplaceAllString(strings.ToLower(name), "-"), "-"); name == "" {
		return c.ID
	}
	return name
}

// fetch is the step that gets the files at the pinned commit.
func fetch(c Collection, name string) CommandStep {
	step := CommandStep{Title: "Fetch the collection at its commit", Commands: []string{}}
	switch s := c.Source; s.RepoType {
	case RepoDataset:
		step.Commands = append(step.Commands, "hf download "+s.RepoID+" --repo-type dataset --revision "+s.Revision+" --local-dir "+name)
	case RepoGitHub:
		step.Commands = append(step.Commands, "git clone https://github.com/"+s.RepoID+" "+name, "git -C "+name+" checkout "+s.Revision)
	default:
		step.Note = "This collection was uploaded, so only its author has the directory; its git tree id is " + s.Revision + "."
	}
	return step
}

func addNote(c Collection) string {
	if NoOracle(c) == 0 {
		return ""
	}
	return "Tasks without a reference solution are added with a note: nothing shows that their verifiers accept a correct answer."
}
