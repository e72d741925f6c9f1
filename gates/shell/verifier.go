package shell

import (
	"cmp"
	"encoding/json"
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

// Swallow is a check whose outcome cannot change the reward.
type Swallow struct {
	Command Command
	Line    int
	// How says what throws the outcome away: "||", "|", "export" or "local",
	// and "unused" when nothing asks for it.
	How string
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
	// NeverOne: some way ends with a reward, and none with 1 or an unknown one.
	NeverOne bool
	// NeverWrites: nothing writes a reward, and nothing the script starts could,
	// apart from a test runner.
	NeverWrites bool
	// AbortsBeforeReward: under set -e a check that fails ends the script before
	// anything writes a reward.
	AbortsBeforeReward bool
	// WithoutReward lists the ways to end without a reward.
	WithoutReward []Ending
	// Swallowed lists the checks whose failure changes nothing.
	Swallowed []Swallow
	// Delegates are programs of the verifier that may write the reward themselves.
	Delegates []FileUse

	Downloads []Download
	Commands  []Command
	Files     []FileUse
	Plants    []Plant
	Exits     []Exit
	Opaque    []Command // commands whose text is not known, such as eval "$x"
	// Truncated: the script is beyond the bounds of the model. The claims above
	// are then all false.
	Truncated bool
}

// Verifier says what a verifier script does. The error is a *SyntaxError, or
// wraps ErrNotShell.
func Verifier(script []byte) (VerifierFacts, error) {
	in, states, err := run(script, Options{
		Script: "/verifier/test.sh",
		Assume: map[string]string{
			"BENCHFLOW_VERIFIER_DIR":        "/verifier",
			"BENCHFLOW_REWARD_TEXT":         "/logs/verifier/reward.txt",
			"BENCHFLOW_REWARD_JSON":         "/logs/verifier/reward.json",
			"BENCHFLOW_REWARD_DETAILS_JSON": "/logs/verifier/reward-details.json",
			"BENCHFLOW_CTRF_JSON":           "/logs/verifier/ctrf.json",
			"BENCHFLOW_PYTEST_BIN":          "pytest",
		},
		watch: rewardFile,
	})
	if err != nil {
		return VerifierFacts{}, err
	}
	f := VerifierFacts{
		Rewards:   rewards(in.rewards, states),
		Delegates: in.delegates,
		Commands:  in.trace.Commands,
		Downloads: Downloads(in.trace.Commands),
		Files:     Uses(in.trace.Commands),
		Plants:    plants(in.trace.Commands),
		Exits:     in.trace.Exits,
		Opaque:    in.trace.Opaque,
		Truncated: in.trace.Truncated,
	}
	f.WithoutReward = withoutReward(states)
	if f.Truncated || len(f.Opaque) > 0 {
		return f, nil
	}
	f.claim(states)
	if !in.blurred {
		f.Swallowed = in.swallowed(states)
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
	f.NeverOne = count[RewardZero]+count[RewardOther] > 0 && count[RewardOne]+count[RewardUnknown] == 0 && !maybe
	f.NeverWrites = len(f.Rewards) == 0 && len(f.Delegates) == 0 && !slices.ContainsFunc(f.Commands, Command.mentionsReward)
	for _, e := range f.WithoutReward {
		if e.Cause == CauseAbort && e.Check && len(e.Programs) == 0 {
			f.AbortsBeforeReward = true
		}
	}
}

// mentionsReward says whether a command carries the path of a reward file, or
// writes to a file of that name in a directory that is not known.
func (c Command) mentionsReward() bool {
	for _, w := range c.Writes {
		if !w.Path.Known && mentionsReward(w.Path.Text) {
			return true
		}
	}
	for _, a := range c.Args {
		if mentionsReward(a.Text) {
			return true
		}
	}
	for _, v := range c.Env {
		if mentionsReward(v.Value.Text) {
			return true
		}
	}
	return c.Stdin != nil && mentionsReward(c.Stdin.Text)
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

// swallowed finds the checks whose outcome changes no reward.
func (in *interp) swallowed(states []*state) []Swallow {
	if len(in.rewards) == 0 {
		return nil
	}
	influences := map[int]bool{}
	anyInfluence := false
	for _, chk := range in.checks {
		influences[chk.id] = in.influences(chk, states)
		anyInfluence = anyInfluence || influences[chk.id]
	}
	var out []Swallow
	for _, chk := range in.checks {
		if influences[chk.id] || chk.kind != kindRunner && anyInfluence {
			continue // a program that prepares the ground may fail unnoticed
		}
		if w, ok := chk.command.Program(); ok && AgentWritable(w.Text) {
			continue
		}
		how := chk.how
		if how == "" {
			how = "unused"
		}
		out = append(out, Swallow{Command: chk.command, Line: chk.command.Line, How: how})
	}
	return out
}

// influences says whether the outcome of a check may change the reward, by its
// status or through what it prints.
func (in *interp) influences(chk *check, states []*state) bool {
	if chk.consumed {
		return true
	}
	outcomes := map[bool]map[Reward]bool{true: {}, false: {}}
	for _, st := range states {
		if st.ran>>chk.id&1 == 0 {
			continue
		}
		passed := st.failed>>chk.id&1 == 0
		r := st.final()
		if r == RewardUnknown || r == "" && len(st.maybe) > 0 {
			return true
		}
		outcomes[passed][r] = true
	}
	if len(outcomes[true]) != len(outcomes[false]) {
		return true
	}
	for r := range outcomes[true] {
		if !outcomes[false][r] {
			return true
		}
	}
	for _, later := range in.trace.Commands[min(chk.last+1, len(in.trace.Commands)):] {
		if later.Offset != chk.command.Offset && later.Name != "tee" && later.mentionsAny(chk.outputs) {
			return true
		}
	}
	return false
}

// mentionsAny says whether a command is given one of the files.
func (c Command) mentionsAny(files []string) bool {
	texts := make([]string, 0, len(c.Args)+len(c.Reads)+1)
	for _, a := range append(c.Args[:len(c.Args):len(c.Args)], c.Reads...) {
		texts = append(texts, a.Text)
	}
	if c.Stdin != nil {
		texts = append(texts, c.Stdin.Text)
	}
	for _, f := range files {
		base := strings.Trim(path.Base(f), `"'`)
		if base == "" || base == "." || base == "/" {
			continue
		}
		for _, t := range texts {
			if strings.Contains(t, base) {
				return true
			}
		}
	}
	return false
}
