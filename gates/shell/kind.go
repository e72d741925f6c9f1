package shell

import "strings"

// kind says what a command is for, as far as the outcome of a verifier goes.
type kind int

const (
	kindOther   kind = iota
	kindRunner       // runs a test suite
	kindProgram      // runs a file or inline code
	kindCompare      // compares files or text
)

// Runner says whether the command runs a test suite: pytest, go test, npm test …
func (c Command) Runner() bool { return c.kind() == kindRunner }

func (c Command) kind() kind {
	switch {
	case c.Launcher || c.Name == "":
		return kindOther
	case c.isRunner():
		return kindRunner
	case isOneOf(c.Name, []string{"diff", "cmp", "comm", "grep", "egrep", "fgrep", "jq", "awk"}),
		(strings.HasSuffix(c.Name, "sum") && c.has("-c", "--check")):
		return kindCompare
	}
	if _, ok := c.Inline(); ok {
		return kindProgram
	}
	if w, ok := c.Program(); ok && !isActivation(w.Text) && c.Name != "source" && c.Name != "." {
		return kindProgram
	}
	return kindOther
}

func (c Command) isRunner() bool {
	sub := ""
	ops := c.operands("--prefix", "-C", "--dir", "--cwd", "--manifest-path")
	if len(ops) > 0 {
		sub = ops[0].Text
	}
	switch c.Name {
	case "pytest", "py.test", "nosetests", "tox", "nox", "jest", "mocha", "vitest", "ctest", "bats", "rspec", "phpunit", "prove", "trial", "behave", "ava", "tape":
		return true
	case "go", "cargo", "npm", "yarn", "pnpm", "bun", "deno", "dotnet", "mvn", "mvnw", "gradle", "gradlew", "mix", "swift", "bazel", "stack", "cabal", "dune", "zig", "lein", "sbt":
		return sub == "test" || sub == "t" || sub == "nextest" || (sub == "run" && len(ops) > 1 && strings.HasPrefix(ops[1].Text, "test"))
	case "make", "ninja", "just":
		for _, target := range c.operands("-C", "-f", "-j", "--directory", "--file") {
			if isOneOf(target.Text, []string{"test", "check", "tests"}) {
				return true
			}
		}
		return false
	case "coverage":
		return sub == "run"
	}
	if module := c.Module(); module != "" {
		return isOneOf(module, []string{"pytest", "unittest", "nose", "nose2", "doctest", "coverage", "tox", "trial"})
	}
	return strings.HasPrefix(c.Name, "pytest-") || strings.HasPrefix(c.Name, "$") && strings.Contains(strings.ToLower(c.Name), "pytest")
}

// isPython says whether a program name is a Python interpreter.
func isPython(name string) bool {
	rest, ok := strings.CutPrefix(name, "python")
	if !ok {
		rest, ok = strings.CutPrefix(name, "pypy")
	}
	return ok && strings.Trim(rest, "0123456789.") == ""
}

// Module returns the module of python -m module, "" for other commands.
func (c Command) Module() string {
	if !isPython(c.Name) {
		return ""
	}
	for i, a := range c.Args {
		switch {
		case a.Text == "-m" && i+1 < len(c.Args):
			return c.Args[i+1].Text
		case a.Text == "-c" || !strings.HasPrefix(a.Text, "-"):
			return ""
		case a.Text == "-W" || a.Text == "-X":
			return ""
		}
	}
	return ""
}

// Program returns the file that the command executes: a script given to an
// interpreter, a sourced file, or a program named by its path outside the
// system's directories.
func (c Command) Program() (Word, bool) {
	switch {
	case c.Name == "source" || c.Name == ".":
		if len(c.Args) > 0 {
			return c.Resolve(c.Args[0]), true
		}
		return Word{}, false
	case isPython(c.Name):
		return c.script("-c", "-m", "-W", "-X")
	case IsShell(c.Name):
		return c.script("-c", "-o", "-O")
	}
	switch c.Name {
	case "node", "nodejs", "bun", "deno", "tsx", "ts-node":
		return c.script("-e", "-p", "--eval", "--print", "-r", "--require", "--test")
	case "ruby", "perl", "lua", "luajit", "Rscript", "julia", "php", "tclsh", "guile", "racket", "elixir", "escript":
		return c.script("-e", "-r", "-E")
	case "java":
		if w, ok := c.option("-jar"); ok {
			return c.Resolve(w), true
		}
		return Word{}, false
	}
	if strings.Contains(c.Path.Text, "/") && !isSystemPath(c.Path.Text) && !strings.HasPrefix(c.Name, "$") {
		return c.Resolve(c.Path), true
	}
	return Word{}, false
}

// script returns the first operand of an interpreter, unless one of the
// options that replace it comes first.
func (c Command) script(replacing ...string) (Word, bool) {
	for i := 0; i < len(c.Args); i++ {
		a := c.Args[i]
		switch {
		case isOneOf(a.Text, replacing):
			if a.Text == "-W" || a.Text == "-X" || a.Text == "-o" || a.Text == "-O" || a.Text == "-r" || a.Text == "--require" {
				i++
				continue
			}
			return Word{}, false
		case a.Text == "-" || a.Text == "":
			return Word{}, false
		case c.Name == "deno" || c.Name == "bun":
			if a.Text == "run" || strings.HasPrefix(a.Text, "-") {
				continue
			}
			return c.Resolve(a), true
		case !strings.HasPrefix(a.Text, "-"):
			return c.Resolve(a), true
		}
	}
	return Word{}, false
}

// Code is program text that a command carries with it.
type Code struct {
	Language string // name of the interpreter: "python3", "node"
	Text     Word
	Args     []Word // what the program finds in its argument list, without its own name
}

// Inline returns the code of python -c, node -e and interpreters that read a
// here-document.
func (c Command) Inline() (Code, bool) {
	flag := ""
	switch {
	case isPython(c.Name):
		flag = "-c"
	case isOneOf(c.Name, []string{"node", "nodejs", "ruby", "perl", "Rscript", "julia", "lua"}):
		flag = "-e"
	case c.Name == "php":
		flag = "-r"
	default:
		return Code{}, false
	}
	for i, a := range c.Args {
		switch {
		case a.Text == flag && i+1 < len(c.Args):
			return Code{Language: c.Name, Text: c.Args[i+1], Args: c.Args[i+2:]}, true
		case a.Text == "-" && c.Stdin != nil:
			return Code{Language: c.Name, Text: *c.Stdin, Args: c.Args[i+1:]}, true
		case a.Text == "-m" || !strings.HasPrefix(a.Text, "-"):
			return Code{}, false
		}
	}
	if c.Stdin != nil {
		return Code{Language: c.Name, Text: *c.Stdin}, true
	}
	return Code{}, false
}

// isActivation says that a sourced file only sets up an environment.
func isActivation(p string) bool {
	return strings.HasSuffix(p, "/bin/activate") || strings.HasSuffix(p, "/.local/bin/env") || strings.HasSuffix(p, "/.cargo/env") ||
		strings.HasSuffix(p, "/.bashrc") || strings.HasSuffix(p, "/.profile") || strings.HasSuffix(p, "/etc/profile") || strings.HasSuffix(p, "conda.sh")
}

// below says whether p is one of the directories or lies inside one.
func below(p string, dirs ...string) bool {
	for _, d := range dirs {
		if p == d || strings.HasPrefix(p, d+"/") {
			return true
		}
	}
	return false
}

func isSystemPath(p string) bool {
	return below(p, "/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/nix")
}

// VerifierPath says whether a path lies in a directory that the harness locks
// away from the agent: the tests, the reference solution and the verifier's logs.
func VerifierPath(p string) bool {
	return below(p, "/verifier", "/tests", "/oracle", "/solution", "/logs/verifier")
}

// AgentWritable says whether an agent can be expected to write to an absolute
// path: it lies neither in a locked directory nor in one of the system's own.
func AgentWritable(p string) bool {
	return strings.HasPrefix(p, "/") && !VerifierPath(p) && !isSystemPath(p) && !below(p, "/opt", "/proc", "/sys", "/dev", "/logs")
}
