package shell

import (
	"path"
	"strings"
)

// plants finds what lets the agent's files take part in the verdict. A file that
// the script itself has put in place before is not the agent's.
func plants(commands []Command) []Plant {
	var out []Plant
	var own []string
	seen := map[Plant]bool{}
	for _, c := range commands {
		for _, p := range c.plants() {
			p.Line = c.Line
			isFile := p.Kind == PlantTests || p.Kind == PlantProgram || p.Kind == PlantConfig
			if !seen[p] && (!isFile || !below(p.Path, own...)) {
				seen[p] = true
				out = append(out, p)
			}
		}
		for _, e := range c.Effects() {
			switch e.Op {
			case OpWrite, OpCopy, OpMove, OpExtract, OpFetch, OpClone:
				if !AgentWritable(e.From.Text) {
					own = append(own, e.Target().Text)
				}
			}
		}
	}
	return out
}

func (c Command) plants() []Plant {
	if c.Name == "source" || c.Name == "." {
		if w, ok := c.Program(); ok && AgentWritable(w.Text) && !activates(w.Text) {
			return []Plant{{Kind: PlantProgram, Path: w.Text}}
		}
		return nil
	}
	if c.kind() != kindRunner && c.kind() != kindProgram {
		return nil
	}
	var out []Plant
	add := func(k PlantKind, w Word) {
		if AgentWritable(w.Text) {
			out = append(out, Plant{Kind: k, Path: w.Text})
		}
	}
	for _, v := range c.Env {
		out = append(out, searchPath(c, v)...)
	}
	if strings.HasPrefix(c.Path.Text, "/") && (c.Runner() || isPython(c.Name) || IsShell(c.Name)) {
		add(PlantInterpreter, c.Path)
	} else if w, ok := c.Program(); ok && (!c.Captured || isJudge(w.Text)) {
		add(PlantProgram, w)
	}
	if c.Runner() {
		for _, w := range c.testPaths() {
			add(PlantTests, c.Resolve(w))
		}
	}
	return append(out, c.pytestPlants(len(out) > 0)...)
}

// isJudge says that a program is named like one that checks. When the script takes
// the output of any other, the agent's product is run and what it prints is judged.
func isJudge(p string) bool {
	name := strings.ToLower(path.Base(p))
	for _, word := range []string{"check", "test", "verif", "grade", "grading", "score", "scoring", "valid", "judge", "eval", "reward", "assert"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// activates says whether a sourced file is one that an installer leaves behind to
// be sourced; those that matter have put something into PATH, which the tests use
// anyway.
func activates(p string) bool {
	switch path.Base(p) {
	case "activate", "env", "nvm.sh", "conda.sh", "setup.bash", ".bashrc", ".profile", ".bash_profile", "sdkman-init.sh":
		return true
	}
	return false
}

// searchPath finds agent-writable places in a variable such as PYTHONPATH.
func searchPath(c Command, v Variable) []Plant {
	kind := PlantImport
	switch v.Name {
	case "PATH":
		kind = PlantInterpreter
	case "PYTHONPATH", "PYTHONHOME", "NODE_PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "BASH_ENV":
	default:
		return nil
	}
	var out []Plant
	for _, dir := range strings.Split(v.Value.Text, ":") {
		if dir == "" || strings.HasPrefix(dir, "$") {
			continue
		}
		if p := c.Resolve(withText(v.Value, dir)).Text; AgentWritable(p) {
			out = append(out, Plant{Kind: kind, Path: p})
		}
	}
	return out
}

func (c Command) pytestPlants(openPath bool) []Plant {
	if c.Name != "pytest" && c.Name != "py.test" && c.Module() != "pytest" {
		return nil
	}
	var out []Plant
	args := c
	if c.Module() != "" {
		args.Args = c.afterModule()
		if AgentWritable(c.Dir.Text) {
			out = append(out, Plant{Kind: PlantCwd, Path: c.Dir.Text})
			openPath = true
		}
	}
	for _, option := range []string{"-c", "--rootdir", "--confcutdir"} {
		if w, ok := args.option(option); ok && AgentWritable(c.Resolve(w).Text) {
			out = append(out, Plant{Kind: PlantConfig, Path: c.Resolve(w).Text})
		}
	}
	if plugin, ok := args.option("-p"); ok && openPath && !strings.HasPrefix(plugin.Text, "no:") {
		out = append(out, Plant{Kind: PlantPlugin, Path: plugin.Text})
	}
	return out
}
