package image

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"mvdan.cc/sh/v3/syntax"

	"github.com/posttrainarena/arena/gates/shell"
)

// runCommand follows one RUN instruction.
func (b *builder) runCommand(s *stage, c *instructions.RunCommand, line int) {
	code, lines, ok := b.code(s, c, line)
	if !ok {
		return
	}
	unmount := b.mount(s, c, line)
	defer unmount()
	env := map[string]string{}
	for k, v := range s.env {
		env[k] = v
	}
	trace, err := shell.Follow([]byte(code), shell.Options{
		Dir:         s.workdir,
		Env:         env,
		Assume:      map[string]string{"HOME": homeOf(s.user)},
		Read:        s.text,
		MustSucceed: true,
		MaxWork:     max(1, runFactor*shell.MaxWork-b.shellWork),
	})
	b.shellWork += trace.Work
	if err != nil {
		b.unparsed(err, code, lines, line)
		return
	}
	if trace.Truncated {
		b.limit(line, "the RUN instruction is too much to be followed to its end")
	}
	for i := range trace.Commands {
		trace.Commands[i].Line = lines.at(trace.Commands[i].Offset, line)
	}
	hidden := map[int]bool{} // commands whose text is not known
	for _, cmd := range trace.Opaque {
		hidden[cmd.Offset] = true
		b.img.Opaque = append(b.img.Opaque, OpaqueRun{Command: cmd.String(), Line: lines.at(cmd.Offset, line)})
	}
	for _, cmd := range trace.Commands {
		if !hidden[cmd.Offset] {
			b.command(s, cmd)
		}
	}
}

// text returns what a file of the stage holds, if that is known and text.
func (s *stage) text(name string) (string, bool) {
	f, ok := s.tree.files[name]
	if !ok || f.content == nil || f.Size > maxText {
		return "", false
	}
	content, err := f.Content()
	if err != nil || len(content) > maxText || bytes.IndexByte(content, 0) >= 0 || !utf8.Valid(content) {
		return "", false
	}
	return string(content), true
}

// maxText bounds the files that commands of a RUN instruction pass on.
const maxText = 64 << 10

func homeOf(user string) string {
	name, _, _ := strings.Cut(user, ":")
	if name == "" || name == "root" || name == "0" {
		return "/root"
	}
	return "/home/" + name
}

func (b *builder) unparsed(err error, code string, lines lineMap, line int) {
	b.img.Opaque = append(b.img.Opaque, OpaqueRun{Command: firstLine(code), Line: line})
	var e *shell.SyntaxError
	switch {
	case errors.Is(err, shell.ErrNotShell):
	case errors.As(err, &e):
		b.issue(CodeUnparsed, lines.ofLine(e.Line, line), "the script of RUN cannot be parsed: %s", e.Message)
	default:
		b.issue(CodeUnparsed, line, "the script of RUN cannot be parsed: %v", err)
	}
}

// code returns the shell script that a RUN instruction runs. It is false when
// the instruction does not run in a shell that can be followed.
func (b *builder) code(s *stage, c *instructions.RunCommand, line int) (string, lineMap, bool) {
	if len(c.CmdLine) == 0 {
		return "", lineMap{}, false
	}
	if !c.PrependShell {
		quoted, err := quoteWords(c.CmdLine)
		if err != nil {
			b.issue(CodeUnparsed, line, "RUN: %v", err)
			return "", lineMap{}, false
		}
		return quoted, lineMap{}, true
	}
	code, lines := b.shellForm(c, line)
	name := shellOf(s.shell)
	if strings.HasPrefix(code, "#!") {
		first, _, _ := strings.Cut(code, "\n")
		name = "sh"
		if !shell.IsShell(shell.Interpreter(first[2:])) {
			name = shell.Interpreter(first[2:])
		}
	}
	if !shell.IsShell(name) {
		b.issue(CodeShell, line, "RUN uses %s, which is not a shell that is followed", name)
		b.img.Opaque = append(b.img.Opaque, OpaqueRun{Command: firstLine(code), Line: line})
		return "", lineMap{}, false
	}
	return code, lines, true
}

func firstLine(code string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(code), "\n")
	if len(first) > 100 {
		first = strings.ToValidUTF8(first[:97], "") + "..."
	}
	return first
}

// shellOf returns the shell of SHELL, which may be started by a launcher.
func shellOf(words []string) string {
	if len(words) == 0 {
		return "sh"
	}
	for _, w := range words {
		if name := path.Base(w); shell.IsShell(name) {
			return name
		}
	}
	return path.Base(words[0])
}

func quoteWords(words []string) (string, error) {
	quoted := make([]string, 0, len(words))
	for _, w := range words {
		q, err := syntax.Quote(w, syntax.LangBash)
		if err != nil {
			return "", fmt.Errorf("quote %q: %w", w, err)
		}
		quoted = append(quoted, q)
	}
	return strings.Join(quoted, " "), nil
}

// shellForm puts the script together as BuildKit does: a single here-document
// is the script itself, others are handed to the shell.
func (b *builder) shellForm(c *instructions.RunCommand, line int) (string, lineMap) {
	code := strings.Join(c.CmdLine, " ")
	lines := b.joined(c, code)
	if len(c.Files) == 0 {
		return code, lines
	}
	if heredoc := parser.MustParseHeredoc(code); heredoc != nil {
		data := c.Files[0].Data
		if c.Files[0].Chomp {
			data = parser.ChompHeredocContent(data)
		}
		return data, lineMap{newSpan(0, lines.last(line)+1, data)}
	}
	var w strings.Builder
	w.WriteString(code)
	for _, f := range c.Files {
		w.WriteString("\n" + f.Data + f.Name)
	}
	whole := w.String()
	return whole, append(lines, newSpan(len(code)+1, lines.last(line)+1, whole[min(len(code)+1, len(whole)):]))
}

// lineMap tells where in the Dockerfile the bytes of a script stand.
type lineMap []span

// span is a piece of script that starts at an offset of the script and on a
// line of the Dockerfile.
type span struct {
	offset int
	line   int
	breaks []int // line breaks inside, as distances from the offset
}

func newSpan(offset, line int, text string) span {
	s := span{offset: offset, line: line}
	for i := range len(text) {
		if text[i] == '\n' {
			s.breaks = append(s.breaks, i)
		}
	}
	return s
}

// at returns the line of an offset; def is used when nothing is known.
func (m lineMap) at(offset, def int) int {
	i := sort.Search(len(m), func(i int) bool { return m[i].offset > offset })
	if i == 0 {
		return def
	}
	s := m[i-1]
	return s.line + sort.SearchInts(s.breaks, offset-s.offset)
}

// ofLine returns the line of the Dockerfile for a line of the script.
func (m lineMap) ofLine(n, def int) int {
	if len(m) == 1 {
		return m[0].line + n - 1
	}
	return def
}

func (m lineMap) last(def int) int {
	if len(m) == 0 {
		return def
	}
	return m[len(m)-1].line
}

// joined maps a script that was written over several lines. The parser joins
// the lines and drops comments between them; the same is done here, and if the
// result differs, no line is claimed.
func (b *builder) joined(c *instructions.RunCommand, code string) lineMap {
	loc := c.Location()
	if len(loc) == 0 {
		return nil
	}
	escape := "\\"
	if b.escape != 0 {
		escape = string(b.escape)
	}
	var text strings.Builder
	var spans lineMap
	for n := loc[0].Start.Line; n <= len(b.lines); n++ {
		l := strings.TrimRight(b.lines[n-1], "\r")
		trimmed := strings.TrimSpace(l)
		if len(spans) == 0 {
			l = strings.TrimLeft(l, " \t\f\v")
		} else if trimmed == "" || strings.HasPrefix(trimmed, "#") {
			continue
		}
		spans = append(spans, span{offset: text.Len(), line: n})
		body := strings.TrimRight(l, " \t")
		if !strings.HasSuffix(body, escape) {
			text.WriteString(l)
			break
		}
		text.WriteString(strings.TrimSuffix(body, escape))
	}
	whole := text.String()
	at := strings.LastIndex(whole, code)
	if at < 0 {
		return lineMap{{offset: 0, line: loc[0].Start.Line}}
	}
	for i := range spans {
		spans[i].offset = max(0, spans[i].offset-at)
	}
	return spans
}
