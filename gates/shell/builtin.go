package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// unknownOutput stands for what a program prints.
const unknownOutput = "…"

// builtin runs the commands that act on the shell itself or whose output can be
// computed. The second result is false when the command is none of them.
func (in *interp) builtin(st *state, c call) ([]*state, bool) {
	name, args := c.words[0].Text, c.words[1:]
	var results []*state
	switch name {
	case ":", "true", "shopt", "umask", "ulimit", "alias", "unalias", "jobs", "disown", "bind", "enable",
		"export", "declare", "local", "readonly", "typeset", "sleep":
		return in.print(st, c, str("")), true
	case "date":
		return in.print(st, c, unknown(unknownOutput)), true
	case "false":
		results = in.print(st, c, str(""))
		st.status = str("1")
	case "echo":
		return in.print(st, c, echo(args)), true
	case "printf":
		return in.print(st, c, in.printf(st, args)), true
	case "pwd":
		out := st.dir
		out.Text += "\n"
		return in.print(st, c, out), true
	case "test", "[":
		return in.testBuiltin(st, c), true
	case "cd", "pushd", "popd", "set", "shift", "unset", "read", "mapfile", "readarray", "getopts", "wait":
		in.record(st, c, value{})
		results = in.shellState(st, name, args)
	case "exit", "return", "break", "continue":
		in.record(st, c, value{})
		results = in.jump(st, name, args, c)
	case "trap":
		in.trap(st, args, c)
		results = in.print(st, c, str(""))
	case "eval":
		return in.eval(st, c), true
	case "exec":
		if len(args) > 0 {
			return nil, false
		}
		return in.print(st, c, unknown(unknownOutput)), true
	default:
		return nil, false
	}
	return results, true
}

// withoutName is the call without its words: its files have been recorded already.
func (c call) withoutName() call {
	c.words = nil
	c.recorded = true
	return c
}

// print records a command with known output.
func (in *interp) print(st *state, c call, out value) []*state {
	in.record(st, c, out)
	in.emit(st, c.withoutName(), out)
	st.status = success()
	return []*state{st}
}

func echo(args []value) value {
	newline, escapes := "\n", false
	for len(args) > 0 {
		flags, ok := strings.CutPrefix(args[0].Text, "-")
		if !ok || flags == "" || strings.Trim(flags, "neE") != "" || !args[0].Known {
			break
		}
		if strings.Contains(flags, "n") {
			newline = ""
		}
		escapes = escapes || strings.Contains(flags, "e")
		args = args[1:]
	}
	out := joined(args, " ")
	if escapes {
		out.Text = ansiC(out.Text)
	}
	return concat(out, str(newline))
}

func joined(args []value, sep string) value {
	var b builder
	for i, a := range args {
		if i > 0 {
			b.add(str(sep))
		}
		b.add(value{Word: a.Word})
	}
	out := b.value()
	out.Glob = false
	return out
}

// printf formats the verbs %s, %d, %i, %b and %f of numbers that need no rounding.
func (in *interp) printf(st *state, args []value) value {
	if len(args) > 1 && args[0].Text == "-v" {
		if len(args) > 2 {
			st.set(args[1].Text, in.printf(st, args[2:]))
		}
		return str("")
	}
	if len(args) > 0 && args[0].Text == "--" {
		args = args[1:]
	}
	if len(args) == 0 || !args[0].Known {
		return unknown(unknownOutput)
	}
	format, rest := args[0].Text, args[1:]
	out := str("")
	for round := 0; round == 0 || (len(rest) > 0 && round < maxFields); round++ {
		part, used, ok := formatOnce(format, rest)
		if !ok {
			return unknown(unknownOutput)
		}
		out = concat(out, part)
		if used == 0 {
			break
		}
		rest = rest[min(used, len(rest)):]
	}
	return out
}

// formatOnce applies a format once and says how many arguments it took.
func formatOnce(format string, args []value) (value, int, bool) {
	out, used := str(""), 0
	for format != "" {
		i := strings.IndexByte(format, '%')
		if i < 0 || i+1 >= len(format) {
			return concat(out, str(ansiC(format))), used, true
		}
		out = concat(out, str(ansiC(format[:i])))
		verb := format[i+1]
		format = format[i+2:]
		if verb == '%' {
			out = concat(out, str("%"))
			continue
		}
		if !strings.ContainsRune("sdib", rune(verb)) {
			return value{}, 0, false
		}
		if used < len(args) {
			out = concat(out, value{Word: args[used].Word})
		} else if verb == 'd' || verb == 'i' {
			out = concat(out, str("0"))
		}
		used++
	}
	return out, used, true
}

// shellState runs the builtins that change variables, options or the directory.
func (in *interp) shellState(st *state, name string, args []value) []*state {
	st.status = success()
	switch name {
	case "cd", "pushd":
		in.changeDir(st, name, args)
	case "popd":
		if dirs, _ := st.vars.get("!dirs"); len(dirs.list) > 0 {
			last := len(dirs.list) - 1
			st.dir = dirs.list[last]
			st.set("!dirs", value{list: dirs.list[:last:last]})
		} else {
			st.dir = unknown("")
		}
	case "set":
		in.setOptions(st, args)
	case "shift":
		n := 1
		if len(args) > 0 {
			n, _ = number(args[0].Text)
		}
		st.params = st.params[min(max(n, 0), len(st.params)):]
	case "unset":
		for _, a := range args {
			st.vars = st.vars.without(a.Text)
			if strings.HasPrefix(args[0].Text, "-f") {
				st.funcs = st.funcs.without(a.Text)
			}
		}
	case "read", "mapfile", "readarray", "getopts":
		for _, a := range args {
			if syntax.ValidName(a.Text) {
				st.set(a.Text, unknown("$"+a.Text))
			}
		}
		st.status = open(in.fresh())
	case "wait":
		st.status = open(in.fresh())
	}
	return []*state{st}
}

func (in *interp) changeDir(st *state, name string, args []value) {
	if name == "pushd" {
		dirs, _ := st.vars.get("!dirs")
		st.set("!dirs", value{list: append(slices.Clone(dirs.list), st.dir)})
	}
	for len(args) > 0 && len(args[0].Text) > 1 && args[0].Text[0] == '-' {
		args = args[1:]
	}
	switch {
	case len(args) == 0:
		st.dir, _ = in.named(st, "HOME")
		if st.dir.Text == "" {
			st.dir = unknown("$HOME")
		}
	case args[0].Text == "-":
		st.dir = unknown("")
	default:
		st.dir = value{Word: resolve(st.dir.Word, args[0].Word)}
		if st.dir.Text != "/" {
			st.dir.Text = strings.TrimSuffix(st.dir.Text, "/")
		}
	}
}

func (in *interp) setOptions(st *state, args []value) {
	for i := 0; i < len(args); i++ {
		a := args[i].Text
		switch {
		case a == "--":
			st.params = append([]value{}, args[i+1:]...)
			return
		case (a == "-o" || a == "+o") && i+1 < len(args):
			i++
			st.option(args[i].Text, a == "-o")
		case len(a) > 1 && (a[0] == '-' || a[0] == '+'):
			if strings.Contains(a, "e") {
				st.errexit = a[0] == '-'
			}
			if strings.HasSuffix(a, "o") && i+1 < len(args) {
				i++
				st.option(args[i].Text, a[0] == '-')
			}
		}
	}
}

func (st *state) option(name string, on bool) {
	switch name {
	case "errexit":
		st.errexit = on
	case "pipefail":
		st.pipefail = on
	}
}

// jump runs exit, return, break and continue.
func (in *interp) jump(st *state, name string, args []value, c call) []*state {
	code := st.status
	n, isNumber := 1, false
	if len(args) > 0 {
		code = args[0]
		n, isNumber = number(args[0].Text)
	}
	switch name {
	case "exit":
		st.flow, st.status = flowExit, code
		st.end = &End{Cause: CauseExit, Line: in.text.line(c.pos)}
	case "return":
		st.flow, st.status = flowReturn, code
		if len(st.frames) == 0 {
			st.flow = flowExit
			st.end = &End{Cause: CauseExit, Line: in.text.line(c.pos)}
		}
	case "break", "continue":
		st.flow, st.levels = flowBreak, 1
		if name == "continue" {
			st.flow = flowContinue
		}
		if isNumber && n > 1 {
			st.levels = min(n, maxDepth)
		}
	}
	return []*state{st}
}

// trap remembers the code for EXIT and ERR.
func (in *interp) trap(st *state, args []value, c call) {
	if len(args) > 0 && args[0].Text == "--" {
		args = args[1:]
	}
	if len(args) < 2 {
		return
	}
	for _, sig := range args[1:] {
		name := strings.TrimPrefix(strings.ToUpper(sig.Text), "SIG")
		if name == "0" {
			name = "EXIT"
		}
		if name != "EXIT" && name != "ERR" {
			continue
		}
		if args[0].Text == "-" || args[0].Text == "" {
			st.traps = st.traps.without(name)
			continue
		}
		if f, ok := in.parseNested(args[0], c, 0); ok {
			st.traps = st.traps.with(name, f)
		}
	}
}

// parseNested parses code that the script holds in a word. line is where the
// code starts, 0 for the line of the command.
func (in *interp) parseNested(code value, c call, line int) (*function, bool) {
	if line == 0 {
		line = in.text.line(c.pos)
	}
	if !code.Known {
		in.opaque(c)
		return nil, false
	}
	file, t, err := parse([]byte(code.Text), line)
	if err != nil {
		in.opaque(c)
		return nil, false
	}
	t.nested, t.at = true, in.text.offset(c.pos)
	return &function{body: file.Stmts, text: t}, true
}

// opaque records a command whose text cannot be known.
func (in *interp) opaque(c call) {
	cmd := in.describe(newState(), c)
	for _, o := range in.trace.Opaque {
		if o.Offset == cmd.Offset {
			return
		}
	}
	if len(in.trace.Opaque) < maxFields {
		in.trace.Opaque = append(in.trace.Opaque, cmd)
	}
}

// eval runs its arguments as code, when they are known.
func (in *interp) eval(st *state, c call) []*state {
	in.record(st, c, value{})
	f, ok := in.parseNested(joined(c.words[1:], " "), c, 0)
	if !ok {
		st.status = open(in.fresh())
		return []*state{st}
	}
	return in.nested(st, f, c)
}

// nested runs code that the script holds in a word.
func (in *interp) nested(st *state, f *function, c call) []*state {
	if in.calls++; in.calls > maxCalls {
		in.calls--
		in.trace.Truncated = true
		return []*state{st}
	}
	defer func() { in.calls-- }()
	return in.withRedirections(st, c, func(st *state) []*state {
		return in.within(f.text, func() []*state { return in.stmts(f.body, []*state{st}) })
	})
}
