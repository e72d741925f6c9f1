package shell

import (
	"path"
	"slices"
	"strings"
)

// SolutionFacts is what solve.sh does.
type SolutionFacts struct {
	// DoesNothing: every command that can be reached is exit, true, :, echo,
	// set, cd or the like, and no file is written. An empty script does nothing.
	DoesNothing bool
	// Written are the files that the script creates or changes.
	Written []Write
	// ReadsVerifier are places where the script touches the verifier's files.
	ReadsVerifier []Reading

	Downloads []Download
	Commands  []Command
	Files     []FileUse
	Opaque    []Command
	Truncated bool // the lists may be incomplete and the claim is false
}

// Reading is one place where a solution touches the verifier.
type Reading struct {
	Path string // as far as it is known
	Kind ReadingKind
	Line int
}

// ReadingKind says what is read.
type ReadingKind string

// Kinds of readings.
const (
	ReadsVerifierDir ReadingKind = "verifier" // a path in /verifier or /tests, or a variable that names it
	ReadsTests       ReadingKind = "tests"    // a file named test_outputs.py or test.sh
	ReadsExpected    ReadingKind = "expected" // a file named like an expected output
	ReadsReward      ReadingKind = "reward"   // the reward file itself
)

// Solution says what a reference solution does. The error is a *SyntaxError, or
// wraps ErrNotShell.
func Solution(script []byte) (SolutionFacts, error) {
	in, _, err := run(script, Options{Script: "/solution/solve.sh"})
	if err != nil {
		return SolutionFacts{}, err
	}
	t := in.trace
	f := SolutionFacts{
		Downloads:     Downloads(t.Commands),
		Commands:      t.Commands,
		Files:         Uses(t.Commands),
		ReadsVerifier: readings(t.Commands),
		Opaque:        t.Opaque,
		Truncated:     t.Truncated,
	}
	idle := true
	for _, c := range t.Commands {
		for _, e := range c.effects(in.python(c)) {
			switch e.Op {
			case OpWrite, OpAppend, OpModify, OpCopy, OpMove, OpFetch, OpLink:
				f.Written = append(f.Written, Write{Path: e.Target(), Data: e.Data, Append: e.Op == OpAppend})
			}
		}
		idle = idle && c.isIdle()
	}
	f.DoesNothing = idle && !t.Truncated && len(t.Opaque) == 0
	return f, nil
}

// isIdle says that a command changes nothing outside the shell.
func (c Command) isIdle() bool {
	if len(c.Writes) > 0 {
		return false
	}
	switch c.Name {
	case "", ":", "true", "false", "echo", "printf", "exit", "return", "set", "shopt", "cd", "pushd", "popd", "pwd", "export", "declare", "local", "readonly", "typeset",
		"unset", "shift", "sleep", "date", "umask", "ulimit", "trap", "break", "continue", "test", "[", "wait", "read", "whoami", "hostname", "clear", "ls":
		return true
	case "command", "type", "which", "hash":
		return true
	case "cat":
		return c.Stdin != nil && len(c.operands()) == 0
	}
	return false
}

// readings finds where commands touch the verifier's files. A file that the
// script itself creates is not read from the verifier.
func readings(commands []Command) []Reading {
	var out []Reading
	seen := map[Reading]bool{}
	add := func(r Reading) {
		if !seen[r] {
			seen[r] = true
			out = append(out, r)
		}
	}
	written := map[string]bool{}
	for _, c := range commands {
		for _, u := range c.uses() {
			if kind := readingKind(u.Path.Text, true); kind != "" && !written[u.Path.Text] {
				add(Reading{Path: u.Path.Text, Kind: kind, Line: c.Line})
			}
		}
		if code, ok := c.Inline(); ok {
			for _, t := range pyTokens(code.Text.Text) {
				if t.kind != 's' || strings.ContainsAny(t.text, " \n") {
					continue
				}
				if kind := readingKind(t.text, false); kind != "" && !written[t.text] {
					add(Reading{Path: t.text, Kind: kind, Line: c.Line})
				}
			}
		}
		_, known := c.readOperands() // patterns among the arguments of a text tool are no paths
		known = known || c.Name == "echo" || c.Name == "printf"
		for _, a := range c.Args {
			if kind := readingKind(a.Text, false); kind == ReadsVerifierDir && !c.isIdle() && !known {
				add(Reading{Path: a.Text, Kind: kind, Line: c.Line})
			}
		}
		if kind := readingKind(c.Dir.Text, false); kind == ReadsVerifierDir && !c.isIdle() && slices.ContainsFunc(c.operands(), isRelative) {
			add(Reading{Path: c.Dir.Text, Kind: kind, Line: c.Line})
		}
		for _, e := range c.Effects() {
			written[e.Target().Text] = true
		}
	}
	return out
}

// isRelative says that a word may name something in the working directory.
func isRelative(w Word) bool { return w.Text != "" && w.Text != "-" && !strings.HasPrefix(w.Text, "/") }

// readingKind classifies a path. expected asks for names of expected outputs too.
func readingKind(p string, expected bool) ReadingKind {
	clean := p
	if strings.HasPrefix(p, "/") {
		clean = path.Clean(p)
	}
	switch base := path.Base(clean); {
	case below(clean, "/verifier", "/tests"), strings.HasPrefix(clean, "$BENCHFLOW_VERIFIER_DIR"), strings.HasPrefix(clean, "${BENCHFLOW_VERIFIER_DIR"):
		return ReadsVerifierDir
	case base == "reward.txt" && below(clean, "/logs/verifier"), base == "reward.json" && below(clean, "/logs/verifier"):
		return ReadsReward
	case base == "test_outputs.py":
		return ReadsTests
	case expected && isExpectedName(base):
		return ReadsExpected
	}
	return ""
}

// isExpectedName says whether a file is named like the expected output of a check.
func isExpectedName(base string) bool {
	name := strings.ToLower(base)
	for _, p := range []string{"expected", "ground_truth", "ground-truth", "groundtruth", "answer_key", "answer-key", "golden"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}
