package image

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	dockershell "github.com/moby/buildkit/frontend/dockerfile/shell"
)

// parse splits the Dockerfile into stages. It is false when nothing can be read.
func (b *builder) parse(dockerfile []byte) bool {
	if len(dockerfile) > maxDockerfile {
		b.limit(1, "the Dockerfile has %d bytes; at most %d are read", len(dockerfile), maxDockerfile)
		return false
	}
	if bytes.HasPrefix(dockerfile, []byte("\xff\xfe")) || bytes.HasPrefix(dockerfile, []byte("\xfe\xff")) {
		b.issue(CodeUnparsed, 1, "the file is UTF-16; save it as UTF-8")
		return false
	}
	b.lines = strings.Split(string(bytes.TrimPrefix(dockerfile, []byte("\xef\xbb\xbf"))), "\n")
	for i, l := range b.lines {
		if len(l) >= bufio.MaxScanTokenSize-1 {
			b.issue(CodeUnparsed, i+1, "the line has %d bytes; a build refuses lines of more than %d", len(l), bufio.MaxScanTokenSize-1)
			return false
		}
	}
	result, err := parseFile(dockerfile)
	if err != nil {
		code := CodeUnparsed
		if strings.Contains(err.Error(), "file with no instructions") {
			code = CodeNoFrom
		}
		b.issue(code, max(1, lineOf(err)), "%s", rootMessage(err))
		return false
	}
	b.lex, b.escape = dockershell.NewLex(result.EscapeToken), result.EscapeToken
	for i, n := range result.AST.Children {
		if i == maxInstructions {
			b.limit(n.StartLine, "the Dockerfile has more than %d instructions; the rest is not looked at", maxInstructions)
			break
		}
		ins, err := parseInstruction(n)
		if err != nil {
			b.issue(CodeUnparsed, n.StartLine, "%s", rootMessage(err))
			continue
		}
		b.add(ins, n.StartLine)
	}
	if len(b.stages) == 0 {
		b.issue(CodeNoFrom, 1, "the Dockerfile has no FROM")
		return false
	}
	return true
}

// add sorts one instruction into its stage.
func (b *builder) add(ins any, line int) {
	switch c := ins.(type) {
	case *instructions.Stage:
		if len(b.stages) >= maxStages {
			b.limit(line, "the Dockerfile has more than %d stages", maxStages)
			return
		}
		b.stages = append(b.stages, &stage{
			Stage:    Stage{Index: len(b.stages), Name: c.Name, Base: c.BaseName, Line: line},
			platform: c.Platform,
		})
	case *instructions.ArgCommand:
		if len(b.stages) == 0 {
			b.globalArgs(c, line)
			return
		}
		b.push(c)
	case instructions.Command:
		if len(b.stages) == 0 {
			b.issue(CodeNoFrom, line, "%s comes before the first FROM", strings.ToUpper(c.Name()))
			b.stages = append(b.stages, &stage{Stage: Stage{Line: line}})
		}
		b.push(c)
	}
}

func (b *builder) push(c instructions.Command) {
	last := b.stages[len(b.stages)-1]
	last.commands = append(last.commands, c)
}

// globalArgs evaluates ARG before the first FROM.
func (b *builder) globalArgs(c *instructions.ArgCommand, line int) {
	for _, a := range c.Args {
		if v, ok := b.opts.BuildArgs[a.Key]; ok {
			b.args[a.Key] = v
		} else if a.Value != nil {
			v := b.expandIn(b.fromEnv(), *a.Value, line)
			b.args[a.Key] = v[:min(len(v), maxValue)]
		}
	}
}

// fromEnv is what FROM can refer to: global arguments and those of the platform.
func (b *builder) fromEnv() envGetter {
	env := envGetter{values: platformArgs()}
	maps.Copy(env.values, b.args)
	return env
}

// platformArgs are the variables that the build tool itself sets.
func platformArgs() map[string]string {
	return map[string]string{
		"TARGETPLATFORM": "linux/amd64", "TARGETOS": "linux", "TARGETARCH": "amd64", "TARGETVARIANT": "",
		"BUILDPLATFORM": "linux/amd64", "BUILDOS": "linux", "BUILDARCH": "amd64", "BUILDVARIANT": "",
	}
}

// parseFile runs BuildKit's parser. It is not ours, so a panic in it becomes an error.
func parseFile(dockerfile []byte) (result *parser.Result, err error) {
	defer rescue(&err)
	return parser.Parse(bytes.NewReader(dockerfile))
}

// parseInstruction turns one node into an instruction.
func parseInstruction(n *parser.Node) (ins any, err error) {
	defer rescue(&err)
	return instructions.ParseInstruction(n)
}

func rescue(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the parser failed: %v", r)
	}
}

// lineOf returns the line that a parser error carries, 0 if none.
func lineOf(err error) int {
	var loc *parser.LocationError
	if errors.As(err, &loc) {
		for _, ranges := range loc.Locations {
			for _, r := range ranges {
				if r.Start.Line > 0 {
					return r.Start.Line
				}
			}
		}
	}
	return 0
}

// rootMessage is the text of an error on one line. The parser's guesses at what
// was meant are left out: they differ from one time to the next.
func rootMessage(err error) string {
	message, _, _ := strings.Cut(strings.Join(strings.Fields(err.Error()), " "), " (did you mean ")
	return message
}
