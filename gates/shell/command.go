package shell

import (
	"path"
	"strings"
)

// Command is one program, function-free and with wrappers such as env, timeout
// or sudo taken off, that a script may start.
type Command struct {
	// Name is the base name of the program: "pytest" for /usr/bin/pytest.
	Name string
	// Path is the program as the script names it.
	Path Word
	// Args are the arguments after the program.
	Args []Word
	// Dir is the working directory.
	Dir Word
	// Env holds the assignments before the command and those variables of the
	// script that decide what other programs load: PATH, PYTHONPATH and their kin.
	Env []Variable
	// Stdin is the here-document, here-string or pipe content, nil if none is known to exist.
	Stdin *Word
	// Writes are the files that redirections (and tee) write.
	Writes []Write
	// Reads are the files that input redirections read.
	Reads []Word
	// Captured says that the script takes the output: in a substitution, a pipe or a file.
	Captured bool
	// Line is the line of the command, Offset its first byte in the script.
	Line, Offset int
	// Guard is the innermost undecided condition around the command, "" if the
	// command is reached whenever the script gets that far.
	Guard string
	// Probe says that one of those conditions asks whether something is
	// installed or present (command -v, which, test -x, import …).
	Probe bool
	// Background says that the script does not wait for the command.
	Background bool
	// Wrapped names the launchers around the command: ["uvx"] for "uvx pytest".
	Wrapped []string
	// Launcher says that the command only starts another one, which follows in the list.
	Launcher bool
}

// Conditional says whether an undecided condition guards the command.
func (c Command) Conditional() bool { return c.Guard != "" }

// Variable is one environment variable that a command sees.
type Variable struct {
	Name  string
	Value Word
}

// Write is one file that a redirection creates, truncates or appends to.
type Write struct {
	Path   Word // absolute when the working directory is known
	Data   Word // what is written, if known
	Append bool
}

// String returns the command as one line, shortened to what fits a message.
func (c Command) String() string {
	var b strings.Builder
	b.WriteString(c.Path.Text)
	for _, a := range c.Args {
		b.WriteByte(' ')
		b.WriteString(a.Text)
		if b.Len() > 200 {
			break
		}
	}
	s := strings.Join(strings.Fields(b.String()), " ")
	if len(s) > 100 {
		s = strings.ToValidUTF8(s[:97], "") + "..."
	}
	return s
}

// Variable returns the value that the command sees for one of Env's names.
func (c Command) Variable(name string) (Word, bool) {
	for _, v := range c.Env {
		if v.Name == name {
			return v.Value, true
		}
	}
	return Word{}, false
}

// Resolve returns w as an absolute path if it is one or the working directory is known.
func (c Command) Resolve(w Word) Word { return resolve(c.Dir, w) }

func resolve(dir, w Word) Word {
	switch {
	case strings.HasPrefix(w.Text, "/"):
		return withText(w, cleanPath(w.Text))
	case w.Text == "" || strings.HasPrefix(w.Text, "$") || strings.HasPrefix(w.Text, "~"):
		return w
	case dir.Text == "":
		w.Known = false
		return w
	}
	joined := join(dir, literal("/"))
	joined = join(joined, w)
	return withText(joined, cleanPath(joined.Text))
}

func withText(w Word, s string) Word {
	w.Text = s
	return w
}

// cleanPath is path.Clean, but keeps a trailing slash, which tools give a meaning.
func cleanPath(p string) string {
	c := path.Clean(p)
	if strings.HasSuffix(p, "/") && c != "/" {
		c += "/"
	}
	return c
}

// operands returns the arguments that are not options. takesValue lists the
// options whose value is the next argument.
func (c Command) operands(takesValue ...string) []Word {
	var out []Word
	plain := false
	for i := 0; i < len(c.Args); i++ {
		a := c.Args[i]
		switch {
		case plain || a.Text == "-" || !strings.HasPrefix(a.Text, "-"):
			out = append(out, a)
		case a.Text == "--":
			plain = true
		case isOneOf(a.Text, takesValue):
			i++
		}
	}
	return out
}

// option returns the value of an option given as "-x value", "-xvalue" (one
// letter), "--long value" or "--long=value".
func (c Command) option(names ...string) (Word, bool) {
	for i, a := range c.Args {
		if a.Text == "--" {
			break
		}
		for _, n := range names {
			if a.Text == n && i+1 < len(c.Args) {
				return c.Args[i+1], true
			}
			if strings.HasPrefix(n, "--") {
				if v, ok := strings.CutPrefix(a.Text, n+"="); ok {
					return withText(a, v), true
				}
			} else if v, ok := strings.CutPrefix(a.Text, n); ok && v != "" && !strings.HasPrefix(a.Text, "--") {
				return withText(a, strings.TrimPrefix(v, "=")), true
			}
		}
	}
	return Word{}, false
}

// has says whether an option is present: a long one exactly, a short one also inside a cluster.
func (c Command) has(names ...string) bool {
	for _, a := range c.Args {
		if a.Text == "--" {
			return false
		}
		for _, n := range names {
			if a.Text == n {
				return true
			}
			if len(n) == 2 && len(a.Text) > 2 && a.Text[0] == '-' && a.Text[1] != '-' && strings.IndexByte(a.Text, n[1]) > 0 {
				return true
			}
		}
	}
	return false
}

// first returns the first operand's text, which for many tools is the sub-command.
func (c Command) first() string {
	if ops := c.operands(); len(ops) > 0 {
		return ops[0].Text
	}
	return ""
}

func isOneOf(s string, list []string) bool {
	for _, x := range list {
		if s == x {
			return true
		}
	}
	return false
}
