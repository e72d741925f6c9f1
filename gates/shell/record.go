package shell

import (
	"slices"
	"strings"
)

// describe turns a call into a Command.
func (in *interp) describe(st *state, c call) Command {
	cmd := Command{
		Dir:        st.dir.Word,
		Line:       in.text.line(c.pos),
		Offset:     in.text.offset(c.pos),
		Guard:      in.guardText(),
		Probe:      in.probing(),
		Background: in.background > 0,
		Wrapped:    c.wrapped,
		Env:        c.env,
	}
	if len(c.words) > 0 {
		cmd.Path = c.words[0].Word
		cmd.Name = baseName(cmd.Path.Text)
		cmd.Args = make([]Word, 0, len(c.words)-1)
		for _, w := range c.words[1:] {
			cmd.Args = append(cmd.Args, w.Word)
		}
	}
	for _, name := range []string{"PATH", "PYTHONPATH", "PYTHONHOME", "PYTEST_PLUGINS", "PYTEST_ADDOPTS", "LD_PRELOAD", "LD_LIBRARY_PATH", "NODE_PATH", "BASH_ENV"} {
		if v, ok := st.vars.get(name); ok {
			if _, set := cmd.Variable(name); !set {
				cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], Variable{Name: name, Value: v.Word})
			}
		}
	}
	cmd.Stdin = in.stdinOf(st, c)
	cmd.Captured = in.captured(c)
	for _, r := range c.redirs {
		if r.input() && r.target.Text != "" {
			cmd.Reads = append(cmd.Reads, resolve(st.dir.Word, r.target.Word))
		}
	}
	return cmd
}

// captured says whether what a command prints goes where the script can look at
// it: into a substitution, another command or a file.
func (in *interp) captured(c call) bool {
	for _, r := range c.redirs {
		if r.output() && r.stdout() {
			return !isDevice(r.target.Text)
		}
	}
	for _, taker := range in.capture {
		if taker.substitution || taker.pipe || taker.file != "" && !isDevice(taker.file) {
			return true
		}
	}
	return false
}

// stdinOf returns what a command reads on its standard input.
func (in *interp) stdinOf(st *state, c call) *Word {
	for i := len(c.redirs) - 1; i >= 0; i-- {
		if r := c.redirs[i]; r.input() {
			w := in.inputOf(st, r).Word
			return &w
		}
	}
	if st.stdin != nil {
		w := st.stdin.Word
		return &w
	}
	return nil
}

// baseName is the last element of a program's path.
func baseName(p string) string {
	return p[strings.LastIndexByte(p, '/')+1:]
}

// record adds a command with its output to the trace, once for every different
// expansion. A command that is reached without a guard on one path loses its guard.
func (in *interp) record(st *state, c call, out value) Command {
	cmd := in.describe(st, c)
	cmd.Writes = in.writes(st, c, out)
	in.add(cmd)
	return cmd
}

func (in *interp) add(cmd Command) {
	for _, i := range in.seen[cmd.Offset] {
		known := &in.trace.Commands[i]
		in.work += 1 + len(known.Args)
		if known.same(cmd) {
			if cmd.Guard == "" {
				known.Guard, known.Probe = "", false
			}
			return
		}
	}
	if len(in.trace.Commands) >= maxCommands {
		in.trace.Truncated = true
		return
	}
	in.work += cmd.size()
	in.seen[cmd.Offset] = append(in.seen[cmd.Offset], len(in.trace.Commands))
	in.trace.Commands = append(in.trace.Commands, cmd)
}

// same says whether two commands at one place differ at most in their guards.
func (c Command) same(o Command) bool {
	if (c.Stdin == nil) != (o.Stdin == nil) || c.Stdin != nil && *c.Stdin != *o.Stdin {
		return false
	}
	return c.Path == o.Path && c.Dir == o.Dir && c.Launcher == o.Launcher && slices.Equal(c.Args, o.Args) && slices.Equal(c.Writes, o.Writes) && slices.Equal(c.Env, o.Env)
}

// size is what keeping a command costs.
func (c Command) size() int {
	n := len(c.Path.Text) + len(c.Dir.Text)
	for _, a := range c.Args {
		n += len(a.Text)
	}
	for _, w := range c.Writes {
		n += len(w.Path.Text) + len(w.Data.Text)
	}
	if c.Stdin != nil {
		n += len(c.Stdin.Text)
	}
	return n
}

// writes lists the files that the output redirections of a call write.
func (in *interp) writes(st *state, c call, out value) []Write {
	var list []Write
	last := -1
	for i, r := range c.redirs {
		if r.output() && r.stdout() {
			last = i
		}
	}
	for i, r := range c.redirs {
		if !r.output() || isDevice(r.target.Text) {
			continue
		}
		w := Write{Path: resolve(st.dir.Word, r.target.Word), Append: r.appends()}
		switch {
		case i == last:
			w.Data = out.Word
		case r.stdout():
			w.Data = literal("")
		default:
			w.Data = opaque(unknownOutput)
		}
		list = append(list, w)
	}
	return list
}

// isDevice says that a redirection target is no file of the image.
func isDevice(p string) bool {
	return strings.HasPrefix(p, "/dev/") || strings.HasPrefix(p, "/proc/")
}

// emit sends the output of a call to its redirections or to whatever captures
// the output of the statements around it.
func (in *interp) emit(st *state, c call, out value) {
	writes := in.writes(st, c, out)
	if len(writes) > 0 && !c.recorded {
		cmd := in.describe(st, call{pos: c.pos, redirs: c.redirs})
		cmd.Writes = writes
		in.add(cmd)
	}
	for _, w := range writes {
		in.write(st, w, in.text.line(c.pos))
	}
	for _, r := range c.redirs {
		if r.output() && r.stdout() || r.op == dupOut && r.fd == 1 && r.target.Text != "1" {
			return
		}
	}
	if n := len(st.out); n > 0 && out.Text != "" {
		st.out = slices.Clone(st.out)
		st.out[n-1] = concat(st.out[n-1], value{Word: out.Word})
	}
}

// fileKey is the name under which a state remembers a file, "" if it does not.
func (in *interp) fileKey(st *state, path Word) string {
	p := resolve(st.dir.Word, path)
	if in.opts.watch != nil {
		if name := in.opts.watch(p); name != "" {
			return name
		}
	}
	if p.Known && !p.Glob && strings.HasPrefix(p.Text, "/") {
		return p.Text
	}
	return ""
}

// content returns what a file holds, as far as it is known: what the script has
// written to it, or what was there before.
func (in *interp) content(st *state, path Word) (value, bool) {
	key := in.fileKey(st, path)
	if v, ok := st.files.get(key); ok || key == "" || in.opts.Read == nil {
		return v, ok
	}
	text, ok := in.opts.Read(key)
	if !ok || len(text) > maxWordBytes {
		return value{}, false
	}
	in.work += len(text)
	return str(text), true
}

// write updates what the state knows about a file.
func (in *interp) write(st *state, w Write, line int) {
	key := in.fileKey(st, w.Path)
	if key == "" {
		return
	}
	v := value{Word: w.Data}
	if w.Append {
		if old, ok := st.files.get(key); ok {
			v = concat(old, v)
		}
	}
	v.Glob = false
	if len(v.Text) > maxFileBytes {
		v = unknown(unknownOutput)
	}
	st.files = st.files.with(key, v)
	if !strings.HasPrefix(key, "/") {
		st.wrote |= in.reward(w.Path, v, line)
	}
}

// reward notes one way in which the reward file is written and returns its bit
// in state.wrote.
func (in *interp) reward(path Word, content value, line int) uint64 {
	r := RewardWrite{
		Value: rewardOf(content.Word),
		Path:  path,
		Text:  content.Text,
		Line:  line,
		Guard: in.guardText(),
	}
	for i, old := range in.rewards {
		if old.Line == r.Line && old.Value == r.Value && old.Path == r.Path {
			if r.Guard == "" {
				in.rewards[i].Guard = ""
			}
			return 1 << i
		}
	}
	if len(in.rewards) == maxRewards {
		in.trace.Truncated = true
		return 0
	}
	in.rewards = append(in.rewards, r)
	return 1 << (len(in.rewards) - 1)
}
