package shell

import (
	"slices"
	"strings"
)

// launch describes a program that starts another one given in its arguments.
type launch struct {
	// values are the options that take the next argument as their value.
	values []string
	// skip is how many operands stand before the command.
	skip int
	// assignments says that NAME=value may stand before the command.
	assignments bool
	// fetches says that the launcher may download what it starts, so that it is
	// a command worth recording of its own.
	fetches bool
}

// launchOf returns how a launcher names its command. key is the program's base
// name, followed by the sub-command for those that have one.
func launchOf(key string) (launch, bool) {
	switch key {
	case "env":
		return launch{values: []string{"-u", "-C", "--unset", "--chdir"}, assignments: true}, true
	case "timeout", "gtimeout":
		return launch{values: []string{"-s", "-k", "--signal", "--kill-after"}, skip: 1}, true
	case "sudo":
		return launch{values: []string{"-u", "-g", "-C", "-h", "-p", "-U"}, assignments: true}, true
	case "doas":
		return launch{values: []string{"-u", "-C"}}, true
	case "nice":
		return launch{values: []string{"-n", "--adjustment"}}, true
	case "ionice":
		return launch{values: []string{"-c", "-n", "-p"}}, true
	case "stdbuf":
		return launch{values: []string{"-i", "-o", "-e"}}, true
	case "time", "nohup", "setsid", "builtin", "unbuffer", "chronic", "catchsegv", "eatmydata", "fakeroot", "dbus-run-session":
		return launch{values: []string{"-o", "-f"}}, true
	case "exec":
		return launch{values: []string{"-a"}}, true
	case "command":
		return launch{}, true
	case "xvfb-run":
		return launch{values: []string{"-s", "-n", "-e", "-f", "-w", "--server-args", "--server-num"}}, true
	case "gosu", "su-exec":
		return launch{skip: 1}, true
	case "runuser":
		return launch{values: []string{"-u", "-g", "-G", "--user"}}, true
	case "taskset", "chrt", "setarch":
		return launch{skip: 1}, true
	case "xargs":
		return launch{values: []string{"-n", "-I", "-P", "-d", "-L", "-a", "-E", "-s"}}, true
	case "coverage run":
		return launch{}, false
	}
	return fetchingLaunch(key)
}

// fetchingLaunch lists the launchers of packaging tools.
func fetchingLaunch(key string) (launch, bool) {
	switch key {
	case "uvx", "uv tool run":
		return launch{fetches: true, values: []string{"--with", "--from", "-p", "--python", "--index-url", "--extra-index-url", "--with-requirements", "--index", "--default-index", "-w", "-c", "--constraints"}}, true
	case "uv run":
		return launch{fetches: true, values: []string{"--with", "--from", "-p", "--python", "--index-url", "--extra-index-url", "--with-requirements", "--extra", "--group", "--project", "--directory", "--index", "--default-index", "--env-file", "--with-editable", "--package", "-w"}}, true
	case "pipx run":
		return launch{fetches: true, values: []string{"--spec", "--python", "--pip-args"}}, true
	case "npx", "bunx", "pnpm dlx", "yarn dlx":
		return launch{fetches: true, values: []string{"-p", "--package"}}, true
	case "poetry run", "pipenv run", "pdm run", "hatch run", "rye run", "pixi run", "bundle exec", "pnpm exec", "yarn exec", "npm exec":
		return launch{}, true
	case "conda run", "mamba run", "micromamba run":
		return launch{values: []string{"-n", "-p", "--name", "--prefix", "--cwd"}}, true
	}
	return launch{}, false
}

// launcher unwraps a command that starts another one. The second result is
// false when the call is no launcher.
func (in *interp) launcher(st *state, c call) ([]*state, bool) {
	name := baseName(c.words[0].Text)
	if IsShell(name) || name == "su" {
		return in.shellLauncher(st, c)
	}
	l, key, rest, ok := unwrap(c.words)
	if !ok || in.calls > maxCalls {
		return nil, false
	}
	if key == "command" && len(rest) > 0 && strings.HasPrefix(c.words[1].Text, "-") && c.words[1].Text != "-p" {
		return nil, false // command -v asks, it starts nothing
	}
	inner := c
	for l.assignments && len(rest) > 0 {
		n, v, isAssign := strings.Cut(rest[0].Text, "=")
		if !isAssign || strings.ContainsAny(n, "/ ") {
			break
		}
		inner.env = append(inner.env[:len(inner.env):len(inner.env)], Variable{Name: n, Value: withText(rest[0].Word, v)})
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return nil, false
	}
	if l.fetches {
		cmd := in.describe(st, call{words: c.words, pos: c.pos, env: c.env})
		cmd.Launcher = true
		in.add(cmd)
	}
	inner.words = rest
	inner.wrapped = append(c.wrapped[:len(c.wrapped):len(c.wrapped)], key)
	in.calls++
	defer func() { in.calls-- }()
	if key == "uvx" || key == "uv tool run" {
		inner.words = append([]value{withoutVersion(rest[0])}, rest[1:]...)
	}
	results := in.dispatch(st, inner)
	if key == "exec" {
		for _, r := range results {
			if r.flow == flowNext {
				r.flow = flowExit
				r.end = &End{Cause: CauseExit, Line: in.text.line(c.pos)}
			}
		}
	}
	return results, true
}

// withoutVersion removes the version from a tool name: pytest@8.4 is pytest.
func withoutVersion(v value) value {
	if name, _, ok := strings.Cut(v.Text, "@"); ok {
		v.Text = name
	}
	return v
}

// unwrap finds the command behind a launcher.
func unwrap(words []value) (l launch, key string, rest []value, ok bool) {
	key = baseName(words[0].Text)
	rest = words[1:]
	for range 3 {
		if l, ok = launchOf(key); ok {
			break
		}
		if len(rest) == 0 || strings.HasPrefix(rest[0].Text, "-") {
			return launch{}, "", nil, false
		}
		key, rest = key+" "+rest[0].Text, rest[1:]
	}
	if !ok {
		return launch{}, "", nil, false
	}
	skip := l.skip
	for len(rest) > 0 {
		a := rest[0].Text
		switch {
		case a == "--":
			return l, key, rest[1:], true
		case len(a) > 1 && a[0] == '-':
			rest = rest[1:]
			if isOneOf(a, l.values) && len(rest) > 0 {
				rest = rest[1:]
			}
		case skip > 0:
			skip--
			rest = rest[1:]
		default:
			return l, key, rest, true
		}
	}
	return l, key, nil, true
}

// shellLauncher runs the code given to sh -c, or on the standard input of a
// shell. A shell that runs a file is a program.
func (in *interp) shellLauncher(st *state, c call) ([]*state, bool) {
	name := baseName(c.words[0].Text)
	for i, w := range c.words[1:] {
		if len(w.Text) < 2 || w.Text[0] != '-' || w.Text[1] == '-' {
			if name == "su" {
				continue
			}
			return nil, false
		}
		if !strings.HasSuffix(w.Text, "c") {
			continue
		}
		rest := c.words[i+2:]
		if len(rest) == 0 {
			return nil, false
		}
		return in.inlineShell(st, c, rest[0], rest[1:], 0), true
	}
	if name == "su" || len(c.words) > 1 && c.words[1].Text != "-s" {
		return nil, false
	}
	if stdin := in.stdinOf(st, c); stdin != nil && stdin.Known {
		line := 0
		for _, r := range c.redirs {
			if r.input() {
				line = r.line
			}
		}
		c.redirs = slices.DeleteFunc(slices.Clone(c.redirs), redirection.input)
		return in.inlineShell(st, c, value{Word: *stdin}, nil, line), true
	}
	return nil, false
}

// inlineShell runs code in a shell of its own. line is where the code starts, 0
// for the line of the command.
func (in *interp) inlineShell(st *state, c call, code value, params []value, line int) []*state {
	f, ok := in.parseNested(code, c, line)
	if !ok {
		in.record(st, c, unknown(unknownOutput))
		in.emit(st, c.withoutName(), unknown(unknownOutput))
		st.status = open(in.fresh())
		return []*state{st}
	}
	if len(params) > 0 {
		params = params[1:] // the first one is $0
	}
	options := ""
	if w := c.words[1:]; len(w) > 0 && strings.HasPrefix(w[0].Text, "-") {
		options = w[0].Text
	}
	return in.subshell([]*state{st}, func(sub []*state) []*state {
		return in.each(sub, func(st *state) []*state {
			st.params, st.errexit, st.pipefail = append([]value{}, params...), strings.Contains(options, "e"), false
			st.vars, st.funcs = st.inherited(), nil
			for _, v := range c.env {
				st.set(v.Name, value{Word: v.Value})
			}
			return in.nested(st, f, c)
		})
	})
}
