package image

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	dockershell "github.com/moby/buildkit/frontend/dockerfile/shell"
)

// envGetter is the environment that a word is expanded in.
type envGetter struct {
	values map[string]string
}

// Get and Keys make an envGetter what BuildKit's expander asks for.
func (e envGetter) Get(name string) (string, bool) {
	v, ok := e.values[name]
	return v, ok
}

// Keys lists the variables.
func (e envGetter) Keys() []string { return slices.Sorted(maps.Keys(e.values)) }

// expandIn expands the variables of a word and reports those without a definition.
func (b *builder) expandIn(env envGetter, word string, line int) string {
	return b.expandWith(b.lexer(), env, nil, word, line)
}

// expandWith expands a word. Variables in declared are known to have no value.
func (b *builder) expandWith(lex *dockershell.Lex, env envGetter, declared map[string]bool, word string, line int) string {
	longest := 0
	for _, v := range env.values {
		longest = max(longest, len(v))
	}
	if n := strings.Count(word, "$"); n > 2000 && (n*longest > maxExpansion || strings.Count(word, "${") > 5000) {
		b.limit(line, "a word refers to variables more than 2000 times; it is not expanded")
		return word
	}
	out, unmatched, err := processWord(lex, word, env)
	if err != nil {
		b.issue(CodeUnparsed, line, "%s", rootMessage(err))
		return word
	}
	for _, name := range slices.Sorted(maps.Keys(unmatched)) {
		if !declared[name] && !strings.Contains(word, "{"+name+":-") && !strings.Contains(word, "{"+name+"-") {
			b.issue(CodeUndefined, line, "$%s is not defined by ARG or ENV; it expands to nothing unless the base image sets it", name)
		}
	}
	return out
}

func processWord(lex *dockershell.Lex, word string, env envGetter) (out string, unmatched map[string]struct{}, err error) {
	defer rescue(&err)
	return lex.ProcessWord(word, env)
}

func (b *builder) lexer() *dockershell.Lex {
	if b.lex == nil {
		return dockershell.NewLex('\\')
	}
	return b.lex
}

// expander expands the words of an instruction in a stage.
func (b *builder) expander(s *stage, line int) instructions.SingleWordExpander {
	return func(word string) (string, error) {
		return b.expandWith(b.lexer(), envGetter{s.env}, s.declared, word, line), nil
	}
}

// run follows the instructions of a stage, after those of the stage it is based on.
func (b *builder) run(s *stage) {
	if s.state != stageNew {
		return
	}
	s.state = stageRunning
	var triggers []string
	if p := s.parent; p != nil {
		b.run(p)
		triggers = s.inherit(p)
		b.spend(len(s.tree.files), s.Line)
	} else {
		s.tree = newTree()
		s.tree.open = s.external != "scratch"
		s.env, s.exported, s.declared, s.workdir = map[string]string{}, map[string]bool{}, map[string]bool{}, "/"
		s.env["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	}
	for _, t := range triggers {
		b.trigger(s, t)
	}
	for _, c := range s.commands {
		if b.work > maxWork {
			break
		}
		b.instruction(s, c, lineOfCommand(c))
	}
	s.state = stageDone
}

// inherit copies what a child takes over and returns the ONBUILD triggers.
func (s *stage) inherit(p *stage) []string {
	s.tree = p.tree.clone()
	for _, g := range p.gone {
		copied := *g
		s.gone = append(s.gone, &copied)
	}
	s.env, s.exported, s.declared = maps.Clone(p.env), maps.Clone(p.exported), maps.Clone(p.declared)
	s.workdir, s.user, s.shell = p.workdir, p.user, p.shell
	return p.onbuild
}

func lineOfCommand(c instructions.Command) int {
	if loc := c.Location(); len(loc) > 0 {
		return loc[0].Start.Line
	}
	return 0
}

// trigger runs one ONBUILD instruction; its line is that of the FROM that sets it off.
func (b *builder) trigger(s *stage, expression string) {
	result, err := parseFile([]byte(expression))
	if err != nil {
		b.issue(CodeUnparsed, s.Line, "ONBUILD: %s", rootMessage(err))
		return
	}
	for _, n := range result.AST.Children {
		ins, err := parseInstruction(n)
		if err != nil {
			b.issue(CodeUnparsed, s.Line, "ONBUILD: %s", rootMessage(err))
			continue
		}
		if c, ok := ins.(instructions.Command); ok {
			b.instruction(s, c, s.Line)
		}
	}
}

// instruction follows one instruction.
func (b *builder) instruction(s *stage, c instructions.Command, line int) {
	b.layer++
	expand := b.expander(s, line)
	if ex, ok := c.(instructions.SupportsSingleWordExpansion); ok {
		if _, isArg := c.(*instructions.ArgCommand); !isArg {
			if err := ex.Expand(expand); err != nil {
				b.issue(CodeUnparsed, line, "%s", rootMessage(err))
				return
			}
		}
	}
	if ex, ok := c.(instructions.SupportsSingleWordExpansionRaw); ok {
		lex := dockershell.NewLex('\\')
		lex.SkipProcessQuotes = true
		err := ex.ExpandRaw(func(word string) (string, error) {
			return b.expandWith(lex, envGetter{s.env}, s.declared, word, line), nil
		})
		if err != nil {
			b.issue(CodeUnparsed, line, "%s", rootMessage(err))
			return
		}
	}
	switch c := c.(type) {
	case *instructions.ArgCommand:
		b.arg(s, c, line)
	case *instructions.EnvCommand:
		for _, kv := range c.Env {
			b.setVariable(s, kv.Key, kv.Value, line)
			s.exported[kv.Key] = true
		}
	case *instructions.WorkdirCommand:
		s.workdir = resolvePath(s.workdir, c.Path)
		s.tree.mkdir(s.workdir)
	case *instructions.UserCommand:
		s.user = c.User
	case *instructions.ShellCommand:
		s.shell = c.Shell
	case *instructions.OnbuildCommand:
		s.onbuild = append(s.onbuild, c.Expression)
	case *instructions.CopyCommand:
		b.copyCommand(s, c, line)
	case *instructions.AddCommand:
		b.addCommand(s, c, line)
	case *instructions.RunCommand:
		b.runCommand(s, c, line)
	}
}

// arg evaluates ARG in a stage: --build-arg, its default, or the global value.
func (b *builder) arg(s *stage, c *instructions.ArgCommand, line int) {
	for _, a := range c.Args {
		s.declared[a.Key] = true
		global, isGlobal := b.fromEnv().Get(a.Key)
		switch v, given := b.opts.BuildArgs[a.Key]; {
		case given:
			b.setVariable(s, a.Key, v, line)
		case a.Value != nil:
			b.setVariable(s, a.Key, b.expandWith(b.lexer(), envGetter{s.env}, s.declared, *a.Value, line), line)
		case isGlobal:
			b.setVariable(s, a.Key, global, line)
		}
	}
}

// setVariable defines a variable. A value that is too long is cut off, so that
// variables cannot double in length without end.
func (b *builder) setVariable(s *stage, name, value string, line int) {
	if len(value) > maxValue {
		b.limit(line, "a variable has more than %d bytes; the rest is cut off", maxValue)
		value = value[:maxValue]
	}
	s.env[name], s.declared[name] = value, true
}

// resolvePath makes a path absolute.
func resolvePath(dir, p string) string {
	if path.IsAbs(p) {
		return path.Clean(p)
	}
	return path.Join(dir, p)
}
