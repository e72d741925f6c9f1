package shell

import (
	"path"
	"strings"
)

// program runs a command that is neither builtin nor launcher.
func (in *interp) program(st *state, c call) []*state {
	cmd := in.describe(st, c)
	out := in.output(st, cmd)
	cmd.Writes = in.writes(st, c, out)
	if cmd.Name == "tee" {
		cmd.Writes = append(cmd.Writes, teeWrites(cmd)...)
	}
	in.add(cmd)
	files := st.files
	in.apply(st, cmd)
	in.emit(st, c.withoutName(), out)
	return in.finish(st, files, cmd)
}

// output computes what a few harmless programs print.
func (in *interp) output(st *state, c Command) value {
	operands := c.operands()
	one := func(f func(string) string) value {
		if len(operands) == 0 || !operands[0].Known {
			return unknown(unknownOutput)
		}
		v := value{Word: operands[0]}
		v.Text = f(v.Text) + "\n"
		return v
	}
	switch c.Name {
	case "dirname":
		return one(path.Dir)
	case "basename":
		return one(func(p string) string {
			p = path.Base(p)
			if len(operands) > 1 {
				p = strings.TrimSuffix(p, operands[1].Text)
			}
			return p
		})
	case "realpath", "readlink":
		return one(func(p string) string { return c.Resolve(literal(p)).Text })
	case "tee":
		if c.Stdin != nil {
			return value{Word: *c.Stdin}
		}
	case "cat":
		return in.catOutput(st, c, operands)
	}
	if isQuiet(c.Name) {
		return str("")
	}
	return unknown(unknownOutput)
}

func (in *interp) catOutput(st *state, c Command, operands []Word) value {
	if len(operands) == 0 || len(operands) == 1 && operands[0].Text == "-" {
		if c.Stdin != nil {
			return value{Word: *c.Stdin}
		}
		return unknown(unknownOutput)
	}
	var all builder
	for _, o := range operands {
		v, ok := in.content(st, o)
		if !ok {
			return unknown(unknownOutput)
		}
		all.add(v)
	}
	return all.value()
}

// isQuiet lists programs that print nothing when they succeed.
func isQuiet(name string) bool {
	return isOneOf(name, []string{"mkdir", "rm", "rmdir", "cp", "mv", "touch", "chmod", "chown", "ln", "install", "kill", "sync", "mkfifo", "truncate"})
}

func teeWrites(c Command) []Write {
	var list []Write
	data := opaque(unknownOutput)
	if c.Stdin != nil {
		data = *c.Stdin
	}
	for _, f := range c.operands() {
		if !isDevice(f.Text) {
			list = append(list, Write{Path: c.Resolve(f), Data: data, Append: c.has("-a", "--append")})
		}
	}
	return list
}

// apply updates the files of a state for what a command does to them.
func (in *interp) apply(st *state, c Command) {
	if c.Name == "tee" {
		for _, w := range teeWrites(c) {
			in.write(st, w, c.Line)
		}
		return
	}
	for _, e := range c.effects(in.python(c)) {
		key := in.fileKey(st, e.Target())
		if key == "" {
			continue
		}
		switch e.Op {
		case OpRemove:
			st.files = st.files.without(key)
		case OpWrite, OpAppend:
			in.write(st, Write{Path: e.Target(), Data: e.Data, Append: e.Op == OpAppend}, c.Line)
		case OpCopy, OpMove:
			data := unknown(unknownOutput)
			from := in.fileKey(st, e.From)
			if v, ok := in.content(st, e.From); ok {
				data = v
			}
			if e.Op == OpMove {
				st.files = st.files.without(from)
			}
			in.write(st, Write{Path: e.Target(), Data: data.Word}, c.Line)
		case OpMakeDir, OpClone:
		default:
			in.write(st, Write{Path: e.Target(), Data: opaque(unknownOutput)}, c.Line)
		}
	}
}

// finish decides the exit status of a program. A check splits the state at
// once, so that its influence can be followed to the end of the script; inline
// code that failed is taken not to have written its files. files are those that
// the state knew before the program ran.
func (in *interp) finish(st *state, files table[value], cmd Command) []*state {
	k := cmd.kind()
	in.mayWriteReward(st, cmd, k)
	st.tested = k != kindOther
	switch {
	case in.isSafe(cmd):
		st.status = success()
		return []*state{st}
	case in.opts.MustSucceed || in.background > 0 || !isTracked(cmd, k):
		st.status = open(in.fresh())
		return []*state{st}
	}
	if !in.track(cmd) {
		st.status = open(in.fresh())
		return []*state{st}
	}
	failed := st.clone()
	if _, inline := cmd.Inline(); inline {
		failed.files = files
	}
	st.status, failed.status = success(), failure()
	return []*state{st, failed}
}

// isSafe lists programs that cannot reasonably fail, so that their status never
// stands for the outcome of anything.
func (in *interp) isSafe(c Command) bool {
	if p := in.python(c); p != nil {
		code, _ := c.Inline()
		return code.Text.Known && p.harmless()
	}
	switch c.Name {
	case "rm":
		return c.has("-f", "--force")
	case "mkdir":
		return c.has("-p", "--parents")
	case "", "tee", "sleep", "date", "whoami", "hostname", "uname", "sync", "clear", "tput", "seq", "dirname", "basename":
		return true
	case "cat", "head", "tail", "sort", "uniq", "wc", "tr", "cut", "ts", "fold", "nl", "tac", "rev", "column":
		return len(c.operands(textOptions(c.Name)...)) == 0 || c.Name == "tr"
	}
	return false
}

// isTracked says whether a command's outcome is followed. grep and its kin are
// conditions of their own, not checks whose loss matters.
func isTracked(c Command, k kind) bool {
	switch k {
	case kindRunner, kindProgram:
		return true
	case kindCompare:
		return c.Name == "diff" || c.Name == "cmp" || strings.HasSuffix(c.Name, "sum")
	}
	return false
}

// track says whether a check splits the states: not when there are too many.
func (in *interp) track(cmd Command) bool {
	key := itoa(cmd.Offset) + " " + cmd.String()
	if !in.checks[key] {
		if in.blurred = in.blurred || len(in.checks) >= maxTracked; in.blurred {
			return false
		}
		in.checks[key] = true
	}
	return true
}

// mayWriteReward notes what a program that the script starts can do to the
// reward: it writes it if it is given its path, and may write it if it comes
// from the verifier's own directories.
func (in *interp) mayWriteReward(st *state, cmd Command, k kind) {
	if in.opts.watch == nil || k != kindProgram {
		return
	}
	if code, ok := cmd.Inline(); ok {
		in.inlineRewards(st, cmd, code)
		return
	}
	for _, a := range cmd.Args {
		w := a
		if _, v, ok := strings.Cut(a.Text, "="); ok {
			w = withText(a, v)
		}
		if in.opts.watch(cmd.Resolve(w)) != "" {
			in.write(st, Write{Path: cmd.Resolve(w), Data: opaque(unknownOutput)}, cmd.Line)
			return
		}
	}
	if file, ok := cmd.Program(); ok && !AgentWritable(file.Text) {
		st.delegate(file)
	}
}

// delegate marks that a program of the verifier may have written the reward.
func (st *state) delegate(file Word) {
	for _, w := range st.maybe {
		if w == file {
			return
		}
	}
	st.maybe = append(st.maybe[:len(st.maybe):len(st.maybe)], file)
	for _, f := range st.files {
		if !strings.HasPrefix(f.name, "/") {
			st.files = st.files.with(f.name, unknown(unknownOutput)) // it may have been overwritten
		}
	}
}
