package shell

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"regexp"
	"sort"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds of the model. A script beyond them is refused or truncated, never
// followed halfway in silence.
const (
	// MaxBytes is the largest script that is parsed.
	MaxBytes = 1 << 20
	// maxOpeners bounds how many brackets and compound commands are opened, and
	// so how deep they may nest. The parser recurses, by up to ten kilobytes of
	// stack a level, and a stack overflow cannot be recovered from.
	maxOpeners = 8_000
	// maxDepth bounds how deep nested statements are followed.
	maxDepth = 1000
	// maxCalls bounds how deep function calls are followed.
	maxCalls = 12
	// maxStates is how many states are kept apart before they are joined.
	maxStates = 48
	// MaxWork is what may be spent on one script, see [Trace.Work].
	MaxWork = 8 << 20
	// workPerByte is what every byte of the script adds to that.
	workPerByte = 8
	// stepCost is what executing one statement in one state costs.
	stepCost = 200
	// fieldCost is what one word costs on top of its bytes.
	fieldCost = 32
	// maxCommands is how many different commands are recorded.
	maxCommands = 20_000
	// maxPipe is how many parts of one pipeline are followed: each remembers the
	// outcomes of those before it.
	maxPipe = 500
	// maxUnroll is how many items of a constant list a for loop runs through.
	maxUnroll = 32
	// maxWordBytes is how long an expanded word may grow.
	maxWordBytes = 1 << 20
	// maxValueBytes is how long a variable's value may grow.
	maxValueBytes = 1 << 16
	// maxFields is how many fields one word may expand to.
	maxFields = 256
	// maxTracked is how many checks are followed for their influence on the reward.
	maxTracked = 8
	// maxRewards is how many different reward writes are told apart: the bits of a word.
	maxRewards = 64
	// maxFileBytes is the largest file content that a state remembers.
	maxFileBytes = 256
)

// ErrNotShell means that the script's first line names an interpreter that is not a shell.
var ErrNotShell = errors.New("not a shell script")

// A SyntaxError says where a script cannot be parsed.
type SyntaxError struct {
	Line, Column int    // both start at 1
	Message      string // what the parser expected
	LineEnds     bool   // lines end with CR LF, and that is all that is wrong
}

// Error says where the script cannot be parsed, and why.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// text is a piece of script and where it stands.
type text struct {
	src    string
	first  int      // line number of the first line
	at     int      // byte offset of the text in the outermost script
	nested bool     // positions inside cannot be mapped to bytes of the outermost script
	breaks []int    // offsets of the line breaks
	bodies []string // here-documents taken out before parsing
}

func newText(src string, first int) *text {
	t := &text{src: src, first: first}
	for i := 0; i < len(src); i++ {
		if src[i] == '\n' {
			t.breaks = append(t.breaks, i)
		}
	}
	return t
}

// line returns the line of a position. The parser's own line numbers stop at 2^18.
func (t *text) line(pos syntax.Pos) int {
	return t.first + sort.SearchInts(t.breaks, int(pos.Offset()))
}

// offset returns the byte offset of a position in the outermost script.
func (t *text) offset(pos syntax.Pos) int {
	if t.nested {
		return t.at
	}
	return int(pos.Offset())
}

// snippet returns the source of a node on one line, shortened to what fits a message.
func (t *text) snippet(from, to syntax.Pos) string {
	lo, hi := int(from.Offset()), int(to.Offset())
	if lo < 0 || lo >= len(t.src) || hi <= lo {
		return ""
	}
	hi = min(hi, len(t.src), lo+400)
	s := strings.TrimRight(strings.Join(strings.Fields(t.src[lo:hi]), " "), "; ")
	if len(s) > 80 {
		s = strings.ToValidUTF8(s[:77], "") + "..."
	}
	return s
}

// parse turns a script into statements. first is the number of its first line.
func parse(script []byte, first int) (*syntax.File, *text, error) {
	if len(script) > MaxBytes {
		return nil, nil, &SyntaxError{Line: first, Column: 1, Message: fmt.Sprintf("the script has %d bytes; at most %d are read", len(script), MaxBytes)}
	}
	script = bytes.TrimPrefix(script, []byte("\xef\xbb\xbf"))
	if bytes.Contains(script, []byte("\r\n")) {
		return parseCRLF(script, first)
	}
	t := newText(string(script), first)
	lang := syntax.LangBash
	if line := shebang(t.src); line != "" {
		name := Interpreter(line)
		if name == "zsh" {
			lang = syntax.LangZsh
		} else if !IsShell(name) {
			return nil, nil, fmt.Errorf("line %d: %w: the first line names %s", first, ErrNotShell, name)
		}
	}
	if countOpeners(t.src) > maxOpeners {
		lighter, bodies := lighten(t.src)
		if countOpeners(lighter) > maxOpeners {
			return nil, nil, &SyntaxError{Line: first, Column: 1, Message: fmt.Sprintf("more than %d brackets and compound commands outside literal here-documents", maxOpeners)}
		}
		t = newText(lighter, first)
		t.bodies = bodies
	}
	file, err := syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(t.src), "")
	if err != nil {
		return nil, nil, syntaxError(err, t)
	}
	return file, t, nil
}

// parseCRLF parses a script whose lines end with CR LF. The shell takes the CR for
// part of a word, so that it refuses all but simple commands: "then\r" is no then.
func parseCRLF(script []byte, first int) (*syntax.File, *text, error) {
	file, t, err := parse(bytes.ReplaceAll(script, []byte("\r\n"), []byte("\n")), first)
	if err != nil {
		return nil, nil, err
	}
	kept := bytes.ReplaceAll(script, []byte("\r\n"), []byte("\x7f\n"))
	if bytes.HasPrefix(kept, []byte("#!")) {
		kept = bytes.Replace(kept, []byte("\x7f\n"), []byte("\n"), 1)
	}
	_, _, err = parse(kept, first)
	if bad, ok := errors.AsType[*SyntaxError](err); ok {
		bad.Message, bad.LineEnds = bad.Message+" (the lines end with CR LF; save the file with LF)", true
		return nil, nil, bad
	}
	return file, t, nil
}

func syntaxError(err error, t *text) error {
	e := &SyntaxError{Line: t.first, Column: 1, Message: err.Error()}
	var parse syntax.ParseError
	var lang syntax.LangError
	switch {
	case errors.As(err, &parse):
		e.Line, e.Column, e.Message = t.line(parse.Pos), int(parse.Pos.Col()), parse.Text
	case errors.As(err, &lang):
		e.Line, e.Column, e.Message = t.line(lang.Pos), int(lang.Pos.Col()), lang.Feature+" is not part of this shell"
	}
	return e
}

// shebang returns what follows "#!" on the first line.
func shebang(src string) string {
	if !strings.HasPrefix(src, "#!") {
		return ""
	}
	line, _, _ := strings.Cut(src[2:], "\n")
	return strings.TrimSpace(line)
}

// Interpreter returns the program that a shebang line runs, given what follows "#!".
func Interpreter(line string) string {
	fields := strings.Fields(line)
	for i, f := range fields {
		if i > 0 && (strings.HasPrefix(f, "-") || strings.Contains(f, "=")) {
			continue
		}
		if name := path.Base(f); name != "env" {
			return name
		}
	}
	return ""
}

// shebangErrexit says whether the shebang line turns on set -e.
func shebangErrexit(line string) bool {
	fields := strings.Fields(line)
	for _, f := range fields[min(1, len(fields)):] {
		if strings.HasPrefix(f, "-") && !strings.HasPrefix(f, "--") && strings.Contains(f, "e") {
			return true
		}
	}
	return false
}

// IsShell says whether a program is a shell whose scripts are followed.
func IsShell(name string) bool {
	switch name {
	case "sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "busybox":
		return true
	}
	return false
}

func countOpeners(src string) int {
	n := 0
	for i := 0; i < len(src); i++ {
		if c := src[i]; c == '(' || c == '{' || c == '[' || c == '`' || opensCompound(src, i) {
			n++
		}
	}
	return n
}

func opensCompound(src string, i int) bool {
	switch src[i] {
	case 'i', 'w', 'u', 'c', 'f', 's', 't':
		switch wordAt(src, i) {
		case "if", "while", "until", "case", "for", "select", "time", "function", "coproc":
			return true
		}
	}
	return false
}

// wordAt returns the word of letters that starts at i, if one starts there.
func wordAt(src string, i int) string {
	if i > 0 && isNameByte(src[i-1]) {
		return ""
	}
	end := i
	for end < len(src) && end-i < 10 && isNameByte(src[end]) {
		end++
	}
	return src[i:end]
}

func isNameByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// heredocStart finds the delimiter of a here-document on a line.
var heredocStart = regexp.MustCompile(`<<(-?)[ \t]*(['"\\]?)([A-Za-z_][A-Za-z0-9_]*)['"]?`)

// lighten takes literal here-document bodies out of a script with very many
// brackets. Each is replaced by one marker line and as many empty lines as it
// had, so that positions keep their line; the bodies are returned in order.
func lighten(src string) (string, []string) {
	lines := strings.SplitAfter(src, "\n")
	var bodies []string
	for i, budget := 0, 1_000_000; i < len(lines) && budget > 0; i++ {
		m := heredocStart.FindStringSubmatch(lines[i])
		if m == nil {
			continue
		}
		end := i + 1
		for end < len(lines) && !endsHeredoc(lines[end], m[3], m[1] == "-") {
			end++
		}
		budget -= end - i
		if end == len(lines) || end == i+1 {
			continue
		}
		body := strings.Join(lines[i+1:end], "")
		if m[2] == "" && strings.ContainsAny(body, "$`\\") {
			continue
		}
		lines[i+1] = marker(len(bodies)) + "\n"
		for j := i + 2; j < end; j++ {
			lines[j] = "\n"
		}
		bodies = append(bodies, body)
		i = end
	}
	return strings.Join(lines, ""), bodies
}

func endsHeredoc(line, delimiter string, tabs bool) bool {
	line = strings.TrimSuffix(line, "\n")
	if tabs {
		line = strings.TrimLeft(line, "\t")
	}
	return line == delimiter
}

func marker(n int) string { return "\x01heredoc " + itoa(n) + "\x01" }

// restore returns the body of a here-document that lighten took out.
func (t *text) restore(body string) string {
	if len(t.bodies) == 0 || !strings.HasPrefix(body, "\x01heredoc ") {
		return body
	}
	var n int
	if _, err := fmt.Sscanf(body, "\x01heredoc %d\x01", &n); err != nil || n < 0 || n >= len(t.bodies) {
		return body
	}
	return t.bodies[n]
}
