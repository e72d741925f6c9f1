package shell

import (
	"cmp"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Reward classifies what is written to a reward file.
type Reward string

// Classes of rewards.
const (
	RewardOne     Reward = "1"
	RewardZero    Reward = "0"
	RewardOther   Reward = "other"   // some other constant, a number or not
	RewardUnknown Reward = "unknown" // computed
)

// RewardWrite is one way in which a script writes a reward file.
type RewardWrite struct {
	Value Reward
	Path  Word   // reward.txt or reward.json
	Text  string // the constant, or its source
	Line  int
	// Conditional says that some way through the script does not write this
	// value here.
	Conditional bool
	// Guard is the innermost condition around the write that could not be
	// decided, "" if there is none or the value itself depends on one.
	Guard string
}

// Ending is one way in which a verifier can end without having written a reward.
type Ending struct {
	End
	// Programs are the verifier's own programs that ran before and may have
	// written the reward; the shell cannot tell.
	Programs []Word
}

// Plant is something that lets files the agent can write take part in the verdict.
type Plant struct {
	Kind PlantKind
	Path string // the directory, file or plug-in
	Line int
}

// PlantKind says how the agent's files get in.
type PlantKind string

// Kinds of plants.
const (
	PlantImport      PlantKind = "import-path" // PYTHONPATH, NODE_PATH, LD_PRELOAD … names an agent-writable place
	PlantPlugin      PlantKind = "plugin"      // pytest -p loads a module while such an import path is set
	PlantConfig      PlantKind = "config"      // pytest -c, --rootdir or --confcutdir
	PlantTests       PlantKind = "tests"       // the test runner is given tests of the agent
	PlantProgram     PlantKind = "program"     // a file of the agent decides or does the checking
	PlantInterpreter PlantKind = "interpreter" // an interpreter or test runner from an agent-writable place
	PlantCwd         PlantKind = "cwd"         // python -m from an agent-writable directory, which heads the import path
)

// VerifierFacts is what test.sh does.
type VerifierFacts struct {
	// Rewards are the writes to a reward file, by line and value.
	Rewards []RewardWrite
	// AlwaysOne: whatever happens, the script ends with reward 1.
	AlwaysOne bool
	// NeverZero: some way ends with reward 1, and none with another reward. Some
	// ways may end without any reward.
	NeverZero bool
	// AbortsBeforeReward: under set -e a check that fails ends the script before
	// anything writes a reward.
	AbortsBeforeReward bool
	// WithoutReward lists the ways to end without a reward.
	WithoutReward []Ending

	Downloads []Download
	Commands  []Command
	Files     []FileUse
	Plants    []Plant
	Opaque    []Command // commands whose text is not known, such as eval "$x"
	// Truncated: the script is beyond the bounds of the model. The claims above
	// are then all false.
	Truncated bool
}

// Verifier says what a verifier script does. env are the variables of the image
// that it runs in; like those of the harness, they decide no branch. The error is
// a *SyntaxError, or wraps ErrNotShell.
func Verifier(script []byte, env map[string]string) (VerifierFacts, error) {
	assume := map[string]string{}
	maps.Copy(assume, env)
	maps.Copy(assume, map[string]string{
		"BENCHFLOW_VERIFIER_DIR":        "/verifier",
		"BENCHFLOW_REWARD_TEXT":         "/logs/verifier/reward.txt",
		"BENCHFLOW_REWARD_JSON":         "/logs/verifier/reward.json",
		"BENCHFLOW_REWARD_DETAILS_JSON": "/logs/verifier/reward-details.json",
		"BENCHFLOW_CTRF_JSON":           "/logs/verifier/ctrf.json",
		"BENCHFLOW_PYTEST_BIN":          "pytest",
	})
	in, states, err := run(script, Options{Script: "/verifier/test.sh", Assume: assume, watch: rewardFile})
	if err != nil {
		return VerifierFacts{}, err
	}
	f := VerifierFacts{
		Rewards:   rewards(in.rewards, states),
		Commands:  in.trace.Commands,
		Downloads: Downloads(in.trace.Commands),
		Files:     Uses(in.trace.Commands),
		Plants:    plants(in.trace.Commands),
		Opaque:    in.trace.Opaque,
		Truncated: in.trace.Truncated,
	}
	f.WithoutReward = withoutReward(states)
	if !f.Truncated && len(f.Opaque) == 0 {
		f.claim(states)
	}
	return f, nil
}

// rewards sorts the reward writes and says which of them not every path makes.
func rewards(list []RewardWrite, states []*state) []RewardWrite {
	for i := range list {
		list[i].Conditional = slices.ContainsFunc(states, func(st *state) bool { return st.wrote&(1<<i) == 0 })
	}
	rank := map[Reward]int{RewardOne: 0, RewardZero: 1, RewardOther: 2, RewardUnknown: 3}
	slices.SortStableFunc(list, func(a, b RewardWrite) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(rank[a.Value], rank[b.Value]))
	})
	return list
}

// rewardFile names the reward file that a path means: /logs/verifier/reward.txt
// or .json, also when the directory is a variable. It is "" for other files.
func rewardFile(w Word) string {
	dir, base := path.Split(w.Text)
	if base != "reward.txt" && base != "reward.json" || w.Glob {
		return ""
	}
	if dir == "/logs/verifier/" || strings.HasPrefix(dir, "$") || strings.Contains(dir, "$(") {
		return base
	}
	return ""
}

// rewardOf classifies the content of a reward file.
func rewardOf(content Word) Reward {
	if !content.Known || content.Assumed {
		return RewardUnknown
	}
	text := strings.TrimSpace(content.Text)
	if strings.HasPrefix(text, "{") {
		var object map[string]json.RawMessage
		if json.Unmarshal([]byte(text), &object) != nil {
			return RewardOther
		}
		text = string(object["reward"])
	}
	switch n, err := strconv.ParseFloat(text, 64); {
	case err != nil:
		return RewardOther
	case n == 1:
		return RewardOne
	case n == 0:
		return RewardZero
	}
	return RewardOther
}

// final is the reward that a path leaves behind, "" if it leaves none.
func (st *state) final() Reward {
	var result Reward
	for _, name := range []string{"reward.txt", "reward.json"} {
		v, ok := st.files.get(name)
		if !ok {
			continue
		}
		r := rewardOf(v.Word)
		if result != "" && r != result {
			r = RewardUnknown
		}
		result = r
	}
	return result
}

// claim draws the conclusions about all paths.
func (f *VerifierFacts) claim(states []*state) {
	count := map[Reward]int{}
	maybe := false
	for _, st := range states {
		r := st.final()
		count[r]++
		maybe = maybe || r == "" && len(st.maybe) > 0
	}
	rest := count[RewardZero] + count[RewardOther] + count[RewardUnknown]
	f.AlwaysOne = count[RewardOne] > 0 && rest == 0 && count[""] == 0
	f.NeverZero = count[RewardOne] > 0 && rest == 0 && !maybe
	for _, e := range f.WithoutReward {
		if e.Cause == CauseAbort && e.Check && len(e.Programs) == 0 {
			f.AbortsBeforeReward = true
		}
	}
}

// withoutReward lists the ways to end without a reward, each place once.
func withoutReward(states []*state) []Ending {
	var out []Ending
	for _, st := range states {
		if st.final() != "" {
			continue
		}
		e := Ending{End: End{Cause: CauseEnd}, Programs: st.maybe}
		if st.end != nil {
			e.End = *st.end
		}
		same := func(o Ending) bool { return o.Cause == e.Cause && o.Line == e.Line }
		if !slices.ContainsFunc(out, same) {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b Ending) int { return a.Line - b.Line })
	return out
}
