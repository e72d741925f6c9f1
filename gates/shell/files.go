package shell

import "strings"

// Use says how a script uses a file.
type Use string

// Ways to use a file.
const (
	UseRun    Use = "run"    // executed by an interpreter or by its path
	UseSource Use = "source" // read into the shell itself
	UseTest   Use = "test"   // given to a test runner
	UseRead   Use = "read"   // read, copied or compared
)

// FileUse is one file that a script uses.
type FileUse struct {
	Path Word // absolute when the working directory is known
	How  Use
	Line int
}

// Uses lists the files that commands execute or read.
func Uses(commands []Command) []FileUse {
	var out []FileUse
	seen := map[FileUse]bool{}
	for _, c := range commands {
		for _, u := range c.uses() {
			if !seen[u] && u.Path.Text != "" && !isDevice(u.Path.Text) {
				seen[u] = true
				out = append(out, u)
			}
		}
	}
	return out
}

func (c Command) uses() []FileUse {
	var out []FileUse
	if w, ok := c.Program(); ok {
		how := UseRun
		if c.Name == "source" || c.Name == "." {
			how = UseSource
		}
		out = append(out, FileUse{Path: w, How: how, Line: c.Line})
	}
	if c.Runner() {
		for _, w := range c.testPaths() {
			out = append(out, FileUse{Path: c.Resolve(w), How: UseTest, Line: c.Line})
		}
	}
	operands, _ := c.readOperands()
	for _, w := range append(operands, c.Reads...) {
		out = append(out, FileUse{Path: c.Resolve(w), How: UseRead, Line: c.Line})
	}
	for _, e := range c.toolEffects(&python{}) { // inline Python's effects are writes, which are none of these
		if e.Op == OpCopy || e.Op == OpMove || e.Op == OpExtract {
			out = append(out, FileUse{Path: e.From, How: UseRead, Line: c.Line})
		}
	}
	return out
}

// testPaths returns the operands of a test runner that look like files.
func (c Command) testPaths() []Word {
	args := c
	if c.Module() != "" {
		args.Args = c.afterModule()
	}
	var out []Word
	for _, w := range args.operands("--ctrf", "-k", "-m", "-p", "-c", "-o", "-n", "-W", "-r", "--rootdir", "--junitxml", "--maxfail", "--timeout", "--tb", "--durations", "--json-report-file", "--report-log", "--confcutdir", "--cov", "--import-mode", "--log-file") {
		file, _, _ := strings.Cut(w.Text, "::")
		if strings.ContainsAny(file, "/.") && file != "." && file != ".." {
			out = append(out, withText(w, file))
		}
	}
	return out
}

// textOptions lists the options of a text tool that take a value.
func textOptions(name string) []string {
	switch name {
	case "head", "tail":
		return []string{"-n", "-c", "-s"}
	case "sort":
		return []string{"-k", "-t", "-o", "-S", "-T"}
	case "uniq":
		return []string{"-f", "-s", "-w"}
	case "paste", "cut":
		return []string{"-d", "-f", "-c", "-b"}
	case "od", "hexdump", "xxd":
		return []string{"-A", "-j", "-N", "-n", "-s", "-t", "-l", "-e", "-c", "-w"}
	case "base64", "nl", "strings", "cmp":
		return []string{"-w", "-n", "-s", "-b", "-v"}
	case "stat":
		return []string{"-c", "-f"}
	case "column":
		return []string{"-s", "-c", "-o"}
	}
	return nil
}

// readOperands returns the operands that a text tool reads; it is false for other commands.
func (c Command) readOperands() ([]Word, bool) {
	switch c.Name {
	case "cat", "head", "tail", "less", "more", "sort", "uniq", "wc", "diff", "cmp", "comm", "paste", "od", "xxd", "hexdump", "base64", "strings", "file", "stat", "ls",
		"md5sum", "sha1sum", "sha256sum", "sha512sum", "gunzip", "zcat", "tac", "nl", "column":
		return c.operands(textOptions(c.Name)...), true
	case "grep", "egrep", "fgrep", "rg", "awk", "gawk", "mawk", "jq", "yq", "sed":
		takesValue := []string{"-e", "-f", "-m", "-A", "-B", "-C", "--arg"}
		if strings.HasSuffix(c.Name, "awk") {
			takesValue = []string{"-f", "-v", "-F"}
		}
		ops := c.operands(takesValue...)
		if c.has("-e", "-f") && c.Name != "jq" && c.Name != "yq" {
			return ops, true
		}
		return ops[min(1, len(ops)):], true
	}
	return nil, false
}
